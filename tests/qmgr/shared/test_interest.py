"""Who has a shared queue open: what keeps it from being deleted, and what does not; dynamic queues of the group."""

import pytest

from qmgr.shared.sharing import GET_OUT, IN, OUT, USES, VOLATILE, Sharing, drained
from quaestor.mqi.descriptors import Target
from quaestor.mqi.objects import DefinitionType, ModelQueue
from quaestor.mqi.options import CloseOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.interest import INTEREST_LIST


def run(sharing, text, name="QM1", *, ok=True):
    reply = sharing.members[name].commands.run(text, "OPER")
    assert reply.ok is ok, reply.lines
    return reply


DELETE = "DELETE QLOCAL(ORDERS) QSGDISP(SHARED)"


def test_a_handle_of_another_member_keeps_a_queue_from_being_deleted(sharing):
    app = sharing.members["QM2"].connect("BOB")
    with app.open("ORDERS", USES) as queue:
        reply = run(sharing, DELETE, ok=False)
        assert "CSQM101I +QM1 QLOCAL(ORDERS) IS IN USE (open_on=QM2)" == reply.lines[0]
        queue.put(b"it is as it was", VOLATILE, OUT)
        assert b"it is as it was" == queue.get(GET_OUT).body
    sharing.publish()
    run(sharing, DELETE)
    assert () == sharing.entries(INTEREST_LIST)


def test_uncommitted_work_of_another_member_is_2055(sharing):
    app = sharing.members["QM2"].connect("BOB")
    app.put("ORDERS", b"1", VOLATILE, IN)
    assert "2055" in run(sharing, f"{DELETE} PURGE", ok=False).lines[0]
    app.backout()
    sharing.publish()
    run(sharing, DELETE)


def test_the_handles_of_a_dead_member_mean_nothing(sharing):
    app = sharing.members["QM2"].connect("BOB")
    app.open("ORDERS", USES)
    sharing.kill("QM2")
    run(sharing, DELETE)


def test_a_member_that_starts_again_has_nothing_open(sharing):
    sharing.members["QM2"].connect("BOB").open("ORDERS", USES)
    sharing.kill("QM2")
    sharing.members["QM1"].shared.peers.step()
    sharing.start("QM2")
    assert () == sharing.entries(INTEREST_LIST)
    run(sharing, DELETE)


def test_opening_and_closing_at_every_message_asks_once(sharing):
    """One more request for the first MQPUT1 of a while, none for those that follow."""
    app, structure = sharing.members["QM2"].connect("BOB"), sharing.members["QM2"].shared.structures["APPL1"]

    def asked(count):
        before = structure.figures.single_calls + structure.figures.multiple_calls
        for _ in range(count):
            app.put("ORDERS", b"1", VOLATILE, OUT)
        return structure.figures.single_calls + structure.figures.multiple_calls - before

    assert (2, 10) == (asked(1), asked(10))
    sharing.publish()
    assert 2 == asked(1)


def test_a_queue_that_is_being_deleted_is_not_opened(sharing):
    """Whoever comes between the mark and the end is told; a mark that a dead member left is none."""
    app = sharing.members["QM2"].connect("BOB")
    here = sharing.members["QM1"].shared
    with here.alone(here._queues["ORDERS"]), pytest.raises(MQError, match=r"2042.*QM1 is deleting it"):
        app.open("ORDERS", USES)
    app.open("ORDERS", USES).close()
    sharing.publish()
    here.alone(here._queues["ORDERS"]).__enter__()
    sharing.kill("QM1")
    with app.open("ORDERS", USES) as queue:
        queue.put(b"open", VOLATILE, OUT)
    assert [b"QM2"] == [entry.data for entry in sharing.entries(INTEREST_LIST)]


def test_a_structure_that_was_lost_learns_again_who_has_its_queues_open(tmp_path):
    sharing = Sharing(tmp_path, RECOVER="YES")
    for name in ("QM1", "QM2"):
        sharing.start(name)
    sharing.define()
    opened = sharing.members["QM2"].connect("BOB").open("ORDERS", USES)
    sharing.cut_off("APPL1", lost=True)
    with pytest.raises(MQError):
        sharing.members["QM1"].connect("ALICE").put("ORDERS", b"", VOLATILE, OUT)
    with pytest.raises(MQError):
        sharing.members["QM2"].connect("ALICE").put("ORDERS", b"", VOLATILE, OUT)
    sharing.reach_again("APPL1")
    run(sharing, "RECOVER CFSTRUCT(APPL1)")
    sharing.publish()
    run(sharing, DELETE, ok=False)
    opened.close()  # nobody who has let go of a handle has it open


