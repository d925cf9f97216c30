"""Any report may be the first that is asked for: Spark starts with its first table, not before (G6)."""

import pytest
from pyspark import SparkContext

from quaestor.pipeline.report_queries import QUERIES
from quaestor.reports.catalog import find


class TableAskedFor(Exception):  # noqa: N818  no error: the query has come as far as it should
    """Raised in place of a table."""


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_a_query_asks_for_a_table_before_it_needs_spark(name, monkeypatch):
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)

    def tables(_):
        raise TableAskedFor

    with pytest.raises(TableAskedFor):
        QUERIES[name](tables, find(name).arguments({}))
