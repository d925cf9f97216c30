"""Doors: which queue manager a program means that was written for IBM's API.

Rules
  DO1 A client channel's CONNAME (`host(port)`), or the environment's MQSERVER (`CHANNEL/TCP/host(port)`), means a
      server over TCP.
  DO2 Otherwise QUAESTOR_EMBEDDED, a folder, means a queue manager in this process, kept in a folder of its name there.
  DO3 Otherwise the server of that name on this machine.

Called by calls.  Calls the package door.
"""

import os
import re
from pathlib import Path

import quaestor
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection import Connection

EMBEDDED = "QUAESTOR_EMBEDDED"
MQSERVER = "MQSERVER"
PORT_DEFAULT = 1414
_CONNAME = re.compile(r"\s*([^()\s,]+)\s*(?:\((\d+)\))?")


def connect(name: str, conname: str, user: str, password: str, application: str) -> Connection:
    """A connection to the queue manager that a program means."""
    address = conname or _from_environment()
    who = {"user": user} if user else {}
    if address:
        return _client(name, _address(address), user, password, application)  # DO1
    folder = os.environ.get(EMBEDDED)
    if folder:
        if not name:
            raise MQError(Reason.Q_MGR_NAME_ERROR, why="a queue manager in this process needs a name")
        return quaestor.connect(name, Path(folder) / name, application=application or None, **who)  # DO2
    return _client(name, None, user, password, application)  # DO3


def _client(name: str, address: str | None, user: str, password: str, application: str) -> Connection:
    raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=name, address=address)


def _from_environment() -> str:
    """The CONNAME in MQSERVER: `CHANNEL/TCP/host(port)`."""
    _, _, rest = os.environ.get(MQSERVER, "").partition("/")
    transport, _, conname = rest.partition("/")
    return conname if transport.upper() == "TCP" else ""


def _address(conname: str) -> str:
    """`host:port` of the first address of a CONNAME."""
    found = _CONNAME.match(conname)
    if found is None:
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, conname=conname, why="write host(port)")
    return f"{found[1]}:{found[2] or PORT_DEFAULT}"
