"""Pages of non-persistent messages: formed when they must leave the buffer pool (B7).

What is in the buffer is a message, or a part of the text of a long one. Nobody asks such a page whose message it was:
when the queue manager starts it is nobody's (Y2).
"""

from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import Frame
from quaestor.qmgr.data.stored import short_record
from quaestor.storage.page import HEADER, HEADER_LENGTH, PAGE, VOLATILE


def form_page(frame: Frame) -> bytearray:
    """The bytes of a page of non-persistent messages that must leave the buffer pool (B7)."""
    content, records = frame.content, 0
    if isinstance(content, Message):
        content, records = b"".join(short_record(content, content.pack(), 0)), 1
    if not isinstance(content, bytes):
        raise Abend("B7", "a page of non-persistent messages has nothing to be formed of", page=frame.page)
    data, end = bytearray(PAGE), HEADER_LENGTH + len(content)
    HEADER.pack_into(data, 0, 0, VOLATILE, records, end, 0, frame.page, 0, 0, frame.page_set.number, 0, 0)
    data[HEADER_LENGTH:end] = content
    frame.content = None
    return data
