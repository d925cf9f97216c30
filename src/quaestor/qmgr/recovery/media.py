"""Media recovery: image copies of page sets, and what restoring one means.

Rules
  Y1  An image copy is taken while the queue manager runs. It begins with a checkpoint and names, on its page 0, the RBA
      of the oldest change that it may lack.
  Y2  Restoring is putting the copy in the page set's place while the queue manager is down. Restart sees the RBA on
      page 0 and redoes from there, for that page set alone; the log must still have it, in active logs or archives.
  Y3  The bootstrap data set knows the RBA of each page set's copy, so that archives it needs are not pruned.
  Y4  Page 0 is written when all other pages are durable, to a copy as to the page set that it becomes: one that was cut
      has none, and nothing takes it for whole.
  Y5  A copy is made under another name and takes the place of the one before it when all of it is durable: whenever it
      is cut or fails, there is one good copy. So there is room for both, or none is taken.
  Y6  Every page in use is whole in a copy: one that is not would take the place of the last good one. One that is not
      in use and not whole is copied empty: pages may be copied before, and their space map page after, they are used.
      Before a copy takes the place of a page set it is looked at again, and so is whether the log still has all that it
      lacks: what cannot be brought up to date is refused, and nothing is changed. One of an earlier page set of the
      number, or of before a cold start, is refused at a start too, where somebody put it there himself.
  Y7  A copy is taken in pieces: a run of pages is read with the engine latch held, as pages are written with it, and
      written without it, so that others work meanwhile. Pages are then of different ages, as on a disk after a power
      cut, and redo makes them one age: it begins at the oldest change that was not on disk when the copy began.

Called by the command manager and the command line; `restored` by restart.  Calls recovery, log_files, disk.
"""

from collections.abc import Iterator
from contextlib import suppress

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.recovery.describe import records
from quaestor.qmgr.recovery.manager import RecoveryManager
from quaestor.storage.bootstrap import Inventory
from quaestor.storage.changes import FREE, SPAN, VOLATILE_PAGE, header, map_page_of
from quaestor.storage.disk import Disk, File
from quaestor.storage.log_files import LogFiles
from quaestor.storage.page import HEADER_LENGTH, PAGE, is_whole, seal
from quaestor.storage.page_set import PageSet, describe, described_pages, file_name, media_rba, spans

RUN = 64
"""Pages of a piece."""


def copy_name(number: int) -> str:
    return f"copy-{number:02d}"


def new_copy_name(number: int) -> str:
    """Of one that is being made (Y5)."""
    return f"copying-{number:02d}"


class NotCopiedError(Abend):
    """A page set of which no copy can be taken; the queue manager is none the worse for it."""


class ImageCopy:
    """An image copy that is being taken (Y1, Y7). It begins, reads and is kept with the engine latch held."""

    def __init__(self, recovery: RecoveryManager, number: int, disk: Disk, run: int = RUN) -> None:
        there_are = sorted(recovery.buffers.page_sets)
        if number not in there_are:
            raise NotCopiedError("T4", "no such page set", page_set=number, there_are=there_are)
        recovery.checkpoint()
        self._recovery, self._disk, self.number = recovery, disk, number
        self._page_set = page_set = recovery.buffers.page_sets[number]
        self.rba = recovery.buffers.recovery_rbas(recovery.log.end)[number]
        page_set.harden()
        self.pages = page_set.pages
        self._runs = _runs(self.pages, run)
        self._target: File | None = None
        self._named = False

    def create(self) -> None:
        """Begin the file (Y5)."""
        name = new_copy_name(self.number)
        if self._disk.exists(name):
            self._disk.delete(name)  # left by a cut
        self._target, self._named = self._disk.create(name, 0), True

    def read(self) -> tuple[int, bytes] | None:
        """The next run of pages, None when all have been read (Y6)."""
        run = next(self._runs, None)
        if run is None:
            return None
        self._check_it_is_there()
        return run[0], _whole_run(self._recovery, self._page_set, *run)

    def write(self, page: int, raw: bytes) -> None:
        """Add a run that was read."""
        self._file.write(max(page, 1) * PAGE, raw if page else raw[PAGE:])

    def complete(self) -> None:
        """Make it durable, and let it take the place of the copy before it (Y4, Y5)."""
        first = bytearray(PAGE)
        header(first, describe(self.number, self.pages, self.rba), self.number, 0)
        seal(first, 0)
        _complete(self._file, first)
        self._target = None
        self._disk.rename(new_copy_name(self.number), copy_name(self.number))
        self._named = False

    def keep(self) -> None:
        """Have the log kept that it needs (Y3)."""
        self._check_it_is_there()
        files = self._recovery.log.files
        files.inventory.image_copies[str(self.number)] = self.rba
        files.save()

    def give_up(self) -> None:
        """Leave nothing of it."""
        if self._target is not None:
            with suppress(OSError):
                self._target.close()
        if self._named:
            with suppress(OSError):
                self._disk.delete(new_copy_name(self.number))
        self._target, self._named = None, False

    def _check_it_is_there(self) -> None:
        if self._recovery.buffers.page_sets.get(self.number) is not self._page_set:
            raise NotCopiedError("T4", "the page set was deleted meanwhile", page_set=self.number)

    @property
    def _file(self) -> File:
        if self._target is None:
            raise Abend("Y5", "an image copy is written that was not begun", page_set=self.number)
        return self._target


def image_copy(recovery: RecoveryManager, number: int, disk: Disk) -> int:
    """Copy a page set at once (Y1); gives the RBA it must be redone from. The engine latch is held."""
    copy = ImageCopy(recovery, number, disk)
    try:
        copy.create()
        while (run := copy.read()) is not None:
            copy.write(*run)
        copy.complete()
    except (OSError, Abend):
        copy.give_up()
        raise
    copy.keep()
    return copy.rba


