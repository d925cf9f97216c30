"""Writing pages: first the log, then in place, adjacent ones together. The rules (B2, B4, B6, B12): see the package."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from quaestor.qmgr.buffer.frame import Frame
from quaestor.qmgr.buffer.meter import IoMeter
from quaestor.qmgr.log import LogManager
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.storage.log_record import Kind
from quaestor.storage.page import PAGE, seal


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
        ordered = sorted(frames, key=lambda frame: (frame.page_set.number, frame.page))
        for _, group in groupby(enumerate(ordered), key=lambda at: (at[1].page_set.number, at[1].page - at[0])):
            self._write_run([frame for _, frame in group], immediate=immediate)

    def prepare(self, frames: Sequence[Frame]) -> int:
        """Log what must be logged before pages are written (B4); gives the RBA up to which the log is forced then."""
        return max(self._log_images(frames), *(frame.rba for frame in frames))

    def log_check(self, rba: int) -> None:
        """B2: the log is forced up to the last change of every page that is about to be written."""
        self._log.force(rba)

    def _log_images(self, frames: Iterable[Frame]) -> int:
        """B4: an image of every page that the log could not build from nothing; gives the RBA of the last."""
        rba = 0
        for frame in frames:
            data = None if frame.volatile or frame.whole else frame.data
            if data is not None:
                seal(data, frame.rba)
                rba = self._log.append(Kind.IMAGE, 0, 0, 0, frame.page_set.number, frame.page, data)
                frame.first_rba = frame.first_rba or rba
                frame.whole = True
        return rba

    def _write_run(self, run: list[Frame], *, immediate: bool) -> None:
        """Write adjacent pages, as one request; it is counted as the papers do, `pages_per_io` at a time."""
        page_set = run[0].page_set
        pages = []
        while len(self._lent) < len(run):
            self._lent.append(bytearray(PAGE))
        for frame, lent in zip(run, self._lent, strict=False):
            data = frame.image(lent)  # B12
            if data is None:
                data = frame.data = self._form(frame)
            seal(data, frame.rba)
            pages.append(data)
        began_ns = self._meter.now_ns()
        page_set.write(run[0].page, pages)
        ios = -(-len(run) // self._pages_per_io)
        self._meter.wrote(page_set.number, len(run), ios, began_ns, immediate=immediate)
        self.stats.write_ios += ios
        self.stats.pages_written += len(run)
        for frame in run:
            self._written(frame)

    def _written(self, frame: Frame) -> None:
        """The page equals its copy on the page set; restart still needs its changes until the next sync (B6)."""
        page_set = frame.page_set
        if frame.first_rba and (not page_set.unsynced_rba or frame.first_rba < page_set.unsynced_rba):
            page_set.unsynced_rba = frame.first_rba
        frame.changed = frame.whole = False
        frame.first_rba = 0
        del self._changed[frame]
        if not frame.in_use:
            self._stealable[frame] = None
