"""Whatever applications do, they get the same answers through every door: embedded or a client, blocking or asyncio."""

import asyncio
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from qmgr.small import EVERYTHING, page_queue_manager
from quaestor import MQMD, GetOptions, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.objects import IndexType, LocalQueue, Process, TriggerType
from quaestor.mqi.options import CloseOptions, MatchOptions, MsgFlags
from quaestor.mqi.reports import Report
from quaestor.qmgr.connection import AsyncConnection
from quaestor.server.client import asynchronous
from quaestor.server.client.opening import hello_of
from quaestor.server.client.place import Place
from server.conftest import Door

QUEUES = {
    "PLAIN": {},
    "GROUPS": {"index_type": IndexType.GROUPID},
    "SHORT": {"max_msg_length": 3, "max_depth": 3},
    "TRIGGERS": {
        "trigger": True,
        "trigger_type": TriggerType.EVERY,
        "initiation_queue": "STARTED",
        "process": "BILLING",
    },
    "STARTED": {},
}
USES = EVERYTHING | OpenOptions.SAVE_ALL_CONTEXT | OpenOptions.PASS_ALL_CONTEXT
A, B = b"A" * 24, b"B" * 24


class Blocking:
    """The applications of a queue manager behind a door whose calls block."""

    def __init__(self, qm):
        self.qm = qm
        for name, attributes in QUEUES.items():
            qm.queue(name, **attributes)
        with qm.connect() as admin:
            admin.define(Process("BILLING", appl_id="bill.py"))
        self.apps = [self.connect() for _ in range(2)]
        self.handles = [{queue: self.open(app, queue) for queue in QUEUES} for app in self.apps]

    def connect(self):
        return self.qm.connect()

    def done(self, answer):
        return answer

    def open(self, app, queue):
        return self.done(app.open(queue, USES))

    def call(self, number, queue, name, args, named):
        """What a call answers, as far as it is the same for all; and what it warns of."""
        app = self.apps[number]
        handle = self.handles[number][queue]
        try:
            if name == "reopen":
                self.done(handle.close(*args))
                self.handles[number][queue] = self.open(app, queue)
                answer = None
            else:
                answer = told(self.done(getattr(app if name in OF_APP else handle, name)(*args, **named)))
        except MQError as error:
            answer = error.reason, error.facts.get("put")
        except TypeError:
            answer = TypeError
        warning = app.warning
        return answer, None if warning is None else warning.reason

    def left(self):
        """What is on the queues when everybody has gone."""
        self.stop()
        self.apps = []
        found = []
        with self.qm.connect() as app:
            for name in QUEUES:
                app.alter(LocalQueue, name, get_allowed=True)
                with app.open(name, OpenOptions.INPUT_SHARED) as queue, suppress(MQError):
                    while True:
                        found.append((name, told(queue.get(GetOptions.NO_SYNCPOINT))))
        return found

    def stop(self):
        for app in self.apps:
            self.done(app.disconnect())


class Asyncio(Blocking):
    def __init__(self, qm):
        self.loop = asyncio.new_event_loop()
        super().__init__(qm)

    def connect(self):
        return AsyncConnection(self.qm.connect())

    def done(self, answer):
        return self.loop.run_until_complete(answer)

    def stop(self):
        super().stop()
        if not self.loop.is_closed():
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()


class AsyncioClient(Asyncio):
    def connect(self):
        place = Place("QM1", path=self.qm.directory / "socket")
        return self.done(asynchronous.connect(place, hello_of("QM1", "ALICE", None, "test")))


OF_APP = {"commit", "backout", "put1"}


def told(answer):
    """What is the same in every run: not identifiers that were made, nor their times."""
    if isinstance(answer, list):
        return [told(one) for one in answer]
    if not hasattr(answer, "envelope"):
        return answer
    envelope = answer.envelope
    return (
        answer.body,
        (answer.correl_id, answer.priority, answer.persistence, answer.expiry, answer.backout_count),
        (answer.original_length, answer.truncated, any(answer.msg_id)),
        (
            envelope.format,
            envelope.ccsid,
            envelope.report,
            envelope.msg_type,
            envelope.feedback,
            envelope.reply_to_qmgr,
        ),
        (envelope.msg_flags, envelope.msg_seq_number, any(envelope.group_id)),
        (envelope.user_identifier, envelope.put_appl_name, envelope.appl_identity_data),
    )


