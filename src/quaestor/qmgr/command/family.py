"""Families of commands: a class whose methods say which commands they run.

Rules
  FM1 A method is marked with the verb and noun it runs. What is marked is what is supported: the processor, the page
      of the reference and the completion of the prompt read the marks.
  FM2 It is given the command and the user, and answers parts of a reply; what cannot be done is an `MQError` or an
      `MQSCError`, which the processor turns into messages.
  FM3 It runs with the engine latch held, unless it says that it does not (it ends connections, or the queue manager).
  FM4 Before restart only what is marked `early` can run: there are no objects yet.
  FM5 A command that waits for applications says so (`NotYet`): it is tried again, without the latch in between, until
      its time has passed. Meanwhile the gate is closed to those who would begin a unit (GA1). One whose operator is not
      to wait is answered with what it has `begun` and tried again by a background step; how it ended is told then.

Called by every family.  Calls nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.qmgr.command.reply import Part, Said

Method = TypeVar("Method", bound=Callable[..., Iterable[Part]])


class NotYet(Exception):  # noqa: N818 - an answer
    """What is in the way of a command, how many seconds it waits for that to end, what it has begun (FM5)."""

    def __init__(self, error: MQSCError, seconds: int, begun: Said | None) -> None:
        super().__init__(str(error))
        self.error, self.seconds, self.begun = error, seconds, begun


@dataclass(frozen=True, slots=True)
class Mark:
    """A command that a method runs (FM1)."""

    verb: str
    noun: str
    latched: bool
    early: bool


@dataclass(frozen=True, slots=True)
class Runner:
    """A marked method of an instance."""

    mark: Mark
    run: Callable[[Command, str], Iterable[Part]]


def runs(verb: str, *nouns: str, latched: bool = True, early: bool = False) -> Callable[[Method], Method]:
    """Mark a method with what it runs."""

    def marked(method: Method) -> Method:
        before: tuple[Mark, ...] = getattr(method, "marks", ())
        made = tuple(Mark(verb, noun, latched, early) for noun in nouns)
        method.marks = before + made  # type: ignore[attr-defined] # read by `marks_of`
        return method

    return marked


def marks_of(family: type) -> Iterator[tuple[str, Mark]]:
    """Names of methods and what they run."""
    for name, method in vars(family).items():
        for mark in getattr(method, "marks", ()):
            yield name, mark


def runners(family: Any) -> dict[tuple[str, str], Runner]:
    """{(verb, noun): what runs it} of one family."""
    return {(mark.verb, mark.noun): Runner(mark, getattr(family, name)) for name, mark in marks_of(type(family))}
