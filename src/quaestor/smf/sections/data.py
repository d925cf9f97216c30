"""What the data manager counts: QIST (SMF 115 subtype 2) and QIS1 per page set (SMF 115 subtype 201)."""

from quaestor.layout import (
    Record,
    at,
    block_id,
    block_length,
    code,
    count,
    elapsed,
    eye_catcher,
    flags,
    gauge,
    number,
    record,
    reserved,
)


@record("QIST", size=80, lengths={"5.2": 76, "8.0": 80})
class DataStatistics(Record):
    """QIST: messages and objects handled this interval."""

    id: block_id = at(0, "QISTID", "Block identifier (hex)", default=0xC90F)
    length: block_length = at(2, "QISTLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QISTEYEC", "Eye-catcher", size=4, default="QIST")
    message_gets: count = at(8, "QISTMGET", "Message gets")
    message_puts: count = at(12, "QISTMPUT", "Message puts")
    browse_locks: count = at(16, "QISTMBLR", "Browse-lock requests")
    object_creates: count = at(20, "QISTDCRE", "Object creates")
    object_puts: count = at(24, "QISTDPUT", "Object puts")
    object_deletes: count = at(28, "QISTDDEL", "Object deletes")
    object_gets: count = at(32, "QISTDGET", "Object gets")
    object_locates: count = at(36, "QISTDLOC", "Object locates")
    message_counts: count = at(40, "QISTMCNT", "Message count requests")
    storage_class_changes: count = at(44, "QISTALST", "Storage class changes")
    marked_locks: count = at(48, "QISTLOMM", "Lock marked message")
    marked_deletes: count = at(52, "QISTDLMM", "Delete marked message")
    enumerates: count = at(56, "QISTENUM", "Enumerates")
    read_ahead_ios: count = at(60, "QISTRAIO", "Read-ahead I/Os (never filled)")
    read_ahead_buffered: count = at(64, "QISTRABP", "Read-ahead pages in pool (never filled)")
    gets_from_disk: count = at(68, "QISTGETD", "Gets that needed disk I/O")
    gets_from_buffer: count = at(72, "QISTGETB", "Gets served from buffer pool")
    reserved_76: reserved = at(76, "FILLER___001", "reserved", size=4)


@record("QIS1", size=104, lengths={"9.0": 104})
class PageSetStatistics(Record):
    """QIS1: one page set at the end of this interval."""

    id: block_id = at(0, "QIS1ID", "Block identifier (hex)", default=0xC927)
    length: block_length = at(2, "QIS1LL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QIS1EYEC", "Eye-catcher", size=4, default="QIS1")
    page_set: number = at(8, "QIS1PSNO", "Page set number")
    buffer_pool: number = at(12, "QIS1BPNO", "Buffer pool number")
    pages: gauge = at(16, "QIS1TOPG", "Total pages")
    pages_unused: gauge = at(20, "QIS1UNPG", "Unused pages")
    pages_persistent: gauge = at(24, "QIS1PPG", "Pages with persistent data")
    pages_nonpersistent: gauge = at(28, "QIS1NPPG", "Pages with nonpersistent data")
    full: count = at(32, "QIS1FULL", "Times the page set was full")
    put_cursor_high: gauge = at(36, "QIS1PCHI", "Put cursor high position")
    deferred_write_ios: count = at(40, "QIS1DWPN", "Deferred write I/Os")
    deferred_write_pages: count = at(44, "QIS1DWPP", "Deferred write pages")
    deferred_write_elapsed: elapsed = at(48, "QIS1DWPT", "Deferred write I/O time")
    immediate_write_ios: count = at(56, "QIS1IMWN", "Immediate write I/Os")
    immediate_write_pages: count = at(60, "QIS1IMWP", "Immediate write pages")
    immediate_write_elapsed: elapsed = at(64, "QIS1IMWT", "Immediate write I/O time")
    read_ios: count = at(72, "QIS1GETN", "Read I/Os")
    read_pages: count = at(76, "QIS1GETP", "Read pages")
    read_elapsed: elapsed = at(80, "QIS1GETT", "Read I/O time")
    checkpoint_pages: count = at(88, "QIS1CKPP", "Pages written at checkpoint")
    expansions: gauge = at(92, "QIS1EXPN", "Number of expansions", wire="u2")
    stripes: gauge = at(94, "QIS1STRN", "Stripes", wire="u1")
    expansion_method: code = at(95, "QIS1EXPM", "Expansion method code", wire="u1")
    page_set_status: code = at(96, "QIS1STAT", "Page set status code", wire="u1")
    reserved_97: reserved = at(97, "RESERVED", "reserved", size=3)
    flag_bits: flags = at(
        100,
        "QIS1FLAG",
        "Flag bits, numbered from the high end",
        bits={0x80000000: "expanded in interval", 0x40000000: "data set encrypted"},
    )
