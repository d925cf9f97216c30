"""`quaestor log`: the log of a queue manager, in words; and a new one where the old is lost."""

import click

from quaestor.cli.lazy import LazyGroup


@click.group(
    "log",
    cls=LazyGroup,
    commands={
        "print": "quaestor.cli.log_print:print_command",
        "prune": "quaestor.cli.log_keep:prune_command",
        "cold-start": "quaestor.cli.log_keep:cold_start_command",
    },
)
def log_group() -> None:
    """The log of a queue manager: print it, give up what nobody needs, begin a new one.

    DIRECTORY is where the queue manager is kept, or its name if `quaestor qmgr create` made it.

    \b
    Examples:
      quaestor log print QM1 --limit 20             a line per record
      quaestor log prune QM1 --dry-run              which archives nobody needs
    """
