"""`quaestor lake`: SMF dumps into tables, and the tables asked and kept in shape."""

import click

from quaestor.cli.lazy import LazyGroup


@click.group(
    "lake",
    cls=LazyGroup,
    commands={
        "load": "quaestor.cli.lake_load:load_command",
        "follow": "quaestor.cli.lake_load:follow_command",
        "rebuild": "quaestor.cli.lake_load:rebuild_command",
        "status": "quaestor.cli.lake_status:status_command",
        "sql": "quaestor.cli.lake_sql:sql_command",
        "purge": "quaestor.cli.lake_status:purge_command",
    },
)
def lake_group() -> None:
    """A lake: tables made from SMF dumps, in a folder or at a URI.

    \b
    Examples:
      quaestor lake load LAKE dumps/*.smf             load dumps; known ones are left out
      quaestor lake status LAKE                       tables, rows, days, bytes
      quaestor lake sql LAKE "SELECT count(*) FROM WTAS"
      quaestor lake purge LAKE --dry-run              what is older than it needs to be
    """
