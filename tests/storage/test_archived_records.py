"""Archiving by itself: which records are looked at, from which copy they are taken, what the archive has (AR1-AR4)."""

import errno
from random import Random

import pytest

from quaestor.storage import archiving
from quaestor.storage.archiving import Archiving, DamagedLogError, _claims
from quaestor.storage.log_record import HEADER_LENGTH, RECORD_MAX, Kind, pack_run
from quaestor.testing import FaultyDisk, FaultyFile

NAME = "archive"
LOW = 1 << 20
"""Where the records of a test begin; before them the log has a long one."""


def record(rba, length, epoch=1):
    body = Random(rba).randbytes(length - HEADER_LENGTH)
    return pack_run(Kind.INSERT, 0, rba, 0, 1, [(7, body, b"")], rba, rba + length, epoch)[1]


class Log:
    """Copies of a log; of each a part may be missing at its beginning."""

    def __init__(self, lengths, copies=1, epochs=None):
        self.low = LOW - RECORD_MAX
        self.rbas, self.good = [], record(self.low, RECORD_MAX)
        for number, length in enumerate(lengths):
            self.rbas.append(self.low + len(self.good))
            self.good += record(self.rbas[-1], length, epochs[number] if epochs else 1)
        self.end = self.low + len(self.good)
        self.copies = [bytearray(self.good) for _ in range(copies)]
        self.begins = [self.low] * copies
        self.disk = FaultyDisk()

    def read(self, rba, size, source):
        if rba < self.begins[source]:
            return b""
        return bytes(self.copies[source][rba - self.low :][:size])

    def spoil(self, rba, *copies):
        for copy in copies or range(len(self.copies)):
            self.copies[copy][rba - self.low] ^= 0xFF

    def put(self, rba, data, copy):
        at = rba - self.low
        self.copies[copy][at : at + len(data)] = data

    def archiving(self, start, end):
        return Archiving(self.disk, NAME, start, end - start, range(len(self.copies)), self.read)

    def archive(self, start, end):
        """What is in the archive of a range, durably, and which records were taken from another copy."""
        making = self.archiving(start, end)
        while making.piece():
            pass
        file = self.disk.after_power_cut().open(NAME)
        return file.read(0, file.size()), making.from_other_copy

    def bytes_of(self, start, end):
        return self.good[start - self.low : end - self.low]


def damaged_at(log, start, end):
    with pytest.raises(DamagedLogError) as damaged:
        log.archive(start, end)
    assert (errno.EIO, f"{damaged.value.rba:012X}") == (damaged.value.errno, str(damaged.value).split()[-1])
    return damaged.value.rba


# --- what is in an archive (AR3) --------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 300, 4096, 1 << 18])
@pytest.mark.parametrize(("start", "end"), [(400, 2000), (450, 1999), (450, 2001), (799, 1201), (400, 2400)])
def test_an_archive_has_the_bytes_of_its_range_and_no_more(monkeypatch, piece, start, end):
    """Wherever its first record begins and its last one ends; behind the log there may be nothing."""
    monkeypatch.setattr(archiving, "PIECE", piece)
    log = Log([400] * 6)
    assert (log.bytes_of(LOW + start, LOW + end), []) == log.archive(LOW + start, LOW + end)


def test_a_piece_is_durable_when_it_is_done(monkeypatch):
    monkeypatch.setattr(archiving, "PIECE", 500)
    log = Log([400] * 5)
    making = log.archiving(LOW + 400, LOW + 2000)
    for length, more in ((400, True), (1200, True), (1600, False)):
        assert more is making.piece()
        found = log.disk.after_power_cut().open(NAME)
        assert log.bytes_of(LOW + 400, LOW + 400 + length) == found.read(0, found.size())


@pytest.mark.parametrize("length", [HEADER_LENGTH, HEADER_LENGTH + 1, RECORD_MAX - 1, RECORD_MAX])
def test_the_shortest_and_the_longest_record_are_good(length):
    log = Log([100, length, length, 100])
    assert log.bytes_of(LOW + 100, log.end) == log.archive(LOW + 100, log.end)[0]


def test_what_a_cut_left_of_an_archive_is_made_again():
    """It may be longer than the archive is now."""
    log = Log([400] * 5)
    left = log.disk.create(NAME, 0)
    left.write(0, b"left by a cut" * 1000)
    left.sync()
    assert log.bytes_of(LOW + 400, LOW + 2000) == log.archive(LOW + 400, LOW + 2000)[0]


def test_no_file_is_left_open(monkeypatch):
    closed = []
    monkeypatch.setattr(FaultyFile, "close", lambda self: closed.append(self.name))
    log = Log([400] * 3)
    log.archive(LOW, log.end)
    assert [NAME] == closed
    log.archiving(LOW, log.end).give_up()
    assert [NAME, NAME] == closed


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_of_an_archive_that_is_given_up(fails):
    """Unless it cannot be deleted: why it was given up is what the operator is told."""
    log = Log([400] * 3)
    making = log.archiving(LOW, log.end)
    if fails:
        log.disk.fail_at[log.disk.operations + 1] = errno.EIO
    making.give_up()
    assert fails is log.disk.exists(NAME)


