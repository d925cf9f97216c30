"""`quaestor plan simulate`: throughput, response times and the bottleneck, played through."""

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.numbers import Number
from quaestor.cli.plan_lake import asked_of, lake_options, measurement, refuse_without_lake
from quaestor.cli.refused import Refused

if TYPE_CHECKING:
    from quaestor.planner.simulator import Model, Percentiles, Run

FACTOR_MAX = 1000
_NUMBERS = {
    "commit": "messages_per_commit",
    "putters": "putters",
    "getters": "getters",
    "channels": "channels",
    "batchsz": "batch_messages",
    "processors": "processors",
    "buffers": "buffers",
}


@click.command("simulate")
@click.option("--size", help="Bytes of a message, such as 1000 or 4k.  [default: 1k, or as measured]")
@click.option("--rate", help="Messages arrive at this rate, such as 500/s; without it putters begin again at once.")
@click.option("--putters", type=click.IntRange(0), help="Applications that put.  [default: 1]")
@click.option("--getters", type=click.IntRange(0), help="Applications that get.  [default: 1]")
@click.option("--channels", type=click.IntRange(0), help="Sender channels that take messages off.  [default: 0]")
@click.option("--batchsz", type=click.IntRange(1), help="Messages of a channel's batch.  [default: 50]")
@click.option("--network", help="Round trip of a channel, such as 2ms.  [default: 1 ms]")
@click.option("--commit", type=click.IntRange(1), help="Messages in a unit of work.  [default: 1]")
@click.option("--log-io", help="Time of a one-page log write, such as 0.6ms.")
@click.option("--put-cpu", help="CPU of a put, such as 30us.")
@click.option("--get-cpu", help="CPU of a get, such as 30us.")
@click.option("--processors", type=click.IntRange(1), help="Processors.  [default: 3]")
@click.option("--buffers", type=click.IntRange(1), help="Buffers of the pool.  [default: 50000]")
@click.option("--copies", type=click.IntRange(1, 2), help="Copies of the log.  [default: 2]")
@click.option("--non-persistent", is_flag=True, help="Messages are not persistent.")
@click.option("--seconds", type=Number(0.1, 600), default=10.0, show_default=True, help="Simulated time.")
@click.option("--seed", type=int, default=1, show_default=True, help="Begins the random numbers.")
@click.option("--grow", help="Also with these rates or putters, as factors: 2,4,8.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per run.")
@lake_options
def simulate_command(
    seconds: float,
    seed: int,
    grow: str | None,
    as_json: bool,
    lake: str | None,
    queue_manager: str | None,
    system: str | None,
    hour: datetime | None,
    busiest: bool,
    begin: datetime | None,
    end: datetime | None,
    **work: Any,
) -> None:
    """Play a queue manager through: what waits for what, how fast, how long, and where it binds.

    With --from-lake, CPU, log I/O, log bytes and arrivals are those of a measured hour; options replace them.

    \b
    Examples:
      quaestor plan simulate --size 1k --putters 8 --getters 8 --log-io 0.6ms --grow 2,4,8
      quaestor plan simulate --from-lake LAKE --queue-manager QM01 --grow 10,100,1000
    """
    from quaestor.planner.quantity import QuantityError
    from quaestor.planner.simulator import simulate
    from quaestor.planner.source import OutOfRangeError

    try:
        chosen = _chosen(work)
        if lake is None:
            refuse_without_lake(
                queue_manager=queue_manager, system=system, hour=hour, busiest=busiest, begin=begin, end=end
            )
            model = _model(chosen)
        else:
            model = _measured(asked_of(lake, queue_manager, system, hour, begin, end, busiest=busiest), chosen)
        for each in _grown(model, grow):
            _show(each, simulate(each, seconds, warm_up_s=seconds / 10, seed=seed), as_json=as_json)
    except (QuantityError, OutOfRangeError) as error:
        raise Refused(str(error)) from None


def _chosen(work: dict[str, Any]) -> dict[str, Any]:
    """The options as figures of the model; those that were not given are left out."""
    from quaestor.planner.quantity import duration_s, rate_per_s, size_bytes

    made: dict[str, Any] = {name: work[option] for option, name in _NUMBERS.items() if work[option] is not None}
    for option, name, read in (
        ("size", "message_bytes", size_bytes),
        ("rate", "arrivals_per_s", rate_per_s),
        ("network", "network_ms", lambda text: 1e3 * duration_s(text)),
        ("log_io", "log_io_ms", lambda text: 1e3 * duration_s(text)),
        ("put_cpu", "put_cpu_us", lambda text: 1e6 * duration_s(text)),
        ("get_cpu", "get_cpu_us", lambda text: 1e6 * duration_s(text)),
    ):
        if work[option] is not None:
            made[name] = read(work[option])
    if work["copies"]:
        made["current_io_times"] = work["copies"]
    if work["non_persistent"]:
        made["persistent"] = False
    if work["putters"] is not None:
        made.setdefault("arrivals_per_s", None)
    return made


