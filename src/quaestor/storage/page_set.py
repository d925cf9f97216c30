"""Page sets: files of 4 KB pages. Page 0 describes the page set, a space map says what each page is used for.

Rules
  T1  Page 0 and every space map page are system pages; the space map of a span stands at its beginning.
  T2  A page set grows by an extent that the file system has reserved, durably, before the growth is logged: writing a
      page later cannot fail for want of space, nor can a restart. More may be reserved than the growth takes, by
      anybody and without the latch (`reserve`); what page 0 says there is, is all that there is.
  T3  A page that is not whole is given to the caller as None: it is repaired by a change that starts the page, or
      named as lost. It is never handed on as if it were good.
  T4  A page set knows the page set it is (number and format); a file put in its place by mistake is refused.
  T5  A sync covers the pages that were written before it began. It may take long, so pages may be written meanwhile
      (`start_sync`, `sync`, `end_sync`); those are volatile until the next one. One that fails is final: every later
      one fails too, whoever asks for it. A page set is not closed in the middle of one.

Called by buffer.  Calls disk, page.
"""

import struct
from _thread import allocate_lock
from collections.abc import Sequence
from typing import Any

from quaestor.mqi.reasons import Abend
from quaestor.storage.changes import SPAN, format_map, header, map_page_of
from quaestor.storage.disk import Disk, File
from quaestor.storage.page import HEADER_LENGTH, PAGE, is_whole, seal

FORMAT = 2
"""1: pages with the checksum of zlib."""

PAGES_MAX = 1 << 24  # 64 GB
NUMBER_MAX = 99
NOT_WHOLE = b"\xff" * PAGE
_DESCRIPTION = struct.Struct(">8sHHIQ")
_MARK = b"PAGESET "


