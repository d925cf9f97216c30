"""What chaos has found, each as a small example: lost answers, late requests, paused members, repeated recoveries."""

import pytest

from chaos.simulated import Fate, Way
from qmgr.shared.sharing import GET_IN, IN, OUT, PERSISTENT, USES, VOLATILE, Sharing, browsed, drained
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import Abend, MQError
from quaestor.qmgr.coupling_facility.checking import check_structures
from quaestor.qmgr.coupling_facility.media import Media
from quaestor.qmgr.coupling_facility.structures import ADMIN, SharedStructure
from quaestor.qmgr.coupling_facility.units import SharedUnit
from quaestor.storage.disk import InUseError
from quaestor.storage.lists.operations import First, Lock, ReadList, Write
from quaestor.storage.lists.structure import StructureLostError
from quaestor.storage.shared_tables import RepositoryAwayError
from quaestor.testing import FaultyDisk


class Group:
    """Two members; what befalls the requests of the first is chosen."""

    def __init__(self, folder, **attributes):
        self.sharing = Sharing(folder, structures=("APPL1", "APPL2"), **attributes)
        disk = self.sharing.disks["QM1"] = FaultyDisk()
        self.fate, self.late, self.ways = Fate(disk), [], []
        self.sharing.wrap = lambda name, made: self.way(made) if name == "QM1" else made
        self.one, self.two = self.sharing.start("QM1"), self.sharing.start("QM2")
        self.sharing.define("ORDERS", "APPL1")
        self.sharing.define("BILLS", "APPL2")
        self.app, self.other = self.one.connect("ALICE"), self.two.connect("BOB")
        self.orders, self.bills = self.app.open("ORDERS", USES), self.app.open("BILLS", USES)

    def way(self, connection):
        self.ways.append(connection)
        return Way(connection, self.fate, self.late)

    def kill(self):
        self.sharing.kill("QM1")
        for connection in self.ways:
            connection.fail()  # its socket ends with it, and is seen to

    def strike(self, how, left=0):
        """After so many requests of QM1."""
        self.fate.arm(left, how)

    def connect_again(self, *names):
        for name in names or ("QM1",):
            manager = self.sharing.members[name]
            with manager.engine.recovery.latch:
                manager.shared.connect_step()

    def lose(self, *structures):
        for structure in structures:
            self.sharing.facility.delete(self.sharing.prefix + structure)

    def recover(self, name, structure="APPL1"):
        return self.sharing.members[name].commands.run(f"RECOVER CFSTRUCT({structure})", "OPER").ok

    def problems(self):
        return check_structures(self.sharing.group("CHECK"), idle=True)


@pytest.fixture
def group(tmp_path):
    return Group(tmp_path, RECOVER="YES")


@pytest.mark.parametrize("how", ["not sent", "answer lost", "late"])
def test_a_claim_that_was_not_answered_is_never_made_again(group, how):
    """CM7: it may have moved a message under the name in its mark; the next get has another name."""
    with pytest.raises(MQError, match="2033"):
        group.orders.get(GET_IN)
    queue = group.one.shared.queue(group.one.messages.catalogue.find_queue("ORDERS"))
    before = queue.claim[1]
    group.strike(how)
    with pytest.raises(MQError, match="2345"):
        group.orders.get(GET_IN)
    assert queue.claim is None
    group.connect_again()
    with pytest.raises(MQError, match="2033"):
        group.orders.get(GET_IN)
    assert before.mark != queue.claim[1].mark


@pytest.mark.parametrize("how", ["not sent", "answer lost", "late"])
def test_a_get_that_was_not_answered_keeps_no_message(group, how):
    group.orders.put(b"1", PERSISTENT, OUT)
    group.strike(how)
    with pytest.raises(MQError, match="2345"):
        group.orders.get(GET_IN)
    group.connect_again()
    for late in group.late:
        with pytest.raises(StructureLostError):
            late()
    assert ([b"1"], []) == (drained(group.other), group.problems())


