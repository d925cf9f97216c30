"""`quaestor smf info`: the inventory of dumps."""

import errno
import json
import os
import sys
import textwrap
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from quaestor.cli.damage import DamageReport
from quaestor.cli.dumps import progress
from quaestor.layout import CODE_PAGES, printable
from quaestor.smf.detection import UnusableDumpError
from quaestor.smf.framing import DumpReader
from quaestor.smf.inventory import Inventory, take_inventory
from quaestor.smf.records import open_input

_WIDE, _NARROW = 140, 80
_FIRM = "\xa0"
"""A blank at which no line ends."""
_BROKEN = {"what": 10, "first (local)": 10, "last (local)": 10, "zone": 6}
"""Columns that go on in the next line on a narrow terminal, and how narrow they become; the others are whole words."""


@click.command("info")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option(
    "--page", type=click.Choice(list(CODE_PAGES)), default="1047", show_default=True, help="EBCDIC code page."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per dump.")
def info_command(dumps: tuple[str, ...], page: str, *, as_json: bool) -> None:
    """What is in a dump: records by kind, level, system, queue manager and time; sections; damage.

    A DUMP may be RDW, BDW + RDW, spanned or RDW-stripped, plain or gzip; - reads standard input.
    Exit code 0: clean. 1: damage, all that is readable was counted. 2: no dump could be used.

    \b
    Examples:
      quaestor smf info SMF.D260115.dump
      zcat old.gz | quaestor smf info -
      quaestor smf info *.dump --json | jq .records
    """
    report = DamageReport()
    for path in dumps:
        report.dump()
        try:
            reader, inventory = _read(path, page, report)
        except UnusableDumpError as error:
            report.cannot_use(path, error)
            continue
        if as_json:
            click.echo(_json(path, reader, inventory))
        else:
            _show(path, reader, inventory)
    sys.exit(report.close())


def _read(path: str, page: str, report: DamageReport) -> tuple[DumpReader, Inventory]:
    with open_input(path) as stream, progress(path) as advance:
        reader = DumpReader(stream)
        inventory = Inventory()
        for inventory, damages in take_inventory(reader, CODE_PAGES[page]):
            advance(inventory.bytes)
            for damage in damages:
                report.damaged(path, damage)
        return reader, inventory


def _show(path: str, reader: DumpReader, inventory: Inventory) -> None:
    console = _Output(width=None if sys.stdout.isatty() else _WIDE, markup=False, emoji=False)  # names are no markup
    console.width = max(console.width, _NARROW)
    console.print(path, style="bold", highlight=False, soft_wrap=True)
    console.print(f"  {_framing(reader)}, {inventory.bytes:,} bytes, {inventory.records:,} records", highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2 if console.width >= _WIDE else 1, 0, 0))
    for heading in ("record", "what", "system", "qmgr", "release", "records", "first (local)", "last (local)", "zone"):
        broken = _BROKEN.get(heading)
        table.add_column(
            heading, justify="right" if heading == "records" else "left", no_wrap=not broken, min_width=broken
        )
    for group, tally in inventory.in_order():
        times = [f"{each:%Y-%m-%d %H:%M:%S}" if each else "" for each in (tally.first, tally.last)]
        names = (group.kind, group.title, group.system, group.queue_manager, group.release)
        table.add_row(*map(printable, names), f"{tally.records:,}", *times, _zones(tally.zone_minutes))
    console.print(table, highlight=False)
    counts = sorted(inventory.sections.items())
    sections = ", ".join(f"{name} {count:,} x {length}".replace(" ", _FIRM) for (name, length), count in counts)
    width = console.width if sys.stdout.isatty() else len(sections) + _NARROW
    lines = textwrap.fill(f"  sections: {sections or 'none'}", width, subsequent_indent="    ")
    console.print(lines.replace(_FIRM, " "), highlight=False, soft_wrap=True)
    console.print(f"  damage: {inventory.damages:,}" if inventory.damages else "  no damage", highlight=False)


class _Output(Console):
    """Rich ends a program itself when nobody reads any more, as if it had failed; main knows better (refused, U2)."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _framing(reader: DumpReader) -> str:
    found = reader.framing.value if reader.framing else "?"
    spanned = f", {reader.spanned:,} records spanned" if reader.spanned else ""
    return f"{found}{' in gzip' if reader.compressed else ''}{spanned}"


def _zones(minutes: set[int]) -> str:
    return " ".join(f"{'-' if each < 0 else '+'}{abs(each) // 60:02d}:{abs(each) % 60:02d}" for each in sorted(minutes))


def _json(path: str, reader: DumpReader, inventory: Inventory) -> str:
    def when(moment: Any) -> str | None:
        return moment.isoformat() if moment else None

    groups = [
        {
            "record": group.kind,
            "what": group.title,
            "system": group.system,
            "queue_manager": group.queue_manager,
            "release": group.release,
            "records": tally.records,
            "first_local": when(tally.first),
            "last_local": when(tally.last),
            "zone_minutes": sorted(tally.zone_minutes),
        }
        for group, tally in inventory.in_order()
    ]
    sections = [
        {"structure": name, "length": length, "count": count}
        for (name, length), count in sorted(inventory.sections.items())
    ]
    return json.dumps(
        {
            "dump": path,
            "framing": reader.framing.value if reader.framing else None,
            "gzip": reader.compressed,
            "spanned": reader.spanned,
            "bytes": inventory.bytes,
            "records": inventory.records,
            "damages": inventory.damages,
            "groups": groups,
            "sections": sections,
        }
    )
