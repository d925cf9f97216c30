"""Dump files: SMF records on disk, one file after the other.

Rules
  DF1 Records are appended whole, each behind its RDW; a file is named after the queue manager and the time of its first
      record, to the microsecond: a later one than that of the file before it, so that names are in the order of the
      files. A new one begins when a file is large or old enough; the oldest are deleted.
  DF2 A file that cannot be written (no space, no directory) harms nobody: records wait in memory, up to a limit, and
      the oldest are lost beyond it. That this happens, and that it has ended, is said once each, with how many were
      lost.
  DF3 A record that was written in part is written again at the same place, so that what follows can be read.
  DF4 What has been handed to the operating system survives the end of the process; `sync` makes it survive more.

Called by the statistics manager, without the engine latch.  Calls the disk it was given.
"""

from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.statistics.settings import TraceSettings
from quaestor.storage.disk import Disk, File

SUFFIX = ".smf"
HELD_BYTES = 8 << 20


class DumpFiles:
    """The dump files of one queue manager (DF1 to DF4)."""

    def __init__(
        self, queue_manager: str, open_disk: Callable[[], Disk], settings: TraceSettings, operator_log: OperatorLog
    ) -> None:
        self._prefix, self._open_disk, self._settings = f"{queue_manager}.", open_disk, settings
        self._operator_log = operator_log
        self._disk: Disk | None = None
        self._file: File | None = None
        self._began_us = self._named_us = self._at = 0
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._trouble = ""
        self.written = self.lost = 0

    def write(self, records: Iterable[bytes], now_us: int) -> None:
        """Append records, with those that could not be written before (DF1, DF2)."""
        for record in records:
            self._held.append(record)
            self._held_bytes += len(record)
        if not self._held:
            return
        try:
            while self._held:
                self._append(now_us)
        except OSError as error:
            self._say_trouble(error)
            self._limit()
        else:
            self._say_well()

    def _append(self, now_us: int) -> None:
        """Write what is held, as much as the file may take."""
        file = self._current(now_us)
        room, some = max(self._settings.file_bytes - self._at, 1), 0
        batch = []
        for record in self._held:
            batch.append(record)
            some += len(record)
            if some >= room:
                break
        file.write(self._at, b"".join(batch))  # DF3
        self._at += some
        self._held_bytes -= some
        self.written += len(batch)
        for _ in batch:
            self._held.popleft()

    def _current(self, now_us: int) -> File:
        age_us = now_us - self._began_us
        if self._file is not None and (
            self._at >= self._settings.file_bytes or age_us >= self._settings.file_s * 1_000_000
        ):
            self.close()
        if self._file is None:
            self._begin(now_us)
        if self._file is None:
            raise AssertionError("a file was begun")
        return self._file

    def _begin(self, now_us: int) -> None:
        if self._disk is None:
            self._disk = self._open_disk()
        self._named_us = max(now_us, self._named_us + 1)
        while self._disk.exists(name := self._name(self._named_us)):
            self._named_us += 1
        self._file, self._at, self._began_us = self._disk.create(name, 0), 0, now_us
        for old in self.names()[: -self._settings.files]:
            self._disk.delete(old)

    def _name(self, us: int) -> str:
        return f"{self._prefix}{datetime.fromtimestamp(us / 1_000_000, UTC):%Y%m%dT%H%M%S.%f}{SUFFIX}"

    def names(self) -> list[str]:
        """The dump files there are, oldest first."""
        if self._disk is None:
            return []
        return [name for name in self._disk.names(self._prefix) if name.endswith(SUFFIX)]

    def sync(self) -> None:
        """Make what was written survive a power cut (DF4)."""
        try:
            if self._file is not None:
                self._file.sync()
        except OSError as error:
            self._say_trouble(error)

    def close(self) -> None:
        """End the current file."""
        self.sync()
        if self._file is not None:
            self._file.close()
            self._file = None

    def forget(self) -> None:
        """In a child made by fork: the file is another process's."""
        self._file = None
        self._held.clear()
        self._held_bytes = 0

    # -- when it cannot be written, rule DF2

    def _limit(self) -> None:
        while self._held_bytes > HELD_BYTES:
            self._held_bytes -= len(self._held.popleft())
            self.lost += 1

    def _say_trouble(self, error: OSError) -> None:
        if not self._trouble:
            self._trouble = str(error)
            text = "SMF records cannot be written; they wait in memory, the oldest are lost"
            self._operator_log.say("CSQW133E", text, error=self._trouble)

    def _say_well(self) -> None:
        if self._trouble:
            self._trouble = ""
            self._operator_log.say("CSQW134I", "SMF records are written again", lost=self.lost)
