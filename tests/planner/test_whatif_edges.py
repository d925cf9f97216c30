"""What-if at its edges, and what a workload file is told about keys that are missing or unknown."""

from dataclasses import replace

import pytest

from quaestor.planner.whatif import Change, ChangeError, _growing, change, changed, growth_max, what_if
from quaestor.planner.workload_file import WorkloadError, parse

LEAST = '[queue_manager]\nname="Q"\n[[flow]]\nqueue="A"\nsize=1024\nrate=100\npersistent=true\n'


def only(workload):
    (flow,) = workload.flows
    return flow


@pytest.mark.parametrize(
    ("what", "size", "rate"),
    [
        (change(None, None), 1024, 100),
        (change("x0", None), 1024, 0),
        (change("+50%", None), 1024, 150),
        (change(None, "x0"), 0, 100),
        (change(None, "0"), 0, 100),
        (change(None, "100M"), 100 * 1024**2, 100),
        (change("x2", "x0.5"), 512, 200),
        (Change(messages=100_000), 1024, 10_000_000),
    ],
)
def test_a_change_of_one_flow(what, size, rate):
    """I1: what is not written stays; nothing at all and the most there is are valid."""
    flow = only(changed(parse(LEAST, "w"), what))
    assert (size, rate) == (flow.message_bytes, pytest.approx(flow.average_per_s))


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (Change(size_bytes=100 * 1024**2 + 1), "A: a size of 104857601 bytes is not valid: 0 to 104857600"),
        (Change(size_bytes=-1), "A: a size of -1 bytes is not valid"),
        (Change(messages=100_001), r"A: a rate of 1.00001e\+07/s is not valid: 0 to 10000000/s"),
    ],
)
def test_one_more_than_the_most_is_refused(what, says):
    with pytest.raises(ChangeError, match=says):
        changed(parse(LEAST, "w"), what)


@pytest.mark.parametrize(
    ("most", "factors"), [(1.5, [1.5]), (2, [2]), (3, [2, 3]), (4, [2, 4]), (9, [2, 4, 8, 9]), (0.9, [0.9])]
)
def test_factors_double_up_to_the_most(most, factors):
    """I3: so that a limit is bracketed within twice its factor before it is looked for."""
    assert factors == list(_growing(most))


SENDER = '[[channel]]\nname="TO.B"\nkind="sender"\nsize=1024\nrate=100\npersistent=true\n'


@pytest.mark.parametrize(
    ("what", "size", "rate"),
    [
        (change(None, None), 1024, 100),
        (change("x3", None), 1024, 300),
        (change("-10%", "4k"), 4096, 90),
        (change("x3", "4k", ("A",)), 1024, 100),
    ],
)
def test_channels_carry_the_messages_that_are_changed(what, size, rate):
    """I1: all messages, so those of channels too; of some queues nobody knows which channel has them."""
    (channel,) = changed(parse(LEAST + SENDER, "w"), what).channels
    assert (size, rate) == (channel.message_bytes, pytest.approx(channel.average_per_s))


@pytest.mark.parametrize(("queue", "rates"), [("A", [200, 20, 1]), ("A (non-persistent)", [100, 20, 1])])
def test_a_queue_that_was_measured_in_two_flows_is_changed_in_both(queue, rates):
    """I1: a measurement tells its persistent messages and the others apart."""
    _, kinds = LEAST.split("[[flow]]")
    other = kinds.replace('"A"', '"A (non-persistent)"').replace("=100", "=10").replace("=true", "=false")
    third = kinds.replace('"A"', '"B"').replace("=100", "=1")
    made = changed(parse(f"{LEAST}[[flow]]{other}[[flow]]{third}", "w"), change("x2", None, (queue,)))
    assert rates == [flow.average_per_s for flow in made.flows]


def test_the_log_of_twice_the_messages_is_twice_the_log():
    """Batches of channels are part of it (L2)."""
    found = what_if(parse(LEAST + SENDER, "w"), change("x2", None))
    of_log = [each for each in found.differences if each.either.number == "ch1-2"]
    assert of_log
    assert all(2 * each.before.value == pytest.approx(each.after.value) for each in of_log)


@pytest.mark.parametrize(
    ("flow", "channel", "most"), [(0, 0, 1000), (100, 100, 1000), (100, 1_000_000, 9.95), (10_000_000, 1, 1)]
)
def test_messages_grow_until_one_rate_is_the_highest(flow, channel, most):
    """I2."""
    text = LEAST.replace("rate=100", f"rate={flow}") + SENDER.replace("rate=100", f"rate={channel}")
    workload = parse(text, "w")
    assert most == pytest.approx(growth_max(workload), rel=1e-3)
    assert workload.flows == changed(workload, Change(1.0)).flows
    changed(workload, Change(growth_max(workload)))  # is taken


def test_an_answer_that_only_one_plan_has_is_a_difference():
    """Without messages nothing is logged, so questions about the log are answered on one side only."""
    found = what_if(parse(LEAST, "w"), change("x0", None))
    gone = [each for each in found.differences if each.after is None]
    assert gone
    assert all(each.either is each.before for each in gone)


@pytest.mark.parametrize(("rate", "logs"), [(0, False), (0.5, True), (1, True), (100, True)])
def test_a_persistent_flow_logs_when_something_is_put(rate, logs):
    workload = parse(LEAST, "w")
    slow = replace(workload, flows=(replace(only(workload), average_per_s=rate),))
    assert logs == bool(slow.persistent)


# --- words of a workload file -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LEAST.replace("size=1024\n", ""), "[[flow]] A: size is missing (0 B to 100 MiB)"),
        (LEAST.replace("persistent=true\n", ""), "[[flow]] A: persistent is missing"),
        (LEAST.replace("size=1024", "size=-1"), "[[flow]] A, size: -1 is not valid: 0 B to 100 MiB"),
        (LEAST.replace("rate=100", "rat=100"), "no key rat; did you mean rate"),
        (LEAST.replace("rate=100", "rate=100\nlog=1"), "no key log; known are"),
        (LEAST.replace("rate=100", "rate=100\nlo=1"), "no key lo; known are"),
        (LEAST + "[log]\nlogloads=1\n", "no key logloads; did you mean logload?"),
        (LEAST + "[log]\nwrites=1\n", "no key writes; did you mean writes_per_message?"),
    ],
)
def test_what_a_file_is_told(text, says):
    """K3, T2: what was written, and what is valid or may have been meant."""
    with pytest.raises(WorkloadError) as refused:
        parse(text, "w")
    assert says in str(refused.value)
