"""Definitions follow from the plan; a change shows what it does and what breaks first."""

import re
from dataclasses import replace

import pytest

from quaestor.planner.answers import plan
from quaestor.planner.definitions import definitions, page_set_bytes_needed
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.questions.load import Load
from quaestor.planner.release import Release
from quaestor.planner.whatif import Change, ChangeError, breaks_first, change, changed, factor, what_if
from quaestor.planner.workload_file import load_workload, parse


@pytest.fixture(scope="module")
def example():
    return load_workload()


def test_every_pool_page_set_and_queue_has_its_line(example):
    made = "\n".join(definitions(example).mqsc)
    for pool in example.buffer_pools:
        assert f"DEFINE BUFFPOOL({pool.number}) BUFFERS({pool.buffers}) LOCATION(ABOVE) REPLACE" in made
    for page_set in example.page_sets:
        assert f"DEFINE PSID({page_set.number:02d}) BUFFPOOL({page_set.buffer_pool})" in made
    for flow in example.flows:
        assert f"DEFINE QLOCAL('{flow.queue}')" in made
    for channel in example.channels:
        assert f"ALTER CHANNEL('{channel.name}')" in made


def test_a_pool_below_the_bar_before_version_8(example):
    old = replace(example, queue_manager=replace(example.queue_manager, version=Release.V7_1))
    assert "LOCATION" not in "\n".join(definitions(old).mqsc)


def test_the_channel_initiator_is_a_macro_before_version_6(example):
    old = replace(example, queue_manager=replace(example.queue_manager, version=Release.V5_3))
    made = definitions(old)
    assert "ALTER QMGR" not in "\n".join(made.mqsc)
    assert any("CSQ6CHIP CURRCHL=1512," in line for line in made.parameters)
    assert "ALTER QMGR MAXCHL(1512)" in "\n".join(definitions(example).mqsc)


def test_macros_go_on_in_column_72(example):
    lines = definitions(example).parameters
    assert all("X" == line[71:] for line in lines if line.rstrip("X").rstrip().endswith(","))
    assert not any(re.search(r"\([^)]* ", line) for line in lines), "a blank ends the operands of a macro"


def test_the_page_set_that_is_too_small_is_named(example):
    """230,400 messages of 20 KB are six pages each; 90 % of the page set must hold them."""
    needs = page_set_bytes_needed(Load(example), 3)
    assert needs >= 230_400 * 6 * PAGE_BYTES / 0.9
    assert any(
        note.startswith("page set 3: allocate 5.859 GiB or more (today 4 GiB)") for note in definitions(example).notes
    )


def test_the_defined_page_set_then_suffices(example):
    needs = page_set_bytes_needed(Load(example), 3)
    larger = tuple(replace(each, data_bytes=needs) if each.number == 3 else each for each in example.page_sets)
    after = plan(replace(example, page_sets=larger))
    assert "page set 3 before it expands" not in {room.what for _, room in after.passed}


def test_a_backlog_beyond_any_page_set_says_so(example):
    flow = replace(example.flows[2], outage_s=86_400 * 10)
    notes = definitions(replace(example, flows=(flow, *example.flows[:2]))).notes
    assert any("above the largest of 64 GiB: put its queues on 3 page sets" in note for note in notes)


def test_the_structure_in_the_policy_holds_the_outage(example):
    policy = definitions(example).cfrm
    answer = next(each for each in plan(example).of("ch2-6") if each.about == "APP1")
    assert any(f"NAME(PAYGAPP1) INITSIZE({answer.value})" in line for line in policy)
    assert any("PAYGCSQ_ADMIN" in line for line in policy)


def test_a_private_workload_has_no_policy():
    least = '[queue_manager]\nname="Q"\n[[flow]]\nqueue="A"\nsize=1\nrate=1\npersistent=false\n'
    made = definitions(parse(least, "w"))
    assert () == made.cfrm
    assert "CFRM" not in made.as_text()


def test_a_restart_target_that_no_logload_keeps_is_a_note(example):
    hard = replace(example, targets=replace(example.targets, restart_s=5))
    assert any(note.startswith("LOGLOAD: restart_limit_s 5 is not valid") for note in definitions(hard).notes)


