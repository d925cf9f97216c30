"""See `prefixes`."""

import pytest

from crash.prefixes import backout_by_prefixes, shunting_by_prefixes

pytestmark = pytest.mark.crash


def test_a_backout_goes_on_where_it_was_cut():
    backout_by_prefixes()


def test_shunting_counts_when_it_is_complete():
    shunting_by_prefixes()
