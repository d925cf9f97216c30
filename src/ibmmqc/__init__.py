"""The module that IBM's package `ibmmq` calls, answered by a Quaestor queue manager.

`import ibmmq` falls back to this module where IBM's own client is not installed, so a program written for IBM MQ runs
unmodified. Which queue manager it reaches: see `ibmmqc.doors`.
"""

from importlib.metadata import version

from ibmmqc.calls import (
    MQBACK,
    MQBEGIN,
    MQCB,
    MQCBINIT,
    MQCLOSE,
    MQCMIT,
    MQCONN,
    MQCONNX,
    MQCRTMH,
    MQCTL,
    MQDISC,
    MQDLTMH,
    MQDLTMP,
    MQGET,
    MQINQ,
    MQINQMP,
    MQLOGCF,
    MQOPEN,
    MQPUT,
    MQPUT1,
    MQSET,
    MQSETMP,
    MQSTAT,
    MQSUB,
    MQSUBRQ,
)
from ibmmqc.structures import VERSIONS
from quaestor.mqi.objects import COMMAND_LEVEL

__version__ = version("ibmmq")  # the package refuses a module of another version than its own
__cmdlevel__ = COMMAND_LEVEL
__mqbuild__ = "common"
__strucversions__ = VERSIONS

__all__ = [
    "MQBACK",
    "MQBEGIN",
    "MQCB",
    "MQCBINIT",
    "MQCLOSE",
    "MQCMIT",
    "MQCONN",
    "MQCONNX",
    "MQCRTMH",
    "MQCTL",
    "MQDISC",
    "MQDLTMH",
    "MQDLTMP",
    "MQGET",
    "MQINQ",
    "MQINQMP",
    "MQLOGCF",
    "MQOPEN",
    "MQPUT",
    "MQPUT1",
    "MQSET",
    "MQSETMP",
    "MQSTAT",
    "MQSUB",
    "MQSUBRQ",
]
