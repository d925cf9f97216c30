"""Connecting: one function for the three doors to a queue manager.

    quaestor.connect("QM1")                                     local: the queue manager runs on this machine
    quaestor.connect("QM1", "host:1414", user=..., tls=...)     remote: over TCP
    quaestor.connect("QM1", "data")                             embedded: in this process, kept in a directory

Rules
  DO1 The second argument decides: none is local, `host:port` (no slash, digits behind the last colon) is remote,
      anything else is a directory; `./host:1414` is a directory. A `Path` is always one. An empty text is no place
      (2059): it comes from a setting that is missing, and no queue manager is made where the program happens to run.
      So is a directory with a password or TLS: the port was forgotten, and what is put would lie where nobody looks.
      A name or place of another type is a TypeError.
  DO2 What comes back has the same calls behind each door, with the same reasons (`quaestor.mqi.calls`).
  DO3 A password is never part of a command line: it is an argument, or `QUAESTOR_PASSWORD` when a user is named.
  DO4 Connections that share a link and its name cannot reconnect (2046): each would end the link of the others.

Called by applications.  Calls embedded, server.client.
"""

import os
from collections.abc import Callable
from typing import Any, TypeGuard

from quaestor import embedded
from quaestor.embedded import application_name
from quaestor.mqi.calls import QueueConnection
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection import AsyncConnection
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.group_settings import GroupSettings
from quaestor.qmgr.statistics import TraceSettings
from quaestor.server.client import asynchronous, asynchronous_link, asynchronous_reconnecting
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import ClientTls, Place, is_address, local_place

Where = str | os.PathLike[str] | None
Secret = str | Callable[[], str]


def connect(
    name: str,
    where: Where = None,
    *,
    user: str | None = None,
    password: Secret | None = None,
    application: str | None = None,
    settings: EngineSettings | None = None,
    group: GroupSettings | None = None,
    trace: str | TraceSettings = "",
    tls: ClientTls | bool | None = None,
    shared: bool = False,
    client: str | bytes = b"",
    reconnect_s: float = 0,
) -> QueueConnection:
    """Connect to the queue manager `name` (DO1).

    `settings` and `trace` are for an embedded queue manager, `password`, `tls`, `shared` and `client` for the others.
    `shared` lets connections of this process use one socket, `client` names it for `outcome`, `reconnect_s` makes it go
    on after its link was lost.
    """
    what = application_name(application)
    if is_directory(where, name, remote=password is not None or bool(tls)):
        return embedded.connect(name, where, user=user, application=what, settings=settings, group=group, trace=trace)
    place = place_of(name, where, tls)
    if shared and client and reconnect_s:
        raise MQError(Reason.OPTIONS_ERROR, client=client, why="connections of one name that reconnect share no link")
    secret = password() if callable(password) else password
    hello = hello_of(name, user, secret, what, client, reconnects=bool(reconnect_s))
    return LINKS.connect(place, hello, shared=shared, reconnect_s=reconnect_s)


def is_directory(where: Where, name: str, *, remote: bool = False) -> TypeGuard[str | os.PathLike[str]]:
    """Whether the queue manager is kept in a directory and is to run in this process; `remote` ones are not (DO1)."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a queue manager is a str, such as 'QM1', not {name!r}")
    if not isinstance(where, str | os.PathLike | None):
        raise TypeError(f"a place is a str or a path, not {where!r}")
    if where == "":
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=name, why="the place is empty: host:port, or a directory")
    directory = where is not None and not is_address(where)
    if directory and remote:
        why = "a password or TLS is for host:port, and this is a directory"
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=name, where=str(where), why=why)
    return directory


def place_of(name: str, where: Where, tls: ClientTls | bool | None) -> Place:
    """Where the queue manager is; `tls=True` is TLS with the system's authorities."""
    if where is None:
        return local_place(name)
    trust: Any = ClientTls() if tls is True else tls or None
    return Place(name, address=str(where), tls=trust)


async def connect_async(
    name: str,
    where: Where = None,
    *,
    user: str | None = None,
    password: Secret | None = None,
    application: str | None = None,
    settings: EngineSettings | None = None,
    group: GroupSettings | None = None,
    trace: str | TraceSettings = "",
    tls: ClientTls | bool | None = None,
    client: str | bytes = b"",
    reconnect_s: float = 0,
) -> asynchronous.AsyncConnection | AsyncConnection:
    """The same for asyncio; what comes back is a context manager for `async with`."""
    what = application_name(application)
    if is_directory(where, name, remote=password is not None or bool(tls)):
        return await embedded.connect_async(
            name, where, user=user, application=what, settings=settings, group=group, trace=trace
        )
    secret, place = password() if callable(password) else password, place_of(name, where, tls)
    hello = hello_of(name, user, secret, what, client, reconnects=bool(reconnect_s))
    if not reconnect_s:
        return await asynchronous.connect(place, hello)
    return await asynchronous_reconnecting.connect(lambda: asynchronous_link.new_link(place, hello), reconnect_s)
