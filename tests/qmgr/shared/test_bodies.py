"""OFFLOAD(DB2): the bodies of long messages are in the shared repository, and none is ever left there."""

import pytest

from qmgr.shared.cutting import World, died_in
from qmgr.shared.sharing import (
    GET_IN,
    GET_OUT,
    IN,
    OUT,
    PERSISTENT,
    STRUCTURE,
    USES,
    VOLATILE,
    Sharing,
    browsed,
    drained,
)
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.bodies import NAMED, Bodies, named_in
from quaestor.qmgr.coupling_facility.checking import check_structures
from quaestor.qmgr.coupling_facility.keys import OFFLOADED, freed_list
from quaestor.qmgr.coupling_facility.offloading import OffloadingConnection
from quaestor.qmgr.db2 import Db2Manager
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.storage.shared_tables import Body, RepositoryAwayError, open_tables
from servers import postgres_server

LONG = bytes(range(256)) * 396
LONGER = bytes(range(255)) * 4200  # three pieces
DATA_SET = {"CFLEVEL": 5, "OFFLOAD": "SMDS"}
REPOSITORY = [{"CFLEVEL": 4}, {"CFLEVEL": 5, "OFFLOAD": "DB2"}]


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def repository(request):
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").url


@pytest.fixture
def made(tmp_path, repository):
    """Makes groups of two members."""
    groups = []

    def make(*, members=("QM1", "QM2"), **attributes):
        sharing = Sharing(tmp_path, repository=repository, **REPOSITORY[0] | {"RECOVER": "YES"} | attributes)
        groups.append(sharing)
        for name in members:
            sharing.start(name)
        sharing.define(max_msg_length=1 << 22)
        return sharing

    yield make
    for each in groups:
        each.close()


def app(sharing, name):
    connected = sharing.members[name].connect("ALICE")
    return connected, connected.open("ORDERS", USES)


def bodies(sharing, structure=STRUCTURE):
    """How many bodies are in the repository, when everybody has removed what is needed no more."""
    for manager in sharing.members.values():
        while manager.shared.care_step():
            pass
    return len(in_repository(sharing, structure))


def in_repository(sharing, structure=STRUCTURE):
    tables = sharing.tables()
    found = tables.tables.bodies(structure)
    tables.close()
    return found


def a_minute(sharing):
    """So much later everybody has looked after whoever is away."""
    sharing.clock.advance(seconds=61)
    for manager in sharing.members.values():
        with manager.engine.recovery.latch:
            manager.shared.connect_step()
        for _ in range(3):
            manager.shared.care_step()


def run(sharing, text, member="QM1"):
    reply = sharing.members[member].commands.run(text, "OPER")
    assert reply.ok, reply
    return reply


# -- messages


@pytest.mark.parametrize("attributes", REPOSITORY)
@pytest.mark.parametrize("getter", ["QM1", "QM2"])
def test_any_member_gets_a_long_message(made, attributes, getter):
    """In the structure it has one entry and at most two elements; its body is gone when it has been got."""
    sharing = made(**attributes)
    putting, queue = app(sharing, "QM1")
    before = sharing.space()
    for descriptor in (PERSISTENT, VOLATILE):
        queue.put(LONGER, descriptor, IN)
        putting.commit()
    after = sharing.space()
    assert (2, True, 2) == (after.entries - before.entries, after.elements - before.elements <= 4, bodies(sharing))
    getting, other = app(sharing, getter)
    assert [LONGER, LONGER] == browsed(getting)
    assert LONGER == other.get(GET_IN).body
    assert LONGER == other.get(GET_OUT).body
    assert 1 == bodies(sharing)  # until the get is committed
    getting.commit()
    assert (0, []) == (bodies(sharing), words(sharing))


def words(sharing):
    return [word for member in (1, 2) for word in sharing.entries(freed_list(member)) if word.data.startswith(NAMED)]


def test_a_backed_out_put_is_removed_and_a_backed_out_get_is_not(made):
    sharing = made()
    putting, queue = app(sharing, "QM1")
    queue.put(LONG, PERSISTENT, IN)
    putting.backout()
    assert 0 == bodies(sharing)
    queue.put(LONG, PERSISTENT, IN)
    putting.commit()
    getting, other = app(sharing, "QM2")
    other.get(GET_IN)
    getting.backout()
    assert (1, [LONG], 0) == (bodies(sharing), drained(putting), bodies(sharing))


