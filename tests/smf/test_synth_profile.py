"""Profiles: the shipped ones load, and a mistake is named with its place and what would be valid."""

import copy
import io
import tomllib
from dataclasses import replace
from datetime import date, timedelta
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import dump_of, thin

from quaestor.layout import CP1047
from quaestor.smf.catalog import LEVELS
from quaestor.smf.framing import DumpReader
from quaestor.smf.records import read_records
from quaestor.smf.synth.generate import with_days
from quaestor.smf.synth.profile import Rhythm
from quaestor.smf.synth.profile_file import ProfileError, at_level, load_profile, profile_of, shipped_profiles
from quaestor.smf.synth.rhythm import factors, stream

MINIMAL = """
start = 2026-03-02
[rhythm.day]
hours = [0, 0, 0, 0, 0, 0, 0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
[sizes]
small = [[100, 3], [900, 1]]
[[queue_manager]]
name = "QM01"
system = "SYSA"
[[queue]]
name = "Q1"
page_set = 1
[[application]]
name = "JOB1"
kind = "batch"
tasks_per_hour = 4
rhythm = "day"
uses = [{ queue = "Q1", put = 1, sizes = "small" }]
"""


def minimal(**changes):
    """The minimal profile with some text replaced."""
    text = MINIMAL
    for old, new in changes.get("replace", {}).items():
        assert old in text
        text = text.replace(old, new)
    return profile_of(tomllib.loads(text + changes.get("add", "")), "minimal")


@pytest.mark.parametrize("name", ["bench", "bench-day", "clean", "incidents", "month", "small"])
def test_shipped_profiles_load(name):
    assert shipped_profiles()[name]
    assert load_profile(name).queue_managers


def test_a_profile_is_values():
    profile = minimal()
    assert date(2026, 3, 2) == profile.start
    (application,) = profile.applications
    assert (0.75, 0.25) == profile.mix(application.uses[0]).shares
    assert 300.0 == profile.mix(application.uses[0]).mean
    assert 4 == application.busiest_units_per_hour
    assert (0, 1, 2, 3) == tuple(pool.number for pool in profile.queue_managers[0].buffer_pools)


