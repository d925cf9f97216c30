"""Shared queues as the talk describes them: order of the list, requests of each call, units of several members."""

from itertools import count

import pytest

from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, USES, VOLATILE, Sharing, browsed, drained
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.checking import check_structures
from quaestor.qmgr.coupling_facility.keys import COMMITTED, IN_DOUBT, LAST_KEY, UNCOMMITTED, got_list
from quaestor.storage.lists import places

ORDERS_LIST = 1


class Asked:
    """What a member asks of its structures while something is done: the names of the operations of each request."""

    def __init__(self, manager):
        self.requests = []
        for structure in (manager.shared.admin, *manager.shared.structures.values()):
            self._listen(structure)

    def _listen(self, structure):
        ask = structure._request

        def listening(operations, multiple=None, **named):
            self.requests.append((structure.name, tuple(operation.NAME for operation in operations)))
            return ask(operations, multiple, **named)

        structure._request = listening

    def during(self, work):
        self.requests.clear()
        work()
        return list(self.requests)


def test_what_one_member_puts_another_gets(sharing, one, two):
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        here.put(b"first", options=OUT)
        here.put(b"second", PERSISTENT, OUT)
        assert [b"first", b"second"] == [there.get(GET_OUT).body, there.get(GET_OUT).body]
    assert [] == sharing.leaks()


def test_uncommitted_work_is_there_for_nobody(sharing, one, two):
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        here.put(b"mine", PERSISTENT, IN)
        with pytest.raises(MQError, match="2033"):
            there.get(GET_OUT)
        assert 1 == there.inquire("CURDEPTH")["CURDEPTH"]
        one.commit()
        assert b"mine" == there.get(GET_IN).body
        with pytest.raises(MQError, match="2033"):
            here.get(GET_OUT)
        assert 0 == here.inquire("CURDEPTH")["CURDEPTH"]
        two.backout()
        again = here.get(GET_OUT)
        assert (b"mine", 1) == (again.body, again.backout_count)
    assert [] == sharing.leaks()


@pytest.mark.oracle("talks/8", kind="exact", lines="400")
def test_list_operations_and_their_use(sharing, one):
    """Each MQI call is the list operation of the talk's table, and one request."""
    asked = Asked(sharing.members["QM1"])
    with one.open("ORDERS", USES) as queue:
        put = asked.during(lambda: queue.put(b"1", VOLATILE, OUT))
        queue.put(b"2", VOLATILE, OUT)
        queue.put(b"3", VOLATILE, OUT)
        browse = asked.during(lambda: queue.browse(GetOptions.BROWSE_FIRST))
        get_at_once = asked.during(lambda: queue.get(GET_OUT))
        get_in_syncpoint = asked.during(lambda: queue.get(GET_IN))
        moved = sharing.entries(got_list(1))
        commit = asked.during(one.commit)
        by_id = asked.during(lambda: queue.get(GET_OUT, msg_id=queue.browse(GetOptions.BROWSE_FIRST).msg_id))
        depth = asked.during(lambda: queue.inquire("CURDEPTH"))
    appl = "APPL1"
    assert [(appl, ("write",))] == put
    assert [(appl, ("list",))] == browse
    assert [(appl, ("claim",))] == get_at_once
    assert [(appl, ("claim",))] == get_in_syncpoint
    assert [b"2"] == [entry.data[-1:] for entry in moved]
    assert [(appl, ("delete",))] == commit
    assert [(appl, ("list",)), (appl, ("claim",))] == by_id
    assert [(appl, ("controls",))] == depth
    assert () == sharing.entries(got_list(1))


@pytest.mark.oracle("talks/9", kind="rule", lines="400")
def test_the_order_of_a_queues_list(sharing, one, two):
    """Committed by priority and time, puts in doubt and in flight by member, the queue's own entry last."""
    three = sharing.members["QM2"].connect("CAROL")
    with (
        one.open("ORDERS", USES) as first,
        two.open("ORDERS", USES) as second,
        three.open("ORDERS", USES) as third,
    ):
        second.put(b"in flight QM2", MQMD(priority=9), IN)
        first.put(b"in flight QM1 low", MQMD(priority=1), IN)
        first.put(b"in flight QM1 high", MQMD(priority=8), IN)
        third.put(b"in doubt QM2", MQMD(priority=0), IN)
        three.prepare(b"XID")
        for text, priority in ((b"low", 1), (b"high", 7), (b"low again", 1)):
            sharing.clock.advance(seconds=1)
            first.put(text, MQMD(priority=priority), OUT)
    entries = sharing.entries(ORDERS_LIST)
    bodies = [
        b"high", b"low", b"low again", b"in doubt QM2", b"in flight QM1 high", b"in flight QM1 low", b"in flight QM2"
    ]  # fmt: skip
    classes = [COMMITTED] * 3 + [IN_DOUBT] + [UNCOMMITTED] * 3
    assert [(kind, True) for kind in classes] == [
        (entry.key[0], entry.data.endswith(body)) for entry, body in zip(entries[:-1], bodies, strict=True)
    ]
    assert LAST_KEY == entries[-1].key


