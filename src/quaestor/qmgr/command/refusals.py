"""Refusals: an error as the messages that z/OS gives for it.

Called by the processor, objects and copies.  Calls reply.
"""

from collections.abc import Iterator

from quaestor.mqi.mqsc import Command
from quaestor.mqi.mqsc.words import KINDS
from quaestor.mqi.objects import QUEUE_TYPES
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.reply import Said

REASON_CODES = {
    Reason.UNKNOWN_OBJECT_NAME: 0x00D44002,
    Reason.OBJECT_ALREADY_EXISTS: 0x00D44003,
    Reason.OBJECT_IN_USE: 0x00D44004,
}

QUEUES = {kind.MQSC_TYPE for kind in QUEUE_TYPES}


def refusal(command: Command, error: MQError) -> Iterator[Said]:
    """A command that failed: what it met, then the reason code; our own reasons are shown by their MQRC."""
    yield met(command, error)
    yield Said("CSQM090E", f"FAILURE REASON CODE X'{REASON_CODES.get(error.reason, int(error.reason)):08X}'")


def met(command: Command, error: MQError) -> Said:
    """What a command met that it could not do."""
    facts = dict(error.facts)
    noun = facts.pop("type", command.noun)
    queue = facts.pop("queue", None) if noun in QUEUES else None  # MOVE names two
    name = facts.pop("name", None) or queue or command.name
    disposition = facts.pop("disposition", "")
    shown = f"{noun}({name})" if name else str(noun)
    if disposition not in {"", "QMGR"} or (noun in KINDS and error.reason is Reason.UNKNOWN_OBJECT_NAME):
        shown += f" QSGDISP({disposition or 'QMGR'})"
    more = ", ".join(f"{key}={_plain(value)}" for key, value in facts.items())
    beside = f" ({more})" if more else ""
    if error.reason is Reason.UNKNOWN_OBJECT_NAME:
        return Said("CSQM125I", f"{shown} WAS NOT FOUND")
    if error.reason is Reason.OBJECT_ALREADY_EXISTS:
        return Said("CSQM094I", f"{shown} ALREADY EXISTS")
    if error.reason is Reason.OBJECT_IN_USE:
        return Said("CSQM101I", f"{shown} IS IN USE{beside}")
    return Said("CSQM166I", f"{shown} MQRC {int(error.reason)} {error.reason.name}: {error.reason.meaning}{beside}")


def _plain(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
