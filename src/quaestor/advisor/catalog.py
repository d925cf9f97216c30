"""Every rule there is, and every rule of the papers that there is not, with the reason.

Rules
  C1  A rule's own id is unique; what else it covers stands in `also`, and several rules may cover one of the papers.
  C2  Every IF-THEN rule of the extracts is covered by a rule here, or stands in `not_measurable.toml` with the reason.
      A test holds the index of the extracts against both.

Called by the command, evaluate's callers, explain and tests.  Calls the rule modules.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from quaestor import toml_text
from quaestor.advisor.rule import Rule
from quaestor.advisor.rules import (
    buffer,
    buffer_life,
    channel,
    channel_initiator,
    coupling_facility,
    data,
    db2,
    definitions,
    lock,
    log,
    log_capacity,
    log_definitions,
    message,
    page_set,
    queue,
    storage,
    structure_definitions,
    task,
)

BY_MANAGER: Mapping[str, tuple[Rule, ...]] = {
    "log": log.RULES + log_capacity.RULES,
    "buffer": buffer.RULES + buffer_life.RULES,
    "data": data.RULES,
    "message": message.RULES,
    "lock": lock.RULES,
    "db2": db2.RULES,
    "coupling_facility": coupling_facility.RULES,
    "storage": storage.RULES,
    "channel_initiator": channel_initiator.RULES,
    "channel": channel.RULES,
    "task": task.RULES,
    "queue": queue.RULES,
    "page_set": page_set.RULES,
    "definitions": definitions.RULES + log_definitions.RULES,
    "structure_definitions": structure_definitions.RULES,
}
RULES: tuple[Rule, ...] = tuple(rule for rules in BY_MANAGER.values() for rule in rules)

EXTRACTS: Mapping[str, str] = {
    "mp1b": "MP1B, interpreting accounting and statistics data",
    "mp16-ch1": "MP16 chapter 1, queue manager",
    "mp16-ch2-3": "MP16 chapters 2 and 3, coupling facility and channel initiator",
    "mp16-ch4-11": "MP16 chapters 4 to 11",
    "talks": "the talks on internals",
}


def covered() -> set[str]:
    """Every rule of the papers that a rule here stands for."""
    return {each for rule in RULES for each in rule.ids}


@lru_cache(maxsize=1)
def not_measurable() -> Mapping[str, str]:
    """Rules of the papers that nothing measurable or set can decide, each with the reason (C2)."""
    text = files("quaestor.advisor").joinpath("not_measurable.toml").read_text(encoding="utf-8")
    parsed = toml_text.tables(text)
    return {f"{extract}/{short}": reason for extract, reasons in parsed.items() for short, reason in reasons.items()}
