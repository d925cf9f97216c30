"""A definition after checking, without an engine: what it reads, what keys depend on, what is refused (I1 to I6)."""

import pytest

from quaestor.pipeline.compilation import check_table, compile_update
from quaestor.pipeline.expressions import columns_in
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.record_scope import EXPLODED, RECORDS, Type
from quaestor.pipeline.update_language import DefinitionError, parse


def compiled(text):
    return [compile_update(each, DEFAULT_PLAN) for each in parse(text, "t.def")]


def update(keys="K = SM116SSI", sets="N = COUNT(*)", frm="SMF_116_01", where=""):
    (found,) = compiled(f"DEFINE UPDATE U FROM {frm} TO T {where} GROUP BY ({keys}) SET ({sets});")
    return found


def key(expression, frm="SMF_116_01"):
    return update(f"K = {expression}", frm=frm).keys[0]


# --- what is read -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "sets", "where", "structures"),
    [
        ("K = SM115SSI", "N = COUNT(*)", "", ("QMST",)),  # the record's own columns stand in every structure
        ("K = SM115SSI", "N = SUM(QMSTPUT)", "", ("QMST",)),
        ("K = SM115SSI", "N = SUM(READCNT)", "", ("Q5ST",)),
        ("K = SM115SSI", "N = SUM(QMSTPUT), M = SUM(READCNT)", "", ("QMST", "Q5ST")),
        ("K = SM115SSI", "N = SUM(READCNT), M = SUM(QMSTPUT)", "", ("QMST", "Q5ST")),  # in the order of the record
        ("K = READCNT", "N = COUNT(*)", "", ("Q5ST",)),
        ("K = SM115SSI", "N = COUNT(*)", "WHERE READCNT > 0", ("Q5ST",)),
        ("K = SM115SSI", "N = COUNT(*)", "WHERE NOT (1 = 1 OR READCNT > 0)", ("Q5ST",)),
        ("K = SM115SSI", "N = SUM(CASE WHEN READCNT > 0 THEN 1 ELSE 0 END)", "", ("Q5ST",)),
        ("K = SM115SSI", "N = SUM(CASE WHEN 1 = 1 THEN READCNT END)", "", ("Q5ST",)),
        ("K = SM115SSI", "N = SUM(CASE WHEN 1 = 1 THEN 1 ELSE READCNT END)", "", ("Q5ST",)),
        ("K = VALUE(READCNT, 0)", "N = COUNT(*)", "", ("Q5ST",)),
        ("K = 1 + READCNT", "N = COUNT(*)", "", ("Q5ST",)),
    ],
)
def test_an_update_reads_the_structures_whose_fields_it_names(keys, sets, where, structures):
    """Wherever the name stands: in a key, a sum, a condition, a branch."""
    assert structures == update(keys, sets, "SMF_115_02", where).structures


def test_the_elements_of_an_array_are_what_an_update_goes_through():
    frm = next(
        f"{name} SECTION {section}"
        for name, each in RECORDS.items()
        for section in each.sections
        if each.sections[section] in EXPLODED
    )
    assert "structures" == update("K = SM115SSI", "N = SUM(QESTCSEC)", frm).exploded
    assert "" == update("K = QPSTPOOL", "N = COUNT(*)", "SMF_115_215 SECTION BUFFER_POOL").exploded


@pytest.mark.parametrize(
    ("expression", "columns"),
    [
        ("SM116SSI", {"queue_manager"}),
        ("SM116SSI || SM116SID", {"queue_manager", "system"}),
        ("HOUR(SM116TME)", {"local_time"}),
        ("CASE WHEN WTASCMN > 0 THEN SM116SSI ELSE SM116SID END", {"commits", "queue_manager", "system"}),
        ("1", set()),
    ],
)
def test_the_columns_of_a_key(expression, columns):
    assert columns == {each.name for each in columns_in(key(expression).value.tree)}


