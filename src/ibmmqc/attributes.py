"""Attributes: the numbered selectors of MQINQ and MQSET, and the attributes they mean.

Rules
  AT1 A selector from 1 to 2000 means a number, one from 2001 to 4000 text of a fixed length.
  AT2 What a queue manager is (its level, its platform) it is asked like any attribute (O6).
  AT3 A selector nobody knows is 2067, one of another type of object 2068: as the queue manager says, or where the same
      attribute has a selector for each type, as it is said here.
  AT4 A queue has the name and the type of the definition that was opened: an alias or a remote definition its own, a
      dynamic queue those it has, not its model's.

Called by bound.  Calls reasons.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from quaestor.mqi.headers import text_field
from quaestor.mqi.objects import QueueType
from quaestor.mqi.reasons import MQError, Reason

FIRST_TEXT = 2001
EXCLUSIVE, SHARED = 4, 2


def _inverted(value: Any) -> int:
    """ALLOWED is 0, INHIBITED 1."""
    return 0 if value else 1


def _allowed(number: int) -> int:
    """What an inhibit attribute allows; a number that is neither is left for the queue manager to refuse."""
    return {0: True, 1: False}.get(number, number)


class Number(NamedTuple):
    """An attribute that is a number."""

    keyword: str
    told: Callable[[Any], int] = int  # from the attribute's value
    meant: Callable[[int], Any] = int  # to it


NUMBERS = {
    1: Number("APPLTYPE"),
    2: Number("CCSID"),
    3: Number("CURDEPTH"),
    4: Number("DEFSOPT", lambda exclusive: EXCLUSIVE if exclusive else SHARED),
    5: Number("DEFPSIST"),
    6: Number("DEFPRTY"),
    7: Number("DEFTYPE"),
    8: Number("HARDENBO"),
    9: Number("GET", _inverted, _allowed),
    10: Number("PUT", _inverted, _allowed),
    11: Number("MAXHANDS"),
    12: Number("USAGE"),
    13: Number("MAXMSGL"),
    14: Number("MAXPRTY"),
    15: Number("MAXDEPTH"),
    16: Number("MSGDLVSQ"),
    17: Number("IPPROCS"),
    18: Number("OPPROCS"),
    21: Number("RETINTVL"),
    22: Number("BOTHRESH"),
    23: Number("SHARE"),
    24: Number("TRIGGER", int, lambda number: bool(number) if number in (0, 1) else number),
    25: Number("TRIGINT"),
    26: Number("TRIGMPRI"),
    28: Number("TRIGTYPE"),
    29: Number("TRIGDPTH"),
    30: Number("SYNCPT"),
    31: Number("CMDLEVEL"),
    32: Number("PLATFORM"),
    33: Number("MAXUMSGS"),
    39: Number("EXPRYINT"),
    40: Number("QDEPTHHI"),
    41: Number("QDEPTHLO"),
    42: Number("QDPMAXEV"),
    43: Number("QDPHIEV"),
    44: Number("QDPLOEV"),
    46: Number("QSVCIEV"),
    48: Number("INHIBTEV"),
    49: Number("LOCALEV"),
    50: Number("REMOTEEV"),
    52: Number("STRSTPEV"),
    53: Number("PERFMEV"),
    54: Number("QSVCINT"),
    57: Number("INDXTYPE"),
    62: Number("PSID"),
    123: Number("MONQ"),
    131: Number("STATINT"),
    134: Number("ACCTQ"),
    190: Number("PROPCTL"),
}
TEXTS = {
    2001: ("APPLICID", 256),
    2002: ("TARGET", 48),
    2003: ("COMMANDQ", 48),
    2006: ("DEADQ", 48),
    2007: ("ENVRDATA", 128),
    2008: ("INITQ", 48),
    2009: ("DESCR", 64),
    2011: ("DESCR", 64),
    2013: ("DESCR", 64),
    2014: ("DESCR", 64),
    2017: ("RQMNAME", 48),
    2018: ("RNAME", 48),
    2019: ("BOQNAME", 48),
    2021: ("USERDATA", 128),
    2022: ("STGCLASS", 8),
    2023: ("TRIGDATA", 64),
    2024: ("XMITQ", 48),
    2025: ("DEFXMITQ", 48),
}
QUEUE, NAMELIST, PROCESS, STORAGE_CLASS, QUEUE_MANAGER = 1, 2, 3, 4, 5  # MQOT
QUEUE_TYPE, PROCESS_NAME, QUEUE_NAME = 20, 2012, 2016
PROCESS_OF_QUEUE = ("PROCESS", 48)
NAMES = {2010: NAMELIST, PROCESS_NAME: PROCESS, 2015: QUEUE_MANAGER, QUEUE_NAME: QUEUE, 2032: QUEUE_MANAGER}
NAME_LENGTH = 48
OF_ONE_TYPE = {
    QUEUE_TYPE: QUEUE,
    2009: NAMELIST,
    2011: PROCESS,
    2013: QUEUE,
    2014: QUEUE_MANAGER,
    **NAMES,
}
"""Selectors that only one type of object has (AT3)."""


class Inquired(NamedTuple):
    """What an open object is called, its type, and how its attributes are read by keyword."""

    name: str
    object_type: int
    read: Callable[..., dict[str, Any]]
    asked_for: str = ""
    """The name under which a queue was opened; `name` is that of the queue it leads to (AT4)."""


def inquire(what: Inquired, selectors: Sequence[int]) -> tuple[list[int], bytes]:
    """The numbers and the text of the selectors, each in the order asked for (AT1)."""
    numbers: list[int] = []
    texts: list[bytes] = []
    for selector in selectors:
        if selector < FIRST_TEXT:
            numbers.append(_number(what, selector))
        else:
            texts.append(_text(what, selector))
    return numbers, b"".join(texts)


def _queue_type(what: Inquired) -> QueueType:
    """The type of the definition that was opened, by what it can be asked (AT4)."""
    told = what.read()
    return QueueType.ALIAS if "TARGET" in told else QueueType.REMOTE if "RNAME" in told else QueueType.LOCAL


def _check_type(what: Inquired, selector: int) -> None:
    """AT3."""
    owner = OF_ONE_TYPE.get(selector, what.object_type)
    if owner != what.object_type and (selector, what.object_type) != (PROCESS_NAME, QUEUE):
        raise MQError(Reason.SELECTOR_NOT_FOR_TYPE, selector=selector, type=what.object_type)


def _number(what: Inquired, selector: int) -> int:
    _check_type(what, selector)
    if selector == QUEUE_TYPE:
        return _queue_type(what)
    if selector not in NUMBERS:
        raise MQError(Reason.SELECTOR_ERROR, selector=selector)  # AT3
    attribute = NUMBERS[selector]
    return int(attribute.told(what.read(attribute.keyword)[attribute.keyword]))


def _text(what: Inquired, selector: int) -> bytes:
    _check_type(what, selector)
    if NAMES.get(selector) == what.object_type:
        return text_field(_name(what), NAME_LENGTH)
    keyword, length = PROCESS_OF_QUEUE if selector == PROCESS_NAME else TEXTS.get(selector, ("", 0))
    if not length:
        raise MQError(Reason.SELECTOR_ERROR, selector=selector)
    return text_field(str(what.read(keyword)[keyword]), length)


def _name(what: Inquired) -> str:
    """AT4."""
    leads_elsewhere = what.object_type == QUEUE and what.asked_for not in {"", what.name}
    return what.asked_for if leads_elsewhere and _queue_type(what) is not QueueType.LOCAL else what.name


def settings(selectors: Sequence[int], numbers: Sequence[int], text: bytes) -> dict[str, Any]:
    """What MQSET asks for, by keyword."""
    values: dict[str, Any] = {}
    left, at = list(numbers), 0
    for selector in selectors:
        if selector in NUMBERS:
            if not left:
                raise MQError(Reason.SELECTOR_ERROR, selector=selector, why="no value was given")
            attribute = NUMBERS[selector]
            values[attribute.keyword] = attribute.meant(left.pop(0))
        elif selector in TEXTS:
            keyword, length = TEXTS[selector]
            values[keyword] = text[at : at + length].split(b"\0", 1)[0].decode(errors="replace").rstrip(" ")
            at += length
        else:
            raise MQError(Reason.SELECTOR_ERROR, selector=selector)
    return values
