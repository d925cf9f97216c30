"""A progress bar while a dump is read and a person looks on.

Called by the commands that read dumps.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

from quaestor.smf.records import STANDARD_INPUT


@contextmanager
def progress(path: str) -> Iterator[Callable[[int], None]]:
    """A function to call with the bytes done; shows a bar on standard error when that is a terminal."""
    console = Console(stderr=True)
    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(path, total=None if path == STANDARD_INPUT else _size(path))
        yield lambda done: bar.update(task, completed=done)


def _size(path: str) -> int | None:
    """How long a dump is, where that is known: one that is open already may have lost its name."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return None
