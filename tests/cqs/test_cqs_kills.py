"""A server is killed at every step that it takes: afterwards no message is lost, and none is there twice.

A step is a request that changes a structure, or a write to the disk; the process ends before it, or behind it without
having heard of it. Then a peer completes its work, it starts again, and at last the coupling facility is lost as well.
"""

from collections import Counter
from contextlib import suppress

import pytest

from cqs.group import Group, Killed, agrees_with_log, on_structure
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, lterm, transaction
from quaestor.testing import FaultyDisk, PowerCut

TRANX, LTRMZ, OTHER = transaction("TRANX"), lterm("LTRMZ"), transaction("OTHER")
LONG = b"." * 3000


class Book:
    """What a client was told: a message that is surely there, or gone, or it is not known."""

    def __init__(self):
        self.there, self.unsure = set(), []

    @property
    def outcomes(self):
        """Every set of messages that may be there."""
        found = [frozenset(self.there)]
        for before, after in self.unsure:
            found = [each - before | after if done else each for each in found for done in (False, True)]
        return found

    def change(self, before, after, call):
        self.unsure.append((frozenset(before), frozenset(after)))
        call()
        self.unsure.pop()
        self.there = self.there - set(before) | set(after)

    def put(self, client, queue, text, *more):
        self.change([], [text], lambda: client.put(queue, [text.encode(), *more]))

    def reply(self, client, queue, target, *more):
        """Read a message and answer it in one unit of work."""
        unit = client.begin()
        message = unit.read(queue)
        text = message.segments[0].decode()
        unit.insert(target, [f"re {text}".encode(), *more])
        self.change([text], [f"re {text}"], unit.commit)

    def look(self, client, queue):
        """Read a message and give it back."""
        unit = client.begin()
        unit.read(queue)
        unit.backout()


def flow(group, server, book):
    """Puts, a reply, a backout, a long message, the local shortcut, a suspended message."""
    ims = server.register("IMS1")
    ims.register_interest(TRANX)
    book.put(ims, TRANX, "a")
    book.put(ims, TRANX, "b", LONG, LONG)
    book.look(ims, TRANX)
    book.reply(ims, TRANX, LTRMZ, LONG, LONG)
    book.change([], ["c"], lambda: ims.put_locked(TRANX, [b"c"]))
    unit = ims.begin()
    unit.suspend(unit.read(TRANX))
    unit.commit()


def checkpoints(group, server, book):
    """A system checkpoint and two structure checkpoints with work between them; the log is trimmed."""
    ims = server.register("IMS1")
    book.put(ims, TRANX, "a", LONG, LONG)
    server.structure_checkpoint()
    book.reply(ims, TRANX, LTRMZ)
    server.system_checkpoint()
    book.put(ims, TRANX, "b")
    unit = ims.begin()
    unit.read(TRANX)
    server.structure_checkpoint()
    book.put(ims, TRANX, "c")
    server.structure_checkpoint()


def copying(group, server, book):
    """The structure is copied to the other facility, and back."""
    ims = server.register("IMS1")
    book.put(ims, TRANX, "a", LONG, LONG)
    book.put(ims, TRANX, "b")
    unit = ims.begin()
    unit.read(TRANX)
    server.copy_structure("CF02", 2000)
    book.put(ims, LTRMZ, "c")
    server.copy_structure("CF01")
    book.reply(ims, TRANX, LTRMZ)


def losing(group, server, book):
    """The facility is lost while a message is locked; the next request recovers the structure."""
    ims = server.register("IMS1")
    book.put(ims, TRANX, "a", LONG, LONG)
    book.put(ims, TRANX, "b")
    unit = ims.begin()
    unit.read(TRANX)
    group.lose()
    book.put(ims, LTRMZ, "c")
    book.change(["a"], [], unit.commit)


def overflowing(group, server, book):
    """A queue goes to the overflow structure, is emptied there, and leaves overflow status."""
    ims = server.register("IMS1")
    for number in range(6):
        book.put(ims, OTHER, f"m{number}", LONG, LONG)
    assert OTHER.key in server.pair.overflow
    book.put(ims, OTHER, "last")
    book.put(ims, TRANX, "a")
    for _ in range(7):
        book.reply(ims, OTHER, LTRMZ)
    assert not server.pair.overflow


