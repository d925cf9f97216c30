"""Coupling facilities that are killed while a structure moves, members that are killed while they recover one.

At every step, before it and after it: persistent messages are there once, and everybody can go on.
"""

import threading
from functools import partial
from itertools import count

import pytest

from qmgr.shared.cutting import Cutting, Power
from qmgr.shared.sharing import GET_IN, IN, OUT, PERSISTENT, USES, Sharing, drained
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.recovering import recover
from quaestor.server import structure_rebuild
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.lists import image
from quaestor.storage.lists.movable import MovableConnection, rebuild
from quaestor.storage.lists.structure import StructureLostError, StructureRefusal
from quaestor.testing import FaultyDisk, PowerCut

pytestmark = [pytest.mark.crash, pytest.mark.plain]
BODIES = [b"%02d" % at for at in range(12)]
COPYING = ("incoming", "entries", "complete")
STEPS = 5
"""Of the copy of a structure in pieces of a few messages: its head, three pieces, its end."""


class Killed(BaseException):
    """kill -9 of a coupling facility."""


class Facility:
    """A coupling facility on a socket, in a thread, that can be killed."""

    def __init__(self, path):
        self.path = path
        self.start()

    def start(self):
        self.facility = CouplingFacility(self.path)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        try:
            self.facility.serve()
        except Killed:
            own = self.facility
            for sock in (*(link.sock for link in own._links.values()), own._server, own._woken, own._waker):
                sock.close()
            own._sockets.close()

    def killed(self):
        self._thread.join(5)
        return not self._thread.is_alive()

    def close(self):
        if self._thread.is_alive():
            self.facility.stop()
            self._thread.join()


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setattr(image, "PIECE_BYTES", 400)
    made = [Facility(tmp_path / f"{name}.sock") for name in ("here", "there")]
    yield made
    for each in made:
        each.close()


@pytest.fixture
def group(tmp_path, places):
    """Two members whose structures are in the first facility, and twelve messages."""
    made = Sharing(tmp_path, lambda *words: MovableConnection(places[0].path, *words), RECOVER="YES")
    for name in ("QM1", "QM2"):
        made.start(name)
    made.define()
    made.members["QM2"].messages.follow_step()
    with made.members["QM1"].connect("ALICE") as app, app.open("ORDERS", USES) as orders:
        for body in BODIES:
            orders.put(body, PERSISTENT, OUT)
    made.publish()
    yield made
    for name in list(made.members):
        made.members[name].stop()


def die_at(monkeypatch, there, where, step, *, done):
    """Kill a facility at a step of the copy: the one that asks, or the one that answers."""
    steps = count()
    asks = structure_rebuild.Questions.ask

    def die(do, *words):
        at = next(steps)
        if at == step and not done:
            raise Killed
        answer = do(*words)
        if at == step:
            raise Killed
        return answer

    def ask(self, verb, *words):
        return die(asks, self, verb, *words) if verb in COPYING else asks(self, verb, *words)

    if where == "here":
        monkeypatch.setattr(structure_rebuild.Questions, "ask", ask)
    else:
        verbs = there.facility._verbs
        for verb in COPYING:
            monkeypatch.setitem(verbs, verb, partial(die, verbs[verb]))


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(STEPS))
@pytest.mark.parametrize("where", ["here", "there"])
def test_a_facility_killed_while_a_structure_moves(group, places, where, step, done, monkeypatch):
    here, there = places
    name = group.prefix + "APPL1"
    with monkeypatch.context() as patch:
        die_at(patch, there, where, step, done=done)
        assert not moved(here, there, name)
        victim = here if where == "here" else there
        assert victim.killed()
    victim.start()
    go_on(group)
    assert moved(here, there, name)
    assert BODIES == everything(group)


def moved(here, there, name):
    """Whether an operator was told that a structure has moved."""
    try:
        return [name] == rebuild(here.path, there.path, name)
    except (StructureLostError, StructureRefusal, OSError):
        return False


