"""Calls: what IBM's Python package expects of its C module, answered by a Quaestor queue manager.

Rules
  CA1 Every call answers completion and reason code last, and never raises for what a queue manager can refuse.
  CA2 A connection handle that is not connected is 2018.
  CA3 A put that asks for no response is counted, and what it warned of or failed with kept for MQSTAT instead of being
      answered: the first of them, and the first failure rather than a warning before it.
  CA4 Publish and subscribe is not there: 2298.
  CA5 A message handle ends with the connection that it was made for, at the latest. One that was made for none (the
      package's 0, or MQHC_UNASSOCIATED_HCONN) ends when it is deleted.

Called by the module `ibmmqc`.  Calls bound, doors.
"""
# ruff: noqa: N802 - the calls have the MQI's own names

import itertools
from collections.abc import Callable
from typing import Any

from ibmmqc import consumers, doors
from ibmmqc.asked import ASYNC_RESPONSE
from ibmmqc.bound import AsyncPuts, Bound, Got
from ibmmqc.consumers import Call, Consumer
from ibmmqc.properties import MessageHandle, shown
from ibmmqc.structures import CBD, CNO, CSP, DMPO, IMPO, PMO, STS, connection_name, pointed
from quaestor.mqi.reasons import CompCode, MQError, Reason

Codes = tuple[int, int]
OK, WARNING, FAILED = int(CompCode.OK), int(CompCode.WARNING), int(CompCode.FAILED)
UNUSABLE = -1
NO_CONNECTION = (0, -3)
FUNCTION_NOT_SUPPORTED, HMSG_ERROR, PROPERTY_NOT_AVAILABLE, PROPERTY_VALUE_TOO_BIG = 2298, 2460, 2471, 2469
STAT_TYPE_ERROR = 2430
ASYNC_ERRORS, RECONNECTION_ERRORS = 0, 2
MESSAGE_CONSUMER, EVENT_HANDLER, HOBJ_NONE = 1, 2, 0
INQ_NEXT, INQ_UNDER_CURSOR, DELETE_UNDER_CURSOR = 8, 16, 1

_connections: dict[int, Bound] = {}
_message_handles: dict[int, MessageHandle] = {}
_numbers = itertools.count(1)
_callback: list[Call] = []


def _bound(hconn: int) -> Bound:
    bound = _connections.get(hconn)
    if bound is None:
        raise MQError(Reason.HCONN_ERROR, handle=hconn)  # CA2
    return bound


def _codes(hconn: int, call: Callable[[Bound], object]) -> Codes:
    """Completion and reason code of a call that answers nothing else (CA1)."""
    try:
        bound = _bound(hconn)
        call(bound)
    except MQError as error:
        return int(error.comp_code), int(error.reason)
    return _warned(bound)


def _warned(bound: Bound) -> Codes:
    warning = bound.connection.warning
    return (OK, 0) if warning is None else (int(warning.comp_code), int(warning.reason))


# -- connecting


def _connect(
    name: str, conname: str = "", user: str = "", password: str = "", application: str = ""
) -> tuple[int, int, int]:
    try:
        door = doors.connect(name, conname, user, password, application)
    except MQError as error:
        return UNUSABLE, int(error.comp_code), int(error.reason)
    hconn = next(_numbers)
    callback = lambda: _callback[0] if _callback else None  # noqa: E731 - read when it is called
    _connections[hconn] = Bound(hconn, door, _message_handles, callback)
    return hconn, OK, 0


def MQCONN(name: bytes | str) -> tuple[int, int, int]:
    return _connect(_text(name))


