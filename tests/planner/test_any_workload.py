"""Whatever a workload holds, every question is answered or says why not, and the definitions can be written."""

import json
from dataclasses import MISSING, fields

from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.planner.answers import plan
from quaestor.planner.definitions import definitions
from quaestor.planner.questions.catalog import QUESTIONS
from quaestor.planner.whatif import Change, fastest_per_s, what_if
from quaestor.planner.workload import RATE_MAX
from quaestor.planner.workload_file import ONE, SEVERAL, workload_of

WORDS = {  # keys that take one of some words, and what they take
    "type": {"machine": ["2094-704", "2817-703"], "dasd": ["RVA-T82", "DS8800 (RAID 5)", "ESS 800"]},
    "measured_on": ["2097-703"],
    "archive": ["DASD", "tape"],
    "product": ["mq", "quaestor"],
    "kind": ["sender", "receiver", "svrconn"],
    "traffic": ["request/reply", "delayed", "bulk", "trickle"],
    "cipher": ["TLS_RSA_WITH_AES_256_CBC_SHA256"],
    "threads": ["one", "many"],
    "compression": ["none", "zlibfast", "zlibhigh"],
    "link": ["CS5", "ICP"],
    "class": ["1", "3"],
    "release": ["5.3", "6.0", "7.0.1", "7.1", "8.0", "9.0"],
    "group": ["Q", "QSG1"],
    "structure": ["APP1", "A STRUCTURE WITH A LONG NAME"],
}
NAMED = {"queue": "ABC", "name": "ABC", "number": (0, 1, 2)}
DURATIONS = {"expryint", "log_io_time", "log_io_time_128_pages", "archive_time", "archive_delay", "restart", "lasted"}
DURATIONS |= {
    "page_set_recovery",
    "structure_recovery",
    "reaction",
    "longest_unit_of_work",
    "life",
    "outage",
    "batchint",
}


def values_of(table, key):
    """What may be written for a key: its edges, and anything between."""
    if key.name in WORDS:
        words = WORDS[key.name]
        return st.sampled_from(words[table] if isinstance(words, dict) else words)
    if key.low is None:
        return st.booleans() if key.name not in NAMED else st.sampled_from(NAMED[key.name])
    if key.name in ("number", "page_set", "buffer_pool", "pool"):
        return st.sampled_from((0, 1, 2))
    if key.name in DURATIONS:
        return st.floats(key.low, key.high).map(lambda seconds: f"{seconds:.6f} s")
    near = st.integers(int(key.low) + 1, min(int(key.high), int(key.low) + 100_000))
    return st.sampled_from((key.low, key.high)) | near


def tables_of(table, cls):
    keys = {each.metadata["key"]: each.default is MISSING for each in fields(cls)}
    needed = {key.name: values_of(table, key) for key, must in keys.items() if must}
    optional = {key.name: values_of(table, key) for key, must in keys.items() if not must}
    return st.fixed_dictionaries(needed, optional=optional)


def agreeing(tables):
    """The tables, less what does not fit together: that a file may not say it has tests of its own."""
    has_facility = "coupling_facility" in tables
    written = {
        name: [each[key] for each in tables.get(name, [])]
        for name, key in (("structure", "name"), ("page_set", "number"))
    }
    for flow in tables["flow"]:
        shared = flow["shared"] = has_facility and flow.get("shared", False)
        for key, kept in (("structure", shared), ("page_set", not shared)):
            if flow.get(key) is not None and (not kept or (written[key] and flow[key] not in written[key])):
                del flow[key]
    pools = [each["number"] for each in tables.get("buffer_pool", [])]
    for page_set in tables.get("page_set", []):
        page_set["buffer_pool"] = pools[0] if pools else page_set["buffer_pool"]
    for counted in tables.get("counted_pool", []):
        counted["stealable_low"] = counted["stealable_now"] = counted["buffers"] // 2
    tables["queue_manager"]["maxumsgs"] = 999_999_999
    return tables


def several(name):
    _, cls, naming = SEVERAL[name]
    return st.lists(tables_of(name, cls), min_size=int(name == "flow"), max_size=3, unique_by=lambda each: each[naming])


ANY_WORKLOAD = st.fixed_dictionaries(
    {"queue_manager": tables_of("queue_manager", ONE["queue_manager"]), "flow": several("flow")},
    optional={name: tables_of(name, cls) for name, cls in ONE.items() if name != "queue_manager"}
    | {name: several(name) for name in SEVERAL if name != "flow"},
).map(agreeing)


@settings(max_examples=30)
@given(ANY_WORKLOAD)
def test_a_workload_has_a_plan_and_definitions(tables):
    workload = workload_of(tables, "w")
    made = plan(workload)
    assert set(QUESTIONS) == {each.number for each in (*made.answers, *made.unanswered)}
    assert definitions(workload).as_text().endswith("\n")
    assert [] == [each for each in made.answers if json.loads(json.dumps(each.as_plain())) != each.as_plain()]


@settings(max_examples=10)
@given(ANY_WORKLOAD, st.floats(0, 2))
def test_more_or_fewer_messages_make_a_plan_too(tables, times):
    workload = workload_of(tables, "w")
    fastest = fastest_per_s(workload)
    found = what_if(workload, Change(messages=min(times, RATE_MAX / fastest / 1.001) if fastest else times))
    assert {each.either.number for each in found.differences} <= set(QUESTIONS)
