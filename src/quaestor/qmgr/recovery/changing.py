"""Changing: the one way to change a page (V1).

Rules
  V1  A page is changed only here: log the change, then make it with the function restart will use, then stamp the
      page with the record's RBA. Nothing can happen to a page that restart cannot repeat.
  V7  A change for a unit is refused (2056) while no active log is ready behind the current one: what is left of that is
      for ending the units there are (J6).
  V11 A unit that is `alone` makes one change of a page in the call that commits it, so it can never be backed out. Its
      record is that of a change for good, of no unit: the change and its commit in one. If it turns out to need
      another kind of change (text pages, a structure) it is a unit like any other.

Called by data.  Calls log, buffer.  The recovery manager ends what begins here.
"""

from collections.abc import Sequence
from typing import Final

from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import BufferManager, BufferPool, Frame
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.recovery.checkpointing import CheckpointTaker
from quaestor.qmgr.recovery.unit import UnitOfRecovery
from quaestor.storage.changes import INSERT, MESSAGE_PAGE, REDO, USE_OF, delete, insert, map_page_of, starts_page
from quaestor.storage.log_record import ALLOCATES, Kind, pack_identity
from quaestor.storage.page import HEADER_LENGTH as PAGE_HEADER
from quaestor.storage.page import ROOM as SPAN
from quaestor.storage.page_set import PageSet

DELETE: Final = int(Kind.DELETE)


