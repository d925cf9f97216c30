"""A write that is handed over and waited for later (K11), and the sync that the kernel makes of it (HS1-HS6)."""

import errno
import os
from contextlib import nullcontext
from itertools import count

import pytest

from quaestor.storage import handed_sync as module
from quaestor.storage import real_file
from quaestor.storage.handed_sync import NO_RESULT, RESTS_MAX, HandedSync, handed_sync
from quaestor.storage.real_disk import RealDisk

BLOCK = 4096
HEAD, TAIL, RESULT = module.HEAD, module.TAIL, module.RESULT_WORD


@pytest.fixture
def file(tmp_path):
    disk = RealDisk(tmp_path)
    file = disk.create("log1-00", 16 * BLOCK)
    yield file
    file.close()
    disk.disown()


@pytest.fixture
def never_handed_over(monkeypatch):
    """A kernel that does not offer it."""
    monkeypatch.setattr(real_file, "handed_sync", lambda: None)


def block(byte):
    return memoryview(bytearray(byte * BLOCK))


def test_what_was_written_soon_is_there_when_it_is_synced(file, tmp_path):
    file.write_soon(2 * BLOCK, block(b"a"))
    file.sync_written()
    file.write_soon(3 * BLOCK, block(b"b"))
    file.sync_written()
    assert bytes(2 * BLOCK) + b"a" * BLOCK + b"b" * BLOCK == (tmp_path / "log1-00").read_bytes()[: 4 * BLOCK]


def test_the_disk_is_told_to_begin_with_just_these_pages(file, monkeypatch):
    """K11: and not to drop them, because part of each is wanted."""
    told = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *asked: told.append(asked[1:]))
    file.write_soon(BLOCK, memoryview(bytearray(2 * BLOCK)))
    assert [(BLOCK + 1, 2 * BLOCK - 2, os.POSIX_FADV_DONTNEED)] == told


def test_a_system_that_takes_no_hints_writes_all_the_same(file, monkeypatch):
    monkeypatch.setattr(real_file, "NOT_WANTED", -1)
    monkeypatch.setattr(os, "posix_fadvise", lambda *_: pytest.fail("asked"))
    file.write_soon(0, block(b"c"))
    file.sync_written()
    assert b"c" * BLOCK == file.read(0, BLOCK)


def test_a_write_that_was_cut_short_goes_on_where_it_stopped(file, monkeypatch):
    write, asked = os.pwrite, []

    def short(fd, data, offset):
        asked.append((offset, len(data)))
        return write(fd, bytes(data[:1000]) if len(asked) == 1 else data, offset)

    monkeypatch.setattr(os, "pwrite", short)
    file.write_soon(BLOCK, block(b"d"))
    assert [(BLOCK, BLOCK), (BLOCK + 1000, BLOCK - 1000)] == asked
    assert b"d" * BLOCK == file.read(BLOCK, BLOCK)


@pytest.mark.parametrize("call", ["pwrite", "posix_fadvise", "fdatasync"])
@pytest.mark.usefixtures("never_handed_over")
def test_an_error_names_the_file(file, call, monkeypatch):
    """K10, K2: whichever of the three requests it was."""

    def fail(*_):
        raise OSError(errno.EIO, "no")

    def request():
        file.write_soon(0, block(b"e"))
        file.sync_written()

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="log1-00") as error:
        request()
    assert errno.EIO == error.value.errno


# --- who makes the sync ---------------------------------------------------------------------------------------------


