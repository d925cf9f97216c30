"""Two-phase commit: a message and a row of a database end the same way, wherever the power goes."""

import sqlite3
from contextlib import closing, suppress

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, CallBeside, HeldForce, page_queue_manager
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.qmgr.connection import settle
from quaestor.testing import FaultyDisk, PowerCut
from servers import postgres_server

KEPT, LOST, NOW = MQMD(persistence=1), MQMD(persistence=0), PutOptions.NO_SYNCPOINT
XID = b"XID-1"


class Machine:
    """A disk and the queue manager on it; the power can go."""

    def __init__(self):
        self.disk, self.clock = FaultyDisk(), FakeClock()
        self.start()
        self.qm.queue("ORDERS")

    def start(self):
        self.qm = page_queue_manager(disk=self.disk, clock=self.clock)
        return self.qm

    def power_cut(self):
        self.disk = self.disk.after_power_cut()
        return self.start()

    def orders(self):
        return bodies(drain(self.qm.connect().open("ORDERS", EVERYTHING)))


@pytest.fixture
def machine():
    return Machine()


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("md", [KEPT, LOST], ids=["persistent", "not persistent"])
def test_in_doubt_until_decided(machine, md, restart, commit):
    app = machine.qm.connect()
    app.put1("ORDERS", "got", md, NOW)
    app.get("ORDERS")
    app.put1("ORDERS", "put", md)
    app.prepare(XID)
    assert app.in_doubt() == (XID,)
    assert [] == machine.orders()
    if restart:
        app = machine.power_cut().connect()
    if restart and md is LOST:
        assert (app.in_doubt(), machine.orders()) == ((), [])  # TP4
        return
    decide = app.commit_prepared if commit else app.backout_prepared
    decide(XID)
    assert app.in_doubt() == ()
    assert (["put"] if commit else ["got"]) == machine.orders()


def test_what_cannot_be_prepared_or_decided(machine):
    app, other = machine.qm.connect(), machine.qm.connect()
    with fails(Reason.UOW_NOT_AVAILABLE):
        app.prepare(XID)
    for connection in (app, other):
        connection.put1("ORDERS", "x", KEPT)
    app.prepare(XID)
    for bad in (XID, b"", bytes(141)):
        with fails(Reason.UOW_IN_PROGRESS):
            other.prepare(bad)
    with pytest.raises(TypeError, match="bytes"):
        other.prepare("text")
    for decide in (other.commit_prepared, other.backout_prepared):
        for bad in ("text", None, [XID]):
            with pytest.raises(TypeError, match="bytes"):
                decide(bad)
    other.backout()
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        app.commit_prepared(b"nobody's")


def test_a_queue_with_work_in_doubt_keeps_it_when_the_application_ends(machine):
    with machine.qm.connect() as app:
        app.put1("ORDERS", "x", KEPT)
        app.prepare(XID)
    machine.qm.connect().commit_prepared(XID)
    assert ["x"] == machine.orders()


def ended_from_outside(qm, app):
    qm.connections.end(app.thread)


def everything_stops(qm, _app):
    qm.connections.stop()


@pytest.mark.plain
@pytest.mark.parametrize("ends", [ended_from_outside, everything_stops])
def test_a_connection_that_is_ended_while_it_prepares_leaves_the_unit_in_doubt(machine, monkeypatch, ends):
    app = machine.qm.connect()
    app.put1("ORDERS", "x", KEPT)
    with HeldForce(machine.qm.manager.engine.log, monkeypatch, lambda: app.prepare(XID)) as preparing:
        ends(machine.qm, app)
    assert ("well", "") == (preparing.ended, machine.qm.manager.failure)
    app = machine.power_cut().connect()
    assert (XID,) == app.in_doubt()
    app.commit_prepared(XID)
    assert ["x"] == machine.orders()


@pytest.mark.plain
def test_two_units_are_not_prepared_under_one_name_at_the_same_time(machine, monkeypatch):
    app, other = machine.qm.connect(), machine.qm.connect()
    for connection in (app, other):
        connection.put1("ORDERS", "x", KEPT)
    with (
        HeldForce(machine.qm.manager.engine.log, monkeypatch, lambda: app.prepare(XID)) as preparing,
        fails(Reason.UOW_IN_PROGRESS),
    ):
        other.prepare(XID)
    assert ("well", (XID,)) == (preparing.ended, app.in_doubt())
    other.prepare(b"XID-2")
    assert (XID, b"XID-2") == app.in_doubt()


