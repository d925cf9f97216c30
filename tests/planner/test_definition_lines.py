"""Definitions line by line: what each part of a workload writes, and what it leaves out (D1 to D5)."""

import pytest

from quaestor.planner.definitions import definitions
from quaestor.planner.workload_file import parse

MACHINE = '[machine]\ntype = "2817-703"\n'
FACILITY = "[coupling_facility]\ncfcc_level = 22\n"


def written(*parts, release="9.0", group="QSG1"):
    head = f'[queue_manager]\nname = "Q"\nrelease = "{release}"\ngroup = "{group}"\n'
    return definitions(parse(head + "".join(parts), "w"))


def flow(name, more="", size='"1k"', rate='"5/s"', persistent="true"):
    return f'[[flow]]\nqueue = "{name}"\nsize = {size}\nrate = {rate}\npersistent = {persistent}\n{more}\n'


def page_set(number, size="1G"):
    return f'[[page_set]]\nnumber = {number}\nsize = "{size}"\nbuffer_pool = {number}\n'


def channel(name, kind, more="", size='"1k"', persistent="true"):
    alike = f'kind = "{kind}"\nsize = {size}\nrate = "5/s"\npersistent = {persistent}\n{more}\n'
    return f'{flow("XMIT")}[[channel]]\nname = "{name}"\n{alike}'


def lines(found, beginning):
    return [line for line in found if line.startswith(beginning)]


# --- private queues ---------------------------------------------------------------------------------------------------


def test_a_page_set_that_no_queue_lies_on_has_no_storage_class():
    found = written(flow("A", "page_set = 2"), page_set(1), page_set(2))
    assert [
        "DEFINE PSID(01) BUFFPOOL(1) EXPAND(USER)",
        "DEFINE PSID(02) BUFFPOOL(2) EXPAND(USER)",
    ] == lines(found.mqsc, "DEFINE PSID")
    assert ["DEFINE STGCLASS(PSID02) PSID(02) REPLACE"] == lines(found.mqsc, "DEFINE STGCLASS")
    assert ["DEFINE QLOCAL('A') STGCLASS(PSID02) MAXDEPTH(1) MAXMSGL(4194304) REPLACE"] == lines(
        found.mqsc, "DEFINE QLOCAL"
    )


def test_a_pool_that_no_flow_uses_has_no_line_of_its_own():
    """Pools follow from page sets with queues; the pool of page set 1 is as it was."""
    found = written(flow("A", "page_set = 2"), page_set(1), page_set(2))
    assert ["2"] == [line[len("DEFINE BUFFPOOL(") :][0] for line in lines(found.mqsc, "DEFINE BUFFPOOL")]


@pytest.mark.parametrize(
    ("size", "notes"),
    [
        ("3145728", []),
        ("3141632", ["page set 1: allocate 3 MiB or more (today 2.996 MiB)"]),
    ],
)
def test_a_page_set_holds_its_backlog_below_the_point_where_it_expands(size, notes):
    """D3, M-12 [795-797]: 600 messages of one page, 2,457,600 bytes, are 90 % of 2,730,667, in whole megabytes 3."""
    found = written(flow("A", 'page_set = 1\noutage = "120 s"'), page_set(1, size))
    assert notes == [note for note in found.notes if note.startswith("page set")]


def test_a_backlog_larger_than_any_page_set_goes_on_several():
    """F-14 [762-766]: 64 GB is the most, and 4 GB before V6.  T-10 [770-789]: of 3,600,000 messages of 1 KB, V6 and
    before put two on a page, later releases one."""
    backlog = flow("A", 'page_set = 1\noutage = "10 h"', rate='"100/s"')
    (allocate,) = written(backlog, page_set(1)).notes[:1]
    assert "page set 1: allocate 15.26 GiB or more (today 1 GiB)" == allocate
    assert [
        "page set 1: allocate 4 GiB or more (today 1 GiB)",
        "page set 1: its backlog needs 7.63 GiB, above the largest of 4 GiB: put its queues on 2 page sets",
    ] == [note for note in written(backlog, page_set(1), release="5.3").notes if note.startswith("page set")]


