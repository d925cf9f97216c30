"""Rows of the table of MQI semantics where queue managers share a queue: 3, 4, 7, 17, 19, 25, 38."""

from contextlib import nullcontext

import pytest

from model.answers import bodies, drain, fails
from qmgr.shared.sharing import (
    GET_IN,
    GET_OUT,
    IN,
    OUT,
    PERSISTENT,
    SHARE,
    STRUCTURE,
    USES,
    VOLATILE,
    browsed,
    drained,
)
from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import DefinitionType, IndexType, LocalQueue, ModelQueue, Process, TriggerType
from quaestor.mqi.options import CloseOptions, GetOptions, MatchOptions, OpenOptions
from quaestor.mqi.reasons import Reason


@pytest.mark.parametrize("described", [PERSISTENT, VOLATILE], ids=["persistent", "not persistent"])
def test_03_04_what_a_unit_has_put_is_there_for_nobody(sharing, one, two, described):
    """Neither here nor there, until it commits; it counts for the depth on both sides (row 10)."""
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        put = here.put(b"x", described, IN)
        for handle in (here, there):
            for options in (GET_IN, GET_OUT, GetOptions.BROWSE_FIRST):
                with fails(Reason.NO_MSG_AVAILABLE):
                    handle.get(options)
                with fails(Reason.NO_MSG_AVAILABLE):
                    handle.get(options, msg_id=put.msg_id)
            assert {"CURDEPTH": 1} == handle.inquire("CURDEPTH")
        one.backout()
        assert {"CURDEPTH": 0} == there.inquire("CURDEPTH")
        here.put(b"y", described, IN)
        one.commit()
        assert b"y" == there.get(GET_OUT).body


@pytest.mark.parametrize("end", ["backs out", "is killed"])
def test_07_the_backout_count_is_the_messages_whoever_gets_it(sharing, one, two, end):
    """Without HARDENBO, and for messages that are not persistent too: the structure keeps it."""
    with one.open("ORDERS", USES) as here:
        here.put(b"kept", PERSISTENT, OUT)
        here.put(b"not logged", VOLATILE, OUT)
        for _ in range(2):
            here.get(GET_IN)
            here.get(GET_IN)
            one.backout()
        if end == "backs out":
            here.get(GET_IN)
            one.backout()
        else:
            here.get(GET_IN)
            sharing.kill("QM1")
            sharing.start("QM1")
    with two.open("ORDERS", USES) as there:
        found = drain(there)
    assert [(b"kept", 3), (b"not logged", 2)] == [(one.body, one.backout_count) for one in found]


def test_17_a_message_that_another_member_puts_ends_a_wait(sharing, one, two):
    """One that asks for its identifier before one that takes any."""
    sharing.define("REPLIES", index_type=IndexType.CORRELID)
    ways = []
    for asks in ({}, {"correl_id": b"K" * 24}):
        handle = two.open("REPLIES", USES)
        ways.append((handle, handle.look(GET_OUT, -1, None, **asks), asks))
    with one.open("REPLIES", USES) as here:
        here.put(b"for K", MQMD(correl_id=b"K" * 24, persistence=0), OUT)
    with sharing.members["QM2"].engine.recovery.latch:
        sharing.members["QM2"].messages.notice_step()
    looked = [(waiting.posted, asks) for _, waiting, asks in ways]
    assert (True, {"correl_id": b"K" * 24}) in looked
    handle, waiting, asks = ways[1]
    assert b"for K" == handle.look(GET_OUT, -1, waiting, **asks).body


M, C, G = ("msg_id",), ("correl_id",), ("group_id",)
NO_M, NO_C = Reason.MSG_ID_ERROR, Reason.CORREL_ID_ERROR
REFUSED = {
    IndexType.NONE: {C: NO_C, M + C: NO_C, C + G: NO_C, M + C + G: NO_C},
    IndexType.MSGID: {C: NO_C, C + G: NO_C},
    IndexType.CORRELID: {M: NO_M, M + G: NO_M},
    IndexType.MSGTOKEN: {M: NO_M, C: NO_C, M + C: NO_M, M + G: NO_M, C + G: NO_C, M + C + G: NO_M},
    IndexType.GROUPID: {M: NO_M, C: NO_C, M + C: NO_M, M + G: NO_M, C + G: NO_C, M + C + G: NO_M},
}
"""By which identifiers a shared queue of each INDXTYPE cannot be searched, and the reason (M5)."""

