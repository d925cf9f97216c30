"""What the storage manager counts: QSST (SMF 115 subtype 1), QSPH, QSGM, QSRS (subtypes 5, 6, 7)."""

from quaestor.layout import (
    Record,
    at,
    block_id,
    block_length,
    count,
    eye_catcher,
    flags,
    gauge,
    high,
    internal,
    low,
    record,
    reserved,
    text,
)


@record("QSST", size=72, lengths={"5.2": 72, "8.0": 80})
class StorageStatistics(Record):
    """QSST: pools, getmains and short-on-storage events."""

    id: block_id = at(0, "QSSTID", "Block identifier", default=0x003C)
    length: block_length = at(2, "QSSTLEN", "Length (observed 80, header struct 72)")
    eye: eye_catcher = at(4, "QSSTDESC", "Eye-catcher QSST", size=4, default="QSST")
    fixed_pools_allocated: count = at(8, "QSSTGPLF", "Fixed pools allocated")
    fixed_pools_freed: count = at(12, "QSSTFPLF", "Fixed pools freed")
    fixed_pool_segments_freed: count = at(16, "QSSTFREF", "Fixed pool segments freed")
    fixed_pool_segments_added: count = at(20, "QSSTEXPF", "Fixed pool segments added")
    fixed_pools_contracted: count = at(24, "QSSTCONF", "Fixed pools contracted")
    variable_pools_allocated: count = at(28, "QSSTGPLV", "Variable pools allocated")
    variable_pools_freed: count = at(32, "QSSTFPLV", "Variable pools freed")
    variable_pool_segments_freed: count = at(36, "QSSTFREV", "Variable pool segments freed")
    variable_pool_segments_added: count = at(40, "QSSTEXPV", "Variable pool segments added")
    variable_pools_contracted: count = at(44, "QSSTCONV", "Variable pools contracted")
    getmains: count = at(48, "QSSTGETM", "Getmains")
    freemains: count = at(52, "QSSTFREM", "Freemains")
    storage_requests_nonzero_return_code: count = at(56, "QSSTRCNZ", "Storage requests with nonzero return code")
    short_storage_contractions: count = at(60, "QSSTCONT", "Short-on-storage contractions")
    times_short_storage_set: count = at(64, "QSSTCRIT", "Times short-on-storage was set")
    abends_lack_storage: count = at(68, "QSSTABND", "Abends for lack of storage")


@record("QSPH", size=88, lengths={"10.0.0": 88})
class StoragePool(Record):
    """QSPH: one storage pool."""

    id: block_id = at(0, "QSPHID", "Block identifier (hex)", default=0xE20E)
    length: block_length = at(2, "QSPHLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QSPHEYEC", "Eye-catcher", size=4, default="QSPH")
    pool_size: gauge = at(8, "QSPHSTOR", "Pool size now", wire="i4")
    pool_size_before: gauge = at(12, "QSPHOSTOR", "Pool size before", wire="i4")
    expansion_size: gauge = at(16, "QSPHXSTOR", "Expansion size", wire="i4")
    record_size: gauge = at(20, "QSPHBSIZE", "Record size", wire="u2")
    records_per_segment: gauge = at(22, "QSPHBCNT", "Records per segment", wire="u2")
    pools: gauge = at(24, "QSPHCOUNT", "Pools with this name")
    data_space: text = at(28, "QSPHDSPNM", "Data space name when flagged", size=8)
    pool: text = at(36, "QSPHNAME", "Pool name", size=48)
    flag_bits: flags = at(
        84,
        "QSPHFLAGS",
        "Flag bits, numbered from the high end",
        wire="u1",
        bits={0x80: "fixed", 0x40: "global", 0x20: "data space", 0x10: "IVSA", 0x08: "64-bit"},
    )
    reserved_85: reserved = at(85, "FILLER__001", "reserved", size=3)


@record("QSGM", size=48, lengths={"10.0.0": 48})
class StorageGetmain(Record):
    """QSGM: storage obtained by one caller."""

    id: block_id = at(0, "QSGMID", "Block identifier (hex)", default=0xE20D)
    length: block_length = at(2, "QSGMLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QSGMEYEC", "Eye-catcher", size=4, default="QSGM")
    held: gauge = at(8, "QSGMLVTOT", "Total length held", wire="i4")
    obtained: gauge = at(12, "QSGMLVNEW", "Length newly obtained", wire="i4")
    request_high: high = at(16, "QSGMLVMAX", "Longest request", wire="i4")
    request_low: low = at(20, "QSGMLVMIN", "Shortest request", wire="i4")
    requests: count = at(24, "QSGMCOUNT", "Requests", wire="i4")
    storage_class: internal = at(28, "QSGMSCLS", "Storage class code", wire="u1")
    reserved_29: reserved = at(29, "FILLER__002", "reserved", size=3)
    csect: text = at(32, "QSGMCSECT", "CSECT that obtained storage (8 EBCDIC chars)", size=8)
    csect_offset: internal = at(40, "QSGMOFFSET", "Offset in CSECT", wire="i4")
    reserved_44: reserved = at(44, "FILLER__003", "reserved", size=4)


