"""The vocabulary of MQSC: verbs, what they apply to, and the keywords of each.

Rules
  W1  A word may be shortened as far as it is unique among the words that can stand in its place, or to one of its
      customary abbreviations (QL, STC, CHL), which always mean the same.
  W2  The attributes of objects are those declared with the objects; they are not repeated here.
  W3  A keyword that z/OS has and that could change nothing here (tapes, catalogues, cartridges) is known in order to be
      refused by its name.

Called by commands.  Calls objects.
"""

from collections.abc import Iterable, Iterator

from quaestor.mqi.objects import OBJECT_TYPES, MQObject, QueueManagerAttributes, attributes_of
from quaestor.mqi.structures import KEYWORDS as STRUCTURE

KINDS: dict[str, type[MQObject]] = {kind.MQSC_TYPE: kind for kind in OBJECT_TYPES.values()}
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
    "PRO": "PROCESS",
    "THD": "THREAD",
    "SEC": "SECURITY",
    "CHL": "CHANNEL",
    "CHS": "CHSTATUS",
    "BP": "BUFFPOOL",
    "CFS": "CFSTRUCT",
    "TARGQ": "TARGET",
    "REV": "RVERIFY",
    "REVERIFY": "RVERIFY",
}

_OBJECTS = {*KINDS, "PSID", "BUFFPOOL", "CFSTRUCT", "CHANNEL"}
OBJECTS_OF: dict[str, frozenset[str]] = {
    "DEFINE": frozenset(_OBJECTS - {"QMGR"}),
    "ALTER": frozenset(_OBJECTS | {"TRACE", "SECURITY", "SMDS"}),
    "DELETE": frozenset(_OBJECTS - {"QMGR"}),
    "DISPLAY": frozenset(
        {*_OBJECTS, QUEUE, "QSTATUS", "CONN", "USAGE", "THREAD", "LOG", "ARCHIVE", "SYSTEM", "TRACE", "SECURITY"}
        | {"CFSTATUS", "CHSTATUS", "GROUP", "SMDS", "SMDSCONN"}
    ),
    "CLEAR": frozenset({"QLOCAL"}),
    "MOVE": frozenset({"QLOCAL"}),
    "ARCHIVE": frozenset({"LOG"}),
    "SET": frozenset({"ARCHIVE", "LOG", "SYSTEM"}),
    "RESOLVE": frozenset({"INDOUBT", "THREAD", "CHANNEL"}),
    "RESET": frozenset({"CHANNEL", "CFSTRUCT", "QSTATS", "SMDS"}),
    "REFRESH": frozenset({"SECURITY"}),
    "RVERIFY": frozenset({"SECURITY"}),
    "START": frozenset({"TRACE", "CHANNEL", "SMDSCONN"}),
    "STOP": frozenset({"TRACE", "CHANNEL", "QMGR", "CONN", "SMDSCONN"}),
    "PING": frozenset({"CHANNEL", "QMGR"}),
    "BACKUP": frozenset({"CFSTRUCT", "PSID"}),
    "RECOVER": frozenset({"CFSTRUCT", "BSDS"}),
}

