"""Dumps into raw tables: totals are those of the record-by-record decoder, and no order of loading matters."""

import errno
import gzip
import io
import os
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.lakes import DAY_US, HOUR_US, MONDAY_US, SECOND_US, dump, load_raw, raw_rows, raw_tables, statistics, task
from quaestor.pipeline import dump_orders, duplicates, ingest, loading
from quaestor.pipeline.errors import LoadError
from quaestor.pipeline.manifest import as_files
from quaestor.smf.detection import Framing
from quaestor.smf.records import SmfRecord, read_dump
from smf.dumps import REAL_DUMPS, record

DAYS = [[*statistics(n, MONDAY_US + n * HOUR_US), task(n, MONDAY_US + n * HOUR_US)] for n in range(1, 30, 7)]
RECORDS = [record for day in DAYS for record in day]
MONDAY, TUESDAY = date(2026, 1, 5), date(2026, 1, 6)


def sections(path):
    """How many sections of each structure the record-by-record decoder finds, and how many MQ records."""
    counted, records = Counter(), 0
    for item in read_dump(str(path)):
        if isinstance(item, SmfRecord) and item.header.record_type in (115, 116):
            records += 1
            counted.update({name: len(held) for name, held in item.sections.items()})
    return counted, records


@pytest.mark.real
@pytest.mark.skipif(not REAL_DUMPS, reason="the real dumps are not here")
def test_real_dumps_give_the_rows_that_record_by_record_decoding_counts(tmp_path):
    lake, [report] = load_raw(tmp_path / "lake", REAL_DUMPS)
    expected, records = Counter(), 0
    for path in REAL_DUMPS:
        counted, count = sections(path)
        expected += counted
        records += count
    rows = {table: len(held) for table, held in raw_tables(lake).items()}
    assert rows.pop("RECORDS") == records == report.records
    assert dict(expected) == rows


def test_a_day_is_the_local_date_of_the_header(tmp_path):
    late = task(1, MONDAY_US + DAY_US - HOUR_US, zone_minutes=120)  # 23:00 UTC is 01:00 on Tuesday
    lake, [report] = load_raw(tmp_path / "lake", [dump(tmp_path / "a", [late])])
    assert {TUESDAY} == report.days
    assert [TUESDAY] == lake.snapshot().days()


def test_every_row_of_a_record_bears_its_identity_and_none_its_position(tmp_path):
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", [task(3, MONDAY_US, queues=("A", "B"))])])
    tables = raw_tables(lake)
    [identity] = tables["RECORDS"]["record_id"].to_pylist()
    assert [identity] == tables["WTAS"]["record_id"].to_pylist()
    assert [identity] * 2 == tables["WQST"]["record_id"].to_pylist()
    assert "position" not in tables["WQST"].column_names


@pytest.mark.parametrize(
    "how",
    [
        {"framing": Framing.BDW},
        {"framing": Framing.STRIPPED},
        {"spanned": True, "block_bytes": 1000},
        {"compress": True},
    ],
    ids=str,
)
def test_framing_is_no_part_of_a_record(tmp_path, how):
    plain, other = dump(tmp_path / "plain", RECORDS), dump(tmp_path / "other", RECORDS, **how)
    lake, [_, second] = load_raw(tmp_path / "lake", [plain], [other])
    assert (len(RECORDS), len(RECORDS)) == (second.records, second.copies)
    alone, _ = load_raw(tmp_path / "alone", [other])
    assert raw_rows(alone) == raw_rows(lake)


def test_a_known_dump_is_not_read_again_but_its_name_is_remembered(tmp_path):
    first, second = dump(tmp_path / "a", RECORDS), dump(tmp_path / "b", RECORDS)
    lake, [_, again] = load_raw(tmp_path / "lake", [first], [second, first])
    assert (0, [second, first], 0) == (again.dumps, again.known, again.records)
    [known] = lake.snapshot().digests().values()
    assert (first, second) == known.names


def test_of_a_known_dump_that_cannot_be_used_only_the_name_is_new(tmp_path):
    """G2, G4: it is told again and not rejected again; one without records of ours is a dump for all that."""
    names = [str(tmp_path / name) for name in ("text", "copy", "others")]
    for name in names[:2]:
        Path(name).write_text("no SMF at all " * 100)
    other = Path(dump(names[2], [record(record_type=30, body=b"\0" * 60)] * 3)).read_bytes()
    Path(names[2]).write_bytes(other[:-10])  # one damage and no record of MQ
    lake, [first, again] = load_raw(tmp_path / "lake", [names[0], names[2]], names)
    [(text, why)] = first.unusable
    assert (names[0], 2, [], []) == (text, first.damages, first.known, first.unusable_known)
    assert (0, [], [names[2]], 0) == (again.dumps, again.unusable, again.known, again.damages)
    assert [(names[0], why), (names[1], why)] == again.unusable_known
    assert 2 == len(raw_tables(lake)["REJECTS"])
    assert sorted(names) == sorted(name for each in lake.snapshot().digests().values() for name in each.names)


