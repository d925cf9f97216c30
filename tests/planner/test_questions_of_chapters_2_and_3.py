"""Questions of chapters 2 and 3 answered by hand: each figure from the papers' own rows, rules and worked examples."""

import pytest

from planner.asking import FACILITY, HEAD, ORDERS, SHARED, answers, asked, lacking

FAST = SHARED.replace('"S"', '"N"').replace("persistent = true", "persistent = false")
MACHINE = "[machine]\nprocessors = {}\n"
EPVT_KB = 1.6 * 1024 * 1024  # [3296]


def channels(*, count=1, size=1024, persistent=True, more="", name="C"):
    return (
        f'[[channel]]\nname = "{name}"\nkind = "sender"\nchannels = {count}\nsize = {size}\nrate = 1\n'
        f"persistent = {str(persistent).lower()}\n{more}"
    )


# --- coupling facility ------------------------------------------------------------------------------------------------


def test_what_duplexing_costs():
    """ORACLE 20 [2684-2687]: 15 % more CPU for a persistent message of 1 KB and as many of them; 30 % for one that
    is not, and 40 % fewer."""
    cpu, throughput = "CPU more, as measured at 1 KB", "throughput, as measured at 1 KB"
    assert {
        ("S", cpu): (15, 15),
        ("S", throughput): (0, 0),
        ("N", cpu): (30, 30),
        ("N", throughput): (-40, -40),
    } == answers("ch2-11", FACILITY, SHARED, FAST)
    assert ["15 %", "0 %", "30 %", "-40 %"] == [each.shown for each in asked("ch2-11", FACILITY, SHARED, FAST)[0]]


@pytest.mark.parametrize(
    ("release", "size", "ms", "cf_ms"),
    [
        ("9.0", 2048, 0.12, 0.36),
        ("9.0", 20_480, 0.16, 0.47),  # in the middle of 8 and 32 KB
        ("9.0", 64_512, 0.27, 0.73),
        ("9.0", 65_536, 0.26, 0.21),
        ("9.0", 102_400, 0.32, 0.43),
        ("9.0", 1_048_576, 2.49, 0.6),
        ("7.1", 102_400, 0.32, 0.43),
        ("7.0.1", 2048, 0.12, 0.36),
        ("7.0.1", 64_512, 0.28, 0.76),
        ("7.0.1", 102_400, 1.47, 1.64),  # there are no data sets yet: what is long lies in Db2
        ("7.0.1", 1_048_576, 10.6, 14.23),
    ],
)
def test_what_a_shared_persistent_message_costs(release, size, ms, cf_ms):
    """ORACLES 33 and 34 [2939-2965]: CFLEVEL(5) from 7.1 on, CFLEVEL(4) before."""
    found, _ = asked("ch2-15", FACILITY, SHARED.replace("1024", str(size)), FAST, head=f'{HEAD}release = "{release}"\n')
    assert {("S", "z/OS"): pytest.approx(ms), ("S", "coupling facility"): pytest.approx(cf_ms)} == {
        (each.about, each.what): each.value for each in found
    }


def test_what_data_sets_save():
    """ORACLE 33 [2945]: 1.47 against 0.32 ms."""
    large = SHARED.replace("size = 1024", "size = 102_400")
    assert pytest.approx(1.15) == answers("ch2-14", FACILITY, large)["S", "CPU saved by data sets"]


def test_a_unit_over_two_structures():
    """ORACLE 1 [2332]."""
    assert {("", "CPU more, non-persistent"): 6, ("", "CPU more, persistent"): 12} == answers(
        "ch2-17", FACILITY, SHARED, FAST
    )
    assert {("", "CPU more, persistent"): 12} == answers("ch2-17", FACILITY, SHARED)


