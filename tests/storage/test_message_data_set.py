"""Shared message data sets: space, buffers, what peers read, and what a power cut leaves."""

import threading
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.clock import FakeClock
from quaestor.smf.sections.coupling_facility import SharedMessageDataSetStatistics
from quaestor.storage.message_data_set import (
    PAGE,
    DataGoneError,
    DataSetFullError,
    DataSetReader,
    MessageDataSet,
    Place,
)
from quaestor.storage.message_data_set.data_set import BLOCK
from quaestor.storage.message_data_set.space_map import EXTENTS_MAX, SpaceMap
from quaestor.storage.real_disk import RealDisk
from quaestor.testing import FaultyDisk, PowerCut

NAME = "smds-APPL1"
LONG = bytes(range(256)) * 400  # 100 KB: 25 pages


def section():
    return SharedMessageDataSetStatistics(structure="APPL1")


def data_set(disk, blocks=4, **more):
    file = disk.open(NAME) if disk.exists(NAME) else disk.create(NAME, blocks * BLOCK)
    return MessageDataSet(file, 1, section(), FakeClock(), **more)


@pytest.fixture
def disk(tmp_path):
    return RealDisk(tmp_path)


@pytest.fixture
def own(disk):
    made = data_set(disk)
    yield made
    made.close()


def test_data_is_read_as_it_was_written(own):
    places = [own.write(data, persistent=True) for data in (LONG, b"x", b"", LONG[::-1])]
    assert [LONG, b"x", b"", LONG[::-1]] == [own.read(place) for place in places]


def test_peers_read_what_the_owner_wrote(disk, own):
    place = own.write(LONG, persistent=False)
    stats = section()
    peer = DataSetReader(disk.open(NAME), stats, FakeClock())
    assert LONG == peer.read(Place.unpack(place.pack()))
    assert (1, 25) == (stats.other_read_ios, stats.other_read_pages)
    peer.close()


def test_a_place_fits_beside_the_headers_of_its_message():
    """The two elements that an offloaded message keeps have 372 bytes of headers and 140 others."""
    place = Place(31, 1 << 60, 100 << 20, 0xFFFFFFFF, tuple((at, 1) for at in range(EXTENTS_MAX)))
    assert len(place.pack()) <= 512 - 372
    assert place == Place.unpack(place.pack() + b"whatever follows")