def test_an_expired_message_leaves_no_body(made):
    sharing = made()
    _, queue = app(sharing, "QM1")
    queue.put(LONG, MQMD(persistence=0, expiry=10), OUT)
    sharing.clock.advance(seconds=5)
    getting, _ = app(sharing, "QM2")
    assert ([], 0) == (drained(getting), bodies(sharing))


def test_a_browse_with_lock_and_a_truncated_get(made):
    sharing = made()
    _, queue = app(sharing, "QM1")
    _, other = app(sharing, "QM2")
    queue.put(LONG, VOLATILE, OUT)
    assert LONG == other.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK).body
    with pytest.raises(MQError, match="2033"):
        queue.get(GET_OUT)
    assert LONG == other.get(GET_OUT | GetOptions.MSG_UNDER_CURSOR).body
    queue.put(LONG, VOLATILE, OUT)
    with pytest.raises(MQError, match="2080"):
        other.get(GET_OUT, max_length=10)
    assert (1, LONG, 0) == (bodies(sharing), queue.get(GET_OUT).body, bodies(sharing))


def test_a_put_that_the_structure_refuses_leaves_no_body(made):
    sharing = made()
    run(sharing, "ALTER QLOCAL(ORDERS) QSGDISP(SHARED) MAXDEPTH(1)")
    _, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    with pytest.raises(MQError, match="2053"):
        queue.put(LONG, VOLATILE, OUT)
    assert 1 == len(in_repository(sharing))


def test_clearing_and_deleting_leave_no_body(made):
    sharing = made()
    connected, queue = app(sharing, "QM1")
    for _ in range(3):
        queue.put(LONG, VOLATILE, OUT)
    connected.disconnect()
    run(sharing, "CLEAR QLOCAL(ORDERS) QSGDISP(SHARED)")
    assert 0 == bodies(sharing)
    with sharing.members["QM2"].connect("BOB") as other:
        other.open("ORDERS", USES).put(LONG, VOLATILE, OUT)
    sharing.publish()
    run(sharing, "DELETE QLOCAL(ORDERS) QSGDISP(SHARED) PURGE")
    assert 0 == bodies(sharing)


# -- definitions


def test_without_rules_only_what_is_too_long_leaves(made):
    """CFLEVEL(4) has no rules: what fits an entry stays, however full the structure is."""
    sharing = made(SIZE=1024)
    _, queue = app(sharing, "QM1")
    with pytest.raises(MQError, match="2192"):
        fill(queue, bytes(60_000))
    assert (0, 0) == (bodies(sharing), sum(bool(entry.adjunct[0] & OFFLOADED) for entry in committed(sharing)))


def fill(queue, body):
    while True:
        queue.put(body, VOLATILE, OUT)


def committed(sharing):
    return [entry for entry in sharing.entries(1) if entry.key[0] == 1]


def test_the_rules_send_to_the_repository_too(made):
    sharing = made(SIZE=4096, CFLEVEL=5, OFFLOAD="DB2", OFFLD1SZ="32K")
    _, queue = app(sharing, "QM1")
    while not bodies(sharing):
        space = sharing.space()
        queue.put(bytes(40_000), VOLATILE, OUT)
    assert 70 == space.elements * 100 // space.elements_total


def test_a_definition_with_db2_has_no_rules_unless_it_says_so(made):
    sharing = made()
    run(sharing, "DEFINE CFSTRUCT(A) CFLEVEL(5) OFFLOAD(DB2) OFFLD2SZ(8K)")
    run(sharing, "DEFINE CFSTRUCT(B) CFLEVEL(5)")
    run(sharing, "ALTER CFSTRUCT(B) OFFLOAD(DB2)")
    rows = run(sharing, "DISPLAY CFSTRUCT(*) ALL").rows
    sizes = {row["CFSTRUCT"]: (row["OFFLOAD"], *(row[f"OFFLD{at}SZ"] for at in (1, 2, 3))) for row in rows}
    assert {"A": ("DB2", "64K", "8K", "64K"), "B": ("DB2", "32K", "4K", "0K"), STRUCTURE: ("NONE",)} == {
        name: found if name != STRUCTURE else found[:1] for name, found in sizes.items()
    }


