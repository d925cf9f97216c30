"""A cold start after a crash at any moment: page sets whose log is lost start again (CS1-CS5)."""

from contextlib import suppress

import pytest

from crash.scenarios import (
    TINY,
    World,
    backouts,
    checkpoints,
    expansion,
    found_after,
    log_switches,
    message,
    pages_leave_early,
)
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.recovery.cold import _Look, cold_start
from quaestor.testing import FaultyDisk, PowerCut, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]


class Watched(FaultyDisk):
    """Keeps what the page sets hold before every so many operations."""

    def __init__(self):
        super().__init__()
        self.watching, self.moments = False, []

    def operate(self, effect):
        if self.watching and self.operations % 4 == 0:
            self.moments.append({n: bytes(image.seen) for n, image in self.files.items() if n.startswith("pageset")})
        super().operate(effect)


def crashed(script):
    """Page sets as a queue manager that was killed leaves them, at one moment after the other."""
    disk = Watched()
    world = World(disk, TINY)
    disk.watching = True
    script(world)
    for moment in disk.moments:
        left = FaultyDisk()
        for name, contents in moment.items():
            left.create(name, 0).write(0, contents)
            left.open(name).sync()
        yield left


def cold(disk):
    return cold_start(disk, logs=TINY.logs, log_bytes=TINY.log_bytes)


def every_crash_can_be_started_cold(script):
    """Gives how many pages were freed, in all."""
    freed = 0
    for disk in crashed(script):
        freed += cold(disk).freed
        engine = SmallEngine(disk, TINY)
        unit = engine.begin()
        engine.put(unit, message(999))
        engine.commit(unit)
        found = engine.bodies()
        assert message(999) in found
        assert found == found_after(disk.after_power_cut())
    return freed


@pytest.mark.parametrize("script", [backouts, checkpoints, expansion, log_switches, pages_leave_early])
def test_whenever_it_crashed_it_starts_cold(script):
    every_crash_can_be_started_cold(script)


def test_pages_that_were_not_written_with_their_messages_are_freed():
    assert every_crash_can_be_started_cold(expansion)


def test_without_that_it_would_never_start_again(monkeypatch):
    monkeypatch.setattr(_Look, "write_maps", lambda self: None)
    with pytest.raises(Abend, match="A1: a page is not what the space map says"):
        every_crash_can_be_started_cold(expansion)


def test_a_cold_start_that_is_cut_is_made_again():
    """In between nothing starts, or it is complete."""
    disk = list(crashed(expansion))[-1]
    whole = disk.after_power_cut()
    before = whole.operations
    assert cold(whole).freed
    wanted = found_after(whole)
    for cut in range(whole.operations - before + 1):
        survivor = disk.after_power_cut(cut_after=cut)
        with suppress(PowerCut):
            cold(survivor)
        survivor = survivor.after_power_cut(cut)
        try:
            found = found_after(survivor)
        except Abend:
            cold(survivor)
            found = found_after(survivor)
        assert wanted == found, f"cut after {cut}"
