"""`quaestor plan --from-lake` and `plan forecast`: a lake in, a plan and an outlook out."""

import json
import math
import tomllib
from datetime import date, timedelta

import pytest
from click.testing import CliRunner

from pipeline.planted import Truth, growing, lake_of
from quaestor.cli.main import main
from quaestor.smf.synth.profile_file import at_level, load_profile


def run(*words):
    return CliRunner().invoke(main, ["plan", *map(str, words)])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return lake_of(tmp_path_factory.mktemp("small"), load_profile("small"))[1]


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Six weeks that grow by 8 % a week."""
    folder = tmp_path_factory.mktemp("grown")
    return lake_of(folder, growing(folder, 42, 8.0))[1]


@pytest.fixture(scope="module")
def namesakes(tmp_path_factory):
    """A QM1 on SYSA that grows by 8 % a week, and one on SYSB that does not."""
    folder = tmp_path_factory.mktemp("namesakes")
    return lake_of(folder, growing(folder, 21, 8.0), growing(folder, 21, 0.0, "SYSB"))[1]


@pytest.fixture(autouse=True)
def _one_session(spark):
    """The commands use the session that is there."""


def test_the_busiest_hour_becomes_a_workload(small, tmp_path):
    saved = tmp_path / "qm01.toml"
    found = run("--from-lake", small, "--queue-manager", "QM01", "--busiest-hour", "--save", saved)
    assert 0 == found.exit_code, found.output
    assert "measured: QM01, the hour from 2026-03-02 " in found.stderr
    assert "assumed: CFCC level 22" in found.stderr
    assert "Plan for QM01" in found.stdout
    tables = tomllib.loads(saved.read_text(encoding="utf-8"))
    truth, hour = Truth(load_profile("small"), "QM01"), int(found.stderr.partition("2026-03-02 ")[2][:2])
    flow = {each["queue"]: each for each in tables["flow"]}["ORDERS.IN"]
    puts = truth.of_queue("ORDERS.IN", "puts", "put1s")[hour]
    gets = truth.of_queue("ORDERS.IN", "destructive")[hour]
    assert max(puts, gets) / 3600 == pytest.approx(flow["rate"] * flow["peak"], rel=1e-3)
    assert round(truth.of_queue("ORDERS.IN", "put_bytes")[hour] / puts) == flow["size"]
    assert flow["persistent"]
    assert found.stdout == run(saved).stdout  # what was saved is the same workload


def test_formulas_and_counters_agree_on_the_log_rate(small):
    found = run("--from-lake", small, "--queue-manager", "QM01", "--json")
    line = next(line for line in found.stderr.splitlines() if line.startswith("log rate of that hour"))
    percent = float(line.rpartition("(")[2].removesuffix(" %)"))
    assert abs(percent) <= 40, line
    assert "QM01" == json.loads(found.stdout)["queue_manager"]


def test_an_hour_by_name_and_a_file_for_the_rest(small, tmp_path):
    base = tmp_path / "base.toml"
    base.write_text(
        '[coupling_facility]\ncfcc_level = 24\n[dasd]\ntype = "DS8800 (RAID 5)"\n[log]\nsize = "2 GB"\n'
        '[[flow]]\nqueue = "ORDERS.IN"\noutage = "2 h"\n[[flow]]\nqueue = "GONE"\n',
        encoding="utf-8",
    )
    saved = tmp_path / "night.toml"
    found = run(base, "--from-lake", small, "--qmgr", "QM01", "--hour", "2026-03-02T10", "--save", saved)
    assert 0 == found.exit_code, found.output
    assert "the hour from 2026-03-02 10:00" in found.stderr
    assert "assumed" not in found.stderr
    assert "left out: GONE, not used in this hour" in found.stderr
    tables = tomllib.loads(saved.read_text(encoding="utf-8"))
    assert "2 h" == {each["queue"]: each for each in tables["flow"]}["ORDERS.IN"]["outage"]
    assert "2 GB" == tables["log"]["size"]
    assert tables["dasd"]["log_io_time"].endswith(" us")
    assert 24 == tables["coupling_facility"]["cfcc_level"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say which with --queue-manager; there are QM01, QM02"),
        (("--queue-manager", "QM9"), "no queue manager QM9; there are QM01, QM02"),
        (("--queue-manager", "QM01", "--hour", "2026-04-01T09"), "QM01 has no statistics of 2026-04-01 09:00"),
        (("--queue-manager", "QM01", "--from", "2027-01-01"), "QM01 has no statistics in that time"),
        (("--hour", "2026-03-02T09", "--busiest-hour"), "give --hour or --busiest-hour, not both"),
    ],
)
def test_what_the_lake_does_not_have_is_said(small, words, said):
    found = run("--from-lake", small, *words)
    assert 2 == found.exit_code
    assert said in found.stderr


def test_a_level_that_tells_no_intervals_is_said(tmp_path):
    """Headers have the length of their interval from 7.1 on; without it a count is no rate."""
    lake = lake_of(tmp_path, at_level(load_profile("small"), "7.0"))[1]
    found = run("--from-lake", lake, "--queue-manager", "QM01")
    assert 2 == found.exit_code
    assert (
        "QM01 has no statistics of an hour that was used and is known for 15 minutes; records before 7.1"
        in found.stderr
    )


def test_no_lake_and_options_without_one(tmp_path):
    assert "there is no lake" in run("--from-lake", tmp_path / "none").stderr
    assert "--save needs --from-lake" in run("--save", tmp_path / "x").stderr
    assert "--queue-manager needs --from-lake" in run("--queue-manager", "QM1").stderr


def test_growth_that_was_planted_is_forecast(grown):
    """8 % a week; logs of 256 MB fill in under 30 minutes once the busiest hour logs 145 KiB/s."""
    found = run("forecast", grown, "--log-size", "2GB", "--json")
    assert 0 == found.exit_code, found.output
    log = next(each for each in json.loads(found.stdout)["outlooks"] if each["figure"] == "log_bytes_per_s")
    weekly = (1 + log["trend_per_day"]) ** 7 - 1
    assert 0.08 == pytest.approx(weekly, abs=0.01)
    assert "COMPOUND" == log["growth"]
    assert log["earliest"] <= log["expected"] <= log["latest"]
    # the middle agrees with the planted growth alone, to two weeks
    first = Truth(growing(grown.parent, 42, 8.0), "QM1", 0).ledger.total("task", "log_bytes").max() / 3600
    weeks = math.log(log["threshold"] / first) / math.log(1.08)
    planted = date(2026, 1, 5) + timedelta(weeks=weeks)
    assert abs(date.fromisoformat(log["expected"]) - planted) <= timedelta(days=14)


def test_a_sentence_for_people(grown):
    found = run("forecast", grown, "--log-size", "2GB", "--messages", "200/s")
    assert 0 == found.exit_code, found.output
    assert "QM1: learnt from 42 days, 2026-01-05 to 2026-02-15" in found.stdout
    assert "active logs of 2 GiB fill in under 30 minutes from about " in found.stdout
    assert "tried on the last 7 days: " in found.stdout
    assert "there are more than 200 calls a second from about " in found.stdout


def test_a_workload_file_says_the_size(grown, tmp_path):
    work = tmp_path / "work.toml"
    work.write_text(run("example").stdout, encoding="utf-8")
    assert "active logs of 2 GiB" in run("forecast", grown, "--workload", work).stdout
    assert "active logs of 4 GiB, the largest there are," in run("forecast", grown).stdout


def test_rates_that_are_not_known_leave_what_is(grown, monkeypatch):
    """Hours of less than 15 minutes' statistics have no rate; how full a page set is, they tell all the same."""
    fuller = {date(2026, 1, 5) + timedelta(days=n): 40.0 + n for n in range(28)}
    counted = {"messages_per_s": {}, "log_bytes_per_s": {}, "page_set_1_percent": fuller}
    monkeypatch.setattr("quaestor.pipeline.measured_hours.daily_figures", lambda *_: counted)
    found = run("forecast", grown)
    assert 0 == found.exit_code, found.output
    assert "QM1: learnt from 28 days, 2026-01-05 to 2026-02-01" in found.stdout
    assert "page set 1 is 90 % full and expands from about " in found.stdout
    assert "not forecast: log bytes of the busiest hour: 0 days of history; a forecast takes 21 or more" in found.stdout


