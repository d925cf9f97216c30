"""PCF words: which number each command, attribute and value has.

Rules
  PW1 An attribute has one number wherever it occurs, save its description, which has another for each kind of object.
  PW2 Values are those of the declarations; where IBM MQ's numbers differ (PUT and GET count the inhibited, DEFSOPT is
      an open option) the difference is here and nowhere else.
  PW3 A text has its whole length in a response, with blanks at its end, as the names and texts of IBM MQ have. IBM's
      package reads a text of one character as none.
  PW4 THREAD, TRACE, BUFFPOOL, PSID and ARCHIVE LOG have numbers of commands, by which command events name them, and no
      PCF form: IBM MQ describes none. They go by the escape.

Called by pcf_commands.  Calls the declarations.
"""

from collections.abc import Callable
from typing import Any

from quaestor.mqi.attributes import Attribute
from quaestor.mqi.mqsc.words import KINDS
from quaestor.mqi.objects import attributes_of

COMMANDS: dict[int, tuple[str, str]] = {
    1: ("ALTER", "QMGR"),
    2: ("DISPLAY", "QMGR"),
    3: ("ALTER", "PROCESS"),
    4: ("COPY", "PROCESS"),
    5: ("DEFINE", "PROCESS"),
    6: ("DELETE", "PROCESS"),
    7: ("DISPLAY", "PROCESS"),
    8: ("ALTER", "QUEUE"),
    9: ("CLEAR", "QLOCAL"),
    10: ("COPY", "QUEUE"),
    11: ("DEFINE", "QUEUE"),
    12: ("DELETE", "QUEUE"),
    13: ("DISPLAY", "QUEUE"),
    17: ("RESET", "QSTATS"),
    18: ("NAMES", "QUEUE"),
    19: ("NAMES", "PROCESS"),
    32: ("ALTER", "NAMELIST"),
    33: ("COPY", "NAMELIST"),
    34: ("DEFINE", "NAMELIST"),
    35: ("DELETE", "NAMELIST"),
    36: ("DISPLAY", "NAMELIST"),
    37: ("NAMES", "NAMELIST"),
    38: ("ESCAPE", ""),
    40: ("PING", "QMGR"),
    41: ("DISPLAY", "QSTATUS"),
    78: ("REFRESH", "SECURITY"),
    85: ("DISPLAY", "CONN"),
    86: ("STOP", "CONN"),
    100: ("ALTER", "SECURITY"),
    102: ("ALTER", "STGCLASS"),
    109: ("DEFINE", "STGCLASS"),
    111: ("COPY", "STGCLASS"),
    113: ("DELETE", "STGCLASS"),
    114: ("DISPLAY", "ARCHIVE"),
    120: ("DISPLAY", "LOG"),
    121: ("DISPLAY", "SECURITY"),
    122: ("DISPLAY", "STGCLASS"),
    123: ("DISPLAY", "SYSTEM"),
    126: ("DISPLAY", "USAGE"),
    127: ("MOVE", "QLOCAL"),
    133: ("RVERIFY", "SECURITY"),
    134: ("SET", "ARCHIVE"),
    136: ("SET", "LOG"),
    137: ("SET", "SYSTEM"),
    148: ("NAMES", "STGCLASS"),
}
"""MQCMD numbers; COPY is DEFINE with LIKE, NAMES is DISPLAY answered by one list."""