def flags(*choices):
    """Some of the options together, whether or not they mean anything."""
    return st.lists(st.sampled_from(choices), max_size=3).map(lambda chosen: sum({int(one) for one in chosen}))


bodies = st.sampled_from([b"", b"x", "text", bytearray(b"abc"), b"longer", b"z" * 9000])
descriptors = st.none() | st.builds(
    MQMD,
    priority=st.sampled_from([-1, 0, 5, 12, -2]),
    persistence=st.sampled_from([0, 1, 2, 3]),
    expiry=st.sampled_from([-1, -1, 10, 0]),
    correl_id=st.sampled_from([bytes(24), A, B, b"short"]),
    format=st.sampled_from(["", "MINE"]),
    msg_flags=st.sampled_from([0, 0, MsgFlags.MSG_IN_GROUP, MsgFlags.LAST_MSG_IN_GROUP, MsgFlags.SEGMENT]).map(int),
    report=st.sampled_from([0, 0, Report.COA, Report.COD_WITH_DATA, Report.EXPIRATION, 1 << 30]).map(int),
    reply_to_q=st.sampled_from(["", "PLAIN", "SHORT"]),
)
put_options = flags(*(set(PutOptions) - {PutOptions.ASYNC_RESPONSE})) | st.sampled_from(
    [0, int(PutOptions.NO_SYNCPOINT)]
)
LOOKS = [
    GetOptions.BROWSE_FIRST,
    GetOptions.BROWSE_NEXT | GetOptions.LOCK,
    GetOptions.BROWSE_MSG_UNDER_CURSOR,
    GetOptions.MSG_UNDER_CURSOR,
    GetOptions.UNLOCK,
    GetOptions.BROWSE_NEXT | GetOptions.LOGICAL_ORDER,
    GetOptions.LOGICAL_ORDER | GetOptions.ALL_MSGS_AVAILABLE,
    GetOptions.MARK_SKIP_BACKOUT,
]
get_options = flags(*GetOptions) | st.sampled_from([0, int(GetOptions.NO_SYNCPOINT)]) | st.sampled_from(LOOKS).map(int)
selecting = st.fixed_dictionaries(
    {},
    optional={
        "correl_id": st.sampled_from([None, bytes(24), A, B, b"short", b"x" * 25]),
        "max_length": st.sampled_from([None, 0, 2, 9000]),
        "wait_ms": st.just(0),
        "sequence": st.sampled_from([1, 2]),
        "match": st.sampled_from([None, MatchOptions.NONE, MatchOptions.CORREL_ID, 1 << 20]),
    },
)
names = st.sampled_from(list(QUEUES))
NOTHING_NAMED = st.just({})


def calls(name, *args, named=NOTHING_NAMED):
    return st.tuples(st.integers(0, 1), names, st.just(name), st.tuples(*args), named)


attributes = st.sampled_from([{"PUT": "DISABLED"}, {"GET": "DISABLED"}, {"PUT": "ENABLED", "GET": "ENABLED"}, {"X": 1}])
steps = st.one_of(
    calls("put", bodies, descriptors, put_options),
    calls("put", bodies, descriptors, put_options),
    calls("put", bodies, st.none(), st.just(PutOptions.NO_SYNCPOINT), named=st.just({"correl_id": A})),
    calls("put_all", st.lists(bodies, max_size=4), descriptors, put_options),
    calls("put1", st.sampled_from([*QUEUES, "NONE"]), bodies, descriptors, put_options),
    calls("get", get_options, named=selecting),
    calls("get", get_options, named=selecting),
    calls("browse", named=selecting),
    calls("inquire", st.sampled_from(["CURDEPTH", "IPPROCS", "NOTHING"])),
    calls("set", named=attributes),
    calls("reopen", st.sampled_from([CloseOptions.NONE, CloseOptions.DELETE])),
    calls("commit"),
    calls("backout"),
    st.sampled_from([0.5, 2.0]),
)


