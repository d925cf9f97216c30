"""Metrics, health and the operator log: what a watcher sees of a running queue manager."""

import json
import logging
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from qmgr.statistics.test_intervals import queue_manager
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import PutOptions
from quaestor.qmgr.operator_log import LOGGER, JsonLines, PlainLines
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
