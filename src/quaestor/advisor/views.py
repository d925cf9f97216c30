"""What the rules look at: rows of one grain, made from the raw tables of SMF or from settings.

Rules
  V1  A view says in one sentence what one of its rows is, which columns name the object it is about, and which columns
      of which structures it needs; nothing else is read from a dump or a lake.
  V2  Every row has `system`, `queue_manager`, `release`, `local_time` (the end of what it covers) and `seconds` (how
      long that was; not known where the record does not say).
  V3  A view that compares (with a baseline, with the interval before) has nothing to compare in a single interval:
      such columns are then not known, and rules on them do not fire.
  V4  A queue manager is known by its name and its system: two systems may each have a QM01, which share nothing.
  V5  Records of one interval are built within seconds of each other, and they are many where objects are: what is
      counted over an interval is counted over all of them.

Called by evaluate and by catalog.  Calls rows, middles, and smf for the schemas.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quaestor.advisor.rows import Array, Floats, Groups, Rows, as_of, looked_up, of_column, of_table, ratio, unknown
from quaestor.pipeline.middles import middles
from quaestor.smf.arrow_schema import schema
from quaestor.smf.catalog import SECTIONS

Tables = Mapping[str, pa.Table]
RECORD = ("system", "queue_manager", "release", "queue_sharing_group", "local_time", "interval_us")
LONGEST_INTERVAL_S = 100 * 366 * 86_400  # what is longer was damaged, and no date lies so far back
BUILT_TOGETHER_US = 5_000_000  # records of one interval are built within seconds of each other
BETWEEN_S = 60.0  # an interval begins when the one before ends; a quick restart takes longer
DAY_S = 86_400.0  # what is stored for later is processed within a day


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Rows of one grain (V1). A plain view shows a structure as it is and takes what columns the rules ask for."""

    name: str
    grain: str
    subject: str
    make: Callable[[Tables], Rows]
    needs: Mapping[str, tuple[str, ...]]
    plain: str = ""
    settings_kind: str = field(default="")


def empty(structure: str) -> pa.Table:
    """A structure's table without rows."""
    return schema(SECTIONS[structure]).empty_table()


def table_of(tables: Tables, structure: str) -> pa.Table:
    found = tables.get(structure)
    return empty(structure) if found is None else found


def base(table: pa.Table) -> Rows:
    """The flat columns of a structure's table, and how long the interval was (V2)."""
    rows = of_table(table)
    seconds = rows.interval_us / 1e6
    return rows.plus(seconds=np.where(seconds <= LONGEST_INTERVAL_S, seconds, np.nan))


def owner(rows: Rows) -> list[Array]:
    """The columns that say whose a row is (V4)."""
    return [rows.system, rows.queue_manager]


def together(rows: Rows) -> Array:
    """A number for each row, the same for rows of one queue manager whose records were built together (V5)."""
    whose = Groups(owner(rows)).of_row
    order = np.lexsort((rows.local_time, whose))
    times, reach = rows.local_time[order], np.fmin(BUILT_TOGETHER_US, rows.seconds[order] * 1e6 / 2)
    apart = np.diff(times) > reach[1:].astype("timedelta64[us]")
    begins = np.concatenate([[False], apart | (np.diff(whose[order]) != 0)])[: len(order)]
    made = np.empty(len(order), np.intp)
    made[order] = np.cumsum(begins)
    return made


def _plain(structure: str, grain: str, subject: str, *keys: str) -> View:
    return View(
        structure,
        grain,
        subject,
        lambda tables: base(table_of(tables, structure)),
        {structure: (*RECORD, *keys)},
        plain=structure,
    )


# --- the log manager -------------------------------------------------------------------------------------------------


def _log(tables: Tables) -> Rows:
    """QJST with the figures of each log copy, and the sum of the group's log beside it."""
    table = table_of(tables, "QJST")
    rows = base(table)
    made = _copies(table["copies"], len(rows)) if "copies" in table.column_names else {}
    return rows.plus(**made, group_log_share=_share_of_group(rows))


def _copies(column: pa.ChunkedArray, size: int) -> dict[str, Array]:
    """I/Os and their mean time by copy; [copy][single page, several pages]."""
    copies = column.combine_chunks()
    whole = np.asarray(pc.fill_null(pc.equal(pc.list_value_length(copies), 2), False).to_numpy(zero_copy_only=False))
    ios = np.full((size, 2, 2), np.nan)
    elapsed = ios.copy()
    if whole.any():
        kinds = copies.filter(pa.array(whole)).flatten().field("kinds").flatten()
        ios[whole] = of_column(kinds.field("ios")).reshape(-1, 2, 2)
        elapsed[whole] = of_column(kinds.field("io_elapsed_us")).reshape(-1, 2, 2)
    made: dict[str, Array] = {}
    for copy in (0, 1):
        made[f"ios_copy_{copy + 1}"] = ios[:, copy].sum(axis=1)
        made[f"io_us_copy_{copy + 1}"] = ratio(elapsed[:, copy].sum(axis=1), ios[:, copy].sum(axis=1))
        made[f"pages_ios_copy_{copy + 1}"] = ios[:, copy, 1]
        made[f"pages_io_us_copy_{copy + 1}"] = ratio(elapsed[:, copy, 1], ios[:, copy, 1])
    return made


