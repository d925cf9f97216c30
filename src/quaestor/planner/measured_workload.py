"""What was measured, as the tables of a workload.

Rules
  Y1  Measured beats written: sizes, rates, persistence, places and times of the hour replace what a workload file says;
      what SMF does not know (DASD and machine type, coupling facility, log definitions, outages, targets) is taken from
      the file where there is one.  So are queues, channels, page sets and pools of which none was counted.
  Y5  What had to be assumed, or was left out, is said in `notes`.

Y2 to Y4 are of `measurement`.

Called by the plan's commands.  Calls quantity, workload, and cfrm for what MAXUMSGS is where nobody set it.
"""

import json
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from quaestor.planner.cfrm import MAXUMSGS_DEFAULT
from quaestor.planner.measurement import PAGE_BYTES, Measurement
from quaestor.planner.quantity import HOUR_S, QuantityError, count
from quaestor.planner.workload import WRITES_PER_MESSAGE_MAX

CFCC_ASSUMED = 22
NON_PERSISTENT = " (non-persistent)"
KINDS = dict.fromkeys(("Sender", "Server", "ClusSdr"), "sender") | dict.fromkeys(
    ("Receiver", "Requester", "ClusRcvr"), "receiver"
)
CLIENT = "SvrConn"
COUNTED = {  # the key of a workload: the column of QPST
    "buffers": "buffers",
    "stealable_low": "stealable_low",
    "stealable_now": "stealable_now",
    "get_pages": "get_page",
    "get_new_pages": "get_new_page",
    "read_ios": "page_reads",
    "set_writes": "set_writes",
    "pages_written": "pages_written",
    "write_ios": "write_ios",
    "synchronous_writes": "immediate_writes",
    "deferred_write_starts": "deferred_write_starts",
    "synchronous_thresholds": "synchronous_write_starts",
    "steals": "steals",
    "steal_contentions": "hash_chain_changes",
    "short_on_storage": "short_on_storage",
}

Tables = dict[str, Any]


def workload_tables(measured: Measurement, written: Mapping[str, Any] | None = None) -> tuple[Tables, list[str]]:
    """The tables of a workload, as a file would have them, and what must be said about them (Y1, Y5)."""
    base: Tables = dict(written or {})
    notes: list[str] = []
    flows, channels = base.get("flow", []), base.get("channel", [])
    if measured.queues:
        flows = list(_flows(measured, _named(base, "flow", "queue"), notes))
    else:
        instead = "the file's flows are taken" if flows else "there are no flows"
        notes.append(f"no queue was used in this hour, or class 3 accounting was off: {instead}")
    if measured.channels:
        channels = list(_channels(measured, _named(base, "channel", "name"), notes))
    pools = [{"number": number, "buffers": buffers} for number, buffers in measured.buffers.items()]
    counted = [_counted_pool(row) for row in measured.buffer_pools if row["buffers"] and row["seconds"]]
    tables = {
        **base,
        "title": base.get("title") or f"{measured.queue_manager}, {measured.hour:%Y-%m-%d %H:%M} to an hour later",
        "queue_manager": _queue_manager(measured, base.get("queue_manager", {}), notes),
        "log": {**base.get("log", {}), **_log(measured)},
        "targets": {**base.get("targets", {}), **_given(busy_hours=_rounded(measured.busy_hours))},
        "flow": flows,
        "page_set": list(_page_sets(measured, base)) or base.get("page_set", []),
        "buffer_pool": pools or base.get("buffer_pool", []),
        "counted_pool": counted or base.get("counted_pool", []),
        "channel": channels,
    }
    _dasd(measured, tables, notes)
    if any(flow.get("shared") for flow in flows) and "coupling_facility" not in tables:
        tables["coupling_facility"] = {"cfcc_level": CFCC_ASSUMED}
        notes.append(f"assumed: CFCC level {CFCC_ASSUMED}, for SMF does not tell it; write [coupling_facility]")
    return {name: table for name, table in tables.items() if table not in ({}, [])}, notes


def toml_text(tables: Mapping[str, Any]) -> str:
    """The tables as the text of a workload file."""
    lines = [f"{key} = {_toml(value)}" for key, value in tables.items() if not isinstance(value, (dict, list))]
    for name, table in tables.items():
        for each in table if isinstance(table, list) else [table] if isinstance(table, dict) else []:
            lines += ["", f"[[{name}]]" if isinstance(table, list) else f"[{name}]"]
            lines += [f"{key} = {_toml(value)}" for key, value in each.items()]
    return "\n".join(lines) + "\n"


def _queue_manager(measured: Measurement, written: Mapping[str, Any], notes: list[str]) -> Tables:
    longest = max((each.messages_per_commit for each in measured.queues), default=1)
    maxumsgs = longest if longest > _count(written.get("maxumsgs", MAXUMSGS_DEFAULT)) else None
    if maxumsgs:
        notes.append(f"assumed: MAXUMSGS {maxumsgs}, for a unit of work held as many messages")
    release = ".".join(measured.release.split(".")[:3]) if measured.release else None
    return {
        **written,
        "name": measured.queue_manager,
        **_given(release=release, group=measured.group or None, maxumsgs=maxumsgs),
        **({"members": measured.members} if measured.members > 1 else {}),
    }


