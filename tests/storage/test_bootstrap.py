"""The bootstrap data set: a write that fails, and copies that are lost, missing or cannot be read (S2, S3, S5)."""

import errno
from contextlib import suppress
from itertools import product
from threading import Event, Thread
from zlib import crc32

import pytest

from quaestor.mqi.reasons import Abend
from quaestor.storage.bootstrap import PLACE, Bootstrap, Copy, Inventory
from quaestor.testing import FaultyDisk, FaultyFile, PowerCut

pytestmark = pytest.mark.plain


def made(*, dual):
    disk = FaultyDisk()
    archives = [(rba << 16, (rba + 1) << 16, f"archive-{rba << 16:016x}") for rba in range(100)]
    inventory = Inventory(1 << 16, 2 if dual else 1, [4096, -1], archives=archives)
    bootstrap = Bootstrap.create(disk, inventory, dual=dual)
    for rba in (1, 2, 3):
        note(bootstrap, rba)
        bootstrap.save()
    return disk, bootstrap


def note(bootstrap, rba):
    """Something in the first sector and in the last: a torn write is neither the one version nor the other."""
    bootstrap.inventory.written_rba = bootstrap.inventory.image_copies["1"] = rba


def a_write_that_fails_then_a_cut_in_the_next():
    """The version before the one that failed is still there, whatever the cut leaves of the next."""
    for failing, cut, seed in product((1, 2), range(3), range(30)):
        disk, bootstrap = made(dual=False)
        disk.fail_at[disk.operations + failing] = errno.EIO
        note(bootstrap, 4)
        with pytest.raises(OSError, match="EIO"):
            bootstrap.save()
        disk.cut_after = disk.operations + cut
        note(bootstrap, 5)
        with suppress(PowerCut):
            bootstrap.save()
        found = Bootstrap.open(disk.after_power_cut(seed)).inventory.written_rba
        assert found in {3, 4, 5}, f"operation {failing} failed, cut after {cut}, seed {seed}"


def test_the_last_good_version_is_not_written_over_when_a_write_has_failed():
    a_write_that_fails_then_a_cut_in_the_next()


def test_without_that_rule_nothing_is_left(monkeypatch):
    write = Copy.write

    def hasty(self, data):
        try:
            write(self, data)
        except OSError:
            self._place = 1 - self._place
            raise

    monkeypatch.setattr(Copy, "write", hasty)
    with pytest.raises((Abend, AssertionError)):
        a_write_that_fails_then_a_cut_in_the_next()


# --- a copy that is lost (S5) -----------------------------------------------------------------------------------------


def one_copy_is_lost(failing, cut, seed):
    """One of two copies cannot be written; what a cut may leave is in the other, or before both."""
    disk, bootstrap = made(dual=True)
    lost = []
    bootstrap.told = lambda name, _error: lost.append(name)
    disk.fail_at[disk.operations + failing] = errno.EIO
    disk.cut_after = disk.operations + cut
    saved = 3
    with suppress(PowerCut):
        for rba in (4, 5, 6):
            note(bootstrap, rba)
            bootstrap.save()
            saved = rba
    return disk.after_power_cut(seed), saved, lost


@pytest.mark.parametrize("failing", range(1, 5))
def test_one_copy_is_enough_wherever_power_goes(failing):
    """Copies are written one after the other, each a write and a sync: operations 1 and 2, 3 and 4."""
    for cut, seed in product(range(12), range(10)):
        disk, saved, lost = one_copy_is_lost(failing, cut, seed)
        found = Bootstrap.open(disk).inventory.written_rba
        assert saved <= found <= saved + 1, f"cut after {cut}, seed {seed}"
        if saved > 3:
            assert ["BSDS1" if failing < 3 else "BSDS2"] == lost


def the_lost_copy_alone(failing):
    """The good copy goes too: what the lost one says is old, and nothing starts with it."""
    disk, _, lost = one_copy_is_lost(failing, 100, 0)
    del disk.files["BSDS2" if lost == ["BSDS1"] else "BSDS1"]
    with pytest.raises(Abend, match="S3"):
        Bootstrap.open(disk)


@pytest.mark.parametrize("failing", range(1, 5))
def test_a_lost_copy_is_never_taken_for_current(failing):
    the_lost_copy_alone(failing)