def test_a_commit_is_one_request_for_each_structure_and_one_descriptor(tmp_path):
    """A unit that logs costs one request to CSQ_ADMIN; the descriptor of the one before goes with it."""
    sharing = Sharing(tmp_path, structures=("APPL1", "APPL2"))
    manager = sharing.start("QM1")
    sharing.define("ORDERS")
    sharing.define("BILLS", "APPL2")
    app, asked = manager.connect("ALICE"), Asked(manager)
    with app.open("ORDERS", USES) as orders, app.open("BILLS", USES) as bills:

        def volatile():
            orders.put(b"1", VOLATILE, IN)
            orders.put(b"2", VOLATILE, IN)

        volatile()
        assert [("APPL1", ("move", "move"))] == asked.during(app.commit)
        orders.put(b"3", VOLATILE, IN)
        bills.put(b"4", VOLATILE, IN)
        decided = ("APPL1", ("move", "write"))
        assert [("CSQ_ADMIN", ("write",)), decided, ("APPL2", ("move",))] == asked.during(app.commit)
        orders.put(b"5", PERSISTENT, IN)
        orders.get(GET_IN)
        assert [("CSQ_ADMIN", ("write", "delete")), ("APPL1", ("move", "delete"))] == asked.during(app.commit)
    assert 1 == len(sharing.descriptors())
    manager.stop()
    assert ([], []) == (sharing.leaks(), sharing.descriptors())


def test_a_persistent_commit_is_one_force(sharing, one):
    log = sharing.members["QM1"].engine.log
    with one.open("ORDERS", USES) as queue:
        queue.put(b"1", PERSISTENT, IN)
        queue.put(b"2", PERSISTENT, IN)
        calls = log.stats.logger_calls
        one.commit()
        assert 1 == log.stats.logger_calls - calls


def test_a_unit_over_private_and_shared_queues_is_one_unit(sharing, one, two):
    one.define(LocalQueue("PRIVATE", share=True, def_exclusive=False))
    with one.open("ORDERS", USES) as shared, one.open("PRIVATE", USES) as private:
        shared.put(b"shared", PERSISTENT, IN)
        private.put(b"private", PERSISTENT, IN)
        one.backout()
        assert ([], []) == (browsed(two), browsed(one, "PRIVATE"))
        shared.put(b"shared", VOLATILE, IN)
        private.put(b"private", PERSISTENT, IN)
        one.commit()
    assert ([b"shared"], [b"private"]) == (drained(two), drained(one, "PRIVATE"))


def test_the_maximum_depth_is_that_of_the_list(sharing, one, two):
    sharing.define("SMALL", max_depth=2)
    with one.open("SMALL", USES) as here, two.open("SMALL", USES) as there:
        here.put(b"1", VOLATILE, IN)
        sharing.clock.advance(seconds=1)
        there.put(b"2", VOLATILE, OUT)
        with pytest.raises(MQError, match="2053"):
            there.put(b"3", VOLATILE, OUT)
        one.commit()  # a full list refuses no commit
        got = there.get(GET_IN)
        sharing.clock.advance(seconds=1)
        here.put(b"3", VOLATILE, OUT)
        two.backout()  # and no backout
        assert [got.body, b"2", b"3"] == drained(one, "SMALL")


def test_a_full_structure_is_2192_and_gives_back_what_is_got(tmp_path):
    sharing = Sharing(tmp_path, SIZE=64)
    app = sharing.start("QM1").connect("ALICE")
    sharing.define()
    with app.open("ORDERS", USES) as queue:
        fill = iter(lambda: queue.put(bytes(3000), VOLATILE, OUT), None)
        with pytest.raises(MQError, match="2192"):
            list(fill)
        full = sharing.members["QM1"].shared.structures["APPL1"].figures.structure_full
        queue.get(GET_OUT)
        queue.put(bytes(3000), VOLATILE, OUT)
    assert 1 == full