@st.composite
def loads(draw):
    """Some dumps that overlap, and two ways to load them: order, batches and repeats as they come."""
    pool = st.lists(st.integers(0, len(RECORDS) - 1), min_size=1, max_size=12)
    dumps = draw(st.lists(pool, min_size=1, max_size=4))
    numbers = list(range(len(dumps)))
    order = draw(st.permutations(numbers + draw(st.lists(st.sampled_from(numbers), max_size=2))))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=3)))
    batches = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    return dumps, [batch for batch in batches if batch]


@given(loads())
@settings(max_examples=25, deadline=None)
def test_order_batches_repeats_and_overlaps_give_what_one_rebuild_gives(plan):
    dumps, batches = plan
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        paths = [dump(here / f"{n}.smf", [RECORDS[each] for each in held]) for n, held in enumerate(dumps)]
        lake, _ = load_raw(here / "lake", *([paths[n] for n in batch] for batch in batches))
        whole, _ = load_raw(here / "whole", paths)
        assert raw_rows(whole) == raw_rows(lake)
        held = {each for numbers in dumps for each in numbers}
        assert len(held) == len(raw_rows(lake)["RECORDS"])


def test_the_law_has_teeth(tmp_path, monkeypatch):
    """Without looking at what the lake holds, a second dump with the same records doubles them."""
    monkeypatch.setattr(loading.KnownRecords, "_files", lambda *_: [])
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS)], [dump(tmp_path / "b", RECORDS[:3])])
    assert len(RECORDS) + 3 == len(raw_rows(lake)["RECORDS"])


def test_copies_in_two_parts_of_one_load_are_found_in_windows_of_time(tmp_path, monkeypatch):
    many = [task(n, MONDAY_US + n * SECOND_US) for n in range(200)]
    one, other = dump(tmp_path / "a", many[:150]), dump(tmp_path / "b", many[100:])
    monkeypatch.setattr(dump_orders, "SMALLEST_TASK", 1)
    monkeypatch.setattr(duplicates, "WINDOW_ROWS", 20)
    lake, [report] = load_raw(tmp_path / "lake", [one, other])
    assert (250, 50) == (report.records, report.copies)
    whole, _ = load_raw(tmp_path / "whole", [dump(tmp_path / "all", many)])
    assert raw_rows(whole) == raw_rows(lake)
    monkeypatch.setattr(ingest, "remove_copies", lambda spark, place, files: (files, 0))
    doubled, _ = load_raw(tmp_path / "doubled", [one, other])
    assert 250 == len(raw_rows(doubled)["RECORDS"])


def test_a_dump_of_any_size_is_read_part_by_part(tmp_path, monkeypatch):
    many = [task(n, MONDAY_US + n % 50 * SECOND_US) for n in range(200)] * 2
    path = dump(tmp_path / "a.gz", many, compress=True)
    monkeypatch.setattr(loading, "PART_BYTES", 50_000)
    monkeypatch.setattr(loading, "WINDOW", 40_000)
    lake, [report] = load_raw(tmp_path / "lake", [path])
    assert (400, 200) == (report.records, report.copies)
    assert len(lake.snapshot().live("RECORDS")) > 3
    whole, _ = load_raw(tmp_path / "whole", [dump(tmp_path / "b", many[:200])])
    assert raw_rows(whole) == raw_rows(lake)


def test_statistics_of_many_windows_are_decoded_together(tmp_path, monkeypatch):
    """Twenty small tables are made once for each dump of an order, not once for each window of it (O6)."""
    many = [task(n, MONDAY_US + n * SECOND_US) for n in range(60)]
    for n in (50, 30, 10):
        many[n:n] = statistics(n, MONDAY_US + n * SECOND_US)
    one, other = dump(tmp_path / "one", many[:40]), dump(tmp_path / "other", many[20:])
    whole, _ = load_raw(tmp_path / "whole", [one], [other])
    made = []
    monkeypatch.setattr(loading, "WINDOW", 40_000)
    monkeypatch.setattr(loading, "decode", _noting_tables(made, loading.decode))
    lake, [report] = load_raw(tmp_path / "lake", [one, other])
    assert (86, 20) == (report.records, report.copies)
    assert raw_rows(whole) == raw_rows(lake)
    assert 2 == sum("QPST" in tables for tables in made) < sum("WTAS" in tables for tables in made)


