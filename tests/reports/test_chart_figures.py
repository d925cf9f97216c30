"""What stands in a chart: each figure on rows of two or three, worked out by hand (D1 to D3)."""

from datetime import date, datetime

import pytest

from quaestor.reports import charts

HOURS = [datetime(2026, 3, 2, hour) for hour in range(3)]


def week(day, application, cpu_s):
    return {"week": date(2026, 3, day), "application": application, "cpu_s": cpu_s}


def test_weeks_are_stacked_by_the_applications_that_took_most():
    rows = [week(2, "A", 1.0), week(2, "B", 5.0), week(9, "A", 2.0004), week(9, "B", None), week(9, "C", 0.5)]
    (figure,) = charts.cpu_by_week(rows)
    assert ["2 Mar 2026", "9 Mar 2026"] == figure["data"][0]["x"]
    assert [("B", [5.0, 0.0]), ("A", [1.0, 2.0004]), ("C", [0.0, 0.5])] == [
        (each["name"], each["y"]) for each in figure["data"]
    ]
    assert list(charts.PALETTE[:3]) == [each["marker"]["color"] for each in figure["data"]]


def test_one_week_is_summed_by_application():
    (figure,) = charts.cpu_by_week([week(2, "A", 1.0), week(2, "B", 5.0), week(2, "A", 2.0)])
    assert (["A", "B"], [3.0, 5.0]) == (figure["data"][0]["y"], figure["data"][0]["x"])


def split(application, elapsed_s, **parts):
    return {
        **{column: None for column, *_ in charts._SPLIT},
        "application": application,
        "elapsed_s": elapsed_s,
    } | parts


def test_elapsed_time_is_split_into_its_parts():
    """Parts of three seconds and one: 75 % and 25 %; a part that nobody has is not drawn."""
    first, second, *_ = [column for column, *_ in charts._SPLIT]
    rows = [split("A", 4.0, **{first: 3.0, second: 1.0}), split("B", 2.0, **{first: 2.0}), split("IDLE", None)]
    (figure,) = charts.elapsed_split(rows)
    assert [["B  <b>2 s</b>", "A  <b>4 s</b>"]] * 2 == [each["y"] for each in figure["data"]]
    assert [[100.0, 75.0], [0.0, 25.0]] == [each["x"] for each in figure["data"]]
    assert [name for _, name, _ in charts._SPLIT][:2] == [each["name"] for each in figure["data"]]


@pytest.mark.parametrize(("share", "drawn"), [(0.05, True), (0.04, False)])
def test_a_part_of_less_than_a_twentieth_of_a_per_cent_is_not_drawn(share, drawn):
    first, second, *_ = [column for column, *_ in charts._SPLIT]
    (figure,) = charts.elapsed_split([split("A", 1.0, **{first: 100.0 - share, second: share})])
    assert drawn is (len(figure["data"]) == 2)


def queue(name, put, got, qmgr="QM01"):
    return {"QMGR": qmgr, "BASENAME": name} | {
        "megabytes_put": put, "megabytes_got": got, "messages_put": got, "messages_got": put,
    }  # fmt: skip


def test_queues_have_a_bar_for_puts_and_one_for_gets():
    """The largest sum stands on top, which is last; the legend names puts first."""
    by_bytes, by_count = charts.queue_traffic([queue("A", 1.0, None), queue("B", 2.0, 3.0), queue("C", 4.0, 0.5)])
    assert [("Got", ["A", "C", "B"], [None, 0.5, 3.0]), ("Put", ["A", "C", "B"], [1.0, 4.0, 2.0])] == [
        (each["name"], each["y"], each["x"]) for each in by_bytes["data"]
    ]
    assert ["Got", "Put"] == [each["name"] for each in by_count["data"]]
    assert "reversed" == by_bytes["layout"]["legend"]["traceorder"]


def channel(name, messages, batch_size, batchsz):
    return {"QMGR": "QM01", "CHANNEL": name, "MESSAGES": messages, "batch_size": batch_size, "BATCHSZ": batchsz}


def test_batches_are_drawn_against_batchsz():
    rows = [channel("A", 10, 1.26, 50), channel("B", 30, None, 50), channel("C", 20, 8.0, None)]
    messages, batches = charts.channel_traffic(rows)
    assert (["A", "C", "B"], [10, 20, 30]) == (messages["data"][0]["y"], messages["data"][0]["x"])
    assert "normal" == messages["layout"]["legend"]["traceorder"]
    assert [("Messages a batch", ["A"], [1.3]), ("BATCHSZ", ["A"], [50])] == [
        (each["name"], each["y"], each["x"]) for each in batches["data"]
    ]
    assert batches["layout"]["showlegend"]


@pytest.mark.parametrize(("bars", "height"), [(0, 2), (1, 2), (2, 2), (3, 3), (10, 10)])
def test_a_chart_is_as_high_as_its_bars_and_at_least_two(bars, height):
    (figure,) = charts.cpu_by_week([week(2, f"A{n}", 1.0) for n in range(bars)] or [week(2, "A", 1.0)])
    assert 90 + charts._ROW_PX * height == figure["layout"]["height"]


