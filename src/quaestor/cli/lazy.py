"""A click group whose commands are imported when they are asked for (E3)."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group built from {name: "module:attribute"}; `default` runs when no command is named."""

    def __init__(
        self, *args: Any, commands: Mapping[str, str] | None = None, default: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._places = dict(commands or {})
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = args and (args[0] in self._places or args[0] in ctx.help_option_names)
        if self._default is not None and not known:
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        place = self._places.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command
