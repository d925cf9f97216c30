"""Inquiring: reading and setting attributes by their MQSC keywords.

Rules
  IN1 Inquire answers from the definition that was opened (an alias answers for itself, a dynamic queue in place of its
      model), and what moves (CURDEPTH, IPPROCS, OPPROCS) from the queue it leads to.
  IN2 A keyword nobody knows is 2067; one that another type of object has is 2068.
  IN3 Set changes PUT, GET and the trigger attributes only (2067 for others); each has its own reason for a bad value.
      If an alias was opened it is the alias that changes, which has PUT and GET (2068 for others).

Called by opening.  Calls objects.
"""

from collections.abc import Callable
from typing import Any

from quaestor.mqi.attributes import Attribute
from quaestor.mqi.objects import OBJECT_TYPES, LocalQueue, MQObject, attributes_of
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.queue_state import QueueState

LIVE: dict[str, Callable[[QueueState], int]] = {
    "CURDEPTH": lambda state: state.stored.depth,
    "IPPROCS": lambda state: state.input_handles,
    "OPPROCS": lambda state: state.output_handles,
}
VALUE_ERRORS = {
    "PUT": Reason.INHIBIT_VALUE_ERROR,
    "GET": Reason.INHIBIT_VALUE_ERROR,
    "TRIGGER": Reason.TRIGGER_CONTROL_ERROR,
    "TRIGDPTH": Reason.TRIGGER_DEPTH_ERROR,
    "TRIGMPRI": Reason.TRIGGER_MSG_PRIORITY_ERR,
    "TRIGTYPE": Reason.TRIGGER_TYPE_ERROR,
    "TRIGDATA": Reason.SELECTOR_ERROR,
}
_KNOWN = {a.keyword for kind in OBJECT_TYPES.values() for a in attributes_of(kind).values()} | set(LIVE)


def by_keyword(kind: type[MQObject]) -> dict[str, Attribute]:
    return {attribute.keyword: attribute for attribute in attributes_of(kind).values()}


def inquire(definition: MQObject, state: QueueState | None, keywords: tuple[str, ...]) -> dict[str, Any]:
    """The values of `keywords`, of all attributes when none is named (IN1, IN2)."""
    attributes = by_keyword(type(definition))
    live = LIVE if state is not None and isinstance(definition, LocalQueue) else {}
    wanted = keywords or (*attributes, *live)
    answer: dict[str, Any] = {}
    for keyword in wanted:
        if keyword in live and state is not None:
            answer[keyword] = live[keyword](state)
        elif keyword in attributes:
            answer[keyword] = getattr(definition, attributes[keyword].field)
        else:
            reason = Reason.SELECTOR_NOT_FOR_TYPE if keyword in _KNOWN else Reason.SELECTOR_ERROR
            raise MQError(reason, keyword=keyword, type=definition.MQSC_TYPE)
    return answer


def changes(kind: type[MQObject], values: dict[str, Any]) -> dict[str, Any]:
    """Field values of what an application sets (IN3); MQSC words are understood too."""
    attributes = by_keyword(kind)
    fields = {}
    for keyword, value in values.items():
        if keyword not in VALUE_ERRORS:
            raise MQError(Reason.SELECTOR_ERROR, keyword=keyword)
        if keyword not in attributes:
            raise MQError(Reason.SELECTOR_NOT_FOR_TYPE, keyword=keyword, type=kind.MQSC_TYPE)
        attribute = attributes[keyword]
        meant = value
        if attribute.words is not None and isinstance(value, str):
            if value.upper() not in attribute.words:
                raise MQError(VALUE_ERRORS[keyword], keyword=keyword, value=value)
            meant = attribute.words[value.upper()]
        fields[attribute.field] = meant
    return fields
