"""Who is measured: the queue manager through its MQI, and the embedded queues a user would take instead.

Each has a queue on disk and three calls: `put` commits its bodies as one unit, `get` takes and commits so many, and
`for_thread` gives another thread its own way to the same queue. What a peer cannot do, it does not offer. The queue
manager is stopped when its measure ends (`contest`, `closing`): its files are removed then.
"""

import os
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import quaestor
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.qmgr.data.engine import EngineSettings

BODY = os.urandom(1024)
QUEUE = "BENCH"
SETTINGS = EngineSettings(log_bytes=64 << 20, buffer_pools={0: 1000, 1: 60_000}, pages=16_384)
PERSISTENT, VOLATILE = MQMD(persistence=1), MQMD(persistence=0)
PUT_NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


class Contestant(Protocol):
    """A queue on disk."""

    name: str

    def put(self, bodies: Sequence[bytes]) -> None: ...

    def get(self, count: int) -> None: ...

    def for_thread(self) -> "Contestant": ...


class Quaestor:
    """The queue manager, as an application calls it."""

    name = "quaestor"

    def __init__(self, directory: Path, *, define: bool = True, **connecting: Any) -> None:
        self._again = (directory, connecting)
        self._for_threads: list[Quaestor] = []
        self.app = quaestor.connect("BENCH", directory / "quaestor", **{"settings": SETTINGS, **connecting})
        if define:
            self.app.define(LocalQueue(QUEUE, max_depth=999_999_999, share=True), replace=True)
        self.queue = self.app.open(QUEUE, OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT | OpenOptions.INQUIRE)

    def put(self, bodies: Sequence[bytes]) -> None:
        if len(bodies) == 1:
            self.queue.put(bodies[0], PERSISTENT)
        else:
            self.queue.put_all(bodies, PERSISTENT)
        self.app.commit()

    def get(self, count: int) -> None:
        get = self.queue.get
        for _ in range(count):
            get()
        self.app.commit()

    def put_volatile(self, count: int) -> None:
        put = self.queue.put
        for _ in range(count):
            put(BODY, VOLATILE, PUT_NOW)

    def get_volatile(self, count: int) -> None:
        get = self.queue.get
        for _ in range(count):
            get(GET_NOW)

    def for_thread(self) -> "Quaestor":
        directory, connecting = self._again
        made = Quaestor(directory, define=False, **connecting)
        self._for_threads.append(made)
        return made

    def close(self) -> None:
        """Every connection that was made from here ends; the queue manager stops with the last."""
        for each in self._for_threads:
            each.close()
        self.app.disconnect()


class Singly:
    """The queue manager, put to with a call for each message."""

    name = "quaestor, a call each"

    def __init__(self, ours: Contestant) -> None:
        if not isinstance(ours, Quaestor):
            raise TypeError("the queue manager comes first")
        self._ours = ours
        self.get = ours.get

    def put(self, bodies: Sequence[bytes]) -> None:
        put = self._ours.queue.put
        for body in bodies:
            put(body, PERSISTENT)
        self._ours.app.commit()

    def for_thread(self) -> "Singly":
        return Singly(self._ours.for_thread())


class AtOnce:
    """The queue manager, a call for a message and its commit: out of syncpoint, as the peers' own commits are."""

    name = "quaestor, one call"

    def __init__(self, ours: Contestant) -> None:
        if not isinstance(ours, Quaestor):
            raise TypeError("the queue manager comes first")
        self._ours = ours

    def put(self, bodies: Sequence[bytes]) -> None:
        for body in bodies:
            self._ours.queue.put(body, PERSISTENT, PUT_NOW)

    def get(self, count: int) -> None:
        for _ in range(count):
            self._ours.queue.get(GET_NOW)

    def for_thread(self) -> "AtOnce":
        return AtOnce(self._ours.for_thread())


