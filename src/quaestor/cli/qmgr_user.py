"""`quaestor qmgr user` and `grant`: who may prove to be whom, and who may do what."""

import os
import signal
import sys
from pathlib import Path
from typing import TextIO

import click

from quaestor.cli.qmgr_place import directory_option, existing, said
from quaestor.cli.refused import Refused


@click.group("user")
def user_group() -> None:
    """Users with passwords, for applications that come over TCP.

    A password is read from a file, from QUAESTOR_PASSWORD, or asked for; it is never an argument.

    \b
    Examples:
      quaestor qmgr user add QM1 alice
      quaestor qmgr user list QM1
    """


@user_group.command("add")
@click.argument("name")
@click.argument("user")
@directory_option
@click.option("--password-file", type=click.File(), help="Read the password from this file (- for standard input).")
def add_command(name: str, user: str, directory: Path | None, password_file: TextIO | None) -> None:
    """Add a user, or give one another password.

    \b
    Example:
      quaestor qmgr user add QM1 alice
    """
    from quaestor.server.users import Users

    home = existing(name, directory)
    with said():
        password = _password(password_file)
        Users(home.users).set(user, password)
    click.echo(f"User {user} of {name} is set; grant something: quaestor qmgr grant {name} connect {name} {user} read")


def _password(file: TextIO | None) -> str:
    if file is not None:
        try:
            return file.read().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{file.name}: the password is not UTF-8: {error.reason}") from None
    if "QUAESTOR_PASSWORD" in os.environ:
        return os.environ["QUAESTOR_PASSWORD"]
    if sys.stdin is None:
        raise ValueError("there is nobody to ask for the password: standard input is closed")
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("there is no terminal to ask for the password on: use --password-file")
    return password


@user_group.command("remove")
@click.argument("name")
@click.argument("user")
@directory_option
def remove_command(name: str, user: str, directory: Path | None) -> None:
    """Remove a user; connections it has stay until they end.

    \b
    Example:
      quaestor qmgr user remove QM1 alice
    """
    from quaestor.server.users import Users

    home = existing(name, directory)
    with said():
        found = Users(home.users).remove(user)
    if not found:
        raise Refused(f"{name} has no user {user}")
    click.echo(f"User {user} of {name} is removed")


@user_group.command("list")
@click.argument("name")
@directory_option
def list_command(name: str, directory: Path | None) -> None:
    """Users with a password.

    \b
    Example:
      quaestor qmgr user list QM1
    """
    from quaestor.server.users import Users

    home = existing(name, directory)
    with said():
        users = Users(home.users).names()
    for user in users:
        click.echo(user)


@click.command("grant")
@click.argument("name")
@click.argument("resource")
@click.argument("object_name", metavar="OBJECT")
@click.argument("user")
@click.argument("access")
@directory_option
def grant_command(name: str, resource: str, object_name: str, user: str, access: str, directory: Path | None) -> None:
    """Let a user do something: one line of `profiles`, in force at once.

    The most specific profile of an object decides alone, so a new one begins with a line for whoever makes it.

    RESOURCE is connect, queue, process, namelist, stgclass, qmgr, command or altuser (OBJECT is then another user, for
    whom USER may act). OBJECT may end in *. ACCESS is read, update or control, or any of browse, inquire, put, get,
    set, context, administer with commas.

    \b
    Example:
      quaestor qmgr grant QM1 connect QM1 alice read
      quaestor qmgr grant QM1 queue 'ORDERS.*' alice put,get,browse
    """
    from quaestor.qmgr.security import CLASSES

    home = existing(name, directory)
    if resource not in CLASSES:
        raise Refused(f"resource is one of {', '.join(CLASSES)}")
    with said():
        if not home.configuration().security:
            raise Refused(f"security of {name} is off: everybody may do everything")
        lines = home.grant(resource, object_name, user, access)
    pid = home.running_pid()
    if pid is not None:
        os.kill(pid, signal.SIGHUP)
    click.echo(lines.rstrip())
