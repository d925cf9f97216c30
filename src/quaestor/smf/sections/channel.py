"""What the channel initiator counts: QCCT and its tasks (SMF 115-231), QCST per channel (SMF 116-10)."""

from quaestor.layout import (
    Record,
    at,
    block_id,
    block_length,
    code,
    count,
    elapsed,
    eye_catcher,
    gauge,
    high,
    internal,
    longest,
    micros,
    micros_average,
    micros_high,
    micros_low,
    number,
    octets,
    record,
    reserved,
    stamp,
    text,
    token,
)
from quaestor.smf.codes import CHLDISP, CHLSTATUS, CHLTYPE, MON


@record("QCCT", size=64, lengths={"8.0": 48, "9.3.5": 64})
class ChannelInitiatorStatistics(Record):
    """QCCT: the channel initiator as a whole."""

    id: block_id = at(0, "QCCTID", "Block identifier (hex)", default=0xE741)
    length: block_length = at(2, "QCCTLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QCCTEYEC", "Eye-catcher", size=4, default="QCCT")
    job_name: text = at(8, "QCCTJOBN", "Channel initiator job", size=8)
    queue_sharing_group: text = at(16, "QCCTQSGN", "Queue-sharing group", size=4)
    channels_high: high = at(20, "QCCTNOCC", "Current channels in use (peak)")
    max_channels: gauge = at(24, "QCCTMXCC", "MAXCHL")
    active_channels_high: high = at(28, "QCCTNOAC", "Active channels (peak)")
    max_active_channels: gauge = at(32, "QCCTMXAC", "ACTCHL")
    max_tcp_channels: gauge = at(36, "QCCTMXTP", "TCPCHL")
    max_lu62_channels: gauge = at(40, "QCCTMXLU", "LU62CHL")
    storage_31_mb: gauge = at(44, "QCCTSTUS", "31-bit storage used (MB)")
    storage_64: gauge = at(48, "QCCTSTAB", "64-bit storage used", wire="u8")
    storage_64_limit: gauge = at(56, "QCCTSLIM", "64-bit storage limit", wire="u8")


@record("QCT_DSP", size=36, lengths={"8.0": 36})
class DispatcherTask(Record):
    """QCT_DSP: one dispatcher."""

    task: internal = at(0, "QCTTSKN", "Task (TCB address)")
    requests: count = at(4, "QCTREQN", "Requests")
    cpu: elapsed = at(8, "QCTCPTM", "CPU time")
    request_elapsed: elapsed = at(16, "QCTELTM", "Elapsed time of requests")
    wait_elapsed: elapsed = at(24, "QCTWTTM", "Wait time")
    channels: gauge = at(32, "QCTCHLN", "Channels on this dispatcher")


@record("QCT_ADP", size=32, lengths={"8.0": 32})
class AdapterTask(Record):
    """QCT_ADP: one adapter."""

    task: internal = at(0, "QCTTSKN", "Task (TCB address)")
    requests: count = at(4, "QCTREQN", "Requests")
    cpu: elapsed = at(8, "QCTCPTM", "CPU time")
    request_elapsed: elapsed = at(16, "QCTELTM", "Elapsed time of requests")
    wait_elapsed: elapsed = at(24, "QCTWTTM", "Wait time")


@record("QCT_SSL", size=48, lengths={"8.0": 48})
class SslTask(Record):
    """QCT_SSL: one SSL server task."""

    task: internal = at(0, "QCTTSKN", "Task (TCB address)")
    requests: count = at(4, "QCTREQN", "Requests")
    cpu: elapsed = at(8, "QCTCPTM", "CPU time")
    request_elapsed: elapsed = at(16, "QCTELTM", "Elapsed time of requests")
    wait_elapsed: elapsed = at(24, "QCTWTTM", "Wait time")
    longest_at: stamp = at(32, "QCTLSTM", "When the longest request happened")
    longest_request: longest = at(40, "QCTLSDU", "Longest request")


@record("QCT_DNS", size=48, lengths={"8.0": 48})
class DnsTask(Record):
    """QCT_DNS: the DNS task."""

    task: internal = at(0, "QCTTSKN", "Task (TCB address)")
    requests: count = at(4, "QCTREQN", "Requests")
    cpu: elapsed = at(8, "QCTCPTM", "CPU time")
    request_elapsed: elapsed = at(16, "QCTELTM", "Elapsed time of requests")
    wait_elapsed: elapsed = at(24, "QCTWTTM", "Wait time")
    longest_at: stamp = at(32, "QCTLGTM", "When the longest request happened")
    longest_request: longest = at(40, "QCTLGDU", "Longest request")


