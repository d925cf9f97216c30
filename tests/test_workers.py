"""Tests of one group run one after the other in one worker: one Spark, one chaos."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


@pytest.mark.xdist_group("together")
def test_a_worker_knows_the_group_of_a_test(request):
    """Workers tell it with the name of the test. Where it is lost nothing fails, but each of them starts a Spark."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("no workers with groups")
    pinned = re.search(r"^pytest==(.*)$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert pinned is not None
    if pinned.group(1) != version("pytest"):
        pytest.skip("another pytest than that of constraints.txt")
    assert request.node.nodeid.endswith("@together")
