"""Shared queues when no other active log can be made ready (J6): what is there ends, and nothing is left half done."""

import errno
from contextlib import ExitStack, contextmanager

import pytest

from qmgr.shared.sharing import GET_IN, IN, OUT, PERSISTENT, STRUCTURE, USES, Sharing, drained
from quaestor.mqi.reasons import MQError
from quaestor.storage.lists.operations import Delete

pytestmark = pytest.mark.plain


@pytest.fixture
def group(tmp_path):
    made = Sharing(tmp_path, RECOVER="YES", CFLEVEL=5, OFFLOAD="SMDS")
    for name in ("QM1", "QM2"):
        made.start(name)
    made.define(max_msg_length=1 << 20)
    return made


def app_of(sharing, name="QM1"):
    app = sharing.members[name].connect("ALICE")
    return app, app.open("ORDERS", USES)


@contextmanager
def without_log(sharing, monkeypatch):
    """Archives cannot be made, and the current active log is the last."""
    log = sharing.members["QM1"].engine.log

    def no_space():
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(log.files, "make_ready", no_space)
        log.ready, log._copied_at = False, 0
        yield


def test_a_unit_commits_without_log_for_new_work(group, monkeypatch):
    """V10: what names it for the structures belongs to its end, as its COMMIT record does."""
    app, queue = app_of(group)
    queue.put(b"1", PERSISTENT, IN)
    with without_log(group, monkeypatch):
        with pytest.raises(MQError, match="2056"):
            queue.put(b"2", PERSISTENT, IN)
        app.commit()
    assert ([b"1"], [], {}) == (
        drained(app_of(group, "QM2")[0]),
        group.leaks(),
        group.members["QM1"].engine.recovery.units,
    )


def test_a_unit_is_prepared_when_there_is_log_again(group, monkeypatch):
    app, queue = app_of(group)
    queue.put(b"1", PERSISTENT, IN)
    with without_log(group, monkeypatch), pytest.raises(MQError, match="2056"):
        app.prepare(b"xid")
    app.prepare(b"xid")
    app.commit_prepared(b"xid")
    assert ([b"1"], []) == (drained(app_of(group, "QM2")[0]), group.leaks())


@contextmanager
def without_log_after(sharing, records, monkeypatch):
    """There is log for so many records more of a unit."""
    recovery = sharing.members["QM1"].engine.recovery
    note, noted = recovery.note, []
    with monkeypatch.context() as patch, ExitStack() as later:

        def counted(unit, kind, body):
            if len(noted) == records:
                later.enter_context(without_log(sharing, monkeypatch))
            noted.append(kind)
            return note(unit, kind, body)

        patch.setattr(recovery, "note", counted)
        yield


LONG = [bytes([number]) * (300_000 + number) for number in range(3)]


def recovered(sharing):
    """What RECOVER CFSTRUCT brings back."""
    sharing.facility.delete(sharing.prefix + STRUCTURE)
    for _ in range(2):
        for manager in sharing.members.values():
            manager.shared.reach_step()
    assert sharing.members["QM2"].commands.run(f"RECOVER CFSTRUCT({STRUCTURE})", "OPER").ok
    return drained(app_of(sharing, "QM2")[0])


@pytest.mark.parametrize("lost", [False, True], ids=["as it is", "recovered"])
@pytest.mark.parametrize("records", range(3))
def test_a_long_put_that_the_log_has_no_room_for_is_not_there(group, records, lost, monkeypatch):
    """CM4: the unit goes on without it, and what was logged of it becomes part of no other message."""
    app, queue = app_of(group)
    queue.put(LONG[0], PERSISTENT, IN)
    with without_log_after(group, records, monkeypatch), pytest.raises(MQError, match="2056"):
        queue.put(LONG[1], PERSISTENT, IN)
    queue.put(LONG[2], PERSISTENT, IN)
    queue.put(b"short", PERSISTENT, IN)
    app.commit()
    assert [] == group.leaks()
    there = recovered(group) if lost else drained(app_of(group, "QM2")[0])
    assert [LONG[0], LONG[2], b"short"] == there


def test_it_is_not_there_either_if_the_structure_is_lost_just_then(group, monkeypatch):
    app, queue = app_of(group)
    structure = group.members["QM1"].shared.structures[STRUCTURE]
    ask = structure.ask

    def cut(*operations, **how):
        if isinstance(operations[0], Delete):
            group.cut_off(STRUCTURE)
        return ask(*operations, **how)

    monkeypatch.setattr(structure, "ask", cut)
    with without_log_after(group, 1, monkeypatch), pytest.raises(MQError, match="2056"):
        queue.put(LONG[1], PERSISTENT, IN)
    monkeypatch.undo()
    group.reach_again(STRUCTURE)
    app.commit()
    assert ([], []) == (drained(app_of(group, "QM2")[0]), group.leaks())


def test_a_get_without_log_leaves_its_message(group, monkeypatch):
    app, queue = app_of(group)
    queue.put(b"1", PERSISTENT, OUT)
    with without_log(group, monkeypatch), pytest.raises(MQError, match="2056"):
        queue.get(GET_IN)
    app.backout()
    assert ([b"1"], []) == (drained(app_of(group, "QM2")[0]), group.leaks())
