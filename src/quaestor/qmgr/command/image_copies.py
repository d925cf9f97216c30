"""Image copies: BACKUP PSID.

Rules
  IC1 An image copy of a page set is taken while applications work (Y7); the reply comes when it is durable and has
      taken the place of the one before it, with the RBA from which the log is needed.
  IC2 One copy of a page set is taken at a time. What keeps it from being taken (no room, a page that is not whole, a
      page set that is deleted meanwhile) is the command's answer and nobody else's; the copy before stays. What the
      engine does not survive ends the queue manager, as it does in a call.
  IC3 The end of the queue manager ends it too.

Called by the processor.  Calls media recovery, the connection manager.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.reasons import MQError, Reason, said
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.reply import Part, Said
from quaestor.qmgr.command.storage import number_of
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.connection.failing import FAILURES, is_fatal
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.qmgr.recovery.media import ImageCopy, NotCopiedError, copy_name
from quaestor.storage.disk import Disk

TAKEN, NOT_TAKEN, UNDER_WAY = "CSQP061I", "CSQP062E", "CSQP063E"
Found = TypeVar("Found")


class ImageCopyCommands:
    """Image copies of page sets (IC1-IC3)."""

    def __init__(self, recovery: RecoveryManager, disk: Disk, connections: ConnectionManager) -> None:
        self._recovery, self._disk, self._connections = recovery, disk, connections
        self._under_way: set[int] = set()

    @runs("BACKUP", "PSID", latched=False)
    def backup(self, command: Command, _user: str) -> Iterator[Part]:
        number = number_of(command)
        if self._recovery.buffers.page_sets.get(number) is None:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="PSID", name=command.name)
        with self._recovery.latch:
            if number in self._under_way:
                raise MQSCError(f"an image copy of page set {number} is under way", command.line, code=UNDER_WAY)
            self._under_way.add(number)
        try:
            copy = self._taken(number)
        except NotCopiedError as error:
            raise MQSCError(str(error), command.line, code=NOT_TAKEN) from error
        except OSError as error:
            why = f"no image copy of page set {number} is taken: {error.strerror or error}"
            raise MQSCError(why, command.line, code=NOT_TAKEN) from error
        finally:
            self._under_way.discard(number)
        row = {"PSID": number, "DSN": copy_name(number), "PAGES": copy.pages, "RBA": f"{copy.rba:012X}"}
        text = f"Page set {number}: {copy.pages} pages copied to {copy_name(number)}, log needed from {copy.rba:012X}"
        yield Said(TAKEN, text, rows=(row,))

    def _taken(self, number: int) -> ImageCopy:
        copy = self._latched(lambda: ImageCopy(self._recovery, number, self._disk))
        try:
            copy.create()
            while (run := self._latched(copy.read)) is not None:
                copy.write(*run)
            copy.complete()
        except BaseException:
            copy.give_up()
            raise
        self._latched(copy.keep)
        return copy

    def _latched(self, work: Callable[[], Found]) -> Found:
        """A piece that the engine has to be still for (IC2, IC3)."""
        with self._recovery.latch:
            if self._connections.failure is not None:
                raise MQError(Reason.CONNECTION_BROKEN, why=said(self._connections.failure))
            if self._connections.ending is Reason.Q_MGR_STOPPING:
                raise MQError(Reason.Q_MGR_STOPPING)
            try:
                return work()
            except NotCopiedError:
                raise
            except BaseException as error:
                if is_fatal(error):
                    self._connections.failed(error)
                if isinstance(error, FAILURES):
                    raise MQError(Reason.CONNECTION_BROKEN, why=said(error)) from error
                raise
