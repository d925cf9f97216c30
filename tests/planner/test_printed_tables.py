"""The tables hold what the paper prints: totals of each column, added up from the print and not from the code."""

import pytest

from quaestor.planner.backup import BATCH_RECEIVED_BYTES, BATCH_SENT_BYTES, MESSAGE_OVERHEAD_BYTES
from quaestor.planner.deferred_write import WriteRate
from quaestor.planner.log_rate import BATCH_KIB, PUT_AND_GET
from quaestor.planner.log_space import MP16_CHARTS, STRUCTURE_BACKUP, Action, QueueKind
from quaestor.planner.logload import RESTART_BY_OBJECTS, RESTART_BY_TRANSACTIONS
from quaestor.planner.page_sets import CAPACITY
from quaestor.planner.quantity import KIB, MB, MIB
from quaestor.planner.restart import READ_RATES
from quaestor.planner.source import OutOfRangeError

TOTALS = [
    (MP16_CHARTS[QueueKind.LOCAL, Action.PUT], (5121, 9536, 9536, 8343)),
    (MP16_CHARTS[QueueKind.LOCAL, Action.GET], (5121, 1981, 1981, 742)),
    (MP16_CHARTS[QueueKind.SHARED, Action.PUT], (5121, 7833, 10093, 8222)),
    (MP16_CHARTS[QueueKind.SHARED, Action.GET], (5121, 269, 2604, 738)),
    (STRUCTURE_BACKUP, (5121, 200_000, 340, 7191, 2070)),
    (PUT_AND_GET, (146_500, 160_900, 176_400, 162_050, 167_250, 159_305)),
    (BATCH_KIB, (51, 6.2, 2.6)),
    (RESTART_BY_TRANSACTIONS, (10_000, 14, 60, 0.4)),
    (RESTART_BY_OBJECTS, (18_764, 21, 12.2, 0.6)),
]


@pytest.mark.parametrize(("table", "totals"), TOTALS, ids=lambda value: getattr(value, "name", ""))
def test_columns_add_up_as_printed(table, totals):
    assert totals == pytest.approx([sum(table.column(name)) for name in table.columns])


@pytest.mark.parametrize("table", [table for table, _ in TOTALS], ids=lambda table: table.name)
def test_rows_ascend_and_fill_their_columns(table):
    keys = table.column(table.columns[0])
    assert list(keys) == sorted(set(keys))
    assert {len(table.columns)} == {len(row) for row in table.rows}
    with pytest.raises(OutOfRangeError, match="is outside"):
        table.between(keys[-1] + 1, table.columns[1])


def test_page_set_sizes_add_up_as_printed():
    assert sum(edge for row in CAPACITY for edges in row.sizes.values() for edge in edges) == 776_071


def test_rates_as_printed():
    assert [25, 100, 300, 600] == [rate.value / MIB for rate in WriteRate]
    decimal = {each.lines: each.bytes_per_s / MB for each in READ_RATES if each.lines in {"1385", "1449"}}
    assert decimal == pytest.approx({"1385": 2.7, "1449": 0.5})
    assert [2.6, 0.6] == pytest.approx([each.bytes_per_s / MB for each in READ_RATES if each.lines == "1457"])
    assert [105, 56] == [each.bytes_per_s / MIB for each in READ_RATES[:2]]
    assert [1.3, 2.5, 1.4] == [each / KIB for each in (MESSAGE_OVERHEAD_BYTES, BATCH_SENT_BYTES, BATCH_RECEIVED_BYTES)]
