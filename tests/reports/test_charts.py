"""Figures: valid for plotly, true to their tables, and readable (D1 to D3)."""

import copy
from datetime import timedelta

import pytest

from quaestor.reports import charts
from quaestor.reports.page import PICTURES
from reports.given import APPLICATIONS, channels, four_weeks, pools, splits, stays, traffic, weeks

TABLES = {name: table.to_pylist() for name, table in four_weeks().items()}


def drawn():
    for picture in PICTURES:
        for number, figure in enumerate(picture.draw(copy.deepcopy(TABLES[picture.report]))):
            yield pytest.param(figure, id=f"{picture.report}-{number}")


@pytest.mark.parametrize("figure", list(drawn()))
def test_plotly_knows_every_word_of_a_figure(figure):
    """A property that plotly does not know is an error there, not silence."""
    from plotly.graph_objects import Figure

    assert len(figure["data"]) == len(Figure(figure, skip_invalid=False).data)


@pytest.mark.parametrize("figure", list(drawn()))
def test_axes_have_their_units(figure):
    x, y = figure["layout"]["xaxis"], figure["layout"]["yaxis"]
    assert "title" in x or x["type"] == "date"
    assert "title" in y or y["type"] == "category"


@pytest.mark.parametrize("picture", PICTURES, ids=lambda each: each.report)
def test_every_chart_has_its_caption(picture):
    figures = picture.draw(copy.deepcopy(TABLES[picture.report]))
    assert len(figures) == len(picture.captions)


def test_weeks_keep_the_whole_when_applications_are_many():
    """Seven applications by name, the rest as Other: the bars still add up."""
    (figure,) = charts.cpu_by_week(weeks())
    assert 8 == len(figure["data"])
    assert "Other" == figure["data"][-1]["name"]
    assert charts.GREY == figure["data"][-1]["marker"]["color"]
    for place in range(4):
        whole = sum(row["cpu_s"] for row in weeks()[place * len(APPLICATIONS) : (place + 1) * len(APPLICATIONS)])
        assert whole == pytest.approx(sum(trace["y"][place] for trace in figure["data"]), abs=0.01)


def test_one_week_is_a_bar_for_each_application():
    first = [row for row in weeks() if row["week"] == weeks()[0]["week"]]
    (figure,) = charts.cpu_by_week(first)
    assert list(APPLICATIONS) == figure["data"][0]["y"][::-1]


def test_shares_of_elapsed_time_are_whole():
    (figure,) = charts.elapsed_split(splits())
    for place in range(len(APPLICATIONS)):
        assert 100 == pytest.approx(sum(trace["x"][place] for trace in figure["data"]), abs=0.1)


def test_an_application_without_elapsed_time_has_no_bar():
    rows = [*splits(), {**splits()[0], "application": "IDLE", "elapsed_s": 0.0}]
    assert not any("IDLE" in label for trace in charts.elapsed_split(rows)[0]["data"] for label in trace["y"])


def test_queue_managers_are_named_when_there_are_several():
    assert "PRD1 ORDERS.IN" in charts.queue_traffic(traffic())[0]["data"][0]["y"]
    alone = [row for row in traffic() if row["QMGR"] == "PRD1"]
    assert "ORDERS.IN" in charts.queue_traffic(alone)[0]["data"][0]["y"]


def test_the_largest_queue_is_on_top_and_only_the_largest_are_shown():
    rows = [{**traffic()[0], "BASENAME": f"Q{n:02}", "megabytes_put": float(n)} for n in range(40)]
    put = next(trace for trace in charts.queue_traffic(rows)[0]["data"] if trace["name"] == "Put")
    assert (charts.MOST_BARS, "Q39") == (len(put["y"]), put["y"][-1])


def test_a_mean_that_is_not_known_is_not_drawn():
    """The sync queue's average is below its minimum, so it has a range and no mean (F-9)."""
    span, mean = charts.time_on_queue(stays())[0]["data"]
    assert "SYSTEM.CHANNEL.SYNCQ" in span["y"]
    assert "SYSTEM.CHANNEL.SYNCQ" not in mean["y"]


def test_buffer_pools_show_the_four_lowest_and_the_line():
    (figure,) = charts.buffer_pools(pools())
    assert 5 == len(figure["data"])
    assert "PRD1 pool 3" == figure["data"][0]["name"]
    assert ("15 %: deferred writes begin", [15, 15]) == (figure["data"][4]["name"], figure["data"][4]["y"])


def test_an_hour_without_a_figure_is_a_gap():
    """A pool that was not used in an hour is not drawn through it."""
    rows = [row for row in pools() if row["QMGR"] == "PRD1" and row["BUFFER_POOL"] in (0, 1)]
    gone = rows.pop(30)
    (figure,) = charts.buffer_pools(rows)
    trace = next(each for each in figure["data"] if each["name"] == f"PRD1 pool {gone['BUFFER_POOL']}")
    assert trace["y"][trace["x"].index(gone["hour"].isoformat())] is None


def test_one_hour_is_a_point_between_the_hours_around_it():
    """D4: left to itself, the axis of one point has marks of seconds, all of the same name."""
    hour = pools()[0]["hour"]
    (figure,) = charts.buffer_pools([row for row in pools() if row["hour"] == hour])
    around = [(hour - timedelta(hours=1)).isoformat(), (hour + timedelta(hours=1)).isoformat()]
    assert (around, 3_600_000) == (figure["layout"]["xaxis"]["range"], figure["layout"]["xaxis"]["dtick"])
    assert around == figure["data"][-1]["x"]  # the line of 15 % goes through
    assert 9 == figure["data"][0]["marker"]["size"]
    (two,) = charts.buffer_pools([row for row in pools() if row["hour"] in (hour, hour + timedelta(days=20))])
    assert 9 == two["data"][0]["marker"]["size"]
    assert "range" not in charts.buffer_pools(pools())[0]["layout"]["xaxis"]


def test_stays_of_one_magnitude_lie_between_two_marks():
    row = {"QMGR": "QM1", "BASENAME": "ORDERS", "MINTOQ": 300_000, "AVGTOQ": 500_000, "MAXTOQ": 900_000}
    (figure,) = charts.time_on_queue([row])
    low, high = (10**each for each in figure["layout"]["xaxis"]["range"])
    assert [1e4, 1e6] == [each for each in figure["layout"]["xaxis"]["tickvals"] if low <= each <= high]


def test_channels_without_batches_have_one_chart():
    clients = [row for row in channels() if row["TYPE"] == "SvrConn"]
    assert 1 == len(charts.channel_traffic(clients))
    assert 2 == len(charts.channel_traffic(channels()))