def _share_of_group(rows: Rows) -> Floats:
    """The queue manager's log against an even spread over its queue-sharing group in the same hour; 1 is even."""
    if "buffers_filled" not in rows or not len(rows):
        return unknown(len(rows))
    hour = middles(rows.local_time, rows.seconds).astype("datetime64[h]")
    grouped = np.array([bool(name) for name in rows.queue_sharing_group])
    group = Groups([rows.queue_sharing_group, hour])
    mine = Groups([rows.queue_sharing_group, hour, rows.queue_manager])
    members = group.distinct(rows.queue_manager)[group.of_row]
    own, all_of_it = mine.sum(rows.buffers_filled)[mine.of_row], group.sum(rows.buffers_filled)[group.of_row]
    return np.where(grouped & (members > 1), ratio(own * members, all_of_it), np.nan)


# --- the buffer manager ----------------------------------------------------------------------------------------------


def _pools(tables: Tables) -> Rows:
    """QPST with the interval before, a gap in front of the interval, and the checkpoints taken in it (V3).

    A queue manager that ran on another system before was started here.
    """
    rows = base(table_of(tables, "QPST"))
    before = before_in_time([*owner(rows), rows.buffer_pool], rows.local_time)
    anywhere = before_in_time([rows.queue_manager, rows.buffer_pool], rows.local_time)
    begun = rows.local_time - (np.nan_to_num(rows.seconds) * 1e6).astype("timedelta64[us]")
    gap_s = (begun - _earlier_times(rows.local_time, before)).astype("timedelta64[us]").astype(np.float64) / 1e6
    after_gap = np.where(before >= 0, gap_s > np.minimum(rows.seconds / 2, BETWEEN_S), anywhere >= 0)
    return rows.plus(
        after_gap=after_gap.astype(np.float64),
        buffers_before=looked_up(rows.buffers, before),
        log_checkpoints=_checkpoints(rows, tables),
        written_in_day=_in_day(rows.pages_written, Groups([*owner(rows), rows.buffer_pool]).of_row, rows.local_time),
        above_the_bar=_bit(rows, 0x80000000),
        page_fixed=_bit(rows, 0x40000000),
    )


def _checkpoints(rows: Rows, tables: Tables) -> Floats:
    """The checkpoints of the log record that was built with each row."""
    log = base(table_of(tables, "QJST"))
    both = pairs(owner(rows), owner(log))
    return looked_up(log.checkpoints, built_with(both[0], rows.local_time, both[1], log.local_time))


def _in_day(counts: Floats, objects: Array, ends: Array) -> Floats:
    """What was counted in the day that ends with each row; its own count where its time is not known."""
    there = ~np.isnat(ends)
    if not there.any():
        return counts
    end_s = np.where(there, (ends - ends[there].min()).astype("timedelta64[us]").astype(np.float64) / 1e6, 0.0)
    order = np.lexsort((end_s, objects))
    at_s = (objects * (end_s.max() + 2 * DAY_S) + end_s)[order]  # so that one search serves all objects
    upto = np.concatenate([[0.0], np.cumsum(np.where(there, np.nan_to_num(counts), 0.0)[order])])
    made = np.empty(len(order))
    made[order] = upto[np.searchsorted(at_s, at_s, "right")] - upto[np.searchsorted(at_s, at_s - DAY_S, "right")]
    return np.where(there & ~np.isnan(counts), made, counts)


def _earlier_times(times: Array, before: Array) -> Array:
    return np.where(before >= 0, times[np.maximum(before, 0)] if len(times) else times, times)


def _bit(rows: Rows, bit: int) -> Floats:
    known = ~np.isnan(rows.location)
    return np.where(known, (np.where(known, rows.location, 0).astype(np.int64) & bit) != 0, np.nan)


def built_with(keys: Array, times: Array, other_keys: Array, other_times: Array) -> Array:
    """For each row the index of the other row of its key that was built with it, for the same interval; -1 for none."""
    at = as_of(keys, times, other_keys, other_times, tolerance_us=BUILT_TOGETHER_US, earlier=False)
    if not len(other_times):
        return at
    near = other_times[np.maximum(at, 0)] - times <= np.timedelta64(BUILT_TOGETHER_US, "us")
    return np.where(near, at, -1)


