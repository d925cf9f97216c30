"""Long shared messages: they leave the structure, every member gets them, and their space is used again."""

from threading import Thread

import pytest

from qmgr.shared.sharing import (
    GET_IN,
    GET_OUT,
    IN,
    OUT,
    PERSISTENT,
    STRUCTURE,
    USES,
    VOLATILE,
    Sharing,
    browsed,
    drained,
)
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.keys import OFFLOADED
from quaestor.qmgr.coupling_facility.offloading import OffloadingConnection
from quaestor.qmgr.statistics.collect import collect
from quaestor.qmgr.statistics.intervals import Looks
from quaestor.smf.sections.coupling_facility import SharedMessageDataSetStatistics
from quaestor.storage.message_data_set import MessageDataSet
from quaestor.storage.shared_tables import Structure

LONG = bytes(range(256)) * 396  # with its descriptor 25 pages
LENGTH = {"max_msg_length": 1 << 20}


@pytest.fixture
def sharing(tmp_path):
    made = Sharing(tmp_path, CFLEVEL=5, SIZE=4096)
    for name in ("QM1", "QM2"):
        made.start(name)
    made.define(**LENGTH)
    return made


def app(sharing, name):
    made = sharing.members[name].connect("ALICE")
    return made, made.open("ORDERS", USES)


def data_set(sharing, name) -> MessageDataSet:
    return sharing.members[name].shared.data_sets.connections[STRUCTURE].own


def in_use(sharing, *names):
    """Pages in use of the members' data sets, when every word that was left has been read."""
    for name in names:
        while sharing.members[name].shared.reclaim_step():
            pass
    return [data_set(sharing, name).space.used for name in names]


@pytest.mark.parametrize("descriptor", [VOLATILE, PERSISTENT])
@pytest.mark.parametrize("getter", ["QM1", "QM2"])
def test_any_member_gets_a_long_message(sharing, descriptor, getter):
    """In the structure it has one entry and two elements; its space is free when it has been got."""
    putting, queue = app(sharing, "QM1")
    before = sharing.space()
    queue.put(LONG, descriptor, IN)
    putting.commit()
    after = sharing.space()
    assert (1, 2) >= (after.entries - before.entries, after.elements - before.elements) >= (1, 1)
    assert [25, 0] == in_use(sharing, "QM1", "QM2")
    getting, other = app(sharing, getter)
    assert [LONG] == browsed(getting)
    assert LONG == other.get(GET_IN).body
    assert [25, 0] == in_use(sharing, "QM1", "QM2")  # until the get is committed
    getting.commit()
    other_open = getter != "QM1"
    assert ([0, 0], before.entries + other_open) == (in_use(sharing, "QM1", "QM2"), sharing.space().entries)


def test_out_of_syncpoint_it_is_gone_at_once(sharing):
    _, queue = app(sharing, "QM1")
    _, other = app(sharing, "QM2")
    for getter in (queue, other):
        queue.put(LONG, VOLATILE, OUT)
        assert LONG == getter.get(GET_OUT).body
    assert [0, 0] == in_use(sharing, "QM1", "QM2")


def test_a_backed_out_put_frees_and_a_backed_out_get_does_not(sharing):
    putting, queue = app(sharing, "QM1")
    queue.put(LONG, PERSISTENT, IN)
    putting.backout()
    assert [0] == in_use(sharing, "QM1")
    queue.put(LONG, PERSISTENT, IN)
    putting.commit()
    getting, other = app(sharing, "QM2")
    other.get(GET_IN)
    getting.backout()
    assert ([25], [LONG]) == (in_use(sharing, "QM1"), drained(putting))


def test_short_messages_stay(sharing):
    _, queue = app(sharing, "QM1")
    queue.put(bytes(60_000), VOLATILE, OUT)
    assert ([0], [0]) == (in_use(sharing, "QM1"), [entry.adjunct[0] & OFFLOADED for entry in committed(sharing)])


def committed(sharing):
    return [entry for entry in sharing.entries(1) if entry.key[0] == 1]


