"""ALLOWAUTOALT: a structure that fills up changes its ratio, then its size, while it is used (MP16 CF-M6)."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmgr.shared.sharing import GET_OUT, OUT, STRUCTURE, USES, VOLATILE, Sharing
from quaestor.mqi.reasons import MQError
from quaestor.mqi.structures import StructureDefinition
from quaestor.planner.structures import elements_per_message
from quaestor.qmgr.coupling_facility.auto_alter import UNITS_PER_KB, altered
from quaestor.storage.lists.operations import Space, Write


def defined(size_kb=4096, threshold=80):
    return StructureDefinition(STRUCTURE, size_kb=size_kb, alter_by_itself="YES", full_threshold=threshold)


@st.composite
def spaces(draw):
    entries_total, elements_total = draw(st.integers(10, 10**6)), draw(st.integers(10, 10**6))
    entries, elements = draw(st.integers(0, entries_total)), draw(st.integers(0, elements_total))
    return Space(entries, entries_total, elements, elements_total)


@given(spaces(), st.integers(16, 1 << 20), st.integers(1, 100))
def test_an_alter_keeps_what_is_in_use_and_never_shrinks(space, size_kb, threshold):
    """And it grows beyond SIZE only in that a structure may be larger to begin with."""
    found = altered(space, defined(size_kb, threshold))
    if found is None:
        return
    before, after = space.entries_total + space.elements_total, found.entries_total + found.elements_total
    assert found[0::2] == space[0::2]
    assert found.entries <= found.entries_total
    assert found.elements <= found.elements_total
    assert before <= after <= max(before, size_kb * UNITS_PER_KB)


@given(spaces(), st.integers(1, 99))
def test_an_alter_that_can_grow_brings_it_below_the_threshold(space, threshold):
    """Within an entry and an element, which cannot be divided; one more look changes at most those."""
    found = altered(space, defined(1 << 30, threshold))
    if found is not None:
        share = (space.entries + space.elements) / (found.entries_total + found.elements_total)
        assert share <= threshold / 100
        assert space.entries <= threshold / 100 * (found.entries_total + 2)
        assert space.elements <= threshold / 100 * (found.elements_total + 2)


@pytest.mark.parametrize(
    ("space", "made"),
    [
        (Space(80, 100, 10, 600), None),  # eighty percent are not more than eighty percent
        (Space(81, 100, 81, 600), Space(81, 350, 81, 350)),  # small messages: room for elements becomes entries
        (Space(10, 100, 590, 600), Space(10, 12, 590, 758)),  # six hundred units of 700 are too many: it grows
        (Space(100, 100, 600, 600), Space(100, 125, 600, 750)),
    ],
)
def test_ratio_and_size_by_example(space, made):
    assert made == altered(space, defined())


def test_a_structure_that_may_not_grow_is_divided_as_it_is_used():
    assert Space(10, 11, 590, 689) == altered(Space(10, 100, 590, 600), defined(size_kb=175))
    assert altered(Space(10, 11, 590, 689), defined(size_kb=175)) is None  # as good as it can be


# -- live


@pytest.fixture
def sharing(tmp_path):
    made = Sharing(tmp_path, SIZE=4096, INITSIZE=1024, ALLOWAUTOALT="YES")
    for name in ("QM1", "QM2"):
        made.start(name)
    made.define(max_depth=100_000)
    return made


def fill(sharing, size):
    """Put until it is full, as if members looked once in a while: how many messages there are."""
    managers = [sharing.members[name] for name in ("QM1", "QM2")]
    with managers[0].connect("ALICE") as app, app.open("ORDERS", USES) as queue, suppress(MQError):
        put = 0
        while True:
            queue.put(bytes(size), VOLATILE, OUT)
            put += 1
            if put % 5 == 0:
                for manager in managers:
                    manager.shared.auto_alter.step()
    return put


@pytest.mark.parametrize("size", [10, 16_384])
def test_a_structure_grows_to_its_size_in_the_ratio_of_its_messages(sharing, size):
    """From 1 MB to 4 MB. Entries and elements become exchangeable: the capacity of MP16 with a settled ratio."""
    first, units = sharing.space(), 4096 * UNITS_PER_KB
    put = fill(sharing, size)
    last = sharing.space()
    assert 1024 * UNITS_PER_KB >= first.entries_total + first.elements_total
    assert units == last.entries_total + last.elements_total
    settled = units // (1 + elements_per_message(size))
    assert 0.97 * settled <= put <= settled
    with sharing.members["QM2"].connect("BOB") as other, other.open("ORDERS", USES) as queue:
        assert size == len(queue.get(GET_OUT).body)


def test_without_permission_it_stays_as_it_is(tmp_path):
    sharing = Sharing(tmp_path, SIZE=1024)
    for name in ("QM1", "QM2"):
        sharing.start(name)
    sharing.define(max_depth=100_000)
    first = sharing.space()
    fill(sharing, 10)
    assert first[1::2] == sharing.space()[1::2]


def test_nobody_is_asked_below_the_threshold(sharing):
    manager = sharing.members["QM1"]
    manager.shared.auto_alter.step()  # learns how large it is
    figures = manager.shared.structures[STRUCTURE].figures
    before = figures.single_calls
    for _ in range(3):
        manager.shared.auto_alter.step()
    assert before == figures.single_calls


def test_what_was_taken_into_use_meanwhile_refuses_an_alter(sharing):
    """The totals stay, and the next look has the new figures."""
    one, two = (sharing.members[name].shared for name in ("QM1", "QM2"))
    structure = one.structures[STRUCTURE]
    one.auto_alter.step()
    for _ in range(sharing.space().entries_total - sharing.space().entries):
        structure.ask(Write(900, bytes(16), b"x"))
    full, ask = sharing.space(), structure.ask

    def late(operation):
        answers = ask(operation)
        return [answers[0]._replace(entries=1)] if isinstance(answers[0], Space) else answers

    structure.ask = late
    one.auto_alter.step()
    assert full == sharing.space()
    two.auto_alter.step()
    assert sharing.space().entries_total > full.entries_total


def test_a_structure_that_is_lost_is_left_to_the_next_look(sharing):
    one = sharing.members["QM1"].shared
    sharing.cut_off(STRUCTURE)
    one.auto_alter.step()
    one.auto_alter.step()
    sharing.reach_again(STRUCTURE)
    assert one.structures[STRUCTURE].failing is None
