"""The Db2 manager: what it counts of requests to the shared repository, and what goes on while it is away."""

import threading
from contextlib import contextmanager

import pytest

from quaestor.clock import FakeClock, SystemClock
from quaestor.qmgr.db2 import Db2Manager
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.resource_manager import Served
from quaestor.qmgr.scheduler import Scheduler
from quaestor.storage.shared_tables import (
    ChangedError,
    ChannelState,
    Drop,
    Put,
    RepositoryAwayError,
    SharedObject,
    SyncKey,
    open_tables,
)
from servers import postgres_server

MS = 1000 * 4096  # a millisecond in TOD units
QUEUE = SharedObject("QUEUE", "ORDERS", "SHARED", "QLOCAL", {"CFSTRUCT": "APPL1"})


class SlowTables:
    """Tables whose database takes its time, on a clock that only it moves; `gate` holds it up for real."""

    def __init__(self, tables, clock, takes_ms=0, gate=None):
        self._tables, self._clock, self.takes_ms, self._gate = tables, clock, takes_ms, gate
        self.address = tables.address

    def __getattr__(self, name):
        def slowly(*arguments):
            if self._gate is not None:
                self._gate.wait(10)
            if self.takes_ms:
                self._clock.advance(milliseconds=self.takes_ms)
            return getattr(self._tables, name)(*arguments)

        return slowly

    def close(self):
        self._tables.close()


@pytest.fixture
def made(tmp_path):
    """Makes managers on one repository; everything is stopped at the end."""
    running = []

    def make(clock=None, address=None, takes_ms=0, gate=None, served=None, servers=4):
        clock = clock or FakeClock()

        def connect():
            return SlowTables(open_tables(address or str(tmp_path / "group.db"), "QSG1"), clock, takes_ms, gate)

        running.append(Db2Manager(connect, clock, OperatorLog("QM1", clock), served, servers))
        return running[-1]

    yield make
    for each in running:
        each.stop()


def said(manager):
    return [entry.identifier for entry in manager._operator_log.entries]


# -- counting, rules DW1 and DM1


@pytest.mark.oracle("mp1b/32", kind="scenario", lines="1715-1729")
def test_an_idle_queue_manager_lists_180_times_in_15_minutes(made):
    clock = FakeClock()
    manager = made(clock)
    manager._work.start(4)
    scheduler = Scheduler(threading.Lock(), [manager], clock)
    for _ in range(900):
        scheduler.run_due()
        clock.advance(seconds=1)
    stats = manager.stats
    assert (4, 5, 180, 1, 0, 0, 0) == (
        stats.tasks,
        stats.tasks_active,
        stats.lists,
        stats.queue_depth_high,
        stats.abends,
        stats.requeues,
        stats.deadlocks,
    )


def test_each_kind_of_request_has_its_counter(made):
    manager = made()
    group = manager.group
    made_queue = group.objects.insert(QUEUE)
    group.objects.update(made_queue)
    group.objects.read(QUEUE.key)
    group.objects.all()
    group.objects.delete(group.objects.read(QUEUE.key))
    status = group.channels.insert(ChannelState("TO.B", "1", "QM1", {}))
    status = group.channels.update(status)
    group.channels.read(status.key)
    group.channels.all()
    group.channels.delete(status)
    key = group.sync_keys.insert(SyncKey("TO.B", "1", "QM1", "00"))
    group.sync_keys.read(key.key)
    group.sync_keys.delete(key)
    stats = manager.stats
    assert (1, 1, 2, 1, 1) == (stats.writes, stats.updates, stats.reads, stats.lists, stats.deletes)
    assert (2, 1, 1, 1, 1) == (
        stats.scs_selects,
        stats.scs_inserts,
        stats.scs_updates,
        stats.scs_deletes,
        stats.scs_rows_high,
    )
    assert (1, 1, 1) == (stats.ssk_selects, stats.ssk_inserts, stats.ssk_deletes)


def test_server_time_is_that_of_the_database(made):
    """The queue manager's own clock stands still otherwise: a write of 109 ms, reads of 1 ms, as in MP1B's example."""
    clock = FakeClock()
    manager = made(clock, takes_ms=1)
    for _ in range(3):
        manager.group.objects.read("QUEUE SQ0000")
    slow = made(clock, takes_ms=109)
    slow.group.objects.insert(QUEUE)
    assert (3, 3 * MS, MS, 3 * MS, MS) == _times(manager.stats, "read")
    assert (1, 109 * MS, 109 * MS, 109 * MS, 109 * MS) == _times(slow.stats, "write")


def _times(stats, kind):
    fields = ("thread_elapsed", "thread_longest", "server_elapsed", "server_longest")
    return (getattr(stats, f"{kind}s"), *(getattr(stats, f"{kind}_{name}") for name in fields))


