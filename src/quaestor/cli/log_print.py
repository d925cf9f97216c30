"""`quaestor log print`: every log record, one line each."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quaestor.cli.engine_door import DIRECTORY, disk_of, one_line

if TYPE_CHECKING:
    from quaestor.storage.log_record import LogRecord

_RBA = re.compile("[0-9A-Fa-f]{1,12}")


def rba(text: str) -> int:
    """An RBA as the log prints it, in hexadecimal."""
    if not _RBA.fullmatch(text):
        raise click.BadParameter(f"{text!r} is not an RBA: write hexadecimal digits, as the log prints them")
    return int(text, 16)


@click.command("print")
@click.argument("directory", type=DIRECTORY)
@click.option("--from", "start", type=rba, help="Begin at this RBA; else at the oldest record that is kept.")
@click.option("--to", "end", type=rba, help="End before this RBA; else at the end of the log.")
@click.option("--unit", type=rba, help="Only the unit of recovery with this URID.")
@click.option("--limit", type=click.IntRange(1), help="So many records at most.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per record.")
def print_command(
    directory: Path, start: int | None, end: int | None, unit: int | None, limit: int | None, *, as_json: bool
) -> None:
    """The log records of the queue manager in DIRECTORY: RBA, length, kind, and what the record's manager says of it.

    The queue manager may be running; nothing is changed. Exit code 2: the log cannot be read from there.

    \b
    Examples:
      quaestor log print QM1 --limit 20
      quaestor log print QM1 --unit 0000000034F2
      quaestor log print QM1 --json | jq -r .kind | sort | uniq -c
    """
    from quaestor.qmgr.recovery.describe import describe

    chosen = (record for record in _records(directory, start, end) if unit is None or record.urid == unit)
    for record in islice(chosen, limit):
        click.echo(_json(record, describe(record)) if as_json else describe(record))


def _records(directory: Path, start: int | None, end: int | None) -> "Iterator[LogRecord]":
    """The records; only reading them is about the directory, writing them out is not."""
    from quaestor.qmgr.recovery.describe import END_OF_LOG, records
    from quaestor.storage.log_files import LogFiles

    with one_line(directory):
        files = LogFiles.open(disk_of(directory))
        try:
            yield from records(files, start, END_OF_LOG if end is None else end)
        finally:
            files.close()


def _json(record: "LogRecord", words: str) -> str:
    from quaestor.storage.log_record import Kind

    changes_page = record.kind < Kind.COMMIT
    return json.dumps(
        {
            "rba": f"{record.rba:012X}",
            "length": record.length,
            "kind": Kind(record.kind).name,
            "urid": f"{record.urid:012X}" if record.urid else None,
            "previous": f"{record.previous:012X}" if record.previous else None,
            "page_set": record.page_set if changes_page else None,
            "page": record.page if changes_page else None,
            "epoch": record.epoch,
            "text": words,
        }
    )
