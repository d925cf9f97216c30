"""Storage of a queue manager beyond its buffer pools: common storage, handles, groups, clusters, large messages.

Rules
  S1  KB and MB are binary here; only the paper's total for handles counts 1000 KB to the MB [2259].
  S2  Common storage (CSA) for each connection depends on how many conversations share a channel instance; between the
      measured numbers it is linear, beyond ten conversations unknown.
  S3  The cluster cache is held twice, once for the queue manager and once for workload exits.

Called by whoever plans storage.  Calls quantity, source, bounds.
"""

from math import ceil

from quaestor.planner.bounds import at_least, within
from quaestor.planner.quantity import KIB, MIB
from quaestor.planner.source import Source, Table, formula

CSA_QUEUE_MANAGER_BYTES = 6 * MIB  # V7.1 to V9.0 [2207]
CSA_CONNECTION_BYTES = 2.45 * KIB  # local, MCA channel, or SHARECNV(0) [2213]
CSA_SHARED_KIB = Table(
    "CSA KiB of a client connection by SHARECNV",
    Source("mp16-ch1", "T-25", "2214-2216"),
    ("sharecnv", "csa_kib"),
    ((1, 4.9), (5, 2.9), (10, 2.9)),
)
HANDLE_BYTES = 4 * KIB  # [2257]
HANDLES_PER_MCA_MAX = 30  # [2259]
GROUP_PRIVATE_BYTES = 27 * MIB  # [2273]
STRUCTURE_PRIVATE_BYTES, STRUCTURE_ESQA_BYTES, STRUCTURE_ECSA_BYTES = 800 * KIB, 2 * KIB, 4 * KIB  # [2275]
STRUCTURE_BACKUP_BYTES = 65 * MIB  # held until storage is short [2279]
CLUSTER_CACHE_BYTES_MIN, CLUSTER_CACHE_SPARE_BYTES, CLUSTER_CACHE_COPIES = 2 * MIB, MIB, 2  # [2283-2285]
LARGE_CHANNELS_MAX, LARGE_MESSAGE_BYTES = 15, 100 * MIB  # [1642]


@formula("mp16-ch1", "F-58", "2213-2216")
def csa_bytes_per_connection(sharecnv: int = 0) -> float:
    """CSA of one connection; 0 for local connections and MCA channels too (S2)."""
    at_least(0, sharecnv=sharecnv)
    return CSA_CONNECTION_BYTES if sharecnv == 0 else CSA_SHARED_KIB.between(sharecnv, "csa_kib") * KIB


@formula("mp16-ch1", "F-58", "2207-2216")
def csa_bytes(connections_by_sharecnv: dict[int, int]) -> float:
    """CSA of a queue manager and its connections, counted by the SHARECNV they use."""
    at_least(0, **{f"connections_sharecnv_{each}": number for each, number in connections_by_sharecnv.items()})
    return CSA_QUEUE_MANAGER_BYTES + sum(
        number * csa_bytes_per_connection(sharecnv) for sharecnv, number in connections_by_sharecnv.items()
    )


@formula("mp16-ch1", "T-25", "2257-2259")
def handle_bytes(applications: int, queues_open_each: int) -> int:
    """Storage of object handles: each application holds one for each queue it has open (S1)."""
    at_least(0, applications=applications, queues_open_each=queues_open_each)
    return applications * queues_open_each * HANDLE_BYTES


@formula("mp16-ch1", "T-25", "2273-2279")
def group_private_bytes(structures: int, *, backs_up_structures: bool = False) -> int:
    """Private storage that membership in a queue-sharing group adds."""
    at_least(0, structures=structures)
    backup_bytes = STRUCTURE_BACKUP_BYTES if backs_up_structures else 0
    return GROUP_PRIVATE_BYTES + structures * STRUCTURE_PRIVATE_BYTES + backup_bytes


@formula("mp16-ch1", "T-25", "2275")
def group_common_bytes(structures: int) -> int:
    """ESQA and ECSA that application structures add."""
    at_least(0, structures=structures)
    return structures * (STRUCTURE_ESQA_BYTES + STRUCTURE_ECSA_BYTES)


@formula("mp16-ch1", "F-59", "2283-2285")
def cluster_cache_bytes(configuration_bytes: float) -> int:
    """Storage of both copies of the cluster cache: the configuration in whole MB and one more (S3)."""
    at_least(0, configuration_bytes=configuration_bytes)
    each_bytes = ceil(configuration_bytes / MIB) * MIB + CLUSTER_CACHE_SPARE_BYTES
    return CLUSTER_CACHE_COPIES * max(CLUSTER_CACHE_BYTES_MIN, each_bytes)


@formula("mp16-ch1", "A-61", "1642")
def channels_at_once(message_bytes: int) -> int:
    """Channels that can move messages of this size at the same time.

    The paper says 15 for 100 MB, by virtual storage; smaller messages in proportion is ours, down to 1 MB.
    """
    within(MIB, LARGE_MESSAGE_BYTES, message_bytes=message_bytes)
    return LARGE_CHANNELS_MAX * LARGE_MESSAGE_BYTES // message_bytes