def test_a_full_structure_has_no_room_for_a_queue_and_keeps_no_lock(tmp_path):
    """SD6: the queue is not defined, and other members alter those that are there."""
    sharing = Sharing(tmp_path, SIZE=64)
    app = sharing.start("QM1").connect("ALICE")
    sharing.start("QM2")
    sharing.define()
    with app.open("ORDERS", USES) as queue:
        for size in (3000, 0):
            with pytest.raises(MQError, match="2192"):
                list(iter(lambda body=bytes(size): queue.put(body, VOLATILE, OUT), None))
    more = (sharing.define(f"MORE{number}", by="QM1") for number in count())
    with pytest.raises(MQError, match="2192"):
        list(more)
    assert [] == check_structures(sharing.group("CHECK"), idle=True)
    altered = sharing.members["QM2"].commands.run("ALTER QLOCAL(ORDERS) QSGDISP(SHARED) MAXDEPTH(7)", "OPER")
    assert altered.ok, altered.lines
    drained(app)
    assert "MORE9" == sharing.define("MORE9", by="QM2")


def test_a_browse_with_lock_hides_a_message_from_every_member(sharing, one, two):
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        for body in (b"1", b"2", b"3"):
            here.put(body, VOLATILE, OUT)
        assert b"1" == here.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK).body
        assert [b"2", b"3"] == browsed(two)
        assert [b"1", b"2", b"3"] == [
            here.browse(GetOptions.BROWSE_FIRST).body,
            *(here.browse().body for _ in range(2)),
        ]
        assert b"1" == here.browse(GetOptions.BROWSE_FIRST).body
        assert b"1" == here.get(GET_IN | GetOptions.MSG_UNDER_CURSOR).body
        one.backout()
        assert b"1" == there.get(GET_OUT).body
        assert b"2" == here.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK).body
    assert [b"2", b"3"] == drained(two)
    assert [] == sharing.leaks()


def test_a_message_that_another_member_takes_meanwhile_is_not_got_twice(sharing, one, two, monkeypatch):
    """Between finding and taking another member is quicker: the get looks again."""
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        for body in (b"1", b"2"):
            here.put(body, MQMD(expiry=1000), OUT)  # one that may expire is found first, then taken
        store = sharing.members["QM1"].shared.store
        read, stolen = store.read, []

        def quicker(arrival):
            if not stolen:
                stolen.append(there.get(GET_OUT).body)
            return read(arrival)

        monkeypatch.setattr(here._input, "_read", quicker)
        assert ([b"1"], b"2") == (stolen, here.get(GET_OUT).body) or (b"2", [b"1"]) == (here.get(GET_OUT).body, stolen)
    assert [] == drained(two)


def test_a_queue_defined_by_one_member_is_open_to_all(sharing, one, two):
    sharing.define("LATER", by="QM2", descr="for all")
    with one.open("LATER", USES) as queue:
        assert "for all" == queue.inquire("DESCR")["DESCR"]
        two.alter(LocalQueue, "LATER", put_allowed=False)
        sharing.members["QM1"].messages.follow_step()
        with pytest.raises(MQError, match="2051"):
            queue.put(b"x", VOLATILE, OUT)
        with pytest.raises(MQError, match="2042"):
            two.delete(LocalQueue, "LATER")
    sharing.publish()
    two.delete(LocalQueue, "LATER")
    with pytest.raises(MQError, match="2085"):
        one.open("LATER", USES)
    assert [LAST_KEY] == [entry.key for entry in sharing.entries(2)]


def test_two_queues_never_have_the_same_list(sharing):
    for at in range(6):
        sharing.define(f"Q{at}", by=f"QM{at % 2 + 1}")
    lists = {each.list for each in sharing.members["QM1"].shared.definitions.known.values()}
    sharing.members["QM1"].messages.follow_step()
    known = sharing.members["QM1"].shared.definitions.known
    assert (7, 7) == (len(known), len({each.list for each in known.values()}))
    assert lists


