"""Counting what is written to the log, as the papers count it (J7).

Rules
  LM1 A CI that was begun by an earlier write is written again: a rewrite. Full CIs go in groups of at most `ci_per_io`,
      the current one by itself.
  LM2 Both copies are written by the same request, so each took as long.
  LM3 A write of one part-filled CI, which most forces are, is counted without the general reckoning.

Called by the log manager.  Counts into QJST.
"""

from collections.abc import Sequence

from quaestor.clock import Clock, tod_from_us, tod_of_ns
from quaestor.smf.sections.log import LogStatistics
from quaestor.storage.log_files import CI

SINGLE, MULTIPLE = 0, 1
"""Kinds of log I/O: one CI, several CIs."""


class LogMeter:
    """The figures of log I/O (LM1-LM3)."""

    def __init__(self, stats: LogStatistics, copies: int, ci_per_io: int, buffers: int, clock: Clock) -> None:
        self._stats, self._copies, self._ci_per_io, self._buffers = stats, copies, ci_per_io, buffers
        self._clock = clock
        self.cis_begun = 0
        self._kind = SINGLE

    def wrote(self, start: int, upto: int, took_ns: int) -> bool:
        """Bytes from one RBA up to another were written; whether the bootstrap data set is due to hear of it."""
        first, last = start // CI, (upto - 1) // CI
        if first != last or not upto % CI:
            self._wrote_many(first, last, upto, took_ns)
            return (last + 1) // self._buffers > first // self._buffers or (last + 1) % self._buffers == 0
        stats, copies = self._stats, self._copies
        if first < self.cis_begun:
            stats.serial_rewrites += copies
        else:
            stats.buffers_filled += 1
            self.cis_begun = last + 1
        stats.cis_written += copies
        stats.log_ios += copies
        self._kind = SINGLE
        self._io(SINGLE, 1, 1, took_ns)
        return (last + 1) % self._buffers == 0

    def _wrote_many(self, first: int, last: int, upto: int, took_ns: int) -> None:
        stats, copies = self._stats, self._copies
        rewrites = 1 if first < self.cis_begun else 0
        new = last + 1 - max(first, self.cis_begun)
        partial = 1 if upto % CI and new else 0
        ios = rewrites + -(-(new - partial) // self._ci_per_io) + partial
        stats.buffers_filled += new
        stats.cis_written += copies * (rewrites + new)
        stats.serial_rewrites += copies * rewrites
        stats.log_ios += copies * ios
        many = new - partial
        self._kind = MULTIPLE if many else SINGLE
        if not many:
            self._io(SINGLE, rewrites + partial, rewrites + partial, took_ns)
        else:
            if rewrites + partial:
                self._io(SINGLE, rewrites + partial, rewrites + partial, 0)
            self._io(MULTIPLE, ios - rewrites - partial, many, took_ns)
        self.cis_begun = max(self.cis_begun, last + 1)

    def synced(self, took_ns: int) -> None:
        """What was written last was made durable by a request of its own."""
        self._io(self._kind, 0, 0, took_ns)

    def _io(self, kind: int, ios: int, cis: int, took_ns: int) -> None:
        took = tod_of_ns(took_ns)
        for copy in range(self._copies):  # LM2
            figures = self._stats.copies[copy].kinds[kind]
            figures.ios += ios
            figures.cis += cis
            figures.io_elapsed += took
            if took > figures.longest_io:
                figures.longest_io, figures.longest_io_at = took, tod_from_us(self._clock.now_us())

    def suspended(self, since_ns: Sequence[int], now_ns: int) -> None:
        """Those who waited for a force, each since its own time, need wait no longer."""
        if not since_ns:
            return
        self._stats.suspensions += len(since_ns)
        figures = self._stats.copies[0].kinds[self._kind]
        for since in since_ns:
            figures.suspended += tod_of_ns(now_ns - since)
        longest = tod_of_ns(now_ns - since_ns[0])  # who came first has waited longest
        if longest > figures.longest_suspension:
            figures.longest_suspension, figures.longest_suspension_at = longest, tod_from_us(self._clock.now_us())
