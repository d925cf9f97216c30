"""`quaestor smf print`: records as MQ1150, MQ1160 and MQ116S print them.

A 116-1 record prints together with the 116-2 records that continue it, when the next task begins.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import click

from quaestor.cli.damage import DamageReport
from quaestor.layout import CODE_PAGES, CodePage, printable
from quaestor.smf.blocks import Damage
from quaestor.smf.detection import UnusableDumpError
from quaestor.smf.framing import DumpReader
from quaestor.smf.printing.plain import plain_record, plain_task
from quaestor.smf.printing.programs import Program, printout, program_of, task_printout
from quaestor.smf.records import SmfRecord, Task, open_input, read_records, tasks

TASK_SUBTYPES = (1, 2)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which records are wanted."""

    record_type: int | None = None
    subtype: int | None = None
    program: Program | None = None
    queue_manager: str | None = None
    met: set[str] = field(default_factory=set)
    """The queue managers of the records that could be printed."""

    def wants(self, record: SmfRecord) -> bool:
        program, header = program_of(record), record.header
        if program is None:
            return False
        self.met.add(header.queue_manager)
        if self.program not in (None, program):
            return False
        if self.queue_manager is not None and header.queue_manager != self.queue_manager:
            return False
        return self.record_type in (None, header.record_type) and self._subtype_fits(record)

    def _subtype_fits(self, record: SmfRecord) -> bool:
        """A task brings its continuations: asking for subtype 1 includes subtype 2 of the same type."""
        subtype = record.header.subtype
        return self.subtype in (None, subtype) or (is_task(record) and (self.subtype, subtype) == TASK_SUBTYPES)


@dataclass(slots=True)
class Printer:
    """Writes printouts to standard output, at most `limit` of them."""

    page: CodePage
    as_json: bool = False
    limit: int | None = None
    printed: int = 0

    @property
    def full(self) -> bool:
        return self.limit is not None and self.printed >= self.limit

    def write(self, item: SmfRecord | Task) -> None:
        if self.as_json:
            click.echo(json.dumps(plain_task(item) if isinstance(item, Task) else plain_record(item)))
        else:
            lines = task_printout(item, self.page) if isinstance(item, Task) else printout(item, self.page)
            click.echo("\n".join(map(printable, ["", *lines] if self.printed else lines)))
        self.printed += 1


@click.command("print")
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--type", "record_type", type=click.Choice(["115", "116", "all"]), default="all", show_default=True)
@click.option("--subtype", type=click.IntRange(min=0), help="Only this subtype; 1 brings its continuations along.")
@click.option(
    "--format",
    "program",
    type=click.Choice(["auto", *(each.value for each in Program)]),
    default="auto",
    show_default=True,
    help="Only what this program prints; auto prints every record in the manner that fits it.",
)
@click.option("--qmgr", metavar="NAME", help="Only this queue manager.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after so many printouts.")
@click.option(
    "--page", type=click.Choice(list(CODE_PAGES)), default="1047", show_default=True, help="EBCDIC code page."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line instead of a printout.")
@click.pass_context
def print_command(
    ctx: click.Context,
    files: tuple[str, ...],
    record_type: str,
    subtype: int | None,
    program: str,
    qmgr: str | None,
    limit: int | None,
    page: str,
    as_json: bool,
) -> None:
    """Print the records of SMF dumps as MQ1150, MQ1160 and MQ116S do; "-" reads standard input.

    Damage goes to standard error. Exit code 0: clean, 1: damage met, 2: no dump could be used, or none
    has records of this queue manager.

    \b
    Example:
      quaestor smf print dump.smf --limit 3
    """
    selection = Selection(
        None if record_type == "all" else int(record_type),
        subtype,
        None if program == "auto" else Program(program),
        qmgr,
    )
    report, printer = DamageReport(), Printer(CODE_PAGES[page], as_json, limit)
    for path in files:
        if not printer.full:
            _print_dump(path, selection, printer, report)
    exit_code = report.close()
    if qmgr is not None and selection.met and qmgr not in selection.met:
        names = ", ".join(map(printable, sorted(selection.met)))
        click.echo(f"--qmgr {qmgr}: no such queue manager; there are {names}", err=True)
        exit_code = 2
    elif not printer.printed and exit_code != 2:
        click.echo("no record to print", err=True)
    ctx.exit(exit_code)


def is_task(record: SmfRecord) -> bool:
    return record.header.record_type == 116 and record.header.subtype in TASK_SUBTYPES


def _print_dump(path: str, selection: Selection, printer: Printer, report: DamageReport) -> None:
    report.dump()
    try:
        for task in tasks(_task_records(path, selection, printer, report)):
            if not printer.full:
                printer.write(task)
    except UnusableDumpError as error:
        report.cannot_use(path, error)


def _task_records(path: str, selection: Selection, printer: Printer, report: DamageReport) -> Iterator[SmfRecord]:
    """The task records of a dump, to be joined; every other record that is wanted prints at once."""
    for item in _records(path, printer.page):
        if isinstance(item, Damage):
            report.damaged(path, item)
        elif not selection.wants(item):
            continue
        elif is_task(item):
            yield item
        else:
            printer.write(item)
        if printer.full:
            return


def _records(path: str, page: CodePage) -> Iterator[SmfRecord | Damage]:
    with open_input(path) as stream:
        yield from read_records(DumpReader(stream), page)