def go_on(group):
    """Members notice what became of their structures; an operator recovers what has failed."""
    group.publish()
    group.publish()
    for manager in group.members.values():
        manager.commands.run("RECOVER CFSTRUCT(APPL1)", "OPER")
    group.publish()


def everything(group):
    with group.members["QM2"].connect("BOB") as app:
        return drained(app)


def test_a_facility_killed_after_the_move_sends_everybody_there(group, places):
    """RB5: a member that is started then does not begin a second structure of the same name."""
    here, there = places
    for name in sorted(here.facility.facility.status()):
        rebuild(here.path, there.path, name)
    group.publish()
    here.close()
    here.path.unlink(missing_ok=True)  # as kill -9 leaves it: nobody answers there
    here.start()
    group.start("QM3")
    assert {} == here.facility.facility.status()
    with group.members["QM3"].connect("CAROL") as app:
        assert BODIES == drained(app)


# --- recovery ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def lost(tmp_path):
    """Three members with messages, one unit in doubt, and a structure that has lost everything."""
    made = Sharing(tmp_path, RECOVER="YES")
    made.powers = {}
    made.wrap = lambda name, connection: Cutting(connection, made.powers[name]) if name in made.powers else connection
    for name in ("QM1", "QM2"):
        made.start(name)
    made.powers["QM3"] = Power()
    made.start("QM3", FaultyDisk())
    made.powers["QM3"].disk = made.disks["QM3"]
    made.define()
    for manager in made.members.values():
        manager.messages.follow_step()
    with made.members["QM1"].connect("ALICE") as app, app.open("ORDERS", USES) as orders:
        for body in (b"got", *BODIES):
            orders.put(body, PERSISTENT, OUT)
        orders.get(GET_IN)
        orders.put(b"put", PERSISTENT, IN)
        app.prepare(b"XID")
    made.publish()
    made.cut_off("APPL1", lost=True)
    made.reach_again("APPL1")
    made.publish()
    return made


REQUESTS = 135
"""Of a recovery: most of them empty the lists of thirty-one members, one like the other."""

EACH = [*range(1, 6), *range(25, REQUESTS - 10, 25), *range(REQUESTS - 10, REQUESTS + 1)]


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", EACH)
def test_a_member_killed_while_it_recovers_a_structure(lost, at, done):
    power = lost.powers["QM3"]
    power.cut_at, power.done = power.requests + at, done
    manager = lost.members["QM3"]
    with pytest.raises((PowerCut, MQError)), manager.engine.recovery.latch:
        recover(manager.shared, "APPL1")
    assert power.off
    del lost.powers["QM3"]
    lost.kill("QM3")
    recovered(lost)


def recovered(group):
    """Another member recovers it, if it has to be; then everything is there and the unit is still in doubt."""
    for _ in range(3):
        group.publish()
        group.members["QM2"].shared.peers.step()
    group.members["QM2"].commands.run("RECOVER CFSTRUCT(APPL1)", "OPER")
    group.publish()
    with group.members["QM1"].connect("ALICE") as app:
        assert (b"XID",) == app.in_doubt()
        app.commit_prepared(b"XID")
        assert [*BODIES, b"put"] == drained(app)
    assert [] == group.leaks()


@pytest.mark.parametrize("at", EACH)
def test_a_structure_lost_again_while_it_is_recovered(lost, at):
    """The facility is killed under the recovery."""
    power = lost.powers["QM3"]
    last = power.requests + at

    def losing(asked, *arguments):
        power.requests += 1
        if power.requests == last:
            lost.facility.delete(lost.prefix + "APPL1")
        return asked(*arguments)

    power.at = losing
    manager = lost.members["QM3"]
    try:
        with manager.engine.recovery.latch:
            recover(manager.shared, "APPL1")
    except MQError:
        pass
    recovered(lost)
