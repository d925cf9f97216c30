"""What a member counts of its structures and its repository: QEST, Q5ST and WTAS, as in MP1B's examples."""

import threading
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest

import quaestor
from qmgr.shared.sharing import GET_IN, IN, OUT, PERSISTENT, STRUCTURE, USES, VOLATILE, Sharing
from quaestor.cli.qmgr_create import create_command
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import MQError
from quaestor.planner.structures import ELEMENTS_OFFLOADED, elements_per_message
from quaestor.qmgr.coupling_facility import GroupSettings
from quaestor.qmgr.coupling_facility.habits import BY_NAME, MP1B
from quaestor.qmgr.coupling_facility.keys import HEAD_LENGTH
from quaestor.qmgr.group_settings import REQUESTS
from quaestor.qmgr.statistics.collect import STRUCTURES, collect
from quaestor.qmgr.statistics.intervals import Looks
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.smf.catalog import CATALOG
from quaestor.smf.codes import CF_REQUEST_KIND
from quaestor.smf.records import read_dump, tasks, unpack_record
from quaestor.smf.sections.coupling_facility import CouplingFacilityStatistics
from quaestor.smf.writer import Interval, RecordIdentity, build_record
from quaestor.storage.lists.movable import rebuild
from quaestor.storage.shared_tables import GroupTables, SqliteTables, Structure

TIMES = 100  # a tenth of the paper's transactions
FULL = replace(
    VOLATILE, reply_to_q="Q" * 48, reply_to_qmgr="M" * 48, format="FORMAT89", correl_id=b"C" * 24, expiry=10_000
)
"""A descriptor in which every text an application may give is as long as it may be."""


@pytest.fixture
def sharing(tmp_path):
    made = Sharing(tmp_path)
    made.start("QM1")
    made.define()
    return made


class Watched:
    """A member, and what its structures counted since the last look."""

    def __init__(self, sharing):
        self.qm = sharing.members["QM1"]
        self.app = self.qm.connect("ALICE")
        self.queue = self.app.open("ORDERS", USES)
        self.looks = Looks()
        self.since()

    def since(self):
        """{structure: its slot of QEST}."""
        sections = collect(self.qm.statistics.managers, self.looks)[115, 2]
        (section,) = [each for each in sections if isinstance(each, CouplingFacilityStatistics)]
        assert STRUCTURES == len(section.structures)
        return {each.structure: each for each in section.structures if each.structure}

    def put(self, body, descriptor):
        self.queue.put(body, descriptor, IN)
        self.app.commit()

    def get(self):
        got = self.queue.get(GET_IN).body
        self.app.commit()
        return got


@pytest.fixture
def watched(sharing):
    return Watched(sharing)


@pytest.fixture
def as_measured(tmp_path):
    """A member with the habits of the version that MP1B measured (HA2)."""
    made = Sharing(tmp_path)
    made.habits = MP1B
    made.start("QM1")
    made.define()
    return Watched(made)


def grown(before, after):
    """Entries and elements that were in use at most, above those of before."""
    return after.entries_high - before.entries_high, after.elements_high - before.elements_high


def calls(figures):
    return figures.single_calls, figures.single_redrives, figures.multiple_calls, figures.multiple_redrives


@pytest.mark.oracle("mp1b/35", kind="scenario", lines="1862-1903")
def test_put_and_commit_of_1000_bytes(as_measured):
    """Of CSQ_ADMIN one single call a unit; of the structure one single call a put and one multiple a commit.

    Each message has one entry and six elements; CSQ_ADMIN holds no more than the descriptors of two units.
    """
    before = as_measured.since()
    for _ in range(TIMES):
        as_measured.put(bytes(1000), VOLATILE)
    found = as_measured.since()
    assert ((TIMES, 0, TIMES, 0), (TIMES, 0, 0, 0)) == (calls(found[STRUCTURE]), calls(found["CSQ_ADMIN"]))
    assert (TIMES, 6 * TIMES) == grown(before[STRUCTURE], found[STRUCTURE])
    assert grown(before["CSQ_ADMIN"], found["CSQ_ADMIN"]) <= (2, 2)


