"""What the message manager counts: QMST (SMF 115 subtype 2) and QMAC (SMF 116 subtype 0)."""

from quaestor.layout import (
    Record,
    at,
    block_id,
    block_length,
    count,
    elapsed,
    eye_catcher,
    gauge,
    octets,
    record,
    reserved,
)


@record("QMST", size=328, lengths={"5.2": 48, "7.0": 72, "9.0.3": 104, "9.4.3": 300, "9.4.5": 328})
class MessageStatistics(Record):
    """QMST: MQI calls of this interval."""

    id: block_id = at(0, "QMSTID", "Block identifier (hex)", default=0xD40F)
    length: block_length = at(2, "QMSTLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QMSTEYEC", "Eye-catcher", size=4, default="QMST")
    opens: count = at(8, "QMSTOPEN", "MQOPEN calls", wire="i4")
    closes: count = at(12, "QMSTCLOS", "MQCLOSE calls", wire="i4")
    gets: count = at(16, "QMSTGET", "MQGET calls", wire="i4")
    puts: count = at(20, "QMSTPUT", "MQPUT calls", wire="i4")
    put1s: count = at(24, "QMSTPUT1", "MQPUT1 calls", wire="i4")
    inquires: count = at(28, "QMSTINQ", "MQINQ calls", wire="i4")
    internal_inquires: count = at(32, "QMSTINQL", "Internal inquire calls", wire="i4")
    sets: count = at(36, "QMSTSET", "MQSET calls", wire="i4")
    end_waits: count = at(40, "QMSTENDW", "Internal end-wait calls", wire="i4")
    close_all_handles: count = at(44, "QMSTCALH", "Close-all-handles requests", wire="i4")
    subscribes: count = at(48, "QMSTSUB", "MQSUB calls", wire="i4")
    subscription_requests: count = at(52, "QMSTSUBR", "MQSUBRQ calls", wire="i4")
    callbacks: count = at(56, "QMSTCB", "MQCB calls", wire="i4")
    controls: count = at(60, "QMSTCTL", "MQCTL calls", wire="i4")
    stats: count = at(64, "QMSTSTUS", "MQSTAT calls", wire="i4")
    publications: count = at(68, "QMSTPUBS", "Publications", wire="i4")
    persistent_puts: count = at(72, "QMSTSPP", "Successful persistent puts", wire="i8")
    nonpersistent_puts: count = at(80, "QMSTSNP", "Successful nonpersistent puts", wire="i8")
    persistent_bytes_put: octets = at(88, "QMSTPBP", "Bytes put, persistent", wire="i8")
    nonpersistent_bytes_put: octets = at(96, "QMSTNBP", "Bytes put, nonpersistent", wire="i8")
    otel_put_contexts: count = at(104, "QMSTOCPA", "OTel: Trace contexts propagated on put", wire="u8")
    otel_get_contexts: count = at(112, "QMSTOCGA", "OTel: Trace contexts propagated on get", wire="u8")
    otel_put_contexts_discarded: count = at(120, "QMSTOAHC", "OTel: Trace contexts discarded on put", wire="u8")
    otel_put_contexts_invalid: count = at(128, "QMSTOCPD", "OTel: Invalid trace contexts on put", wire="u8")
    otel_puts_over_property_limit: count = at(
        136, "QMSTOCMP", "OTel: Puts over the property limit for context", wire="u8"
    )
    otel_get_contexts_invalid: count = at(144, "QMSTOCGD", "OTel: Invalid trace contexts on get", wire="u8")
    otel_put_state_truncated: count = at(152, "QMSTOCPS", "OTel: Trace state truncated on put", wire="u8")
    otel_get_state_truncated: count = at(160, "QMSTOCGS", "OTel: Trace state truncated on get", wire="u8")
    otel_consumer_spans: count = at(168, "QMSTOSCS", "OTel: Consumer spans created", wire="u8")
    otel_producer_spans: count = at(176, "QMSTOSPS", "OTel: Producer spans created", wire="u8")
    otel_puts_unsampled: count = at(184, "QMSTOSNS", "OTel: Puts with an unsampled context", wire="u8")
    otel_get_contexts_discarded: count = at(192, "QMSTOCDA", "OTel: Trace contexts discarded on get", wire="u8")
    otel_producer_spans_dropped: count = at(200, "QMSTOSPL", "OTel: Producer spans dropped at limit", wire="u8")
    otel_consumer_spans_dropped: count = at(208, "QMSTOSCL", "OTel: Consumer spans dropped at limit", wire="u8")
    otel_spans_dropped_storage: count = at(216, "QMSTOSFS", "OTel: Spans dropped for lack of storage", wire="u8")
    otel_spans_handed_over: count = at(224, "QMSTOSOK", "OTel: spans handed over for emission", wire="u8")
    otel_hand_over_failures: count = at(232, "QMSTOSFR", "OTel: span hand-over failures", wire="u8")
    otel_hand_over_no_capacity: count = at(240, "QMSTOSFC", "OTel: hand-over failures, no capacity", wire="u8")
    otel_smf_writes: count = at(248, "QMSTOTSO", "OTel: SMF writes that worked", wire="u8")
    otel_smf_write_failures: count = at(256, "QMSTOTSR", "OTel: SMF writes that failed", wire="u8")
    otel_smf_write_no_capacity: count = at(264, "QMSTOTSC", "OTel: SMF write failures, no capacity", wire="u8")
    otel_task_cpu: elapsed = at(272, "QMSTOTPU", "OTel: CPU time of emission tasks")
    otel_task_wait_work_elapsed: elapsed = at(280, "QMSTOTPW", "OTel: emission tasks waiting for work")
    otel_task_wait_smf_elapsed: elapsed = at(288, "QMSTOTPD", "OTel: emission tasks waiting for SMF")
    otel_tasks: gauge = at(296, "QMSTOTSK", "OTel: emission tasks", wire="i4")
    reserved_300: reserved = at(300, "FILLER_001", "reserved", size=4)
    otel_bridge_spans: count = at(304, "QMSTOBSE", "OTel: IMS bridge spans", wire="u8")
    otel_bridge_contexts: count = at(312, "QMSTOBCP", "OTel: IMS bridge contexts propagated", wire="u8")
    otel_bridge_contexts_discarded: count = at(320, "QMSTOBCD", "OTel: IMS bridge contexts discarded", wire="u8")


@record("QMAC", size=48, lengths={"5.2": 48})
class MessageAccounting(Record):
    """QMAC: CPU, puts and gets by size band of one task."""

    id: block_id = at(0, "QMACID", "Block identifier (hex)", default=0xD414)
    length: block_length = at(2, "QMACLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QMACEYEC", "Eye-catcher", size=4, default="QMAC")
    cpu: elapsed = at(8, "QMACCPUT", "CPU time of MQI calls")
    puts_0_99: count = at(16, "QMACPUTA", "Puts of 0-99 bytes")
    puts_100_999: count = at(20, "QMACPUTB", "Puts of 100-999 bytes")
    puts_1000_9999: count = at(24, "QMACPUTC", "Puts of 1000-9999 bytes")
    puts_10000_up: count = at(28, "QMACPUTD", "Puts of 10000+ bytes")
    gets_0_99: count = at(32, "QMACGETA", "Gets of 0-99 bytes")
    gets_100_999: count = at(36, "QMACGETB", "Gets of 100-999 bytes")
    gets_1000_9999: count = at(40, "QMACGETC", "Gets of 1000-9999 bytes")
    gets_10000_up: count = at(44, "QMACGETD", "Gets of 10000+ bytes")
