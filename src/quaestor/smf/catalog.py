"""Which record holds which structure, and how long each structure is at which level.

Rules
  K1  A section is found by record type, subtype and triplet. Never by block id: several ids are shared or wrong.
  K2  A triplet counts only when the record says it has it: QWHSNSDA in 116-1 and 116-2 (bytes of the next section
      stand where the third triplet would be), the space before the first section everywhere else (QWHSNSDA is one
      too low in V8 115-231).
  K3  A level is a version such as 8.0 or 9.4.5; a structure's length at a level is that of the last step up to it.

Called by every reader and writer of records.  Calls nothing but the section classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from quaestor.layout import Record
from quaestor.smf.sections import triplets
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.channel import (
    AdapterTask,
    ChannelAccounting,
    ChannelInitiatorStatistics,
    DispatcherTask,
    DnsTask,
    SslTask,
)
from quaestor.smf.sections.coupling_facility import (
    CouplingFacilityCalls,
    CouplingFacilityStatistics,
    SharedMessageDataSetStatistics,
)
from quaestor.smf.sections.data import DataStatistics, PageSetStatistics
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.smf.sections.headers import (
    CommonHeader,
    CorrelationHeader,
    ExtensionHeader,
    Smf115Header,
    Smf116Header,
)
from quaestor.smf.sections.lock import LockStatistics
from quaestor.smf.sections.log import LogStatistics
from quaestor.smf.sections.message import MessageAccounting, MessageStatistics
from quaestor.smf.sections.queue import QueueStatistics
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.storage import StorageGetmain, StoragePool, StorageStatistics, StorageSummary
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification, ThreadAccounting
from quaestor.smf.sections.topic import TopicStatistics

HEADER_SIZE = 28
TRIPLET_SIZE = 8
FIRST_SECTION = HEADER_SIZE + TRIPLET_SIZE
SHORTEST_SECTION = 4

LEVELS = (
    "5.2",
    "5.3",
    "5.3.1",
    "6.0",
    "7.0",
    "7.1",
    "8.0",
    "9.0",
    "9.0.3",
    "9.1.2",
    "9.1.4",
    "9.3.0",
    "9.3.1",
    "9.3.2",
    "9.3.3",
    "9.3.5",
    "9.4.0",
    "9.4.3",
    "9.4.5",
    "10.0.0",
)
CURRENT_LEVEL = LEVELS[-1]


def version(level: str) -> tuple[int, ...]:
    """A level as numbers, so that 10.0 comes after 9.4."""
    return tuple(int(part) for part in level.split("."))


def length_at(section: type[Record], level: str) -> int | None:
    """The section's length at a level; None before the level that brought it (K3)."""
    steps = [length for since, length in section.LAYOUT.lengths.items() if version(since) <= version(level)]
    return steps[-1] if steps else None


