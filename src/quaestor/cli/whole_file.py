"""A file that a command writes appears whole or not at all.

Rules
  WF1 It is made beside its place under a hidden name, and takes its place when all of it is written: what fails, is
      interrupted or is killed leaves the file that was there.
  WF2 It has the rights of the file that it replaces. A link stays a link: what it leads to is replaced.
  WF3 What is no file (a pipe, a terminal, /dev/null) is written as it is; so is a file in a folder that takes no other.
  WF4 SIGTERM ends the command as Ctrl-C does: what was begun is taken away first. A second one ends it at once.
  WF5 A file that could not be written is refused when the command begins, not when its work is done.

Called by commands that write files.
"""

import errno
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, NoReturn

import click

from quaestor.cli.refused import Refused

RIGHTS = 0o777
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class FileToBe(click.Path):
    """The name of a file that a command is to write (WF5)."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, readable=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        output = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            _check(output)
        except OSError as error:
            raise Refused(f"{output}: {error.strerror}") from None
        return output


def _check(output: Path) -> None:
    """Refuse what cannot be made there, or not be replaced (WF5)."""
    if not is_file_to_be(output):
        return
    place = Path(os.path.realpath(output))
    needed = place if place.exists() else place.parent
    needed.stat()  # says what is missing
    if needed != place and not needed.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(needed, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def is_file_to_be(output: Path) -> bool:
    """Whether a plain file is there, or nothing yet."""
    return output.is_file() or not output.exists()


@contextmanager
def whole_file(output: Path) -> Iterator[BinaryIO]:
    """A stream to write the file with (WF1-WF4)."""
    place = Path(os.path.realpath(output))
    if not is_file_to_be(output) or (place.exists() and not os.access(place.parent, os.W_OK)):  # WF3
        with output.open("wb") as stream:
            yield stream
        return
    fresh = place.with_name(f".quaestor-{os.getpid()}-{os.urandom(4).hex()}")
    with terminable():
        try:
            with _opened(fresh, place, output) as stream:
                yield stream
            fresh.replace(place)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise


def _opened(fresh: Path, place: Path, output: Path) -> BinaryIO:
    """The file that is to take its place, with the rights it will have (WF2); what fails names the output."""
    try:
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        stream = os.fdopen(os.open(fresh, _FRESH, 0o666), "wb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(output)) from None
    if place.exists():
        os.fchmod(stream.fileno(), place.stat().st_mode & RIGHTS)
    return stream


@contextmanager
def terminable() -> Iterator[None]:
    """WF4; in a thread, or where somebody else has decided, signals are left alone."""
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)
