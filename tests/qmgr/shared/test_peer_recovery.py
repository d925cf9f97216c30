"""A member dies at every request and at every write of its log; a peer, or its own restart, ends what it left."""

import threading
import time

import pytest

from qmgr.shared.cutting import Power, World, died_in, two_structures, without_csq_admin, work
from qmgr.shared.sharing import GET_IN, IN, PERSISTENT, USES, VOLATILE, Sharing, browsed, drained
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.habits import FEWEST, MP1B
from quaestor.qmgr.coupling_facility.keys import decided_list
from quaestor.storage.lists.operations import Alter

REQUESTS, WRITES = 37, 10
"""What the work asks of structures and writes to the log; one more than that is never reached."""

REQUESTS_OF_MP1B = 38
"""With a descriptor also for the unit that logs nothing and is in one structure (HA2)."""


def cut_world(folder, cut_at=None, *, done=False, write=None, habits=FEWEST):
    world = World(folder, habits=habits)
    world.power.requests = 0
    world.power.cut_at, world.power.done = cut_at, done
    disk = world.power.disk
    if write is not None:
        disk.cut_after = disk.operations + write
    died = died_in(world)
    world.sharing.wrap = lambda _name, made: made
    return world, died


@pytest.mark.parametrize(("habits", "asked"), [(FEWEST, REQUESTS), (MP1B, REQUESTS_OF_MP1B)], ids=["fewest", "mp1b"])
def test_the_whole_work_asks_and_writes_so_much(tmp_path, habits, asked):
    """So that the cuts below reach everything, and no more."""
    world = World(tmp_path, habits=habits)
    requests, writes = world.power.requests, world.power.disk.operations
    assert not died_in(world)
    assert (asked, WRITES) == (world.power.requests - requests, world.power.disk.operations - writes)


@pytest.mark.crash
@pytest.mark.parametrize("done", [False, True], ids=["not sent", "answer lost"])
@pytest.mark.parametrize("cut_at", range(1, REQUESTS + 1))
def test_a_member_dies_at_a_request_and_a_peer_recovers_it(tmp_path, cut_at, done):
    world, died = cut_world(tmp_path, cut_at, done=done)
    assert died
    world.sharing.kill("QM1")
    world.two.shared.peers.step()
    assert ["QM1"] == [name for name, _ in world.two.shared.peers.recovered]
    world.check()
    again = world.sharing.start("QM1", world.sharing.disks["QM1"].after_power_cut())
    world.check(private=again)


@pytest.mark.crash
@pytest.mark.parametrize("done", [False, True], ids=["not sent", "answer lost"])
@pytest.mark.parametrize("cut_at", range(1, REQUESTS_OF_MP1B + 1))
def test_a_member_with_the_habits_of_mp1b_leaves_nothing_else(tmp_path, cut_at, done):
    """A descriptor more decides nothing (HA3)."""
    world, died = cut_world(tmp_path, cut_at, done=done, habits=MP1B)
    assert died
    world.sharing.kill("QM1")
    world.two.shared.peers.step()
    world.check()
    again = world.sharing.start("QM1", world.sharing.disks["QM1"].after_power_cut())
    world.check(private=again)


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("write", range(WRITES))
def test_a_member_dies_at_a_write_of_its_log_and_a_peer_recovers_it(tmp_path, write, seed):
    world, died = cut_world(tmp_path, write=write)
    assert died
    world.power.disk.seed = seed
    world.sharing.kill("QM1")
    world.two.shared.peers.step()
    world.check()
    world.sharing.disks["QM1"].seed = seed + 7
    again = world.sharing.start("QM1", world.sharing.disks["QM1"].after_power_cut())
    world.check(private=again)


@pytest.mark.crash
@pytest.mark.parametrize("cut_at", range(1, REQUESTS + 1, 2))
def test_a_member_that_restarts_recovers_itself(tmp_path, cut_at):
    world, _ = cut_world(tmp_path, cut_at, done=bool(cut_at % 4 == 1))
    world.sharing.kill("QM1")
    again = world.sharing.start("QM1")
    world.check(private=again)


