"""`quaestor plan simulate`: options in, a run out; mistakes in one line."""

import json
import re
from datetime import datetime

import pytest
from click.testing import CliRunner

from quaestor.cli.main import main
from quaestor.planner.measurement import MeasuredQueue, Measurement


def run(*words):
    return CliRunner().invoke(main, ["plan", "simulate", "--seconds", "1", *map(str, words)])


def records(*words):
    found = run("--json", *words)
    assert 0 == found.exit_code, found.output
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_one_putter_waits_for_its_own_log_write():
    (found,) = records("--size", "100", "--log-io", "0.5ms", "--copies", "1", "--put-cpu", "0us", "--getters", 0)
    assert 0.5 == pytest.approx(found["put_ms"]["p50"])
    assert 2000 == pytest.approx(found["puts_per_s"], rel=0.01)
    assert "log" == found["bottleneck"]


def test_growing_putters_share_log_writes():
    few, many = records("--putters", 2, "--getters", 2, "--grow", "8")
    assert "2 putters" == few["work"]
    assert "16 putters" == many["work"]
    assert many["puts_per_s"] > 4 * few["puts_per_s"]
    assert many["commits_per_log_write"] > few["commits_per_log_write"]


def test_fewer_putters_leave_one_getter():
    """A quarter of four putters and of one getter are one of each; where nobody gets, nobody begins to."""
    _, fewer = records("--putters", 4, "--grow", "0.25")
    assert fewer["messages_per_s"] > 0.9 * fewer["puts_per_s"]
    _, none = records("--putters", 4, "--getters", 0, "--grow", "0.25")
    assert 0 == none["messages_per_s"]


def test_messages_of_another_size_than_measured_log_their_own_bytes(monkeypatch):
    """1 KB was measured, at 2,000 bytes a call; 1 MB fills 256 pages of log, two I/Os of 128 beside the current one."""
    counted = {"put_bytes": 1024 * 36_000, "get_bytes": 0, "persistent_puts": 36_000}
    queue = MeasuredQueue(queue="A", valid_puts=36_000, valid_destructive_gets=0, **counted)
    hour = Measurement(
        queue_manager="QM1", hour=datetime(2026, 3, 2, 9), seconds=3600, queues=[queue], tasks={"log_bytes": 72_000_000}
    )
    monkeypatch.setattr("quaestor.cli.plan_simulate.measurement", lambda _: hour)
    small, large = (run("--from-lake", "LAKE", "--seconds", 5, *words) for words in ((), ("--size", "1M")))
    assert "put_log_bytes" not in small.stderr
    assert "put_log_bytes, get_log_bytes" in large.stderr
    once, often = (float(found.stdout.partition("its commit")[2].split()[0]) for found in (small, large))
    assert (pytest.approx(1.2, abs=0.1), True) == (once, often > once + 2 * 3)


def test_a_rate_grows_too():
    few, many = records("--rate", "100/s", "--grow", "3")
    assert ("100/s arrive", "300/s arrive") == (few["work"], many["work"])
    assert 300 == pytest.approx(many["puts_per_s"], rel=0.2)


def test_a_rate_of_a_few_an_hour_is_not_nothing():
    """An hour of a quiet queue manager has less than a message a second; many are told without an exponent."""
    found = run("--rate", "6/min", "--seconds", 100)
    assert re.match(r"0\.1/s arrive: 0\.\d+/s put, 0\.\d+/s got; ", found.stdout), found.stdout
    many = run("--rate", "1M/s", "--seconds", 0.2, "--getters", 0)
    assert many.stdout.startswith("1,000,000/s arrive: "), many.stdout


def test_channels_in_words():
    found = run("--rate", "500/s", "--getters", 0, "--channels", 1, "--network", "2ms", "--batchsz", 10)
    assert 0 == found.exit_code, found.output
    assert "500/s arrive: " in found.stdout
    assert "from put to got" in found.stdout
    assert "channels " in found.stdout


def test_non_persistent_messages_do_not_wait_for_the_log():
    (found,) = records(
        "--non-persistent", "--put-cpu", "100us", "--processors", 1, "--getters", 0, "--buffers", 500_000
    )
    assert 0.1 == pytest.approx(found["put_ms"]["p50"])
    assert "processors" == found["bottleneck"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--size", "big"), "'big'"),
        (("--log-io", "5"), "'5'"),
        (("--grow", "twice"), "--grow 'twice' is not a factor: write 2,4,8"),
        (("--putters", 0), "putters 0 is not valid: 1 or more, or arrivals_per_s"),
        (("--buffers", 3), "buffers 3 is not valid"),
        (("--queue-manager", "QM1"), "--queue-manager needs --from-lake"),
    ],
)
def test_what_cannot_be_is_refused(words, said):
    found = run(*words)
    assert 2 == found.exit_code
    assert said in found.stderr
