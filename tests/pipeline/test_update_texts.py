"""What is said of a definition that does not fit the grammar, and where its parts stand (G1 to G4)."""

import pytest

from quaestor.pipeline.update_language import (
    Assignment,
    Case,
    DefinitionError,
    Place,
    parse,
    parse_condition,
    parse_expression,
)

WHOLE = "DEFINE UPDATE U FROM R TO T GROUP BY (K = A) SET (V = SUM(X));"


def refusal(text, read=parse):
    with pytest.raises(DefinitionError) as told:
        read(text, "x.def")
    return str(told.value)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("UPDATE U", "1:1", "'UPDATE' is not expected here; expected DEFINE, the end"),
        ("DEFINE U", "1:8", "'U' is not expected here; expected UPDATE"),
        ("DEFINE UPDATE 5", "1:15", "'5' is not expected here; expected a name"),
        ("DEFINE UPDATE U TO T", "1:17", "'TO' is not expected here; expected FROM"),
        (WHOLE.replace("FROM R TO", "FROM R INTO"), "1:24", "'INTO' is not expected here; expected SECTION, TO"),
        (WHOLE.replace("TO T", "TO A.B.C"), "1:30", "'.' is not expected here; expected GROUP, WHERE"),
        (WHOLE.replace("(K", "K"), "1:38", "'K' is not expected here; expected '('"),
        (WHOLE.replace("K =", "K"), "1:41", "'A' is not expected here; expected '='"),
        (WHOLE.replace("SET", "AND"), "1:46", "'AND' is not expected here"),
        (WHOLE.replace("SUM(X)", "SUM X"), "1:59", "'X' is not expected here; expected '('"),
        (WHOLE.replace("SUM(X)", "SUM()"), "1:59", "')' is not expected here; expected"),
        (WHOLE.replace("= A", "= 'open"), "1:43", "''' does not belong to the language"),
        (WHOLE.replace("= A", "= A |B"), "1:45", "'|' does not belong to the language"),
        (WHOLE.replace("= A", "= 5 DAYS 6"), "1:50", "'6' is not expected here"),
        (WHOLE.replace("= A", "= CASE ELSE 1 END"), "1:48", "'ELSE' is not expected here; expected WHEN"),
        (WHOLE.replace("SUM(X)", "avg(*)"), "1:59", "only COUNT takes '*', not AVG"),
        (f"{WHOLE}\n{WHOLE}\nDEFINE X", "3:8", "'X' is not expected here; expected UPDATE"),
    ],
)
def test_the_place_and_what_would_fit(text, place, reason):
    assert refusal(text).startswith(f"x.def:{place}: {reason}")


@pytest.mark.parametrize(
    ("text", "place"),
    [("DEFINE", "1:7"), (WHOLE[:-1], "1:62"), (f"{WHOLE}\nDEFINE UPDATE\n\n", "2:14"), (WHOLE[:40], "1:40")],
)
def test_a_definition_that_ends_too_early(text, place):
    assert f"x.def:{place}: the definition ends before its ';'" == refusal(text)


def test_what_stands_alone_ends_before_its_end():
    """A condition or an expression has no ';' to wait for."""
    assert "x.def:1:4: something is missing at the end" == refusal("A >", parse_condition)
    assert "x.def:1:1: something is missing at the end" == refusal("", parse_expression)


def test_an_error_without_a_file_says_definition():
    with pytest.raises(DefinitionError) as told:
        parse("X")
    assert str(told.value).startswith("definition:1:1: ")
    assert (Place(1, 1), "") == (told.value.place, told.value.source)


def test_words_of_the_language_are_no_names():
    """But a name may begin like one, and an aggregate or a unit may name a column."""
    for word in ("WHEN", "THEN", "ELSE", "END", "CASE", "AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "SET"):
        assert "is not expected here" in refusal(WHOLE.replace("K =", f"{word} ="))
        (update,) = parse(WHOLE.replace("K =", f"{word}S ="))
        assert f"{word}S" == update.keys[0].column


@pytest.mark.parametrize("text", ["A = 1 ANDB = 2", "A = 1 ORB = 2", "A ISNULL", "A BETWEEN1 AND 2", "A INX (1)"])
def test_a_word_ends_where_a_name_would_end(text):
    """G4: what is written together is one word, and nobody guesses two."""
    joined = next(word for word in text.split() if word in ("ANDB", "ORB", "ISNULL", "BETWEEN1", "INX"))
    assert f"'{joined}' is not expected here" in refusal(text, parse_condition)
    assert parse_condition("A IN(1)AND(B=2)OR NOTES=1")


def test_everything_knows_its_place():
    """G3: lines and columns from 1, of the first character of a node."""
    (update,) = parse(
        "DEFINE UPDATE U FROM R TO T\n  WHERE A = 1 AND\n    NOT B IN (2)\nGROUP BY (K = C + 1,\n  L = F(D))\n"
        "SET (V = SUM(CASE WHEN E IS NULL THEN 'x' END),\n     N = COUNT(*));"
    )
    assert Place(1, 15) == update.place
    assert Place(2, 9) == update.where.place
    (both,) = update.where.parts
    assert [Place(2, 9), Place(3, 5)] == [each.place for each in both.parts]
    assert [Place(4, 11), Place(5, 3)] == [each.place for each in update.keys]
    total, call = (each.value for each in update.keys)
    assert (Place(4, 17), Place(4, 15), Place(4, 19)) == (total.place, total.left.place, total.right.place)
    assert (Place(5, 7), Place(5, 9)) == (call.place, call.arguments[0].place)
    first, second = update.assignments
    assert (Place(6, 6), Place(7, 6)) == (first.place, second.place)
    assert isinstance(first.value, Case)
    assert Place(6, 14) == first.value.place
    assert Assignment("N", "COUNT", None, Place(7, 6)) == second


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [("1 DAY", 1, "DAY"), ("7 days", 7, "DAY"), ("2 Hours", 2, "HOUR"), ("05 MINUTE", 5, "MINUTE")],
)
def test_durations_in_one_or_many(text, amount, unit):
    found = parse_expression(f"A - {text}").right
    assert (amount, unit) == (found.amount, found.unit)


def test_a_function_may_bear_the_name_of_a_unit():
    """DAYS(...) behind a number is a mistake of its own, not a duration."""
    assert "DAYS" == parse_expression("DAYS(D)").function
    assert "is not expected here" in refusal("7 DAYS(D)", parse_expression)
