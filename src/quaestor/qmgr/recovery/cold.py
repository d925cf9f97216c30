"""Cold start: page sets without their log go on with a new one.

Rules
  CS1 What the page sets hold is taken as it is: work that was not committed stays as far as it had reached them, and
      committed work that had not reached them is lost. It is for when log and archives are lost; nothing else is worse.
  CS2 The new log begins above every RBA on any page, so that no page is newer than its log.
  CS3 Page set 0 must be there. Every page that the space map calls used must be whole, and no page set may be an image
      copy that was not brought up to date: what is not is named, and nothing is changed.
  CS4 A cold start that is cut leaves page sets without a bootstrap data set, which refuse to start; it is made again.
  CS5 A page that the space map calls a message page may not have reached the page set: it was never written, or holds
      what it held before. It has no messages and is free from now on; as it is, nothing would start.

Called by `quaestor log cold-start`.  Calls page_set, bootstrap, log_files.
"""

from dataclasses import dataclass

from quaestor.mqi.reasons import Abend
from quaestor.storage.bootstrap import NAMES as BOOTSTRAP_NAMES
from quaestor.storage.changes import FREE, MESSAGE_PAGE, SPAN, VOLATILE_PAGE, map_page_of
from quaestor.storage.disk import Disk
from quaestor.storage.log_files import ARCHIVE, CI, LogFiles
from quaestor.storage.page import HEADER_LENGTH, MESSAGES, PAGE, header_of, is_whole, seal
from quaestor.storage.page_set import PageSet, media_rba, numbers_on, spans

RUN = 256


@dataclass(frozen=True, slots=True)
class ColdStart:
    """What a cold start found and where the new log begins."""

    page_sets: tuple[int, ...]
    pages: int
    highest_rba: int
    first_rba: int
    freed: int
    """Pages without the messages that the space map says they have (CS5)."""


def cold_start(disk: Disk, *, logs: int = 4, log_bytes: int = 16 << 20, dual: bool = False) -> ColdStart:
    """Give page sets a new, empty log (CS1-CS4). The queue manager is down."""
    numbers = numbers_on(disk)
    if not numbers:
        raise Abend("CS3", "there are no page sets to start with")
    if 0 not in numbers:
        raise Abend("CS3", "page set 0, which has the definitions, is not there", there_are=numbers)
    looks = [_Look(disk, number) for number in numbers]
    highest = max(look.highest_rba for look in looks)
    first = (highest // CI + 2) * CI
    archives = [name for name in disk.names("archive-") if ARCHIVE.fullmatch(name)]
    for name in filter(disk.exists, BOOTSTRAP_NAMES):
        disk.delete(name)  # CS4
    for look in looks:
        look.write_maps()
    LogFiles.create(disk, logs=logs, log_bytes=log_bytes, dual=dual, first_rba=first, page_sets=numbers).close()
    for name in archives:
        disk.delete(name)
    pages, freed = sum(look.pages for look in looks), sum(look.freed for look in looks)
    return ColdStart(numbers, pages, highest, first, freed)


class _Look:
    """What the pages of a page set say: the highest RBA, and which are not what the space map says (CS3, CS5)."""

    def __init__(self, disk: Disk, number: int) -> None:
        self._disk, self._number = disk, number
        self.highest_rba = self.freed = 0
        self._maps: dict[int, bytearray] = {}
        page_set = PageSet.open(disk, number)
        self.pages = page_set.pages
        _check(page_set, 0, page_set.read_raw(0, 1))
        if media_rba(page_set.read_raw(0, 1)):
            raise Abend("CS3", "a page set is an image copy that needs its log; use another copy", page_set=number)
        for base in spans(page_set.pages):
            self._span(page_set, base)
        page_set.close()

    def _span(self, page_set: PageSet, base: int) -> None:
        space = bytearray(page_set.read_raw(map_page_of(base), 1))
        _check(page_set, map_page_of(base), space)
        freed = self.freed
        for at in range(0, min(SPAN, page_set.pages - base), RUN):
            raw = page_set.read_raw(base + at, min(RUN, page_set.pages - base - at))
            for place in range(len(raw) // PAGE):
                self._page(page_set, base + at + place, raw[place * PAGE : (place + 1) * PAGE], space)
        if self.freed > freed:
            self._maps[map_page_of(base)] = space

    def _page(self, page_set: PageSet, page: int, contents: bytes, space: bytearray) -> None:
        at = HEADER_LENGTH + page % SPAN
        if not is_whole(contents, page_set.number, page):
            if space[at] not in {FREE, VOLATILE_PAGE}:
                _check(page_set, page, contents)
            return
        found = header_of(contents)
        self.highest_rba = max(self.highest_rba, found.rba)
        if space[at] == MESSAGE_PAGE and found.kind != MESSAGES:
            space[at] = FREE  # CS5
            self.freed += 1

    def write_maps(self) -> None:
        """Have the space map say what there is (CS5)."""
        page_set = PageSet.open(self._disk, self._number)
        for page, space in self._maps.items():
            seal(space, header_of(space).rba)
            page_set.write(page, [space])
        page_set.sync()
        page_set.close()


def _check(page_set: PageSet, page: int, contents: bytes | bytearray) -> None:
    if not is_whole(contents, page_set.number, page):
        raise Abend(
            "CS3", "a page is not whole; restore the page set's image copy", page_set=page_set.number, page=page
        )