def fill(app):
    with app.open("ORDERS", USES) as queue:
        puts = iter(lambda: queue.put(b"x", VOLATILE, OUT), None)
        with pytest.raises(MQError, match="2192"):
            list(puts)


def test_a_full_structure_is_opened_drained_and_its_queue_deleted(tmp_path):
    sharing = Sharing(tmp_path, SIZE=64)
    one, two = (sharing.start(name).connect("ALICE") for name in ("QM1", "QM2"))
    sharing.define()
    fill(one)
    assert drained(two)
    fill(one)
    run(sharing, f"{DELETE} PURGE")


# -- dynamic queues


@pytest.fixture
def model(sharing):
    run(sharing, "DEFINE QMODEL(REPLIES) DEFTYPE(SHAREDYN) CFSTRUCT(APPL1) SHARE DEFSOPT(SHARED)")
    return "REPLIES"


def test_a_shared_dynamic_queue_is_there_for_all(sharing, model):
    one, two = (sharing.members[name].connect("ALICE") for name in ("QM1", "QM2"))
    with one.open(Target(model, dynamic_name="REPLY.*"), USES) as queue:
        name = queue.name
        two.put(name, b"answer", VOLATILE, OUT)
        assert b"answer" == queue.get(GET_OUT).body
    rows = run(sharing, f"DISPLAY QLOCAL({name}) DEFTYPE CFSTRUCT", "QM2").rows
    assert [("SHARED", "SHAREDYN", "APPL1")] == [(row["QSGDISP"], row["DEFTYPE"], row["CFSTRUCT"]) for row in rows]
    one.disconnect()
    sharing.kill("QM1")
    two.put(name, b"it outlives who made it", VOLATILE, OUT)
    run(sharing, f"DELETE QLOCAL({name}) QSGDISP(SHARED) PURGE", "QM2")


def test_whoever_closes_it_with_delete_deletes_it(sharing, model):
    one, two = (sharing.members[name].connect("ALICE") for name in ("QM1", "QM2"))
    made = one.open(Target(model, dynamic_name="REPLY.*"), USES)
    other = two.open(made.name, USES)
    made.put(b"1", VOLATILE, OUT)
    with pytest.raises(MQError, match="2055"):
        other.close(CloseOptions.DELETE)
    other.close(CloseOptions.DELETE_PURGE)
    sharing.members["QM1"].messages.follow_step()
    with pytest.raises(MQError, match="2052"):
        made.put(b"2", VOLATILE, OUT)
    with pytest.raises(MQError, match="2085"):
        two.open(made.name, USES)


def test_two_members_make_two_queues_at_the_same_moment(sharing, model):
    run(sharing, "DEFINE QMODEL(REPLIES) DEFTYPE(SHAREDYN) CFSTRUCT(APPL1) SHARE DEFSOPT(SHARED)", "QM2")
    for manager in sharing.members.values():
        manager.messages.catalogue.version = 16
    one, two = (sharing.members[name].connect("ALICE") for name in ("QM1", "QM2"))
    target = Target(model, dynamic_name="REPLY.*")
    first, second = one.open(target, USES), two.open(target, USES)
    assert first.name != second.name
    with pytest.raises(MQError, match="2100"):
        two.open(Target(model, dynamic_name=first.name), USES)


def test_a_model_for_shared_queues_names_a_structure(sharing):
    assert "needs CFSTRUCT" in run(sharing, "DEFINE QMODEL(M) DEFTYPE(SHAREDYN)", ok=False).lines[0]
    app = sharing.members["QM1"].connect("ALICE")
    app.define(ModelQueue("M", definition=DefinitionType.SHAREDYN))
    with pytest.raises(MQError, match="2349"):
        app.open(Target("M", dynamic_name="X"), USES)
    run(sharing, "DEFINE QMODEL(P) DEFTYPE(PERMDYN) CFSTRUCT(APPL1)")
    app.open(Target("P", dynamic_name="PRIVATE"), USES)
    assert ["QMGR"] == [row["QSGDISP"] for row in run(sharing, "DISPLAY QLOCAL(PRIVATE)").rows]


def test_two_members_that_define_one_queue_at_once(sharing, monkeypatch):
    """The second has not seen the first's, and is refused all the same."""
    catalogue = sharing.members["QM2"].messages.catalogue
    run(sharing, "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1) MAXDEPTH(1)")
    monkeypatch.setattr(catalogue, "follow_group", lambda: None)
    run(sharing, "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1) MAXDEPTH(2)", "QM2", ok=False)
