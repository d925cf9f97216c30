"""Which record holds what, at which level, how long: the tables of the catalogue (rules K1 to K3, H1)."""

import pytest

from quaestor.smf.catalog import (
    CATALOG,
    CURRENT_LEVEL,
    KINDS,
    LEVELS,
    SECTIONS,
    STRUCTURES,
    homes,
    length_at,
    version,
)
from quaestor.smf.header import header_lengths
from quaestor.smf.writer import RecordIdentity, build_record

# record: {triplet: structure}, those that repeat, triplets of its table
RECORDS = {
    (115, 1): ({9: "QSST", 11: "QJST"}, "", 12),
    (115, 2): (
        {1: "QMST", 2: "QIST", 3: "QPST", 4: "QLST", 5: "Q5ST", 6: "QEST", 7: "QTST", 8: "QESD"},
        "QPST QESD",
        9,
    ),
    (115, 5): ({1: "QSPH"}, "QSPH", 2),
    (115, 6): ({1: "QSGM"}, "QSGM", 2),
    (115, 7): ({1: "QSRS"}, "", 2),
    (115, 201): ({1: "QIS1"}, "QIS1", 2),
    (115, 215): ({1: "QPST"}, "QPST", 2),
    (115, 216): ({1: "QQST"}, "QQST", 2),
    (115, 231): (
        {1: "QCCT", 2: "QCT_DSP", 3: "QCT_ADP", 4: "QCT_SSL", 5: "QCT_DNS"},
        "QCT_DSP QCT_ADP QCT_SSL QCT_DNS",
        6,
    ),
    (115, 240): ({}, "", 2),
    (116, 0): ({1: "QWAC", 2: "QMAC"}, "", 7),
    (116, 1): ({1: "WTID", 2: "WTAS", 3: "WQST"}, "WQST", 7),
    (116, 2): ({1: "WTID", 2: "WQST"}, "WQST", 7),
    (116, 10): ({1: "QCST"}, "QCST", 2),
}

# structure: {first level of a length: length}; nothing before the first
LENGTHS = {
    "QJST": {"5.2": 120, "8.0": 576, "9.1.2": 592, "9.1.4": 596, "9.4.0": 720},
    "QMST": {"5.2": 48, "7.0": 72, "9.0.3": 104, "9.4.3": 300, "9.4.5": 328},
    "QIST": {"5.2": 76, "8.0": 80},
    "QLST": {"5.2": 32},
    "QPST": {"5.2": 104},
    "QEST": {"5.2": 4104},
    "QQST": {"9.3.0": 84, "9.3.1": 120, "9.3.3": 552, "9.4.3": 672},
    "QIS1": {"9.0": 104},
    "QCCT": {"8.0": 48, "9.3.5": 64},
    "QCST": {"8.0": 324, "10.0.0": 340},
    "WTID": {"5.2": 208},
}


def test_every_record_kind_is_in_the_table():
    assert set(RECORDS) == set(CATALOG) == {(kind.record_type, kind.subtype) for kind in KINDS}


@pytest.mark.parametrize("key", RECORDS)
def test_a_record_holds_its_structures_by_triplet(key):
    slots, repeats, triplets = RECORDS[key]
    kind = CATALOG[key]
    assert slots == {slot.triplet: slot.section.LAYOUT.structure for slot in kind.slots}
    assert set(repeats.split()) == {slot.section.LAYOUT.structure for slot in kind.slots if slot.repeats}
    assert f"{key[0]}-{key[1]}" == kind.name
    assert 8 * triplets == kind.triplets.LAYOUT.size


def test_what_else_is_special_about_a_record():
    def names(what):
        return {kind.name for kind in KINDS if getattr(kind, what)}

    assert {"115-5", "115-6", "115-7"} == names("stub")
    assert {"115-231", "116-10"} == names("tod_interval")
    assert {"116-0", "116-1", "116-2"} == names("correlated")
    assert {"116-1", "116-2"} == names("counts_triplets")


