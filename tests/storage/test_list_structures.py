"""What a list structure promises, held by each engine alike."""

import threading
from contextlib import contextmanager, suppress
from itertools import count
from queue import SimpleQueue

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.lists import places
from quaestor.storage.lists.client import FacilityConnection
from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.operations import (
    DELETED,
    KEY_MAX,
    KEY_MIN,
    LEFT,
    MOVED,
    SHORT,
    Alter,
    Claim,
    Count,
    Delete,
    Entry,
    First,
    Holding,
    Index,
    Limit,
    Lock,
    Move,
    Read,
    ReadControls,
    ReadList,
    ReadSpace,
    Rewrite,
    Space,
    Take,
    Unlock,
    Unwatch,
    Watch,
    Write,
)
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal
from servers import redis_server

READY, TAKEN = 5, 6
NAMES = count(1)


def key(text):
    return text.encode().ljust(16, b"\0")


def nobody(_token):
    """Whoever watches nothing is told nothing."""


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory):
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def facility_path(tmp_path_factory):
    facility = CouplingFacility(tmp_path_factory.mktemp("cf") / "cf.sock")
    serving = threading.Thread(target=facility.serve)
    serving.start()
    yield facility.path
    facility.stop()
    serving.join()


@pytest.fixture(params=["memory", "facility", "redis"])
def connect(request):
    """A way to connect to new structures of each engine."""
    if request.param == "memory":
        return MemoryFacility().connect
    if request.param == "facility":
        path = request.getfixturevalue("facility_path")
        return lambda shape, connector, told: FacilityConnection(path, shape, connector, told)
    url = request.getfixturevalue("redis_url")
    return lambda shape, connector, told: RedisConnection(url, shape, connector, told)


@pytest.fixture
def structure(connect):
    made = connect(shape(), "QM1", nobody)
    yield made
    made.disconnect()


def shape(**more):
    return Shape(f"APPL{next(NAMES)}", **more)


def write(structure, text, list_=READY, data=b"body", adjunct=b""):
    return structure.request(Write(list_, key(text), data, adjunct))[0]


def names(entries):
    return [entry.key.rstrip(b"\0").decode() for entry in entries]


# -- entries


def test_an_entry_is_read_as_it_was_written(structure):
    number = write(structure, "B", data=b"x" * 1000, adjunct=b"about it")
    (entry,) = structure.request(Read(number))
    assert Entry(number, READY, key("B"), b"about it", 1, b"x" * 1000, entry.arrival) == entry


def test_a_list_is_in_the_order_of_its_keys_and_of_arrival(structure):
    for text in ("B", "A", "C", "B"):
        write(structure, text)
    (entries,) = structure.request(ReadList(READY))
    assert ["A", "B", "B", "C"] == names(entries)
    assert entries[1].arrival < entries[2].arrival


def test_the_first_of_a_range(structure):
    for text in ("A", "C", "E"):
        write(structure, text)
    first, none, whole = structure.request(
        First(READY, key("B"), key("D")), First(READY, key("F"), KEY_MAX), First(READY)
    )
    assert (key("C"), None, key("A")) == (first.key, none, whole.key)


def test_a_list_is_read_in_pieces(structure):
    for at in range(10):
        write(structure, "same", data=b"%d" % at)
    read, low, arrival = [], KEY_MIN, 0
    while True:
        (piece,) = structure.request(ReadList(READY, low, KEY_MAX, 3, arrival))
        if not piece:
            break
        read += [entry.data for entry in piece]
        low, arrival = piece[-1].key, piece[-1].arrival
    assert [b"%d" % at for at in range(10)] == read


def test_keys_of_any_bytes_are_in_the_order_of_their_bytes(structure):
    keys = [bytes([first]) + bytes([second]) * 15 for first in (0, 127, 128, 255) for second in (0, 65, 97, 255)]
    for each in reversed(keys):
        structure.request(Write(READY, each, b""))
    (entries,) = structure.request(ReadList(READY))
    assert keys == [entry.key for entry in entries]


