"""Charts from few rows: names, order, gaps and scales of each of them (D1 to D5)."""

from datetime import date, datetime, timedelta
from math import log10

import pytest

from quaestor.reports import charts
from quaestor.reports.charts import GREY, MOST_BARS, PALETTE
from quaestor.reports.values import duration

HOUR = datetime(2026, 3, 2, 9)


def pool(number, low, hour=0, qmgr="QM1"):
    return {"QMGR": qmgr, "BUFFER_POOL": number, "hour": HOUR + timedelta(hours=hour), "low_percent": low}


def log(hour=0, qmgr="QM1", rate=1.0, forces=2.0, checkpoints=0):
    moment = HOUR + timedelta(hours=hour)
    return {"QMGR": qmgr, "hour": moment, "megabytes_per_s": rate, "forces_per_s": forces, "CHECKPOINTS": checkpoints}


def queue(name, put=0, got=0, qmgr="QM1", megabytes=(0.0, 0.0)):
    return {
        "QMGR": qmgr, "BASENAME": name, "messages_put": put, "messages_got": got, "megabytes_put": megabytes[0],
        "megabytes_got": megabytes[1],
    }  # fmt: skip


def stay(name, low, mean, high, qmgr="QM1"):
    return {"QMGR": qmgr, "BASENAME": name, "MINTOQ": low, "AVGTOQ": mean, "MAXTOQ": high}


def week(number, application, cpu_s):
    return {"week": date(2026, 3, 2) + timedelta(weeks=number), "application": application, "cpu_s": cpu_s}


# --- bars -------------------------------------------------------------------------------------------------------------


def test_weeks_have_their_bars_in_order_and_a_gap_is_nothing():
    (made,) = charts.cpu_by_week([week(1, "B", 3.0), week(0, "A", 5.0), week(1, "A", None), week(0, "A", 1.5)])
    assert ["2 Mar 2026", "9 Mar 2026"] == made["data"][0]["x"]
    assert [("A", [6.5, 0.0]), ("B", [0.0, 3.0])] == [(each["name"], each["y"]) for each in made["data"]]
    assert list(PALETTE[:2]) == [each["marker"]["color"] for each in made["data"]]
    assert "stack" == made["layout"]["barmode"]


def test_applications_beyond_the_colours_are_other_and_grey():
    rows = [week(number, f"A{n:02d}", 20.0 - n) for number in (0, 1) for n in range(len(PALETTE) + 2)]
    (made,) = charts.cpu_by_week(rows)
    *named, other = made["data"]
    assert [f"A{n:02d}" for n in range(len(PALETTE))] == [each["name"] for each in named]
    assert ("Other", GREY, [25.0, 25.0]) == (other["name"], other["marker"]["color"], other["y"])


def test_equal_applications_stand_in_the_order_of_their_names():
    (made,) = charts.cpu_by_week([week(0, name, 1.0) for name in "CAB"])
    assert ["C", "B", "A"] == made["data"][0]["y"]  # drawn upwards: A is on top


@pytest.mark.parametrize(("count", "shown"), [(MOST_BARS, MOST_BARS), (MOST_BARS + 3, MOST_BARS)])
def test_only_so_many_bars_are_drawn(count, shown):
    rows = [week(0, f"A{n:02d}", float(n)) for n in range(count)]
    (made,) = charts.cpu_by_week(rows)
    assert (shown, f"A{count - 1:02d}") == (len(made["data"][0]["y"]), made["data"][0]["y"][-1])


def test_queues_are_ordered_by_both_directions_together():
    rows = [queue("A", 5, 5, megabytes=(1.0, 0.0)), queue("B", 9, 0, megabytes=(0.0, 3.0)), queue("C", None, 11)]
    by_bytes, by_count = charts.queue_traffic(rows)
    assert ["C", "A", "B"] == by_bytes["data"][0]["y"]
    assert ["B", "A", "C"] == by_count["data"][0]["y"]
    got, put = by_count["data"]
    assert (("Got", [0, 5, 11]), ("Put", [9, 5, None])) == ((got["name"], got["x"]), (put["name"], put["x"]))
    assert "reversed" == by_count["layout"]["legend"]["traceorder"]  # so that the legend reads Put, Got
    assert ("million bytes", "messages") == tuple(
        each["layout"]["xaxis"]["title"]["text"] for each in (by_bytes, by_count)
    )


