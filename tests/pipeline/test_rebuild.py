"""A lake made again from its dumps: of the contents that were loaded, all of them or not at all (W3, G7)."""

from pathlib import Path

import pytest

from pipeline.lakes import DAY_US, MONDAY_US, SECOND_US, dump, raw_rows, task
from quaestor.pipeline import dump_orders, flow
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.errors import LoadError
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.manifest import LoadedDump
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.retention import Retention, purge
from quaestor.pipeline.summary import tables
from quaestor.pipeline.update_language import parse

TASKS = [task(n, MONDAY_US + n * SECOND_US) for n in range(12)]
NONE = Definitions({})


@pytest.fixture
def lake(tmp_path):
    """Two dumps that overlap, one of them loaded under two names."""
    one, two = dump(tmp_path / "one", TASKS[:6]), dump(tmp_path / "two", TASKS[4:])
    flow.load(None, tmp_path / "lake", [one, two], NONE)
    flow.load(None, tmp_path / "lake", [dump(tmp_path / "copy", TASKS[:6])], NONE)
    return Lake.at(tmp_path / "lake")


def ledger(lake):
    return {Path(name).name: dump.records for dump in lake.snapshot().digests().values() for name in dump.names}


def test_all_tables_are_made_again(lake):
    before = raw_rows(lake)
    report = flow.rebuild(None, lake.place.root, NONE)
    assert (2, 14, 2) == (report.ingest.dumps, report.ingest.records, report.ingest.copies)
    assert before == raw_rows(lake)
    assert {"one": 6, "copy": 6, "two": 8} == ledger(lake)


@pytest.mark.parametrize("gone", ["one", "copy"])
def test_a_dump_is_found_under_any_of_its_names(tmp_path, lake, gone):
    before = raw_rows(lake)
    (tmp_path / gone).unlink()
    flow.rebuild(None, lake.place.root, NONE)
    assert before == raw_rows(lake)
    assert {"one": 6, "copy": 6, "two": 8}.items() - {(gone, 6)} == ledger(lake).items()


def refused(lake):
    before, snapshot = raw_rows(lake), lake.snapshot().number
    with pytest.raises(LoadError) as told:
        flow.rebuild(None, lake.place.root, NONE)
    assert (before, snapshot) == (raw_rows(lake), lake.snapshot().number)
    return str(told.value)


def test_a_dump_that_is_gone_is_told_and_nothing_is_lost(tmp_path, lake):
    (tmp_path / "two").unlink()
    assert f"{tmp_path / 'two'}: gone or changed since it was loaded; the tables are as they were" == refused(lake)
    for name in ("one", "copy"):
        (tmp_path / name).unlink()
    told = f"{tmp_path / 'copy'}: gone or changed since it was loaded, and 1 others; the tables are as they were"
    assert told == refused(lake)


def test_a_dump_that_goes_while_it_is_read_is_told_and_nothing_is_lost(tmp_path, lake, monkeypatch):
    """G8 leaves a dump out; what was loaded once must not be (G7)."""
    run = dump_orders._run

    def vanishing(*given):
        (tmp_path / "two").unlink(missing_ok=True)
        return run(*given)

    monkeypatch.setattr(dump_orders, "_run", vanishing)
    assert f"{tmp_path / 'two'}: gone or changed since it was loaded; the tables are as they were" == refused(lake)


def test_an_empty_dump_in_the_ledger_is_nothing_that_could_be_lost(tmp_path, lake):
    """Lakes of earlier versions have it there."""
    with lake.change() as change:
        change.dumps.append(LoadedDump("e" * 64, (str(tmp_path / "empty"),), 0, 0, 1, change.id))
        change.commit()
    before = raw_rows(lake)
    flow.rebuild(None, lake.place.root, NONE)
    assert before == raw_rows(lake)


def test_a_name_that_holds_another_content_now_loses_nothing(tmp_path, lake):
    """Loaded under one name day by day, the lake would otherwise keep the last of them alone."""
    dump(tmp_path / "two", TASKS[:1])
    assert str(tmp_path / "two") in refused(lake)


def test_what_was_never_loaded_is_not_loaded_now(tmp_path, lake):
    before = raw_rows(lake)
    dump(tmp_path / "copy", [task(99, MONDAY_US + DAY_US)])
    flow.rebuild(None, lake.place.root, NONE)
    assert before == raw_rows(lake)
    assert {"one": 6, "two": 8} == ledger(lake)


def test_a_table_whose_definition_is_not_at_hand_stays(tmp_path, lake):
    """A user's own table must not be empty until its definition is given again (W3)."""
    text = "DEFINE UPDATE D FROM SMF_116_01 TO D GROUP BY (DATE = SM116DTE) SET (COMMITS = SUM(WTASCMN));"
    mine = Definitions(tables(compile_update(each, DEFAULT_PLAN) for each in parse(text)))
    flow.load(None, lake.place.root, [tmp_path / "one"], mine)
    before = lake.rows("D", ["COMMITS"]).to_pylist()
    assert [66] == [row["COMMITS"] for row in before]
    flow.rebuild(None, lake.place.root, NONE)
    assert before == lake.rows("D", ["COMMITS"]).to_pylist()
    assert {"D": 1} == flow.load(None, lake.place.root, [tmp_path / "one"], mine).summaries
    assert before == lake.rows("D", ["COMMITS"]).to_pylist()


def test_purged_days_stay_purged(tmp_path):
    days = [task(n, MONDAY_US + n * DAY_US) for n in range(5)]
    flow.load(None, tmp_path / "lake", [dump(tmp_path / "a", days)], NONE)
    purge(tmp_path / "lake", Retention(details=2))
    lake = Lake.at(tmp_path / "lake")
    before, horizon = (
        {name: rows for name, rows in raw_rows(lake).items() if name != "REJECTS"},
        lake.snapshot().horizon,
    )
    report = flow.rebuild(None, tmp_path / "lake", NONE)
    assert 3 == report.ingest.damages
    assert horizon == lake.snapshot().horizon
    assert before == {name: rows for name, rows in raw_rows(lake).items() if name != "REJECTS"}
