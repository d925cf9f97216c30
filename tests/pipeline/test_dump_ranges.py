"""Which bytes of which dumps are read (R7 to R10), without a session: paths, damage, dumps that grow."""

import errno
import gzip
import io
from pathlib import Path

import pytest

from pipeline.lakes import MONDAY_US, SECOND_US, dump, statistics, task
from quaestor.pipeline import dump_ranges
from quaestor.pipeline.dump_ranges import DamagedDumpError, Range, batches, dumps_at, ranges, whole_records_end
from quaestor.pipeline.selection import Selection
from smf.dumps import blocked, record, segmented

TASKS = [task(n, MONDAY_US + n * SECOND_US, "QM01", queues=("A",)) for n in range(6)]
ENDS = [len(b"".join(TASKS[:n])) for n in range(7)]


def rows_in(part, *, strict=False, columns=("puts",)):
    found = batches(part, "WQST", list(columns), Selection(), strict=strict)
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def test_paths_folders_and_patterns(tmp_path):
    """A folder's files by name, none that begin with a dot or an underscore, no folders within."""
    for name in ("b.dat", "a.dat", ".hidden", "_SUCCESS"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "c.dat").write_bytes(b"")
    a, b, c = (str(tmp_path / name) for name in ("a.dat", "b.dat", "folder/c.dat"))
    assert [a, b] == dumps_at([str(tmp_path)])
    assert [b, a] == dumps_at([b, a])
    assert [a, b] == dumps_at([str(tmp_path / "*.dat")])
    assert [c, a] == dumps_at([str(tmp_path / "fold*"), a])
    assert [str(tmp_path / "none")] == dumps_at([str(tmp_path / "none")])  # who reads it says what is wrong
    assert ["s3://bucket/*", a] == dumps_at(["s3://bucket/*", a])


def test_a_remote_dump_is_read_whole():
    assert [Range("s3://bucket/one", 0, None, None)] == ranges("s3://bucket/one", part_bytes=1)


def test_records_of_other_kinds_are_passed_over(tmp_path):
    """R8: type 30 and a record shorter than the header of 115 and 116 have no rows; order and columns are as asked."""
    short = record(record_type=116)[:24]
    short = len(short).to_bytes(2, "big") + short[2:]
    others = [record(record_type=30, body=b"\0" * 60), short, *statistics(1, MONDAY_US, "QM01")]
    path = dump(tmp_path / "a", [TASKS[0], *others, TASKS[3]])
    assert [(0, "QM01"), (3, "QM01")] == rows_in(Range(path), columns=("puts", "queue_manager"))
    assert [("QM01", 0), ("QM01", 3)] == rows_in(Range(path), columns=("queue_manager", "puts"))
    assert [] == rows_in(Range(dump(tmp_path / "b", others)))


def test_damage_is_passed_over_or_stops_the_query(tmp_path):
    path = str(tmp_path / "a")
    (tmp_path / "a").write_bytes(TASKS[0] + bytes(100) + TASKS[1])
    assert [(0,), (1,)] == rows_in(Range(path))
    with pytest.raises(DamagedDumpError, match=rf"a: offset {ENDS[1]}: zero bytes .*; 100 bytes skipped$"):
        rows_in(Range(path), strict=True)


def test_a_range_that_ends_in_damage_asks_to_be_read_uncut(tmp_path):
    """R7: its end is no boundary, so nobody knows what the next range begins with."""
    path = dump(tmp_path / "a", TASKS)
    (framing,) = {each.framing for each in ranges(path, part_bytes=ENDS[1])}
    assert [(1,), (2,)] == rows_in(Range(path, ENDS[1], ENDS[3], framing))
    with pytest.raises(DamagedDumpError, match=r"cut short.*; read it with the option split = false$"):
        rows_in(Range(path, ENDS[1], ENDS[3] - 5, framing))


def end_of(tmp_path, data, start=0, size=None):
    path = tmp_path / "growing"
    path.write_bytes(data)
    return whole_records_end(str(path), start, len(data) if size is None else size)


def test_a_growing_dump_is_read_up_to_its_last_whole_record(tmp_path):
    data = b"".join(TASKS)
    assert [ENDS[2], ENDS[2], ENDS[2], ENDS[3]] == [
        end_of(tmp_path, data, size=size) for size in (ENDS[2], ENDS[2] + 3, ENDS[3] - 1, ENDS[3])
    ]
    assert ENDS[4] == end_of(tmp_path, data, start=ENDS[2], size=ENDS[4] + 10)
    assert ENDS[2] == end_of(tmp_path, data, start=ENDS[2], size=ENDS[2] + 2)


def test_a_spanned_record_is_whole_with_its_last_segment(tmp_path):
    segments = segmented(TASKS[1], 300)
    assert len(segments) > 2
    for count in range(1, len(segments)):
        assert ENDS[1] == end_of(tmp_path, TASKS[0] + b"".join(segments[:count]))
    whole = TASKS[0] + b"".join(segments)
    assert len(whole) == end_of(tmp_path, whole + TASKS[2][:50])


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"".join(TASKS)[:-7]),
        blocked(TASKS, 5000)[:-7],
        TASKS[0] + b"\xff" * 50,  # damaged: the reader names it
        b"nothing that a dump begins with",
    ],
    ids=["gzip", "blocks", "damaged", "no dump"],
)
def test_other_dumps_are_taken_as_they_are(tmp_path, data):
    assert len(data) == end_of(tmp_path, data)


def test_a_dump_that_has_only_begun_is_waited_for(tmp_path):
    """Fewer bytes than a header may become a record yet."""
    assert 0 == end_of(tmp_path, b"")
    assert 0 == end_of(tmp_path, TASKS[0][:10])
    assert 0 == end_of(tmp_path, TASKS[0][:30])


def test_an_io_error_is_not_passed_over(tmp_path, monkeypatch):
    """R10: rows that could be had another time would be missing, and nobody told."""

    class Failing(io.BytesIO):
        def readinto1(self, place):
            return super().readinto1(place) or self._fail()

        readinto = readinto1

        def _fail(self):
            raise OSError(errno.EIO, "Input/output error")

    path = dump(tmp_path / "a", TASKS)
    whole = Path(path).read_bytes()
    monkeypatch.setattr(dump_ranges, "open_dump", lambda _: io.BufferedReader(Failing(whole)))
    with pytest.raises(DamagedDumpError, match="a: Input/output error"):
        rows_in(Range(path))
