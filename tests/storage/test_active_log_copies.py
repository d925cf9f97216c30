"""An active log in its copies: one that fails is stopped and told of, and none is left only with an error (AL1-AL5)."""

import errno

import pytest

from quaestor.storage.active_log import ActiveLog
from quaestor.testing import FaultyDisk, FaultyFile

SIZE = 4096
DATA = memoryview(b"records")


class Copies:
    """An active log of so many copies, of which some may be broken, and what it has told."""

    def __init__(self, number=2, stopped=(), size=SIZE):
        self.disk, self.told = FaultyDisk(), []
        self.broken = set()
        files = [Breakable(self, self.disk, f"log{copy}") for copy in range(number)]
        for file in files:
            self.disk.create(file.name, size)
        self.log = ActiveLog(self.disk, files, list(stopped), lambda copy, error: self.told.append((copy, str(error))))

    def held(self, at):
        """What each copy has there."""
        return [bytes(image.seen[at : at + len(DATA)]) for image in self.disk.files.values()]


class Breakable(FaultyFile):
    """A file whose requests fail as long as its copies say so."""

    def __init__(self, copies, disk, name):
        super().__init__(disk, name)
        self.copies = copies

    def _try(self):
        if self.name in self.copies.broken:
            raise OSError(errno.EIO, self.name)

    def read(self, offset, size):
        self._try()
        return super().read(offset, size)

    def write(self, offset, data):
        self._try()
        super().write(offset, data)

    def start_write_through(self, offset, data):
        self._try()
        return super().start_write_through(offset, data)

    def sync(self):
        self._try()
        super().sync()


def started(log, at, data):
    """A write that is started and waited for."""
    assert log.start_write_through(at, data).over(wait=True)


WRITES = {
    "write": lambda log: log.write(8, DATA),
    "write through": lambda log: log.write_through(8, DATA),
    "started": lambda log: started(log, 8, DATA),
}
each_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)


@each_write
@pytest.mark.parametrize("number", [1, 2])
def test_every_copy_is_written(write, number):
    """AL1."""
    copies = Copies(number)
    write(copies.log)
    assert ([bytes(DATA)] * number, []) == (copies.held(8), copies.told)


@pytest.mark.parametrize("way", ["write through", "started", "write and sync"])
def test_what_is_over_survives_a_power_cut_in_every_copy(way):
    copies = Copies()
    if way == "write and sync":
        copies.log.write(8, DATA)
        copies.log.sync()
    else:
        WRITES[way](copies.log)
    found = copies.disk.after_power_cut()
    assert [bytes(DATA)] * 2 == [found.open(name).read(8, len(DATA)) for name in ("log0", "log1")]


@each_write
@pytest.mark.parametrize("copy", [0, 1])
def test_a_copy_that_fails_is_told_of_once_and_not_written_any_more(write, copy):
    """AL2: the log goes on with the other."""
    copies = Copies()
    copies.broken.add(f"log{copy}")
    write(copies.log)
    assert [(copy, f"[Errno 5] log{copy}")] == copies.told
    copies.broken.clear()
    write(copies.log)
    assert (1, bytes(len(DATA)), bytes(DATA)) == (len(copies.told), copies.held(8)[copy], copies.held(8)[1 - copy])


@each_write
@pytest.mark.parametrize("number", [1, 2])
def test_when_no_copy_can_be_written_the_error_is_the_callers(write, number):
    """AL3: of the first copy; nobody is told, and nothing is stopped."""
    copies = Copies(number)
    copies.broken |= {"log0", "log1"}
    with pytest.raises(OSError, match="log0"):
        write(copies.log)
    copies.broken.clear()
    write(copies.log)
    assert ([bytes(DATA)] * number, []) == (copies.held(8), copies.told)


@pytest.mark.parametrize("copy", [0, 1])
def test_a_stopped_copy_is_used_again_when_another_range_begins(copy):
    """AL2."""
    copies = Copies(stopped=[copy])
    copies.log.write(8, DATA)
    assert bytes(len(DATA)) == copies.held(8)[copy]
    assert ([copy], []) == (copies.log.use_again(), copies.log.use_again())
    copies.log.write(8, DATA)
    assert [bytes(DATA)] * 2 == copies.held(8)


