"""The same work through each door, and the same numbers in the accounts: embedded, local socket, TCP with TLS."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import quaestor
from qmgr.statistics.test_known_numbers import known_work
from quaestor import GetOptions, LocalQueue, OpenOptions, PutOptions
from quaestor.server import certificates
from quaestor.server.client.place import ClientTls
from quaestor.server.users import Users
from quaestor.smf.records import read_dump, tasks

TRACE = "stat,acctg(1,3)"
COUNTED = ("opens", "closes", "puts", "put1s", "gets", "inquires", "valid_puts", "valid_gets", "valid_destructive_gets")


def embedded(tmp_path, **_):
    with quaestor.connect("QM1", tmp_path / "data", trace=TRACE) as app:
        known_work(app)
    return tmp_path / "data" / "smf"


def local(home, serve, **_):
    home.write(replace(home.configuration(), traces={"trace": TRACE}))
    server = serve()
    with server.connect() as app:
        known_work(app)
    server.stop()
    return home.directory / "smf"


def over_tls(home, serve, **_):
    certificates.server(home.directory, "QM1", ["localhost", "127.0.0.1"], 10)
    Users(home.users).set("alice", "open sesame")
    for resource in ("connect", "queue"):
        home.grant(resource, "*", "alice", "control")
    home.write(
        replace(
            home.configuration(),
            security=True,
            certificate="server.pem",
            key="server.key",
            authorities="authority.pem",
            traces={"trace": TRACE},
        )
    )
    server = serve()
    trust = ClientTls(authorities=home.directory / "authority.pem")
    with quaestor.connect("QM1", server.address, user="alice", password="open sesame", tls=trust) as app:
        known_work(app)
    server.stop()
    return home.directory / "smf"


@pytest.mark.parametrize("door", [embedded, local, over_tls], ids=lambda door: door.__name__)
def test_every_door_is_accounted_for_alike(door, tmp_path, home, serve):
    (dump,) = door(tmp_path=tmp_path, home=home, serve=serve).iterdir()
    records = list(read_dump(dump))
    queues = {queue.base_name: queue for task in tasks(records) for queue in task.queues}
    assert (1, 1, 7, 1, 3, 0, 8, 3, 3) == tuple(getattr(queues["ORDERS"], name) for name in COUNTED)
    assert (1, 1, 5, 1, 5, 1, 6, 4, 1) == tuple(getattr(queues["NOTES"], name) for name in COUNTED)
    counted = [section for record in records for section in record.sections.get("QMST", ())]
    own = sum(queue.opens for name, queue in queues.items() if name.startswith("SYSTEM."))
    assert 2 + own == sum(section.opens for section in counted)
    assert (12, 2) == (sum(section.puts for section in counted), sum(section.put1s for section in counted))


def accounts_of(home, name):
    """The tasks that had a queue open."""
    (dump,) = (home.directory / "smf").iterdir()
    return [task for task in tasks(read_dump(dump)) if any(queue.base_name == name for queue in task.queues)]


def test_a_force_for_many_is_charged_to_each_who_waited(home, serve):
    """One force serves both commits; each task has waited for it, and its calls lasted at least so long."""
    home.write(replace(home.configuration(), traces={"trace": TRACE}))
    server = serve()
    with server.connect() as one, server.connect() as other:
        one.define(LocalQueue("ORDERS", def_persistent=True))
        for app in (one, other):
            with app.open("ORDERS", OpenOptions.OUTPUT) as queue:
                queue.put(b"out of syncpoint", None, PutOptions.NO_SYNCPOINT)
                queue.put(b"in syncpoint")
                app.commit()
    server.stop()
    found = accounts_of(home, "ORDERS")
    assert 2 == len(found)
    for task in found:
        (queue,) = task.queues
        assert 1 == queue.put_log_forces
        assert 0 < queue.put_log_force_elapsed <= queue.put_elapsed
        assert 2 <= task.accounting.log_forces  # the put out of syncpoint, the commit
        assert task.accounting.commit_elapsed > 0


def test_a_message_handed_over_to_a_waiting_get_is_a_get_that_worked(home, serve):
    home.write(replace(home.configuration(), traces={"trace": TRACE}))
    server = serve()
    with server.connect() as getter, server.connect() as putter:
        putter.define(LocalQueue("NOTES", share=True, def_exclusive=False))
        with getter.open("NOTES", OpenOptions.INPUT_SHARED) as queue, ThreadPoolExecutor(1) as aside:
            for _ in range(3):
                waiting = aside.submit(queue.get, GetOptions.NO_SYNCPOINT, wait_ms=10_000)
                server.wait_for(lambda: server.manager.messages.catalogue.anybody_waits)
                putter.put("NOTES", b"twelve bytes", None, PutOptions.NO_SYNCPOINT)
                assert b"twelve bytes" == waiting.result().body
    server.stop()
    (got,) = [queue for task in accounts_of(home, "NOTES") for queue in task.queues if queue.gets]
    assert (3, 3, 3, 36) == (got.gets, got.valid_gets, got.valid_destructive_gets, got.get_bytes)
