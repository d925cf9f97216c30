"""The queue manager on pages and the plain model give the same answers, whatever applications do, over restarts too."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from model.memory_store import MemoryRecovery, MemoryStore, restarted
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.scheduler import Scheduler
from quaestor.qmgr.security import SecurityManager
from quaestor.testing import SMALL, FaultyDisk

APPLICATIONS = 3
QUEUES = {
    "PLAIN": {},
    "FIFO": {"fifo": True, "def_persistent": True},
    "BY.CORREL": {"index_type": IndexType.CORRELID},
    "SMALL": {"max_depth": 2},
}
USES = OpenOptions.INPUT_SHARED | OpenOptions.BROWSE | OpenOptions.OUTPUT | OpenOptions.INQUIRE
GETS = [
    GetOptions.NONE,
    GetOptions.NO_SYNCPOINT,
    GetOptions.SYNCPOINT_IF_PERSISTENT,
    GetOptions.BROWSE_FIRST,
    GetOptions.BROWSE_NEXT,
    GetOptions.BROWSE_NEXT | GetOptions.LOCK,
    GetOptions.BROWSE_MSG_UNDER_CURSOR,
    GetOptions.MSG_UNDER_CURSOR,
    GetOptions.UNLOCK,
]
applications = st.integers(0, APPLICATIONS - 1)
queues = st.sampled_from(list(QUEUES))
correlations = st.sampled_from([b"", b"A", b"B"])


class Side:
    """One of the two queue managers, with its applications."""

    def __init__(self, clock):
        self.clock = clock

    def open_all(self):
        self.apps = [self.connections.connect(f"USER{n}", "model") for n in range(APPLICATIONS)]
        self.handles = [{queue: app.open(queue, USES) for queue in QUEUES} for app in self.apps]

    def remove_expired(self):
        """A cut may bring back what was removed because it had expired (V14): it is removed again."""
        while self.messages.expiry_scan_step():
            pass

    def define(self):
        with self.connections.connect("ADMIN", "model") as admin:
            for name, attributes in QUEUES.items():
                admin.define(LocalQueue(name, share=True, def_exclusive=False, **attributes))


class ModelSide(Side):
    def __init__(self, clock):
        super().__init__(clock)
        self.start(MemoryStore())
        self.define()

    def start(self, store):
        self.store, recovery = store, MemoryRecovery()
        security = SecurityManager(lambda: None, self.clock)
        self.messages = MessageManager("QM1", store, recovery, security, self.clock)
        recovery.managers = [store, self.messages]
        self.messages.start()
        self.connections = ConnectionManager(self.messages, recovery, security, self.clock)
        self.scheduler = Scheduler(recovery.latch, (self.messages, self.connections), self.clock)

    def restart(self):
        self.start(restarted(self.store))


class PageSide(Side):
    def __init__(self, clock):
        super().__init__(clock)
        self.disk = FaultyDisk()
        self.start()
        self.define()

    def start(self):
        self.manager = QueueManager("QM1", self.disk, self.clock, SMALL)
        self.manager.start(background=False)
        self.connections, self.scheduler = self.manager.connections, self.manager.scheduler
        self.messages = self.manager.messages

    def restart(self):
        self.disk = self.disk.after_power_cut()
        self.start()


class Agreement(RuleBasedStateMachine):
    """Every call is made on both sides; the answers must be equal."""

    def __init__(self):
        super().__init__()
        clock = FakeClock()
        self.clock, self.sides = clock, (ModelSide(clock), PageSide(clock))
        self.made = 0
        for side in self.sides:
            side.open_all()

    def both(self, call):
        """Make a call on both sides; its answer is a result or a reason."""
        answers = []
        for side in self.sides:
            try:
                answers.append(call(side))
            except MQError as error:
                answers.append(error.reason)
        assert answers[0] == answers[1]

    @rule(
        app=applications,
        queue=queues,
        correl_id=correlations,
        priority=st.integers(-1, 9),
        persistence=st.integers(0, 2),
        expiry=st.sampled_from([-1, -1, -1, 20]),
        length=st.sampled_from([0, 10, 5000, 9000]),
        options=st.sampled_from([PutOptions.NONE, PutOptions.NONE, PutOptions.NO_SYNCPOINT]),
    )
    def put(self, app, queue, correl_id, priority, persistence, expiry, length, options):
        self.made += 1
        body = f"{self.made}".encode().ljust(length, b".")
        md = MQMD(correl_id=correl_id, priority=priority, persistence=persistence, expiry=expiry)
        self.both(lambda side: side.handles[app][queue].put(body, md, options).body)

    @rule(app=applications, queue=queues, options=st.sampled_from(GETS), correl_id=correlations)
    def get(self, app, queue, options, correl_id):
        asked = {} if options & GetOptions.UNLOCK or not correl_id else {"correl_id": correl_id}

        def call(side):
            message = side.handles[app][queue].get(options, **asked)
            return message.body, message.priority, message.persistence, message.correl_id, message.expiry

        self.both(call)

    @rule(app=applications)
    def commit(self, app):
        self.both(lambda side: side.apps[app].commit())

    @rule(app=applications)
    def back_out(self, app):
        self.both(lambda side: side.apps[app].backout())

    @rule()
    def background_work(self):
        for side in self.sides:
            side.scheduler.run_due()

    @rule(seconds=st.sampled_from([0.5, 3]))
    def time_passes(self, seconds):
        self.clock.advance(seconds=seconds)

    @rule(app=applications)
    def an_application_is_gone(self, app):
        def again(side):
            side.apps[app].abandon()
            side.apps[app] = side.connections.connect(f"USER{app}", "model")
            side.handles[app] = {queue: side.apps[app].open(queue, USES) for queue in QUEUES}

        self.both(again)

    @precondition(lambda self: self.made)
    @rule()
    def the_power_goes(self):
        for side in self.sides:
            side.restart()
            side.remove_expired()
            side.open_all()

    @invariant()
    def depths_agree(self):
        depths = [[side.handles[0][queue].inquire("CURDEPTH")["CURDEPTH"] for queue in QUEUES] for side in self.sides]
        assert depths[0] == depths[1]


Agreement.TestCase.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
TestAgreement = Agreement.TestCase
