"""Tests of one group run one after the other in one worker: one Spark, one chaos, one module."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


@pytest.fixture
def named(request):
    """The name of a test as a worker tells it, with its group."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("no workers with groups")
    pinned = re.search(r"^pytest==(.*)$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert pinned is not None
    if pinned.group(1) != version("pytest"):
        pytest.skip("another pytest than that of constraints.txt")
    return request.node.nodeid


@pytest.mark.xdist_group("together")
def test_a_worker_knows_the_group_of_a_test(named):
    """Workers tell it with the name of the test. Where it is lost nothing fails, but each of them starts a Spark."""
    assert named.endswith("@together")


def test_the_tests_of_a_module_are_a_group(named):
    """Where they are not nothing fails, but each worker makes what they share."""
    assert named.endswith("@test_workers")


@pytest.mark.crash
def test_cuts_of_the_power_go_one_by_one(named):
    """Some of their modules take minutes: one worker would be at them long after the others."""
    assert "@" not in named
