"""What the coupling facility manager counts: QEST, QESD (SMF 115 subtype 2) and CFSTAT inside accounting blocks."""

from quaestor.layout import (
    Record,
    at,
    block,
    block_id,
    block_length,
    count,
    elapsed,
    eye_catcher,
    flags,
    gauge,
    high,
    low,
    micros,
    number,
    record,
    reserved,
    text,
)


@record("CFSTAT.TYPE", size=20)
class CouplingFacilityKind(Record):
    """One entry per CF request kind (14 of 20 used): one element."""

    requests: count = at(0, "CFCOUNT", "CF requests")
    sync: count = at(4, "CFSYNCN", "Synchronous CF requests")
    sync_elapsed: micros = at(8, "CFSYNCET", "Synchronous CF time")
    async_: count = at(12, "CFASYNCN", "Asynchronous CF requests")
    async_elapsed: micros = at(16, "CFASYNCET", "Asynchronous CF time")


@record("CFSTAT", size=400, lengths={"7.1": 400})
class CouplingFacilityCalls(Record):
    """CFSTAT: requests to the coupling facility by kind, of one MQI verb."""

    kinds: block = at(0, "TYPE", "One entry per CF request kind (14 of 20 used)", of=CouplingFacilityKind, shape=(20,))


@record("QEST.QESTSTUC", size=64)
class StructureFigures(Record):
    """One entry per CF structure, 64 slots; unused when the name is binary zero: one element."""

    structure: text = at(0, "QESTSTR", "CF structure name", size=12)
    structure_number: number = at(12, "QESTSTRN", "Structure number")
    single_calls: count = at(16, "QESTCSEC", "Single-entry list calls (IXLLSTE)")
    multiple_calls: count = at(20, "QESTCMEC", "Multi-entry list calls (IXLLSTM)")
    single_elapsed: elapsed = at(24, "QESTSSTC", "Time in IXLLSTE")
    multiple_elapsed: elapsed = at(32, "QESTMSTC", "Time in IXLLSTM")
    single_redrives: count = at(40, "QESTRSEC", "IXLLSTE redrives")
    multiple_redrives: count = at(44, "QESTRMEC", "IXLLSTM redrives")
    structure_full: count = at(48, "QESTSFUL", "Structure full events")
    entries_high: high = at(52, "QESTMNUS", "Most entries in use")
    elements_high: high = at(56, "QESTMLUS", "Most elements in use")
    reserved_60: reserved = at(60, "FILLER__001", "reserved", size=4)


@record("QEST", size=4104, lengths={"5.2": 4104})
class CouplingFacilityStatistics(Record):
    """QEST: calls to each structure this interval."""

    id: block_id = at(0, "QESTID", "Block identifier (hex)", default=0xC513)
    length: block_length = at(2, "QESTLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QESTEYEC", "Eye-catcher", size=4, default="QEST")
    structures: block = at(
        8, "QESTSTUC", "One entry per CF structure; unused when the name is zero", of=StructureFigures, shape=(64,)
    )


