"""`quaestor plan`: a workload in, a plan out; what-if; single questions.

Exit codes: 0 planned, 1 with --check when a limit is passed, 2 the workload or an option cannot be used.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.lazy import LazyGroup
from quaestor.cli.plan_lake import (
    asked_of,
    lake_options,
    measurement,
    refuse_without_lake,
    written_tables,
)
from quaestor.cli.refused import Refused, in_words
from quaestor.cli.whole_file import FileToBe, whole_file

if TYPE_CHECKING:
    from quaestor.planner.answers import Plan
    from quaestor.planner.definitions import Definitions
    from quaestor.planner.workload import Workload


@click.group(
    "plan",
    cls=LazyGroup,
    default="show",
    commands={
        "show": "quaestor.cli.plan:show_command",
        "whatif": "quaestor.cli.plan_whatif:whatif_command",
        "forecast": "quaestor.cli.plan_forecast:forecast_command",
        "simulate": "quaestor.cli.plan_simulate:simulate_command",
        "log": "quaestor.cli.plan_single:log_command",
        "bufferpool": "quaestor.cli.plan_single:bufferpool_command",
        "pageset": "quaestor.cli.plan_single:pageset_command",
        "restart": "quaestor.cli.plan_single:restart_command",
        "structure": "quaestor.cli.plan_single:structure_command",
        "channel": "quaestor.cli.plan_single:channel_command",
    },
)
def plan_group() -> None:
    """How large, how fast, how long: a plan for a workload.

    \b
    Examples:
      quaestor plan                                     the example workload
      quaestor plan example                             its TOML, to begin your own
      quaestor plan work.toml --html plan.html          a page with charts
      quaestor plan --from-lake LAKE --queue-manager QM01 --save qm01.toml
      quaestor plan whatif work.toml --messages x2 --size 4k
      quaestor plan forecast LAKE --queue-manager QM01 --log-size 2GB
      quaestor plan simulate --size 1k --putters 8 --getters 8 --grow 2,4
      quaestor plan log --size 1000 --rate 500/s
      quaestor plan pageset --size 20k --rate 8/s --outage 8h
    """


@click.command("show")
@click.argument("workload", required=False, type=click.Path(path_type=Path), metavar="[WORKLOAD.toml]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--html", "page", type=FileToBe(), help="Write a page with charts.")
@click.option("--question", "-q", "numbers", multiple=True, help="Only this question, such as ch1-4.")
@click.option("--inputs", is_flag=True, help="Show the inputs of every answer.")
@click.option("--check", is_flag=True, help="Exit code 1 when a limit is passed.")
@click.option("--save", type=FileToBe(), help="Write the measured workload as TOML.")
@lake_options
def show_command(
    workload: Path | None,
    *,
    as_json: bool,
    page: Path | None,
    numbers: tuple[str, ...],
    inputs: bool,
    check: bool,
    save: Path | None,
    **lake: Any,
) -> None:
    """Answer every question for a workload; without one, for the example.

    WORKLOAD.toml may be the word `example`, which prints the example's TOML. With --from-lake, rates, sizes and times
    are those of the busiest hour of a queue manager; WORKLOAD.toml then says what SMF does not know.

    \b
    Example:
      quaestor plan workload.toml --check
    """
    from quaestor.cli.plan_text import plan_lines
    from quaestor.planner.answers import plan
    from quaestor.planner.definitions import definitions
    from quaestor.planner.workload_file import EXAMPLE, WorkloadError

    if workload is not None and str(workload) == "example":
        click.echo(EXAMPLE.read_text(encoding="utf-8"), nl=False)
        return
    _known(numbers)
    try:
        made = plan(_workload(workload, save, lake))
    except WorkloadError as error:
        raise Refused(str(error)) from None
    given = definitions(made.workload)
    if as_json:
        click.echo(json.dumps(_as_json(made, given, numbers), indent=1))
    elif page is None:
        click.echo("\n".join(plan_lines(made, given, numbers, inputs=inputs)))
    if page is not None:
        _write_page(page, made, given)
    sys.exit(1 if check and made.passed else 0)


def _workload(path: Path | None, save: Path | None, lake: dict[str, Any]) -> "Workload":
    """The workload of a file, of a lake, or the example."""
    from quaestor.planner.workload_file import load_workload

    if lake["lake"] is not None:
        return workload_of_lake(path, save, lake)
    refuse_without_lake(save=save, **{name: lake[name] for name in lake if name != "lake"})
    if path is None:
        click.echo("no workload given: this is the plan of the example (`quaestor plan example` prints it)", err=True)
    return load_workload(path)


def workload_of_lake(path: Path | None, save: Path | None, lake: dict[str, Any]) -> "Workload":
    """The workload that was measured; what was assumed goes to standard error."""
    from quaestor.planner.measured_workload import toml_text, workload_tables
    from quaestor.planner.measurement_check import log_agreement
    from quaestor.planner.workload_file import workload_of

    measured = measurement(asked_of(**lake))
    tables, notes = workload_tables(measured, written_tables(path))
    for note in notes:
        click.echo(note, err=True)
    made = workload_of(tables, lake["lake"])
    for line in log_agreement(measured, made):
        click.echo(line, err=True)
    if save is not None:
        _written(save, toml_text(tables))
    return made


def _known(numbers: tuple[str, ...]) -> None:
    from quaestor.planner.questions.catalog import LISTS, QUESTIONS

    for number in numbers:
        if number not in QUESTIONS:
            valid = ", ".join(f"{chapter}-1 to {chapter}-{last}" for chapter, last in LISTS.items())
            raise click.UsageError(f"no question {number}; known are {valid}")


def _as_json(made: "Plan", given: "Definitions", numbers: tuple[str, ...]) -> dict[str, object]:
    answers = [each.as_plain() for each in made.answers if not numbers or each.number in numbers]
    without = [asdict(each) for each in made.unanswered if not numbers or each.number in numbers]
    return {
        "workload": made.workload.title,
        "queue_manager": made.workload.queue_manager.name,
        "answers": answers,
        "unanswered": without,
        "passed": [room.what for _, room in made.passed],
        "definitions": {"mqsc": given.mqsc, "parameters": given.parameters, "cfrm": given.cfrm, "notes": given.notes},
    }


def _write_page(path: Path, made: "Plan", given: "Definitions") -> None:
    from quaestor.reports.plan_page import plan_page

    _written(path, plan_page(made, given))
    click.echo(f"{path}: {len(made.answers)} answers, {path.stat().st_size // 1024} KiB", err=True)


def _written(path: Path, text: str) -> None:
    try:
        with whole_file(path) as stream:
            stream.write(text.encode())
    except OSError as error:
        raise Refused(in_words(error, path)) from None
