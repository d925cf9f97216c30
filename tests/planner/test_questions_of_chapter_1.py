"""Questions of chapter 1 answered by hand: each figure from the paper's own rows, rules and worked examples."""

import pytest

from planner.asking import GIB, HEAD, LOOKUPS, ORDERS, PLACES, answers, asked, lacking

DS8800 = '[dasd]\ntype = "DS8800 (RAID 5)"\n'
MIB = 1 << 20
CYLINDER = 15 * 12 * 4096  # 3390: 15 tracks of 12 pages [542]
CHANNEL = '[[channel]]\nname = "{name}"\nkind = "{kind}"\nsize = 1024\nrate = 100\n'


# --- log --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "archive", "largest"),
    [
        ("7.1", "dasd", 65_535 * 12 * 4096),  # BDAM counts tracks [542]
        ("8.0", "dasd", 4 * GIB),  # [544]
        ("7.1", "tape", 4 * GIB),  # [546]
    ],
)
def test_the_largest_active_log(release, archive, largest):
    """T-1 [540-546]; the log that is defined is held against it."""
    log = f'[log]\nsize = "2G"\narchive = "{archive}"\n'
    (found,), _ = asked("ch1-6", ORDERS, log, head=f'{HEAD}release = "{release}"\n')
    assert largest == found.value
    room = found.head_room
    assert ("size of an active log", 2 * GIB, largest) == (room.what, room.used, room.limit)


@pytest.mark.parametrize(
    ("size", "growth"), [(1024, 1.07), (4096, 1.07), (34_816, 1.045), (65_536, 1.02), (100_000, 1.02)]
)
def test_what_the_wider_rba_adds(size, growth):
    """ORACLE 4 [606]: 7 % with replies of 4 KB, 2 % with 64 KB, and in the middle of the two 4.5 %."""
    flow = ORDERS.replace("1024", str(size))
    (found,), _ = asked("ch1-9", flow)
    (all_flows,) = [value for (about, _), value in answers("ch1-2", flow).items() if not about]
    assert pytest.approx(all_flows / 2 * 86_400 * growth) == found.value  # the peak is twice the average


