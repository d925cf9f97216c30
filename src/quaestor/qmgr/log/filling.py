"""A log that takes as much space as that of the product which MP16 measured.

Rules
  FL1 Unless told otherwise the log is as short as it can be. Who rehearses the sizes of a mainframe's logs has it
      filled up to the paper's figures (T-3, T-4) for private queues: a put costs 725 bytes beside the message, and 195
      more for each further page of it; a get 150; the end of a unit 335, also where the unit is one record (V11).
  FL2 What those figures have more than was logged is owed, and written as a record that says nothing (FILLER) as soon
      as it makes one. It follows what it is owed for: the RBA of a record is where the log ended before it (J1). Giving
      back the pages of a long message is part of its get: it makes what is owed less.
  FL3 What is left of the log for ending units (J6) is not filled: then nothing is owed.
  FL4 A filler is of no unit and changes no page, so restart passes over it. It is counted neither for LOGLOAD nor in
      QJST: that much was logged, but nobody asked for a record.
  FL5 Backing out, checkpoints and images are as they are: the paper has no figures for them. So are puts and gets of
      shared queues, but for the ends of units: such a get out of syncpoint logs 236 bytes here, where the paper has 62
      (T-6), and our log does not say that it was out of syncpoint.

Called by the engine, which is told which log to have.  Calls the log manager.
"""

from collections.abc import Iterable
from typing import Final

from quaestor.qmgr.log.manager import LogManager
from quaestor.storage.changes import INSERTION
from quaestor.storage.log_record import HEADER_LENGTH, Kind, PageChange
from quaestor.storage.page import RECORD, RECORD_LENGTH, StoredRecord

PUT: Final = 725
FURTHER_PAGE: Final = 195
GET: Final = 150
UNIT: Final = 335
"""Log bytes of MP16 beside those of the message (FL1)."""

FILLED: Final = frozenset({Kind.INSERT, Kind.TEXT, Kind.DELETE, Kind.FREE, Kind.COMMIT})
REFERENCE: Final = 4


class FilledLog(LogManager):
    """The log, as long as the paper says (FL1-FL5)."""

    _owed = 0

    def append(
        self,
        kind: int,
        flags: int,
        urid: int,
        previous: int,
        page_set: int,
        page: int,
        body: bytes | bytearray,
        rest: bytes = b"",
    ) -> int:
        """As the log manager does, and what is owed for it behind it (FL2)."""
        rba = super().append(kind, flags, urid, previous, page_set, page, body, rest)
        if kind in FILLED:
            ends = kind == Kind.COMMIT or (not urid and kind != Kind.FREE)
            self._owed += _cost(kind, body) + (UNIT if ends else 0) - (self.end - rba)
            if self._owed >= HEADER_LENGTH:
                self._fill()
        return rba

    def append_run(
        self, kind: int, flags: int, urid: int, previous: int, page_set: int, changes: Iterable[PageChange]
    ) -> list[int]:
        """One by one, as many as need nothing written first, fillers included (J12)."""
        rbas: list[int] = []
        for page, head, tail in changes:
            if self.end + HEADER_LENGTH + len(head) + len(tail) + PUT > self._stop:
                break
            previous = self.append(kind, flags, urid, previous, page_set, page, head, tail)
            rbas.append(previous)
        return rbas

    def _fill(self) -> None:
        owed, self._owed = self._owed, 0
        if self.ready or self.end < self._copied_at:  # FL3
            super().append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(owed - HEADER_LENGTH))
            self.records -= 1  # FL4
            if self.served.task is not None:
                self.served.task.logged.records -= 1


def _cost(kind: int, body: bytes | bytearray) -> int:
    """What a record costs in the paper, its share of the message included and its unit's end not (FL1)."""
    if kind == Kind.INSERT:
        return PUT + _share(body)
    if kind == Kind.TEXT:
        return FURTHER_PAGE + len(body)
    return GET if kind == Kind.DELETE else 0


def _share(body: bytes | bytearray) -> int:
    """How much of a message is in the record that begins with its descriptor (Z1, Z2)."""
    record = StoredRecord(INSERTION.size, *RECORD.unpack_from(body, INSERTION.size))
    described = RECORD_LENGTH + record.descriptor_length + REFERENCE * record.text_pages
    return min(record.body_length, record.stored_length - described)


BY_NAME: dict[str, type[LogManager]] = {"least": LogManager, "mp16": FilledLog}
"""How much space a log takes (FL1)."""