def _noting_tables(made, decode):
    def noting(*args, **options):
        decoded = decode(*args, **options)
        made.append(set(decoded.tables))
        return decoded

    return noting


def test_a_dump_cut_in_pieces_gives_what_the_whole_gives_damaged_or_not(tmp_path, monkeypatch):
    many = [task(n, MONDAY_US + n * SECOND_US, queues=("A",) * (1 + n % 5)) for n in range(300)]
    good = dump(tmp_path / "good", many)
    data = bytearray(Path(good).read_bytes())
    for at in range(60_000, len(data), 200_000):
        data[at : at + 3000] = b"\xff" * 3000
    bad = tmp_path / "bad"
    bad.write_bytes(data)
    whole, [sound, damaged] = load_raw(tmp_path / "whole", [good], [bad])
    assert (0, 300) == (sound.damages, sound.records)
    assert damaged.damages > 3
    monkeypatch.setattr(dump_orders, "LARGEST_TASK", 64_000)
    monkeypatch.setattr(dump_orders, "SMALLEST_TASK", 64_000)
    pieces, [again, broken] = load_raw(tmp_path / "pieces", [good], [bad])
    assert (sound.records, damaged.records, damaged.damages) == (again.records, broken.records, broken.damages)
    assert raw_rows(whole) == raw_rows(pieces)


def test_a_damaged_dump_among_good_ones(tmp_path):
    good = dump(tmp_path / "good", RECORDS[:6])
    data = Path(dump(tmp_path / "cut", RECORDS[6:])).read_bytes()
    (tmp_path / "cut").write_bytes(data[:-100])
    (tmp_path / "text").write_text("no SMF at all " * 100)
    (tmp_path / "empty").write_bytes(b"")
    broken = gzip.compress(data)[:-20]
    (tmp_path / "broken.gz").write_bytes(broken)
    names = [str(tmp_path / name) for name in ("cut", "text", "empty", "broken.gz")]
    lake, [report] = load_raw(tmp_path / "lake", [good, *names])
    assert [names[1]] == [path for path, _ in report.unusable]
    assert [(names[2], "empty")] == report.unread
    rejects = raw_tables(lake)["REJECTS"].to_pylist()
    assert report.damages == len(rejects)
    ledger = {name: digest for digest, dump in lake.snapshot().digests().items() for name in dump.names}
    assert {ledger[name] for name in names if name != names[2]} == {row["dump"] for row in rejects}
    assert names[2] not in ledger
    assert any("cut short" in row["reason"] for row in rejects)
    assert len(RECORDS) - 1 == len(raw_rows(lake)["RECORDS"])


# --- dumps that cannot be read (G8) ----------------------------------------------------------------------------------


def test_without_one_dump_that_can_be_read_the_load_is_given_up(tmp_path):
    with pytest.raises(LoadError, match=r"nowhere: no such file, and 1 others$"):
        load_raw(tmp_path / "lake", [tmp_path / "nowhere", tmp_path])


def test_a_dump_that_cannot_be_read_stops_no_other_and_may_come_again(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    late = str(tmp_path / "late")
    names = [str(tmp_path / name) for name in ("late", "loop", "pipe")]
    lake, [first] = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS[:6]), *names, "odd://host/a"])
    reasons = ["no such file", "Too many levels of symbolic links", "not a file"]
    assert list(zip(names, reasons, strict=True)) == first.unread[:3]
    assert "odd://host/a" == first.unread[3][0]
    assert (1, 6, 0) == (first.dumps, first.records, first.damages)
    assert [(str(tmp_path / "a"),)] == [each.names for each in lake.snapshot().digests().values()]
    _, [again] = load_raw(tmp_path / "lake", [dump(late, RECORDS[6:])])
    assert (len(RECORDS) - 6, []) == (again.records, again.unread)


def test_a_dump_that_goes_before_its_digest_stops_no_other(tmp_path, monkeypatch):
    good, gone = dump(tmp_path / "good", RECORDS[:6]), dump(tmp_path / "gone", RECORDS[6:])
    monkeypatch.setattr(ingest, "_digest_group", _without(gone, ingest._digest_group))
    _, [report] = load_raw(tmp_path / "lake", [good, gone])
    assert (1, 6, [(gone, "no such file")]) == (report.dumps, report.records, report.unread)


