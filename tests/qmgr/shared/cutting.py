"""A member that dies at a chosen moment: before or after a request to a structure, or at a write of its log.

What it had confirmed by then is kept in a plain model; the one call that was under way may have happened or not.
"""

from collections import Counter
from contextlib import suppress
from copy import deepcopy
from functools import partial

from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, USES, VOLATILE, Sharing, browsed
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.habits import FEWEST
from quaestor.testing import FaultyDisk, PowerCut

QUEUES = ("ORDERS", "BILLS", "PRIVATE")


class Power:
    """When a member dies: at its n-th request, before it is sent or after it is done."""

    def __init__(self, cut_at=None, *, done=False):
        self.cut_at, self.done, self.requests, self.off = cut_at, done, 0, False
        self.disk = None

    def check(self):
        if self.off or (self.disk is not None and self.disk._off):
            raise PowerCut

    def at(self, asked, *arguments):
        """One request: done, or the death of its member before or after it."""
        self.check()
        self.requests += 1
        if self.requests == self.cut_at and not self.done:
            self.cut()
        answers = asked(*arguments)
        if self.requests == self.cut_at:
            self.cut()
        return answers

    def cut(self):
        self.off = True
        self.disk._off = True
        raise PowerCut


class Cutting:
    """A connection to a structure whose member may die."""

    def __init__(self, connection, power):
        self._connection, self._power = connection, power
        self.shape, self.connector = connection.shape, connection.connector

    @property
    def used(self):
        return self._connection.used

    def request(self, *operations):
        return self._power.at(self._connection.request, *operations)

    def connectors(self):
        self._power.check()
        return self._connection.connectors()

    def forget(self, connector):
        self._power.check()
        self._connection.forget(connector)

    def fence(self, connector):
        self._power.check()
        self._connection.fence(connector)

    def disconnect(self):
        self._connection.disconnect()

    def fail(self):
        self._connection.fail()


class CuttingTables:
    """The shared repository of a member that may die; what it asks of bodies counts among its requests."""

    COUNTED = ("begin_life", "store", "fetch", "remove")

    def __init__(self, tables, power):
        self._tables, self._power = tables, power

    def __getattr__(self, name):
        asked = getattr(self._tables, name)
        return partial(self._power.at, asked) if name in self.COUNTED else asked


class World:
    """Two members, the first of which works and dies; what is confirmed, and what may have happened beside."""

    def __init__(self, folder, connect=None, habits=FEWEST, **attributes):
        self.sharing = Sharing(folder, connect, structures=("APPL1", "APPL2"), **attributes)
        self.sharing.habits = habits
        self.power = Power()
        self.sharing.wrap = self.wrapped
        self.sharing.wrap_tables = lambda name, made: CuttingTables(made, self.power) if name == "QM1" else made
        self.power.disk = self.sharing.disks["QM1"] = FaultyDisk()
        self.one = self.sharing.start("QM1")
        self.two = self.sharing.start("QM2")
        self.sharing.define("ORDERS", by="QM2")
        self.sharing.define("BILLS", "APPL2", by="QM2")
        self.app = self.one.connect("ALICE")
        self.app.define(LocalQueue("PRIVATE", share=True, def_exclusive=False))
        self.handles = {name: self.app.open(name, USES) for name in QUEUES}
        self.confirmed = Counter()
        self.possible = self.confirmed
        self._unit = Counter()

    def wrapped(self, name, made):
        """A connection of a member: the first one's are cut."""
        return Cutting(made, self.power) if name == "QM1" else made

    # -- what the member does

    def put(self, queue, body, descriptor=PERSISTENT, options=IN):
        if options == IN:
            self.handles[queue].put(body, descriptor, options)
            self._unit[queue, body] += 1
        else:
            self._happens({(queue, body): 1}, lambda: self.handles[queue].put(body, descriptor, options))

    def get(self, queue, options=GET_IN):
        if options == GET_IN:
            body = self.handles[queue].get(options).body
            self._unit[queue, body] -= 1
            return
        first = self.handles[queue].browse(2**4).body  # BROWSE_FIRST
        self._happens({(queue, first): -1}, lambda: self.handles[queue].get(options))

    def commit(self):
        unit, self._unit = self._unit, Counter()
        self._happens(unit, self.app.commit)

    def backout(self):
        self._unit = Counter()
        self.app.backout()

    def _happens(self, changes, call):
        """A call after which something is confirmed; while it runs it may have happened or not."""
        self.possible = deepcopy(self.confirmed)
        for what, change in changes.items():
            self.possible[what] += change
        call()
        self.confirmed = self.possible

    # -- what is found afterwards

    def found(self, private=None):
        """Every message that is there; those on the private queue only when its queue manager is up again."""
        with self.two.connect("BOB") as app:
            there = Counter(("ORDERS", body) for body in browsed(app, "ORDERS"))
            there.update(("BILLS", body) for body in browsed(app, "BILLS"))
        if private is not None:
            with private.connect("ALICE") as app:
                there.update(("PRIVATE", body) for body in browsed(app, "PRIVATE"))
        return there

    def check(self, private=None):
        """Confirmed exactly once, unconfirmed not at all, the call under way wholly or not at all; nothing leaks."""
        there = self.found(private)
        expected = [_seen(outcome, private) for outcome in (self.confirmed, self.possible)]
        assert there in expected, (there, expected)
        assert [] == self.sharing.leaks()
        assert [] == [each for each in self.sharing.descriptors() if each.unit[0] == 1]


