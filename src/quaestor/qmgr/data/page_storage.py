"""Page storage: which buffer pools and page sets there are, and how that changes while the queue manager runs.

Rules
  PS1 What the settings say (or the input set CSQINP1) is what there is, unless a command changed it: what a command
      made or deleted is kept in the bootstrap data set, durable before it is in force, and holds over restarts.
  PS2 A page set is made and formatted when it is defined; where that fails there is none, and nobody else fails.
      Deleting one removes its file; whatever the log says of its number before that moment means nothing to restart.
      That moment is an RBA up to which the log is durable: one that a cut takes back would hide what is logged there
      afterwards.
  PS3 Page set 0 and a page set that holds a queue are not deleted; nor is a buffer pool that a page set uses. A page
      set keeps its buffer pool as long as it is there.
  PS4 LOCATION and PAGECLAS are kept and reported, and LOCATION limits the number of buffers as on z/OS; the memory is
      the process's own either way.
  PS5 A page set that was made and that nobody defines any more is there all the same, in the first buffer pool: after
      a cold start only the file is left of what a command defined.

Called by the engine (at start) and by command.  Calls buffer, space, the bootstrap data set, page_set.
"""

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from typing import Any, TypeVar

from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.buffer import BufferManager
from quaestor.qmgr.data.space import Space
from quaestor.qmgr.log import LogManager
from quaestor.storage.disk import Disk
from quaestor.storage.page_set import NUMBER_MAX, PageSet, file_name

BUFFERS_MIN, BUFFERS_MAX_BELOW, BUFFERS_MAX = 100, 500_000, 999_999_999
ABOVE, FIXED = 0x80000000, 0x40000000
DefinitionT = TypeVar("DefinitionT")


@dataclass(frozen=True, slots=True)
class PoolDefinition:
    """BUFFPOOL."""

    buffers: int = 1000
    location: str = "BELOW"
    page_class: str = "4KB"

    @property
    def flags(self) -> int:
        """As the statistics show it."""
        return (ABOVE if self.location == "ABOVE" else 0) | (FIXED if self.page_class == "FIXED4KB" else 0)


@dataclass(frozen=True, slots=True)
class PageSetDefinition:
    """PSID."""

    buffer_pool: int = 0
    expand: str = "USER"