def test_one_queue_on_two_queue_managers_is_two_bars():
    by_bytes, _ = charts.queue_traffic([queue("A", 1), queue("A", 2, qmgr="QM2")])
    assert {"QM1 A", "QM2 A"} == set(by_bytes["data"][0]["y"])


# --- stays ------------------------------------------------------------------------------------------------------------


def test_a_stay_is_a_line_and_its_mean_a_point():
    (made,) = charts.time_on_queue([stay("A", 0, 50.0, 2000.0), stay("B", 10.0, None, 90.0), stay("C", 1, 1, 0)])
    span, mean = made["data"]
    assert [10.0, 90.0, None, 1, 2000.0, None] == span["x"]
    assert ["B", "B", None, "A", "A", None] == span["y"]
    assert ([50.0], ["A"], [["0 us", "50 us", "2 ms"]]) == (mean["x"], mean["y"], mean["customdata"])
    assert [-0.6, 1.6] == made["layout"]["yaxis"]["range"]


@pytest.mark.parametrize(
    ("low", "high", "begin", "end"),
    [(5.0, 50.0, 1, 100), (100.0, 100.0, 100, 100), (2.0, 2e6, 1, 6e7), (1e6, 3.6e9, 1e6, 3.6e9), (1.0, 9e11, 1, 9e11)],
)
def test_a_scale_of_stays_begins_and_ends_at_a_mark(low, high, begin, end):
    """D4: or at the longest stay, where it is beyond the last mark."""
    (made,) = charts.time_on_queue([stay("A", low, low, high)])
    assert [pytest.approx(log10(begin) - 0.1), pytest.approx(log10(end) + 0.1)] == made["layout"]["xaxis"]["range"]


@pytest.mark.parametrize("longest", [0.25, 0.9, 1.0])
def test_stays_of_less_than_a_microsecond_are_drawn_at_one(longest):
    """D4: a message handed to a waiting getter; the words have the time as it was."""
    (made,) = charts.time_on_queue([stay("A", 0.125, 0.25, longest)])
    span, mean = made["data"]
    assert ([1, 1, None], [1]) == (span["x"], mean["x"])
    assert ["0.125 us", "0.250 us", duration(longest)] == mean["customdata"][0]
    assert [pytest.approx(-0.1), pytest.approx(0.1)] == made["layout"]["xaxis"]["range"]


def test_without_stays_there_is_no_scale():
    (made,) = charts.time_on_queue([stay("A", None, None, None)])
    assert "range" not in made["layout"]["xaxis"]


# --- lines ------------------------------------------------------------------------------------------------------------


def test_the_pools_that_came_closest_to_full_are_drawn_worst_first():
    rows = [pool(number, low, hour) for number, lows in enumerate([(50, 9), (60, 70), (5, 80), (90, 91), (40, 30)])
            for hour, low in enumerate(lows)]  # fmt: skip
    (made,) = charts.buffer_pools(rows)
    assert ["QM1 pool 2", "QM1 pool 0", "QM1 pool 4", "QM1 pool 1", "15 %: deferred writes begin"] == [
        each["name"] for each in made["data"]
    ]
    limit = made["data"][-1]
    assert ([15, 15], [HOUR.isoformat(), (HOUR + timedelta(hours=1)).isoformat()]) == (limit["y"], limit["x"])
    assert [0, 100] == made["layout"]["yaxis"]["range"]


def test_one_hour_has_the_line_from_edge_to_edge():
    (made,) = charts.buffer_pools([pool(1, 50)])
    assert made["layout"]["xaxis"]["range"] == made["data"][-1]["x"] == ["2026-03-02T08:00:00", "2026-03-02T10:00:00"]
    assert (9, 3_600_000) == (made["data"][0]["marker"]["size"], made["layout"]["xaxis"]["dtick"])


def test_an_hour_that_a_line_lacks_is_a_gap_in_it():
    rate, forces, checkpoints = charts.log_activity([log(0), log(1, "QM2", rate=0.12345), log(2, rate=None)])
    assert [("QM1", [1.0, None]), ("QM2", [None, 0.12345])] == [(each["name"], each["y"]) for each in rate["data"]]
    assert 3 == len(forces["data"][0]["x"])
    assert ["solid", "dash"] == [each["line"]["dash"] for each in checkpoints["data"]]
    assert rate["layout"]["showlegend"]
    assert not charts.log_activity([log(0)])[0]["layout"]["showlegend"]


