"""MQSC: text to commands and back; abbreviations, continuation, quotes, WHERE; bad commands are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqi_objects import objects

from quaestor.mqi.mqsc import Command, MQSCError, Where, definition, parse
from quaestor.mqi.mqsc.commands import LISTED
from quaestor.mqi.mqsc.syntax import logical_lines, quoted
from quaestor.mqi.mqsc.words import OBJECTS_OF, keywords_of
from quaestor.mqi.objects import Namelist, QueueManagerAttributes, TriggerType, attributes_of


def one(text):
    (command,) = parse(text)
    return command


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("DEF QL(A)", "DEFINE QLOCAL('A')"),
        ("def ql(a) maxd(5)", "DEFINE QLOCAL('A') MAXDEPTH('5')"),
        ("DIS QS(A) CURD", "DISPLAY QSTATUS('A') CURDEPTH"),
        ("ALT STC(FAST) PSID(2)", "ALTER STGCLASS('FAST') PSID('2')"),
        ("ARC LOG MODE(QUIESCE)", "ARCHIVE LOG MODE('QUIESCE')"),
        ("DIS Q(*)", "DISPLAY QUEUE('*')"),
        ("DIS QMGR", "DISPLAY QMGR"),
        ("DEL QL(A) PURGE", "DELETE QLOCAL('A') PURGE"),
        ("STA TRACE(ACCTG) CLASS(1,3)", "START TRACE('ACCTG') CLASS('1','3')"),
        ("DIS USAGE PSID(*) TYPE(PAGESET)", "DISPLAY USAGE PSID('*') TYPE('PAGESET')"),
        ("DEF QA(A) TARGQ('b')", "DEFINE QALIAS('A') TARGET('b')"),
        ("CLEAR QL(A);", "CLEAR QLOCAL('A')"),
    ],
)
def test_abbreviations(short, full):
    assert one(short).text() == full
    assert one(full).text() == full


def test_continuation_comments_and_empty_lines():
    text = "* heading\n\nDEFINE QLOCAL(A) +\n* inside\n   DESCR('one two +\n      three') MAX-\nDEPTH(7)\n\nDIS QMGR\n"
    define, display = parse(text)
    assert define.attributes() == {"descr": "one two three", "max_depth": 7}
    assert (3, 9) == (define.line, display.line)


@pytest.mark.parametrize("mark", ["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"])
def test_nothing_but_a_line_end_ends_a_command(mark):
    """Y6: what a program took over from somebody else's text is a value, not a second command."""
    text = f"DEFINE QLOCAL(A) +\n   DESCR('one{mark}DELETE QLOCAL(B){mark}')"
    assert f"one{mark}DELETE QLOCAL(B){mark}" == one(text).value("DESCR")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_line_ends_of_any_system_end_a_command(end):
    assert ["DELETE QLOCAL('A')", "DELETE QLOCAL('B')"] == [
        each.text() for each in parse(f"DELETE +{end}  QL(A){end}DELETE QL(B){end}")
    ]


def test_an_empty_line_does_not_end_a_command_that_is_continued():
    """Y1."""
    assert one("DEF QL(A) +\n\n  \n* why\n PUT(DISABLED)") == one("DEF QL(A) PUT(DISABLED)")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("DEF QL(A), PUT(DISABLED),,GET(DISABLED)", "DEF QL(A) PUT(DISABLED) GET(DISABLED)"),
        ("DEF NL(A) NAMES(B C ,'d e',)", "DEF NL(A) NAMES(B,C,'d e')"),
        ("START TRACE(ACCTG) CLASS(1 3)", "START TRACE(ACCTG) CLASS(1,3)"),
        ("DIS QL(*) WHERE(CURDEPTH,GT,5)", "DIS QL(*) WHERE(CURDEPTH GT 5)"),
    ],
)
def test_blanks_and_commas_separate(written, meant):
    """Y5."""
    assert one(written) == one(meant)


def test_unquoted_text_folds_and_quoted_text_does_not():
    command = one("DEF QL(orders) DESCR('It''s mine') PROCESS(run) TRIGDATA('run')")
    assert command.name == "ORDERS"
    assert command.attributes() == {"descr": "It's mine", "process": "RUN", "trigger_data": "run"}