def test_rewriting_counts_the_version(structure):
    number = write(structure, "A")
    assert (2,) == structure.request(Rewrite(number, b"other", None, 1))
    with pytest.raises(StructureRefusal, match="CHANGED"):
        structure.request(Rewrite(number, b"late", None, 1))
    (entry,) = structure.request(Read(number))
    assert (b"other", 2) == (entry.data, entry.version)
    assert (3,) == structure.request(Rewrite(number, None, b"adjunct"))
    assert (b"other", b"adjunct") == structure.request(Read(number))[0][5:2:-2]


def test_moving_keeps_the_entry_and_may_give_it_another_key(structure):
    number = write(structure, "A")
    structure.request(Move(number, READY, TAKEN, key("QM1"), b"mine"))
    ready, taken, (entry,) = structure.request(Count(READY), Count(TAKEN), ReadList(TAKEN))
    assert (0, 1, number, key("QM1"), b"mine") == (ready, taken, entry.number, entry.key, entry.adjunct)
    with pytest.raises(StructureRefusal, match="NOT_FOUND"):
        structure.request(Move(number, READY, TAKEN))


def test_taking_is_reading_and_moving_at_once(structure):
    numbers = [write(structure, text) for text in ("A", "B")]
    taken, other, none = structure.request(
        Take(READY, KEY_MIN, KEY_MAX, TAKEN), Take(READY, KEY_MIN, KEY_MAX, TAKEN), Take(READY, KEY_MIN, KEY_MAX, TAKEN)
    )
    assert (numbers, None) == ([taken.number, other.number], none)
    assert TAKEN == taken.list


def flagged(flags, length, rest=b""):
    return bytes([flags]) + length.to_bytes(4, "big") + rest


def test_a_claim_leaves_moves_or_deletes_by_flags_and_length(structure):
    """A get decides and takes with one request."""
    keep, leave = 1, 2
    for text, flags, length in (("A", 0, 10), ("B", keep, 10), ("C", leave | keep, 10)):
        write(structure, text, adjunct=flagged(flags, length, b"rest..mark"))
    claim = Claim(READY, KEY_MIN, KEY_MAX, TAKEN, b"QM1!", keep, leave, 99)
    deleted, moved, left = (structure.request(claim)[0] for _ in range(3))
    assert [("A", DELETED), ("B", MOVED), ("C", LEFT)] == [
        (names([claimed.entry])[0], claimed.done) for claimed in (deleted, moved, left)
    ]
    assert (TAKEN, flagged(keep, 10, b"rest..QM1!")) == (moved.entry.list, moved.entry.adjunct)
    assert (1, 1) == structure.request(Count(READY), Count(TAKEN))
    assert Space(2, 10_000, 2, 60_000) == structure.request(ReadSpace())[0]


def test_a_claim_leaves_what_is_longer_than_asked_for(structure):
    write(structure, "A", adjunct=flagged(0, 500))
    assert LEFT == structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN, most=499))[0].done
    assert MOVED == structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN, most=500))[0].done
    assert (None,) == structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN))


def test_a_claim_does_not_read_what_its_buffer_cannot_hold(structure):
    write(structure, "A", data=b"x" * 500, adjunct=flagged(0, 500))
    (short,) = structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN, buffer=499))
    assert (SHORT, (500).to_bytes(4, "big"), READY) == (short.done, short.entry.data, short.entry.list)
    (read,) = structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN, buffer=500))
    assert (MOVED, b"x" * 500) == (read.done, read.entry.data)


def test_entries_are_found_by_what_their_data_has_at_a_place(structure):
    for at in range(100):
        write(structure, f"{at:03}", data=b"id%03d" % at + b"AB"[at % 2 : at % 2 + 1])
    wanted = ((2, b"077"),)
    assert key("077") == structure.request(First(READY, where=wanted))[0].key
    assert key("077") == structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN, where=wanted))[0].entry.key
    assert (None,) == structure.request(First(READY, where=wanted))
    (odd,) = structure.request(ReadList(READY, most=3, where=((5, b"B"), (2, b"09"))))
    assert ["091", "093", "095"] == names(odd)


