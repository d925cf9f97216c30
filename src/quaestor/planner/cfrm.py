"""The CFRM policy: SIZE, INITSIZE and MINSIZE of a structure, and how large CSQ_ADMIN must be.

Rules
  P1  SIZE is twice INITSIZE and never more: control storage for the whole of SIZE is reserved at allocation.
  P2  MINSIZE is INITSIZE, above all with ALLOWAUTOALT(YES): a short coupling facility shrinks what may be shrunk.
  P3  A queue manager starts in a group only if CSQ_ADMIN has 1000 entries for every started one, itself included.
  P4  CSQ_ADMIN holds the operations of a unit of recovery only while it commits; its least size carries about 40,000
      messages in one unit.
  P5  The paper's chart of CSQ_ADMIN size by queue managers is lost.  What stays is one point, 20,000 KB for seven at
      every CFCC level up to 22; `admin_init_size_kb` scales it in proportion, which can only err on the large side.

Called by the planner's answers.  Calls bounds, source.
"""

from dataclasses import dataclass
from math import ceil

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

EXTRACT = "mp16-ch2-3"

FULL_THRESHOLD_PERCENT = 80  # where system-initiated alter begins, in the paper's definitions
LARGEST_SIZE_RATIO = 2
ENTRIES_PER_QUEUE_MANAGER = 1000
ADMIN_SAMPLE_INIT_KB = 20_000  # CSQ4CFRM since V7.1
ADMIN_SAMPLE_QUEUE_MANAGERS = 7
ADMIN_SAMPLE_CFCC_LEVEL_MAX = 22
ADMIN_UNIT_MESSAGES_MAX = 40_000
MAXUMSGS_DEFAULT = 10_000
CFCC_15_EXTRA_KB = 5 * 1024
GROUP_NAME_CHARACTERS = 4
GROUP_NAME_FILL = "@"  # what a shorter name is filled up with, in the policy as in the product

ADMIN_ENTRIES_SEEN = Table(
    "ENTSMAX seen for one CSQ_ADMIN by CFCC level",
    Source(EXTRACT, "A4", "2352"),
    ("cfcc_level", "entries_max"),
    ((10, 9362), (14, 5189)),
)


@dataclass(frozen=True, slots=True)
class PolicySizes:
    """A structure's sizes in the CFRM policy, in KB as the policy counts them."""

    init_kb: int
    size_kb: int
    min_kb: int

    def __post_init__(self) -> None:
        above(0, INITSIZE=self.init_kb)
        if not 0 < self.min_kb <= self.init_kb <= self.size_kb:
            raise OutOfRangeError(
                f"MINSIZE {self.min_kb}, INITSIZE {self.init_kb}, SIZE {self.size_kb} KB: "
                f"valid is MINSIZE 1 to INITSIZE, INITSIZE up to SIZE"
            )

    @property
    def wastes_control_storage(self) -> bool:
        """SIZE is over twice INITSIZE (P1)."""
        return self.size_kb > LARGEST_SIZE_RATIO * self.init_kb

    @property
    def may_shrink(self) -> bool:
        """The system may take space away that INITSIZE promised (P2)."""
        return self.min_kb < self.init_kb


@formula(EXTRACT, "A3 recommended sizes", "2338-2344, 2522-2528")
def recommended_sizes(init_kb: int) -> PolicySizes:
    """SIZE and MINSIZE that go with an INITSIZE (P1, P2)."""
    above(0, init_kb=init_kb)
    return PolicySizes(init_kb=init_kb, size_kb=LARGEST_SIZE_RATIO * init_kb, min_kb=init_kb)


@formula(EXTRACT, "A3 operator alter", "2544-2549")
def alter_allowed(sizes: PolicySizes, new_size_kb: int) -> bool:
    """Whether SETXCF START,ALTER to this size stays inside the policy; the ratio of the pools does not change."""
    return sizes.min_kb <= new_size_kb <= sizes.size_kb


@formula(EXTRACT, "A3 shrinking (CF-R11)", "2549")
def shrinking_is_disruptive(cfcc_level: int) -> bool:
    """Below CFCC level 12 a smaller structure can disturb the work for long."""
    at_least(1, cfcc_level=cfcc_level)
    return cfcc_level < 12


@formula(EXTRACT, "A3 structure name", "2397-2399")
def structure_name(group: str, cfstruct: str) -> str:
    """The name in the policy: the four characters of the queue-sharing group, then the CFSTRUCT name."""
    within(GROUP_NAME_CHARACTERS, GROUP_NAME_CHARACTERS, group_name_characters=len(group))
    within(1, 12, cfstruct_name_characters=len(cfstruct))
    return group + cfstruct


@formula(EXTRACT, "A4 queue managers supported", "2352")
def queue_managers_supported(entries_max: int) -> int:
    """Queue managers that may be started with this ENTSMAX of CSQ_ADMIN (P3)."""
    at_least(0, entries_max=entries_max)
    return entries_max // ENTRIES_PER_QUEUE_MANAGER


@formula(EXTRACT, "A4 start check (CF-M10)", "2352")
def may_start(entries_max: int, already_started: int) -> bool:
    """Whether one more queue manager of the group may start (P3)."""
    at_least(0, already_started=already_started)
    return queue_managers_supported(entries_max) > already_started


@formula(EXTRACT, "A4 the sample CSQ_ADMIN", "2350")
def sample_admin_supports(cfcc_level: int) -> int:
    """Queue managers that the sample INITSIZE of 20,000 KB is enough for."""
    within(1, ADMIN_SAMPLE_CFCC_LEVEL_MAX, cfcc_level=cfcc_level)
    return ADMIN_SAMPLE_QUEUE_MANAGERS


@formula(EXTRACT, "A4 size of CSQ_ADMIN [D]", "2346-2364")
def admin_init_size_kb(queue_managers: int) -> int:
    """INITSIZE of CSQ_ADMIN at any CFCC level up to 22; never below the sample (P5)."""
    at_least(1, queue_managers=queue_managers)
    needed = queue_managers * ADMIN_SAMPLE_INIT_KB / ADMIN_SAMPLE_QUEUE_MANAGERS
    return max(ADMIN_SAMPLE_INIT_KB, ceil(needed))


@formula(EXTRACT, "A4, A5 CFCC level 15", "2364, 2421")
def extra_kb_for_upgrade(from_cfcc_level: int, to_cfcc_level: int) -> int:
    """What a structure must grow by when the upgrade passes from CFCC level 14 to 15; other steps: look at ENTSMAX."""
    at_least(1, from_cfcc_level=from_cfcc_level)
    at_least(from_cfcc_level, to_cfcc_level=to_cfcc_level)
    return CFCC_15_EXTRA_KB if from_cfcc_level < 15 <= to_cfcc_level else 0


@formula(EXTRACT, "A4 largest unit of recovery", "2354-2355")
def admin_carries_unit(messages_in_unit_max: int = MAXUMSGS_DEFAULT) -> bool:
    """Whether the least CSQ_ADMIN carries the commit of a unit of recovery this large (P4)."""
    at_least(0, messages_in_unit_max=messages_in_unit_max)
    return messages_in_unit_max <= ADMIN_UNIT_MESSAGES_MAX
