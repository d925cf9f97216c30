"""For every rule a row on which it fires, and what to change in it so that it does not.

Figures are the papers' own where they print any (MP1B tables T-14 and T-16, MP16 examples).
(columns, changed columns) or (columns, changed columns, settings, changed settings).
"""

POOL = {"buffer_pool": 3, "buffers": 1000, "stealable_low": 500, "location": 0}
CHANNEL = {"channel": "TO.QM2", "channel_type": 1, "messages": 100, "persistent_messages": 100}
STRUCTURE = {"structure": "APPLICATION1", "entries_high": 1313, "elements_high": 7192, "bytes_per_entry": 1402}
QUEUE = {"queue": "ORDERS", "page_set": 3, "buffer_pool": 3, "is_shared": 0}
TASK = {"application": "CICSPRD1 ORDR", "is_channel": 0, "commits": 100}
DB2_VERBS = ("delete", "list", "read", "update", "write", "scs_select", "scs_insert", "scs_update", "scs_delete")
DB2_VERBS += ("ssk_select", "ssk_insert", "ssk_delete")
DB2 = dict.fromkeys((f"{verb}s" for verb in DB2_VERBS), 0) | dict.fromkeys(
    (f"{verb}_{kind}_elapsed_us" for verb in DB2_VERBS for kind in ("thread", "server")), 0
)

