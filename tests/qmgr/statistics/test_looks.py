"""Looks, traces and forms by themselves: what an interval has of a field, and where a value goes in a record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.layout import copied
from quaestor.qmgr.statistics.forms import Form, ebcdic
from quaestor.qmgr.statistics.intervals import Looks, begin_extremes
from quaestor.qmgr.statistics.settings import TraceError
from quaestor.qmgr.statistics.traces import TraceRow, Traces
from quaestor.smf.sections.log import LogStatistics
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting

# -- looks


def io(section):
    """Log I/O of the second copy, of several CIs: a block within a block."""
    return section.copies[1].kinds[1]


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=10))
def test_intervals_add_up_and_each_has_its_own_extreme(steps):
    """IV1, IV3: also of what stands in blocks within blocks."""
    looks, section, found = Looks(), LogStatistics(), []
    for count, longest in steps:
        section.checkpoints += count
        io(section).ios += count
        io(section).longest_io = max(io(section).longest_io, longest)
        found.append(looks.since("log", section))
    assert [count for count, _ in steps] == [each.checkpoints for each in found] == [io(each).ios for each in found]
    assert [longest for _, longest in steps] == [io(each).longest_io for each in found]
    assert sum(count for count, _ in steps) == section.checkpoints == io(section).ios


def test_a_look_at_one_section_is_none_at_another():
    looks, one, other = Looks(), LogStatistics(checkpoints=5), LogStatistics(checkpoints=7)
    assert [5, 7] == [looks.since("one", one).checkpoints, looks.since("other", other).checkpoints]
    one.checkpoints += 1
    assert [1, 0] == [looks.since("one", one).checkpoints, looks.since("other", other).checkpoints]


def test_what_is_neither_sum_nor_extreme_is_as_it_is():
    """IV2."""
    looks, section = Looks(), LogStatistics(writer_idle=9)
    io(section).longest_io_at, io(section).longest_io_log = 1234, "LOG1"
    for _ in range(2):
        found = looks.since("log", section)
        assert (9, 1234, "LOG1") == (found.writer_idle, io(found).longest_io_at, io(found).longest_io_log)


def test_a_glance_sees_what_the_next_look_sees_and_changes_nothing():
    """IV5: neither what is counted from, nor the extremes, nor a section that nobody has looked at."""
    looks, section, new = Looks(), LogStatistics(), LogStatistics(checkpoints=2)
    looks.since("log", section)
    section.checkpoints, io(section).longest_io = 3, 900
    for _ in range(2):
        glance = looks.glance()
        seen = glance.since("log", section)
        assert (3, 900, 2) == (seen.checkpoints, io(seen).longest_io, glance.since("new", new).checkpoints)
    found = looks.since("log", section)
    assert (3, 900, 2) == (found.checkpoints, io(found).longest_io, looks.since("new", new).checkpoints)


def test_only_extremes_begin_anew():
    section = LogStatistics(checkpoints=3, io_squares=[5, 6])
    io(section).longest_io = io(section).longest_suspension = io(section).ios = 8
    begin_extremes(section)
    assert (0, 0, 8) == (io(section).longest_io, io(section).longest_suspension, io(section).ios)
    assert (3, [5, 6]) == (section.checkpoints, section.io_squares)


def test_a_copy_is_on_its_own():
    section = LogStatistics(checkpoints=3)
    made = copied(section)
    assert section == made
    io(section).ios = section.checkpoints = 4
    assert (0, 3) == (io(made).ios, made.checkpoints)


# -- traces


def test_a_trace_gets_the_first_number_that_is_free():
    traces = Traces()
    assert [1, 2, 3] == [traces.start("STAT", {1}), traces.start("ACCTG", {3}), traces.start("STAT", {2})]
    assert [2] == traces.stop(2)
    assert [2, 4] == [traces.start("ACCTG", {1}), traces.start("ACCTG", {3})]
    assert [1, 2, 3, 4] == [row.number for row in traces.display()]


def test_a_trace_goes_on_with_the_classes_that_are_not_stopped():
    """TR2."""
    traces = Traces()
    traces.start("ACCTG", {3, 1}, "GTF")
    traces.start("ACCTG", {3})
    traces.start("STAT")
    assert [1, 2] == traces.stop("ACCTG", {3})
    assert TraceRow(1, "ACCTG", (1,), "GTF") == traces.display()[0]
    assert [1, 3] == [row.number for row in traces.display()]
    assert ({1}, {1, 2}) == (traces.classes("ACCTG"), traces.classes("STAT"))
    assert ([], [1]) == (traces.stop("ACCTG", {3}), traces.stop("acctg"))
    assert frozenset() == traces.classes("ACCTG")


def test_a_trace_that_is_not_there_cannot_be_stopped():
    with pytest.raises(TraceError, match="no trace 1"):
        Traces().stop(1)


# -- forms


def words(raw, offset, count):
    return [int.from_bytes(raw[at : at + 4], "big") for at in range(offset, offset + 4 * count, 4)]


def test_a_block_is_given_as_its_words():
    """FO4: 500 words from offset 736 on are the calls of a queue's structure, 100 from 1264 on those of prepares."""
    empty, form = Form(QueueAccounting, 2800).filled({}), Form(QueueAccounting, 2800)
    made = form.filled({"cf_calls": list(range(1, 501))})
    assert list(range(1, 501)) == words(made, 736, 500)
    assert (empty[:736], empty[2736:]) == (made[:736], made[2736:])
    task = Form(TaskAccounting, TaskAccounting.LAYOUT.size).filled({"prepare_cf_calls": list(range(100))})
    assert list(range(100)) == words(task, 1264, 100)


