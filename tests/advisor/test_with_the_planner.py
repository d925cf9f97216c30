"""Where a rule and a formula of the planner say the same thing they say it of the same rows: they must not drift apart.

Each line is one value of the one figure both look at; the rule's row has nothing else that could make it fire.
"""

import pytest

from advisor.cases import CASES
from advisor.given import findings_on, rule_of
from quaestor.planner.applications import unit_of_work_is_large
from quaestor.planner.archive import needs_large_format
from quaestor.planner.batches import advised_batchsz_max, synchronous_per_s
from quaestor.planner.buffer_flow import buffers_that_keep_messages
from quaestor.planner.cfrm import PolicySizes, admin_carries_unit, may_start, queue_managers_supported
from quaestor.planner.channel_buffers import scavenger_due
from quaestor.planner.channel_tasks import dispatchers_for_channels, restart_may_help, ssl_tasks
from quaestor.planner.coupling_facility import busy_limit_percent, engines_needed
from quaestor.planner.dasd import planning_log_rate_mb_per_sec
from quaestor.planner.geometry import PAGE_BYTES, TRACK_BYTES
from quaestor.planner.log_flow import log_buffers
from quaestor.planner.logload import restart_s_max
from quaestor.planner.logs import enough_active_logs, fill_time_s
from quaestor.planner.page_sets import pages_per_message
from quaestor.planner.quantity import MIB
from quaestor.planner.structure_choice import structures_for_queues
from quaestor.planner.structures import auto_alter_gains


def fires(name, columns=None, settings=None):
    """Whether the rule fires on the row of its case with these changes."""
    base, _, *rest = CASES[name]
    return bool(
        findings_on(rule_of(name), {**base, **(columns or {})}, {**(rest[0] if rest else {}), **(settings or {})})
    )


@pytest.mark.parametrize("messages", [1, 199, 200, 201, 9999])
def test_units_of_recovery_that_are_large(messages):
    assert unit_of_work_is_large(messages) == fires("mp16-ch4-11/APP-1", {"held_per_unit": messages})


@pytest.mark.parametrize("tracks", [1, 65_534, 65_535, 65_536, 90_000])
@pytest.mark.parametrize("name", ["mp16-ch1/A-12", "mp16-ch1/A-13"])
def test_archives_that_need_a_large_format(name, tracks):
    size = tracks * TRACK_BYTES
    assert needs_large_format(size) == fires(name, {"archive_mb": size / MIB})


@pytest.mark.parametrize("logs", [1, 3, 4, 5])
def test_active_logs_that_are_enough(logs):
    assert enough_active_logs(logs) == (not fires("mp16-ch1/A-8", {"active_logs": logs}))


@pytest.mark.parametrize("log_mb", [100, 1799, 1800, 4000])
def test_active_logs_that_last_half_an_hour(log_mb):
    """The case logs 1 MiB a second."""
    lasts = fill_time_s(log_mb * MIB, MIB) >= 1800
    assert lasts == (not fires("mp16-ch1/A-15", settings={"active_log_mb": log_mb}))


@pytest.mark.parametrize("messages", [10_000, 40_000, 40_001])
@pytest.mark.oracle("mp16-ch2-3/6", kind="exact", lines="2354-2355")
def test_units_that_csq_admin_carries(messages):
    assert admin_carries_unit(messages) == (not fires("mp16-ch2-3/CF-R15", {"maxumsgs": messages}))


@pytest.mark.parametrize(("entries", "members"), [(5189, 5), (5189, 6), (9362, 9), (9362, 10), (999, 1), (1000, 1)])
def test_members_that_csq_admin_carries(entries, members):
    """ORACLES 3 and 4: 5,189 entries are for five queue managers, 9,362 for nine."""
    finds = fires("mp16-ch2-3/CF-R13", {"entries_total": entries}, {"group_members": members})
    assert may_start(entries, members - 1) == (not finds)
    assert (queue_managers_supported(entries) < members) == finds


