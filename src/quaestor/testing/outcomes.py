"""Outcomes: whether units whose commit was not answered can have ended so that everything seen is explained.

Rules
  OC1 A unit has happened or it has not, as a whole: it is one unknown, however many messages it put and got.
  OC2 A condition is a list of alternatives, of which one must hold: (unit, True) or (unit, False).
  OC3 Conditions that contradict each other are told as a smallest set: without any one of them there is an answer.

Called by verdict.  Calls nothing.
"""

from collections.abc import Iterable, Sequence

Alternative = tuple[str, bool]
Condition = frozenset[Alternative]


def solution(conditions: Iterable[Condition]) -> dict[str, bool] | None:
    """An outcome for each unit that is named, such that every condition holds; None when there is none (OC2)."""
    return _extended({}, list(conditions))


def _extended(decided: dict[str, bool], conditions: Sequence[Condition]) -> dict[str, bool] | None:
    """Decide what follows, then guess one unit and go on."""
    while True:
        left = []
        forced: Alternative | None = None
        for condition in conditions:
            if any(decided.get(unit) is happened for unit, happened in condition):
                continue
            open_ = [each for each in condition if each[0] not in decided]
            if not open_:
                return None
            if len(open_) == 1:
                forced = open_[0]
            left.append(condition)
        if forced is None:
            break
        decided = {**decided, forced[0]: forced[1]}
        conditions = left
    if not left:
        return decided
    unit, happened = next(each for each in min(left, key=len) if each[0] not in decided)
    for guess in (happened, not happened):
        found = _extended({**decided, unit: guess}, left)
        if found is not None:
            return found
    return None


def contradiction(conditions: Sequence[Condition]) -> list[int]:
    """The places of a smallest set of conditions that contradict each other; none when all can hold (OC3)."""
    if solution(conditions) is not None:
        return []
    kept = list(range(len(conditions)))
    step = max(1, len(kept) // 2)
    while True:
        at = 0
        while at < len(kept):
            without = kept[:at] + kept[at + step :]
            if solution(conditions[place] for place in without) is None:
                kept = without
            else:
                at += step
        if step == 1:
            return kept
        step = max(1, step // 2)
