"""A console for tests: sessions are text files that are played again and must read the same.

In a session a line that begins with `> ` is a command, with `! ` something an application does, with `# ` a remark;
what stands between is what the queue manager answered. Play them all again and keep what was answered:

    python tests/qmgr/command/console.py
"""

import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import OpenOptions
from quaestor.qmgr.coupling_facility import CouplingFacilityManager, Group
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.structure import StructureLostError
from quaestor.storage.shared_tables import GroupTables, SqliteTables
from quaestor.testing import SMALL, FaultyDisk

SESSIONS = Path(__file__).parent / "sessions"
ACTS = ("> ", "! ", "# ")
_RBA = re.compile(r"\b(?!0{12})0000[0-9A-F]{8}\b")
"""Where something stands on the log is not what these sessions are about."""


class InMemory:
    """A queue-sharing group with structures in memory."""

    def __init__(self, folder):
        self.facility, self.folder = MemoryFacility(), folder

    def joining(self, name, disk):
        tables = GroupTables(SqliteTables(str(self.folder / "group.db"), "QSG1"))
        group = Group("QSG1", tables, self.facility.connect, name, lambda _: disk)
        return lambda qmgr, *parts: CouplingFacilityManager(qmgr, group, *parts)


class Console:
    """A queue manager, an operator, and applications."""

    def __init__(self, profiles=None, parts=None, input_sets=None, disk=None, group=None, name="QM1", **settings):
        self.disk, self.clock, self.profiles, self.name = disk or FaultyDisk(), FakeClock(), profiles, name
        self.facility = None if group is None else group.facility
        self.settings, self.parts, self.input_sets = replace(SMALL, **settings), parts, input_sets
        self.join = None if group is None else group.joining(name, self.disk)
        self.start()

    def start(self):
        self.qm = QueueManager(
            self.name,
            self.disk,
            self.clock,
            self.settings,
            lambda: self.profiles,
            self.parts,
            self.input_sets,
            join=self.join,
        )
        self.qm.start(background=False)
        self.qm.commands.pause = lambda _: None
        self.app, self.opened = None, []

    def restart(self):
        """Without anybody having been told to stop."""
        self.qm.abandon()
        self.start()

    def run(self, text, user="OPER"):
        return self.qm.commands.run(text, user)

    def rows(self, text):
        reply = self.run(text)
        assert reply.ok, reply.lines
        return reply.rows

    def connect(self, user="ALICE"):
        self.app = self.qm.connect(user, "payroll")
        return self.app

    def perform(self, act):
        """What an application does."""
        verb, *words = act.split()
        app = self.app or self.connect()
        match verb:
            case "put":
                for number in range(int(words[1])):
                    app.put(words[0], f"message {number}", MQMD(persistence=1))
            case "get":
                app.get(words[0])
            case "open":
                self.opened.append(app.open(words[0], OpenOptions.INPUT_AS_Q_DEF | OpenOptions.INQUIRE))
            case "close":
                self.opened.pop().close()
            case "commit":
                app.commit()
            case "prepare":
                app.prepare(words[0].encode())
            case "wait":
                self.clock.us += int(words[0]) * 1_000_000
            case "restart":
                self.restart()
            case "background":
                self.steps()
            case "lose":
                self.lose(words[0])
            case "connect":
                for task in self.qm.shared.tasks():
                    task.step()
            case _:
                raise AssertionError(f"nobody can {act}")

    def lose(self, structure):
        """The structure and everything in it are gone."""
        found = self.qm.shared.structures[structure]
        found._lost(StructureLostError("it is gone"), found._connection)
        self.facility.delete(found.shape.name)

    def steps(self):
        """Background work until none is left."""
        with self.qm.engine.recovery.latch:
            while self.qm.engine.buffers.step():
                pass

    def play(self, session):
        """The session as it reads now."""
        lines = []
        for line in session.splitlines():
            if not line.startswith(ACTS):
                continue
            if line.startswith("#") and lines:
                lines.append("")
            lines.append(line)
            if line.startswith("> "):
                lines += [_RBA.sub("[RBA]", line) for line in self.run(line[2:]).lines]
            elif line.startswith("! "):
                self.perform(line[2:])
        return "\n".join(lines) + "\n"


class Members(Console):
    """Three members of a group, and an operator who goes from one to the other: `at QM2`, `stop QM3`, `start QM3`."""

    def __init__(self, folder):
        group = InMemory(folder)
        self.members = {name: Console(group=group, name=name) for name in ("QM1", "QM2", "QM3")}
        for member in self.members.values():
            self.patient(member)
        self.here, self.clock = self.members["QM1"], self.members["QM1"].clock

    def patient(self, member):
        """While one member waits, the others take their steps."""
        member.qm.shared.forwarding.pause = lambda _: self.follow()

    def run(self, text, user="OPER"):
        return self.here.run(text, user)

    def follow(self):
        """Half a second of all members that are up."""
        for member in self.members.values():
            if member.qm is not None:
                member.clock.advance(seconds=1)
                member.qm.copies.step()
                member.qm.shared.forwarding.step()
                with member.qm.engine.recovery.latch:
                    member.qm.messages.follow_step()

    def perform(self, act):
        verb, *words = act.split()
        match verb:
            case "at":
                self.here = self.members[words[0]]
            case "follow":
                self.follow()
            case "stop":
                self.members[words[0]].qm.stop()
                self.members[words[0]].qm = None
            case "start":
                self.members[words[0]].start()
                self.patient(self.members[words[0]])
            case _:
                self.here.perform(act)


def depth(console, queue):
    return console.qm.messages.catalogue.state(queue).stored.depth


def console_of(session, folder):
    """The console that a session is played on: one about sharing needs a group, one about members three of them."""
    if session.startswith("# members"):
        return Members(folder)
    return Console(archive=True, group=InMemory(folder) if session.startswith("# a group") else None)


if __name__ == "__main__":
    for path in sorted(SESSIONS.glob("*.txt")):
        with TemporaryDirectory() as folder:
            session = path.read_text()
            path.write_text(console_of(session, Path(folder)).play(session))
