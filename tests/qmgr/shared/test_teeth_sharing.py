"""Rules of shared queues taken away one by one: the tests of peer recovery notice each."""

import pytest

from qmgr.shared.cutting import World, died_in, without_csq_admin
from qmgr.shared.sharing import GET_IN, IN, OUT, PERSISTENT, USES, VOLATILE, browsed
from quaestor.qmgr.coupling_facility import resolving, units
from quaestor.qmgr.coupling_facility.descriptors import Descriptor
from quaestor.qmgr.coupling_facility.keys import Identities
from quaestor.qmgr.coupling_facility.resolving import DeadLog
from quaestor.qmgr.coupling_facility.store import SharedStore
from quaestor.qmgr.coupling_facility.units import SharedUnit
from quaestor.storage.lists.operations import Move

pytestmark = pytest.mark.plain


def recovered_right(folder, **cut):
    """Whether a member that dies so is recovered as it should be, over every cut asked for."""
    for at in cut.pop("cuts"):
        folder.mkdir(exist_ok=True)
        world = World(folder)
        world.power.requests = 0
        if cut.get("write"):
            world.power.disk.cut_after = world.power.disk.operations + at
        else:
            world.power.cut_at, world.power.done = at, cut.get("done", False)
        died_in(world)
        world.sharing.wrap = lambda _name, made: made
        world.power.disk.seed = cut.get("seed", 0)
        world.sharing.kill("QM1")
        world.two.shared.peers.step()
        try:
            world.check()
            world.check(private=world.sharing.start("QM1", world.sharing.disks["QM1"].after_power_cut()))
        except AssertionError:
            return False
    return True


EVERY = range(1, 38)


def test_cu2_a_unit_is_described_before_its_commit_record(tmp_path, monkeypatch):
    assert recovered_right(tmp_path, cuts=EVERY)
    monkeypatch.setattr(SharedUnit, "_describe", lambda _self, _descriptor: None)
    assert not recovered_right(tmp_path, cuts=EVERY)


def test_pr2_a_descriptor_is_no_commit_before_the_log_says_so(tmp_path, monkeypatch):
    assert recovered_right(tmp_path, cuts=range(10), write=True)
    monkeypatch.setattr(DeadLog, "committed", lambda _self, _descriptor: True)
    assert not recovered_right(tmp_path, cuts=range(10), write=True)


def test_pr2_without_a_descriptor_nothing_has_committed(tmp_path, monkeypatch):
    outcome = resolving._outcome

    def hasty(unit, descriptor, *rest):
        return True if descriptor is None else outcome(unit, descriptor, *rest)

    monkeypatch.setattr(resolving, "_outcome", hasty)
    assert not recovered_right(tmp_path, cuts=EVERY)


def test_pr5_a_descriptor_goes_only_after_the_work_it_describes(tmp_path, monkeypatch):
    monkeypatch.setattr(resolving, "end_unit", lambda *_args, **_named: None)
    assert not recovered_right(tmp_path, cuts=EVERY)


def test_cu6_gets_of_a_dead_member_are_given_back(tmp_path, monkeypatch):
    def kept(_gets, _member, *, commit):
        return iter(())

    monkeypatch.setattr(resolving, "ending_gets", kept)
    assert not recovered_right(tmp_path, cuts=EVERY)


def test_cu3_a_unit_over_two_structures_needs_its_descriptor(tmp_path, monkeypatch):
    decide = SharedUnit.decide

    def undescribed(self, urid, rba):
        if urid:
            decide(self, urid, rba)
        else:
            self.finish(commit=True)

    monkeypatch.setattr(SharedUnit, "decide", undescribed)
    assert not recovered_right(tmp_path, cuts=EVERY)


def test_cu3_the_outcome_is_in_a_structure_and_not_in_csq_admin_alone(tmp_path, monkeypatch):
    """As it was before: the descriptor is the commit, and CSQ_ADMIN is lost with it."""

    def half_done(folder):
        found = []
        for cut_at in range(7, 13):
            (folder / str(cut_at)).mkdir(parents=True)
            world = World(folder / str(cut_at))
            without_csq_admin(world, 9, cut_at, done=False)
            found.append(len({body for _, body in world.found()} & {b"one", b"two"}) == 1)
        return any(found)

    assert not half_done(tmp_path / "with")
    monkeypatch.setattr(SharedUnit, "_decide_in_a_structure", lambda self: self._describe(Descriptor(self.id, 0, 0)))
    assert half_done(tmp_path / "without")


def test_pr1_nobody_ends_the_units_of_a_member_that_lives(sharing, monkeypatch):
    one, two = (sharing.members[name] for name in ("QM1", "QM2"))
    app = one.connect("ALICE")
    monkeypatch.setattr(sharing.disks["QM1"], "own", lambda: None)
    with app.open("ORDERS", USES) as queue:
        queue.put(b"mine", PERSISTENT, IN)
        one.shared.admin._connection.fail()
        two.shared.peers.step()
    assert [] == sharing.leaks()  # with the rule it is still there


def test_ck2_a_backed_out_get_returns_to_its_key(sharing, monkeypatch):
    app = sharing.members["QM1"].connect("ALICE")

    def first_then_second():
        with app.open("ORDERS", USES) as queue:
            for body in (b"1", b"2"):
                queue.put(body, VOLATILE, OUT)
            queue.get(GET_IN)
            app.backout()
            found = browsed(app)
            queue.get(GET_IN), queue.get(GET_IN)
            app.commit()
        return found

    assert [b"1", b"2"] == first_then_second()
    returning = units.returning

    def at_the_end(entry, member, *, counted=True):
        move = returning(entry, member, counted=counted)
        return Move(move.number, move.source, move.target, b"\x01" + b"\xfe" * 15, move.adjunct)

    monkeypatch.setattr(units, "returning", at_the_end)
    assert [b"2", b"1"] == first_then_second()


def test_ck4_identities_are_never_repeated():
    first, again = Identities(1, 5), Identities(1, 6)
    made = {first.new() for _ in range(100)}
    assert not made & {again.new() for _ in range(100)}
    assert made & {Identities(1, 5).new()}  # without the epoch they would be


def test_cm3_a_message_taken_by_another_is_looked_for_again(sharing, monkeypatch):
    """Without the proof that the entry is still there, two members would have the same message."""
    one, two = (sharing.members[name].connect("ALICE") for name in ("QM1", "QM2"))
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        here.put(b"1", VOLATILE, OUT)
        arrival = sharing.members["QM1"].shared.store.locate(here._input._stored)
        assert b"1" == there.get(GET_IN).body
        monkeypatch.setattr(SharedStore, "_take_by_number", lambda *_: None)
        sharing.members["QM1"].shared.store.take(None, arrival)  # with the rule: VanishedError