def test_values_are_typed_by_their_declaration():
    command = one("DEF QL(A) SHARE NOTRIGGER TRIGTYPE(DEPTH) PUT(DISABLED) CAPEXPRY(NOLIMIT) DEFPSIST(YES)")
    assert command.attributes() == {
        "share": True,
        "trigger": False,
        "trigger_type": TriggerType.DEPTH,
        "put_allowed": False,
        "max_expiry": 1_000_000_000,
        "def_persistent": True,
    }
    assert one("DEF NL(N) NAMES(A,'b',C)").attributes() == {"names": ("A", "b", "C")}
    assert one("ALT QMGR EXPRYINT(OFF)").attributes() == {"expiry_interval_s": 0}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DEFINE", "DEFINE what"),
        ("D QL(A)", "ambiguous: DEFINE, DELETE, DISPLAY"),
        ("FROB QL(A)", "not a known verb"),
        ("DEF QX(A)", "not a known object"),
        ("DEF QMGR", "not a known object"),
        ("DEF QL(A) COLOUR(RED)", "not a known keyword"),
        ("DEF QL(A) TRIG(1)", "ambiguous"),
        ("DEF QL(A) MAXDEPTH(1) MAXD(2)", "stands twice"),
        ("DEF QL(A) MAXDEPTH", "needs a value"),
        ("DEF QL(A) MAXDEPTH(MANY)", "a number from 0 to 999999999"),
        ("DEF QL(A) MAXDEPTH(1000000000)", "a number from 0 to 999999999"),
        ("DEF QL(A) PUT(MAYBE)", "one of ENABLED, DISABLED"),
        ("DEF QL(A) DESCR(a b)", "must be quoted"),
        ("DEF QL(A) DESCR('" + "x" * 65 + "')", "at most 64 bytes"),
        ("DEF QL(A) REPLACE(YES)", "takes no value"),
        ("DEF QL(A) SHARE(NO)", "SHARE takes no value"),
        ("ALT QL(A) NOTRIGGER()", "NOTRIGGER takes no value"),
        ("DEF QL(A,B)", "takes one name"),
        ("DEF QL(A", "the end of the command"),
        ("DEF QL('A", "expected a value"),
        ("DEF QL(A))", "found ')'"),
        ("(A)", "found '('"),
        ("DEF QL(A) NOSHARE SHARE", "SHARE stands twice"),
        ("DEF QL(A) REPLACE NOREPLACE", "NOREPLACE stands twice"),
        ("DIS QL(A) WHERE(CURDEPTH 0)", "keyword, operator and value"),
        ("DIS QL(A) WHERE(CURDEPTH IS 0)", "not one of"),
        ("DIS QL(A) WHERE(COLOUR EQ RED)", "not a known keyword"),
        ("DIS USAGE WHERE(PSID EQ 1)", "WHERE is not a known keyword"),
        ("DIS THREAD(*) WHERE(TYPE EQ ACTIVE)", "WHERE is not a known keyword"),
        ("DIS TRACE(*) WHERE(CLASS EQ 1)", "WHERE is not a known keyword"),
        ("DIS SECURITY WHERE(TIMEOUT GT 1)", "WHERE is not a known keyword"),
        ("DIS QL(A) WHERE(CURDEPTH GT MANY)", "a number"),
        ("DIS QL(A) WHERE(CURDEPTH LK 1*)", "a number"),
        ("DIS Q(A) WHERE(MAXDEPTH LK 5)", "LT, GT, EQ, NE, LE, GE and a number"),
        ("DIS Q(A) WHERE(CAPEXPRY LT NOLIMIT)", "EQ or NE and NOLIMIT"),
        ("DIS QL(A) WHERE(PUT EQ MAYBE)", "EQ or NE and one of ENABLED, DISABLED"),
        ("DIS QL(A) WHERE(PUT GT ENABLED)", "EQ or NE and one of ENABLED, DISABLED"),
        ("DIS QL(A) WHERE(SHARE EQ 1)", "EQ or NE and one of YES, NO"),
        ("DIS QL(A) WHERE(NOSHARE EQ YES)", "compare SHARE"),
        ("DIS QL(A) WHERE(DESCR CT A)", "LT, GT, EQ, NE, LE, GE, LK, NL"),
        ("DIS NL(A) WHERE(NAMES EQ A)", "CT or EX and a name"),
        ("DEF QL(A) +", "nothing follows"),
    ],
)
def test_bad_commands_are_named(text, why):
    with pytest.raises(MQSCError) as caught:
        [command.attributes() for command in parse(text)]
    assert why in str(caught.value)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("DEF QL(A", "CSQ9002E"),
        ("DEF QL(A) MAXDEPTH((5", "CSQ9031E"),
        ("DEF QL(A)) DESCR(", "CSQ9031E"),
        ("DEF QL(A) DESCR('x", "CSQ9030E"),
        ("DEF", "CSQ9019E"),
        ("DEF QL(A) COLOUR(RED)", "CSQ9001E"),
    ],
)
def test_bad_commands_have_the_codes_of_zos(text, code):
    """Parentheses are what is wrong where the command ends with more opened than closed."""
    with pytest.raises(MQSCError) as caught:
        list(parse(text))
    assert code == caught.value.code


def test_the_place_of_an_error():
    with pytest.raises(MQSCError) as caught:
        list(parse("DIS QMGR\n\nDEF QL(A) COLOUR(RED)"))
    assert (3, 11) == (caught.value.line, caught.value.column)