def test_the_last_copy_that_is_good_is_not_stopped():
    copies = Copies(stopped=[0])
    copies.broken.add("log1")
    with pytest.raises(OSError, match="log1"):
        copies.log.sync()
    assert [] == copies.told


@pytest.mark.parametrize("number", [1, 2])
def test_where_the_disk_starts_no_writes_none_is_started(number):
    """AL4: whoever asked writes and waits."""
    copies = Copies(number)
    copies.disk.asynchronous = False
    assert copies.log.start_write_through(8, DATA) is None
    assert [bytes(len(DATA))] * number == copies.held(8)


def test_a_copy_that_cannot_start_a_write_is_written_at_once_when_the_first_has_failed():
    """AL4: the write is under way, and the copy that failed is told of when it is over."""
    copies = Copies()
    copies.disk.asynchronous = False
    copies.broken.add("log0")
    under_way = copies.log.start_write_through(8, DATA)
    assert ([], bytes(DATA)) == (copies.told, copies.held(8)[1])
    assert under_way.over(wait=False)
    assert [(0, "[Errno 5] log0")] == copies.told


@pytest.mark.parametrize(("asked", "stopped", "found"), [(0, [], b"0"), (1, [], b"1"), (0, [0], b"1"), (1, [1], b"0")])
def test_the_copy_that_is_asked_for_is_read_unless_it_is_stopped(asked, stopped, found):
    """AL2, AL5."""
    copies = Copies(stopped=stopped)
    for copy, image in enumerate(copies.disk.files.values()):
        image.seen[8:9] = str(copy).encode()
    assert found == copies.log.read(8, 1, asked)


@pytest.mark.parametrize("asked", [0, 1])
def test_a_copy_that_cannot_be_read_has_nothing_good_there(asked):
    """AL5: if another can be read; the caller looks there."""
    copies = Copies()
    copies.broken.add(f"log{asked}")
    assert b"" == copies.log.read(8, 1, asked)
    copies.broken.add(f"log{1 - asked}")
    with pytest.raises(OSError, match=f"log{asked}"):
        copies.log.read(8, 1, asked)


@pytest.mark.parametrize(("at", "size"), [(0, 4 * SIZE), (SIZE - 8, 16), (100, 2 * SIZE), (0, SIZE)])
def test_copies_that_are_damaged_at_different_places_are_read_piece_by_piece(at, size):
    """AL5: each has nothing where it cannot be read, and all else."""
    copies = Copies(size=4 * SIZE)
    for copy in (0, 1):
        copies.disk.files[f"log{copy}"].seen[:] = str(copy).encode() * (4 * SIZE)
        copies.disk.unreadable[f"log{copy}"] = range(copy * SIZE, copy * SIZE + SIZE)
    found, place = b"", at
    while place < at + size:
        asked = 0 if place >= SIZE else 1
        piece = copies.log.read(place, at + size - place, asked)
        assert piece, f"copy {asked} from {place} on"
        found, place = found + piece, place + len(piece)
    assert ("1" * (SIZE - at) + "0" * (at + size - SIZE)).encode() == found
    assert b"" == copies.log.read(SIZE - 8, 8, 0) == copies.log.read(SIZE, SIZE, 1)


def test_a_log_of_one_copy_that_cannot_be_read_is_no_end_of_the_log():
    copies = Copies(1)
    copies.broken.add("log0")
    with pytest.raises(OSError, match="log0"):
        copies.log.read(8, 1)


@pytest.mark.parametrize("number", [1, 2])
def test_a_started_write_is_over_when_it_is_over_on_every_copy(number):
    """AL4."""
    copies = Copies(number)
    copies.disk.held = True
    under_way = copies.log.start_write_through(8, DATA)
    assert not under_way.over(wait=False)
    copies.disk.let_go()
    assert under_way.over(wait=False)
    assert [bytes(DATA)] * number == copies.held(8)