def by_second(structure, second, **more):
    return names(structure.request(ReadList(READY, most=100, where=((1, second),), **more))[0])


def test_an_index_finds_what_reading_through_finds(structure):
    """Entries that were there before it, that come, move, change and go; in the order of the list."""
    for at, text in enumerate("DBAC"):
        write(structure, text, data=b"x%d." % (at % 2))
    structure.request(Index(READY, 1, 1))
    moved = write(structure, "E", data=b"x1")
    gone = write(structure, "F", data=b"x1")
    other = write(structure, "0", TAKEN, data=b"x1")
    assert (["A", "D"], ["B", "C", "E", "F"], []) == tuple(by_second(structure, each) for each in (b"0", b"1", b"2"))
    structure.request(Move(moved, READY, TAKEN), Delete(gone, READY), Move(other, TAKEN, READY, key("Z")))
    assert ["B", "C", "Z"] == by_second(structure, b"1")
    assert ["C", "Z"] == by_second(structure, b"1", low=key("C"))
    structure.request(Rewrite(other, b"x0"))
    assert (["A", "D", "Z"], ["B", "C"]) == (by_second(structure, b"0"), by_second(structure, b"1"))
    assert "B" == names([structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN, where=((1, b"1"),)))[0].entry])[0]
    structure.request(Index(READY, 0, 0))
    assert (["C"], ["A", "D", "Z"]) == (by_second(structure, b"1"), by_second(structure, b"0"))


def test_a_refused_request_leaves_the_index_as_it_was(structure):
    kept = write(structure, "A", data=b"x1")
    structure.request(Index(READY, 1, 1))
    for step in (Write(READY, key("B"), b"x1"), Rewrite(kept, b"x2"), Delete(kept, READY), Index(READY, 0, 2)):
        with pytest.raises(StructureRefusal):
            structure.request(step, Delete(99, READY))
        assert (["A"], []) == (by_second(structure, b"1"), by_second(structure, b"2"))


def test_with_an_index_few_entries_are_looked_at(monkeypatch):
    """One of 10,000 costs what one of 100 does: the entries that are compared are counted."""
    looked = []
    fits = places._fits
    monkeypatch.setattr(places, "_fits", lambda entry, where: looked.append(entry) or fits(entry, where))
    for depth in (100, 10_000):
        structure = MemoryFacility().connect(shape(entries=20_000), "QM1", nobody)
        structure.request(Index(READY, 0, 5))
        for at in range(depth):
            write(structure, "A", data=b"%05d" % at)
        structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN, where=((0, b"%05d" % (depth - 1)),)))
    assert 2 == len(looked)


def test_deleting_gives_the_space_back(structure):
    number = write(structure, "A", data=b"x" * 600)
    assert Space(1, 10_000, 3, 60_000) == structure.request(ReadSpace())[0]
    structure.request(Delete(number, READY))
    assert (None, Space(0, 10_000, 0, 60_000)) == structure.request(Read(number), ReadSpace())
    with pytest.raises(StructureRefusal, match="NOT_FOUND"):
        structure.request(Delete(number, READY))


def test_every_answer_says_what_is_in_use(structure):
    number = write(structure, "A", data=b"x" * 600)
    assert (1, 3) == tuple(structure.used)
    with pytest.raises(StructureRefusal):
        structure.request(Write(READY, key("B"), b"x"), Delete(99, READY))
    assert (1, 3) == tuple(structure.used)
    structure.request(Delete(number, READY))
    assert (0, 0) == tuple(structure.used)


def test_the_count_of_a_range(structure):
    for text in ("A", "B", "B", "C"):
        write(structure, text)
    assert (2, 4, 0) == structure.request(Count(READY, key("B"), key("B")), Count(READY), Count(99))
    assert (0,) == structure.request(Count(READY, key("C"), key("A")))


