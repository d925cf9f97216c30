"""What the commands `qmgr` and `mqsc` share: which queue manager is meant, and how an error ends a command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.refused import Refused, in_words

if TYPE_CHECKING:
    from quaestor.server.home import Home

directory_option: Callable[[Any], Any] = click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where it is kept.  [default: $QUAESTOR_HOME/NAME, else ~/.local/share/quaestor/NAME]",
)


def home_of(name: str, directory: Path | None) -> "Home":
    from quaestor.server.home import Home, default_directory

    with said():
        return Home(directory if directory is not None else default_directory(name))


def existing(name: str, directory: Path | None) -> "Home":
    """The home of a queue manager that was created."""
    home = home_of(name, directory)
    if not home.exists:
        raise Refused(home.none_here(name))
    return home


@contextmanager
def said() -> Iterator[None]:
    """What a queue manager refuses is one line and exit code 2 (E1, E2)."""
    from quaestor.mqi.reasons import MQError

    try:
        yield
    except (MQError, ValueError, OSError) as error:
        click.echo(f"Error: {in_words(error)}", err=True)
        raise SystemExit(2) from error