# --- shared queues ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("persistent", "recover"), [("true", "YES"), ("false", "NO")])
def test_a_structure_is_recovered_where_a_message_must_survive(persistent, recover):
    found = written(FACILITY, flow("S", 'shared = true\noutage = "1 min"', persistent=persistent))
    assert [f"DEFINE CFSTRUCT(APPLICATION1) CFLEVEL(5) RECOVER({recover}) OFFLOAD(SMDS) REPLACE"] == lines(
        found.mqsc, "DEFINE CFSTRUCT"
    )


@pytest.mark.parametrize(
    ("release", "size", "level"),
    [
        ("6.0", '"63k"', "CFLEVEL(3) RECOVER(YES)"),
        ("7.0.1", '"64k"', "CFLEVEL(4) RECOVER(YES)"),
        ("7.1", '"1k"', "CFLEVEL(5) RECOVER(YES) OFFLOAD(SMDS)"),
    ],
)
def test_shared_message_data_sets_come_with_7_1(release, size, level):
    """[2831]: CFLEVEL(5) appeared in 7.1; before it, over 63 KB needs 4, and less does with 3 [3154-3162]."""
    found = written(FACILITY, flow("S", 'shared = true\noutage = "1 min"', size=size), release=release)
    assert [f"DEFINE CFSTRUCT(APPLICATION1) {level} REPLACE"] == lines(found.mqsc, "DEFINE CFSTRUCT")


def test_a_shared_queue_takes_its_longest_message_and_is_indexed_as_a_private_one():
    found = written(FACILITY, flow("S", 'shared = true\noutage = "1 min"\nindexed = true', size='"5M"'))
    (line,) = lines(found.mqsc, "DEFINE QLOCAL('S') QSGDISP(SHARED) CFSTRUCT(APPLICATION1) ")
    assert line.endswith(" MAXDEPTH(300) MAXMSGL(5242880) INDXTYPE(MSGID) REPLACE")


@pytest.mark.parametrize(("alter", "allowed"), [("true", "YES"), ("false", "NO")])
def test_the_administration_structure_is_never_altered_by_itself(alter, allowed):
    facility = FACILITY + f"auto_alter = {alter}\n"
    admin, application = written(facility, flow("S", 'shared = true\noutage = "1 min"')).cfrm
    assert "NAME(QSG1CSQ_ADMIN)" in admin
    assert "ALLOWAUTOALT(NO)" in admin
    assert f"ALLOWAUTOALT({allowed})" in application


def test_a_short_name_of_a_group_is_filled_up_with_at_signs():
    """The structure's name begins with four characters of the group; the product fills a shorter name up so."""
    (admin,) = lines(written(FACILITY, flow("S", "shared = true"), group="QS").cfrm, "STRUCTURE")
    assert admin.startswith("STRUCTURE NAME(QS@@CSQ_ADMIN) ")


# --- channels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "more", "line"),
    [
        ("sender", "", "CHLTYPE(SDR) BATCHSZ(1) BATCHINT(0) NPMSPEED(FAST)"),
        ("receiver", "", "CHLTYPE(RCVR) BATCHSZ(1) NPMSPEED(FAST)"),
        (
            "sender",
            'cipher = "TLS_RSA_WITH_AES_256_CBC_SHA256"',
            "CHLTYPE(SDR) BATCHSZ(1) BATCHINT(0) NPMSPEED(FAST) SSLCIPH(TLS_RSA_WITH_AES_256_CBC_SHA256)",
        ),
        ("svrconn", "", "CHLTYPE(SVRCONN) SHARECNV(0)"),
        ("svrconn", "sharecnv = 10", "CHLTYPE(SVRCONN) SHARECNV(1)"),
    ],
)
def test_the_line_of_a_channel(kind, more, line):
    """CH-R17 [3602]: persistent requests that somebody waits for go in batches of one; receivers have no interval."""
    found = written(channel("C", kind, more))
    assert [f"ALTER CHANNEL('C') {line}"] == lines(found.mqsc, "ALTER CHANNEL")