class PageChanger(CheckpointTaker):
    """Changes of pages, for units and for good (V1, V7, V11)."""

    def __init__(self, log: LogManager, buffers: BufferManager, logload: int) -> None:
        super().__init__(log, buffers, logload, self.change)
        self.alone = self.single = False
        """Whether one application alone is connected and makes one call at a time; and is one of this process (V13)."""

    def change(
        self, unit: UnitOfRecovery | None, kind: int, flags: int, page_set: PageSet, page: int, body: bytes
    ) -> Frame:
        """Change a page for a unit, or for good when there is none (V1). Gives the page, no longer in use."""
        pool = self.buffers.pool_of[page_set.number]
        rba = self._log_change(unit, kind, flags, page_set.number, page, body)
        if flags & ALLOCATES:
            self._take_page(pool, page_set, page, USE_OF[kind], rba)
        if starts_page(kind, body):
            return pool.started(page_set, page, REDO[kind], body, rba)
        frame = pool.get(page_set, page)
        frame.change(REDO[kind], body)
        pool.set_write(frame, rba)
        pool.release(frame)
        return frame

    def begin_page(
        self,
        unit: UnitOfRecovery,
        flags: int,
        page_set: PageSet,
        page: int,
        body: bytes,
        rest: bytes = b"",
        content: object = None,
    ) -> None:
        """Begin a page with a message: `change` without its questions, because every put does it (V1).

        The change is `body` and `rest`; `content` is kept with the page.
        """
        log, number = self.log, page_set.number
        if not log.ready:
            log.check_space()
        if unit.urid:
            unit.last = rba = log.append(INSERT, flags, unit.urid, unit.last, number, page, body, rest)
        elif unit.alone:
            unit.last = rba = log.append(INSERT, flags, 0, 0, number, page, body, rest)  # V11
            if self.single:
                log.send()
        else:
            rba = self._log_first(unit, INSERT, flags, number, page, body, rest)
        pool = self.buffers.pool_of[number]
        if flags:
            self._take_page(pool, page_set, page, MESSAGE_PAGE, rba)
        pool.started(page_set, page, insert, body, rba, rest, content)

    def log_for_good(self, number: int, flags: int, page: int, body: bytes, rest: bytes) -> int:
        """Log that a page begins with a message that nobody will want undone: its commit (V11); gives the RBA."""
        log = self.log
        rba = log.append(INSERT, flags, 0, 0, number, page, body, rest)
        if self.alone:
            log.send()  # V13
        return rba

    def begin_logged(
        self, rba: int, flags: int, page_set: PageSet, page: int, body: bytes, rest: bytes, content: object
    ) -> None:
        """Begin the page of which `log_for_good` has told the log (V1)."""
        pool = self.buffers.pool_of[page_set.number]
        if flags:
            self._take_page(pool, page_set, page, MESSAGE_PAGE, rba)
        pool.started(page_set, page, insert, body, rba, rest, content)

    def begin_pages(
        self,
        unit: UnitOfRecovery,
        flags: int,
        page_set: PageSet,
        pages: Sequence[int],
        heads: Sequence[bytes],
        contents: Sequence[Message],
    ) -> int:
        """Begin pages with a message each, for a unit that has logged before: `begin_page` of all of them (V1).

        Each change is a head and the message's body. Gives how many of them went in one piece into the log.
        """
        log, number = self.log, page_set.number
        if not log.ready:
            log.check_space()
        changes = zip(pages, heads, [message[0] for message in contents], strict=False)
        rbas = log.append_run(INSERT, flags, unit.urid, unit.last, number, changes)
        if rbas:
            unit.last, log.made_to = rbas[-1], rbas[0]
            pool = self.buffers.pool_of[number]
            if flags:
                self._take_pages(pool, page_set, pages, rbas)
            pool.started_run(page_set, pages, insert, heads, rbas, contents)
            log.made_to = 0
        return len(rbas)

    def delete(self, unit: UnitOfRecovery, page_set: PageSet, page: int, mark: bytes) -> None:
        """Mark a record deleted on a page that was read: `change` without its questions, because every get does it."""
        log, number = self.log, page_set.number
        if not log.ready:
            log.check_space()
        if unit.urid:
            unit.last = rba = log.append(DELETE, 0, unit.urid, unit.last, number, page, mark)
        elif unit.alone:
            unit.last = rba = log.append(DELETE, 0, 0, 0, number, page, mark)  # V11
            if self.single:
                log.send()
        else:
            rba = self._log_first(unit, DELETE, 0, number, page, mark)
        self.buffers.pool_of[number].change(page_set, page, delete, mark, rba)

    def change_in_use(self, unit: UnitOfRecovery | None, kind: int, frame: Frame, body: bytes) -> None:
        """Change a page that the caller has in use already (V1)."""
        page_set = frame.page_set
        rba = self._log_change(unit, kind, 0, page_set.number, frame.page, body)
        frame.change(REDO[kind], body)
        self.buffers.pool_of[page_set.number].set_write(frame, rba)

    def note(self, unit: UnitOfRecovery | None, kind: int, body: bytes) -> int:
        """Log something that changes no page, for a unit or for good."""
        return self._log_change(unit, kind, 0, 0, 0, body)

    def _log_change(
        self, unit: UnitOfRecovery | None, kind: int, flags: int, page_set: int, page: int, body: bytes
    ) -> int:
        log = self.log
        if unit is None:
            return log.append(kind, flags, 0, 0, page_set, page, body)
        if not log.ready:
            log.check_space()
        if not unit.urid:
            return self._log_first(unit, kind, flags, page_set, page, body)
        unit.last = rba = log.append(kind, flags, unit.urid, unit.last, page_set, page, body)
        return rba

    def _log_first(
        self, unit: UnitOfRecovery, kind: int, flags: int, page_set: int, page: int, body: bytes, rest: bytes = b""
    ) -> int:
        """The first record of a unit, from which the unit has its URID."""
        log = self.log
        if unit.last:
            raise Abend("V11", "a unit that was to make one change makes another", rba=unit.last)
        first, identity = pack_identity(unit.identity)
        rba = log.append(kind, flags | first, log.end, 0, page_set, page, body, rest + identity)
        unit.urid = unit.first = unit.last = rba
        unit.born = self.checkpoints
        self.units[rba] = unit
        return rba

    def _take_page(self, pool: BufferPool, page_set: PageSet, page: int, use: int, rba: int) -> None:
        """The space map's part of an ALLOCATES record."""
        number, at = map_page_of(page), PAGE_HEADER + page % SPAN
        here = page_set.frames.get(number)
        if here is not None and here.first_rba and here.raw is not None:  # as nearly always: as below, changed before
            pool.stats.get_page += 1
            pool.stats.set_writes += 1
            here.raw[at] = use
            here.rba = rba
            return
        before, self.log.made_to = self.log.made_to, self.log.made_to or rba
        frame = pool.get(page_set, number)  # now or at its release others are written, be it `page` as it was (B4)
        frame.data[at] = use  # type: ignore[index] # a space map page has contents
        pool.set_write(frame, rba)
        pool.release(frame)
        self.log.made_to = before

    def _take_pages(self, pool: BufferPool, page_set: PageSet, pages: Sequence[int], rbas: Sequence[int]) -> None:
        """The same for message pages, as many as there are RBAs; mostly one map has all of them."""
        taken = pages[: len(rbas)]
        lowest = min(taken)
        number = map_page_of(lowest)
        here = page_set.frames.get(number)
        if here is None or not here.first_rba or here.raw is None or map_page_of(max(taken)) != number:
            for page, rba in zip(taken, rbas, strict=True):
                self._take_page(pool, page_set, page, MESSAGE_PAGE, rba)
            return
        pool.stats.get_page += len(rbas)
        pool.stats.set_writes += len(rbas)
        uses, first = here.raw, PAGE_HEADER - (lowest - lowest % SPAN)
        for page in taken:
            uses[first + page] = MESSAGE_PAGE
        here.rba = rbas[-1]
