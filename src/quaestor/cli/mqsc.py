"""`quaestor mqsc`: commands to a queue manager, at a prompt or from a script.

Rules
  MQ1 Commands come from `-c`, else from FILE, else from standard input when that is no terminal; else there is a prompt
      with completion and history.
  MQ2 Exit code 0: every command succeeded. 1: one failed. 2: there is no such queue manager, or it cannot be reached;
      or what was given is no UTF-8. A byte order mark is read over.
  MQ3 With --json each command is one JSON object on a line of its own: command, ok, rows, lines; of a command with
      CMDSCOPE also members, each with qmgr, ok, rows, lines.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from quaestor.cli.qmgr_place import directory_option
from quaestor.cli.refused import Refused

if TYPE_CHECKING:
    from quaestor.cli.mqsc_door import Answer, Door

ENDS = ("END", "EXIT", "QUIT")
BYTE_ORDER_MARK = "\ufeff"
COMMENT = "*"


@click.command("mqsc")
@click.argument("name")
@click.argument("file", required=False, type=click.File("r", encoding="utf-8"))
@click.option("-c", "--command", "commands", multiple=True, help="Run this command; may be given several times.")
@directory_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each command.")
def mqsc_command(
    name: str, file: TextIO | None, commands: tuple[str, ...], directory: Path | None, as_json: bool
) -> None:
    """Give MQSC commands to the queue manager NAME: from a prompt, from FILE, or from standard input.

    \b
    Examples:
      quaestor mqsc QM1 --directory data
      quaestor mqsc QM1 -c "DEFINE QLOCAL(ORDERS)" -c "DISPLAY QUEUE(*)"
      quaestor mqsc QM1 --json < objects.mqsc

    Exit code 0: all succeeded; 1: a command failed; 2: there is no such queue manager.
    """
    from quaestor.cli.mqsc_door import door
    from quaestor.mqi.reasons import MQError

    "".join(commands).encode()  # MQ2: before one of them is run
    if not commands and file is None and sys.stdin is None:
        raise Refused("there is nothing to read: standard input is closed; give commands with -c or in a file")
    try:
        opened = door(name, directory)
    except MQError as error:
        click.echo(f"quaestor mqsc: {error}", err=True)
        sys.exit(2)
    try:
        if not commands and file is None and sys.stdin.isatty():
            from quaestor.cli.mqsc_prompt import prompts

            _run(opened, prompts(name), as_json)
            failed = 0  # whoever types has seen what failed
        else:
            failed = _run(opened, _written(commands, file), as_json)
    except MQError as error:
        click.echo(f"quaestor mqsc: {error}", err=True)
        sys.exit(2)
    except UnicodeDecodeError as error:
        click.echo(f"quaestor mqsc: the commands are not UTF-8: {error}", err=True)
        sys.exit(2)
    finally:
        opened.close()
    sys.exit(1 if failed else 0)


def _written(commands: tuple[str, ...], file: TextIO | None) -> Iterator[str]:
    """The commands of a script, one by one (MQ1)."""
    from quaestor.mqi.mqsc.syntax import MQSCError, logical_lines

    texts = commands or ((file or sys.stdin).read().removeprefix(BYTE_ORDER_MARK),)
    for text in texts:
        lines = logical_lines(text)
        while True:
            try:
                line = next(lines, None)
            except MQSCError:
                yield _last_line(text)  # its continuation is missing: let the queue manager say so
                break
            if line is None:
                break
            yield line[1].strip()


def _last_line(text: str) -> str:
    """The last line that says something."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith(COMMENT)][-1]


def _run(opened: "Door", commands: Iterable[str], as_json: bool) -> int:
    """Give commands and show answers; how many failed."""
    failed = 0
    for command in commands:
        if command.upper() in ENDS:
            break
        answer = opened.run(command)
        failed += not answer.ok
        _show(command, answer, as_json)
    return failed


def _show(command: str, answer: "Answer", as_json: bool) -> None:
    """MQ3."""
    if as_json:
        told = {"command": command, "ok": answer.ok, "rows": answer.rows, "lines": answer.lines}
        click.echo(json.dumps(told | {"members": answer.members} if answer.members else told))
    else:
        for line in answer.lines:
            click.echo(line)