@pytest.mark.crash
@pytest.mark.parametrize("second", range(1, 12))
@pytest.mark.parametrize("cut_at", [9, 24, 31])
def test_a_peer_dies_while_it_recovers_and_another_goes_on(tmp_path, cut_at, second):
    world, _ = cut_world(tmp_path, cut_at)
    world.sharing.kill("QM1")
    power = Power(1 << 60)
    world.sharing.wrap = lambda name, made: _Cut(made, power) if name == "QM3" else made
    power.disk = world.sharing.disks["QM3"] = type(world.power.disk)()
    three = world.sharing.start("QM3")
    power.requests, power.cut_at = 0, second
    try:
        three.shared.peers.step()
    except _PeerDiedError:
        world.sharing.disks["QM1"]._owned = False  # the lock ends with the process that had it
        world.sharing.kill("QM3")
    world.two.shared.peers.step()
    world.check()


class _PeerDiedError(Exception):
    pass


class _Cut:
    def __init__(self, connection, power):
        self._connection, self._power = connection, power
        self.shape, self.connector = connection.shape, connection.connector
        self.connectors, self.forget, self.fence = connection.connectors, connection.forget, connection.fence
        self.disconnect, self.fail = connection.disconnect, connection.fail

    @property
    def used(self):
        return self._connection.used

    def request(self, *operations):
        self._power.requests += 1
        if self._power.requests >= self._power.cut_at:
            raise _PeerDiedError
        return self._connection.request(*operations)


def test_in_flight_work_of_a_dead_member_is_there_for_others_at_once(sharing):
    """Puts are gone; gets are back in their place with a backout count; a browse lock counts as none."""
    one, two = (sharing.members[name].connect("ALICE") for name in ("QM1", "QM2"))
    with one.open("ORDERS", USES) as queue:
        for body in (b"1", b"2", b"3"):
            queue.put(body, VOLATILE, IN)
        one.commit()
        queue.get(GET_IN)
        queue.put(b"4", PERSISTENT, IN)
        queue.browse(GetOptions.BROWSE_NEXT | GetOptions.LOCK)
        assert [b"3"] == browsed(two)
        sharing.kill("QM1")
    sharing.members["QM2"].shared.peers.step()
    with two.open("ORDERS", USES) as queue:
        messages = [queue.get(GET_IN) for _ in range(3)]
    assert [(b"1", 1), (b"2", 0), (b"3", 0)] == [(message.body, message.backout_count) for message in messages]
    two.commit()
    assert ([], []) == (drained(two), sharing.leaks())


def test_the_group_shows_who_is_there_and_who_has_died(sharing):
    def shown():
        rows = sharing.members["QM2"].commands.run("DISPLAY GROUP", "ALICE").rows
        return {row["QMNAME"]: row["STATUS"] for row in rows}

    everybody = dict.fromkeys(sharing.members, "ACTIVE")
    assert everybody == shown()
    sharing.kill("QM1")
    assert everybody | {"QM1": "FAILED"} == shown()
    sharing.members["QM2"].shared.peers.step()
    assert everybody | {"QM1": "INACTIVE"} == shown()


def test_a_member_that_lives_is_left_alone(sharing):
    """It only lost its connection: it owns its directory, so nobody ends its units for it."""
    one, two = (sharing.members[name] for name in ("QM1", "QM2"))
    app = one.connect("ALICE")
    with app.open("ORDERS", USES) as queue:
        queue.put(b"mine", PERSISTENT, IN)
        one.shared.admin._connection.fail()
        two.shared.peers.step()
        assert {"QM1": False, "QM2": True} == two.shared.admin.connectors()
        assert 1 == len(sharing.leaks())
        app.commit()
    with two.connect("BOB") as other:
        assert [b"mine"] == drained(other)


def test_a_directory_that_cannot_be_read_is_said_once_and_left(sharing):
    one, two = (sharing.members[name] for name in ("QM1", "QM2"))
    app = one.connect("ALICE")
    with app.open("ORDERS", USES) as queue:
        queue.put(b"mine", PERSISTENT, IN)
        sharing.kill("QM1")
    elsewhere = sharing.disks.pop("QM1")
    said = []
    two.shared.peers._say = lambda code, *_, **facts: said.append((code, facts["member"]))
    two.shared.peers._group = two.shared.group.__class__("QSG1", two.shared.group.tables, None, "", _nowhere)
    two.shared.peers.step()
    two.shared.peers.step()
    assert ([("CSQE162E", "QM1")], 1) == (said, len(sharing.leaks()))
    sharing.start("QM1", elsewhere)
    assert [] == sharing.leaks()


def _nowhere(directory):
    raise FileNotFoundError(2, "not on this machine", directory)


