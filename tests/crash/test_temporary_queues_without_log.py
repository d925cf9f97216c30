"""A queue that goes with its handle, and no log to say so: the application goes, the queue a little later (OP4)."""

import gc

import pytest

from crash.test_backouts_without_log import ROOMY, archives, use_up
from model.answers import fails
from qmgr.small import EVERYTHING, Small
from quaestor.clock import FakeClock
from quaestor.mqi.objects import DefinitionType, ModelQueue
from quaestor.mqi.options import CloseOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.testing import FaultyDisk

pytestmark = [pytest.mark.crash, pytest.mark.plain]
__all__ = ["archives"]


class Machine:
    """A queue manager whose log is full, and an application with a dynamic queue."""

    def __init__(self, archives, kind=DefinitionType.TEMPDYN):
        self.disk, self.archives = FaultyDisk(), archives
        self.start()
        self.app = self.qm.connect()
        self.app.define(ModelQueue("MODEL", definition=kind))
        self.replies = self.app.open("MODEL", EVERYTHING)
        self.replies.put("x", None, PutOptions.NO_SYNCPOINT)
        use_up(self.manager.engine.log, archives)

    def start(self):
        self.manager = QueueManager("QM1", self.disk, clock := FakeClock(), ROOMY)
        self.manager.start(background=False)
        self.qm = Small(clock, self.manager.messages, self.manager.connections, self.manager.security, self.manager)

    @property
    def queues(self):
        return [queue.name for queue in self.manager.messages.catalogue.local_queues()]

    def archive(self):
        """There is log again, and the background works."""
        self.archives.full = False
        with self.manager.engine.recovery.latch:
            for task in self.manager.messages.tasks():
                task.step()


def close(machine):
    machine.replies.close()
    machine.replies.close()


def disconnect(machine):
    machine.app.disconnect()


def abandon(machine):
    machine.app.abandon()


def vanish(machine):
    """The application lets go of everything; the background finds out (CM4)."""
    machine.app = machine.replies = None
    gc.collect()
    with machine.manager.engine.recovery.latch:
        machine.manager.connections.reap()


@pytest.mark.parametrize("end", [close, disconnect, abandon, vanish])
def test_a_temporary_queue_goes_when_there_is_log(archives, end):
    """OP4: nobody is told 2056, least of all the background, with which the queue manager would end."""
    machine = Machine(archives)
    (name,) = machine.queues
    end(machine)
    assert 0 == machine.manager.messages.catalogue.state(name).handles
    machine.archive()
    assert [] == machine.queues


def test_a_queue_manager_stops_and_starts_without_log(archives):
    """MM3: what is left of it goes with the first log that there is."""
    machine = Machine(archives)
    machine.manager.stop()
    machine.start()
    machine.archive()
    assert [] == machine.queues


def test_a_permanent_queue_stays_open(archives):
    """OP4: the close has failed as a whole, and is made again."""
    machine = Machine(archives, DefinitionType.PERMDYN)
    (name,) = machine.queues
    with fails(Reason.Q_SPACE_NOT_AVAILABLE):
        machine.replies.close(CloseOptions.DELETE_PURGE)
    assert (1, 1, 1) == (
        (state := machine.manager.messages.catalogue.state(name)).handles,
        state.input_handles,
        state.output_handles,
    )
    archives.full = False
    machine.replies.close(CloseOptions.DELETE_PURGE)
    assert [] == machine.queues
