"""What holds for every test: a busy machine fails nothing, and one Spark session serves all who need one."""

import gc
import mmap
import os
import signal

import pytest
from hypothesis import settings

from memory import MEMORY
from quaestor.qmgr.log import forcing

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Hundreds of processes are started: each finds what the first of them has compiled."""

os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:+UseSerialGC")
"""Two processors are shared with other tests: collecting in one thread takes a sixth of the JVM's time less."""

forcing.MEMORY &= ~getattr(mmap, "MAP_POPULATE", 0)
"""Thousands of queue managers are started, each for a few puts: most pages of their log buffers are never touched."""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""What a shell runs in the background ignores interrupts, and so would every process that a test starts."""

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}
"""A few rows do not pay for generated code."""


@pytest.fixture(scope="session")
def spark():
    from quaestor.pipeline.session import session

    made = session("local[2]", QUICK)
    yield made
    made.stop()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """What is collected stays to the end, so no search for garbage goes through it: neither now nor later."""
    gc.disable()
    answer = yield
    gc.freeze()
    gc.enable()
    return answer


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """All tests with a session go to one worker, so that one Spark runs, not two. Slow tests begin first: at the end
    nobody waits for one."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
    answer = yield
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    return answer


LOOKS = gc.get_threshold()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    answer = yield
    MEMORY.give_back()
    return answer


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Whoever sets the collector as for a process of its own has it put aside for good what all later tests leave."""
    answer = yield
    assert gc.get_threshold() == LOOKS, "the test set the collector of this process"
    return answer