def test_without_the_other_name_it_would_be(monkeypatch):
    monkeypatch.setattr(FaultyDisk, "rename", lambda *_: None)
    with pytest.raises(pytest.fail.Exception):
        the_lost_copy_alone(1)


def test_a_lost_copy_that_cannot_be_put_aside_is_an_error(monkeypatch):
    disk, bootstrap = made(dual=True)
    disk.fail_at = dict.fromkeys((disk.operations + 1, disk.operations + 4), errno.EIO)  # a write, the other name
    note(bootstrap, 4)
    with pytest.raises(OSError, match="EIO"):
        bootstrap.save()
    assert {"BSDS1", "BSDS2"} == set(disk.names("BSDS"))
    assert Bootstrap.open(disk.after_power_cut()).inventory.written_rba in {3, 4}
    for rba in (5, 6, 7):  # the other has a version more than both
        note(bootstrap, rba)
        bootstrap.save()
        for gone in ("BSDS1", "BSDS2"):
            left = disk.after_power_cut()
            del left.files[gone]
            assert rba == Bootstrap.open(left).inventory.written_rba


def test_without_any_copy_the_error_is_the_callers():
    disk, bootstrap = made(dual=True)
    disk.fail_at = dict.fromkeys((disk.operations + 1, disk.operations + 2), errno.ENOSPC)
    bootstrap.told = pytest.fail
    note(bootstrap, 4)
    with pytest.raises(OSError, match="ENOSPC"):
        bootstrap.save()
    assert 3 == Bootstrap.open(disk.after_power_cut()).inventory.written_rba


def test_a_lost_copy_is_made_again():
    disk, bootstrap = made(dual=True)
    assert "" == bootstrap.recover()
    disk.fail_at[disk.operations + 1] = errno.EIO
    note(bootstrap, 4)
    bootstrap.save()
    assert ["BSDS1"] == bootstrap.lost()
    for failing in (1, 4):  # it cannot be made, or cannot be written
        disk.fail_at[disk.operations + failing] = errno.EIO
        with pytest.raises(OSError, match=r"EIO|could not be written"):
            bootstrap.recover()
        assert ["BSDS1"] == bootstrap.lost()
    assert "BSDS2" == bootstrap.recover()
    note(bootstrap, 5)
    bootstrap.save()
    del disk.files["BSDS2"]
    assert 5 == Bootstrap.open(disk.after_power_cut()).inventory.written_rba


def a_copy_that_lags_behind():
    """A cut has left the second copy a version behind; the first is lost in the next write, and power goes again."""
    for cut, seed in product(range(4, 9), range(40)):
        disk, bootstrap = made(dual=True)
        disk.cut_after = disk.operations + 2
        note(bootstrap, 4)
        with suppress(PowerCut):
            bootstrap.save()
        disk = disk.after_power_cut()
        bootstrap = Bootstrap.open(disk)
        disk.fail_at[disk.operations + 1] = errno.EIO
        disk.cut_after = disk.operations + cut - 3
        note(bootstrap, 5)
        with suppress(PowerCut):
            bootstrap.save()
        disk = disk.after_power_cut(seed)
        disk.files.pop("BSDS1", None)
        assert 3 <= Bootstrap.open(disk).inventory.written_rba, f"cut after {cut}, seed {seed}"


def test_a_copy_that_lags_behind_keeps_its_own_last_version():
    a_copy_that_lags_behind()


def test_with_a_place_that_the_version_chooses_it_does_not(monkeypatch):
    def hasty(self, data):
        place = int.from_bytes(data[8:16], "big") % 2
        self.file.write(PLACE * place, data)
        self.file.sync()

    monkeypatch.setattr(Copy, "write", hasty)
    with pytest.raises((Abend, AssertionError)):
        a_copy_that_lags_behind()


@pytest.mark.parametrize("name", ["BSDS1", "BSDS2"])
def test_a_copy_that_cannot_be_opened_is_one_that_cannot_be_read(name, monkeypatch):
    disk, _ = made(dual=True)
    opened = FaultyDisk.open

    def failing(self, wanted):
        if wanted == name:
            raise PermissionError(errno.EACCES, "EACCES", wanted)
        return opened(self, wanted)

    monkeypatch.setattr(FaultyDisk, "open", failing)
    assert Bootstrap.formatted(disk)
    bootstrap, said = Bootstrap.open(disk), []
    bootstrap.make_good(lambda identifier, _text, **facts: said.append((identifier, facts["copy"], facts["error"])))
    assert [("CSQJ120E", name)] == [each[:2] for each in said]
    bootstrap.save()
    assert [name] == bootstrap.lost()


