"""Cold start: page sets without their log go on with a new one.

Rules
  CS1 What the page sets hold is taken as it is: work that was not committed stays as far as it had reached them, and
      committed work that had not reached them is lost. It is for when log and archives are lost; nothing else is worse.
  CS2 The new log begins above every RBA on any page, so that no page is newer than its log and none needs rewriting.
  CS3 Every page that the space map calls used must be whole, and no page set may be an image copy that was not
      brought up to date: what is not is named, and nothing is changed.
  CS4 A cold start that is cut leaves page sets without a bootstrap data set, which refuse to start; it is made again.

Called by `quaestor log cold-start`.  Calls page_set, log_files.
"""

from dataclasses import dataclass

from quaestor.mqi.reasons import Abend
from quaestor.storage.changes import FREE, SPAN, VOLATILE_PAGE, map_page_of
from quaestor.storage.disk import Disk
from quaestor.storage.log_files import ARCHIVE, CI, LogFiles
from quaestor.storage.page import HEADER_LENGTH, PAGE, header_of, is_whole
from quaestor.storage.page_set import PageSet, media_rba, numbers_on, spans

RUN = 256


@dataclass(frozen=True, slots=True)
class ColdStart:
    """What a cold start found and where the new log begins."""

    page_sets: tuple[int, ...]
    pages: int
    highest_rba: int
    first_rba: int


def cold_start(disk: Disk, *, logs: int = 4, log_bytes: int = 16 << 20, dual: bool = False) -> ColdStart:
    """Give page sets a new, empty log (CS1-CS4). The queue manager is down."""
    numbers = numbers_on(disk)
    if not numbers:
        raise Abend("CS3", "there are no page sets to start with")
    highest = pages = 0
    for number in numbers:
        page_set = PageSet.open(disk, number)
        pages += page_set.pages
        highest = max(highest, _highest_rba(page_set))
        page_set.close()
    first = (highest // CI + 2) * CI
    archives = [name for name in disk.names("archive-") if ARCHIVE.fullmatch(name)]
    LogFiles.create(disk, logs=logs, log_bytes=log_bytes, dual=dual, first_rba=first, page_sets=numbers).close()
    for name in archives:
        disk.delete(name)
    return ColdStart(numbers, pages, highest, first)


def _highest_rba(page_set: PageSet) -> int:
    """The highest RBA of any page; every used one must be whole (CS3)."""
    _check(page_set, 0, page_set.read_raw(0, 1))
    if media_rba(page_set.read_raw(0, 1)):
        raise Abend("CS3", "a page set is an image copy that needs its log; use another copy", page_set=page_set.number)
    highest = 0
    for base in spans(page_set.pages):
        space = page_set.read_raw(map_page_of(base), 1)
        _check(page_set, map_page_of(base), space)
        for at in range(0, min(SPAN, page_set.pages - base), RUN):
            raw = page_set.read_raw(base + at, min(RUN, page_set.pages - base - at))
            for place in range(len(raw) // PAGE):
                page = raw[place * PAGE : (place + 1) * PAGE]
                if is_whole(page, page_set.number, base + at + place):
                    highest = max(highest, header_of(page).rba)
                elif space[HEADER_LENGTH + at + place] not in {FREE, VOLATILE_PAGE}:
                    _check(page_set, base + at + place, page)
    return highest


def _check(page_set: PageSet, page: int, contents: bytes) -> None:
    if not is_whole(contents, page_set.number, page):
        raise Abend(
            "CS3", "a page is not whole; restore the page set's image copy", page_set=page_set.number, page=page
        )
