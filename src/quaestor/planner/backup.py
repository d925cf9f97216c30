"""Page set backup: how long a copy takes, and how often one must be taken to recover in time.

Rules
  K1  Recovery takes the time to react, to restore the copy, and to restart with all log written since the copy: not
      only this page set's share of it.
  K2  A copy taken while the queue manager runs may need three checkpoints more.
  K3  The interval is the smaller of what the recovery target allows (the paper's Formula A) and what the active logs
      hold, so that recovery reads active logs alone.
  K4  With persistent messages, and for page set 0 always, the interval is hours, not days; daily is the outer bound.
  K5  KB and MB are binary here, as in the paper's own examples of this section.

Called by restart and whoever plans backups.  Calls geometry, quantity, source, bounds.
"""

from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import above, at_least
from quaestor.planner.geometry import CYLINDER_BYTES
from quaestor.planner.quantity import HOUR_S, KIB, MIB
from quaestor.planner.source import formula

# The constants of table T-11; its copy rates are in CopyMethod, its log read rates in restart.
MESSAGE_OVERHEAD_BYTES = 1.3 * KIB  # beyond the user data of a persistent message [841]
BATCH_SENT_BYTES = 2.5 * KIB  # each batch of non-fast messages sent [842]
BATCH_RECEIVED_BYTES = 1.4 * KIB  # each batch of non-fast messages received [843]
FUZZY_CHECKPOINTS = 3  # [834-836]


class CopyMethod(Enum):
    """How a page set is copied or restored; the value is its rate in bytes per second on a DS8800 (T-11)."""

    DFDSS = 6200 * CYLINDER_BYTES / 60  # [831]
    REPRO = 3700 * CYLINDER_BYTES / 60  # [831]
    REPRO_SHORT_OF_CPU = 8.5 * MIB  # [852]


@dataclass(frozen=True, slots=True)
class BackupInterval:
    """The two bounds of K3 in hours; the one to keep is the smaller."""

    by_recovery_target_h: float
    by_active_logs_h: float

    @property
    def interval_h(self) -> float:
        return min(self.by_recovery_target_h, self.by_active_logs_h)


@formula("mp16-ch1", "T-11", "831, 852, 1323")
def copy_time_s(page_set_bytes: int, method: CopyMethod = CopyMethod.DFDSS) -> float:
    """Seconds to back up or restore a page set; the whole data set is copied."""
    at_least(0, page_set_bytes=page_set_bytes)
    return page_set_bytes / method.value


@formula("mp16-ch1", "F-18", "822-826")
def backup_in_hours(page_set: int, *, holds_persistent_messages: bool) -> bool:
    """Whether the interval belongs in hours rather than days (K4)."""
    at_least(0, page_set=page_set)
    return page_set == 0 or holds_persistent_messages


@formula("mp16-ch1", "F-19", "828-832")
def recovery_time_s(reaction_s: float, restore_s: float, restart_s: float) -> float:
    """Total recovery time of a page set (K1)."""
    at_least(0, reaction_s=reaction_s, restore_s=restore_s, restart_s=restart_s)
    return reaction_s + restore_s + restart_s


@formula("mp16-ch1", "F-19", "828-832, 1075-1077")
def restart_time_allowed_s(target_s: float, reaction_s: float, restore_s: float) -> float:
    """What a recovery target leaves for restart; refused where nothing is left."""
    at_least(0, reaction_s=reaction_s, restore_s=restore_s)
    above(reaction_s + restore_s, target_s=target_s)
    return target_s - reaction_s - restore_s


@formula("mp16-ch1", "F-20", "834-836")
def recovery_log_bytes(bytes_since_backup: float, bytes_per_checkpoint: float = 0.0, *, fuzzy: bool = True) -> float:
    """Log to read for a restored page set: all since the backup, and three checkpoints for a fuzzy one (K1, K2)."""
    at_least(0, bytes_since_backup=bytes_since_backup, bytes_per_checkpoint=bytes_per_checkpoint)
    return bytes_since_backup + (FUZZY_CHECKPOINTS * bytes_per_checkpoint if fuzzy else 0.0)


@formula("mp16-ch1", "F-27", "1060-1064")
def backup_interval_h(
    restart_allowed_s: float, log_read_rate_bytes_per_s: float, log_write_rate_bytes_per_h: float
) -> float:
    """Formula A: hours of logging that restart can read back in the time allowed beyond normal startup."""
    at_least(0, restart_allowed_s=restart_allowed_s, log_read_rate_bytes_per_s=log_read_rate_bytes_per_s)
    above(0, log_write_rate_bytes_per_h=log_write_rate_bytes_per_h)
    return restart_allowed_s * log_read_rate_bytes_per_s / log_write_rate_bytes_per_h


@formula("mp16-ch1", "F-30", "1081-1083")
def active_log_hours(active_log_bytes_total: float, log_write_rate_bytes_per_h: float) -> float:
    """Hours of logging that the active logs hold."""
    at_least(0, active_log_bytes_total=active_log_bytes_total)
    above(0, log_write_rate_bytes_per_h=log_write_rate_bytes_per_h)
    return active_log_bytes_total / log_write_rate_bytes_per_h


@formula("mp16-ch1", "F-27, F-30", "1064, 1079-1083")
def backup_interval(
    restart_allowed_s: float,
    log_read_rate_bytes_per_s: float,
    log_write_rate_bytes_per_h: float,
    active_log_bytes_total: float,
) -> BackupInterval:
    """Both bounds on the time between two backups (K3)."""
    return BackupInterval(
        backup_interval_h(restart_allowed_s, log_read_rate_bytes_per_s, log_write_rate_bytes_per_h),
        active_log_hours(active_log_bytes_total, log_write_rate_bytes_per_h),
    )


@formula("mp16-ch1", "ORACLE 28", "1089")
def whole_days_between_backups(interval_h: float, application_hours_per_day: float) -> int:
    """Days of application work an interval covers; 0 when a day needs more than one backup."""
    at_least(0, interval_h=interval_h)
    above(0, application_hours_per_day=application_hours_per_day)
    return int(interval_h // application_hours_per_day)


@formula("mp16-ch1", "F-28", "841, 1066-1073")
def log_bytes_per_h_local(messages_per_s: float, user_bytes: float) -> float:
    """Log an hour for persistent messages put and got locally or by clients."""
    at_least(0, messages_per_s=messages_per_s, user_bytes=user_bytes)
    return messages_per_s * (user_bytes + MESSAGE_OVERHEAD_BYTES) * HOUR_S


@formula("mp16-ch1", "F-29", "841-843, 1091-1102")
def log_bytes_per_h_request_reply(pairs_per_s: float, user_bytes: float, achieved_batch: float = 1) -> float:
    """Log an hour for requests received and replies sent over channels, both of `user_bytes`, both persistent."""
    at_least(0, pairs_per_s=pairs_per_s, user_bytes=user_bytes)
    at_least(1, achieved_batch=achieved_batch)
    messages_bytes = 2 * (user_bytes + MESSAGE_OVERHEAD_BYTES)
    return pairs_per_s * (messages_bytes + (BATCH_SENT_BYTES + BATCH_RECEIVED_BYTES) / achieved_batch) * HOUR_S


@formula("mp16-ch1", "F-31", "1112")
def measured_log_bytes_per_h(log_bytes: float, fill_time_h: float) -> float:
    """The rate to compare with the planned one: one log, and the hours it took to fill."""
    at_least(0, log_bytes=log_bytes)
    above(0, fill_time_h=fill_time_h)
    return log_bytes / fill_time_h
