"""Buffers: the last messages that a message data set wrote or read (MD6).

Called by data_set.
"""

from collections import OrderedDict

from quaestor.storage.message_data_set.figures import Figures
from quaestor.storage.message_data_set.place import Place


class Buffers:
    """The data of the last messages, up to so many blocks (MD6)."""

    def __init__(self, buffers: int, block: int, stats: Figures) -> None:
        self._most, self._block, self._stats = buffers, block, stats
        self._held: OrderedDict[int, bytes] = OrderedDict()
        self.used = 0
        stats.buffers_total, stats.buffer_size, stats.buffers_free_low = buffers, block, buffers

    def resize(self, buffers: int) -> None:
        """So many from now on; what no longer fits goes, oldest first."""
        self._most = buffers
        self._make_room(0)
        self._stats.buffers_total = buffers
        self._stats.buffers_free_low = min(self._stats.buffers_free_low, buffers - self.used)

    def clear(self) -> None:
        self._held.clear()
        self.used = 0

    def _make_room(self, needed: int) -> bool:
        """Give up the oldest until so many blocks are free; whether any was given up."""
        stolen = False
        while self.used + needed > self._most:
            _, old = self._held.popitem(last=False)
            self.used -= self._blocks(old)
            stolen = True
        return stolen

    def get(self, place: Place) -> bytes | None:
        self._stats.get_buffer += 1
        data = self._held.get(place.serial)
        if data is not None:
            self._held.move_to_end(place.serial)
            self._stats.got_valid += 1
        return data

    def keep(self, place: Place, data: bytes) -> None:
        needed = self._blocks(data)
        if needed > self._most:
            self._stats.got_none += 1
            return
        self.drop(place)
        stolen = self._make_room(needed)
        self._held[place.serial] = data
        self.used += needed
        stats = self._stats
        stats.got_stolen += stolen
        stats.got_free += not stolen
        stats.buffers_used_high = max(stats.buffers_used_high, self.used)
        stats.buffers_free_low = min(stats.buffers_free_low, self._most - self.used)
        self._show()

    def drop(self, place: Place) -> None:
        old = self._held.pop(place.serial, None)
        if old is not None:
            self.used -= self._blocks(old)
            self._stats.buffers_discarded += 1
            self._show()

    def _show(self) -> None:
        self._stats.buffers_saved, self._stats.buffers_empty = self.used, self._most - self.used

    def _blocks(self, data: bytes) -> int:
        return max(1, -(-len(data) // self._block))