@pytest.mark.parametrize("structure", LENGTHS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_length_is_that_of_the_last_step_up_to_the_level(structure, level):
    """K3."""
    steps = [length for since, length in LENGTHS[structure].items() if version(since) <= version(level)]
    assert (steps[-1] if steps else None) == length_at(SECTIONS[structure], level)


def test_levels_are_in_order_and_ten_comes_after_nine():
    assert sorted(LEVELS, key=version) == list(LEVELS)
    assert version("9.4.5") < version("10.0") <= version(CURRENT_LEVEL)
    assert (9, 0) < version("9.0.3") < (9, 1)
    assert ("5.2", "10.0.0") == (LEVELS[0], LEVELS[-1])


@pytest.mark.parametrize(
    ("level", "in_115_2", "in_115_215"), [("5.2", True, True), ("7.1", True, True), ("8.0", False, True)]
)
def test_buffer_pools_left_the_message_record_at_v8(level, in_115_2, in_115_215):
    found = [
        slot.used_at(level)
        for key in ((115, 2), (115, 215))
        for slot in CATALOG[key].slots
        if slot.section.LAYOUT.structure == "QPST"
    ]
    assert [in_115_2, in_115_215] == found


@pytest.mark.parametrize(
    ("structure", "records"),
    [("QPST", ["115-2", "115-215"]), ("WQST", ["116-1", "116-2"]), ("WTID", ["116-1", "116-2"]), ("QWHS", [])],
)
def test_where_a_structure_is_at_home(structure, records):
    assert records == homes(structure)


def test_every_section_is_a_structure_under_its_name():
    for name, section in STRUCTURES.items():
        assert name == section.LAYOUT.structure
    assert set(SECTIONS) < set(STRUCTURES)
    assert 40 == len(STRUCTURES)


# --- the header section ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "length", "parts"),
    [
        ((115, 2), 52, (52, 0, 0)),
        ((115, 2), 68, (52, 0, 16)),
        ((115, 2), 36, (36, 0, 0)),
        ((115, 2), 67, (52, 0, 0)),
        ((115, 2), 4, (4, 0, 0)),
        ((115, 2), 100, (52, 0, 16)),
        ((116, 10), 52, (52, 0, 0)),
        ((116, 1), 128, (36, 92, 0)),
        ((116, 1), 144, (36, 92, 16)),
        ((116, 1), 143, (36, 92, 0)),
        ((116, 1), 127, (36, 0, 0)),
        ((116, 1), 52, (36, 0, 0)),
        ((116, 1), 20, (20, 0, 0)),
        ((116, 0), 144, (36, 92, 16)),
        ((115, 5), 4, (0, 0, 0)),
        ((115, 5), 19, (0, 0, 0)),
        ((115, 5), 20, (0, 0, 16)),
        ((115, 7), 24, (0, 0, 16)),
    ],
)
def test_the_length_of_the_header_section_tells_its_parts(key, length, parts):
    """H1: QWHS, QWHC, QWHX."""
    assert parts == header_lengths(CATALOG[key], length)


@pytest.mark.parametrize(
    ("key", "at_v8", "at_v10"),
    [
        ((115, 1), 52, 68),
        ((115, 2), 52, 68),
        ((115, 5), 4, 20),
        ((115, 215), 52, 68),
        ((115, 231), 52, 68),
        ((116, 0), 128, 144),
        ((116, 1), 128, 144),
        ((116, 10), 52, 68),
    ],
)
def test_the_writer_makes_the_header_sections_that_were_seen(key, at_v8, at_v10):
    def length(level):
        made = build_record(CATALOG[key], [], RecordIdentity("SYSA", "QM01", level), 10**15)
        return int.from_bytes(made[32:34], "big")

    assert (at_v8, at_v10) == (length("8.0"), length("10.0.0"))


@pytest.mark.parametrize(
    ("level", "three", "six"),
    [
        ("5.2", "520", "050200"),
        ("5.3.1", "531", "050301"),
        ("8.0", "800", "080000"),
        ("9.0.3", "903", "090003"),
        ("9.4.5", "945", "090405"),
        ("10.0.0", "946", "100000"),
    ],
)
def test_a_release_in_three_and_in_six_digits(level, three, six):
    """Three digits have stood still since V10 (H3)."""
    identity = RecordIdentity("SYSA", "QM01", level)
    assert (three, six) == (identity.release, identity.long_release)
