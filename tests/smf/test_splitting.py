"""Parts of a dump begin at records, whatever the framing, and say so only when it is proven (rules Y)."""

import gzip
import io
import random

import pytest

from quaestor.smf.catalog import CATALOG
from quaestor.smf.detection import Framing
from quaestor.smf.dump import DumpWriter
from quaestor.smf.framing import DumpReader
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.splitting import WHOLE, Part, split, together
from quaestor.smf.writer import RecordIdentity, build_record, task_records
from smf.dumps import REAL, REAL_DUMPS

WHEN_US = 1_780_000_000_000_000
SYSA = RecordIdentity("SYSA", "QM1A", "8.0")
FRAMINGS = [
    (Framing.RDW, False),
    (Framing.RDW, True),
    (Framing.BDW, False),
    (Framing.BDW, True),
    (Framing.STRIPPED, False),
]


def records(count=60):
    chance = random.Random(1)
    made = []
    for number in range(count):
        queues = [QueueAccounting(object_name=f"Q{number}", puts=number)] * chance.randrange(4)
        made += task_records(TaskIdentification(), TaskAccounting(), queues, SYSA, WHEN_US + number)
        made.append(build_record(CATALOG[115, 2], [], SYSA, WHEN_US + number))
    return made


def dump(framing=Framing.RDW, spanned=False, **options):
    stream = io.BytesIO()
    with DumpWriter(stream, framing, spanned=spanned, block_bytes=4096 if spanned else 32_760, **options) as writer:
        for each in records():
            writer.write(each)
    return stream.getvalue()


def positions(data):
    return [int(at) for block in DumpReader(io.BytesIO(data)).blocks() for at in block.positions]


def read_parts(path, parts):
    """Positions of all records, part by part; every part but the last must land on its end."""
    found = []
    for part in parts:
        with path.open("rb") as stream:
            stream.seek(part.start)
            reader = DumpReader(stream, framing=part.framing, position=part.start, limit=part.size)
            for block in reader.blocks():
                assert [] == block.damages
                found += block.positions.tolist()
    return found


@pytest.mark.parametrize(("framing", "spanned"), FRAMINGS)
@pytest.mark.parametrize("part_bytes", [5_000, 20_000, 70_000])
def test_the_parts_hold_every_record_once(tmp_path, framing, spanned, part_bytes):
    path = tmp_path / "dump"
    path.write_bytes(data := dump(framing, spanned))
    parts = split(path, part_bytes)
    if (framing, spanned) == (Framing.BDW, True):
        assert len(parts) > 1  # few blocks begin with a record
    else:
        assert len(parts) > len(data) // max(part_bytes, 33_000) // 2
    assert (0, None) == (parts[0].start, parts[-1].stop)
    assert [each.stop for each in parts[:-1]] == [each.start for each in parts[1:]]
    assert positions(data) == read_parts(path, parts)


def test_what_cannot_be_cut_is_one_part(tmp_path):
    data = dump()
    for name, content in {
        "small": data[:3000],
        "compressed": gzip.compress(data),
        "zeros": bytes(100_000),
        "text": b"not an SMF dump " * 5000,
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert [WHOLE] == split(path, 10_000)


def test_no_part_begins_where_no_record_can_be_found(tmp_path):
    path = tmp_path / "dump"
    path.write_bytes(dump() + bytes(600_000) + dump())
    starts = [part.start for part in split(path, 50_000)]
    hole = len(dump())
    assert not [each for each in starts if hole < each < hole + 600_000]
    assert starts[-1] > hole + 600_000


def test_an_rdw_alone_is_no_beginning(tmp_path):
    """A section that looks like records, RDW after RDW, fools a reader that looks at RDWs only."""
    false = b"\x00\x20\x00\x00" + bytes(28)
    queue = QueueAccounting(correlator=bytes(16))
    plain = task_records(TaskIdentification(), TaskAccounting(), [queue] * 8, SYSA, WHEN_US)[0]
    at = plain.index(b"\xe6\xd8\xe2\xe3") + 100  # inside the first WQST
    fooling = plain[:at] + false * 60 + plain[at + len(false) * 60 :]
    path = tmp_path / "dump"
    path.write_bytes(fooling * 20)
    true = set(range(0, len(fooling) * 20, len(fooling)))
    for part_bytes in range(3_000, 9_000, 501):
        assert {part.start for part in split(path, part_bytes)} <= true


def test_parts_can_be_put_together_again():
    parts = [Part(0, 10, Framing.RDW), Part(10, 20, Framing.RDW), Part(20, None, Framing.RDW)]
    assert Part(0, None, Framing.RDW) == together(parts)
    assert (20, None) == (together(parts[:2]).size, together(parts).size)


@pytest.mark.real
@pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
@pytest.mark.parametrize("part_bytes", [997, 10_007, 100_003])
def test_every_part_of_a_real_dump_begins_at_a_record(part_bytes):
    """The channel dump has records in segments, where chains of RDWs alone go wrong more often than not."""
    path = REAL / "TESTCHL.dat"
    true = positions(path.read_bytes())
    parts = split(path, part_bytes)
    assert {part.start for part in parts} <= set(true)
    assert true == read_parts(path, parts)
