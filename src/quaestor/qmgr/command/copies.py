"""Copies: this member's copies of the definitions that its group keeps, made and refreshed by generated commands.

Rules
  CC1 For a definition with QSGDISP(GROUP) that is new or has changed, DEFINE ... REPLACE QSGDISP(COPY) is generated;
      for one that was deleted, DELETE ... QSGDISP(COPY). The queue manager itself gives them; a copy that is already
      right is left alone.
  CC2 A member that runs follows the shared repository, so a change reaches it within a second, whoever made it and
      whatever becomes of that member. One that starts refreshes every copy, also those altered by hand, and deletes
      the copies of what the group no longer has.
  CC3 A command that fails (the name is taken by an object of its own, the queue is open or holds messages) is told to
      the operator and not given again before the definition changes or the queue manager starts. The group's
      definition and other members' copies are as they are.

Called by queue_manager and the scheduler.  Calls the processor, the group part.
"""

from collections.abc import Callable, Sequence

from quaestor.mqi.mqsc import Command
from quaestor.mqi.objects import MQObject
from quaestor.qmgr.command.dispositions import COPY
from quaestor.qmgr.command.group_objects import key_of, object_in
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.processor import CommandProcessor
from quaestor.qmgr.command.reply import Said
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.resource_manager import Task
from quaestor.qmgr.security import Itself
from quaestor.storage.shared_tables import SharedObject

FOLLOW_MS = 500
_QSGDISP = ("QSGDISP", (COPY,))


class Copies:
    """The copies of one member (CC1-CC3)."""

    def __init__(
        self, commands: CommandProcessor, catalogue: Catalogue, parts: Parts, say: Callable[..., None]
    ) -> None:
        self._commands, self._catalogue, self._parts, self._say = commands, catalogue, parts, say

    def tasks(self) -> Sequence[Task]:
        if self._parts.group is None:
            return ()
        return (Task("copies of the group's definitions", self.step, FOLLOW_MS, latched=False),)

    def start(self) -> None:
        """Refresh every copy, and delete those of which the group has no definition (CC2)."""
        if self._parts.group is None:
            return
        known = self._parts.group.group_changes()
        for key, row in known.items():
            self._follow(key, row)
        for copy in [one for one in self._catalogue.all() if one.copied]:
            if key_of(type(copy), copy.name) not in known:
                self._generate("DELETE", copy)

    def step(self) -> bool:
        """What has changed since the last step (CC1)."""
        if self._parts.group is not None:
            for key, row in self._parts.group.group_changes().items():
                self._follow(key, row)
        return False

    def _follow(self, key: str, row: SharedObject | None) -> None:
        copy = self._copy(key)
        if row is None:
            if copy is not None:
                self._generate("DELETE", copy)
            return
        wanted = object_in(row).altered(copied=True)
        if copy is not None and copy.MQSC_TYPE != wanted.MQSC_TYPE:
            self._generate("DELETE", copy)  # a queue of another type has its name now
        if copy != wanted:
            self._generate("DEFINE", wanted, ("REPLACE", None))

    def _copy(self, key: str) -> MQObject | None:
        copies = (one for one in self._catalogue.all() if one.copied)
        return next((one for one in copies if key_of(type(one), one.name) == key), None)

    def _generate(self, verb: str, definition: MQObject, *words: tuple[str, None]) -> None:
        """Give a command, and tell the operator what came of it when it failed (CC3)."""
        command = Command(verb, definition.MQSC_TYPE, definition.name, (*words, _QSGDISP))
        reply = self._commands.execute(command, Itself(self._commands.qmgr))
        if not reply.ok:
            what = next(part for part in reply.parts if isinstance(part, Said))
            self._say(what.message, what.text, generated=command.text())
