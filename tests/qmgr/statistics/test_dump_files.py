"""Dump files: rolled over, kept in number, harmless when they cannot be written, whole after a kill."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import quaestor
from qmgr.statistics.test_intervals import STATIME_S, queue_manager, records
from quaestor.clock import FakeClock
from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.statistics import DumpFiles, TraceSettings
from quaestor.qmgr.statistics.dump_files import HELD_BYTES
from quaestor.smf.records import SmfRecord, read_dump
from quaestor.testing import FaultyDisk

SRC = Path(quaestor.__file__).parents[1]


def a_record(length=100):
    return length.to_bytes(2, "big") + bytes(length - 2)


def dump_files(disk, **settings):
    clock = FakeClock()
    said = OperatorLog("QM1", clock)
    return DumpFiles("QM1", lambda: disk, TraceSettings(**settings), said), clock, said


def test_a_file_is_followed_by_another_when_it_is_large():
    disk = FaultyDisk()
    files, clock, _ = dump_files(disk, file_bytes=250)
    for _ in range(6):
        files.write([a_record()], clock.now_us())
        clock.advance(seconds=1)
    assert [300, 300] == [len(disk.files[name].seen) for name in files.names()]


def test_a_file_is_followed_by_another_when_it_is_old_and_the_oldest_go():
    disk = FaultyDisk()
    files, clock, _ = dump_files(disk, file_s=60, files=3)
    for _ in range(5):
        files.write([a_record()], clock.now_us())
        clock.advance(seconds=60)
    assert 3 == len(files.names())
    assert [100] * 3 == [len(disk.files[name].seen) for name in files.names()]


def test_files_of_one_moment_are_kept_in_the_order_in_which_they_were_begun():
    """DF1: the oldest go, not the one that is being written, also when one write fills a dozen."""
    disk = FaultyDisk()
    files, clock, _ = dump_files(disk, file_bytes=100, files=3)
    files.write([a_record(100 + number) for number in range(12)], clock.now_us())
    assert [109, 110, 111] == [len(disk.files[name].seen) for name in files.names()]
    files.write([a_record(200)], clock.now_us())
    assert [110, 111, 200] == [len(disk.files[name].seen) for name in files.names()]
    assert (13, 0) == (files.written, files.lost)


def test_a_file_is_named_after_the_queue_manager_and_the_time_of_its_first_record():
    """DF1: or the next microsecond of which there is none; a clock that goes back changes no order."""
    disk = FaultyDisk()
    files, _, _ = dump_files(disk, file_bytes=100)
    assert [] == files.names()
    files.write([a_record(), a_record()], 1_700_000_000_000_009)
    files.write([a_record()], 1_700_000_000_000_001)
    assert [f"QM1.20231114T221320.0000{us}.smf" for us in ("09", "10", "11")] == files.names()
    again, _, _ = dump_files(disk, file_bytes=100)
    again.write([a_record()], 1_700_000_000_000_009)
    assert "QM1.20231114T221320.000012.smf" == again.names()[-1]


def test_a_file_is_old_when_so_much_time_has_passed():
    disk = FaultyDisk()
    files, clock, _ = dump_files(disk, file_s=60)
    for microseconds in (0, 59_999_999, 1):
        clock.advance(microseconds=microseconds)
        files.write([a_record()], clock.now_us())
    assert [200, 100] == [len(disk.files[name].seen) for name in files.names()]


def test_what_is_written_survives_a_power_cut_once_synced():
    """DF4."""
    disk = FaultyDisk()
    files, clock, _ = dump_files(disk)
    files.write([a_record()], clock.now_us())
    files.sync()
    (name,) = files.names()
    assert a_record() == disk.after_power_cut().open(name).read(0, 1000)


def test_a_child_leaves_the_file_to_its_parent():
    disk = FaultyDisk()
    files, clock, _ = dump_files(disk)
    files.write([a_record()], clock.now_us())
    disk.fail_at = {disk.operations + 1: errno.ENOSPC}
    files.write([a_record(101)], clock.now_us())
    files.forget()
    files.write([a_record(102)], clock.now_us())
    assert [100, 102] == [len(disk.files[name].seen) for name in files.names()]


def test_what_has_been_written_does_not_count_as_waiting():
    """DF2: the limit is of what waits now."""
    disk = FaultyDisk()
    files, clock, _ = dump_files(disk)
    large = [a_record(60_000)] * (HELD_BYTES // 60_000)
    files.write(large, clock.now_us())
    disk.fail_at = {disk.operations + 1: errno.ENOSPC}
    files.write(large, clock.now_us())
    assert (len(large), 0) == (files.written, files.lost)
    files.write([], clock.now_us())
    assert (2 * len(large), 0) == (files.written, files.lost)


def test_a_full_disk_is_said_once_and_what_waited_is_written_when_there_is_room():
    disk = FaultyDisk()
    files, clock, said = dump_files(disk)
    files.write([a_record()], clock.now_us())
    disk.fail_at = {disk.operations + n: errno.ENOSPC for n in (1, 2)}
    files.write([a_record()], clock.now_us())
    files.write([a_record()], clock.now_us())
    assert ["CSQW133E"] == [entry.identifier for entry in said.entries]
    files.write([], clock.now_us())
    assert ["CSQW133E", "CSQW134I"] == [entry.identifier for entry in said.entries]
    assert 300 == len(disk.files[files.names()[0]].seen)
    assert (3, 0) == (files.written, files.lost)


def test_what_waits_is_limited_and_what_is_lost_is_counted():
    def no_disk():
        raise PermissionError(errno.EACCES, "no")

    clock = FakeClock()
    files = DumpFiles("QM1", no_disk, TraceSettings(), OperatorLog("QM1", clock))
    many = HELD_BYTES // 30_000 + 11
    files.write([a_record(30_000)] * many, clock.now_us())
    assert many - HELD_BYTES // 30_000 == files.lost


def test_messaging_goes_on_when_smf_records_cannot_be_written():
    qm, clock, smf = queue_manager()
    smf.fail_at = dict.fromkeys(range(1, 1000), errno.ENOSPC)
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS", def_persistent=True))
    for _ in range(3):
        app.put("ORDERS", b"x")
        app.commit()
        clock.advance(seconds=STATIME_S)
        qm.scheduler.run_due()
    assert 3 == qm.messages.catalogue.state("ORDERS").stored.depth
    assert "CSQW133E" in [entry.identifier for entry in qm.operator_log.entries]
    smf.fail_at = {}
    app.disconnect()
    qm.stop()
    assert 3 == sum(s.put1s for r in records(smf) for s in r.sections.get("QMST", []))


WORKER = """
import sys, time
import quaestor
traces = quaestor.TraceSettings("stat,acctg(3)", statime_s=0.3)
app = quaestor.connect("QM1", sys.argv[1], trace=traces)
app.define(quaestor.LocalQueue("ORDERS"), replace=True)
while True:
    app.put("ORDERS", "x", None, quaestor.PutOptions.NO_SYNCPOINT)
    with open(sys.argv[1] + "/count", "a") as count:
        count.write("x")
    time.sleep(0.005)
"""


@pytest.mark.crash
def test_a_kill_loses_the_current_interval_at_most(tmp_path):
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(SRC)})
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and intervals(tmp_path) < 3:
        time.sleep(0.05)  # noqa: TID251 - another process is watched
    before_kill = intervals(tmp_path)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    (dump,) = (tmp_path / "smf").iterdir()
    found = list(read_dump(dump))
    assert all(isinstance(one, SmfRecord) for one in found)
    puts = sum(s.put1s for r in found for s in r.sections.get("QMST", []))
    done = (tmp_path / "count").stat().st_size
    assert before_kill >= 3
    assert 0 < puts <= done + 1
    assert puts >= done - 200, "more than an interval's work is missing"


def intervals(directory):
    found = sorted((directory / "smf").glob("*.smf")) if (directory / "smf").is_dir() else []
    if not found or not found[0].stat().st_size:
        return 0
    seen = [r for r in read_dump(found[0]) if isinstance(r, SmfRecord) and r.header.record_type == 115]
    return len([r for r in seen if r.header.subtype == 2])
