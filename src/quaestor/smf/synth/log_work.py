"""What the log manager counts: QJST.

Rules
  J1  Persistent work of the tasks is all there is, plus what the queue manager logs for itself: WRNW, LSUS and BFFL
      follow the ledger (MP1B T-15).
  J2  CIWR = copies x BFFL + SERW (F-42); BFWR = LSUS + THRW (F-43); both hold in every interval.
  J3  I/Os are single-page (part-filled pages and their rewrites) or multi-page; per copy they add up to LOGW and
      their CIs to CIWR.
  J4  A checkpoint comes after every LOGLOAD log writes; an active log that is full is offloaded and archived.
  J5  Reads of the log happen only for units that back out.

Called by statistics.  Calls ledger, incidents.
"""

import numpy as np
from numpy.typing import NDArray

from quaestor.layout import CP1047
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile import PAGE_BYTES
from quaestor.smf.synth.sheet import Figures, tod, tod_units

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]

_INTERNAL_WRITES_PER_HOUR, _INTERNAL_FORCES_PER_HOUR, _INTERNAL_BYTES_PER_HOUR = 120, 24, 60_000
_REWRITTEN_SHARE = 0.45  # of the forces write a page again; the rest share an I/O (MP1B ORACLE 30: 0.61)
_MULTI_PAGE_SHARE, _PAGES_PER_MULTI = 0.6, 5
_MULTI_PAGE_SLOWDOWN = 1.8
_SECOND_COPY_SLOWDOWN = 1.04
_LOG_NAMES = ("DS01", "DS02", "DS03", "DS04")
_DS_BYTES = 1 << 20


