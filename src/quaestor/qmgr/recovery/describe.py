"""Log records in words: `quaestor log print`.

Rules
  Y1  Every kind of record has a description; one that has none is a bug that a test finds.
  Y2  A description names what a person looks for: whose unit, which page, which queue, how long.
  Y3  A message put or got for good, by a unit that was alone (V11), says so: no COMMIT record follows it.
  Y4  Reading needs no queue manager and changes nothing; it may be done beside one that runs.

Called by `quaestor log print`.  Calls log.
"""

from collections.abc import Callable, Iterator

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.recovery.checkpoint import unpack_checkpoint
from quaestor.storage.changes import INSERTION, MARK, STARTS, UNDO_NEXT
from quaestor.storage.log_files import FIRST_RBA, LogFiles
from quaestor.storage.log_record import ALLOCATES, FIRST, Kind, LogRecord, unpack_identity

END_OF_LOG = 1 << 63


def describe(record: LogRecord) -> str:
    """One line about a record (Y2)."""
    unit = f" unit {record.urid:012X}" if record.urid else ""
    begins = ""
    if record.flags & FIRST:
        identity = unpack_identity(record.identity)
        begins = f" begins ({identity.connection or '-'}, {identity.user or '-'}, {identity.thread or '-'})"
    alone = " for good" if record.kind in {Kind.INSERT, Kind.DELETE} and not record.urid else ""
    place = f" page {record.page_set}/{record.page}" if record.kind < Kind.COMMIT else ""
    taken = " taken" if record.flags & ALLOCATES and record.kind < Kind.COMMIT else ""
    said = _BODY[Kind(record.kind)](record)
    name = Kind(record.kind).name.replace("_", " ")
    return f"{record.rba:012X} {record.length:6d} {name}{unit}{begins}{alone}{place}{taken}{' ' + said if said else ''}"


def oldest_record(files: LogFiles) -> int:
    """The RBA of the oldest record that is surely the beginning of one: of the log itself, else of a checkpoint."""
    kept = [start for start in files.inventory.starts if start >= 0] + [
        start for start, _, _ in files.inventory.archives
    ]
    whole = [rba for rba in (FIRST_RBA, *files.inventory.checkpoints) if any(s <= rba < s + files.size for s in kept)]
    if not whole:
        raise Abend("F1", "no checkpoint is left in the log; name the RBA to begin at")
    return whole[0]


def records(files: LogFiles, rba: int | None = None, end: int = END_OF_LOG) -> Iterator[LogRecord]:
    """The records of a log that nobody needs to have started, from an RBA on; nothing is written.

    One that is not good ends the log (L2), unless the log is known to have been written further: then it is damaged.
    """
    log = LogManager(files, outbuff_kb=0)
    start = reached = oldest_record(files) if rba is None else rba
    for record in log.scan(start, end, repair=False):
        yield record
        reached = record.end
    if reached == start < end:
        raise Abend("L1", "no log record begins at this RBA", rba=f"{start:012X}")
    written = files.inventory.written_rba
    if reached < min(end, written):
        text = "the log is damaged, or was used again meanwhile; its other copy or its archive may have the rest"
        raise Abend("L2", text, good_to=f"{reached:012X}", written_to=f"{written:012X}")


def _insertion(record: LogRecord) -> str:
    queue_id, subqueue, records, at = INSERTION.unpack_from(record.body)
    kind, priority = divmod(subqueue & ~STARTS, 10)
    what = "persistent" if kind else "non-persistent"
    return f"queue id {queue_id} {what} priority {priority} record {records + 1} at {at}, {len(record.body) - 8} bytes"


def _mark(record: LogRecord) -> str:
    at, backouts = MARK.unpack_from(record.body)
    return f"record at {at}, backout count {backouts}"


def _compensation(record: LogRecord) -> str:
    following, kind = UNDO_NEXT.unpack_from(record.body)
    return f"by {Kind(kind).name} on page {record.page_set}/{record.page}, undo next {following:012X}"


def _checkpoint(record: LogRecord) -> str:
    if record.previous:
        return f"the rest of {record.previous:012X}, {len(record.body)} bytes"
    body = unpack_checkpoint(record.body)
    units = ", ".join(f"{unit.urid:012X} {unit.state}" for unit in body.units) or "none"
    page_sets = ", ".join(f"{number}: {rba:012X}" for number, rba in sorted(body.page_sets.items()))
    return f"units {units}; page sets from {page_sets}"


def _bytes(record: LogRecord) -> str:
    return f"{len(record.body)} bytes"


def _structure(record: LogRecord) -> str:
    return record.body[:12].decode().rstrip()


def _nothing(_record: LogRecord) -> str:
    return ""


_BODY: dict[Kind, Callable[[LogRecord], str]] = {
    Kind.INSERT: _insertion,
    Kind.DELETE: _mark,
    Kind.UNDELETE: _mark,
    Kind.TEXT: _bytes,
    Kind.FREE: lambda record: f"{len(record.body) // 2} pages",
    Kind.CHAIN: lambda record: f"to page {int.from_bytes(record.body, 'big')}",
    Kind.HEADER: _bytes,
    Kind.FORMAT_MAP: _nothing,
    Kind.IMAGE: _bytes,
    Kind.START: _nothing,
    Kind.COMMIT: _nothing,
    Kind.PREPARED: lambda record: f"xid {record.body.hex()}",
    Kind.BEGIN_BACKOUT: _nothing,
    Kind.END_BACKOUT: _nothing,
    Kind.COMPENSATION: _compensation,
    Kind.SHUNTED: lambda record: f"{Kind(record.body[0]).name} of page {record.page_set}/{record.page}",
    Kind.CHECKPOINT: _checkpoint,
    Kind.CHECKPOINT_DATA: _bytes,
    Kind.TRUNCATED: _bytes,
    Kind.FILLER: _bytes,
    Kind.SHARED_PUT: lambda record: f"structure {_structure(record)} {len(record.body)} bytes",
    Kind.SHARED_GET: lambda record: f"structure {_structure(record)} message {record.body[12:].hex()}",
    Kind.SHARED_DATA: lambda record: f"structure {_structure(record)} {len(record.body)} bytes",
    Kind.BACKUP_DATA: lambda record: f"structure {_structure(record)} {len(record.body)} bytes",
    Kind.SHARED_UNIT: lambda record: record.body.hex(),
    Kind.BACKUP: lambda record: f"structure {_structure(record)} {len(record.body)} bytes",
}
