"""MQ1150: the statistics that MP1B prints from SMF 115: storage, log, message, data, buffer, lock, Db2 and CF manager.

Each form holds the rows of MP1B in its order, then those of later levels in the same manner (P1, P2).
MQ1150 leaves out Db2 rows that are all zero, and coupling facility structures without activity.

Called by programs.  Calls forms.
"""

from quaestor.smf.printing.forms import (
    Block,
    Cell,
    Form,
    Row,
    figure,
    longest_ms,
    mean_ms,
    mean_us,
    row,
    two_digits,
    words,
)

COMMA = ", "

STORAGE = Form(
    "Storage manager : QSST",
    (
        row(
            figure("fix. pools created:", "fixed_pools_allocated"),
            figure("Deallocated:", "fixed_pools_freed"),
            joint=COMMA,
        ),
        row(
            figure("fix. segments freed:", "fixed_pool_segments_freed"),
            figure("expanded:", "fixed_pool_segments_added"),
            figure("contracted", "fixed_pools_contracted"),
            joint=COMMA,
        ),
        row(
            figure("var. pools created:", "variable_pools_allocated"),
            figure("Deallocated:", "variable_pools_freed"),
            joint=COMMA,
        ),
        row(
            figure("var. segments freed:", "variable_pool_segments_freed"),
            figure("expanded:", "variable_pool_segments_added"),
            figure("contracted", "variable_pools_contracted"),
            joint=COMMA,
        ),
        row(
            figure("# Getmains:", "getmains"),
            figure("# Freemains:", "freemains"),
            figure("# non-zero Rcs", "storage_requests_nonzero_return_code"),
            joint=COMMA,
        ),
        row(
            figure("# SOS bit:", "times_short_storage_set"),
            figure("# contractions", "short_storage_contractions"),
            figure("# Abends", "abends_lack_storage"),
            joint=COMMA,
        ),
    ),
)


def _in_columns(label: str, name: str) -> Cell:
    return figure(label.ljust(12), name)


LOG_IO = Form(
    "",
    (
        row(
            figure("I/Os", "ios"),
            figure("CIs", "cis"),
            mean_us("avg I/O uS", "io_elapsed", "ios"),
            mean_us("avg susp uS", "suspended", "ios"),
        ),
        row(
            figure("Max I/O uS", "longest_io"),
            words("at", "longest_io_at"),
            words("log", "longest_io_log"),
            sparse=True,
        ),
        row(
            figure("Max susp uS", "longest_suspension"),
            words("at", "longest_suspension_at"),
            words("log", "longest_suspension_log"),
            sparse=True,
        ),
    ),
)
LOG_COPY = Form("", blocks={"kinds": Block(LOG_IO, lambda kind: ("Single-page ", "Multi-page  ")[kind])})
LOG_COMPRESSION = Form(
    "",
    (
        row(
            figure("Compress", "compression_requests"),
            figure("failed", "compression_failures"),
            figure("bytes in", "compress_bytes_in", 14),
            figure("bytes out", "compress_bytes_out", 14),
        ),
        row(
            figure("Decompress", "decompression_requests"),
            figure("failed", "decompression_failures"),
            figure("bytes in", "decompress_bytes_in", 14),
            figure("bytes out", "decompress_bytes_out", 14),
        ),
    ),
)
LOG = Form(
    "Log manager : QJST",
    (
        row(
            _in_columns("Write_Wait", "writes_wait"),
            _in_columns("Write_Nowait", "writes_nowait"),
            _in_columns("Write_Force", "writes_force"),
            figure("WTB", "waits_no_buffer"),
        ),
        row(
            _in_columns("Read_Stor", "reads_from_buffer"),
            _in_columns("Read_Active", "reads_from_active"),
            _in_columns("Read_Archive", "reads_from_archive"),
            figure("TVC", "reads_delayed_tape_volume"),
        ),
        row(
            _in_columns("BSDS_Reqs", "bsds_accesses"),
            _in_columns("CIs_Created", "buffers_filled"),
            _in_columns("BFWR", "logger_calls"),
            figure("ALR", "archive_read_allocations"),
        ),
        row(
            _in_columns("ALW", "archive_write_allocations"),
            _in_columns("CIs_Offload", "cis_offloaded"),
            _in_columns("Checkpoints", "checkpoints"),
        ),
        row(
            _in_columns("WUR", "reads_delayed_unavailable"),
            _in_columns("LAMA", "tape_mounts_attempted"),
            _in_columns("LAMS", "tape_mounts_successful"),
        ),
        row(
            _in_columns("Write_Susp", "suspensions"),
            _in_columns("Write_Reqs", "log_ios"),
            _in_columns("CI_Writes", "cis_written"),
        ),
        row(
            _in_columns("Write_Serl", "serial_rewrites"),
            _in_columns("Write_Thrsh", "threshold_writes"),
            _in_columns("Buff_Pagein", "buffers_paged_in"),
        ),
    ),
    blocks={
        "compression": Block(LOG_COMPRESSION, lambda _: ""),
        "copies": Block(LOG_COPY, lambda copy: f"Copy {copy + 1} "),
    },
)

