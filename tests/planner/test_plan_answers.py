"""Every question of the three lists is answered or says what is missing, and every answer can be computed again."""

from dataclasses import replace
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.planner.answer import HeadRoom, Unit, plain, show
from quaestor.planner.answers import plan
from quaestor.planner.log_space import Action, QueueKind, log_bytes_per_message
from quaestor.planner.questions.catalog import LISTS, QUESTIONS, question
from quaestor.planner.questions.load import Load
from quaestor.planner.source import FORMULAS
from quaestor.planner.workload_file import load_workload, parse

LEAST = """
[queue_manager]
name = "QM1"
[[flow]]
queue = "A"
size = 1024
rate = "100/s"
persistent = true
"""


def times_faster(workload, times):
    flows = tuple(replace(flow, average_per_s=flow.average_per_s * times) for flow in workload.flows)
    return replace(workload, flows=flows)


@pytest.fixture(scope="module")
def example():
    return plan(load_workload())


def test_the_three_lists_are_whole():
    numbers = [f"{chapter}-{place}" for chapter, last in LISTS.items() for place in range(1, last + 1)]
    assert sorted(numbers) == sorted(QUESTIONS)
    assert 100 == len(numbers)


def test_no_question_is_left_out(example):
    answered = {each.number for each in example.answers}
    assert set(QUESTIONS) == answered | {each.number for each in example.unanswered}
    assert {"ch1-29", "ch1-30", "ch4-24"} == set(QUESTIONS) - answered  # they need a failure, or what IMS counted


def test_a_question_is_answered_once():
    with pytest.raises(ValueError, match="ch1-1 is answered twice"):
        question("ch1-1", "again")(lambda _load: iter(()))


def test_every_answer_can_be_computed_again(example):
    """A1: the formula named, called with the inputs shown, gives the result; its source is the formula's own."""
    for each in example.answers:
        module, _, name = each.formula.partition(".")
        found = getattr(import_module(f"quaestor.planner.{module}"), name)
        if callable(found):
            assert each.result == found(**each.inputs), each
            assert FORMULAS[each.formula] == each.source
        else:
            key = each.inputs[found.columns[0]]
            assert each.result == found.between(key, each.inputs["column"])


def test_the_log_rate_adds_up_by_hand():
    """100 messages/s of 1 KB: a put of 2088 bytes and its get, from the charts."""
    load = Load(parse(LEAST, "w"))
    each = 2088 + log_bytes_per_message(1024, Action.GET, QueueKind.LOCAL)
    assert each == load.log_bytes_per_message(load.persistent[0])
    assert 100 * each == pytest.approx(load.peak_log_rate)


def test_a_member_carries_its_part_of_a_shared_flow():
    shared = LEAST + "shared = true\n[coupling_facility]\ncfcc_level = 17\n"
    alone = Load(parse(shared, "w")).peak_log_rate
    four = Load(parse(shared.replace('"QM1"', '"QM1"\nmembers = 4'), "w")).peak_log_rate
    assert alone == pytest.approx(4 * four)


def test_batches_add_to_the_log():
    channel = '[[channel]]\nname="C"\nkind="sender"\nsize=1024\nrate="10/s"\npersistent=true\nchannels=3\n'
    more = Load(parse(LEAST + channel, "w")).peak_log_rate - Load(parse(LEAST, "w")).peak_log_rate
    assert 3 * 10 * 2.5 * 1024 == pytest.approx(more)


def test_what_is_missing_is_said():
    found = {each.number: each.why for each in plan(parse(LEAST, "w")).unanswered}
    assert "the workload lacks [dasd]" == found["ch4-1"]
    assert "the workload lacks a shared [[flow]]" == found["ch2-4"]
    assert "the workload lacks a [[channel]]" == found["ch2-29"]
    assert "the workload lacks a [[counted_pool]]; --from-lake reads them" == found["ch1-23"]
    assert "advisor" in found["ch4-24"]


def test_a_workload_without_log_answers_what_it_can():
    quiet = plan(parse(LEAST.replace("true", "false"), "w"))
    assert not quiet.of("ch1-4")
    assert quiet.of("ch1-16")
    why = next(each.why for each in quiet.unanswered if each.number == "ch1-4")
    assert "the workload lacks a persistent [[flow]] with a rate above 0" == why


def test_a_formula_that_refuses_leaves_its_own_words():
    many = plan(parse(LEAST.replace('"QM1"', '"QM1"\nobjects = 20_000'), "w"))
    why = next(each.why for each in many.unanswered if each.number == "ch1-34")
    assert "restart seconds by objects defined: objects 20000 is outside 140 to 14484" == why


