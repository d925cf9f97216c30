"""A local time as options take it: a day, or a day and a time of it.

Called by commands that look at a span of records.
"""

from datetime import datetime
from typing import Any

import click


class Moment(click.DateTime):
    """A day is its beginning."""

    def get_metavar(self, *_: Any, **__: Any) -> str:
        return "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is not None:
            self.fail(f"{value!r} is no local time; write 2026-03-02, 2026-03-02T09 or 2026-03-02T09:30", param, ctx)
        return moment
