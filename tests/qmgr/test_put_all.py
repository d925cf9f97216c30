"""A call for many messages is as many puts: the same messages, bytes, counts and refusals, wherever one is refused."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.answers import fails
from qmgr.small import EVERYTHING, KINDS, memory_queue_manager, page_queue_manager
from qmgr.statistics.test_intervals import queue_manager, sections
from qmgr.test_semantics_put_all import GET_NOW, KEPT, LOST, NOW, drained
from quaestor import MQMD, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.objects import LocalQueue, Process, QueueManagerAttributes, TriggerType
from quaestor.qmgr.checker import check
from quaestor.qmgr.connection.asynchronous import AsyncHandle
from quaestor.qmgr.connection.threads import Threads
from quaestor.storage.log_files import FIRST_RBA
from quaestor.testing import SMALL, FaultyDisk, SmallEngine

BODIES = st.sampled_from(
    [b"", b"short", bytes(1024), bytes(2999), bytes(3001), bytes(9000), "text", bytearray(b"array")]
)
DESCRIPTORS = [None, KEPT, LOST, MQMD(persistence=1, priority=7), MQMD(persistence=1, expiry=600, correl_id=b"C" * 24)]


@pytest.mark.parametrize("kind", ["memory", "pages"])
def test_a_triggered_queue_triggers_and_a_waiting_getter_is_woken(kind):
    """Puts that have consequences have them each."""
    qm = KINDS[kind]()
    app = qm.connect()
    app.define(Process("SERVE", appl_id="serve"))
    qm.queue("INIT")
    triggered = {"trigger": True, "trigger_type": TriggerType.DEPTH, "trigger_depth": 3}
    qm.queue("WORK", initiation_queue="INIT", process="SERVE", **triggered)
    init, work = app.open("INIT", EVERYTHING), app.open("WORK", OpenOptions.OUTPUT)
    work.put_all([b"1", b"2", b"3", b"4"], LOST)
    app.commit()
    assert 1 == len(drained(init))
    waiting = init.look(int(GET_NOW), 1000, None)
    posted = []
    init.on_post(waiting, lambda: posted.append(True))
    init.put_all([b"x", b"y"], LOST, NOW)
    assert [True] == posted
    assert [b"x", b"y"] == [message.body for message in drained(init)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(BODIES, max_size=80),
    st.sampled_from(DESCRIPTORS),
    st.sampled_from([PutOptions.NONE, NOW]),
    st.integers(0, 90),
    st.sampled_from(["length", "depth", "none"]),
    st.sampled_from(sorted(KINDS)),
)
def test_put_all_is_as_many_puts(bodies, md, options, limit, limited, kind):
    """Whatever the bodies are and wherever one is refused: the same is put, and the same is said."""
    together, singly = (KINDS[kind]() for _ in range(2))
    told = []
    for qm, how in ((together, put_together), (singly, put_singly)):
        most = {"length": {"max_msg_length": 1024}, "depth": {"max_depth": limit}, "none": {}}[limited]
        app = qm.connect()
        queue = app.open(qm.queue("ORDERS", **most), EVERYTHING)
        outcome = how(queue, bodies, md, options)
        app.commit()
        found = [(one.body, one.priority, one.persistence, one.correl_id, one.expires_us) for one in drained(queue)]
        told.append((outcome, found, qm.messages.stats))
    assert told[0] == told[1]


def put_together(queue, bodies, md, options):
    try:
        return len(queue.put_all(bodies, md, options)), None
    except MQError as error:
        return error.facts["put"], error.reason


def put_singly(queue, bodies, md, options):
    for at, body in enumerate(bodies):
        try:
            queue.put(body, md, options)
        except MQError as error:
            return at, error.reason
    return len(bodies), None


LENGTHS = st.lists(st.sampled_from([0, 1, 700, 1024, 3000, 3001, 9000]), min_size=1, max_size=60)


@settings(max_examples=30, deadline=None)
@given(st.lists(LENGTHS, max_size=4), st.booleans())
def test_the_log_and_the_pages_are_the_same_bytes(units, packing):
    """D7, J12: nobody who reads pages or log can tell how a message was put, where the buffer pool is large enough."""
    some = replace(SMALL, packing=packing, buffer_pools={**SMALL.buffer_pools, 1: 2000})
    one, other = SmallEngine(FaultyDisk(), some), SmallEngine(FaultyDisk(), some)
    for lengths in units:
        bodies = [bytes((at % 256,)) * length for at, length in enumerate(lengths)]
        for engine in (one, other):
            unit = engine.begin()
            if engine is one:
                assert len(bodies) == engine.put_all(unit, bodies)
            else:
                for body in bodies:
                    engine.put(unit, body)
            engine.commit(unit)
            unit = engine.begin()
            for _ in bodies[::2]:
                engine.get(unit)
            engine.commit(unit)
    logged = list(one.log.scan(FIRST_RBA))
    assert logged == list(other.log.scan(FIRST_RBA))
    assert sum(map(len, units)) <= len(logged)
    for number, page_set in one.buffers.page_sets.items():
        twin = other.buffers.page_sets[number]
        assert page_set.frames.keys() == twin.frames.keys()
        for page, frame in page_set.frames.items():
            assert (frame.data, frame.rba) == (twin.frames[page].data, twin.frames[page].rba)
    assert one.bodies() == other.bodies()
    assert vars_of(one.data.stats) == vars_of(other.data.stats)
    assert vars_of(one.buffers.pools[1].stats) == vars_of(other.buffers.pools[1].stats)
    assert vars_of(one.log.stats) == vars_of(other.log.stats)
    assert [] == check(one.data)


def vars_of(section):
    return {name: getattr(section, name) for name in type(section).__slots__}


def test_a_page_set_that_is_full_leaves_what_was_put():
    """The last one finds no page: what is there stays, and can be committed."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, pages=40))
    engine.data.space.expand[1] = "NONE"
    unit = engine.begin()
    put = engine.put_all(unit, [bytes(500)] * 60)
    assert 0 < put < 40
    with fails(Reason.STORAGE_MEDIUM_FULL):
        engine.put(unit, b"one more")
    engine.commit(unit)
    assert put == len(engine.bodies())
    assert [] == check(engine.data)


