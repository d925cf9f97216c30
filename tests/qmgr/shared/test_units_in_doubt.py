"""Units in doubt over everything that can befall their member and its structures: only their coordinator decides."""

import pytest

from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, USES, VOLATILE, browsed, drained
from quaestor.mqi.headers import TriggerMessage
from quaestor.mqi.objects import LocalQueue, Process, TriggerType
from quaestor.mqi.options import OpenOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.definitions import FORMAT_LOCK
from quaestor.qmgr.coupling_facility.recovering import recover
from quaestor.qmgr.recovery.checkpointing import SHUNT_AFTER
from quaestor.storage.lists.operations import Write
from quaestor.storage.lists.structure import StructureLostError, StructureRefusal
from quaestor.storage.log_record import Kind
from quaestor.testing import PowerCut


@pytest.fixture
def sharing(recoverable):
    return recoverable


@pytest.fixture
def doubtful(one):
    """A unit that has got one message and put another, in both structures, and is in doubt."""
    with one.open("ORDERS", USES) as orders, one.open("BILLS", USES) as bills:
        orders.put(b"got", PERSISTENT, OUT)
        assert b"got" == orders.get(GET_IN).body
        bills.put(b"put", PERSISTENT, IN)
        one.prepare(b"XID")


def seen(app):
    return browsed(app, "ORDERS"), browsed(app, "BILLS")


IN_DOUBT, COMMITTED = ([], []), ([], [b"put"])


def test_a_prepare_that_a_structure_refuses_backs_out_and_nobody_ends_by_it(sharing, one, two):
    with one.open("ORDERS", USES) as orders:
        orders.put(b"put", PERSISTENT, IN)
        sharing.cut_off("CSQ_ADMIN")
        with pytest.raises(MQError, match="2003"):
            one.prepare(b"XID")
        one.backout()
        sharing.reach_again("CSQ_ADMIN")
        orders.put(b"later", PERSISTENT, OUT)
    assert ((), [b"later"], []) == (one.in_doubt(), drained(two), sharing.leaks())


def test_a_decision_for_which_csq_admin_has_no_room_is_made_later(sharing, one, two, doubtful, monkeypatch):
    """CU5: the descriptor that says that it is in doubt stays until there is another, whoever writes one meanwhile."""
    admin = sharing.members["QM1"].shared.admin
    ask = admin.ask

    def full(*operations, **how):
        if isinstance(operations[0], Write):
            raise StructureRefusal("FULL")
        return ask(*operations, **how)

    with monkeypatch.context() as patch:
        patch.setattr(admin, "ask", full)
        with pytest.raises(MQError, match="2349"):
            one.commit_prepared(b"XID")
    with sharing.members["QM1"].connect("CAROL") as other:
        other.put("ORDERS", b"other", PERSISTENT, IN)
    assert {True, False} == {each.in_doubt for each in sharing.descriptors()}
    one.commit_prepared(b"XID")
    assert ([b"other"], [b"put"]) == (drained(two, "ORDERS"), drained(two, "BILLS"))
    sharing.members["QM1"].stop()
    assert ([], []) == (sharing.leaks(), [each for each in sharing.descriptors() if each.unit[0] == 1])


@pytest.mark.plain
def test_announcing_the_commit_of_a_unit_in_doubt_is_no_decision(sharing, one, two, doubtful, monkeypatch):
    """Its member dies before the COMMIT record is written: it is in doubt as before, whoever looks."""
    log = sharing.members["QM1"].engine.recovery.log
    append = log.append

    def cut(kind, *words):
        if kind == Kind.COMMIT:
            raise PowerCut
        return append(kind, *words)

    monkeypatch.setattr(log, "append", cut)
    with pytest.raises(PowerCut):
        one.commit_prepared(b"XID")
    sharing.kill("QM1")
    sharing.members["QM2"].shared.peers.step()
    assert IN_DOUBT == seen(two)
    again = sharing.start("QM1").connect("ALICE")
    assert (IN_DOUBT, (b"XID",)) == (seen(two), again.in_doubt())
    again.commit_prepared(b"XID")
    assert (COMMITTED, []) == (seen(two), sharing.leaks())


@pytest.mark.plain
@pytest.mark.parametrize("by", ["a peer", "its own restart"])
def test_what_was_decided_after_a_restart_is_completed(sharing, one, two, doubtful, by, monkeypatch):
    """The COMMIT record is of a later epoch than the unit's name."""
    sharing.kill("QM1")
    manager = sharing.start("QM1")
    monkeypatch.setattr(manager.shared, "committed", lambda _unit: (_ for _ in ()).throw(PowerCut()))
    with pytest.raises(PowerCut):
        manager.connect("ALICE").commit_prepared(b"XID")
    sharing.kill("QM1")
    if by == "a peer":
        sharing.members["QM2"].shared.peers.step()
    else:
        assert () == sharing.start("QM1").connect("ALICE").in_doubt()
    assert (COMMITTED, []) == (seen(two), sharing.leaks())


