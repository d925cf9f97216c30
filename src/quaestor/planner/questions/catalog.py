"""The list of questions: number, wording and the function that answers, in the order of the papers' lists.

Rules
  Q1  A number is the list and the place in it: `ch1-5`, `ch2-19`, `ch4-10`.
  Q2  A question is answered by one function of a load, which yields figures, or raises `MissingError` with what the
      workload lacks; a formula that refuses its inputs leaves the question unanswered with the formula's own words.

Called by plan and by every module of questions.  Calls answer, load.
"""

from collections.abc import Callable
from dataclasses import dataclass

from quaestor.planner.answer import Answer, Figures, MissingError, Refused, Unanswered
from quaestor.planner.questions.load import Load
from quaestor.planner.source import OutOfRangeError

Answering = Callable[[Load], Figures]
LISTS = {"ch1": 46, "ch2": 29, "ch4": 25}


@dataclass(frozen=True, slots=True)
class Question:
    """One question and what answers it."""

    number: str
    text: str
    answer: Answering

    def answers(self, load: Load) -> tuple[list[Answer], list[Unanswered]]:
        """All figures for this question, and what stands in the way of others (Q2)."""
        found: list[Answer] = []
        without: list[Unanswered] = []
        try:
            for each in self.answer(load):
                if isinstance(each, Refused):
                    without.append(Unanswered(self.number, self.text, each.why, each.about))
                else:
                    found.append(each.answers(self.number, self.text))
        except (MissingError, OutOfRangeError) as error:
            without.append(Unanswered(self.number, self.text, str(error)))
        if not found and not without:
            without.append(Unanswered(self.number, self.text, "nothing in this workload asks for it"))
        return found, without


QUESTIONS: dict[str, Question] = {}


def question(number: str, text: str) -> Callable[[Answering], Answering]:
    """Register the function that answers a question (Q1)."""

    def register(answer: Answering) -> Answering:
        if number in QUESTIONS:
            raise ValueError(f"question {number} is answered twice")
        QUESTIONS[number] = Question(number, text, answer)
        return answer

    return register


def beyond(number: str, text: str, why: str) -> None:
    """Register a question that no workload answers, with what it needs instead (Q2)."""

    def answer(_load: Load) -> Figures:
        raise MissingError(why)

    question(number, text)(answer)


def in_order() -> list[Question]:
    """All questions in the order of the lists."""
    places = {f"{chapter}-{place}": None for chapter, last in LISTS.items() for place in range(1, last + 1)}
    return [QUESTIONS[number] for number in places if number in QUESTIONS]
