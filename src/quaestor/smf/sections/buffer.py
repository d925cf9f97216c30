"""What the buffer manager counts: QPST per buffer pool, SMF 115 subtype 215 (subtype 2 before V8)."""

from quaestor.layout import (
    Record,
    at,
    block_id,
    block_length,
    count,
    eye_catcher,
    flags,
    gauge,
    low,
    number,
    record,
    reserved,
)


@record("QPST", size=104, lengths={"5.2": 104})
class BufferStatistics(Record):
    """QPST: one buffer pool over this interval."""

    id: block_id = at(0, "QPSTID", "Block identifier (hex)", default=0xD70F)
    length: block_length = at(2, "QPSTLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QPSTEYEC", "Eye-catcher", size=4, default="QPST")
    buffer_pool: number = at(8, "QPSTPOOL", "Buffer pool number", wire="i4")
    buffers: gauge = at(12, "QPSTNBUF", "Buffers in the pool", wire="i4")
    stealable_low: low = at(16, "QPSTCBSL", "Fewest stealable buffers in interval", wire="i4")
    stealable_now: gauge = at(20, "QPSTCBS", "Stealable buffers now", wire="i4")
    get_page: count = at(24, "QPSTGETP", "Get page, existing", wire="i4")
    get_new_page: count = at(28, "QPSTGETN", "Get page, new", wire="i4")
    page_reads: count = at(32, "QPSTRIO", "Page reads from disk", wire="i4")
    set_writes: count = at(36, "QPSTSTW", "Page updates (set write intent)", wire="i4")
    pages_written: count = at(40, "QPSTTPW", "Pages written", wire="i4")
    write_ios: count = at(44, "QPSTWIO", "Write I/Os", wire="i4")
    immediate_writes: count = at(48, "QPSTIMW", "Synchronous page writes", wire="i4")
    deferred_write_starts: count = at(52, "QPSTDWT", "Deferred writer starts", wire="i4")
    synchronous_write_starts: count = at(56, "QPSTDMC", "Synchronous writer starts at threshold", wire="i4")
    steals: count = at(60, "QPSTSTL", "Page not in pool (steals)", wire="i4")
    hash_chain_changes: count = at(64, "QPSTSTLA", "Hash chain changes during steal", wire="i4")
    short_on_storage: count = at(68, "QPSTSOS", "Times no buffer was free", wire="i4")
    location: flags = at(
        72,
        "QPSTFLAG",
        "Flag bits, numbered from the high end",
        bits={0x80000000: "pool above the bar", 0x40000000: "pool page-fixed"},
    )
    reserved_76: reserved = at(76, "FILLER__001", "reserved", size=28)
