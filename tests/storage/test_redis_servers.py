"""Redis servers that cannot be trusted with a structure: one that throws keys away, one that was a replica."""

import socket
import threading

import pytest
import redis

from quaestor.storage.lists.operations import Count, Write
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.lists.structure import Shape, StructureLostError
from servers import redis_server

SHAPE = Shape("APP1", lists=16, entries=20_000, elements=200_000)
KEY = b"k" * 16


def connect(url, connector="QM1"):
    return RedisConnection(url, SHAPE, connector, lambda _token: None)


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_throws_keys_away_holds_no_structure(tmp_path, policy):
    """LR9: lists would go without a word, or the signs that members live."""
    short = ("--maxmemory", "8mb", "--maxmemory-policy", policy)
    with redis_server(tmp_path, *short) as url, pytest.raises(StructureLostError, match="noeviction"):
        connect(url)


def test_a_server_that_refuses_instead_does(tmp_path):
    with redis_server(tmp_path, "--maxmemory", "100mb", "--maxmemory-policy", "noeviction") as url:
        connection = connect(url)
        connection.request(Write(1, KEY, b"x"))
        connection.disconnect()


def test_what_a_replica_has_may_be_old(tmp_path):
    """LR7: it is forced to disk there, but what the master confirmed last may never have come."""
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    forcing = ("--appendonly", "yes", "--appendfsync", "always")
    with (
        redis_server(tmp_path / "master", *forcing, "--port", str(port)) as master,
        redis_server(tmp_path / "replica", *forcing) as replica,
    ):
        connection, copy = connect(master), redis.Redis.from_url(replica)
        connection.request(Write(1, KEY, b"one"))
        copy.replicaof("localhost", port)
        until(lambda: copy.info("replication")["master_link_status"] == "up")
        until(lambda: copy.exists("quaestor:{APP1}:structure"))
        copy.replicaof("no", "one")
        connection.request(Write(1, KEY, b"two"))  # confirmed, and nobody else has it
        connection.fail()
        other = connect(replica)
        assert (0,) == other.request(Count(1))
        other.disconnect()
        copy.close()


def until(holds):
    for _ in range(400):
        if holds():
            return
        threading.Event().wait(0.02)
    pytest.fail("it never was so")