@dataclass(frozen=True, slots=True)
class Slot:
    """One triplet of a record kind: which structure it points to, and whether several follow each other."""

    triplet: int
    section: type[Record]
    repeats: bool = False
    until: str = ""

    def used_at(self, level: str) -> bool:
        ended = bool(self.until) and version(level) >= version(self.until)
        return not ended and length_at(self.section, level) is not None


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A record type and subtype: its triplets, its header and its sections."""

    record_type: int
    subtype: int
    title: str
    triplets: type[Record]
    slots: tuple[Slot, ...]
    correlated: bool = False  # the header section is QWHS (36) + QWHC (92)
    stub: bool = False  # the header section is a 4-byte stub without QWHS
    tod_interval: bool = False  # QWHSDURN is in TOD units, not microseconds
    counts_triplets: bool = False  # QWHSNSDA decides which triplets exist (K2)

    @property
    def name(self) -> str:
        return f"{self.record_type}-{self.subtype}"


_MESSAGE_SLOTS = (
    Slot(1, MessageStatistics),
    Slot(2, DataStatistics),
    Slot(3, BufferStatistics, repeats=True, until="8.0"),
    Slot(4, LockStatistics),
    Slot(5, Db2Statistics),
    Slot(6, CouplingFacilityStatistics),
    Slot(7, TopicStatistics),
    Slot(8, SharedMessageDataSetStatistics, repeats=True),
)
_CHANNEL_INITIATOR_SLOTS = (
    Slot(1, ChannelInitiatorStatistics),
    Slot(2, DispatcherTask, repeats=True),
    Slot(3, AdapterTask, repeats=True),
    Slot(4, SslTask, repeats=True),
    Slot(5, DnsTask, repeats=True),
)
_TASK_SLOTS = (Slot(1, TaskIdentification), Slot(2, TaskAccounting), Slot(3, QueueAccounting, repeats=True))
_CONTINUATION_SLOTS = (Slot(1, TaskIdentification), Slot(2, QueueAccounting, repeats=True))


def _storage(subtype: int, title: str, slot: Slot) -> RecordKind:
    return RecordKind(115, subtype, title, triplets.StorageTriplets, (slot,), stub=True)


def _accounting(subtype: int, title: str, *slots: Slot, counts_triplets: bool = True) -> RecordKind:
    return RecordKind(
        116, subtype, title, triplets.AccountingTriplets, slots, correlated=True, counts_triplets=counts_triplets
    )


KINDS = (
    RecordKind(
        115, 1, "log and storage manager", triplets.LogTriplets, (Slot(9, StorageStatistics), Slot(11, LogStatistics))
    ),
    RecordKind(115, 2, "message, data, lock, Db2, CF and topic manager", triplets.MessageTriplets, _MESSAGE_SLOTS),
    _storage(5, "storage pools", Slot(1, StoragePool, repeats=True)),
    _storage(6, "getmains", Slot(1, StorageGetmain, repeats=True)),
    _storage(7, "storage summary", Slot(1, StorageSummary)),
    RecordKind(115, 201, "page sets", triplets.PageSetTriplets, (Slot(1, PageSetStatistics, repeats=True),)),
    RecordKind(115, 215, "buffer pools", triplets.BufferTriplets, (Slot(1, BufferStatistics, repeats=True),)),
    RecordKind(115, 216, "queues", triplets.StorageTriplets, (Slot(1, QueueStatistics, repeats=True),)),
    RecordKind(
        115, 231, "channel initiator", triplets.ChannelInitiatorTriplets, _CHANNEL_INITIATOR_SLOTS, tod_interval=True
    ),
    RecordKind(115, 240, "internal", triplets.StorageTriplets, ()),
    _accounting(
        0, "message manager accounting", Slot(1, ThreadAccounting), Slot(2, MessageAccounting), counts_triplets=False
    ),
    _accounting(1, "task and queue accounting", *_TASK_SLOTS),
    _accounting(2, "queue accounting continued", *_CONTINUATION_SLOTS),
    RecordKind(
        116,
        10,
        "channel accounting",
        triplets.ChannelTriplets,
        (Slot(1, ChannelAccounting, repeats=True),),
        tod_interval=True,
    ),
)

CATALOG: Mapping[tuple[int, int], RecordKind] = {(kind.record_type, kind.subtype): kind for kind in KINDS}

HEADERS: tuple[type[Record], ...] = (Smf115Header, Smf116Header, CommonHeader, CorrelationHeader, ExtensionHeader)
TRIPLETS: tuple[type[Record], ...] = (
    triplets.LogTriplets,
    triplets.MessageTriplets,
    triplets.StorageTriplets,
    triplets.ChannelTriplets,
    triplets.BufferTriplets,
    triplets.PageSetTriplets,
    triplets.ChannelInitiatorTriplets,
    triplets.AccountingTriplets,
)
SECTIONS: Mapping[str, type[Record]] = {
    slot.section.LAYOUT.structure: slot.section for kind in KINDS for slot in kind.slots
}
STRUCTURES: Mapping[str, type[Record]] = {
    **SECTIONS,
    CouplingFacilityCalls.LAYOUT.structure: CouplingFacilityCalls,
    **{each.LAYOUT.structure: each for each in HEADERS + TRIPLETS},
}


def homes(structure: str) -> list[str]:
    """The records that hold a structure, such as ['115-2', '115-215']."""
    return [kind.name for kind in KINDS for slot in kind.slots if slot.section.LAYOUT.structure == structure]


def wrong_with(what: str, offset: int, length: int, count: int, size: int) -> str | None:
    """What is wrong with the triplet of a section in a record of `size` bytes, None when nothing is."""
    if count == 0:
        return None
    if offset < FIRST_SECTION:
        return f"triplet of {what} points into the header of the record ({offset}+{length}x{count} of {size})"
    if offset + length * count > size:
        return f"triplet of {what} points past the record ({offset}+{length}x{count} of {size})"
    return f"{what} is {length} bytes long, shorter than its own beginning" if length < SHORTEST_SECTION else None