MESSAGE = Form(
    "Message manager : QMST",
    (
        row(
            figure("#MQOPEN", "opens"),
            figure("#MQCLOSE", "closes"),
            figure("#MQGET", "gets"),
            figure("#MQPUT", "puts"),
            figure("#MQPUT1", "put1s"),
            figure("#MQINQ", "inquires"),
            figure("#MQSET", "sets"),
        ),
        row(figure("#Close handle", "close_all_handles")),
        row(
            figure("#MQSUB", "subscribes"),
            figure("#MQSUBRQ", "subscription_requests"),
            figure("#MQCB", "callbacks"),
            figure("#MQCTL", "controls"),
            figure("#MQSTAT", "stats"),
            figure("#Publish", "publications"),
        ),
        row(
            figure("Persistent puts", "persistent_puts"),
            figure("bytes", "persistent_bytes_put", 14),
            figure("Nonpersistent puts", "nonpersistent_puts"),
            figure("bytes", "nonpersistent_bytes_put", 14),
        ),
    ),
)

DATA = Form(
    "Data manager : QIST",
    (
        row(figure("#Msg gets", "message_gets"), figure("#Msg puts", "message_puts")),
        row(
            figure("#Create", "object_creates"),
            figure("#Puts", "object_puts"),
            figure("#Deletes", "object_deletes"),
            figure("#Gets", "object_gets"),
            figure("#Locates", "object_locates"),
            figure("#stgclass", "storage_class_changes"),
        ),
    ),
)

BUFFER = Form(
    "Buffer manager : QPST",
    (
        row(
            figure("#buff", "buffers"),
            figure("#low", "stealable_low"),
            figure("#now", "stealable_now"),
            figure("#getp", "get_page"),
            figure("#getn", "get_new_page"),
        ),
        row(
            figure("Rio  ", "page_reads"),
            figure("STW ", "set_writes"),
            figure("TPW ", "pages_written"),
            figure("WIO  ", "write_ios"),
            figure("IMW  ", "immediate_writes"),
        ),
        row(
            figure("DWT  ", "deferred_write_starts"),
            figure("DMC ", "synchronous_write_starts"),
            figure("STL ", "steals"),
            figure("STLA ", "hash_chain_changes"),
            figure("SOS  ", "short_on_storage"),
        ),
        row(words("Location:", "location"), sparse=True),
    ),
    lead=two_digits("", "buffer_pool"),
)

LOCK = Form(
    "Lock manager : QLST",
    (
        row(
            figure("#lock gets", "lock_gets"),
            figure("already held", "already_held"),
            figure("releases", "lock_releases"),
            joint=COMMA,
        ),
    ),
)


def _requests(label: str, count: str, group: str) -> Row:
    return row(
        figure("#:", count, 8),
        mean_ms("Task avg m/s :", f"{group}_thread_elapsed", count),
        longest_ms("Task max m/s :", f"{group}_thread_longest"),
        mean_ms("DB2 avg m/s :", f"{group}_server_elapsed", count),
        longest_ms("DB2 max m/s :", f"{group}_server_longest"),
        lead=f"{label:<12}: ",
        sparse=True,
    )


DB2 = Form(
    "DB2 manager : Q5ST",
    (
        row(
            figure("Servers", "tasks", 4),
            figure("Active", "tasks_active", 4),
            figure("Conns", "connects", 4),
            figure("Discs", "disconnects", 4),
            figure("High", "queue_depth_high", 4),
            figure("Abend", "abends", 4),
            figure("Requeue", "requeues", 4),
            lead="Tasks : ",
        ),
        row(figure("Number of deadlock conditions :", "deadlocks", 4)),
        _requests("Reads", "reads", "read"),
        _requests("Writes", "writes", "write"),
        _requests("Updates", "updates", "update"),
        _requests("Lists", "lists", "list"),
        _requests("Deletes", "deletes", "delete"),
        row(figure("SCS Maximum rows returned on query :", "scs_rows_high", 4), sparse=True),
        row(figure("SCS Buffer too small :", "scs_buffer_too_small", 4), sparse=True),
        *(
            _requests(f"{group.upper()} {verb.capitalize()}s", f"{group}_{verb}s", f"{group}_{verb}")
            for group, verbs in (
                ("scs", ("select", "insert", "update", "delete")),
                ("ssk", ("select", "insert", "delete")),
                ("lms", ("select", "insert", "update", "delete", "list")),
            )
            for verb in verbs
        ),
    ),
)

STRUCTURE = Form(
    "",
    (
        row(
            figure("Structure #:", "structure_number"),
            figure("Name", "structure", 12),
            figure("Structure-fulls", "structure_full", 8),
            joint=COMMA,
        ),
        row(
            figure("Single      ", "single_calls"),
            mean_us("Avg time uS", "single_elapsed", "single_calls"),
            figure("Single   retries", "single_redrives", 8),
            joint=COMMA,
        ),
        row(
            figure("Multiple    ", "multiple_calls"),
            mean_us("Avg time uS", "multiple_elapsed", "multiple_calls"),
            figure("Multiple retries", "multiple_redrives", 8),
            joint=COMMA,
        ),
        row(figure("Max used entries", "entries_high", 6), figure("Max used elements", "elements_high"), joint=COMMA),
    ),
)
COUPLING_FACILITY = Form("CF manager : QEST", blocks={"structures": Block(STRUCTURE, lambda _: "")})

FORMS = {
    "QSST": STORAGE,
    "QJST": LOG,
    "QMST": MESSAGE,
    "QIST": DATA,
    "QPST": BUFFER,
    "QLST": LOCK,
    "Q5ST": DB2,
    "QEST": COUPLING_FACILITY,
}