# --- keys that days alone decide --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "days_only"),
    [
        ("SM116DTE", True),
        ("DATE((DAYS(SM116DTE)-1)/7*7+1)", True),
        ("SM116DTE - 1 DAYS", True),
        ("CASE WHEN DAY(SM116DTE) = 1 THEN MONTH(SM116DTE) ELSE 0 END", True),
        ("SM116END", False),  # an interval that midnight closes is of the day before
        ("CASE WHEN DAY(SM116DTE) = 1 THEN WTASCMN ELSE 0 END", False),
        ("CASE WHEN WTASCMN = 1 THEN DAY(SM116DTE) ELSE 0 END", False),
        ("CASE WHEN DAY(SM116DTE) = 1 THEN 1 ELSE WTASCMN END", False),
        ("PERIOD(SM116SID, SM116DTE, SM116TME)", False),
        ("SM116SSI || SM116DTE", False),
        ("1", False),  # depends on nothing, not even on the date
    ],
)
def test_whether_days_map_to_the_values_of_a_key(expression, days_only):
    assert days_only == key(expression).days_only


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("SM116DTE", Type.DATE),
        ("SM116TME", Type.TIME),
        ("WTASCMN", Type.INTEGER),
        ("WTASCMET", Type.DOUBLE),
        ("WTASCMN + 1", Type.INTEGER),
        ("WTASCMN + 1.0", Type.DOUBLE),
        ("1.0 + WTASCMN", Type.DOUBLE),
        ("WTASCMN / 2", Type.INTEGER),
        ("CASE WHEN 1 = 1 THEN 1 ELSE 2 END", Type.INTEGER),
        ("CASE WHEN 1 = 1 THEN 1 ELSE 2.0 END", Type.DOUBLE),
        ("VALUE(WTASCMN, 1)", Type.INTEGER),
        ("VALUE(WTASCMN, 1.0)", Type.DOUBLE),
        ("'A' || 1", Type.STRING),
        ("DATE(1)", Type.DATE),
        ("HOUR(SM116TME)", Type.INTEGER),
        ("ROUND(SM116TME, 1 HOURS)", Type.TIME),
    ],
)
def test_the_type_of_a_key(expression, kind):
    """I1, I2: integers stay integers until a double comes in."""
    assert kind is key(expression).value.type


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("9223372036854775808", "9223372036854775808 is too large for an integer"),
        ("SM116DTE + 36526 DAYS", "36526 DAYS are more than a hundred years"),
        ("SM116DTE * 2 DAYS", r"date \* DAY has no meaning"),
        ("SM116DTE + 2 HOURS", r"date \+ HOUR has no meaning"),
        ("SM116TME / 2 HOURS", "time / HOUR has no meaning"),
        ("WTASCMN + 1 DAYS", r"integer \+ DAY has no meaning"),
        ("WTASCMN + SM116DTE", r"integer \+ date has no meaning"),
        ("ROUND(SM116TME, 0 MINUTES)", "ROUND takes a time"),
        ("ROUND(SM116TME, 25 HOURS)", "ROUND takes a time"),
        ("ROUND(SM116TME, 1 DAYS)", "ROUND takes a time"),
        ("ROUND(SM116TME)", "ROUND takes a time"),
        ("ROUND(SM116TME, 5)", "ROUND takes a time"),
        ("SUBSTR(SM116SSI, 1, 0)", "SUBSTR takes a string"),
        ("SUBSTR(SM116SSI, WTASCMN, 1)", "SUBSTR takes a string"),
        ("VALUE(WTASCMN)", "VALUE takes two or more values of one type"),
        (
            "PERIOD(SM116SID, SM116TME, SM116DTE)",
            r"PERIOD takes system, date and time, not PERIOD\(string, time, date\)",
        ),
        ("CASE WHEN SM116DTE > SM116TME THEN 1 END", "cannot compare date with time"),
        ("CASE WHEN SM116SSI IN ('A', 2) THEN 1 END", "cannot compare integer with string"),
        ("CASE WHEN WTASCMN BETWEEN 1 AND 'B' THEN 1 END", "cannot compare integer with string"),
    ],
)
def test_what_has_no_meaning_is_refused(expression, reason):
    with pytest.raises(DefinitionError, match=reason):
        key(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "9223372036854775807",
        "SM116DTE + 36525 DAYS",
        "SM116DTE - 36525 DAYS",
        "ROUND(SM116TME, 24 HOURS)",
        "ROUND(SM116TME, 1440 MINUTES)",
        "ROUND(SM116TME, 1 MINUTES)",
        "SUBSTR(SM116SSI, 1, 1)",
        "CASE WHEN WTASCMN = 1.0 THEN 1 END",
        "CASE WHEN WTASCMN IN (1, 2.0) THEN 1 END",
    ],
)
def test_the_last_value_that_is_taken(expression):
    assert key(expression).value.tree