class PageStorage:
    """Buffer pools and page sets (PS1-PS5). Once open, every call holds the engine latch."""

    def __init__(
        self,
        disk: Disk,
        log: LogManager,
        buffers: BufferManager,
        space: Space,
        pools: dict[int, int],
        page_sets: dict[int, int],
        pages: int,
        pages_per_io: int,
    ) -> None:
        self._disk, self._log, self._buffers, self._space = disk, log, buffers, space
        self._pages, self._pages_per_io = pages, pages_per_io
        self._inventory = log.files.inventory
        self.pools = {number: PoolDefinition(buffers) for number, buffers in pools.items()}
        self.page_sets = {number: PageSetDefinition(pool) for number, pool in page_sets.items()}
        for number, pool in self._inventory.buffer_pools.items():
            _settle(self.pools, int(number), None if pool is None else PoolDefinition(*pool))
        for number, rule in self._inventory.page_set_rules.items():
            _settle(self.page_sets, int(number), None if rule is None else PageSetDefinition(*rule))
        self.is_open = False
        self.holds_queues: Callable[[int], bool] = lambda _number: False
        self.forget: Callable[[int], None] = space.remove_page_set

    # --- at start -----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Make the pools and open the page sets, before restart."""
        for number, pool in self.pools.items():
            self._make_pool(number, pool)
        for number in self._inventory.page_sets:
            self.page_sets.setdefault(number, PageSetDefinition(min(self.pools, default=0)))  # PS5
        for number, definition in self.page_sets.items():
            if definition.buffer_pool not in self.pools:
                raise Abend(
                    "PS1", "a page set uses a buffer pool that is not defined", page_set=number, **_facts(definition)
                )
            page_set = self._open(number)
            page_set.settle()
            self._bring_in(page_set, definition)
        self.is_open = True

    def _open(self, number: int) -> PageSet:
        """Open a page set, or make it if it never was."""
        known = self._inventory.page_sets
        if number in known:
            return PageSet.open(self._disk, number)
        made = PageSet.formatted(self._disk, number)
        page_set = PageSet.open(self._disk, number) if made else PageSet.create(self._disk, number, self._pages)
        known.append(number)
        self._log.files.save()
        return page_set

    def _make_pool(self, number: int, definition: PoolDefinition) -> None:
        self._buffers.define_pool(number, definition.buffers, self._pages_per_io).stats.location = definition.flags

    def _bring_in(self, page_set: PageSet, definition: PageSetDefinition) -> None:
        self._buffers.add_page_set(page_set, definition.buffer_pool)
        self._space.expand[page_set.number] = definition.expand

    # --- buffer pools -------------------------------------------------------------------------------------------------

    def define_pool(self, number: int, definition: PoolDefinition, *, replace: bool = False) -> bool:
        """A new pool, or another size for one; True when it has that size now.

        Before the page sets are open, what a command kept holds against an input set that does not say REPLACE (PS1).
        """
        _check_number(number)
        _check_buffers(definition)
        if not self.is_open:
            if replace or str(number) not in self._inventory.buffer_pools:
                self.pools[number] = definition
                if self._inventory.buffer_pools.pop(str(number), None) is not None:
                    self._log.files.save()
            return self.pools.get(number) == definition
        if number in self.pools:
            if not replace:
                raise MQError(Reason.OBJECT_ALREADY_EXISTS, type="BUFFPOOL", name=str(number))
            return self.alter_pool(number, **_facts(definition))
        self._keep_pool(number, definition)
        self._make_pool(number, definition)
        return True

    def alter_pool(self, number: int, **changes: Any) -> bool:
        """Another size, location or page class; True when the pool has its size now (B9)."""
        altered = replace(self._pool(number), **changes)
        _check_buffers(altered)
        self._keep_pool(number, altered)
        pool = self._buffers.pools[number]
        pool.stats.location = altered.flags
        return pool.resize(altered.buffers)

    def delete_pool(self, number: int) -> None:
        self._pool(number)
        users = sorted(number_ for number_, each in self.page_sets.items() if each.buffer_pool == number)
        if users:
            raise MQError(Reason.OBJECT_IN_USE, type="BUFFPOOL", name=str(number), page_sets=users)  # PS3
        self._keep_pool(number, None)
        self._buffers.delete_pool(number)

    def _pool(self, number: int) -> PoolDefinition:
        if number not in self.pools:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="BUFFPOOL", name=str(number))
        return self.pools[number]

    def _keep_pool(self, number: int, definition: PoolDefinition | None) -> None:
        self._inventory.buffer_pools[str(number)] = None if definition is None else list(astuple(definition))
        self._log.files.save()
        _settle(self.pools, number, definition)

    # --- page sets ----------------------------------------------------------------------------------------------------

    def define_page_set(self, number: int, definition: PageSetDefinition) -> None:
        """A new page set; before the page sets are open, one that there is from this start on."""
        _check_number(number)
        if not self.is_open:
            if str(number) not in self._inventory.page_set_rules:
                self.page_sets[number] = definition
            return
        if number in self.page_sets:
            raise MQError(Reason.OBJECT_ALREADY_EXISTS, type="PSID", name=str(number))
        self._pool(definition.buffer_pool)
        page_set = self._make(number)
        page_set.freed_rba = self._log.hardened - 1
        self._inventory.since[str(number)] = self._end_of_log()
        self._inventory.stamps.pop(str(number), None)
        self._inventory.page_sets.append(number)
        self._keep_page_set(number, definition)
        self._bring_in(page_set, definition)
        self._space.add_page_set(page_set)

    def _make(self, number: int) -> PageSet:
        """Make and format a page set; where there is no room for it nothing is left of it (PS2)."""
        try:
            return PageSet.create(self._disk, number, self._pages)
        except OSError as error:
            with suppress(OSError):
                if self._disk.exists(file_name(number)):
                    self._disk.delete(file_name(number))
            full = error.errno in {errno.ENOSPC, errno.EDQUOT}
            reason = Reason.STORAGE_MEDIUM_FULL if full else Reason.RESOURCE_PROBLEM
            raise MQError(reason, page_set=number, why=str(error)) from error

    def alter_page_set(self, number: int, expand: str) -> None:
        altered = replace(self.page_set(number), expand=expand)
        self._keep_page_set(number, altered)
        self._space.expand[number] = expand

    def delete_page_set(self, number: int) -> None:
        """Take an empty page set away, and its file with it (PS2, PS3)."""
        self.page_set(number)
        if not number or self.holds_queues(number):
            raise MQError(Reason.OBJECT_IN_USE, type="PSID", name=str(number), why="queues are on it")
        self._inventory.since[str(number)] = self._end_of_log()
        self._inventory.stamps.pop(str(number), None)
        self._inventory.page_sets.remove(number)
        self._keep_page_set(number, None)
        self._buffers.remove_page_set(number).close()
        self.forget(number)
        self._disk.delete(file_name(number))

    def _end_of_log(self) -> int:
        """Where the log ends, durably (PS2)."""
        self._log.force(self._log.end - 1)
        return self._log.end

    def page_set(self, number: int) -> PageSetDefinition:
        if number not in self.page_sets:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="PSID", name=str(number))
        return self.page_sets[number]

    def _keep_page_set(self, number: int, definition: PageSetDefinition | None) -> None:
        self._inventory.page_set_rules[str(number)] = None if definition is None else list(astuple(definition))
        self._log.files.save()
        _settle(self.page_sets, number, definition)


def _settle(into: dict[int, DefinitionT], number: int, definition: DefinitionT | None) -> None:
    if definition is None:
        into.pop(number, None)
    else:
        into[number] = definition


def _facts(definition: PoolDefinition | PageSetDefinition) -> dict[str, Any]:
    return {name: getattr(definition, name) for name in definition.__slots__}


def _check_number(number: int) -> None:
    if not 0 <= number <= NUMBER_MAX:
        raise MQError(Reason.OBJECT_NAME_ERROR, name=str(number), valid=f"a number from 0 to {NUMBER_MAX}")


def _check_buffers(definition: PoolDefinition) -> None:
    most = BUFFERS_MAX if definition.location == "ABOVE" else BUFFERS_MAX_BELOW
    if not BUFFERS_MIN <= definition.buffers <= most:
        valid = f"a number from {BUFFERS_MIN} to {most} with LOCATION({definition.location})"
        raise AttributeValueError("BUFFERS", definition.buffers, valid)
