"""`quaestor advise`: dumps in, findings out."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from cli.terminal import shown
from pipeline.planted import lake_of
from quaestor.cli.main import main
from quaestor.smf.dump import DumpWriter
from quaestor.smf.synth.generate import generate, with_days
from quaestor.smf.synth.profile_file import load_profile


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """The first day of the profile with incidents."""
    path = tmp_path_factory.mktemp("advise") / "incidents.smf"
    with path.open("wb") as stream, DumpWriter(stream) as writer:
        generate(with_days(load_profile("incidents"), 1), writer)
    return str(path)


def quaestor(*arguments):
    return CliRunner().invoke(main, ["advise", *map(str, arguments)])


def test_findings_as_a_person_reads_them(dump):
    result = quaestor(dump, "--qmgr", "QM01")
    assert 1 == result.exit_code  # an alert
    first = result.stdout.split("\n\n")[0].splitlines()
    assert first[0].startswith("ALERT    QM01 buffer pool 3: No buffer was free  [mp1b/A-24]")
    assert "  when     2 of 24 intervals, 2026-03-02 09:00 to 11:00" in first
    assert "  worst    2026-03-02 10:00 to 11:00: what and figures are of it" in first
    text = " ".join(line.strip() for line in first)
    assert "QPSTSOS short_on_storage 4" in text
    assert "do       ALTER BUFFPOOL(3) BUFFERS(25000)" in text
    assert "effect   25,000 buffers leave" in text
    assert "source   MP1B" in text
    assert "QM02" not in result.stdout


def test_findings_as_json(dump):
    found = json.loads(quaestor(dump, "--json").stdout)
    assert {"QM01", "QM02", "QM03"} == {each["queue_manager"] for each in found["findings"]}
    assert {"alert", "warning"} == {each["severity"] for each in found["findings"]}
    assert "setting logload is not known" in found["not_run"].values()


def test_the_same_dump_twice_says_what_it_says_once(dump):
    once, twice = quaestor(dump, "--json"), quaestor(dump, dump, "--json")
    assert json.loads(once.stdout) == json.loads(twice.stdout)
    assert "records came more than once and count once" in twice.stderr
    assert "" == once.stderr


def test_a_range_of_time(dump):
    found = json.loads(quaestor(dump, "--json", "--from", "2026-03-02T12:30", "--to", "2026-03-02T14:30").stdout)
    assert {"mp1b/A-36", "mp1b/A-37", "mp1b/A-14"} == {each["rule"] for each in found["findings"]}


def test_the_range_that_a_finding_tells_holds_all_of_it(dump):
    """Statistics carry the end of their interval: ten to eleven is part of nine to eleven, eight to nine is not."""
    (whole,) = (each for each in found_in(dump) if each["rule"] == "mp1b/A-24" and each["queue_manager"] == "QM01")
    assert ("2026-03-02 09:00:00", "2026-03-02 11:00:00") == (whole["first"], whole["last"])
    (again,) = (
        each for each in found_in(dump, "--from", whole["first"], "--to", whole["last"]) if each["rule"] == "mp1b/A-24"
    )
    assert {**whole, "intervals_seen": 2} == again


@pytest.mark.parametrize("narrow", [("--qmgr", "QM99"), ("--from", "2027-01-01")])
def test_nothing_to_look_at_is_not_nothing_wrong(dump, narrow):
    result = quaestor(dump, *narrow)
    assert 2 == result.exit_code
    assert "nothing was looked at" in result.stderr


@pytest.mark.parametrize("option", ["--settings", "--cutoffs"])
def test_a_file_that_is_no_text_is_told_in_one_line(dump, tmp_path, option):
    listing = tmp_path / "listing.txt"
    listing.write_bytes("DESCR(Aufträge)".encode("latin-1"))
    result = quaestor(dump, option, listing)
    assert 2 == result.exit_code
    assert "listing.txt: no text in UTF-8" in result.stderr


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text("[all]\nlogload = 4000\n", encoding="utf-8-sig")
    assert "mp16-ch1/A-63" in quaestor("--settings", settings).stdout


def found_in(*arguments):
    return json.loads(quaestor(*arguments, "--json").stdout)["findings"]


def test_least_severity(dump):
    def severities(*options):
        return {each["severity"] for each in json.loads(quaestor(dump, "--json", *options).stdout)["findings"]}

    assert {"alert"} == severities("--severity", "alert")
    assert {"alert", "warning", "note"} == severities("--severity", "note")


def test_settings_and_cutoffs(dump, tmp_path):
    settings, cutoffs = tmp_path / "settings.toml", tmp_path / "cutoffs.toml"
    settings.write_text('[all]\nlogload = 4000\n[QM01.buffer_pool.3]\nmessages_live = "long"\n', encoding="utf-8")
    cutoffs.write_text("[A-24]\nenabled = false\n", encoding="utf-8")
    found = json.loads(quaestor(dump, "--json", "--settings", settings, "--cutoffs", cutoffs).stdout)["findings"]
    rules = {(each["rule"], each["queue_manager"]) for each in found}
    assert ("mp16-ch1/A-63", "all") in rules
    assert not {rule for rule, _ in rules} & {"mp1b/A-24", "mp1b/A-25", "mp1b/A-26", "mp1b/A-28"}


def test_settings_alone_will_do(tmp_path):
    display = tmp_path / "display.txt"
    display.write_text(
        "CSQJ322I !QM01 DISPLAY LOG report ...\nLOGLOAD     500000\nEnd of LOG report\n", encoding="utf-8"
    )
    result = quaestor("--settings", display, "--qmgr", "QM01")
    assert "WARNING  QM01 queue manager: LOGLOAD is small  [mp16-ch1/A-63]" in result.stdout
    assert 0 == result.exit_code


def test_each_display_file_is_of_its_own_queue_manager(tmp_path):
    """E4: by the prefix of its messages, by the name before it; with --qmgr the others are left out."""
    files = []
    for name in ("QM01", "QM02", "A"):
        files.append(tmp_path / f"{name}.txt")
        files[-1].write_text(f"CSQJ322I !{name} DISPLAY LOG report ...\nLOGLOAD     500000\n", encoding="utf-8")
    given = ["--settings", files[0], "--settings", files[1], "--settings", f"PRD1:{files[2]}"]
    assert ["PRD1", "QM01", "QM02"] == sorted(each["queue_manager"] for each in found_in(*given))
    assert ["QM02"] == [each["queue_manager"] for each in found_in(*given, "--qmgr", "QM02")]


def test_settings_of_queue_managers_that_were_not_selected_are_told(dump, tmp_path):
    """E4, E7: whose output it is stays what it says; what --qmgr leaves out is one line, with records or without."""
    display, both = tmp_path / "display.txt", tmp_path / "both.toml"
    display.write_text("CSQJ322I !QM01 DISPLAY LOG report ...\nLOGLOAD     500000\n", encoding="utf-8")
    both.write_text("[all]\nlogload = 4000000\n[QM02]\nlogload = 500000\n[QM03]\nlogload = 500000\n", encoding="utf-8")
    said = "settings of QM01 are left out: --qmgr names QM02\n"
    told = quaestor(dump, "--settings", display, "--qmgr", "QM02", "--severity", "alert")
    assert (said, False) == (told.stderr, "QM01" in told.stdout)
    alone = quaestor("--settings", display, "--qmgr", "QM02")
    assert alone.stderr.startswith(said)
    assert 2 == alone.exit_code
    several = quaestor("--settings", display, "--settings", both, "--qmgr", "QM02", "--qmgr", "QM04")
    assert "settings of QM01, QM03 are left out: --qmgr names QM02, QM04\n" == several.stderr
    assert "WARNING  QM02 queue manager: LOGLOAD is small" in several.stdout
    for chosen in ([], ["--qmgr", "QM01"], ["--qmgr", "QM01", "--qmgr", "QM02"]):
        assert "" == quaestor(dump, "--settings", display, *chosen).stderr
    assert "" == quaestor(dump, "--settings", f"QM02:{display}", "--qmgr", "QM02").stderr


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    """The same of one release, whose records say who is in the group."""
    path, profile = tmp_path_factory.mktemp("group") / "incidents.smf", with_days(load_profile("incidents"), 1)
    of_one_release = tuple(replace(each, level="10.0.0") for each in profile.queue_managers)
    with path.open("wb") as stream, DumpWriter(stream) as writer:
        generate(replace(profile, queue_managers=of_one_release), writer)
    return str(path)


@pytest.mark.parametrize(("owner", "known"), [("QM02", True), ("QM03", False)])
def test_a_structure_that_another_member_displayed_is_known(group, tmp_path, owner, known):
    """E7: QM02 has answered for the group of QM01, which --qmgr names; QM03 is in none."""
    display = tmp_path / "display.txt"
    display.write_text(f"CSQM201I !{owner} CSQMDRTS DISPLAY\nCFSTRUCT(APPLICATION1) CFLEVEL(4)\n", encoding="utf-8")
    told = quaestor(group, "--settings", display, "--qmgr", "QM01", "--json")
    rules = {(each["queue_manager"], each["rule"]) for each in json.loads(told.stdout)["findings"]}
    assert known == (("QM01", "mp16-ch2-3/CF-R21") in rules)
    assert {"QM01"} == {manager for manager, _ in rules}
    assert f"settings of {owner} are left out, but for structures of a group: --qmgr names QM01\n" == told.stderr


def test_settings_that_meet_no_record_are_told(dump, tmp_path):
    display = tmp_path / "display.txt"
    display.write_text("CSQJ322I !A DISPLAY LOG report ...\nLOGLOAD     500000\n", encoding="utf-8")
    told = quaestor(dump, "--settings", display).stderr
    assert "no record is of A, which settings are given for; there are QM01" in told
    assert "QM01:FILE says whose DISPLAY output is" in told
    assert "" == quaestor(dump, "--settings", f"QM01:{display}").stderr
    assert "QM01:none.txt" not in quaestor(dump, "--settings", "QM01:none.txt").stderr
    assert 2 == quaestor(dump, "--settings", "QM01:none.txt").exit_code


@pytest.mark.parametrize(
    ("content", "option", "said"),
    [
        ("[QM01]\nlogloads = 3\n", "--settings", "no setting logloads; did you mean logload?"),
        ("[A-99]\nx = 3\n", "--cutoffs", "A-99 names none"),
    ],
)
def test_a_file_that_cannot_be_used_is_said(dump, tmp_path, content, option, said):
    path = tmp_path / "file.toml"
    path.write_text(content, encoding="utf-8")
    result = quaestor(dump, option, path)
    assert 2 == result.exit_code
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize("asked", [("--qmgr", "QM99"), ("--from", "2030-01-01"), ("--to", "2000-01-01")])
def test_who_asks_for_nothing_that_there_is_learns_what_there_is(dump, asked):
    result = quaestor(dump, *asked)
    assert (2, "") == (result.exit_code, result.stdout)
    assert "of these queue managers and times; there are QM01, QM02, QM03, 2026-03-0" in result.stderr


def test_times_the_wrong_way_round_are_told(dump):
    result = quaestor(dump, "--from", "2026-03-03", "--to", "2026-03-01")
    assert 2 == result.exit_code
    assert "--from is not before --to" in result.stderr


def test_neither_dump_nor_lake_nor_both(dump, tmp_path):
    assert 2 == quaestor("run").exit_code
    assert "give dumps, --lake, --running or --settings" in quaestor("run").stderr
    settings = tmp_path / "settings.toml"
    settings.write_text("[all]\nlogload = 4000000\n")
    for more in ((), ("--settings", settings)):  # settings go with either, not with both
        result = quaestor(dump, "--lake", "somewhere", *more)
        assert (2, True) == (result.exit_code, "give dumps, --lake or --running, one of them" in result.stderr)


def test_findings_fit_a_narrow_terminal(dump):
    """In a terminal of 70 columns; elsewhere they are 110 wide."""
    for text, width in ((shown(70, "advise", dump), 70), (quaestor(dump).stdout, 110)):
        wrapped = [len(line) for line in text.splitlines() if line.startswith("    ")]
        assert width - 15 < max(wrapped) <= width


def test_what_is_no_dump_is_said(tmp_path):
    path = tmp_path / "text"
    path.write_text("this is not SMF\n" * 50, encoding="utf-8")
    result = quaestor(path)
    assert (2, "") == (result.exit_code, result.stdout)
    assert f"{path}: no SMF record: this is text\n" == result.stderr


def test_what_could_not_be_run_is_listed_when_asked(dump):
    assert "setting logload is not known" in quaestor(dump, "-v").stdout
    assert "setting logload is not known" not in quaestor(dump).stdout


def test_explain_a_rule_of_two_papers():
    text = quaestor("explain", "a-33").stdout
    assert text.startswith("mp1b/A-33  Page writes are not batched\n")
    assert "reads      QPSTTPW pages_written, QPSTWIO write_ios" in text
    assert "cut-off    pages_min = 2.5: pages to a write I/O; 4 is usual (ours)" in text
    assert "mp16-ch1/A-33\n  not a rule of the advisor: waits inside a unit of recovery" in text


def test_explain_finds_what_covers_a_rule():
    assert "mp1b/A-36  Tasks waited for a log buffer" in quaestor("explain", "LOG-1").stdout


def test_explain_an_unknown_rule():
    result = quaestor("explain", "A-999")
    assert 2 == result.exit_code
    assert "no rule A-999" in result.stderr


def test_all_rules_are_listed():
    from quaestor.advisor.catalog import RULES

    text = quaestor("rules").stdout
    assert all(rule.id in text for rule in RULES)
    lines = quaestor("rules", "--json").stdout.splitlines()
    assert len(RULES) == len(lines)
    assert "manager" in json.loads(lines[0])


def test_a_lake_needs_to_be_there(tmp_path):
    result = quaestor("--lake", tmp_path / "nowhere")
    assert (2, 1) == (result.exit_code, len(result.stderr.splitlines()))
    assert "there is no lake" in result.stderr


@pytest.mark.usefixtures("spark")
def test_a_lake_and_its_dump_say_the_same(tmp_path):
    """What was planted in the small profile is found in the dump and in the lake made of it, word for word."""
    profile = load_profile("small")
    _, root = lake_of(tmp_path, profile)
    of_dump = quaestor(tmp_path / f"{profile.name}.smf", "--json")
    of_lake = quaestor("--lake", root, "--json")
    assert (1, 1) == (of_dump.exit_code, of_lake.exit_code)
    first, second = (json.loads(found.stdout)["findings"] for found in (of_dump, of_lake))
    assert len(first) == 9
    assert sorted(map(str, first)) == sorted(map(str, second))