@record("QESD", size=336, lengths={"7.1": 328, "9.1.4": 336})
class SharedMessageDataSetStatistics(Record):
    """QESD: one shared message data set: space, buffers and I/O."""

    id: block_id = at(0, "QESDID", "Block identifier (hex)", default=0xC523)
    length: block_length = at(2, "QESDLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QESDEYEC", "Eye-catcher", size=4, default="QESD")
    structure: text = at(8, "QESDSTR", "CF structure name", size=12)
    structure_number: number = at(20, "QESDSTRN", "Structure number")
    blocks_total: gauge = at(24, "QESDSMBT", "SMDS: total blocks")
    blocks_space_map: gauge = at(28, "QESDSMBS", "SMDS: blocks of space map")
    blocks_data: gauge = at(32, "QESDSMBD", "SMDS: blocks of message data")
    blocks_used: gauge = at(36, "QESDSMBU", "SMDS: blocks in use")
    blocks_free: gauge = at(40, "QESDSMBF", "SMDS: blocks free")
    messages: gauge = at(44, "QESDSMMC", "SMDS: messages held")
    allocate_requests: count = at(48, "QESDSMAR", "Space allocate requests")
    free_requests: count = at(52, "QESDSMFR", "Space release requests")
    reallocate_requests: count = at(56, "QESDSMRR", "Space reallocate requests")
    cleanup_requests: count = at(60, "QESDSMCR", "Space clean-up requests")
    pages_allocated: count = at(64, "QESDSMAP", "Pages allocated")
    pages_freed: count = at(68, "QESDSMFP", "Pages freed")
    pages_reallocated: count = at(72, "QESDSMRP", "Pages reallocated")
    pages_cleaned: count = at(76, "QESDSMCP", "Pages cleaned up")
    allocations_failed: count = at(80, "QESDSMFL", "Allocations that failed")
    messages_high: high = at(84, "QESDSMMM", "Most messages held")
    blocks_used_high: high = at(88, "QESDSMMU", "Most blocks used")
    blocks_free_low: low = at(92, "QESDSMMF", "Fewest blocks free")
    buffer_size: gauge = at(96, "QESDBFSZ", "Buffer size")
    buffers_total: gauge = at(100, "QESDBFTO", "Buffers, total")
    buffers_shared: gauge = at(104, "QESDBFUS", "Buffers in shared use")
    buffers_private: gauge = at(108, "QESDBFUP", "Buffers in private use")
    buffers_saved: gauge = at(112, "QESDBFFS", "Free buffers with saved data")
    buffers_empty: gauge = at(116, "QESDBFFE", "Free buffers, empty")
    pool_waiters: gauge = at(120, "QESDBFPW", "Waiters for the pool")
    buffer_waiters: gauge = at(124, "QESDBFBW", "Waiters for a buffer")
    get_buffer: count = at(128, "QESDBFGB", "Get buffer requests")
    got_valid: count = at(132, "QESDBFGV", "... got valid data")
    got_matching_empty: count = at(136, "QESDBFGM", "... matching but empty")
    got_free: count = at(140, "QESDBFGF", "... took a free buffer")
    got_stolen: count = at(144, "QESDBFGL", "... stole a buffer")
    got_none: count = at(148, "QESDBFGN", "... got none")
    read_requests: count = at(152, "QESDBFRR", "Read requests")
    reads_saved: count = at(156, "QESDBFRS", "Reads saved by buffer")
    reads_partly_saved: count = at(160, "QESDBFRP", "Reads partly saved")
    write_requests: count = at(164, "QESDBFWR", "Write requests")
    buffers_freed_valid: count = at(168, "QESDBFFB", "Buffers freed holding valid data")
    buffers_discarded: count = at(172, "QESDBFDB", "Buffers discarded")
    pool_waits: count = at(176, "QESDBFWP", "Waits for the pool")
    buffer_waits: count = at(180, "QESDBFWB", "Waits for a buffer")
    pool_wait_elapsed: elapsed = at(184, "QESDBFPT", "Time waiting for the pool")
    buffer_wait_elapsed: elapsed = at(192, "QESDBFBT", "Time waiting for a buffer")
    buffers_used_high: high = at(200, "QESDBFMU", "Most buffers used")
    buffers_free_low: low = at(204, "QESDBFMF", "Fewest buffers free")
    pool_waiters_high: high = at(208, "QESDBFMP", "Most waiters for the pool")
    buffer_waiters_high: high = at(212, "QESDBFMB", "Most waiters for a buffer")
    high_allocated_ci: gauge = at(216, "QESDIOHA", "High allocated CI")
    high_used_ci: gauge = at(220, "QESDIOHU", "High used CI")
    ci_size: gauge = at(224, "QESDIOCI", "CI size")
    ca_size: gauge = at(228, "QESDIOCA", "CA size")
    format_ios: count = at(232, "QESDIOFR", "Format writes: requests")
    format_pages: count = at(236, "QESDIOFP", "Format writes: pages")
    format_io_elapsed: elapsed = at(240, "QESDIOFT", "Format writes: I/O time")
    format_wait_elapsed: elapsed = at(248, "QESDIOFW", "Format writes: wait time")
    write_ios: count = at(256, "QESDIOWR", "Writes: requests")
    write_pages: count = at(260, "QESDIOWP", "Writes: pages")
    write_io_elapsed: elapsed = at(264, "QESDIOWT", "Writes: I/O time")
    write_wait_elapsed: elapsed = at(272, "QESDIOWW", "Writes: wait time")
    read_ios: count = at(280, "QESDIORR", "Reads (own): requests")
    read_pages: count = at(284, "QESDIORP", "Reads (own): pages")
    read_io_elapsed: elapsed = at(288, "QESDIORT", "Reads (own): I/O time")
    read_wait_elapsed: elapsed = at(296, "QESDIORW", "Reads (own): wait time")
    other_read_ios: count = at(304, "QESDIOOR", "Reads of other queue managers: requests")
    other_read_pages: count = at(308, "QESDIOOP", "Reads of other queue managers: pages")
    other_read_io_elapsed: elapsed = at(312, "QESDIOOT", "Reads of other queue managers: I/O time")
    other_read_wait_elapsed: elapsed = at(320, "QESDIOOW", "Reads of other queue managers: wait time")
    flag_bits: flags = at(
        328, "QESDFLAG", "Flag bits, numbered from the high end", bits={0x80000000: "data set encrypted"}
    )
    reserved_332: reserved = at(332, "SPARE", "reserved", size=4)
