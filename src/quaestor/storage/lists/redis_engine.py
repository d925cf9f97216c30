"""Redis: a list structure in a Redis or Valkey server, for queue managers on several machines.

Rules
  LR1 Every request is one call of a function on the server, so nobody sees it half done; what a refused request did is
      undone there. The functions are a library (Redis 7, Valkey) that the first connector of a version loads.
  LR2 The structure is under one prefix with a hash tag, so that it is on one node of a cluster.
  LR3 What is watched comes over publish and subscribe, on a connection of its own. A connection that was lost
      subscribes anew and tells its owner to look at everything it watches: a message may have been missed.
  LR4 A connector says that it lives by a key that expires; one whose key is gone has failed.

  LR5 One connection of its own carries the requests, one at a time. When it fails, the structure is lost to whoever
      asked: the request may have been done or not. It is never made again behind the caller's back; a server that has
      forgotten the structure (it keeps it in memory, or was told to) answers that it is lost.
      Whoever asks looks out for the answer before it sleeps (RD2).
  LR6 Each connection has a token, without which nothing is done; who connects again, or fences a connector, replaces it
      (LS5). So what a cut or a stopped process sent is not done when it arrives after all.
  LR7 A server that was started again has what it had only if it forces every write (`appendonly yes`, `appendfsync
      always`). Otherwise it may come back with an older state, in which messages are missing or twice: the first
      connector throws that away, and the structure is lost. So may one have been that was a replica: it is made a
      master without what the one before had confirmed last.
  LR8 Several threads may use a connection: one that fails is closed when nobody is in the middle of asking any more.
      Afterwards it is lost to whoever still has it.
  LR9 A server that throws keys away when its memory is short (`maxmemory` without `noeviction`) holds no structure:
      lists would go without a word, or the signs that members live.

Called by whoever was given an address.  Calls structure, operations, redis_wire, the library beside this module.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.resources import files
from secrets import token_hex
from threading import Event, Lock, RLock, Thread
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from quaestor.storage.lists.operations import Operation
from quaestor.storage.lists.redis_wire import RedisWire, RequestForms
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal, Told

ALIVE_MS, SIGN_S = 6_000, 2.0
AWAY_S = 5.0
"""How long anything waits for the server: a way that is cut is noticed within it."""

LOOK_AT_ALL = -1
"""The token that says: something may have been missed, look at everything that is watched (LR3)."""

END = -2
"""What a connector tells itself when it leaves."""

_CODE = files(__package__).joinpath("redis_engine.lua").read_text(encoding="utf-8")
_NAME = f"quaestor_{sha256(_CODE.encode()).hexdigest()[:12]}"
_LIBRARY = f"#!lua name={_NAME}\n" + _CODE.replace("NAME_", f"{_NAME}_")


class RedisConnection:
    """A connector of a structure in Redis."""

    def __init__(self, url: str, shape: Shape, connector: str, told: Told) -> None:
        self.shape, self.connector = shape, connector
        self._told = told
        self._prefix = f"quaestor:{{{shape.name}}}"
        self._channel = f"{self._prefix}:told:{connector}"
        self._token = token_hex(8)
        # protocol 2: nothing comes on a connection that was not asked for
        self._client = redis.Redis.from_url(url, socket_timeout=AWAY_S, retry=Retry(NoBackoff(), 0), protocol=2)
        self._forms = RequestForms(_NAME, 1, self._prefix, _token_of(connector), self._token)
        self.used = (0, 0)
        self._gone = self._left = self._closed = False
        self._requests: Any = None
        self._lock, self._asking = Lock(), RLock()
        self._ending = Event()
        try:
            self._check_memory()
            self._load()
            self._sign()  # before it is known: a peer that is about to forget it sees that it lives
            self._allocate()
            self._requests = self._client.connection_pool.get_connection()
            self._wire = RedisWire(self._requests._sock, self._requests.socket_timeout)  # noqa: SLF001 - rule LW5
            self._subscription = self._subscribe()
        except BaseException as error:
            self._client.close()
            if isinstance(error, redis.RedisError | OSError):
                raise StructureLostError(f"{shape.name}: {error}") from error
            raise
        self._threads = [Thread(target=each, daemon=True) for each in (self._listen, self._live)]
        for thread in self._threads:
            thread.start()

    def _check_memory(self) -> None:
        """Refuse a server that throws keys away (LR9)."""
        told: Any = self._client.info("memory")
        if told.get("maxmemory") and told.get("maxmemory_policy") != "noeviction":
            raise redis.RedisError("the server throws keys away when its memory is short: maxmemory-policy noeviction")

    def _load(self) -> None:
        """The functions, unless they are there (LR1)."""
        try:
            self._client.function_load(_LIBRARY)
        except redis.ResponseError as error:
            if "already exists" not in str(error):
                raise

    def _allocate(self) -> None:
        """The first connector allocates the structure; later ones find it as it is (LR6, LR7)."""
        server: Any = self._client.info("server")
        words = [server["run_id"], int(self._keeps_everything()), self.shape.entries, self.shape.elements]
        words += [self.shape.lists, self.connector, _token_of(self.connector), self._token]
        words += [self.shape.element_bytes, self.shape.elements_max]
        self._client.fcall(f"{_NAME}_allocate", 1, self._prefix, *words)

    def _keeps_everything(self) -> bool:
        """Whether every write is forced before it is answered; a server that does not tell does not (LR7)."""
        replication: Any = self._client.info("replication")
        if str(replication.get("master_replid2", "")).strip("0"):
            return False  # it was a replica
        try:
            told: Any = self._client.config_get("append*")
        except redis.ResponseError:
            return False
        return bool(told.get("appendonly") == "yes" and told.get("appendfsync") == "always")

    def request(self, *operations: Operation) -> tuple[Any, ...]:
        with self._lock:
            if self._gone:
                raise StructureLostError(f"{self.shape.name}: the connection has failed")
            frame, answered = self._forms.framed(operations)
            try:
                reply = self._wire.exchange(frame)
            except (OSError, EOFError, ValueError) as error:
                self._gone = True  # LR5
                self._requests.disconnect()
                raise StructureLostError(f"{self.shape.name}: {error}") from error
            except BaseException:
                self._gone = True  # LC4: nobody waits for the reply
                self._requests.disconnect()
                raise
        if reply.refusal is not None:
            self._refused(*reply.refusal)
        self.used = reply.used
        return answered(reply)

    def _refused(self, why: str, at: int) -> None:
        if why == "LOST":
            raise StructureLostError(f"{self.shape.name}: the server has forgotten it")  # LR5
        if why == "FENCED":
            raise StructureLostError(f"{self.shape.name}: another connection of {self.connector} has taken over")
        raise StructureRefusal(why, at)

    # -- connectors

    def connectors(self) -> dict[str, bool]:
        with self._reached():
            known = sorted(_text(each) for each in self._client.smembers(f"{self._prefix}:connectors"))
            return {each: bool(self._client.exists(self._alive(each))) for each in known}

    def fence(self, connector: str) -> None:
        with self._reached():
            self._client.hdel(f"{self._prefix}:structure", _token_of(connector))

    def forget(self, connector: str) -> None:
        with self._reached():
            self._forgotten(connector, "")

    def _forgotten(self, connector: str, token: str) -> bool:
        """Whether it is known no more: unless it lives, and has another connection than that of a token."""
        self._load()  # the server may have been told to forget them
        words = (connector, _token_of(connector), token)
        return bool(self._client.fcall(f"{_NAME}_forget", 1, self._prefix, *words))

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """What the server does not answer is lost, whoever asked (LR5)."""
        with self._asking:  # LR8
            if self._closed:
                raise StructureLostError(f"{self.shape.name}: the connection has ended")
            try:
                yield
            except (redis.RedisError, OSError) as error:
                raise StructureLostError(f"{self.shape.name}: {error}") from error

    def disconnect(self) -> None:
        self._end()
        try:
            with self._reached():
                if self._forgotten(self.connector, self._token):
                    self._client.delete(self._alive(self.connector))
        finally:
            self._close()

    def fail(self) -> None:
        """The connector is gone without a word; its key expires by itself. The way may be cut: nobody waits for it."""
        self._gone = self._left = True
        self._ending.set()

    def _end(self) -> None:
        self._ending.set()
        with suppress(redis.RedisError):  # without it the listener ends a little later
            self._client.publish(self._channel, END)
        for thread in self._threads:
            thread.join()

    def _close(self) -> None:
        with self._asking, self._lock:  # LR8
            self._closed = True
            self._subscription.close()
            self._client.connection_pool.release(self._requests)
            self._client.close()

    def _alive(self, connector: str) -> str:
        return f"{self._prefix}:alive:{connector}"

    def _sign(self) -> None:
        self._client.set(self._alive(self.connector), "1", px=ALIVE_MS)

    def _live(self) -> None:
        """Say that we live, until the end (LR4)."""
        while not self._ending.wait(SIGN_S):
            try:
                self._sign()
            except redis.RedisError:
                continue  # the next request says that the structure is lost

    # -- what is watched, rule LR3

    def _subscribe(self) -> Any:
        subscription = self._client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call] # theirs
        subscription.subscribe(self._channel)
        subscription.get_message(timeout=5)
        return subscription

    def _listen(self) -> None:
        try:
            self._listened()
        finally:
            if self._left:  # nobody else closes what was left without a word, and nobody uses it any more
                self._threads[1].join()
                self._close()

    def _listened(self) -> None:
        while not self._ending.is_set():
            try:
                message = self._subscription.get_message(timeout=0.5)
            except (redis.RedisError, OSError):
                if self._ending.wait(0.2):
                    return
                self._subscribe_again()
                continue
            if message is not None and (token := int(message["data"])) != END:
                self._told(token)

    def _subscribe_again(self) -> None:
        try:
            self._subscription = self._subscribe()
        except (redis.RedisError, OSError):
            return
        self._told(LOOK_AT_ALL)


def _token_of(connector: str) -> str:
    """The field of the structure's state that has a connector's token (LR6)."""
    return f"token:{connector}"


def _text(name: bytes | str) -> str:
    return name.decode() if isinstance(name, bytes) else name