# --- copies that are not good -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["BSDS1", "BSDS2"])
@pytest.mark.parametrize("harm", ["missing", "garbage", "half", "short", "empty", "unreadable"])
def test_a_copy_that_is_not_good_is_named_and_made_good(name, harm, monkeypatch):
    disk, _ = made(dual=True)
    read, broken = FaultyFile.read, {name} if harm == "unreadable" else set()

    def failing(self, offset, size):
        if self.name in broken:
            raise OSError(errno.EIO, "EIO")
        return read(self, offset, size)

    monkeypatch.setattr(FaultyFile, "read", failing)
    if harm == "missing":
        del disk.files[name]
    elif harm == "garbage":
        disk.files[name].seen[:] = b"?" * 2 * PLACE
    elif harm in {"half", "short", "empty"}:
        del disk.files[name].seen[{"half": PLACE + 10, "short": 10, "empty": 0}[harm] :]
    bootstrap = Bootstrap.open(disk)
    assert disk.exists(name) == (harm != "missing"), "looking changes nothing"
    said = []
    bootstrap.make_good(lambda identifier, _text, **facts: said.append((identifier, facts["copy"])))
    bootstrap.save()
    assert [("CSQJ120E", name)] == said
    bootstrap.make_good(pytest.fail)  # it is good now
    broken.clear()
    other = next(each for each in ("BSDS1", "BSDS2") if each != name)
    del disk.files[other]
    assert 3 == Bootstrap.open(disk).inventory.written_rba


@pytest.mark.parametrize("more", [0, 1])
def test_of_a_copy_that_was_cut_short_the_older_place_is_not_current(more):
    """S3: the newest version may be what is missing, in whichever place it was."""
    disk, bootstrap = made(dual=False)
    for _ in range(more):
        bootstrap.save()
    del disk.files["BSDS1"].seen[PLACE:]
    with pytest.raises(Abend, match=r"S3: no copy .*can be read.*it is too short"):
        Bootstrap.open(disk)


def test_what_a_later_version_has_written_is_named(monkeypatch):
    disk, bootstrap = made(dual=False)
    monkeypatch.setattr(bootstrap, "_pack", lambda: b'{"log_bytes":1,"colour":"blue"}')
    bootstrap.save()
    with pytest.raises(Abend, match=r"S1: .*later version.*colour"):
        Bootstrap.open(disk)


@pytest.mark.parametrize("name", ["BSDS1", "BSDS2"])
@pytest.mark.parametrize("place", [0, PLACE])
@pytest.mark.parametrize("at", range(25))
def test_of_a_place_every_byte_is_checked(name, place, at):
    """S2: its number and format as well, or the version before might be taken for the last."""
    disk, bootstrap = made(dual=True)
    disk.files[name].seen[place + at] ^= 0xFF
    assert bootstrap.inventory == Bootstrap.open(disk).inventory


@pytest.mark.parametrize("at", range(25))
def test_an_older_version_is_not_taken_for_the_last_whatever_its_header_says(at):
    disk, bootstrap = made(dual=False)
    image = disk.files["BSDS1"].seen
    older = min((0, PLACE), key=lambda place: image[place + 8 : place + 16])
    image[older + at] ^= 0xFF
    assert bootstrap.inventory == Bootstrap.open(disk).inventory


def with_a_checksum_of_the_inventory_alone(patch):
    """As formats before 3 had it."""
    patch.setattr("quaestor.storage.bootstrap.crc32", lambda packed, _of_header=0: crc32(packed))


def test_a_copy_in_the_format_before_is_read_and_written_again_in_this(monkeypatch):
    disk, bootstrap = made(dual=True)
    with monkeypatch.context() as before:
        before.setattr("quaestor.storage.bootstrap.FORMAT", 2)
        with_a_checksum_of_the_inventory_alone(before)
        for rba in (5, 6):
            note(bootstrap, rba)
            bootstrap.save()
    opened = Bootstrap.open(disk)
    assert bootstrap.inventory == opened.inventory
    note(opened, 7)
    opened.save()
    assert 7 == Bootstrap.open(disk.after_power_cut()).inventory.written_rba