def test_a_unit_has_no_more_messages_than_maxumsgs(sharing, one):
    one.alter(type(sharing.members["QM1"].messages.catalogue.qmgr), max_uncommitted=3)
    with one.open("ORDERS", USES) as queue:
        for _ in range(3):
            queue.put(b"x", VOLATILE, IN)
        with pytest.raises(MQError, match="2024"):
            queue.put(b"y", VOLATILE, IN)
        one.commit()
        for _ in range(3):
            queue.get(GET_IN)
        queue.put(b"z", VOLATILE, OUT)
        with pytest.raises(MQError, match="2024"):
            queue.get(GET_IN)
        one.backout()
    assert [b"x"] * 3 + [b"z"] == drained(one)
    assert [] == sharing.leaks()


def test_what_a_unit_has_in_structures_counts_when_many_are_put_to_a_private_queue(sharing, one):
    one.alter(type(sharing.members["QM1"].messages.catalogue.qmgr), max_uncommitted=7)
    one.define(LocalQueue("PRIVATE", share=True, def_exclusive=False))
    with one.open("ORDERS", USES) as shared, one.open("PRIVATE", USES) as private:
        for _ in range(3):
            shared.put(b"x", VOLATILE, IN)
        with pytest.raises(MQError, match="2024") as limit:
            private.put_all([b"y"] * 9, PERSISTENT, IN)
        assert 4 == limit.value.facts["put"]
        one.commit()
        assert 4 == private.inquire("CURDEPTH")["CURDEPTH"]
    assert [b"x"] * 3 == drained(one)


def test_an_expired_message_is_never_got(sharing, one, two):
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        here.put(b"old", MQMD(expiry=10), OUT)
        here.put(b"old too", MQMD(expiry=10, persistence=1), OUT)
        here.put(b"new", VOLATILE, OUT)
        sharing.clock.advance(seconds=2)
        assert b"new" == there.get(GET_OUT).body
        assert 0 == there.inquire("CURDEPTH")["CURDEPTH"]
    assert [] == sharing.leaks()


def test_a_message_longer_than_the_buffer_stays(sharing, one):
    with one.open("ORDERS", USES) as queue:
        queue.put(b"x" * 100, VOLATILE, OUT)
        with pytest.raises(MQError, match="2080"):
            queue.get(GET_OUT, max_length=50)
        assert b"x" * 50 == queue.get(GET_OUT | GetOptions.ACCEPT_TRUNCATED_MSG, max_length=50).body
        assert [] == drained(one)


def test_a_unit_in_doubt_is_decided_after_a_restart(sharing, one, two):
    with one.open("ORDERS", USES) as queue:
        queue.put(b"to get", PERSISTENT, OUT)
        queue.put(b"put", PERSISTENT, IN)
        queue.put(b"put too", VOLATILE, IN)
        assert b"to get" == queue.get(GET_IN).body
        one.prepare(b"XID")
    sharing.kill("QM1")
    sharing.members["QM2"].shared.peers.step()
    assert [] == browsed(two)
    again = sharing.start("QM1").connect("ALICE")
    assert (b"XID",) == again.in_doubt()
    assert [] == browsed(two)
    again.commit_prepared(b"XID")
    assert [b"put", b"put too"] == drained(two)
    assert [] == sharing.leaks()


def test_a_unit_in_doubt_that_logged_nothing_survives_too(sharing, one, two):
    with one.open("ORDERS", USES) as queue:
        queue.put(b"put", VOLATILE, IN)
        one.prepare(b"XID")
    sharing.kill("QM1")
    again = sharing.start("QM1").connect("ALICE")
    assert (b"XID",) == again.in_doubt()
    again.backout_prepared(b"XID")
    assert ([], []) == (drained(two), sharing.leaks())


def test_a_queue_with_uncommitted_gets_is_not_deleted(sharing, one, two):
    with one.open("ORDERS", USES) as queue:
        queue.put(b"x", VOLATILE, OUT)
        queue.get(GET_IN)
    with pytest.raises(MQError, match="2055"):
        two.delete(LocalQueue, "ORDERS", purge=True)
    one.commit()
    sharing.publish()
    two.delete(LocalQueue, "ORDERS")


# -- indexes


