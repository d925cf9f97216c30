"""Storage: BUFFPOOL, PSID and USAGE.

Rules
  ST1 A buffer pool is defined, altered and deleted while the queue manager runs. A smaller one is reached in steps: the
      reply says whether that is done (CSQP023I) or under way (CSQP024I).
  ST2 A page set's data set has the name that its number gives it; DSN may say that name and no other.
  ST3 A page set that a storage class names is not deleted.
  ST4 USAGE counts pages as the space maps have them: those kept for the next message are unused. Total is always unused
      plus persistent plus non-persistent; the pages that describe the page set count as persistent.

Called by the processor.  Calls page storage, the data manager's space, the buffer manager, the catalogue.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from quaestor.mqi.attributes import whole_number
from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE, UNACCEPTABLE
from quaestor.mqi.objects import StorageClass
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.buffer import BufferManager
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.reply import Details, Part, Row, Said
from quaestor.qmgr.command.selecting import selected
from quaestor.qmgr.data.page_storage import BUFFERS_MAX, PageSetDefinition, PageStorage, PoolDefinition
from quaestor.qmgr.data.space import Space
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.storage.changes import FREE, VOLATILE_PAGE, map_page_of
from quaestor.storage.page import HEADER_LENGTH
from quaestor.storage.page_set import PageSet, file_name, spans

NUMBER_MAX = 99
LOCATIONS, PAGE_CLASSES, EXPANSIONS = ("BELOW", "ABOVE"), ("4KB", "FIXED4KB"), ("USER", "SYSTEM", "NONE")
USAGE_HEADING = (
    "Page  Buffer     Total    Unused  Persistent  NonPersist  Expansion",
    " set    pool     pages     pages  data pages  data pages  type    count",
)
POOL_HEADING = (
    "Buffer  Available  Stealable  Stealable  Page      Location",
    "  pool    buffers    buffers  percent    class",
)


class StorageCommands:
    """Buffer pools and page sets (ST1-ST4)."""

    def __init__(
        self, storage: PageStorage, buffers: BufferManager, space: Space, log: LogManager, catalogue: Catalogue
    ) -> None:
        self._storage, self._buffers, self._space, self._log = storage, buffers, space, log
        self._catalogue = catalogue

    # -- buffer pools

    @runs("DEFINE", "BUFFPOOL", early=True)
    def define_pool(self, command: Command, _user: str) -> Iterable[Part]:
        number = number_of(command)
        made = PoolDefinition(
            command.number("BUFFERS", 1000, 1, BUFFERS_MAX),
            command.word("LOCATION", "BELOW", *LOCATIONS),
            command.word("PAGECLAS", "4KB", *PAGE_CLASSES),
        )
        done = self._storage.define_pool(number, made, replace=command.has("REPLACE"))
        if not self._storage.is_open:
            held = self._storage.pools[number]
            if held != made:
                yield Said("CSQP026I", f"Buffer pool {number} keeps the {held.buffers} buffers that a command gave it")
            return
        yield self._resized(number, done)

    @runs("ALTER", "BUFFPOOL")
    def alter_pool(self, command: Command, _user: str) -> Iterable[Part]:
        number = number_of(command)
        old = self._storage.pools.get(number, PoolDefinition())
        done = self._storage.alter_pool(
            number,
            buffers=command.number("BUFFERS", old.buffers, 1, BUFFERS_MAX),
            location=command.word("LOCATION", old.location, *LOCATIONS),
            page_class=command.word("PAGECLAS", old.page_class, *PAGE_CLASSES),
        )
        yield self._resized(number, done)

    def _resized(self, number: int, done: bool) -> Said:
        """ST1."""
        pool = self._buffers.pools[number]
        row = {"BUFFPOOL": number, "BUFFERS": pool.buffers}
        if done:
            return Said("CSQP023I", f"Request completed, buffer pool {number} has {pool.buffers} buffers", rows=(row,))
        text = f"Request accepted, buffer pool {number} goes from {pool.buffers} to {pool.wanted} buffers"
        return Said("CSQP024I", text, rows=(row,))

    @runs("DELETE", "BUFFPOOL")
    def delete_pool(self, command: Command, _user: str) -> Iterable[Part]:
        self._storage.delete_pool(number_of(command))
        return ()

    @runs("DISPLAY", "BUFFPOOL")
    def display_pools(self, command: Command, _user: str) -> Iterator[Part]:
        for row in selected(command, map(self._pool_row, _numbers(command, self._storage.pools)), ("BUFFPOOL",)):
            yield Details("CSQP027I", "BUFFPOOL", row)

    def _pool_row(self, number: int) -> Row:
        definition, pool = self._storage.pools[number], self._buffers.pools[number]
        return {
            "BUFFPOOL": number,
            "BUFFERS": pool.buffers,
            "LOCATION": definition.location,
            "PAGECLAS": definition.page_class,
        }

    # -- page sets

    @runs("DEFINE", "PSID", early=True)
    def define_page_set(self, command: Command, _user: str) -> Iterable[Part]:
        number = number_of(command)
        self._check_data_set(command, number)
        definition = PageSetDefinition(
            command.number("BUFFPOOL", 0, 0, NUMBER_MAX), command.word("EXPAND", "USER", *EXPANSIONS)
        )
        self._storage.define_page_set(number, definition)
        return ()

    def _check_data_set(self, command: Command, number: int) -> None:
        """ST2."""
        given = command.value("DSN")
        if given and not self._storage.is_open:
            raise MQSCError("DSN is not allowed before restart", command.line, code=UNACCEPTABLE)
        if given and given.lower() != file_name(number):
            why = f"DSN({given}) is not valid: the data set of page set {number} is '{file_name(number)}'"
            raise MQSCError(why, command.line, code=UNACCEPTABLE)

    @runs("ALTER", "PSID")
    def alter_page_set(self, command: Command, _user: str) -> Iterable[Part]:
        number = number_of(command)
        old = self._storage.page_set(number)
        self._storage.alter_page_set(number, command.word("EXPAND", old.expand, *EXPANSIONS))
        return ()

    @runs("DELETE", "PSID")
    def delete_page_set(self, command: Command, _user: str) -> Iterable[Part]:
        number = number_of(command)
        classes = [
            each.name for each in self._catalogue.all() if isinstance(each, StorageClass) and each.page_set == number
        ]
        if classes:
            raise MQError(Reason.OBJECT_IN_USE, type="PSID", name=str(number), storage_classes=classes)  # ST3
        self._storage.delete_page_set(number)
        return ()

    @runs("DISPLAY", "PSID")
    def display_page_sets(self, command: Command, _user: str) -> Iterator[Part]:
        for row in selected(command, map(self._page_set_row, _numbers(command, self._storage.page_sets)), ("PSID",)):
            yield Details("CSQP028I", "PSID", row)

    def _page_set_row(self, number: int) -> Row:
        definition = self._storage.page_sets[number]
        return {
            "PSID": number,
            "BUFFPOOL": definition.buffer_pool,
            "DSN": file_name(number),
            "EXPAND": definition.expand,
        }

    # -- usage

    @runs("DISPLAY", "USAGE")
    def usage(self, command: Command, _user: str) -> Iterator[Part]:
        kind = command.word("TYPE", "PAGESET", "PAGESET", "DATASET", "ALL")
        if kind == "DATASET" and command.has("PSID"):
            raise MQSCError("PSID is not allowed with TYPE(DATASET)", command.line, code="CSQI003I")
        if kind in {"PAGESET", "ALL"}:
            yield from self._page_set_usage(command)
        if kind in {"DATASET", "ALL"}:
            yield self._data_sets()

    def _page_set_usage(self, command: Command) -> Iterator[Part]:
        numbers = sorted(self._storage.page_sets)
        if command.value("PSID", "*") != "*":
            numbers = [command.number("PSID", 0, 0, NUMBER_MAX)]
            self._storage.page_set(numbers[0])
        rows = [self._pages(self._buffers.page_sets[number]) for number in numbers]
        yield Said(
            "CSQI010I",
            "Page set usage ...",
            (*USAGE_HEADING, *map(_usage_line, rows), "End of page set report"),
            tuple(rows),
        )
        pools = [self._buffers_of(number) for number in sorted({row["BUFFPOOL"] for row in rows})]
        yield Said(
            "CSQI065I",
            "Buffer pool attributes ...",
            (*POOL_HEADING, *map(_pool_line, pools), "End of buffer pool attributes"),
            tuple(pools),
        )

    def _pages(self, page_set: PageSet) -> Row:
        """Pages by use (ST4)."""
        number, pool = page_set.number, self._buffers.pool_of[page_set.number]
        uses: Counter[int] = Counter()
        for base in spans(page_set.pages):
            data = pool.peek(page_set, map_page_of(base)).data or b""
            uses.update(data[HEADER_LENGTH : HEADER_LENGTH + min(len(data), page_set.pages - base)])
        kept, kept_volatile = len(self._space.empty[number]), len(self._space.volatile[number])
        unused, volatile = uses[FREE] + kept + kept_volatile, uses[VOLATILE_PAGE] - kept_volatile
        return {
            "PSID": number,
            "BUFFPOOL": page_set.buffer_pool,
            "TOTAL": page_set.pages,
            "UNUSED": unused,
            "PERSIST": page_set.pages - unused - volatile,
            "NPERSIST": volatile,
            "EXPAND": self._storage.page_sets[number].expand,
            "EXPANSIONS": page_set.expansions,
        }

    def _buffers_of(self, number: int) -> Row:
        pool, definition = self._buffers.pools[number], self._storage.pools[number]
        return {
            "BUFFPOOL": number,
            "BUFFERS": pool.buffers,
            "STEALABLE": pool.stealable,
            "PERCENT": pool.stealable * 100 // pool.buffers,
            "PAGECLAS": definition.page_class,
            "LOCATION": definition.location,
        }

    def _data_sets(self) -> Said:
        """From where the log is needed, and how far it goes."""
        log = self._log
        rows: tuple[Row, ...] = (
            {"TYPE": "OLDEST ACTIVE UNIT OF WORK", "RBA": f"{log.files.needed_rba():012X}"},
            {"TYPE": "CURRENT END OF LOG", "RBA": f"{log.end:012X}"},
        )
        lines = (
            f"{'Data set':<30} RBA",
            *(f"{row['TYPE']:<30} {row['RBA']}" for row in rows),
            "End of data set report",
        )
        return Said("CSQI070I", "Data set usage ...", lines, rows)


def _usage_line(row: Row) -> str:
    return (
        f"{row['PSID']:4d}  {row['BUFFPOOL']:6d}  {row['TOTAL']:8d}  {row['UNUSED']:8d}  {row['PERSIST']:10d}"
        f"  {row['NPERSIST']:10d}  {row['EXPAND']:<6} {row['EXPANSIONS']:6d}"
    )


def _pool_line(row: Row) -> str:
    return (
        f"{row['BUFFPOOL']:6d}  {row['BUFFERS']:9d}  {row['STEALABLE']:9d}  {row['PERCENT']:9d}"
        f"  {row['PAGECLAS']:<8}  {row['LOCATION']}"
    )


def number_of(command: Command) -> int:
    """Of the buffer pool or page set that a command names."""
    if not command.name:
        raise MQSCError(f"{command.noun} needs a number", command.line, code=NO_VALUE)
    number = whole_number(command.name)
    if number is None or not 0 <= number <= NUMBER_MAX:
        why = f"{command.noun}({command.name}) is not valid: a number from 0 to {NUMBER_MAX}"
        raise MQSCError(why, command.line, code=UNACCEPTABLE)
    return number


def _numbers(command: Command, known: Iterable[int]) -> list[int]:
    if command.name in {"", "*"}:
        return sorted(known)
    number = number_of(command)
    if number not in known:
        raise MQError(Reason.UNKNOWN_OBJECT_NAME, type=command.noun, name=command.name)
    return [number]
