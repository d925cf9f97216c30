"""`quaestor smf synth`: a believable SMF dump from a workload profile, and beside it the list of what was planted.

Exit codes: 0 written, 2 the profile or an option cannot be used, or the dump cannot be written.
"""

import json
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from quaestor.cli.numbers import several
from quaestor.cli.refused import Refused, in_words
from quaestor.cli.whole_file import is_file_to_be, whole_file

if TYPE_CHECKING:
    from quaestor.smf.synth.profile import Profile

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_FRAMINGS = ("rdw", "bdw", "vbs", "stripped")
_VBS_BLOCK_BYTES = 27_998
_MOST_BYTES = 10**18
_STANDARD_OUTPUT = "-"


def size_bytes(_ctx: click.Context | None, _param: click.Parameter | None, text: str | None) -> int | None:
    """A size as people write it: 500MB and 2GB are decimal, 500MiB and 2GiB are binary."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmg]i?|)b?\s*", text.lower())
    wanted = float(found[1]) * _UNITS[found[2]] if found else 0
    size = int(wanted) if wanted < _MOST_BYTES else 0
    if size <= 0:
        raise click.BadParameter(f"{text!r} is no size; write 500MB, 2GB or 64MiB")
    return size


@click.command("synth")
@click.option("--profile", "-p", "name", default="small", show_default=True, help="A shipped profile or a TOML file.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help='The dump to write; "-" is standard output.')
@click.option("--days", type=click.IntRange(1, 3660), help="Days to generate; the profile's number when not given.")
@click.option("--size", callback=size_bytes, help="Generate as many days as this size needs, such as 500MB.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Begin the random numbers elsewhere.")
@click.option("--framing", type=click.Choice(_FRAMINGS), default="rdw", show_default=True, help="Form of the dump.")
@click.option("--gzip", "compress", is_flag=True, help="Compress the dump.")
@click.option("--level", help="Put all queue managers at this level, such as 8.0.")
@click.option("--list-profiles", is_flag=True, help="List the shipped profiles.")
@click.option("--quiet", "-q", is_flag=True, help="No progress bar.")
def synth_command(
    name: str,
    output: Path | None,
    days: int | None,
    size: int | None,
    seed: int | None,
    framing: str,
    compress: bool,
    level: str | None,
    list_profiles: bool,
    quiet: bool,
) -> None:
    """Write a believable SMF dump from a workload profile.

    Incidents that the profile plants are listed in OUTPUT.incidents.json, each with its time, its object and the
    rules that should find it; not beside a pipe. Both files appear when all is done.

    \b
    Example:
      quaestor smf synth --profile small -o dump.smf
    """
    from quaestor.smf.synth.generate import with_days
    from quaestor.smf.synth.profile_file import ProfileError, at_level, load_profile, shipped_profiles

    if list_profiles:
        for shipped, title in shipped_profiles().items():
            click.echo(f"{shipped:<12}{title}")
        return
    if output is None:
        raise click.UsageError("the dump's name is missing: give it with -o")
    if days is not None and size is not None:
        raise click.UsageError("--days and --size exclude each other")
    try:
        profile = with_days(load_profile(name), days, seed)
        profile = at_level(profile, level) if level else profile
        _write(profile, output, size, framing, compress=compress, quiet=quiet)
    except ProfileError as error:
        raise Refused(str(error)) from None
    except OSError as error:
        raise Refused(in_words(error, output)) from None


def _write(
    profile: "Profile",
    output: Path,
    size: int | None,
    framing: str,
    *,
    compress: bool,
    quiet: bool,
) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

    from quaestor.smf.detection import Framing
    from quaestor.smf.dump import MAX_BLOCK_BYTES, DumpWriter
    from quaestor.smf.synth.generate import generate

    kind = {"rdw": Framing.RDW, "bdw": Framing.BDW, "vbs": Framing.BDW, "stripped": Framing.STRIPPED}[framing]
    spanned = framing == "vbs"
    console = Console(stderr=True)
    name = TextColumn("{task.description}", style="bold", markup=False)
    columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn())
    bar = Progress(*columns, TimeElapsedColumn(), console=console, disable=quiet or not console.is_terminal)
    piped = str(output) == _STANDARD_OUTPUT
    beside = output.with_name(f"{output.name}.incidents.json") if is_file_to_be(output) and not piped else None
    written = nullcontext(sys.stdout.buffer) if piped else whole_file(output)
    with bar, written as stream, _listed(beside) as listed:
        task = bar.add_task(profile.name, total=size)
        writer = DumpWriter(
            stream,
            kind,
            spanned=spanned,
            block_bytes=_VBS_BLOCK_BYTES if spanned else MAX_BLOCK_BYTES,
            compress=compress,
        )
        with writer as dump:
            made = generate(
                profile, dump, size_bytes=size, progress=lambda written: bar.update(task, completed=written)
            )
        if listed is not None:
            listed.write(f"{json.dumps(made.side_file(profile), indent=2)}\n".encode())
    click.echo(
        f"{output}: {several(made.records, 'record')}, {several(made.bytes, 'byte')}, {several(made.days, 'day')}, "
        f"{several(len(made.incidents), 'incident')}{f' ({beside.name})' if beside else ''}",
        err=True,
    )


def _listed(beside: Path | None) -> AbstractContextManager[BinaryIO | None]:
    return nullcontext() if beside is None else whole_file(beside)