class PageSet:
    """One page set (T1-T5).

    It has `pages`; space for `reserved` of them is known to be set aside. `frames` are its pages in the buffer pool, by
    page number; `freed_rba` is the last log record that freed one of its pages; `unsynced_rba` the oldest change among
    pages written since the last sync began, 0 when there is none, and `syncing_rba` that among those which a sync under
    way is to cover. It is `stamped` while nothing was written to it since its page 0 was, by a checkpoint.
    """

    __slots__ = (
        "_alone",
        "_closed",
        "_failed",
        "buffer_pool",
        "expansions",
        "file",
        "frames",
        "freed_rba",
        "low_free",
        "number",
        "pages",
        "reserved",
        "stamped",
        "syncing_rba",
        "unsynced_rba",
    )

    def __init__(self, number: int, file: File, pages: int) -> None:
        self.number, self.file, self.pages, self.reserved = number, file, pages, pages
        self.frames: dict[int, Any] = {}
        self.buffer_pool = 0
        self.low_free = 2
        self.expansions = 0
        self.freed_rba = 0
        self.unsynced_rba = self.syncing_rba = 0
        self.stamped = False
        self._alone, self._closed = allocate_lock(), False
        self._failed: OSError | None = None

    @classmethod
    def create(cls, disk: Disk, number: int, pages: int) -> "PageSet":
        """Format a page set; one that a cut left half made is made again."""
        name = file_name(number)
        if disk.exists(name):
            disk.delete(name)
        file = disk.create(name, 0)
        try:
            _format(file, number, pages)
        except OSError:
            file.close()  # what is deleted and still open keeps its space
            raise
        return cls(number, file, pages)

    @classmethod
    def open(cls, disk: Disk, number: int) -> "PageSet":
        """Open a page set (T4); page 0 may be torn, then the log repairs it and its size is that of the file."""
        name = file_name(number)
        if not disk.exists(name):
            raise Abend("T4", "a page set is missing; restore its image copy", page_set=number)
        file = disk.open(name)
        try:
            return cls._opened(file, number)
        except (Abend, OSError):
            file.close()
            raise

    @classmethod
    def _opened(cls, file: File, number: int) -> "PageSet":
        first = file.read(0, PAGE)
        page_set = cls(number, file, file.size() // PAGE)
        if not any(first):
            raise Abend("T4", "a page set is not complete; restore its image copy", page_set=number)
        if is_whole(first, number, 0):
            page_set.pages = page_set.reserved = described_pages(first, number)
            if file.size() < page_set.pages * PAGE:
                raise Abend("T4", "a page set is too short; restore its image copy", page_set=number, bytes=file.size())
        return page_set

    @staticmethod
    def formatted(disk: Disk, number: int) -> bool:
        """Whether a page set was completely made."""
        name = file_name(number)
        if not disk.exists(name):
            return False
        file = disk.open(name)
        made = any(file.read(0, PAGE))
        file.close()
        return made

    def read(self, page: int) -> bytearray | None:
        """A page, or None when it is not whole (T3)."""
        data = self.file.read(page * PAGE, PAGE)
        return bytearray(data) if is_whole(data, self.number, page) else None

    def read_raw(self, page: int, count: int) -> bytes:
        """Pages one after the other, unchecked."""
        return self.file.read(page * PAGE, count * PAGE)

    def read_readable(self, page: int, count: int) -> bytes:
        """The same; a page that cannot be read is not whole, the others of its run are as they are."""
        try:
            return self.read_raw(page, count)
        except OSError:
            if count == 1:
                return NOT_WHOLE
            return b"".join(self.read_readable(each, 1) for each in range(page, page + count))

    def write(self, page: int, run: Sequence[bytes | bytearray]) -> None:
        """Write a run of sealed pages; volatile until `sync`."""
        self.stamped = False
        self.file.write_many(page * PAGE, run)

    @property
    def volatile_rba(self) -> int:
        """The oldest change among pages that are written and may be volatile, 0 when there is none."""
        unsynced, syncing = self.unsynced_rba, self.syncing_rba
        return min(unsynced, syncing) if unsynced and syncing else unsynced or syncing

    def start_sync(self) -> None:
        """What has been written so far is to be covered by the next sync (T5)."""
        self.syncing_rba, self.unsynced_rba = self.volatile_rba, 0

    def sync(self) -> None:
        """Make what was written before durable (T5). Whoever else writes may go on."""
        with self._alone:
            self._sync()

    def _sync(self) -> None:
        if self._failed is not None:
            raise self._failed
        if not self._closed:
            try:
                self.file.sync()
            except OSError as error:
                self._failed = error
                raise

    def end_sync(self) -> None:
        """The sync has succeeded."""
        self.syncing_rba = 0

    def harden(self) -> None:
        """Sync, while nobody writes."""
        self.start_sync()
        self.sync()
        self.end_sync()

    def reserve(self, pages: int) -> None:
        """Have the file system set space aside, durably (T2). Whoever comes while another does it waits for him."""
        if self.reserved >= pages:
            return
        with self._alone:
            if self.reserved < pages and not self._closed:
                self.file.extend(pages * PAGE)
                self._sync()
                self.reserved = pages

    def settle(self) -> None:
        """At start: what a killed process wrote or reserved may still be volatile, and restart will rely on it."""
        pages = self.file.size() // PAGE
        self.sync()
        self.reserved = max(self.reserved, pages)

    def close(self) -> None:
        with self._alone:
            self._closed = True
            self.file.close()


def _format(file: File, number: int, pages: int) -> None:
    """Make an empty page set of a file, page 0 last."""
    file.extend(pages * PAGE)
    for base in spans(pages):
        file.write(map_page_of(base) * PAGE, empty_map(number, base))
    file.sync()
    first = bytearray(PAGE)
    header(first, describe(number, pages), number, 0)
    seal(first, 0)
    file.write(0, first)
    file.sync()


def empty_map(number: int, base: int) -> bytearray:
    """The space map page of a span in which nothing is used yet."""
    space = bytearray(PAGE)
    format_map(space, b"\0" if base else b"\0\1", number, map_page_of(base))
    seal(space, 0)
    return space


def file_name(number: int) -> str:
    return f"pageset-{number:02d}"


def numbers_on(disk: Disk) -> tuple[int, ...]:
    """The page sets that are on a disk, ascending; a file that is only named like one is somebody's."""
    return tuple(number for number in range(NUMBER_MAX + 1) if disk.exists(file_name(number)))


def describe(number: int, pages: int, media_rba: int = 0) -> bytes:
    """Body of page 0; an image copy names the RBA from which the log brings it up to date."""
    return _DESCRIPTION.pack(_MARK, FORMAT, number, pages, media_rba)


def media_rba(first: bytes | bytearray) -> int:
    """From where a restored image copy must be brought up to date, 0 for a page set that is not one."""
    return int(_DESCRIPTION.unpack_from(first, HEADER_LENGTH)[4])


def described_pages(first: bytes | bytearray, number: int) -> int:
    """How many pages page 0 says there are (T4)."""
    mark, form, own_number, pages, _ = _DESCRIPTION.unpack_from(first, HEADER_LENGTH)
    if mark != _MARK or own_number != number:
        raise Abend("T4", "the file is not this page set", page_set=number, found=own_number)
    if form != FORMAT:
        raise Abend(
            "T4",
            "the page set has another format; get its messages with the version that wrote it",
            page_set=number,
            format=form,
            known=FORMAT,
        )
    return int(pages)


def spans(pages: int) -> range:
    """First page of every span of a page set."""
    return range(0, pages, SPAN)
