"""A declaration as a table: what `smf describe` and docs/formats are made of."""

import pytest

from quaestor.smf.catalog import HEADERS, KINDS, SECTIONS, STRUCTURES, TRIPLETS
from quaestor.smf.printing.layouts import (
    HEADING,
    about,
    as_markdown,
    as_text,
    field_lines,
    field_table,
    found_in,
    lengths_text,
    near,
    record_table,
    since_level,
    structure_table,
    title,
)


def line(structure, official):
    return next(each for each in field_lines(STRUCTURES[structure]) if each.official == official)


def test_a_field_is_told_with_place_name_kind_and_meaning():
    made = line("QPST", "QPSTCBSL")
    assert ("16", "4", "QPSTCBSL", "stealable_low", "low i4", "min", "", "5.2") == made.row()[:8]
    assert "Fewest stealable buffers in interval" == made.row()[8]


def test_how_intervals_add_up_is_told_where_they_do():
    """A count is added up, of a low water mark the least counts, a name is a key; a block's own length is nothing."""
    told = [line("QPST", official).adds_up for official in ("QPSTGETP", "QPSTCBSL")]
    assert ["sum", "min", "key", ""] == [*told, line("WTID", "WTIDCCN").adds_up, line("QWHC", "QWHCLEN").adds_up]


@pytest.mark.parametrize(
    ("structure", "official", "since"),
    [
        ("QMST", "QMSTOPEN", "5.2"),
        ("QQST", "QQSTQNAM", "9.3.0"),
        ("QWHX", "QWHXREL", "10.0.0"),
        ("SM115", "SM115LEN", ""),
    ],
)
def test_a_field_is_there_since_its_whole_length_is(structure, official, since):
    """Blank where every level has it."""
    layout = STRUCTURES[structure].LAYOUT
    each = next(field for field in layout.fields if field.official == official)
    assert since == since_level(layout, each) == line(structure, official).since


def test_fields_of_an_inner_array_follow_it_with_offsets_of_their_own():
    lines = list(field_lines(STRUCTURES["QEST"]))
    outer = next(each for each in lines if each.name == "structures")
    inner = [each for each in lines if each.depth == 1]
    assert (0, 8, 64 * 64) == (outer.depth, outer.offset, outer.length)
    assert outer.kind.endswith("[64]")
    assert "+0" == inner[0].row()[0]
    assert {outer.since} == {each.since for each in inner}
    assert lines.index(outer) + 1 == lines.index(inner[0])
    assert max(each.offset + each.length for each in inner) <= 64


def test_codes_bits_and_what_means_none_stand_behind_the_meaning():
    assert "1 CICS, 2 Batch/TSO" in line("QWHC", "QWHCATYP").meaning
    assert "x80 Internal SMF flag bit, x40 QWHX follows the header(s)" in line("QWHS", "QWHSFLAG1").meaning
    unset = [each.meaning for each in field_lines(SECTIONS["WQST"]) if "means not set" in each.meaning]
    assert unset
    assert all("268435455 means not set" in each for each in unset)


def test_text_and_bytes_need_no_wire_form():
    assert "text" == line("SM115", "SM115SID").kind
    assert "number u2" == line("SM115", "SM115STF").kind
    assert "token" == line("QWHC", "QWHCCV").kind


def test_plain_is_what_json_shows():
    made = line("QPST", "QPSTCBSL").plain()
    assert (16, 4, "QPSTCBSL", 0) == (made["offset"], made["length"], made["official"], made["depth"])


# --- tables ----------------------------------------------------------------------------------------------------------

TABLE = [("Name", "What"), ("a", "first"), ("longer", "x|y")]


def test_a_table_as_text_has_two_blanks_between_its_columns():
    assert "Name    What\na       first\nlonger  x|y" == as_text(TABLE)


def test_a_table_as_markdown_keeps_its_bars_apart():
    assert "| Name | What |\n| --- | --- |\n| a | first |\n| longer | x\\|y |" == as_markdown(TABLE)


def test_a_field_table_has_a_heading_and_a_row_for_each_field():
    table = field_table(SECTIONS["QLST"])
    assert HEADING == table[0]
    assert "Offset Length Official Name Kind Adds up Unit Since Meaning" == " ".join(HEADING)
    assert [each.official for each in SECTIONS["QLST"].LAYOUT.fields] == [each[2] for each in table[1:]]


def test_every_structure_is_listed_once_by_name():
    heading, *rows = structure_table()
    assert ("Structure", "Length", "Found in", "What it is") == heading
    assert sorted(STRUCTURES) == [each[0] for each in rows]
    assert ("QLST", "32", "115-2") == next(each for each in rows if each[0] == "QLST")[:3]


def test_every_record_is_listed_with_its_structures():
    heading, *rows = record_table()
    assert ("Record", "What it is", "Structures") == heading
    told = {name: structures for name, _, structures in rows}
    assert [each.name for each in KINDS] == list(told)
    assert "WTID, WTAS, WQST" == told["116-1"]
    assert "-" == told["115-240"]


# --- what is said about a structure ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("structure", "text"),
    [
        ("QLST", "32 bytes from 5.2"),
        ("QCCT", "48 bytes from 8.0, 64 bytes from 9.3.5"),
        ("QQST", "84 bytes from 9.3.0, 120 bytes from 9.3.1, 552 bytes from 9.3.3, 672 bytes from 9.4.3"),
        ("SM115", "28 bytes"),
    ],
)
def test_how_long_a_structure_is_at_which_level(structure, text):
    assert text == lengths_text(STRUCTURES[structure])


@pytest.mark.parametrize(
    ("structure", "places"),
    [
        ("QPST", "115-2, 115-215"),
        ("WTID", "116-1, 116-2"),
        ("SM115", "every 115 record"),
        ("SM116", "every 116 record"),
        ("QWHS", "the header section"),
        ("QWHX", "the header section"),
    ],
)
def test_where_a_structure_is_found(structure, places):
    assert places == found_in(structure)


def test_triplets_are_found_in_the_records_that_have_them():
    for each in TRIPLETS:
        places = found_in(each.LAYOUT.structure).split(", ")
        assert [kind.name for kind in KINDS if kind.triplets is each] == places


def test_a_part_of_other_structures_names_them():
    """The figures of calls to the coupling facility stand inside tasks and queues."""
    inner = [name for name in STRUCTURES if STRUCTURES[name] not in (*HEADERS, *TRIPLETS, *SECTIONS.values())]
    assert ["WQST", "WTAS"] == found_in(inner[0]).split(", ")


def test_a_title_is_the_first_line_of_the_class_without_its_name():
    assert title(STRUCTURES["QWHX"]).startswith("Queue-sharing group and true release")
    for structure, section in STRUCTURES.items():
        assert not title(section).startswith(structure)
        assert title(section)[0] == title(section)[0].upper()


def test_about_a_structure_in_two_sentences():
    text = about(SECTIONS["QPST"])
    assert text.endswith("\n\nFound in 115-2, 115-215; 104 bytes from 5.2.")
    assert text.startswith(title(SECTIONS["QPST"]))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("QPTS", "QPST"), ("qpst", "QPST"), ("QPSTCBSL", "QPST"), ("stealable_low", "QPST"), ("WQTS", "WQST")],
)
def test_a_mistyped_name_is_near_the_structure_that_was_meant(typed, meant):
    """The official or our own name of a field leads to the structure that has it."""
    assert meant in near(typed)


def test_what_is_near_nothing_is_near_nothing():
    assert [] == near("ZZZZZZZZ")
