"""Group part: what the commands on structures and the group ask of whoever keeps this queue manager in its group.

Rules
  GP1 Definitions and what became of structures are in the tables of the group; what is now (space, who is connected) is
      asked of the structure itself.
  GP2 Whoever answers is told after a definition was written or deleted, and acts on it at once; other members learn of
      it by following the tables.

Called by structures and structure_status.  Answered by the coupling facility manager (`operating`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from quaestor.storage.shared_tables import GroupTables, SharedObject

CSQ_ADMIN = "CSQ_ADMIN"
"""The structure that every member is connected to."""


class StructureView(Protocol):
    """A structure as it is now (GP1)."""

    @property
    def status(self) -> str:
        """ACTIVE, FAILED, or NOTFOUND when it cannot be reached."""

    @property
    def space(self) -> tuple[int, int, int, int] | None:
        """Entries, entries in all, elements, elements in all."""

    @property
    def connectors(self) -> Mapping[str, bool]:
        """Who has connected: whether it is active or has failed."""

    @property
    def size_kb(self) -> int:
        """Its size."""


class DataSetConnection(Protocol):
    """The connection of this queue manager to a shared message data set."""

    @property
    def available(self) -> str:
        """NORMAL, STOPPED, ERROR."""

    @property
    def status(self) -> str:
        """OPEN, CLOSED, NOTENABLED, OPENFAIL."""

    @property
    def mode(self) -> str:
        """NONE, READONLY, UPDATE."""

    @property
    def expanding(self) -> str:
        """NORMAL, FAILED."""


class SharingGroup(Protocol):
    """The queue-sharing group of this queue manager."""

    name: str
    qmgr: str
    tables: GroupTables

    def look(self, structure: str) -> StructureView:
        """A structure that is defined, as it is now."""

    def offloaded_to(self, structure: str) -> str:
        """Where data of its messages may be: NONE, SMDS, DB2, BOTH; blank when that is not known."""

    def queues_on(self, structure: str) -> list[str]:
        """Names of the shared queues defined on it."""

    def group_changes(self) -> Mapping[str, SharedObject | None]:
        """Definitions with QSGDISP(GROUP) that have changed since the last time, by key; None for a deleted one."""

    def followed(self, key: str) -> None:
        """The copy of here is about to follow the definition of this key: it need not be told of. The latch is held."""

    def answer_with(self, answer: Callable[[bytes], bytes]) -> None:
        """Who answers what other members ask."""

    def ask(self, members: list[str], question: bytes) -> Any:
        """Ask other members; what `collect` takes."""

    def collect(self, asked: Any) -> Mapping[str, bytes | None]:
        """Wait for the answers, without the latch; None from a member that gave none."""

    def defined(self, structure: str) -> None:
        """A definition is new or has changed (GP2)."""

    def resize(self, structure: str, size_kb: int) -> None:
        """A structure is to be as large as that from now on; refused when more is in use."""

    def deleted(self, structure: str) -> None:
        """A definition is gone (GP2)."""

    def fail(self, structure: str) -> None:
        """RESET CFSTRUCT ACTION(FAIL), for all members; without the latch."""

    def backup(self, structure: str) -> None:
        """BACKUP CFSTRUCT, on the log of this queue manager."""

    def recover(self, structure: str, *, purge: bool) -> None:
        """RECOVER CFSTRUCT: from its backup and all logs, or to empty."""

    def data_sets_changed(self) -> None:
        """What the tables say of data sets is other than before (GP2)."""

    def stop_data_set(self, structure: str, member: str) -> None:
        """STOP SMDSCONN: this queue manager does not use the data set of a member."""

    def start_data_set(self, structure: str, member: str) -> None:
        """START SMDSCONN: it does again."""

    def data_set_connection(self, structure: str, member: str) -> DataSetConnection:
        """How this queue manager is connected to the data set of a member."""