def test_a_unit_that_logs_nothing_can_do_without_csq_admin(watched):
    """One call fewer than MP1B counted, unless a member is told to have the habits of then (HA1)."""
    for _ in range(TIMES):
        watched.put(bytes(1000), VOLATILE)
    found = watched.since()
    assert ((TIMES, 0, TIMES, 0), (0, 0, 0, 0)) == (calls(found[STRUCTURE]), calls(found["CSQ_ADMIN"]))


def test_a_persistent_unit_is_one_call_to_csq_admin(watched):
    for _ in range(TIMES):
        watched.put(bytes(1000), PERSISTENT)
    found = watched.since()
    assert ((TIMES, 0, TIMES, 0), (TIMES, 0, 0, 0)) == (calls(found[STRUCTURE]), calls(found["CSQ_ADMIN"]))


@pytest.mark.oracle("mp1b/36", kind="scenario", lines="1905-1941")
def test_get_and_commit_of_1000_bytes(as_measured):
    base = as_measured.since()[STRUCTURE]
    for _ in range(TIMES):
        as_measured.put(bytes(1000), VOLATILE)
    as_measured.since()
    for _ in range(TIMES):
        as_measured.get()
    found = as_measured.since()
    assert ((TIMES, 0, TIMES, 0), (TIMES, 0, 0, 0)) == (calls(found[STRUCTURE]), calls(found["CSQ_ADMIN"]))
    assert (TIMES, 6 * TIMES) == grown(base, found[STRUCTURE])  # the highest of an interval is at least its beginning
    assert (0, 0) == grown(base, as_measured.since()[STRUCTURE])


@pytest.mark.oracle("mp1b/37", kind="scenario", lines="1943-1985")
def test_what_is_longer_than_4_kb_is_read_again(as_measured):
    """10,000 bytes, put and got: of each 1000, 4000 single calls, 1000 of them made again, and 1000 multiple ones.

    Each get is made again with the larger buffer. One of the two commits is a single call; the paper does not say
    which, and here it is the get's (HA2). CSQ_ADMIN has one single call a unit.
    """
    base = as_measured.since()[STRUCTURE]
    for _ in range(TIMES):
        as_measured.put(bytes(10_000), VOLATILE)
        assert bytes(10_000) == as_measured.get()
    found = as_measured.since()
    assert ((4 * TIMES, TIMES, TIMES, 0), (2 * TIMES, 0, 0, 0)) == (
        calls(found[STRUCTURE]),
        calls(found["CSQ_ADMIN"]),
    )
    assert (1, 41) == grown(base, found[STRUCTURE])  # one message at a time; the paper's thousand were all put first


def test_habits_have_the_names_that_settings_and_commands_offer():
    (offered,) = [each.type.choices for each in create_command.params if each.name == "requests"]
    assert list(REQUESTS) == list(BY_NAME) == list(offered)


def test_a_long_get_needs_fewer_requests_now(watched):
    """Of 1000: the first get alone is made again, both commits are multiple, CSQ_ADMIN is not asked (HA1)."""
    for _ in range(TIMES):
        watched.put(bytes(10_000), VOLATILE)
        watched.get()
    found = watched.since()
    assert ((2 * TIMES + 1, 1, 2 * TIMES, 0), (0, 0, 0, 0)) == (calls(found[STRUCTURE]), calls(found["CSQ_ADMIN"]))


def test_what_is_got_with_others_ends_with_them(as_measured):
    """A single call is for one entry: two long messages of a unit are deleted by a multiple one (HA2, M-12)."""
    for _ in range(2):
        as_measured.put(bytes(10_000), VOLATILE)
    as_measured.since()
    for _ in range(2):
        as_measured.queue.get(GET_IN)
    as_measured.app.commit()
    assert (4, 2, 1, 0) == calls(as_measured.since()[STRUCTURE])