QUEUE_NOUNS = ("QUEUE", "QLOCAL", "QALIAS", "QREMOTE", "QMODEL")
NAME = {"PROCESS": 2012, "NAMELIST": 2010, "STGCLASS": 2022, "QSTATUS": 2016, "QSTATS": 2016, "QMGR": 2015}
NAME |= dict.fromkeys(QUEUE_NOUNS, 2016)
FROM_TO = {"PROCESS": (3003, 3004), "NAMELIST": (3005, 3006), "STGCLASS": (3104, 3105)}
FROM_TO |= dict.fromkeys(QUEUE_NOUNS, (3001, 3002))
NAME_LISTS = {"QUEUE": 3011, "PROCESS": 3012, "NAMELIST": 3013, "STGCLASS": 3106}
DESCRIPTIONS = {"PROCESS": 2011, "NAMELIST": 2009, "STGCLASS": 2042, "QMGR": 2014}
QUEUE_DESCRIPTION = 2013
ATTRIBUTE_LISTS = {
    1001: "QMGR",
    1002: "QUEUE",
    1003: "PROCESS",
    1004: "NAMELIST",
    1026: "QSTATUS",
    1107: "CONN",
    1151: "SECURITY",
    1156: "STGCLASS",
}
SELECTOR = 1014
CONNECTION_ID, GENERIC_CONNECTION_ID, CONNECTION_ID_LENGTH = 7006, 7007, 24
ALL, REPLACE, PURGE, FORCE = 1009, 1006, 1007, 1005
QUEUE_TYPE, SHARING_GROUP, SCOPE, RESPONSE_QMGR = 20, 63, 3080, 3070
DISPOSITIONS = {-1: "ALL", 0: "QMGR", 1: "COPY", 2: "SHARED", 3: "GROUP", 4: "PRIVATE", 6: "LIVE"}
QUEUE_TYPES = {1: "QLOCAL", 2: "QMODEL", 3: "QALIAS", 6: "QREMOTE", 1001: "ALL"}
STATUS_TYPE, STATUS_TYPES = 1103, {1105: "QUEUE", 1104: "HANDLE"}
INFO_TYPE, INFO_TYPES = 1110, {1111: "CONN", 1112: "HANDLE", 1113: "ALL"}
MOVE_TYPE, MOVE_TYPES = 1145, {1146: "MOVE", 1147: "ADD"}
USAGE_TYPE, USAGE_TYPES = 1157, {1168: "PAGESET", 1169: "DATASET", 1009: "ALL"}
SECURITY_TYPE, SECURITY_TYPES, SECURITY_ITEM = 1106, {3: "CLASSES"}, 1129
DATA_SET_TYPE, DATA_SET_TYPES = 1167, {10: "OLDEST ACTIVE UNIT OF WORK"}
SYSTEM_TYPE, INITIAL, SET = 1175, 10, 11
SAID_OF = {
    "COPY": (SYSTEM_TYPE, 12),
    "TOTALLOGS": (SYSTEM_TYPE, 13),
    "PSID": (USAGE_TYPE, 1168),
    "TYPE": (USAGE_TYPE, 1169),
    "BUFFPOOL": (USAGE_TYPE, 1170),
}
"""By the keyword with which a row begins: what its response says first (PC5, PC6)."""

NOT_SENT = {"PARAMETER", "DSN", "CURRENT END OF LOG"}
"""Rows that begin so have no response of their own: IBM MQ tells no archives and no end of the log."""

INTEGERS_LAST, TEXTS_LAST = 2000, 4000
ESCAPE_TYPE, ESCAPE_TEXT, ESCAPE_MQSC = 1017, 3014, 1
NAME_COUNT = 19
OPERATORS = {
    1: "LT",
    2: "EQ",
    3: "LE",
    4: "GT",
    5: "NE",
    6: "GE",
    18: "LK",
    21: "NL",
    26: "CT",
    29: "EX",
    10: "CT",
    13: "EX",
}

