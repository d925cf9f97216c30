"""`quaestor qmgr start`, `stop` and `status`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.numbers import Seconds
from quaestor.cli.qmgr_place import directory_option, existing, said
from quaestor.cli.refused import Refused

if TYPE_CHECKING:
    from quaestor.server.home import Home

STARTING_S, POLL_S = 120.0, 0.02


@click.command("start")
@click.argument("name")
@directory_option
@click.option("--background", is_flag=True, help="Return when it serves; its log goes to server.log.")
def start_command(name: str, directory: Path | None, background: bool) -> None:
    """Start a queue manager, in the foreground unless told otherwise.

    SIGTERM quiesces it, SIGINT (Ctrl-C) or a second SIGTERM stops it at once, SIGHUP reads the profiles again.

    \b
    Example:
      quaestor qmgr start QM1 --background
    """
    home = existing(name, directory)
    pid = home.running_pid()
    if pid is not None:
        raise Refused(f"{name} runs already (process {pid})")
    if background:
        _start_in_background(name, home)
        return
    from quaestor.server.process import Server

    with said():
        server = Server(home, sys.stderr, signals=True)
    sys.exit(server.run_alone())


def _start_in_background(name: str, home: "Home") -> None:
    home.pid.unlink(missing_ok=True)  # of a process that is gone
    command = [sys.executable, "-m", "quaestor.cli.main", "qmgr", "start", name, "--directory", str(home.directory)]
    with home.log.open("ab") as log:
        size = log.tell()
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    until = time.monotonic() + STARTING_S
    while _status(name, home)["state"] == "stopped":
        if process.poll() is not None or time.monotonic() > until:
            told = home.log.read_bytes()[size:].decode(errors="replace").strip().splitlines()
            raise Refused(told[-1].removeprefix("Error: ") if told else f"{name} did not start; see {home.log}")
        _pause()
    serving = home.running_pid()
    if serving not in (process.pid, None):
        raise Refused(f"{name} runs already (process {serving})")
    click.echo(f"{name} is running (process {process.pid})")


def _pause() -> None:
    time.sleep(POLL_S)  # noqa: TID251 - a command waits for another process


@click.command("stop")
@click.argument("name")
@directory_option
@click.option("--immediate", is_flag=True, help="Do not wait for applications to end; their units are backed out.")
@click.option("--wait", "wait_s", type=Seconds(), default=60.0, show_default=True, help="Seconds to wait for the end.")
def stop_command(name: str, directory: Path | None, immediate: bool, wait_s: float) -> None:
    """Stop a queue manager: quiesce, or at once.

    \b
    Example:
      quaestor qmgr stop QM1 --immediate
    """
    home = existing(name, directory)
    pid = home.running_pid()
    if pid is None:
        click.echo(f"{name} is not running")
        return
    os.kill(pid, signal.SIGINT if immediate else signal.SIGTERM)
    until = time.monotonic() + wait_s
    while home.running_pid() == pid:
        if time.monotonic() > until:
            raise click.ClickException(f"{name} (process {pid}) is still ending after {wait_s:g} s")
        _pause()
    click.echo(f"{name} has stopped")


@click.command("status")
@click.argument("name")
@directory_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def status_command(name: str, directory: Path | None, as_json: bool) -> None:
    """Whether a queue manager runs, and what it has to do. Exit code 1 when it does not.

    \b
    Example:
      quaestor qmgr status QM1 --json
    """
    found = _status(name, existing(name, directory))
    if as_json:
        click.echo(json.dumps(found))
    else:
        for key, value in found.items():
            click.echo(f"{key:14} {value}")
    raise SystemExit(0 if found["state"] in ("running", "quiescing") else 1)


def _status(name: str, home: "Home") -> dict[str, Any]:
    """What the server says, or why it says nothing."""
    from quaestor.mqi.reasons import MQError
    from quaestor.server.client.opening import LINKS, hello_of
    from quaestor.server.client.place import local_place

    stopped = {"qmgr": name, "state": "stopped", "directory": str(home.directory)}
    if home.running_pid() is None or not home.socket.exists():
        return stopped
    try:
        with LINKS.connect(local_place(name, home.directory), hello_of(name, None, None, "status", b"")) as app:
            found = app.status()
    except MQError as error:
        return {**stopped, "state": "running", "pid": home.running_pid(), "answer": str(error)}
    address = home.address.read_text(encoding="utf-8").strip() if home.address.exists() else ""
    return {**found, "directory": str(home.directory), "listen": address}
