"""A job log read for its figures, and when the recovery it shows will end.

The logs keep identifiers, names and values of real ones; the words between them do not matter to the reader.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.job_log import messages, read_restart
from quaestor.planner.log_ranges import UnitOfRecovery, UnitStatus, rba_of
from quaestor.planner.quantity import MIB
from quaestor.planner.restart_progress import Progress, end_s, recovery_rate_bytes_per_s, remaining_s
from quaestor.planner.source import OutOfRangeError

C, D, F, A = UnitStatus.IN_COMMIT, UnitStatus.IN_DOUBT, UnitStatus.IN_FLIGHT, UnitStatus.IN_BACKOUT

PLAIN = """
CSQJ099I @12A recording from
STARTRBA=0211B7845000
CSQR001I @12A begin
CSQR003I @12A PRIOR CHECKPOINT RBA=0211B7842C44
CSQR004I @12A
IN COMMIT=1, INDOUBT=0, INFLIGHT=1, IN BACKOUT=0
CSQR007I @12A
T CON-ID THREAD-XREF S URID DAY TIME
S IYCPVC01 1119E2ACC3D7F1F50000032C C 0211B7843536 138 16:59:32
S IYCPVC01 1119E2ACC3D7F1F50000036C F 0211B7F88502 138 17:05:51
CSQR005I @12A after forward IN COMMIT=0,
INDOUBT=0
CSQR006I @12A after backward INFLIGHT=0, IN
BACKOUT=0
CSQR002I @12A end
"""

GLUED = """
08.36.13 CSQJ099I @V21A STARTRBA=0000296A8000
08.36.13 CSQR001I @V21A begin
CSQR003I @V21A CHECKPOINT RBA=0000278DF333
08.36.27 CSQR004I @V21A IN COMMIT=1, INDOUBT=1, INFLIGHT=1, IN BACKOUT=0
CSQR007I @V21A T CON-ID THREAD-XREF S URID TIME
S IYCPVC02 1869E2ACC3D7F2F50000046C F0000000A1F55 .. 08:14:35
S IYCPVC02 1869EE04C9D5C3D40016274C D0000046280C4 .. 08:18:56
S IYCPVC02 1869F206C3D7F2F50034023C C000008E340AO .. 08:24:11
08.47.05 CSQR005I @V21A IN COMMIT=0, INDOUBT=1
CSQR007I @V21A T CON-ID THREAD-XREF S URID TIME
S IYCPVC02 1869EE04C9D5C3D40016274C D0000046280C4 .. 08:18:56
09.04.50 CSQR006I @V21A INFLIGHT=0, IN BACKOUT=0
"""

PROGRESS = """
09.37.29 CSQI049I @# Page set 0 media RBA=0000479AF9FA, checkpoint RBA=0000479AF9FA
09.37.29 CSQI049I @# Page set 1 media RBA=0000479AF9FA, checkpoint RBA=0000479AF9FA
09.37.29 CSQI049I @# Page set 2 media RBA=0000479AF9FA, checkpoint RBA=0000479AF9FA
09.37.29 CSQI049I @# Page set 3 media RBA=0000479AF9FA, checkpoint RBA=0000479AF9FA
09.37.30 CSQR030I @# forward from RBA=0000479AF9FA to RBA=0000479B33A0
09.37.30 CSQR005I @# IN COMMIT=0, INDOUBT=0
09.37.30 CSQR032I @# backward from RBA=0000479B33A0 to RBA=000008561B58
09.38.43 CSQR033I @# RBA=00003E022000
09.40.43 CSQR033I @# RBA=00002E39A11D
09.42.43 CSQR033I @# RBA=00001E686466
09.44.43 CSQR033I @# RBA=00000EAB6000
09.45.31 CSQR006I @# INFLIGHT=0, IN BACKOUT=0
09.45.31 CSQR002I @# end
"""

CHECKPOINT = """
09.45.31 CSQP018I @# CSQPBCKW started
09.45.31 CSQP021I @# Page set 0 new media
RBA=0000479B4000, checkpoint RBA=0000479B4000
09.45.31 CSQP019I @# CSQP1DWP BUFFER
POOL 3, 2 PAGES
09.45.31 CSQP021I @# Page set 1 RBA=0000479B4000, checkpoint RBA=0000479B4000
09.45.31 CSQP021I @# Page set 2 RBA=0000479B4850, checkpoint RBA=0000479B4850
09.45.31 CSQP021I @# Page set 3 RBA=0000479B50A0, checkpoint RBA=0000479B50A0
09.45.31 CSQP019I @# CSQP1DWP BUFFER POOL 2, 19 PAGES
09.45.32 CSQP019I @# CSQP1DWP BUFFER POOL 1, 21 PAGES
09.45.32 CSQP019I @# CSQP1DWP BUFFER POOL 0, 87 PAGES
09.45.32 CSQY022I @# complete
09.45.32 CSQ9022I @# CSQYASCP 'START QMGR'
"""


def clock(text):
    hours, minutes, seconds = map(int, text.split("."))
    return hours * 3600 + minutes * 60 + seconds


@pytest.mark.oracle("mp16-ch1/34", kind="parser", lines="1177-1193")
def test_a_job_log_without_times():
    log = read_restart(PLAIN)
    assert log.failure_rba == rba_of("0211B7845000")
    assert log.checkpoint_rba == rba_of("0211B7842C44")
    assert log.counts["CSQR004I"] == {C: 1, D: 0, F: 1, A: 0}
    assert log.units["CSQR004I"] == [
        UnitOfRecovery(C, rba_of("0211B7843536")),
        UnitOfRecovery(F, rba_of("0211B7F88502")),
    ]
    assert log.counts["CSQR005I"] == {C: 0, D: 0}
    assert log.counts["CSQR006I"] == {F: 0, A: 0}
    assert log.at_s == {}


def test_status_glued_to_the_urid_and_a_letter_o():
    log = read_restart(GLUED)
    expected = [(F, "0000000A1F55"), (D, "0000046280C4"), (C, "000008E340A0")]
    assert log.units["CSQR004I"] == [UnitOfRecovery(status, rba_of(urid)) for status, urid in expected]
    assert log.units["CSQR005I"] == [UnitOfRecovery(D, rba_of("0000046280C4"))]
    assert log.at_s["CSQR004I"] - log.at_s["CSQR001I"] == 14
    assert log.at_s["CSQR005I"] - log.at_s["CSQR004I"] == 10 * 60 + 38
    assert log.at_s["CSQR006I"] - log.at_s["CSQR005I"] == 17 * 60 + 45


@pytest.mark.oracle("mp16-ch1/37", kind="parser", lines="1464-1471")
def test_no_page_set_comes_from_a_backup():
    page_sets = read_restart(PROGRESS).page_sets
    assert [0, 1, 2, 3] == [each.page_set for each in page_sets]
    assert {rba_of("0000479AF9FA")} == {each.media_rba for each in page_sets}
    assert not any(each.from_backup for each in page_sets)
    restored = PROGRESS.replace("2 media RBA=0000479AF9FA", "2 media RBA=000047000000")
    assert [2] == [each.page_set for each in read_restart(restored).page_sets if each.from_backup]


@pytest.mark.oracle("mp16-ch1/33", kind="parser", lines="1512-1532")
def test_the_checkpoint_after_restart():
    log = read_restart(CHECKPOINT)
    assert log.pages_written == {3: 2, 2: 19, 1: 21, 0: 87}
    assert sum(log.pages_written.values()) == 129
    assert ["0000479B4000", "0000479B4000", "0000479B4850", "0000479B50A0"] == [
        f"{each.media_rba:012X}" for each in log.checkpointed
    ]
    order = [message.identifier for message in messages(CHECKPOINT)]
    assert order[:3] == ["CSQP018I", "CSQP021I", "CSQP019I"]
    assert order[-2:] == ["CSQY022I", "CSQ9022I"]


@pytest.mark.oracle("mp16-ch1/35", kind="derived", lines="1494-1507")
def test_when_backward_recovery_will_end():
    log = read_restart(PROGRESS)
    assert log.backward.bytes == 1_061_492_808
    first, second, *_ = log.backward_progress
    rate = recovery_rate_bytes_per_s(first, second)
    assert round(rate / MIB, 4) == 2.1044
    assert round(remaining_s(log.backward.from_rba, first, second)) == 288
    assert round(end_s(log.backward.from_rba, first, second)) == clock("09.45.31") == log.at_s["CSQR002I"]
    assert round(log.backward.bytes / rate) == 481


def test_forward_recovery_counts_up():
    log = read_restart("10.00.00 CSQR031I RBA=1000 10.02.00 CSQR031I RBA=3000")
    assert [Progress(36_000, 0x1000), Progress(36_120, 0x3000)] == log.forward_progress
    assert remaining_s(0x5000, *log.forward_progress) == 120
    assert remaining_s(0x5000, *log.forward_progress, archive_wait_s=60) == 180


def test_a_recovery_over_midnight():
    log = read_restart(
        "23.58.00 CSQR033I RBA=5000 CSQR033I RBA=4800 00.00.00 CSQR033I RBA=4000 00.02.00 CSQR033I RBA=3000"
    )
    assert [86_280, 86_400, 86_520] == [each.at_s for each in log.backward_progress]
    assert remaining_s(0x1000, *log.backward_progress[-2:]) == 240


@pytest.mark.parametrize(
    ("end_rba", "earlier", "later", "says"),
    [
        (9, Progress(5, 1), Progress(5, 2), "later.at_s 5 is not valid: more than 5"),
        (9, Progress(5, 1), Progress(6, 1), "did not move"),
        (1, Progress(5, 2), Progress(6, 3), "lies behind"),
    ],
)
def test_progress_that_predicts_nothing(end_rba, earlier, later, says):
    with pytest.raises(OutOfRangeError, match=says):
        remaining_s(end_rba, earlier, later)


def test_a_recovery_that_has_arrived():
    assert remaining_s(5, Progress(0, 10), Progress(1, 5)) == 0
    assert remaining_s(4, Progress(0, 10), Progress(1, 5)) == pytest.approx(0.2)


def test_a_log_that_starts_at_midnight():
    assert [0] == [message.at_s for message in messages("00.00.00 CSQR001I")]


def test_an_empty_log_says_nothing():
    log = read_restart("")
    assert (None, None, None, None) == (log.failure_rba, log.checkpoint_rba, log.forward, log.backward)
    assert ({}, {}, [], {}) == (log.counts, log.units, log.page_sets, log.pages_written)


def test_a_message_without_its_values_is_left_out():
    log = read_restart("CSQJ099I\nCSQR030I from RBA=10\nCSQI049I RBA=1 RBA=2\n10.00.00 CSQR033I\nCSQR033I RBA=12")
    assert (None, None) == (log.failure_rba, log.forward)
    assert ([], []) == (log.page_sets, log.backward_progress)


PIECES = ["10.00.00", "Page set", "BUFFER POOL 1, 2 PAGES", "IN COMMIT=", "RBA=", "0", "1F", "G", "C", "0" * 24, ","]
IDENTIFIERS = sorted({message.identifier for log in (PLAIN, GLUED, PROGRESS, CHECKPOINT) for message in messages(log)})


@given(st.lists(st.sampled_from(PIECES + IDENTIFIERS), max_size=40), st.sampled_from(["", " "]))
def test_any_text_can_be_read(pieces, between):
    log = read_restart(between.join(pieces))
    assert len(log.at_s) <= len(pieces)


@given(st.sampled_from([PLAIN, GLUED, PROGRESS, CHECKPOINT]), st.randoms())
def test_line_breaks_mean_nothing(log, random):
    words = log.split()
    broken = "".join(word + random.choice([" ", "\n", "\n  "]) for word in words)
    assert read_restart(broken) == read_restart(log)
