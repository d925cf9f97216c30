"""`quaestor plan whatif`: the same workload with more messages or other sizes."""

import json
from pathlib import Path

import click

from quaestor.cli.refused import Refused


@click.command("whatif")
@click.argument("workload", required=False, type=click.Path(path_type=Path), metavar="[WORKLOAD.toml]")
@click.option("--messages", help="Messages times so much: x2, +20%, -10%.")
@click.option("--size", help="Every message of this size (4k), or times so much (x2).")
@click.option("--queue", "queues", multiple=True, help="Only this queue; may be given several times.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def whatif_command(
    workload: Path | None, messages: str | None, size: str | None, queues: tuple[str, ...], *, as_json: bool
) -> None:
    """Before and after, and what breaks first; without a workload, for the example.

    \b
    Examples:
      quaestor plan whatif --messages x2
      quaestor plan whatif work.toml --messages +30% --size 4k --queue ORDERS
    """
    from quaestor.cli.plan_text import whatif_lines
    from quaestor.planner.whatif import ChangeError, breaks_first, change, what_if
    from quaestor.planner.workload_file import WorkloadError, load_workload

    if messages is None and size is None:
        raise click.UsageError("say what changes: --messages x2, --size 4k")
    if workload is None:
        click.echo("no workload given: this is the example", err=True)
    try:
        today = load_workload(workload)
        found = what_if(today, change(messages, size, queues))
    except (WorkloadError, ChangeError) as error:
        raise Refused(str(error)) from None
    breaking = breaks_first(today)
    if not as_json:
        click.echo("\n".join(whatif_lines(found, breaking)))
        return
    made = {
        "differences": [
            {
                "number": each.either.number,
                "question": each.either.question,
                "about": each.either.about,
                "what": each.either.what,
                "before": None if each.before is None else each.before.as_plain(),
                "after": None if each.after is None else each.after.as_plain(),
            }
            for each in found.differences
        ],
        "newly_passed": [room.what for _, room in found.newly_passed],
        "breaks_first": None if breaking is None else {"limit": breaking.head_room.what, "factor": breaking.factor},
    }
    click.echo(json.dumps(made, indent=1))