@pytest.mark.parametrize(("hours", "mode", "dash"), [(60, "lines+markers", "dash"), (61, "lines", "solid")])
def test_many_hours_have_plain_lines(hours, mode, dash):
    """D2: where lines are dashed, colour is not all that tells them apart."""
    rate, *_ = charts.log_activity([log(hour, name) for hour in range(hours) for name in ("QM1", "QM2")])
    assert (mode, dash) == (rate["data"][1]["mode"], rate["data"][1]["line"]["dash"])


def test_structures_that_reach_highest_are_drawn_by_name():
    rows = [
        {
            "QMGR": "QM1", "STRUCTURE": f"S{n}", "hour": HOUR, "QESTCSEC": n, "QESTCMEC": None if n else 100,
            "single_avg_us": 20.0 - n,
        }
        for n in range(8)
    ]  # fmt: skip
    times, counts = charts.cf_activity(rows)
    assert [f"QM1 S{n}" for n in range(6)] == [each["name"] for each in times["data"]]
    assert [f"QM1 S{n}" for n in (0, 3, 4, 5, 6, 7)] == [each["name"] for each in counts["data"]]
    assert [100] == counts["data"][0]["y"]


def test_what_all_figures_share():
    made = charts.layout(200, title="x", legend=None)
    assert (200, "x", None, False) == (made["height"], made["title"], made["legend"], made["dragmode"])
    assert "rgba(0,0,0,0)" == made["paper_bgcolor"] == made["plot_bgcolor"]
    assert "title" not in charts.axis()
    assert {"text": "s", "standoff": 8} == charts.axis("s", nticks=3)["title"]


# --- what is left out, and what stands under the pointer --------------------------------------------------------------


def told(figures):
    return [each["layout"].get("meta") for each in figures]


def test_the_title_says_what_a_chart_leaves_out():
    """D3: of a thousand queues fourteen are drawn."""
    many = [queue(f"Q{n:04d}", n, n) for n in range(1013)]
    assert ["the 14 largest of 1,013"] * 2 == told(charts.queue_traffic(many))
    assert [None, None] == told(charts.queue_traffic(many[:MOST_BARS]))
    assert ["the 14 longest of 15"] == told(charts.time_on_queue([stay(f"Q{n}", 1, 2, 3) for n in range(15)]))
    assert ["the 14 largest of 16"] == told(charts.cpu_by_week([week(0, f"A{n}", 1.0) for n in range(16)]))
    assert [None] == told(charts.cpu_by_week([week(w, f"A{n}", 1.0) for n in range(16) for w in (0, 1)]))  # Other
    assert ["the 4 lowest of 5"] == told(charts.buffer_pools([pool(n, 50) for n in range(5)]))
    split = {"elapsed_s": 1.0, "cpu_s": 1.0, "log_s": 0, "page_set_s": 0, "cf_s": 0, "db2_s": 0, "other_s": 0}
    assert ["the 14 largest of 20"] == told(
        charts.elapsed_split([{"application": f"A{n}", **split} for n in range(20)])
    )
    channel = {"QMGR": "QM1", "TYPE": "Sender", "MESSAGES": 5, "batch_size": 2.0, "BATCHSZ": 50}
    made = charts.channel_traffic([{"CHANNEL": f"C{n}", **channel} for n in range(30)])
    assert ["the 14 largest of 30", "the 14 busiest of 30"] == told(made)


def test_counts_are_told_whole_and_measures_without_powers_of_ten():
    """D3: 21,290 messages, not 2.129e+4."""
    by_bytes, by_count = charts.queue_traffic([queue("A", 21_290, 1)])
    assert "%{x:,.4~r} MB<extra>" in by_bytes["data"][0]["hovertemplate"]
    assert "%{x:,d}<extra>" in by_count["data"][0]["hovertemplate"]
    both = [week(0, "A", 1.0), week(1, "A", 0.0004)]
    for made in (charts.cpu_by_week(both[:1]), charts.cpu_by_week(both)):
        assert ":,.4~r} s<extra>" in made[0]["data"][0]["hovertemplate"]


def test_a_channel_that_is_called_other_is_not_the_others():
    rows = [week(number, "Other", 50.0) for number in (0, 1)]
    rows += [week(number, f"A{n:02d}", 20.0) for number in (0, 1) for n in range(len(PALETTE) + 1)]
    (made,) = charts.cpu_by_week(rows)
    first, *_, last = made["data"]
    assert ("Other", [50.0, 50.0], PALETTE[0]) == (first["name"], first["y"], first["marker"]["color"])
    assert ("Other", [40.0, 40.0], GREY) == (last["name"], last["y"], last["marker"]["color"])