class Kernel:
    """Stands in for the kernel's queue: what was handed over ends when a test says so."""

    def __init__(self, places=4, refuses=False):
        self.ring, self.ends = memoryview(bytearray(32)).cast("I"), memoryview(bytearray(32 * places)).cast("q")
        self.ring[module.PLACES], self.ring[module.MAGIC] = places, module.RING_MAGIC
        self.number, self.requests, self.refuses = 0x1000, bytearray(64), refuses
        self.submitted = self.slept = 0

    def submit(self, slot):
        if self.refuses:
            raise OSError(errno.EINVAL, "no")
        self.submitted += 1

    def fill(self, result=0, *, seen=True, number=None):
        """The sync has ended; `seen` False: its place in the ring is filled, its result is not to be seen yet."""
        tail = self.ring[TAIL]
        self.ends[tail * 4] = int.from_bytes(self.requests[:8], "little") if number is None else number
        if seen:
            self.ends[tail * 4 + RESULT] = result
        self.ring[TAIL] = (tail + 1) % self.ring[module.PLACES]

    def ended(self, *, wait):
        """Every other time a signal comes; a sync that nobody ended fails."""
        assert wait
        self.slept += 1
        if self.slept % 2:
            return []
        if self.ring[TAIL] == self.ring[HEAD]:
            self.fill(-errno.EIO)
        taken, places = [], self.ring[module.PLACES]
        while self.ring[HEAD] != self.ring[TAIL]:
            at = self.ring[HEAD] * 4
            taken.append((self.ends[at], self.ends[at + RESULT]))
            self.ring[HEAD] = (self.ring[HEAD] + 1) % places
        return taken

    def close(self):
        self.number = 0


@pytest.fixture
def kernel(monkeypatch):
    there = Kernel()
    words = {"I": there.ring, "q": there.ends}
    monkeypatch.setattr(module, "_words", lambda address, length, kind: words[kind])
    monkeypatch.setattr(module, "monotonic_ns", lambda: 0)
    return there


@pytest.fixture
def offers(monkeypatch):
    """What happens each time the processor is offered; nothing more when the list is empty."""
    happens = []
    monkeypatch.setattr(module, "offer_processor", lambda: happens.pop(0)() if happens else None)
    return happens