def test_altering_offload_leaves_messages_where_they_are(made):
    """Messages of either kind are got by either member, whatever the definition says meanwhile."""
    sharing = made(**DATA_SET)
    _, queue = app(sharing, "QM1")
    _, other = app(sharing, "QM2")

    def used():
        (row,) = run(sharing, f"DISPLAY CFSTATUS({STRUCTURE}) TYPE(SUMMARY) OFFLDUSE").rows
        return row["OFFLDUSE"]

    seen = [used()]
    for at, offload in enumerate(("SMDS", "DB2", "SMDS", "DB2")):
        run(sharing, f"ALTER CFSTRUCT({STRUCTURE}) OFFLOAD({offload})")
        seen.append(used())
        sharing.publish()
        (queue if at % 2 else other).put(LONG + bytes([at]), VOLATILE, OUT)
        (other if at % 2 else queue).put(LONG + bytes([at, at]), VOLATILE, OUT)
    assert (["SMDS", "SMDS", "BOTH", "BOTH", "BOTH"], 4) == (seen, bodies(sharing))
    got = [each.get(GET_OUT).body for each in (queue, other, other, queue) * 2]
    ends = [bytes([at]) * times for at in range(4) for times in (1, 2)]
    assert (ends, {LONG}) == (sorted(body[len(LONG) :] for body in got), {body[: len(LONG)] for body in got})
    assert 0 == bodies(sharing)
    for name in ("QM1", "QM2"):
        sharing.members[name].shared.reclaim_step()
        assert 0 == sharing.members[name].shared.data_sets.connections[STRUCTURE].own.space.used


def test_raising_the_level_of_a_structure_in_use(made):
    """A member that has not noticed says 2346, takes nothing and loses nothing; then it gets the message (CS8)."""
    sharing = made(CFLEVEL=3)
    _, queue = app(sharing, "QM1")
    _, other = app(sharing, "QM2")
    with pytest.raises(MQError, match=r"20(30|31)"):
        queue.put(LONG, VOLATILE, OUT)
    run(sharing, f"ALTER CFSTRUCT({STRUCTURE}) CFLEVEL(4)")
    queue.put(LONG, VOLATILE, OUT)
    for ask in (lambda: other.get(GET_OUT), lambda: other.get(GET_IN), other.browse):
        with pytest.raises(MQError, match="2346"):
            ask()
    sharing.publish()
    assert (LONG, 0) == (other.get(GET_OUT).body, bodies(sharing))
    run(sharing, f"ALTER CFSTRUCT({STRUCTURE}) CFLEVEL(5) OFFLOAD(SMDS)")
    queue.put(LONG, VOLATILE, OUT)
    assert (LONG, 0) == (other.get(GET_OUT).body, bodies(sharing))


# -- backup, recovery, reset


def test_a_recovered_structure_has_its_long_messages(made):
    """Bodies of what was lost are removed, by those that wrote them, also when they are away."""
    sharing = made()
    putting, queue = app(sharing, "QM1")
    other, their = app(sharing, "QM2")
    sharing.publish()
    queue.put(LONG, PERSISTENT, IN)
    queue.put(b"lost", VOLATILE, IN)
    putting.commit()
    run(sharing, f"BACKUP CFSTRUCT({STRUCTURE})")
    their.put(LONG[::-1], PERSISTENT, IN)
    their.put(LONGER, VOLATILE, IN)
    other.commit()
    sharing.cut_off(STRUCTURE, lost=True)
    with pytest.raises(MQError, match="2345"):
        queue.put(b"x", VOLATILE, OUT)
    sharing.kill("QM2")
    sharing.reach_again(STRUCTURE)
    sharing.members["QM1"].shared.peers.step()
    run(sharing, f"RECOVER CFSTRUCT({STRUCTURE})")
    a_minute(sharing)
    assert (2, [LONG, LONG[::-1]]) == (bodies(sharing), browsed(putting))
    assert (drained(putting), 0) == ([LONG, LONG[::-1]], bodies(sharing))