def test_copies_of_which_a_cut_left_one_older_are_both_good():
    disk, bootstrap = made(dual=True)
    disk.cut_after = disk.operations + 2
    note(bootstrap, 4)
    with pytest.raises(PowerCut):
        bootstrap.save()
    opened = Bootstrap.open(disk.after_power_cut())
    assert 4 == opened.inventory.written_rba
    opened.make_good(pytest.fail)


# -- the inventory by itself


@pytest.mark.parametrize(
    ("page_sets", "image_copies", "rba"),
    [
        ([], {}, 0),
        ([0], {}, 0),
        ([0, 1], {"0": 500}, 0),
        ([0, 1], {"0": 500, "1": 400}, 400),
        ([0], {"0": 500, "1": 400}, 500),
    ],
)
def test_from_where_every_page_set_can_be_recovered(page_sets, image_copies, rba):
    """0 while one has no image copy; one that is no longer there counts for nothing."""
    inventory = Inventory(1 << 16, 1, [0], page_sets=page_sets, image_copies=image_copies)
    assert rba == inventory.media_rba()


def test_the_last_eight_checkpoints_are_kept():
    inventory = Inventory(1 << 16, 1, [0])
    for rba in range(20):
        inventory.add_checkpoint(rba)
    assert list(range(12, 20)) == inventory.checkpoints


def test_everything_is_read_back_as_it_was():
    """S1: also what JSON would give back as another kind."""
    disk = FaultyDisk()
    inventory = Inventory(1 << 16, 2, [4096, -1], 3, 5000, [1, 2], [0, 4], [(0, 10, "archive-0")])
    inventory.stopped = [(1, 0)]
    inventory.image_copies, inventory.stamps, inventory.stamped_at_stop = {"4": 7}, {"0": 9}, True
    Bootstrap.create(disk, inventory, dual=True)
    assert inventory == Bootstrap.open(disk.after_power_cut()).inventory


@pytest.mark.parametrize("dual", [False, True])
def test_a_log_was_set_up_when_something_was_written(dual):
    disk = FaultyDisk()
    assert not Bootstrap.formatted(disk)
    disk.create("BSDS1", 2 * PLACE)
    assert not Bootstrap.formatted(disk)
    del disk.files["BSDS1"]
    bootstrap = Bootstrap.create(disk, Inventory(1 << 16, 1, [0]), dual=dual)
    assert Bootstrap.formatted(disk)
    bootstrap.save()
    assert Bootstrap.formatted(disk)
    assert dual is disk.exists("BSDS2")


def test_what_was_packed_before_something_newer_was_written_is_not_written():
    """S2."""
    disk, bootstrap = made(dual=False)
    note(bootstrap, 4)
    older = bootstrap.saving()
    note(bootstrap, 5)
    newer = bootstrap.saving()
    newer()
    before = disk.operations
    older()
    assert (before, 5) == (disk.operations, Bootstrap.open(disk).inventory.written_rba)


def test_what_another_thread_packs_meanwhile_is_not_written_over(monkeypatch):
    """A thread that forces the log has no latch, and notes the copy of it that is lost (AL2)."""
    disk, bootstrap = made(dual=False)
    pack, other = bootstrap._pack, Thread(target=lambda: note_stopped(bootstrap))

    def interrupted():
        packed = pack()
        monkeypatch.setattr(bootstrap, "_pack", pack)
        other.start()
        other.join(0.1)
        return packed

    monkeypatch.setattr(bootstrap, "_pack", interrupted)
    bootstrap.save()
    other.join(5)
    assert [(1, 0)] == Bootstrap.open(disk).inventory.stopped


def note_stopped(bootstrap):
    bootstrap.inventory.stopped.append((1, 0))
    bootstrap.save()


def test_versions_are_written_in_turn_to_two_places():
    """S2: the one before is still there."""
    disk, bootstrap = made(dual=True)
    written = {name: list[int]() for name in disk.files}
    for rba in (4, 5, 6):
        places = {name: bytes(image.seen) for name, image in disk.files.items()}
        note(bootstrap, rba)
        bootstrap.save()
        for name, image in disk.files.items():
            same = [places[name][at : at + PLACE] == image.seen[at : at + PLACE] for at in (0, PLACE)]
            assert [False, True] == sorted(same)
            written[name].append(same.index(False))
    assert all(turns in ([0, 1, 0], [1, 0, 1]) for turns in written.values())