@record("QCST", size=340, lengths={"8.0": 324, "10.0.0": 340})
class ChannelAccounting(Record):
    """QCST: one channel instance over this interval."""

    id: block_id = at(0, "QCSTID", "Block identifier (hex)", default=0xE74A)
    length: block_length = at(2, "QCSTLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QCSTEYEC", "Eye-catcher", size=4, default="QCST")
    collected_at: stamp = at(8, "QCSTCLTM", "Collection time")
    channel: text = at(16, "QCSTCHNM", "Channel name", size=20)
    disposition: code = at(36, "QCSTCHDP", "Disposition", wire="u1", codes=CHLDISP)
    channel_type: code = at(37, "QCSTCHTY", "Channel type", wire="u1", codes=CHLTYPE)
    channel_status: code = at(38, "QCSTCHST", "Channel status", wire="u1", codes=CHLSTATUS)
    statchl: code = at(39, "QCSTSTCL", "STATCHL setting", wire="u1", codes=MON)
    connection_name: text = at(40, "QCSTCNNM", "Connection name / address", size=48)
    started_at: stamp = at(88, "QCSTSTRT", "Channel start")
    stopped_at: stamp = at(96, "QCSTLUDT", "Channel stop")
    last_message_at: stamp = at(104, "QCSTLMST", "Last message")
    batch_size: gauge = at(112, "QCSTCBSZ", "Negotiated batch size")
    messages: count = at(116, "QCSTNMSG", "Messages (or MQI calls for clients)")
    persistent_messages: count = at(120, "QCSTNPMG", "Persistent messages")
    batches: count = at(124, "QCSTBATC", "Batches")
    full_batches: count = at(128, "QCSTFUBA", "Full batches")
    buffers_sent: count = at(132, "QCSTBFST", "Buffers sent")
    buffers_received: count = at(136, "QCSTBFRC", "Buffers received")
    shared_conversations: gauge = at(140, "QCSTCSCV", "Current shared conversations")
    message_bytes: octets = at(144, "QCSTNBYT", "Message bytes")
    persistent_bytes: octets = at(152, "QCSTNPBY", "Persistent message bytes")
    bytes_sent: octets = at(160, "QCSTBYST", "Bytes sent")
    bytes_received: octets = at(168, "QCSTBYRC", "Bytes received")
    compression_rate_percent: gauge = at(176, "QCSTCPRA", "Compression rate (%)")
    exit_average: micros_average = at(180, "QCSTETAV", "Exit time, average (us)")
    exit_shortest: micros_low = at(184, "QCSTETMN", "Exit time, shortest (us)", unset=0x8FFFFFFF)
    exit_longest: micros_high = at(188, "QCSTETMX", "Exit time, longest (us)")
    exit_longest_at: stamp = at(192, "QCSTETDT", "When the longest exit time happened")
    dns_elapsed: micros = at(200, "QCSTDNRT", "DNS resolution time")
    network_average: micros_average = at(204, "QCSTNTAV", "Network time, average (us)")
    network_shortest: micros_low = at(208, "QCSTNTMN", "Network time, shortest (us)", unset=0x8FFFFFFF)
    network_longest: micros_high = at(212, "QCSTNTMX", "Network time, longest (us)")
    network_longest_at: stamp = at(216, "QCSTNTDT", "When the longest network time happened")
    remote_name: text = at(224, "QCSTRQMN", "Remote queue manager or client application", size=48)
    certificate_serial: token = at(272, "QCSTSLSN", "TLS peer certificate serial", size=8)
    certificate_user: text = at(280, "QCSTSLCN", "TLS certificate user (CERTI)", size=16)
    cipher_spec: internal = at(296, "QCSTSLCS", "TLS cipher spec number")
    put_retries: count = at(300, "QCSTPTRC", "Put retries")
    transmission_queue_empty: count = at(304, "QCSTQETC", "Times transmission queue was empty")
    batch_interval: gauge = at(308, "QCSTCBIT", "Batch interval")
    batch_data_limit: gauge = at(312, "QCSTCBDL", "Batch data limit")
    dispatcher: number = at(316, "QCSTDSPN", "Dispatcher number", wire="u2")
    reserved_318: reserved = at(318, "QCSTRSV1", "reserved", size=6)
    remote_product: text = at(324, "QCSTRPID", "Remote product id", size=4)
    remote_version: text = at(328, "QCSTRVER", "Remote product version VVRRMMFF", size=8)
    reserved_336: reserved = at(336, "QCSTRSV2", "reserved", size=4)