def test_reset_structure_leaves_no_body(made):
    sharing = made(CFLEVEL=5, OFFLOAD="DB2", RECOVER="NO", members=("QM1",))
    connected, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    run(sharing, f"RESET CFSTRUCT({STRUCTURE}) ACTION(FAIL)")
    assert (0, []) == (bodies(sharing), drained(connected))
    queue.put(LONG, VOLATILE, OUT)
    assert (1, [LONG]) == (bodies(sharing), drained(connected))


def test_purging_and_deleting_a_structure_leave_no_body(made):
    sharing = made(members=("QM1",))
    connected, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    sharing.cut_off(STRUCTURE, lost=True)
    with pytest.raises(MQError, match="2345"):
        queue.put(b"x", VOLATILE, OUT)
    sharing.reach_again(STRUCTURE)
    run(sharing, f"RECOVER CFSTRUCT({STRUCTURE}) TYPE(PURGE)")
    assert 0 == bodies(sharing)
    queue.put(LONG, VOLATILE, OUT)
    connected.disconnect()
    sharing.publish()
    run(sharing, "DELETE QLOCAL(ORDERS) QSGDISP(SHARED) PURGE")
    run(sharing, f"DELETE CFSTRUCT({STRUCTURE})")
    assert [] == in_repository(sharing)


# -- a repository that is away


class Away:
    """A repository that can be away; one that is asked for the n-th time may have done what it does not answer."""

    def __init__(self, tables):
        self._tables, self.away, self.lost = tables, False, ""

    def __getattr__(self, name):
        def asked(*arguments):
            if self.away:
                raise RepositoryAwayError("it is away")
            answer = getattr(self._tables, name)(*arguments)
            if name == self.lost:
                raise RepositoryAwayError("the answer was lost")
            return answer

        return asked


@pytest.fixture
def away(tmp_path):
    sharing, doors = Sharing(tmp_path, CFLEVEL=4), []
    sharing.wrap_tables = lambda _name, tables: doors.append(Away(tables)) or doors[-1]
    for name in ("QM1", "QM2"):
        sharing.start(name)
    sharing.define(max_msg_length=1 << 20)
    yield sharing, doors
    sharing.close()


def test_without_the_repository_long_messages_wait(away):
    sharing, doors = away
    _, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    for door in doors:
        door.away = True
    for ask in (lambda: queue.put(LONG, VOLATILE, OUT), lambda: queue.get(GET_OUT)):
        with pytest.raises(MQError, match="2342"):
            ask()
    sharing.members["QM1"].shared.care_step()
    for door in doors:
        door.away = False
    assert (LONG, 0) == (queue.get(GET_OUT).body, bodies(sharing))


def test_short_messages_pass_while_it_is_away(away):
    sharing, doors = away
    _, queue = app(sharing, "QM1")
    doors[0].away = True
    queue.put(b"short", VOLATILE, OUT)
    assert b"short" == queue.get(GET_OUT).body


@pytest.mark.parametrize("lost", ["store", "remove", "begin_life"])
def test_an_answer_that_is_lost_leaves_no_body(away, lost):
    sharing, doors = away
    _, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    doors[0].lost = lost
    if lost == "store":
        with pytest.raises(MQError, match="2342"):
            queue.put(LONG, VOLATILE, OUT)
        assert 2 == len(in_repository(sharing))
    queue.get(GET_OUT)
    sharing.members["QM1"].shared.care_step()
    doors[0].lost = ""
    assert (0, []) == (bodies(sharing), words(sharing))


def test_a_body_that_is_gone_though_its_message_is_there(made):
    sharing = made()
    _, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    tables = sharing.tables().tables
    tables.remove_all(STRUCTURE)
    with pytest.raises(MQError, match="2349"):
        queue.get(GET_OUT)
    assert any("is not there any more (SC6)" in each for each in check_structures(sharing.group("QM1")))


def test_check_names_a_body_that_no_message_names(made):
    sharing = made()
    _, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    tables = sharing.tables().tables
    (body,) = tables.bodies(STRUCTURE)
    assert [] == [each for each in check_structures(sharing.group("QM1"), idle=True) if "SC6" in each]
    tables.store(STRUCTURE, body._replace(serial=99), LONG)
    problems = check_structures(sharing.group("QM1"), idle=True)
    assert [f"{STRUCTURE}: 1 bodies in the repository that no message names (SC6)"] == problems


