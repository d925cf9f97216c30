"""What the plan's commands share that read a lake: the options, and the workload that was measured.

Called by the plan commands.  Calls the pipeline for rows and the planner for what they mean.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from quaestor.cli.moment import Moment
from quaestor.cli.report_tables import lake_tables
from quaestor.cli.spark_door import SparkOptions

if TYPE_CHECKING:
    from quaestor.planner.measurement import Measurement

Command = TypeVar("Command", bound=Callable[..., Any])
_OPTIONS = {"queue_manager": "queue-manager", "busiest": "busiest-hour", "begin": "from", "end": "to"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The queue manager that is meant: name, system, how people are told of it, and tables in which it is alone."""

    name: str
    system: str
    told: str
    tables: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which hour of which queue manager of which lake."""

    lake: str
    queue_manager: str | None = None
    system: str | None = None
    hour: datetime | None = None
    begin: datetime | None = None
    end: datetime | None = None


def manager_options(command: Command) -> Command:
    """--queue-manager and --system: whose figures of a lake are meant."""
    for option in (
        click.option("--system", help="Its system (SMF's SID); needed if several have one of that name."),
        click.option("--queue-manager", "--qmgr", "queue_manager", help="Queue manager; needed if there are several."),
    ):
        command = option(command)
    return command


def lake_options(command: Command) -> Command:
    """--from-lake and what narrows it; the command gets them by the names that `asked_of` has."""
    for option in (
        click.option("--to", "end", type=Moment(), help="Look at hours up to this local time."),
        click.option("--from", "begin", type=Moment(), help="Look at hours from this local time on."),
        click.option("--hour", type=Moment(), help="This hour instead of the busiest, such as 2026-03-02T09."),
        click.option("--busiest-hour", "busiest", is_flag=True, help="The busiest hour; so it is without --hour too."),
        manager_options,
        click.option("--from-lake", "lake", metavar="LAKE", help="Take rates and sizes from a lake."),
    ):
        command = option(command)
    return command


def asked_of(
    lake: str, queue_manager: str | None, system: str | None, hour: datetime | None, begin: datetime | None,
    end: datetime | None, *, busiest: bool,
) -> Asked:  # fmt: skip
    """The options, checked against each other."""
    if busiest and hour is not None:
        raise click.UsageError("give --hour or --busiest-hour, not both")
    whole = None if hour is None else hour.replace(minute=0)
    return Asked(lake, queue_manager, system, whole, begin, end)


def refuse_without_lake(**given: Any) -> None:
    """An option that needs a lake, without one."""
    for name, value in given.items():
        if value:
            raise click.UsageError(f"--{_OPTIONS.get(name, name)} needs --from-lake")


def measurement(asked: Asked) -> "Measurement":
    """What was measured of the hour; the busiest one where none is named."""
    with lake_tables(asked.lake, SparkOptions()) as tables:
        from quaestor.pipeline.measured_hours import busiest_hour, measured_hour, message_hours

        chosen = chosen_manager(tables, asked.queue_manager, asked.system, asked.lake)
        hours = message_hours(chosen.tables, chosen.name, asked.begin, asked.end)
        hour = asked.hour or busiest_hour(hours)
        if hour is None or hour not in {each["hour"] for each in hours}:
            raise click.UsageError(f"{asked.lake}: {chosen.told} has no statistics {_when(asked)}")
        click.echo(f"measured: {chosen.told}, the hour from {hour:%Y-%m-%d %H:%M}", err=True)
        return _measurement(chosen.name, hour, hours, measured_hour(chosen.tables, chosen.name, hour))


def chosen_manager(tables: Callable[[str], Any], named: str | None, system: str | None, lake: str) -> Chosen:
    """The queue manager that is meant, or the only one; of one name on several systems, one (H6)."""
    from quaestor.pipeline.measured_hours import queue_managers, without_namesakes

    known = queue_managers(tables)
    meant = [each for each in known if named in {None, each[0]} and system in {None, each[1]}]
    names, systems = list(dict.fromkeys(name for name, _ in meant)), [each for _, each in meant]
    if not meant and (named or system):
        raise click.UsageError(f"{lake}: {_nobody(known, named, system)}")
    if len(names) != 1:
        raise click.UsageError(f"{lake}: say which with --queue-manager; there are {', '.join(names) or 'none'}")
    if len(systems) > 1:
        several = f"{names[0]} is on several systems: say which with --system"
        raise click.UsageError(f"{lake}: {several}; there are {', '.join(systems)}")
    (name,), (where,) = names, systems
    namesakes = len([each for each, _ in known if each == name]) > 1
    told = f"{name} on {where}" if namesakes else name
    return Chosen(name, where, told, without_namesakes(tables, name, where))


def _nobody(known: list[tuple[str, str]], named: str | None, system: str | None) -> str:
    """That there is no such queue manager, and which there are."""
    if system is None:
        names = dict.fromkeys(name for name, _ in known)
        return f"no queue manager {named}; there are {', '.join(names) or 'none'}"
    who = f"no queue manager {named} on" if named else "no queue manager on"
    return f"{who} system {system}; there are {', '.join(f'{name} on {at}' for name, at in known) or 'none'}"


def written_tables(path: Path | None) -> dict[str, Any]:
    """The tables of a workload file, to be completed by what was measured."""
    from quaestor.planner.workload_file import load_tables

    return {} if path is None else load_tables(path)


def _when(asked: Asked) -> str:
    if asked.hour is not None:
        return f"of {asked.hour:%Y-%m-%d %H}:00"
    if asked.begin or asked.end:
        return "in that time"
    return "of an hour that was used and is known for 15 minutes; records before 7.1 do not tell how long they cover"


def _measurement(manager: str, hour: datetime, hours: list[Any], rows: dict[str, list[Any]]) -> "Measurement":
    from quaestor.planner.measurement import MeasuredChannel, MeasuredLog, MeasuredQueue, Measurement

    (about,) = rows["manager"]
    log = [each for each in rows["log"] if each["seconds"] and each["buffers_filled"] is not None]
    return Measurement(
        queue_manager=manager,
        hour=hour,
        seconds=about["seconds"],
        release=about["release"] or "",
        group=about["group"],
        hours=[(each["hour"], each["calls"] / each["seconds"]) for each in hours],
        queues=[_filled(MeasuredQueue, each) for each in rows["queues"]],
        log=_filled(MeasuredLog, log[0]) if log else None,
        channels=[_filled(MeasuredChannel, each) for each in rows["channels"]],
        buffer_pools=rows["buffer_pools"],
        page_sets={
            each["page_set"]: (each["pages"], each["buffer_pool"]) for each in rows["page_sets"] if each["pages"]
        },
        tasks=rows["tasks"][0],
        page_reads=(
            sum(each["read_pages"] or 0 for each in rows["page_sets"]),
            sum(each["read_elapsed_us"] or 0 for each in rows["page_sets"]),
        ),
    )


def _filled(cls: type[Any], row: dict[str, Any]) -> Any:
    """A value from a row; columns it does not have are left, nulls take its defaults."""
    known = cls.__dataclass_fields__
    return cls(**{name: value for name, value in row.items() if name in known and value is not None})