@pytest.mark.parametrize(
    ("sizes_kb", "redriven"), [([5, 6, 8, 10, 1], [1, 4]), ([1, 0.5, 1, 4], []), ([8] * 3 + [1] * 10 + [8], [1, 14])]
)
def test_a_queue_remembers_how_large_its_messages_are(watched, sizes_kb, redriven):
    """MP16, oracles 23 and 25: which gets are made again; ten small messages in a row shrink the buffer."""
    found = []
    for at, size in enumerate(sizes_kb, 1):
        watched.put(bytes(int(size * 1024) - HEAD_LENGTH), VOLATILE)
        watched.since()
        watched.get()
        found += [at] * watched.since()[STRUCTURE].single_redrives
    assert redriven == found


def test_a_structure_that_is_full_is_counted(tmp_path):
    sharing = Sharing(tmp_path, SIZE=1024)
    sharing.start("QM1")
    sharing.define()
    watched, put = Watched(sharing), 0
    with suppress(MQError):
        while True:
            watched.queue.put(bytes(50_000), VOLATILE, IN)
            put += 1
    with pytest.raises(MQError, match="2192"):
        watched.queue.put(bytes(50_000), VOLATILE, IN)
    found = watched.since()[STRUCTURE]
    assert (2, put + 2) == (found.structure_full, found.single_calls)


def test_intervals_add_up(watched):
    seen = [watched.since()[STRUCTURE].single_calls]
    for step in range(5):
        for _ in range(step):
            watched.put(b"x", VOLATILE)
        seen.append(watched.since()[STRUCTURE].single_calls)
    assert [0, 0, 1, 2, 3, 4] == seen


def test_the_record_reads_back(watched):
    """115-2 with QEST at the current level."""
    watched.put(bytes(1000), VOLATILE)
    sections = collect(watched.qm.statistics.managers, watched.looks)[115, 2]
    record = build_record(
        CATALOG[115, 2], sections, RecordIdentity("MVS1", "QM1"), 10**15, interval=Interval(10**15, 1)
    )
    (section,) = unpack_record(record).sections["QEST"]
    slots = {each.structure: each for each in section.structures if each.structure.strip("\0 ")}
    assert {"CSQ_ADMIN", STRUCTURE} == set(slots)
    assert (1, 1) == (slots[STRUCTURE].single_calls, slots[STRUCTURE].multiple_calls)


def test_a_queue_manager_without_a_group_writes_neither():
    from qmgr.command.console import Console

    sections = collect(Console().qm.statistics.managers, Looks())[115, 2]
    assert ["QMST", "QIST", "QLST"] == [each.LAYOUT.structure for each in sections]


def test_the_written_account_of_a_task_has_its_calls_to_structures(tmp_path):
    """WTAS of SMF 116, for a task that puts and gets 20 messages of 10,000 bytes; the structure moves in between.

    Single calls are 20 puts, 20 gets and the one that was asked again; multiple ones are 40 commits and the first open.
    """
    facilities = [CouplingFacility(tmp_path / f"{name}.sock") for name in "AB"]
    serving = [threading.Thread(target=each.serve) for each in facilities]
    for thread in serving:
        thread.start()
    settings = GroupSettings("QSG1", f"cf://{facilities[0].path}", str(tmp_path / "group.db"))
    tables = GroupTables(SqliteTables(settings.repository, "QSG1"))
    tables.structures.insert(Structure(STRUCTURE, {"SIZE": 4096}))
    tables.close()
    with quaestor.connect("QM1", tmp_path / "QM1", application="DEFINER", trace="acctg(3)", group=settings) as first:
        first.define(LocalQueue("ORDERS", structure=STRUCTURE, share=True, def_exclusive=False))
        with quaestor.connect("QM1", tmp_path / "QM1", application="WORKER") as app, app.open("ORDERS", USES) as queue:
            for at in range(20):
                queue.put(bytes(10_000), VOLATILE, IN)
                app.commit()
                assert bytes(10_000) == queue.get(GET_IN).body
                app.commit()
                if at == 9:
                    assert 2 == len(rebuild(facilities[0].path, facilities[1].path))
    for facility, thread in zip(facilities, serving, strict=True):
        facility.stop()
        thread.join()
    (dump,) = (tmp_path / "QM1" / "smf").iterdir()
    (task,) = [each for each in tasks(read_dump(dump)) if any(queue.puts for queue in each.queues)]
    assert [("ORDERS", STRUCTURE, 2, 0)] == [
        (each.base_name.rstrip(), each.structure.rstrip(), each.disposition, each.page_set) for each in task.queues
    ]
    account = task.accounting
    assert (42, 1, 41, 0) == (  # a put and a get each, and that the queue is read no more; commits, and the open
        account.cf_single_calls,
        account.cf_single_redrives,
        account.cf_multiple_calls,
        account.cf_multiple_redrives,
    )
    assert min(account.cf_single_elapsed, account.cf_multiple_elapsed) > 0
    assert {"Move": 20, "Delete": 20} == by_kind(account.commit_cf_calls)  # puts become available, gets go
    assert {} == by_kind(account.prepare_cf_calls)
    (queue,) = task.queues
    opened, closed, got, put, put1 = map(by_kind, queue.cf_calls)
    assert ({"New": 20}, {"MoveEntry": 21}, {}) == (put, got, put1)
    assert account.cf_single_calls + account.cf_multiple_calls == sum(
        sum(each.values()) for each in (opened, closed, got, put, by_kind(account.commit_cf_calls))
    )
    assert (1, 0, 1, 0) == (queue.opens, queue.opens_no_cf, queue.closes, queue.closes_no_cf)
    (new,) = [kind for kind in queue.cf_calls[3].kinds if kind.requests]
    assert (20, 20, 0) == (new.requests, new.sync, new.async_)
    assert new.sync_elapsed > 0