# -- members die


def long(text):
    return text * 40_000


def work(world):
    """Long messages in units of every kind, got by the one who put them; some left in flight."""
    world.put("ORDERS", long(b"p0"), PERSISTENT, OUT)
    world.put("ORDERS", long(b"v0"), VOLATILE, OUT)
    world.get("ORDERS", GET_OUT)
    world.put("ORDERS", long(b"a1"))
    world.put("BILLS", long(b"a2"), VOLATILE)
    world.get("ORDERS")
    world.commit()
    world.put("BILLS", long(b"b1"))
    world.get("ORDERS")
    world.backout()
    world.one.shared.care_step()
    world.put("ORDERS", long(b"c1"))
    world.get("BILLS")


def nothing_is_left(sharing):
    """Every body is named by an entry, every entry names one, and nobody has to be told of any."""
    for name in ("APPL1", "APPL2"):
        probe = sharing.probe(name)
        named = named_in(probe)
        probe.disconnect()
        if set(in_repository(sharing, name)) != named:
            return False
    return [] == words(sharing)


def recovered(folder, repository, cut_at, *, done):
    """Whether a member that dies at a request leaves nothing; None when it did not die."""
    world = World(folder, repository=repository, CFLEVEL=4, RECOVER="YES")
    try:
        return _recovered(world, cut_at, done=done)
    finally:
        world.sharing.close()


def _recovered(world, cut_at, *, done):
    world.power.requests, world.power.cut_at, world.power.done = 0, cut_at, done
    if not died_in(world, work):
        return None
    sharing = world.sharing
    sharing.wrap, sharing.wrap_tables = (lambda _name, made: made,) * 2
    sharing.kill("QM1")
    world.two.shared.peers.step()
    a_minute(sharing)
    world.check()
    if not nothing_is_left(sharing):
        return False
    again = sharing.start("QM1", sharing.disks["QM1"].after_power_cut())
    a_minute(sharing)
    world.check(private=again)
    return nothing_is_left(sharing)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("done", [False, True])
def test_a_member_that_dies_at_any_request_leaves_no_body(tmp_path, done):
    cut_at = 1
    while (found := recovered(tmp_path, None, cut_at, done=done)) is not None:
        assert found, cut_at
        cut_at += 1
    assert cut_at > 40


@pytest.mark.crash
@pytest.mark.parametrize("cut_at", [2, 3, 4, 8, 12, 16, 20, 24, 30, 36])
def test_the_same_on_postgresql(tmp_path, postgres, cut_at):
    assert recovered(tmp_path, postgres.url, cut_at, done=cut_at % 3 == 0)


@pytest.mark.crash
def test_a_getter_that_dies_leaves_the_message_or_the_word(tmp_path):
    """What it got was put by a member that lives: nobody but the dead one knows of the body, and its word does."""
    world = World(tmp_path, CFLEVEL=4)
    sharing = world.sharing
    with world.two.connect("BOB") as bob:
        bob.open("ORDERS", USES).put(LONG, VOLATILE, OUT)
    world.handles["ORDERS"].get(GET_OUT)
    assert (1, 1) == (len(in_repository(sharing)), len(words(sharing)))
    sharing.kill("QM1")
    world.two.shared.peers.step()
    a_minute(sharing)
    assert nothing_is_left(sharing)


def test_what_is_looked_after_is_left_alone_when_its_member_is_back(made, monkeypatch):
    """A member connects between the look at who is there and the end of its life: the end is refused (BO4)."""
    sharing = made(members=("QM1", "QM2"))
    _, queue = app(sharing, "QM1")
    queue.put(LONG, PERSISTENT, OUT)
    sharing.kill("QM1")
    two = sharing.members["QM2"].shared
    two.peers.step()
    bury = Bodies._bury

    def late(self, connection, member, life):
        sharing.start("QM1")
        _, back = app(sharing, "QM1")
        write = OffloadingConnection._requested

        def meanwhile(connected, operations):
            monkeypatch.setattr(OffloadingConnection, "_requested", write)
            sent = [connected._sent(at, each, {}) for at, each in enumerate(operations)]  # the body is there
            bury(self, connection, member, life)
            return connected._connection.request(*sent)

        monkeypatch.setattr(OffloadingConnection, "_requested", meanwhile)
        back.put(LONGER, VOLATILE, OUT)

    monkeypatch.setattr(Bodies, "_bury", late)
    sharing.clock.advance(seconds=61)
    two.care_step()
    monkeypatch.undo()
    other, _ = app(sharing, "QM2")
    assert ([LONG, LONGER], 0) == (drained(other), bodies(sharing))


