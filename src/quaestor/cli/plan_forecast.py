"""`quaestor plan forecast`: where the figures of a lake are heading, and which limit they reach when."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.moment import Moment
from quaestor.cli.numbers import Number
from quaestor.cli.plan_lake import chosen_manager, manager_options
from quaestor.cli.refused import Refused
from quaestor.cli.report_tables import lake_tables
from quaestor.cli.spark_door import SparkOptions, spark_options

if TYPE_CHECKING:
    from quaestor.planner.outlook import Limit, Outlook


@click.command("forecast")
@click.argument("lake")
@manager_options
@click.option("--workload", type=click.Path(path_type=Path), help="A workload file: its [log] size is the limit.")
@click.option("--log-size", help="Size of an active log, such as 2GB.")
@click.option("--messages", help="Calls a second that are the most, such as 500/s.")
@click.option("--days", "horizon_days", type=click.IntRange(1, 3660), default=365, show_default=True,
              help="How far to look ahead.")  # fmt: skip
@click.option("--confidence", type=Number(0.5, 0.99), default=0.9, show_default=True,
              help="Of the interval around a date.")  # fmt: skip
@click.option("--from", "begin", type=Moment(), help="Learn from this day on.")
@click.option("--to", "end", type=Moment(), help="Learn up to this day.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@spark_options
def forecast_command(
    lake: str,
    queue_manager: str | None,
    system: str | None,
    workload: Path | None,
    log_size: str | None,
    messages: str | None,
    horizon_days: int,
    confidence: float,
    begin: datetime | None,
    end: datetime | None,
    as_json: bool,
    options: SparkOptions,
) -> None:
    """When growth reaches a limit: trend, weekly season and an interval, from the daily figures of LAKE.

    At least three weeks of history are needed.

    \b
    Examples:
      quaestor plan forecast LAKE --queue-manager QM01 --log-size 2GB
      quaestor plan forecast LAKE --workload work.toml --days 730
    """
    log_bytes, per_s = _limits_written(workload, log_size, messages)
    with lake_tables(lake, options) as tables:
        from quaestor.pipeline.measured_hours import daily_figures

        chosen = chosen_manager(tables, queue_manager, system, lake)
        figures = daily_figures(chosen.tables, chosen.name, begin, end)
    found, refused = _outlooks(figures, log_bytes, per_s, horizon_days, confidence)
    if not found:
        raise Refused(f"{lake}: {chosen.told}: {next(iter(refused.values()), 'nothing was counted')}")
    if as_json:
        whose = {"queue_manager": chosen.name, "system": chosen.system}
        click.echo(json.dumps({**whose, "outlooks": [_plain(each) for each in found], "refused": refused}, indent=1))
        return
    days = {day for daily in figures.values() for day in daily}
    click.echo(f"{chosen.told}: learnt from {len(days)} days, {min(days)} to {max(days)}")
    for each in sorted(found, key=lambda one: -one.crossing.probability):
        click.echo(f"  {each.sentence}")
        click.echo(f"      {_now(each)}; {each.trial}")
    for name, why in refused.items():
        click.echo(f"not forecast: {name}: {why}")


def _limits_written(
    workload: Path | None, log_size: str | None, messages: str | None
) -> tuple[int | None, float | None]:
    """The size of an active log and the highest rate, from the options and the file."""
    from quaestor.planner.quantity import QuantityError, rate_per_s, size_bytes
    from quaestor.planner.workload_file import WorkloadError, load_workload

    try:
        written = load_workload(workload).log.log_bytes if workload else None
        per_s = rate_per_s(messages) if messages else None
        log_bytes = size_bytes(log_size) if log_size else written
    except (WorkloadError, QuantityError) as error:
        raise Refused(str(error)) from None
    for option, limit in (("--messages", per_s), ("--log-size", log_bytes)):
        if limit == 0:
            raise Refused(f"{option} 0 is not valid: more than 0")
    return log_bytes, per_s


def _outlooks(
    figures: dict[str, Any], log_bytes: int | None, per_s: float | None, horizon_days: int, confidence: float
) -> "tuple[list[Outlook], dict[str, str]]":
    from quaestor.planner.outlook import limits, message_limit, outlook
    from quaestor.planner.source import OutOfRangeError

    asked: list[Limit | None] = list(limits(figures, log_bytes=log_bytes))
    asked.append(message_limit(figures, per_s) if per_s else None)
    found, refused = [], {}
    for limit in asked:
        if limit is None:
            continue
        try:
            found.append(outlook(figures[limit.figure], limit, horizon_days=horizon_days, confidence=confidence))
        except OutOfRangeError as error:
            refused[limit.subject] = str(error)
    return found, refused


def _now(each: "Outlook") -> str:
    from quaestor.planner.quantity import show_bytes

    if each.limit.figure == "log_bytes_per_s":
        return f"{show_bytes(each.last)}/s on the last day, limit {show_bytes(each.limit.threshold)}/s"
    unit = " %" if each.limit.figure.endswith("percent") else "/s"
    return f"{each.last:.3g}{unit} on the last day, limit {each.limit.threshold:.3g}{unit}"


def _plain(each: "Outlook") -> dict[str, Any]:
    crossing = each.crossing
    days = {name: getattr(crossing, name) for name in ("expected", "earliest", "latest")}
    return {
        "figure": each.limit.figure,
        "threshold": each.limit.threshold,
        "sentence": each.sentence,
        "last": each.last,
        "growth": each.model.growth.name,
        "trend_per_day": each.model.trend_per_day,
        "week": each.model.week,
        "probability": crossing.probability,
        "passed_now": each.passed_now,
        **{name: None if day is None else day.isoformat() for name, day in days.items()},
    }