@pytest.fixture
def short_time(kernel, monkeypatch):
    """Half of the time to look is over with each look at the clock."""
    times = count(0, module.LOOK_NS // 2)
    monkeypatch.setattr(module, "monotonic_ns", lambda: next(times))


def test_it_looks_until_the_sync_is_over(kernel, offers):
    """HS2: and offers the processor between two looks."""
    offers += [lambda: None, lambda: None, kernel.fill]
    syncs = HandedSync(kernel)
    assert syncs.hand_over(7)
    assert 7 == syncs.under_way
    syncs.take()
    assert ([], 0, -1) == (offers, kernel.slept, syncs.under_way)


def test_one_that_is_over_needs_no_offer(kernel, offers):
    offers.append(lambda: pytest.fail("offered"))
    syncs = HandedSync(kernel)
    for _ in range(11):  # the ring has four places, and goes round
        assert syncs.hand_over(7)
        kernel.fill()
        syncs.take()
    assert 11 == kernel.submitted


def test_a_result_that_is_not_there_yet_is_waited_for(kernel, offers):
    """HS4: the place in the ring is seen before what stands in it, whatever stood there before."""

    def seen():
        kernel.ends[RESULT] = -errno.ENOSPC

    kernel.ends[RESULT] = 0
    syncs = HandedSync(kernel)
    assert NO_RESULT == kernel.ends[RESULT]
    assert syncs.hand_over(7)
    kernel.fill(seen=False)
    offers += [lambda: None, seen]
    with pytest.raises(OSError, match="No space") as error:
        syncs.take()
    assert errno.ENOSPC == error.value.errno


def test_until_it_is_taken_no_other_is_handed_over(kernel, offers):
    """HS1: also not of another file, and a failure is told to whoever takes it, once."""
    syncs = HandedSync(kernel)
    assert syncs.hand_over(7)
    assert not syncs.hand_over(7)
    assert not syncs.hand_over(8)
    kernel.fill(-errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        syncs.take()
    assert syncs.hand_over(8)
    assert 2 == kernel.submitted


def interrupted(syncs, kernel):
    """Between handing one over and knowing of it."""

    def submit(slot):
        Kernel.submit(kernel, slot)
        raise KeyboardInterrupt

    kernel.submit = submit
    with pytest.raises(KeyboardInterrupt):
        syncs.hand_over(7)
    del kernel.submit
    assert -1 == syncs.under_way


def test_the_end_of_another_proves_nothing(kernel, offers):
    """HS5: what was left behind by an interruption is not taken for the next."""
    syncs = HandedSync(kernel)
    interrupted(syncs, kernel)
    kernel.fill()
    assert syncs.hand_over(7)
    ends = []
    offers += [lambda: ends.append(1), kernel.fill]
    syncs.take()
    assert ([1], 0, -1) == (ends, len(offers), syncs.under_way)


def test_what_was_left_behind_and_failed_is_told(kernel, offers):
    """HS5: to the next, although its own is good; and only to that one."""
    syncs = HandedSync(kernel)
    interrupted(syncs, kernel)
    kernel.fill(-errno.EIO)
    assert syncs.hand_over(7)
    kernel.fill()
    with pytest.raises(OSError, match="Input/output"):
        syncs.take()
    assert syncs.hand_over(7)
    kernel.fill()
    syncs.take()


@pytest.mark.usefixtures("short_time")
@pytest.mark.parametrize("result", [0, -errno.EIO])
def test_what_was_left_behind_is_slept_over_too(kernel, offers, result):
    """HS5, HS3: and both places in the ring are free again."""

    def ended(*, wait):
        kernel.fill(result, number=1)
        kernel.fill(0)
        return Kernel.ended(kernel, wait=wait)

    syncs = HandedSync(kernel)
    interrupted(syncs, kernel)
    assert syncs.hand_over(7)
    kernel.ended, kernel.slept = ended, 1
    with pytest.raises(OSError, match="Input/output") if result else nullcontext():
        syncs.take()
    assert -1 == syncs.under_way
    assert [NO_RESULT] * 4 == list(kernel.ends)[RESULT::4]


@pytest.mark.usefixtures("short_time")
def test_a_look_in_vain_is_slept_over(kernel, offers):
    """HS3: signals or not."""
    syncs = HandedSync(kernel)
    assert syncs.hand_over(7)
    with pytest.raises(OSError, match="Input/output"):
        syncs.take()
    assert (2, -1) == (kernel.slept, syncs.under_way)


@pytest.mark.usefixtures("short_time")
def test_each_look_in_vain_is_followed_by_twice_the_rest(kernel, offers):
    """HS3: 1, 2, 4, ... syncs are not handed over, and one whose end is seen makes it 1 again."""
    syncs = HandedSync(kernel)

    def not_handed_over():
        refused = 0
        while not syncs.hand_over(7):
            refused += 1
        return refused

    def in_vain():
        with pytest.raises(OSError, match="Input/output"):
            syncs.take()

    rests = []
    for _ in range(11):
        rests.append(not_handed_over())
        in_vain()
    assert [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 256] == rests
    assert 256 == RESTS_MAX
    not_handed_over()
    kernel.fill()
    syncs.take()
    assert 0 == not_handed_over()
    in_vain()
    assert 1 == not_handed_over()


def test_a_kernel_that_refuses_is_asked_once(kernel, offers):
    """HS6."""
    kernel.refuses = True
    syncs = HandedSync(kernel)
    assert not syncs.hand_over(7)
    kernel.refuses = False
    assert [False] * 1000 == [syncs.hand_over(7) for _ in range(1000)]
    assert 0 == kernel.submitted


def test_a_ring_of_another_form_is_not_touched(kernel):
    """HS6."""
    kernel.ring[module.MAGIC] = 1
    with pytest.raises(OSError, match="form of its own"):
        HandedSync(kernel)


@pytest.mark.parametrize(
    ("what", "value"), [("LOOK_NS", 0), ("platform.system", lambda: "Darwin"), ("platform.machine", lambda: "s390x")]
)
def test_nothing_is_handed_over_where_it_is_not_to_be(what, value, monkeypatch):
    """HS6: QUAESTOR_LOOK_US=0, another system, another machine."""
    monkeypatch.setattr(f"quaestor.storage.handed_sync.{what}", value)
    assert handed_sync() is None


# --- the kernel itself ----------------------------------------------------------------------------------------------


@pytest.fixture
def handed(file):
    """The queue of the file's disk; the kernels of the machines we know have it."""
    syncs = file._kernel.syncs()
    if syncs is None:
        pytest.skip("this kernel does not offer it (HS6)")
    return syncs


def test_the_kernel_syncs_what_was_written_soon(file, handed, monkeypatch):
    """HS1: more often than its ring has places, and nobody syncs besides."""
    monkeypatch.setattr(os, "fdatasync", lambda _: pytest.fail("synced"))
    for number in range(300):
        file.write_soon(number % 16 * BLOCK, block(bytes([number % 256])))
        handed._rests = 0
        if handed.under_way < 0:
            handed.hand_over(file._fd)
        file.sync_written()
        assert -1 == handed.under_way
    assert bytes([299 % 256]) * BLOCK == file.read(299 % 16 * BLOCK, BLOCK)


def test_what_the_kernel_could_not_sync_is_an_error_of_the_file(file, handed, monkeypatch):
    """K2, K10."""

    def fail(_):
        raise OSError(errno.EIO, "no")

    file.write_soon(0, block(b"f"))
    with monkeypatch.context() as patch:
        patch.setattr(HandedSync, "take", fail)
        with pytest.raises(OSError, match="log1-00"):
            file.sync_written()


def test_what_cannot_be_synced_at_all_is_refused(handed):
    """HS6: a pipe."""
    reads, writes = os.pipe()
    assert not handed.hand_over(reads)
    assert -1 == handed.under_way
    os.close(reads)
    os.close(writes)


@pytest.mark.parametrize("asked", ["write_soon", "sync", "close"])
def test_one_that_nobody_asked_for_is_taken_by_the_next_request(tmp_path, asked, monkeypatch):
    """K2: its error would not be told again."""
    disk = RealDisk(tmp_path)
    file = disk.create("log1-00", 16 * BLOCK)
    syncs = file._kernel.syncs()
    if syncs is None:
        pytest.skip("this kernel does not offer it (HS6)")
    file.write_soon(0, block(b"g"))
    assert file._fd == syncs.under_way
    taken, take, fd = [], HandedSync.take, file._fd
    monkeypatch.setattr(HandedSync, "take", lambda self: (taken.append(self.under_way), take(self)))
    {"write_soon": lambda: file.write_soon(0, block(b"h")), "sync": file.sync, "close": file.close}[asked]()
    assert [fd] == taken
    if asked != "close":
        file.close()
    disk.disown()


def test_two_files_of_a_disk_take_turns(tmp_path):
    """HS1: who finds the kernel busy with another file syncs by itself."""
    disk = RealDisk(tmp_path)
    one, two = disk.create("log1-00", BLOCK), disk.create("log1-01", BLOCK)
    one.write_soon(0, block(b"i"))
    two.write_soon(0, block(b"j"))
    two.sync_written()
    one.sync_written()
    assert [b"i" * BLOCK, b"j" * BLOCK] == [each.read(0, BLOCK) for each in (one, two)]
    for each in (one, two):
        each.close()
    disk.disown()


def test_a_disk_that_is_given_up_has_no_queue_and_may_have_one_again(tmp_path):
    disk = RealDisk(tmp_path)
    file = disk.create("log1-00", BLOCK)
    for byte in (b"k", b"l"):
        file.write_soon(0, block(byte))
        file.sync_written()
        disk.disown()
        assert disk._kernel.handed is None
    assert b"l" * BLOCK == file.read(0, BLOCK)
    file.close()
