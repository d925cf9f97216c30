"""The common queue server: it connects to the structures, keeps them whole, and does what its clients ask.

Rules
  CS1 A server has up to 32 clients. A client has a name of its own in the whole group, and may register when the
      installation lets it.
  CS2 A server that starts completes what its earlier incarnation left, then what others left that have failed.
  CS3 A client that ends is deregistered from all queues; one that failed has its locked messages returned.
  CS4 A server that stops takes a system checkpoint and disconnects.
  CS5 Nothing here runs by itself: `step` is called from time to time, and completes the work of servers that failed.

Called by transaction managers and the command line.  Calls client, members, checkpoint, rebuild.
"""

import re
from collections.abc import Callable
from functools import partial

from quaestor.cqs import checkpoint, members, rebuild
from quaestor.cqs.client import Client
from quaestor.cqs.image import entries_of
from quaestor.cqs.interest import Inform, Interest
from quaestor.cqs.linked_pair import Surroundings
from quaestor.cqs.overflow import OverflowExit
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, checked_client
from quaestor.cqs.recovery_data_sets import Checkpoint
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.structure import control_key
from quaestor.storage.lists.operations import Delete, Write

CLIENTS_MAX = 32
_SERVER = re.compile(r"[A-Z0-9@#$]{1,8}")


class CommonQueueServer:
    """A server of one structure pair (CS1-CS5)."""

    def __init__(
        self,
        name: str,
        policy: Policy,
        around: Surroundings,
        *,
        may_register: Callable[[str], bool] = lambda _client: True,
        overflow_exit: OverflowExit = lambda _queue, _elements: True,
    ) -> None:
        if not _SERVER.fullmatch(name):
            raise ValueError(f"a server's name has one to eight of A-Z 0-9 @ # $, not {name!r}")
        self.name, self.pair = name, StructurePair(policy, name, around)
        self.pair.overflow_exit = overflow_exit
        self._interest = Interest(self.pair)
        self._may_register = may_register
        self.clients: dict[str, Client] = {}
        self.pair.told = self._interest.told
        self.pair.connect = partial(members.connect, self.pair)
        self.pair.connected = self._connected

    def start(self) -> "CommonQueueServer":
        """Join the group (CS2)."""
        members.join(self.pair)
        return self

    def stop(self) -> None:
        """Leave it in good order (CS4)."""
        with self.pair.latch:
            for client in list(self.clients):
                self.deregister(client)
            self.system_checkpoint()
            members.leave(self.pair)

    def step(self) -> list[str]:
        """Copy structures that others cannot reach; complete the work of servers that failed (CS5), and name them."""
        rebuild.copy_if_lost(self.pair)
        return members.recover_failed(self.pair)

    # -- clients, rules CS1 and CS3

    def register(self, name: str, inform: Inform = lambda _queue: None, *, cold: bool = False) -> Client:
        """A client, which is told of work by `inform`; what an earlier one of its name had locked is settled first."""
        if not self._may_register(checked_client(name)):
            raise CQSError(Why.NOT_AUTHORIZED, client=name)
        with self.pair.latch:
            if name in self.clients:
                raise CQSError(Why.CLIENT_REGISTERED, client=name, server=self.name)
            if len(self.clients) == CLIENTS_MAX:
                raise CQSError(Why.TOO_MANY_CLIENTS, clients=CLIENTS_MAX)
            self.pair.active(lambda: self._enter(name))
            client = Client(name, self.pair, self._interest, inform)
            client.give_back(cold=cold)
            self.clients[name] = client
            return client

    def deregister(self, name: str) -> None:
        """A client ends: its interest is deregistered, and what it had locked is ready again."""
        self._left(name, cold=False)

    def client_failed(self, name: str, *, cold: bool = False) -> int:
        """A client is gone without a word; how many messages it had locked."""
        return self._left(name, cold=cold)

    def _left(self, name: str, *, cold: bool) -> int:
        with self.pair.latch:  # CL5
            client = self.clients.get(name)
            if client is None:
                raise CQSError(Why.NOT_REGISTERED, client=name)
            client.left()
            returned = client.give_back(cold=cold)
            self.pair.active(lambda: self._delete_entries(name))
            del self.clients[name]  # what was refused until here is asked again
            return returned

    def _enter(self, name: str) -> None:
        """The client's name on the control queue of the primary structure: one in the whole group."""
        key = control_key("C", name)
        for entry in entries_of(self.pair.primary.connection, Private.CONTROL, key, key):
            if entry.adjunct.decode() != self.name:
                raise CQSError(Why.CLIENT_REGISTERED, client=name, server=entry.adjunct.decode())
            return
        self.pair.primary.change(Write(Private.CONTROL, key, b"", self.name.encode()))

    def _delete_entries(self, name: str) -> None:
        """What stands on the control queue for a client: its name, and the programs it runs."""
        entries = entries_of(self.pair.primary.connection, Private.CONTROL)
        gone = [
            Delete(entry.number, Private.CONTROL)
            for entry in entries
            if entry.key == control_key("C", name) or (entry.key[:1] == b"P" and entry.key[9:].decode().strip() == name)
        ]
        if gone:
            self.pair.primary.change(*gone)

    def _connected(self) -> None:
        """After a new connection the structure knows the clients again, and they are told of work (IN4)."""
        for name in self.clients:
            self._enter(name)
        self._interest.watch_again()

    # -- structure operations

    def system_checkpoint(self) -> int:
        return checkpoint.system_checkpoint(self.pair)

    def structure_checkpoint(self) -> Checkpoint:
        return checkpoint.structure_checkpoint(self.pair)

    def recover_structure(self) -> int:
        return rebuild.recover(self.pair)

    def copy_structure(self, facility: str = "", kilobytes: int | None = None) -> tuple[str, ...]:
        return rebuild.copy(self.pair, facility, kilobytes)

    def alter_structure(self, kilobytes: int) -> None:
        rebuild.alter(self.pair, kilobytes)

    def delete_structure(self) -> None:
        with self.pair.latch:
            rebuild.delete(self.pair)
            self.clients.clear()
