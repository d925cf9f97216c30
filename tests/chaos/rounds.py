"""A round of the chaos test: a world at work, faults, and the reckoning: nothing lost, nothing twice, nothing left."""

import contextlib
import threading
import time
from random import Random

from chaos.coordinating import decide_for_the_dead
from chaos.faults import combination, wait
from chaos.queues import DEPTH, EVERYWHERE, TRIGGERED
from chaos.serve import CANNOT_START
from chaos.world import KINDS, MEMBERS, STRUCTURES, World, drained
from quaestor.mqi.options import OpenOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.checking import check_structures
from quaestor.testing.triggers import trigger_verdict
from quaestor.testing.verdict import verdict


class Operator(threading.Thread):
    """Recovers structures that have failed and starts members that could not start, until it works."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self._world, self._ending = world, threading.Event()
        self.recovered = 0
        self.last = ""

    def run(self):
        while not self._ending.wait(0.5):
            for member in MEMBERS:
                program = self._world.members[member]
                if program.paused:
                    continue
                if not program.up and program.process.returncode == CANNOT_START:
                    program.start()
                    continue
                try:
                    self._try(member)
                except (MQError, OSError) as error:
                    self.last = str(error)

    def _try(self, member):
        with self._world.connect(member) as app:
            for structure in STRUCTURES:
                shown = app.mqsc(f"DISPLAY CFSTATUS({structure})")
                if any(row.get("STATUS") == "FAILED" for row in shown["rows"]):
                    told = app.mqsc(f"RECOVER CFSTRUCT({structure})")
                    self.recovered += told["ok"]
                    self.last = str(told["lines"])

    def stop(self):
        """Also one that was never started, because the world did not come about: that is told, not this."""
        self._ending.set()
        if self.ident is not None:
            self.join(60)


def usable(world):
    """Every member can use every queue."""
    for member in MEMBERS:
        with world.connect(member) as app:
            for queue in EVERYWHERE:
                with app.open(queue, 0x20) as handle:  # MQOO_INQUIRE
                    handle.inquire("CURDEPTH")
    return True


def run_round(folder, engine, names, seed, *, calm_s=1.0, namespaces=None, kinds=KINDS):
    """One round; what was found, as a list of reasons why it failed, and how much was done."""
    choose = Random(seed)
    world = World(folder, engine, seed, namespaces=namespaces, kinds=kinds)
    operator = Operator(world)
    problems = []
    try:
        world.start()
        world.history.note("settled")
        operator.start()
        wait(world, calm_s)
        for each in names:
            combination(world, each, choose)
            wait(world, choose.uniform(0.1, 0.6))
        world.heal()
        world.wait_until(lambda: usable(world), "not everything is usable again", 40)
        wait(world, 0.5)
        world.end_clients(but="monitor")
        operator.stop()
        world.wait_until(lambda: decided(world), "units stay in doubt", 40)
        served(world)
        world.end_clients()
        problems += settle(world)
        drained(world, choose.choice(MEMBERS))
        problems += empty(world)
        problems += world.died()
    except AssertionError as error:
        problems.append(f"{error} (operator: {operator.last})")
        problems += world.died()
    finally:
        operator.stop()
        world.close()
    events = world.events()
    problems += [str(each) for each in verdict(events)]
    problems += [str(each) for each in trigger_verdict(events, TRIGGERED, DEPTH, len(MEMBERS))]
    return problems, len(events)


def decided(world):
    """Nothing is in doubt: what dead coordinators have left is decided by their files."""
    for member in MEMBERS:
        with world.connect(member) as app:
            decide_for_the_dead(app, world.history, world.events())
    return True


def served(world):
    """Where there are trigger monitors, they come back if they were killed and serve until nobody has to."""
    if "monitor" not in world.kinds:
        return
    world.start_client("monitor")
    with contextlib.suppress(AssertionError):  # the verdict tells
        world.wait_until(lambda: idle(world), "", 10)


def idle(world):
    """Nothing waits for a server; triggering that a lost trigger message has left off is switched on."""
    with world.connect(MEMBERS[0]) as app:
        depths = {}
        for queue in TRIGGERED:
            with app.open(queue, OpenOptions.INQUIRE | OpenOptions.SET) as handle:
                depths[queue] = handle.inquire("CURDEPTH")["CURDEPTH"]
                if handle.inquire("TRIGGER")["TRIGGER"] in ("NO", False, 0):
                    world.history.invoke("rearm", queue=queue).ok()
                    handle.set(TRIGGER="YES")
    return depths["CHAOS.FIRST"] == 0 and depths["CHAOS.DEPTH"] < DEPTH


def settle(world):
    """Until nothing of anybody's uncommitted work is left; what is still there then is a leak."""
    until, left = time.monotonic() + 15, ["not looked"]
    while left and time.monotonic() < until:
        wait(world, 0.2)
        left = leaks(world)
    if not left:
        world.history.note("settled")
    return left


def empty(world):
    """Everything was got: nothing is on lists, and no page of a data set is in use."""
    until, left = time.monotonic() + 10, ["not looked"]
    while left and time.monotonic() < until:
        wait(world, 0.3)
        left = leaks(world) + [f"pages of {name} are in use: {used}" for name, used in world.pages().items() if used]
    return left


def leaks(world):
    group = world.group()
    try:
        return check_structures(group, idle=True)
    finally:
        group.tables.close()
