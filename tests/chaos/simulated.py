"""Chaos in one process: the same clients, members and verdict, but every fault strikes at a chosen request, and a seed
repeats it.

A member's request to a structure may not be sent, may be done without its answer coming back, may be done late, when
the member has connected again or was recovered; or the member dies before or after it. Structures are lost.
"""

from contextlib import suppress
from random import Random

from chaos.coordinating import decide_for_the_dead
from chaos.load import Client
from chaos.queues import DEPTH, EVERYWHERE, PROCESS, TRIGGERED, definitions
from qmgr.shared.sharing import GET_OUT, USES, Sharing
from quaestor.mqi.options import OpenOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.storage.lists.structure import StructureLostError, StructureRefusal
from quaestor.testing import FaultyDisk, PowerCut
from quaestor.testing.history import Recorder, read_histories
from quaestor.testing.triggers import trigger_verdict
from quaestor.testing.verdict import verdict

MEMBERS = ("QM1", "QM2", "QM3")
STRUCTURES = ("APPL1", "APPL2")
HOWS = ("not sent", "answer lost", "late", "dies before", "dies after")


class Fate:
    """What befalls a member's requests: so many go well, then this."""

    def __init__(self, disk):
        self.disk, self.left, self.how = disk, -1, ""

    def arm(self, left, how):
        self.left, self.how = left, how

    def next(self):
        if self.disk._off:
            raise PowerCut
        if self.left < 0:
            return ""
        self.left -= 1
        return self.how if self.left < 0 else ""

    def die(self):
        self.disk._off = True
        raise PowerCut


class Way:
    """A connection to a structure, as far as the member's fate allows."""

    def __init__(self, connection, fate, late):
        self._connection, self._fate, self._late = connection, fate, late
        self.shape, self.connector, self.broken = connection.shape, connection.connector, False

    @property
    def used(self):
        return self._connection.used

    def request(self, *operations):
        how = self._come_to(lambda: self._connection.request(*operations))
        answers = self._connection.request(*operations)
        if how == "dies after":
            self._fate.die()
        if how == "answer lost":
            self._break()
        return answers

    def _come_to(self, later):
        if self.broken:
            raise StructureLostError("cut off")
        how = self._fate.next()
        if how == "dies before":
            self._fate.die()
        if how == "late":
            self._late.append(later)
        if how in ("not sent", "late"):
            self._break()
        return how

    def _break(self):
        self.broken = True
        raise StructureLostError("cut off")

    def _asked(self, what, *words):
        if self.broken:
            raise StructureLostError("cut off")
        if self._fate.disk._off:
            raise PowerCut
        return getattr(self._connection, what)(*words)

    def connectors(self):
        return self._asked("connectors")

    def forget(self, connector):
        self._asked("forget", connector)

    def fence(self, connector):
        self._asked("fence", connector)

    def disconnect(self):
        self._asked("disconnect")

    def fail(self):
        if not self.broken:
            self._connection.fail()


class SimulatedClient(Client):
    """An application in this process."""

    def __init__(self, world, name, kind, seed):
        super().__init__(world.folder, name, kind, seed, {}, world.sharing.clock)
        self.world, self.busy = world, False

    def wait_ms(self):
        return 0

    def connect(self):
        living = sorted(self.world.sharing.members)
        if not living:
            raise MQError(Reason.CONNECTION_BROKEN)
        self.gone()
        self.member = self.choose.choice(self.places(living))
        self.app = self.world.sharing.members[self.member].connect(self.name)
        self.open()

    def call(self, verb, facts, do):
        self.world.sharing.clock.advance(milliseconds=1)
        self.world.meanwhile()
        try:
            return super().call(verb, facts, do)
        finally:
            self.world.sharing.clock.advance(milliseconds=1)

    def turn(self):
        """One unit, during which others have theirs; what it meets ends it."""
        self.world.at_work.append(self)
        try:
            self._turn()
        finally:
            self.world.at_work.remove(self)

    def _turn(self):
        try:
            if not self.handles:
                self.connect()
            self.busy = getattr(self, self.kind)()
        except PowerCut:
            self.gone()
        except MQError as error:
            if self.app is None or error.reason is Reason.CONNECTION_BROKEN:
                self.gone()
                return
            try:
                self.app.backout()
            except (MQError, PowerCut):
                self.gone()

    def gone(self):
        app, self.app, self.handles = self.app, None, {}
        if app is not None and not self.world.fates[self.member].disk._off:
            with suppress(MQError, PowerCut):
                app.abandon()


