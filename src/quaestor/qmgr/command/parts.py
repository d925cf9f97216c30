"""Parts: what the rest of the house gives to the commands, at any time after they are built.

Called by whoever builds a queue manager: the server, statistics.  Read by tracing, system and structures at each
command.
"""

from collections.abc import Callable
from dataclasses import dataclass

from quaestor.qmgr.command.group_part import SharingGroup
from quaestor.qmgr.command.traces import NoTraces, Traces

Stop = Callable[[str], None]
"""End the queue manager soon, in a mode: QUIESCE, FORCE or RESTART. It must not wait for the end."""


@dataclass(slots=True)
class Parts:
    """Who keeps the traces, who ends the queue manager (nobody, when it is embedded), and the group it belongs to."""

    traces: Traces | None = None
    stop: Stop | None = None
    group: SharingGroup | None = None

    @property
    def keeper(self) -> Traces:
        """Who keeps the traces, or who says that nobody does."""
        return self.traces or NoTraces()