def test_a_member_that_starts_while_a_peer_recovers_it_waits_for_that(sharing):
    sharing.kill("QM1")
    disk = sharing.disks["QM1"]
    disk.own()
    threading.Timer(0.3, disk.disown).start()
    began = time.perf_counter()
    sharing.start("QM1")
    assert 0.2 < time.perf_counter() - began


def test_peer_recovery_takes_under_two_seconds_of_a_processor(tmp_path):
    """A thousand uncommitted messages and a long log, on structures in memory, whatever else the machine does."""
    sharing = Sharing(tmp_path)
    for name in ("QM1", "QM2"):
        sharing.start(name)
    sharing.define()
    app = sharing.members["QM1"].connect("ALICE")
    with app.open("ORDERS", USES) as queue:
        for _ in range(20):
            for _ in range(100):
                queue.put(b"x" * 100, VOLATILE, IN)
            app.commit()
        for _ in range(1000):
            queue.get(GET_IN)
    sharing.kill("QM1")
    began = time.thread_time()
    sharing.members["QM2"].shared.peers.step()
    took_s = time.thread_time() - began
    assert [] == sharing.leaks()
    assert took_s < 2


def test_the_work_covers_every_kind_of_request(tmp_path):
    """Descriptor, write, claim, move, delete: the cuts above meet each of them."""
    world = World(tmp_path)
    names = set()
    request = world.one.shared.admin._connection._connection.__class__.request

    def noting(self, *operations):
        names.update((self.shape.name.removeprefix(world.sharing.prefix), each.NAME) for each in operations)
        return request(self, *operations)

    world.one.shared.admin._connection._connection.__class__.request = noting
    try:
        work(world)
    finally:
        world.one.shared.admin._connection._connection.__class__.request = request
    assert {("CSQ_ADMIN", "write"), ("CSQ_ADMIN", "delete")} <= names
    assert {(name, each) for name in ("APPL1", "APPL2") for each in ("write", "claim", "move", "delete")} <= names


# -- CSQ_ADMIN is lost in the same moment


@pytest.mark.crash
@pytest.mark.parametrize("lost_at", range(7, 11))
@pytest.mark.parametrize("after", range(3))
@pytest.mark.parametrize("done", [False, True], ids=["not sent", "answer lost"])
def test_csq_admin_is_lost_and_the_member_dies_in_the_same_moment(tmp_path, lost_at, after, done):
    """The unit has happened in both structures or in none: its outcome is in a structure that it has changed."""
    world = World(tmp_path)
    again = without_csq_admin(world, lost_at, lost_at + after, done=done)
    world.check(private=again)


def test_a_commit_whose_answer_is_lost_is_the_same_in_every_structure(tmp_path):
    """The request that decides was done or not: the other structure waits until that is known."""
    for done in (False, True):
        folder = tmp_path / str(done)
        folder.mkdir()
        world = World(folder)
        structure = world.one.shared.structures["APPL1"]
        world.put("ORDERS", b"one", VOLATILE)
        world.put("BILLS", b"two", VOLATILE)
        request = structure._connection.request

        def unanswered(*operations, request=request, world=world, done=done):
            if done:
                request(*operations)
            world.sharing.cut_off("APPL1")
            return request(*operations)

        structure._connection.request = unanswered
        with pytest.raises(MQError, match="2124"):
            world.app.commit()
        assert 2 - done == len(world.sharing.leaks())  # the second waits for the first
        world.sharing.reach_again("APPL1")
        there = {("ORDERS", b"one"): 1, ("BILLS", b"two"): 1} if done else {}
        assert (there, []) == (dict(world.found()), world.sharing.leaks())


def test_words_of_committed_units_do_not_stay(tmp_path):
    world = World(tmp_path)
    for _ in range(5):
        two_structures(world)
    words = world.sharing.entries(decided_list(1)) + world.sharing.entries(decided_list(1), "APPL2")
    assert 1 == len(words)  # that of the last
    world.one.stop()
    assert () == world.sharing.entries(decided_list(1))


def test_a_full_structure_still_commits_over_two(tmp_path):
    world = World(tmp_path)
    world.put("ORDERS", b"one", VOLATILE)
    world.put("BILLS", b"two", VOLATILE)
    for name in ("APPL1", "APPL2"):
        space = world.sharing.space(name)
        probe = world.sharing.probe(name)
        probe.request(Alter(space.entries, space.elements))
        probe.disconnect()
    world.commit()
    assert ({("ORDERS", b"one"): 1, ("BILLS", b"two"): 1}, []) == (dict(world.found()), world.sharing.leaks())