@pytest.mark.parametrize(
    ("keys", "sets", "name"),
    [
        ("K = SM116SSI, K = SM116SID", "N = COUNT(*)", "K"),
        ("K = SM116SSI", "N = COUNT(*), N = SUM(WTASCMN)", "N"),
        ("K = SM116SSI", "N = COUNT(*), K = SUM(WTASCMN)", "K"),
    ],
)
def test_a_column_is_set_once(keys, sets, name):
    """I5, with the place of the second."""
    with pytest.raises(DefinitionError, match=rf"t\.def:1:\d+: {name} is set twice"):
        update(keys, sets)


FIRST = "DEFINE UPDATE A FROM SMF_116_01 TO T GROUP BY (Q = SM116SSI, D = SM116DTE) SET (V = SUM(WTASCMN));"


@pytest.mark.parametrize(
    ("keys", "sets", "agree"),
    [
        ("Q = SM116SSI, D = SM116DTE", "V = SUM(WTASCMN)", True),  # adds up
        ("Q = SM116SID, D = SM116DTE", "W = MAX(WTASCMN)", True),  # another column of the same rows
        ("Q = SM116SSI, D = SM116DTE", "V = MIN(WTASCMN)", False),
        ("Q = SM116SSI, D = SM116DTE", "V = COUNT(*)", False),
        ("D = SM116DTE, Q = SM116SSI", "W = SUM(WTASCMN)", False),  # another order
        ("Q = SM116SSI, D = DAY(SM116DTE)", "W = SUM(WTASCMN)", False),  # another type
        ("Q = SM116SSI", "W = SUM(WTASCMN)", False),
        ("Q = SM116SSI, E = SM116DTE", "W = SUM(WTASCMN)", False),
    ],
)
def test_two_updates_of_a_table(keys, sets, agree):
    """I5."""
    both = compiled(f"{FIRST} DEFINE UPDATE B FROM SMF_116_01 TO T GROUP BY ({keys}) SET ({sets});")
    if agree:
        check_table(both)
    else:
        with pytest.raises(DefinitionError, match=r"of T|T has the keys"):
            check_table(both)


@pytest.mark.parametrize("aggregate", ["SUM", "AVG"])
def test_only_numbers_are_summed(aggregate):
    with pytest.raises(DefinitionError, match=f"{aggregate} needs a number, this is a date"):
        update(sets=f"N = {aggregate}(SM116DTE)")


@pytest.mark.parametrize("aggregate", ["MIN", "MAX", "COUNT"])
def test_anything_has_a_least_and_a_greatest(aggregate):
    ((_, value),) = update(sets=f"N = {aggregate}(SM116DTE)").assignments
    assert Type.DATE is value.type


def test_a_count_of_rows_has_no_value():
    ((_, value),) = update(sets="N = COUNT(*)").assignments
    assert value is None


@pytest.mark.parametrize(
    ("frm", "reason"),
    [
        ("SMF_117_00", "no record SMF_117_00; records are SMF_115_01, "),
        ("SMF_115_215", "SMF_115_215 has only sections: say SECTION BUFFER_POOL"),
        ("SMF_116_00 SECTION X", "SMF_116_00 has no section X; sections are none"),
    ],
)
def test_records_that_are_not_there(frm, reason):
    with pytest.raises(DefinitionError, match=reason):
        update(frm=frm)
