"""Files of settings on the command line: `display.txt`, or `QM01:display.txt` to say whose they are (settings, E4, E7).

Called by advise.  Calls the advisor's settings.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quaestor import toml_text
from quaestor.cli.refused import Refused

if TYPE_CHECKING:
    from quaestor.advisor.settings import Settings

_PATH = click.Path(exists=True, dir_okay=False)


class SettingsFile(click.ParamType[tuple[str | None, str]]):
    """(queue manager or None, path); a file that is there under the whole name is meant as it is."""

    name = "[QMGR:]FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, str]:
        owner, colon, path = str(value).partition(":")
        if not colon or not owner or Path(value).is_file():
            return None, str(_PATH.convert(value, param, ctx))
        return owner, str(_PATH.convert(path, param, ctx))


def text_of(path: str) -> str:
    """The text of a file that a person made, with a byte order mark or without."""
    try:
        return toml_text.text_of(Path(path))
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def settings_of(
    files: Iterable[tuple[str | None, str]], managers: Collection[str], answered: Iterable[tuple[str, str]] = ()
) -> "Settings":
    """The settings of all files that are about these queue managers, a later file over an earlier; others are told.

    Over what queue managers that run have `answered`: their names, and what DISPLAY said.
    """
    from quaestor.advisor.settings import ALL, SettingsError, merged, of_ours, read

    unnamed = next(iter(managers)) if len(managers) == 1 else ALL
    try:
        said = [of_ours(text, owner) for owner, text in answered]
        given = merged([*said, *(read(text_of(path), path, unnamed, owner) for owner, path in files)])
    except SettingsError as error:
        raise Refused(str(error)) from None
    chosen = given.only(managers)
    left_out = sorted(set(given.queue_managers()) - set(chosen.queue_managers()))
    if left_out:  # E7
        but = ", but for structures of a group" if chosen.lent else ""
        click.echo(f"settings of {', '.join(left_out)} are left out{but}: --qmgr names {', '.join(managers)}", err=True)
    return chosen


def tell_strangers(settings: "Settings", known: Collection[str]) -> None:
    """Say which settings meet no record: a prefix that is no queue manager's name must not silence rules."""
    strangers = sorted(set(settings.queue_managers()) - set(known)) if known else []
    if strangers:
        click.echo(
            f"no record is of {', '.join(strangers)}, which settings are given for; there are"
            f" {', '.join(sorted(known))}, and {min(known)}:FILE says whose DISPLAY output is",
            err=True,
        )