# --- what if ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "times"), [("x2", 2), ("X1.5", 1.5), ("+20%", 1.2), ("-10 %", 0.9), ("x 3", 3)])
def test_a_factor_as_people_write_it(text, times):
    assert times == pytest.approx(factor(text))


@pytest.mark.parametrize("text", ["2", "twice", "+20", "x-2", "", "x5000", "-120%"])
def test_what_is_no_factor_is_refused(text):
    with pytest.raises(ChangeError, match=r"is not (a change: write x2|valid: x0 to x1000)"):
        factor(text)


def test_a_size_is_set_or_multiplied(example):
    assert {4096} == {flow.message_bytes for flow in changed(example, change(None, "4k")).flows}
    assert 2000 == changed(example, change(None, "x2")).flows[0].message_bytes


def test_a_change_can_be_kept_to_some_queues(example):
    made = changed(example, change("x2", None, ("PAY.ORDER",)))
    assert [100, 50] == [flow.average_per_s for flow in made.flows[:2]]


def test_a_change_of_a_queue_that_is_not_there(example):
    with pytest.raises(ChangeError, match=r"no \[\[flow\]\] PAY.ODER; did you mean PAY.ORDER"):
        changed(example, change("x2", None, ("PAY.ODER",)))


@pytest.mark.parametrize("what", [Change(size_times=1e6), Change(messages=1e6)])
def test_a_change_beyond_what_can_be_is_refused(example, what):
    with pytest.raises(ChangeError, match="is not valid: 0 to"):
        changed(example, what)


def test_a_size_that_is_none(example):
    with pytest.raises(ChangeError, match=r"is no unit of a size.*or x2, x1.5"):
        change(None, "4q")


def test_no_change_makes_no_difference(example):
    found = what_if(example, Change())
    assert [] == found.differences
    assert [] == found.newly_passed


def test_twice_the_messages_doubles_what_is_proportional(example):
    found = what_if(example, change("x2", None))
    backlog = next(each for each in found.differences if each.either.number == "ch1-16")
    assert 2 * backlog.before.value == backlog.after.value


def test_what_breaks_first_holds_below_and_is_passed_at_the_factor(example):
    found = breaks_first(example)
    name = found.head_room.what
    assert "structure APP1" == name

    def passed(times):
        return name in {room.what for _, room in plan(changed(example, Change(times))).passed}

    assert passed(found.factor)
    assert not passed(found.factor / 1.01)


@pytest.mark.parametrize("share", [0.25, 0.7])
def test_what_breaks_at_a_factor_breaks_later_when_there_is_less(share):
    workload = load_workload()
    less = changed(workload, Change(share))
    assert breaks_first(less).factor >= 1
    assert breaks_first(less).factor * share == pytest.approx(_factor_of_any(workload, less), rel=0.02)


def _factor_of_any(workload, less):
    """The first factor of the whole workload at which a limit that holds for `less` is passed."""
    held = {room.what for _, room in plan(less).limits if room.percent >= 0}
    low, high = 0.01, 1000.0
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        some = held & {room.what for _, room in plan(changed(workload, Change(middle))).passed}
        low, high = (low, middle) if some else (middle, high)
    return high


@pytest.mark.parametrize("rate", [0, 1, 9999, 20_000, 5_100_000, 10_000_000])
def test_nothing_breaks_without_limits(rate):
    """I2: rates grow a thousandfold, or until one is the highest that a workload takes."""
    least = f'[queue_manager]\nname="Q"\n[[flow]]\nqueue="A"\nsize=1\nrate={rate}\npersistent=false\n'
    assert breaks_first(parse(least, "w")) is None


def test_what_breaks_first_is_found_up_to_the_highest_rate():
    """At 5,000,000/s twice as many is the end, and page set 1 holds 235,929 messages before it expands."""
    flow = '[[flow]]\nqueue="A"\nsize=1\nrate=5_000_000\npersistent=false\noutage="30 ms"\npage_set=1\n'
    page_set = '[[page_set]]\nnumber=1\nsize="1 GiB"\nbuffer_pool=1\n'
    found = breaks_first(parse(f'[queue_manager]\nname="Q"\n{flow}{page_set}', "w"))
    assert "page set 1 before it expands" == found.head_room.what
    assert 235_929 / 150_000 == pytest.approx(found.factor, rel=0.006)
