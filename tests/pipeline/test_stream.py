"""A folder of dumps as a stream, batch by batch and without a session: every whole record once (S8 to S10)."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.lakes import MONDAY_US, SECOND_US, task
from quaestor.pipeline import dump_ranges
from quaestor.pipeline.stream import SmfStreamReader
from quaestor.smf.splitting import split
from smf.dumps import blocked

TASKS = [task(n, MONDAY_US + n * SECOND_US, "QM01", queues=("A",)) for n in range(8)]
ENDS = [len(b"".join(TASKS[:n])) for n in range(9)]


class Query:
    """What Spark does with a reader: a batch is planned, then read, and its end is where the next one begins."""

    def __init__(self, *paths):
        self.reader = SmfStreamReader("WQST", ["puts"], [str(each) for each in paths])
        self.offset = self.reader.initialOffset()
        self.rows = []

    def plan(self):
        end = self.reader.latestOffset(self.offset)
        parts = self.reader.partitions(self.offset, end)
        self.offset = end
        return parts

    def read(self, parts):
        self.rows += [row["puts"] for part in parts for batch in self.reader.read(part) for row in batch.to_pylist()]

    def batch(self):
        self.read(self.plan())
        return self.rows


def test_a_dump_that_grows_between_plan_and_reading_is_read_once(tmp_path):
    """S8: a batch has the bytes it was planned with; the first sight of a dump is no exception."""
    path = tmp_path / "a"
    path.write_bytes(b"".join(TASKS[:3]))
    query = Query(tmp_path)
    parts = query.plan()
    path.write_bytes(b"".join(TASKS[:6]))
    query.read(parts)
    assert [0, 1, 2] == query.rows
    assert [0, 1, 2, 3, 4, 5] == query.batch()
    assert [] == query.plan()
    query.reader.commit(query.offset)
    assert {str(path): ENDS[6]} == query.offset


def test_half_a_record_waits_for_its_other_half(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"".join(TASKS[:2]) + TASKS[2][:70])
    query = Query(tmp_path)
    assert [0, 1] == query.batch()
    assert [0, 1] == query.batch()
    path.write_bytes(b"".join(TASKS[:3]))
    assert [0, 1, 2] == query.batch()


def test_a_dump_that_has_not_begun_is_no_part_of_a_batch(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "b").write_bytes(TASKS[0][:9])
    query = Query(tmp_path, tmp_path / "none")
    assert ([], {}) == (query.plan(), query.offset)


def test_a_dump_that_was_taken_away_or_cut_brings_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"".join(TASKS[:3]))
    query = Query(path)
    assert [0, 1, 2] == query.batch()
    path.write_bytes(TASKS[0])
    assert [0, 1, 2] == query.batch()
    path.unlink()
    assert [0, 1, 2] == query.batch()


@pytest.mark.parametrize("data", [gzip.compress(b"".join(TASKS)), blocked(TASKS, 4000)], ids=["gzip", "blocks"])
def test_dumps_that_do_not_grow_are_read_as_they_are(tmp_path, data):
    (tmp_path / "a").write_bytes(data)
    query = Query(tmp_path)
    assert list(range(8)) == query.batch() == query.batch()


def test_a_stream_may_be_of_uris(tmp_path):
    (tmp_path / "a").write_bytes(b"".join(TASKS[:3]))
    query = Query((tmp_path / "a").as_uri(), (tmp_path / "none").as_uri())
    assert [0, 1, 2] == query.batch()
    (tmp_path / "a").write_bytes(b"".join(TASKS[:4]))
    assert [0, 1, 2, 3] == query.batch()


def test_damage_in_a_growing_dump_is_passed_over(tmp_path):
    """R9: its end is known, so it is damage like any other and no reason to stop the query."""
    path = tmp_path / "a"
    path.write_bytes(TASKS[0] + bytes(100) + TASKS[1])
    query = Query(tmp_path)
    assert [0, 1] == query.batch()
    path.write_bytes(TASKS[0] + bytes(100) + TASKS[1] + bytes(60) + TASKS[2])
    assert [0, 1, 2] == query.batch()


def test_a_large_dump_is_several_ranges(tmp_path, monkeypatch):
    monkeypatch.setattr(dump_ranges, "split", lambda path, _: split(path, ENDS[2]))
    path = tmp_path / "a"
    path.write_bytes(b"".join(TASKS))
    query = Query(tmp_path)
    parts = query.plan()
    assert len(parts) > 2
    assert (0, ENDS[8]) == (parts[0].start, parts[-1].stop)
    assert [each.stop for each in parts[:-1]] == [each.start for each in parts[1:]]
    assert [False] * (len(parts) - 1) + [True] == [each.whole for each in parts]
    query.read(parts)
    assert list(range(8)) == query.rows


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, ENDS[8])), max_size=8), st.booleans())
def test_however_two_dumps_grow_every_record_is_read_once(tmp_path_factory, growth, late):
    """Bytes arrive in pieces of any length, before a batch is planned or between plan and reading."""
    folder = tmp_path_factory.mktemp("arriving")
    data = [b"".join(TASKS[:5]), b"".join(TASKS[5:])]
    have = [0, 0]
    query = Query(folder)
    for number, more in [*growth, (0, ENDS[8]), (1, ENDS[8])]:
        parts = query.plan() if late else []
        have[number] = min(len(data[number]), have[number] + more)
        (folder / str(number)).write_bytes(data[number][: have[number]])
        query.read(parts if late else query.plan())
    assert list(range(8)) == sorted(query.batch())