WAYS = {
    "get": lambda handle, asked: handle.get(GET_OUT, **asked),
    "get in syncpoint": lambda handle, asked: handle.get(GET_IN, **asked),
    "get and wait": lambda handle, asked: handle.get(GET_OUT, wait_ms=10, **asked),
    "browse first": lambda handle, asked: handle.get(GetOptions.BROWSE_FIRST, **asked),
    "browse next": lambda handle, asked: handle.browse(**asked),
}
IDS = [bytes([at]) * 24 for at in (1, 2)]


def put_keyed(handle, at):
    named = dict.fromkeys(("msg_id", "correl_id", "group_id"), IDS[at])
    handle.put(b"%d" % at, MQMD(persistence=0, msg_flags=8, **named), OUT)


@pytest.mark.parametrize("names", [M, C, G, M + C, M + G, C + G, M + C + G], ids="+".join)
@pytest.mark.parametrize("index", IndexType)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_19_selection_needs_its_index(sharing, one, index, names, way):
    """M5: 2206 and 2207, whether or not there is such a message; nothing has happened to any."""
    sharing.define("KEYED", index_type=index)
    refused = REFUSED[index].get(names)
    with one.open("KEYED", USES) as keyed:
        asked = dict.fromkeys(names, IDS[1])
        with fails(refused or Reason.NO_MSG_AVAILABLE):
            way(keyed, asked)
        for at in range(2):
            put_keyed(keyed, at)
        if refused is None:
            assert b"1" == way(keyed, asked).body
            return
        with fails(refused) as error:
            way(keyed, asked)
        assert {"queue": "KEYED", "index_type": index.name} == error.value.facts
        one.commit()
    assert [b"0", b"1"] == browsed(one, "KEYED")


@pytest.mark.parametrize("index", IndexType)
def test_19_what_asks_for_no_identifier_needs_no_index(sharing, one, index):
    """Zeros, an identifier that is not to be matched, a token, and what the cursor stands on."""
    sharing.define("KEYED", index_type=index)
    with one.open("KEYED", USES) as keyed:
        for at in (0, 1, 0, 1):
            put_keyed(keyed, at)
        assert b"0" == keyed.get(GET_OUT, msg_id=bytes(24), correl_id=bytes(24)).body
        assert b"1" == keyed.get(GET_OUT, msg_id=IDS[0], correl_id=IDS[0], match=MatchOptions.NONE).body
        keyed.browse(GetOptions.BROWSE_FIRST)
        under = GetOptions.MSG_UNDER_CURSOR | GetOptions.NO_SYNCPOINT
        assert b"0" == keyed.get(under, msg_id=IDS[1], correl_id=IDS[1]).body
        keyed.browse(GetOptions.BROWSE_FIRST)
        assert b"1" == keyed.get(GET_OUT, token=keyed.token).body


@pytest.mark.parametrize("index", IndexType)
@pytest.mark.parametrize("name", ["msg_id", "correl_id"])
def test_19_a_private_queue_is_read_through(sharing, one, index, name):
    """M5 is for shared queues: elsewhere an index only saves time."""
    one.define(LocalQueue("PRIVATE", index_type=index, **SHARE))
    with one.open("PRIVATE", USES) as private:
        for at in range(2):
            put_keyed(private, at)
        assert b"1" == private.get(GET_OUT, **{name: IDS[1]}).body


def test_19_in_logical_order_too(sharing, one):
    """The index of logical order is no index of messages."""
    sharing.define("KEYED", index_type=IndexType.GROUPID)
    with one.open("KEYED", USES) as keyed:
        put_keyed(keyed, 0)
        for name, reason in (("msg_id", NO_M), ("correl_id", NO_C)):
            with fails(reason):
                keyed.get(GET_OUT | GetOptions.LOGICAL_ORDER, **{name: IDS[0]})
        assert b"0" == keyed.get(GET_OUT | GetOptions.LOGICAL_ORDER, group_id=IDS[0]).body