class Sqlite:
    """A table, write-ahead log, synchronous FULL."""

    name = "SQLite"

    def __init__(self, directory: Path, synchronous: str = "full") -> None:
        self._path, self._synchronous = directory / f"sqlite-{synchronous}", synchronous
        self.db = sqlite3.connect(self._path, isolation_level=None, timeout=30, check_same_thread=False)
        self.db.execute("pragma journal_mode = wal")
        self.db.execute(f"pragma synchronous = {synchronous}")
        self.db.execute("create table if not exists queue (id integer primary key autoincrement, body blob)")

    def put(self, bodies: Sequence[bytes]) -> None:
        if len(bodies) == 1:
            self.db.execute("insert into queue (body) values (?)", bodies)
            return
        self.db.execute("begin immediate")
        self.db.executemany("insert into queue (body) values (?)", [(body,) for body in bodies])
        self.db.execute("commit")

    def get(self, count: int) -> None:
        which = "select id from queue order by id limit ?"
        self.db.execute(f"delete from queue where id in ({which}) returning body", (count,)).fetchall()

    def for_thread(self) -> "Sqlite":
        return Sqlite(self._path.parent, self._synchronous)


class Lmdb:
    """A FIFO of numbered keys; a commit syncs."""

    name = "LMDB"

    def __init__(self, directory: Path, *, sync: bool = True) -> None:
        import lmdb  # noqa: PLC0415 - a peer that need not be there

        self._env = lmdb.open(str(directory / f"lmdb-{sync}"), map_size=4 << 30, sync=sync)

    def put(self, bodies: Sequence[bytes]) -> None:
        with self._env.begin(write=True) as txn:
            cursor = txn.cursor()
            number = struct.unpack(">Q", cursor.key())[0] + 1 if cursor.last() else 0
            for at, body in enumerate(bodies, number):
                cursor.put(struct.pack(">Q", at), body, append=True)

    def get(self, count: int) -> None:
        with self._env.begin(write=True) as txn:
            cursor = txn.cursor()
            found = cursor.first()
            while found and count:
                cursor.value()
                found = cursor.delete()
                count -= 1

    def for_thread(self) -> "Lmdb":
        return self


class Huey:
    """huey's storage on SQLite, synced."""

    name = "huey-sqlite"

    def __init__(self, directory: Path) -> None:
        from huey.storage import SqliteStorage  # noqa: PLC0415 - a peer that need not be there

        self._storage = SqliteStorage(
            "bench", filename=str(directory / "huey"), strict_fifo=True, fsync=True, timeout=30
        )

    def put(self, bodies: Sequence[bytes]) -> None:
        with self._storage.db(commit=True) as cursor:
            rows = [(self._storage.name, body) for body in bodies]
            cursor.executemany("insert into task (queue, data, priority) values (?, ?, 0)", rows)

    def get(self, count: int) -> None:
        for _ in range(count):
            self._storage.dequeue()

    def for_thread(self) -> "Huey":
        return self


class PersistQueue:
    """persist-queue on SQLite, as it comes: every put and every get is its own commit."""

    name = "persist-queue"

    def __init__(self, directory: Path) -> None:
        import persistqueue  # noqa: PLC0415 - a peer that need not be there

        self._queue = persistqueue.SQLiteQueue(str(directory / "persist"), auto_commit=True, multithreading=True)

    def put(self, bodies: Sequence[bytes]) -> None:
        for body in bodies:
            self._queue.put(body)

    def get(self, count: int) -> None:
        for _ in range(count):
            self._queue.get()
            self._queue.task_done()

    def for_thread(self) -> "PersistQueue":
        return self


PEERS: tuple[Callable[[Path], Contestant], ...] = (Sqlite, Lmdb, Huey, PersistQueue)


@contextmanager
def contest(directory: Path) -> Iterator[list[Contestant]]:
    """The queue manager first, then every peer that is installed."""
    with closing(Quaestor(directory)) as ours:
        yield [ours, *installed(partial(peer, directory) for peer in PEERS)]


def installed(peers: Iterable[Callable[[], Contestant]]) -> Iterator[Contestant]:
    """Those that are installed; the others are named."""
    for peer in peers:
        try:
            yield peer()
        except ImportError as missing:
            print(f"  (not measured: {missing})")


class Disk:
    """What the disk allows: 4 KB written over a file that was written before, then fdatasync."""

    name = "disk: overwrite + fdatasync"

    def __init__(self, directory: Path, blocks: int = 4000) -> None:
        self._file, self._blocks, self._at = os.open(directory / "raw", os.O_RDWR | os.O_CREAT), blocks, 0
        os.pwrite(self._file, bytes(blocks * 4096), 0)
        os.fsync(self._file)

    def write(self, count: int) -> None:
        page = bytes(4096)
        for _ in range(count):
            os.pwrite(self._file, page, self._at % self._blocks * 4096)
            os.fdatasync(self._file)
            self._at += 1