NUMBERS: dict[str, int] = {
    "PUT": 10,
    "GET": 9,
    "DEFPRTY": 6,
    "DEFPSIST": 5,
    "MAXDEPTH": 15,
    "MAXMSGL": 13,
    "MSGDLVSQ": 16,
    "SHARE": 23,
    "DEFSOPT": 4,
    "HARDENBO": 8,
    "BOTHRESH": 22,
    "BOQNAME": 2019,
    "USAGE": 12,
    "TRIGGER": 24,
    "TRIGTYPE": 28,
    "TRIGDPTH": 29,
    "TRIGMPRI": 26,
    "TRIGDATA": 2023,
    "PROCESS": 2012,
    "INITQ": 2008,
    "QDEPTHHI": 40,
    "QDEPTHLO": 41,
    "QDPMAXEV": 42,
    "QDPHIEV": 43,
    "QDPLOEV": 44,
    "QSVCINT": 54,
    "QSVCIEV": 46,
    "RETINTVL": 21,
    "STGCLASS": 2022,
    "INDXTYPE": 57,
    "ACCTQ": 134,
    "MONQ": 123,
    "PROPCTL": 190,
    "CAPEXPRY": 276,
    "DEFTYPE": 7,
    "PSID": 62,
    "CFSTRUCT": 2039,
    "CURDEPTH": 3,
    "IPPROCS": 17,
    "OPPROCS": 18,
    "TARGET": 2002,
    "TARGTYPE": 193,
    "RNAME": 2018,
    "RQMNAME": 2017,
    "XMITQ": 2024,
    "APPLTYPE": 1,
    "APPLICID": 2001,
    "USERDATA": 2021,
    "ENVRDATA": 2007,
    "NAMES": 2020,
    "DEADQ": 2006,
    "DEFXMITQ": 2025,
    "MAXUMSGS": 33,
    "TRIGINT": 25,
    "CCSID": 2,
    "EXPRYINT": 39,
    "MAXHANDS": 11,
    "STATINT": 131,
    "INHIBTEV": 48,
    "LOCALEV": 49,
    "REMOTEEV": 50,
    "PERFMEV": 53,
    "STRSTPEV": 52,
    "MAXPRTY": 14,
    "CMDLEVEL": 31,
    "PLATFORM": 32,
    "SYNCPT": 30,
    "COMMANDQ": 2003,
    "RESETINT": 35,
    "HIQDEPTH": 36,
    "MSGSIN": 37,
    "MSGSOUT": 38,
    "UNCOM": 1027,
    "MSGAGE": 1227,
    "QTIME": 1226,
    "LPUTDATE": 3128,
    "LPUTTIME": 3129,
    "LGETDATE": 3130,
    "LGETTIME": 3131,
    "UOWSTATE": 1128,
    "UOWSTDA": 3060,
    "UOWSTTI": 3061,
    "QMURID": 7009,
    "OBJNAME": 3046,
    "OBJTYPE": 1016,
    "OPENOPTS": 1022,
    "APPLTAG": 3058,
    "USERID": 3025,
    "BROWSE": 1102,
    "INPUT": 1098,
    "INQUIRE": 1101,
    "OUTPUT": 1099,
    "SET": 1100,
    "BUFFPOOL": 1158,
    "BUFFERS": 1166,
    "LOCATION": 1408,
    "PAGECLAS": 1411,
    "EXPAND": 1265,
    "TOTAL": 1159,
    "UNUSED": 1160,
    "PERSIST": 1161,
    "NPERSIST": 1162,
    "EXPANSIONS": 1164,
    "STEALABLE": 1330,
    "PERCENT": 1331,
    "RBA": 3078,
    "OUTBUFF": 1180,
    "WRTHRSH": 1181,
    "OFFLOAD": 1182,
    "QUIESCE": 1212,
    "TWOACTV": 1183,
    "TWOBSDS": 1185,
    "LOGLOAD": 1191,
    "STATIME": 1199,
    "ACCTIME": 1443,
    "COPY": 1216,
    "USED": 1217,
    "DSN": 3059,
    "TOTALLOGS": 1220,
    "FULLLOGS": 1221,
    "LOGRBA": 3122,
    "TIMEOUT": 1152,
    "SWITCH": 1154,
    "SWITCHES": 1154,
    "ON": 1155,
}
KEYWORDS = {number: keyword for keyword, number in NUMBERS.items()}
WORDS: dict[str, dict[str, int]] = {
    "EXPAND": {"USER": 1, "SYSTEM": 2, "NONE": 3},
    "LOCATION": {"BELOW": 0, "ABOVE": 1},
    "PAGECLAS": {"4KB": 0, "FIXED4KB": 1},
    "UNCOM": {"NO": 0, "YES": 1},
    "INPUT": {"NO": 0, "SHARED": 1, "EXCL": 2},
    **{keyword: {"NO": 0, "YES": 1} for keyword in ("BROWSE", "INQUIRE", "OUTPUT", "SET")},
    "APPLTYPE": {"USER": 25},
    "UOWSTATE": {"NONE": 0, "ACTIVE": 1, "PREPARED": 2},
    "OBJTYPE": {"QUEUE": 1},
    **{keyword: {"NO": 0, "YES": 1} for keyword in ("OFFLOAD", "TWOACTV", "TWOBSDS")},
    "ON": {"NO": 21, "YES": 22},
    "SWITCH": {
        "SUBSYSTEM": 10,
        "CONNECT": 9,
        "QUEUE": 3,
        "PROCESS": 1,
        "NAMELIST": 2,
        "COMMAND": 8,
        "STGCLASS": 11,
        "QMGR": 11,
    },
}
"""Words of what is shown and is no attribute of an object."""

_INVERTED: dict[str, Callable[[Any], Any]] = {
    "PUT": lambda value: 1 - int(value),
    "GET": lambda value: 1 - int(value),
    "DEFSOPT": lambda value: {True: 4, False: 2, 4: True, 2: False}.get(value, value),
}
"""PW2: each is its own inverse."""