def test_19_a_wait_ends_when_its_index_is_altered(sharing, one):
    """M5: what is asked for is looked at again."""
    sharing.define("KEYED", index_type=IndexType.CORRELID)
    keyed = one.open("KEYED", USES)
    waiting = keyed.look(GET_OUT, -1, None, correl_id=IDS[1])
    one.alter(LocalQueue, "KEYED", index_type=IndexType.MSGID)
    with fails(NO_C):
        keyed.look(GET_OUT, -1, waiting, correl_id=IDS[1])


def test_19_logical_order_needs_its_index(sharing, one):
    """2394: the one that cannot be done without."""
    with one.open("ORDERS", USES) as orders, fails(Reason.Q_INDEX_TYPE_ERROR):
        orders.get(GET_OUT | GetOptions.LOGICAL_ORDER)


@pytest.fixture
def triggered(sharing, one):
    """A shared queue that triggers with its first message, and the queue its trigger messages come to."""
    one.define(LocalQueue("INIT", **SHARE))
    one.define(Process("RUN"))
    kind = {"trigger": True, "trigger_type": TriggerType.FIRST}
    sharing.define("WORK", process="RUN", initiation_queue="INIT", **kind)
    monitor = one.open("INIT", USES)
    sharing.members["QM1"].messages.follow_step()

    def triggers():
        """How many trigger messages have come, when the queue manager has noticed what there is."""
        with sharing.members["QM1"].engine.recovery.latch:
            sharing.members["QM1"].messages.notice_step()
        return len(drain(monitor))

    return one.open("WORK", OpenOptions.OUTPUT), triggers


def test_25_on_a_shared_queue_only_committed_messages_count(sharing, one, two, triggered):
    """A private queue counts the first one although nobody can get it yet; here the second is the first."""
    work, triggers = triggered
    work.put(b"not committed", VOLATILE, IN)
    assert 0 == triggers()
    sharing.members["QM2"].messages.follow_step()
    two.put1("WORK", b"committed", VOLATILE, OUT)
    assert 1 == triggers()
    one.commit()
    assert 0 == triggers()


def test_25_a_unit_that_backs_out_has_triggered_nothing(one, triggered):
    """Private queues leave a trigger message behind."""
    work, triggers = triggered
    work.put(b"x", VOLATILE, IN)
    one.backout()
    assert 0 == triggers()


