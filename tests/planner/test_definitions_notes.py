"""Definitions are ready to use: within what a parameter takes, one line for a queue, and a note for what has none."""

import pytest

from quaestor.planner.definitions import definitions
from quaestor.planner.measured_workload import NON_PERSISTENT
from quaestor.planner.workload import ACTIVE_LOGS_MAX, OUTBUFF_BYTES_MAX
from quaestor.planner.workload_file import parse

HEAD = '[queue_manager]\nname = "Q"\ngroup = "QSG1"\n'
FACILITY = "[coupling_facility]\ncfcc_level = 22\n"
PAGE_SET = '[[page_set]]\nnumber = 1\nsize = "1G"\nbuffer_pool = 1\n'


def flow(name, more="", size='"1k"', rate='"5/s"', persistent="true"):
    return f'[[flow]]\nqueue = "{name}"\nsize = {size}\nrate = {rate}\npersistent = {persistent}\n{more}\n'


def made(*written):
    return definitions(parse(HEAD + "".join(written), "w"))


def queues(found):
    return [line for line in found.mqsc if line.startswith("DEFINE QLOCAL")]


def test_a_queue_without_a_page_set_leaves_the_pools_their_lines():
    """D1: it may lie in the pool or not, so the pool begins where the papers begin."""
    found = made(flow("A"), flow("B", "page_set = 1"), PAGE_SET)
    assert "DEFINE BUFFPOOL(1) BUFFERS(50000) LOCATION(ABOVE) REPLACE" in found.mqsc
    assert "buffer pool 1: the workload lacks the page set of A, so what the peak needs is not known" in found.notes


def test_a_pool_is_as_large_as_its_short_lived_messages_at_the_peak_need():
    """1,000 a second for 100 s are 100,001 pages of one message, and 15 % stay free."""
    log = '[log]\nsize = "4G"\nlogload = 16_000_000\nwrites_per_message = 1\n'
    peak = flow("B", 'page_set = 1\nlife = "100 s"', rate='"1000/s"')
    assert any("BUFFPOOL(1) BUFFERS(117649)" in line for line in made(log, peak, PAGE_SET).mqsc)


@pytest.mark.parametrize(
    ("stays", "line", "note"),
    [
        ("", None, "structure APPLICATION1: without life or outage no message stays in it"),
        ('outage = "1 h"', "STRUCTURE NAME(QSG1APPLICATION1) INITSIZE(", None),
        (
            'outage = "1 h"\nstructure = "APPLICATION12"',
            None,
            "structure APPLICATION12: cfstruct_name_characters 13 is not valid: 1 to 12",
        ),
        ('outage = "1 h"\nstructure = "APPLICATION1"', "STRUCTURE NAME(QSG1APPLICATION1) INITSIZE(", None),
    ],
)
def test_a_structure_that_cannot_be_sized_is_a_note(stays, line, note):
    found = made(FACILITY, flow("S", f"shared = true\n{stays}"))
    assert found.cfrm[0].startswith("STRUCTURE NAME(QSG1CSQ_ADMIN)")
    assert ([line] if line else []) == [each[: len(line or "")] for each in found.cfrm[1:]]
    assert (note in found.notes) if note else not any("structure" in each for each in found.notes)


SMALL = "structure APPLICATION1: below 16 MB the facility needs more for itself than INITSIZE allows for"


@pytest.mark.parametrize(
    ("messages", "sizes", "notes"),
    [
        (7_000, ["INITSIZE(16170) SIZE(32340)"], [SMALL]),  # of 1,792 bytes each, and 32 % more
        (7_100, ["INITSIZE(16401) SIZE(32802)"], []),
        (300_000_000, ["INITSIZE(693000000) SIZE(1073741824)"], []),  # 1 TiB, not twice as much
        (600_000_000, [], ["structure APPLICATION1: its messages need 1.291 TiB, above the largest of 1 TiB"]),
    ],
)
def test_a_structure_is_neither_too_small_nor_larger_than_there_are(messages, sizes, notes):
    """D5, CF-R18 [2385]."""
    found = made(FACILITY, flow("S", 'shared = true\noutage = "1 s"', rate=f'"{messages // 100}/s"\npeak = 100'))
    assert sizes == [f"INITSIZE{line.partition('INITSIZE')[2].partition(' MIN')[0]}" for line in found.cfrm[1:]]
    assert notes == [note for note in found.notes if note.startswith("structure")]


