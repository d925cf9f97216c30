"""What the shared tables promise, held by each database alike."""

import multiprocessing
import signal
import sys
import threading
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quaestor.storage.shared_tables import (
    Backup,
    ChangedError,
    Drop,
    GroupTables,
    Member,
    Put,
    RepositoryAwayError,
    Row,
    SharedObject,
    Structure,
    SyncKey,
    Unchanged,
    open_tables,
)
from quaestor.storage.shared_tables import sqlite_engine as sqlite
from quaestor.storage.shared_tables.group_tables import GroupIsFullError, put
from quaestor.storage.shared_tables.table import ABSENT
from servers import postgres_server

SAME = count(1)


def drawn(depth):
    return {"MAXDEPTH": depth}


# -- rows


def test_a_row_is_read_as_it_was_written(tables):
    version = tables.change(Put("objects", "QUEUE A", {"DESCR": "été", "MAXDEPTH": 5, "none": None}))
    row = Row("QUEUE A", version, {"DESCR": "été", "MAXDEPTH": 5, "none": None})
    assert (row, None) == (tables.read("objects", "QUEUE A"), tables.read("members", "QUEUE A"))


def test_rows_are_in_the_order_of_their_names(tables):
    for name in ("B", "a", "A", "a b"):
        tables.change(Put("objects", name, {}))
    assert ["A", "B", "a", "a b"] == [row.name for row in tables.rows("objects")]


def test_every_member_sees_a_change_at_once(tables, member):
    tables.change(Put("objects", "A", drawn(1)))
    assert drawn(1) == member().read("objects", "A").value


def test_groups_in_one_database_do_not_meet(address, tables):
    tables.change(Put("objects", "A", drawn(1)))
    other = open_tables(address, "OTHER")
    assert [] == other.rows("objects")
    other.close()


# -- conditions, rules T2 and T3


def test_whoever_changes_what_another_has_changed_is_refused(tables, member):
    seen = tables.change(Put("objects", "A", drawn(1), ABSENT))
    newer = member().change(Put("objects", "A", drawn(2), seen))
    with pytest.raises(ChangedError, match="objects A: changed by another member"):
        tables.change(Put("objects", "A", drawn(3), seen))
    assert Row("A", newer, drawn(2)) == tables.read("objects", "A")


def test_a_new_row_must_be_new(tables):
    tables.change(Put("objects", "A", drawn(1), ABSENT))
    with pytest.raises(ChangedError):
        tables.change(Put("objects", "A", drawn(2), ABSENT))


def test_a_row_made_again_is_not_the_one_that_was_seen(tables):
    """The version of the first life is never given to the second."""
    for table in ("objects", "channels"):
        seen = tables.change(Put(table, "A", drawn(1)))
        tables.change(Drop(table, "A", seen))
        tables.change(Put(table, "A", drawn(1), ABSENT))
        with pytest.raises(ChangedError):
            tables.change(Drop(table, "A", seen))


def test_changes_asked_for_together_are_done_together(tables):
    tables.change(Put("objects", "A", drawn(1)))
    before = tables.newest()
    with pytest.raises(ChangedError):
        tables.change(Put("objects", "B", drawn(1)), Drop("objects", "A"), Put("objects", "A", drawn(3), 99))
    assert ([Row("A", before, drawn(1))], before) == (tables.rows("objects"), tables.newest())
    version = tables.change(Put("objects", "B", drawn(1)), Drop("objects", "A"))
    assert [Row("B", version, drawn(1))] == tables.rows("objects")


def test_a_table_that_moved_refuses_what_relied_on_it(tables, member):
    seen = tables.newest()
    member().change(Put("members", "QM1", {}))
    with pytest.raises(ChangedError, match="members QM1"):
        tables.change(Unchanged("members", seen), Put("objects", "A", {}))
    tables.change(Unchanged("members", tables.newest()), Put("objects", "A", {}))


def test_what_cannot_be_written_leaves_nothing_behind(tables, member):
    with pytest.raises(TypeError):
        tables.change(Put("objects", "A", {}), Put("objects", "B", {"no": object()}))
    assert ([], []) == (tables.rows("objects"), member().rows("objects"))
    assert 1 == tables.change(Put("objects", "C", {}))


# -- what has changed, rules T1 and T4


def test_what_has_changed_since(tables, member):
    for name in "ABC":
        tables.change(Put("objects", name, drawn(1)))
    seen = tables.newest()
    other = member()
    last = other.change(Put("objects", "B", drawn(2)))
    gone = other.change(Drop("objects", "A"))
    assert [Row("B", last, drawn(2)), Row("A", gone, None)] == tables.changed_since("objects", seen)
    assert (gone, []) == (tables.newest(), tables.changed_since("objects", gone))


def test_a_channel_that_ended_leaves_no_trace(tables):
    tables.change(Put("channels", "A", {}))
    tables.change(Drop("channels", "A"))
    assert [] == tables.changed_since("channels", 0)