CALLS = {
    "put": lambda _app, handle: handle.put(b"x", VOLATILE, OUT),
    "put in syncpoint": lambda _app, handle: handle.put(b"x", PERSISTENT, IN),
    "put many": lambda _app, handle: handle.put_all([b"x"] * 3, PERSISTENT, OUT),
    "put1": lambda app, _handle: app.put1("ORDERS", b"x"),
    "get": lambda _app, handle: handle.get(GET_OUT),
    "get in syncpoint": lambda _app, handle: handle.get(GET_IN),
    "get and wait": lambda _app, handle: handle.get(GET_OUT, wait_ms=10),
    "get by identifier": lambda _app, handle: handle.get(GET_OUT, msg_id=b"K"),
    "browse": lambda _app, handle: handle.browse(),
    "get under the cursor": lambda _app, handle: handle.get(GetOptions.MSG_UNDER_CURSOR),
    "inquire the depth": lambda _app, handle: handle.inquire("CURDEPTH"),
    "set": lambda _app, handle: handle.set(PUT="DISABLED"),
    "define": lambda app, _handle: app.define(LocalQueue("NEW", structure=STRUCTURE)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_38_without_its_structure_a_call_is_2345(sharing, one, call):
    """And nothing else has happened: when the structure is back, all is as it was."""
    with one.open("ORDERS", USES) as orders:
        orders.put(b"a", PERSISTENT, OUT)
        orders.put(b"b", VOLATILE, OUT)
        orders.browse()
        sharing.cut_off(STRUCTURE)
        with fails(Reason.CF_NOT_AVAILABLE):
            call(one, orders)
    sharing.reach_again(STRUCTURE)
    assert [b"a", b"b"] == browsed(one)
    assert [] == sharing.leaks()


@pytest.mark.parametrize("lost", [STRUCTURE, "CSQ_ADMIN"])
def test_38_the_private_half_of_a_unit_goes_with_the_shared_one(sharing, one, lost):
    """2003 where its decision cannot be told (CSQ_ADMIN); else it is finished when the structure is back."""
    commits = lost == STRUCTURE
    one.define(LocalQueue("PRIVATE", **SHARE))
    with one.open("ORDERS", USES) as orders, one.open("PRIVATE", USES) as private:
        orders.put(b"there", PERSISTENT, OUT)
        private.put(b"x", PERSISTENT, IN)
        orders.get(GET_IN)
        sharing.cut_off(lost)
        with nullcontext() if commits else fails(Reason.BACKED_OUT):
            one.commit()
        private.put(b"y", PERSISTENT, OUT)
        assert (["x", "y"] if commits else ["y"]) == bodies(drain(private))
        sharing.reach_again(lost)
    assert ([] if commits else [b"there"]) == drained(one)
    assert [] == sharing.leaks()


@pytest.mark.parametrize("end", ["close", "disconnect", "abandon", "unlock", "vanish"])
def test_38_a_lock_ends_without_its_structure(sharing, one, two, end):
    """With its handle, whichever way that goes: the message is there for others when the structure is back."""
    orders = one.open("ORDERS", USES)
    orders.put(b"a", VOLATILE, OUT)
    orders.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK)
    assert [] == browsed(two)
    sharing.cut_off(STRUCTURE)
    manager = sharing.members["QM1"]
    if end == "close":
        orders.close()
    elif end == "unlock":
        orders.get(GetOptions.UNLOCK)
    elif end == "vanish":
        manager.connections._lost.append(one.thread)
        with manager.engine.recovery.latch:
            manager.connections.reap()
    else:
        getattr(one, end)()
    assert (end == "unlock") == manager.messages.catalogue.state("ORDERS").handles
    sharing.reach_again(STRUCTURE)
    assert [b"a"] == drained(two)
    assert [] == sharing.leaks()


@pytest.mark.parametrize("end", ["close", "vanish"])
def test_38_a_deleted_queue_is_closed_without_its_structure(sharing, one, end):
    """OP4: its storage goes with the last handle, or as soon as its structure is back."""
    manager = sharing.members["QM1"]
    other = manager.connect("BOB")
    one.define(ModelQueue("MODEL", definition=DefinitionType.SHAREDYN, structure=STRUCTURE, **SHARE))
    made = one.open("MODEL", USES, dynamic_name="MINE")
    last = other.open("MINE", USES)
    made.put(b"x", VOLATILE, OUT)
    made.close(CloseOptions.DELETE_PURGE)
    sharing.cut_off(STRUCTURE)
    if end == "close":
        last.close()
    else:
        manager.connections._lost.append(other.thread)
        with manager.engine.recovery.latch:
            manager.connections.reap()
    sharing.reach_again(STRUCTURE)
    one.put("ORDERS", b"a unit that ends")
    one.commit()
    assert not manager.messages.catalogue._doomed
    assert [b"a unit that ends"] == drained(one)


def test_a_queue_stays_shared_or_private_whatever_is_altered(sharing, one, two):
    """AD7: its messages would be out of reach."""
    one.put1("ORDERS", b"x", PERSISTENT, OUT)
    one.define(LocalQueue("OWN"))
    for name, structure in (("ORDERS", ""), ("OWN", STRUCTURE)):
        with pytest.raises(AttributeValueError, match="CFSTRUCT"):
            one.alter(LocalQueue, name, structure=structure)
    one.alter(LocalQueue, "OWN", structure="", descr="still private")
    with two.open("ORDERS", USES) as orders:
        assert b"x" == orders.get(GET_OUT).body
