"""What the report commands share: options, the lake's tables, errors of one line (E1, E2)."""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_LAKE = "lake"


def one_line_error(error: object) -> NoReturn:
    """Say what is wrong in one line and leave: nothing could be done (E1)."""
    click.echo(f"quaestor: {str(error).splitlines()[0]}", err=True)
    raise SystemExit(2)


def spark_options(command: Command) -> Command:
    """--lake, --master, --conf and -v."""
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Show what Spark says."),
        click.option("--conf", "conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark; may be repeated."),
        click.option("--master", default="local[*]", show_default=True, metavar="URL", help="Spark master."),
        click.option(
            "--lake", "lake", default=DEFAULT_LAKE, show_default=True, metavar="DIR", help="Folder or path of the lake."
        ),
    ):
        command = option(command)
    return command


def pairs(texts: Iterable[str], what: str) -> dict[str, str]:
    """NAME=VALUE arguments as a mapping."""
    made: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            one_line_error(f"{what} {text!r}: NAME=VALUE is needed")
        made[name] = value
    return made


def tables_of(lake: str, master: str, conf: Iterable[str], *, verbose: bool) -> Callable[[str], Any]:
    """The tables of a lake by name; leaves with one line when there is no lake or no Java."""
    settings = pairs(conf, "--conf")
    from quaestor.pipeline.errors import LakeError
    from quaestor.pipeline.java import NoJavaError
    from quaestor.pipeline.lake import Lake
    from quaestor.pipeline.session import session

    try:
        found = Lake.at(lake)
        spark = session(master, settings, verbose=verbose)
    except (LakeError, NoJavaError) as error:
        one_line_error(error)
    return lambda name: found.table(spark, name)