def test_two_writes_are_never_under_way_at_once(monkeypatch):
    """S2: the second would write over the place that the first has left good."""
    disk, bootstrap = made(dual=False)
    write, begun, begins, let_go = Copy.write, [], Event(), Event()

    def slow(self, data):
        begun.append(len(begun) + 1)
        begins.set()
        assert let_go.wait(10)
        write(self, data)

    monkeypatch.setattr(Copy, "write", slow)
    threads = []
    for rba in (4, 5):
        note(bootstrap, rba)
        threads.append(Thread(target=bootstrap.saving()))
        threads[-1].start()
        assert begins.wait(10)
    threads[-1].join(0.05)
    assert [1] == begun
    let_go.set()
    for thread in threads:
        thread.join(10)
    assert ([1, 2], 5) == (begun, Bootstrap.open(disk.after_power_cut()).inventory.written_rba)


def test_what_a_place_looks_like():
    """Every version of this one reads what another has written: mark, format, version, length and checksum of JSON."""
    disk = FaultyDisk()
    Bootstrap.create(disk, Inventory(1 << 16, 1, [4096, -1]), dual=False).save()
    for at, version in ((0, 1), (PLACE, 2)):
        place = bytes(disk.files["BSDS1"].seen[at : at + PLACE])
        length = int.from_bytes(place[16:20], "big")
        text = place[24 : 24 + length]
        assert b"BSDS" + bytes.fromhex("00000003") + version.to_bytes(8, "big") == place[:16]
        checksum = crc32(place[:20] + text)
        assert (checksum, b"") == (int.from_bytes(place[20:24], "big"), place[24 + length :].strip(b"\0"))
        assert text.startswith(b'{"log_bytes":65536,"copies":1,"starts":[4096,-1],"epoch":0,"written_rba":0,')
    assert 2 * PLACE == 1 << 19 == len(disk.files["BSDS1"].seen)


def test_a_new_inventory_knows_of_no_start_and_no_stop():
    inventory = Inventory(1 << 16, 1, [0])
    assert (0, 0, False) == (inventory.epoch, inventory.written_rba, inventory.stamped_at_stop)


def test_no_file_is_left_open(monkeypatch):
    """Who only looks closes what he has opened, and so does who loses a copy or cannot read one."""
    disk, bootstrap = made(dual=True)
    closed = []
    monkeypatch.setattr(FaultyFile, "close", lambda self: closed.append(self.name))
    assert Bootstrap.formatted(disk)
    assert ["BSDS1"] == closed
    closed.clear()
    disk.fail_at[disk.operations + 1] = errno.EIO  # its sync
    Bootstrap.open(disk)
    assert ["BSDS1"] == closed
    closed.clear()
    disk.fail_at[disk.operations + 1] = errno.EIO
    bootstrap.save()
    assert ["BSDS1"] == closed
    bootstrap.close()
    assert ["BSDS1", "BSDS2"] == closed


def test_archives_leave_room_for_everything_else():
    """S4: an inventory that is full of them can still be saved; one beyond its place is refused (S1)."""
    disk, bootstrap = made(dual=False)
    archives, each = bootstrap.inventory.archives, (0, 1, "a" * 1000)
    assert bootstrap.has_room()
    while bootstrap.has_room():
        archives.append(each)
    bootstrap.save()
    assert len(archives) == len(Bootstrap.open(disk).inventory.archives)
    archives.extend([each] * 100)
    with pytest.raises(Abend, match=r"S1: .*full"):
        bootstrap.save()


@pytest.mark.parametrize("form", [1, 4])
def test_another_format_is_named(form, monkeypatch):
    disk, bootstrap = made(dual=False)
    monkeypatch.setattr("quaestor.storage.bootstrap.FORMAT", form)
    if form == 1:
        with_a_checksum_of_the_inventory_alone(monkeypatch)
    bootstrap.save()
    monkeypatch.undo()
    with pytest.raises(Abend, match=r"S1: .*another format"):
        Bootstrap.open(disk)