@pytest.mark.parametrize("how", ["not sent", "answer lost", "late"])
def test_a_put_that_was_not_answered_is_not_in_its_unit(group, how):
    group.orders.put(b"1", PERSISTENT, IN)
    group.strike(how)
    with pytest.raises(MQError, match="2345"):
        group.orders.put(b"2", PERSISTENT, IN)
    group.connect_again()
    group.app.commit()
    for late in group.late:
        with pytest.raises(StructureLostError):
            late()
    assert ([b"1"], []) == (drained(group.other), group.problems())


def test_a_lock_of_a_browse_that_was_not_answered_hides_nothing(group):
    group.orders.put(b"1", VOLATILE, OUT)
    group.strike("answer lost", left=1)
    with pytest.raises(MQError, match="2345"):
        group.orders.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK)
    group.connect_again()
    assert [b"1"] == drained(group.other)


@pytest.mark.parametrize("recovered", ["NO", "YES"])
def test_what_a_browse_has_locked_goes_with_its_structure(tmp_path, recovered):
    """CM5: nobody has ended it, and its number means nothing in the structure that is there now."""
    group = Group(tmp_path, RECOVER=recovered)
    group.orders.put(b"1", VOLATILE, OUT)
    group.orders.put(b"2", PERSISTENT, OUT)
    for _ in range(2):
        group.orders.browse(GetOptions.BROWSE_NEXT | GetOptions.LOCK)
    group.lose("APPL1")
    for _ in range(2):
        group.connect_again("QM1", "QM2")
    if recovered == "YES":
        assert group.recover("QM2")
        group.connect_again("QM1")
    with pytest.raises(MQError, match="2034"):
        group.orders.get(GET_IN | GetOptions.MSG_UNDER_CURSOR)
    left = [b"2"] if recovered == "YES" else []
    assert left == browsed(group.other)
    group.orders.put(b"3", PERSISTENT, OUT)
    assert [*left, b"3"] == [group.orders.get(GET_IN).body for _ in (*left, b"3")]
    group.orders.close()
    group.app.commit()
    assert ([], []) == (drained(group.other), group.problems())


def test_work_of_living_units_stays_when_the_structure_is_connected_again(group):
    group.orders.put(b"1", VOLATILE, OUT)
    assert b"1" == group.orders.get(GET_IN).body
    group.orders.put(b"2", PERSISTENT, IN)
    group.sharing.cut_off("APPL1")
    group.sharing.reach_again("APPL1")
    assert [] == browsed(group.other)
    group.app.commit()
    assert ([b"2"], []) == (drained(group.other), group.problems())


def test_nothing_is_decided_while_a_structure_cannot_be_used(group):
    group.orders.put(b"1", PERSISTENT, IN)
    group.sharing.cut_off("APPL1")
    with pytest.raises(MQError, match="2345"):
        group.orders.put(b"2", PERSISTENT, IN)
    with pytest.raises(MQError, match="2003"):
        group.app.commit()
    group.sharing.reach_again("APPL1")
    assert ([], []) == (drained(group.other), group.problems())


def put_without_answer(group):
    group.strike("answer lost")
    with pytest.raises(MQError, match="2345"):
        group.bills.put(b"2", PERSISTENT, IN)


def get_without_answer(group):
    with group.two.connect("BOB") as app:
        app.put("BILLS", b"2", PERSISTENT, OUT)
    group.strike("answer lost")
    with pytest.raises(MQError, match="2345"):
        group.bills.get(GET_IN)


def numbered_get_without_answer(group):
    with group.two.connect("BOB") as app:
        app.put("BILLS", b"2", PERSISTENT, OUT)
    group.bills.browse()
    group.strike("answer lost", left=1)
    with pytest.raises(MQError, match="2345"):
        group.bills.get(GET_IN | GetOptions.MSG_UNDER_CURSOR)