def before_in_time(keys: list[Array], times: Array) -> Array:
    """The index of the row with the same keys that comes before in time; -1 for the first."""
    if not len(times):
        return np.empty(0, np.intp)
    group = Groups(keys).of_row
    order = np.lexsort((times, group))
    before = np.full(len(times), -1, np.intp)
    same = group[order][1:] == group[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    return before


def _pool_range(tables: Tables) -> Rows:
    """One row for each pool over all intervals read: the lowest stealable share of all, and how many they were."""
    rows = base(table_of(tables, "QPST"))
    group = Groups([*owner(rows), rows.buffer_pool])
    ends = _latest(rows.local_time, group)
    since_s = (ends[group.of_row] - rows.local_time).astype("timedelta64[us]").astype(np.float64) / 1e6
    return rows.take(group.first).plus(
        local_time=ends,
        seconds=group.highest(np.where(np.isnat(rows.local_time), np.nan, since_s + rows.seconds)),
        intervals=group.counts,
        stealable_low_share=group.lowest(ratio(rows.stealable_low, rows.buffers)),
        new_pages=group.sum(rows.get_new_page),
        buffers=group.highest(rows.buffers),
    )


def _latest(times: Array, group: Groups) -> Array:
    made = group.highest(times.astype(np.int64).astype(np.float64))
    return made.astype(np.int64).astype("datetime64[us]")


# --- page sets and their queues --------------------------------------------------------------------------------------


def _page_sets(tables: Tables) -> Rows:
    """QIS1 with the depth of the page set's queues at the same time, where queue statistics are kept, and the
    checkpoints taken in the interval.
    """
    rows = base(table_of(tables, "QIS1"))
    queues = base(table_of(tables, "QQST"))
    group = Groups([*owner(queues), queues.page_set, together(queues)])
    own = queues.take(group.first)
    depth, size = group.sum(queues.depth), group.highest(queues.message_size_average)
    both = pairs([*owner(rows), rows.page_set], [*owner(own), own.page_set])
    at = built_with(both[0], rows.local_time, both[1], own.local_time)
    return rows.plus(
        depth=looked_up(depth, at),
        message_size=looked_up(size, at),
        used_share=ratio(rows.pages - rows.pages_unused, rows.pages),
        log_checkpoints=_checkpoints(rows, tables),
    )


def pairs(left: list[Array], right: list[Array]) -> tuple[Array, Array]:
    """One key for several columns, the same on both sides."""
    size = len(left[0])
    both = Groups([np.concatenate([mine, theirs]) for mine, theirs in zip(left, right, strict=True)]).of_row
    return both[:size], both[size:]


POOL_FIELDS = ("buffer_pool", "buffers", "stealable_low", "get_new_page", "location", "pages_written")
VIEWS = (
    View("QJST", "the log manager of a queue manager over one interval", "log", _log, {"QJST": RECORD}, plain="QJST"),
    View(
        "QPST",
        "one buffer pool over one interval",
        "buffer pool {buffer_pool:.0f}",
        _pools,
        {"QPST": (*RECORD, *POOL_FIELDS), "QJST": (*RECORD, "checkpoints")},
        plain="QPST",
    ),
    View(
        "pool_range",
        "one buffer pool over all intervals read",
        "buffer pool {buffer_pool:.0f}",
        _pool_range,
        {"QPST": (*RECORD, *POOL_FIELDS)},
    ),
    View(
        "QIS1",
        "one page set over one interval",
        "page set {page_set:.0f}",
        _page_sets,
        {
            "QIS1": (*RECORD, "page_set", "pages", "pages_unused"),
            "QQST": (*RECORD, "page_set", "depth", "message_size_average"),
            "QJST": (*RECORD, "checkpoints"),
        },
        plain="QIS1",
    ),
    _plain("QMST", "the message manager of a queue manager over one interval", "message manager"),
    _plain("QIST", "the data manager of a queue manager over one interval", "data manager"),
    _plain("QLST", "the lock manager of a queue manager over one interval", "lock manager"),
    _plain("Q5ST", "the Db2 manager of a queue manager over one interval", "Db2 manager"),
    _plain("QESD", "one shared message data set over one interval", "SMDS of structure {structure}", "structure"),
    _plain("QSST", "the storage manager of a queue manager over one interval", "storage"),
    _plain("QSRS", "the storage of a queue manager at the end of an interval", "storage"),
    _plain("QQST", "one queue over one interval", "queue {queue}", "queue"),
    _plain("QCCT", "the channel initiator over one interval", "channel initiator"),
)
