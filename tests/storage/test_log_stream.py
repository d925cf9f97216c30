"""One log for many writers: what is forced stays, what was cut off never comes back, nobody misses a record."""

import threading
from contextlib import suppress

import pytest

from quaestor.mqi.reasons import Abend
from quaestor.storage.log_stream import LogStream, RecordTooLongError
from quaestor.storage.real_disk import RealDisk
from quaestor.testing import FaultyDisk, PowerCut

SMALL = 400


def anybody(_records):
    """Whoever appends may."""


def append(stream, text, member="CQS1"):
    return stream.append(member, 7, 2, text.encode(), anybody)


def bodies(stream, rba=0):
    return [record.body.decode() for record in stream.read(rba or stream.first)]


def test_a_record_is_read_as_it_was_appended():
    stream = LogStream(FaultyDisk(), "log")
    first, second = append(stream, "a"), append(stream, "b" * 1000, "CQS2")
    assert [first, second] == list(stream.read(stream.first))
    assert (7, "CQS2", 2, first.end, stream.end) == (
        second.incarnation,
        second.member,
        second.kind,
        second.rba,
        second.end,
    )
    assert [second] == list(stream.read(second.rba))


def test_writers_append_behind_each_other():
    disk = FaultyDisk()
    one, two = LogStream(disk, "log"), LogStream(disk, "log")
    for number in range(6):
        append((one, two)[number % 2], str(number))
    assert list("012345") == bodies(one) == bodies(two) == bodies(LogStream(disk, "log"))


def test_who_appends_sees_first_what_others_have_appended():
    disk, seen = FaultyDisk(), []
    one, two = LogStream(disk, "log"), LogStream(disk, "log")
    append(one, "a"), append(one, "b")
    two.append("CQS2", 0, 1, b"c", lambda records: seen.extend(record.body for record in records))
    one.look(lambda records: seen.extend(record.body for record in records))
    assert [b"a", b"b", b"c"] == seen


def test_who_is_not_admitted_appends_nothing():
    stream = LogStream(FaultyDisk(), "log")

    def refuse(_records):
        raise PermissionError

    with pytest.raises(PermissionError):
        stream.append("CQS1", 0, 1, b"no", refuse)
    append(stream, "yes")
    assert ["yes"] == bodies(stream)


def test_what_was_cut_off_does_not_come_back():
    """The beginning of an append was lost and is written over: the whole record behind it does not follow (LG1)."""
    disk = FaultyDisk()
    stream = LogStream(disk, "log")
    append(stream, "kept")
    lost = append(stream, "lost")
    append(stream, "behind it")
    file = disk.open(disk.names("log-")[0])
    file.write(20 + lost.rba - 1 + 4, b"\xff")
    again = LogStream(disk, "log")
    assert ["kept"] == bodies(again)
    append(again, "new!")
    assert ["kept", "new!"] == bodies(again) == bodies(LogStream(disk, "log"))


def test_segments_follow_each_other_and_go_when_nobody_needs_them():
    disk = FaultyDisk()
    stream, other = LogStream(disk, "log", SMALL), LogStream(disk, "log", SMALL)
    records = [append(stream, f"{number:050}") for number in range(30)]
    assert len(disk.names("log-")) > 3
    assert [record.body.decode() for record in records] == bodies(other)
    append(other, "last")
    gone = stream.trim(records[15].rba)
    assert gone
    assert not set(gone) & set(disk.names("log-"))
    assert [record.body.decode() for record in records[15:]] + ["last"] == bodies(other, records[15].rba)
    with pytest.raises(Abend, match="LG4"):
        bodies(stream, records[0].rba)


def test_nobody_goes_on_behind_records_that_it_missed():
    disk = FaultyDisk()
    asleep, stream = LogStream(disk, "log", SMALL), LogStream(disk, "log", SMALL)
    for number in range(30):
        append(stream, f"{number:050}")
    stream.trim(stream.end)
    with pytest.raises(Abend, match="start again"):
        append(asleep, "what did I miss?")


def test_a_segment_without_a_beginning_is_begun_again():
    """A cut between the creation of a segment and its first bytes."""
    disk = FaultyDisk()
    stream = LogStream(disk, "log", SMALL)
    while stream.end < SMALL:
        append(stream, "x" * 50)
    disk.create(f"log-{stream.end:016x}", 0)
    count = len(bodies(LogStream(disk, "log", SMALL)))
    append(stream, "goes on")
    assert count + 1 == len(bodies(LogStream(disk, "log", SMALL)))


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(3))
def test_what_was_forced_survives_a_power_cut_at_any_moment(seed):
    def play(disk):
        stream = LogStream(disk, "log", SMALL)
        for number in range(12):
            append(stream, f"{number:040}")
            if number % 3 == 2:
                stream.force()
                forced.append(number)

    forced = []
    whole = FaultyDisk()
    play(whole)
    for cut in range(whole.operations):
        forced = []
        disk = FaultyDisk(cut, seed)
        with suppress(PowerCut):
            play(disk)
        found = [int(body) for body in bodies(LogStream(disk.after_power_cut(seed + cut), "log", SMALL))]
        assert list(range(len(found))) == found
        assert not forced or found[: forced[-1] + 1] == list(range(forced[-1] + 1))


def test_threads_and_their_own_handles(tmp_path):
    streams = [LogStream(RealDisk(tmp_path), "log", 2000) for _ in range(3)]

    def work(at):
        for number in range(40):
            append(streams[at], f"{at}-{number}", f"CQS{at}")

    threads = [threading.Thread(target=work, args=(at,)) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = bodies(streams[0])
    assert 120 == len(set(found)) == len(found)
    for at in range(3):
        assert [f"{at}-{number}" for number in range(40)] == [each for each in found if each.startswith(f"{at}-")]
    for stream in streams:
        stream.close()


@pytest.mark.parametrize("segment", [0, 1])
def test_damage_in_the_midst_is_not_passed_over(segment):
    """LG1: what stands behind it in the same segment has happened, and would be missed."""
    disk = FaultyDisk()
    stream = LogStream(disk, "log", SMALL)
    for number in range(30):
        append(stream, f"{number:050}")
    stream.force()
    name = sorted(each for each in disk.names("log-") if not each.endswith("lock"))[segment]
    file = disk.open(name)
    file.write(150, b"\xff")
    with pytest.raises(Abend, match="LG1"):
        bodies(stream)


def test_a_record_that_nobody_could_read_is_not_written(monkeypatch):
    """LG1: it would be the end of the log for everybody, and the next append would write over it."""
    monkeypatch.setattr("quaestor.storage.log_stream.RECORD_MAX", 1000)
    stream = LogStream(FaultyDisk(), "log")
    with pytest.raises(RecordTooLongError, match="1000 bytes"):
        append(stream, "x" * 1000)
    append(stream, "y")
    assert ["y"] == bodies(stream)