def _seen(outcome, private):
    return Counter({what: n for what, n in outcome.items() if n and (private is not None or what[0] != "PRIVATE")})


def work(world):
    """Units of every kind: one structure and two, logged and not, private and shared, backed out, in flight."""
    world.put("ORDERS", b"p0", PERSISTENT, OUT)
    world.put("ORDERS", b"v0", VOLATILE, OUT)
    world.put("ORDERS", b"a1")
    world.put("ORDERS", b"a2", VOLATILE)
    world.get("ORDERS")
    world.commit()
    world.put("ORDERS", b"b1", VOLATILE)
    world.put("BILLS", b"b2", VOLATILE)
    world.get("ORDERS")
    world.commit()
    world.put("PRIVATE", b"c1")
    world.put("BILLS", b"c2")
    world.put("ORDERS", b"c3")
    world.commit()
    world.get("ORDERS")
    world.put("BILLS", b"d1")
    world.backout()
    world.get("ORDERS", GET_OUT)
    world.put("ORDERS", b"e1", VOLATILE)
    world.commit()
    world.get("BILLS", GET_OUT)
    world.get("PRIVATE")
    world.put("BILLS", b"f1", VOLATILE)
    world.commit()
    world.put("ORDERS", b"g1")
    world.get("BILLS")


def died_in(world, scenario=work):
    """Do the work until the member dies; whether it did."""
    try:
        scenario(world)
    except PowerCut:
        return True
    except MQError:
        if not world.power.off and not world.power.disk._off:
            raise
        return True  # the queue manager told its application that it cannot go on
    return False


def two_structures(world):
    """A unit that logs nothing, over two structures, with a get in each."""
    for queue in ("ORDERS", "BILLS"):
        world.put(queue, b"old", VOLATILE, OUT)
    world.put("ORDERS", b"one", VOLATILE)
    world.put("BILLS", b"two", VOLATILE)
    world.get("BILLS")
    world.get("ORDERS")
    world.commit()


def without_csq_admin(world, lost_at, cut_at, *, done):
    """CSQ_ADMIN is lost before a request, and the member dies at another; the member as it is started again."""
    power, sharing = world.power, world.sharing
    power.requests, power.cut_at, power.done = 0, cut_at, done
    check = power.check

    def losing():
        if power.requests == lost_at - 1 and not power.off:
            sharing.cut_off("CSQ_ADMIN", lost=True)
        check()

    power.check = losing
    with suppress(MQError):  # told that CSQ_ADMIN is lost, before it came to die
        died_in(world, two_structures)
    sharing.wrap = lambda _name, made: made
    sharing.kill("QM1")
    sharing.reach_again("CSQ_ADMIN")
    world.two.shared.peers.step()
    return sharing.start("QM1", sharing.disks["QM1"].after_power_cut())
