"""What the log manager counts: QJST, SMF 115 subtype 1."""

from quaestor.layout import (
    Record,
    at,
    block,
    block_id,
    block_length,
    count,
    elapsed,
    eye_catcher,
    internal,
    longest,
    octets,
    record,
    reserved,
    stamp,
    text,
)


@record("QJST.QJSTIOTYPE", size=72)
class LogIo(Record):
    """[0] single-page, [1] multi-page I/O: one element."""

    ios: count = at(0, "QJSTIOCOUNT", "I/O requests")
    cis: count = at(4, "QJSTIOCI", "CIs moved")
    io_elapsed: elapsed = at(8, "QJSTIOTOTIO", "Total I/O time")
    suspended: elapsed = at(16, "QJSTIOTOTSUS", "Total suspend time")
    longest_io: longest = at(24, "QJSTIOMAXIO", "Longest I/O")
    longest_io_at: stamp = at(32, "QJSTIOMAXIOT", "When the longest I/O happened")
    longest_io_log: text = at(40, "QJSTIOMAXIOL", "Log data set of the longest I/O", size=8)
    longest_suspension: longest = at(48, "QJSTIOMAXSUS", "Longest suspend")
    longest_suspension_at: stamp = at(56, "QJSTIOMAXSUST", "When the longest suspend happened")
    longest_suspension_log: text = at(64, "QJSTIOMAXSUSL", "Log data set of the longest suspend", size=8)


@record("QJST.QJSTIO", size=144)
class LogCopy(Record):
    """Log I/O figures per log copy: one element."""

    kinds: block = at(0, "QJSTIOTYPE", "[0] single-page, [1] multi-page I/O", of=LogIo, shape=(2,))


@record("QJST.QJSTCOMPR", size=48)
class LogCompression(Record):
    """Log compression figures (1 entry used): one element."""

    compression_requests: count = at(0, "QJSTCMPREQ", "Compression requests", wire="i4")
    compression_failures: count = at(4, "QJSTCMPFAIL", "Compression failures", wire="i4")
    compress_bytes_in: octets = at(8, "QJSTCMPUNCMP", "Bytes before compression", wire="i8")
    compress_bytes_out: octets = at(16, "QJSTCMPCOMP", "Bytes after compression", wire="i8")
    decompression_requests: count = at(24, "QJSTDECREQ", "Decompression requests", wire="i4")
    decompression_failures: count = at(28, "QJSTDECFAIL", "Decompression failures", wire="i4")
    decompress_bytes_out: octets = at(32, "QJSTDECUNCMP", "Bytes after decompression", wire="i8")
    decompress_bytes_in: octets = at(40, "QJSTDECCOMP", "Bytes before decompression", wire="i8")