@pytest.mark.parametrize(("index", "name"), [(IndexType.MSGID, "msg_id"), (IndexType.CORRELID, "correl_id")])
def test_an_index_changes_nothing_of_what_is_got(sharing, one, two, index, name):
    """By its identifier and by two of them, over commit and backout, whichever is the secondary key."""
    sharing.define("INDEXED", index_type=index, by="QM1")
    ids = [bytes([at]) * 24 for at in range(3)]
    with one.open("INDEXED", USES) as here, two.open("INDEXED", USES) as there:
        for at in range(9):
            other = "correl_id" if name == "msg_id" else "msg_id"
            descriptor = MQMD(**{name: ids[at // 3], other: ids[at % 3]}, persistence=at % 2)
            here.put(b"%d" % at, descriptor, IN)
        one.commit()
        assert b"3" == there.get(GET_IN, **{name: ids[1]}).body
        assert b"4" == there.get(GET_IN, **{name: ids[1]}).body
        two.backout()
        assert b"3" == there.get(GET_OUT, **{name: ids[1]}).body
        assert b"8" == there.get(GET_OUT, msg_id=ids[2], correl_id=ids[2]).body
    assert [b"0", b"1", b"2", b"4", b"5", b"6", b"7"] == drained(one, "INDEXED")


def test_one_of_ten_thousand_is_found_by_its_key(tmp_path, monkeypatch):
    """MP16: shared queue gets by a unique key are constant time. Without an index the list is read through."""
    looked = []
    fits = places._fits
    monkeypatch.setattr(places, "_fits", lambda entry, where: looked.append(entry) or fits(entry, where))
    sharing = Sharing(tmp_path, SIZE=65_536)
    one = sharing.start("QM1").connect("ALICE")
    sharing.define("REPLIES", index_type=IndexType.MSGID, max_depth=20_000)
    reads = {}
    with one.open("REPLIES", USES) as queue:
        for at in range(10_000):
            queue.put(b"reply", MQMD(msg_id=b"%024d" % at, persistence=0), OUT)
            if at + 1 in (100, 10_000):
                looked.clear()
                queue.get(GET_OUT, msg_id=b"%024d" % at)
                reads[at + 1] = len(looked)
        assert {100: 1, 10_000: 1} == reads
        one.alter(LocalQueue, "REPLIES", index_type=IndexType.NONE)
        looked.clear()
        queue.get(GET_OUT, msg_id=b"%024d" % 9_998)
    assert len(looked) > 9_000


class Claims:
    """The claims that a member makes, as they are asked."""

    def __init__(self, manager):
        self.made = []
        for structure in manager.shared.structures.values():
            self._listen(structure)

    def _listen(self, structure):
        ask = structure._request

        def listening(operations, multiple=None, **named):
            self.made += [operation for operation in operations if operation.NAME == "claim"]
            return ask(operations, multiple, **named)

        structure._request = listening


def test_a_get_that_moves_nothing_leaves_its_claim_to_the_next(sharing, one):
    """CM7: deleted at once, or nothing there: the name in the mark is free. A message that moved has it."""
    with one.open("ORDERS", USES) as orders:
        claims = Claims(sharing.members["QM1"])
        for body in (b"1", b"2"):
            orders.put(body, VOLATILE, OUT)
            assert body == orders.get(GET_OUT).body
        with pytest.raises(MQError, match="2033"):
            orders.get(GET_OUT)
        orders.put(b"3", PERSISTENT, OUT)
        assert b"3" == orders.get(GET_OUT).body
        first, *others = claims.made
        assert [first] * 3 == others
        assert all(each is first for each in others)
        orders.put(b"4", VOLATILE, OUT)
        assert b"4" == orders.get(GET_OUT).body
        assert first.mark != claims.made[-1].mark
    assert [] == sharing.leaks()


def test_units_have_names_of_their_own_though_claims_are_made_again(sharing, one, two):
    """CM7: two units of one member that begin with the same claim are two units."""
    again = sharing.members["QM1"].connect("CAROL")
    with one.open("ORDERS", USES) as here, again.open("ORDERS", USES) as there, two.open("ORDERS", USES) as other:
        for handle in (here, there):
            with pytest.raises(MQError, match="2033"):
                handle.get(GET_IN)
        for body in (b"1", b"2"):
            other.put(body, VOLATILE, OUT)
        assert [b"1", b"2"] == [here.get(GET_IN).body, there.get(GET_IN).body]
        one.commit()
        again.backout()
        assert b"2" == other.get(GET_OUT).body
    assert [] == sharing.leaks()
