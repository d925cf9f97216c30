"""Threshold writes (WRTHRSH) are started and nobody waits for them; only full buffers wait (OUTBUFF) (J4).

MP16's play of two puts and a slow disk: buffers B1-B16 hold message 1, B17-B32 message 2, B33 the first commit, B34 the
second; WRTHRSH is 20 and 15 CIs go in one I/O.
"""

import errno
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.mqi.reasons import Abend
from quaestor.storage.log_files import CI
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.testing import SMALL, FaultyDisk, SmallEngine, since, snapshot

FIELDS = ("log_ios", "threshold_writes", "waits_no_buffer")


class Play:
    """A log at the beginning of a CI, on a disk that takes as long as one likes."""

    def __init__(self, **changed):
        self.disk = FaultyDisk()
        engine = replace(SMALL, **{"outbuff_kb": 4000, "wrthrsh": 20, "ci_per_io": 15, **changed})
        self.log = log = SmallEngine(self.disk, engine).log
        self.fill(-log.end % CI)
        log.force(log.end - 1)
        self.b1 = log.end
        self.before = snapshot(log.stats)
        self.disk.held = True

    def fill(self, length):
        if length:
            return self.log.append(Kind.COMMIT, 0, 0, 0, 0, 0, b"x" * (length - HEADER_LENGTH))
        return self.log.end - 1

    def message(self, buffers=16):
        for _ in range(buffers):
            self.fill(CI)

    @property
    def in_flight(self):
        """The buffers that are being written: first and last."""
        flight = self.log._flight
        return None if flight is None else (self.buffer(flight.start), self.buffer(flight.upto - 1))

    def buffer(self, rba):
        return (rba - self.b1) // CI + 1

    def counted(self):
        return since(self.before, self.log.stats, *FIELDS)


def test_a_put_that_crosses_the_threshold_does_not_wait():
    play = Play()
    play.message(19)
    assert play.in_flight is None
    play.message(13)
    assert (1, 20) == play.in_flight
    assert play.b1 == play.log.hardened
    assert (0, 1, 0) == play.counted()
    play.disk.let_go()
    play.log.force(play.log.end - 1)
    assert play.log.end == play.log.hardened


@pytest.mark.oracle("mp16-ch4-11/21", kind="scenario", lines="4741-4787")
def test_two_puts_and_two_commits_far_apart():
    """As in MP16, but for B21 and B22: they go with the first commit and not by themselves, an I/O fewer.

    B1-B15, B16-B20; B21-B32, B33; B33 again, B34.
    """
    play = Play()
    play.message()
    play.message()
    assert (1, 20) == play.in_flight
    play.disk.let_go()
    play.log.force(play.fill(100))
    assert (4, 1, 0) == play.counted()
    play.log.force(play.fill(CI))
    assert (6, 1, 0) == play.counted()


@pytest.mark.oracle("mp16-ch4-11/22", kind="scenario", lines="4773-4787")
def test_two_puts_and_two_commits_while_the_first_buffers_are_written():
    """B1-B15, B16-B20; B21-B33, B34: four I/Os, and one force for both commits."""
    play = Play()
    play.message()
    play.message()
    first, second = play.fill(CI), play.fill(100)
    assert (1, 20) == play.in_flight
    play.disk.let_go()
    play.log.force(second)
    play.log.force(first)
    assert (4, 1, 0) == play.counted()


@pytest.mark.oracle("mp16-ch4-11/23", kind="scenario", lines="4791")
def test_with_twenty_buffers_the_second_put_waits_before_the_twenty_first():
    """OUTBUFF 80: every buffer is in use, and the put goes on when B1 to B20 are written."""
    play = Play(outbuff_kb=80)
    play.message()
    play.message(3)
    assert (0, 0, 0) == play.counted()
    play.message(1)
    assert play.b1 == play.log.hardened
    play.message(1)
    assert 20 == play.buffer(play.log.written - 1)
    play.message(11)
    assert 1 == play.counted()[2]


@pytest.mark.parametrize("outbuff_kb", [40, 64, 4000])
def test_any_number_of_buffers_loses_nothing(outbuff_kb):
    play = Play(outbuff_kb=outbuff_kb)
    rbas = [play.fill(length) for length in (100, 5000, 40_000, 60_000, 300, 120_000, 4096, 64)]
    assert play.log.end - play.log.written <= max(play.log.buffers * CI, 120_000) + CI
    play.log.force(rbas[-1])
    found = [record.rba for record in play.log.scan(rbas[0])]
    assert rbas == found


def test_while_writes_cannot_be_started_the_buffers_are_written_and_nobody_syncs():
    play = Play()
    play.disk.asynchronous = False
    play.message(21)
    assert (play.b1, play.b1 + 20 * CI) == (play.log.hardened, play.log.written)
    assert 1 == play.counted()[1]


@pytest.mark.parametrize("operation", [1, 2])
def test_a_threshold_write_that_fails_is_final(operation):
    """Told at once, or by whoever needs the log next (J5)."""
    play = Play()
    play.disk.fail_at[play.disk.operations + operation] = errno.EIO
    with pytest.raises(Abend, match="J5"):
        play.log.force(play.message(21) or play.log.end - 1)
    with pytest.raises(Abend, match="J5"):
        play.log.force(play.log.end - 1)
    assert play.b1 == play.log.hardened


def test_a_record_half_written_and_half_in_the_buffers_can_be_read():
    """A threshold write may end within a record, and the buffers may begin again there: backing out needs it (J13)."""
    play = Play(outbuff_kb=64, wrthrsh=16)
    play.disk.held = False
    log = play.log
    ends = log.base + len(log._buffer)
    while ends - log.end > 71_000 + CI:
        play.fill(CI)
    long = play.fill(71_000)
    while log.base <= long:
        play.fill(HEADER_LENGTH + 10)
    assert long < log.base <= log.written < long + 71_000
    found = log.read(long)
    assert (long, 71_000) == (found.rba, len(found.body) + HEADER_LENGTH)
    assert log.hardened == log.end


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(HEADER_LENGTH, 150_000), min_size=10, max_size=40), st.sampled_from([40, 64, 400, 4000]))
def test_what_was_appended_can_be_read_however_long_it_is(lengths, outbuff_kb):
    play = Play(outbuff_kb=outbuff_kb, wrthrsh=16, log_bytes=8 << 20)
    play.disk.held = False
    rbas = [play.fill(length) for length in lengths]
    assert lengths == [len(play.log.read(rba).body) + HEADER_LENGTH for rba in reversed(rbas)][::-1]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_logs_need_not_be_so_many_whole_buffers_long(asynchronous):
    """J8: the last CI of a log may go on in the next one."""
    disk = FaultyDisk()
    disk.asynchronous = asynchronous
    engine = SmallEngine(disk, replace(SMALL, log_bytes=70_001, wrthrsh=1))
    for number in range(400):
        unit = engine.begin()
        engine.put(unit, bytes(number))
        engine.commit(unit)
    assert engine.log.files.start > 2 * engine.log.files.size
    assert engine.bodies() == engine.again().bodies()
