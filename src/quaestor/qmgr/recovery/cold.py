"""Cold start: page sets without their log go on with a new one.

Rules
  CS1 What the page sets hold is taken as it is: work that was not committed stays as far as it had reached them, and
      committed work that had not reached them is lost. It is for when log and archives are lost; nothing else is worse.
  CS2 The new log begins above every RBA on any page, so that no page is newer than its log, and above those from which
      the image copies that are here must be redone: it is not their log, and they are refused from now on.
  CS3 Page set 0 must be there. Every page that the space map calls used must be whole, and no page set may be an image
      copy that was not brought up to date: what is not is named, and nothing is changed. A page that cannot be read is
      not whole.
  CS4 A cold start that is cut leaves page sets without a bootstrap data set, which refuse to start; it is made again.
      Pages that it writes over their old selves are durable in a file beside them before: what a cut tears is there.
  CS5 A page that the space map calls a message page may not have reached the page set: it was never written, or holds
      what it held before. It has no messages and is free from now on; as it is, nothing would start.
  CS6 A long message is there if its text is: pages that the space map has for text, as long together as the message,
      with RBAs in their order and before that of its record. Otherwise it had been got, or not all of it had reached
      the page set: its record is deleted, or the text of another would be taken for its own. Text of an earlier message
      of the same length, in the same pages, cannot be told from it where neither had been written again.
  CS7 A page set is as long as its space map has pages in use: page 0 may not have been written since it grew. Otherwise
      what is behind the end would be in use again when the page set grows next.
  CS8 A file without its page 0, and with nothing else but empty space maps, is of a page set that was not made to its
      end, if the bootstrap data set does not have it or, where none can be read, no image copy is here; and it is not
      page set 0. Nothing can be on it: it is left aside and told, and formatted when somebody defines it again.

Called by `quaestor log cold-start`.  Calls media, page_set, text_pages, bootstrap, log_files.
"""

from contextlib import closing, suppress
from dataclasses import dataclass

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.recovery.media import copy_name
from quaestor.storage.bootstrap import NAMES as BOOTSTRAP_NAMES
from quaestor.storage.bootstrap import Bootstrap
from quaestor.storage.changes import FREE, MESSAGE_PAGE, SPAN, TEXT_PAGE, VOLATILE_PAGE, header, map_page_of
from quaestor.storage.disk import Disk
from quaestor.storage.log_files import ARCHIVE, CI, LogFiles
from quaestor.storage.page import (
    DELETED,
    HEADER_LENGTH,
    LIVE,
    MESSAGES,
    PAGE,
    SHORT,
    SPACE_MAP,
    TEXT,
    StoredRecord,
    header_of,
    is_whole,
    records_of,
    seal,
)
from quaestor.storage.page_set import (
    NUMBER_MAX,
    PageSet,
    describe,
    empty_map,
    file_name,
    media_rba,
    numbers_on,
    spans,
)
from quaestor.storage.text_pages import head_length, held, text_pages

RUN = 256
ASIDE = "cold-{:02d}"
"""Pages of a page set that are about to be written over their old selves (CS4)."""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """What a cold start found and where the new log begins."""

    page_sets: tuple[int, ...]
    pages: int
    highest_rba: int
    first_rba: int
    freed: int
    """Pages without the messages that the space map says they have (CS5)."""

    without_text: int
    """Long messages that are not there, because their text is not (CS6)."""

    left_aside: tuple[int, ...] = ()
    """Page sets that were not made to their end (CS8)."""


def page_sets_on(disk: Disk) -> tuple[int, ...]:
    """The numbers of the page sets; without the first nothing can be started (CS3, CS8)."""
    numbers = numbers_on(disk)
    if not numbers:
        raise Abend("CS3", "there are no page sets to start with")
    if 0 not in numbers:
        raise Abend("CS3", "page set 0, which has the definitions, is not there", there_are=numbers)
    half_made = [number for number in numbers if number and _half_made(disk, number)]
    known = _known(disk, half_made) if half_made else []
    return tuple(number for number in numbers if number not in half_made or number in known)


def _known(disk: Disk, numbers: list[int]) -> list[int]:
    """The page sets that there were: the bootstrap data set has them or, where it cannot be read, an image copy is."""
    with suppress(Abend, OSError), closing(Bootstrap.open(disk)) as bootstrap:
        return bootstrap.inventory.page_sets
    return [number for number in numbers if disk.exists(copy_name(number))]