@pytest.mark.parametrize(
    ("where", "passing", "failing"),
    [
        (Where("CURDEPTH", "GT", "5"), 6, 5),
        (Where("CURDEPTH", "GE", "5"), 5, 4),
        (Where("CURDEPTH", "LT", "10"), 9, 10),
        (Where("CURDEPTH", "LE", "10"), 10, 11),
        (Where("MSGAGE", "LT", "10"), 9, ""),
        (Where("MSGAGE", "LE", "10"), 10, ""),
        (Where("MSGAGE", "GT", "0"), 1, ""),
        (Where("MSGAGE", "NE", "5"), "", 5),
        (Where("MSGAGE", "EQ", " "), "", 5),
        (Where("SIZEUSED", "LT", "50"), 0, ""),
        (Where("DESCR", "LT", "5"), "", "6"),
        (Where("PUT", "EQ", "ENABLED"), "ENABLED", "DISABLED"),
        (Where("PUT", "NE", "ENABLED"), "DISABLED", "ENABLED"),
        (Where("DESCR", "NE", " "), "Payroll", ""),
        (Where("DESCR", "LK", "Pay*"), "Payroll", "Orders"),
        (Where("DESCR", "NL", "Pay*"), "Orders", "Payroll"),
        (Where("NAMES", "CT", "A*"), ("B", "AB"), ("B",)),
        (Where("NAMES", "EX", "A*"), ("B",), ("B", "AB")),
    ],
)
def test_where(where, passing, failing):
    assert where.holds(passing)
    assert not where.holds(failing)


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("DIS QL(*) WHERE(PUT EQ 'enabled')", "ENABLED"),
        ("DIS Q(*) WHERE(CAPEXPRY NE 'nolimit')", "NOLIMIT"),
        ("DIS PRO(*) WHERE(APPLTYPE EQ DEF)", "MVS"),
        ("DIS QL(*) WHERE(DESCR EQ 'enabled')", "enabled"),
        ("DIS QL(*) WHERE(MAXDEPTH EQ 5)", "5"),
        ("DIS QL(*) WHERE(CURDEPTH EQ 5)", "5"),
    ],
)
def test_a_word_is_compared_as_it_is_shown(text, compared):
    """K3: as DEFINE takes it, however it is written."""
    assert compared == one(text).where.value


# -- laws

names = st.text("ABCZ09./_%az", min_size=1, max_size=48)
texts = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029\x85"), max_size=16)


@given(objects())
def test_an_object_written_as_a_command_reads_back_the_same(obj):
    command = definition(obj, replace=not isinstance(obj, QueueManagerAttributes))
    again = one(command.text())
    assert (command.verb, command.noun, command.name, command.parameters) == (
        again.verb,
        again.noun,
        again.name,
        again.parameters,
    )
    base = obj.name if not isinstance(obj, QueueManagerAttributes) else "QM1"
    assert type(obj)(base, **again.attributes()) == obj.altered(name=base, **_fixed(obj))


def _fixed(obj):
    """Attributes that MQSC does not set, as they are by default."""
    return {field: a.default for field, a in attributes_of(type(obj)).items() if a.fixed}


@given(st.data())
def test_any_command_of_the_vocabulary_reads_back(data):
    verb = data.draw(st.sampled_from(sorted(OBJECTS_OF)))
    noun = data.draw(st.sampled_from(sorted(OBJECTS_OF[verb])))
    words = [word for word in keywords_of(verb, noun) if word not in {"WHERE", "ALL", "REPLACE", "NOREPLACE", "PURGE"}]
    words = [word for word in words if word not in {"NOPURGE", "FORCE", "CANCEL"}]
    once = st.lists(st.sampled_from(words), unique_by=lambda word: word.removeprefix("NO"), max_size=4)
    chosen = data.draw(once) if words else []
    values = {word: st.lists(texts, min_size=1, max_size=3 if word in LISTED else 1).map(tuple) for word in chosen}
    parameters = tuple((word, data.draw(st.none() | values[word])) for word in chosen)
    command = Command(verb, noun, data.draw(names), parameters)
    assert one(command.text()) == command


@given(texts)
def test_quoted_text_is_kept(text):
    assert one(f"DEF NL(A) NAMES({quoted(text)})").parameters == (("NAMES", (text,)),)


@given(st.lists(st.sampled_from(["DIS QMGR", "DEF QL(A)", ""]), max_size=5), st.sampled_from(["\n", "\n\n", "\n* c\n"]))
def test_lines_are_commands(lines, gap):
    expected = [line for line in lines if line]
    assert expected == [line for _, line in logical_lines(gap.join(lines))]


def test_a_long_namelist_goes_over_many_lines():
    wanted = Namelist("N", names=tuple(f"NAME{n}" for n in range(256)))
    assert one(definition(wanted).text().replace(",", ",+\n  ")).attributes() == {"names": wanted.names}
