"""Resolution: which queue a name means in the end, and by which definitions. A pure rule.

Rules
  L1  The queue manager name is resolved before the queue name: a remote definition of that name without RNAME
      is a queue manager alias and gives another queue manager name and perhaps a transmission queue. One with RNAME is
      none, nor is a model (2087). Models are opened by their name alone, or with this queue manager's own (2057).
  L2  A local name is a local queue, a model, an alias (one step, to a local or remote queue) or a remote definition.
      A remote definition leads to another queue manager: one that names none, or this one, leads nowhere (2087),
      whatever its XMITQ.
  L3  A message for another queue manager goes to a transmission queue: the XMITQ named, else the local queue
      called like that queue manager, else DEFXMITQ (2087 where that is blank). It must be a local queue with
      USAGE(XMITQ).
  L4  The path is every definition passed, first to last, an alias of another queue manager among them: defaults for
      priority and persistence come from the first, inhibits from any.

Called by the message manager at open and put1.  Calls objects, names.
"""

from collections.abc import Callable
from typing import NamedTuple

from quaestor.mqi.descriptors import Target
from quaestor.mqi.names import checked
from quaestor.mqi.objects import AliasQueue, LocalQueue, ModelQueue, Queue, RemoteQueue
from quaestor.mqi.reasons import MQError, Reason

Find = Callable[[str], Queue | None]


class Resolution(NamedTuple):
    """Where a name leads (L4). `remote` is (queue, queue manager) when the message travels on."""

    path: tuple[Queue, ...]
    queue: LocalQueue
    remote: tuple[str, str] | None = None

    @property
    def model(self) -> ModelQueue | None:
        return self.queue if isinstance(self.queue, ModelQueue) else None


class Resolver(NamedTuple):
    """The rule, with what it looks at: this queue manager's name, its definitions, DEFXMITQ."""

    qmgr: str
    find: Find
    def_xmit_queue: str

    def resolve(self, target: Target) -> Resolution:
        """The queue that `target` means, or the reason why there is none (L1, L2)."""
        qmgr = checked(target.qmgr, Reason.OBJECT_Q_MGR_NAME_ERROR) if target.qmgr.strip(" ") else ""
        if not target.name.strip(" ") and not self._is_here(qmgr):
            raise MQError(Reason.REMOTE_Q_NAME_ERROR, queue=target.name, qmgr=qmgr)
        name = checked(target.name)
        if self._is_here(qmgr):
            return self._local(name)
        alias = self.find(qmgr)
        if isinstance(alias, RemoteQueue) and not alias.remote_name:  # L1
            if self._is_here(alias.remote_qmgr):
                if isinstance(self.find(name), ModelQueue):
                    raise MQError(Reason.Q_TYPE_ERROR, queue=name, qmgr=qmgr)
                return self._local(name)
            qmgr = alias.remote_qmgr
            passed: tuple[Queue, ...] = (alias,)
            if alias.xmit_queue:
                xmit = self._xmit(alias.xmit_queue)
                return Resolution((alias, xmit), xmit, (name, qmgr))
        else:
            passed = ()
        if isinstance(self.find(name), ModelQueue):
            raise MQError(Reason.Q_TYPE_ERROR, queue=name, qmgr=qmgr)
        if not passed and isinstance(alias, RemoteQueue | ModelQueue):
            raise MQError(Reason.UNKNOWN_REMOTE_Q_MGR, qmgr=qmgr, why="it is no alias of a queue manager")
        xmit = self._way_to(qmgr)
        return Resolution((*passed, xmit), xmit, (name, qmgr))

    def _is_here(self, qmgr: str) -> bool:
        return qmgr in {"", self.qmgr}

    def _local(self, name: str) -> Resolution:
        found = self.find(name)
        if found is None:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, queue=name)
        if isinstance(found, AliasQueue):
            return self._alias(found)
        if isinstance(found, RemoteQueue):
            return self._remote(found, (found,))
        return Resolution((found,), found)

    def _alias(self, alias: AliasQueue) -> Resolution:
        base = self.find(alias.target)
        if base is None:
            raise MQError(Reason.UNKNOWN_ALIAS_BASE_Q, alias=alias.name, target=alias.target)
        if isinstance(base, RemoteQueue):
            return self._remote(base, (alias, base))
        if isinstance(base, AliasQueue | ModelQueue):
            raise MQError(Reason.ALIAS_BASE_Q_TYPE_ERROR, alias=alias.name, target=alias.target)
        return Resolution((alias, base), base)

    def _remote(self, remote: RemoteQueue, path: tuple[Queue, ...]) -> Resolution:
        if not remote.remote_name:
            raise MQError(Reason.REMOTE_Q_NAME_ERROR, queue=remote.name)
        if self._is_here(remote.remote_qmgr):
            raise MQError(Reason.UNKNOWN_REMOTE_Q_MGR, queue=remote.name, qmgr=remote.remote_qmgr)  # L2
        xmit = self._xmit(remote.xmit_queue) if remote.xmit_queue else self._way_to(remote.remote_qmgr)
        return Resolution((*path, xmit), xmit, (remote.remote_name, remote.remote_qmgr))

    def _way_to(self, qmgr: str) -> LocalQueue:
        """The transmission queue that leads to `qmgr` (L3)."""
        named = self._named_xmit(qmgr)
        if named is not None:
            return named
        if not self.def_xmit_queue:
            raise MQError(Reason.UNKNOWN_REMOTE_Q_MGR, qmgr=qmgr)
        default = self.find(self.def_xmit_queue)
        if default is None:
            raise MQError(Reason.UNKNOWN_DEF_XMIT_Q, queue=self.def_xmit_queue)
        if not isinstance(default, LocalQueue) or isinstance(default, ModelQueue):
            raise MQError(Reason.DEF_XMIT_Q_TYPE_ERROR, queue=self.def_xmit_queue)
        if not default.xmit:
            raise MQError(Reason.DEF_XMIT_Q_USAGE_ERROR, queue=self.def_xmit_queue)
        return default

    def _named_xmit(self, qmgr: str) -> LocalQueue | None:
        found = self.find(qmgr)
        if not isinstance(found, LocalQueue) or isinstance(found, ModelQueue):
            return None
        if not found.xmit:
            raise MQError(Reason.XMIT_Q_USAGE_ERROR, queue=qmgr)
        return found

    def _xmit(self, name: str) -> LocalQueue:
        found = self.find(name)
        if found is None:
            raise MQError(Reason.UNKNOWN_XMIT_Q, queue=name)
        if not isinstance(found, LocalQueue) or isinstance(found, ModelQueue):
            raise MQError(Reason.XMIT_Q_TYPE_ERROR, queue=name)
        if not found.xmit:
            raise MQError(Reason.XMIT_Q_USAGE_ERROR, queue=name)
        return found
