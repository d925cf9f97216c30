"""Occupied pages: what messages of private queues lie on, how it is read and when it is free again.

Rules
  D4  A page is empty when its last message is gone for good: got and committed, or put and backed out. One-message
      pages are kept for reuse at once, packed ones wait for the scavenger.
  D6  Pages of messages that go with their queue are given back to the space map at once: nothing marks their records
      deleted, so a page that was only kept for reuse would be found with a message on it, perhaps of another queue that
      has the number by then.
  D9  A non-persistent message knows the buffer it was put into, which is nearer than a look-up in a large page set: it
      has the message's page as long as it is changed and says so (B15). No other buffer has that page then.

Called by the data manager, which is one of these, and by load.  Calls inserting (pages of messages), buffer, space.
"""

from collections.abc import Sequence
from typing import Any, cast

from quaestor.mqi.messages import Message
from quaestor.qmgr.buffer import BufferManager, BufferPool, Frame
from quaestor.qmgr.data.inserting import MessagePages
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.data.space import Space
from quaestor.qmgr.data.stored import read_message
from quaestor.qmgr.data.volatile import form_page
from quaestor.qmgr.queue_store import AVAILABLE, Arrival
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.page import HEADER, HEADER_LENGTH, RECORD, ROOM, StoredRecord
from quaestor.storage.page_set import PageSet
from quaestor.storage.text_pages import text_pages


class OccupiedPages:
    """The pages of messages (D4, D6)."""

    def __init__(self, recovery: RecoveryManager, buffers: BufferManager, *, packing: bool) -> None:
        self.buffers = buffers
        self.space = Space(recovery, buffers)
        self._pages = MessagePages(recovery, buffers, self.space, packing=packing)
        buffers.form = form_page

    # --- reading ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _here(page_set: PageSet, arrival: Arrival) -> Any:
        """The buffer that has the page of a message; None if none has (D9)."""
        if not arrival.persistent:
            put_into: Frame = arrival.frame
            if put_into.changed and put_into.page == arrival.page and put_into.page_set is page_set:
                return put_into
        return page_set.frames.get(arrival.page)

    def _message_in(self, frame: Frame, arrival: Arrival) -> Message:
        content = frame.content
        if not arrival.persistent:
            if content is None:
                content = frame.content = read_message(frame.data or b"", arrival.slot, lambda _: b"")
            message = cast("Message", content)
            if arrival.text_pages is None:
                return message
            page_set = frame.page_set
            texts = (self._volatile_text(page_set, page) for page in arrival.text_pages)
            return message._replace(body=b"".join((message.body, *texts)))
        if content is not None:
            return cast("Message", content)
        return read_message(frame.data or b"", arrival.slot, lambda page: self._page_bytes(frame.page_set, page))

    def _page_bytes(self, page_set: PageSet, page: int) -> bytes | bytearray:
        """The bytes of a text or reference page."""
        pool = self.buffers.pool_of[page_set.number]
        frame = pool.get(page_set, page)
        pool.release(frame)
        return frame.data or b""

    def _volatile_text(self, page_set: PageSet, page: int) -> bytes:
        pool = self.buffers.pool_of[page_set.number]
        frame = pool.get(page_set, page)
        pool.release(frame)
        if frame.content is not None:
            return cast("bytes", frame.content)
        end = HEADER.unpack_from(frame.data or b"")[3]
        return bytes((frame.data or b"")[HEADER_LENGTH:end])

    def _read_ahead(self, pool: BufferPool, arrival: Arrival) -> None:
        """A get that had to read brings the pages of the next messages with it, where they follow (B14)."""
        following = arrival.queue.following(arrival) if arrival.state == AVAILABLE else None
        if following is not None and following.page == arrival.page + 1:
            pool.read_ahead(
                arrival.queue.page_set, following.page, min(16, arrival.queue.page_set.pages - following.page)
            )

    # --- giving back --------------------------------------------------------------------------------------------------

    def release_pages(self, arrival: Arrival, *, texts: bool = True) -> None:
        """What a message occupied is free again; undoing a put has already given its text pages back (D4, Z3)."""
        page_set: PageSet = arrival.queue.page_set
        if not arrival.persistent:
            self._release_volatile(page_set, arrival)
            return
        if texts and arrival.length > ROOM - 1024:
            self._release_texts(arrival)
        if self._pages.live and self._pages.release(arrival.queue, arrival.page):
            return
        frame = page_set.frames.get(arrival.page)
        if frame is not None:
            frame.content = None
        self.space.empty[page_set.number].append(arrival.page)

    def _release_volatile(self, page_set: PageSet, arrival: Arrival) -> None:
        pool, free = self.buffers.pool_of[page_set.number], self.space.volatile[page_set.number]
        for page in arrival.text_pages or ():
            frame = page_set.frames.get(page)
            if frame is not None:
                pool.forget(frame)
            free.append(page)
        frame = self._here(page_set, arrival)
        if frame is not None:
            pool.forget(frame)
        free.append(arrival.page)

    def release_all(self, queue: PrivateQueue, arrivals: Sequence[Arrival]) -> None:
        """The queue is no more: what its messages occupied is given back to the space map (D6)."""
        pages = {page for page in queue.last_pages if page}
        for arrival in arrivals:
            if not arrival.persistent:
                self.release_pages(arrival)
                continue
            if arrival.length > ROOM - 1024:
                self._release_texts(arrival)
            pages.add(arrival.page)
        if pages:
            self._pages.give_up(queue.page_set, sorted(pages))

    def _release_texts(self, arrival: Arrival) -> None:
        page_set = arrival.queue.page_set
        pool = self.buffers.pool_of[page_set.number]
        frame = pool.get(page_set, arrival.page)
        data = frame.data or b""
        record = StoredRecord(arrival.slot, *RECORD.unpack_from(data, arrival.slot))
        references, texts = text_pages(data, record, lambda page: self._page_bytes(page_set, page))
        pool.release(frame)
        if texts:
            self.space.give_back(page_set, texts + references)

    def note_page(self, page_set: PageSet, page: int, live: int) -> None:
        """A message page found at start, and how many messages it has."""
        self._pages.note(page_set, page, live)

    def scavenge(self) -> bool:
        """Give pages whose messages are all deleted back to the space map (D4)."""
        self._pages.scavenge()
        return self.space.step()