def _half_made(disk: Disk, number: int) -> bool:
    """Whether the file of a page set is one that was not made to its end (CS8)."""
    with closing(disk.open(file_name(number))) as file:
        page_set = PageSet(number, file, file.size() // PAGE)
        maps = {map_page_of(base): bytes(empty_map(number, base)) for base in spans(page_set.pages)}
        for first in range(0, page_set.pages, RUN):
            run = page_set.read_readable(first, min(RUN, page_set.pages - first))
            for at in range(0, len(run), PAGE) if any(run) else ():
                page = run[at : at + PAGE]
                if any(page) and page != maps.get(first + at // PAGE):
                    return False
    return True


def cold_start(disk: Disk, *, logs: int = 4, log_bytes: int = 16 << 20, dual: bool = False) -> ColdStart:
    """Give page sets a new, empty log (CS1-CS8). The queue manager is down."""
    numbers = page_sets_on(disk)
    left_aside = tuple(number for number in numbers_on(disk) if number not in numbers)
    if not any(map(disk.exists, BOOTSTRAP_NAMES)):
        for number in numbers:
            _mend(disk, number)
    looks = [_Look(disk, number) for number in numbers]
    highest = max(look.highest_rba for look in looks)
    begins_behind = max(highest, *(_copied_at(disk, number) for number in range(NUMBER_MAX + 1)))
    first = (begins_behind // CI + 2) * CI
    archives = [name for name in disk.names("archive-") if ARCHIVE.fullmatch(name)]
    for name in filter(disk.exists, BOOTSTRAP_NAMES):
        disk.delete(name)  # CS4
    for look in looks:
        look.write()
    LogFiles.create(disk, logs=logs, log_bytes=log_bytes, dual=dual, first_rba=first, page_sets=numbers).close()
    for name in archives:
        disk.delete(name)
    pages, freed, without_text = (sum(each) for each in zip(*(look.figures for look in looks), strict=True))
    return ColdStart(numbers, pages, highest, first, freed, without_text, left_aside)


def _copied_at(disk: Disk, number: int) -> int:
    """From where a page set's image copy must be redone, 0 where there is none that could be put back (CS2)."""
    if not disk.exists(copy_name(number)):
        return 0
    copy = disk.open(copy_name(number))
    first = PageSet(number, copy, 1).read_readable(0, 1)
    copy.close()
    return media_rba(first) if is_whole(first, number, 0) else 0


def _mend(disk: Disk, number: int) -> None:
    """Pages that were torn when a cold start was cut, from the file beside them (CS4)."""
    if not disk.exists(ASIDE.format(number)):
        return
    aside, page_set = disk.open(ASIDE.format(number)), PageSet.open(disk, number)
    for at in range(0, aside.size(), PAGE):
        contents = aside.read(at, PAGE)
        page = header_of(contents).page if len(contents) == PAGE else 0
        there = page_set.read_readable(page, 1)
        if is_whole(contents, number, page) and not is_whole(there, number, page):
            page_set.write(page, [contents])
    page_set.sync()
    page_set.close()
    aside.close()


class _Look:
    """What the pages of a page set say: the highest RBA, and which are not what they should be (CS3, CS5, CS6)."""

    def __init__(self, disk: Disk, number: int) -> None:
        self._disk, self._number = disk, number
        self.highest_rba = self._freed = self._without_text = 0
        self._uses: dict[int, bytearray] = {}
        """Space map pages by the first page of their span."""

        self._long: list[tuple[int, int, StoredRecord]] = []
        """Long messages: RBA of the page, page, record."""

        self._changed: dict[int, bytearray] = {}
        page_set = PageSet.open(disk, number)
        first = bytearray(page_set.read_raw(0, 1))
        _check(page_set, 0, first)
        if media_rba(first):
            raise Abend("CS3", "a page set is an image copy that needs its log; use another copy", page_set=number)
        self._grow(page_set, first)
        self.pages = page_set.pages
        for base in spans(page_set.pages):
            self._span(page_set, base)
        self._drop_without_text(page_set)
        page_set.close()

    @property
    def figures(self) -> tuple[int, int, int]:
        """Pages, those that are freed (CS5), messages without their text (CS6)."""
        return self.pages, self._freed, self._without_text

    def _grow(self, page_set: PageSet, first: bytearray) -> None:
        """Have page 0 say how many pages there are (CS7)."""
        number, there, pages = page_set.number, page_set.file.size() // PAGE, page_set.pages
        for base in spans(there):
            space = page_set.read_readable(map_page_of(base), 1)
            if is_whole(space, number, map_page_of(base)) and header_of(space).kind == SPACE_MAP:
                pages = max(pages, min(base + len(space[HEADER_LENGTH:].rstrip(b"\0")), there))
        if pages > page_set.pages:
            page_set.pages, rba = pages, header_of(first).rba
            header(first, describe(number, pages), number, 0)
            seal(first, rba)
            self._changed[0] = first

    def _span(self, page_set: PageSet, base: int) -> None:
        space = bytearray(page_set.read_readable(map_page_of(base), 1))
        _check(page_set, map_page_of(base), space)
        self._uses[base], freed = space, self._freed
        end = min(base + SPAN, page_set.pages)
        for first in range(base, end, RUN):
            raw = page_set.read_readable(first, min(RUN, end - first))
            for place in range(len(raw) // PAGE):
                self._page(page_set, first + place, raw[place * PAGE : (place + 1) * PAGE], space)
        if self._freed > freed:
            self._changed[map_page_of(base)] = space

    def _page(self, page_set: PageSet, page: int, contents: bytes, space: bytearray) -> None:
        at = HEADER_LENGTH + page % SPAN
        if not is_whole(contents, page_set.number, page):
            if space[at] not in {FREE, VOLATILE_PAGE}:
                _check(page_set, page, contents)
            return
        found = header_of(contents)
        self.highest_rba = max(self.highest_rba, found.rba)
        if space[at] != MESSAGE_PAGE:
            return
        if found.kind != MESSAGES:
            space[at] = FREE  # CS5
            self._freed += 1
            return
        for record in records_of(contents):
            if record.state == LIVE and record.form != SHORT:
                self._long.append((found.rba, page, record))

    def _drop_without_text(self, page_set: PageSet) -> None:
        """Delete long messages whose text is not there, or is another's (CS6)."""
        for rba, page, record in self._long:
            if not self._has_text(page_set, rba, page, record):
                if page not in self._changed:
                    self._changed[page] = bytearray(page_set.read_raw(page, 1))
                self._changed[page][record.at] = DELETED
                self._without_text += 1

    def _has_text(self, page_set: PageSet, rba: int, page: int, record: StoredRecord) -> bool:
        """Whether text and reference pages of a message may be its own (CS6)."""
        contents, length, last = page_set.read_raw(page, 1), head_length(record), 0
        try:
            references, texts = text_pages(contents, record, lambda each: self._text_page(page_set, each))
            for number, each in enumerate((*texts, *references)):
                found = self._text_page(page_set, each)
                before, last = last, header_of(found).rba
                if not before < last < rba:
                    return False
                length += len(held(found)) if number < len(texts) else 0
        except LookupError:
            return False
        return length == record.body_length

    def _text_page(self, page_set: PageSet, page: int) -> bytearray:
        """A page that holds text, as far as it says itself."""
        uses = self._uses.get(page - page % SPAN)
        contents = page_set.read(page) if uses is not None and uses[HEADER_LENGTH + page % SPAN] == TEXT_PAGE else None
        if contents is None or header_of(contents).kind != TEXT:
            raise LookupError(page)
        return contents

    def write(self) -> None:
        """Have the pages say what there is, wherever this is cut (CS4-CS6)."""
        aside = ASIDE.format(self._number)
        if self._disk.exists(aside):
            self._disk.delete(aside)
        if not self._changed:
            return
        for contents in self._changed.values():
            seal(contents, header_of(contents).rba)
        beside = self._disk.create(aside, 0)
        beside.write_many(0, list(self._changed.values()))
        beside.sync()
        beside.close()
        page_set = PageSet.open(self._disk, self._number)
        for page, contents in self._changed.items():
            page_set.write(page, [contents])
        page_set.sync()
        page_set.close()
        self._disk.delete(aside)


def _check(page_set: PageSet, page: int, contents: bytes | bytearray) -> None:
    if not is_whole(contents, page_set.number, page):
        raise Abend(
            "CS3", "a page is not whole; restore the page set's image copy", page_set=page_set.number, page=page
        )
