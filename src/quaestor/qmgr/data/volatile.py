"""Pages of non-persistent messages: formed when they must leave the buffer pool, read back when wanted (B7)."""

from typing import cast

from quaestor.mqi.messages import Message
from quaestor.qmgr.buffer import Frame
from quaestor.qmgr.data.stored import read_message, short_record
from quaestor.qmgr.queue_store import Arrival
from quaestor.storage.page import HEADER, HEADER_LENGTH, PAGE, VOLATILE


def form_page(frame: Frame) -> bytearray:
    """The bytes of a page of non-persistent messages that must leave the buffer pool (B7)."""
    queue_id, sequence, content = cast("tuple[int, int, Message | bytes]", frame.content)
    record = b"".join(short_record(content, content.pack(), sequence)) if isinstance(content, Message) else content
    data = bytearray(PAGE)
    end = HEADER_LENGTH + len(record)
    HEADER.pack_into(
        data, 0, 0, VOLATILE, 1 if queue_id else 0, end, 0, frame.page, queue_id, 0, frame.page_set.number, 0, 0
    )
    data[HEADER_LENGTH:end] = record
    frame.content = None
    return data


def restored(frame: Frame, arrival: Arrival) -> tuple[int, int, Message]:
    """The content of a page of non-persistent messages that was read back."""
    message = read_message(frame.data or b"", arrival.slot, lambda _: b"")
    return arrival.queue.queue_id, arrival.sequence, message
