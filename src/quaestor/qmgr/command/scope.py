"""Scope: a command entered on one member of a group and run on another, or on all of them (CMDSCOPE).

Rules
  SC1 The command goes to the members without CMDSCOPE and runs there as if it had been entered there, by the same user:
      authority is asked for where it is entered and again where it runs.
  SC2 CMDSCOPE(name) needs a member that is active (CSQN135E). CMDSCOPE(*) is every active member, this one first; the
      members that are not active are named (CSQN135I), and the command has not failed for that.
  SC3 What has QSGDISP(GROUP) or QSGDISP(SHARED) is the same for all members: other members are not asked (CSQN132E).
      For the same reason a DISPLAY shows of other members what is private to them.
  SC4 A reply has the replies of all members, each behind CSQN121I, and ends with CSQN122I when all succeeded, else with
      CSQN123E. A member that ended or did not answer in time is named (CSQN129E): whether it has run the command is
      not known.

Called by the processor.  Calls the group part.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.words import KINDS, QUEUE
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.dispositions import ALL, GROUP, LIVE, PRIVATE, SHARED
from quaestor.qmgr.command.group_part import CSQ_ADMIN, SharingGroup
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.reply import Details, FromMember, Part, Reply, Row, Said

EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class Scope:
    """Runs commands on other members, and theirs here (SC1-SC4)."""

    qmgr: str
    parts: Parts
    execute: Callable[[Command, str], Reply]
    run_text: Callable[[str, str], Reply]

    def elsewhere(self, command: Command) -> bool:
        """Whether a command is for more than this queue manager."""
        return command.value("CMDSCOPE").strip() not in {"", self.qmgr}

    def run(self, command: Command, user: str) -> tuple[Part, ...]:
        """The command on the members that it names. The latch is not held."""
        group, scope = self._group(command), command.value("CMDSCOPE").strip()
        _check_disposition(command, scope)
        states = _states(group)
        if not states.get(self.qmgr):
            raise MQSCError(f"queue-sharing group error: {CSQ_ADMIN} is away", command.line, code="CSQN127E")
        members = [name for name in sorted(states) if states[name] and scope in {name, EVERYBODY}]
        if not members:
            raise MQSCError(_not_active(scope, group), command.line, code="CSQN135E")  # SC2
        here, said = self.qmgr in members, f"'{command.verb} {command.noun}'"
        parts: list[Part] = [
            Said("CSQN137I", f"{said} command accepted for CMDSCOPE({scope}), sent to {len(members)}"),
            *(Said("CSQN135I", _not_active(name, group)) for name in sorted(states) if here and not states[name]),
        ]
        question = json.dumps({"command": _alone(command, private=True).text(), "user": user}).encode()
        try:
            asked = group.ask([name for name in members if name != self.qmgr], question)
        except MQError as error:
            raise MQSCError(f"queue-sharing group error: {error}", command.line, code="CSQN127E") from error
        if here:
            parts.append(FromMember(self.qmgr, self.execute(_alone(command, private=False), user)))
        for name, answer in sorted(group.collect(asked).items()):
            parts.append(_no_answer(name) if answer is None else FromMember(name, _reply(json.loads(answer))))
        return tuple(parts)

    def answer(self, question: bytes) -> bytes:
        """What another member asks to be run here (SC1)."""
        asked = json.loads(question)
        return json.dumps(_packed(self.run_text(asked["command"], asked["user"]))).encode()

    def _group(self, command: Command) -> SharingGroup:
        if self.parts.group is None:
            why = f"CMDSCOPE can only name {self.qmgr}: it is not in a queue-sharing group"
            raise MQSCError(why, command.line, code="CSQN136E")
        return self.parts.group


def _states(group: SharingGroup) -> dict[str, bool]:
    """The members of the group: whether each is active."""
    connected = group.look(CSQ_ADMIN).connectors
    return {member.name: bool(connected.get(member.name)) for member in group.tables.members.all()}


def _check_disposition(command: Command, scope: str) -> None:
    """SC3."""
    disposition = command.value("QSGDISP")
    if disposition in {GROUP, SHARED}:
        why = f"CMDSCOPE({scope}) is not allowed with QSGDISP({disposition})"
        raise MQSCError(why, command.line, code="CSQN132E")


def _alone(command: Command, *, private: bool) -> Command:
    """The command as it is entered on one member; of another, what is private is shown (SC1, SC3)."""
    words = dict(command.parameters)
    del words["CMDSCOPE"]
    of_objects = command.verb == "DISPLAY" and command.noun in {*KINDS, QUEUE} - {"QMGR"}
    if private and of_objects and command.value("QSGDISP", LIVE) in {LIVE, ALL}:
        words["QSGDISP"] = (PRIVATE,)
    return replace(command, parameters=tuple(words.items()))


def _not_active(name: str, group: SharingGroup) -> str:
    return f"Queue manager {name} is not active in queue-sharing group {group.name}"


def _no_answer(name: str) -> Said:
    return Said("CSQN129E", f"Queue manager {name} gave no answer: whether it has run the command is not known")  # SC4


# --- replies on their way -------------------------------------------------------------------------------------------


def _packed(reply: Reply) -> dict[str, Any]:
    parts: list[list[Any]] = []
    for part in reply.parts:
        if isinstance(part, Details):
            parts.append([part.message, part.noun, part.row])
        elif isinstance(part, Said):
            parts.append([part.message, part.text, part.more, part.rows])
    reason = None if reply.reason is None else reply.reason.name
    names = ("command", "prefix", "module", "ok")
    return {name: getattr(reply, name) for name in names} | {"parts": parts, "reason": reason}


def _reply(packed: Mapping[str, Any]) -> Reply:
    reason = None if packed["reason"] is None else Reason[packed["reason"]]
    parts = tuple(_part(*each) for each in packed["parts"])
    return Reply(packed["command"], packed["prefix"], packed["module"], parts, packed["ok"], reason)


def _part(message: str, text: str, *more: Any) -> Part:
    if len(more) == 1:
        return Details(message, text, _row(more[0]))
    lines, rows = more
    return Said(message, text, tuple(lines), tuple(map(_row, rows)))


def _row(packed: Mapping[str, Any]) -> Row:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in packed.items()}
