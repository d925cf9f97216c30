"""Handle of a client: puts, gets and the other calls for one open queue, over its connection.

Rules
  CC3 Messages read ahead wait in their handle (RQ5), also while its link is made again; what is not got before the
      handle closes is lost, as the option says.

Its surface is that of an embedded handle (CC1).
Called by applications.  Calls connection, requests.
"""

from collections.abc import Iterable
from functools import partial
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from quaestor.mqi import forms
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.messages import Message
from quaestor.mqi.options import CloseOptions, GetOptions, PutOptions, has
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.client import requests
from quaestor.server.client.handle_requests import HandleRequests, is_plain_out
from quaestor.server.client.requests import ASYNC

if TYPE_CHECKING:
    from quaestor.server.client.connection import Connection


class Handle(HandleRequests):
    """An open queue of a client (CC1, CC3)."""

    def __init__(self, connection: "Connection", number: int, name: str, target: Target, options: int) -> None:
        super().__init__(connection, number, name, options)
        self._connection = connection
        self.target, self.options = target, options

    def put(
        self,
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        correl_id: bytes | None = None,
        context: "Handle | None" = None,
    ) -> Message:
        """MQPUT. Without an option it is in syncpoint; what was put comes back, with its identifiers."""
        connection = self._usable()
        try:
            options = index(options)
            if options & ASYNC:
                return connection.put_later(self, body, descriptor, options, correl_id, context)
            request = self.put_request(body, descriptor, options, correl_id, context)
            message: Message = connection.call(request, lambda payload: self.put_answer(payload, body))
        except (MQError, TypeError):
            if connection.connected:
                forms.check_put(body, descriptor, options, correl_id)
            raise
        return message

    def put_all(
        self,
        bodies: Iterable[bytes | bytearray | memoryview | str],
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
    ) -> list[Message]:
        """MQPUT for each of the bodies, under one descriptor, in one call: what was put comes back (NA4)."""
        every = forms.several(bodies)
        put: list[Message] = []
        try:
            self._usable().warning = None  # where there is nothing to put, too
            if has(options, ASYNC):
                put.extend(self.put(body, descriptor, options) for body in every)
            else:
                for some, kind in self.put_frames(every):
                    put += self.put_some(some, kind, descriptor, options)
        except MQError as error:
            raise self.put_refused(error, put, every, descriptor, options) from error
        return put

    def put_some(self, bodies: list[bytes], kind: int, descriptor: MQMD | None, options: int) -> list[Message]:
        """The puts of one frame."""
        connection = self._usable()
        request = self.put_frame(bodies, kind, descriptor, options)
        messages: list[Message] = connection.call(request, partial(self.put_answers, bodies=bodies))
        return messages

    def get(
        self,
        options: int = GetOptions.NONE,
        *,
        wait_ms: int | None = None,
        max_length: int | None = None,
        **selecting: Any,
    ) -> Message:
        """MQGET. Without an option it is in syncpoint; with `wait_ms` it waits so long (-1: without end)."""
        connection = self._usable()
        try:
            options = index(options)
            if self._ahead and not selecting and is_plain_out(options):
                message, connection.warning = self.got_ahead(options, max_length)  # CC3
                return message
            request = self.get_request(options, wait_ms, max_length, selecting)
            got: Message = connection.call(request, self.got)
        except (MQError, TypeError) as error:
            if connection.connected and forms.counts(error):
                forms.check_get(options, wait_ms, max_length, **selecting)
            raise
        return got

    def browse(self, options: int = GetOptions.BROWSE_NEXT, **selecting: Any) -> Message:
        """MQGET with a browse: the next message by default; it stays on the queue."""
        return self.get(options, **selecting)

    def inquire(self, *keywords: str) -> dict[str, Any]:
        """MQINQ: attribute values by MQSC keyword, all of them when none is named."""
        return requests.inquired(self._usable().ask("inquire", self, list(keywords)))

    def set(self, **values: Any) -> None:
        """MQSET: `set(PUT="DISABLED", TRIGDPTH=10)`."""
        self._usable().ask("set", self, values)

    def close(self, options: int = CloseOptions.NONE) -> None:
        """MQCLOSE; a second close is harmless."""
        if self.opened and self._connection.connected:
            self._connection.ask("close", self, int(options))
            self._connection.forget(self)
        self.opened = False

    def _usable(self) -> "Connection":
        connection = self._connection
        if not connection.connected:
            raise connection.why_not_connected()
        if not self.opened:
            raise MQError(Reason.HOBJ_ERROR, queue=self.name)
        return connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
