"""Attributes: the numbered selectors of MQINQ and MQSET, and the attributes they mean.

Rules
  AT1 A selector from 1 to 2000 means a number, one from 2001 to 4000 text of a fixed length.
  AT2 A queue manager answers here as one on UNIX does: it is where it runs.
  AT3 A selector nobody knows is 2067; one of another type of object is 2068 and comes from the queue manager.

Called by calls.  Calls reasons.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from quaestor.mqi.headers import text_field
from quaestor.mqi.reasons import MQError, Reason

FIRST_TEXT = 2001
EXCLUSIVE, SHARED = 4, 2
ADMIN_QUEUE = "SYSTEM.ADMIN.COMMAND.QUEUE"
COMMAND_LEVEL = 900


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
PROCESS_NAME, PROCESS_OF_QUEUE = 2012, ("PROCESS", 48)
MAX_PRIORITY, QUEUE_TYPE, SYNCPOINT, LEVEL, PLATFORM = 14, 20, 30, 31, 32
FIXED = {MAX_PRIORITY: 9, SYNCPOINT: 1, LEVEL: COMMAND_LEVEL, PLATFORM: 3}  # AT2: MQPL_UNIX
NAMES = {2010: 48, 2012: 48, 2015: 48, 2016: 48, 2032: 48}  # the name of a namelist, process, queue manager, queue
COMMAND_QUEUE = 2003


class Inquired(NamedTuple):
    """What an open object is called, and how its attributes are read by keyword."""

    name: str
    queue_type: int  # 0 when it is no queue
    read: Callable[..., dict[str, Any]]


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


def _number(what: Inquired, selector: int) -> int:
    if selector in FIXED:
        return FIXED[selector]
    if selector == QUEUE_TYPE and what.queue_type:
        return what.queue_type
    if selector not in NUMBERS:
        raise MQError(Reason.SELECTOR_ERROR, selector=selector)  # AT3
    attribute = NUMBERS[selector]
    return int(attribute.told(what.read(attribute.keyword)[attribute.keyword]))


def _text(what: Inquired, selector: int) -> bytes:
    if selector == COMMAND_QUEUE:
        return text_field(ADMIN_QUEUE, 48)
    if selector in NAMES and not (selector == PROCESS_NAME and what.queue_type):
        return text_field(what.name, NAMES[selector])
    keyword, length = PROCESS_OF_QUEUE if selector == PROCESS_NAME else TEXTS.get(selector, ("", 0))
    if not length:
        raise MQError(Reason.SELECTOR_ERROR, selector=selector)
    return text_field(str(what.read(keyword)[keyword]), length)


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