def test_a_member_that_is_not_known_yet_is_not_looked_after(made):
    """It has joined a moment ago: what it writes has no entry yet, and is nobody else's to remove (BO4)."""
    sharing = made()
    tables = sharing.tables().tables
    tables.store(STRUCTURE, Body(3, tables.begin_life(STRUCTURE, 3), 1), LONG)
    a_minute(sharing)
    assert [3] == [body.member for body in tables.bodies(STRUCTURE)]


def test_a_member_that_is_taken_for_gone_begins_a_new_life(made):
    sharing = made()
    _, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    tables = sharing.tables().tables
    assert 2 == tables.begin_life(STRUCTURE, 1)
    queue.put(LONGER, VOLATILE, OUT)
    assert [1, 3] == [body.life for body in tables.bodies(STRUCTURE)]
    assert [LONG, LONGER] == [queue.get(GET_OUT).body for _ in range(2)]


# -- rules taken away


def _no_rule(*_args, **_named):
    return None


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("BO2", lambda patch: patch.setattr(Bodies, "_follow_words", lambda *_: False)),
        ("BO4", lambda patch: patch.setattr(Bodies, "look_after", _no_rule)),
    ],
)
@pytest.mark.crash
def test_each_rule_is_needed(tmp_path, monkeypatch, rule, broken):
    """Without it some member that dies leaves a body, at one of the requests at which with it none does."""
    broken(monkeypatch)
    found = (recovered(tmp_path, None, cut_at, done=done) for cut_at in range(1, 50) for done in (False, True))
    assert False in found, rule


def test_bo3_its_writer_looks_for_what_nothing_names(away, monkeypatch):
    sharing, doors = away
    _, queue = app(sharing, "QM1")
    look = Bodies.look
    monkeypatch.setattr(Bodies, "look", _no_rule)
    doors[0].lost = "store"
    with pytest.raises(MQError, match="2342"):
        queue.put(LONG, VOLATILE, OUT)
    doors[0].lost = ""
    assert 1 == bodies(sharing)
    monkeypatch.setattr(Bodies, "look", look)
    assert 0 == bodies(sharing)


@pytest.mark.crash
def test_bo1_an_entry_before_its_body_names_nothing(tmp_path, monkeypatch):
    """As it must not be: the body is stored after its entry was written."""
    requested = OffloadingConnection._requested

    def late(self, operations):
        held, store = [], self.bodies._objects.store
        objects = self.bodies._objects
        self.bodies._objects = type("Late", (), {
            "store": lambda _, *what: held.append(what),
            "__getattr__": lambda _, name: getattr(objects, name),
        })()  # fmt: skip
        try:
            answers = requested(self, operations)
        finally:
            self.bodies._objects = objects
        for what in held:
            store(*what)
        return answers

    monkeypatch.setattr(OffloadingConnection, "_requested", late)
    with pytest.raises((AssertionError, MQError)):
        _all_recovered(tmp_path)


def _all_recovered(folder):
    for cut_at in range(1, 30):
        assert recovered(folder, None, cut_at, done=True)


# -- what is counted


def test_q5st_counts_large_messages(tmp_path):
    """An insert for each put, a select for each read, one delete for what was got together."""
    clock = FakeClock()
    db2 = Db2Manager(lambda: open_tables(str(tmp_path / "group.db"), "QSG1"), clock, OperatorLog("QM1", clock))
    mine = Bodies(STRUCTURE, 1, db2.objects, clock)
    places = [mine.write(LONG) for _ in range(3)]
    assert [LONG] * 3 == [mine.read(place) for place in places]
    mine.remove([place.body for place in places])
    stats = db2.stats
    assert (3, 3, 1, 1, 0) == (
        stats.lms_inserts,
        stats.lms_selects,
        stats.lms_deletes,
        stats.lms_updates,
        stats.lms_lists,
    )
    db2.stop()
