"""`quaestor smf`: read, print, describe, export and synthesise SMF 115 and 116."""

import click

from quaestor.cli.lazy import LazyGroup


@click.group(
    "smf",
    cls=LazyGroup,
    commands={
        "info": "quaestor.cli.smf_info:info_command",
        "print": "quaestor.cli.smf_print:print_command",
        "describe": "quaestor.cli.smf_describe:describe_command",
        "export": "quaestor.cli.smf_export:export_command",
        "synth": "quaestor.cli.smf_synth:synth_command",
    },
)
def smf_group() -> None:
    """SMF 115 and 116 dumps, from this queue manager or from a mainframe.

    \b
    Examples:
      quaestor smf synth --profile small -o dump.smf   a dump to begin with
      quaestor smf info dump.smf                       what is in it
      quaestor smf export dump.smf --to csv -o tables  one file per structure
    """
