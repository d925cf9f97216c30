"""How often to back up a structure, and how long its recovery takes.

Rules
  B1  Recovery = restoring the fuzzy backup, then replaying every log of the group since it.  The logs are read
      backwards in parallel, so the one with most data since the backup decides.
  B2  All log data counts, that of private queues too.
  B3  A replay budget is whole minutes, cut off: a target of 30 minutes and a restore of 10 seconds leave 29.
  B4  A backup interval is whole minutes, cut off: it must never be longer than the target allows.
  B5  Where a log is written no faster than it can be read backwards, the interval is at least the replay budget.
  B6  Units: MB is 1024 KB, as in the paper's table of intervals.

Called by the planner's answers.  Calls bounds, source.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

EXTRACT = "mp16-ch2-3"

LOG_OVERHEAD_KB = 1.33  # beside the message's own length, for one put and got
READ_BACKWARDS_MB_PER_S = 56.0  # DS8800, 2817-703, z/OS 1.13
RESTORE_S = 10.0  # the measured sample below
TARGET_MIN = 30.0


@dataclass(frozen=True, slots=True)
class BackupSample:
    """What was measured for one backup and its restore from an active log."""

    messages: int
    message_kb: int
    backup_cpu_s_below: float
    restore_s: float
    source: Source


BACKUP_SAMPLE = BackupSample(200_000, 1, 1.0, RESTORE_S, Source(EXTRACT, "A7 ORACLE 15", "2559, 2572"))

BACKUP_INTERVALS = Table(
    "backup interval for 1 KB persistent messages, logs read backwards at 56 MB/s",
    Source(EXTRACT, "A7 ORACLE 17", "2576-2580"),
    ("messages_per_s", "messages_per_s_on_3_logs", "log_mb_per_s", "interval_min"),
    (
        (1000, 3000, 2.27, 715),
        (2000, 6000, 4.61, 352),  # 2000 messages of 2.33 KB are 4.55 MB; the interval follows from the printed rate
        (14_600, 43_800, 33.22, 48),
    ),
)


@formula(EXTRACT, "A7 log data per message", "2582")
def log_kb_per_message(message_kb: float) -> float:
    """Log data for one shared persistent message put and got, crudely."""
    at_least(0, message_kb=message_kb)
    return message_kb + LOG_OVERHEAD_KB


@formula(EXTRACT, "A7 log rate", "2576-2582")
def log_mb_per_s(messages_per_s: float, message_kb: float) -> float:
    """Log data rate of a queue manager that puts and gets so many shared persistent messages (B6)."""
    at_least(0, messages_per_s=messages_per_s)
    return messages_per_s * log_kb_per_message(message_kb) / 1024


@formula(EXTRACT, "A7 replay budget", "2572")
def replay_budget_min(target_min: float = TARGET_MIN, restore_s: float = RESTORE_S) -> int:
    """Whole minutes left for replaying the longest log (B3)."""
    above(0, target_min=target_min)
    at_least(0, restore_s=restore_s)
    left = int(target_min - restore_s / 60)
    if left < 1:
        raise OutOfRangeError(
            f"target_min {target_min:g} is outside {1 + restore_s / 60:g} and above: restoring takes {restore_s:g} s"
        )
    return left


@formula(EXTRACT, "A7 log read within the budget", "2572")
def log_readable_mb(budget_min: float, read_backwards_mb_per_s: float = READ_BACKWARDS_MB_PER_S) -> float:
    """How much of the longest log can be replayed within the budget."""
    above(0, read_backwards_mb_per_s=read_backwards_mb_per_s)
    at_least(0, budget_min=budget_min)
    return budget_min * 60 * read_backwards_mb_per_s


@formula(EXTRACT, "A7 backup interval", "2557, 2568-2580")
def backup_interval_min(
    longest_log_mb_per_s: float,
    budget_min: float,
    read_backwards_mb_per_s: float = READ_BACKWARDS_MB_PER_S,
) -> int:
    """Whole minutes after which the structure must be backed up again (B4)."""
    above(0, read_backwards_mb_per_s=read_backwards_mb_per_s, longest_log_mb_per_s=longest_log_mb_per_s)
    at_least(0, budget_min=budget_min)
    read_over_write = read_backwards_mb_per_s / longest_log_mb_per_s
    return int(budget_min * read_over_write)


@formula(EXTRACT, "A7 recovery time", "2561-2566")
def recovery_s(
    log_mb_since_backup: Iterable[float],
    restore_s: float = RESTORE_S,
    read_backwards_mb_per_s: float = READ_BACKWARDS_MB_PER_S,
) -> float:
    """Time to recover the structure now, given each member's log data since the backup (B1, B2)."""
    at_least(0, restore_s=restore_s)
    above(0, read_backwards_mb_per_s=read_backwards_mb_per_s)
    logs = list(log_mb_since_backup)
    for mb in logs:
        at_least(0, log_mb_since_backup=mb)
    longest = max(logs, default=0.0)
    return restore_s + longest / read_backwards_mb_per_s


@formula(EXTRACT, "A7 backup overdue (CF-R25)", "2553-2557")
def backup_is_due(minutes_since_backup: float, interval_min: int) -> bool:
    """Whether recovery would by now miss its target."""
    at_least(0, minutes_since_backup=minutes_since_backup)
    above(0, interval_min=interval_min)
    return minutes_since_backup >= interval_min


@formula(EXTRACT, "A7 skew of the logs (CF-R26)", "2566-2568")
def longest_log_share(log_mb_per_s: Iterable[float]) -> float:
    """The busiest log against an even spread: 1.0 is balanced, 2.0 means twice its share."""
    rates = list(log_mb_per_s)
    for rate in rates:
        at_least(0, log_mb_per_s=rate)
    above(0, sum_of_log_mb_per_s=sum(rates))
    return max(rates) * len(rates) / sum(rates)
