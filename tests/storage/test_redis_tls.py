"""List structures in a Redis server that is reached over TLS, with a certificate of our own and a password."""

import threading
from contextlib import closing
from itertools import count

import pytest
import redis

import quaestor
from quaestor import MQMD, GetOptions, GroupSettings, LocalQueue, PutOptions
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.server import certificates
from quaestor.storage.lists.operations import KEY_MAX, KEY_MIN, Claim, Read, Watch, Write
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.lists.structure import Shape, StructureLostError
from quaestor.storage.shared_tables import GroupTables, Structure, open_tables
from servers import redis_server_with_tls

READY, TAKEN, KEY = 5, 6, b"k" * 16
NAMES = count(1)
PASSWORD = "a-secret-of-redis"
SMALL = EngineSettings(logs=3, log_bytes=1 << 20, buffer_pools={0: 100, 1: 100}, pages=64)


def nobody(_token):
    """Whoever watches nothing is told nothing."""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with redis_server_with_tls(tmp_path_factory.mktemp("redis"), PASSWORD) as address:
        yield address


@pytest.fixture
def structure(url):
    made = RedisConnection(url, Shape(f"APPL{next(NAMES)}"), "QM1", nobody)
    yield made
    made.disconnect()


@pytest.mark.parametrize("length", [0, 100, 16_384, 60_000])
def test_what_is_written_comes_back_however_many_records_of_tls_it_takes(structure, length):
    data = bytes(range(256)) * (length // 256) + b"x" * (length % 256)
    (number,) = structure.request(Write(READY, KEY, data, b"about it"))
    (entry,) = structure.request(Read(number))
    assert (data, b"about it") == (entry.data, entry.adjunct)
    (claimed,) = structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN))
    assert data == claimed.entry.data


def test_many_requests_one_after_the_other(structure):
    """What TLS has decrypted already does not show in the socket: none of it may be waited for there."""
    for number in range(500):
        structure.request(Write(READY, KEY, b"%d" % number))
    taken = (structure.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN))[0].entry.data for _ in range(500))
    assert [b"%d" % number for number in range(500)] == list(taken)


def test_who_watches_is_told(url, structure):
    told = threading.Event()
    other = RedisConnection(url, structure.shape, "QM2", lambda _token: told.set())
    other.request(Watch("QM2", 1, READY))
    structure.request(Write(READY, KEY, b"x"))
    assert told.wait(5)
    other.disconnect()


def test_a_server_that_another_authority_vouches_for_is_not_talked_to(url, tmp_path):
    certificates.server(tmp_path, "Somebody", ["localhost"], days=1)
    foreign = url.partition("ssl_ca_certs=")[0] + f"ssl_ca_certs={tmp_path / 'authority.pem'}"
    with pytest.raises(StructureLostError, match="CERTIFICATE_VERIFY_FAILED"):
        RedisConnection(foreign, Shape("APPL"), "QM3", nobody)


def test_nor_is_one_of_another_name(url):
    with pytest.raises(StructureLostError, match="CERTIFICATE_VERIFY_FAILED"):
        RedisConnection(url.replace("localhost", "127.0.0.1"), Shape("APPL"), "QM3", nobody)


def test_a_wrong_password_is_told_without_the_password(url):
    with pytest.raises(StructureLostError) as refused:
        RedisConnection(url.replace(PASSWORD, "a-guess-of-ours"), Shape("APPL"), "QM3", nobody)
    assert "a-guess-of-ours" not in str(refused.value)


def test_queue_managers_share_a_queue_over_tls(url, tmp_path):
    settings = GroupSettings("QSGT", url, str(tmp_path / "group.db"))
    tables = GroupTables(open_tables(settings.repository, settings.name))
    tables.structures.insert(Structure("APPL1", {"SIZE": 4096}))
    tables.close()
    one, two = (quaestor.connect(name, tmp_path / name, settings=SMALL, group=settings) for name in ("QM1", "QM2"))
    one.define(LocalQueue("ORDERS", structure="APPL1", share=True, def_exclusive=False))
    later = threading.Timer(0.1, lambda: one.put("ORDERS", "an order", MQMD(persistence=1), PutOptions.NO_SYNCPOINT))
    later.start()
    assert two.get("ORDERS", GetOptions.NO_SYNCPOINT, wait_ms=10_000).text == "an order"
    later.join()
    for app in (one, two):
        app.disconnect()


def test_a_connection_that_the_server_ends_loses_the_structure(url):
    made = RedisConnection(url, Shape("CUT"), "QM1", nobody)
    made.request(Write(READY, KEY, b"x"))
    with closing(redis.Redis.from_url(url)) as operator:
        operator.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(StructureLostError):
        made.request(Write(READY, KEY, b"x"))
    made.fail()
    for thread in made._threads:
        thread.join()  # before the server goes, which would cut it off while it connects
