"""Thread: an application as the queue manager sees it: who it is, and its units of recovery.

Rules
  X1  The application's unit begins with its first put or get in syncpoint and ends with commit or back out.
  X2  Work out of syncpoint that must be logged (a persistent message) is in a unit of the call, which ends with
      the call; so is the removal of a message that has expired.
  X3  No more than MAXUMSGS messages are put and got in one unit (2024).

Called by the parts of the message manager, and by connection, which ends the units.  Calls recovery.
"""

from typing import Any, Protocol

from quaestor.mqi.descriptors import APPL_TYPE_UNIX
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.needs import Recovery, Unit


class Tally(Protocol):
    """What happened in a call beside its result, for a task that is accounted for."""

    def handed_over(self) -> None:
        """The message went straight to a getter that waited for it."""

    def expired(self) -> None:
        """The call met a message that had expired."""

    def generated(self) -> None:
        """The queue manager put a message because of the call."""


class ApplicationThread:
    """One connected application."""

    __slots__ = (
        "_recovery",
        "address",
        "appl_name",
        "appl_type",
        "call_unit",
        "channel",
        "name",
        "opened",
        "tally",
        "unit",
        "user",
        "warning",
    )

    def __init__(
        self, recovery: Recovery, user: str, appl_name: str, name: str = "", channel: str = "", address: str = ""
    ) -> None:
        self.channel, self.address = channel, address  # of a client; empty for a local application
        self.tally: Tally | None = None
        self._recovery = recovery
        self.user = user
        self.appl_name = appl_name
        self.name = name
        self.appl_type = APPL_TYPE_UNIX
        self.unit: Unit | None = None  # of the application (X1)
        self.call_unit: Unit | None = None  # of the call in progress (X2)
        self.opened: set[Any] = set()  # what the message manager has open for it
        self.warning: MQError | None = None  # of the last call that had one

    def unit_in_syncpoint(self, max_uncommitted: int) -> Unit:
        """The application's unit, with room for one more message (X1, X3)."""
        unit = self.unit
        if unit is None:
            unit = self.unit = self._recovery.begin(self.appl_name, self.user, self.name)
        elif len(unit.puts) + len(unit.gets) + (0 if unit.shared is None else len(unit.shared)) >= max_uncommitted:
            raise MQError(Reason.SYNCPOINT_LIMIT_REACHED, max_uncommitted=max_uncommitted)
        return unit

    def unit_of_call(self) -> Unit:
        """The unit that ends with this call (X2)."""
        if self.call_unit is None:
            self.call_unit = self._recovery.begin()
        return self.call_unit