def by_kind(calls):
    """{what a request was for: how many} of CFSTAT."""
    return {CF_REQUEST_KIND[at]: kind.requests for at, kind in enumerate(calls.kinds) if kind.requests}


@pytest.mark.oracle("mp16-ch4-11/37", kind="scenario", lines="5066-5074")
def test_only_the_first_open_of_a_queue_and_its_last_close_ask_the_facility(tmp_path):
    """MP16 (SHQ-6): whoever keeps a queue open saves the others that; OPENCF0 and CLOSECF0 count them."""
    sharing = Sharing(tmp_path)
    manager = sharing.start("QM1")
    sharing.define()
    app, keeper = (manager.connect(name) for name in ("ALICE", "BOB"))
    manager.commands.run("START TRACE(ACCTG) CLASS(3)", "ALICE")
    found = []
    for kept in (False, True):
        if kept:
            keeper.open("ORDERS", USES)
        for _ in range(10):
            app.open("ORDERS", USES).close()
        (tally,) = app.task.queues.values()
        found.append((tally.open.calls, tally.opens_without_lists, tally.close.calls, tally.closes_without_lists))
    assert [(10, 0, 10, 0), (20, 10, 20, 10)] == found


# -- sizes, as MP16 gives them


@pytest.mark.parametrize("size", [10, 300, 1164, 1165, 5000, 16_384, 64_512])
@pytest.mark.parametrize(
    ("descriptor", "grouped"),
    [(VOLATILE, False), (PERSISTENT, False), (FULL, False), (replace(VOLATILE, group_id=b"G" * 24, msg_flags=8), True)],
    ids=["volatile", "persistent", "full", "grouped"],
)
def test_a_message_takes_one_entry_and_the_papers_elements(watched, size, descriptor, grouped):
    """MP16 oracles 8 and 10: 372 bytes of headers, in elements of 256; 72 more for a message of a group."""
    before = watched.since()[STRUCTURE]
    watched.put(bytes(size), descriptor)
    assert (1, elements_per_message(size, grouped=grouped)) == grown(before, watched.since()[STRUCTURE])


@pytest.mark.oracle("mp1b/38", kind="exact", lines="1862-1985")
@pytest.mark.parametrize(("size", "elements"), [(1000, 6), (10_000, 41)])
def test_elements_of_1000_and_of_10000_bytes(watched, size, elements):
    before = watched.since()[STRUCTURE]
    for _ in range(TIMES):
        watched.put(bytes(size), VOLATILE)
    assert (TIMES, elements * TIMES) == grown(before, watched.since()[STRUCTURE])


