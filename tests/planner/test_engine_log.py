"""A plan for this product's engine foresees what the engine logs: to the putter's context, through the MQI."""

import pytest

import quaestor
from quaestor import MQMD, LocalQueue
from quaestor.planner.answers import plan
from quaestor.planner.engine_log import (
    engine_log_bytes_per_unit_of_work,
    engine_log_writes_per_message,
    get_bytes,
    put_bytes,
)
from quaestor.planner.log_space import Action, log_bytes_per_unit_of_work
from quaestor.planner.questions.load import Load
from quaestor.planner.workload_file import parse
from quaestor.testing import SMALL

LEAST = """
[queue_manager]
name = "QM1"
[[flow]]
queue = "A"
size = 1024
rate = "100/s"
persistent = true
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with quaestor.connect("QM1", tmp_path_factory.mktemp("logged"), settings=SMALL) as app:
        app.define(LocalQueue("ORDERS", max_depth=10_000))
        yield app


def logged(app, count, work):
    """Bytes a message, as the task's own accounting would have them: what the log has grown by."""
    log = app._recovery.log
    before = log.end
    for _ in range(count):
        work()
    app.commit()
    return (log.end - before) / count


@pytest.mark.parametrize("messages", [1, 10])
@pytest.mark.parametrize("size", [0, 1, 500, 1024, 3000, 3900, 4096, 8_000])
def test_a_plan_foresees_what_the_engine_logs(app, size, messages):
    with app.open("ORDERS") as orders:
        times = [
            (
                logged(app, messages, lambda: orders.put(bytes(size), MQMD(persistence=1))),
                logged(app, messages, orders.get),
            )
            for _ in range(3)
        ]
    put, got = (min(each) for each in zip(*times, strict=True))  # without a checkpoint or a page set that grows
    foreseen = [engine_log_bytes_per_unit_of_work(size, action, messages) / messages for action in Action]
    assert put == pytest.approx(foreseen[0], abs=20)  # the putter's context
    assert got == pytest.approx(foreseen[1])


@pytest.mark.parametrize("messages", [1, 10])
@pytest.mark.parametrize("size", [0, 3635, 3636, 8_000])
def test_a_plan_foresees_how_much_counts_towards_logload(app, size, messages):
    """EL5."""
    log = app._recovery.log
    with app.open("ORDERS") as orders:
        times = []
        for _ in range(3):
            before = log.records
            logged(app, messages, lambda: orders.put(bytes(size), MQMD(persistence=1)))
            logged(app, messages, orders.get)
            times.append(log.records - before)
    assert min(times) / messages == pytest.approx(engine_log_writes_per_message(size, messages))


@pytest.mark.parametrize(
    ("product", "written", "writes"), [("mq", "", 15.5), ("quaestor", "", 4), ("quaestor", "writes_per_message = 6", 6)]
)
def test_checkpoints_are_as_far_apart_as_the_product_s_log_writes_make_them(product, written, writes):
    """L4: LOGLOAD 1,000 over the writes of a message."""
    log = f"[log]\nlogload = 1_000\n{written}\n"
    load = Load(parse(LEAST.replace('"QM1"', f'"QM1"\nproduct = "{product}"') + log, "w"))
    assert 1_000 // writes * load.mean_log_bytes == pytest.approx(load.checkpoint_log_bytes)


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("size", [0, 1, 1024, 4096, 100_000])
@pytest.mark.parametrize("messages", [1, 10])
def test_the_engine_logs_less_beside_the_message_than_the_paper_s_product(size, action, messages):
    papers = log_bytes_per_unit_of_work(size, action, messages=messages, extrapolate=True)
    assert engine_log_bytes_per_unit_of_work(size, action, messages) < papers


def test_a_workload_may_be_planned_for_this_product():
    """`product = "quaestor"` of the queue manager: the same workload, with the engine's own figures."""
    papers = Load(parse(LEAST, "w"))
    own = Load(parse(LEAST.replace('"QM1"', '"QM1"\nproduct = "quaestor"'), "w"))
    flow = own.persistent[0]
    units = [engine_log_bytes_per_unit_of_work(1024, action) for action in Action]
    assert own.log_bytes_per_message(flow) == sum(units)
    assert own.peak_log_rate < papers.peak_log_rate


@pytest.mark.parametrize(("product", "figures"), [("mq", {2088, 492}), ("quaestor", {1328, 164})])
def test_what_a_message_logs_is_answered_for_the_product(product, figures):
    """ch1-1 says of 1 KB what the log rate is reckoned with: T-3 and T-4 [635-648], or EL1 and EL2."""
    workload = parse(LEAST.replace('"QM1"', f'"QM1"\nproduct = "{product}"'), "w")
    answers = plan(workload).of("ch1-1")
    assert figures == {each.value for each in answers}
    assert 100 * sum(figures) == pytest.approx(Load(workload).peak_log_rate)


def test_puts_and_gets_that_peak_apart_have_the_engine_s_figures():
    """ch1-12 divides what ch1-2 says of the flow."""
    made = plan(parse(LEAST.replace('"QM1"', '"QM1"\nproduct = "quaestor"'), "w"))
    shares = [each.value for each in made.of("ch1-12")]
    assert [132_800, 16_400] == shares
    assert sum(shares) == made.of("ch1-2")[0].value


@pytest.mark.parametrize(
    ("size", "further"), [(0, 0), (1, 0), (3635, 0), (3636, 1), (7683, 1), (7684, 2), (20_000, 5)], ids=str
)
def test_a_put_by_hand(size, further):
    """EL1, EL4: a record of 44 + 102 + 42 bytes beside the message, and 44 + 4 for each further page."""
    assert 188 + size + further * 48 == put_bytes(size)


@pytest.mark.parametrize(("size", "logged"), [(0, 48), (3635, 48), (3636, 94), (20_000, 102)], ids=str)
def test_a_get_by_hand(size, logged):
    """EL1, EL4: a record of 44 + 4 bytes; further pages come back in one record of 44 and 2 bytes a page."""
    assert logged == get_bytes(size)


def test_a_unit_of_work_by_hand():
    """EL2: 72 bytes of identity and a commit of 44, however many messages share them."""
    units = [engine_log_bytes_per_unit_of_work(1024, action, n) for action in Action for n in (1, 10)]
    assert [188 + 1024 + 116, 10 * (188 + 1024) + 116, 48 + 116, 10 * 48 + 116] == units


def test_a_long_message_logs_no_more_than_its_pages():
    """EL4: 100,000 bytes take 24 further pages, at 48 bytes each beside the message."""
    assert 188 + 100_000 + 24 * 48 + 116 == engine_log_bytes_per_unit_of_work(100_000, Action.PUT)
