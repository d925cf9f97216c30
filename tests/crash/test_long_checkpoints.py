"""A checkpoint names every unit there is, in as many records as that takes (CB1)."""

from dataclasses import replace

import pytest

from crash.scenarios import TINY, a_step_and_then_a_whole, checkpoints_in_steps, found_after, log_switches, prove
from quaestor.qmgr.recovery import checkpoint
from quaestor.qmgr.recovery.describe import describe, records
from quaestor.storage.log_files import LogFiles
from quaestor.storage.log_record import RECORD_MAX, Kind
from quaestor.testing import SMALL, FaultyDisk, SmallEngine

pytestmark = pytest.mark.crash
ROOMY = replace(SMALL, pages=4096, buffer_pools={0: 64, 1: 4096})
UNITS = 900
XIDS = [b"%0140d" % number for number in range(UNITS)]


def in_doubt(engine):
    return [unit.xid for unit in engine.recovery.in_doubt()]


@pytest.fixture(scope="module")
def doubtful():
    """A disk on which more units are in doubt than one log record could name."""
    engine = SmallEngine(FaultyDisk(), ROOMY)
    for xid in XIDS:
        unit = engine.recovery.begin("application", "ALICE", "thread")
        engine.put(unit, xid[-8:])
        engine.recovery.prepare(unit, xid)
    engine.recovery.checkpoint()
    return engine.disk


def test_any_number_of_units_in_doubt_is_there_after_every_restart(doubtful):
    engine = SmallEngine(doubtful.after_power_cut(), ROOMY)
    assert XIDS == in_doubt(engine)
    again = SmallEngine(engine.disk.after_power_cut(), ROOMY)
    assert XIDS == in_doubt(again)
    for number, xid in enumerate(XIDS):
        again.recovery.resolve(xid, commit=number % 2 == 0)
    assert [xid[-8:] for xid in XIDS[::2]] == found_after(again.disk.after_power_cut(), ROOMY)


def test_such_a_checkpoint_is_read_from_its_last_record_backwards_and_printed_forwards(doubtful):
    files = LogFiles.open(doubtful.after_power_cut())
    last = files.inventory.checkpoints[-1]
    *parts, end = [record for record in records(files) if record.kind in {Kind.CHECKPOINT, Kind.CHECKPOINT_DATA}][-12:]
    assert (last, Kind.CHECKPOINT) == (end.rba, end.kind)
    parts = [record for record in parts if record.kind == Kind.CHECKPOINT_DATA]
    assert sum(record.length for record in (*parts, end)) > RECORD_MAX
    assert [0, *(part.rba for part in parts)] == [part.previous for part in (*parts, end)]
    assert describe(parts[0]).endswith("CHECKPOINT DATA 32768 bytes")
    assert f"CHECKPOINT the rest of {parts[-1].rba:012X}" in describe(end)


@pytest.mark.parametrize("script", [checkpoints_in_steps, a_step_and_then_a_whole, log_switches])
def test_whichever_of_its_records_a_cut_takes_the_checkpoint_before_it_counts(script, monkeypatch):
    monkeypatch.setattr(checkpoint, "PART_MAX", 50)
    prove(script, TINY, at_most=40)