def MQCONNX(
    name: bytes, cno: bytes | None, cd: bytes | None, csp: bytes | None, _sco: bytes | None, _bno: bytes | None
) -> tuple[int, int, int]:
    """TLS comes from the connection's own settings: a key repository of IBM's form is not read."""
    options = CNO.read(cno) if cno else {}
    said = CSP.read(csp) if csp else {}
    user = pointed(said.get("UserIdPtr", 0), said.get("UserIdLength", 0)).decode(errors="replace")
    password = pointed(said.get("PasswordPtr", 0), said.get("PasswordLength", 0)).decode(errors="replace")
    conname = connection_name(cd) if cd else ""
    return _connect(_text(name), conname, user, password, options.get("ApplName", ""))


def MQDISC(hconn: int) -> Codes:
    """What the handles that it closes warn of (a group that is not complete) is no answer to this call."""
    try:
        bound = _bound(hconn)
        bound.consumers.stop()
        bound.consumers.deregister_handler()
        del _connections[hconn]
        for hmsg in bound.made_for_it:
            _message_handles.pop(hmsg, None)  # CA5
        bound.connection.disconnect()
    except MQError as error:
        return int(error.comp_code), int(error.reason)
    return OK, 0


def _text(name: bytes | str) -> str:
    text = name.decode(errors="replace") if isinstance(name, bytes) else name
    return text.split("\0", 1)[0].strip()


# -- objects


def MQOPEN(hconn: int, od: bytes, options: int) -> tuple[int, bytes, int, int]:
    try:
        bound = _bound(hconn)
        hobj, od = bound.open(od, options)
    except MQError as error:
        return UNUSABLE, od, int(error.comp_code), int(error.reason)
    return hobj, od, *_warned(bound)


def MQCLOSE(hconn: int, hobj: int, options: int) -> Codes:
    return _codes(hconn, lambda bound: bound.close(hobj, options))


def MQINQ(
    hconn: int, hobj: int, selectors: list[int], numbers: list[int], _numbers: int, _texts: int, room: int
) -> tuple[list[int], bytes, int, int]:
    try:
        bound = _bound(hconn)
        found, text = bound.inquire(hobj, selectors)
    except MQError as error:
        return numbers, bytes(room), int(error.comp_code), int(error.reason)
    numbers.extend(found)
    return numbers, text.ljust(room, b"\0"), *_warned(bound)


def MQSET(hconn: int, hobj: int, selectors: list[int], numbers: list[int], text: bytes) -> Codes:
    return _codes(hconn, lambda bound: bound.set(hobj, selectors, numbers, text))


# -- messages

Put = Callable[[Bound], tuple[bytes, bytes]]


def _put(hconn: int, md: bytes, pmo: bytes, put: Put) -> tuple[bytes, bytes, int, int]:
    try:
        bound = _bound(hconn)
    except MQError as error:
        return md, pmo, int(error.comp_code), int(error.reason)
    counts = bound.async_puts if PMO.read(pmo)["Options"] & ASYNC_RESPONSE else None
    try:
        md, pmo = put(bound)
    except MQError as error:
        if counts is None:
            return md, pmo, int(error.comp_code), int(error.reason)
        counts.note(error)
        return md, pmo, OK, 0
    if counts is None:
        return md, pmo, *_warned(bound)
    counts.note(bound.connection.warning)
    return md, pmo, OK, 0


def MQPUT(hconn: int, hobj: int, md: bytes, pmo: bytes, body: bytes) -> tuple[bytes, bytes, int, int]:
    return _put(hconn, md, pmo, lambda bound: bound.put(hobj, md, pmo, body))


def MQPUT1(hconn: int, od: bytes, md: bytes, pmo: bytes, body: bytes) -> tuple[bytes, bytes, int, int]:
    return _put(hconn, md, pmo, lambda bound: bound.put1(od, md, pmo, body))


def MQGET(hconn: int, hobj: int, md: bytes, gmo: bytes, room: int) -> Got:
    try:
        return _bound(hconn).get(hobj, md, gmo, room)
    except MQError as error:
        return b"", md, gmo, 0, int(error.comp_code), int(error.reason)


