"""`quaestor advise`: what the rules say about dumps, a lake or a server; `advise explain` and `advise rules`."""

import json
import sys
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import click

from quaestor.cli.advice_text import show
from quaestor.cli.damage import DamageReport
from quaestor.cli.dumps import progress
from quaestor.cli.moment import Moment
from quaestor.cli.qmgr_figures import answers_and_figures_of
from quaestor.cli.qmgr_place import directory_option
from quaestor.cli.refused import Refused
from quaestor.cli.settings_files import SettingsFile, settings_of, tell_strangers, text_of
from quaestor.cli.spark_door import SparkOptions, one_line, session

if TYPE_CHECKING:
    import pyarrow as pa

    from quaestor.advisor.cutoffs import Chosen
    from quaestor.advisor.findings import Finding

SEVERITIES = ("note", "warning", "alert")
IN_SMF = 4
"""So many letters of a queue manager's name stand in its records, by which the advisor knows it."""


class DumpsOrCommand(click.Group):
    """A group that takes dumps as well: what does not begin with a command's name is advised on."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group("advise", cls=DumpsOrCommand)
def advise_group() -> None:
    """What is wrong, where, since when, how bad, and what to do about it.

    \b
    Examples:
      quaestor advise SMF.D260115.dump
      quaestor advise --lake /data/lake --qmgr QM01 --from 2026-01-12
      quaestor advise dump --settings qm01.toml --settings display.txt --cutoffs ours.toml
      quaestor advise dump --settings QM01:one.txt --settings QM02:two.txt
      quaestor advise --running QM1
      quaestor advise explain A-36
      quaestor advise rules
    """


@advise_group.command("run")
@click.argument("dumps", nargs=-1, metavar="DUMP...")
@click.option("--lake", type=click.Path(), help="A lake instead of dumps.")
@click.option(
    "--running",
    metavar="NAME",
    help="Queue manager that runs: what it has counted since its last record, and its definitions.",
)
@directory_option
@click.option("--settings", "settings_files", type=SettingsFile(), multiple=True, metavar=SettingsFile.name,
              help="Settings: TOML, or the output of DISPLAY commands, which is of the queue manager that it names or"
              " that stands before the file. May be given several times.")  # fmt: skip
@click.option("--cutoffs", "cutoff_file", type=click.Path(exists=True, dir_okay=False), help="Cut-offs of rules, TOML.")
@click.option("--qmgr", "managers", multiple=True,
              help="Only this queue manager, settings included; may be given several times.")  # fmt: skip
@click.option("--from", "begin", type=Moment(),
              help="From this local time on (2026-01-12T09:30); an interval lies where its middle does.")  # fmt: skip
@click.option("--to", "end", type=Moment(), help="Up to this local time.")
@click.option("--severity", type=click.Choice(SEVERITIES), default="warning", show_default=True, help="Least severity.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--verbose", "-v", is_flag=True, help="Say which rules could not be run, and why.")
def run_command(
    dumps: tuple[str, ...],
    lake: str | None,
    running: str | None,
    directory: Path | None,
    settings_files: tuple[tuple[str | None, str], ...],
    cutoff_file: str | None,
    managers: tuple[str, ...],
    begin: datetime | None,
    end: datetime | None,
    severity: str,
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    """Advise on dumps, on a lake, or on a queue manager that runs (--directory says where it is kept).

    Exit code 0: nothing alarming. 1: an alert, or part of a dump was damaged. 2: nothing could be done.

    \b
    Examples:
      quaestor advise dump.smf --qmgr QM01 --from 2026-01-12
      quaestor advise --lake LAKE --severity alert --json
      quaestor advise --running QM1
    """
    from quaestor.advisor.evaluate import advise, needed
    from quaestor.advisor.findings import as_records, at_least
    from quaestor.advisor.rule import Severity
    from quaestor.advisor.shared_views import groups

    if bool(dumps) + bool(lake) + bool(running) > 1:
        raise click.UsageError("give dumps, --lake or --running, one of them")
    if directory and not running:
        raise click.UsageError("--directory goes with --running")
    if managers and running:
        raise click.UsageError("--running names the queue manager; --qmgr chooses among those of dumps or a lake")
    if begin and end and begin >= end:
        raise click.UsageError("--from is not before --to")
    if not (dumps or lake or running or settings_files):
        raise click.UsageError("give dumps, --lake, --running or --settings")
    chosen = _chosen(cutoff_file)
    answers, figures = answers_and_figures_of(running, directory) if running else ("", [])
    settings = settings_of(settings_files, managers, [(running[:IN_SMF], answers)] if running else [])
    report = DamageReport()
    columns = needed(each.rule for each in chosen)
    there = ""
    if lake:
        tables = _of_lake(lake, columns, () if settings.lent else managers, begin, end)
    else:
        every = _of_figures(figures, columns, report) if running else _of_dumps(dumps, columns, report)
        tables, there = _narrowed(every, (), begin, end), _there(every)
    if settings.lent:
        settings = settings.beside(groups(tables))  # while all members are there
    tables = _narrowed(tables, managers, None, None)
    tell_strangers(settings, _queue_managers(tables))
    advice = advise(chosen, tables, settings)
    found = at_least(advice.findings, Severity[severity.upper()])
    if as_json:
        click.echo(
            json.dumps({"findings": as_records(found), "not_run": advice.not_run, "rules_run": advice.rules_run})
        )
    elif advice.rules_run or verbose:
        show(found, advice, verbose=verbose)
    grave = any(each.severity is Severity.ALERT for each in found)
    code = max(report.close(), 1 if grave else 0)
    if not advice.rules_run and code < 2:  # that is not the same as nothing wrong
        raise Refused(f"nothing was looked at: no records that rules read, of these queue managers and times{there}")
    sys.exit(code)


def findings_of(dump: Path) -> "list[Finding]":
    """What the rules find in a dump, warnings and worse."""
    from quaestor.advisor.evaluate import advise, needed
    from quaestor.advisor.findings import at_least
    from quaestor.advisor.rule import Severity

    chosen, report = _chosen(None), DamageReport()
    tables = _of_dumps((str(dump),), needed(each.rule for each in chosen), report)
    found = advise(chosen, tables).findings
    report.close()
    return list(at_least(found, Severity.WARNING))


def _chosen(path: str | None) -> "tuple[Chosen, ...]":
    from quaestor.advisor.catalog import RULES
    from quaestor.advisor.cutoffs import CutoffError, load, standard

    if path is None:
        return standard(RULES)
    try:
        return load(text_of(path), RULES, path)
    except CutoffError as error:
        raise Refused(str(error)) from None


def _of_dumps(
    dumps: Collection[str], columns: Mapping[str, Collection[str]], report: DamageReport
) -> "dict[str, pa.Table]":
    """The narrow tables of all dumps, each record once; what is damaged is said and passed over."""
    import pyarrow as pa

    from quaestor.smf.columns import decode
    from quaestor.smf.copies import Copies
    from quaestor.smf.detection import UnusableDumpError
    from quaestor.smf.framing import DumpReader
    from quaestor.smf.records import open_input

    parts: dict[str, list[pa.Table]] = {}
    copies = Copies()
    for path in dumps:
        report.dump()
        try:
            with open_input(path) as stream, progress(path) as advance:
                for block in DumpReader(stream).blocks():
                    decoded = decode(copies.without(block), set(columns), columns=columns)
                    for damage in decoded.damages:
                        report.damaged(path, damage)
                    for structure, table in decoded.tables.items():
                        parts.setdefault(structure, []).append(table)
                    advance(stream.tell() if stream.seekable() else 0)
        except UnusableDumpError as error:
            report.cannot_use(path, error)
    if copies.left_out:
        click.echo(f"{copies.left_out:,} records came more than once and count once", err=True)
    return {structure: pa.concat_tables(tables) for structure, tables in parts.items()}


def _of_figures(
    figures: Iterable[bytes], columns: Mapping[str, Collection[str]], report: DamageReport
) -> "dict[str, pa.Table]":
    """The same of what a queue manager has counted by now."""
    with NamedTemporaryFile(suffix=".smf") as dump:
        dump.write(b"".join(figures))
        dump.flush()
        return _of_dumps((dump.name,), columns, report)


def _queue_managers(tables: "Mapping[str, pa.Table]") -> set[str]:
    """Those that records are of."""
    named = (table["queue_manager"].unique() for table in tables.values() if "queue_manager" in table.column_names)
    return {name for names in named for name in names.to_pylist() if name}


def _there(tables: "Mapping[str, pa.Table]") -> str:
    """What there would be: queue managers, and the times of their records."""
    import pyarrow.compute as pc

    times = [pc.min_max(table["local_time"]).as_py() for table in tables.values() if len(table)]
    known = [(each["min"], each["max"]) for each in times if each["min"]]
    if not known:
        return ""
    first, last = min(each for each, _ in known), max(each for _, each in known)
    return f"; there are {', '.join(sorted(_queue_managers(tables)))}, {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"


def _narrowed(
    tables: "Mapping[str, pa.Table]", managers: Collection[str], begin: datetime | None, end: datetime | None
) -> "dict[str, pa.Table]":
    """The rows of these queue managers whose middle lies in this range of local time, as a lake gives them."""
    import numpy as np
    import pyarrow.compute as pc

    from quaestor.pipeline.middles import middles

    made = dict(tables)
    if managers:
        wanted = pc.field("queue_manager").isin(list(managers))
        made = {structure: table.filter(wanted) for structure, table in made.items()}
    if begin is None and end is None:
        return made
    for structure, table in made.items():
        seconds = table["interval_us"].cast("double").to_numpy() / 1e6
        middle = middles(table["local_time"].to_numpy(), seconds)
        late = np.ones(len(table), np.bool_) if begin is None else middle >= np.datetime64(begin)
        early = np.ones(len(table), np.bool_) if end is None else middle < np.datetime64(end)
        made[structure] = table.filter(late & early)
    return made


def _of_lake(
    root: str,
    columns: Mapping[str, Collection[str]],
    managers: Collection[str],
    begin: datetime | None,
    end: datetime | None,
) -> "dict[str, pa.Table]":
    from quaestor.pipeline.advice_tables import advice_tables
    from quaestor.pipeline.lake import Lake

    with one_line():
        lake = Lake.at(root)
        now, there = lake.snapshot(), set(lake.tables())
        wanted = {structure: names for structure, names in columns.items() if structure in there}
        with session(SparkOptions()) as spark:
            made = advice_tables(
                lambda name: lake.table(spark, name, at=now), wanted, queue_managers=managers, begin=begin, end=end
            )
            return dict(made)


@advise_group.command("explain")
@click.argument("rule")
def explain_command(rule: str) -> None:
    """One rule in full: what it reads, its cut-offs, its advice, its source.

    RULE is a rule's id, such as mp1b/A-36 or A-36; a short id may name one in each paper.

    \b
    Example:
      quaestor advise explain mp1b/A-36
    """
    from quaestor.advisor.explain import explained

    texts = explained(rule)
    if not texts:
        raise Refused(f"no rule {rule}; `quaestor advise rules` lists them")
    for each in texts:
        click.echo(each)


@advise_group.command("rules")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per rule.")
def rules_command(*, as_json: bool) -> None:
    """All rules, by manager.

    \b
    Example:
      quaestor advise rules --json
    """
    from quaestor.advisor.catalog import BY_MANAGER

    for manager, rules in BY_MANAGER.items():
        if not as_json and rules:
            click.echo(manager.replace("_", " "))
        for rule in rules:
            if as_json:
                record = {"id": rule.id, "also": rule.also, "title": rule.title, "manager": manager}
                click.echo(json.dumps({**record, "severity": rule.severity.name.lower(), "table": rule.table}))
            else:
                click.echo(f"  {rule.id:<20} {rule.severity.name.lower():<8} {rule.title}")