@pytest.mark.parametrize("end", ["commit", "prepare"])
@pytest.mark.parametrize("call", [put_without_answer, get_without_answer, numbered_get_without_answer])
def test_nothing_is_decided_while_a_structure_owes_an_answer(group, call, end):
    """CU8: what was done there bears the name of the unit, and whoever ends it next would give it its outcome."""
    group.orders.put(b"1", PERSISTENT, IN)
    call(group)
    with pytest.raises(MQError, match="2003"):
        group.app.commit() if end == "commit" else group.app.prepare(b"xid")
    group.connect_again()
    left = [] if call is put_without_answer else [b"2"]
    assert ([], left, []) == (drained(group.other), drained(group.other, "BILLS"), group.sharing.leaks())


@pytest.mark.parametrize("end", ["commit", "prepare"])
@pytest.mark.parametrize("call", [put_without_answer, get_without_answer, numbered_get_without_answer])
def test_it_is_when_the_structure_is_connected_again(group, call, end):
    group.orders.put(b"1", PERSISTENT, IN)
    call(group)
    group.connect_again()
    if end == "commit":
        group.app.commit()
    else:
        group.app.prepare(b"xid")
        group.app.commit_prepared(b"xid")
    left = [] if call is put_without_answer else [b"2"]
    assert ([b"1"], left, []) == (drained(group.other), drained(group.other, "BILLS"), group.sharing.leaks())


def test_a_unit_that_did_nothing_else_is_nobodys_to_decide(group):
    """What was done without an answer is backed out by whoever finds it: no descriptor says anything else (PR2)."""
    put_without_answer(group)
    group.app.commit()
    group.kill()
    group.two.shared.peers.step()
    assert ([], []) == (drained(group.other, "BILLS"), group.problems())


@pytest.mark.parametrize("how", ["not sent", "answer lost", "late"])
def test_a_commit_over_two_structures_that_was_not_answered_is_whole(group, how):
    """Nothing is logged: the first structure decides, and is asked before anything is ended in the other."""
    group.orders.put(b"1", VOLATILE, IN)
    group.bills.put(b"2", VOLATILE, IN)
    group.strike(how, left=1)
    with pytest.raises(MQError, match="2124"):
        group.app.commit()
    group.connect_again()
    group.connect_again()
    happened = how == "answer lost"
    assert ([b"1"], [b"2"]) == (drained(group.other), drained(group.other, "BILLS")) if happened else ([], [])
    assert [] == group.problems()


def test_it_is_whole_too_if_the_member_dies_before_it_could_look(group):
    group.orders.put(b"1", VOLATILE, IN)
    group.bills.put(b"2", VOLATILE, IN)
    group.strike("answer lost", left=1)
    with pytest.raises(MQError, match="2124"):
        group.app.commit()
    group.kill()
    group.two.shared.peers.step()
    assert ([b"1"], [b"2"]) == (drained(group.other), drained(group.other, "BILLS"))


def test_descriptors_that_were_not_answered_go_when_csq_admin_is_connected_again(group):
    group.orders.put(b"1", PERSISTENT, IN)
    group.strike("answer lost", left=0)
    with pytest.raises(MQError, match="2003"):
        group.app.commit()
    group.connect_again()
    group.connect_again()
    assert ([], []) == (drained(group.other), group.sharing.descriptors())


@pytest.mark.parametrize("who", ["a peer", "the member"])
def test_a_committed_unit_is_described_again_when_csq_admin_was_lost(group, who):
    """Its COMMIT record is on the log and APPL1 is away; then CSQ_ADMIN forgets, and then the member dies."""
    group.orders.put(b"1", PERSISTENT, IN)
    group.sharing.cut_off("APPL1")
    group.app.commit()
    group.lose(ADMIN)
    group.connect_again("QM1", "QM2")
    group.connect_again("QM1", "QM2")
    assert 1 == len(group.sharing.descriptors())
    group.kill()
    group.fate.disk = group.sharing.disks["QM1"]
    group.sharing.reach_again("APPL1")
    if who == "the member":
        group.sharing.start("QM1")
    else:
        group.two.shared.peers.step()
    assert ([b"1"], []) == (drained(group.other), group.problems())


