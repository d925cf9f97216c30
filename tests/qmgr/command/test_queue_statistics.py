"""RESET QSTATS: what a watched queue has counted, and that it begins anew (QC5, EV7)."""

import pytest

from qmgr.command.console import Console
from qmgr.command.test_pcf_server import Tool
from qmgr.small import EVERYTHING
from quaestor.mqi import pcf
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.qmgr.message.events import PERFORMANCE_QUEUE

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


@pytest.fixture
def console():
    console = Console()
    for command in ("ALTER QMGR MONQ(OFF)", "DEFINE QLOCAL(ORDERS) MONQ(LOW) SHARE", "DEFINE QLOCAL(PLAIN)"):
        assert console.run(command).ok
    console.queue = console.connect().open("ORDERS", EVERYTHING)
    return console


def counted(console, name="ORDERS"):
    (row,) = console.rows(f"RESET QSTATS({name})")
    return tuple(row[word] for word in ("QSTATS", "RESETINT", "HIQDEPTH", "MSGSIN", "MSGSOUT"))


def test_what_was_put_and_got_is_shown_and_begins_anew(console):
    for _ in range(3):
        console.queue.put("x", None, NOW)
    console.queue.get(GET_NOW)
    console.clock.advance(seconds=90)
    assert ("ORDERS", 90, 3, 3, 1) == counted(console)
    assert ("ORDERS", 0, 0, 0, 0) == counted(console)
    console.clock.advance(seconds=5)
    console.queue.put("x", None, NOW)
    assert ("ORDERS", 5, 3, 1, 0) == counted(console)


def test_the_highest_depth_ever_is_not_forgotten(console):
    """EV6: who monitors the queue goes on seeing it."""
    for _ in range(3):
        console.queue.put("x", None, NOW)
    counted(console)
    state = console.qm.messages.catalogue.state("ORDERS")
    assert 3 == console.qm.messages.events.watched(state).depth_highest


def test_an_event_begins_anew_as_well(console):
    """EV4: it tells the same numbers."""
    for command in (
        f"DEFINE QLOCAL({PERFORMANCE_QUEUE}) REPLACE", "ALTER QMGR PERFMEV(ENABLED)",
        "ALTER QLOCAL(ORDERS) MONQ(OFF) MAXDEPTH(4) QDEPTHHI(50) QDEPTHLO(0) QDPHIEV(ENABLED)",
    ):  # fmt: skip
        assert console.run(command).ok
    console.queue.put("x", None, NOW)
    console.clock.advance(seconds=7)
    console.queue.put("x", None, NOW)
    event = pcf.unpack(console.app.get(PERFORMANCE_QUEUE, GET_NOW).body)
    assert (7, 2, 2, 0) == tuple(event.value(number) for number in (35, 36, 37, 38))
    console.queue.get(GET_NOW)
    assert ("ORDERS", 0, 0, 0, 1) == counted(console)


def test_a_queue_that_nobody_watches_counts_nothing(console):
    refused = console.run("RESET QSTATS(PLAIN)")
    assert not refused.ok
    assert "nothing is counted" in refused.lines[0]


def test_a_generic_name_passes_those_over(console):
    assert ["ORDERS"] == [row["QSTATS"] for row in console.rows("RESET QSTATS(*)")]
    assert [] == console.rows("RESET QSTATS(PL*)")


@pytest.mark.parametrize(("command", "message"), [("RESET QSTATS", "CSQ9010E"), ("RESET QSTATS(NONE)", "CSQM125I")])
def test_a_queue_has_to_be_named(console, command, message):
    assert console.run(command).lines[0].startswith(message)


def test_who_may_not_administer_the_queue_may_not_reset_it():
    profiles = (
        "connect * * read\ncommand * * control\nqueue * OPER control\nstgclass * OPER control\nqmgr * OPER control"
    )
    console = Console(profiles)
    assert console.run("DEFINE QLOCAL(ORDERS) MONQ(LOW)").ok
    assert not console.run("RESET QSTATS(ORDERS)", "ALICE").ok


def test_statistics_by_pcf(console):
    """MQCMD_RESET_Q_STATS."""
    console.queue.put("x", None, NOW)
    console.clock.advance(seconds=4)
    (found,) = Tool(console).done(17, (2016, "ORDERS"))
    assert {2016: "ORDERS", 35: 4, 36: 1, 37: 1, 38: 0} == {**found, 2016: found[2016].rstrip()}
    assert 3228 == Tool(console).failed(17)