CASES = {
    # log manager
    "mp1b/A-36": ({"waits_no_buffer": 1}, {"waits_no_buffer": 0}),
    "mp1b/A-37": ({"reads_from_buffer": 500}, {"reads_from_buffer": 10}),
    "mp1b/A-38": ({"reads_from_active": 314}, {"reads_from_active": 0}),
    "mp1b/A-39": ({"reads_from_archive": 1}, {"reads_from_archive": 0}),
    "mp1b/A-40": ({"buffers_paged_in": 2}, {"buffers_paged_in": 0}),
    "mp1b/A-41": ({"reads_delayed_tape_volume": 3}, {"reads_delayed_tape_volume": 0}),
    "mp1b/A-42": ({"reads_delayed_unavailable": 3}, {"reads_delayed_unavailable": 0}),
    "mp1b/A-43": ({"checkpoints": 6}, {"checkpoints": 5}),  # of half an hour: 12 and 10 an hour
    "mp1b/A-44": ({"threshold_writes": 100}, {"threshold_writes": 0}),
    "mp1b/A-45": (
        {"tape_mounts_attempted": 5, "tape_mounts_successful": 3},
        {"tape_mounts_successful": 5},
    ),
    "mp1b/A-46": ({"cis_written": 360_000, "log_ios": 360_000}, {"cis_written": 720_000}),
    "mp16-ch4-11/LOG-2": (
        {"logger_calls": 200, "suspensions": 100, "buffers_filled": 2550},
        {"buffers_filled": 467},
    ),
    "mp16-ch4-11/LOG-3": ({"logger_calls": 1020, "buffers_filled": 290}, {"buffers_filled": 1020}),
    "mp16-ch4-11/LOG-4": (
        {"io_us_copy_1": 3049, "io_us_copy_2": 3186, "ios_copy_1": 900, "buffers_filled": 100},
        {"io_us_copy_1": 400, "io_us_copy_2": 420},
    ),
    "mp16-ch4-11/DASD-1": (
        {"buffers_filled": 18_000_000, "suspensions": 18_000_000},
        {"buffers_filled": 1800},
        {"log_dasd": "DS8800 (RAID 5)"},
    ),
    "mp16-ch4-11/DASD-2": (
        {"buffers_filled": 36_000_000, "suspensions": 9_000_000},
        {},
        {"log_dasd": "DS8800 (RAID 5)", "active_logs_striped": False},
        {"active_logs_striped": True},
    ),
    "mp16-ch4-11/DASD-6": ({"ios_copy_1": 900, "ios_copy_2": 0}, {"ios_copy_2": 900}),
    "mp16-ch4-11/DASD-8": ({"buffers_filled": 9_000_000}, {}, {"zhpf": False}, {"zhpf": True}),
    "mp16-ch4-11/ZEDC-2": (
        {"pages_io_us_copy_1": 1000, "pages_io_us_copy_2": 1590, "pages_ios_copy_2": 900},
        {"pages_io_us_copy_2": 1110},
    ),
    "mp16-ch1/A-9": (
        {"buffers_filled": 460_800},  # 1 MiB/s
        {"buffers_filled": 4608},
        {"active_log_mb": 1000, "archive_time_s": 900},
    ),
    "mp16-ch1/A-15": ({"buffers_filled": 460_800}, {"buffers_filled": 1000}, {"active_log_mb": 1000}),
    "mp16-ch1/A-54": ({"buffers_filled": 460_800}, {"buffers_filled": 1000}, {"planned_log_mb_per_hour": 1000}),
    "mp16-ch1/A-56": (
        {"writes_nowait": 10_030, "suspensions": 1000},
        {},
        {"logload": 4_000_000, "restart_limit_s": 60},
        {"restart_limit_s": 6000},
    ),
    "mp16-ch2-3/CF-R26": ({"group_log_share": 2.0, "buffers_filled": 20_000}, {"group_log_share": 1.0}),
    # buffer manager
    "mp1b/A-24": ({**POOL, "short_on_storage": 1}, {"short_on_storage": 0}),
    "mp1b/A-27": ({**POOL, "synchronous_write_starts": 1, "immediate_writes": 4}, {"synchronous_write_starts": 0}),
    "mp16-ch1/A-41": ({**POOL, "hash_chain_changes": 1, "steals": 10}, {"hash_chain_changes": 0}),
    "mp1b/A-25": ({**POOL, "stealable_low": 149}, {"stealable_low": 151}),
    "mp1b/A-28": ({**POOL, "deferred_write_starts": 35, "pages_written": 2012}, {"deferred_write_starts": 0}),
    "mp1b/A-26": ({**POOL, "page_reads": 1000, "pages_written": 972}, {"page_reads": 0}),
    "mp1b/A-31": ({**POOL, "page_reads": 35_636, "write_ios": 29_126}, {"write_ios": 100}),
    "mp1b/A-32": ({**POOL, "get_page": 595_913, "set_writes": 3512}, {"get_page": 3_903_501, "set_writes": 2_526_190}),
    "mp16-ch4-11/BP-9": ({**POOL, "page_reads": 1000, "written_in_day": 400}, {"page_reads": 800}),
    "mp16-ch4-11/BP-7": ({**POOL, "page_reads": 200_000, "write_ios": 1000}, {"page_reads": 1000}),
    "mp16-ch4-11/BP-12": (
        {**POOL, "buffer_pool": 0, "deferred_write_starts": 2, "page_reads": 10, "pages_written": 100},
        {"buffer_pool": 1},
    ),
    "mp16-ch1/A-80": (
        {**POOL, "buffer_pool": 0, "buffers": 1050, "page_reads": 5},
        {"buffers": 7000},
        {"objects": 14_000},
    ),
    "mp16-ch1/A-47": (
        {**POOL, "page_reads": 400_000, "write_ios": 0, "page_fixed": 0},
        {"page_fixed": 1},
        {"free_real_mb": 4096},
    ),
    "mp16-ch1/A-46": ({**POOL, "buffer_pool": 2, "buffers": 60_000, "release": "7.1.0"}, {"release": "8.0.0"}),
    "mp16-ch1/A-51": ({**POOL, "buffers": 1000, "buffers_before": 5000}, {"buffers_before": 1000}),
    "mp16-ch1/A-42": (
        {"buffer_pool": 1, "buffers": 50_000, "intervals": 48, "seconds": 86_400, "stealable_low_share": 0.8},
        {"stealable_low_share": 0.4},
    ),
    "mp1b/A-29": (
        {**POOL, "buffers": 99_000, "stealable_low": 92_147, "get_new_page": 360_863, "steals": 228},
        {"get_new_page": 7000},
    ),
    "mp1b/A-30": (
        {**POOL, "buffers": 99_000, "stealable_low": 14_841, "get_new_page": 98_996, "steals": 75_619},
        {"steals": 228},
    ),
    "mp1b/A-33": ({**POOL, "pages_written": 300, "write_ios": 200}, {"pages_written": 800}),
    "mp1b/A-34": ({**POOL, "pages_written": 0, "log_checkpoints": 2, "set_writes": 100}, {"pages_written": 10}),
    "mp1b/A-35": ({**POOL, "steals": 500, "page_reads": 0}, {"steals": 1000, "page_reads": 1000}),
    "mp16-ch4-11/BP-3": ({**POOL, "pages_written": 940, "deferred_write_starts": 0}, {"pages_written": 0}),
    "mp16-ch4-11/BP-8": ({**POOL, "page_reads": 1000, "pages_written": 972}, {"pages_written": 4000}),
    # data and message manager
    "mp16-ch4-11/BP-10": ({"gets_from_disk": 500, "gets_from_buffer": 500}, {"gets_from_disk": 10}),
    "mp16-ch1/A-59": (
        {"persistent_puts": 10, "persistent_bytes_put": 20_000_000},
        {},
        {"outbuff_kb": 400},
        {"outbuff_kb": 4000},
    ),
    "mp16-ch1/A-64": (
        {"persistent_puts": 10, "persistent_bytes_put": 2_000_000},
        {},
        {"logload": 500_000},
        {"logload": 2_000_000},
    ),
    # Db2 manager: MP1B ORACLE 33 has a write of 109 ms
    "mp1b/A-16": (
        {**DB2, "updates": 10, "update_server_elapsed_us": 50_000, "writes": 1, "write_server_elapsed_us": 109_000}
        | {"deletes": 1, "delete_server_elapsed_us": 5000},
        {"write_server_elapsed_us": 9000},
    ),
    "mp1b/A-17": (
        {**DB2, "writes": 10, "write_thread_elapsed_us": 42_000, "reads": 1000, "tasks": 4, "queue_depth_high": 5},
        {"write_server_elapsed_us": 40_000},
    ),
    "mp1b/A-18": ({"queue_depth_high": 11, "tasks": 4}, {"queue_depth_high": 10}),
    "mp1b/A-19": ({"deadlocks": 1, "abends": 0}, {"deadlocks": 0}),
    "mp16-ch2-3/CF-R39": ({"reads": 19, "read_server_elapsed_us": 400_000}, {"read_server_elapsed_us": 114_000}),
    "mp16-ch2-3/CF-R22": ({"lms_inserts": 12}, {"lms_inserts": 0}),
    # coupling facility manager
    "mp1b/A-20": ({**STRUCTURE, "structure_full": 10}, {"structure_full": 0}),
    "mp16-ch2-3/CF-R12": (
        {**STRUCTURE, "structure_full": 1},
        {},
        {"allowautoalt": "YES"},
        {"allowautoalt": "NO"},
    ),
    "mp16-ch2-3/CF-R21": ({**STRUCTURE, "structure_full": 1}, {}, {"cflevel": 4}, {"cflevel": 5}),
    "mp1b/A-21": (
        {**STRUCTURE, "single_us": 150, "single_us_usual": 70, "multiple_us": 210, "multiple_us_usual": 211}
        | {"single_calls": 1000, "multiple_calls": 1000},
        {"single_us": 73},
    ),
    "mp16-ch2-3/CF-R1": (
        {**STRUCTURE, "single_us": 80, "single_calls": 1000},
        {"single_us": 20},
        {"cf_link": "CFP"},
    ),
    "mp16-ch2-3/CF-R35": (
        {"requests": 5000, "asynchronous_share": 0.5, "asynchronous_share_usual": 0.1},
        {"asynchronous_share": 0.15},
    ),
    "mp16-ch2-3/CF-R36": (  # MP1B ORACLE 37 and 39
        {**STRUCTURE, "single_calls": 4000, "single_redrives": 1000, "single_elapsed_us": 872_000, "single_us": 218},
        {"single_redrives": 0},
    ),
    "mp1b/A-22": (
        {**STRUCTURE, "single_calls": 4000, "single_redrives": 1, "single_elapsed_us": 872_000, "single_us": 218},
        {"single_redrives": 0},
    ),
    "mp16-ch2-3/CF-R37": (
        {**STRUCTURE, "multiple_calls": 1000, "multiple_redrives": 600},
        {"multiple_redrives": 5},
    ),
    "mp1b/A-23": (STRUCTURE, {"entries_high": 100}, {"entries_total": 1500}),
    "mp16-ch2-3/CF-R16": (
        STRUCTURE,
        {"elements_high": 71_920},
        {"entries_total": 1400, "elements_total": 80_000},
    ),
    "mp16-ch2-3/CF-R17": (
        {**STRUCTURE, "bytes_per_entry": 600},
        {"bytes_per_entry": 1402},
        {"allowautoalt": "NO"},
    ),
    "mp16-ch2-3/CF-R24": (
        {"structure": "APPLICATION1", "blocks_free_low": 0, "blocks_data": 4000, "allocations_failed": 3},
        {"blocks_free_low": 3506, "allocations_failed": 0},
    ),
    # storage manager
    "mp16-ch1/A-48": ({"region_31_available": 100 << 20}, {"region_31_available": 1300 << 20}),
    "mp16-ch1/A-83": ({"times_short_storage_set": 1, "abends_lack_storage": 0}, {"times_short_storage_set": 0}),
    "mp16-ch1/A-49": ({"available_64": 30 << 30, "memlimit": 32 << 30}, {"available_64": 1 << 30}),
    # channel initiator
    "mp16-ch2-3/CH-R4": (
        {"channels_high": 399, "max_channels": 400, "active_channels_high": 399, "max_active_channels": 400},
        {"channels_high": 8, "active_channels_high": 8},
    ),
    "mp16-ch2-3/CH-R7": ({"storage_31_mb": 1300, "channels_high": 5000}, {"storage_31_mb": 60}),
    "mp16-ch2-3/CH-R8": (
        {"adapter_requests_low": 100, "adapter_busy_low": 0.97, "adapters": 8},
        {"adapter_busy_low": 0.01},
    ),
    "mp16-ch2-3/CH-R12": (
        {"dispatcher_busy_high": 0.97, "dispatchers_idle": 4, "dispatchers": 5, "channels_high": 8}
        | {"max_channels": 200},
        {"dispatchers_idle": 0},
    ),
    "mp16-ch2-3/CH-R11": ({"max_channels": 200, "channels_high": 6}, {"max_channels": 20}),
    "mp16-ch2-3/CH-R13": ({"channels_high": 1500, "dispatchers": 5}, {"dispatchers": 20}),
    "mp16-ch2-3/CH-R30": ({"ssls": 3, "ssl_requests": 9, "dispatchers": 5}, {"ssls": 8}),
    "mp16-ch2-3/CH-R31": ({"ssl_busy_high": 0.97, "ssls": 8}, {"ssl_busy_high": 0.2}),
    "mp16-ch2-3/CH-R32": ({"ssl_cpu_share": 0.9}, {"ssl_cpu_share": 0.1}),
    "mp16-ch2-3/CH-R33": ({"ssl_us_per_request": 40_000, "ssl_busy_high": 0.1}, {"ssl_us_per_request": 900}),
    "mp16-ch2-3/CH-R17": (
        {**CHANNEL, "achieved_batch": 1.0, "batches": 893, "batch_size": 50, "messages": 893},
        {"achieved_batch": 12.0},
    ),
    "talks/A-3": (
        {**CHANNEL, "full_batches": 95, "batches": 100, "batch_size": 10, "bytes_per_message": 2000},
        {"full_batches": 5},
    ),
    "mp16-ch2-3/CH-R19": (
        {**CHANNEL, "batch_interval": 1000, "achieved_batch": 1.0, "batches": 100, "messages_per_s": 1},
        {"batch_interval": 0},
    ),
    "mp16-ch1/A-34": ({**CHANNEL, "batch_interval": 300_000}, {"batch_interval": 299_999}),
    "mp16-ch2-3/CH-R21": (
        {**CHANNEL, "batch_size": 50, "bytes_per_message": 2_000_000},
        {"bytes_per_message": 5000},
    ),
    "mp16-ch2-3/CH-R24": (
        {**CHANNEL, "bytes_per_batch": 4_900_000, "batch_data_limit": 5000},
        {"bytes_per_batch": 50_000},
    ),
    "mp16-ch1/A-27": (
        {**CHANNEL, "persistent_messages": 0, "messages": 500},
        {},
        {"npmspeed": "NORMAL"},
        {"npmspeed": "FAST"},
    ),
    "mp16-ch2-3/CH-R18": (
        {**CHANNEL, "persistent_messages": 0, "batch_interval": 0, "messages_per_s": 20, "achieved_batch": 2}
        | {"batch_size": 50},
        {"batch_interval": 100},
        {"npmspeed": "FAST"},
    ),
    "mp16-ch2-3/CH-R14": (
        {**CHANNEL, "dispatcher": 1, "dispatcher_messages_share": 0.95, "channels_on_dispatcher": 4}
        | {"dispatchers_used": 3, "messages_per_s": 50},
        {"channels_on_dispatcher": 1},
    ),
    "mp16-ch2-3/CH-R15": ({**CHANNEL, "compression_rate_percent": 60}, {"compression_rate_percent": 0}),
    "mp16-ch1/A-61": (
        {**CHANNEL, "channels_with_very_large": 16, "bytes_per_message": 100 << 20},
        {"channels_with_very_large": 15},
    ),
    "mp16-ch2-3/CH-R27": (
        {**CHANNEL, "channel_type": 7, "shared_conversations": 10, "messages_per_s": 100},
        {"shared_conversations": 1},
    ),
    "mp16-ch2-3/CH-R28": ({**CHANNEL, "starts": 20, "instances": 1}, {"starts": 1}),
    "mp16-ch4-11/NET-2": (
        {**CHANNEL, "network_average_us": 40_000, "achieved_batch": 2, "batches": 50},
        {"network_average_us": 320},
    ),
    "mp16-ch4-11/APP-4": (
        {**CHANNEL, "bytes_per_message": 200, "messages_per_s": 500},
        {"bytes_per_message": 30_000},
    ),
    # tasks
    "mp1b/A-1": (
        {**TASK, "elapsed_us_per_unit": 16_300, "messages_per_unit": 2, "latch_longest_us": 32_000},
        {"elapsed_us_per_unit": 300},
    ),
    "mp1b/A-3": ({**TASK, "log_wait_share": 0.95, "force_us": 4180, "log_forces": 33}, {"force_us": 98}),
    "mp16-ch4-11/Q-4": (  # 727 of 757 microseconds are commit
        {**TASK, "commits": 2000, "elapsed_us": 1_790_000_000, "commit_elapsed_us": 1_719_000_000},
        {"elapsed_us": 900_000_000},
    ),
    "mp1b/A-14": (
        {**TASK, "backouts": 1, "log_reads_from_buffer": 156, "log_reads_per_hour": 312},
        {"backouts": 0},
    ),
    "mp16-ch4-11/APP-1": (
        {**TASK, "held_per_unit": 201, "held": 20_100, "commits": 98, "backouts": 2},
        {"held_per_unit": 200},
    ),
    "mp16-ch1/A-68": (
        {**TASK, "held_per_unit": 50_000},
        {},
        {"maxumsgs": 100_000},
        {"maxumsgs": 10_000},
    ),
    "mp16-ch2-3/CF-R3": ({**TASK, "structures_used": 2, "log_bytes": 0}, {"structures_used": 1}),
    "mp16-ch4-11/SHQ-5": ({**TASK, "db2_requests": 50, "others": 1, "opens": 3}, {"db2_requests": 1}),
    "mp1b/A-8": (
        {**TASK, "commits": 1000, "cpu_us_per_unit": 160, "cpu_us_per_unit_before": 100, "commits_before": 1000},
        {"cpu_us_per_unit": 110},
    ),
    "mp1b/A-6": (
        {**TASK, "commits": 1000, "commits_before": 1000}
        | {"log_bytes_per_unit": 4000, "log_bytes_per_unit_before": 1900},
        {"log_bytes_per_unit": 1950},
    ),
    "mp16-ch4-11/TIER-1": (
        {"application": "WEBAPP", "task_connection_type": 2, "connections": 24_000, "messages_per_connection": 2},
        {"messages_per_connection": 50},
    ),
    # queues
    "mp1b/A-2": ({**QUEUE, "sets": 1}, {"sets": 0}),
    "mp1b/A-4": (
        {**QUEUE, "index_type": 0, "by_identifier": 1635, "gets_any": 0, "browses_any": 12}
        | {"messages_skipped": 447_000, "valid_gets": 1490},
        {"index_type": 2},
    ),
    "mp1b/A-5": ({**QUEUE, "index_type": 1, "by_identifier": 0, "gets_any": 10}, {"by_identifier": 1}),
    "mp1b/A-7": ({**QUEUE, "page_set_reads": 1, "valid_gets": 10}, {"page_set_reads": 0}),
    "mp1b/A-9": (
        {**QUEUE, "messages_skipped": 447_000, "valid_gets": 1490, "by_identifier": 1490},
        {"messages_skipped": 0},
    ),
    "mp1b/A-10": ({**QUEUE, "messages_expired": 1}, {"messages_expired": 0}),
    "mp16-ch1/A-78": (
        {**QUEUE, "messages_expired": 9, "browses_any": 100, "browses_specific": 0, "valid_gets": 10},
        {"browses_any": 0},
        {"expryint": "OFF"},
    ),
    "mp16-ch1/A-44": (
        {**QUEUE, "queue": "SYSTEM.ADMIN.CHANNEL.EVENT", "buffer_pool": 0, "valid_puts": 5},
        {"queue": "ORDERS"},
    ),
    "mp16-ch1/A-45": (
        {**QUEUE, "queue": "SYSTEM.CLUSTER.TRANSMIT.QUEUE", "valid_puts": 36_000, "valid_gets": 36_000},
        {"valid_puts": 10, "valid_gets": 10},
    ),
    "mp16-ch4-11/SHQ-6": ({**QUEUE, "is_shared": 1, "opens": 1000, "opens_no_cf": 0}, {"opens_no_cf": 990}),
    "mp16-ch4-11/APP-5": (
        {**QUEUE, "opens": 5000, "valid_puts": 5000, "valid_gets": 0, "client_calls": 5000},
        {"valid_puts": 50_000},
    ),
    "mp16-ch4-11/Q-5": ({**QUEUE, "generated_messages": 7200, "valid_puts": 7200}, {"generated_messages": 5}),
    "talks/A-5": (
        {**QUEUE, "get_size_high": 4_000_000, "get_size_low": 100, "channel_gets": 500},
        {"get_size_high": 5000},
    ),
    "mp16-ch2-3/CH-R9": ({**QUEUE, "selector_gets": 500, "client_calls": 3}, {"selector_gets": 0}),
    "mp16-ch2-3/CF-R48": (
        {**QUEUE, "structure": "APPLICATION1", "by_identifier": 500, "depth_high": 5000},
        {"by_identifier": 0},
        {"scm_max_mb": 4096},
    ),
    "mp16-ch1/A-28": (
        {"page_set": 3, "queues": 2, "on_queue_s_shortest": 2, "on_queue_s_longest": 30_000},
        {"on_queue_s_longest": 10},
    ),
    # page sets
    "mp16-ch1/A-29": (
        {"page_set": 2, "pages": 250_000, "pages_unused": 0, "used_share": 1.0, "full": 12},
        {"full": 0, "used_share": 0.5},
    ),
    "mp16-ch1/A-31": ({"page_set": 2, "pages": 1000, "expansions": 3}, {"expansions": 0}),
    "mp16-ch1/A-38": (
        {"page_set": 2, "pages_nonpersistent": 40_000, "depth": 100},
        {"depth": 39_000},
        {"maxshortmsgs": 0},
    ),
    "mp16-ch1/A-53": (
        {"page_set": 2, "checkpoint_pages": 250_000},
        {"checkpoint_pages": 100},
        {"write_burst_limit_s": 2, "page_set_write_mb_per_s": 100},
    ),
    # definitions
    "mp16-ch1/A-1": ({"trace_global": 1}, {"trace_global": 0}),
    "mp16-ch2-3/CH-R26": ({"trace_chinit": 1}, {"trace_asked_for": 1}),
    "mp16-ch1/A-2": (
        {"archive": "DASD", "archive_migrated": 1, "recovery_time_matters": 1},
        {"recovery_time_matters": 0},
    ),
    "mp16-ch1/A-4": ({"image_copies": 1}, {"image_copies": 2}),
    "mp16-ch1/A-5": ({"log_dasd_redundant": 0, "dual_logging": 0}, {"dual_logging": 1}),
    "mp16-ch1/A-8": ({"active_logs": 3}, {"active_logs": 4}),
    "mp16-ch1/A-11": ({"version": 7.1, "archive": "DASD", "active_log_mb": 4000}, {"version": 8.0}),
    "mp16-ch1/A-12": (
        {"archive": "DASD", "archive_mb": 4000, "archive_large_format": 0},
        {"archive_large_format": 1},
    ),
    "mp16-ch1/A-13": ({"archive": "DASD", "archive_mb": 4000}, {"archive_mb": 3000}),
    "mp16-ch1/A-14": ({"archive": "TAPE", "tape_compression": 1}, {"tape_compression": 0}),
    "mp16-ch1/A-17": ({"pav": 0, "adjacent_logs_share_volume": 1}, {"pav": 1}),
    "mp16-ch1/A-19": ({"copies_share_unit": 1}, {"copies_share_unit": 0}),
    "mp16-ch4-11/DASD-3": ({"active_logs_striped": 1, "archives_striped": 0}, {"archives_striped": 1}),
    "mp16-ch1/A-35": ({"backup_method": "REPRO"}, {"backup_method": "DFDSS"}),
    "mp16-ch1/A-37": ({"archive": "TAPE", "archive_blksize": 4096}, {"archive_blksize": 28_672}),
    "mp16-ch1/A-63": ({"logload": 500_000}, {"restart_limit_s": 60}),
    "mp16-ch1/A-66": ({"ordered_replication": 1, "logload": 500_000}, {"logload": 100_000}),
    "mp16-ch1/A-52": ({"page_set_hyperpav": 0, "version": 9.2}, {"version": 7.1}),
    "mp16-ch1/A-71": ({"accounting_class_3": 1, "smf_recording": "MAN"}, {"smf_recording": "LOGSTREAM"}),
    "mp16-ch1/A-79": ({"security_timeout_min": 120}, {"security_timeout_min": 54}),
    "mp16-ch1/A-82": ({"clcache": "STATIC"}, {"clcache": "DYNAMIC"}),
    "mp16-ch1/A-77": (
        {"queue": "DEEP", "indxtype": "MSGID", "curdepth": 50_000},
        {"indxtype": "NONE"},
        {"qindxbld": "WAIT"},
    ),
    "mp16-ch1/A-43": (
        {"queue": "SYSTEM.COMMAND.REPLY.MODEL", "queue_type": "QMODEL", "stgclass": "SYSTEM"},
        {"stgclass": "REMOTE"},
    ),
    "mp16-ch1/A-30": ({"page_set": "4", "secondary_extent": 0}, {"secondary_extent": 1}),
    "mp16-ch1/A-32": (
        {"page_set": "4", "total_pages": 1000, "unused_pages": 50, "expand": "NONE"},
        {"expand": "USER"},
    ),
    "mp16-ch2-3/CF-R15": ({"maxumsgs": 50_000, "queue_sharing_group": "QSG1"}, {"maxumsgs": 10_000}),
    "mp16-ch2-3/CF-R31": ({"shared_channels": 1, "lowest_version_in_group": 7.0}, {"lowest_version_in_group": 8.0}),
    "mp16-ch2-3/CF-R32": ({"cf_engines": 1, "cf_busy_percent": 31}, {"cf_engines": 2}),
    "mp16-ch2-3/CF-R34": ({"cf_engines_shared": 1, "cf_response_critical": 1}, {"cf_engines_shared": 0}),
    "mp16-ch4-11/Q-3": ({"chargeback": 1, "acctq_everywhere": 0}, {"acctq_everywhere": 1}),
    "mp16-ch2-3/CF-R5": ({"structure": "APP1", "queues": 513}, {"queues": 512}),
    "mp16-ch2-3/CF-R8": ({"structure": "APP1", "persistent_messages": 0, "duplexed": 1}, {"persistent_messages": 1}),
    "mp16-ch2-3/CF-R9": ({"structure": "APP1", "size_kb": 2001, "initsize_kb": 1000}, {"size_kb": 2000}),
    "mp16-ch2-3/CF-R10": (
        {"structure": "APP1", "allowautoalt": "YES", "minsize_kb": 500, "initsize_kb": 1000},
        {"minsize_kb": 1000},
    ),
    "mp16-ch2-3/CF-R13": (
        {"structure": "CSQ_ADMIN", "entries_total": 3000},
        {"entries_total": 4000},
        {"group_members": 4},
    ),
    "mp16-ch2-3/CF-R25": (
        {"structure": "APP1", "persistent_messages": 1, "backup_minutes_ago": 61, "backup_interval_min": 60},
        {"backup_minutes_ago": 59},
    ),
    "mp16-ch2-3/CF-R28": ({"structure": "APP1", "duplexed": 1, "admin_duplexed": 0}, {"duplexed": 0}),
    "mp16-ch2-3/CF-R53": ({"structure": "APP1", "cflevel": 2}, {"cflevel": 3}),
    "mp16-ch2-3/CF-R23": ({"structure": "APP1", "scm_use": "performance", "cflevel": 5}, {"offload_disabled": 1}),
    "mp16-ch2-3/CF-R45": ({"structure": "APP1", "scm_max_mb": 5000}, {"scm_max_mb": 1000}, {"cf_scm_mb": 4000}),
    "mp16-ch2-3/CF-R46": ({"structure": "APP1", "scm_max_mb": 10_000}, {"scm_max_mb": 100}, {"cf_free_mb": 100}),
    "mp16-ch2-3/CF-R52": (
        {"structure": "APP1", "allowautoalt": "YES", "scm_max_mb": 1000, "fullthreshold": 90},
        {"fullthreshold": 75},
    ),
}