def test_positions_are_published_again_after_a_lost_answer(group):
    group.sharing.publish()
    group.strike("answer lost", left=3)
    group.sharing.publish()
    group.sharing.publish()
    (entries,) = group.sharing.probe(ADMIN).request(ReadList(32, most=10))
    assert {1, 2} == {entry.key[-1] for entry in entries}
    assert [int.from_bytes(entry.data[-28:-20], "big") for entry in entries] == [group.sharing.clock.us] * 2


# --- recovery of structures -------------------------------------------------------------------------------------------


def lost(group, *names):
    group.lose("APPL1")
    for _ in range(2):
        group.connect_again(*(names or ("QM1", "QM2")))


def test_a_structure_is_recovered_once(group):
    """The second member has not noticed yet that the first has recovered it."""
    group.orders.put(b"1", PERSISTENT, OUT)
    lost(group)
    assert group.recover("QM1")
    assert b"1" == group.orders.get(GET_IN).body
    assert not group.recover("QM2")
    group.app.commit()
    group.connect_again("QM2")
    assert ([], []) == (drained(group.other), group.problems())


@pytest.mark.plain
def test_a_recovery_waits_for_a_member_that_may_still_commit(group):
    """QM1 has decided and is held up in its force; only when it has let go is its log read."""
    group.orders.put(b"1", PERSISTENT, IN)
    force, recovered = group.one.engine.recovery._force, []

    def held_up(rba):
        group.lose("APPL1")
        group.connect_again("QM2")
        group.connect_again("QM2")
        recovered.append(group.recover("QM2"))
        force(rba)

    group.one.engine.recovery._force = held_up
    group.app.commit()
    assert [False] == recovered
    group.one.engine.recovery._force = force
    for _ in range(2):
        group.connect_again("QM1", "QM2")
    assert group.recover("QM2")
    group.connect_again("QM1")
    assert [b"1"] == browsed(group.app) == drained(group.other)


def test_a_member_in_its_force_does_not_connect_again(group):
    structure = group.one.shared.structures["APPL1"]
    group.lose("APPL1")
    structure.committing = 1
    group.connect_again()
    group.connect_again()
    assert not structure.connected
    structure.committing = 0
    group.connect_again()
    assert structure.connected


def test_a_recovery_that_stood_still_writes_nothing_more(group, monkeypatch):
    """Taken for dead in the middle: another member took the lock and has finished."""
    group.orders.put(b"1", PERSISTENT, OUT)
    lost(group)
    ask = SharedStructure.ask_for_recovery

    def stands_still(self, *operations):
        if self.member == "QM1" and any(isinstance(each, Write) for each in operations):
            monkeypatch.setattr(SharedStructure, "ask_for_recovery", ask)
            monkeypatch.setattr(group.two.shared.media, "_lives", lambda _member: False)
            connectors = SharedStructure.connectors
            monkeypatch.setattr(SharedStructure, "connectors", lambda _self: {"QM1": False, "QM2": True})
            assert group.recover("QM2")
            monkeypatch.setattr(SharedStructure, "connectors", connectors)
        return ask(self, *operations)

    monkeypatch.setattr(SharedStructure, "ask_for_recovery", stands_still)
    assert not group.recover("QM1")
    group.connect_again("QM1", "QM2")
    assert ([b"1"], []) == (drained(group.other), group.problems())