@pytest.mark.parametrize(("value", "kept"), [((1 << 32) - 1, (1 << 32) - 1), (1 << 32, (1 << 32) - 1), (0, 0)])
def test_a_number_that_does_not_fit_is_the_greatest_that_does(value, kept):
    at = next(each.offset for each in QueueAccounting.LAYOUT.fields if each.name == "puts")
    assert [kept] == words(Form(QueueAccounting, 2800).filled({"puts": value}), at, 1)


def test_a_word_of_a_block_or_an_array_that_does_not_fit_is_the_greatest_that_does():
    """FO5."""
    most = (1 << 32) - 1
    made = Form(QueueAccounting, 2800).filled({"cf_calls": [1, most + 1, most, 1 << 40, *[0] * 496]})
    assert [1, most, most, most, 0] == words(made, 736, 5)
    each = TaskAccounting.LAYOUT["latch_elapsed"]
    made = Form(TaskAccounting, TaskAccounting.LAYOUT.size).filled({"latch_elapsed": [1 << 70, 5, *[0] * 30]})
    assert [most, most, 0, 5] == words(made, each.offset, 4)


def test_bytes_are_filled_in_as_they_are():
    assert bytes(range(16)) == Form(QueueAccounting, 2800).filled({"correlator": bytes(range(16))})[16:32]


def test_what_an_earlier_level_lacks_is_left_out():
    """FO1: a structure that ends before a field has nothing of it."""
    form = Form(QueueAccounting, 736)
    assert form.filled({}) == form.filled({"cf_calls": [1] * 500})
    assert 736 == len(form.filled({}))
    calls = list(range(500))
    assert [calls, [0] * 499] == [
        words(Form(QueueAccounting, length).filled({"cf_calls": calls}), 736, count)
        for length, count in ((2736, 500), (2732, 499))
    ]


@pytest.mark.parametrize(
    ("text", "kept"), [("AB", "C1C24040"), ("ABCDE", "C1C2C3C4"), ("", "40404040"), ("A→", "C16F4040")]
)
def test_text_is_padded_or_cut_and_what_is_not_known_is_a_question(text, kept):
    """FO3."""
    assert bytes.fromhex(kept) == ebcdic(text, 4)