def MQSTAT(hconn: int, kind: int, sts: bytes) -> tuple[bytes, int, int]:
    try:
        bound = _bound(hconn)
    except MQError as error:
        return sts, int(error.comp_code), int(error.reason)
    if not ASYNC_ERRORS <= kind <= RECONNECTION_ERRORS:
        return sts, FAILED, STAT_TYPE_ERROR
    if kind != ASYNC_ERRORS:
        return sts, OK, 0
    counts, bound.async_puts = bound.async_puts, AsyncPuts()
    sts = STS.write(
        sts,
        CompCode=counts.comp_code,
        Reason=counts.reason,
        PutSuccessCount=counts.done,
        PutWarningCount=counts.warned,
        PutFailureCount=counts.failed,
        ObjectName=counts.queue,
    )
    return sts, OK, 0


# -- units of work


def MQBEGIN(hconn: int) -> Codes:
    return _codes(hconn, lambda bound: bound.connection.begin())


def MQCMIT(hconn: int) -> Codes:
    return _codes(hconn, Bound.commit)


def MQBACK(hconn: int) -> Codes:
    return _codes(hconn, lambda bound: bound.connection.backout())


# -- consumers


def MQCBINIT(function: Call) -> None:
    """The one function that calls every consumer of the program."""
    _callback[:] = [function]


def MQCB(hconn: int, operation: int, cbd: bytes, hobj: int, md: bytes, gmo: bytes) -> Codes:
    def change(bound: Bound) -> None:
        asked = CBD.read(cbd)
        kind = asked["CallbackType"]
        if not operation or operation & ~consumers.OF_CONSUMERS:
            raise MQError(Reason.OPERATION_ERROR, operation=operation)
        if kind not in (MESSAGE_CONSUMER, EVENT_HANDLER):
            raise MQError(Reason.CALLBACK_TYPE_ERROR, type=kind)
        if kind == EVENT_HANDLER or (hobj == HOBJ_NONE and not operation & consumers.OP_REGISTER):
            _change_handler(bound, operation, Consumer(HOBJ_NONE, md, gmo, asked["Options"], 0))
            return
        if operation & consumers.OP_REGISTER:
            bound.check_queue(hobj)
            bound.consumers.register(Consumer(hobj, md, gmo, asked["Options"], asked["MaxMsgLength"]))
        elif operation & consumers.OP_DEREGISTER and not bound.consumers.deregister(hobj):
            raise MQError(Reason.CALLBACK_NOT_REGISTERED, handle=hobj)
        if operation & (consumers.OP_SUSPEND | consumers.OP_RESUME):
            suspended = bool(operation & consumers.OP_SUSPEND)
            if not bound.consumers.suspend(hobj, suspended=suspended):
                raise MQError(Reason.CALLBACK_NOT_REGISTERED, handle=hobj)

    return _codes(hconn, change)


def _change_handler(bound: Bound, operation: int, handler: Consumer) -> None:
    """MQCB for the event handler of the connection (EV1)."""
    there = True
    if operation & consumers.OP_REGISTER:
        bound.consumers.register_handler(handler)
    elif operation & consumers.OP_DEREGISTER:
        there = bound.consumers.deregister_handler()
    if operation & (consumers.OP_SUSPEND | consumers.OP_RESUME):
        there = bound.consumers.events.suspend(suspended=bool(operation & consumers.OP_SUSPEND))
    if not there:
        raise MQError(Reason.CALLBACK_NOT_REGISTERED)


def MQCTL(hconn: int, operation: int, _ctlo: bytes) -> Codes:
    def control(bound: Bound) -> None:
        if operation in (consumers.OP_START, consumers.OP_START_WAIT):
            bound.consumers.start(here=operation == consumers.OP_START_WAIT)
        elif operation == consumers.OP_STOP:
            bound.consumers.stop()
        elif operation in (consumers.OP_SUSPEND, consumers.OP_RESUME):
            bound.consumers.pause(paused=operation == consumers.OP_SUSPEND)
        else:
            raise MQError(Reason.OPERATION_ERROR, operation=operation)

    return _codes(hconn, control)