def test_a_structure_is_known_to_be_in_use_before_anything_can_be_put_there(tmp_path, monkeypatch):
    """Else its loss would look like a structure that was never used, and nobody would recover it."""
    sharing = Sharing(tmp_path, RECOVER="YES")
    seen = []
    take_over = SharedStructure.take_over

    def noted(self, *, failed):
        seen.extend(row.status for row in sharing.tables().structures.all() if row.name == self.name)
        take_over(self, failed=failed)

    monkeypatch.setattr(SharedStructure, "take_over", noted)
    sharing.start("QM1")
    assert ["ALLOCATED"] == seen


def test_a_structure_that_is_new_waits_for_the_repository(tmp_path, monkeypatch):
    sharing = Sharing(tmp_path)
    group = sharing.group("QM1")
    write = type(group.tables.structures).write

    def away(self, value):
        raise RepositoryAwayError("away")

    monkeypatch.setattr(type(group.tables.structures), "write", away)
    one = sharing.start("QM1")
    assert not one.shared.structures["APPL1"].connected
    monkeypatch.setattr(type(group.tables.structures), "write", write)
    with one.engine.recovery.latch:
        one.shared.connect_step()
    assert one.shared.structures["APPL1"].failing is None


# --- members ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("away", ["APPL1", ADMIN])
def test_what_a_member_left_is_resolved_when_the_structure_is_back(group, away):
    """It was away while the member started, so nothing could be resolved then."""
    group.orders.put(b"1", PERSISTENT, OUT)
    group.orders.get(GET_IN)
    group.kill()
    group.sharing.away.add(away)
    group.fate.disk = group.sharing.disks["QM1"]
    group.sharing.start("QM1")
    assert [] == browsed(group.other)
    group.sharing.reach_again(away)
    group.connect_again()
    assert ([b"1"], []) == (drained(group.other), group.problems())


@pytest.mark.parametrize("how", ["not sent", "answer lost"])
@pytest.mark.parametrize("left", range(1, 12))
def test_a_member_starts_although_a_way_is_cut_meanwhile(group, how, left):
    group.orders.put(b"1", PERSISTENT, OUT)
    group.orders.get(GET_IN)
    group.bills.put(b"2", VOLATILE, IN)
    group.kill()
    group.fate.disk = group.sharing.disks["QM1"]
    group.strike(how, left)
    group.sharing.start("QM1")
    group.fate.left = -1
    for _ in range(3):
        group.connect_again()
    assert ([b"1"], [], []) == (drained(group.other), drained(group.other, "BILLS"), group.problems())


def test_a_peer_looks_again_at_a_structure_that_was_away(group):
    group.orders.put(b"1", PERSISTENT, OUT)
    group.orders.get(GET_IN)
    group.sharing.cut_off("APPL1")
    group.kill()
    group.connect_again("QM2")
    group.two.shared.peers.step()
    assert {"QM1": False, "QM2": True} == group.two.shared.admin.connectors()
    group.sharing.reach_again("APPL1")
    group.two.shared.peers.step()
    assert ([b"1"], {"QM2": True}) == (drained(group.other), group.two.shared.admin.connectors())


def move_twice(group):
    for body in (b"2", b"3"):
        group.orders.get(GET_IN)
        group.orders.put(body, VOLATILE, IN)
        group.app.commit()


@pytest.mark.parametrize("left", range(4))
def test_what_a_dead_member_sent_is_not_done_after_a_peer_recovered_it(group, left):
    group.orders.put(b"1", PERSISTENT, OUT)
    group.strike("late", left)
    with pytest.raises(MQError):
        move_twice(group)
    group.kill()
    group.two.shared.peers.step()
    before = browsed(group.other)
    for late in group.late:
        with pytest.raises(StructureLostError):
            late()
    assert (before, []) == (browsed(group.other), group.problems())


