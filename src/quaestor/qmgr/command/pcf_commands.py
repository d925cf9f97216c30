"""PCF commands: a PCF request as an MQSC command, and its reply as PCF responses.

Rules
  PC1 A request becomes a `Command` of MQSC and is run by the processor: the same authority, the same checks, the same
      answers. What is no command (a response, an event) is 3001, a request for something unknown 3007; a parameter that
      means nothing here is 3014 or 3015; a list where there can be one value, and a number that is no switch, are 4005.
      A filter is a WHERE and held to its rule (K3); of what is wrong the reason says whether it is the parameter, the
      operator or the value. There is one filter, and only of an inquiry.
      An inquiry shows of what it asks for what its objects have. One that asks for nothing they could have is 2067 with
      what it asked for, one with the list of another command 3047.
  PC2 Each object is one response; the last says so. A command that failed answers one response with its reason and then
      one with 3008. What is blank in a reply is not sent.
  PC3 COPY is DEFINE with LIKE. An inquiry of names answers one list. ESCAPE carries MQSC as text, for every command
      that has no PCF form, and answers one response for each line; each says 3008 when the command failed.
  PC4 A connection's identifier has 24 bytes; the last eight are what MQSC writes as CONN, the others are zeros.
  PC5 System parameters of LOG, ARCHIVE and SYSTEM are one response as they were at start and one with those that were
      set; each copy of the active log and the state of the log are others. What PCF has no number for is left out.
  PC6 Usage says of what it is: page set, buffer pool or data set.

Called by the command server.  Calls the processor.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from quaestor.mqi import pcf
from quaestor.mqi.mqsc import Command, MQSCError, Where
from quaestor.mqi.mqsc.commands import OperatorError, compared, comparison
from quaestor.mqi.mqsc.words import keywords_of
from quaestor.mqi.pcf import Filter, Parameter, PCFError, PCFMessage
from quaestor.mqi.reasons import CompCode, Reason
from quaestor.qmgr.command import pcf_words as words
from quaestor.qmgr.command.processor import CommandProcessor
from quaestor.qmgr.command.reply import Reply, Row
from quaestor.qmgr.command.selecting import name_keyword

COMMAND_ERROR, COMMAND_FAILED, INTEGER_ERROR, STRING_ERROR = 3007, 3008, 3014, 3015
NAME_MISSING, VALUE_ERROR, LIST_ERROR = 3228, 4005, 3047
SELECTOR_ERROR = int(Reason.SELECTOR_ERROR)
FILTER_VALUE_ERROR, TOO_MANY_FILTERS = 3229, 3248
FILTER_PARAMETER_ERRORS = {int: 3243, str: 3247, bytes: 3265}
FILTER_OPERATOR_ERRORS = {int: 3242, str: 3246, bytes: 3266}
REASONS = {Reason.OBJECT_ALREADY_EXISTS: 4001, Reason.OBJECT_IN_USE: 4004}
Word = tuple[str, tuple[str, ...] | None]


def answered(processor: CommandProcessor, request: PCFMessage, user: str) -> list[PCFMessage]:
    """The responses to a request (PC1, PC2)."""
    try:
        if request.kind not in {pcf.COMMAND, pcf.COMMAND_XR}:
            raise PCFError(pcf.TYPE_ERROR, f"type {request.kind} is no command")  # noqa: TRY301
        verb, noun = words.COMMANDS.get(request.command, ("", ""))
        if not verb:
            raise PCFError(COMMAND_ERROR, f"command {request.command} is not known here")  # noqa: TRY301
        if verb == "ESCAPE":
            return _escaped(processor, request, user)
        command = _command(verb, noun, request)
        reply = processor.execute(command, user)
    except PCFError as error:
        return _numbered(request.command, [error.about], error.reason)
    if not reply.ok:
        return _numbered(request.command, [], _reason(reply))
    if verb == "NAMES":
        names = Parameter(words.NAME_LISTS[noun], _names(reply), pcf.STRING_LIST)
        return _numbered(request.command, [(_whole(names),)])
    return _numbered(request.command, [tuple(map(_whole, response)) for response in _responses(reply.rows)])


# --- from PCF to MQSC ------------------------------------------------------------------------------------------------


def _command(verb: str, noun: str, request: PCFMessage) -> Command:
    filters = [parameter for parameter in request.parameters if isinstance(parameter.value, Filter)]
    request = replace(request, parameters=tuple(p for p in request.parameters if not isinstance(p.value, Filter)))
    noun = _noun(verb, noun, request)
    name, used = _name(verb, noun, request)
    given: dict[str, tuple[str, ...] | None] = {}
    if verb == "COPY":
        given["LIKE"] = (_text(request, words.FROM_TO[noun][0]),)
    for parameter in request.parameters:
        if parameter.number in words.ATTRIBUTE_LISTS:
            given |= _asked(verb, noun, parameter)
        elif parameter.number not in used:
            given |= _given(noun, parameter)
    if verb == "DISPLAY" and None not in given.values():
        given["ALL"] = None  # an inquiry that names no attributes means all of them
    spoken = {"COPY": "DEFINE", "NAMES": "DISPLAY"}.get(verb, verb)
    return Command(spoken, noun, name, tuple(_known(spoken, noun, given)), _where(spoken, noun, filters))


def _known(verb: str, noun: str, given: dict[str, tuple[str, ...] | None]) -> Iterator[Word]:
    """Keywords that the command takes; an inquiry passes over what its object does not have (PC1)."""
    known = {*keywords_of(verb, noun), name_keyword(noun)}
    for keyword, values in given.items():
        if keyword in known:
            yield keyword, values
        elif verb != "DISPLAY":
            raise PCFError(INTEGER_ERROR, f"{keyword} does not go with {verb} {noun}")


def _noun(verb: str, noun: str, request: PCFMessage) -> str:
    """Queues say their type in a parameter of its own."""
    kind = request.value(words.QUEUE_TYPE)
    if noun != "QUEUE" or verb in {"DISPLAY", "NAMES"}:
        return noun
    found = words.QUEUE_TYPES.get(kind) if isinstance(kind, int) else None
    if verb == "DELETE" and kind is None:
        return "QLOCAL"
    if found is None or found == "ALL":
        raise PCFError(VALUE_ERROR, f"queue type {kind}")
    return found


def _name(verb: str, noun: str, request: PCFMessage) -> tuple[str, set[int]]:
    """The name of the object, and which parameters said it."""
    if verb in {"COPY", "MOVE"}:
        source, target = words.FROM_TO[noun]
        if verb == "MOVE":
            return _text(request, source), {source}
        return _text(request, target), {source, target, words.QUEUE_TYPE}
    if noun == "CONN":
        return _connection(request), {words.CONNECTION_ID, words.GENERIC_CONNECTION_ID}
    if verb == "RVERIFY":
        users = request.value(words.NUMBERS["USERID"])
        return ",".join(map(str, users)) if isinstance(users, tuple) else str(users or ""), {words.NUMBERS["USERID"]}
    number = words.NAME.get(noun)
    used = {words.QUEUE_TYPE} if verb not in {"DISPLAY", "NAMES"} else set()
    if number is None or noun == "QMGR":
        return "", used
    value = request.value(number)
    if value is None and verb not in {"DISPLAY", "NAMES"}:
        raise PCFError(NAME_MISSING, f"{noun} has no name")
    return "*" if value is None else str(value), used | {number}


def _connection(request: PCFMessage) -> str:
    """A connection by its identifier, whose last eight bytes are ours, or by the beginning of one (PC4)."""
    whole, part = request.value(words.CONNECTION_ID), request.value(words.GENERIC_CONNECTION_ID)
    if isinstance(whole, bytes) and len(whole) >= 8:
        return whole[-8:].hex().upper()
    if isinstance(part, bytes):
        return f"{part[words.CONNECTION_ID_LENGTH - 8 :].hex().upper()}*"
    raise PCFError(NAME_MISSING, "a connection has an identifier")


def _text(request: PCFMessage, number: int) -> str:
    value = request.value(number)
    if not isinstance(value, str):
        raise PCFError(NAME_MISSING, f"parameter {number} is missing")
    return value


def _given(noun: str, parameter: Parameter) -> dict[str, tuple[str, ...] | None]:
    """One parameter as keywords."""
    number, value = parameter.number, parameter.value
    if number in _SWITCHES and isinstance(value, int):
        word = _SWITCHES[number][0 if value == 1 else 1]
        return {word: None} if word else {}
    if number in _TYPES and isinstance(value, int):
        found = _TYPES[number].get(value)
        if found is None:
            raise PCFError(VALUE_ERROR, f"value {value} of parameter {number}")
        return {"TYPE": (found,)}
    if number == words.SECURITY_ITEM:
        return {}  # all of them are read again
    if number == words.SYSTEM_TYPE:
        return {"DEFAULT": None} if value == words.INITIAL else {}
    if number == words.FROM_TO["QUEUE"][1]:
        return {"TOQLOCAL": (str(value),)}
    if number == words.SCOPE:
        return {"CMDSCOPE": (str(value),)}
    if number == words.SHARING_GROUP:
        return {"QSGDISP": (words.DISPOSITIONS.get(value, str(value)),)} if isinstance(value, int) else {}
    return _attribute(noun, number, value)


_YES_NO = (("YES",), ("NO",))
_SWITCHES = {words.REPLACE: ("REPLACE", ""), words.PURGE: ("PURGE", ""), words.FORCE: ("FORCE", "")}
_TYPES = {
    words.QUEUE_TYPE: words.QUEUE_TYPES,
    words.STATUS_TYPE: words.STATUS_TYPES,
    words.INFO_TYPE: words.INFO_TYPES,
    words.MOVE_TYPE: words.MOVE_TYPES,
    words.USAGE_TYPE: words.USAGE_TYPES,
    words.SECURITY_TYPE: words.SECURITY_TYPES,
}


def _asked(verb: str, noun: str, parameter: Parameter) -> dict[str, tuple[str, ...] | None]:
    """The attributes that an inquiry wants, of those that there are (PC1)."""
    if verb != "DISPLAY" or words.ATTRIBUTE_LISTS[parameter.number] != noun:
        raise PCFError(LIST_ERROR, f"list {parameter.number} does not go with {verb} {noun}")
    numbers = parameter.value if isinstance(parameter.value, tuple) else (parameter.value,)
    if words.ALL in numbers or not numbers:
        return {"ALL": None}
    found = (words.keyword_of(number) for number in numbers if isinstance(number, int))
    known = keywords_of(verb, noun)
    asked: dict[str, tuple[str, ...] | None] = {keyword: None for keyword in found if keyword in known}
    if asked:
        return asked
    if words.identifying(noun).isdisjoint(numbers):
        selectors = tuple(Parameter(words.SELECTOR, number) for number in numbers[:1] if isinstance(number, int))
        raise PCFError(SELECTOR_ERROR, f"{noun} has none of {numbers}", selectors)
    return {name_keyword(noun): None}


def _attribute(noun: str, number: int, value: Any) -> dict[str, tuple[str, ...] | None]:
    keyword = words.keyword_of(number)
    if keyword is None:
        raise PCFError(STRING_ERROR if isinstance(value, str) else INTEGER_ERROR, f"parameter {number} is not known")
    attribute = words.attributes(noun).get(keyword)
    if isinstance(value, tuple) and (attribute is None or not isinstance(attribute.default, tuple)):
        raise PCFError(VALUE_ERROR, f"{keyword} takes one value")
    if isinstance(value, tuple) and not all(isinstance(one, str) for one in value):
        raise PCFError(VALUE_ERROR, f"{keyword} takes names")
    if attribute is None:
        word = next((w for w, n in words.WORDS.get(keyword, {}).items() if n == value), str(value))
        return {keyword: (word,)}
    written = words.to_words(attribute, value)
    if attribute.bare is not None:
        if written not in _YES_NO:
            raise PCFError(VALUE_ERROR, f"value {value} of {keyword}")
        return {attribute.bare[_YES_NO.index(written)]: None}
    return {keyword: written}


def _where(verb: str, noun: str, filters: list[Parameter]) -> Where | None:
    """The one filter of an inquiry (PC1)."""
    if len(filters) > 1:
        raise PCFError(TOO_MANY_FILTERS, f"{len(filters)} filters")
    for number, condition, _ in filters:
        assert isinstance(condition, Filter)  # noqa: S101 - chosen so
        kind, keyword = type(condition.value), words.keyword_of(number)
        if not (
            verb == "DISPLAY"
            and keyword in keywords_of(verb, noun)
            and words.number_of(noun, keyword) == number
            and words.kind_of(number) is kind
        ):
            raise PCFError(FILTER_PARAMETER_ERRORS[kind], f"a filter on parameter {number} of {verb} {noun}")
        operator = words.OPERATORS.get(condition.operator, "")
        value = words.to_compare(compared(noun, keyword), keyword, operator, condition.value)
        try:
            return comparison(noun, keyword, operator, value)
        except OperatorError as error:
            raise PCFError(FILTER_OPERATOR_ERRORS[kind], str(error)) from error
        except MQSCError as error:
            raise PCFError(FILTER_VALUE_ERROR, str(error)) from error
    return None


# --- from MQSC to PCF ------------------------------------------------------------------------------------------------


def _numbered(command: int, responses: list[tuple[Parameter, ...]], reason: int = 0) -> list[PCFMessage]:
    """Responses in their order, the last one marked (PC2)."""
    if reason:
        failed = int(CompCode.FAILED)
        about = responses[0] if responses else ()
        first = PCFMessage(command, about, pcf.RESPONSE, 1, pcf.NOT_LAST, failed, reason)
        return [first, PCFMessage(command, (), pcf.RESPONSE, 2, pcf.LAST, failed, COMMAND_FAILED)]
    last = max(len(responses), 1)
    return [
        PCFMessage(command, parameters, pcf.RESPONSE, at, pcf.LAST if at == last else pcf.NOT_LAST)
        for at, parameters in enumerate(responses or [()], 1)
    ]


def _responses(rows: list[Row]) -> Iterator[tuple[Parameter, ...]]:
    """The rows of a reply, a response each; system parameters are put together (PC5)."""
    named = [row for row in rows if "PARAMETER" in row]
    if named:
        at_start = {row["PARAMETER"]: row["INITIAL"] for row in named}
        yield (Parameter(words.SYSTEM_TYPE, words.INITIAL), *_parameters(at_start))
    changed = {row["PARAMETER"]: row["VALUE"] for row in named if row["VALUE"] != row["INITIAL"]}
    if changed:
        yield (Parameter(words.SYSTEM_TYPE, words.SET), *_parameters(changed))
    for row in rows:
        first, shown = next(iter(row.items()))
        if first not in words.NOT_SENT and shown not in words.NOT_SENT:
            said = (Parameter(*words.SAID_OF[first]),) if first in words.SAID_OF else ()
            yield (*said, *_parameters(row))


def _parameters(row: Row) -> Iterator[Parameter]:
    """One object (PC2)."""
    noun = _noun_of(row)
    declared = words.attributes(noun)
    for keyword, shown in row.items():
        if keyword in {"QUEUE", "QSTATUS", "QMNAME"} or (keyword == noun and keyword in words.NAME):
            yield Parameter(words.NAME["QMGR" if keyword == "QMNAME" else noun], shown)
        elif keyword == "TYPE":
            yield from _type(noun, shown)
        elif keyword == "CONN":
            yield Parameter(words.CONNECTION_ID, words.to_pcf(None, keyword, shown))
        elif keyword == "QSGDISP":
            yield from (Parameter(words.SHARING_GROUP, at) for at, word in words.DISPOSITIONS.items() if word == shown)
        elif keyword == "CMDSCOPE":
            yield Parameter(words.RESPONSE_QMGR, shown)
        elif shown != "" or (keyword in declared and declared[keyword].length):
            number = words.number_of(noun, keyword)
            if number is not None:
                yield from _shown(number, words.to_pcf(declared.get(keyword), keyword, shown))


def _whole(parameter: Parameter) -> Parameter:
    """Texts in their whole length (PW3)."""
    length, value = words.TEXT_LENGTHS.get(parameter.number, 0), parameter.value
    if isinstance(value, str):
        return parameter._replace(value=value.ljust(length))
    if parameter.kind == pcf.STRING_LIST:
        return parameter._replace(value=tuple(str(text).ljust(length) for text in value))  # type: ignore[union-attr] # the kind says that it is a list
    return parameter


def _shown(number: int, value: Any) -> Iterator[Parameter]:
    if isinstance(value, list):
        yield Parameter(words.NAME_COUNT, len(value))
        yield Parameter(number, tuple(value), pcf.STRING_LIST)
    else:
        yield Parameter(number, value)


def _type(noun: str, shown: str) -> Iterator[Parameter]:
    queues = ((words.QUEUE_TYPE, words.QUEUE_TYPES), (words.STATUS_TYPE, words.STATUS_TYPES))
    others = {"CONN": (words.INFO_TYPE, words.INFO_TYPES), "TYPE": (words.DATA_SET_TYPE, words.DATA_SET_TYPES)}
    for number, known in (others[noun],) if noun in others else queues:
        for value, word in known.items():
            if word == shown:
                yield Parameter(number, value)
                return


def _noun_of(row: Row) -> str:
    first = next(iter(row))
    return {"QUEUE": str(row.get("TYPE", "QUEUE")), "QMNAME": "QMGR"}.get(first, first)


def _names(reply: Reply) -> tuple[str, ...]:
    return tuple(str(next(iter(row.values()))) for row in reply.rows)


def _reason(reply: Reply) -> int:
    reason = reply.reason
    return REASONS.get(reason, int(reason)) if reason is not None else VALUE_ERROR


def _escaped(processor: CommandProcessor, request: PCFMessage, user: str) -> list[PCFMessage]:
    """PC3."""
    text = request.value(words.ESCAPE_TEXT)
    if not isinstance(text, str) or request.value(words.ESCAPE_TYPE) != words.ESCAPE_MQSC:
        raise PCFError(NAME_MISSING, "an escape has a type and a text")
    reply = processor.run(text, user)
    kind = Parameter(words.ESCAPE_TYPE, words.ESCAPE_MQSC)
    said = _numbered(request.command, [(kind, Parameter(words.ESCAPE_TEXT, line)) for line in reply.messages])
    if reply.ok:
        return said
    return [replace(each, comp_code=int(CompCode.FAILED), reason=COMMAND_FAILED) for each in said]