def test_an_account_has_as_many_puts():
    """AH4: counts, bytes, sizes and depth as of single puts; the time of the call is theirs together."""
    accounts = []
    for how in (put_together, put_singly):
        qm, _, smf = queue_manager("acctg(3)")
        app = qm.connect("ALICE", "JOB")
        app.define(LocalQueue("ORDERS", max_msg_length=2000))
        queue = app.open("ORDERS", EVERYTHING)
        how(queue, [bytes(10), bytes(200), bytes(1500), "text", bytes(2001), bytes(7)], KEPT, 0)
        app.commit()
        app.disconnect()
        qm.stop()
        (queue_account,), (task,) = sections(smf, "WQST"), sections(smf, "WTAS")
        names = ("puts", "valid_puts", "put_bytes", "put_size_high", "put_size_low", "puts_persistent", "depth_high")
        accounts.append([getattr(queue_account, name, None) for name in names] + [task.log_bytes, task.log_writes])
    assert accounts[0] == accounts[1]
    assert accounts[0][0] == 5


def test_put_all_for_asyncio():
    qm = page_queue_manager()
    app = qm.connect()
    queue = app.open(qm.queue(), EVERYTHING)

    async def work():
        handle = AsyncHandle(queue, Threads())
        put = await handle.put_all([b"a", b"b"], KEPT)
        return [*put, *await handle.put_all([b"c"], KEPT, NOW)]

    put = asyncio.run(work())
    app.commit()
    assert [b"a", b"b", b"c"] == sorted(message.body for message in put)
    assert 3 == len(drained(queue))


def test_the_model_puts_one_by_one():
    qm = memory_queue_manager()
    queue = qm.connect().open(qm.queue(), EVERYTHING)
    assert 300 == len(queue.put_all([b"x"] * 300, LOST, NOW))


@pytest.mark.parametrize("kind", ["memory", "pages"])
@pytest.mark.parametrize(
    ("attributes", "bodies", "limit", "reason"),
    [
        ({"max_depth": 2}, [b"1", b"2", b"3"], 10, Reason.Q_FULL),
        ({"max_msg_length": 4}, [b"1", b"2", b"longer"], 10, Reason.MSG_TOO_BIG_FOR_Q),
        ({}, [b"1", b"2", 3], 10, Reason.BUFFER_ERROR),
        ({}, [b"1", b"2", b"3"], 2, Reason.SYNCPOINT_LIMIT_REACHED),
    ],
)
@pytest.mark.parametrize("md", [MQMD(priority=12), MQMD(report=0x40000000)])
def test_a_call_that_fails_warns_of_nothing(kind, attributes, bodies, limit, reason, md):
    """PU7: the messages before the refused one were warned of, and are put."""
    qm = KINDS[kind]()
    app = qm.connect()
    qm.queue("WORK", **attributes)
    app.alter(QueueManagerAttributes, max_uncommitted=limit)
    work = app.open("WORK", EVERYTHING)
    work.put(b"0"[:0], md, NOW)
    assert app.warning is not None
    work.get(GET_NOW)
    with fails(reason) as refused:
        work.put_all(bodies, md)
    assert app.warning is None
    assert 2 == refused.value.facts["put"]
