"""Console sessions, one for each family of commands: played again, they must read the same."""

import pytest

from qmgr.command.console import SESSIONS, console_of
from quaestor.qmgr.command import FAMILIES
from quaestor.qmgr.command.family import marks_of


@pytest.mark.parametrize("path", sorted(SESSIONS.glob("*.txt")), ids=lambda path: path.stem)
def test_the_session_reads_the_same(path, tmp_path):
    session = path.read_text(encoding="utf-8")
    assert session == console_of(session, tmp_path).play(session)


def test_every_command_occurs_in_a_session():
    from quaestor.mqi.mqsc import MQSCError, parse

    played = set()
    for path in SESSIONS.glob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                played |= {(command.verb, command.noun) for command in parse(line[2:] if line[:2] == "> " else "")}
            except MQSCError:
                continue
    supported = {(mark.verb, mark.noun) for family in FAMILIES for _, mark in marks_of(family)}
    assert set() == supported - played - {("ALTER", "TRACE")} - ALIKE


ALIKE = {("ALTER", noun) for noun in ("QALIAS", "QREMOTE", "QMODEL", "PROCESS")} | {
    ("DISPLAY", noun) for noun in ("QALIAS", "QREMOTE", "QMODEL")
}
"""Run by the same method as those that are played."""