def test_both_flows_of_a_measured_queue_are_one_queue():
    """D6: the depth is that of both, the length that of the longer."""
    both = flow("A", 'page_set = 1\noutage = "10 s"', size='"5M"') + flow(
        f"A{NON_PERSISTENT}", 'page_set = 1\noutage = "20 s"\nindexed = true', persistent="false"
    )
    assert [
        "DEFINE QLOCAL('A') STGCLASS(PSID01) MAXDEPTH(150) MAXMSGL(5242880) INDXTYPE(MSGID) REPLACE",
    ] == queues(made(both, PAGE_SET))


def test_both_flows_of_a_measured_shared_queue_are_one_queue():
    both = flow("S", 'shared = true\noutage = "10 s"') + flow(f"S{NON_PERSISTENT}", "shared = true", persistent="false")
    found = made(FACILITY, both)
    assert [
        "DEFINE QLOCAL('S') QSGDISP(SHARED) CFSTRUCT(APPLICATION1) MAXDEPTH(50) MAXMSGL(4194304) REPLACE"
    ] == queues(found)
    assert "DEFINE CFSTRUCT(APPLICATION1) CFLEVEL(5) RECOVER(YES) OFFLOAD(SMDS) REPLACE" in found.mqsc


@pytest.mark.parametrize(("more", "place"), [("page_set = 1", PAGE_SET), ("shared = true", FACILITY)], ids=str)
@pytest.mark.parametrize(("outage", "depth"), [("0 s", 1), ("1 s", 10_000_000), ("1 h", 999_999_999)])
def test_a_depth_stays_within_what_maxdepth_takes(more, place, outage, depth):
    written = flow("A", f'{more}\noutage = "{outage}"', rate="10_000_000", persistent="false")
    (line,) = queues(made(written, place))
    assert f"MAXDEPTH({depth})" in line


@pytest.mark.parametrize(
    ("messages", "outbuff", "noted"),
    [(1, 4000, False), (60, 65_344, False), (120, 130_688, False), (121, 131_072, True)],
)
def test_outbuff_holds_the_longest_unit_as_far_as_it_may(messages, outbuff, noted):
    """D5: a put of 1 MB is 1,115,000 bytes of log by the chart's last slope, and 128 MiB are the most."""
    found = made(flow("A", f"messages_per_commit = {messages}", size='"1M"'))
    assert any(line.strip() == f"OUTBUFF={outbuff}" for line in found.parameters), found.parameters
    notes = [note for note in found.notes if note.startswith("OUTBUFF")]
    assert noted == bool(notes)
    assert outbuff * 1024 <= OUTBUFF_BYTES_MAX
    if noted:
        assert "KB, above the largest of 131,072 KB" in notes[0]


def test_more_active_logs_than_there_can_be_are_no_line():
    found = made(flow("A", size='"100M"', rate='"1000/s"'))
    (note,) = [note for note in found.notes if note.startswith("active logs")]
    assert note.endswith(f"would be needed and {ACTIVE_LOGS_MAX} are the most: spread the work")


def test_what_is_written_is_what_stands_in_the_text():
    found = made(FACILITY, flow("S", 'shared = true\noutage = "1 min"'), flow("A", "page_set = 1"), PAGE_SET)
    text = found.as_text()
    for title, lines in (("* MQSC", found.mqsc), ("* System", found.parameters), ("* CFRM", found.cfrm)):
        assert title in text
        assert "\n".join(lines) in text
    assert all(f"* {note}" in text for note in found.notes)
