"""Our side of the comparison with other servers: the two classes that the harness of peers asks for.

A queue manager in a process of its own, reached over its local socket or over TCP on loopback; every call returns
when the queue manager has confirmed it.
"""

import os
import sys
import time
from pathlib import Path

from base import Client, Peer
from common import LOOPBACK, spawn, wait_port

import quaestor
from quaestor import MQMD, GetOptions, LocalQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.server.client.handle import Handle
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import local_place

SRC = str(Path(quaestor.__file__).parents[1])
NOW, GET_NOW, LATER = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT, PutOptions.ASYNC_RESPONSE
NOW_LATER = NOW | LATER
KINDS = {True: MQMD(persistence=1), False: MQMD(persistence=0)}
BOTH = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT
AWAKE = ("--awake",) if os.environ.get("QUAESTOR_BENCH_AWAKE") else ()
LOG, POOL = ("--log-mb", "64"), "ALTER BUFFPOOL(1) BUFFERS(100000)"
"""Room for what a line puts in its seconds: the messages stay in the buffer pool, as they do in the peers' memory."""

SERVE = "import sys; from quaestor.cli.main import main; main(sys.argv[1:])"


class Quaestor(Peer):
    """A queue manager on this machine."""

    durable = "reply after the force of the log"
    tcp = False

    @property
    def home(self) -> Path:
        """Beside the log of the processes: a queue manager is created in a directory of its own (HO7)."""
        return Path(self.dir) / "QM1"

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-c", SERVE, *words, "--directory", str(self.home)]

    def start(self) -> None:
        env, log = {**os.environ, "PYTHONPATH": SRC}, str(Path(self.dir) / "log")
        if not (self.home / "server.toml").exists():
            made = self._command("qmgr", "create", "QM1", "--no-security", *LOG, *AWAKE, "--listen", f"{LOOPBACK}:0")
            spawn(made, log, env=env).wait()
        self.proc = spawn(self._command("qmgr", "start", "QM1"), log, env=env)
        self.address = address_of(self)
        spawn(self._command("mqsc", "QM1", "-c", POOL), log, env=env).wait()

    def connect(self) -> "QuaestorClient":
        return QuaestorClient(self)


class QuaestorLocal(Quaestor):
    """Over the socket in its directory."""

    name = "quaestor-local"


class QuaestorTcp(Quaestor):
    """Over TCP on loopback."""

    name = "quaestor-tcp"
    tcp = True


def address_of(peer: Quaestor) -> str:
    """Where the server listens, when it does."""
    address, local = peer.home / "address", peer.home / "socket"
    for _ in range(6000):
        if address.exists() and local.exists():
            found = address.read_text().strip()
            wait_port(int(found.rpartition(":")[2]), 30, peer.proc)
            return found
        if peer.proc.poll() is not None:
            raise RuntimeError(f"the server ended with {peer.proc.returncode}")
        time.sleep(0.01)  # noqa: TID251 - a benchmark waits
    raise TimeoutError("the server does not start")


class QuaestorClient(Client):
    """One connection with its queues open."""

    def __init__(self, peer: Quaestor) -> None:
        if not peer.tcp:
            self.app = LINKS.connect(
                local_place("QM1", peer.home), hello_of("QM1", None, None, "bench", b""), shared=False
            )
        else:
            self.app = quaestor.connect("QM1", peer.address, application="bench")
        self.queues: dict[str, Handle] = {}

    def _queue(self, q: str) -> Handle:
        handle = self.queues.get(q)
        if handle is None:
            handle = self.queues[q] = self.app.open(q, BOTH)
        return handle

    def declare(self, q: str, persistent: bool = True) -> None:  # noqa: ARG002 - the harness's signature
        queue = LocalQueue(q, share=True, def_exclusive=False, max_depth=999_999_999)
        try:
            self.app.define(queue)
        except MQError as error:
            if error.reason is not Reason.OBJECT_ALREADY_EXISTS:
                raise
            for _ in self.drain(q):
                pass

    def put(self, q: str, raw: bytes, persistent: bool = True) -> None:
        self._queue(q).put(raw, KINDS[persistent], NOW)

    def put_batch(self, q: str, raws: list[bytes], persistent: bool = True) -> None:
        put, md = self._queue(q).put, KINDS[persistent]
        for raw in raws:
            put(raw, md, LATER)
        self.app.commit()

    def get(self, q: str, timeout: float = 0.0) -> bytes | None:
        try:
            if timeout:
                return self._queue(q).get(GET_NOW, wait_ms=int(timeout * 1000)).body
            return self._queue(q).get(GET_NOW).body
        except MQError as error:
            if error.reason is Reason.NO_MSG_AVAILABLE:
                return None
            raise

    def get_batch(self, q: str, n: int, timeout: float = 0.0) -> list[bytes]:  # noqa: ARG002
        got, queue = [], self._queue(q)
        try:
            while len(got) < n:
                got.append(queue.get().body)
        except MQError as error:
            if error.reason is not Reason.NO_MSG_AVAILABLE:
                raise
        self.app.commit()
        return got

    def depth(self, q: str) -> int:
        with self.app.open(q, OpenOptions.INQUIRE) as queue:
            return queue.inquire("CURDEPTH")["CURDEPTH"]

    def request(self, q: str, reply_q: str, raw: bytes, persistent: bool = False) -> bytes | None:
        """The put needs no answer of its own: the reply is one. Put and get travel together."""
        self._queue(q).put(raw, KINDS[persistent], NOW_LATER)
        return self.get(reply_q, 5.0)

    def serve_one(self, q: str, reply_q: str, timeout: float, persistent: bool = False) -> bool:
        raw = self.get(q, timeout)
        if raw is None:
            return False
        self._queue(reply_q).put(raw, KINDS[persistent], NOW_LATER)
        return True

    def close(self) -> None:
        self.app.disconnect()


PEERS = [QuaestorLocal, QuaestorTcp]
