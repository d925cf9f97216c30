"""Parts of days that add up to their table, on Arrow rows alone (P1 to P5, U2 to U5, Y3)."""

from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.daily_parts import describe, in_parts, rows_together, stored_columns
from quaestor.pipeline.day_part import _portions, part_of, part_schema, split
from quaestor.pipeline.flow import _spark_schema
from quaestor.pipeline.manifest import RAW, LakeFile
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.summary import tables
from quaestor.pipeline.update_language import parse

TEXT = """
DEFINE UPDATE A FROM SMF_116_01 SECTION QUEUE_BLOCK TO DRL.T WHERE PUTN <> 13
  GROUP BY (WEEK = DATE((DAYS(SM116DTE) - 1) / 7 * 7 + 1), Q = SM116SSI)
  SET (PUTS = SUM(PUTN), MOST = MAX(PUTN), LEAST = MIN(PUTN), ROWS = COUNT(*), KNOWN = COUNT(PUTN), MEAN = AVG(PUTN),
       LATEST = MAX(SM116TME));
DEFINE UPDATE B FROM SMF_116_01 TO DRL.T
  GROUP BY (WEEK = DATE((DAYS(SM116DTE) - 1) / 7 * 7 + 1), Q = SM116SSI)
  SET (PUTS = SUM(WTASCMN), COMMITS = SUM(WTASCMN));
"""
(TABLE,) = tables(compile_update(each, DEFAULT_PLAN) for each in parse(TEXT)).values()
STORED = in_parts(TABLE, DEFAULT_PLAN)
DESCRIPTION = describe(TABLE, _spark_schema(STORED), DEFAULT_PLAN)
MONDAY = datetime(2026, 1, 5)
COLUMNS = {"WQST": "puts", "WTAS": "commits"}


def raw(structure, rows):
    """Rows of a structure: (day, hour, queue manager, figure)."""
    return pa.table(
        {
            "local_time": pa.array([MONDAY + timedelta(days=d, hours=h) for d, h, _, _ in rows], pa.timestamp("us")),
            "queue_manager": pa.array([name for _, _, name, _ in rows], pa.string()),
            "record_id": pa.array([bytes(16)] * len(rows), pa.binary(16)),
            COLUMNS[structure]: pa.array([figure for *_, figure in rows], pa.int64()),
        }
    )


def part(queues, tasks):
    return part_of(STORED, {"WQST": raw("WQST", queues), "WTAS": raw("WTAS", tasks)})


def table_of(*parts, days=None):
    """The table, read from its parts."""
    laid = pa.concat_tables([part_schema(STORED).empty_table(), *parts])
    made = rows_together(laid, DESCRIPTION, days or [None] * len(parts))
    return sorted(made.to_pylist(), key=lambda row: (row["WEEK"], row["Q"] or ""))


def test_averages_are_stored_as_their_sum_and_count():
    """P2; the table's own columns are remembered, so that it can be read without its definition."""
    assert ["WEEK", "Q", "PUTS", "MOST", "LEAST", "ROWS", "KNOWN", "MEAN__SUM", "MEAN__COUNT", "LATEST", "COMMITS"] == (
        part_schema(STORED).names
    )
    assert ["WEEK", "Q"] == DESCRIPTION["keys"]
    assert {"PUTS": "SUM", "MEAN": "AVG", "LATEST": "MAX"}.items() <= DESCRIPTION["columns"].items()
    assert (False, "longer") == (DESCRIPTION["by_day"], DESCRIPTION["grain"])
    assert ["WEEK", "Q", "MEAN__SUM", "MEAN__COUNT", "COMMITS"] == stored_columns(DESCRIPTION, {"MEAN", "COMMITS", "X"})


def test_two_updates_of_a_day_meet_in_one_row():
    """Y3: what both set adds up, what none of a row's updates set is null."""
    (row,) = table_of(part([(0, 9, "QM1", 4), (0, 10, "QM1", None), (0, 11, "QM1", 13)], [(0, 9, "QM1", 5)]))
    assert {
        "WEEK": date(2026, 1, 5), "Q": "QM1", "PUTS": 9, "MOST": 4, "LEAST": 4, "ROWS": 1, "KNOWN": 1, "MEAN": 4.0,
        "LATEST": "09:00:00.00", "COMMITS": 5,
    } == row  # fmt: skip  # a condition that is null does not hold
    (alone,) = table_of(part([], [(0, 9, "QM2", 3)]))
    assert (3, 3, None, None, None) == tuple(alone[each] for each in ("PUTS", "COMMITS", "ROWS", "MEAN", "LATEST"))


