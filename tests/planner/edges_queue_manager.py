"""Where the arguments of chapter 1's formulas begin and end: formula, what else it is given, then for each argument the
last value that is refused and the first that is taken.  An argument with two ends has two.
"""

from quaestor.planner.archive import ArchiveQuantities
from quaestor.planner.buffer_pools import Usage
from quaestor.planner.log_ranges import LogRange
from quaestor.planner.log_space import Action
from quaestor.planner.logload import Shape
from quaestor.planner.logs import Medium
from quaestor.planner.page_set_usage import PageSetUsage
from quaestor.planner.release import Release
from quaestor.planner.restart_progress import Progress
from quaestor.planner.tracing import Accounting, GlobalTrace
from quaestor.planner.utilities import Utility

EDGES = [
    (
        "archive.striped_quantities",
        {"stripes": 4, "unstriped": ArchiveQuantities(primary=5600, secondary=100)},
        [("stripes", 0, 1)],
    ),
    ("archive.cartridge_use", {"cartridge_bytes": 1, "log_bytes": 1}, [("log_bytes", 0, 1), ("cartridge_bytes", 0, 1)]),
    ("backup.copy_time_s", {"page_set_bytes": 1}, [("page_set_bytes", -1, 0)]),
    ("backup.backup_in_hours", {"holds_persistent_messages": False, "page_set": 1}, [("page_set", -1, 0)]),
    (
        "backup.recovery_time_s",
        {"reaction_s": 1, "restart_s": 1, "restore_s": 1},
        [("reaction_s", -0.001, 0), ("restore_s", -0.001, 0), ("restart_s", -0.001, 0)],
    ),
    (
        "backup.recovery_log_bytes",
        {"bytes_since_backup": 1},
        [("bytes_since_backup", -0.001, 0), ("bytes_per_checkpoint", -0.001, 0)],
    ),
    (
        "backup.backup_interval_h",
        {"log_read_rate_bytes_per_s": 1, "log_write_rate_bytes_per_h": 1, "restart_allowed_s": 1},
        [
            ("restart_allowed_s", -0.001, 0),
            ("log_read_rate_bytes_per_s", -0.001, 0),
            ("log_write_rate_bytes_per_h", 0, 0.001),
        ],
    ),
    (
        "backup.active_log_hours",
        {"active_log_bytes_total": 1, "log_write_rate_bytes_per_h": 1},
        [("active_log_bytes_total", -0.001, 0), ("log_write_rate_bytes_per_h", 0, 0.001)],
    ),
    (
        "backup.whole_days_between_backups",
        {"application_hours_per_day": 1, "interval_h": 1},
        [("interval_h", -0.001, 0), ("application_hours_per_day", 0, 0.001)],
    ),
    (
        "backup.log_bytes_per_h_local",
        {"messages_per_s": 1, "user_bytes": 1},
        [("messages_per_s", -0.001, 0), ("user_bytes", -0.001, 0)],
    ),
    (
        "backup.log_bytes_per_h_request_reply",
        {"pairs_per_s": 1, "user_bytes": 1},
        [("pairs_per_s", -0.001, 0), ("user_bytes", -0.001, 0), ("achieved_batch", 0, 1)],
    ),
    (
        "backup.measured_log_bytes_per_h",
        {"fill_time_h": 1, "log_bytes": 1},
        [("log_bytes", -0.001, 0), ("fill_time_h", 0, 0.001)],
    ),
    ("buffer_pools.object_pages_crude", {"objects": 1}, [("objects", -1, 0)]),
    ("buffer_pools.queue_object_pages", {"queues": 1}, [("queues", -1, 0)]),
    (
        "buffer_pools.may_be_page_fixed",
        {"free_real_bytes": 1, "pool_pages": 1},
        [("pool_pages", 0, 1), ("free_real_bytes", -1, 0)],
    ),
    (
        "deferred_write.writing_at",
        {"stealable_percent": 1},
        [("stealable_percent", -0.001, 0), ("stealable_percent", 100.001, 100)],
    ),
    ("deferred_write.checkpoint_pages_max_31_bit", {"pool_bytes_total": 1}, [("pool_bytes_total", -1, 0)]),
    (
        "deferred_write.checkpoint_pages_max",
        {"log_bytes": 1, "log_bytes_per_message": 1},
        [("log_bytes", -1, 0), ("log_bytes_per_message", 0, 0.001), ("pages_per_message", -0.001, 0)],
    ),
    (
        "deferred_write.burst_s",
        {"data_bytes": 1, "write_rate_bytes_per_s": 1},
        [("data_bytes", -0.001, 0), ("write_rate_bytes_per_s", 0, 0.001)],
    ),
    ("expiry.scan_cpu_us", {"depth": 1}, [("depth", -1, 0)]),
    ("indexing.index_bytes", {"messages": 1}, [("messages", -1, 0), ("queues", -1, 0)]),
    ("log_rate.log_rate_bytes_per_s", {"calls": (), "transactions_per_s": 125.0}, [("transactions_per_s", -0.001, 0)]),
    ("log_rate.put_and_get_log_bytes", {"user_bytes": 1}, [("user_bytes", -1, 0), ("header_bytes", -1, 0)]),
    (
        "log_rate.mixed_log_rate_bytes_per_s",
        {"gets_per_s": 1, "puts_per_s": 1, "user_bytes": 1},
        [("puts_per_s", -0.001, 0), ("gets_per_s", -0.001, 0)],
    ),
    ("log_space.log_bytes_per_message", {"action": Action.PUT, "message_bytes": 1}, [("message_bytes", -1, 0)]),
    ("log_space.log_bytes_per_unit_of_work", {"action": Action.PUT, "message_bytes": 1}, [("messages", 0, 1)]),
    ("log_space.bytes_per_transaction", {"rba_after": 1, "rba_before": 1, "transactions": 1}, [("transactions", 0, 1)]),
    ("log_space.structure_backup_bytes", {"depth": 1, "message_bytes": 1}, [("depth", -1, 0)]),
    (
        "log_space.log_bytes_with_8_byte_rba",
        {"log_bytes_with_6_byte_rba": 1, "reply_bytes": 1},
        [("log_bytes_with_6_byte_rba", -0.001, 0), ("reply_bytes", -1, 0)],
    ),
    (
        "logload.transactions_between_checkpoints",
        {"log_writes_per_transaction": 1000, "logload": 1000},
        [("log_writes_per_transaction", 0, 0.001)],
    ),
    (
        "logload.recovery_s",
        {"transactions": 1},
        [("transactions", -1, 0), ("s_per_transaction", -0.001, 0), ("fixed_s", -0.001, 0)],
    ),
    (
        "logload.restart_s_max",
        {"log_writes_per_transaction": 1000, "logload": 1000},
        [("startup_s", -0.001, 0), ("finish_s", -0.001, 0)],
    ),
    (
        "logload.logload_for_restart",
        {"log_writes_per_transaction": 4096, "restart_limit_s": 4096},
        [("log_writes_per_transaction", 0, 0.001), ("s_per_transaction", 0, 0.001)],
    ),
    ("logload.recommended_logload", {"message_bytes": 1, "shape": Shape.LOW_DEPTH}, [("message_bytes", -1, 0)]),
    ("logs.check_log_size", {"archive": Medium.DASD, "log_bytes": 1, "release": Release.V5_3}, [("log_bytes", 0, 1)]),
    (
        "logs.fill_time_s",
        {"log_bytes": 1, "log_rate_bytes_per_s": 1},
        [("log_bytes", 0, 0.001), ("log_rate_bytes_per_s", 0, 0.001)],
    ),
    (
        "logs.log_bytes_for_period",
        {"log_rate_bytes_per_s": 1},
        [("log_rate_bytes_per_s", -0.001, 0), ("period_s", -0.001, 0)],
    ),
    ("logs.highest_rate_for_30_minutes_bytes_per_s", {}, [("log_bytes", 0, 1)]),
    ("logs.active_log_size", {"peak_log_rate_bytes_per_s": 1}, [("peak_log_rate_bytes_per_s", 0, 0.001)]),
    ("logs.enough_active_logs", {"active_logs": 1}, [("active_logs", 0, 1)]),
    (
        "logs.active_logs_needed",
        {"archive_time_s": 1, "log_bytes": 1, "peak_log_rate_bytes_per_s": 1},
        [("archive_time_s", -0.001, 0), ("archive_delay_s", -0.001, 0), ("day_bytes", -0.001, 0)],
    ),
    ("logs.volume_of_each_log", {"active_logs": 10}, [("active_logs", 2, 3)]),
    ("logs.log_volumes", {"active_logs": 10}, [("active_logs", 2, 3), ("copies", 0, 1), ("copies", 3, 2)]),
    ("logs.single_logging_rate_bytes_per_s", {"dual_rate_bytes_per_s": 1}, [("dual_rate_bytes_per_s", -0.001, 0)]),
    (
        "logs.unformatted_log",
        {"data_rate_bytes_per_s": 1, "response_time_s": 1, "throughput_per_s": 1},
        [("data_rate_bytes_per_s", -0.001, 0), ("response_time_s", -0.001, 0), ("throughput_per_s", -0.001, 0)],
    ),
    (
        "page_sets.pages_per_message",
        {"message_bytes": 1},
        [("message_bytes", -1, 0), ("message_bytes", 104_857_601, 104_857_600)],
    ),
    ("page_sets.messages_per_page", {"message_bytes": 1}, [("message_bytes", -1, 0), ("message_bytes", 3636, 3635)]),
    (
        "page_sets.v6_packing",
        {"message_bytes": 1},
        [("message_bytes", -1, 0), ("message_bytes", 104_857_601, 104_857_600)],
    ),
    (
        "page_sets.messages_that_fit",
        {"message_bytes": 1, "page_set_bytes": 1},
        [("page_set_bytes", -1, 0), ("page_set_bytes", 68_719_476_737, 68_719_476_736)],
    ),
    ("page_sets.pages_for_backlog", {"message_bytes": 1, "messages": 1}, [("messages", -1, 0)]),
    (
        "page_sets.time_to_expansion_s",
        {"backlog_growth_per_s": 1, "message_bytes": 1, "total_pages": 1, "used_pages": 1},
        [("total_pages", 0, 1), ("backlog_growth_per_s", 0, 0.001)],
    ),
    ("restart.read_time_s", {"log_bytes": 1}, [("log_bytes", -0.001, 0), ("rate_bytes_per_s", 0, 0.001)]),
    (
        "restart.bytes_between_checkpoints",
        {"checkpoints_per_log": 1, "log_bytes": 1},
        [("log_bytes", -0.001, 0), ("checkpoints_per_log", 0, 1)],
    ),
    (
        "restart.forward_page_reads_s",
        {"pages_max": 1},
        [("pages_max", -1, 0), ("share_read", -0.001, 0), ("share_read", 1.001, 1), ("page_read_us", 0, 0.001)],
    ),
    ("restart.page_read_rate_bytes_per_s", {}, [("page_read_us", 0, 0.001)]),
    ("restart.rebuild_bytes", {"bytes_per_checkpoint": 1}, [("bytes_per_checkpoint", -0.001, 0)]),
    (
        "restart.restart_estimate",
        {
            "backward": LogRange(0, 5),
            "rebuild_log_bytes": 15,
            "state": LogRange(0, 5),
            "units": (),
        },
        [("mounts", -1, 0), ("mount_s", -0.001, 0)],
    ),
    ("security_costs.security_bytes", {"users": 1}, [("users", -1, 0), ("queues_per_user", 0, 1)]),
    (
        "security_costs.discarded_at_min",
        {},
        [("last_use_min", -0.001, 0), ("timeout_min", -0.001, 0), ("interval_min", 0, 0.001)],
    ),
    ("storage_use.csa_bytes_per_connection", {}, [("sharecnv", -1, 0)]),
    (
        "storage_use.handle_bytes",
        {"applications": 1, "queues_open_each": 1},
        [("applications", -1, 0), ("queues_open_each", -1, 0)],
    ),
    ("storage_use.group_private_bytes", {"structures": 1}, [("structures", -1, 0)]),
    ("storage_use.group_common_bytes", {"structures": 1}, [("structures", -1, 0)]),
    ("storage_use.cluster_cache_bytes", {"configuration_bytes": 1}, [("configuration_bytes", -0.001, 0)]),
    (
        "storage_use.channels_at_once",
        {"message_bytes": 1048576},
        [("message_bytes", 1_048_575, 1_048_576), ("message_bytes", 104_857_601, 104_857_600)],
    ),
    (
        "throughput.messages_per_s_max",
        {"log_bytes_per_message": 1, "sustainable_bytes_per_s": 1},
        [
            ("sustainable_bytes_per_s", -0.001, 0),
            ("log_bytes_per_message", 0, 0.001),
            ("share", -0.001, 0),
            ("share", 1.001, 1),
        ],
    ),
    (
        "throughput.instance_units_per_s_max",
        {"forces_per_unit": 1, "log_write_s": 1},
        [("other_s", -0.001, 0), ("forces_per_unit", 0, 1), ("log_write_s", 0, 0.001)],
    ),
    (
        "throughput.instances_needed",
        {"forces_per_unit": 1, "log_write_s": 1, "units_per_s": 1},
        [("units_per_s", -0.001, 0)],
    ),
    ("throughput.unit_of_work_log_bytes", {"messages": 1, "user_bytes": 1}, [("messages", -1, 0)]),
    ("tracing.smf_116_records", {"queues": 1}, [("queues", -1, 0)]),
    ("tracing.smf_116_volume_bytes", {"queues": 1, "transactions": 1}, [("transactions", -1, 0)]),
    (
        "tracing.smf_records_on_cylinders",
        {"cylinders": 1, "record_bytes": 1},
        [("cylinders", 0, 1), ("record_bytes", 0, 1), ("record_bytes", 4093, 4092)],
    ),
    (
        "tracing.accounting_cpu_us",
        {"accounting": Accounting.CLASS_1, "puts_and_gets": 1},
        [("puts_and_gets", -1, 0), ("other_calls", -1, 0)],
    ),
    ("tracing.global_trace_cpu_us", {"trace": GlobalTrace.OFF}, [("untraced_us", -0.001, 0)]),
    ("utilities.utility_cost", {"page_set_bytes": 1, "utility": Utility.FORMAT}, [("page_set_bytes", -1, 0)]),
    ("utilities.is_small_unit_of_work", {"puts_per_commit": 1}, [("puts_per_commit", 0, 1)]),
    (
        "utilities.staged_load",
        {"maxumsgs": 1, "records": 1},
        [
            ("records", -1, 0),
            ("messages_per_commit", 0, 1),
            ("maxumsgs", 0, 1),
            ("maxumsgs", 1_000_000_000, 999_999_999),
        ],
    ),
    ("engine_log.put_bytes", {"message_bytes": 1}, [("message_bytes", -1, 0)]),
    ("engine_log.get_bytes", {"message_bytes": 1}, [("message_bytes", -1, 0)]),
    ("engine_log.engine_log_writes_per_message", {"message_bytes": 1}, [("message_bytes", -1, 0), ("messages", 0, 1)]),
    ("engine_log.engine_log_bytes_per_unit_of_work", {"message_bytes": 1, "action": Action.PUT}, [("messages", 0, 1)]),
    (
        "backup.restart_time_allowed_s",
        {"target_s": 10, "reaction_s": 1, "restore_s": 2},
        [("reaction_s", -0.001, 0), ("restore_s", -0.001, 0), ("target_s", 3, 3.001)],
    ),
    ("buffer_pools.queue_object_pages", {"queues": 10}, [("active_queues", -1, 0), ("active_queues", 11, 10)]),
    ("buffer_pools.start_pages", {"usage": Usage.LONG_LIVED}, [("wanted_pages", 0, 1)]),
    ("expiry.scan_cpu_us", {"depth": 10}, [("expired", -1, 0), ("expired", 11, 10)]),
    ("geometry.pages", {}, [("data_bytes", -1, 0)]),
    ("geometry.tracks", {}, [("data_bytes", -1, 0)]),
    ("geometry.cylinders", {}, [("data_bytes", -1, 0)]),
    ("indexing.rebuild_s", {"persistent_messages": (1,)}, [("parallel", 0, 1), ("us_per_message", -0.001, 0)]),
    ("log_ranges.LogRange", {"from_rba": 5, "to_rba": 9}, [("from_rba", -1, 0), ("to_rba", 4, 5)]),
    ("log_space.bytes_per_transaction", {"rba_before": 5, "rba_after": 9, "transactions": 1}, [("rba_after", 4, 5)]),
    ("log_space.time_to_rba_reset_s", {"rba_bytes": 6}, [("log_rate_bytes_per_s", 0, 0.001)]),
    ("logload.check_logload", {}, [("logload", 199, 200), ("logload", 16_000_001, 16_000_000)]),
    (
        "page_sets.time_to_expansion_s",
        {"total_pages": 10, "backlog_growth_per_s": 1, "message_bytes": 1},
        [("used_pages", -1, 0), ("used_pages", 11, 10)],
    ),
    (
        "page_set_usage.unscavenged_pages",
        {"usage": PageSetUsage(1, 1, 10, 5, 3, 2), "message_bytes": 1},
        [("depth", -1, 0)],
    ),
    (
        "restart.state_range",
        {"checkpoint_rba": 10, "failure_rba": 20},
        [("log_start_rba", -1, 0), ("log_start_rba", 11, 10)],
    ),
    (
        "restart_progress.remaining_s",
        {"end_rba": 0, "earlier": Progress(0, 100), "later": Progress(10, 50)},
        [("archive_wait_s", -0.001, 0)],
    ),
    ("tracing.smf_116_bytes", {}, [("queues", 0, 1)]),
    ("tracing.smf_116_bytes", {"accounting": Accounting.CLASS_1}, [("queues", -1, 0)]),
    (
        "tracing.accounting_cpu_us",
        {"accounting": Accounting.CLASS_1, "puts_and_gets": 1},
        [("gather_us", 1.999, 2), ("gather_us", 2.001, 2), ("write_us", 0.999, 1), ("write_us", 5.001, 5)],
    ),
    (
        "tracing.accounting_cpu_us",
        {"accounting": Accounting.CLASS_3, "puts_and_gets": 1},
        [("gather_us", 0.999, 1), ("gather_us", 3.001, 3), ("write_us", 5.999, 6), ("write_us", 50.001, 50)],
    ),
    ("page_sets.messages_that_fit", {"page_set_bytes": 1, "message_bytes": 1}, [("pages_per_gib", 0, 1)]),
    ("log_space.bytes_per_transaction", {"rba_after": 9, "transactions": 1}, [("rba_before", -1, 0)]),
    (
        "log_space.time_to_rba_reset_s",
        {"rba_bytes": 6, "log_rate_bytes_per_s": 1},
        [("current_rba", -1, 0), ("current_rba", 2**48 + 1, 2**48)],
    ),
    (
        "logload.logload_for_restart",
        {"restart_limit_s": 60, "log_writes_per_transaction": 31},
        [("startup_s", -0.001, 0), ("finish_s", -0.001, 0), ("restart_limit_s", 5, 9)],
    ),
    (
        "restart_progress.remaining_s",
        {"earlier": Progress(0, 100), "later": Progress(10, 50)},
        [("end_rba", -1, 0)],
    ),
    ("restart.state_range", {"failure_rba": 20}, [("checkpoint_rba", -1, 0)]),
]