LIVE = ("CURDEPTH", "IPPROCS", "OPPROCS")
NOT_ALWAYS_KNOWN = ("MSGAGE", "SIZEUSED", "ENTSMAX", "ENTSUSED", "ELEMMAX", "ELEMUSED", "BKUPSIZE")
"""Numbers of a status that are blank where there is none."""
_STATUS = ("UNCOM", "MSGAGE", "QTIME", "LPUTDATE", "LPUTTIME", "LGETDATE", "LGETTIME", "TYPE")
_HANDLE = ("APPLTAG", "APPLTYPE", "USERID", "CONN", "BROWSE", "INPUT", "INQUIRE", "OUTPUT", "SET", "QMURID")
_CHANNEL = (
    *("CHLTYPE", "TRPTYPE", "CONNAME", "XMITQ", "MCAUSER", "BATCHSZ", "BATCHINT", "BATCHLIM", "DISCINT", "HBINT"),
    *("MAXMSGL", "SSLCIPH", "SSLCAUTH", "MAXINST", "MAXINSTC", "SEQWRAP", "NPMSPEED", "DESCR"),
)
_CFSTATUS = (
    *("TYPE", "CFTYPE", "STATUS", "SIZEMAX", "SIZEUSED", "ENTSMAX", "ENTSUSED", "ELEMMAX", "ELEMUSED"),
    *("OFFLDUSE", "FAILDATE"),
    *("FAILTIME", "QMNAME", "BKUPDATE", "BKUPTIME", "BKUPSIZE", "BKUPSRBA", "BKUPERBA", "SMDS", "ACCESS"),
)
_POOL = ("BUFFERS", "LOCATION", "PAGECLAS")
KEYWORDS: dict[str, tuple[str, ...]] = {
    "QSTATUS": (*LIVE, *_STATUS, *_HANDLE),
    "PSID": ("BUFFPOOL", "DSN", "EXPAND"),
    "BUFFPOOL": _POOL,
    "CFSTRUCT": STRUCTURE,
    "CFSTATUS": _CFSTATUS,
    "SMDS": ("CFSTRUCT", "DSBUFS", "DSEXPAND", "STATUS", "ACCESS", "DSN"),
    "SMDSCONN": ("CFSTRUCT", "AVAIL", "EXPANDST", "OPENMODE", "STATUS"),
    "CHANNEL": _CHANNEL,
    "CHSTATUS": ("STATUS", "MSGS", "BYTSSENT", "BYTSRCVD", "INDOUBT"),
    "CONN": (
        *("APPLTAG", "APPLTYPE", "USERID", "UOWSTATE", "UOWSTDA", "UOWSTTI", "QMURID", "TYPE"),
        *("OBJNAME", "OBJTYPE", "OPENOPTS"),
    ),
    "USAGE": ("PSID", "TYPE"),
    "THREAD": ("TYPE",),
    "TRACE": ("DEST", "CLASS", "TNO", "USERID"),
    "SECURITY": ("TIMEOUT", "SWITCHES"),
    QUEUE: (*LIVE, "TYPE"),
}
"""What belongs to a noun, whatever is done with it."""

ONLY: dict[tuple[str, str], tuple[str, ...]] = {
    ("DEFINE", "BUFFPOOL"): (*_POOL, "REPLACE", "NOREPLACE"),
    ("DEFINE", "PSID"): KEYWORDS["PSID"],
    ("ALTER", "BUFFPOOL"): _POOL,
    ("ALTER", "PSID"): ("EXPAND",),
    ("ALTER", "SECURITY"): ("TIMEOUT",),
    ("REFRESH", "SECURITY"): ("TYPE",),
    ("RVERIFY", "SECURITY"): (),
    ("DISPLAY", "LOG"): (),
    ("DISPLAY", "ARCHIVE"): (),
    ("DISPLAY", "SYSTEM"): (),
    ("DISPLAY", "SECURITY"): (*KEYWORDS["SECURITY"], "ALL"),
    ("DISPLAY", "THREAD"): (*KEYWORDS["THREAD"], "ALL"),
    ("DISPLAY", "TRACE"): (*KEYWORDS["TRACE"], "ALL"),
    ("DISPLAY", "USAGE"): (*KEYWORDS["USAGE"], "ALL"),
    ("SET", "ARCHIVE"): ("DEFAULT", "QUIESCE"),
    ("SET", "LOG"): ("DEFAULT", "WRTHRSH"),
    ("SET", "SYSTEM"): ("DEFAULT", "LOGLOAD", "STATIME", "ACCTIME"),
    ("ARCHIVE", "LOG"): ("MODE", "TIME", "WAIT"),
    ("RESOLVE", "INDOUBT"): ("ACTION", "NID"),
    ("RESOLVE", "THREAD"): ("ACTION", "NID"),
    ("STOP", "QMGR"): ("MODE",),
    ("STOP", "CONN"): (),
    ("PING", "QMGR"): (),
    ("DELETE", "QLOCAL"): ("PURGE", "NOPURGE"),
    ("DELETE", "BUFFPOOL"): (),
    ("DELETE", "PSID"): (),
    ("DELETE", "CFSTRUCT"): (),
    ("BACKUP", "CFSTRUCT"): (),
    ("BACKUP", "PSID"): (),
    ("RECOVER", "CFSTRUCT"): ("TYPE",),
    ("RESET", "CFSTRUCT"): ("ACTION",),
    ("RESET", "QSTATS"): (),
    ("DISPLAY", "GROUP"): (),
    ("ALTER", "SMDS"): ("CFSTRUCT", "DSBUFS", "DSEXPAND"),
    ("RESET", "SMDS"): ("CFSTRUCT", "ACCESS", "STATUS"),
    ("START", "SMDSCONN"): ("CFSTRUCT",),
    ("STOP", "SMDSCONN"): ("CFSTRUCT",),
}
"""Commands whose keywords are not those of their noun."""