def log_figures(conditions: Conditions, ledger: Ledger, rng: np.random.Generator) -> Figures:
    """QJST columns of one day (J1, J2, J4, J5)."""
    log, hours = conditions.manager.log, conditions.profile.interval_minutes / 60
    writes = ledger.total("task", "log_writes") + round(_INTERNAL_WRITES_PER_HOUR * hours)
    forces = ledger.total("task", "log_forces") + round(_INTERNAL_FORCES_PER_HOUR * hours)
    logged = ledger.total("task", "log_bytes") + round(_INTERNAL_BYTES_PER_HOUR * hours)
    filled = -(-logged // PAGE_BYTES)
    rewrites = np.minimum(forces, np.rint(forces * _REWRITTEN_SHARE).astype(np.int64))
    threshold = _threshold_writes(conditions, ledger)
    checkpoints = _every(writes, log.logload, rng) + _planted_checkpoints(conditions)
    switches = _every(filled, log.active_log_mb * _DS_BYTES // PAGE_BYTES, rng)
    multi = (filled * _MULTI_PAGE_SHARE).astype(np.int64) // _PAGES_PER_MULTI
    single = filled - multi * _PAGES_PER_MULTI + rewrites
    return {
        "writes_nowait": writes,
        "writes_force": rng.poisson(2, ledger.intervals),
        "waits_no_buffer": _planted(conditions, "log_buffers_short", 40, rng),
        "buffers_paged_in": _planted(conditions, "log_buffers_paged", 15, rng),
        "buffers_filled": filled,
        "logger_calls": forces + threshold,
        "suspensions": forces,
        "threshold_writes": threshold,
        "serial_rewrites": log.copies * rewrites,
        "cis_written": log.copies * (filled + rewrites),
        "log_ios": log.copies * (single + multi),
        "checkpoints": checkpoints,
        "bsds_accesses": np.rint((filled + rewrites) / (log.outbuff_kb / 4)).astype(np.int64) + 20 * switches,
        "archive_write_allocations": 2 * switches,
        "cis_offloaded": switches * (log.active_log_mb * _DS_BYTES // PAGE_BYTES),
        "new_copy1_logs": switches,
        "new_copy2_logs": switches * (log.copies - 1),
        "single_page_ios": single,  # not columns of QJST: for its I/O figures
        "multi_page_ios": multi,
        **_reads(conditions, ledger, rng),
    }


def _every(counted: Counts, step: int, rng: np.random.Generator) -> Counts:
    """How often a running count passes a multiple of `step` in each interval (J4)."""
    passed = (np.cumsum(counted) + int(rng.integers(0, step))) // step
    return np.diff(passed, prepend=0)


def _planted_checkpoints(conditions: Conditions) -> Counts:
    hours = conditions.profile.interval_minutes / 60
    severity = conditions.severity("frequent_checkpoints")
    return np.where(severity > 0, np.ceil(24 * hours * severity), 0).astype(np.int64)


def _planted(conditions: Conditions, kind: str, usual: float, rng: np.random.Generator) -> Counts:
    severity = conditions.severity(kind)
    return np.where(severity > 0, 1 + rng.poisson(usual * severity), 0).astype(np.int64)


def _threshold_writes(conditions: Conditions, ledger: Ledger) -> Counts:
    """Messages so long that they fill WRTHRSH buffers before their commit forces the log."""
    limit = conditions.manager.log.wrthrsh * PAGE_BYTES
    found = np.zeros(ledger.intervals, np.int64)
    for application in conditions.profile.applications_on(conditions.manager):
        for use in application.uses:
            mix = conditions.profile.mix(use)
            share = sum(share for size, share in zip(mix.sizes, mix.shares, strict=True) if size >= limit)
            if share and use.persistent:
                puts = ledger.sum("queue", use.queue, "puts_persistent", "put1s_persistent")
                found = np.maximum(found, np.rint(puts * share).astype(np.int64))
    return found


def _reads(conditions: Conditions, ledger: Ledger, rng: np.random.Generator) -> Figures:
    """Log reads: what backs out comes from the buffers, old units from active and archive logs (J5)."""
    archive = conditions.severity("archive_reads")
    tape = conditions.severity("tape_units_short")
    old = np.where(archive + tape > 0, 1 + rng.poisson(60 * (archive + tape)), 0)
    mounts = np.where(tape > 0, 4 + rng.poisson(4, ledger.intervals), 0)
    return {
        "reads_from_buffer": ledger.total("task", "log_reads"),
        "reads_from_active": np.where(archive > 0, 20 + 3 * old, 0),
        "reads_from_archive": old,
        "archive_read_allocations": np.where(old > 0, 1 + old // 40, 0),
        "reads_delayed_tape_volume": np.where(tape > 0, 1 + rng.poisson(8 * tape), 0),
        "reads_delayed_unavailable": np.where(tape > 0, 1 + rng.poisson(5 * tape), 0),
        "tape_mounts_attempted": mounts,
        "tape_mounts_successful": mounts // 2,
    }


def fill_log_ios(
    place: NDArray[np.void], figures: Figures, conditions: Conditions, end_us: Counts, rng: np.random.Generator
) -> None:
    """The I/O figures by copy and kind (J3)."""
    log = conditions.manager.log
    slow = conditions.log_slowdown()
    for copy in range(log.copies):
        kinds = place["copies"]["kinds"][:, copy]
        for kind, ios, pages, factor in (
            (0, figures["single_page_ios"], 1, 1.0),
            (1, figures["multi_page_ios"], _PAGES_PER_MULTI, _MULTI_PAGE_SLOWDOWN),
        ):
            each_us = log.io_us * 0.8 * factor * (_SECOND_COPY_SLOWDOWN if copy else 1.0) * slow
            each_us = each_us * (0.95 + 0.1 * rng.random(len(ios)))
            _fill_kind(kinds[:, kind], ios, pages, each_us, end_us, rng)
        place["io_squares"][:, copy] = np.rint(
            sum(kinds[:, kind]["io_elapsed"].astype(float) / 4096 for kind in (0, 1)) * log.io_us
        )


def _fill_kind(
    place: NDArray[np.void], ios: Counts, pages: int, each_us: Numbers, end_us: Counts, rng: np.random.Generator
) -> None:
    some = ios > 0
    longest = each_us * (3 + 4 * rng.random(len(ios)))
    when = tod(end_us - rng.integers(1, 600_000_000, len(ios)))
    names = np.frombuffer(b"".join(CP1047.encode(name, 8) for name in _LOG_NAMES), "V8")
    chosen = names[rng.integers(0, len(names), len(ios))]
    place["ios"], place["cis"] = ios, ios * pages
    place["io_elapsed"], place["suspended"] = tod_units(ios * each_us), tod_units(ios * each_us * 1.08)
    for kind, stretch in (("io", 1.0), ("suspension", 1.1)):
        place[f"longest_{kind}"] = np.where(some, tod_units(longest * stretch), 0)
        place[f"longest_{kind}_at"] = np.where(some, when, np.uint64(0))
        place[f"longest_{kind}_log"][some] = chosen[some]
