"""What a command cannot do, in one line with exit code 2 (E1, E2): what it refuses itself, and what nobody foresaw.

Rules
  U1  A package that is not installed is told with the extra that brings it, as the package's own metadata has it.
  U2  What the operating system or a file system far away refuses is told with the file, where there is one. A reader
      that went away (`| head`) is not told: the command ends with 141, as a shell shows it of who dies of SIGPIPE. What
      was kept for the end is written before that, and is no different.
  U3  Bytes of the command line that are no UTF-8, and characters that the terminal has no bytes for, are told as such.
  U4  An interrupt is one word, and exit code 130; so is a question that is not answered or answered with no, with 2.

Called by commands that refuse an input, and by main around every command.
"""

import os
import re
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

SURROGATES = ("\ud800", "\udfff")
_OF_AN_EXTRA = re.compile(r"^([A-Za-z0-9_-]+).*extra == '(\w+)'")


READER_GONE = 128 + signal.SIGPIPE
_OUTPUTS = (1, 2)


class Refused(click.ClickException):
    """An input that cannot be used: what is wrong with it, a line for each mistake."""

    exit_code = 2


class Unfinished(click.ClickException):
    """What was not begun: a question was answered with no, or not at all (U4)."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__("Aborted!")

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file, err=True)


class Interrupted(Unfinished):
    """What was not done to its end (U4)."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(file=file, err=True)  # behind the ^C that a terminal shows
        super().show(file)


@contextmanager
def unforeseen() -> Iterator[None]:
    """A line in place of a traceback, where a person can do something about it."""
    try:
        with while_read():
            yield
    except KeyboardInterrupt:  # U4
        raise Interrupted from None
    except click.Abort:
        raise Unfinished from None
    except ModuleNotFoundError as error:  # U1
        package = (error.name or "").partition(".")[0]
        extra = extra_with(package)
        if extra is None:
            raise
        raise Refused(f"this needs the package {package}: pip install 'quaestor[{extra}]'") from None
    except OSError as error:  # U2
        if not str(error):
            raise
        raise Refused(in_words(error)) from None
    except UnicodeEncodeError as error:  # U3
        raise Refused(_not_written(error)) from None


@contextmanager
def while_read() -> Iterator[None]:
    """The end, without a word, when nobody reads what is written (U2)."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _reader_is_gone():
            raise
        sys.exit(READER_GONE)


def _reader_is_gone() -> bool:
    """Whether nobody reads an output any more; what is still to be written there goes nowhere, without a word."""
    outputs = select.poll()
    for each in _OUTPUTS:
        outputs.register(each, 0)
    gone = [number for number, event in outputs.poll(0) if event & select.POLLERR]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in gone:
        os.dup2(nowhere, number)
    os.close(nowhere)
    return bool(gone)


def _not_written(error: UnicodeEncodeError) -> str:
    """Bytes that are no UTF-8 come from the command line as surrogates; anything else could not be written out."""
    character = error.object[error.start]
    if SURROGATES[0] <= character <= SURROGATES[1]:
        return f"this is not UTF-8: {error.object.encode(errors='backslashreplace').decode()}"
    return f"{character!a} cannot be written as {error.encoding}; PYTHONIOENCODING=utf-8 can"


def in_words(error: Exception, place: object = None) -> str:
    """What went wrong; of the operating system's refusals with the file, or else the place, that it is about (U2)."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error) if place is None else f"{place}: {error}"
    where = place if error.filename is None else error.filename
    return error.strerror if where is None else f"{where}: {error.strerror}"


def extra_with(package: str) -> str | None:
    """The extra of quaestor that brings a package; None when no extra does."""
    from importlib.metadata import requires

    for requirement in requires("quaestor") or ():
        found = _OF_AN_EXTRA.match(requirement)
        if found and found[1].replace("-", "_") == package and found[2] != "dev":
            return found[2]
    return None