def test_a_profile_may_extend_a_shipped_one(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('extends = "clean"\ndays = 9\n', encoding="utf-8")
    mine, clean = load_profile(str(path)), load_profile("clean")
    assert (9, "mine") == (mine.days, mine.name)
    assert clean.applications == mine.applications


@pytest.mark.parametrize("level", LEVELS)
def test_any_profile_goes_to_any_level(level):
    assert {level} == {each.level for each in at_level(load_profile("incidents"), level).queue_managers}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"replace": {"start = 2026-03-02": ""}}, "start: a date such as"),
        (
            {"replace": {'kind = "batch"': 'kind = "cobol"'}},
            "application JOB1, kind: 'cobol' is not one of cics, batch",
        ),
        ({"replace": {'rhythm = "day"': 'rhythm = "lunar"'}}, "rhythm: 'lunar' is not one of"),
        ({"replace": {'queue = "Q1"': 'queue = "Q2"'}}, "application JOB1, queue: 'Q2' is not one of Q1"),
        ({"replace": {'sizes = "small"': 'sizes = "tiny"'}}, "sizes: 'tiny' is not one of"),
        ({"replace": {"page_set = 1": "page_set = 7"}}, "page set of Q1: 7 is not one of 0, 1, 2, 3"),
        ({"replace": {"page_set = 1": 'page_set = 1\nstructure = "S"'}}, "queue Q1: either page_set or structure"),
        ({"replace": {"page_set = 1": 'structure = "S"'}}, "structure: 'S' is not one of"),
        ({"replace": {"tasks_per_hour = 4": ""}}, "either tasks_per_hour or instances"),
        ({"replace": {'kind = "batch"': 'kind = "sender"'}}, "a channel is long-running"),
        ({"replace": {"[[100, 3], [900, 1]]": "[100, 900]"}}, r"sizes small: a list of \[bytes, share\] pairs"),
        ({"replace": {"[[100, 3], [900, 1]]": "[[100, 0]]"}}, "shares above 0"),
        ({"replace": {"hours = [0, 0, ": "hours = [0, "}}, "rhythm day: 24 hours and 7 days"),
        ({"replace": {'system = "SYSA"': ""}}, "queue_manager QM01: 'system' must be given"),
        ({"replace": {'system = "SYSA"': 'system = "SYSA"\nlevel = "4.2"'}}, "level: '4.2' is not one of 5.2"),
        ({"replace": {'system = "SYSA"': 'system = "SYSA"\nsytem = 3'}}, "queue_manager QM01: no key sytem; known are"),
        ({"replace": {"start =": "interval_minutes = 7\nstart ="}}, "7 does not divide a day"),
        ({"replace": {"start =": "days = 0\nstart ="}}, "days: 0 is not between 1 and 3660"),
        ({"replace": {"put = 1": "put = 1, persistent = 2"}}, "persistent: 2 is not between 0 and 1"),
        ({"add": '[[incident]]\nkind = "flood"\nqueue_manager = "QM01"\n'}, "incident flood: is not one of"),
        ({"replace": {'system = "SYSA"': 'system = "SYSA"\nlog = { copies = 3 }'}}, "log copies: 3 is not between"),
        ({"replace": {"tasks_per_hour = 4": 'tasks_per_hour = "four"'}}, "tasks_per_hour: 'four' is not a number"),
        ({"replace": {"tasks_per_hour = 4": "tasks_per_hour = -4"}}, "tasks_per_hour: -4 is not between 0"),
        ({"replace": {"tasks_per_hour = 4": "tasks_per_hour = 1e9"}}, "tasks_per_hour: 1000000000.0 is not between"),
        ({"replace": {"put = 1": "put = 1e8"}}, "calls per hour: 400000000.0 is not between"),
        ({"replace": {'name = "QM01"': 'name = "QM00001"'}}, "name: 'QM00001' does not fit in 4 bytes"),
        ({"replace": {'name = "Q1"': 'name = "\u0416"', 'queue = "Q1"': 'queue = "\u0416"'}}, "EBCDIC does not have"),
        ({"replace": {"hours = [0, 0,": "hours = [0, 1000,"}}, "rhythm day: 1000 is not between 0 and 10"),
        ({"add": '[[queue]]\nname = "Q1"\npage_set = 1\n'}, "queue Q1 is defined twice"),
        ({"replace": {"start =": "days = 1.5\nstart ="}}, "days: 1.5 is not a whole number"),
        ({"replace": {"start =": "days = true\nstart ="}}, "days: True is not a whole number"),
        ({"replace": {'uses = [{ queue = "Q1", put = 1, sizes = "small" }]': ""}}, "at least one user and one use"),
        ({"replace": {'rhythm = "day"': 'users = ["LONGUSERID"]'}}, "'LONGUSERID' does not fit in 8 bytes"),
        ({"replace": {"2026-03-02": "2026-03-02T10:00:00"}}, "start: a date such as"),
        ({"replace": {"2026-03-02": "1900-01-01"}}, "1 days from 1900-01-01 are not between 1900-01-02 and 2042-09-16"),
        ({"replace": {"2026-03-02": "2042-09-17"}}, "1 days from 2042-09-17 are not between"),
        ({"replace": {"2026-03-02": "2042-09-10\ndays = 8"}}, "8 days from 2042-09-10 are not between"),
        ({"replace": {'system = "SYSA"': 'system = "SYSA"\nbuffer_pools = []'}}, "at least one buffer pool is needed"),
    ],
)
def test_mistakes_are_named(change, says):
    with pytest.raises(ProfileError, match=says):
        minimal(**change)


@pytest.mark.parametrize("start", ["1900-01-02", "2042-09-16"])
@pytest.mark.parametrize("minutes", [-14 * 60, 14 * 60])
def test_a_profile_may_reach_to_the_ends_of_the_clock(start, minutes):
    """The first and the last day that the TOD clock has in full, at either end of the world."""
    changes = {
        "2026-03-02": f"{start}\ninterval_minutes = 720",
        'system = "SYSA"': f'system = "SYSA"\nlevel = "5.2"\nzone_minutes = {minutes}',
    }
    data, made = dump_of(minimal(replace=changes))
    records = [each for each in read_records(DumpReader(io.BytesIO(data))) if each.utc_time is not None]
    assert (1, {timedelta(minutes=minutes)}) == (made.days, {each.zone for each in records})


def test_a_dump_does_not_outlast_the_clock():
    """Of however many days a size needs, or somebody asks for, the clock ends with 2042-09-16."""
    profile = minimal(replace={"2026-03-02": "2042-09-15"})
    for options in ({"size_bytes": 10**9}, {}):
        with pytest.raises(ProfileError, match="3 days from 2042-09-15 are not between"):
            dump_of(profile if options else with_days(profile, 3), **options)


def test_shared_queues_need_a_group():
    text = MINIMAL.replace("page_set = 1", 'structure = "S"') + '[[structure]]\nname = "S"\nnumber = 1\n'
    with pytest.raises(ProfileError, match="uses shared queue Q1 but has no queue_sharing_group"):
        profile_of(tomllib.loads(text), "shared")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nosuch", "no profile nosuch; shipped are bench, bench-day, clean"),
        ("/nosuch/file.toml", "No such file"),
    ],
)
def test_profiles_that_are_not_there(name, says):
    with pytest.raises(ProfileError, match=says):
        load_profile(name)


