"""`quaestor smf describe`: any layout as a table, from the declaration that reads and writes it."""

import json
from typing import Any

import click

from quaestor.layout import Record
from quaestor.smf.catalog import KINDS, STRUCTURES
from quaestor.smf.printing import layouts


@click.command("describe")
@click.argument("structure", required=False)
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.option("--markdown", is_flag=True, help="As a Markdown table.")
@click.pass_context
def describe_command(ctx: click.Context, structure: str | None, as_json: bool, markdown: bool) -> None:
    """Show the layout of STRUCTURE, such as QPST; without it, list all structures and the records that hold them.

    \b
    Examples:
      quaestor smf describe QPST
      quaestor smf describe --json
    """
    if as_json and markdown:
        raise click.UsageError("--json and --markdown exclude each other")
    table = layouts.as_markdown if markdown else layouts.as_text
    if structure is None:
        click.echo(json.dumps(_plain_list(), indent=2) if as_json else _list(table))
    elif section := STRUCTURES.get(structure.upper()):
        click.echo(json.dumps(_plain(section), indent=2) if as_json else _layout(section, table, markdown=markdown))
    else:
        click.echo(unknown(structure), err=True)
        ctx.exit(2)


def unknown(structure: str) -> str:
    """One line: what was asked for, and what may have been meant."""
    near = layouts.near(structure)
    hint = f"did you mean {', '.join(near)}?" if near else "'quaestor smf describe' lists all structures"
    return f"no structure {structure}: {hint}"


def _layout(section: type[Record], table: Any, *, markdown: bool) -> str:
    name = section.LAYOUT.structure
    return f"{'# ' if markdown else ''}{name}\n\n{layouts.about(section)}\n\n{table(layouts.field_table(section))}"


def _list(table: Any) -> str:
    return f"{table(layouts.structure_table())}\n\n{table(layouts.record_table())}"


def _plain(section: type[Record]) -> dict[str, Any]:
    name = section.LAYOUT.structure
    return {
        "structure": name,
        "title": layouts.title(section),
        "found_in": layouts.found_in(name),
        "size": section.LAYOUT.size,
        "lengths": dict(section.LAYOUT.lengths),
        "fields": [line.plain() for line in layouts.field_lines(section)],
    }


def _plain_list() -> dict[str, Any]:
    return {
        "structures": [
            {
                "structure": name,
                "size": each.LAYOUT.size,
                "found_in": layouts.found_in(name),
                "title": layouts.title(each),
            }
            for name, each in sorted(STRUCTURES.items())
        ],
        "records": [
            {"record": kind.name, "title": kind.title, "structures": [s.section.LAYOUT.structure for s in kind.slots]}
            for kind in KINDS
        ],
    }
