"""Values that make no sense are refused at the door: N1 and N2 from both sides, one argument at a time."""

import re
from importlib import import_module
from math import inf, nan
from typing import get_type_hints

import pytest

from planner import edges_other_chapters, edges_queue_manager, edges_shared_and_channels
from quaestor.planner.source import OutOfRangeError

ALL = [*edges_queue_manager.EDGES, *edges_shared_and_channels.EDGES, *edges_other_chapters.EDGES]
LINES = [(name, valid, *edge) for name, valid, edges in ALL for edge in edges]


def named(name):
    module, _, attribute = name.partition(".")
    return getattr(import_module(f"quaestor.planner.{module}"), attribute)


@pytest.mark.parametrize(("name", "valid", "argument", "refused", "taken"), LINES)
def test_a_value_is_refused_up_to_its_edge_and_taken_from_there(name, valid, argument, refused, taken):
    function = named(name)
    function(**{**valid, argument: taken})
    with pytest.raises(OutOfRangeError, match=rf"(?i)^{argument} {re.escape(f'{refused:.12g}')} is not valid: "):
        function(**{**valid, argument: refused})


@pytest.mark.parametrize(("name", "valid", "edges"), ALL)
def test_what_is_no_number_or_has_no_end_is_refused(name, valid, edges):
    """Not only where a line stands above: every number that the formula takes."""
    function = named(name)
    given = {**valid, **{argument: taken for argument, _, taken in edges}}
    hints = get_type_hints(function.__init__ if isinstance(function, type) else function)
    numbers = {each for each, kind in hints.items() if kind in (int, float) and each != "return"}
    assert {argument for argument, *_ in edges} <= set(hints)
    for argument in numbers:
        for never in (nan, inf, -inf):
            with pytest.raises(OutOfRangeError):
                function(**{**given, argument: never})