def test_nobody_misses_a_change(tables, member):
    """Four members change rows while one follows: what it has followed is what is there (T1)."""
    writers = [member() for _ in range(4)]

    def work(at):
        for step in range(15):
            writers[at].change(Put("objects", f"Q{(at + step) % 7}", drawn(at * 100 + step)))
            writers[at].change(Drop("objects", f"Q{step % 5}"))

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    followed, seen, working = {}, 0, True
    while working:
        working = any(thread.is_alive() for thread in threads)
        for row in tables.changed_since("objects", seen):
            followed[row.name], seen = row.value, row.version
    for thread in threads:
        thread.join()
    assert 120 == tables.newest()
    assert {row.name: row.value for row in tables.rows("objects")} == {
        name: value for name, value in followed.items() if value is not None
    }


NAMES, VALUES = st.sampled_from("AB"), st.integers(0, 3).map(drawn)
TABLES = st.sampled_from(["objects", "channels"])
VERSIONS = st.none() | st.integers(0, 6)
CHANGES = st.one_of(
    st.builds(Put, TABLES, NAMES, VALUES, VERSIONS),
    st.builds(Drop, TABLES, NAMES, VERSIONS),
    st.builds(Unchanged, st.just("objects"), st.integers(0, 6)),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CHANGES, min_size=1, max_size=3), max_size=8))
def test_both_databases_answer_the_same(tmp_path, postgres, requests):
    group = f"SAME{next(SAME)}"
    engines = [open_tables(str(tmp_path / "same.db"), group), open_tables(postgres.url, group)]
    for changes in requests:
        ours, theirs = (_outcome(engine, changes) for engine in engines)
        assert ours == theirs
    for engine in engines:
        engine.close()


def _outcome(engine, changes):
    try:
        done = engine.change(*changes)
    except ChangedError as refused:
        done = str(refused)
    return done, engine.rows("objects"), engine.rows("channels"), engine.changed_since("objects", 0), engine.newest()


# -- the tables of a group


def test_members_have_numbers_of_their_own(tables):
    group = GroupTables(tables)
    numbers = [group.join(name, f"/logs/{name}").number for name in ("QM1", "QM2", "QM3")]
    group.members.delete(group.members.read("QM2"))
    assert ([1, 2, 3], 2) == (numbers, group.join("QM4", "/logs/QM4").number)
    assert 3 == group.join("QM3", "/elsewhere").number
    assert Member("QM3", 3, "/elsewhere") == group.members.read("QM3")


def test_members_that_join_at_once_do_not_share_a_number(member):
    groups = [GroupTables(member()) for _ in range(6)]
    joined = []
    threads = [
        threading.Thread(target=lambda at=at: joined.append(groups[at].join(f"QM{at}", "").number)) for at in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [1, 2, 3, 4, 5, 6] == sorted(joined)


def test_a_group_has_31_members(tables):
    group = GroupTables(tables)
    tables.change(*(put(Member(f"QM{at}", at, "")) for at in range(1, 32)))
    with pytest.raises(GroupIsFullError, match="31"):
        group.join("QM32", "")


def test_a_structure_fails_once(member):
    """Two members see it fail; one of them recovers it."""
    first, second = GroupTables(member()), GroupTables(member())
    made = first.structures.insert(Structure("APPL1", {"CFLEVEL": 5}))
    seen = second.structures.read("APPL1")
    first.structures.update(Structure("APPL1", made.attributes, "INRECOVER", 77, "QM1", version=made.version))
    with pytest.raises(ChangedError):
        second.structures.update(Structure("APPL1", seen.attributes, "INRECOVER", 78, "QM2", version=seen.version))
    assert "QM1" == second.structures.read("APPL1").recovering


def test_what_members_follow(member):
    first, second = GroupTables(member()), GroupTables(member())
    seen = second.newest()
    queue = SharedObject("QUEUE", "ORDERS", "SHARED", "QLOCAL", {"CFSTRUCT": "APPL1"})
    first.objects.insert(queue)
    written, gone = second.objects.changed_since(seen)
    assert ([queue], []) == (written, gone)
    first.objects.delete(first.objects.read("QUEUE ORDERS"))
    assert ([], ["QUEUE ORDERS"]) == second.objects.changed_since(written[0].version)


def test_the_last_backup_is_the_one_that_counts(tables):
    group = GroupTables(tables)
    for start in (100, 200):
        group.backups.write(Backup("APPL1", "QM1", start, start + 50, 1_000_000, 4096))
    assert [Backup("APPL1", "QM1", 200, 250, 1_000_000, 4096)] == group.backups.all()


def test_a_field_that_a_later_level_writes_is_passed_over(tables):
    tables.change(Put("sync_keys", "TO.B 1", {**_sync_key(), "later": 1}))
    assert SyncKey("TO.B", "1", "QM1", "00ff") == GroupTables(tables).sync_keys.read("TO.B 1")


def _sync_key():
    return {"channel": "TO.B", "instance": "1", "member": "QM1", "message_key": "00ff"}


# -- a database that is away, rule T5


def test_postgresql_goes_and_comes_back():
    with postgres_server() as server:
        tables = open_tables(server.url, "QSG1")
        seen = tables.change(Put("objects", "A", drawn(1)))
        server.kill()
        for ask in (tables.newest, lambda: tables.change(Put("objects", "A", drawn(2), seen))):
            with pytest.raises(RepositoryAwayError) as away:
                ask()
            assert str(away.value).startswith(f"the shared repository {server.url} is away: ")
            assert 1 == len(str(away.value).splitlines())
        server.start()
        assert drawn(1) == tables.read("objects", "A").value
        tables.change(Put("objects", "A", drawn(2), seen))
        tables.close()


def test_a_restart_that_nobody_saw_is_not_noticed():
    """The connection failed while it was idle: nothing can have been done on it, so it is asked again (SQ2)."""
    with postgres_server() as server:
        tables = open_tables(server.url, "QSG1")
        seen = tables.change(Put("objects", "A", drawn(1)))
        for ask in (tables.newest, lambda: tables.change(Put("objects", "A", drawn(2), seen))):
            server.kill()
            server.start()
            ask()
        assert drawn(2) == tables.read("objects", "A").value
        tables.close()


def test_an_answer_that_was_lost_is_not_asked_for_again(tables, monkeypatch):
    """The change may have been made; asked again under its condition, it says so."""
    seen = tables.change(Put("objects", "A", drawn(1)))
    execute = tables._execute

    def lost(text, *parameters):
        answered = execute(text, *parameters)
        if text == "COMMIT":
            raise tables.AWAY[0]("the way is cut")
        return answered

    monkeypatch.setattr(tables, "_execute", lost)
    with pytest.raises(RepositoryAwayError, match="the way is cut"):
        tables.change(Put("objects", "A", drawn(2), seen))
    monkeypatch.setattr(tables, "_execute", execute)
    with pytest.raises(ChangedError):
        tables.change(Put("objects", "A", drawn(2), seen))
    assert drawn(2) == tables.read("objects", "A").value


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RepositoryAwayError, match="is away"):
        open_tables(str(tmp_path / "file" / "group.db"), "QSG1").newest()