def test_a_day_without_rows_is_an_empty_part_of_the_same_columns():
    assert (0, part_schema(STORED)) == (part([], []).num_rows, part([], []).schema)
    assert [] == table_of()


def week_of(queues, tasks):
    """The table by counting in plain Python."""
    found = {}
    for rows, counted in ((queues, "queue"), (tasks, "task")):
        for day, hour, name, figure in rows:
            if counted == "queue" and (figure is None or figure == 13):
                continue
            monday = date(2026, 1, 5) + timedelta(days=day // 7 * 7)
            found.setdefault((monday, name), []).append((counted, hour, figure))
    made = []
    for (monday, name), held in found.items():
        puts = [figure for kind, _, figure in held if kind == "queue"]
        commits = [figure for kind, _, figure in held if kind == "task"]
        known = [each for each in puts + commits if each is not None]
        times = [hour for kind, hour, _ in held if kind == "queue"]
        made.append(
            {
                "WEEK": monday, "Q": name, "PUTS": sum(known) if known else None,
                "MOST": max(puts) if puts else None, "LEAST": min(puts) if puts else None,
                "ROWS": len(puts) or None, "KNOWN": len(puts) or None,
                "MEAN": sum(puts) / len(puts) if puts else None,
                "LATEST": f"{max(times):02d}:00:00.00" if times else None,
                "COMMITS": sum(each for each in commits if each is not None)
                if any(each is not None for each in commits) else None,
            }
        )  # fmt: skip
    return sorted(made, key=lambda row: (row["WEEK"], row["Q"] or ""))


ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 6, 7]),
        st.integers(0, 23),
        st.sampled_from(["QM1", "QM2", None]),
        st.none() | st.integers(0, 20),
    ),
    max_size=10,
)


@settings(max_examples=12)
@given(ROWS, ROWS)
def test_the_days_of_a_week_add_up_to_the_week(queues, tasks):
    """P2, P3: however many days, and a part for each of them or one for all."""
    days = sorted({row[0] for row in queues + tasks})
    by_day = [part([r for r in queues if r[0] == day], [r for r in tasks if r[0] == day]) for day in days]
    expected = week_of(queues, tasks)
    assert expected == table_of(part(queues, tasks)) == table_of(*by_day)


@pytest.mark.parametrize(
    ("by_day", "days", "added"), [(True, [1, 2], False), (True, [1, 1], True), (False, [1, 2], True)]
)
def test_rows_that_no_two_days_share_are_not_added_up(by_day, days, added):
    """P4: only where a day is several files, or the table has no date, rows of equal keys meet."""
    parts = pa.table({"K": ["a", "a"], "N": [1, 2]})
    made = rows_together(parts, {"keys": ["K"], "columns": {"N": "SUM"}, "by_day": by_day}, days)
    assert ([3] if added else [1, 2]) == made["N"].to_pylist()


# --- files (U2 to U4) -------------------------------------------------------------------------------------------------


def files(*sizes, manager="QM01"):
    return tuple(
        LakeFile("T", RAW, date(2026, 1, 5), manager, f"{n}-{manager}", 1, size) for n, size in enumerate(sizes)
    )


def sizes(orders):
    return [{name: [each.bytes for each in some] for name, some in order.items()} for order in orders]


def test_a_large_day_is_several_orders():
    given = {"WTAS": files(5, 5, 5), "WQST": files(20, 1)}
    assert [{"WTAS": [5, 5]}, {"WTAS": [5]}, {"WQST": [20]}, {"WQST": [1]}] == sizes(split(given, 10))
    assert [{"WTAS": [5, 5, 5], "WQST": [20, 1]}] == sizes(split(given, 36))
    assert [{}] == split({}, 10)


def test_joined_structures_of_a_queue_manager_stay_together():
    given = {
        "WTAS": (*files(5, manager="QM02"), *files(6, manager=None)),
        "WQST": (*files(7, manager="QM02"), *files(1, manager="QM01")),
    }
    assert [{"WTAS": [6], "WQST": [1]}, {"WTAS": [5], "WQST": [7]}] == sizes(split(given, 10, joined=True))


def test_so_many_bytes_are_read_at_a_time(monkeypatch):
    monkeypatch.setattr("quaestor.pipeline.day_part.ROUND_BYTES", 10)
    rounds = [[each.bytes for each in portion] for portion in _portions(files(4, 4, 4, 10, 1), whole=False)]
    assert [[4, 4, 4], [10], [1]] == rounds
    assert [] == list(_portions((), whole=False))
    both = (*files(4, manager="B"), *files(9, 9, manager="A"), *files(5, manager=None))
    assert [[5], [9, 9], [4]] == [[each.bytes for each in portion] for portion in _portions(both, whole=True)]
