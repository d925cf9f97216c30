"""Writing pages: first the log, then in place, adjacent ones together.

The rules (B2, B4, B6, B12, B13) are the package's.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from operator import attrgetter
from typing import Final

from quaestor.mqi.reasons import MQError
from quaestor.qmgr.buffer.frame import Frame
from quaestor.qmgr.buffer.meter import IoMeter
from quaestor.qmgr.log import LogManager
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.storage.page import PAGE, seal
from quaestor.storage.page_set import PageSet

IMAGE: Final = PAGE + HEADER_LENGTH
NOT_FOR_IMAGES: Final = 4
"""The last quarter of an active log (B13)."""

_place, _rba = attrgetter("page_set.number", "page"), attrgetter("rba")


class PageWriter:
    """The changed pages of a pool on their way to the page sets; once there, and not in use, they are stealable."""

    def __init__(
        self,
        log: LogManager,
        stats: BufferStatistics,
        form: Callable[[Frame], bytearray],
        pages_per_io: int,
        meter: IoMeter | None,
    ) -> None:
        self._log, self._form, self._pages_per_io = log, form, pages_per_io
        self.stats = stats
        self._meter = meter or IoMeter()
        self._stealable: OrderedDict[Frame, None] = OrderedDict()
        self._changed: dict[Frame, None] = {}
        self._lent: list[bytearray] = []  # B12

    def write(self, frames: Sequence[Frame], *, immediate: bool = False) -> None:
        """Write changed pages: log first, then in place (B2, B4)."""
        if not frames:
            return
        self.log_check(self.prepare(frames))
        run: list[Frame] = []
        page_set, following = None, 0
        for frame in sorted(frames, key=_place):
            if frame.page != following or frame.page_set is not page_set:
                if run:
                    self._write_run(run, immediate=immediate)
                run, page_set = [], frame.page_set
            run.append(frame)
            following = frame.page + 1
        self._write_run(run, immediate=immediate)

    def writable(self, frames: Iterable[Frame], pages: int) -> list[Frame]:
        """The first of some changed pages that may be written now, so many at most (B13)."""
        images, chosen = self.images_left(pages), list[Frame]()
        if images == pages:
            return list(islice(frames, pages))
        for frame in frames:
            if not (frame.volatile or frame.whole):
                if not images:
                    continue
                images -= 1
            chosen.append(frame)
            if len(chosen) == pages:
                break
        return chosen

    def images_left(self, wanted: int) -> int:
        """How many of so many images may be logged now (B13)."""
        log = self._log
        if self._room_for_images() < wanted and not log.ready:
            with suppress(MQError):
                log.check_space()
        return max(0, min(wanted, self._room_for_images()))

    def _room_for_images(self) -> int:
        files = self._log.files
        return (files.limit - self._log.end - files.size // NOT_FOR_IMAGES) // IMAGE

    def prepare(self, frames: Sequence[Frame]) -> int:
        """Log what must be logged before pages are written (B4); gives the RBA up to which the log is forced then."""
        return int(max(self._log_images(frames), *map(_rba, frames)))

    def log_check(self, rba: int) -> None:
        """B2: the log is forced up to the last change of every page that is about to be written, and works (G3)."""
        self._log.force(rba)
        self._log.raise_if_failed()

    def _log_images(self, frames: Iterable[Frame]) -> int:
        """B4: an image of every page that the log could not build from nothing; gives the RBA of the last."""
        rba = 0
        for frame in frames:
            data = None if frame.volatile or frame.whole else frame.data
            if data is not None:
                seal(data, frame.rba)
                rba = self._log.append(Kind.IMAGE, 0, 0, self._log.made_to, frame.page_set.number, frame.page, data)
                frame.first_rba = frame.first_rba or rba
                frame.whole = True
        return rba

    def _write_run(self, run: Sequence[Frame], *, immediate: bool) -> None:
        """Write adjacent pages, as one request; it is counted as the papers do, `pages_per_io` at a time."""
        page_set = run[0].page_set
        while len(self._lent) < len(run):
            self._lent.append(bytearray(PAGE))
        pages = [frame.sealed() or self._sealed(frame, lent) for frame, lent in zip(run, self._lent, strict=False)]
        began_ns = self._meter.now_ns()
        page_set.write(run[0].page, pages)
        ios = -(-len(run) // self._pages_per_io)
        self._meter.wrote(page_set.number, len(run), ios, began_ns, immediate=immediate)
        self.stats.write_ios += ios
        self.stats.pages_written += len(run)
        self._written(page_set, run)

    def _sealed(self, frame: Frame, lent: bytearray) -> bytearray:
        """A page as it is written, in memory of its own or, while its changes wait, in what is lent (B12)."""
        data = frame.image(lent)
        if data is None:
            data = frame.data = self._form(frame)
        seal(data, frame.rba)
        return data

    def _written(self, page_set: PageSet, run: Sequence[Frame]) -> None:
        """The pages equal their copies on the page set; restart still needs their changes until the next sync (B6)."""
        changed, stealable, oldest = self._changed, self._stealable, page_set.unsynced_rba
        for frame in run:
            rba = frame.first_rba
            if rba and (not oldest or rba < oldest):
                oldest = rba
            frame.changed = frame.whole = False
            frame.first_rba = 0
            del changed[frame]
            if not frame.in_use:
                stealable[frame] = None
        page_set.unsynced_rba = oldest
