"""`quaestor qmgr`: queue managers as servers: create, start, stop, status, figures, users, grants, TLS."""

import click

from quaestor.cli.lazy import LazyGroup


@click.group(
    "qmgr",
    cls=LazyGroup,
    commands={
        "create": "quaestor.cli.qmgr_create:create_command",
        "start": "quaestor.cli.qmgr_run:start_command",
        "stop": "quaestor.cli.qmgr_run:stop_command",
        "status": "quaestor.cli.qmgr_run:status_command",
        "figures": "quaestor.cli.qmgr_figures:figures_command",
        "user": "quaestor.cli.qmgr_user:user_group",
        "grant": "quaestor.cli.qmgr_user:grant_command",
        "tls": "quaestor.cli.qmgr_tls:tls_command",
    },
)
def qmgr_group() -> None:
    """Queue managers that run as servers.

    \b
    Example:
      quaestor qmgr create QM1 --listen 127.0.0.1:1414
      quaestor qmgr tls QM1 --host localhost
      quaestor qmgr user add QM1 alice
      quaestor qmgr grant QM1 queue 'ORDERS.*' alice put,get,browse
      quaestor qmgr start QM1 --background
      quaestor qmgr status QM1
    """
