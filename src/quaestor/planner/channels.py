"""Channel initiator storage: what a channel takes, what the tasks take, and how many channels fit.

Rules
  H1  A channel keeps its storage for life; how much depends on the message size, on SHARECNV for client channels, and
      30 KB more with TLS (more still above 32 KB messages; the paper does not say how much).
  H2  Footprints of MCA channels and of SHARECNV 0, 1 and 10 are read linearly between printed message sizes.
      SHARECNV from 10 up is counted by current conversations, and never below one unshared conversation.
  H3  The extended private region is seldom above 1.6 GB, and MAXCHL ends at 9,999.
  H4  From 75% of the storage on, the scavenger runs.
  H5  Footprints belong to a release: the tables are V8's; V6 and V7 have one or two figures of their own.
  H6  Units: KB, 1 MB = 1024 KB, 1 GB = 1024 MB.

Called by the planner's answers.  Calls bounds, source.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, one_of, within
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

EXTRACT = "mp16-ch2-3"

EPVT_KB = 1.6 * 1024 * 1024
MAXCHL_LIMIT = 9_999
PRACTICAL_CHANNELS = 9_000  # TLS or not
ADAPTER_KB = 223.0
DISPATCHER_KB = 248.0
SSL_TASK_KB = 1.3 * 1024
CLUSTER_CACHE_KB = 2 * 1024.0  # STATIC, and where DYNAMIC begins
TLS_KB = 30.0
SCAVENGER_PERCENT = 75

MCA_FOOTPRINT_KB = Table(
    "footprint of an MCA channel, KB",
    Source(EXTRACT, "B1 ORACLE 43", "3304-3306"),
    ("message_kb", "footprint_kb", "over_1_kb_printed"),
    ((1, 90, 0), (32, 99, 9), (64, 109, 18), (1024, 1125, 1034)),  # the last two differences are printed 1 too small
)
SVRCONN_FOOTPRINT_KB = Table(
    "footprint of a SVRCONN channel, KB, by SHARECNV",
    Source(EXTRACT, "B1 ORACLE 45", "3320-3325"),
    ("message_kb", "sharecnv_0", "sharecnv_1", "sharecnv_10"),
    ((1, 96, 179, 242), (32, 166, 291, 685), (64, 196, 357, 1031)),
)
EARLIER_FOOTPRINT_KB = {(6, "channel"): 140.0, (6, "tls channel"): 170.0, (7, "sharecnv 10"): 514.0}
EARLIER_FOOTPRINT_SOURCE = Source(EXTRACT, "B1, B8 ORACLE 65", "3292, 3725-3726")


@dataclass(frozen=True, slots=True)
class ChannelGroup:
    """So many channels of one footprint."""

    channels: int
    footprint_kb: float
    tls: bool = False


@formula(EXTRACT, "B1 MCA footprint", "3302-3306")
def mca_footprint_kb(message_kb: float) -> float:
    """Storage of a sender, receiver or other MCA channel (H1, H2)."""
    return MCA_FOOTPRINT_KB.between(message_kb, "footprint_kb")


@formula(EXTRACT, "B1 SVRCONN footprint", "3318-3325")
def svrconn_footprint_kb(message_kb: float, sharecnv: int, conversations: int = 1) -> float:
    """Storage of one client channel instance with so many current conversations (H1, H2)."""
    at_least(0, sharecnv=sharecnv)
    within(1, max(1, sharecnv), conversations=conversations)
    if sharecnv in {0, 1}:
        return SVRCONN_FOOTPRINT_KB.between(message_kb, f"sharecnv_{sharecnv}")
    if sharecnv < 10:
        raise OutOfRangeError(f"sharecnv {sharecnv} has no figures; valid are 0, 1, and 10 and above")
    each = SVRCONN_FOOTPRINT_KB.between(message_kb, "sharecnv_10") / 10
    return max(each * conversations, SVRCONN_FOOTPRINT_KB.between(message_kb, "sharecnv_1"))


@formula(EXTRACT, "B1, B8 footprints of earlier releases", "3292, 3725-3726")
def earlier_footprint_kb(version: int, kind: str) -> float:
    """Storage of a channel at version 6 or 7 (H5)."""
    if (version, kind) not in EARLIER_FOOTPRINT_KB:
        known = ", ".join(f"version {v} {k}" for v, k in EARLIER_FOOTPRINT_KB)
        raise OutOfRangeError(f"version {version} {kind} has no figures; valid are {known}")
    return EARLIER_FOOTPRINT_KB[version, kind]


@formula(EXTRACT, "B1 task storage", "3279-3283")
def task_storage_kb(adapters: int, dispatchers: int, ssl_tasks: int = 0) -> float:
    """Storage of the tasks (V8)."""
    at_least(0, ssl_tasks=ssl_tasks, adapters=adapters, dispatchers=dispatchers)
    return adapters * ADAPTER_KB + dispatchers * DISPATCHER_KB + ssl_tasks * SSL_TASK_KB


@formula(EXTRACT, "B1 free storage [D]", "3260-3283, 3296")
def free_storage_kb(tasks_kb: float, cluster_cache_kb: float = 0.0, epvt_kb: float = EPVT_KB) -> float:
    """What is left for channels and their buffers; the cluster cache is 0 without cluster channels, else from 2 MB."""
    at_least(0, tasks_kb=tasks_kb, cluster_cache_kb=cluster_cache_kb, epvt_kb=epvt_kb)
    taken = tasks_kb + cluster_cache_kb
    return max(0.0, epvt_kb - taken)


@formula(EXTRACT, "B1 storage needed", "3308-3314, 3339")
def storage_needed_kb(groups: Iterable[ChannelGroup]) -> float:
    """Storage that these channels keep (H1)."""
    listed = list(groups)
    for group in listed:
        at_least(0, channels=group.channels)
    return sum(group.channels * (group.footprint_kb + (TLS_KB if group.tls else 0.0)) for group in listed)


@formula(EXTRACT, "B1 most channels", "3287-3331")
def channels_max(footprint_kb: float, tls: bool = False, free_kb: float = EPVT_KB) -> int:
    """How many channels of one kind can be started (H3); the paper's own examples leave the tasks out of account."""
    above(0, footprint_kb=footprint_kb)
    at_least(0, free_kb=free_kb)
    each = footprint_kb + (TLS_KB if tls else 0.0)
    return min(MAXCHL_LIMIT, int(free_kb / each))


@formula(EXTRACT, "B1, B2 storage in use (CH-R1)", "3400")
def storage_percent(used_kb: float, available_kb: float) -> float:
    """Percent of the channel initiator's storage; 75 brings the scavenger, above 100 channels do not start (H4)."""
    above(0, available_kb=available_kb)
    at_least(0, used_kb=used_kb)
    return 100 * used_kb / available_kb


@formula(EXTRACT, "B1, B8 which SHARECNV (CH-R2, CH-R27)", "3333-3335, 3717-3735")
def recommended_sharecnv(uses_v7_functions: bool, threads: str = "one", persistent_or_busy: bool = False) -> int:
    """SHARECNV for a client population.

    `uses_v7_functions`: client heartbeats, read-ahead or asynchronous consume.  `threads`: "one" or "many" of a process
    that hold conversations.  `persistent_or_busy`: persistent work or high volume, where sharing one adapter and one
    socket holds the others up.
    """
    one_of(("one", "many"), threads=threads)
    if threads == "many" and not persistent_or_busy:
        return 10
    return 1 if uses_v7_functions else 0
