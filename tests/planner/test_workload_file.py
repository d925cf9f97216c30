"""A workload is read as people write it, and a mistake is named with its place and what is valid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.logs import Medium
from quaestor.planner.quantity import MIB
from quaestor.planner.release import Release
from quaestor.planner.workload_file import WorkloadError, load_tables, load_workload, parse

LEAST = """
[queue_manager]
name = "QM1"
[[flow]]
queue = "A"
size = "4k"
rate = "30k/min"
persistent = true
"""


def mistakes(written):
    with pytest.raises(WorkloadError) as refused:
        parse(written, "w.toml")
    return refused.value.mistakes


def test_the_least_workload_has_documented_defaults():
    workload = parse(LEAST, "w.toml")
    (flow,) = workload.flows
    assert (4096, 500.0, 500.0, True, False) == (
        flow.message_bytes,
        flow.average_per_s,
        flow.peak_per_s,
        flow.persistent,
        flow.shared,
    )
    assert (Release.V9_0, 2, Medium.DASD, 300) == (
        workload.queue_manager.version,
        workload.log.copies,
        workload.log.archive,
        workload.targets.restart_s,
    )


def test_the_example_is_read_whole():
    workload = load_workload()
    assert 6 == len(workload.flows)
    assert ["PAY.SHARED", "PAY.STATEMENT"] == [flow.queue for flow in workload.shared]
    assert 0.5 == workload.share_of(workload.shared[0])
    assert 50 * 2.5 * 1800 == workload.flows[0].backlog
    assert 2048 * MIB == workload.log.log_bytes


def test_a_backlog_is_the_longer_of_life_and_outage():
    workload = parse(LEAST + 'peak = 2\nlife = "3 s"\noutage = "1 s"\n', "w.toml")
    assert 3000 == workload.flows[0].backlog


def test_a_release_between_two_is_the_earlier():
    assert Release.V8_0 == parse(LEAST.replace('"QM1"', '"QM1"\nrelease = "8.0.0.4"'), "w").queue_manager.version


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ('size = "200 MB"', "[[flow]] A, size: '200 MB' is not valid: 0 B to 100 MiB"),
        ("size = -1", "[[flow]] A, size: -1 is not valid: 0 B to 100 MiB"),
        ("size = true", "[[flow]] A, size: True is not a whole number"),
        ("size = 1.5", "[[flow]] A, size: 1.5 is not a whole number"),
        ("peak = 0.5", "[[flow]] A, peak: 0.5 is not valid: 1 to 1000"),
        ("peak = nan", "[[flow]] A, peak: nan is not valid: a finite number"),
        ('peak = "two"', "[[flow]] A, peak: 'two' is not a number"),
        ("life = 5", "[[flow]] A, life: 5 has no unit: write a duration such as 200 ms, 30 min or 1h 30m"),
        ("persistent = 1", "[[flow]] A, persistent: 1 is not valid: true or false"),
        ("perisstent = true", "[[flow]] A: no key perisstent; did you mean persistent?"),
        ('queue = ""', "[[flow]] A, queue: '' is not valid: a text that is not empty"),
        ("page_set = 100", "[[flow]] A, page_set: 100 is not valid: 0 to 99"),
        ('structure = "S"', "[[flow]] A: a private queue has no structure"),
        ("shared = true", "[[flow]] A: is shared, so [coupling_facility] is needed"),
        ("messages_per_commit = 20000", "[[flow]] A, messages_per_commit: 20000 is above MAXUMSGS 10000"),
        pytest.param(
            f"page_set = 1{'0' * 400}", f"[[flow]] A, page_set: 1{'0' * 400} is not valid: 0 to 99", id="400 digits"
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_is_valid(line, mistake):
    key = line.split(" = ")[0]
    kept = "\n".join(each for each in LEAST.splitlines() if not each.startswith(f"{key} ="))
    found = mistakes(f"{kept}\n{line}\n")
    expected = mistake.replace("[[flow]] A,", "[[flow]] ,") if key == "queue" else mistake
    assert expected in found


def test_a_rate_that_is_none_is_explained():
    assert any("not a rate; write an amount, a slash" in each for each in mistakes(LEAST.replace("30k/min", "fast")))


@pytest.mark.parametrize(
    ("more", "mistake"),
    [
        ('[dasd]\ntype = "DS8800"', "[dasd], type: 'DS8800' is not known; did you mean DS8800 (RAID 5)?"),
        ('[machine]\ntype = "8561-701"', "is not known; did you mean"),
        ('[machine]\ntype = "none"', "'none' is not known; known are 2094-704, 2097-703, 2817-703"),
        ("[qeueu]\nx = 1", "no key qeueu"),
        pytest.param(f"[log]\nlogload = {'9' * 5000}", "integer string conversion", id="5000 digits"),
        ("[log]\nlogload = 100", "[log], logload: 100 is not valid: 200 to 16,000,000"),
        ('[log]\nsize = "8 GB"', "[log], size: '8 GB' is not valid: 1 MiB to 4 GiB"),
        ('[log]\narchive = "disc"', "'disc' is not known"),
        ("log = 3", "log: a table, written [log], is needed"),
        ("[channel]\nname = 1", "channel: a list of tables, each written [[channel]], is needed"),
        (
            '[[page_set]]\nnumber = 1\nsize = "1 GB"\nbuffer_pool = 7\n[[buffer_pool]]\nnumber = 1\nbuffers = 5',
            "[[page_set]] 1: no [[buffer_pool]] 7 is written",
        ),
        ('[[flow]]\nqueue = "A"\nsize = 1\nrate = 1\npersistent = true', "[[flow]] A: defined 2 times"),
        ('[[flow]]\nqueue = "B"\nsize = 1\npersistent = true', "[[flow]] B: rate is missing (0/s to 10,000,000/s)"),
    ],
)
def test_a_wrong_table_is_named(more, mistake):
    ahead = more.startswith("log =")
    found = mistakes(f"{more}\n{LEAST}" if ahead else f"{LEAST}\n{more}\n")
    assert any(mistake in each for each in found), found


SHARED = """[coupling_facility]
cfcc_level = 22
[[flow]]
queue = "S"
size = 1
rate = 1
persistent = true
shared = true
"""
PAGE_SET = '[[page_set]]\nnumber = 1\nsize = "1 GB"\nbuffer_pool = 7\n'


@pytest.mark.parametrize(
    ("of_queue_manager", "more", "mistakes_expected"),
    [
        ('group = "QSG1"', "", ()),
        ('group = "GROUP"', "", ("[queue_manager], group: 'GROUP' is not valid: 1 to 4 characters",)),
        ("", SHARED, ()),
        ("", f"{SHARED}page_set = 1", ("[[flow]] S: a shared queue has no page_set",)),
        ("", f'{SHARED}structure = "APP1"', ()),
        ("", f'{SHARED}structure = "APP1"\n[[structure]]\nname = "APP1"\nsize = "1G"', ()),
        (
            "",
            f'{SHARED}structure = "APP2"\n[[structure]]\nname = "APP1"\nsize = "1G"',
            ("[[flow]] S: no [[structure]] APP2 is written; did you mean APP1?",),
        ),
        ("", "[[flow]]\nqueue='B'\nsize=1\nrate=1\npersistent=true\npage_set=2", ()),
        (
            "",
            f"[[flow]]\nqueue='B'\nsize=1\nrate=1\npersistent=true\npage_set=2\n{PAGE_SET}",
            ("[[flow]] B: no [[page_set]] 2 is written",),
        ),
        ("", PAGE_SET, ()),  # no pool is written at all, so none is missed
        ("maxumsgs = 5", "[[flow]]\nqueue='B'\nsize=1\nrate=1\npersistent=true\nmessages_per_commit=5", ()),
        (
            "maxumsgs = 4",
            "[[flow]]\nqueue='B'\nsize=1\nrate=1\npersistent=true\nmessages_per_commit=5",
            ("[[flow]] B, messages_per_commit: 5 is above MAXUMSGS 4",),
        ),
    ],
)
def test_tables_that_do_not_fit_together_are_named(of_queue_manager, more, mistakes_expected):
    """T3: names and numbers that one table uses are defined in another, where that other is written at all."""
    written = LEAST.replace('name = "QM1"', f'name = "QM1"\n{of_queue_manager}') + "\n" + more
    assert mistakes_expected == (mistakes(written) if mistakes_expected else ())
    if not mistakes_expected:
        assert parse(written, "w").queue_manager.name == "QM1"


@pytest.mark.parametrize(
    ("low", "now", "fits"), [(10, 10, True), (11, 10, False), (10, 11, False), (0, 0, True)], ids=str
)
def test_a_pool_has_no_more_stealable_buffers_than_buffers(low, now, fits):
    counts = f"buffers = 10\nstealable_low = {low}\nstealable_now = {now}"
    written = f'{LEAST}\n[[counted_pool]]\nname = "pool 1, 09:00"\npool = 1\nlasted = "1h"\n{counts}\n'
    if fits:
        assert 10 == parse(written, "w").counted_pools[0].buffers
    else:
        said = "[[counted_pool]] pool 1, 09:00: more stealable buffers than its 10 buffers"
        assert (said,) == mistakes(written)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"9.0"', Release.V9_0),
        ("9.0", Release.V9_0),
        ("9", Release.V9_0),
        ('"V9.4.5"', Release.V9_0),
        ('"10.0"', Release.V9_0),
        ('"7.0.1"', Release.V7_0_1),
        ('"7.0.0"', Release.V6_0),
        ('"5.3"', Release.V5_3),
    ],
)
def test_a_release_is_read_as_people_write_it(written, read):
    assert read is parse(LEAST.replace('"QM1"', f'"QM1"\nrelease = {written}'), "w").queue_manager.version


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('"nine"', "'nine' is no release: write one such as 9.0 or 7.0.1"),
        ('""', "'' is no release: write one such as 9.0 or 7.0.1"),
        ("true", "True is no release: write one such as 9.0 or 7.0.1"),
        ('"5.2"', "'5.2' is before the first release there are figures for: 5.3"),
    ],
)
def test_a_release_that_is_none_is_refused(written, said):
    assert (f"[queue_manager], release: {said}",) == mistakes(LEAST.replace('"QM1"', f'"QM1"\nrelease = {written}'))


def test_a_title_is_a_text():
    assert ("title: 3 is not a text",) == mistakes(f"title = 3\n{LEAST}")


def test_every_mistake_of_a_file_is_found_at_once():
    wrong = LEAST.replace("4k", "4q").replace("30k/min", "5/fortnight").replace('name = "QM1"', "")
    assert 3 == len(mistakes(wrong))


def test_flows_without_a_name_are_not_one_flow_twice():
    nameless = "[[flow]]\nsize = 1\nrate = 1\npersistent = true\n"
    assert ("[[flow]] number 2: queue is missing", "[[flow]] number 3: queue is missing") == mistakes(
        f"{LEAST}\n{nameless}{nameless}"
    )


def test_what_is_missing_altogether():
    assert ("[queue_manager] is missing: a plan needs it", "[[flow]] is missing: a plan needs it") == mistakes(
        "title='x'"
    )


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(WorkloadError, match="No such file"):
        load_workload(tmp_path / "none.toml")


def test_a_file_that_is_no_toml():
    assert 1 == len(mistakes("= 3"))


@pytest.mark.parametrize("deep", ["[", "{a = "])
def test_a_file_that_goes_deeper_than_can_be_read(deep):
    assert ("lists or tables in each other, too deep to be read",) == mistakes(f"a = {deep * 20_000}")


@pytest.mark.parametrize(
    ("written", "mistake"),
    [
        ("log = 3", "log: a table, written [log], is needed"),
        ("[flow]\nqueue = 'A'", "flow: a list of tables, each written [[flow]], is needed"),
        ("channel = [1]", "channel: a list of tables, each written [[channel]], is needed"),
    ],
)
def test_tables_to_be_completed_have_their_shape(tmp_path, written, mistake):
    """What a lake measured is put among them; what stands in them is refused with the whole, not here."""
    file = tmp_path / "w.toml"
    file.write_text(written, encoding="utf-8")
    with pytest.raises(WorkloadError) as refused:
        load_tables(file)
    assert (mistake,) == refused.value.mistakes
    file.write_text("[log]\nsize = 'none'\nmore = 1\n", encoding="utf-8")
    assert {"log": {"size": "none", "more": 1}} == load_tables(file)


@given(
    st.dictionaries(
        st.sampled_from(["size", "rate", "peak", "life", "outage", "messages_per_commit", "page_set", "shared"]),
        st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.just("4k")),
    )
)
def test_no_value_makes_anything_but_a_workload_or_a_mistake(values):
    lines = {"queue": '"A"', "size": "1", "rate": "1", "persistent": "true"}
    lines |= {key: f'"{value}"' if isinstance(value, str) else str(value).lower() for key, value in values.items()}
    table = "\n".join(f"{key} = {value}" for key, value in lines.items())
    try:
        flow = parse(f'[queue_manager]\nname = "Q"\n[[flow]]\n{table}', "w").flows[0]
    except WorkloadError:
        return
    assert flow.peak >= 1
    assert flow.backlog >= 0


def test_a_byte_order_mark_is_no_part_of_a_workload(tmp_path):
    path = tmp_path / "work.toml"
    path.write_text(LEAST, encoding="utf-8-sig")
    assert "QM1" == load_workload(path).queue_manager.name


@pytest.mark.parametrize(
    ("rate", "outage", "messages"), [("31/min", "1 min", 31), ("31/min", "61 s", 32), ("0/s", "1 h", 0)]
)
def test_messages_that_gather_in_an_outage(rate, outage, messages):
    """W3: 31 messages a minute make 31 in a minute, though 31 / 60 * 60 is a little more in floats."""
    flow = parse(LEAST.replace("30k/min", rate) + f'\noutage = "{outage}"\n', "w").flows[0]
    assert messages == flow.backlog