# --- channel initiator ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("processors", "persistent", "adapters"),
    [(4, True, 30), (5, True, 38), (8, True, 62), (15, True, 118), (16, True, 120), (16, False, 8)],
)
def test_how_many_adapters(processors, persistent, adapters):
    """ORACLE 51 [3416]; 8 are the default [3414]."""
    found = answers("ch2-20", ORDERS, MACHINE.format(processors), channels(persistent=persistent))
    assert adapters == found["", "CHIADAPS"]


@pytest.mark.parametrize(("count", "dispatchers"), [(1000, 5), (1001, 20)])
def test_how_many_dispatchers_and_threads(count, dispatchers):
    """CH-R13 [3448]; 3 threads beside them [3475]."""
    assert {
        ("", "CHIADAPS"): 30,
        ("", "CHIDISPS"): dispatchers,
        ("", "OMVS threads"): 3 + dispatchers,
    } == answers("ch2-20", ORDERS, MACHINE.format(3), channels(count=count))


@pytest.mark.parametrize(("processors", "tasks"), [(3, 6), (5, 6), (6, 7)])
def test_how_many_ssl_tasks(processors, tasks):
    """One more than dispatchers, and more than processors [3936-3940]; each is a thread."""
    secured = channels(more='cipher = "TLS_RSA_WITH_AES_256_CBC_SHA256"\n')
    found = answers("ch2-20", ORDERS, MACHINE.format(processors), secured)
    assert (tasks, 3 + 5 + tasks) == (found["", "SSLTASKS"], found["", "OMVS threads"])


@pytest.mark.parametrize(
    ("count", "spread"),
    [
        (5, "5, 0, 0, 0, 0"),
        (30, "10, 10, 10, 0, 0"),  # MIN(200 / 5, 10) to each
        (57, "17, 10, 10, 10, 10"),  # and round again
        (200, "40, 40, 40, 40, 40"),
        (1001, "51, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50"),
    ],
)
def test_channels_on_their_dispatchers(count, spread):
    """CH-M8 [3438-3440], with MAXCHL 200 as it is supplied, or as many as there are."""
    assert {("", ""): spread} == answers("ch2-21", ORDERS, channels(count=count))


@pytest.mark.parametrize(("count", "near"), [(1110, False), (1111, True)])
def test_when_scavenging_begins(count, near):
    """CH-R1, CH-M5 [3400]: at 75 % of what 30 adapters and 20 dispatchers leave, in channels of 1 MB [3304]."""
    free = EPVT_KB - 30 * 223 - 20 * 248
    assert near is (count * 1125 >= 0.75 * free)
    found = answers("ch2-22", ORDERS, MACHINE.format(3), channels(count=count, size=1 << 20))
    assert {("", "scavenging"): near, ("", "buffers that stay free"): 20 * (4 + 36)} == found  # ORACLE 50 [3406]


def test_few_channels_keep_the_buffers_of_few_dispatchers():
    found = answers("ch2-22", ORDERS, MACHINE.format(3), channels())
    assert {("", "scavenging"): False, ("", "buffers that stay free"): 5 * 40} == found


def test_what_compression_costs_the_dispatcher():
    """ORACLE 56 [3468-3471]."""
    written = [channels(name=each, more=f'compression = "{each}"\n') for each in ("none", "zlibfast", "zlibhigh")]
    what = "a request of 32 KB"
    assert {("none", what): 6, ("zlibfast", what): 13, ("zlibhigh", what): 219} == answers("ch2-27", ORDERS, *written)


@pytest.mark.parametrize("number", ["ch2-20", "ch2-21", "ch2-22", "ch2-27"])
def test_without_channels_there_is_nothing_to_say(number):
    assert ["the workload lacks a [[channel]]"] == lacking(number, ORDERS, MACHINE.format(3))


@pytest.mark.parametrize("number", ["ch2-11", "ch2-15", "ch2-17"])
def test_without_shared_queues_there_is_nothing_to_say(number):
    assert ["the workload lacks a shared [[flow]]"] == lacking(number, ORDERS)