@pytest.mark.parametrize("task_bytes", [4000, 40_000, 1 << 20], ids=["own tasks", "in pieces", "one task"])
@pytest.mark.parametrize("when", ["_orders", "_run"])
def test_a_dump_that_goes_before_a_task_reads_it_is_taken_back_as_a_whole(tmp_path, monkeypatch, task_bytes, when):
    """Whatever shared a task with it is read again, and once; its damage is not in the rejects."""
    many = [task(n, MONDAY_US + n * SECOND_US) for n in range(60)]
    good = [dump(tmp_path / f"good{n}", many[n::4]) for n in range(3)]
    (tmp_path / "cut").write_bytes(b"".join(many[3::4])[:-100])
    expected, _ = load_raw(tmp_path / "expected", good)
    monkeypatch.setattr(dump_orders, "LARGEST_TASK", task_bytes)
    monkeypatch.setattr(dump_orders, "SMALLEST_TASK", task_bytes)
    monkeypatch.setattr(dump_orders, when, _without(tmp_path / "cut", getattr(dump_orders, when)))
    lake, [report] = load_raw(tmp_path / "lake", [*good[:2], str(tmp_path / "cut"), good[2]])
    assert [(str(tmp_path / "cut"), "a task could not read it: no such file")] == report.unread
    assert (3, 45, 0, 0) == (report.dumps, report.records, report.copies, report.damages)
    assert raw_rows(expected) == raw_rows(lake)
    assert set(expected.snapshot().digests()) == set(lake.snapshot().digests())
    listed = {file.path for file in as_files(lake.snapshot().files)}
    assert listed == {name for name, _ in lake.place.walk("raw")}


def test_an_io_error_in_a_task_is_no_damage_of_the_dump(tmp_path, monkeypatch):
    """It was digested: what the medium refuses now is the dump's own content, which must not be known as loaded."""
    good, bad = dump(tmp_path / "good", RECORDS[:6]), dump(tmp_path / "bad", RECORDS[6:])

    class Failing(io.BytesIO):
        def readinto1(self, place):
            if not (got := super().readinto1(place)):
                raise OSError(errno.EIO, "Input/output error")
            return got

        readinto = readinto1

    def opened(path):
        return io.BufferedReader(Failing(Path(path).read_bytes())) if path == bad else Path(path).open("rb")

    monkeypatch.setattr(loading, "open_dump", opened)
    lake, [report] = load_raw(tmp_path / "lake", [good, bad])
    assert [(bad, "a task could not read it: Input/output error")] == report.unread
    assert (6, 0) == (report.records, report.damages)
    assert [(good,)] == [each.names for each in lake.snapshot().digests().values()]


def test_of_a_content_with_two_names_one_may_go(tmp_path, monkeypatch):
    one, other = dump(tmp_path / "one", RECORDS), dump(tmp_path / "other", RECORDS)
    monkeypatch.setattr(dump_orders, "_run", _without(one, dump_orders._run))
    lake, [report] = load_raw(tmp_path / "lake", [one, other])
    assert (1, len(RECORDS), []) == (report.dumps, report.records, report.known)
    assert [one] == [name for name, _ in report.unread]
    assert [(other,)] == [each.names for each in lake.snapshot().digests().values()]


def test_when_all_go_before_they_are_read_the_load_is_given_up(tmp_path, monkeypatch):
    path = dump(tmp_path / "a", RECORDS)
    monkeypatch.setattr(dump_orders, "_run", _without(path, dump_orders._run))
    with pytest.raises(LoadError, match="a: a task could not read it: no such file"):
        load_raw(tmp_path / "lake", [path])


def _without(path, step):
    """The step of a load, before which a dump vanishes."""

    def vanished(*given):
        Path(path).unlink(missing_ok=True)
        return step(*given)

    return vanished


# --- many tasks ------------------------------------------------------------------------------------------------------


def test_a_hot_queue_manager_is_many_tasks(tmp_path, monkeypatch):
    path = dump(tmp_path / "hot", [task(n, MONDAY_US + n * SECOND_US) for n in range(300)])
    monkeypatch.setattr(dump_orders, "LARGEST_TASK", 100_000)
    monkeypatch.setattr(dump_orders, "SMALLEST_TASK", 100_000)
    orders = []
    monkeypatch.setattr(ingest.jobs, "run", _noting(orders, ingest.jobs.run))
    load_raw(tmp_path / "lake", [path])
    sizes = [order.pieces[0].stop - order.pieces[0].start for order in orders if order.pieces[0].stop]
    assert len(orders) > 8
    assert max(sizes) < 2 * min(sizes)


def _noting(orders, run):
    def noted(spark, work, items, **how):
        orders.extend(each for each in items if isinstance(each, loading.Order))
        return run(spark, work, items, **how)

    return noted
