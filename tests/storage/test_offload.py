"""The three offload rules, and how many messages a structure holds under them (MP16, part A6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.operations import ReadSpace, Space, Write
from quaestor.storage.lists.structure import Shape, StructureRefusal
from quaestor.storage.message_data_set import SIZE_MAX
from quaestor.storage.offload import DISABLED, ENTRY_MESSAGE_MAX, HEADERS, KB, OFFLOADED_BYTES, Offload

ELEMENT = 256
HALF_GB_ELEMENTS, HALF_GB_ENTRIES = 1_410_796, 235_133
"""The totals of a structure of 0.5 GB from which the paper's counts follow."""


def space(percent, total=1000):
    return Space(0, total, percent * total // 100, total)


def elements(size):
    return -(-(size + HEADERS) // ELEMENT)


@pytest.mark.oracle("mp16-cf/8", kind="exact", lines="2489-2491")
@pytest.mark.parametrize(("size", "taken"), [(5000, 21), (300, 3), (10, 2), (16 * KB, 66), (64_512, 254)])
def test_elements_of_a_message(size, taken):
    structure = MemoryFacility().connect(Shape("APPL1"), "QM1", lambda _: None)
    structure.request(Write(1, bytes(16), bytes(size + HEADERS)))
    assert (1, taken) == structure.request(ReadSpace())[0][0:3:2]
    assert taken == elements(size)


@pytest.mark.oracle("mp16-cf/12", kind="exact", lines="2459-2471")
def test_16_kb_messages_in_half_a_gigabyte():
    """17,101 are stored whole; with those that leave two elements each there are 158,166, until it is full.

    A byte stands for an element, so that the structure fits into this test.
    """
    shape = Shape("APPL1", element_bytes=1, entries=HALF_GB_ENTRIES, elements=HALF_GB_ELEMENTS)
    structure = MemoryFacility().connect(shape, "QM1", lambda _: None)
    rules, whole, offloaded = Offload(), 0, 0
    whole_data, rest_data = bytes(elements(16 * KB)), bytes(OFFLOADED_BYTES // ELEMENT)
    full = False
    while not full:
        (now,) = structure.request(ReadSpace())
        leaves = rules.wanted(16 * KB, now)
        try:
            structure.request(Write(1, bytes(16), rest_data if leaves else whole_data))
        except StructureRefusal as refusal:
            full = refusal.why == "FULL"
        else:
            offloaded += leaves
            whole += not leaves
    assert (17_101, 158_166) == (whole, whole + offloaded)


@pytest.mark.oracle("mp16-cf/13", kind="exact", lines="3138")
def test_31_data_sets_of_16_tb_are_496():
    assert 496 << 40 == 31 * SIZE_MAX


@pytest.mark.oracle("mp16-cf/14", kind="exact", lines="3146-3150")
def test_a_rule_of_64k_is_disabled():
    rules = Offload.of({"OFFLD3SZ": "64K", "OFFLD3TH": 90})
    assert not any(rules.wanted(size, space(full)) for size in (1, 1000, 4 * KB - HEADERS) for full in (90, 99, 100))
    assert all(rules.wanted(size, space(80)) for size in (4 * KB, 4 * KB + 1, 32 * KB))


@pytest.mark.parametrize(
    ("full", "size", "leaves"),
    [
        (69, 63 * KB, False),
        (70, 63 * KB, True),
        (70, 32 * KB, True),  # with its headers it is larger than 32 KB
        (70, 32 * KB - HEADERS, False),
        (79, 16 * KB, False),
        (80, 16 * KB, True),
        (80, 4 * KB - HEADERS, False),
        (89, 10, False),
        (90, 10, True),
        (0, 63 * KB, False),
        (0, 63 * KB + 1, True),
    ],
)
def test_the_default_rules(full, size, leaves):
    assert leaves == Offload().wanted(size, space(full))


def test_the_fuller_resource_counts():
    rules = Offload()
    assert rules.wanted(1, Space(90, 100, 0, 100))
    assert rules.wanted(1, Space(0, 100, 90, 100))
    assert not rules.wanted(1, Space(89, 100, 89, 100))


def test_rules_as_they_are_defined():
    attributes = {f"OFFLD{n}{part}": value for n in (1, 2, 3) for part, value in (("SZ", "64K"), ("TH", 10))}
    assert Offload() == Offload.of({})
    assert [DISABLED] * 3 == [rule.larger_than for rule in Offload.of(attributes).rules]


@given(st.integers(0, ENTRY_MESSAGE_MAX * 2), st.integers(0, 99))
def test_fuller_or_longer_never_brings_a_message_back(size, full):
    """With the default rules, what leaves a structure leaves a fuller one too, and so does what is longer."""
    if Offload().wanted(size, space(full)):
        assert Offload().wanted(size, space(full + 1))
        assert Offload().wanted(size + 1, space(full))
