"""`quaestor smf describe`: any layout as a table."""

import json

import pytest
from click.testing import CliRunner

from quaestor.cli.smf_describe import describe_command
from quaestor.smf.catalog import KINDS, LEVELS, SECTIONS, STRUCTURES, length_at, version
from quaestor.smf.printing import layouts


def run(*args):
    return CliRunner().invoke(describe_command, [*args])


def fields(structure):
    return {line["official"]: line for line in json.loads(run(structure, "--json").stdout)["fields"]}


def test_a_buffer_pool():
    result = run("qpst")
    assert 0 == result.exit_code
    assert "Found in 115-2, 115-215; 104 bytes from 5.2." in result.stdout
    row = next(line for line in result.stdout.splitlines() if "QPSTCBSL" in line)
    expected = [
        "16",
        "4",
        "QPSTCBSL",
        "stealable_low",
        "low",
        "i4",
        "min",
        "5.2",
        "Fewest stealable buffers in interval",
    ]
    assert expected == row.split(maxsplit=8)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("how", [[], ["--json"], ["--markdown"]], ids=["text", "json", "markdown"])
def test_every_structure_shows_every_field(structure, how):
    result = run(structure, *how)
    assert 0 == result.exit_code
    for each in STRUCTURES[structure].LAYOUT.fields:
        assert each.official in result.stdout


def test_without_a_name_all_structures_and_records_are_listed():
    text, listed = run().stdout, json.loads(run("--json").stdout)
    assert set(STRUCTURES) == {each["structure"] for each in listed["structures"]}
    assert {kind.name for kind in KINDS} == {each["record"] for each in listed["records"]}
    assert all(name in text for name in STRUCTURES)
    assert "| 115-201 | page sets | QIS1 |" in run("--markdown").stdout


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("QPTS", "did you mean QTST, QPST"),
        ("QPSTGETP", "did you mean QPST?"),
        ("stealable_low", "did you mean QPST?"),
        ("ZZZZZZZZ", "'quaestor smf describe' lists all structures"),
    ],
)
def test_an_unknown_name_gives_one_line_and_two(asked, hint):
    result = run(asked)
    assert 2 == result.exit_code
    assert "" == result.stdout
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"no structure {asked}: ")
    assert hint in line


def test_json_and_markdown_exclude_each_other():
    assert 2 == run("QPST", "--json", "--markdown").exit_code


@pytest.mark.parametrize("structure", SECTIONS)
def test_since_is_the_first_level_that_holds_the_field(structure):
    cls = SECTIONS[structure]
    for each in cls.LAYOUT.fields:
        since = layouts.since_level(cls.LAYOUT, each)
        before = [level for level in LEVELS if version(level) < version(since)]
        assert length_at(cls, since) >= each.end
        assert all((length_at(cls, level) or 0) < each.end for level in before)


def test_levels_of_the_log_statistics():
    log = fields("QJST")
    assert ["5.2", "8.0", "9.1.2", "9.1.4", "9.4.0"] == [
        log[name]["since"] for name in ("QJSTWRW", "QJSTIO", "QJSTCP1N", "QJSTENCR", "QJSTHLC")
    ]


def test_inner_fields_count_from_their_element():
    log = fields("QJST")
    assert (0, 264, 288) == (log["QJSTIO"]["depth"], log["QJSTIO"]["offset"], log["QJSTIO"]["length"])
    assert (2, 24, "8.0") == (log["QJSTIOMAXIO"]["depth"], log["QJSTIOMAXIO"]["offset"], log["QJSTIOMAXIO"]["since"])
    assert "++24" in run("QJST").stdout


def test_codes_bits_and_unset_values_are_explained():
    assert "1 Local, 2 Model, 3 Alias" in fields("WQST")["QTYPE"]["meaning"]
    assert "x80000000 pool above the bar" in fields("QPST")["QPSTFLAG"]["meaning"]
    assert "268435455 means not set" in fields("WQST")["GETMINMS"]["meaning"]


def test_where_structures_without_a_triplet_are_found():
    assert "WQST, WTAS" == layouts.found_in("CFSTAT")
    assert "every 115 record" == layouts.found_in("SM115")
    assert "the header section" == layouts.found_in("QWHX")
    assert "116-0, 116-1, 116-2" == layouts.found_in("QWA0")