@pytest.mark.parametrize(("init_kb", "size_kb"), [(500_000, 1_000_000), (500_000, 1_000_001), (1, 2), (1, 3)])
def test_sizes_that_waste_control_storage(init_kb, size_kb):
    """ORACLE 2: INITSIZE 500000 goes with SIZE 1000000."""
    sizes = PolicySizes(init_kb=init_kb, size_kb=size_kb, min_kb=init_kb)
    assert sizes.wastes_control_storage == fires("mp16-ch2-3/CF-R9", {"size_kb": size_kb, "initsize_kb": init_kb})


@pytest.mark.parametrize("min_kb", [1, 499_999, 500_000])
def test_structures_that_may_shrink(min_kb):
    sizes = PolicySizes(init_kb=500_000, size_kb=1_000_000, min_kb=min_kb)
    assert sizes.may_shrink == fires("mp16-ch2-3/CF-R10", {"minsize_kb": min_kb, "initsize_kb": 500_000})


@pytest.mark.parametrize("queues", [1, 511, 512, 513, 1024])
def test_queues_that_one_structure_takes(queues):
    assert (structures_for_queues(queues) > 2) == fires("mp16-ch2-3/CF-R5", {"queues": queues})


@pytest.mark.parametrize("message_bytes", [0, 100, 907, 908, 5000, 64_512, 64_513])
def test_messages_that_gain_by_auto_alter(message_bytes):
    """Between 908 and 64,512 bytes the fixed ratio is as good as it gets (2533)."""
    found = fires("mp16-ch2-3/CF-R17", {"bytes_per_entry": message_bytes + 372})
    assert auto_alter_gains(message_bytes) == found


@pytest.mark.parametrize(("engines", "busy"), [(1, 30), (1, 31), (2, 31), (2, 60), (2, 61), (8, 99)])
def test_coupling_facilities_that_need_an_engine(engines, busy):
    finds = fires("mp16-ch2-3/CF-R32", {"cf_engines": engines, "cf_busy_percent": busy})
    assert (busy > busy_limit_percent(engines)) == finds
    assert (engines_needed(engines, busy) > engines) == finds


@pytest.mark.parametrize("used_mb", [1, 1228.7, 1228.8, 1600])
def test_storage_of_the_channel_initiator_that_is_scavenged(used_mb):
    """75 % of 1.6 GB are 1,228.8 MB."""
    available_kb = 1.6 * 1024 * 1024
    assert scavenger_due(used_mb * 1024, available_kb) == fires("mp16-ch2-3/CH-R7", {"storage_31_mb": used_mb})


@pytest.mark.parametrize(("channels", "dispatchers"), [(1000, 5), (1001, 5), (1001, 19), (1001, 20), (5000, 30)])
def test_dispatchers_for_many_channels(channels, dispatchers):
    finds = fires("mp16-ch2-3/CH-R13", {"channels_high": channels, "dispatchers": dispatchers})
    assert (dispatchers_for_channels(channels, dispatchers) > dispatchers) == finds


@pytest.mark.parametrize(("tasks", "dispatchers"), [(5, 5), (6, 5), (1, 1), (2, 1)])
def test_ssl_tasks_for_dispatchers(tasks, dispatchers):
    finds = fires("mp16-ch2-3/CH-R30", {"ssls": tasks, "dispatchers": dispatchers})
    assert (ssl_tasks(dispatchers) > tasks) == finds


@pytest.mark.parametrize("percent", [27, 90, 90.5, 100])
def test_ssl_tasks_that_are_too_busy(percent):
    assert restart_may_help(percent) == fires("mp16-ch2-3/CH-R31", {"ssl_busy_high": percent / 100})


@pytest.mark.parametrize("message_bytes", [1, 5000, 100_000, 100_001, 2**20 - 1, 2**20, 100 * 2**20])
@pytest.mark.parametrize("batchsz", [1, 2, 10, 11, 100, 101])
def test_batch_sizes_for_messages(message_bytes, batchsz):
    finds = fires("mp16-ch2-3/CH-R21", {"batch_size": batchsz, "bytes_per_message": message_bytes})
    assert (batchsz > advised_batchsz_max(message_bytes)) == finds