def filling(group, server, book):
    """Committed output finds the structure full, is kept, and put when there is room."""
    ims = server.register("IMS1")
    book.put(ims, TRANX, "a")
    for number in range(9):
        book.put(ims, OTHER, f"m{number}", LONG)
    book.reply(ims, TRANX, LTRMZ, LONG, LONG)
    server.system_checkpoint()
    for number in range(4):
        book.change([f"m{number}"], [], lambda: ims.delete(OTHER))
    server.system_checkpoint()


SMALL = {
    overflowing: Policy(size=56, overflow_size=80),
    filling: Policy(size=40, overflow_threshold_percent=1000),
}
SCENARIOS = [flow, checkpoints, copying, losing, overflowing, filling]


def played(scenario, kill_at=None):
    """Play a scenario on CQS1 beside a CQS2 that does nothing, until it ends or is killed."""
    group, book = Group(SMALL.get(scenario)), Book()
    group.start("CQS2")
    group.steps.count, group.steps.kill_at = 0, kill_at
    with suppress(Killed):
        scenario(group, group.start("CQS1"), book)
    return group, book


def messages(server):
    """Every message of the pair that is committed, by its first segment, with those that are kept."""
    placed = [placed.message for placed in on_structure(server).placed.values()]
    return Counter(message.segments[0].decode() for message in (*placed, *server.pair.kept.values()))


def proved(group, book):
    """A peer completes the work, the server starts again, the facility is lost: always the same messages, once each."""
    group.steps.kill_at = None
    group.kill("CQS1")
    peer = group.servers["CQS2"]
    peer.step()
    after_peer = messages(peer)
    assert after_peer in [Counter(each) for each in book.outcomes]
    for structure in peer.pair.structures:
        assert [] == structure.held(Private.LOCK, "CQS1") + structure.held(Private.MOVE, "CQS1")
    assert agrees_with_log(peer)
    again = group.start("CQS1")
    assert after_peer == messages(peer) + Counter(m.segments[0].decode() for m in again.pair.kept.values())
    group.lose("CF01")
    group.lose("CF02")
    peer.step()
    assert after_peer == messages(peer) + Counter(m.segments[0].decode() for m in again.pair.kept.values())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_the_scenario_itself(scenario):
    group, book = played(scenario)
    assert not book.unsure
    proved(group, book)


def power_cut(scenario, cut, seed):
    """The power goes at a write to the disk: servers and facilities are gone, the disk is as it is found."""
    disk, book = FaultyDisk(cut, seed), Book()
    group = Group(SMALL.get(scenario), disk=disk)
    with suppress(PowerCut):
        group.start("CQS2")
        scenario(group, group.start("CQS1"), book)
    after = Group(SMALL.get(scenario), disk=disk.after_power_cut(seed + cut))
    server = after.start("CQS3")
    after.clock.advance(seconds=20)
    server.step()
    assert messages(server) in [Counter(each) for each in book.outcomes]
    assert agrees_with_log(server)
    return disk


def proved_for_power(scenario, stride=1, seed=0):
    group = Group(SMALL.get(scenario))
    group.start("CQS2")
    scenario(group, group.start("CQS1"), Book())
    for cut in range(0, group.disk.operations, stride):
        try:
            power_cut(scenario, cut, seed)
        except BaseException as error:
            error.add_note(f"{scenario.__name__} cut at write {cut}")
            raise


@pytest.mark.crash
@pytest.mark.parametrize("scenario", [flow, checkpoints, filling], ids=lambda each: each.__name__)
def test_the_power_goes_at_every_write(scenario):
    proved_for_power(scenario)


@pytest.mark.crash
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_killed_at_every_step(scenario):
    proved_for_kills(scenario)


def proved_for_kills(scenario, stride=1):
    group, _ = played(scenario)
    for at in range(0, group.steps.count, stride):
        killed, book = played(scenario, at)
        assert killed.steps.count == at + 1
        try:
            proved(killed, book)
        except BaseException as error:
            error.add_note(f"{scenario.__name__} killed at step {at}")
            raise
