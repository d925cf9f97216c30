"""Putting: the way of a message from a handle to a queue.

Rules
  PU2 In this order: form (FO2), options (2046), inhibited (2051), too long (2030, 2031), descriptor, full (2053), too
      many uncommitted (2024). Nothing is changed before the last of them has passed.
  PU3 Without syncpoint a message that is not persistent is available at once; a persistent one is put in the
      unit of the call and available when that has committed.
  PU4 Out of syncpoint, a message that a waiting getter (out of syncpoint too) asks for goes straight to it.
  PU6 Puts in one unit that differ in nothing but their bodies decide once, and have one time (`put_more`). The first
      that has anything more to think of, or would be refused, is left to a put of its own, which says why.

PU1 and PU7 are of `put_lookup`, PU5 is of `put_with_care`.

Called by opening (which makes an `OutputPath`) and connection.  Calls both of those, the store.
"""

from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from quaestor.mqi.descriptors import ID_LENGTH, MQMD, identifier
from quaestor.mqi.messages import EXPIRY_UNIT_US, Message
from quaestor.mqi.options import PutOptions
from quaestor.qmgr.message.put_lookup import DEFAULT_DESCRIPTOR
from quaestor.qmgr.message.put_with_care import CarefulOutput

if TYPE_CHECKING:
    from quaestor.qmgr.message.getting import InputPath

new_message: Final = tuple.__new__
"""A message is made with every put: without the indirection of the named tuple's own constructor."""


class OutputPath(CarefulOutput):
    """A handle's way to a queue (PU1)."""

    __slots__ = ()

    def put(
        self,
        body: Any,
        descriptor: Any = None,
        options: Any = PutOptions.NONE,
        correl_id: Any = None,
        context: "InputPath | None" = None,
    ) -> Message:
        """Put one message (PU2-PU5). What the application gave may be of any type; a wrong one is refused here."""
        if descriptor is None:
            descriptor = DEFAULT_DESCRIPTOR
        if (
            descriptor is not self._md_seen
            or options is not self._options_seen
            or self._version != self._catalogue.version
            or type(body) is not bytes
            or context is not None
        ):
            body, described = self._looked_up(body, descriptor, options, correl_id, context)
        else:
            described = self._described
        envelope, msg_id, own_correl_id, priority, rank, persistence, expiry, plain = described
        if correl_id is None:
            correl_id = own_correl_id
        elif type(correl_id) is not bytes or len(correl_id) != ID_LENGTH:
            correl_id = identifier(correl_id)
        length = len(body)
        if length > self._max_length:
            raise self._too_long(length)
        if self._counted.depth >= self._max_depth:
            raise self._full()

        if msg_id is None:
            msg_id = self._new_id()
        put_us = self._now_us()
        expires_us = 0 if expiry < 0 else put_us + expiry * EXPIRY_UNIT_US
        if persistence and not self._in_syncpoint and plain and self._plain and self._simple and not self._waiting:
            express = self._express
            if express is not None and not self._caller.many:
                put = express(
                    self._stored, body, envelope, msg_id, correl_id, priority, rank, put_us, expires_us, expiry,
                    self._count_express,
                )  # fmt: skip
                if put is not None:
                    if self._waiting:  # somebody has come meanwhile
                        self._waiters.wake(put[1])
                    return put[0]
        message = new_message(
            Message, (body, envelope, msg_id, correl_id, priority, persistence, put_us, expires_us, 0, expiry, -1)
        )
        if not (plain and self._plain and self._simple):
            message = self._queue_with_care(message, rank, self._plan)
        elif self._in_syncpoint:
            unit = self._caller.unit
            if (
                unit is None
                or unit.shared is not None
                or unit.triggers
                or len(unit.puts) + len(unit.gets) >= self._max_uncommitted
            ):
                unit = self._caller.unit_in_syncpoint(self._max_uncommitted)
            self._store_put(unit, self._stored, message, rank)
        elif self._waiting:
            self._hand_over_or_queue(message, rank)
        elif not persistence:
            self._store_put(None, self._stored, message, rank)
        else:
            self._store_put(self._caller.unit_of_one(), self._stored, message, rank)
        stats = self._stats
        stats.puts += 1
        if persistence:
            stats.persistent_puts += 1
            stats.persistent_bytes_put += length
        else:
            stats.nonpersistent_puts += 1
            stats.nonpersistent_bytes_put += length
        return message

    def put_more(self, bodies: list[Any], at: int, descriptor: MQMD | None, options: int) -> list[Message]:
        """Put from `at` on what is like the message put last, as far as it is; gives what was put (PU6)."""
        plan, caller = self._plan, self._caller
        md = descriptor if descriptor is not None else DEFAULT_DESCRIPTOR
        if not (self._plain and plan.plain) or self._version != self._catalogue.version:
            return []
        if self._stored.shared:
            return []
        if options != self._options_seen or md is not self._md_seen:
            return []
        envelope, msg_id, correl_id, priority, rank, persistence, expiry, plain = self._described
        unit = caller.unit if plan.in_syncpoint else caller.call_unit
        if unit is None or unit.shared is not None or msg_id is not None or not plain:
            return []
        room = self._max_depth - self._counted.depth
        if plan.in_syncpoint:
            room = min(room, self._max_uncommitted - len(unit.puts) - len(unit.gets) - unit.triggers)
        some = self._alike(bodies[at : at + max(room, 0)])
        if not some:
            return []
        new_id, put_us = self._new_id, self._now_us()
        expires_us = 0 if expiry < 0 else put_us + expiry * EXPIRY_UNIT_US
        rows = zip(
            some, repeat(envelope), [new_id() for _ in some], repeat(correl_id), repeat(priority), repeat(persistence),
            repeat(put_us), repeat(expires_us), repeat(0), repeat(expiry), repeat(-1), strict=False,
        )  # fmt: skip
        messages = [new_message(Message, row) for row in rows]
        put = self._store_put_run(unit, self._stored, messages, rank)
        del messages[put:]
        self._count(put, sum(map(len, some[:put])), persistence)
        return messages

    def _alike(self, bodies: list[Any]) -> list[bytes]:
        """The first of the bodies, as far as nothing but to put them is to be done about them."""
        longest = self._max_length
        for at, body in enumerate(bodies):
            if type(body) is not bytes or len(body) > longest:
                return bodies[:at]
        return bodies

    def _count_express(self, length: int) -> None:
        stats = self._stats
        stats.puts += 1
        stats.persistent_puts += 1
        stats.persistent_bytes_put += length

    def _count(self, messages: int, put_bytes: int, persistence: int) -> None:
        stats = self._stats
        stats.puts += messages
        if persistence:
            stats.persistent_puts += messages
            stats.persistent_bytes_put += put_bytes
        else:
            stats.nonpersistent_puts += messages
            stats.nonpersistent_bytes_put += put_bytes

    def _hand_over_or_queue(self, message: Message, rank: int) -> None:
        """A message out of syncpoint from which nothing follows, while somebody waits (PU3, PU4)."""
        if self._waiters.hand_over(message):
            if self._caller.tally is not None:
                self._caller.tally.handed_over()
        elif message.persistence:
            self._store_put(self._caller.unit_of_one(), self._stored, message, rank)
        else:
            self._waiters.wake(self._store_put(None, self._stored, message, rank))