@pytest.mark.plain
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("again", ["in doubt", "decides"])
def test_who_asks_while_a_unit_is_decided_is_answered_when_that_is_durable(machine, monkeypatch, commit, again):
    """TP3: a coordinator that was cut off hears that there is nothing to decide, and forgets what it had decided."""
    app, other = machine.qm.connect(), machine.qm.connect()
    app.put1("ORDERS", "x", KEPT)
    app.prepare(XID)
    decide = (lambda on: on.commit_prepared(XID)) if commit else (lambda on: on.backout_prepared(XID))
    told = []
    asking = CallBeside(lambda: told.append(other.in_doubt()) if again == "in doubt" else decide(other))
    with HeldForce(machine.qm.manager.engine.log, monkeypatch, lambda: decide(app)) as deciding:
        asking.start()
        asking._thread.join(0.1)
        assert (None, []) == (asking.ended, told)
    asking.join()
    assert ("well", "well" if told else Reason.UNKNOWN_OBJECT_NAME) == (deciding.ended, asking.ended)
    assert [()] * (again == "in doubt") == told
    assert () == machine.power_cut().connect().in_doubt()
    assert ["x"] * commit == machine.orders()


@pytest.mark.plain
def test_a_unit_that_is_being_prepared_is_not_unknown(machine, monkeypatch):
    """TP3: a coordinator that was cut off while it prepared would back it out, and forget a unit that nobody has."""
    app, other = machine.qm.connect(), machine.qm.connect()
    app.put1("ORDERS", "x", KEPT)
    with (
        HeldForce(machine.qm.manager.engine.log, monkeypatch, lambda: app.prepare(XID)),
        fails(Reason.UOW_IN_PROGRESS),
    ):
        other.backout_prepared(XID)
    other.backout_prepared(XID)
    assert ((), []) == (other.in_doubt(), machine.orders())


# -- with SQLite: the database's own commit is the decision


def ship(machine, database):
    """Put a message and note it in the database, as one unit of work."""
    app = machine.qm.connect()
    app.put1("ORDERS", "shipped", KEPT)
    app.prepare(XID)
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("INSERT INTO shipped VALUES (?)", (XID,))
    app.commit_prepared(XID)


def is_noted(database):
    def noted(xid):
        with closing(sqlite3.connect(database)) as db:
            return db.execute("SELECT count(*) FROM shipped WHERE xid = ?", (xid,)).fetchone()[0] == 1

    return noted


def changes_of(tmp_path):
    """How many operations on the disk the unit of work takes."""
    machine = Machine()
    before = machine.disk.operations
    ship(machine, new_database(tmp_path / "count"))
    return machine.disk.operations - before


def new_database(path):
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE shipped (xid BLOB)")
    return path


def test_with_sqlite_wherever_the_power_goes(tmp_path):
    cuts = changes_of(tmp_path)
    assert cuts >= 2
    for cut in range(cuts + 1):
        machine, database = Machine(), new_database(tmp_path / f"cut{cut}")
        machine.disk.cut_after = machine.disk.operations + cut
        with suppress(PowerCut):
            ship(machine, database)
        settle(machine.power_cut().connect(), is_noted(database))
        assert machine.orders() == (["shipped"] if is_noted(database)(XID) else []), cut


def test_with_sqlite_when_the_database_refuses(machine, tmp_path):
    database = tmp_path / "no-table"
    app = machine.qm.connect()
    app.put1("ORDERS", "shipped", KEPT)
    app.prepare(XID)
    with pytest.raises(sqlite3.OperationalError), closing(sqlite3.connect(database)) as db:
        db.execute("INSERT INTO shipped VALUES (?)", (XID,))
    app.backout_prepared(XID)
    assert [] == machine.orders()


# -- with PostgreSQL: it prepares too, and the coordinator decides both


@pytest.fixture(scope="module")
def postgres():
    """Statements to a database server of our own; skipped where none is installed."""
    with postgres_server("-c max_prepared_transactions=5") as server:
        yield server.sql


@pytest.mark.parametrize("decision", ["commit", "back out"])
@pytest.mark.parametrize("power_goes", [False, True])
def test_with_postgresql(machine, postgres, decision, power_goes):
    xid = f"{decision}-{power_goes}".replace(" ", "-")
    postgres("CREATE TABLE IF NOT EXISTS shipped (xid text)")
    app = machine.qm.connect()
    app.put1("ORDERS", "shipped", KEPT)
    app.prepare(xid.encode())
    postgres(f"BEGIN; INSERT INTO shipped VALUES ('{xid}'); PREPARE TRANSACTION '{xid}'")
    if power_goes:
        app = machine.power_cut().connect()
    assert (app.in_doubt(), postgres("SELECT gid FROM pg_prepared_xacts")) == ((xid.encode(),), [xid])
    if decision == "commit":
        postgres(f"COMMIT PREPARED '{xid}'")
        app.commit_prepared(xid.encode())
    else:
        postgres(f"ROLLBACK PREPARED '{xid}'")
        app.backout_prepared(xid.encode())
    noted = postgres(f"SELECT xid FROM shipped WHERE xid = '{xid}'")
    assert ((["shipped"], [xid]) if decision == "commit" else ([], [])) == (machine.orders(), noted)