def test_hours_after_the_range_are_not_looked_at(small):
    """The busiest hour of the day is later than 5 o'clock in the morning."""
    found = run("--from-lake", small, "--qmgr", "QM01", "--from", "2026-03-02T02", "--to", "2026-03-02T05")
    assert 0 == found.exit_code, found.output
    assert found.stderr.partition("the hour from 2026-03-02 ")[2][:5] in {"02:00", "03:00", "04:00"}


def test_too_little_history_is_refused(small):
    found = run("forecast", small, "--queue-manager", "QM01")
    assert 2 == found.exit_code
    assert "QM01: 1 day of history; a forecast takes 21 or more" in found.stderr


def test_a_size_that_is_none_is_refused(grown):
    found = run("forecast", grown, "--log-size", "big")
    assert 2 == found.exit_code
    assert "'big'" in found.stderr


# --- H6: queue managers of one name on two systems --------------------------------------------------------------------


@pytest.mark.parametrize("words", [("--from-lake",), ("simulate", "--from-lake"), ("forecast",)])
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "QM1 is on several systems: say which with --system; there are SYSA, SYSB"),
        (("--system", "SYSC"), "no queue manager on system SYSC; there are QM1 on SYSA, QM1 on SYSB"),
        (("--qmgr", "QM1", "--system", "SYSC"), "no queue manager QM1 on system SYSC; there are QM1 on SYSA, QM1 on"),
    ],
)
def test_which_of_the_namesakes_must_be_said(namesakes, words, more, said):
    found = run(*words, namesakes, *more)
    assert 2 == found.exit_code, found.output
    assert said in " ".join(found.stderr.split())


