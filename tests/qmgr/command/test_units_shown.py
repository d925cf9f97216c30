"""DISPLAY CONN says what has become of an application's unit: NONE, ACTIVE or PREPARED (TH1)."""

import pytest

from model.answers import fails
from qmgr.command.console import Console
from qmgr.small import CallBeside, HeldForce
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.reasons import Reason

XID = b"XID-1"
KEPT, LOST = MQMD(persistence=1), MQMD(persistence=0)


@pytest.fixture
def console():
    made = Console()
    assert made.run("DEFINE QLOCAL(ORDERS)").ok
    made.connect()
    return made


def states(console):
    return [row["UOWSTATE"] for row in console.rows("DISPLAY CONN(*) UOWSTATE")]


@pytest.mark.parametrize("decide", ["commit_prepared", "backout_prepared"])
@pytest.mark.parametrize("md", [KEPT, LOST], ids=["persistent", "not persistent"])
def test_a_unit_is_shown_prepared_until_it_is_decided(console, md, decide):
    found = [states(console)]
    console.app.put("ORDERS", "x", md)
    found.append(states(console))
    console.app.prepare(XID)
    found.append(states(console))
    getattr(console.app, decide)(XID)
    assert [["NONE"], ["ACTIVE"], ["PREPARED"], ["NONE"]] == [*found, states(console)]


def test_a_prepared_unit_is_shown_with_its_beginning_and_its_urid(console):
    console.app.put("ORDERS", "x", KEPT)
    (active,) = console.rows("DISPLAY CONN(*) ALL")
    console.clock.us += 60_000_000
    console.app.prepare(XID)
    (prepared,) = console.rows("DISPLAY CONN(*) ALL")
    assert active | {"UOWSTATE": "PREPARED"} == prepared
    assert int(prepared["QMURID"], 16)


def test_without_a_unit_there_is_neither_a_beginning_nor_a_urid(console):
    (idle,) = console.rows("DISPLAY CONN(*) ALL")
    assert ["NONE", "", "", "000000000000"] == [idle[each] for each in ("UOWSTATE", "UOWSTDA", "UOWSTTI", "QMURID")]


def test_the_unit_that_was_begun_since_is_shown_first(console):
    console.app.put("ORDERS", "x", KEPT)
    console.app.prepare(XID)
    console.app.put("ORDERS", "y", KEPT)
    assert ["ACTIVE"] == states(console)
    console.app.commit()
    assert ["PREPARED"] == states(console)


def test_only_who_prepared_a_unit_is_shown_so(console):
    """Whoever decides it."""
    preparing, other = console.app, console.connect()
    preparing.put("ORDERS", "x", KEPT)
    preparing.prepare(XID)
    assert ["PREPARED", "NONE"] == states(console)
    other.put("ORDERS", "y", KEPT)
    other.prepare(b"XID-2")
    preparing.commit_prepared(b"XID-2")
    assert ["PREPARED", "NONE"] == states(console)
    assert console.run(f"RESOLVE INDOUBT(*) ACTION(COMMIT) NID({XID.hex()})").ok
    assert ["NONE", "NONE"] == states(console)


@pytest.mark.plain
def test_a_unit_that_is_decided_beside_the_command_that_decides_all_is_passed_over(console, monkeypatch):
    """TH3: once, the command ended there, and left those behind it in doubt."""
    connections = [console.connect() for _ in range(3)]
    for number, app in enumerate(connections):
        app.put("ORDERS", "x", KEPT)
        app.prepare(b"XID-%d" % number)
    told = []
    beside = CallBeside(lambda: connections[1].commit_prepared(b"XID-1"))
    with HeldForce(
        console.qm.engine.log,
        monkeypatch,
        lambda: told.append(console.run("RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*)")),
    ):
        beside.start()
        beside._thread.join(0.1)
    assert ("well", True, ()) == (beside.join(), told[0].ok, console.app.in_doubt())


def test_a_decision_that_names_no_unit_changes_nothing(console):
    console.app.put("ORDERS", "x", KEPT)
    console.app.prepare(XID)
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        console.app.commit_prepared(b"XID-2")
    assert ["PREPARED"] == states(console)


@pytest.mark.plain
def test_a_unit_is_active_while_its_preparation_waits_for_the_log(console, monkeypatch):
    console.app.put("ORDERS", "x", KEPT)
    with HeldForce(console.qm.engine.log, monkeypatch, lambda: console.app.prepare(XID)):
        assert ["ACTIVE"] == states(console)
    assert ["PREPARED"] == states(console)


def test_what_was_in_doubt_before_a_restart_is_no_connections(console):
    """Connections are numbered anew: another one has the number now."""
    console.app.put("ORDERS", "x", KEPT)
    console.app.prepare(XID)
    console.restart()
    console.connect()
    assert ((XID,), ["NONE"]) == (console.app.in_doubt(), states(console))