# -- limits


def test_a_list_has_its_own_maximum(structure):
    structure.request(Limit(READY, 2))
    write(structure, "A"), write(structure, "B")
    with pytest.raises(StructureRefusal, match="LIST_FULL"):
        write(structure, "C")
    other = write(structure, "D", TAKEN)
    structure.request(Move(other, TAKEN, READY))
    assert ((3, 2),) == structure.request(ReadControls(READY))


@pytest.mark.parametrize("size", [{"entries": 2, "elements": 100}, {"entries": 100, "elements": 4}])
def test_a_structure_is_full_when_entries_or_elements_are(connect, size):
    """MP16, CF-M13: an entry and its elements are taken together, or the put is refused."""
    structure = connect(shape(**size), "QM1", nobody)
    for text in ("A", "B"):
        write(structure, text, data=b"x" * 512)
    with pytest.raises(StructureRefusal, match="FULL"):
        write(structure, "C", data=b"x")
    structure.request(Alter(100, 100))
    write(structure, "C")
    structure.disconnect()


def test_a_structure_does_not_shrink_below_what_it_holds(structure):
    write(structure, "A", data=b"x" * 1000)
    with pytest.raises(StructureRefusal, match="IN_USE"):
        structure.request(Alter(10, 3))
    structure.request(Alter(1, 4))
    assert Space(1, 1, 4, 4) == structure.request(ReadSpace())[0]


def test_more_elements_than_an_entry_may_have(structure):
    with pytest.raises(StructureRefusal, match="TOO_LONG"):
        write(structure, "A", data=bytes(255 * 256 + 1))
    number = write(structure, "A", data=bytes(255 * 256))
    with pytest.raises(StructureRefusal, match="TOO_LONG"):
        structure.request(Rewrite(number, bytes(256 * 256)))


# -- requests are one


def test_a_refused_request_changes_nothing(structure):
    kept, moved = write(structure, "A", data=b"x" * 300), write(structure, "B")
    before = structure.request(ReadList(READY), ReadList(TAKEN), ReadSpace(), ReadControls(READY))
    with pytest.raises(StructureRefusal) as refused:
        structure.request(
            Write(READY, key("C"), b"new"),
            Move(moved, READY, TAKEN, key("Z"), b"adjunct"),
            Rewrite(kept, b"y" * 5000, b"z"),
            Limit(READY, 7),
            Lock(3, "QM1"),
            Watch("QM1", 9, TAKEN),
            Alter(77, 777),
            Delete(kept, READY),
            Delete(kept, READY),
        )
    assert ("NOT_FOUND", 8) == (refused.value.why, refused.value.at)
    assert before == structure.request(ReadList(READY), ReadList(TAKEN), ReadSpace(), ReadControls(READY))
    assert ("QM2",) == structure.request(Lock(3, "QM2"))


