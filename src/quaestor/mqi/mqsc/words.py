"""The vocabulary of MQSC: verbs, what they apply to, and the keywords of each.

Rules
  W1  A word may be shortened as far as it is unique among the words that can stand in its place, or to one of its
      customary abbreviations (QL, STC, CHL), which always mean the same.
  W2  The attributes of objects are those declared with the objects; they are not repeated here.

Called by commands.  Calls objects.
"""

from collections.abc import Iterable

from quaestor.mqi.objects import (
    AliasQueue,
    LocalQueue,
    ModelQueue,
    MQObject,
    Namelist,
    Process,
    QueueManagerAttributes,
    RemoteQueue,
    StorageClass,
    attributes_of,
)

KINDS: dict[str, type[MQObject]] = {
    kind.MQSC_TYPE: kind
    for kind in (
        LocalQueue,
        ModelQueue,
        AliasQueue,
        RemoteQueue,
        Process,
        Namelist,
        StorageClass,
        QueueManagerAttributes,
    )
}
QUEUE = "QUEUE"
"""DISPLAY QUEUE: queues of every type."""

ABBREVIATIONS = {
    "QL": "QLOCAL",
    "QA": "QALIAS",
    "QR": "QREMOTE",
    "QM": "QMODEL",
    "Q": "QUEUE",
    "QS": "QSTATUS",
    "STC": "STGCLASS",
    "NL": "NAMELIST",
    "CHL": "CHANNEL",
    "CHS": "CHSTATUS",
    "BP": "BUFFPOOL",
    "CFS": "CFSTRUCT",
    "TARGQ": "TARGET",
}

OBJECTS_OF: dict[str, frozenset[str]] = {
    "DEFINE": frozenset({*KINDS, "PSID", "BUFFPOOL", "CFSTRUCT", "CHANNEL", "LOG"} - {"QMGR"}),
    "ALTER": frozenset({*KINDS, "PSID", "BUFFPOOL", "CFSTRUCT", "CHANNEL", "TRACE"}),
    "DELETE": frozenset({*KINDS, "PSID", "BUFFPOOL", "CFSTRUCT", "CHANNEL"} - {"QMGR"}),
    "DISPLAY": frozenset(
        {*KINDS, QUEUE, "QSTATUS", "CONN", "USAGE", "THREAD", "LOG", "ARCHIVE", "SYSTEM", "TRACE", "SECURITY"}
        | {"CFSTRUCT", "CFSTATUS", "CHANNEL", "CHSTATUS"}
    ),
    "CLEAR": frozenset({"QLOCAL"}),
    "MOVE": frozenset({"QLOCAL"}),
    "ARCHIVE": frozenset({"LOG"}),
    "SET": frozenset({"LOG", "ARCHIVE", "SYSTEM"}),
    "RESOLVE": frozenset({"INDOUBT", "CHANNEL"}),
    "RESET": frozenset({"QSTATS", "CHANNEL", "CFSTRUCT"}),
    "REFRESH": frozenset({"SECURITY", "QMGR"}),
    "START": frozenset({"TRACE", "CHANNEL", "QMGR"}),
    "STOP": frozenset({"TRACE", "CHANNEL", "QMGR"}),
    "PING": frozenset({"CHANNEL"}),
    "BACKUP": frozenset({"CFSTRUCT"}),
    "RECOVER": frozenset({"CFSTRUCT", "BSDS"}),
    "SUSPEND": frozenset({"LOG"}),
    "RESUME": frozenset({"LOG"}),
}

