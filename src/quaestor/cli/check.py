"""`quaestor check`: the proof that the files of a queue manager agree, without changing one of them."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from quaestor.cli.engine_door import DIRECTORY, disk_of, one_line
from quaestor.cli.numbers import several

MOST_LINES = 50


@click.command("check")
@click.argument("directory", type=DIRECTORY)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def check_command(directory: Path, *, as_json: bool) -> None:
    """Restart the queue manager in DIRECTORY in memory and check that page sets, space maps, log and queues agree.

    DIRECTORY is where it is kept, or its name if `quaestor qmgr create` made it.
    Nothing is written. Of a queue manager that is running the files are not at rest: it is refused.
    Exit code 0: all is well. 1: something does not agree. 2: it could not be restarted, and what to do.

    \b
    Examples:
      quaestor check QM1
      quaestor check QM1 --json | jq .problems
    """
    from quaestor.clock import SystemClock
    from quaestor.qmgr.checker import check
    from quaestor.qmgr.data.engine import Engine, settings_of
    from quaestor.storage.overlay import OverlayDisk

    with one_line(directory):
        disk = disk_of(directory)
        disk.own()
        try:
            overlay = OverlayDisk(disk)
            engine = Engine(overlay, SystemClock(), settings_of(overlay))
            found = engine.start()
            with engine.recovery.latch:
                problems = check(engine.data)
        finally:
            disk.disown()
    facts = {
        "directory": str(directory),
        "page_sets": {number: page_set.pages for number, page_set in sorted(engine.buffers.page_sets.items())},
        "queues": len(list(engine.data.stored())),
        "messages": sum(queue.depth for queue in engine.data.stored()),
        "log_from": f"{found.start_rba:012X}",
        "log_to": f"{found.end_rba:012X}",
        "records_read": found.records_read,
        "changes_redone": found.changes_redone,
        "units": [{"state": state, "urid": f"{urid:012X}"} for state, urid, _ in found.units],
        "problems": problems,
    }
    if as_json:
        click.echo(json.dumps(facts))
    else:
        _show(facts, problems)
    sys.exit(1 if problems else 0)


def _show(facts: dict[str, Any], problems: list[str]) -> None:
    pages = ", ".join(f"{number}: {several(count, 'page')}" for number, count in facts["page_sets"].items())
    units = ", ".join(" ".join(unit.values()) for unit in facts["units"])
    for name, value in (facts | {"page_sets": pages}).items():
        if name not in {"directory", "problems", "units"}:
            click.echo(f"{name.replace('_', ' '):<16} {value}")
    click.echo(f"{'units found':<16} {units or 'none'}")
    for problem in problems[:MOST_LINES]:
        click.echo(problem, err=True)
    if len(problems) > MOST_LINES:
        click.echo(f"{len(problems)} problems in all, the first {MOST_LINES} shown", err=True)
    click.echo("all is well" if not problems else several(len(problems), "problem"))