def test_a_file_that_is_no_toml(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("start = \n", encoding="utf-8")
    with pytest.raises(ProfileError, match=r"bad\.toml: .*line 1"):
        load_profile(str(path))


def test_an_empty_profile_says_what_it_needs():
    with pytest.raises(ProfileError, match="at least one"):
        profile_of({"start": date(2026, 1, 1)}, "empty")


# --- rhythm ----------------------------------------------------------------------------------------------------------


def test_the_rhythm_follows_hours_and_weekdays():
    profile = minimal()
    week = Rhythm("week", tuple(float(hour) for hour in range(24)), (1, 1, 1, 1, 1, 0.5, 0.25))
    monday, sunday = (factors(profile, week, day, stream(profile, "test")) for day in (0, 6))
    assert np.allclose(0.25 * monday, sunday)
    assert np.all(np.diff(monday[:40].reshape(-1, 4).mean(axis=1)) > 0)


def test_streams_have_names_of_their_own():
    profile = minimal()
    draws = [stream(profile, *names).integers(2**60) for names in (("a", 0), ("a", 0), ("a", 1), ("b", 0))]
    assert draws[0] == draws[1]
    assert 3 == len(set(draws))


# --- whatever people write -------------------------------------------------------------------------------------------

JUNK = [
    0,
    1,
    -1,
    2.5,
    10**6,
    "x",
    "",
    [],
    {},
    [1],
    [[1, 2]],
    {"name": "x"},
    True,
    date(2020, 2, 2),
    float("inf"),
    float("nan"),
]


def paths(table, at=()):
    """Every place in a document."""
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from paths(value, (*at, key))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_profile_with_junk_in_it_is_refused_or_works(data):
    table = tomllib.loads((files("quaestor.smf.synth") / "profiles" / "small.toml").read_text(encoding="utf-8"))
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(list(paths(table))))
        place = table
        for step in way:
            place = place[step]
        place[last] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    try:
        profile = thin(profile_of(table, "junk"), 0.02)
    except ProfileError:
        return
    dump, made = dump_of(replace(profile, days=1, interval_minutes=240))
    assert made.bytes == len(dump)


@pytest.mark.parametrize(("classes", "kinds"), [((1, 4), {(116, 0)}), ((3,), {(116, 1)}), ((4,), set())])
def test_a_queue_manager_that_accounts_for_some_classes_has_their_records(classes, kinds):
    """Class 1 alone has nothing of tasks that never end: once, a profile with such an application could not be used."""
    profile = thin(load_profile("small"), 0.02)
    managers = tuple(replace(each, accounting=classes) for each in profile.queue_managers)
    dump, _ = dump_of(replace(profile, days=1, interval_minutes=240, queue_managers=managers))
    found = {
        (record.header.record_type, record.header.subtype) for record in read_records(DumpReader(io.BytesIO(dump)))
    }
    assert kinds == found & {(116, 0), (116, 1)}


def test_an_accounting_class_that_there_is_not_is_named():
    with pytest.raises(ProfileError, match="queue_manager QM01, accounting: 2 is not one of 1, 3, 4"):
        profile_of(tomllib.loads(MINIMAL.replace('system = "SYSA"', 'system = "SYSA"\naccounting = [2]')), "wrong")


@pytest.mark.parametrize(
    ("kind", "transactions", "names"),
    [
        ("cics", (), ("ORDE",)),
        ("ims", (), ("ORDERENT",)),
        ("cics", ("ORD1", "ORD2"), ("ORD1", "ORD2")),
        ("ims", ("PSBORDER",), ("PSBORDER",)),
    ],
)
def test_an_application_without_transactions_has_its_own_name_as_far_as_it_fits(kind, transactions, names):
    """Once such an application could not be synthesised: its name did not fit where a transaction's stands."""
    made = minimal(replace={'name = "JOB1"': 'name = "ORDERENTRY"', '"batch"': f'"{kind}"'})
    (application,) = made.applications
    application = replace(application, transactions=transactions)
    assert names == application.transaction_names
    dump, _ = dump_of(replace(made, days=1, interval_minutes=240, applications=(application,)))
    tasks = [each for each in read_records(DumpReader(io.BytesIO(dump))) if each.name == "116-1"]
    seen = {each.sections["WTID"][0].correlation[4 : 4 + application.transaction_bytes] for each in tasks}
    assert {CP1047.encode(name, application.transaction_bytes) for name in names} >= seen > set()


def test_an_application_s_name_that_stands_for_a_transaction_must_be_ebcdic():
    with pytest.raises(ProfileError, match="has characters that EBCDIC does not have"):
        minimal(replace={'name = "JOB1"': 'name = "\u6ce8\u6587"', '"batch"': '"cics"'})