def test_messages_that_a_dasd_carries():
    """ORACLE 10 [721] and half of it [4206].  1,000 bytes log, by T-3 and T-4 [635-648], 999/1023 of the way from a
    message of 1 byte to one of 1 KB; the peak of 200 a second is what it is used for."""
    logged = (1060 + 481) + 999 / 1023 * (2088 - 1060 + 492 - 481)
    flow = ORDERS.replace("1024", "1000")
    assert {
        ("", "at most"): 32.1 * MIB // logged,
        ("", "to plan with"): 32.1 * MIB / 2 // logged,
    } == answers("ch1-10", flow, DS8800)
    limits = [each.head_room for each in asked("ch1-10", flow, DS8800)[0]]
    assert [("persistent messages at most", 200, 32.1 * MIB // logged)] == [
        (room.what, room.used, room.limit) for room in limits[:1]
    ]
    assert ("persistent messages to plan with", 200) == (limits[1].what, limits[1].used)


def test_messages_that_a_dasd_carries_need_one():
    assert ["the workload lacks [dasd]"] == lacking("ch1-10", ORDERS)


@pytest.mark.parametrize(
    ("kind", "more", "kib"),
    [
        ("sender", "persistent = true\n", 2.5),
        ("sender", 'persistent = true\nbatchint = "1 s"\n', 3.7),  # 100 wait in a second, 50 are a batch
        ("sender", 'persistent = true\nbatchint = "255 ms"\n', 3.1),  # 25.5 lie in the middle of 1 and 50
        ("sender", 'persistent = true\ntraffic = "bulk"\n', 3.7),  # a preloaded queue fills every batch
        ("receiver", "persistent = true\n", 1.3),
        ("receiver", 'persistent = true\nbatchint = "1 s"\n', 1.3),
        ("sender", "persistent = false\n", 0),  # all of it fast [729]
    ],
)
def test_what_a_batch_logs(kind, more, kib):
    """T-9 [729-736]."""
    channel = CHANNEL.format(name="C", kind=kind) + more
    assert {("C", "a batch"): pytest.approx(kib * 1024)} == answers("ch1-11", ORDERS, channel)


def test_clients_have_no_batches():
    client = CHANNEL.format(name="C", kind="svrconn") + "persistent = true\n"
    assert ["nothing in this workload asks for it"] == lacking("ch1-11", ORDERS, client)


@pytest.mark.parametrize(("messages", "forces"), [(1, 1), (10, 0.1), (50, 0.02)])
def test_log_forces_of_a_message(messages, forces):
    """F-51 [2019]: each commit waits for one, whatever it holds; ORACLE 65 [2036] has 50 in one unit of work."""
    flow = ORDERS + f"messages_per_commit = {messages}\n"
    assert {("ORDERS", "for each put and get"): pytest.approx(forces)} == answers("ch1-38", flow, LOOKUPS)


# --- page sets and pools ----------------------------------------------------------------------------------------------


def test_copies_of_a_page_set():
    """T-11 [831, 852]: DFDSS copies 6,200 cylinders a minute, REPRO 3,700, and 8.5 MB a second when it lacks CPU.
    ORACLE 16 [1323] has 15 and 26 s for the 1,600 cylinders of this page set."""
    places = PLACES.replace('"4G"', f'"{1600 * CYLINDER // MIB}M"')
    found = answers("ch1-18", ORDERS, places)
    assert {
        ("page set 1", "DFDSS"): pytest.approx(1600 / 6200 * 60),
        ("page set 1", "REPRO"): pytest.approx(1600 / 3700 * 60),
        ("page set 1", "REPRO, short of CPU"): pytest.approx(1125 / 8.5),
    } == found
    assert (15, 26) == (round(found["page set 1", "DFDSS"]), round(found["page set 1", "REPRO"]))
    assert ["the workload lacks a [[page_set]]"] == lacking("ch1-18", ORDERS)


def test_a_copy_takes_as_long_as_a_page_set_is_large():
    """4 GB are 5,825.4 cylinders."""
    assert 4 * GIB / CYLINDER / 6200 * 60 == pytest.approx(answers("ch1-18", ORDERS, PLACES)["page set 1", "DFDSS"])


def test_buffers_of_the_objects_on_page_set_0():
    """F-60 [2245]: 10,000 queues of 2,660 bytes are 6,494.1 pages."""
    head = HEAD + "queues = 10_000\n"
    (found,), _ = asked("ch1-22", ORDERS, head=head)
    assert (6_495, None) == (found.value, found.head_room)
    (found,), _ = asked("ch1-22", ORDERS, "[[buffer_pool]]\nnumber = 0\nbuffers = 50_000\n", PLACES, head=head)
    assert ("buffer pool 0", 6_495, 50_000) == (found.head_room.what, found.head_room.used, found.head_room.limit)
    (found,), _ = asked("ch1-22", ORDERS, PLACES, head=head)
    assert found.head_room is None, "pool 3 is no pool 0"
    assert ["the workload lacks [queue_manager] queues"] == lacking("ch1-22", ORDERS)


# --- restart ----------------------------------------------------------------------------------------------------------


def test_what_restart_assumes_of_the_log():
    """The log is read from its start, and the unit in flight from where it began: ten seconds of the peak."""
    log = '[log]\nsize = "1G"\nlogload = 450_000\nwrites_per_message = 31\n'
    found, _ = asked("ch1-26", ORDERS, log, '[targets]\nlongest_unit_of_work = "10 s"\n')
    for each in found:
        state, backward = each.inputs["state"], each.inputs["backward"]
        assert (0, GIB) == (state.from_rba, state.to_rba)
        assert (0, 10 * 200 * 2580) == (backward.from_rba, backward.to_rba)


# --- trace and accounting ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "us"),
    [
        ("class = 1\ncalls_per_transaction = 1\n", 5),  # 2 + 3: 1,005 us of 1,000
        ("class = 3\ncalls_per_transaction = 4\nqueues_per_transaction = 1\n", 33),  # 4 x 2 + 25
        ("class = 3\ncalls_per_transaction = 4\nqueues_per_transaction = 8\n", 33),  # the primary record is full
        ("class = 3\ncalls_per_transaction = 4\nqueues_per_transaction = 9\n", 48),  # and 60 % of 25 for another
        ("class = 3\ncalls_per_transaction = 4\nqueues_per_transaction = 18\n", 63),  # nine queues in each [1864]
        ("class = 1\ncalls_per_transaction = 1\nqueues_per_transaction = 18\n", 5),
    ],
)
def test_what_accounting_adds(written, us):
    """ORACLE 61 [1936-1958], T-22 [1933]."""
    accounting = f'[accounting]\n{written}transactions = "10/s"\n'
    assert {("", ""): pytest.approx(us)} == answers("ch1-36", ORDERS, accounting)


@pytest.mark.parametrize(("machine", "untraced"), [("", 100), ("[machine]\ncost_us = 250\n", 250)])
def test_what_the_global_trace_costs(machine, untraced):
    """ORACLE 62 [1986-1988]: 100 us, twice as much in storage, more than eight times through GTF."""
    assert {
        ("", "a transaction, TRACE(G) OFF"): untraced,
        ("", "a transaction, TRACE(G) RES"): 2 * untraced,
        ("", "a transaction, TRACE(G) GTF"): 8 * untraced,
    } == answers("ch1-37", ORDERS, machine)


# --- storage and security ---------------------------------------------------------------------------------------------


def test_when_an_idle_user_is_discarded():
    """ORACLE 68 [2133-2139]: due after 54 minutes, and gone at the first check after them, at 60."""
    (found,), _ = asked("ch1-43", ORDERS)
    assert (60, "1 h") == (found.value, found.shown)


@pytest.mark.parametrize(
    ("structures", "bytes_"),
    [
        (0, (27 + 65) * MIB + 800 * 1024),  # one at least, for shared queues lie in one
        (1, (27 + 65) * MIB + 800 * 1024),
        (3, (27 + 65) * MIB + 3 * 800 * 1024),
    ],
)
def test_membership_in_a_group(structures, bytes_):
    """T-25 [2273-2279]: 27 MB, 800 KB for each structure, and 65 MB that BACKUP CFSTRUCT holds."""
    shared = ORDERS.replace("page_set = 1", "shared = true")
    defined = "".join(f'[[structure]]\nname = "APP{at}"\nsize = "100M"\n' for at in range(structures))
    found, _ = asked("ch1-42", shared, "[coupling_facility]\ncfcc_level = 22\n", defined)
    assert [bytes_] == [each.value for each in found if each.what == "membership in the group"]
