"""Opening: links of this process, shared or not, and connections on them.

Rules
  OL1 A connection has a link of its own, unless it asks to share one: then all that share and name the same place and
      the same user, with the same password, are conversations on one link. It closes with the last of them. Whoever
      waits for a queue manager to answer holds up those alone who want to share that very link.
  OL2 A child made by fork has none of its parent's links (2009): it closes its copy of the socket without a word on it.
  OL3 A password comes as an argument, from a function, or from the environment (`QUAESTOR_PASSWORD`); it is sent once
      and not kept, unless the link may have to be made again: of a shared link a digest is, under a key that only this
      process has.
  OL4 What cannot be sent is refused before anybody is asked, with the reason that the queue manager would give: a user
      or a password that is no text, or longer than the first frame has room for, is 2035; a queue manager of such a
      name is 2058, a client 2046.

Called by the package door.  Calls link, connection, place.
"""

import hmac
import os
import ssl
from threading import Lock
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from quaestor.mqi.names import NAME_MAX
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.client.connection import Connection
from quaestor.server.client.link import Link
from quaestor.server.client.place import Place
from quaestor.server.client.reconnecting import ReconnectingConnection, client_name
from quaestor.server.protocol import CLIENT_MAX
from quaestor.storage.log_record import USER_MAX

PASSWORD_VARIABLE = "QUAESTOR_PASSWORD"  # noqa: S105 - a variable's name
PASSWORD_MAX = 3072
_KEY = os.urandom(32)


class Links:
    """The links of this process (OL1, OL2)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shared: dict[tuple[Any, ...], Link] = {}
        self._making: WeakValueDictionary[tuple[Any, ...], Lock] = WeakValueDictionary()
        self._all: WeakSet[Link] = WeakSet()

    def connect(
        self, place: Place, hello: dict[str, Any], *, shared: bool = False, reconnect_s: float = 0
    ) -> Connection:
        link = self._shared_link(place, hello) if shared else self._used(self.new_link(place, hello))
        try:
            if not reconnect_s:
                return Connection(link, self.let_go)
            return ReconnectingConnection(link, self.let_go, lambda: self.new_link(place, hello), reconnect_s)
        except BaseException:
            self.let_go(link)
            raise

    def _shared_link(self, place: Place, hello: dict[str, Any]) -> Link:
        password = hello.get("password")
        proof = None if password is None else hmac.digest(_KEY, password.encode(), "sha256")  # OL1, OL3
        key = (place, hello.get("user"), proof, hello.get("client"))
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:  # and not the other lock: this may take long
            with self._lock:
                known = self._shared.get(key)
                if known is not None and known.why_broken is None:
                    return self._used(known)
            link = self._used(self.new_link(place, hello, shared=True))
            with self._lock:
                self._shared[key] = link
            return link

    @staticmethod
    def _used(link: Link) -> Link:
        link.users += 1
        return link

    def new_link(self, place: Place, hello: dict[str, Any], *, shared: bool = False) -> Link:
        """A link that is introduced; nothing of it is left when that fails."""
        link = Link(place.reach(), hello, shared=shared)
        try:
            link.introduce()
        except MQError as error:
            link.close()
            if error.reason is Reason.CONNECTION_BROKEN:
                refused = place.tls is not None and isinstance(error.__cause__, ssl.SSLError)
                reason = Reason.NOT_AUTHORIZED if refused else Reason.Q_MGR_NOT_AVAILABLE
                raise MQError(reason, qmgr=place.name, why=error.facts.get("why", "")) from error
            raise
        except BaseException:
            link.close()
            raise
        with self._lock:
            self._all.add(link)
        return link

    def let_go(self, link: Link) -> None:
        """A connection on the link has ended (OL1)."""
        with self._lock:
            link.users -= 1
            if link.users <= 0:
                self._shared = {key: kept for key, kept in self._shared.items() if kept is not link}
                link.close()

    def forget(self) -> None:
        """In a child made by fork (OL2)."""
        links = list(self._all)
        self._lock, self._shared, self._making, self._all = Lock(), {}, WeakValueDictionary(), WeakSet()
        for link in links:
            link.forsake()


LINKS = Links()
os.register_at_fork(after_in_child=LINKS.forget)


def hello_of(
    name: str,
    user: str | None,
    password: str | None,
    application: str,
    client: str | bytes = b"",
    *,
    reconnects: bool = False,
) -> dict[str, Any]:
    """What a client says of itself (OL3), looked at here, where it can be told what is wrong with it (OL4)."""
    named = client if isinstance(client, bytes) else _sendable(client, CLIENT_MAX)
    if named is None or len(named) > CLIENT_MAX:
        raise MQError(Reason.OPTIONS_ERROR, client=client, longest=CLIENT_MAX)
    named = named or (client_name() if reconnects else b"")
    if _sendable(name, NAME_MAX) is None:
        raise MQError(Reason.Q_MGR_NAME_ERROR, asked_for=name[:NAME_MAX])
    if _sendable(user or "", USER_MAX) is None:
        raise MQError(Reason.NOT_AUTHORIZED, user=(user or "")[:USER_MAX], longest=USER_MAX)
    said: dict[str, Any] = {"qmgr": name, "application": application, "client": named, "user": user or ""}
    if password is None and user is not None:
        password = os.environ.get(PASSWORD_VARIABLE)
    if password is not None:
        if _sendable(password, PASSWORD_MAX) is None:
            raise MQError(Reason.NOT_AUTHORIZED, user=user or "")
        said["password"] = password
    return said


def _sendable(text: str, longest: int) -> bytes | None:
    """A text as it is sent; None when it cannot be (OL4)."""
    try:
        sent = text.encode()
    except UnicodeEncodeError:
        return None
    return sent if len(sent) <= longest else None