def _model(chosen: dict[str, Any]) -> "Model":
    """A model from options alone: log bytes are those of the charts."""
    from quaestor.planner.simulator import Model

    size, per_commit = chosen.get("message_bytes", 1024), chosen.get("messages_per_commit", 1)
    return Model(**{"message_bytes": size, **_logged(size, per_commit), **chosen})


def _logged(size: int, per_commit: int) -> dict[str, Any]:
    """Log bytes of a message of this size, by the charts."""
    from quaestor.planner.log_space import Action, QueueKind, log_bytes_per_unit_of_work

    return {
        f"{name}_log_bytes": log_bytes_per_unit_of_work(size, action, QueueKind.LOCAL, per_commit, extrapolate=True)
        / per_commit
        for name, action in (("put", Action.PUT), ("get", Action.GET))
    }


def _measured(asked: Any, chosen: dict[str, Any]) -> "Model":
    """The model of an hour; of messages of another size it was not measured what they log."""
    from dataclasses import replace

    from quaestor.planner.simulation_calibration import calibrated

    made = calibrated(measurement(asked), **{"getters": 4, **chosen})
    model, assumed = made.model, dict.fromkeys(made.assumed)
    if "message_bytes" in chosen:
        logged = _logged(model.message_bytes, model.messages_per_commit)
        model, assumed = replace(model, **logged), assumed | dict.fromkeys(logged)
    if assumed:
        click.echo(f"not measured, so assumed: {', '.join(assumed)}", err=True)
    return model


def _grown(model: "Model", grow: str | None) -> "list[Model]":
    from dataclasses import replace

    made = [model]
    for text in (grow or "").split(","):
        if not text.strip():
            continue
        factor = _factor(text.strip())
        if model.arrivals_per_s is None:
            getters = max(1, round(model.getters * factor)) if model.getters else 0  # some stay where there are some
            made.append(replace(model, putters=round(model.putters * factor), getters=getters))
        else:
            made.append(replace(model, arrivals_per_s=model.arrivals_per_s * factor))
    return made


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        raise Refused(f"--grow {text!r} is not a factor: write 2,4,8") from None
    if not 0 < factor <= FACTOR_MAX:
        raise Refused(f"--grow {text} is not valid: more than 0, at most {FACTOR_MAX}")
    return factor


def _show(model: "Model", run: "Run", *, as_json: bool) -> None:
    from quaestor.planner.answer import Unit, show

    rate = model.arrivals_per_s
    work = f"{model.putters} putters" if rate is None else f"{show(rate, Unit.PER_S)} arrive"
    put = run.put_times
    taken = run.on_queue_times if run.on_queue_ms else None
    if as_json:
        record = {
            "work": work,
            "messages_per_s": run.messages_per_s,
            "puts_per_s": run.puts_per_s,
            "put_ms": {"p50": put.p50_ms, "p90": put.p90_ms, "p99": put.p99_ms},
            "on_queue_ms": taken and {"p50": taken.p50_ms, "p90": taken.p90_ms, "p99": taken.p99_ms},
            "commits_per_log_write": run.forces_per_turn,
            "busy": run.busy,
            "bottleneck": run.bottleneck,
        }
        click.echo(json.dumps(record))
        return
    put_rate, got_rate = show(run.puts_per_s, Unit.PER_S), show(run.messages_per_s, Unit.PER_S)
    click.echo(f"{work}: {put_rate} put, {got_rate} got; bottleneck: {run.bottleneck}")
    click.echo(f"    a put and its commit   {_times(put)}")
    if taken:
        click.echo(f"    from put to got        {_times(taken)}")
    busy = ", ".join(f"{part} {100 * share:.0f} %" for part, share in run.busy.items())
    click.echo(f"    busy: {busy}; {run.forces_per_turn:.1f} commits to a log write")


def _times(found: "Percentiles") -> str:
    return f"{found.p50_ms:8.2f} ms (half), {found.p90_ms:.2f} (90 %), {found.p99_ms:.2f} (99 %)"
