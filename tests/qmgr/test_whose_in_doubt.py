"""Units in doubt are their user's to see and to decide, or an operator's (TP2)."""

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.reasons import Reason
from quaestor.storage import log_record
from quaestor.testing import FaultyDisk

PROFILES = """
connect * * read
queue   * * control
command RESOLVE.INDOUBT OPERATOR administer
"""
XID, KEPT, LOST = b"XID-1", MQMD(persistence=1), MQMD(persistence=0)
LONG, LIKE_IT = "SIXTEEN.LETTERS." + "ALICE", "SIXTEEN.LETTERS." + "BOB"
LONGEST = "U" * 255


class Machine:
    def __init__(self, profiles=PROFILES):
        self.disk, self.profiles, self.refusals = FaultyDisk(), profiles, []
        self.start()
        self.qm.queue("ORDERS")

    def start(self):
        self.qm = page_queue_manager(self.profiles, disk=self.disk)
        self.qm.security.refused = self.refusals.append

    def prepared_by(self, user, md=KEPT, *, restart, checkpoint=False):
        app = self.qm.connect(user)
        app.put1("ORDERS", "put", md)
        app.prepare(XID)
        recovery = self.qm.manager.engine.recovery
        if checkpoint:
            with recovery.latch:
                recovery.checkpoint()
        if restart:
            self.disk = self.disk.after_power_cut()
            self.start()

    def orders(self):
        return bodies(drain(self.qm.connect("ALICE").open("ORDERS", EVERYTHING)))


@pytest.fixture(params=[False, True], ids=["at once", "after a restart"])
def restart(request):
    return request.param


@pytest.mark.parametrize("user", ["ALICE", "ÄRZTIN", LONG, "ärztinnen.und.ärzte", LONGEST])
@pytest.mark.parametrize("decide", ["commit_prepared", "backout_prepared"])
def test_another_connection_of_the_same_user_decides(restart, user, decide):
    machine = Machine()
    machine.prepared_by(user, restart=restart)
    other = machine.qm.connect(user)
    assert (XID,) == other.in_doubt()
    getattr(other, decide)(XID)
    assert () == other.in_doubt()
    assert (["put"] if decide == "commit_prepared" else []) == machine.orders()
    assert [] == machine.refusals


@pytest.mark.parametrize("md", [KEPT, LOST], ids=["persistent", "not persistent"])
@pytest.mark.parametrize("decide", ["commit_prepared", "backout_prepared"])
def test_somebody_else_is_refused_and_it_is_told_once(md, decide):
    machine = Machine()
    machine.prepared_by("ALICE", md, restart=False)
    bob = machine.qm.connect("BOB")
    assert () == bob.in_doubt()
    assert [] == machine.refusals  # to ask is no offence
    with fails(Reason.NOT_AUTHORIZED):
        getattr(bob, decide)(XID)
    (told,) = machine.refusals
    assert ("BOB", "command", "RESOLVE.INDOUBT") == tuple(told.facts[name] for name in ("user", "resource", "name"))
    assert (XID,) == machine.qm.connect("ALICE").in_doubt()
    assert [] == machine.orders()


def test_somebody_else_is_refused_after_a_restart():
    machine = Machine()
    machine.prepared_by("ALICE", restart=True)
    bob = machine.qm.connect("BOB")
    with fails(Reason.NOT_AUTHORIZED):
        bob.commit_prepared(XID)
    assert (XID,) == machine.qm.connect("ALICE").in_doubt()


@pytest.mark.parametrize("checkpoint", [False, True], ids=["by the log", "by a checkpoint"])
@pytest.mark.parametrize(
    ("user", "other"), [(LONG, LIKE_IT), (LONG, LONG[:16]), (LONG[:16], LONG), (LONGEST, LONGEST[:-1])]
)
def test_whoevers_name_begins_alike_is_somebody_else(restart, checkpoint, user, other):
    """TP2, L6: he is told nothing, and decides nothing."""
    machine = Machine()
    machine.prepared_by(user, restart=restart, checkpoint=checkpoint)
    stranger = machine.qm.connect(other)
    assert () == stranger.in_doubt()
    with fails(Reason.NOT_AUTHORIZED):
        stranger.commit_prepared(XID)
    owner = machine.qm.connect(user)
    assert (XID,) == owner.in_doubt()
    owner.backout_prepared(XID)
    assert [] == machine.orders()


def test_of_a_long_name_that_an_older_log_has_cut_only_an_operator_decides(monkeypatch):
    """TP2: nobody knows whose it was."""
    machine = Machine()
    pack = log_record._pack_names
    monkeypatch.setattr(log_record, "_pack_names", lambda connection, user, thread: pack(connection, user[:16], thread))
    machine.prepared_by(LONG, restart=True)
    for user in (LONG, LIKE_IT):
        assert () == machine.qm.connect(user).in_doubt()
    operator = machine.qm.connect("OPERATOR")
    operator.commit_prepared(XID)
    assert ["put"] == machine.orders()


def test_an_operator_sees_and_decides_everybodys(restart):
    machine = Machine()
    machine.prepared_by("ALICE", restart=restart)
    operator = machine.qm.connect("OPERATOR")
    assert (XID,) == operator.in_doubt()
    operator.commit_prepared(XID)
    assert ["put"] == machine.orders()


def test_without_profiles_anybody_decides(restart):
    machine = Machine(profiles=None)
    machine.prepared_by("ALICE", restart=restart)
    bob = machine.qm.connect("BOB")
    assert (XID,) == bob.in_doubt()
    bob.commit_prepared(XID)
    assert ["put"] == machine.orders()


def test_a_unit_that_is_nobodys_is_not_there():
    machine = Machine()
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        machine.qm.connect("BOB").commit_prepared(XID)
    assert [] == machine.refusals


@pytest.mark.parametrize("user", ["U" * 256, "é" * 128, "\udc80"], ids=["256 letters", "256 bytes", "no text"])
def test_a_name_that_messages_cannot_carry_is_refused_at_the_door(user):
    """CM7."""
    with fails(Reason.NOT_AUTHORIZED):
        Machine(profiles=None).qm.connect(user)


def test_the_longest_name_puts_and_gets():
    machine = Machine()
    with machine.qm.connect("é" * 127 + "u") as app:
        app.put1("ORDERS", "put", KEPT)
        app.commit()
    with machine.qm.connect(LONGEST) as app:
        assert "é" * 127 + "u" == app.open("ORDERS", EVERYTHING).get().descriptor.user_identifier
