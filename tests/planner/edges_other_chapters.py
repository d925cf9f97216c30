"""Where the arguments of chapters 4 to 11 begin and end: DASD, buffers, the log, queues, tiers, IMS and machines."""

from dataclasses import fields

from quaestor.planner.applications import Conversion
from quaestor.planner.buffer_flow import Life, PoolInterval
from quaestor.planner.compression import UNCOMPRESSED
from quaestor.planner.dasd import ZhpfLimit
from quaestor.planner.hardware import MACHINES

COUNTED = {"messages": 1, "writes_nowait": 1, "buffers_filled": 1, "logger_calls": 1}
COUNTS = dict.fromkeys((field.name for field in fields(PoolInterval)), 0)
POOL = {**COUNTS, "seconds": 1800.0, "buffers": 100, "stealable_low": 50, "stealable_now": 50}
INTERVAL = PoolInterval(**POOL)
POOL_SIZES = {"seconds", "buffers", "stealable_low", "stealable_now"}
LOG_TIME = {"messages": 1, "put_commits": 1, "get_commits": 1, "many_pages_io_ms": 1, "current_io_ms": 1}

EDGES = [
    (
        "applications.failed_get_ms",
        {"uncommitted_messages": 1},
        [("uncommitted_messages", -1, 0), ("attempt_us", -0.001, 0)],
    ),
    ("applications.unit_of_work_is_large", {"messages": 1}, [("messages", -1, 0), ("messages", 10_001, 10_000)]),
    (
        "applications.get_with_waiters_us",
        {"get_us": 1, "waiters": 1},
        [("get_us", -0.001, 0), ("waiters", -1, 0), ("waiter_us", -0.001, 0)],
    ),
    (
        "applications.get_with_conversion_us",
        {"basic_get_us": 1, "conversion": Conversion.NONE},
        [("basic_get_us", -0.001, 0)],
    ),
    (
        "applications.put_with_side_messages_us",
        {"put_us": 1, "small_nonpersistent_put_us": 1, "small_persistent_put_us": 1},
        [
            ("put_us", -0.001, 0),
            ("small_persistent_put_us", -0.001, 0),
            ("process_start_us", -0.001, 0),
            ("small_nonpersistent_put_us", -0.001, 0),
            ("events_per_message", -0.001, 0),
            ("triggers_per_message", -0.001, 0),
            ("triggers_per_message", 1.001, 1),
            ("queue_managers", 0, 1),
        ],
    ),
    (
        "applications.async_put_us",
        {"put_us": 50, "saves_percent": 50},
        [("put_us", 0, 0.001), ("saves_percent", 17.999, 18), ("saves_percent", 55.001, 55)],
    ),
    ("buffer_flow.pool_thresholds", {"buffers": 1}, [("buffers", 0, 1)]),
    ("buffer_flow.buffers_that_keep_messages", {"peak_pages": 1}, [("peak_pages", -1, 0)]),
    (
        "buffer_flow.page_writes",
        {"checkpoints_after_get": 1, "checkpoints_before_get": 1, "pages": 1},
        [("pages", -1, 0), ("checkpoints_before_get", -1, 0), ("checkpoints_after_get", -1, 0)],
    ),
    ("buffer_flow.findings", {"interval": INTERVAL, "life": Life.SHORT}, [("reads_per_write_high", 0, 0.001)]),
    (
        "compression.recover_structure_seconds",
        {"archive": UNCOMPRESSED, "structure_mb": 1024.0},
        [("structure_mb", -0.001, 0)],
    ),
    ("compression.zedc_features_needed", {"queue_managers_at_peak": 1}, [("queue_managers_at_peak", -1, 0)]),
    (
        "compression.rate_before_gain",
        {"gain_percent": 1, "rate_after": 1},
        [("rate_after", -0.001, 0), ("gain_percent", -100, -99.999)],
    ),
    ("compression.smf_rate_without_loss", {"data_set_rate": 1, "log_stream": False}, [("data_set_rate", -0.001, 0)]),
    (
        "compression.archive_is_compressed",
        {"archive_bytes": 1, "log_bytes": 1},
        [
            ("archive_bytes", 0, 0.001),
            ("log_bytes", 0, 0.001),
            ("equal_within_percent", -0.001, 0),
            ("equal_within_percent", 100.001, 100),
        ],
    ),
    (
        "dasd.messages_per_sec",
        {"log_bytes_per_message": 1, "log_mb_per_sec": 1},
        [("log_mb_per_sec", -0.001, 0), ("log_bytes_per_message", 0, 0.001)],
    ),
    (
        "dasd.required_log_mb_per_sec",
        {"log_bytes_per_message": 1, "message_rate_per_sec": 1},
        [("message_rate_per_sec", -0.001, 0), ("log_bytes_per_message", 0, 0.001)],
    ),
    (
        "dasd.persistent_rate_per_sec_max",
        {"elapsed_us_per_message": 1, "instances": 1, "log_bytes_per_message": 1, "log_mb_per_sec": 1},
        [("instances", 0, 1), ("elapsed_us_per_message", 0, 0.001), ("queue_rate_per_sec_max", -0.001, 0)],
    ),
    (
        "dasd.stripes_used",
        {"bytes_in_write": 1, "stripes": 1},
        [("bytes_in_write", 0, 1), ("stripes", 0, 1), ("stripe_unit_bytes", 0, 1)],
    ),
    (
        "dasd.seconds_until_no_active_log_is_free",
        {"active_log_mb": 2, "active_logs": 2, "archive_mb_per_sec": 2, "log_mb_per_sec": 2},
        [
            ("active_log_mb", 0, 0.001),
            ("log_mb_per_sec", 0, 0.001),
            ("active_logs", 1, 2),
            ("archive_mb_per_sec", -0.001, 0),
        ],
    ),
    ("dasd.rate_with_zhpf", {"limit": ZhpfLimit.IO_CHANNELS, "rate": 1}, [("rate", -0.001, 0)]),
    (
        "hardware.convert_cost_us",
        {"cost_us": 290, "source": MACHINES["2097-703"], "target": MACHINES["2817-703"]},
        [("cost_us", -0.001, 0)],
    ),
    (
        "hardware.cpu_busy_percent",
        {"cost_ms_per_sec": 1, "processors": 1},
        [("cost_ms_per_sec", -0.001, 0), ("processors", 0, 1)],
    ),
    (
        "hardware.processors_busy",
        {"cost_us": 1, "rate_per_sec": 1},
        [("rate_per_sec", -0.001, 0), ("cost_us", -0.001, 0)],
    ),
    (
        "hardware.cost_us_per_transaction",
        {"busy_percent": 1, "processors": 1, "transactions_per_sec": 1},
        [("processors", 0, 1), ("busy_percent", -0.001, 0), ("transactions_per_sec", 0, 0.001)],
    ),
    (
        "ims_bridge.bridge_capacity_per_sec",
        {"bridge_task_rate_per_sec": 1, "cost_us": 1, "processors": 1, "region_us": 1, "regions": 1, "tpipes": 1},
        [
            ("regions", 0, 1),
            ("tpipes", 0, 1),
            ("processors", 0, 1),
            ("region_us", 0, 0.001),
            ("bridge_task_rate_per_sec", 0, 0.001),
            ("cost_us", 0, 0.001),
        ],
    ),
    (
        "ims_bridge.tpipes_needed",
        {"bridge_task_rate_per_sec": 1, "rate_per_sec": 1},
        [("rate_per_sec", -0.001, 0), ("bridge_task_rate_per_sec", 0, 0.001)],
    ),
    (
        "ims_bridge.tpipes",
        {"bridge_queues": 1, "queue_managers": 1},
        [("bridge_queues", -1, 0), ("queue_managers", 0, 1)],
    ),
    ("ims_monitor.occupancy_percent", {"execution_us": 1, "interval_sec": 1}, [("interval_sec", 0, 0.001)]),
    ("ims_monitor.checkpoints_too_often", {"minutes_avg": 1}, [("minutes_avg", -0.001, 0)]),
    ("log_flow.log_buffers", {"outbuff_kb": 10}, [("outbuff_kb", 3, 4)]),
    ("log_flow.outbuff_kb_for", {"pages_waiting_at_most": 1}, [("pages_waiting_at_most", -1, 0)]),
    ("log_flow.full_page_ios", {"pages": 1}, [("pages", -0.001, 0), ("pages_per_io_max", 0, 1)]),
    (
        "log_flow.unit_of_work_io_times",
        {"full_pages": 1},
        [("log_checks", 0, 1), ("current_io_times", 0, 1), ("current_io_times", 3, 2)],
    ),
    ("log_flow.elapsed_ms", {"io_times": 1, "response_ms": 1}, [("io_times", -0.001, 0), ("response_ms", -0.001, 0)]),
    (
        "log_flow.is_log_bound",
        {"io_times": 1, "measured_ms": 1, "response_ms": 1},
        [("measured_ms", 0, 0.001), ("within_percent", -0.001, 0)],
    ),
    (
        "log_flow.logger_calls",
        {"full_pages": 1},
        [("full_pages", -0.001, 0), ("write_threshold_pages", 0, 1), ("log_checks", 0, 1)],
    ),
    (
        "log_flow.log_time",
        {"current_io_ms": 1, "get_commits": 1, "many_pages_io_ms": 1, "messages": 1, "pages": 1, "put_commits": 1},
        [
            ("messages", 0, 1),
            ("put_commits", -1, 0),
            ("get_commits", -1, 0),
            ("many_pages_io_ms", 0, 0.001),
            ("current_io_ms", 0, 0.001),
            ("current_io_times", 0, 1),
            ("current_io_times", 3, 2),
            ("log_checks_per_commit", 0, 1),
            ("log_checks_per_commit", 3, 2),
        ],
    ),
    (
        "network.traffic_that_suits",
        {"bandwidth_mb_per_sec": 1, "high_bandwidth_mb_per_sec": 1, "high_latency_ms": 1, "latency_ms": 1},
        [
            ("bandwidth_mb_per_sec", 0, 0.001),
            ("latency_ms", -0.001, 0),
            ("high_bandwidth_mb_per_sec", -0.001, 0),
            ("high_latency_ms", 0, 0.001),
        ],
    ),
    ("queues.queue_pairs_at_peak", {"processors": 1}, [("processors", 0, 1), ("processors", 7, 6)]),
    ("queues.shared_queue_cpu_factor", {"queue_managers": 2, "size": "1,000 bytes"}, [("queue_managers", 0, 1)]),
    (
        "queues.cf_busy_percent",
        {"cf_engines": 1, "cf_us_per_message": 1, "messages_per_sec": 1},
        [("cf_engines", 0, 1)],
    ),
    (
        "queues.messages_in_group",
        {"message_kb": 1, "volume_mb": 1},
        [("volume_mb", -0.001, 0), ("message_kb", 0, 0.001)],
    ),
    ("shared_access.redrives_of_one_get", {"messages_with_key": 1}, [("messages_with_key", -1, 0), ("step", 0, 1)]),
    ("shared_access.redrives_to_drain", {"messages_with_key": 1}, [("messages_with_key", -1, 0)]),
    ("shared_access.common_key_cost_factor", {"messages_with_key": 1}, [("messages_with_key", 0, 1)]),
    ("shared_access.undefined_open_us", {}, [("attempts", -1, 0)]),
    (
        "shared_access.first_open_percent",
        {"opens_with_cf": 1, "opens_without_cf": 1},
        [("opens_with_cf", -1, 0), ("opens_without_cf", -1, 0)],
    ),
    ("tiers.two_tier_storage_kb", {"clients": 1}, [("clients", -1, 0), ("client_kb", -0.001, 0)]),
    ("tiers.three_tier_storage_kb", {}, [("channel_pairs", 0, 1), ("channel_kb", -0.001, 0)]),
    ("tiers.clients_max", {}, [("client_kb", 0, 0.001), ("storage_kb", -0.001, 0)]),
    ("tiers.connections_are_short_lived", {"messages_per_connection": 1}, [("messages_per_connection", 0, 1)]),
    (
        "tiers.message_channels_needed",
        {"channel_rate_per_sec": 1, "client_rate_per_sec": 1},
        [("client_rate_per_sec", -0.001, 0), ("channel_rate_per_sec", 0, 0.001)],
    ),
    (
        "buffer_flow.PoolInterval",
        POOL,
        [
            ("seconds", 0, 0.001),
            ("stealable_low", -1, 0),
            ("stealable_low", 101, 100),
            ("stealable_now", -1, 0),
            ("stealable_now", 101, 100),
        ],
    ),
    ("buffer_flow.PoolInterval", {**POOL, "stealable_low": 0, "stealable_now": 0}, [("buffers", 0, 1)]),
    (
        "hardware.Machine",
        {"name": "M", "processors": 1, "itr_average": 1.0, "source": MACHINES["2097-703"].source},
        [("processors", 0, 1), ("itr_average", 0, 0.001)],
    ),
    (
        "ims_monitor.occupancy_percent",
        {"interval_sec": 1},
        [("execution_us", -0.001, 0), ("execution_us", 1_000_001, 1_000_000)],
    ),
    (
        "log_flow.LogCounters",
        COUNTED,
        [
            ("messages", 0, 1),
            ("writes_nowait", -1, 0),
            ("buffers_filled", -1, 0),
            ("logger_calls", -1, 0),
            ("buffer_waits", -1, 0),
        ],
    ),
    ("log_flow.log_time", LOG_TIME, [("pages", 0, 1)]),
    ("log_writer.LogSettings", {}, [("write_threshold_pages", 0, 1), ("pages_per_io_max", 0, 1), ("io_ms", 0, 0.001)]),
    (
        "queues.SingleGetter",
        {"get_us": 1, "put_us": 1, "commit_us": 1},
        [("get_us", -0.001, 0), ("put_us", -0.001, 0), ("commit_us", -0.001, 0)],
    ),
    (
        "queues.cf_engines_needed",
        {"messages_per_sec": 1, "cf_us_per_message": 1},
        [("busy_percent_max", 0, 1), ("busy_percent_max", 100.001, 100)],
    ),
    (
        "ims_bridge.regions_needed",
        {"rate_per_sec": 1, "region_us": 1},
        [
            ("rate_per_sec", -0.001, 0),
            ("region_us", 0, 0.001),
            ("occupancy_percent_max", 0, 1),
            ("occupancy_percent_max", 100.001, 100),
        ],
    ),
    ("ims_bridge.region_us_per_transaction", {"occupancy_percents": (50.0,)}, [("transactions_per_sec", 0, 0.001)]),
    ("tiers.connections_are_short_lived", {"messages_per_connection": 1}, [("short_lived_below", 0.999, 1)]),
    ("shared_access.redrives_to_drain", {"messages_with_key": 1}, [("step", 0, 1)]),
    ("ims_monitor.checkpoints_too_often", {"minutes_avg": 1}, [("minutes_min", 0, 0.001)]),
    ("applications.unit_of_work_is_large", {"messages": 1}, [("advised", 0, 1)]),
    ("log_writer.LogSettings", {}, [("outbuff_kb", 3, 4)]),
    ("buffer_flow.PoolInterval", POOL, [(name, -1, 0) for name in COUNTS if name not in POOL_SIZES]),
]
