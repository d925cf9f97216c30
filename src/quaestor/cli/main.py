"""The `quaestor` command: nouns are groups, verbs are commands, each in a module of its own.

Rules
  E1  Exit code 0: done. 1: done, but part of the input was damaged or a finding is serious. 2: nothing could be done.
      130: interrupted (Ctrl-C), 141: nobody reads the output any more, 143: terminated.
  E2  What a person must know goes to standard error in one line; results go to standard output.
  E3  A command imports its part of the house when it runs, so that `--help` is quick.
  E4  A standard stream that is closed is /dev/null: no file that is opened takes its number, to be written to by who
      means the stream. Standard input is known to be closed all the same: nothing is read for it.
  E5  Where NO_COLOR is set (no-color.org) a terminal has no colours, nor bold letters.
"""

import os
import sys
from typing import Any

import click

from quaestor import __version__
from quaestor.cli.lazy import LazyGroup
from quaestor.cli.refused import unforeseen, while_read

_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2


class Commands(LazyGroup):
    """All commands; what none of them foresaw is one line too (E2)."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        _hold_streams()
        with while_read():  # usage and errors are shown here
            return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        kwargs.setdefault("color", False if os.environ.get("NO_COLOR") else None)  # E5
        with unforeseen():  # --help and --version write here
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with unforeseen():
            return super().invoke(ctx)


def _hold_streams() -> None:
    """E4."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdout is None:
        sys.stdout = os.fdopen(_STANDARD_OUTPUT, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(_STANDARD_ERROR, "w", encoding="utf-8", closefd=False)


@click.group(
    cls=Commands,
    commands={
        "smf": "quaestor.cli.smf:smf_group",
        "lake": "quaestor.cli.lake:lake_group",
        "report": "quaestor.cli.report:report_group",
        "advise": "quaestor.cli.advise:advise_group",
        "plan": "quaestor.cli.plan:plan_group",
        "qmgr": "quaestor.cli.qmgr:qmgr_group",
        "cf": "quaestor.cli.cf:cf_group",
        "cqs": "quaestor.cli.cqs:cqs_group",
        "log": "quaestor.cli.log:log_group",
        "pageset": "quaestor.cli.pageset:pageset_group",
        "check": "quaestor.cli.check:check_command",
        "mqsc": "quaestor.cli.mqsc:mqsc_command",
        "demo": "quaestor.cli.demo:demo_group",
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="quaestor")
def main() -> None:
    """Transactional queues that account for themselves, and the accounts of a real mainframe.

    \b
    Examples:
      quaestor smf info dump.smf              what is in a dump, and what is damaged
      quaestor smf print dump.smf --limit 3   records as MQ1150, MQ1160 and MQ116S print them
      quaestor lake load LAKE dump.smf        tables and summaries from dumps, with Spark
      quaestor report html -o report.html     exceptions and charts of a lake in one file
      quaestor advise dump.smf                what is wrong, and what to do about it
      quaestor plan workload.toml             how large, how fast, how long
      quaestor qmgr create QM1                a queue manager as a server; then: qmgr start QM1
      quaestor log print QM1                  the log of a queue manager, a line per record
      quaestor check QM1                      whether its files agree, once it has stopped; nothing is changed
      quaestor mqsc QM1                       commands to a queue manager
      quaestor cf start                       structures for queues that several queue managers share
      quaestor cqs query DIRECTORY            queues that transaction managers share (IMS shared queues)
      quaestor demo                           a month's accounts as a report, then a queue manager that is mended
    """


if __name__ == "__main__":
    main()
