"""Counting what is written to the log, as the papers count it (J7).

Rules
  LM1 A CI that was begun by an earlier write is written again: a rewrite. Full CIs go in groups of at most `ci_per_io`,
      the current one by itself.
  LM2 Both copies are written by the same request, so each took as long.
  LM3 A force costs a commit its time, so it leaves notes (what was written, how long it took, who waited since when)
      which are reckoned up by the dozen.
  LM4 Whoever reads the figures has the notes reckoned up first (`settle`).

Called by the log manager.  Counts into QJST.
"""

from _thread import allocate_lock
from typing import Final

from quaestor.clock import Clock, tod_from_us, tod_of_ns
from quaestor.smf.sections.log import LogIo, LogStatistics
from quaestor.storage.log_files import CI

SINGLE: Final = 0
MULTIPLE: Final = 1
"""Kinds of log I/O: one CI, several CIs."""

NOTES_MAX: Final = 64
SYNC: Final = -1
WAIT: Final = -2
Note = tuple[int, int, int, int]
"""What was written (from one RBA up to another), or SYNC or WAIT and 0; since when and until when, in nanoseconds."""

Sums = tuple[int, int, int, int]
"""How many, how long together, the longest, when that ended."""

NONE: Sums = (0, 0, 0, 0)


class LogMeter:
    """The figures of log I/O (LM1-LM4)."""

    def __init__(self, stats: LogStatistics, copies: int, ci_per_io: int, buffers: int, clock: Clock) -> None:
        self._stats, self._copies, self._ci_per_io, self._buffers = stats, copies, ci_per_io, buffers
        self._clock, self._now_ns = clock, clock.monotonic_ns
        self._cis_begun = self._records = 0
        self.bootstrap_at = 0
        self._kind = SINGLE
        self._requests, self._cis = [0, 0], [0, 0]  # by kind, not yet in the figures
        self.notes: list[Note] = []
        self._settling = allocate_lock()

    def begin(self, end: int) -> None:
        """The log goes on at this RBA."""
        self._cis_begun = (end + CI - 1) // CI
        self.set_bootstrap_at(end)

    # --- noting, while somebody waits ---------------------------------------------------------------------------------

    def wrote(self, start: int, upto: int, since_ns: int, now_ns: int) -> bool:
        """Bytes from one RBA up to another were written; whether the bootstrap data set is due to hear of it."""
        self.notes.append((start, upto, since_ns, now_ns))
        if upto <= self.bootstrap_at:
            return False
        self.set_bootstrap_at(upto)
        return True

    def synced(self, since_ns: int, now_ns: int) -> None:
        """What was written last was made durable by a request of its own."""
        self.notes.append((SYNC, 0, since_ns, now_ns))

    def suspended(self, *since_ns: int) -> None:
        """Those who waited for a force, each since its own time (0: nobody), need wait no longer."""
        notes, now_ns = self.notes, self._now_ns()
        for since in since_ns:
            if since:
                notes.append((WAIT, 0, since, now_ns))
        if len(notes) > NOTES_MAX:
            self.settle()

    def set_bootstrap_at(self, written: int) -> None:
        """It is due when a write reaches the last CI before so many CIs are full again."""
        self.bootstrap_at = ((written // CI // self._buffers + 1) * self._buffers - 1) * CI

    # --- reckoning ----------------------------------------------------------------------------------------------------

    def logged(self, records: int) -> None:
        """So many records have been logged since the start."""
        with self._settling:
            self._stats.writes_nowait += records - self._records
            self._records = records

    def settle(self) -> None:
        """Reckon up what was noted (LM4)."""
        with self._settling:
            notes = self.notes[:]
            del self.notes[: len(notes)]
            written, waited = [NONE, NONE], [NONE, NONE]
            for start, upto, since_ns, until_ns in notes:
                if upto:
                    self._count(start // CI, (upto - 1) // CI, upto)
                kind, ns = self._kind, until_ns - since_ns
                sums = waited if start == WAIT else written
                number, total_ns, longest_ns, longest_at = sums[kind]
                if ns > longest_ns:
                    longest_ns, longest_at = ns, until_ns
                sums[kind] = (number + 1, total_ns + ns, longest_ns, longest_at)
            for kind in (SINGLE, MULTIPLE):
                self._add_writes(kind, written[kind])
                self._add_waits(self._stats.copies[0].kinds[kind], waited[kind])

    def _count(self, first: int, last: int, upto: int) -> None:
        """Requests and CIs of one write (LM1)."""
        stats, copies, begun = self._stats, self._copies, self._cis_begun
        self._kind = SINGLE
        if first == last and upto % CI:
            if first < begun:
                stats.serial_rewrites += copies
            else:
                stats.buffers_filled += 1
                self._cis_begun = last + 1
            stats.cis_written += copies
            stats.log_ios += copies
            self._requests[SINGLE] += 1
            self._cis[SINGLE] += 1
            return
        rewrites = 1 if first < begun else 0
        new = last + 1 - max(first, begun)
        partial = 1 if upto % CI and new else 0
        many = new - partial
        ios = -(-many // self._ci_per_io)
        stats.buffers_filled += new
        stats.cis_written += copies * (rewrites + new)
        stats.serial_rewrites += copies * rewrites
        stats.log_ios += copies * (rewrites + ios + partial)
        self._requests[SINGLE] += rewrites + partial
        self._cis[SINGLE] += rewrites + partial
        if many:
            self._kind = MULTIPLE
            self._requests[MULTIPLE] += ios
            self._cis[MULTIPLE] += many
        self._cis_begun = max(begun, last + 1)

    def _add_writes(self, kind: int, sums: Sums) -> None:
        _, total_ns, longest_ns, longest_at = sums
        total, longest = tod_of_ns(total_ns), tod_of_ns(longest_ns)
        for copy in range(self._copies):  # LM2
            figures = self._stats.copies[copy].kinds[kind]
            figures.ios += self._requests[kind]
            figures.cis += self._cis[kind]
            figures.io_elapsed += total
            if longest > figures.longest_io:
                figures.longest_io, figures.longest_io_at = longest, self._stamp(longest_at)
        self._requests[kind] = self._cis[kind] = 0

    def _add_waits(self, figures: LogIo, sums: Sums) -> None:
        number, total_ns, longest_ns, longest_at = sums
        longest = tod_of_ns(longest_ns)
        self._stats.suspensions += number
        figures.suspended += tod_of_ns(total_ns)
        if longest > figures.longest_suspension:
            figures.longest_suspension, figures.longest_suspension_at = longest, self._stamp(longest_at)

    def _stamp(self, monotonic_ns: int) -> int:
        """The time of day of a moment on the monotonic clock."""
        return tod_from_us(self._clock.now_us() - (self._now_ns() - monotonic_ns) // 1000)
