"""Update definitions as people write them (rules G1 to G4)."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.pipeline.update_language import (
    Call,
    Case,
    Condition,
    DefinitionError,
    Duration,
    FieldName,
    Literal,
    Operation,
    Place,
    parse,
)

SMALL = "DEFINE UPDATE U FROM R TO T GROUP BY (K = {key}) SET (V = {value});"


def key(text):
    (update,) = parse(SMALL.format(key=text, value="SUM(X)"))
    return update.keys[0].value


def condition(text):
    (update,) = parse(f"DEFINE UPDATE U FROM R TO T WHERE {text} GROUP BY (K = A) SET (V = SUM(X));")
    return update.where


def shape(node):
    """A tree as nested tuples, without places."""
    match node:
        case FieldName():
            return node.name
        case Literal():
            return node.value
        case Duration():
            return (node.amount, node.unit)
        case Operation():
            return (node.operator, shape(node.left), shape(node.right))
        case Call():
            return (node.function, *map(shape, node.arguments))
        case Case():
            branches = tuple((shape(test), shape(result)) for test, result in node.branches)
            return ("CASE", *branches, shape(node.otherwise) if node.otherwise else None)
        case Condition() if len(node.parts) == 1 and node.kind in ("and", "or"):
            return shape(node.parts[0])
        case Condition():
            return (node.kind, *map(shape, node.parts))


def test_the_whole_of_a_definition():
    (update,) = parse(
        """-- commits by day
        DEFINE UPDATE UpdateMq FROM SMF_116_01 SECTION Queue_Block TO DRL.MqStats
          WHERE SM116SSI = 'V521'
          GROUP BY (Date = SM116DTE, QMGR = SM116SSI)
          SET (TotalCommits = SUM(WTASCMN), N = COUNT(*));""",
        "commits.def",
    )
    names = (update.name, update.record, update.section, update.table)
    assert ("UPDATEMQ", "SMF_116_01", "QUEUE_BLOCK", "DRL.MQSTATS") == names
    assert ["DATE", "QMGR"] == [each.column for each in update.keys]
    assert [("TOTALCOMMITS", "SUM"), ("N", "COUNT")] == [(a.column, a.aggregate) for a in update.assignments]
    assert None is update.assignments[1].value
    assert (Place(2, 23), "commits.def") == (update.place, update.source)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A + B * C", ("+", "A", ("*", "B", "C"))),
        ("A - B - C", ("-", ("-", "A", "B"), "C")),
        ("(A + B) / 4096", ("/", ("+", "A", "B"), 4096)),
        ("-A", ("-", 0, "A")),
        ("1.5", 1.5),
        ("'it''s'", "it's"),
        ("a || '.' || B", ("||", ("||", "A", "."), "B")),
        ("DAYS(D - 7 DAYS)/7*7+1", ("+", ("*", ("/", ("DAYS", ("-", "D", (7, "DAY"))), 7), 7), 1)),
        ("TIME(ROUND(T, 5 MINUTES))", ("TIME", ("ROUND", "T", (5, "MINUTE")))),
        ("VALUE(PERIOD(S, D, TIME(T)),'?')", ("VALUE", ("PERIOD", "S", "D", ("TIME", "T")), "?")),
        ("CASE WHEN A = 1 THEN 'X' ELSE B END", ("CASE", (("=", "A", 1), "X"), "B")),
        ("CASE WHEN A > 1 THEN B END", ("CASE", ((">", "A", 1), "B"), None)),
    ],
)
def test_expressions(text, tree):
    assert tree == shape(key(text))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A = 1 AND B <> 2 OR C >= 3", ("or", ("and", ("=", "A", 1), ("<>", "B", 2)), (">=", "C", 3))),
        ("A = 1 AND (B < 2 OR C > 3)", ("and", ("=", "A", 1), ("or", ("<", "B", 2), (">", "C", 3)))),
        ("NOT A IS NULL", ("not", ("null", "A"))),
        ("A IS NOT NULL", ("not null", "A")),
        ("A IN (1, 2)", ("in", "A", 1, 2)),
        ("A BETWEEN 1 AND 2 AND B = 3", ("and", ("between", "A", 1, 2), ("=", "B", 3))),
    ],
)
def test_conditions(text, tree):
    assert tree == shape(condition(text))


NOT_EXPECTED = "is not expected here"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SMALL.format(key="A B = C", value="SUM(X)"), rf"x.def:1:45: 'B' {NOT_EXPECTED}"),
        (SMALL.format(key="A", value="X"), rf"x.def:1:55: 'X' {NOT_EXPECTED}; expected SUM, MIN, MAX, COUNT or AVG"),
        (SMALL.format(key="A", value="SUM(X)")[:-1], r"x.def:1:\d+: the definition ends before its ';'"),
        (SMALL.format(key="A ! B", value="SUM(X)"), r"x.def:1:45: '!' does not belong to the language"),
        (SMALL.format(key="A", value="SUM(*)"), r"x.def:1:59: only COUNT takes '\*', not SUM"),
        ("DEFINE UPDATE U FROM R TO T\nGROUP (K = A);", rf"x.def:2:7: '\(' {NOT_EXPECTED}; expected BY"),
    ],
)
def test_errors_name_line_column_and_what_was_expected(text, message):
    with pytest.raises(DefinitionError, match=message):
        parse(text, "x.def")


def test_a_dash_is_always_minus_and_two_begin_a_comment():
    assert ("-", "A", "B") == shape(key("A - B -- the difference\n"))


WORDS = [
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CASE",
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS",
    "NULL",
    "BETWEEN",
    "SET",
    "GROUP",
    "BY",
    "TO",
    "FROM",
    "WHERE",
    "SECTION",
    "SUM",
    "MIN",
    "MAX",
    "COUNT",
    "AVG",
    "DAY",
    "DAYS",
    "HOUR",
    "HOURS",
    "MINUTE",
    "MINUTES",
]
NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True).filter(lambda name: name not in WORDS)
TREES = st.recursive(
    NAMES | st.integers(0, 99999),
    lambda inner: st.tuples(st.sampled_from("+-*/"), inner, inner),
    max_leaves=12,
)


def written(tree):
    return str(tree) if not isinstance(tree, tuple) else f"({written(tree[1])} {tree[0]} {written(tree[2])})"


@given(TREES)
def test_what_is_written_is_what_is_read(tree):
    assert tree == shape(key(written(tree)))


@given(st.text(max_size=60))
def test_no_text_crashes_the_parser(text):
    """Anything is either a list of updates or a definition error; blanks and comments are no updates."""
    with suppress(DefinitionError):
        assert [] == parse(text)
