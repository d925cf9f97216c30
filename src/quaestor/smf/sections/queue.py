"""What is counted per queue: QQST, SMF 115 subtype 216."""

from quaestor.layout import (
    Record,
    at,
    average,
    block_id,
    block_length,
    count,
    eye_catcher,
    flags,
    gauge,
    high,
    low,
    number,
    octets,
    record,
    stamp,
    text,
)


@record("QQST", size=672, lengths={"9.3.0": 84, "9.3.1": 120, "9.3.3": 552, "9.4.3": 672})
class QueueStatistics(Record):
    """QQST: one queue over this interval."""

    id: block_id = at(0, "QQSTID", "Block identifier (hex)", default=0xD80F)
    length: block_length = at(2, "QQSTLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QQSTEYEC", "Eye-catcher", size=4, default="QQST")
    queue: text = at(8, "QQSTQNAM", "Queue name", size=48)
    flag_bits: flags = at(
        56,
        "QQSTFLAG",
        "Flag bits, numbered from the high end",
        bits={0x80000000: "shared", 0x40000000: "partial record", 0x20000000: "uncommitted"},
    )
    page_set: number = at(60, "QQSTPSID", "Page set, -1 if shared or unassigned", wire="i2", unset=-1)
    buffer_pool: number = at(62, "QQSTBPID", "Buffer pool, -1 if shared or unassigned", wire="i2", unset=-1)
    queue_sharing_group: text = at(64, "QQSTQSGN", "Queue-sharing group", size=4)
    structure: text = at(68, "QQSTCFST", "CF structure", size=12)
    depth: gauge = at(80, "QQSTDPTH", "Depth at collection", wire="i4")
    output_handles: gauge = at(84, "QQSTOPCT", "Open output handles")
    input_handles: gauge = at(88, "QQSTIPCT", "Open input handles")
    oldest_message_age_s: gauge = at(92, "QQSTMAGE", "Age of oldest message (s)")
    queue_time_short_us: gauge = at(96, "QQSTQTST", "Queue time indicator, short (us)")
    queue_time_long_us: gauge = at(100, "QQSTQTLT", "Queue time indicator, long (us)")
    last_put_at: stamp = at(104, "QQSTLPUT", "Last put")
    last_get_at: stamp = at(112, "QQSTLGET", "Last get")
    depth_high: high = at(120, "QQSTDPHI", "Highest depth in interval")
    depth_low: low = at(124, "QQSTDPLO", "Lowest depth in interval")
    puts: count = at(128, "QQSTPUTS", "MQPUTs", wire="u8")
    put1s: count = at(136, "QQSTPUT1", "MQPUT1s", wire="u8")
    puts_nonpersistent: count = at(144, "QQSTNPPT", "MQPUTs, nonpersistent", wire="u8")
    puts_persistent: count = at(152, "QQSTPPT", "MQPUTs, persistent", wire="u8")
    put1s_nonpersistent: count = at(160, "QQSTNPP1", "MQPUT1s, nonpersistent", wire="u8")
    put1s_persistent: count = at(168, "QQSTPP1", "MQPUT1s, persistent", wire="u8")
    put_bytes: octets = at(176, "QQSTPUTB", "Bytes by MQPUT")
    put1_bytes: octets = at(184, "QQSTPT1B", "Bytes by MQPUT1")
    put_bytes_nonpersistent: octets = at(192, "QQSTNPPB", "Bytes by MQPUT, nonpersistent")
    put_bytes_persistent: octets = at(200, "QQSTPPB", "Bytes by MQPUT, persistent")
    put1_bytes_nonpersistent: octets = at(208, "QQSTNP1B", "Bytes by MQPUT1, nonpersistent")
    put1_bytes_persistent: octets = at(216, "QQSTP1B", "Bytes by MQPUT1, persistent")
    puts_failed: count = at(224, "QQSTFLPT", "MQPUTs that failed", wire="u8")
    put1s_failed: count = at(232, "QQSTFLP1", "MQPUT1s that failed", wire="u8")
    puts_to_waiter: count = at(240, "QQSTFPTC", "Puts handed to a waiting getter", wire="u8")
    put_bytes_to_waiter: octets = at(248, "QQSTFPTB", "Bytes handed to a waiting getter")
    messages_streamed: count = at(256, "QQSTSTRM", "Messages streamed", wire="u8")
    message_size_low: low = at(264, "QQSTMSMI", "Shortest message put", wire="u8")
    message_size_high: high = at(272, "QQSTMSMA", "Longest message put", wire="u8")
    message_size_average: average = at(280, "QQSTMSAV", "Average message put", wire="u8")
    gets: count = at(288, "QQSTGETS", "Destructive gets", wire="u8")
    gets_nonpersistent: count = at(296, "QQSTNPDG", "Destructive gets, nonpersistent", wire="u8")
    gets_persistent: count = at(304, "QQSTPDG", "Destructive gets, persistent", wire="u8")
    get_bytes: octets = at(312, "QQSTGETB", "Bytes got")
    get_bytes_nonpersistent: octets = at(320, "QQSTNPDB", "Bytes got, nonpersistent")
    get_bytes_persistent: octets = at(328, "QQSTPDB", "Bytes got, persistent")
    browses: count = at(336, "QQSTBRWS", "Browses", wire="u8")
    browses_nonpersistent: count = at(344, "QQSTNPBR", "Browses, nonpersistent", wire="u8")
    browses_persistent: count = at(352, "QQSTPBR", "Browses, persistent", wire="u8")
    browse_bytes: octets = at(360, "QQSTBRWB", "Bytes browsed")
    browse_bytes_nonpersistent: octets = at(368, "QQSTNPBB", "Bytes browsed, nonpersistent")
    browse_bytes_persistent: octets = at(376, "QQSTPBB", "Bytes browsed, persistent")
    gets_failed: count = at(384, "QQSTFLGT", "Gets that failed", wire="u8")
    gets_no_message: count = at(392, "QQSTNMAG", "Gets failed, no message", wire="u8")
    gets_truncated: count = at(400, "QQSTTMFG", "Gets failed, truncated", wire="u8")
    browses_failed: count = at(408, "QQSTFLBR", "Browses that failed", wire="u8")
    browses_no_message: count = at(416, "QQSTNMAB", "Browses failed, no message", wire="u8")
    browses_truncated: count = at(424, "QQSTTMFB", "Browses failed, truncated", wire="u8")
    get_waits_timed_out: count = at(432, "QQSTFLGW", "Get waits that timed out", wire="u8")
    get_waits_redriven: count = at(440, "QQSTRDGW", "Get waits redriven", wire="u8")
    browse_waits_timed_out: count = at(448, "QQSTFLBW", "Browse waits that timed out", wire="u8")
    browse_waits_redriven: count = at(456, "QQSTRDBW", "Browse waits redriven", wire="u8")
    get_signals: count = at(464, "QQSTSAGT", "Get signals accepted", wire="u8")
    browse_signals: count = at(472, "QQSTSABR", "Browse signals accepted", wire="u8")
    input_handles_high: high = at(480, "QQSTIPHI", "Most input handles")
    input_handles_low: low = at(484, "QQSTIPLO", "Fewest input handles")
    output_handles_high: high = at(488, "QQSTOPHI", "Most output handles")
    output_handles_low: low = at(492, "QQSTOPLO", "Fewest output handles")
    opens: count = at(496, "QQSTOPEN", "MQOPENs", wire="u8")
    closes: count = at(504, "QQSTCLOS", "MQCLOSEs", wire="u8")
    inquires: count = at(512, "QQSTINQR", "MQINQs", wire="u8")
    sets: count = at(520, "QQSTSET", "MQSETs", wire="u8")
    messages_expired: count = at(528, "QQSTEXPR", "Messages expired", wire="u8")
    puts_backed_out: count = at(536, "QQSTRBPT", "Puts backed out", wire="u8")
    gets_backed_out: count = at(544, "QQSTRBGT", "Gets backed out", wire="u8")
    otel_put_contexts: count = at(552, "QQSTOCPA", "OTel: Trace contexts propagated on put", wire="u8")
    otel_get_contexts: count = at(560, "QQSTOCGA", "OTel: Trace contexts propagated on get", wire="u8")
    otel_put_contexts_discarded: count = at(568, "QQSTOAHC", "OTel: Trace contexts discarded on put", wire="u8")
    otel_put_contexts_invalid: count = at(576, "QQSTOCPD", "OTel: Invalid trace contexts on put", wire="u8")
    otel_puts_over_property_limit: count = at(
        584, "QQSTOCMP", "OTel: Puts over the property limit for context", wire="u8"
    )
    otel_get_contexts_invalid: count = at(592, "QQSTOCGD", "OTel: Invalid trace contexts on get", wire="u8")
    otel_put_state_truncated: count = at(600, "QQSTOCPS", "OTel: Trace state truncated on put", wire="u8")
    otel_get_state_truncated: count = at(608, "QQSTOCGS", "OTel: Trace state truncated on get", wire="u8")
    otel_consumer_spans: count = at(616, "QQSTOSCS", "OTel: Consumer spans created", wire="u8")
    otel_producer_spans: count = at(624, "QQSTOSPS", "OTel: Producer spans created", wire="u8")
    otel_puts_unsampled: count = at(632, "QQSTOSNS", "OTel: Puts with an unsampled context", wire="u8")
    otel_get_contexts_discarded: count = at(640, "QQSTOCDA", "OTel: Trace contexts discarded on get", wire="u8")
    otel_producer_spans_dropped: count = at(648, "QQSTOSPL", "OTel: Producer spans dropped at limit", wire="u8")
    otel_consumer_spans_dropped: count = at(656, "QQSTOSCL", "OTel: Consumer spans dropped at limit", wire="u8")
    otel_spans_dropped_storage: count = at(664, "QQSTOSFS", "OTel: Spans dropped for lack of storage", wire="u8")
