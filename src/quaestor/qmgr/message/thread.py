"""Thread: an application as the queue manager sees it: who it is, and its units of recovery.

Rules
  X1  The application's unit begins with its first put or get in syncpoint and ends with commit or back out.
  X2  Work out of syncpoint that must be logged (a persistent message) is in a unit of the call, which ends with
      the call; so is the removal of a message that has expired, where structures of a group may have part in it. Else
      it is in a unit of its own that nobody waits for (V14): a get in syncpoint or a browse does not wait for the log.
  X3  No more than MAXUMSGS messages are put and got in one unit (2024). A report that a put or get asks for is one more
      of them, and so is a trigger message that waits for the end of the unit: there has to be room for all of them
      before anything is done. Only a report that itself is a trigger event may be one over.
  X4  One get of a unit may be marked (2062 for a second): when the application backs the unit out, the marked message
      does not go back but is at once got again, in a new unit, with the backout count it had. Backing that out brings
      it back. Whatever else ends the unit (a restart, the end of the application) knows no mark. A get that fails marks
      nothing.
  X5  A unit of the call with one message in it is `alone`, so that one log record is enough for it. Where commits are
      not collected for one force, or there is nobody to collect them with, such a put needs no unit at all (`express`).
  X6  A unit that is backed out leaves each handle in the group, for puts and for gets, in which it was before the unit.

Called by the parts of the message manager, and by connection, which ends the units.  Calls recovery.
"""

from collections.abc import Callable
from typing import Any, Protocol

from quaestor.mqi.descriptors import APPL_TYPE_UNIX
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.needs import Recovery, Unit
from quaestor.qmgr.queue_store import Express, VanishedError


class Tally(Protocol):
    """What happened in a call beside its result, for a task that is accounted for."""

    def handed_over(self) -> None:
        """The message went straight to a getter that waited for it."""

    def expired(self) -> None:
        """The call met a message that had expired."""

    def generated(self) -> None:
        """The queue manager put a message because of the call."""


class GroupWay(Protocol):
    """A handle's way to or from a queue, which may be in the middle of a group."""

    def resume_group(self, group: Any) -> None:
        """Be in this group again, or in none."""


class ApplicationThread:
    """One connected application."""

    __slots__ = (
        "_recovery",
        "address",
        "appl_name",
        "appl_type",
        "begun",
        "call_unit",
        "channel",
        "express",
        "groups",
        "many",
        "marked",
        "name",
        "opened",
        "several",
        "tally",
        "told",
        "unit",
        "user",
        "warning",
    )

    def __init__(
        self,
        recovery: Recovery,
        user: str,
        appl_name: str,
        name: str = "",
        channel: str = "",
        address: str = "",
        express: Express | None = None,
    ) -> None:
        self.channel, self.address = channel, address  # of a client; empty for a local application
        self.tally: Tally | None = None
        self._recovery = recovery
        self.express = express
        self.user = user
        self.appl_name = appl_name
        self.name = name
        self.appl_type = APPL_TYPE_UNIX
        self.unit: Unit | None = None  # of the application (X1)
        self.call_unit: Unit | None = None  # of the call in progress (X2)
        self.many = False  # whether the call in progress puts several messages
        self.begun = False  # whether it has put some of them (GA4)
        self.several = False  # whether several tasks make calls by it (CM8)
        self.told = False  # whether it is told when it is held up (GA3)
        self.marked: tuple[Unit, Any, Callable[[Unit, Any], None]] | None = None  # unit, arrival, how it is taken (X4)
        self.groups: tuple[Unit, dict[GroupWay, Any]] | None = None  # unit, the group of each way before it (X6)
        self.opened: set[Any] = set()  # what the message manager has open for it
        self.warning: MQError | None = None  # of the last call that had one

    def unit_in_syncpoint(self, max_uncommitted: int, messages: int = 1) -> Unit:
        """The application's unit, with room for one more message, or for so many (X1, X3)."""
        unit = self.unit
        if not self.has_room(max_uncommitted, messages):
            raise MQError(Reason.SYNCPOINT_LIMIT_REACHED, max_uncommitted=max_uncommitted)
        if unit is None:
            unit = self.unit = self._recovery.begin(self.appl_name, self.user, self.name)
        return unit

    def has_room(self, max_uncommitted: int, messages: int) -> bool:
        """Whether so many more messages may be in the application's unit (X3)."""
        unit = self.unit
        there = 0 if unit is None else len(unit.puts) + len(unit.gets) + unit.triggers
        if unit is not None and unit.shared is not None:
            there += len(unit.shared)
        return there + messages <= max_uncommitted

    def unit_of_call(self) -> Unit:
        """The unit that ends with this call (X2)."""
        if self.call_unit is None:
            self.call_unit = self._recovery.begin()
        return self.call_unit

    def unit_of_its_own(self, *, alone: bool) -> Unit:
        """A unit that is ended at once (`end_of_its_own`); `alone` if nothing but one message is in it (X2)."""
        unit = self._recovery.begin()
        unit.alone = alone
        return unit

    def end_of_its_own(self, unit: Unit) -> None:
        self._recovery.commit_unforced(unit)

    def unit_of_one(self) -> Unit:
        """The unit of a call that has one message to put or to get, and nothing else to do (X5)."""
        unit = self.call_unit
        if unit is None:
            unit = self.call_unit = self._recovery.begin()
        unit.alone = not self.many
        return unit

    def check_mark(self, unit: Unit | None) -> None:
        """Refuse a second mark in a unit (X4)."""
        if self.marked is not None and self.marked[0] is unit:
            raise MQError(Reason.SECOND_MARK_NOT_ALLOWED)

    def in_group(self, unit: Unit | None, way: GroupWay, before: Any) -> None:
        """A message has brought this way into, further in or out of a group; it was in `before` (X6)."""
        if unit is None or unit is not self.unit:
            return
        if self.groups is None or self.groups[0] is not unit:
            self.groups = (unit, {})
        self.groups[1].setdefault(way, before)

    def resume_groups(self, backed_out: Unit | None) -> None:
        """A unit has been backed out: each way is in the group it was in before it (X6)."""
        groups, self.groups = self.groups, None
        if groups is not None and groups[0] is backed_out:
            for way, before in groups[1].items():
                way.resume_group(before)

    def take_marked(self, backed_out: Unit, max_uncommitted: int) -> None:
        """A unit has been backed out: get its marked message again, in a new one (X4)."""
        marked, self.marked = self.marked, None
        if marked is None or marked[0] is not backed_out:
            return
        _, arrival, take = marked
        if arrival.holder is backed_out:  # the backout waits for log (V12), and is to have it as well
            self.warning = MQError(Reason.Q_SPACE_NOT_AVAILABLE)
            return
        arrival.backout_count -= 1
        try:
            take(self.unit_in_syncpoint(max_uncommitted), arrival)
        except MQError as error:
            arrival.backout_count += 1
            self.warning = error  # no log space, say: the backout has happened, and the message is back on its queue
        except VanishedError:
            self.warning = MQError(Reason.NO_MSG_AVAILABLE)  # another queue manager of the group has got it

    def ended(self) -> None:
        """The application has ended: forget the ways that were in a group, which know this thread."""
        self.groups = None
