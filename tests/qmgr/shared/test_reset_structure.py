"""RESET CFSTRUCT ACTION(FAIL): a structure made to fail, for all members."""

import pytest

from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, USES, VOLATILE, Sharing, browsed
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility import resetting


def started(tmp_path, **attributes):
    sharing = Sharing(tmp_path, CFLEVEL=5, **attributes)
    for name in ("QM1", "QM2"):
        sharing.start(name)
        sharing.members[name].shared.forwarding.pause = lambda _: answered(sharing)
    sharing.define()
    return sharing


def answered(sharing):
    sharing.clock.advance(seconds=0.25)
    for manager in list(sharing.members.values()):
        manager.shared.forwarding.step()


def run(sharing, text, name="QM1", *, ok=True):
    reply = sharing.members[name].commands.run(text, "OPER")
    assert reply.ok is ok, reply.lines
    return reply


def test_a_structure_that_is_reset_has_failed_for_all_until_it_is_recovered(tmp_path):
    sharing = started(tmp_path, RECOVER="YES")
    one, two = (sharing.members[name].connect("ALICE") for name in ("QM1", "QM2"))
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        here.put(b"persistent", PERSISTENT, OUT)
        here.put(b"volatile", VOLATILE, OUT)
        there.put(b"uncommitted", PERSISTENT, IN)
        run(sharing, "RESET CFSTRUCT(APPL1) ACTION(FAIL)")
        for queue in (here, there):
            with pytest.raises(MQError, match="2373"):
                queue.put(b"x", VOLATILE, OUT)
        sharing.publish()  # a step of each: it has not come back by itself
        assert ["FAILED"] == [row["STATUS"] for row in run(sharing, "DISPLAY CFSTATUS(APPL1)", "QM2").rows]
        two.backout()
        run(sharing, "RECOVER CFSTRUCT(APPL1)", "QM2")
        sharing.publish()
        assert b"persistent" == there.get(GET_IN).body
        two.commit()
        with pytest.raises(MQError, match="2033"):
            here.get(GET_OUT)
        here.put(b"again", VOLATILE, OUT)
        assert b"again" == there.get(GET_OUT).body
    assert [] == sharing.leaks()


def test_one_that_is_not_recovered_is_empty_and_used_at_once(tmp_path):
    sharing = started(tmp_path)
    one, two = (sharing.members[name].connect("ALICE") for name in ("QM1", "QM2"))
    one.put("ORDERS", b"gone", VOLATILE, OUT)
    run(sharing, "RESET CFSTRUCT(APPL1) ACTION(FAIL)")
    sharing.publish()
    assert ([], []) == (browsed(one), browsed(two))
    two.put("ORDERS", b"new", VOLATILE, OUT)
    assert [b"new"] == browsed(one)


def test_a_member_that_gives_no_answer_keeps_the_structure_as_it_is(tmp_path):
    sharing = started(tmp_path, RECOVER="YES")
    one, two = (sharing.members[name].connect("ALICE") for name in ("QM1", "QM2"))
    one.put("ORDERS", b"kept", VOLATILE, OUT)
    sharing.members["QM1"].shared.forwarding.pause = lambda _: sharing.clock.advance(seconds=30)
    reply = run(sharing, "RESET CFSTRUCT(APPL1) ACTION(FAIL)", ok=False)
    assert "QM2 gave no answer" in reply.lines[0]
    assert ([b"kept"], [b"kept"]) == (browsed(one), browsed(two))
    sharing.members["QM2"].shared.forwarding.step()  # it hears of it after all
    sharing.publish()
    assert [b"kept"] == browsed(two)


def test_a_member_that_joins_while_it_has_failed_finds_it_failed(tmp_path):
    sharing = started(tmp_path, RECOVER="YES")
    run(sharing, "RESET CFSTRUCT(APPL1) ACTION(FAIL)")
    app = sharing.start("QM3").connect("ALICE")
    with pytest.raises(MQError, match="2373"):
        app.put("ORDERS", b"x", VOLATILE, OUT)


@pytest.mark.parametrize("forcing", ["QM1", "QM2"])
def test_a_reset_waits_for_a_unit_in_its_force(tmp_path, monkeypatch, forcing):
    """What is decided and not yet on the log could not be recovered: the structure is in use (RT3)."""
    monkeypatch.setattr(resetting, "SETTLE_S", 0.05)
    sharing = started(tmp_path, RECOVER="YES")
    structure = sharing.members[forcing].shared.structures["APPL1"]
    structure.committing = 1
    run(sharing, "RESET CFSTRUCT(APPL1) ACTION(FAIL)", ok=False)
    structure.committing = 0
    sharing.publish()
    assert ["ACTIVE"] == [row["STATUS"] for row in run(sharing, "DISPLAY CFSTATUS(APPL1)", "QM2").rows]
    run(sharing, "RESET CFSTRUCT(APPL1) ACTION(FAIL)")
