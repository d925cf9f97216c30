"""Metrics, health and the operator log: what a watcher sees of a running queue manager."""

import json
import logging
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from qmgr.statistics.test_intervals import queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue, QueueManagerAttributes
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.qmgr.operator_log import LOGGER, JsonLines, PlainLines
from quaestor.qmgr.statistics.metrics import Observed, _escaped, exposition
from quaestor.server.metrics_endpoint import MetricsEndpoint


@pytest.fixture
def qm():
    made, _, _ = queue_manager("stat")
    app = made.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS", max_depth=500))
    queue = app.open("ORDERS")
    for _ in range(3):
        queue.put(b"x" * 10, None, PutOptions.NO_SYNCPOINT)
    yield made
    app.disconnect()
    made.stop()


def values(text):
    """{name with labels: value} of an exposition."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_the_names_that_mq_people_know(qm):
    found = values(qm.metrics())
    assert 3 == found['ibmmq_queue_depth{qmgr="QM1",queue="ORDERS"}']
    assert 500 == found['ibmmq_queue_attribute_max_depth{qmgr="QM1",queue="ORDERS"}']
    assert 1 == found['ibmmq_queue_input_handles{qmgr="QM1",queue="ORDERS"}']
    assert 1 == found['ibmmq_qmgr_connection_count{qmgr="QM1"}']
    assert 3 == found['ibmmq_qmgr_mqput_count{qmgr="QM1"}']
    assert 30 == found['ibmmq_qmgr_interval_mqput_mqput1_total_bytes{qmgr="QM1"}']
    assert 64 == found['ibmmq_bufferpool_buffers_total{qmgr="QM1",bufferpool="1"}']
    assert 3 == found['ibmmq_pageset_pages_nonpersistent{qmgr="QM1",pageset="1",bufferpool="1"}']


def of_queue(qm, name):
    """{figure: value} of a queue."""
    label = f'{{qmgr="QM1",queue="{name}"}}'
    found = {key: value for key, value in values(qm.metrics()).items() if key.endswith(label)}
    return {key.removeprefix("ibmmq_queue_").removesuffix(label): value for key, value in found.items()}


def test_the_age_of_the_oldest_message(qm):
    """It is told of every private queue: looking at the ends of a queue is all it takes (ME3)."""
    app = qm.connect("BOB", "JOB")
    app.define(LocalQueue("AGED"))
    assert 0 == of_queue(qm, "AGED")["oldest_message_age"]
    for seconds, priority in ((90, 5), (60, 1)):
        qm._clock.advance(seconds=seconds)
        app.put("AGED", b"x", MQMD(priority=priority), PutOptions.NO_SYNCPOINT)
    qm._clock.advance(seconds=5)
    assert 65 == of_queue(qm, "AGED")["oldest_message_age"]
    app.get("AGED", GetOptions.NO_SYNCPOINT)
    assert 5 == of_queue(qm, "AGED")["oldest_message_age"], "the young one, of low priority"
    app.get("AGED", GetOptions.NO_SYNCPOINT)
    qm._clock.advance(seconds=10)
    assert 0 == of_queue(qm, "AGED")["oldest_message_age"], "there is none"
    app.disconnect()


def test_what_only_a_monitored_queue_remembers(qm):
    """ME3, EV6: the highest depth is not lost when an event tells it."""
    assert "hi_depth" not in of_queue(qm, "ORDERS")
    app = qm.connect("BOB", "JOB")
    app.alter(QueueManagerAttributes, performance_event=True, monitoring=17)
    app.define(LocalQueue("PERFORMING", monitoring=17, max_depth=10, depth_high_percent=40, depth_high_event=True))
    with app.open("PERFORMING") as queue:
        assert {"hi_depth": 0} == {key: value for key, value in of_queue(qm, "PERFORMING").items() if key in MONITORED}
        for _ in range(5):
            queue.put(b"x", None, PutOptions.NO_SYNCPOINT)
        qm._clock.advance(seconds=20)
        for _ in range(5):
            queue.get(GetOptions.NO_SYNCPOINT)
        qm._clock.advance(seconds=10)
        queue.put(b"x", None, PutOptions.NO_SYNCPOINT)
    found = {key: value for key, value in of_queue(qm, "PERFORMING").items() if key in MONITORED}
    assert found.pop("qtime_short") == found.pop("qtime_long") == 20_000_000
    assert {"hi_depth": 5, "time_since_put": 0, "time_since_get": 10} == found
    app.disconnect()


MONITORED = {"hi_depth", "time_since_put", "time_since_get", "qtime_short", "qtime_long"}


COUNTERS = {
    "opens": ("mqopen_count", 11),
    "closes": ("mqclose_count", 12),
    "inquires": ("mqinq_count", 13),
    "sets": ("mqset_count", 14),
    "gets": ("mqget_count", 15),
    "puts": ("mqput_count", 16),
    "put1s": ("mqput1_count", 17),
    "persistent_puts": ("persistent_message_mqput_count", 18),
    "nonpersistent_puts": ("non_persistent_message_mqput_count", 19),
}
"""{field of QMST: name, a figure of its own}"""


def of_queue_manager(found):
    """{name: value} of what has no other label, without what stands before each of them."""
    start, end = "ibmmq_qmgr_", '{qmgr="QM1"}'
    return {name[len(start) : -len(end)]: value for name, value in found.items() if name.startswith(start)}


def test_every_figure_of_the_queue_manager_has_its_own_name(qm):
    """ME1, ME2: counters as the sections have them."""
    managers = qm.statistics.managers
    for field, (_, figure) in COUNTERS.items():
        setattr(managers.messages.stats, field, figure)
    managers.messages.stats.persistent_bytes_put, managers.messages.stats.nonpersistent_bytes_put = 100, 23
    managers.data.stats.message_gets = 21
    found = of_queue_manager(values(exposition(Observed(managers, qm.messages.catalogue, 5, 1.5, 6, 7))))
    expected = dict(COUNTERS.values()) | {
        "status": 2,
        "connection_count": 5,
        "uptime": 1.5,
        "interval_mqput_mqput1_total_count": 33,
        "interval_mqput_mqput1_total_bytes": 123,
        "interval_destructive_get_total_count": 21,
        "smf_records_written": 6,
        "smf_records_lost": 7,
    }
    assert expected == {name: value for name, value in found.items() if not name.startswith("log_")}


@pytest.mark.parametrize(("logger_calls", "latency_s"), [(0, 6.0), (1, 6.0), (4, 1.5)])
def test_the_figures_of_the_log(qm, logger_calls, latency_s):
    """CIs are of 4 KB; times of the section are in units of the time of day, 4096 to a microsecond."""
    log = qm.statistics.managers.log
    stats = log.stats  # reckoned up
    stats.cis_written, stats.log_ios, stats.checkpoints, stats.logger_calls = 3, 4, 5, logger_calls
    single, multiple = stats.copies[0].kinds
    single.io_elapsed, multiple.io_elapsed = 2_000_000 * 4096, 4_000_000 * 4096
    found = of_queue_manager(values(qm.metrics()))
    expected = {
        "log_physical_written_bytes": 12_288,
        "log_logical_written_bytes": log.end,
        "log_writes": 4,
        "log_checkpoints": 5,
        "log_write_latency_seconds": latency_s,
    }
    assert expected == {name: value for name, value in found.items() if name.startswith("log_")}


def test_the_figures_of_a_buffer_pool(qm):
    pool = qm.statistics.managers.buffers.pools[1]
    figures = {"page_reads": 2, "pages_written": 3, "immediate_writes": 4, "short_on_storage": 5}
    for field, figure in figures.items():
        setattr(pool.stats, field, figure)
    stealable = pool.stealable
    assert 0 < stealable < 64
    expected = figures | {
        "buffers_total": 64,
        "buffers_free": stealable,
        "buffers_free_percent": 100 * stealable / 64,
    }
    end = '{qmgr="QM1",bufferpool="1"}'
    found = {name: value for name, value in values(qm.metrics()).items() if name.endswith(end)}
    assert {f"ibmmq_bufferpool_{name}{end}": value for name, value in expected.items()} == found


def test_the_figures_of_a_page_set_and_a_queue(qm):
    qm.statistics.managers.buffers.page_sets[1].expansions = 9
    found = values(qm.metrics())
    page_set = [
        found[f'ibmmq_pageset_{name}{{qmgr="QM1",pageset="1",bufferpool="1"}}']
        for name in ("pages_total", "pages_unused", "pages_persistent", "pages_nonpersistent", "expansion_count")
    ]
    assert [64, 59, 2, 3, 9] == page_set
    queue = [
        found[f'ibmmq_queue_{name}{{qmgr="QM1",queue="ORDERS"}}'] for name in ("output_handles", "uncommitted_messages")
    ]
    assert [1, 0] == queue


def test_what_stands_in_a_label_is_escaped():
    assert r"a\\b\"c\nd" == _escaped('a\\b"c\nd')


def test_every_family_is_typed_once_and_the_prefix_may_be_chosen(qm):
    text = qm.metrics("quaestor_")
    types = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types)) > 25
    assert all(name.startswith("quaestor_") for name in types)


def test_looking_resets_nothing(qm):
    assert qm.metrics() == qm.metrics()


def test_the_endpoint_serves_metrics_and_health(qm):
    failure = [""]
    endpoint = MetricsEndpoint(qm.metrics, lambda: failure[0], port=0)
    try:
        base = f"http://{endpoint.address[0]}:{endpoint.address[1]}"
        with urlopen(f"{base}/metrics") as answer:
            assert "ibmmq_queue_depth" in answer.read().decode()
        with urlopen(f"{base}/health") as answer:
            assert {"status": "running"} == json.load(answer)
        failure[0] = "the log could not be written"
        with pytest.raises(HTTPError) as failed:
            urlopen(f"{base}/health")
        with failed.value as answer:
            assert (503, "the log could not be written") == (answer.code, json.load(answer)["why"])
        with pytest.raises(HTTPError) as nothing:
            urlopen(f"{base}/other")
        with nothing.value as answer:
            assert 404 == answer.code
    finally:
        endpoint.stop()


def test_the_operator_log_is_lines_of_json_or_text(qm, caplog):
    with caplog.at_level(logging.INFO, logger=LOGGER.name):
        qm.operator_log.say("CSQX001W", "something odd", queue="ORDERS", depth=3)
    (record,) = caplog.records
    assert logging.WARNING == record.levelno
    line = json.loads(JsonLines().format(record))
    assert ("QM1", "CSQX001W", "something odd", "ORDERS", 3) == tuple(
        line[name] for name in ("qmgr", "id", "text", "queue", "depth")
    )
    assert PlainLines().format(record).endswith("QM1 CSQX001W something odd queue=ORDERS depth=3")
    assert "CSQY022I" in [entry.identifier for entry in qm.operator_log.entries]
