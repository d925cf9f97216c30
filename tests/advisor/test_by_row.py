"""A planner's formula over columns: a figure for each row, or not known (W1)."""

import numpy as np
import pytest

from quaestor.advisor.by_row import by_row
from quaestor.planner.batches import advised_batchsz_max, batchint_ms_for
from quaestor.planner.dasd import log_rate_mb_per_sec


def test_each_row_has_the_formulas_value():
    made = by_row(advised_batchsz_max, np.array([5000.0, 100_001.0, 2.0**20]))
    assert [100, 10, 1] == made.tolist()
    assert np.float64 == made.dtype


def test_arguments_come_in_the_order_of_the_columns():
    assert [50_000, 20] == by_row(batchint_ms_for, np.array([1.0, 50.0]), np.array([50, 1])).tolist()


def test_what_is_not_known_makes_no_figure():
    rates = by_row(batchint_ms_for, np.array([np.nan, 1.0, 1.0]), np.array([50.0, np.nan, 50.0]))
    assert [True, True, False] == np.isnan(rates).tolist()
    names = np.array([None, "DS8800 (RAID 5)"], object)
    limits = by_row(log_rate_mb_per_sec, names, np.array([1000.0, 1000.0]))
    assert [True, False] == np.isnan(limits).tolist()


def test_what_the_formula_refuses_is_not_known():
    """0 messages a second never fill a batch; of DASD that the chapter does not list it says nothing."""
    assert [True, False] == np.isnan(by_row(batchint_ms_for, np.array([0.0, 1.0]), np.array([50, 50]))).tolist()
    assert np.isnan(by_row(log_rate_mb_per_sec, np.array(["diskette"], object), np.array([1000.0])))[0]


def test_no_rows_have_no_figures():
    made = by_row(advised_batchsz_max, np.empty(0))
    assert (0, np.float64) == (len(made), made.dtype)


def test_columns_are_of_one_length():
    with pytest.raises(ValueError, match="shorter"):
        by_row(batchint_ms_for, np.array([1.0, 2.0]), np.array([50.0]))