@contextmanager
def every_door():
    """Applications of a queue manager behind each door."""
    with ExitStack() as stack:
        doors = [page_queue_manager(), page_queue_manager()]
        for _ in range(2):
            doors.append(Door(Path(stack.enter_context(TemporaryDirectory()))))
            stack.callback(doors[-1].stop)
        sides = []
        for kind, qm in zip((Blocking, Asyncio, Blocking, AsyncioClient), doors, strict=True):
            sides.append(kind(qm))
            stack.callback(sides[-1].stop)
        yield sides


@given(script=st.lists(steps, min_size=5, max_size=30))
@settings(max_examples=25, deadline=None)
def test_every_door_gives_the_same_answers(script):
    with every_door() as sides:
        for step in script:
            if isinstance(step, float):
                for side in sides:
                    side.qm.clock.advance(seconds=step)
                continue
            answers = [side.call(*step) for side in sides]
            assert [answers[0]] * len(sides) == answers
        left = [side.left() for side in sides]
        assert [left[0]] * len(sides) == left


def test_a_warning_ends_with_the_next_call_even_if_that_has_nothing_to_do():
    with every_door() as sides:
        for side in sides:
            _, warned = side.call(0, "PLAIN", "put", (b"x", MQMD(priority=12), int(PutOptions.NO_SYNCPOINT)), {})
            assert Reason.PRIORITY_EXCEEDS_MAXIMUM is warned
            assert ([], None) == side.call(0, "PLAIN", "put_all", ([], None, 0), {})


BIG = bytes(104_857_601)
WRONG_OPTIONS = [int(PutOptions.NO_SYNCPOINT), "x", None, 1 << 40, 6, 1 << 19]
WRONG_BODIES = [b"x", 7, b"longer than SHORT takes"]
WRONG_DESCRIPTORS = [
    None,
    "no descriptor",
    MQMD(format="x" * 300),
    MQMD(priority="high"),
    MQMD(correl_id=b"x" * 25),
    MQMD(report=1 << 40),
    MQMD(msg_type=-5),
]
WRONG_SELECTIONS = [{}, {"correl_id": b"x" * 25}, {"msg_id": 7}, {"sequence": "s"}, {"match": "m"}, {"match": 1 << 20}]
WRONG_NUMBERS = [None, 0, -5, "number"]


def wrong_calls():
    """Calls with one mistake, two or more, on handles that are open, open for something else, and closed."""
    for body, md, options, named in product(
        WRONG_BODIES, WRONG_DESCRIPTORS, WRONG_OPTIONS, [{}, {"correl_id": b"x" * 25}]
    ):
        for queue in ("PLAIN", "OFF", "SHORT", "READ", "CLOSED"):
            yield queue, "put", (body, md, options), named
        for queue in ("PLAIN", "OFF", "READ", "CLOSED"):
            yield queue, "put_all", ([b"x", body], md, options), {}
            yield queue, "put_all", ([body], md, options), {}
            yield queue, "put_all", ("one", md, options), {}
        for target in ("PLAIN", "OFF", "NONE", 7, "not a name"):
            yield "PLAIN", "put1", (target, body, md, options), {}
    for queue, md in product(("PLAIN", "OFF", "READ"), WRONG_DESCRIPTORS[:2]):
        yield queue, "put", (BIG, md, 4), {}
    for options, wait_ms, max_length, selecting in product(
        [4, "x", 1 << 40, 6, 1 << 20, 20, 1024], WRONG_NUMBERS, WRONG_NUMBERS, WRONG_SELECTIONS
    ):
        named = {key: value for key, value in (("wait_ms", wait_ms), ("max_length", max_length)) if value is not None}
        for queue in ("PLAIN", "OFF", "WRITTEN", "CLOSED"):
            yield queue, "get", (options,), named | selecting


def test_of_two_mistakes_every_door_names_the_same():
    with every_door() as sides:
        for side in sides:
            side.qm.queue("OFF", put_allowed=False, get_allowed=False)
            app, handles = side.apps[0], side.handles[0]
            handles["OFF"] = side.open(app, "OFF")
            handles["READ"] = side.done(app.open("PLAIN", OpenOptions.INPUT_SHARED))
            handles["WRITTEN"] = side.done(app.open("PLAIN", OpenOptions.OUTPUT))
            handles["CLOSED"] = side.open(app, "PLAIN")
            side.done(handles["CLOSED"].close())
        for call in wrong_calls():
            answers = [side.call(0, *call) for side in sides]
            assert [answers[0]] * len(sides) == answers, call