@record("QJST", size=720, lengths={"5.2": 120, "8.0": 576, "9.1.2": 592, "9.1.4": 596, "9.4.0": 720})
class LogStatistics(Record):
    """QJST: log writes, reads, checkpoints, offload and I/O of this interval."""

    id: block_id = at(0, "QJSTID", "Block identifier", wire="u2", default=0x0093)
    length: block_length = at(2, "QJSTLL", "Length")
    eye: eye_catcher = at(4, "QJSTEID", "Eye-catcher QJST", size=4, default="QJST")
    writes_wait: count = at(8, "QJSTWRW", "Log writes, wait (normally zero)", wire="i4")
    writes_nowait: count = at(12, "QJSTWRNW", "Log writes, no wait", wire="i4")
    writes_force: count = at(16, "QJSTWRF", "Log writes, force", wire="i4")
    waits_no_buffer: count = at(20, "QJSTWTB", "Waits because no log buffer was free", wire="i4")
    reads_from_buffer: count = at(24, "QJSTRBUF", "Log reads served from buffers", wire="i4")
    reads_from_active: count = at(28, "QJSTRACT", "Log reads served from active log", wire="i4")
    reads_from_archive: count = at(32, "QJSTRARH", "Log reads served from archive log", wire="i4")
    reads_delayed_tape_volume: count = at(36, "QJSTTVC", "Log reads delayed by archive unit limit (MAXRTU)", wire="i4")
    bsds_accesses: count = at(40, "QJSTBSDS", "BSDS accesses", wire="i4")
    buffers_filled: count = at(44, "QJSTBFFL", "Log buffers filled (active log CIs created)", wire="i4")
    logger_calls: count = at(48, "QJSTBFWR", "Calls that wrote log buffers", wire="i4")
    archive_read_allocations: count = at(52, "QJSTALR", "Archive data sets allocated for read", wire="i4")
    archive_write_allocations: count = at(56, "QJSTALW", "Archive data sets allocated for write", wire="i4")
    cis_offloaded: count = at(60, "QJSTCIOF", "CIs offloaded to archive", wire="i4")
    checkpoints: count = at(64, "QJSTLLCP", "Checkpoints taken", wire="i4")
    reads_delayed_unavailable: count = at(68, "QJSTWUR", "Reads delayed, resource unavailable", wire="i4")
    tape_mounts_attempted: count = at(72, "QJSTLAMA", "Look-ahead tape mounts tried", wire="i4")
    tape_mounts_successful: count = at(76, "QJSTLAMS", "Look-ahead tape mounts done", wire="i4")
    suspensions: count = at(80, "QJSTLSUS", "Log write requests suspended", wire="i4")
    log_ios: count = at(84, "QJSTLOGW", "Write I/Os to active log", wire="i4")
    cis_written: count = at(88, "QJSTCIWR", "CIs written to active log", wire="i4")
    serial_rewrites: count = at(92, "QJSTSERW", "Serial CI rewrites (dual logging)", wire="i4")
    threshold_writes: count = at(96, "QJSTTHRW", "Writes started by threshold WRTHRSH", wire="i4")
    buffers_paged_in: count = at(100, "QJSTBPAG", "Log buffers paged in before use", wire="i4")
    reserved_104: reserved = at(104, "FILLER__001", "reserved", size=16)
    compression: block = at(120, "QJSTCOMPR", "Log compression figures (1 entry used)", of=LogCompression, shape=(1,))
    reserved_168: reserved = at(168, "FILLER__002", "Room for two more compression entries", size=96)
    copies: block = at(264, "QJSTIO", "Log I/O figures per log copy", of=LogCopy, shape=(2,))
    writer_idle: internal = at(552, "QJSTSLPTU", "Time the log writer was idle, unit not documented", wire="u8")
    io_squares: internal = at(560, "QJSTIOSQU", "Sum of squared I/O times, per copy", wire="u8", shape=(2,))
    new_copy1_logs: count = at(576, "QJSTCP1N", "New copy-1 logs", wire="i4")
    new_copy2_logs: count = at(580, "QJSTCP2N", "New copy-2 logs", wire="i4")
    logs_zhyperwrite_capable: count = at(584, "QJSTHWC", "New logs capable of zHyperWrite", wire="i4")
    logs_zhyperwrite_enabled: count = at(588, "QJSTHWE", "New logs with zHyperWrite on", wire="i4")
    logs_encrypted: count = at(592, "QJSTENCR", "New logs that are encrypted", wire="i4")
    reserved_596: reserved = at(596, "FILLER__003", "reserved", size=4)
    zhl_single_tried: count = at(600, "QJSTHLSCIW", "zHyperLink single-CI writes tried")
    zhl_multi_tried: count = at(604, "QJSTHLMCIW", "zHyperLink multi-CI writes tried")
    zhl_cis_tried: count = at(608, "QJSTHLCICNTW", "zHyperLink CIs tried")
    zhl_single_ok: count = at(612, "QJSTHLSCIS", "zHyperLink single-CI writes that worked")
    zhl_multi_ok: count = at(616, "QJSTHLMCIS", "zHyperLink multi-CI writes that worked")
    zhl_cis_ok: count = at(620, "QJSTHLCICNTS", "zHyperLink CIs that worked")
    zhl_single_redone: count = at(624, "QJSTHLSCIF", "Single-CI writes redone asynchronously")
    zhl_multi_redone: count = at(628, "QJSTHLMCIF", "Multi-CI writes redone asynchronously")
    zhl_cis_redone: count = at(632, "QJSTHLCICNTF", "CIs redone asynchronously")
    zhl_single_connecting: count = at(636, "QJSTHLSCICON", "Single-CI writes while connecting zHyperLink")
    zhl_multi_connecting: count = at(640, "QJSTHLMCICON", "Multi-CI writes while connecting zHyperLink")
    zhl_cis_connecting: count = at(644, "QJSTHLCONCICNT", "CIs written while connecting")
    zhl_single_longest: internal = at(648, "QJSTHLSCIWTMAX", "zHyperLink single-CI I/O time, longest", wire="u8")
    zhl_single_shortest: internal = at(656, "QJSTHLSCIWTMIN", "zHyperLink single-CI I/O time, shortest", wire="u8")
    zhl_single_elapsed: internal = at(664, "QJSTHLSCIWTTOT", "zHyperLink single-CI I/O time, total", wire="u8")
    zhl_multi_longest: internal = at(672, "QJSTHLMCIWTMAX", "zHyperLink multi-CI I/O time, longest", wire="u8")
    zhl_multi_shortest: internal = at(680, "QJSTHLMCIWTMIN", "zHyperLink multi-CI I/O time, shortest", wire="u8")
    zhl_multi_elapsed: internal = at(688, "QJSTHLMCIWTTOT", "zHyperLink multi-CI I/O time, total", wire="u8")
    zhl_io_squares: internal = at(
        696, "QJSTHLIOSQU", "Sum of squared zHyperLink I/O times, per copy", wire="u8", shape=(2,)
    )
    logs_zhyperlink_capable: count = at(712, "QJSTHLC", "New logs capable of zHyperLink")
    logs_zhyperlink_enabled: count = at(716, "QJSTHLE", "New logs with zHyperLink on")
