"""Known work, and exactly its numbers in the SMF records: read back from the dump, record by record."""

import pytest

import quaestor
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.smf.records import read_dump, tasks

EVERYTHING = OpenOptions.INPUT_AS_Q_DEF | OpenOptions.OUTPUT | OpenOptions.BROWSE | OpenOptions.INQUIRE
SHARED = {"share": True, "def_exclusive": False}


def known_work(app):
    """7 persistent puts in three units, 5 non-persistent, 2 put1s; 4 gets, 3 browses; one unit backed out."""
    app.define(quaestor.LocalQueue("ORDERS", def_persistent=True, **SHARED))
    app.define(quaestor.LocalQueue("NOTES", **SHARED))
    orders, notes = app.open("ORDERS", EVERYTHING), app.open("NOTES", EVERYTHING)
    for size in (10, 100, 1000):
        orders.put(bytes(size))
    app.commit()
    orders.put(bytes(10_000))
    orders.put(bytes(1))
    app.backout()
    orders.put(bytes(50))
    orders.put(bytes(60), None, PutOptions.NO_SYNCPOINT)
    app.commit()
    for _ in range(5):
        notes.put(bytes(200), None, PutOptions.NO_SYNCPOINT)
    app.put1("NOTES", bytes(300), None, PutOptions.NO_SYNCPOINT)
    app.put1("ORDERS", bytes(400))
    app.commit()
    for _ in range(3):
        notes.browse()
    notes.get(GetOptions.NO_SYNCPOINT)
    with pytest.raises(MQError) as none:
        notes.get(GetOptions.NO_SYNCPOINT, msg_id=b"\x01" * 24)
    assert none.value.reason is Reason.NO_MSG_AVAILABLE
    orders.get()
    orders.get()
    app.commit()
    orders.get()
    app.backout()
    notes.inquire("CURDEPTH")
    orders.close()
    notes.close()


@pytest.fixture
def dump(tmp_path):
    with quaestor.connect(
        "QM1", tmp_path / "data", user="ALICE", application="job7.py", trace="stat,acctg(1,3)"
    ) as app:
        known_work(app)
    (found,) = (tmp_path / "data" / "smf").iterdir()
    return found


BAD = 1 << 30


def refused(call, *args, **named):
    with pytest.raises(MQError):
        call(*args, **named)


@pytest.mark.parametrize("warm", [0, 40])
def test_calls_that_fail_are_in_statistics_and_in_accounting(tmp_path, warm):
    """HA7: whatever they are refused for, by the queue, by the handle or for their form; clocked or not."""
    with quaestor.connect("QM1", tmp_path / "data", trace="stat,acctg(3)") as app:
        app.define(quaestor.LocalQueue("ORDERS", max_depth=1, **SHARED))
        both, out = app.open("ORDERS", EVERYTHING), app.open("ORDERS", OpenOptions.OUTPUT)
        for _ in range(warm):
            both.put(b"x", None, PutOptions.NO_SYNCPOINT)
            both.get(GetOptions.NO_SYNCPOINT)
        both.put(b"x", None, PutOptions.NO_SYNCPOINT)
        for _ in range(2):
            refused(both.put, b"x", None, PutOptions.NO_SYNCPOINT)
        refused(both.put_all, [b"x", b"y"], None, PutOptions.NO_SYNCPOINT)
        refused(both.put, b"x", None, BAD)
        refused(both.put, object())
        refused(app.open("ORDERS", OpenOptions.BROWSE).put, b"x")
        refused(app.put1, "ORDERS", b"x")
        both.get(GetOptions.NO_SYNCPOINT)
        for _ in range(2):
            refused(both.get, GetOptions.NO_SYNCPOINT)
        refused(both.get, BAD)
        refused(both.get, wait_ms=-5)
        refused(both.get, max_length=-1)
        refused(both.get, msg_id="x")
        refused(both.look, GetOptions.NONE, 0, None, -1)
        refused(out.get)
        out.close()
        refused(out.get)
    (file,) = (tmp_path / "data" / "smf").iterdir()
    found = list(read_dump(file))
    statistics = [section for record in found for section in record.sections.get("QMST", [])]
    accounts = [section for record in found for section in record.sections.get("WQST", [])]
    sums = [
        [sum(getattr(each, name) for each in some) for name in ("puts", "put1s", "gets")]
        for some in (statistics, accounts)
    ]
    assert [[warm + 7, 1, warm + 9]] * 2 == sums


def test_statistics_count_every_call(dump):
    records = {(r.header.record_type, r.header.subtype): r for r in read_dump(dump)}
    (message,) = records[115, 2].sections["QMST"]
    assert (2, 2, 12, 2, 8, 1) == (
        message.opens,
        message.closes,
        message.puts,
        message.put1s,
        message.gets,
        message.inquires,
    )
    assert (8, 6) == (message.persistent_puts, message.nonpersistent_puts)
    assert (10 + 100 + 1000 + 10_000 + 1 + 50 + 60 + 400, 5 * 200 + 300) == (
        message.persistent_bytes_put,
        message.nonpersistent_bytes_put,
    )
    (data,) = records[115, 2].sections["QIST"]
    assert (14, 4) == (data.message_puts, data.message_gets)


def test_accounting_counts_every_call(dump):
    (task,) = tasks(read_dump(dump))
    who, did = task.identification, task.accounting
    assert ("JOB7", "ALICE", 2) == (who.connection_name, who.operator_id, who.connection_type)
    assert (4, 2, 2) == (did.commits, did.backouts, did.others)
    queues = {queue.base_name: queue for queue in task.queues}
    orders, notes = queues["ORDERS"], queues["NOTES"]
    assert (1, 1, 7, 1, 3, 0) == tuple(
        getattr(orders, n) for n in ("opens", "closes", "puts", "put1s", "gets", "inquires")
    )
    assert (1, 1, 5, 1, 5, 1) == tuple(
        getattr(notes, n) for n in ("opens", "closes", "puts", "put1s", "gets", "inquires")
    )
    assert (8, 3, 3) == (orders.valid_puts, orders.valid_gets, orders.valid_destructive_gets)
    assert (6, 4, 1) == (notes.valid_puts, notes.valid_gets, notes.valid_destructive_gets)
    assert (3, 0, 1, 1) == (notes.browses_any, notes.browses_specific, notes.gets_any, notes.gets_specific)
    assert (1, 10_000, 10, 1000) == (
        orders.put_size_low,
        orders.put_size_high,
        orders.get_size_low,
        orders.get_size_high,
    )
    assert (7, 1, 3, 0, 0) == (
        orders.puts_persistent,
        orders.put1s_persistent,
        orders.gets_persistent,
        notes.puts_persistent,
        notes.gets_persistent,
    )
    assert (13, 14) == (orders.calls, notes.calls)
    assert 1 == orders.put_log_forces
    assert 6 <= did.log_forces
    assert did.log_bytes > 11_000
    assert 6 == notes.depth_high
    assert orders.on_queue_longest >= orders.on_queue_shortest > 0


def test_message_manager_accounting_has_the_bands(dump):
    (record,) = [r for r in read_dump(dump) if (r.header.record_type, r.header.subtype) == (116, 0)]
    (message,) = record.sections["QMAC"]
    assert (4, 8, 1, 1) == (message.puts_0_99, message.puts_100_999, message.puts_1000_9999, message.puts_10000_up)
    assert message.cpu > 0
