"""After a failure the process keeps the files, and says why nobody connects (FA3, EM10)."""

import errno
import subprocess
import sys
from contextlib import suppress
from threading import Event, Thread

import pytest

from model.answers import fails
from quaestor import MQMD, LocalQueue, MQError, PutOptions, Reason
from quaestor.embedded import Running
from quaestor.qmgr.statistics import TraceSettings
from quaestor.storage.real_disk import owner_of
from quaestor.testing import SMALL

KEPT, NOW = MQMD(persistence=1), PutOptions.NO_SYNCPOINT
LET_GO = """
import sys, quaestor
with quaestor.connect("QM1", sys.argv[1]) as app, app.open("ORDERS") as orders:
    print(orders.get().text)
"""


class Process(Running):
    """The queue managers of a process that this one plays; at its end nothing is left of it."""

    def start(self, directory):
        self.directory = directory
        return self.join()

    def join(self):
        return self.connect("QM1", self.directory, "ALICE", "test", SMALL, TraceSettings())

    @property
    def manager(self):
        return self._managers[self.directory.resolve()]


@pytest.fixture
def process():
    process = Process()
    yield process
    process.stop()


@pytest.fixture
def app(process, tmp_path):
    app = process.start(tmp_path)
    app.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
    app.put1("ORDERS", "kept", KEPT, NOW)
    return app


def interrupted(*_):
    raise KeyboardInterrupt


def fail(app):
    """An interrupt in the middle of a change."""
    orders = app.open("ORDERS")
    orders._output._store_put = interrupted
    with pytest.raises(KeyboardInterrupt):
        orders.put("not committed")


def after(process):
    """What another process finds when this one has ended."""
    process.stop()
    ran = subprocess.run(
        [sys.executable, "-c", LET_GO, str(process.directory)], capture_output=True, text=True, check=True
    )
    return ran.stdout.split()


@pytest.mark.plain
def test_a_log_that_somebody_still_writes_is_not_opened_again(process, app, monkeypatch):
    """FA3: one queue manager would restart from a log that is written by the one before."""
    other, writes, ended = process.join(), Event(), Event()
    files = process.manager.engine.log.files
    write_through = files.write_through

    def slow(*given):
        writes.set()
        assert ended.wait(10)
        write_through(*given)

    monkeypatch.setattr(files, "write_through", slow)

    def commit():
        with suppress(MQError):
            other.put1("ORDERS", "whether it is there nobody was told", KEPT, NOW)

    thread = Thread(target=commit)
    thread.start()
    assert writes.wait(5)
    fail(app)
    try:
        for _ in range(3):
            with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
                process.join()
            assert ("KeyboardInterrupt", "this process ends") == (
                refused.value.facts["why"],
                refused.value.facts["until"],
            )
        assert None is not owner_of(process.directory)
    finally:
        ended.set()
        thread.join()
    assert "kept" == after(process)[0]


@pytest.mark.plain
def test_a_failure_at_the_end_of_a_connection_keeps_the_files(process, app, monkeypatch):
    app.put1("ORDERS", "not committed", KEPT)
    monkeypatch.setattr(process.manager.engine.recovery, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        app.disconnect()
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        process.join()
    assert None is not owner_of(process.directory)
    assert ["kept"] == after(process)


@pytest.mark.parametrize("where", ["scheduler.stop", "engine.stop"])
def test_an_interrupted_stop_is_told_to_who_connects_next(process, app, monkeypatch, where):
    """He would be told that the directory is in use, by the very process that he is in."""
    part, call = where.split(".")
    with monkeypatch.context() as patch:
        patch.setattr(getattr(process.manager, part), call, interrupted)
        with pytest.raises(KeyboardInterrupt):
            app.disconnect()
    assert not app.connected
    with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
        process.join()
    assert "KeyboardInterrupt" == refused.value.facts["why"]
    assert ["kept"] == after(process)


def test_a_stop_that_cannot_write_is_2009_and_nothing_is_lost(process, app, monkeypatch):
    def refused():
        raise OSError(errno.EIO, "EIO")

    monkeypatch.setattr(process.manager.engine, "stop", refused)
    with fails(Reason.CONNECTION_BROKEN) as broken:
        app.disconnect()
    assert "EIO" in broken.value.facts["why"]
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        process.join()
    assert ["kept"] == after(process)


def test_one_that_cannot_stop_holds_up_no_other(process, app, monkeypatch, tmp_path):
    """At the end of the process each is stopped."""
    monkeypatch.setattr(process.manager.engine, "stop", interrupted)
    (tmp_path / "other").mkdir()
    process.connect("QM2", tmp_path / "other", "ALICE", "test", SMALL, TraceSettings())
    with pytest.raises(KeyboardInterrupt):
        process.stop()
    assert None is owner_of(tmp_path / "other")


def test_a_failure_without_words_has_its_name(process, app):
    fail(app)
    assert "KeyboardInterrupt" == process.manager.failure