def test_a_plan_is_of_one_of_the_namesakes(namesakes, tmp_path):
    """Of SYSB alone no message of SYSA counts: the plan is that of a lake which has no SYSA."""
    alone = lake_of(tmp_path, growing(tmp_path, 21, 0.0, "SYSB"))[1]
    words = ("--hour", "2026-01-20T09", "--json")
    found, expected = run("--from-lake", namesakes, "--system", "SYSB", *words), run("--from-lake", alone, *words)
    assert 0 == found.exit_code, found.output
    assert "measured: QM1 on SYSB, the hour from 2026-01-20 09:00" in found.stderr
    assert "measured: QM1, the hour from 2026-01-20 09:00" in expected.stderr
    assert expected.stdout == found.stdout


def test_a_forecast_is_of_one_of_the_namesakes(namesakes):
    found = {each: run("forecast", namesakes, "--system", each) for each in ("SYSA", "SYSB")}
    assert [0, 0] == [each.exit_code for each in found.values()], found
    for system, each in found.items():
        assert f"QM1 on {system}: learnt from 21 days, 2026-01-05 to 2026-01-25" in each.stdout
    assert found["SYSA"].stdout.partition("\n")[2] != found["SYSB"].stdout.partition("\n")[2]


def test_the_system_is_always_in_the_json_of_a_forecast(namesakes, grown):
    for words in ((namesakes, "--system", "SYSB"), (namesakes, "--system", "SYSA"), (grown,)):
        told = json.loads(run("forecast", *words, "--json").stdout)
        assert ("QM1", words[-1] if len(words) > 1 else "SYSA") == (told["queue_manager"], told.get("system"))


def test_a_system_needs_a_lake():
    assert "--system needs --from-lake" in run("--system", "SYSA").stderr
