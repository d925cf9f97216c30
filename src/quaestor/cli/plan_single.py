"""`quaestor plan log | bufferpool | pageset | restart | structure | channel`: one subject, a few options.

The options become a workload of one flow or one channel, read as strictly as a file; the questions of the subject are
answered for it.  What an option does not say is as in a file that does not say it.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click

from quaestor.cli.refused import Refused

Tables = dict[str, Any]
_QUEUE_MANAGER = {"name": "PLAN"}

LOG = ("ch1-1", "ch1-2", "ch1-3", "ch1-4", "ch1-5", "ch1-6", "ch1-10", "ch4-1", "ch4-9")
BUFFERPOOL = ("ch1-21", "ch1-24", "ch1-25", "ch4-5", "ch4-6")
PAGESET = ("ch1-15", "ch1-16", "ch1-17", "ch1-18", "ch1-19", "ch1-20")
RESTART = ("ch1-26", "ch1-27", "ch1-28", "ch1-31", "ch1-32")
STRUCTURE = ("ch2-2", "ch2-3", "ch2-4", "ch2-5", "ch2-6", "ch2-7", "ch2-8", "ch1-13")
CHANNEL = ("ch2-19", "ch2-20", "ch2-21", "ch2-22", "ch2-23", "ch2-24", "ch2-25", "ch2-26", "ch2-29", "ch1-11")


def _flow_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON object."),
        click.option("--inputs", is_flag=True, help="Show the inputs of every answer."),
        click.option("--release", help="Release of the queue manager, such as 9.0."),
        click.option("--non-persistent", is_flag=True, help="Messages are not persistent."),
        click.option("--commit", "messages_per_commit", help="Messages in a unit of work."),
        click.option("--peak", type=float, help="The peak is so many times the rate."),
        click.option("--rate", required=True, help="Messages put and got, such as 500/s."),
        click.option("--size", required=True, help="Bytes of a message, such as 1000 or 4k."),
    ):
        command = option(command)
    return command


@click.command("log")
@_flow_options
@click.option("--dasd", help="DASD type, such as 'DS8800 (RAID 5)'.")
@click.option("--log-io-time", help="Mean time of a log write, such as '0.6 ms'.")
@click.option("--log-size", help="Size of an active log today.")
@click.option("--active-logs", help="Active logs of a copy today.")
@click.option("--archive-time", help="Time to archive one log, such as 10min.")
def log_command(
    dasd: str | None,
    log_io_time: str | None,
    log_size: str | None,
    active_logs: str | None,
    archive_time: str | None,
    **flow: Any,
) -> None:
    """Log bytes, log rate, size and number of active logs.

    \b
    Example:
      quaestor plan log --size 1000 --rate 500/s --dasd 'DS8800 (RAID 5)'
    """
    tables = _one_flow(flow)
    tables["log"] = _given(size=log_size, active_logs=active_logs, archive_time=archive_time)
    if log_io_time is not None and dasd is None:
        raise click.UsageError("--log-io-time needs --dasd")
    if dasd is not None:
        tables["dasd"] = _given(type=dasd, log_io_time=log_io_time)
    _answer(tables, LOG, "plan log", **_shown(flow))


@click.command("bufferpool")
@_flow_options
@click.option("--life", help="How long a message stays on its queue, such as 200ms.")
@click.option("--buffers", help="Buffers of the pool today.", default="50000", show_default=True)
def bufferpool_command(life: str | None, buffers: str, **flow: Any) -> None:
    """Which kind of pool, how many buffers, what a checkpoint writes.

    \b
    Example:
      quaestor plan bufferpool --size 4k --rate 500/s --life 2s --buffers 20000
    """
    tables = _one_flow(flow, life=life, page_set=1)
    tables["page_set"] = [{"number": 1, "size": "4 GB", "buffer_pool": 1}]
    tables["buffer_pool"] = [{"number": 1, "buffers": buffers}]
    _answer(tables, BUFFERPOOL, "plan bufferpool", **_shown(flow))


@click.command("pageset")
@_flow_options
@click.option("--outage", required=True, help="How long messages gather when nobody gets them, such as 2h.")
@click.option("--page-set-size", default="4 GB", show_default=True, help="Size of the page set.")
@click.option("--recovery", help="Time in which the page set must be back, such as 1h.")
def pageset_command(outage: str, page_set_size: str, recovery: str | None, **flow: Any) -> None:
    """How many messages fit, how long until it expands, copies and backups.

    \b
    Example:
      quaestor plan pageset --size 20k --rate 8/s --outage 8h --page-set-size 8GB
    """
    tables = _one_flow(flow, outage=outage, page_set=1)
    tables["page_set"] = [{"number": 1, "size": page_set_size, "buffer_pool": 1}]
    tables["targets"] = _given(page_set_recovery=recovery)
    _answer(tables, PAGESET, "plan pageset", **_shown(flow))


@click.command("restart")
@_flow_options
@click.option("--log-size", help="Size of an active log.")
@click.option("--logload", help="LOGLOAD.")
@click.option("--longest-unit", help="The longest unit of work in flight at a failure, such as 2min.")
@click.option("--target", help="Time in which the queue manager must be back, such as 5min.")
def restart_command(
    log_size: str | None, logload: str | None, longest_unit: str | None, target: str | None, **flow: Any
) -> None:
    """Restart by phase, and the LOGLOAD that keeps a target.

    \b
    Example:
      quaestor plan restart --size 4k --rate 500/s --longest-unit 2min --target 5min
    """
    tables = _one_flow(flow)
    tables["log"] = _given(size=log_size, logload=logload)
    tables["targets"] = _given(longest_unit_of_work=longest_unit, restart=target)
    _answer(tables, RESTART, "plan restart", **_shown(flow))


@click.command("structure")
@_flow_options
@click.option("--outage", required=True, help="How long messages gather when nobody gets them, such as 20min.")
@click.option("--cfcc-level", type=int, default=22, show_default=True, help="CFCC level of the coupling facility.")
@click.option("--structure-size", help="Size of the structure today.")
@click.option("--members", help="Queue managers of the group.")
def structure_command(
    outage: str, cfcc_level: int, structure_size: str | None, members: str | None, **flow: Any
) -> None:
    """Entries, elements, sizes and capacity of a structure.

    \b
    Example:
      quaestor plan structure --size 2k --rate 120/s --outage 20min --structure-size 1GB
    """
    tables = _one_flow(flow, outage=outage, shared=True, structure="APP1")
    tables["coupling_facility"] = {"cfcc_level": cfcc_level}
    tables["queue_manager"] |= _given(members=members)
    if structure_size is not None:
        tables["structure"] = [{"name": "APP1", "size": structure_size}]
    _answer(tables, STRUCTURE, "plan structure", **_shown(flow))


@click.command("channel")
@click.option("--kind", type=click.Choice(["sender", "receiver", "svrconn"]), required=True, help="Kind of channel.")
@click.option("--channels", help="How many channels alike.", default="1", show_default=True)
@click.option("--size", required=True, help="Bytes of a message, such as 4k.")
@click.option("--rate", required=True, help="Messages of one channel, such as 60/s.")
@click.option("--non-persistent", is_flag=True, help="Messages are not persistent.")
@click.option("--traffic", help="request/reply, delayed, bulk or trickle.")
@click.option("--batchsz", help="BATCHSZ today.")
@click.option("--batchint", help="BATCHINT today, such as 100ms.")
@click.option("--sharecnv", help="SHARECNV today.")
@click.option("--cipher", help="SSLCIPH.")
@click.option("--processors", help="Processors of the machine.")
@click.option("--inputs", is_flag=True, help="Show the inputs of every answer.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def channel_command(non_persistent: bool, processors: str | None, **channel: Any) -> None:
    """Storage, tasks, batches, TLS and restart of channels.

    \b
    Example:
      quaestor plan channel --kind svrconn --channels 1200 --size 1k --rate 0.5/s --sharecnv 1 --non-persistent
    """
    shown = _shown(channel)
    written = _given(**{key: value for key, value in channel.items() if key not in shown})
    # the channel is the subject; the flow is there because a workload has one, and it carries nothing
    tables: Tables = {
        "queue_manager": dict(_QUEUE_MANAGER),
        "flow": [{"queue": "NONE", "size": 0, "rate": 0, "persistent": False}],
        "machine": _given(processors=processors),
        "channel": [{"name": "CHANNEL", "persistent": not non_persistent, **written}],
    }
    _answer(tables, CHANNEL, "plan channel", **shown)


def _one_flow(flow: dict[str, Any], **more: Any) -> Tables:
    written = _given(
        size=flow["size"],
        rate=flow["rate"],
        peak=flow["peak"],
        messages_per_commit=flow["messages_per_commit"],
        **more,
    )
    return {
        "queue_manager": {**_QUEUE_MANAGER, **_given(release=flow["release"])},
        "flow": [{"queue": "QUEUE", "persistent": not flow["non_persistent"], **written}],
    }


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _shown(options: dict[str, Any]) -> dict[str, bool]:
    return {name: options[name] for name in ("inputs", "as_json")}


def _answer(tables: Tables, numbers: tuple[str, ...], place: str, *, inputs: bool, as_json: bool) -> None:
    from quaestor.cli.plan_text import answer_lines
    from quaestor.planner.answers import plan
    from quaestor.planner.workload_file import WorkloadError, workload_of

    try:
        made = plan(workload_of(tables, place))
    except WorkloadError as error:
        raise Refused(str(error)) from None
    answers = [each for number in numbers for each in made.of(number)]
    without = [each for each in made.unanswered if each.number in numbers]
    passed = [room for answer, room in made.passed if answer in answers]
    if as_json:
        told = {
            "answers": [each.as_plain() for each in answers],
            "unanswered": [asdict(each) for each in without],
            "passed": [room.what for room in passed],
        }
        click.echo(json.dumps(told, indent=1))
        return
    click.echo("\n".join(answer_lines(answers, inputs=inputs)))
    for each in without:
        how = "not in full" if any(answer.number == each.number for answer in answers) else "not answered"
        click.echo(f"{how}: {each.number}  {each.question} {each.said}")
    for room in passed:
        click.echo(f"PASSED: {room.what}, {room.percent:.0f} % head-room")