def attributes(noun: str) -> dict[str, Attribute]:
    """The attributes of an object by keyword."""
    return {a.keyword: a for a in attributes_of(KINDS[noun]).values()} if noun in KINDS else {}


def number_of(noun: str, keyword: str) -> int | None:
    """PW1."""
    if keyword == "DESCR":
        return DESCRIPTIONS.get(noun, QUEUE_DESCRIPTION)
    return NUMBERS.get(keyword)


def identifying(noun: str) -> set[int]:
    """What every response to an inquiry has, asked for or not: whose it is."""
    kinds = {"CONN": {CONNECTION_ID, INFO_TYPE}, "QSTATUS": {STATUS_TYPE}, "QUEUE": {QUEUE_TYPE}}
    return {NAME[noun], SHARING_GROUP} | kinds.get(noun, set()) if noun in NAME else kinds.get(noun, set())


def keyword_of(number: int) -> str | None:
    return "DESCR" if number in {QUEUE_DESCRIPTION, *DESCRIPTIONS.values()} else KEYWORDS.get(number)


def kind_of(number: int) -> type:
    """What the values of a parameter are, by its number: MQIA and MQIACF, MQCA and MQCACF, MQBACF (PW1)."""
    return int if number <= INTEGERS_LAST else str if number <= TEXTS_LAST else bytes


def _text_lengths() -> dict[int, int]:
    """PW3: the length of a text, by its number."""
    lengths = dict.fromkeys([*NAME.values(), *NAME_LISTS.values(), RESPONSE_QMGR, NUMBERS["OBJNAME"]], 48)
    lengths |= {NAME["STGCLASS"]: 8, NAME_LISTS["STGCLASS"]: 8, NUMBERS["APPLTAG"]: 28, NUMBERS["USERID"]: 12}
    lengths |= {NUMBERS[keyword]: 12 for keyword in ("LPUTDATE", "LGETDATE", "UOWSTDA")}
    lengths |= {NUMBERS[keyword]: 8 for keyword in ("LPUTTIME", "LGETTIME", "UOWSTTI")}
    lengths |= {NUMBERS["DSN"]: 44, NUMBERS["LOGRBA"]: 16, NUMBERS["RBA"]: 16}
    for noun in KINDS:
        for keyword, attribute in attributes(noun).items():
            number = number_of(noun, keyword)
            if number is not None and attribute.length:
                lengths[number] = attribute.length
    return lengths


TEXT_LENGTHS = _text_lengths()


def to_words(attribute: Attribute, value: Any) -> tuple[str, ...]:
    """A PCF value as MQSC writes it; a number that has no word is left for the declaration to refuse."""
    if attribute.keyword in _INVERTED and isinstance(value, int):
        value = _INVERTED[attribute.keyword](value)
    elif isinstance(attribute.default, bool) and value in {0, 1}:
        value = bool(value)
    return attribute.written(value)


def to_compare(attribute: Attribute | None, keyword: str, operator: str, value: Any) -> str:
    """The value of a filter as DISPLAY shows what it is compared with."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if keyword == "OPENOPTS":
        return f"X'{value & 0xFFFFFFFF:08X}'"
    if attribute is None:
        return next((word for word, number in WORDS.get(keyword, {}).items() if number == value), str(value))
    if isinstance(attribute.default, tuple) or (attribute.named and operator not in {"EQ", "NE"}):
        return str(value)
    return to_words(attribute, value)[0]


SHOWN: dict[str, Callable[[str], Any]] = {
    "QTIME": lambda shown: tuple(map(int, shown.split(","))),
    "QMURID": bytes.fromhex,
    "OPENOPTS": lambda shown: int(shown[2:-1], 16),
    "CONN": lambda shown: bytes.fromhex(shown).rjust(CONNECTION_ID_LENGTH, b"\0"),
}
"""What MQSC writes as text and PCF has as numbers or bytes."""


def to_pcf(attribute: Attribute | None, keyword: str, shown: Any) -> Any:
    """A value of a reply as PCF has it; a word that has no number stays a word."""
    if keyword in SHOWN:
        return SHOWN[keyword](shown)
    if attribute is None or not isinstance(shown, str) or attribute.length:
        return WORDS.get(keyword, {}).get(shown, shown) if isinstance(shown, str) else shown
    value = (attribute.words or attribute.named or {}).get(shown, shown)
    inverted = _INVERTED.get(keyword)
    return inverted(value) if inverted is not None else int(value) if not isinstance(value, str) else value