def test_nobody_takes_what_another_has(connect):
    """Three queue managers take from one list: each entry goes to exactly one of them."""
    made = shape()
    members = [connect(made, f"QM{at}", nobody) for at in range(3)]
    for at in range(60):
        write(members[0], "A", data=b"%d" % at)
    taken = [[] for _ in members]

    def take(at):
        while (entry := members[at].request(Take(READY, KEY_MIN, KEY_MAX, TAKEN))[0]) is not None:
            taken[at].append(entry.number)

    threads = [threading.Thread(target=take, args=(at,)) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = sorted(number for each in taken for number in each)
    assert (60, 60) == (len(everything), len(set(everything)))
    for member in members:
        member.disconnect()


# -- locks


def test_a_lock_has_one_holder(structure):
    assert ("QM1", "QM1") == structure.request(Lock(1, "QM1"), Lock(1, "QM2"))
    assert (False,) == structure.request(Unlock(1, "QM2"))
    with pytest.raises(StructureRefusal, match="LOCKED"):
        structure.request(Holding(1, "QM2"), Write(READY, key("A"), b""))
    structure.request(Holding(1, "QM1"), Write(READY, key("A"), b""))
    assert (True, "QM2") == structure.request(Unlock(1, "QM1"), Lock(1, "QM2"))


# -- watching


@contextmanager
def watching(connect, made, *ranges):
    """A connector that watches ranges of keys, and what it was told; `expect` waits for so many."""
    told, came = [], threading.Condition()

    def tell(token):
        with came:
            told.append(token)
            came.notify_all()

    def expect(tokens):
        with came:
            came.wait_for(lambda: len(told) >= len(tokens), timeout=5)
            assert tokens == told

    watcher = connect(made, "WATCHER", tell)
    had = watcher.request(*(Watch("WATCHER", at, *each) for at, each in enumerate(ranges, 1)))
    yield watcher, had, expect
    watcher.disconnect()


def test_what_is_watched_is_told_when_it_is_no_longer_empty(connect):
    made = shape()
    member = connect(made, "QM1", nobody)
    with watching(connect, made, (READY, key("B"), key("C")), (TAKEN,)) as (_, had, expect):
        assert (False, False) == had
        write(member, "A")
        first = write(member, "B")
        second = write(member, "C")
        expect([1])
        member.request(Delete(first, READY))
        member.request(Delete(second, READY))
        third = write(member, "B")
        expect([1, 1])
        member.request(Move(third, READY, TAKEN))
        expect([1, 1, 2])
    member.disconnect()


def test_whoever_begins_to_watch_learns_what_is_there(connect):
    made = shape()
    member = connect(made, "QM1", nobody)
    write(member, "A")
    with watching(connect, made, (READY,)) as (watcher, had, expect):
        assert (True,) == had
        write(member, "B")
        watcher.request(Unwatch("WATCHER", 1))
        expect([])
    member.disconnect()


def test_who_watches_each_is_told_of_every_arrival(connect):
    made = shape()
    member = connect(made, "QM1", nobody)
    with watching(connect, made, (READY, key("B"), key("C"), True), (READY, key("B"), key("C"))) as (_, _, expect):
        for text in ("A", "B", "C"):
            write(member, text)
        expect([1, 2, 1])
    member.disconnect()


def test_a_refused_request_is_not_told(connect):
    made = shape()
    member = connect(made, "QM1", nobody)
    with watching(connect, made, (READY,)) as (_, _, expect):
        with pytest.raises(StructureRefusal):
            member.request(Write(READY, key("A"), b""), Delete(999, READY))
        write(member, "B")
        expect([1])
    member.disconnect()


# -- connectors


def test_a_structure_lives_on_without_connectors(connect):
    made = shape()
    first = connect(made, "QM1", nobody)
    number = write(first, "A")
    first.disconnect()
    second = connect(Shape(made.name, entries=5), "QM2", nobody)
    assert number == second.request(Read(number))[0].number
    assert 10_000 == second.request(ReadSpace())[0].entries_total
    assert {"QM2": True} == second.connectors()
    second.disconnect()


def test_a_connector_that_is_gone_without_a_word_has_failed(connect):
    made = shape()
    first, second = connect(made, "QM1", nobody), connect(made, "QM2", nobody)
    number = write(second, "A", TAKEN)
    second.fail()
    for _ in range(400):
        if first.connectors() == {"QM1": True, "QM2": False}:
            break
        threading.Event().wait(0.02)
    assert {"QM1": True, "QM2": False} == first.connectors()
    first.request(Move(number, TAKEN, READY))
    first.forget("QM2")
    assert {"QM1": True} == first.connectors()
    first.disconnect()


@pytest.mark.parametrize("fenced", [True, False])
def test_a_connector_that_has_connected_again_is_not_forgotten(connect, fenced):
    """LS3: its peer has completed what it left, and comes late to forget it."""
    made = shape()
    first, second = connect(made, "QM1", nobody), connect(made, "QM2", nobody)
    if fenced:
        first.fence("QM2")
    again = connect(made, "QM2", nobody)
    first.forget("QM2")
    assert {"QM1": True, "QM2": True} == first.connectors()
    second.fail()
    write(again, "A")
    for each in (again, first):
        each.disconnect()


def test_who_has_another_connection_leaves_with_that_one(connect):
    """LS5: the end of the one before is nobody's."""
    made, told = shape(), SimpleQueue()
    first, second = connect(made, "QM1", nobody), connect(made, "QM2", nobody)
    again = connect(made, "QM2", told.put)
    again.request(Watch("QM2", 7, READY))
    with suppress(StructureLostError):
        second.disconnect()
    assert {"QM1": True, "QM2": True} == first.connectors()
    write(first, "A")
    assert 7 == told.get(timeout=10)
    for each in (again, first):
        each.disconnect()


# -- the engines agree


LISTS, KEYS = st.sampled_from([1, 2]), st.sampled_from([key(text) for text in "ABC"])
DATA = st.sampled_from([b"", b"x", b"x" * 257, b"x" * 1000])
NUMBERS = st.integers(1, 8)
FLAGS = st.sampled_from([0, 1, 2, 3, 255])
WHERE = st.sampled_from([(), ((1, b"xx"),), ((0, b"x"), (300, b"x")), ((0, b"\0"),), ((1, b"x"),)])
SIZES, BUFFERS = st.sampled_from([0, 9]), st.sampled_from([0, 300, 9999])
MAYBE_KEY, MAYBE_DATA = st.none() | KEYS, st.none() | DATA
OPERATIONS = st.one_of(
    st.builds(Write, LISTS, KEYS, DATA, st.builds(flagged, FLAGS, st.sampled_from([0, 5]))),
    st.builds(Rewrite, NUMBERS, MAYBE_DATA, MAYBE_DATA.map(lambda data: data and data[:64]), st.none() | st.just(1)),
    st.builds(Read, NUMBERS),
    st.builds(First, LISTS, KEYS, KEYS, WHERE),
    st.builds(ReadList, LISTS, KEYS, KEYS, st.integers(1, 3), st.just(0), WHERE),
    st.builds(Move, NUMBERS, LISTS, LISTS, MAYBE_KEY),
    st.builds(Take, LISTS, KEYS, KEYS, LISTS, MAYBE_KEY),
    st.builds(
        Claim,
        LISTS,
        KEYS,
        KEYS,
        LISTS,
        st.just(b"M"),
        FLAGS,
        FLAGS,
        st.sampled_from([0, 9]),
        WHERE,
        st.sampled_from([0, 300, 9999]),
    ),
    st.builds(Delete, NUMBERS, LISTS),
    st.builds(Count, LISTS, KEYS, KEYS),
    st.builds(ReadControls, LISTS),
    st.builds(Limit, LISTS, st.integers(0, 4)),
    st.builds(Index, LISTS, st.integers(0, 1), st.integers(0, 2)),
    st.builds(Lock, st.just(1), st.sampled_from(["QM1", "QM2"])),
    st.builds(Unlock, st.just(1), st.sampled_from(["QM1", "QM2"])),
    st.builds(Holding, st.just(1), st.sampled_from(["QM1", "QM2"])),
    st.builds(Alter, st.integers(0, 8), st.integers(0, 20)),
    st.builds(ReadSpace),
)
REQUESTS = st.lists(st.lists(OPERATIONS, min_size=1, max_size=4), max_size=12)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(REQUESTS)
def test_both_engines_answer_the_same(redis_url, requests):
    made = shape(entries=6, elements=12)
    engines = [MemoryFacility().connect(made, "QM1", nobody), RedisConnection(redis_url, made, "QM1", nobody)]
    try:
        for operations in requests:
            ours, theirs = (_outcome(engine, operations) for engine in engines)
            assert ours == theirs
    finally:
        for engine in engines:
            engine.disconnect()


def _outcome(engine, operations):
    try:
        return engine.request(*operations)
    except StructureRefusal as refused:
        return refused.why, refused.at