def test_a_writer_that_hangs_does_not_hang_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_S", 0.05)
    hanging, tables = (open_tables(str(tmp_path / "group.db"), "QSG1") for _ in range(2))
    tables.newest()
    hanging._execute("BEGIN IMMEDIATE")
    with pytest.raises(RepositoryAwayError, match="locked"):
        tables.change(Put("objects", "A", {}))
    assert 0 == tables.newest()  # who only reads does not wait
    hanging.close()
    tables.change(Put("objects", "A", {}))
    tables.close()


def _change_until_killed(address, started):
    tables = open_tables(address, "KILLED")
    for number in count(1):
        tables.change(Put("objects", "A", drawn(number)), Put("objects", "B", drawn(number)))
        started.set()


def test_a_member_killed_in_the_middle_leaves_no_half_change(address):
    """Processes share the file: one that is killed leaves it whole for the others."""
    forked = multiprocessing.get_context("spawn")
    started = forked.Event()
    victim = forked.Process(target=_change_until_killed, args=(address, started))
    victim.start()
    assert started.wait(30)
    victim.kill()
    victim.join()
    assert -signal.SIGKILL == victim.exitcode
    tables = open_tables(address, "KILLED")
    a, b = tables.rows("objects")
    assert (a.value, a.version, tables.newest()) == (b.value, b.version, a.version)
    tables.change(Put("objects", "A", drawn(0)))
    tables.close()


def test_postgresql_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "quaestor.storage.shared_tables.postgres_engine", raising=False)
    with pytest.raises(RepositoryAwayError, match=r"pip install 'quaestor\[postgresql\]'"):
        open_tables("postgresql://nowhere/db", "QSG1")


def test_what_a_database_has_set_for_others_does_not_count(postgres):
    """PG3: members that change at once wait for each other, whatever isolation is the default; none is lost."""
    postgres.sql("CREATE DATABASE strict")
    for setting in ("default_transaction_isolation = 'serializable'", "synchronous_commit = off"):
        postgres.sql(f"ALTER DATABASE strict SET {setting}")
    members = [open_tables(postgres.url.replace("/postgres?", "/strict?"), "QSG1") for _ in range(4)]
    members[0].newest()
    failed = []

    def work(number):
        for turn in range(40):
            try:
                members[number].change(Put("objects", f"{number} {turn}", {}))
            except RepositoryAwayError as error:
                failed.append(str(error))

    working = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join()
    assert [] == failed
    assert 160 == len(members[0].rows("objects"))
    assert [("on",)] == members[0]._asked("SHOW synchronous_commit")
    for member in members:
        member.close()