def test_space_is_used_again(own):
    for _ in range(50):
        place = own.write(LONG, persistent=False)
        own.free(place)
    assert (0, 4 * BLOCK // PAGE) == (own.space.used, own.space.pages)
    stats = own.up_to_date()
    assert (50, 50, 1250, 1250, 0, 1) == (
        stats.allocate_requests,
        stats.free_requests,
        stats.pages_allocated,
        stats.pages_freed,
        stats.messages,
        stats.messages_high,
    )


def test_what_is_freed_twice_or_used_twice_is_our_error(own):
    place = own.write(LONG, persistent=False)
    with pytest.raises(ValueError, match="two messages"):
        own.rebuild([place, place])
    own.rebuild([place])
    assert own.holds(place)
    own.free(place)
    assert not own.holds(place)
    with pytest.raises(ValueError, match="freed twice"):
        own.free(place)
    with pytest.raises(ValueError, match="freed twice"):
        own.space.free(place.extents)


def test_data_that_was_overwritten_is_gone_not_wrong(disk, own):
    """A peer that still has the place of a message which was got and whose space is used again."""
    old = own.write(LONG, persistent=False)
    own.free(old)
    own._file.write(old.extents[0][0] * PAGE, b"something else")
    peer = DataSetReader(disk.open(NAME), section(), FakeClock())
    with pytest.raises(DataGoneError, match="not there any more"):
        peer.read(old)
    peer.close()
    with pytest.raises(DataGoneError):
        own.read(old)


# -- full and expanding, rule MD5


def test_a_data_set_expands_by_a_tenth(own):
    own.space.mark([(0, own.space.pages)])
    own.write(LONG, persistent=False)
    assert (5 * BLOCK, 5 * BLOCK // PAGE, 1) == (own._file.size(), own.space.pages, own.stats.format_ios)


def test_one_that_may_not_expand_is_full(disk):
    own = data_set(disk, expand=False)
    places = [own.write(bytes(BLOCK), persistent=False) for _ in range(4)]
    with pytest.raises(DataSetFullError, match="no room for 1 pages"):
        own.write(b"x", persistent=False)
    stats = own.up_to_date()
    assert (1, 4, 0, 0) == (stats.allocations_failed, stats.blocks_used, stats.blocks_free, stats.blocks_free_low)
    own.free(places[1])
    own.write(b"x", persistent=False)
    own.close()


def test_a_message_may_be_in_pieces(disk):
    own = data_set(disk, expand=False)
    pages = [own.write(b"x" * PAGE, persistent=False) for _ in range(own.space.pages)]
    for at in range(3, 30, 3):
        own.free(pages[at])
    place = own.write(LONG[: 9 * PAGE], persistent=False)
    assert (9, LONG[: 9 * PAGE]) == (len(place.extents), own.read(place))
    with pytest.raises(DataSetFullError):
        own.write(b"x", persistent=False)
    own.close()


def test_more_pieces_than_a_place_holds_is_full(disk):
    own = data_set(disk, expand=False)
    pages = [own.write(b"x", persistent=False) for _ in range(own.space.pages)]
    for at in range(0, 2 * (EXTENTS_MAX + 1), 2):
        own.free(pages[at])
    with pytest.raises(DataSetFullError):
        own.write(bytes((EXTENTS_MAX + 1) * PAGE), persistent=False)
    own.close()


@settings(max_examples=60)
@given(st.lists(st.integers(1, 40) | st.integers(-10, -1), max_size=60))
def test_the_space_map_never_gives_a_page_twice(steps):
    """Positive: allocate so many pages; negative: free one of what is held."""
    space, held = SpaceMap(100), []
    for step in steps:
        if step > 0:
            extents = space.allocate(step)
            if extents is not None:
                held.append(extents)
        elif held:
            space.free(held.pop(step % len(held)))
        pages = [page for extents in held for at, count in extents for page in range(at, at + count)]
        assert len(pages) == len(set(pages)) == space.used
        assert all(0 <= page < 100 for page in pages)
    for extents in held:
        space.free(extents)
    assert (0, ((0, 100),)) == (space.used, space.allocate(100))


# -- buffers, rule MD6


def test_what_was_just_written_is_not_read_from_disk(own):
    place = own.write(LONG, persistent=False)
    own.read(place)
    own.read(place)
    stats = own.stats
    assert (2, 2, 0, 1) == (stats.read_requests, stats.reads_saved, stats.read_ios, stats.write_ios)


def test_the_oldest_buffer_is_stolen(disk):
    own = data_set(disk, buffers=2)
    first, second, third = (own.write(bytes([at]) * 100, persistent=False) for at in range(3))
    for place in (second, third, first):
        own.read(place)
    stats = own.up_to_date()
    assert (3, 2, 1, 2, 2, 2) == (
        stats.read_requests,
        stats.reads_saved,
        stats.read_ios,
        stats.got_free,
        stats.got_stolen,
        stats.buffers_used_high,
    )
    own.close()


def test_a_message_longer_than_all_buffers_has_none(disk):
    own = data_set(disk, buffers=1)
    place = own.write(bytes(2 * BLOCK), persistent=False)
    assert bytes(2 * BLOCK) == own.read(place)
    assert (2, 0, 1) == (own.stats.got_none, own.stats.reads_saved, own.stats.read_ios)
    own.close()


# -- power, rules MD2 and MD3


def lost_after(cut, seed):
    """Whether a place that was told before the power went cannot be read after it."""
    disk = FaultyDisk(seed=seed)
    data_set(disk).close()
    disk.cut_after = disk.operations + cut
    known = []
    with suppress(PowerCut):
        own = data_set(disk)
        for data in (LONG, b"x" * 5000, LONG[::-1]):
            known += [(own.write(data, persistent=True), data)]
    after = data_set(disk.after_power_cut())
    after.rebuild(place for place, _ in known)
    try:
        return [data for _, data in known] != [after.read(place) for place, _ in known]
    except DataGoneError:
        return True


CUTS = [(cut, seed) for cut in range(7) for seed in range(4)]


@pytest.mark.parametrize(("cut", "seed"), CUTS)
def test_persistent_data_is_there_whenever_its_place_is_known(cut, seed):
    """Whatever write the power goes at: the place of a persistent message, once told, can be read after it."""
    assert not lost_after(cut, seed)


def test_without_the_force_data_is_lost(monkeypatch):
    """The test above has teeth: MD2 removed, some cut loses data."""
    written = MessageDataSet._written
    monkeypatch.setattr(
        MessageDataSet, "_written", lambda self, data, extents, *, forced: written(self, data, extents, forced=False)
    )
    assert any(lost_after(cut, seed) for cut, seed in CUTS)


def test_what_never_reached_the_structure_is_free_after_a_restart(disk):
    own = data_set(disk)
    kept = own.write(LONG, persistent=True)
    own.write(LONG, persistent=True)  # the member dies before the entry is written
    own.close()
    again = data_set(disk)
    again.rebuild([kept, Place(2, 1, 5, 0, ((0, 1),))])  # the other is in the data set of a peer
    assert (25, 1, LONG) == (again.space.used, again.stats.messages, again.read(kept))
    again.close()


def test_members_read_while_the_owner_writes(disk, own):
    """A peer sees a whole message or none: it asks only for places it was told."""
    told, ended = [], threading.Event()
    peer = DataSetReader(disk.open(NAME), section(), FakeClock())
    seen = []

    def look():
        while not ended.is_set() or len(seen) < len(told):
            if len(seen) < len(told):
                seen.append(peer.read(told[len(seen)]))

    reading = threading.Thread(target=look)
    reading.start()
    for at in range(40):
        told += [own.write(bytes([at]) * 20_000, persistent=False)]
    ended.set()
    reading.join()
    peer.close()
    assert [bytes([at]) * 20_000 for at in range(40)] == seen
