"""Data set states: which shared message data sets a member may use now, and why not the others.

Rules
  DA1 A member uses a data set while the group has it enabled (ACCESS) and it has not failed (STATUS), while the member
      has not stopped its connection to it (STOP SMDSCONN), and while it can be opened.
  DA2 The first two are in the shared tables and for all; they are followed like everything there. The others are this
      member's own: a stopped connection is started by command or with the member, one in error by command or when the
      group's row of it changes.
  DA3 Whoever needs a data set that is not to be used is told 2561. Nothing is lost by that: what is there is there
      when it is used again.

Called by data_sets, and by commands through operating.  Calls shared tables.
"""

from dataclasses import dataclass

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.storage.shared_tables import DataSet

ENABLED, FAILED, RECOVERED = "ENABLED", "FAILED", "RECOVERED"
Owned = tuple[str, str]
"""A structure, and the member whose data set it is."""


@dataclass(frozen=True, slots=True)
class Connection:
    """The connection of this member to a data set, as DISPLAY SMDSCONN shows it."""

    available: str
    status: str
    mode: str
    expanding: str


class DataSetStates:
    """Which data sets this member may use (DA1-DA3)."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._rows: dict[Owned, DataSet] = {}
        self._members: dict[int, str] = {}
        self._stopped: set[Owned] = set()
        self._errors: dict[Owned, str] = {}

    def follow(self) -> set[Owned]:
        """Learn what the group says now (DA2); the data sets of which that is news."""
        tables = self._group.tables if self._group.db2 is None else self._group.db2.known
        rows = {(row.structure, row.member): row for row in tables.data_sets.all()}
        news = {each for each, row in rows.items() if each not in self._rows or self._rows[each].version < row.version}
        self._rows = rows
        for each in news:
            self._errors.pop(each, None)
        return news

    def row(self, structure: str, member: str) -> DataSet | None:
        return self._rows.get((structure, member))

    def has_any(self, structure: str) -> bool:
        """Whether a structure has data sets: its messages may be there."""
        return any(each[0] == structure for each in self._rows)

    def owner(self, number: int) -> str:
        """The name of a member by its number."""
        if number not in self._members:
            self._members = {each.number: each.name for each in self._group.tables.members.all()}
        return self._members.get(number, "")

    # -- what this member does, rule DA2

    def stop(self, each: Owned) -> None:
        self._stopped.add(each)

    def start(self, each: Owned) -> None:
        self._stopped.discard(each)
        self._errors.pop(each, None)

    def failed(self, each: Owned, why: str) -> MQError:
        """It could not be opened, read or written; what whoever wanted that is told."""
        self._errors[each] = why
        return self._refusal(each, why)

    # -- what may be used, rule DA1

    def why_not(self, each: Owned) -> str:
        """Why a data set cannot be used; empty when it can."""
        row = self._rows.get(each)
        if row is not None and row.status == FAILED:
            return "it has failed and waits for its recovery"
        if row is not None and row.access != ENABLED:
            return f"access to it is {row.access}"
        if each in self._stopped:
            return "its connection is stopped"
        return self._errors.get(each, "")

    def check(self, each: Owned) -> None:
        """Raises MQError 2561 when a data set cannot be used (DA3)."""
        why = self.why_not(each)
        if why:
            raise self._refusal(each, why)

    def connection(self, each: Owned, *, own: bool, opened: bool, expanding: str) -> Connection:
        """As DISPLAY SMDSCONN shows it."""
        if each in self._stopped:
            return Connection("STOPPED", "CLOSED", "NONE", expanding)
        if each in self._errors:
            return Connection("ERROR", "OPENFAIL", "NONE", expanding)
        if self.why_not(each):
            return Connection("NORMAL", "NOTENABLED", "NONE", expanding)
        mode = ("UPDATE" if own else "READONLY") if opened else "NONE"
        return Connection("NORMAL", "OPEN" if opened else "CLOSED", mode, expanding)

    @staticmethod
    def _refusal(each: Owned, why: str) -> MQError:
        return MQError(Reason.DATA_SET_NOT_AVAILABLE, structure=each[0], member=each[1], why=why)
