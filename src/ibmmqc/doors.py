"""Doors: which queue manager a program means that was written for IBM's API.

Rules
  DO1 A client channel's CONNAME (`host(port)`), or the environment's MQSERVER (`CHANNEL/TCP/host(port)`), means a
      server over TCP; of several addresses the first that answers. A name that is blank or begins with `*` then means
      whichever queue manager is there, and `Door.name` says which it is.
  DO2 Otherwise QUAESTOR_EMBEDDED, a folder, means a queue manager in this process, kept in a folder of its name there.
      It has no command server of its own: `Door.answer` answers the requests that wait on its command queue.
  DO3 Otherwise the server of that name on this machine.
  DO4 TLS is used over TCP when QUAESTOR_AUTHORITIES names a file of certificates to believe; a key repository of IBM's
      form is not read.
  DO5 A connection handle may be used by several threads of a program (its callbacks run on one of their own), so links
      to a server are of the kind that several may use.

Called by calls.  Calls the package door.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from quaestor import connecting, embedded
from quaestor.mqi.calls import QueueConnection
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.client.connection import Connection
from quaestor.server.client.place import ClientTls

EMBEDDED = "QUAESTOR_EMBEDDED"
MQSERVER = "MQSERVER"
AUTHORITIES = "QUAESTOR_AUTHORITIES"
PORT_DEFAULT = 1414
_CONNAME = re.compile(r"\s*([^()\s,]+)\s*(?:\((\d+)\))?\s*")


class Door(NamedTuple):
    """A connection, its queue manager's name, and what answers PCF requests where no server does (DO2)."""

    name: str
    connection: QueueConnection
    answer: Callable[[], None] = lambda: None


def connect(name: str, conname: str, user: str, password: str, application: str) -> Door:
    """A connection to the queue manager that a program means."""
    address = conname or _from_environment()
    folder = os.environ.get(EMBEDDED)
    if address:
        return _remote("" if name.startswith("*") else name, _addresses(address), user, password, application)
    if not folder:
        return Door(name, _served(name, None, user, password, application))  # DO3
    if not name:
        raise MQError(Reason.Q_MGR_NAME_ERROR, why="a queue manager in this process needs a name")
    if "/" in name or name in {".", ".."}:
        raise MQError(Reason.Q_MGR_NAME_ERROR, name=name, why="it names the folder that the queue manager is kept in")
    place = Path(folder) / name
    connection = connecting.connect(name, place, user=user or None, application=application or None)  # DO2
    embedded.answer_commands(place)
    return Door(name, connection, lambda: embedded.answer_commands(place))


def _remote(name: str, addresses: list[str], user: str, password: str, application: str) -> Door:
    """DO1."""
    for address in addresses[:-1]:
        try:
            return _named(name, _served(name, address, user, password, application))
        except MQError as error:
            if error.reason is not Reason.Q_MGR_NOT_AVAILABLE:
                raise
    return _named(name, _served(name, addresses[-1], user, password, application))


def _named(name: str, connection: QueueConnection) -> Door:
    if not name and isinstance(connection, Connection):
        name = str(connection.status()["qmgr"])
    return Door(name, connection)


def _served(name: str, where: str | None, user: str, password: str, application: str) -> QueueConnection:
    return connecting.connect(
        name,
        where,
        user=user or None,
        password=password or None,
        application=application or None,
        tls=_tls(),
        shared=True,  # DO5
    )


def _tls() -> ClientTls | None:
    """Whom to believe, by the environment (DO4)."""
    authorities = os.environ.get(AUTHORITIES)
    return ClientTls(authorities) if authorities else None


def _from_environment() -> str:
    """The CONNAME in MQSERVER: `CHANNEL/TCP/host(port)`."""
    _, _, rest = os.environ.get(MQSERVER, "").partition("/")
    transport, _, conname = rest.partition("/")
    return conname if transport.upper() == "TCP" else ""


def _addresses(conname: str) -> list[str]:
    """`host:port` of each address of a CONNAME."""
    found = [_CONNAME.fullmatch(part) for part in conname.split(",")]
    if None in found:
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, conname=conname, why="write host(port)")
    return [f"{each[1]}:{each[2] or PORT_DEFAULT}" for each in found if each is not None]
