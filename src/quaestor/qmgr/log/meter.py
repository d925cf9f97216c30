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
from operator import itemgetter
from typing import Final

from quaestor.clock import Clock, tod_from_us, tod_of_ns
from quaestor.smf.sections.log import LogIo, LogStatistics
from quaestor.storage.log_files import CI

SINGLE: Final = 0
MULTIPLE: Final = 1
"""Kinds of log I/O: one CI, several CIs."""

NOTES_MAX: Final = 64
NOBODY: Final = -1
Note = tuple[int, int, int, int, int]
"""What was written (from one RBA up to another, or 0 and 0); since when somebody waited for that (NOBODY: it was forced
for others, 0: nobody asked for it), when an I/O began (0: none), and when both ended, in nanoseconds."""

Took = list[tuple[int, int]]
"""How long each took, and when it ended."""

_took: Final = itemgetter(0)


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
        self.notes.append((start, upto, 0, since_ns, now_ns))
        if upto <= self.bootstrap_at:
            return False
        self.set_bootstrap_at(upto)
        return True

    def synced(self, since_ns: int, now_ns: int) -> None:
        """What was written last was made durable by a request of its own."""
        self.notes.append((0, 0, 0, since_ns, now_ns))

    def suspended(self, *since_ns: int) -> None:
        """Those who waited for a force, each since its own time (or NOBODY), need wait no longer."""
        notes, now_ns = self.notes, self._now_ns()
        for since in since_ns:
            if since > 0:
                notes.append((0, 0, since, 0, now_ns))
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
            again, forced, kind, begun = 0, 0, self._kind, self._cis_begun
            written: tuple[Took, Took] = ([], [])
            waited: tuple[Took, Took] = ([], [])
            for start, upto, since_ns, began_ns, ended_ns in notes:
                if upto:
                    first, last = start // CI, (upto - 1) // CI
                    if first == last < begun and upto % CI:  # as mostly: a record behind others of its CI
                        again, kind = again + 1, SINGLE
                    else:
                        kind, begun = self._count(first, last, upto)
                    if since_ns:
                        forced += 1
                if began_ns:
                    written[kind].append((ended_ns - began_ns, ended_ns))
                if since_ns > 0:
                    waited[kind].append((ended_ns - since_ns, ended_ns))
            self._kind = kind
            self._stats.logger_calls += forced
            self._count_again(again)
            for kind in (SINGLE, MULTIPLE):
                self._add_writes(kind, written[kind])
                self._add_waits(self._stats.copies[0].kinds[kind], waited[kind])

    def _count_again(self, times: int) -> None:
        """So many writes of nothing but the current CI, each a rewrite (LM1)."""
        stats, cis = self._stats, self._copies * times
        stats.serial_rewrites += cis
        stats.cis_written += cis
        stats.log_ios += cis
        self._requests[SINGLE] += times
        self._cis[SINGLE] += times

    def _count(self, first: int, last: int, upto: int) -> tuple[int, int]:
        """Requests and CIs of one write (LM1); gives its kind and how many CIs have been begun."""
        stats, copies, begun = self._stats, self._copies, self._cis_begun
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
            self._requests[MULTIPLE] += ios
            self._cis[MULTIPLE] += many
        self._cis_begun = max(begun, last + 1)
        return (MULTIPLE if many else SINGLE), self._cis_begun

    def _add_writes(self, kind: int, took: Took) -> None:
        total, longest, longest_at = _reckoned(took)
        for copy in range(self._copies):  # LM2
            figures = self._stats.copies[copy].kinds[kind]
            figures.ios += self._requests[kind]
            figures.cis += self._cis[kind]
            figures.io_elapsed += total
            if longest > figures.longest_io:
                figures.longest_io, figures.longest_io_at = longest, self._stamp(longest_at)
        self._requests[kind] = self._cis[kind] = 0

    def _add_waits(self, figures: LogIo, took: Took) -> None:
        total, longest, longest_at = _reckoned(took)
        self._stats.suspensions += len(took)
        figures.suspended += total
        if longest > figures.longest_suspension:
            figures.longest_suspension, figures.longest_suspension_at = longest, self._stamp(longest_at)

    def _stamp(self, monotonic_ns: int) -> int:
        """The time of day of a moment on the monotonic clock."""
        return tod_from_us(self._clock.now_us() - (self._now_ns() - monotonic_ns) // 1000)


def _reckoned(took: Took) -> tuple[int, int, int]:
    """How long all of them took, how long the longest did, in units of the time of day, and when that one ended."""
    longest_ns, longest_at = max(took, key=_took, default=(0, 0))
    return tod_of_ns(sum(map(_took, took))), tod_of_ns(longest_ns), longest_at