LIVE = ("CURDEPTH", "IPPROCS", "OPPROCS")
_STATUS = ("UNCOM", "MSGAGE", "QTIME", "LPUTDATE", "LPUTTIME", "LGETDATE", "LGETTIME", "TYPE")
_CHANNEL = (
    *("CHLTYPE", "TRPTYPE", "CONNAME", "XMITQ", "MCAUSER", "BATCHSZ", "BATCHINT", "BATCHLIM", "DISCINT", "HBINT"),
    *("MAXMSGL", "SSLCIPH", "SSLCAUTH", "MAXINST", "MAXINSTC", "SEQWRAP", "NPMSPEED", "DESCR"),
)
_LOG = (
    *("DEALLCT", "MAXARCH", "MAXRTU", "MAXCNOFF", "WRTHRSH", "OUTBUFF", "INBUFF"),
    *("TWOACTV", "TWOARCH", "TWOBSDS", "COMPLOG", "OFFLOAD"),
)
KEYWORDS: dict[str, tuple[str, ...]] = {
    "QSTATUS": (*LIVE, *_STATUS),
    "PSID": ("BUFFPOOL", "DSN", "EXPAND", "TYPE"),
    "BUFFPOOL": ("BUFFERS", "LOCATION", "PAGECLAS", "REPLACE", "NOREPLACE"),
    "CFSTRUCT": (
        *("CFLEVEL", "RECOVER", "RECAUTO", "CFCONLOS", "OFFLOAD", "OFFLD1SZ", "OFFLD2SZ", "OFFLD3SZ", "OFFLD1TH"),
        *("OFFLD2TH", "OFFLD3TH", "DSGROUP", "DSBLOCK", "DSBUFS", "DSEXPAND", "DESCR", "TYPE", "ACTION"),
    ),
    "CFSTATUS": ("TYPE",),
    "CHANNEL": _CHANNEL,
    "CHSTATUS": ("STATUS", "MSGS", "BYTSSENT", "BYTSRCVD", "INDOUBT"),
    "CONN": ("APPLTAG", "USERID", "UOWSTATE", "TYPE"),
    "USAGE": ("PSID", "TYPE"),
    "THREAD": ("TYPE",),
    "LOG": ("MODE", "TIME", "WAIT", "CANCEL", *_LOG),
    "ARCHIVE": _LOG,
    "SYSTEM": ("LOGLOAD", "DEFAULT", "STATIME", "ACCTIME"),
    "TRACE": ("DEST", "CLASS", "IFCID", "RMID", "TNO", "USERID"),
    "INDOUBT": ("ACTION", "NID"),
    "QSTATS": (),
    "SECURITY": ("TIMEOUT", "INTERVAL"),
    "BSDS": (),
    QUEUE: (*LIVE, "TYPE"),
}
CONTROL = {
    "DEFINE": ("REPLACE", "NOREPLACE", "LIKE", "QSGDISP", "CMDSCOPE"),
    "ALTER": ("FORCE", "QSGDISP", "CMDSCOPE"),
    "DELETE": ("PURGE", "NOPURGE", "QSGDISP", "CMDSCOPE"),
    "DISPLAY": ("ALL", "WHERE", "QSGDISP", "CMDSCOPE"),
    "CLEAR": ("QSGDISP", "CMDSCOPE"),
    "MOVE": ("TOQLOCAL", "TYPE", "QSGDISP", "CMDSCOPE"),
}


def keywords_of(verb: str, noun: str) -> tuple[str, ...]:
    """Every keyword that may follow `verb noun`."""
    own: list[str] = list(KEYWORDS.get(noun, ()))
    kinds = (
        [kind for kind in KINDS.values() if kind.MQSC_TYPE.startswith("Q") and kind is not QueueManagerAttributes]
        if noun == QUEUE
        else [KINDS[noun]]
        if noun in KINDS
        else []
    )
    for kind in kinds:
        for attribute in attributes_of(kind).values():
            own.extend(attribute.bare or (attribute.keyword,))
    if noun == "QLOCAL" and verb == "DISPLAY":
        own.extend(LIVE)
    return tuple(dict.fromkeys((*own, *CONTROL.get(verb, ("CMDSCOPE",)))))


def meant(word: str, choices: Iterable[str]) -> list[str]:
    """The choices that `word` may stand for: itself, its customary meaning, or all that begin with it (W1)."""
    known = list(choices)
    if word in known:
        return [word]
    if ABBREVIATIONS.get(word) in known:
        return [ABBREVIATIONS[word]]
    return [choice for choice in known if choice.startswith(word)]