def test_two_bars_to_a_name_take_half_as_much_again():
    by_bytes, _ = charts.queue_traffic([queue(f"Q{n}", 1.0, 1.0) for n in range(4)])
    assert 90 + charts._ROW_PX * 6 == by_bytes["layout"]["height"]


def stay(name, shortest, mean, longest):
    return {"QMGR": "QM01", "BASENAME": name, "MINTOQ": shortest, "AVGTOQ": mean, "MAXTOQ": longest}


def test_a_stay_runs_from_the_shortest_to_the_longest():
    """The scale is of powers of ten, so nothing stands at 1; what stayed no time at all has no line."""
    rows = [stay("A", 0, 50, 100), stay("B", 2000, None, 4_000_000), stay("C", 0, 0, 0), stay("D", None, 7, 9)]
    ((span, mean), shape) = (charts.time_on_queue(rows)[0][part] for part in ("data", "layout"))
    assert [1, 9, None, 2000, 4_000_000, None, 1, 100, None] == span["x"]
    assert ["D", "D", None, "B", "B", None, "A", "A", None] == span["y"]
    assert (["D", "A"], [7, 50]) == (mean["y"], mean["x"])
    assert [["0 us", "7 us", "9 us"], ["0 us", "50 us", "100 us"]] == mean["customdata"]
    assert [-0.6, 2.6] == shape["yaxis"]["range"]


def pool(hour, number, low_percent):
    return {"QMGR": "QM01", "BUFFER_POOL": number, "hour": HOURS[hour], "low_percent": low_percent}


def test_the_line_of_deferred_writes_runs_through_all_hours():
    """Four of five pools, the lowest first; an hour that a pool lacks is a gap."""
    rows = [pool(hour, number, 10.0 * number + hour) for number in (5, 4, 3, 2, 1) for hour in range(3)]
    rows.remove(pool(1, 1, 11.0))
    (figure,) = charts.buffer_pools(rows)
    *lines, limit = figure["data"]
    assert [f"QM01 pool {number}" for number in (1, 2, 3, 4)] == [each["name"] for each in lines]
    assert [10.0, None, 12.0] == lines[0]["y"]
    assert ([HOURS[0].isoformat(), HOURS[2].isoformat()], [15, 15]) == (limit["x"], limit["y"])
    assert [0, 100] == figure["layout"]["yaxis"]["range"]


def log(hour, checkpoints, qmgr="QM01"):
    return {
        "QMGR": qmgr,
        "hour": HOURS[hour],
        "megabytes_per_s": 1.23456,
        "forces_per_s": 7.0,
        "CHECKPOINTS": checkpoints,
    }


@pytest.mark.parametrize(("most", "even"), [(None, True), (0, True), (5, True), (6, False)])
def test_few_checkpoints_have_a_scale_of_whole_ones(most, even):
    rate, forces, checkpoints = charts.log_activity([log(0, 1), log(1, most)])
    assert [1.23456, 1.23456] == rate["data"][0]["y"]
    assert [7.0, 7.0] == forces["data"][0]["y"]
    assert even is (checkpoints["layout"]["yaxis"].get("dtick") == 1)
    assert even is (checkpoints["layout"]["yaxis"].get("range") == [0, 5])


def test_one_line_needs_no_legend():
    assert not charts.log_activity([log(0, 1)])[0]["layout"]["showlegend"]
    assert charts.log_activity([log(0, 1), log(0, 1, "QM02")])[0]["layout"]["showlegend"]


def structure(name, single, several, us, hour=0):
    return {"QMGR": "QM01", "STRUCTURE": name, "hour": HOURS[hour]} | {
        "QESTCSEC": single, "QESTCMEC": several, "single_avg_us": us,
    }  # fmt: skip


def test_requests_to_a_structure_are_of_both_kinds():
    times, counts = charts.cf_activity([structure("A", 3, 4, 10.0), structure("B", None, 5, None)])
    assert [("QM01 A", [10.0])] == [(each["name"], each["y"]) for each in times["data"]]
    assert [("QM01 A", [7]), ("QM01 B", [5])] == [(each["name"], each["y"]) for each in counts["data"]]


def test_the_six_structures_that_reach_highest_are_drawn():
    rows = [structure(f"S{n}", n, 0, 100.0 - n) for n in range(8)]
    times, counts = charts.cf_activity(rows)
    assert [f"QM01 S{n}" for n in range(6)] == [each["name"] for each in times["data"]]
    assert [f"QM01 S{n}" for n in range(2, 8)] == [each["name"] for each in counts["data"]]


@pytest.mark.parametrize(("hours", "mode"), [(60, "lines+markers"), (61, "lines")])
def test_many_hours_are_drawn_without_marks(hours, mode):
    rows = [log(0, 1) | {"hour": datetime(2026, 3, 2 + n // 24, n % 24)} for n in range(hours)]
    assert mode == charts.log_activity(rows)[0]["data"][0]["mode"]