def test_what_is_at_its_limit_but_for_a_rounding_has_not_passed_it():
    """A3."""
    over = (0, 1e-15, 4e-12)  # the tenth decimal of a percentage does not count, the ninth does
    assert ["0.0"] * 3 == [str(HeadRoom("x", 1800 * (1 + each), 1800).percent) for each in over]
    passed, kept = (HeadRoom("x", 1800 * (1 + each), 1800).percent for each in (1e-11, -1e-11))
    assert (-1e-9, 1e-9) == (passed, kept)


def test_an_answer_in_a_line_leaves_out_what_its_formula_gave(example):
    """The figure is picked from it, and inputs and formula say how to have it again (A1)."""
    assert not [each.number for each in example.answers if "result=" in repr(each)]
    assert all(f"value={each.value!r}" in repr(each) for each in example.answers)


def test_limits_come_tightest_first_and_the_passed_ones_are_known(example):
    percents = [room.percent for _, room in example.limits]
    assert percents == sorted(percents)
    assert [room.what for _, room in example.passed] == [
        "active logs of a copy",
        "page set 3 before it expands",
        "30 minutes for one active log",
    ]


def test_rates_above_what_the_dasd_does_are_below_no_head_room():
    workload = load_workload()
    fast = replace(
        workload, flows=tuple(replace(flow, average_per_s=flow.average_per_s * 100) for flow in workload.flows)
    )
    passed = {room.what for _, room in plan(fast).passed}
    assert {"half the log data rate of the DASD", "persistent messages at most"} <= passed


@settings(max_examples=20, deadline=None)
@given(st.floats(1, 50))
def test_more_messages_never_leave_more_head_room(times):
    workload = load_workload()
    before, after = (
        {(room.what, answer.about, answer.what): room.percent for answer, room in plan(each).limits}
        for each in (workload, times_faster(workload, times))
    )
    assert before.keys() == after.keys()
    for key, percent in after.items():
        assert percent <= before[key] + 1e-6, key


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (True, Unit.FLAG, "yes"),
        (2048, Unit.BYTES, "2 KiB"),
        (2048, Unit.BYTES_PER_S, "2 KiB/s"),
        (90, Unit.SECONDS, "1 min 30 s"),
        (500.0, Unit.PER_S, "500/s"),
        (1234567, Unit.PAGES, "1,234,567 pages"),
        (0.1234, Unit.MS, "0.123 ms"),
        (12.34, Unit.MS, "12.3 ms"),
        (99.96, Unit.MS, "100 ms"),
        (123.4, Unit.MS, "123 ms"),
        (999.6, Unit.MS, "1,000 ms"),
        (-999.6, Unit.PERCENT, "-1,000 %"),
        (1234.5, Unit.MS, "1,234 ms"),
        (30, Unit.MINUTES, "30 min"),
        (12.5, Unit.MINUTES, "12 min 30 s"),
        (5_571_129, Unit.MINUTES, "3868 d 20 h"),
        (3, Unit.COUNT, "3"),
        (False, Unit.FLAG, "no"),
        ((1.5, 2048), Unit.BYTES, "2 B to 2 KiB"),
        ((15, 15), Unit.PERCENT, "15 %"),
        ((15, 55), Unit.PERCENT, "15 % to 55 %"),
        (Action.PUT, Unit.TEXT, "put"),
        ("x", Unit.TEXT, "x"),
    ],
)
def test_a_value_is_shown_with_its_unit(value, unit, shown):
    assert shown == show(value, unit)


def test_a_plan_is_plain_for_other_programs(example):
    import json

    for each in example.answers:
        made = each.as_plain()
        assert made == json.loads(json.dumps(made, allow_nan=False))


def test_no_number_without_end_reaches_json():
    assert plain(float("inf")) is None
    assert plain(float("-inf")) is None
    assert [1.5, {"1": "PUT"}, "x", None] == plain((1.5, {1: Action.PUT}, "x", None))


@pytest.mark.parametrize(
    ("used", "limit", "percent"),
    [(25, 100, 75), (100, 100, 0), (150, 100, -50), (0, 100, 100), (0, 0, 0), (1, 0, float("-inf"))],
)
def test_head_room_is_what_is_left_of_a_limit(used, limit, percent):
    """A3: below 0 the limit is passed; of nothing, nothing is left."""
    assert percent == HeadRoom("x", used, limit).percent