# -- message handles


def MQCRTMH(hconn: int, _cmho: bytes) -> tuple[int, int, int]:
    hmsg = next(_numbers)
    if hconn not in NO_CONNECTION:
        try:
            _bound(hconn).made_for_it.add(hmsg)
        except MQError as error:
            return UNUSABLE, int(error.comp_code), int(error.reason)
    _message_handles[hmsg] = MessageHandle()
    return hmsg, OK, 0


def _message_handle(hconn: int, hmsg: int) -> tuple[MessageHandle | None, int]:
    """The handle of this number, or why there is none (CA2)."""
    if hconn not in NO_CONNECTION and hconn not in _connections:
        return None, int(Reason.HCONN_ERROR)
    return _message_handles.get(hmsg), HMSG_ERROR


def MQDLTMH(hconn: int, hmsg: int, _dmho: bytes) -> Codes:
    handle, reason = _message_handle(hconn, hmsg)
    if handle is None:
        return FAILED, reason
    del _message_handles[hmsg]
    for bound in _connections.values():
        bound.made_for_it.discard(hmsg)
    return OK, 0


def MQSETMP(hconn: int, hmsg: int, _smpo: bytes, name: bytes, _pd: bytes, kind: int, value: Any, length: int) -> Codes:
    handle, reason = _message_handle(hconn, hmsg)
    if handle is None:
        return FAILED, reason
    if isinstance(value, bytes) and length >= 0:
        value = value[:length]
    reason = handle.set(_text(name), kind, value)
    return (FAILED, reason) if reason else (OK, 0)


def MQINQMP(
    hconn: int, hmsg: int, impo: bytes, name: bytes, _pd: bytes, _kind: int, room: int
) -> tuple[Any, int, str | None, int, int]:
    handle, reason = _message_handle(hconn, hmsg)
    if handle is None:
        return None, 0, None, FAILED, reason
    sought, options = _text(name), IMPO.read(impo)["Options"]
    if options & INQ_UNDER_CURSOR:
        found = handle.under_cursor()
    else:
        found = handle.find(sought, following=bool(options & INQ_NEXT))
    if found is None:
        return None, 0, None, FAILED, PROPERTY_NOT_AVAILABLE
    key, prop = found
    told = shown(key) if "%" in sought or options & INQ_UNDER_CURSOR else None
    if isinstance(prop.value, (str, bytes)) and prop.length > room:
        return prop.value[:room], prop.length, told, FAILED, PROPERTY_VALUE_TOO_BIG
    return prop.value, prop.length, told, OK, 0


def MQDLTMP(hconn: int, hmsg: int, dmpo: bytes, name: bytes) -> Codes:
    handle, reason = _message_handle(hconn, hmsg)
    if handle is None:
        return FAILED, reason
    if not DMPO.read(dmpo)["Options"] & DELETE_UNDER_CURSOR:
        return (OK, 0) if handle.delete(_text(name)) else (WARNING, PROPERTY_NOT_AVAILABLE)
    found = handle.under_cursor()
    if found is None:
        return FAILED, PROPERTY_NOT_AVAILABLE
    handle.delete(found[0])
    return OK, 0


# -- publish and subscribe, rule CA4


def MQSUB(_hconn: int, sd: bytes, hobj: int) -> tuple[bytes, int, int, int, int]:
    return sd, hobj, UNUSABLE, FAILED, FUNCTION_NOT_SUPPORTED


def MQSUBRQ(_hconn: int, _hsub: int, _action: int, sro: bytes) -> tuple[bytes, int, int]:
    return sro, FAILED, FUNCTION_NOT_SUPPORTED


def MQLOGCF(*_settings: object) -> tuple[int]:
    """IBM's own trace of its C code: there is none here."""
    return (0,)