# --- from which copy (AR1, AR2) ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 4, 8, 15, 36, 39, HEADER_LENGTH, 399])
def test_a_record_is_taken_from_the_first_copy_that_has_it_good(at):
    """Whatever of it is spoiled: checksum, length, RBA, epoch or body."""
    log = Log([400] * 5, copies=3)
    third = log.rbas[2]
    log.spoil(third + at, 0)
    assert (log.bytes_of(LOW + 400, LOW + 2000), [third]) == log.archive(LOW + 400, LOW + 2000)
    log.spoil(third + 50, 1)
    assert (log.bytes_of(LOW + 400, LOW + 2000), [third]) == log.archive(LOW + 400, LOW + 2000)
    log.spoil(third + 399 - at // 2, 2)
    assert third == damaged_at(log, LOW + 400, LOW + 2000)


@pytest.mark.parametrize("length", [HEADER_LENGTH, RECORD_MAX])
def test_another_copy_has_records_of_any_length(length):
    log = Log([100, length, 100], copies=2)
    log.spoil(LOW + 100 + length - 1, 0)
    assert (log.bytes_of(LOW, log.end), [LOW + 100]) == log.archive(LOW, log.end)


@pytest.mark.parametrize("piece", [1, 1 << 18])
def test_an_epoch_that_goes_back_is_no_good_record(monkeypatch, piece):
    """L1: what an earlier start left behind newer records is not the log, also where another piece begins."""
    monkeypatch.setattr(archiving, "PIECE", piece)
    log = Log([400] * 4, epochs=[1, 2, 1, 2])
    assert log.rbas[2] == damaged_at(log, LOW, log.end)
    both = Log([400] * 4, copies=2, epochs=[1, 2, 2, 3])
    older = record(both.rbas[2], 400, epoch=1)
    both.put(both.rbas[2], older, 0)
    assert (both.bytes_of(LOW, both.end), [both.rbas[2]]) == both.archive(LOW, both.end)
    both.put(both.rbas[2], older, 1)
    assert both.rbas[2] == damaged_at(both, LOW, both.end)


# --- where records begin (AR4) ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [1, 7, 8, 12, 15, 16, HEADER_LENGTH, 4095, 4096, 4097, 16384, 65537, RECORD_MAX - 1])
def test_a_record_that_ends_in_the_range_is_looked_at_from_its_beginning(before):
    """However far before the range that is, and if its very header goes over the border."""
    log = Log([min(before + 60, RECORD_MAX), 500, 500])
    start = LOW + before
    assert log.bytes_of(start, log.end) == log.archive(start, log.end)[0]
    log.spoil(log.rbas[1] - 1)
    assert LOW == damaged_at(log, start, log.end)


def test_a_record_that_ends_before_the_range_is_not_its_concern():
    log = Log([400] * 5)
    log.spoil(log.rbas[1] + 100)
    assert log.bytes_of(LOW + 1000, log.end) == log.archive(LOW + 1000, log.end)[0]


@pytest.mark.parametrize("has_it", [0, 1])
def test_one_copy_that_has_the_beginning_of_the_first_record_is_enough(has_it):
    """The end of that record is damaged in both: it is not archived as if it were good."""
    log = Log([400] * 4, copies=2)
    start = LOW + 500
    log.begins[1 - has_it] = start
    assert log.bytes_of(start, log.end) == log.archive(start, log.end)[0]
    log.spoil(start + 100)
    assert log.rbas[1] == damaged_at(log, start, log.end)


@pytest.mark.parametrize("rest", [1, 399, RECORD_MAX - 1])
def test_without_its_beginning_the_rest_of_a_record_is_not_looked_at(rest):
    """Nobody can read it; the archive begins to have something where the first record is."""
    log = Log([max(rest + 1, HEADER_LENGTH), 400, 400])
    start = log.rbas[1] - rest
    log.begins[0] = start
    found, _ = log.archive(start, log.end)
    assert bytes(rest) + log.bytes_of(log.rbas[1], log.end) == found


@pytest.mark.parametrize("spoiled", [0, 1])
def test_the_first_record_is_the_first_that_any_copy_claims(spoiled):
    """The other copy does not know where it begins."""
    log = Log([400] * 4, copies=2)
    log.begins = [log.rbas[1]] * 2
    log.spoil(log.rbas[1] + 8, spoiled)
    found = log.archive(log.rbas[1], log.end)
    assert (log.bytes_of(log.rbas[1], log.end), [log.rbas[1]] if spoiled == 0 else []) == found


def test_a_log_without_any_record_is_damaged_from_its_beginning():
    log = Log([400] * 4)
    log.put(log.low, bytes(len(log.good)), 0)
    assert LOW + 10 == damaged_at(log, LOW + 10, log.end)
    assert not log.disk.exists(NAME)


@pytest.mark.parametrize("low", [0, 1, (1 << 16) - 40, (1 << 16) - 8, 1 << 16, (3 << 16) + 5, (1 << 48) - 30])
def test_every_claim_is_found_and_nothing_else(low):
    """RBAs around those at which the first six bytes of an RBA change, one behind the other and almost overlapping."""
    choose = Random(low)
    raw, claimed = bytearray((2 << 16) + 100), []
    border = -low % (1 << 16)
    near = [at + off for at in (0, border, border + (1 << 16)) for off in (-24, -16, -8, 0, 8, 16)]
    for at in sorted({*near, *range(1000, 1 << 16, 999), len(raw) - 16}):
        if 0 <= at <= len(raw) - 16 and choose.random() < 0.8 and not any(raw[at + 8 : at + 16]):
            raw[at + 8 : at + 16] = (low + at).to_bytes(8, "big")
            claimed.append(low + at)
    naive = [low + at for at in range(len(raw) - 15) if raw[at + 8 : at + 16] == (low + at).to_bytes(8, "big")]
    assert set(claimed) <= set(naive)
    assert naive == list(_claims(bytes(raw), low))