@pytest.mark.parametrize(
    ("size", "batchsz"), [("5000", 50), ("100_000", 50), ("100_001", 10), ('"1M"', 1), ('"100M"', 1)]
)
def test_long_messages_go_in_small_batches(size, batchsz):
    """CH-R21 [3607, 3691-3692]."""
    found = written(channel("C", "sender", 'traffic = "bulk"', size=size))
    (line,) = lines(found.mqsc, "ALTER CHANNEL")
    assert f" BATCHSZ({batchsz}) " in line


@pytest.mark.parametrize(
    ("channels", "most"), [(1, 200), (160, 200), (161, 202), (1_000, 1_250), (7_999, 9_999), (9_999, 9_999)]
)
def test_a_quarter_of_the_channels_is_to_spare(channels, most):
    """200 at least; 9,999 is the most that MAXCHL takes (D5)."""
    found = written(MACHINE, channel("C", "sender", f"channels = {channels}"))
    (line,) = lines(found.mqsc, "ALTER QMGR")
    assert line.startswith(f"ALTER QMGR MAXCHL({most}) ACTCHL({most}) ")


@pytest.mark.parametrize(
    ("release", "more", "attributes"),
    [
        ("7.0.1", "", [" SHARECNV(0)"]),
        ("6.0", "", []),
        ("6.0", 'cipher = "ECDHE_RSA_AES_256_CBC_SHA384"', [" SSLCIPH(ECDHE_RSA_AES_256_CBC_SHA384)"]),
    ],
)
def test_conversations_are_shared_from_version_7_on(release, more, attributes):
    """[3719]: before, clients have no SHARECNV, and nothing else is to be altered of their channels."""
    found = written(flow("A"), channel("C", "svrconn", more), release=release)
    assert [f"ALTER CHANNEL('C') CHLTYPE(SVRCONN){each}" for each in attributes] == lines(found.mqsc, "ALTER CHANNEL")


def test_the_channel_initiator_has_a_line_from_version_6_and_a_macro_before():
    parts = (MACHINE, channel("C", "sender"))
    new, old = written(*parts, release="6.0"), written(*parts, release="5.3")
    assert (1, 0) == tuple(len(lines(each.mqsc, "ALTER QMGR")) for each in (new, old))
    assert (False, True) == tuple(any("CSQ6CHIP" in line for line in each.parameters) for each in (new, old))


# --- system parameters ------------------------------------------------------------------------------------------------


def test_a_macro_is_continued_in_column_72_and_goes_on_in_column_16():
    first, second = written(flow("A"), "[log]\nsize = '1G'\n").parameters[:2]
    assert "         CSQ6LOGP TWOACTV=YES," == first[:71].rstrip()
    assert ("X", 72) == (first[71:], len(first))
    assert " " * 15 == second[:15]
    assert "OUTBUFF=4000" == second[15:]


@pytest.mark.parametrize(("copies", "two", "words"), [(1, "NO", "one copy"), (2, "YES", "two copies")])
def test_copies_of_the_log(copies, two, words):
    found = written(f"[log]\ncopies = {copies}\n", flow("A"))
    assert found.parameters[0].startswith(f"         CSQ6LOGP TWOACTV={two},")
    (note,) = [note for note in found.notes if note.startswith("active logs")]
    assert note.endswith(f"cylinders each, {words}")


def test_a_log_that_cannot_last_30_minutes_says_how_long_it_does():
    """F-5 [554]: of 4 GB, 30 minutes allow 2,386,093 bytes a second; put and get of 1 KB log 2,580 bytes by the charts,
    so 1,000 a second fill 4,294,967,296 bytes, in whole cylinders, in 27.7 minutes."""
    found = written(flow("A", rate='"1000/s"'))
    logs = [note for note in found.notes if note.startswith("active logs")]
    assert "active logs: the largest lasts 27.7 minutes at the peak, not 30; their number makes up" == logs[1]
    (slower,) = [note for note in written(flow("A", rate='"900/s"')).notes if note.startswith("active logs")]
    assert slower.startswith("active logs: allocate ")


def test_no_persistent_message_needs_no_log():
    found = written(flow("A", persistent="false"))
    assert not [note for note in found.notes if note.startswith("active logs")]
    assert "OUTBUFF=4000" == found.parameters[1].strip()