def test_a_fuller_structure_sends_shorter_messages_away(sharing):
    """The rules in their order: 40 KB leave above 70 %, 10 KB above 80 %, everything above 90 %."""
    _, queue = app(sharing, "QM1")
    left = {}
    for size in (40_000, 10_000, 100):
        queue.put(bytes(size), VOLATILE, OUT)
        while not _last(sharing).adjunct[0] & OFFLOADED:
            space = sharing.space()
            queue.put(bytes(size), VOLATILE, OUT)
        left[size] = max(space.entries * 100 // space.entries_total, space.elements * 100 // space.elements_total)
    assert {40_000: 70, 10_000: 80, 100: 90} == left


def _last(sharing):
    return max(committed(sharing), key=lambda entry: entry.number)


def test_without_cflevel_4_a_long_message_is_refused(tmp_path):
    sharing = Sharing(tmp_path, CFLEVEL=3)
    sharing.start("QM1")
    sharing.define(**LENGTH)
    _, queue = app(sharing, "QM1")
    with pytest.raises(MQError, match=r"20(30|31)"):
        queue.put(LONG, VOLATILE, OUT)


def test_a_data_set_that_may_not_expand_is_full(tmp_path):
    sharing = Sharing(tmp_path, CFLEVEL=5, DSEXPAND="NO", DSBLOCK="128K")
    sharing.start("QM1")
    sharing.define(**LENGTH)
    _, queue = app(sharing, "QM1")
    queue.put(LONG, VOLATILE, OUT)
    with pytest.raises(MQError, match="2192"):
        queue.put(LONG, VOLATILE, OUT)
    assert LONG == queue.get(GET_OUT).body
    queue.put(LONG, VOLATILE, OUT)


# -- members die


def test_a_committed_long_message_outlives_its_putter(sharing):
    putting, queue = app(sharing, "QM1")
    queue.put(LONG, PERSISTENT, IN)
    putting.commit()
    sharing.kill("QM1")
    getting, _ = app(sharing, "QM2")
    assert [LONG] == drained(getting)
    sharing.start("QM1")
    assert [0] == in_use(sharing, "QM1")  # the map is made from the structure


def test_what_was_never_committed_is_free_after_a_restart(sharing):
    _, queue = app(sharing, "QM1")
    queue.put(LONG, PERSISTENT, IN)
    sharing.kill("QM1")
    sharing.start("QM1")
    again, _ = app(sharing, "QM1")
    assert ([0], []) == (in_use(sharing, "QM1"), drained(again))


@pytest.mark.parametrize("messages", range(1, 6))
def test_data_that_was_not_forced_is_never_wrong(sharing, messages):
    """Messages that are not persistent may be lost with their putter's power; what is there is as it was put."""
    _, queue = app(sharing, "QM1")
    bodies = [bytes([at]) * (70_000 + at) for at in range(messages)]
    for body in bodies:
        queue.put(body, VOLATILE, OUT)
    sharing.kill("QM1")
    sharing.start("QM1")
    again, _ = app(sharing, "QM1")
    left = browsed(again)
    assert set(left) <= set(bodies)
    assert left == drained(again)
    assert [0] == in_use(sharing, "QM1")


def test_a_recovered_structure_has_its_long_messages(tmp_path):
    """BACKUP and RECOVER read and write whole messages; what is long leaves the structure again."""
    sharing = Sharing(tmp_path, CFLEVEL=5, RECOVER="YES")
    sharing.start("QM1")
    sharing.define(**LENGTH)
    putting, queue = app(sharing, "QM1")
    manager = sharing.members["QM1"]
    sharing.publish()
    queue.put(LONG, PERSISTENT, IN)
    queue.put(b"lost", VOLATILE, IN)
    putting.commit()
    assert manager.commands.run(f"BACKUP CFSTRUCT({STRUCTURE})", "OPER").ok
    queue.put(LONG[::-1], PERSISTENT, IN)
    putting.commit()
    sharing.cut_off(STRUCTURE, lost=True)
    with pytest.raises(MQError, match="2345"):
        queue.put(b"x", VOLATILE, OUT)
    sharing.reach_again(STRUCTURE)
    assert manager.commands.run(f"RECOVER CFSTRUCT({STRUCTURE})", "OPER").ok
    assert [50] == in_use(sharing, "QM1")
    assert ([LONG, LONG[::-1]], [0]) == (drained(putting), in_use(sharing, "QM1"))


# -- what is counted


def test_the_section_of_a_data_set(sharing):
    putting, queue = app(sharing, "QM1")
    managers, looks = sharing.members["QM1"].statistics.managers, Looks()
    collect(managers, looks)
    for _ in range(3):
        queue.put(LONG, PERSISTENT, IN)
    putting.commit()
    queue.get(GET_OUT)
    (found,) = [each for each in collect(managers, looks)[115, 2] if isinstance(each, SharedMessageDataSetStatistics)]
    assert (STRUCTURE, 3, 75, 3, 1, 1, 25, 2) == (
        found.structure,
        found.allocate_requests,
        found.pages_allocated,
        found.write_requests,
        found.read_requests,
        found.reads_saved,
        found.pages_freed,
        found.messages,
    )
    (again,) = [each for each in collect(managers, looks)[115, 2] if isinstance(each, SharedMessageDataSetStatistics)]
    assert (0, 2) == (again.allocate_requests, again.messages)
    peer, _ = app(sharing, "QM2")
    drained(peer)
    stats = data_set(sharing, "QM2").stats
    assert (2, 50) == (stats.other_read_ios, stats.other_read_pages)


@pytest.mark.plain
@pytest.mark.parametrize("does", ["use", "figures", "reclaim_step"])
def test_a_structure_is_met_while_data_sets_are_gone_through(tmp_path, monkeypatch, does):
    """Peers are recovered without the latch, and may have used a structure that is new here."""
    sharing = Sharing(tmp_path, CFLEVEL=5, OFFLOAD="SMDS")
    shared = sharing.start("QM1").shared
    tables = sharing.tables()
    tables.structures.insert(Structure("NEW", {"SIZE": 4096, "CFLEVEL": 5, "OFFLOAD": "SMDS"}))
    tables.close()
    own, meets = OffloadingConnection.own, [Thread(target=shared.structure, args=["NEW"])]

    def asked(connection):
        if meets:
            thread = meets.pop()
            thread.start()
            thread.join(5)
        return own.fget(connection)

    monkeypatch.setattr(OffloadingConnection, "own", property(asked))
    connection = shared.data_sets.connections[STRUCTURE]
    monkeypatch.setattr(connection, "reclaim", lambda: asked(connection) is None)
    getattr(shared.data_sets, does)()
    assert [STRUCTURE, "NEW"] == list(shared.data_sets.connections)