def _runs(pages: int, run: int = RUN) -> Iterator[tuple[int, int]]:
    """All pages in runs, each within what one space map page speaks for: its first page and how many they are."""
    for base in spans(pages):
        end = min(base + SPAN, pages)
        yield from ((page, min(run, end - page)) for page in range(base, end, run))


def _whole_run(recovery: RecoveryManager, page_set: PageSet, page: int, count: int) -> bytes:
    """Pages as they are on disk, all of them whole (Y6)."""
    number = page_set.number
    uses = recovery.buffers.pool_of[number].peek(page_set, map_page_of(page)).data or b""
    raw = page_set.read_readable(page, count)
    if _torn_in(raw, number, page, uses) is not None:  # in a cut, maybe, and begun anew in memory since
        recovery.buffers.write_all()
        page_set.harden()
        raw = page_set.read_readable(page, count)
    torn = _torn_in(raw, number, page, uses)
    if torn is not None:
        text = "a page is not whole and no image copy is taken; recover the page set from the copy before"
        raise NotCopiedError("Y6", text, page_set=number, page=torn)
    return _emptied(raw, number, page, uses)


def _torn_in(raw: bytes, number: int, first: int, uses: bytes | bytearray) -> int | None:
    """A page of a run that is in use, by its space map page, and not whole."""
    for page in range(first, first + len(raw) // PAGE):
        at = (page - first) * PAGE
        if uses[HEADER_LENGTH + page % SPAN] not in {FREE, VOLATILE_PAGE} and not is_whole(
            raw[at : at + PAGE], number, page
        ):
            return page
    return None


def _emptied(raw: bytes, number: int, first: int, uses: bytes | bytearray) -> bytes:
    """A run whose pages in use are whole, with nothing in the others that are not (Y6)."""
    made = bytearray(raw)
    for page in range(first, first + len(raw) // PAGE):
        at = (page - first) * PAGE
        if uses[HEADER_LENGTH + page % SPAN] in {FREE, VOLATILE_PAGE} and not is_whole(
            raw[at : at + PAGE], number, page
        ):
            made[at : at + PAGE] = bytes(PAGE)
    return bytes(made)


def check_copy(disk: Disk, number: int) -> None:
    """Refuse an image copy that cannot be put back and brought up to date (Y6). The queue manager is down."""
    name = copy_name(number)
    source = disk.open(name)
    first = source.read(0, PAGE)
    if not (is_whole(first, number, 0) and media_rba(first)):
        raise Abend("Y4", "the image copy is not complete; another one is needed", copy=name)
    pages = described_pages(first, number)
    if source.size() < pages * PAGE:
        raise Abend("Y6", "the image copy is too short; another one is needed", copy=name, bytes=source.size())
    for page, count in _runs(pages):
        uses = source.read(map_page_of(page) * PAGE, PAGE)
        raw = source.read(page * PAGE, count * PAGE)
        torn = map_page_of(page) if not is_whole(uses, number, map_page_of(page)) else _torn_in(raw, number, page, uses)
        if torn is not None:
            raise Abend("Y6", "a page of the image copy is not whole; another one is needed", copy=name, page=torn)
    source.close()
    files = LogFiles.open(disk)
    try:
        _check_log(files, number, media_rba(first))
    finally:
        files.close()


def _check_log(files: LogFiles, number: int, rba: int) -> None:
    """Whether the log has all that an image copy lacks, and has it good (Y6)."""
    if number not in files.inventory.page_sets:
        raise Abend("T4", "no such page set", page_set=number, there_are=sorted(files.inventory.page_sets))
    _check_since(files.inventory, number, rba)
    if not files.holds(rba) and rba < files.inventory.written_rba:
        text = "the log no longer holds what the image copy lacks; put its archives back or use a newer copy"
        raise Abend("F2", text, page_set=number, needed_from=f"{rba:012X}")
    if rba < files.inventory.written_rba:
        for _ in records(files, rba):
            pass


def _check_since(inventory: Inventory, number: int, rba: int) -> None:
    """Whether an image copy is of the page set that has this number now, and of the log that it has (Y6)."""
    if rba < inventory.since.get(str(number), 0):
        raise Abend("Y6", "the image copy is of an earlier page set of this number", page_set=number)


def restore(disk: Disk, number: int) -> None:
    """Put an image copy in the page set's place (Y2, Y6). The queue manager is down."""
    check_copy(disk, number)
    source = disk.open(copy_name(number))
    first = source.read(0, PAGE)
    if disk.exists(file_name(number)):
        disk.delete(file_name(number))
    target = disk.create(file_name(number), 0)
    for at in range(PAGE, source.size(), RUN * PAGE):
        target.write(at, source.read(at, RUN * PAGE))
    _complete(target, first)
    source.close()


def _complete(target: File, first: bytes | bytearray) -> None:
    """All pages but the first are written (Y4)."""
    target.sync()
    target.write(0, first)
    target.sync()
    target.close()


def restored(recovery: RecoveryManager) -> dict[int, int]:
    """{page set: RBA} of page sets that are restored image copies (Y2), whichever way they came there (Y6)."""
    found = {}
    inventory = recovery.log.files.inventory
    for number, page_set in recovery.buffers.page_sets.items():
        first = page_set.read_raw(0, 1)
        if is_whole(first, number, 0) and media_rba(first):
            found[number] = media_rba(first)
            _check_since(inventory, number, found[number])
    return found
