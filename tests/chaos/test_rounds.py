"""What a round of the chaos test tells of a world that does not come about, and of members that do not stay."""

import signal
import sys

import pytest

from chaos import rounds
from chaos.serve import CANNOT_START
from chaos.world import Program, World


class NoWorld:
    """A world whose members do not start."""

    kinds, members, clients = (), {}, {}
    closed = False

    def start(self):
        raise AssertionError("the members do not start")

    def died(self):
        return ["QM1 ended with 1"]

    def events(self):
        return []

    def close(self):
        NoWorld.closed = True


def test_a_world_that_does_not_start_is_told(tmp_path, monkeypatch):
    """The operator was not started either: that must not hide why."""
    monkeypatch.setattr(rounds, "World", lambda *_, **__: NoWorld())
    problems, events = rounds.run_round(tmp_path, "facility", [["member"]], 1)
    assert ["the members do not start (operator: )", "QM1 ended with 1"] == problems
    assert not events
    assert NoWorld.closed


@pytest.fixture
def ends(tmp_path):
    """A program that ends with a code, when it has."""

    def program(code):
        made = Program("QM1", [sys.executable, "-Sc", f"print('a word'); raise SystemExit({code})"], tmp_path / "log")
        made.start()
        made.process.wait(30)
        return made

    return program


def died(program):
    world = World.__new__(World)
    world.members, world.clients = {"QM1": program}, {}
    return world.died()


def test_a_member_that_ended_by_itself_is_told_after_it_was_started_again(ends):
    """Whoever heals the world starts what is down; that it was down by itself must not be forgotten."""
    program = ends(1)
    assert ["QM1 ended with 1: a word\n"] == died(program)
    program.start()
    program.process.wait(30)
    assert 2 == len(died(program))


@pytest.mark.parametrize("code", [0, CANNOT_START])
def test_a_member_that_ended_in_good_order_is_no_death(ends, code):
    assert [] == died(ends(code))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_member_that_was_killed_is_no_death(tmp_path, how):
    program = Program("QM1", ["sleep", "60"], tmp_path / "log")
    program.start()
    program.process.send_signal(how)
    program.process.wait(30)
    program.start()
    program.kill()
    assert [] == died(program)
