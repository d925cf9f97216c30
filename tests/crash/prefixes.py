"""Proofs by prefixes: whatever part of the log survived, up to any record, restart makes the same of it."""

from crash.scenarios import TINY, World, found_after, message
from quaestor.testing import FaultyDisk


def every_prefix(world, start, wanted):
    """Cut the log before each record from `start` on; no page was written since, so each cut could have happened."""
    engine = world.engine
    engine.log.force(engine.log.end - 1)
    for rba in [record.rba for record in engine.log.scan(start)]:
        disk = engine.disk.after_power_cut(seed=1)
        log = disk.files["log1-01"].seen
        log[rba - 4096 :] = bytes(len(log) - rba + 4096)
        assert wanted == found_after(disk, world.settings), f"log cut at {rba}"


def backout_by_prefixes(settings=TINY):
    """A backout that was cut goes on where it stopped."""
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(n) for n in range(6)])
    start = world.engine.log.end
    world.unit(gets=4, puts=[message(9)], outcome="back out")
    every_prefix(world, start, world.state)


def shunting_by_prefixes(settings=TINY):
    """Shunting that was cut leaves the old records in force."""
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(n) for n in range(3)])
    unit = world.unit(gets=2, puts=[message(n) for n in range(10, 14)], outcome="leave")
    start = world.engine.log.end
    world.engine.recovery._shunt(unit)
    every_prefix(world, start, world.state)
