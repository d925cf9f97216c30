"""What changes of a lake leave behind, and what killed ones do not (K1 to K6)."""

import json
from datetime import date

import pytest

from pipeline.lakes import DAY_US, HOUR_US, MONDAY_US, dump, load_raw, raw_rows, task
from quaestor.pipeline.errors import LakeError, UnknownTableError
from quaestor.pipeline.lake import HEAD, MANIFEST, Lake
from quaestor.pipeline.manifest import RAW, SUMMARY, LakeFile, LoadedDump
from quaestor.pipeline.raw_tables import RAW_TABLES
from quaestor.pipeline.reading import full_name

RECORDS = [task(n, MONDAY_US + n * HOUR_US) for n in range(6)]
DEAD = "000002-deadbeef"


@pytest.fixture
def lake(tmp_path):
    return load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS[:3])])[0]


def names(lake, folder=""):
    return {name for name, _ in lake.place.walk(folder)}


def left_by_a_killed_load(lake, tmp_path):
    """Every kind of file that a load has written when it is killed before its commit."""
    root = tmp_path / "lake"
    (partition,) = {each.path.rpartition("/")[0] for each in lake.snapshot().live("WTAS")}
    left = [
        f"{MANIFEST}/loading-{DEAD}",
        f"{MANIFEST}/{DEAD}.files.parquet",
        f"{MANIFEST}/{DEAD}.dumps.parquet",
        f"{MANIFEST}/.{DEAD}.dumps.parquet.new-4711",
        f"{partition}/{DEAD}.000000.0000.parquet",
        f"summary/DRL.T/day=2026-01-05/{DEAD}.0000.parquet",
        f".{HEAD}.new-4711",
    ]
    for each in left:
        (root / each).parent.mkdir(parents=True, exist_ok=True)
        (root / each).write_bytes(b"half")
    return set(left)


def test_all_that_a_killed_load_left_is_swept_by_the_next_change(tmp_path, lake):
    """K2: raw files and parts, its lists, and what was to become a file."""
    before, rows = names(lake), raw_rows(lake)
    left = left_by_a_killed_load(lake, tmp_path)
    assert before | left == names(lake)
    with lake.change():
        assert not left & names(lake)
    assert (before, rows) == (names(lake), raw_rows(lake))


def test_a_load_killed_right_after_its_commit_is_whole(tmp_path, lake):
    """Only its mark is left: what it wrote is alive and stays, its lists too."""
    (tmp_path / "lake" / MANIFEST / f"loading-{lake.snapshot().files['path'][0].as_py().split('/')[-1][:15]}").touch()
    rows, lists = raw_rows(lake), {name for name in names(lake, MANIFEST) if "loading" not in name}
    with lake.change():
        pass
    assert (rows, lists) == (raw_rows(lake), names(lake, MANIFEST))


def test_the_first_load_may_be_killed_at_its_very_commit(tmp_path):
    """Nothing but our own files is in the folder, so the next load makes the lake (K1, K4)."""
    root = tmp_path / "lake"
    (root / MANIFEST).mkdir(parents=True)
    (root / f".{HEAD}.new-4711").write_bytes(b"half")
    lake, _ = load_raw(root, [dump(tmp_path / "a", RECORDS)])
    assert 6 == len(raw_rows(lake)["WTAS"])
    assert not (root / f".{HEAD}.new-4711").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".lake.json.new-me").touch()
    with pytest.raises(LakeError, match=r"not a lake, and not empty \(\.lake\.json\.new-me is in it\)"):
        Lake.made_at(tmp_path / "other")


def test_a_commit_keeps_two_pairs_of_lists_and_no_more(tmp_path, lake):
    """The current ones and those of the snapshot before, for its readers."""
    for number in range(3):
        load_raw(tmp_path / "lake", [dump(tmp_path / f"b{number}", [task(9, MONDAY_US + number * DAY_US)])])
        assert 4 == len(names(lake, MANIFEST))
    assert 4 == lake.snapshot().number


def test_a_change_is_told_before_it_is_made(lake):
    """The preview is the snapshot that the commit makes."""
    old = lake.snapshot()
    with lake.change() as change:
        change.added.append(LakeFile("DRL.T", SUMMARY, date(2026, 1, 5), None, f"summary/DRL.T/{change.id}", 4, 40))
        change.removed.add(old.live("WTAS")[0].path)
        change.dumps.append(LoadedDump("ff", ("b", "c"), 7, 3, 1, change.id))
        change.summaries["DRL.T"] = {"keys": ["K"]}
        change.horizon = date(2026, 1, 2)
        told = change.preview()
        assert old.number == lake.snapshot().number
        change.commit()
    made = lake.snapshot()
    assert (2, date(2026, 1, 2), {"DRL.T": {"keys": ["K"]}}) == (made.number, made.horizon, made.summaries)
    assert (told.files, told.dumps) == (made.files, made.dumps)
    assert ([], [(4, 40)]) == (made.live("WTAS"), [(each.rows, each.bytes) for each in made.live("DRL.T")])
    assert 2 == len(made.digests())
    assert old.live("WTAS")[0].path in made.retired
    with lake.change() as change:
        change.commit()
    assert date(2026, 1, 2) == lake.snapshot().horizon  # once there, it stays


def test_a_dump_that_is_named_again_replaces_its_entry(lake):
    [known] = lake.snapshot().digests().values()
    with lake.change() as change:
        change.dumps.append(LoadedDump(known.digest, (*known.names, "z"), *(3, 3, 0), known.loaded_by))
        change.commit()
    assert [(*known.names, "z")] == [each.names for each in lake.snapshot().digests().values()]


