"""Shared queues when no other active log can be made ready (J6): what is there ends, and nothing is left half done."""

import errno
from contextlib import contextmanager

import pytest

from qmgr.shared.sharing import GET_IN, IN, OUT, PERSISTENT, USES, Sharing, drained
from quaestor.mqi.reasons import MQError


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


def test_a_get_without_log_leaves_its_message(group, monkeypatch):
    app, queue = app_of(group)
    queue.put(b"1", PERSISTENT, OUT)
    with without_log(group, monkeypatch), pytest.raises(MQError, match="2056"):
        queue.get(GET_IN)
    app.backout()
    assert ([b"1"], []) == (drained(app_of(group, "QM2")[0]), group.leaks())