KINDS = ("putter", "putter", "getter", "getter", "mover")
DECIDES = ("putter", "getter", "coordinator", "coordinator")
TRIGGERS = ("requester", "requester", "monitor", "monitor")


class Simulation:
    """Three members and their clients; a seed says everything that happens."""

    def __init__(self, folder, seed, *, lost=True, kinds=KINDS, calm=False):
        self.folder, self.choose, self._lost = folder, Random(seed), lost
        self._calm = calm
        self.sharing = Sharing(folder, structures=STRUCTURES, RECOVER="YES")
        self.fates, self.late, self.ways = {}, [], {name: [] for name in MEMBERS}
        self._busy, self.at_work, self.late_faults = False, [], False
        self.sharing.wrap = self.way
        self.history = Recorder(folder / "world.history", "world", self.sharing.clock)
        for name in MEMBERS:
            self.start(name, FaultyDisk(seed=seed))
        self.define()
        self.clients = [SimulatedClient(self, f"{kind[0]}{n}", kind, seed * 10 + n) for n, kind in enumerate(kinds)]
        self.late_faults = True

    def define(self):
        for name in MEMBERS:
            with self.sharing.members[name].connect("ADMIN") as app:
                app.define(PROCESS)
                for queue in definitions() if name == MEMBERS[0] else ():
                    app.define(queue)

    def start(self, name, disk=None, how=""):
        fate = self.fates[name] = Fate(disk or self.sharing.disks[name])
        if how:
            fate.arm(self.choose.randrange(8), how)
        recovery = self.sharing.start(name, disk).engine.recovery
        force = recovery._force

        def held_up(rba):
            """Others go on while a member waits for its log; it may be long."""
            if self.late_faults and self.choose.random() < 0.1:
                recovery.latch.release()
                try:
                    self.mishap()
                    for _ in range(self.choose.randrange(12)):
                        self.background()
                finally:
                    recovery.latch.acquire()
            force(rba)

        recovery._force = held_up

    def way(self, name, connection):
        self.ways[name].append(connection)
        return Way(connection, self.fates[name], self.late)

    # -- what happens

    def run(self, turns=70):
        for _ in range(turns):
            self.mishap()
            self.choose.choice(self.clients).turn()
            self.background()
        self.heal()
        self.serve_the_rest()
        self.drain()
        events = self.events()
        return [*verdict(events), *trigger_verdict(events, TRIGGERED, DEPTH, len(MEMBERS))]

    def events(self):
        return read_histories(self.folder.glob("*.history"))

    def mishap(self):
        if self._calm:
            return
        what = self.choose.random()
        if what < 0.3:
            self.fates[self.choose.choice(MEMBERS)].arm(self.choose.randrange(10), self.choose.choice(HOWS))
            self.history.note("fault")
        elif what < 0.33 and self._lost:
            self.history.note("fault")
            everything = (*STRUCTURES, "CSQ_ADMIN")
            for structure in self.choose.choice([everything, [self.choose.choice(everything)]]):
                self.sharing.facility.delete(self.sharing.prefix + structure)
            self.history.note("lost")
        elif what < 0.37 and self.late:
            self.deliver()

    def deliver(self):
        """What was under way arrives, whoever sent it and whatever became of him."""
        try:
            self.late.pop(self.choose.randrange(len(self.late)))()
        except (StructureLostError, StructureRefusal):
            return

    def background(self):
        """The dead are seen to be dead; a member does its background work; somebody starts a dead one."""
        if self._busy:
            return
        self._busy = True
        try:
            self._background()
        finally:
            self._busy = False

    def _background(self):
        self.bury()
        dead = [name for name in MEMBERS if name not in self.sharing.members]
        if dead and (self.choose.random() < 0.2 or len(dead) == len(MEMBERS)):
            self.begin_again(self.choose.choice(dead))
        if self.sharing.members and self.choose.random() < 0.5:
            name = self.choose.choice(sorted(self.sharing.members))
            self.steps(name)
        self.bury()

    def meanwhile(self):
        """Between two calls of a client: background work, and units of others."""
        if not self.late_faults:
            return
        what = self.choose.random()
        if what < 0.2:
            self.background()
        elif what < 0.35 and len(self.at_work) < len(self.clients):
            self.choose.choice([client for client in self.clients if client not in self.at_work]).turn()

    def bury(self):
        """A member whose disk is off is gone; its clients notice at their next call."""
        for name in [name for name in self.sharing.members if self.fates[name].disk._off]:
            self.sharing.disks[name].seed = self.choose.randrange(1 << 30)
            self.sharing.kill(name)
            for connection in self.ways[name]:
                connection.fail()  # its socket ends with it, and is seen to
            self.ways[name] = []

    def begin_again(self, name):
        try:
            self.start(name, how=self.choose.choice(("", "", "not sent", "answer lost")) if self.late_faults else "")
        except PowerCut:
            self.sharing.disks[name] = self.sharing.disks[name].after_power_cut()

    def steps(self, name):
        manager = self.sharing.members[name]
        try:
            if self.choose.random() < 0.7:
                manager.shared.peers.step()
                with manager.engine.recovery.latch:
                    manager.shared.connect_step()
                    manager.messages.follow_step()
                    manager.messages.notice_step()
            for structure in STRUCTURES:
                if self.choose.random() < 0.5 and manager.shared.structures[structure].failing is not None:
                    manager.commands.run(f"RECOVER CFSTRUCT({structure})", "OPER")
        except (PowerCut, MQError):
            return

    # -- the end

    def heal(self):
        """Everybody is up, nothing more goes wrong, background work is done until nothing changes."""
        for client in self.clients:
            if client.kind != "monitor":
                client.gone()
        self.late_faults = False
        for _ in range(8):
            self.bury()
            for fate in self.fates.values():
                fate.left = -1
            for name in MEMBERS:
                if name not in self.sharing.members:
                    self.begin_again(name)
            while self.late:
                self.deliver()
            for name in sorted(self.sharing.members):
                for _ in range(5):
                    self.steps(name)
                self.decide_in_doubt(name)
        assert [()] * len(MEMBERS) == [self.in_doubt(name) for name in MEMBERS]
        assert [] == self.sharing.leaks()
        self.history.note("settled")

    def decide_in_doubt(self, name):
        """What coordinators have left; a structure that has not been recovered yet keeps it in doubt (CU8)."""
        with self.sharing.members[name].connect("OPERATOR") as app, suppress(MQError):
            decide_for_the_dead(app, self.history, self.events())

    def in_doubt(self, name):
        with self.sharing.members[name].connect("OPERATOR") as app:
            return app.in_doubt()

    def serve_the_rest(self):
        """Monitors that are gone come back, and all go on until there is nothing more to do."""
        monitors = [client for client in self.clients if client.kind == "monitor"]
        idle = 0 if monitors else 3
        while idle < 3:
            idle += 1
            for client in monitors:
                client.busy = False
                client.turn()
                idle = 0 if client.busy else idle
            self.switch_on()
            for name in MEMBERS:
                with self.sharing.members[name].engine.recovery.latch:
                    self.sharing.members[name].messages.follow_step()
                    self.sharing.members[name].messages.notice_step()
        for client in monitors:
            client.gone()

    def switch_on(self):
        """What an operator does when a trigger message of type DEPTH was lost, and triggering is off since."""
        with self.sharing.members[self.choose.choice(MEMBERS)].connect("OPERATOR") as app, suppress(MQError):
            for queue in TRIGGERED:
                with app.open(queue, OpenOptions.INQUIRE | OpenOptions.SET) as handle:
                    if handle.inquire("TRIGGER")["TRIGGER"] in ("NO", False, 0):
                        self.history.invoke("rearm", queue=queue).ok()
                        handle.set(TRIGGER="YES")

    def drain(self):
        with self.sharing.members["QM1"].connect("END") as app:
            for queue in EVERYWHERE:
                with app.open(queue, USES) as handle:
                    while self._drained(handle, queue):
                        self.sharing.clock.advance(milliseconds=1)

    def _drained(self, handle, queue):
        from chaos.load import name_of

        operation = self.history.invoke("drain", queue=queue)
        try:
            name = name_of(handle.get(GET_OUT).body)
        except MQError as error:
            assert error.reason is Reason.NO_MSG_AVAILABLE, error  # noqa: PT017 - one answer of two
            operation.ok()
            return False
        operation.ok(message=name)
        return True