@record("QSRS", size=232, lengths={"10.0.0": 232})
class StorageSummary(Record):
    """QSRS: regions and limits of the address space."""

    id: block_id = at(0, "QSRSID", "Block identifier (hex)", default=0xE20C)
    length: block_length = at(2, "QSRSLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QSRSEYEC", "Eye-catcher", size=4, default="QSRS")
    pools_global_fixed: gauge = at(8, "QSRSPHBGF", "Pools: global fixed", wire="i4")
    pools_global_variable: gauge = at(12, "QSRSPHBGV", "Pools: global variable", wire="i4")
    pools_local_fixed: gauge = at(16, "QSRSPHBLF", "Pools: local fixed", wire="i4")
    pools_local_variable: gauge = at(20, "QSRSPHBLV", "Pools: local variable", wire="i4")
    getmain_total: gauge = at(24, "QSRSGMBT", "Getmain total", wire="i4")
    stack_total: gauge = at(28, "QSRSSTKT", "Stack total", wire="i4")
    region_24_start: gauge = at(32, "QSRSSTRTA", "24-bit region start", wire="i4")
    region_24_size: gauge = at(36, "QSRSSIZA", "24-bit region size", wire="i4")
    region_24_top: gauge = at(40, "QSRSCRGTP", "24-bit region top", wire="i4")
    region_24_limit: gauge = at(44, "QSRSLIMIT", "24-bit limit", wire="i4")
    region_24_user_allocated: gauge = at(48, "QSRSLOAL", "24-bit user allocated", wire="i4")
    region_24_user_allocated_before: gauge = at(52, "QSRSOLOAL", "24-bit user allocated before", wire="i4")
    region_24_system_allocated: gauge = at(56, "QSRSHIAL", "24-bit system allocated", wire="i4")
    region_24_system_allocated_before: gauge = at(60, "QSRSOHIAL", "24-bit system allocated before", wire="i4")
    region_24_smf_limit: gauge = at(64, "QSRSSMFL", "24-bit SMF limit", wire="i4")
    region_24_smf_region: gauge = at(68, "QSRSSMFR", "24-bit SMF region", wire="i4")
    region_31_start: gauge = at(72, "QSRSESTRA", "31-bit region start", wire="i4")
    region_31_size: gauge = at(76, "QSRSESIZA", "31-bit region size", wire="i4")
    region_31_top: gauge = at(80, "QSRSERGTP", "31-bit region top", wire="i4")
    region_31_limit: gauge = at(84, "QSRSELIM", "31-bit limit", wire="i4")
    region_31_user_allocated: gauge = at(88, "QSRSELOAL", "31-bit user allocated", wire="i4")
    region_31_user_allocated_before: gauge = at(92, "QSRSOELOAL", "31-bit user allocated before", wire="i4")
    region_31_system_allocated: gauge = at(96, "QSRSEHIAL", "31-bit system allocated", wire="i4")
    region_31_system_allocated_before: gauge = at(100, "QSRSOEHIAL", "31-bit system allocated before", wire="i4")
    region_31_smf_limit: gauge = at(104, "QSRSSMFEL", "31-bit SMF limit", wire="i4")
    region_31_smf_region: gauge = at(108, "QSRSSMFER", "31-bit SMF region", wire="i4")
    memlimit: gauge = at(112, "QSRSMEMLIM", "MEMLIMIT", wire="u8")
    objects_64_size: gauge = at(120, "QSRSABYTES", "64-bit memory objects, total size", wire="u8")
    usable_64_high: high = at(128, "QSRSGBYTES", "64-bit usable high water", wire="u8")
    objects_64: gauge = at(136, "QSRSNMOMB", "64-bit memory objects")
    memlimit_source: internal = at(140, "QSRSMEMLIMS", "Source of MEMLIMIT code", wire="u1")
    reserved_141: reserved = at(141, "FILLER__001", "reserved", size=3)
    real_frames: gauge = at(144, "QSRSFMCT", "Real frames used", wire="i4")
    reserved_148: reserved = at(148, "FILLER__002", "reserved", size=4)
    region_31_available: gauge = at(152, "QSRSAVAL", "31-bit available", wire="i4")
    region_31_reserved_mvs: gauge = at(156, "QSRSMVS", "31-bit reserved for MVS", wire="i4")
    region_31_reserved_critical: gauge = at(160, "QSRSCRIT", "31-bit reserved, critical", wire="i4")
    region_31_cushion: gauge = at(164, "QSRSSOS", "31-bit short-on-storage cushion", wire="i4")
    available_64: gauge = at(168, "QSRSAVAL64", "64-bit available", wire="u8")
    cushion_64: gauge = at(176, "QSRSCUSH64", "64-bit cushion", wire="u8")
    smds_64: gauge = at(184, "QSRSSMDS64", "64-bit used for SMDS", wire="u8")
    pools_64_global_fixed: gauge = at(192, "QSRSPHBLGF", "64-bit pools: global fixed", wire="u8")
    pools_64_global_variable: gauge = at(200, "QSRSPHBLGV", "64-bit pools: global variable", wire="u8")
    pools_64_local_fixed: gauge = at(208, "QSRSPHBLLF", "64-bit pools: local fixed", wire="u8")
    pools_64_local_variable: gauge = at(216, "QSRSPHBLLV", "64-bit pools: local variable", wire="u8")
    getmain_64_total: gauge = at(224, "QSRSGMBL", "64-bit getmain total", wire="u8")