def test_starting_over_keeps_what_only_the_lake_remembers(lake):
    """Summaries of purged days cannot be made again; all else can."""
    days = [date(2026, 1, 1), date(2026, 1, 5)]
    with lake.change() as change:
        change.added += [LakeFile("T", SUMMARY, day, None, f"summary/T/{day}", 1, 1) for day in days]
        change.commit()
    for horizon, kept in ((None, set()), (date(2026, 1, 5), {"summary/T/2026-01-01"}), (date(2026, 1, 1), set())):
        with lake.change() as change:
            change.base = type(change.base)(2, change.base.files, change.base.dumps, change.base.summaries, horizon)
            assert (lake.list_of_files(), 1) == (change.known_files, len(change.ledger))
            change.start_over({"T"})
            assert kept == set(change.files()["path"].to_pylist())
            assert ({}, None) == (change.ledger, change.known_files)


def test_starting_over_keeps_tables_that_nobody_makes_again(lake):
    with lake.change() as change:
        change.added.append(LakeFile("T", SUMMARY, date(2026, 1, 5), None, "summary/T/2026-01-05", 1, 1))
        change.commit()
    with lake.change() as change:
        change.start_over({"U"})
        assert ["summary/T/2026-01-05"] == change.files()["path"].to_pylist()


@pytest.mark.parametrize("head", ["", "[]", "null", '{"format": "x"}', '{"format": null}', "\x00"])
def test_a_head_that_is_none_is_one_line(tmp_path, lake, head):
    (tmp_path / "lake" / HEAD).write_text(head)
    with pytest.raises(LakeError, match=r"lake: lake\.json cannot be read; is this a lake\?$"):
        Lake.at(tmp_path / "lake")


def test_a_head_that_lacks_its_lists_is_one_line(tmp_path, lake):
    head = json.loads((tmp_path / "lake" / HEAD).read_text())
    for name in ("snapshot", "files", "dumps", "summaries", "horizon", "retired"):
        (tmp_path / "lake" / HEAD).write_text(json.dumps({key: each for key, each in head.items() if key != name}))
        with pytest.raises(LakeError, match=r"lake: lake\.json cannot be read; is this a lake\?$"):
            lake.snapshot()


@pytest.mark.parametrize("which", ["files", "dumps"])
def test_a_list_that_is_missing_is_one_line(tmp_path, lake, which):
    (tmp_path / "lake" / lake._head()[which]).unlink()
    with pytest.raises(LakeError, match=r"lake: a list of its files is missing; the lake is damaged"):
        Lake.at(tmp_path / "lake")


def test_a_reader_that_two_commits_overtake_reads_the_head_again(tmp_path, lake, monkeypatch):
    """Between its head and its lists; the lists that it was told of are swept by then."""
    head = Lake._head

    def slow(self):
        found = head(self)
        if self is lake and found["snapshot"] == 1:
            for name in ("b", "c"):
                load_raw(tmp_path / "lake", [dump(tmp_path / name, [task(7, MONDAY_US, f"QM{name}")])])
        return found

    monkeypatch.setattr(Lake, "_head", slow)
    assert (3, 3) == (lake.snapshot().number, lake.snapshot().dumps.num_rows)


def test_tables_go_by_their_names_in_any_case(lake):
    """T4: with or without what stands before the dot."""
    with lake.change() as change:
        change.summaries |= {"DRL.DAILY": {}, "POOLS": {}}
        change.commit()
    snapshot = lake.snapshot()
    assert [*RAW_TABLES, "DRL.DAILY", "POOLS", "FILES", "DUMPS"] == lake.tables()
    asked = ("wtas", "Records", "daily", "drl.daily", "DRL.DAILY", "pools", "files", "DUMPS")
    found = ["WTAS", "RECORDS", "DRL.DAILY", "DRL.DAILY", "DRL.DAILY", "POOLS", "FILES", "DUMPS"]
    assert found == [full_name(snapshot, each) for each in asked]
    for wrong in ("DRL", "DRL.", "", "X.DAILY", "DAIL"):
        with pytest.raises(UnknownTableError, match=f"no table {wrong}; tables are .*, DRL.DAILY, POOLS, FILES, DUMPS"):
            full_name(snapshot, wrong)
    with pytest.raises(UnknownTableError, match="WTAS is no summary table"):
        lake.rows("WTAS", [])


def test_the_live_files_of_some_partitions(tmp_path):
    records = [task(1, MONDAY_US + day * DAY_US, name) for day in range(3) for name in ("QM01", "QM02")]
    snapshot = load_raw(tmp_path / "lake", [dump(tmp_path / "a", records)])[0].snapshot()
    days = [date(2026, 1, 5), date(2026, 1, 6), date(2026, 1, 7)]

    def live(**narrowed):
        return sorted((each.day, each.queue_manager) for each in snapshot.live("WTAS", **narrowed))

    assert [(day, name) for day in days for name in ("QM01", "QM02")] == live()
    assert [(days[1], "QM01"), (days[1], "QM02")] == live(days=[days[1]])
    assert [(day, "QM02") for day in days] == live(queue_managers=["QM02"])
    assert [(days[0], "QM01")] == live(days=days[:1], queue_managers=["QM01", "QM09"])
    assert [] == live(days=[]) == live(queue_managers=[])
    assert days == snapshot.days()
    assert [] == snapshot.days(SUMMARY)
    assert {"RECORDS", "WTAS", "WQST"} <= set(snapshot.tables(RAW))