def test_how_many_messages_fit_a_structure_with_and_without_offloading(tmp_path):
    """MP16 oracle 12 on a structure of 4 MB: whole up to 80 %, then offloaded until entries or elements run out."""
    found = {}
    for level in (4, 5):
        folder = tmp_path / str(level)
        folder.mkdir()
        sharing = Sharing(folder, CFLEVEL=level, SIZE=4096)
        manager = sharing.start("QM1")
        sharing.define()
        with manager.connect("ALICE") as app, app.open("ORDERS", USES) as queue, suppress(MQError):
            base = sharing.space()
            while True:
                queue.put(bytes(16_384), VOLATILE, OUT)
        entries = [each for each in sharing.entries(1) if each.key[0] == 1]
        whole = sum(len(each.data) > 16_000 for each in entries)
        found[level] = (len(entries), whole, base, -(-max(len(each.data) for each in entries) // 256))
    messages, whole, base, elements = found[4]
    free = base.elements_total - base.elements
    assert elements == elements_per_message(16_384)
    assert (free // elements, messages) == (messages, whole)
    messages, whole, base, elements = found[5]
    assert whole == -(-(base.elements_total * 8 // 10 - base.elements) // elements)
    left = base.elements_total - base.elements - whole * elements
    assert messages == whole + left // ELEMENTS_OFFLOADED < base.entries_total - base.entries
    assert messages > 4 * whole


class Meanwhile:
    """A connection beside whose next request somebody else does something, in a thread of his own."""

    def __init__(self, connection):
        self._connection, self.act = connection, None

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def request(self, *operations):
        act, self.act = self.act, None
        if act is not None:
            beside = threading.Thread(target=act)
            beside.start()
            beside.join(5)
            assert not beside.is_alive()
        return self._connection.request(*operations)


@pytest.fixture
def accounted(tmp_path):
    """A member whose peer has failed, its structure, and the queue that a task of its has open."""
    sharing, ways = Sharing(tmp_path), {}
    sharing.wrap = lambda name, made: ways.setdefault((name, made.shape.name), Meanwhile(made))
    for name in ("QM1", "QM2"):
        sharing.start(name)
    sharing.define()
    sharing.kill("QM2")
    sharing.publish()
    manager = sharing.members["QM1"]
    manager.commands.run("START TRACE(ACCTG) CLASS(3)", "ALICE")
    with manager.connect("ALICE") as app, app.open("ORDERS", USES) as queue:
        yield manager, ways["QM1", sharing.prefix + STRUCTURE], queue


def recovers_peers(manager):
    (step,) = [task for task in manager.scheduler.tasks if task.name == "peer recovery"]
    manager.scheduler._lanes[0]._run(step)
    assert ["QM2"] == [name for name, _ in manager.shared.peers.recovered]


def test_what_others_ask_meanwhile_is_not_the_tasks(accounted):
    """R5: a step does it without the latch, in the middle of a call that is accounted for."""
    manager, way, queue = accounted
    queue.put(b"x", VOLATILE, OUT)
    before = queue.tally.put.calls, queue.tally.task.shared.single_calls, queue.tally.task.shared.multiple_calls
    way.act = lambda: recovers_peers(manager)
    queue.put(b"x", VOLATILE, OUT)
    after = queue.tally.put.calls, queue.tally.task.shared.single_calls, queue.tally.task.shared.multiple_calls
    assert (1, 1, 0) == tuple(now - then for then, now in zip(before, after, strict=True))


def test_a_step_goes_on_when_the_task_ends_whose_call_was_made(accounted):
    """It looked who is served, and then there was nobody: what it raises would end the queue manager."""
    manager, _, _ = accounted
    structure = manager.shared.structures[STRUCTURE]

    class Ends:
        """A task that is served the first time that somebody looks."""

        asked = 0

        @property
        def task(self):
            self.asked += 1
            return SimpleNamespace(lists_called=lambda *_, **__: None) if self.asked == 1 else None

        asking = task

    structure._served = Ends()
    assert structure.in_use()
