"""Damage on standard error: one line each, capped, with a count; and the exit code that it leads to (E1, E2).

Called by the commands that read dumps.
"""

from dataclasses import dataclass

import click

from quaestor.smf.blocks import Damage

MOST_LINES = 20


@dataclass(slots=True)
class DamageReport:
    """What went wrong while dumps were read."""

    most: int = MOST_LINES
    damages: int = 0
    dumps: int = 0
    unusable: int = 0

    def dump(self) -> None:
        """Another dump is going to be read."""
        self.dumps += 1

    def damaged(self, path: str, damage: Damage) -> None:
        self.damages += 1
        if self.damages <= self.most:
            click.echo(f"{path}: {damage}", err=True)

    def cannot_use(self, path: str, reason: object) -> None:
        self.unusable += 1
        click.echo(f"{path}: {reason}", err=True)

    def close(self) -> int:
        """Say how much was not shown; the exit code: 2 when no dump could be used, 1 for any damage."""
        if self.damages > self.most:
            click.echo(f"{self.damages} damages in all, the first {self.most} shown", err=True)
        if self.unusable and self.unusable == self.dumps:
            return 2
        return 1 if self.damages or self.unusable else 0
