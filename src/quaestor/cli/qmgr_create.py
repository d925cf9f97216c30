"""`quaestor qmgr create`: the directory of a queue manager, and what it is told."""

import os
from pathlib import Path

import click

from quaestor.cli.qmgr_place import directory_option, home_of, said

EXAMPLES = {"group": "NAME", "structures": "cf:///PATH", "repository": "FILE"}


@click.command("create")
@click.argument("name")
@directory_option
@click.option("--listen", default="", metavar="HOST:PORT", help="Listen on TCP too; without it only locally.")
@click.option("--plain", is_flag=True, help="Allow TCP beyond loopback without TLS.")
@click.option("--no-security", is_flag=True, help="Everybody may do everything, without a password.")
@click.option("--log-mb", type=click.IntRange(1, 4096), help="Size of each active log.  [default: 16]")
@click.option("--logs", type=click.IntRange(2, 310), help="Number of active logs.  [default: 4]")
@click.option("--dual-logs", is_flag=True, help="Keep two copies of the log.")
@click.option("--awake", is_flag=True, help="Keep processors from halting while messages are committed.")
@click.option(
    "--log-space",
    type=click.Choice(["least", "mp16"]),
    default="least",
    show_default=True,
    help="Log space of a message: as little as it takes, or as much as MP16 measured.",
)
@click.option("--group", default="", metavar="NAME", help="Queue-sharing group that it joins, up to four characters.")
@click.option("--structures", default="", metavar="ADDRESS", help="The group's structures: cf:///path or redis://...")
@click.option("--repository", default="", metavar="ADDRESS", help="The group's tables: a file or postgresql://...")
@click.option(
    "--requests",
    type=click.Choice(["fewest", "mp1b"]),
    default="fewest",
    show_default=True,
    help="Requests to structures: as few as it takes, or as many as the version made that MP1B measured.",
)
def create_command(
    name: str,
    directory: Path | None,
    listen: str,
    plain: bool,
    no_security: bool,
    log_mb: int | None,
    logs: int | None,
    dual_logs: bool,
    awake: bool,
    log_space: str,
    group: str,
    structures: str,
    repository: str,
    requests: str,
) -> None:
    """Create a queue manager; whoever does may do everything with it.

    Everybody sees the arguments of a process: an address with a password in it is given as QUAESTOR_STRUCTURES or
    QUAESTOR_REPOSITORY in the environment.

    \b
    Example:
      quaestor qmgr create QM1 --listen 127.0.0.1:1414
      quaestor qmgr create QM2 --group QSG1 --structures cf:///tmp/cf.sock --repository /tmp/QSG1.db
    """
    from quaestor.qmgr.group_settings import GroupSettings, placed, save_group
    from quaestor.server.home import Configuration
    from quaestor.server.listeners import ListenError, check_reach, split_address

    if group:
        structures = structures or os.environ.get("QUAESTOR_STRUCTURES", "")
        repository = repository or os.environ.get("QUAESTOR_REPOSITORY", "")
    home = home_of(name, directory)
    engine = {
        "log_bytes": None if log_mb is None else log_mb << 20,
        "logs": logs,
        "dual_logs": dual_logs or None,
        "awake": awake or None,
        "log_space": None if log_space == "least" else log_space,
    }
    with said():
        _check_whole(group=group, structures=structures, repository=repository)
        settings = placed(GroupSettings(group, structures, repository, requests)) if group else None
        if listen:
            split_address(listen)
        home.create(
            Configuration(
                name,
                listen=listen,
                plain=plain,
                security=not no_security,
                engine={key: value for key, value in engine.items() if value is not None},
            )
        )
        if settings is not None:
            save_group(home.directory, settings)
    click.echo(f"Queue manager {name} created in {home.directory}")
    if listen:
        try:
            check_reach(listen, tls=False, plain_allowed=plain)
        except ListenError as error:  # its certificate is made when it is there
            click.echo(f"{name} does not start yet: {error}", err=True)


def _check_whole(**given: str) -> None:
    """A member of a group is told everything about it, others nothing."""
    absent = [f"--{option} {EXAMPLES[option]}" for option, value in given.items() if not value]
    if 0 < len(absent) < len(given):
        raise ValueError(f"a member of a queue-sharing group also needs {' and '.join(absent)}")