def _flows(measured: Measurement, written: Mapping[str, Tables], notes: list[str]) -> Iterator[Tables]:
    peak = measured.peak
    used: set[str] = set()
    for queue in measured.queues:
        place = {"shared": True, "structure": queue.structure} if queue.structure else _given(page_set=queue.page_set)
        about = {
            "size": queue.message_bytes,
            "peak": _rounded(peak),
            "messages_per_commit": queue.messages_per_commit,
            **_given(life=_seconds(queue.life_s)),
            **place,
            **({"indexed": True} if queue.index_type else {}),
        }
        share = queue.persistent_share
        for persistent, part in ((True, share), (False, 1 - share)):
            if part > 0:
                name = queue.queue + (NON_PERSISTENT if not persistent and share > 0 else "")
                rate = {"rate": _rounded(queue.messages * part / measured.seconds / peak), "persistent": persistent}
                used |= {queue.queue, name}
                yield {**written.get(name, written.get(queue.queue, {})), "queue": name, **about, **rate}
    _left_out(set(written) - used, notes)


def _log(measured: Measurement) -> Tables:
    log = measured.log
    if log is None:
        return {}
    messages = sum(each.part * each.messages * each.persistent_share for each in measured.queues)  # of this log's own
    known = messages and 1 <= log.writes_nowait / messages <= WRITES_PER_MESSAGE_MAX
    return _given(copies=log.copies, writes_per_message=_rounded(log.writes_nowait / messages) if known else None)


def _dasd(measured: Measurement, tables: Tables, notes: list[str]) -> None:
    io_s = measured.log.io_s if measured.log else None
    if io_s is None:
        return
    if "dasd" in tables:
        tables["dasd"] = {**tables["dasd"], "log_io_time": _seconds(io_s)}
    else:
        notes.append(f"measured: a log write of {_seconds(io_s)}; with [dasd] type written, the plan can use it")


def _counted_pool(row: Mapping[str, Any]) -> Tables:
    """One pool in one hour; `pool 3, 09:00` names it."""
    number = row["buffer_pool"]
    about = {"name": f"pool {number}, {row['hour']:%H:%M}", "pool": number, "lasted": _seconds(row["seconds"])}
    return {**about, **_given(**{key: row[column] for key, column in COUNTED.items()})}


def _page_sets(measured: Measurement, base: Mapping[str, Any]) -> Iterator[Tables]:
    written = _named(base, "page_set", "number")
    for number, (pages, pool) in measured.page_sets.items():
        size = {"size": pages * PAGE_BYTES, "buffer_pool": pool}
        yield {**written.get(number, {}), "number": number, **size}


def _channels(measured: Measurement, written: Mapping[str, Tables], notes: list[str]) -> Iterator[Tables]:
    _left_out(set(written) - {each.channel for each in measured.channels}, notes)
    for each in measured.channels:
        kind = "svrconn" if each.kind == CLIENT else KINDS.get(each.kind)
        if kind is None:
            notes.append(f"left out: channel {each.channel}, of type {each.kind}")
            continue
        alike = max(1, each.instances)
        moving = kind != "svrconn"
        batch = each.batch_size if moving and each.batch_size else None
        interval = _seconds(each.batch_interval / 1000) if moving and each.batch_interval else None
        sharing = min(10, each.shared_conversations) if not moving and each.shared_conversations else None
        threads = "many" if sharing is not None and sharing > 1 else None
        yield {
            **written.get(each.channel, {}),
            "name": each.channel,
            "kind": kind,
            "channels": alike,
            "size": round(each.message_bytes / each.messages) if each.messages else 0,
            "rate": _rounded(each.messages / measured.seconds / alike),
            "persistent": 2 * each.persistent_messages > each.messages,
            **_given(batchsz=batch, batchint=interval, sharecnv=sharing, threads=threads),
        }


def _left_out(names: set[str], notes: list[str]) -> None:
    """Y5: what a file has and the hour did not use."""
    if names:
        notes.append(f"left out: {', '.join(sorted(names))}, not used in this hour")


def _named(base: Mapping[str, Any], table: str, key: str) -> dict[Any, Tables]:
    """Tables of a file by their names or numbers; what is neither is refused with the rest of the file, not here."""
    return {each[key]: each for each in base.get(table, []) if isinstance(each.get(key), str | int)}


def _count(written: Any) -> float:
    """A count of a file as it is written, a number or a text such as 10k; what is none stays for the file's reader."""
    try:
        return written if isinstance(written, int) else count(str(written))
    except QuantityError:
        return inf


def _given(**values: Any) -> Tables:
    return {key: value for key, value in values.items() if value is not None}


def _rounded(value: float | None) -> float | None:
    """Five figures: more were not measured."""
    return None if value is None else float(f"{value:.5g}")


def _seconds(value: float | None) -> str | None:
    """A duration as a file writes it."""
    if value is None:
        return None
    return f"{value * 1e6:.0f} us" if value < 1 else f"{value:.3f} s" if value < HOUR_S else f"{value / HOUR_S:.4f} h"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
