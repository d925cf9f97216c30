"""Matching: which message a get means. Pure rules.

Rules
  M1  An identifier that is all zero, or not given, matches any message.
  M2  What is asked for must all match: message, correlation and group identifier, sequence number, token.
  M3  An identifier of the wrong length is padded to 24 bytes if shorter and refused (2247) if longer, or
      if it is not bytes. So is a sequence number or token that is no number.
  M4  The group identifier and sequence number select only messages that carry them.
  M5  A shared queue is searched by the message identifier with INDXTYPE MSGID or NONE (else 2206), by the correlation
      identifier with CORRELID (else 2207), by both with MSGID or CORRELID; without either of these the first of the two
      that would be refused by itself is named. A private queue is searched by any.

Called by the message manager, stores in tests.  Calls reasons.
"""

from typing import Any, NamedTuple

from quaestor.mqi.descriptors import ID_LENGTH, NO_ID
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.mqi.options import MatchOptions
from quaestor.mqi.reasons import MQError, Reason

_MATCH_BITS = 1 | 2 | 4 | 8 | 32
_NUMBER_LIMIT = 1 << 63


def wanted(identifier: Any) -> bytes | None:
    """The identifier to look for, or None when any will do (M1, M3)."""
    if identifier is None or identifier == NO_ID:
        return None
    if not isinstance(identifier, bytes) or len(identifier) > ID_LENGTH:
        raise MQError(Reason.MATCH_OPTIONS_ERROR, identifier=identifier)
    if len(identifier) == ID_LENGTH:
        return identifier
    padded = identifier.ljust(ID_LENGTH, b"\0")
    return None if padded == NO_ID else padded


class Selection(NamedTuple):
    """What a get asks for; None is any (M1)."""

    msg_id: bytes | None = None
    correl_id: bytes | None = None
    group_id: bytes | None = None
    sequence: int | None = None
    token: int | None = None

    @property
    def specific(self) -> bool:
        """Whether it names one message or few, so that its waiter is woken before those that take any."""
        return not (self.msg_id is None and self.correl_id is None and self.group_id is None and self.token is None)


ANY = Selection()


def selection(
    msg_id: bytes | None = None,
    correl_id: bytes | None = None,
    group_id: bytes | None = None,
    sequence: int | None = None,
    token: int | None = None,
    match: int | None = None,
) -> Selection:
    """The selection of a get; with `match`, only what its bits name counts (M1-M3)."""
    if match is not None:
        if not isinstance(match, int) or match & ~_MATCH_BITS:
            raise MQError(Reason.MATCH_OPTIONS_ERROR, match=match)
        bits = int(match)
        msg_id = msg_id if bits & MatchOptions.MSG_ID else None
        correl_id = correl_id if bits & MatchOptions.CORREL_ID else None
        group_id = group_id if bits & MatchOptions.GROUP_ID else None
        sequence = sequence if bits & MatchOptions.MSG_SEQ_NUMBER else None
        token = token if bits & MatchOptions.MSG_TOKEN else None
    if sequence is not None or token is not None:
        _check_numbers(sequence, token)
    return Selection(wanted(msg_id), wanted(correl_id), wanted(group_id), sequence, token)


def _check_numbers(*numbers: int | None) -> None:
    """Refuse what is no number of a message (M3)."""
    for number in numbers:
        if number is not None and not (isinstance(number, int) and -_NUMBER_LIMIT <= number < _NUMBER_LIMIT):
            raise MQError(Reason.MATCH_OPTIONS_ERROR, number=number)


def check_index(asked: Selection, queue: LocalQueue) -> None:
    """Refuse a selection that a shared queue has no index for (M5)."""
    index, by_message, by_correlation = queue.index_type, asked.msg_id is not None, asked.correl_id is not None
    if by_message and by_correlation and index in (IndexType.MSGID, IndexType.CORRELID):
        return
    if by_message and index not in (IndexType.MSGID, IndexType.NONE):
        raise MQError(Reason.MSG_ID_ERROR, queue=queue.name, index_type=index.name)
    if by_correlation and index is not IndexType.CORRELID:
        raise MQError(Reason.CORREL_ID_ERROR, queue=queue.name, index_type=index.name)


def matches(
    asked: Selection, msg_id: bytes, correl_id: bytes, group_id: bytes = NO_ID, sequence: int = 1, token: int = 0
) -> bool:
    """Whether a message with these identifiers is one of those asked for (M2)."""
    return (
        (asked.msg_id is None or asked.msg_id == msg_id)
        and (asked.correl_id is None or asked.correl_id == correl_id)
        and (asked.group_id is None or asked.group_id == group_id)
        and (asked.sequence is None or asked.sequence == sequence)
        and (asked.token is None or asked.token == token)
    )
