"""Which CFLEVEL, RECOVER and duplexing a structure gets, which queues go into it, and what survives a failure.

Rules
  C1  As few structures as will do: queues share one unless recovery, duplexing or depth sets them apart.
  C2  A structure takes up to 512 queues.
  C3  Non-persistent and persistent queues live apart: only the second kind is backed up (RECOVER(YES)).
  C4  A queue that may grow deep has a structure of its own kind, so that its 2192 stops nobody else.
  C5  Never below CFLEVEL(3): a lower level costs the queue managers their life when the structure fails, and gains
      nothing.  Over 63 KB needs 4; CFLEVEL(5) with shared message data sets is the better 4.
  C6  What happens at CFLEVEL(2) when a structure fails is not printed; it is taken to be as bad as CFLEVEL(1).

Called by the planner's answers.  Calls bounds, source, structures.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from math import ceil

from quaestor.planner.bounds import at_least, within
from quaestor.planner.source import OutOfRangeError, formula
from quaestor.planner.structures import LARGEST_WHOLE_BYTES

EXTRACT = "mp16-ch2-3"

QUEUES_PER_STRUCTURE = 512
LARGEST_MESSAGE_BYTES = 100 * 1024 * 1024
CFLEVELS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class SharedQueue:
    """What the choice of a structure must know of a queue."""

    name: str
    persistent: bool
    message_bytes_max: int
    may_grow_deep: bool = False
    duplexed: bool = False


@dataclass(frozen=True, slots=True)
class ApplicationStructure:
    """One structure to define, with the queues it takes."""

    cflevel: int
    recover: bool
    duplexed: bool
    queues: tuple[str, ...]


class Outcome(Enum):
    """What a single failure of a structure does to the queue managers connected to it."""

    DUPLEX_CONTINUES = "all stay up; z/OS goes back to duplex"
    ADMIN_REBUILT = "all stay up and rebuild from their logs; serialised applications wait"
    ADMIN_REBUILT_BY_ALL = "all stay up; serialised applications wait until every member has done its part"
    GROUP_FAILS = "the whole group fails; rebuilt from the logs as all members restart"
    QUEUE_MANAGERS_FAIL = "all connected queue managers fail; every message is lost"
    APPLICATIONS_FAIL = "queue managers stay up; applications using its queues fail"


@formula(EXTRACT, "A14 messages allowed by CFLEVEL (CF-M28)", "3154-3168")
def put_allowed(cflevel: int, recover: bool, persistent: bool, message_bytes: int) -> bool:
    """Whether a queue in such a structure takes the message."""
    at_least(0, message_bytes=message_bytes)
    within(CFLEVELS[0], CFLEVELS[-1], cflevel=cflevel)
    if persistent and not (cflevel >= 3 and recover):
        return False
    largest = LARGEST_MESSAGE_BYTES if cflevel >= 4 else LARGEST_WHOLE_BYTES
    return message_bytes <= largest


@formula(EXTRACT, "A2, A14 least CFLEVEL", "3154-3172, 3222-3233")
def least_cflevel(message_bytes_max: int) -> int:
    """The lowest CFLEVEL worth defining for messages up to this size (C5)."""
    within(0, LARGEST_MESSAGE_BYTES, message_bytes_max=message_bytes_max)
    return 4 if message_bytes_max > LARGEST_WHOLE_BYTES else 3


@formula(EXTRACT, "A2 number of structures", "2318-2320, 3194")
def structures_for_queues(queues: int) -> int:
    """Structures that so many shared queues need, CSQ_ADMIN included (C2)."""
    at_least(0, queues=queues)
    return 1 + max(1, ceil(queues / QUEUES_PER_STRUCTURE))


@formula(EXTRACT, "A2 which queues in which structure", "2316-2332, 3186-3198, 3220-3233")
def application_structures(queues: Iterable[SharedQueue], smds: bool = True) -> tuple[ApplicationStructure, ...]:
    """The fewest application structures for these queues (C1 to C5); `smds`: CFLEVEL(5) is to be had (V7.1)."""
    kinds: dict[tuple[bool, bool, bool], list[SharedQueue]] = {}
    for queue in queues:
        kinds.setdefault((queue.persistent, queue.duplexed, queue.may_grow_deep), []).append(queue)
    return tuple(
        ApplicationStructure(
            cflevel=5 if smds else max(least_cflevel(q.message_bytes_max) for q in some),
            recover=persistent,
            duplexed=duplexed,
            queues=tuple(q.name for q in some),
        )
        for (persistent, duplexed, _), members in sorted(kinds.items())
        for some in _in_lots(members)
    )


def _in_lots(members: list[SharedQueue]) -> Iterable[list[SharedQueue]]:
    return (members[at : at + QUEUES_PER_STRUCTURE] for at in range(0, len(members), QUEUES_PER_STRUCTURE))


@formula(EXTRACT, "A8 availability matrix, CSQ_ADMIN (CF-M18)", "2598-2600, 2605")
def admin_failure(duplexed: bool, version: tuple[int, int, int], all_members_up: bool = True) -> Outcome:
    """What the loss of CSQ_ADMIN does; `version` is the lowest in the group, as (7, 0, 1)."""
    if version < (5, 0, 0):
        raise OutOfRangeError(f"version {version} is outside (5, 0, 0) and above: earlier ones have no shared queues")
    if duplexed:
        return Outcome.DUPLEX_CONTINUES
    if version < (6, 0, 0):
        return Outcome.GROUP_FAILS
    peers_rebuild = version >= (7, 0, 1)
    return Outcome.ADMIN_REBUILT if peers_rebuild or all_members_up else Outcome.ADMIN_REBUILT_BY_ALL


@formula(EXTRACT, "A8 availability matrix, application structure (CF-M18)", "2601-2607")
def application_failure(duplexed: bool, cflevel: int) -> Outcome:
    """What the loss of an application structure does (C6)."""
    within(CFLEVELS[0], CFLEVELS[-1], cflevel=cflevel)
    if duplexed:
        return Outcome.DUPLEX_CONTINUES
    return Outcome.APPLICATIONS_FAIL if cflevel >= 3 else Outcome.QUEUE_MANAGERS_FAIL


@formula(EXTRACT, "A8 what survives", "2598-2607, 2691-2693, 3164-3168")
def message_survives(
    persistent: bool, cflevel: int, recover: bool, duplexed: bool, backup_and_logs_kept: bool = True
) -> bool:
    """Whether a shared message outlives the single failure of its structure."""
    if application_failure(duplexed, cflevel) is Outcome.DUPLEX_CONTINUES:
        return True
    return persistent and recover and cflevel >= 3 and backup_and_logs_kept
