"""A plan for this product's engine foresees what the engine logs: within a tenth, through the MQI."""

import pytest

import quaestor
from quaestor import MQMD, LocalQueue
from quaestor.planner.answers import plan
from quaestor.planner.engine_log import ENGINE_CHARTS, put_bytes
from quaestor.planner.log_space import MP16_CHARTS, Action, QueueKind, Scope, log_bytes_per_message
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
SCOPES = {Scope.COMMIT_EACH: 1, Scope.COMMIT_TEN: 10}


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


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("size", [0, 1, 500, 1024, 3000, 3900, 4096, 20_000])
def test_a_plan_foresees_what_the_engine_logs(app, size, scope):
    count = SCOPES[scope]
    with app.open("ORDERS") as orders:
        put = logged(app, count, lambda: orders.put(bytes(size), MQMD(persistence=1)))
        got = logged(app, count, orders.get)
    foreseen = [
        log_bytes_per_message(size, action, QueueKind.LOCAL, scope, extrapolate=True, charts=ENGINE_CHARTS)
        for action in (Action.PUT, Action.GET)
    ]
    assert put == pytest.approx(foreseen[0], rel=0.1)
    if size <= 3000:  # a get of a long message also gives its text pages back
        assert got == pytest.approx(foreseen[1], rel=0.1)


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("size", [0, 1, 1024, 4096])
@pytest.mark.parametrize("scope", Scope)
def test_the_engine_logs_less_beside_the_message_than_the_paper_s_product(size, action, scope):
    ours, papers = (
        log_bytes_per_message(size, action, QueueKind.LOCAL, scope, charts=charts)
        for charts in (ENGINE_CHARTS, MP16_CHARTS)
    )
    assert ours < papers


def test_a_workload_may_be_planned_for_this_product():
    """`product = "quaestor"` of the queue manager: the same workload, with the engine's own figures."""
    papers = Load(parse(LEAST, "w"))
    own = Load(parse(LEAST.replace('"QM1"', '"QM1"\nproduct = "quaestor"'), "w"))
    flow = own.persistent[0]
    charts = [log_bytes_per_message(1024, action, charts=ENGINE_CHARTS) for action in Action]
    assert own.log_bytes_per_message(flow) == pytest.approx(sum(charts))
    assert own.peak_log_rate < papers.peak_log_rate


@pytest.mark.parametrize(("product", "figures"), [("mq", {2088, 492}), ("quaestor", {1328, 164})])
def test_what_a_message_logs_is_answered_for_the_product(product, figures):
    """ch1-1 says of 1 KB what the log rate is reckoned with: T-3 and T-4 [635-648], or EL1 and EL2."""
    workload = parse(LEAST.replace('"QM1"', f'"QM1"\nproduct = "{product}"'), "w")
    answers = plan(workload).of("ch1-1")
    assert figures == {each.value for each in answers}
    assert 100 * sum(figures) == pytest.approx(Load(workload).peak_log_rate)


@pytest.mark.parametrize(
    ("size", "further"), [(0, 0), (1, 0), (3635, 0), (3636, 1), (7683, 1), (7684, 2), (20_000, 5)], ids=str
)
def test_a_put_by_hand(size, further):
    """EL1, EL4: a record of 44 + 102 + 42 bytes beside the message, and 44 + 4 for each further page."""
    assert 188 + size + further * 48 == put_bytes(size)


def test_a_unit_of_work_by_hand():
    """EL2: 72 bytes of identity and a commit of 44; ten messages share them."""
    put, get = (ENGINE_CHARTS[QueueKind.LOCAL, action] for action in (Action.PUT, Action.GET))
    assert (1024, 1328, 1328, 1224) == put.rows[2]
    assert {(164, 164, 60)} == {row[1:] for row in get.rows}
    assert (0, 1, 1024, 3635, 4096) == put.column("message_bytes")