MEANINGLESS: dict[tuple[str, str], tuple[str, ...]] = {
    ("SET", "ARCHIVE"): (
        *("ALCUNIT", "ARCPFX1", "ARCPFX2", "ARCRETN", "ARCWRTC", "ARCWTOR", "BLKSIZE", "CATALOG", "COMPACT"),
        *("PRIQTY", "PROTECT", "SECQTY", "TSTAMP", "UNIT", "UNIT2"),
    ),
    ("SET", "LOG"): ("COMPLOG", "DEALLCT", "MAXARCH", "MAXCNOFF", "MAXRTU", "ZHYWRITE"),
    ("SET", "SYSTEM"): ("EXCLMSG", "SERVICE", "TRACTBL"),
    ("ALTER", "SECURITY"): ("INTERVAL",),
}
"""Keywords that are known in order to be refused (W3)."""

CONTROL = {
    "DEFINE": ("REPLACE", "NOREPLACE", "LIKE"),
    "DISPLAY": ("ALL", "WHERE"),
    "MOVE": ("TOQLOCAL", "TYPE"),
}
WITH_ATTRIBUTES = ("DEFINE", "ALTER", "DISPLAY")


def keywords_of(verb: str, noun: str) -> tuple[str, ...]:
    """Every keyword that may follow `verb noun`."""
    scope = ("QSGDISP", "CMDSCOPE") if (noun in KINDS and noun != "QMGR") or noun == QUEUE else ("CMDSCOPE",)
    if (verb, noun) in ONLY:
        return (*ONLY[verb, noun], *scope)
    own = [*KEYWORDS.get(noun, ()), *(_attributes(noun) if verb in WITH_ATTRIBUTES else ())]
    if noun == "QLOCAL":
        own.extend({"DISPLAY": LIVE, "ALTER": ("FORCE",)}.get(verb, ()))
    if (verb, noun) == ("DISPLAY", "QMGR"):
        own.append("QMNAME")
    return tuple(dict.fromkeys((*own, *CONTROL.get(verb, ()), *scope)))


def _attributes(noun: str) -> Iterator[str]:
    """The words of the attributes of an object, or of queues of every type (W2)."""
    queues = [kind for kind in KINDS.values() if kind.MQSC_TYPE.startswith("Q") and kind is not QueueManagerAttributes]
    for kind in queues if noun == QUEUE else [KINDS[noun]] if noun in KINDS else []:
        for attribute in attributes_of(kind).values():
            yield from attribute.bare or (attribute.keyword,)


def meant(word: str, choices: Iterable[str]) -> list[str]:
    """The choices that `word` may stand for: itself, its customary meaning, or all that begin with it (W1)."""
    known = list(choices)
    if word in known:
        return [word]
    if ABBREVIATIONS.get(word) in known:
        return [ABBREVIATIONS[word]]
    return [choice for choice in known if choice.startswith(word)]