def test_thread_time_has_the_wait_for_a_server_task(made):
    """One server, three requests at once: the last waits for the others; the list was as long as they were many."""
    gate = threading.Event()
    manager = made(SystemClock(), gate=gate, servers=0)  # the one server is the one that is always added
    manager._work.start(0)
    threads = [threading.Thread(target=manager.read, args=("objects", "A")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(500):
        if manager.stats.queue_depth_high >= 3:
            break
        threading.Event().wait(0.01)
    threading.Event().wait(0.05)
    gate.set()
    for thread in threads:
        thread.join()
    stats = manager.stats
    assert (4, True) == (stats.reads, stats.queue_depth_high in {3, 4})
    assert stats.read_thread_elapsed > stats.read_server_elapsed + 3 * 40 * MS


def test_connections_are_those_of_the_server_tasks(made):
    manager = made(servers=3)
    manager.start()
    manager.read("objects", "A")
    manager.stop()
    assert (4, 4, 3, 0) == (
        manager.stats.connects,
        manager.stats.disconnects,
        manager.stats.tasks,
        manager.stats.tasks_active,
    )


def test_a_server_task_that_abends_serves_on(made):
    manager = made()
    manager.start()
    with pytest.raises(TypeError):
        manager.change(Put("objects", "A", {"no": object()}))
    with pytest.raises(ChangedError):
        manager.change(Drop("objects", "A", 99))
    assert (1, None) == (manager.stats.abends, manager.read("objects", "A"))


def test_the_task_that_asked_is_told(made):
    class Told:
        def __init__(self):
            self.asked = []

        def repository_asked(self, thread_ns, server_ns):
            self.asked.append((thread_ns, server_ns))

    served = Served()
    manager = made(takes_ms=2, served=served)
    manager.read("objects", "A")
    served.task = Told()
    manager.read("objects", "A")
    assert [(2_000_000, 2_000_000)] == served.task.asked


# -- following, rules DM2 and DM4


def test_a_change_of_one_member_reaches_the_others(made):
    ours, theirs = made(), made()
    heard = []
    theirs.listeners.append(lambda table, row: heard.append((table, row.name, row.value is None)))
    queue = ours.group.objects.insert(QUEUE)
    assert ([QUEUE], []) == (ours.known.objects.all(), theirs.known.objects.all())
    theirs.follow_step()
    assert [QUEUE] == theirs.known.objects.all()
    ours.group.objects.delete(queue)
    theirs.follow_step()
    theirs.follow_step()
    assert [("objects", "QUEUE ORDERS", False), ("objects", "QUEUE ORDERS", True)] == heard
    assert ([], []) == (ours.known.objects.all(), theirs.known.objects.all())


def test_an_own_change_does_not_hide_those_of_others(made):
    """The own change has a later number than the other's, which is not yet known."""
    ours, theirs = made(), made()
    theirs.group.objects.insert(SharedObject("QUEUE", "OTHER", "SHARED", "QLOCAL", {}))
    ours.group.objects.insert(QUEUE)
    ours.follow_step()
    assert ["ORDERS", "OTHER"] == [each.name for each in ours.known.objects.all()]


@pytest.mark.parametrize(
    "look",
    [
        lambda tables: tables.objects.read(QUEUE.key),
        lambda tables: tables.objects.all(),
        lambda tables: tables.objects.changed_since(0),
    ],
    ids=["read", "all", "changed since"],
)
def test_what_was_seen_is_known_before_it_is_followed(made, look):
    """DM4: and whoever listens is told of it all the same, when it is."""
    ours, theirs = made(), made()
    heard = []
    theirs.listeners.append(lambda _table, row: heard.append(row.name))
    ours.group.objects.insert(QUEUE)
    look(theirs.group)
    assert ([QUEUE], 0, []) == (theirs.known.objects.all(), theirs.known.newest(), heard)
    theirs.follow_step()
    assert [QUEUE.key] == heard


def test_nothing_changed_is_one_question(made):
    manager = made()
    manager.follow_step()
    before = manager.stats.lists
    manager.follow_step()
    assert before + 1 == manager.stats.lists


def test_nobody_changes_the_copy(made):
    manager = made()
    with pytest.raises(RepositoryAwayError, match="only look"):
        manager.known.objects.insert(QUEUE)
    assert (0, []) == (manager.known.newest(), manager.known.objects.changed_since(0)[0])


# -- while it is away, rule DM3


@contextmanager
def away(server):
    server.kill()
    yield
    server.start()


def test_members_work_on_while_the_repository_is_away(made):
    with postgres_server() as server:
        manager = made(SystemClock(), server.url)
        manager.start()
        made_queue = manager.group.objects.insert(QUEUE)
        with away(server):
            assert [QUEUE] == manager.group.objects.all()
            assert QUEUE == manager.group.objects.read(QUEUE.key)
            with pytest.raises(RepositoryAwayError):
                manager.group.objects.update(made_queue)
            with pytest.raises(RepositoryAwayError):
                manager.group.channels.all()
            for ask in (
                manager.now.objects.all,
                lambda: manager.now.objects.read(QUEUE.key),
                lambda: manager.now.objects.changed_since(0),
                manager.now.newest,
            ):
                with pytest.raises(RepositoryAwayError):
                    ask()  # DM5
            asked = manager.stats.reads + manager.stats.updates
            with pytest.raises(RepositoryAwayError, match="is away"):
                manager.group.objects.update(made_queue)
            assert asked == manager.stats.reads + manager.stats.updates  # refused at once: nobody was asked
            assert 0 == manager.newest()  # as far as was followed
            manager.follow_step()
            assert ["CSQ5001I", "CSQ5002E"] == said(manager)  # said once
        manager.follow_step()
        assert ["CSQ5001I", "CSQ5002E", "CSQ5001I"] == said(manager)
        manager.group.objects.update(made_queue)
        assert ["ORDERS"] == [each.name for each in manager.now.objects.all()]
        manager.stop()


def test_a_repository_that_was_never_there_is_said_at_the_start(tmp_path, made):
    (tmp_path / "file").touch()
    with pytest.raises(RepositoryAwayError, match="is away"):
        made(address=str(tmp_path / "file" / "group.db")).start()