def test_a_member_that_was_recovered_while_it_lived_stops(group, monkeypatch):
    """Its directory should have kept peers away; where that failed it must not go on as if nothing had happened."""
    group.orders.put(b"1", PERSISTENT, IN)
    monkeypatch.setattr(group.sharing.disks["QM1"], "own", lambda: None)
    group.one.shared.admin._connection.fail()
    group.two.shared.peers.step()
    with pytest.raises(MQError, match="2345"):
        group.orders.put(b"2", PERSISTENT, IN)
    with pytest.raises(Abend, match="CF3"):
        group.connect_again()
    assert [] == browsed(group.other)


def test_a_member_that_lives_keeps_its_directory(group):
    with pytest.raises(InUseError):
        group.sharing.disks["QM1"].own()


def test_an_old_connection_that_ends_late_does_not_end_the_new_one(group):
    old = group.one.shared.structures["APPL1"]._connection
    group.sharing.cut_off("APPL1")
    group.sharing.reach_again("APPL1")
    old._connection._connection.fail()
    assert {"QM1": True, "QM2": True} == group.one.shared.structures["APPL1"].connectors()


def test_a_lock_of_a_dead_member_is_taken(group):
    probe = group.sharing.probe()
    assert ("QM3",) == probe.request(Lock(1, "QM3"))
    probe.disconnect()
    assert ["APPL1: QM3 has the lock of its formatting (SC5)"] == group.problems()
    group.sharing.define("MORE", "APPL1", by="QM2")
    assert [] == group.problems()


# --- the checker ------------------------------------------------------------------------------------------------------


def test_the_checker_names_what_was_left(group):
    group.orders.put(b"1", VOLATILE, OUT)
    group.orders.get(GET_IN)
    group.bills.put(b"2", PERSISTENT, IN)
    assert [] == check_structures(group.sharing.group("CHECK"))
    told = group.problems()
    assert ["APPL1", "APPL2"] == [each.split(":")[0] for each in told]
    assert "got by QM1" in told[0]
    assert "put by QM1" in told[1]
    group.kill()
    assert 3 == len(check_structures(group.sharing.group("CHECK")))
    group.two.shared.peers.step()
    assert [] == check_structures(group.sharing.group("CHECK"))


def test_the_checker_finds_strays_and_missing_entries(group):
    probe = group.sharing.probe()
    probe.request(Write(77, bytes(16), b"stray"))
    (own,) = probe.request(First(0))
    probe.disconnect()
    assert own is not None
    assert ["APPL1: 1 entries on list 77, which nobody has (SC3)"] == group.problems()
    group.lose("APPL2")
    assert {"(SC3)", "(SC4)"} == {each[-5:] for each in group.problems()}


# --- teeth ------------------------------------------------------------------------------------------------------------


def without_waiting_for_all(patch):
    """SM4: whoever lives has let go of a lost structure before logs are read."""
    patch.setattr(Media, "_wait_for_all", lambda *_: None)


def with_decisions_in_the_dark(patch):
    """CU8: nothing is decided while a structure cannot be used."""
    decide = SharedUnit.decide

    def hasty(self, urid, rba):
        failing = [(work.structure, work.structure.failing) for work in self._works.values()]
        for structure, _ in failing:
            structure.failing = None
        try:
            decide(self, urid, rba)
        finally:
            for structure, why in failing:
                structure.failing = why

    patch.setattr(SharedUnit, "decide", hasty)


def with_a_second_recovery(patch):
    """SM2: a structure that is in use again is not recovered again."""
    patch.setattr(SharedStructure, "in_use", lambda _self: False)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("remove", "proof"),
    [
        (without_waiting_for_all, test_a_recovery_waits_for_a_member_that_may_still_commit),
        (with_decisions_in_the_dark, test_nothing_is_decided_while_a_structure_cannot_be_used),
        (with_a_second_recovery, test_a_structure_is_recovered_once),
    ],
    ids=lambda each: each.__name__,
)
def test_a_missing_rule_is_noticed(group, remove, proof, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend, MQError, pytest.fail.Exception)):
        proof(group)