@pytest.mark.parametrize("restarted", [False, True])
def test_an_announced_commit_whose_answer_was_lost_is_announced_again(sharing, one, two, doubtful, restarted):
    """CU4: the request was done, and the descriptor that it replaced is no longer there."""
    if restarted:
        sharing.kill("QM1")
        one = sharing.start("QM1").connect("ALICE")
    admin = sharing.members["QM1"].shared.admin._connection
    request = admin.request

    def done_and_lost(*operations):
        request(*operations)
        admin.broken = True
        raise StructureLostError("the answer")

    admin.request = done_and_lost
    with pytest.raises(MQError, match="2345"):
        one.commit_prepared(b"XID")
    sharing.reach_again("CSQ_ADMIN")
    one.commit_prepared(b"XID")
    sharing.publish()
    assert (COMMITTED, []) == (seen(two), sharing.leaks())
    with one.open("ORDERS", USES) as orders:
        orders.put(b"x", PERSISTENT, IN)
        one.commit()  # its descriptor goes with the next one
    assert 1 == len(sharing.descriptors())


@pytest.mark.parametrize("away", ["APPL1", "APPL2", "CSQ_ADMIN"])
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "backout"])
def test_nothing_is_decided_before_every_structure_was_looked_at(sharing, one, two, doubtful, away, commit):
    """CU8: its member starts while a structure cannot be reached."""
    sharing.kill("QM1")
    sharing.away.add(away)
    again = sharing.start("QM1").connect("ALICE")
    decide = again.commit_prepared if commit else again.backout_prepared
    with pytest.raises(MQError, match="2373"):
        decide(b"XID")
    sharing.reach_again(away)
    assert IN_DOUBT == seen(two)
    decide(b"XID")
    assert (COMMITTED if commit else ([b"got"], []), []) == (seen(two), sharing.leaks())


def test_csq_admin_is_lost_while_its_member_is_down_and_a_peer_leaves_the_unit_alone(sharing, two, doubtful):
    """PR4: its entries say that they are in doubt."""
    sharing.kill("QM1")
    sharing.cut_off("CSQ_ADMIN", lost=True)
    sharing.reach_again("CSQ_ADMIN")
    sharing.members["QM2"].shared.peers.step()
    assert IN_DOUBT == seen(two)
    sharing.start("QM1").connect("ALICE").commit_prepared(b"XID")
    assert (COMMITTED, []) == (seen(two), sharing.leaks())


def test_a_unit_may_be_in_doubt_over_many_checkpoints(sharing, two, doubtful):
    """V6: its records stay, because they say where it worked."""
    recovery = sharing.members["QM1"].engine.recovery
    with recovery.latch:
        for _ in range(SHUNT_AFTER + 2):
            recovery.checkpoint()
    sharing.kill("QM1")
    sharing.start("QM1").connect("ALICE").commit_prepared(b"XID")
    assert (COMMITTED, []) == (seen(two), sharing.leaks())


# --- what another member has done is noticed --------------------------------------------------------------------------


def test_a_structure_that_another_member_has_recovered_tells_of_messages(sharing, one, two):
    """CF5: this member was connected to it while it had failed, and nothing told anybody then."""
    waits = sharing.members["QM2"].messages.catalogue.state("ORDERS").stored
    waits.be_told(each=False)
    sharing.cut_off("APPL1", lost=True)
    sharing.reach_again("APPL1")
    with sharing.members["QM1"].engine.recovery.latch:
        recover(sharing.members["QM1"].shared, "APPL1")
    sharing.publish()
    list(sharing.members["QM2"].shared.noticed())
    with one.open("ORDERS", USES) as orders:
        orders.put(b"x", VOLATILE, OUT)
    assert [waits] == list(sharing.members["QM2"].shared.noticed())


def test_triggering_that_another_member_switches_on_triggers_where_the_monitor_is(sharing, one, two):
    """T5, over the group."""
    two.define(Process("SERVE", appl_id="serve"))
    two.define(LocalQueue("INIT", share=True, def_exclusive=False))
    triggers = {"trigger_type": TriggerType.DEPTH, "trigger_depth": 2, "initiation_queue": "INIT", "process": "SERVE"}
    sharing.define("WORK", "APPL1", trigger=True, **triggers)
    messages = sharing.members["QM2"].messages
    with two.open("INIT", USES) as init, one.open("WORK", OpenOptions.OUTPUT | OpenOptions.SET) as work:
        messages.follow_step()
        for _ in range(3):
            work.put(b"x", VOLATILE, OUT)
            messages.notice_step()
        init.get(GET_OUT)
        with pytest.raises(MQError, match="2033"):
            init.get(GET_OUT)  # triggering is off
        work.set(TRIGGER="YES")
        messages.follow_step()
        assert "WORK" == TriggerMessage.unpack(init.get(GET_OUT).body).q_name


@pytest.mark.parametrize("how", ["cut off", "killed"])
def test_a_member_that_was_lost_while_it_formatted_a_list_keeps_nobody_from_altering_queues(sharing, two, how):
    """Its lock is given back when it is connected again, or started, before anybody has missed it."""
    assert sharing.members["QM1"].shared.structures["APPL1"].take_lock(FORMAT_LOCK)
    if how == "killed":
        sharing.kill("QM1")
        sharing.start("QM1")
    else:
        sharing.cut_off("APPL1")
        sharing.reach_again("APPL1")
    with two.open("ORDERS", OpenOptions.SET) as orders:
        orders.set(GET="DISABLED")