@pytest.mark.oracle("mp16-ch2-3/63", kind="measured", lines="4099-4102")
def test_a_batch_interval_that_holds_a_requester_back():
    """BATCHINT(1000) leaves one message a second where 800 were possible; 1 ms leaves what there was."""
    columns, _ = CASES["mp16-ch2-3/CH-R19"][:2]
    for interval, rate in ((1000, "1"), (10, "100"), (1, "800")):
        (found,) = findings_on(rule_of("mp16-ch2-3/CH-R19"), {**columns, "batch_interval": interval})
        assert f"has {rate} a second at the most now, and 800 without BATCHINT" in found.effect
        assert float(rate) == synchronous_per_s(interval)


@pytest.mark.parametrize("used", [0, 1, 500, 850, 851, 999])
def test_buffers_that_are_wanted_keep_the_messages(used):
    """A quarter more than there are, or what leaves 15 % stealable at this peak, whichever is more."""
    columns = {**CASES["mp1b/A-24"][0], "stealable_low": 1000 - used}
    (found,) = findings_on(rule_of("mp1b/A-24"), columns)
    assert max(1250, buffers_that_keep_messages(used)) == found.figures["buffers_wanted"]


@pytest.mark.parametrize("unit_bytes", [1000, 5000, 1_000_000])
def test_log_rates_that_may_be_planned(unit_bytes):
    """Half of what chapter 4 measured, at its own sizes of messages."""
    dasd, seconds = "DS8800 (RAID 5)", 1800
    limit = planning_log_rate_mb_per_sec(dasd, unit_bytes)
    for share, finds in ((0.99, False), (1.01, True)):
        pages = share * limit * MIB * seconds / PAGE_BYTES
        row = {"buffers_filled": pages, "suspensions": pages * PAGE_BYTES / unit_bytes}
        assert finds == fires("mp16-ch4-11/DASD-1", row, {"log_dasd": dasd})


@pytest.mark.parametrize(
    ("logload", "limit_s"), [(500_000, 60), (4_000_000, 2000), (4_000_000, 2500), (16_000_000, 60)]
)
def test_restarts_that_take_too_long(logload, limit_s):
    row = {"writes_nowait": 10_030, "suspensions": 1000}  # ORACLE 26 of MP1B: ten records to a unit of recovery
    finds = fires("mp16-ch1/A-56", row, {"logload": logload, "restart_limit_s": limit_s})
    assert (restart_s_max(logload, 10.03) > limit_s) == finds


@pytest.mark.parametrize(("outbuff_kb", "buffers"), [(80, 20), (400, 100), (3999, 999)])
def test_log_buffers_of_an_outbuff(outbuff_kb, buffers):
    """OUTBUFF 80 is 20 buffers of 4 KB [4791]."""
    columns, _, settings, _ = CASES["mp16-ch1/A-59"]
    (found,) = findings_on(rule_of("mp16-ch1/A-59"), columns, {**settings, "outbuff_kb": outbuff_kb})
    assert buffers == log_buffers(outbuff_kb)
    assert f"1,000 log buffers instead of {buffers}" == found.effect


@pytest.mark.parametrize("message_bytes", [0, 1000, 3635, 3636, 10_000, 100_000])
def test_pages_that_messages_need(message_bytes):
    """Ten times what the queues' messages need is what the scavenger leaves behind."""
    need = 100 * pages_per_message(message_bytes)
    row = {"depth": 100, "message_size": message_bytes}
    assert not fires("mp16-ch1/A-38", {**row, "pages_nonpersistent": max(1000, 10 * need)})
    assert fires("mp16-ch1/A-38", {**row, "pages_nonpersistent": max(1000, 10 * need) + 1})
