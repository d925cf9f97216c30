"""Quaestor: a transactional queue manager that accounts for itself, and the pipeline that reads the accounts.

    import quaestor

    with quaestor.connect("QM1", "data") as app:
        app.define(quaestor.LocalQueue("ORDERS"))
        app.put("ORDERS", "one order")

The names of the native API are found here when they are first asked for, so that the planner and the pipeline do not
load a queue manager.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "quaestor.connecting": ("connect", "connect_async"),
    "quaestor.embedded": ("operate",),
    "quaestor.mqi.descriptors": ("MQMD", "Target"),
    "quaestor.mqi.messages": ("Message",),
    "quaestor.mqi.objects": (
        "AliasQueue",
        "LocalQueue",
        "ModelQueue",
        "Namelist",
        "Process",
        "QueueManagerAttributes",
        "RemoteQueue",
        "StorageClass",
    ),
    "quaestor.mqi.options": ("CloseOptions", "GetOptions", "MatchOptions", "MsgFlags", "OpenOptions", "PutOptions"),
    "quaestor.mqi.reasons": ("CompCode", "MQError", "Reason"),
    "quaestor.mqi.reports": ("Report",),
    "quaestor.qmgr.connection": ("AsyncConnection", "Connection", "Handle", "Participant", "settle"),
    "quaestor.qmgr.data.engine": ("EngineSettings",),
    "quaestor.qmgr.group_settings": ("GroupSettings",),
    "quaestor.qmgr.statistics": ("TraceSettings",),
    "quaestor.server.client.place": ("ClientTls",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'quaestor' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
