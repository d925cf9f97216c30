"""The small parts of the recovery manager: life cycles, outcomes, what a checkpoint says (U1-U4, OC1-OC3, CB1)."""

from itertools import product

import pytest

from model.answers import fails
from quaestor.mqi.reasons import Abend, Reason
from quaestor.qmgr.recovery import outcomes as outcomes_module
from quaestor.qmgr.recovery.checkpoint import (
    PART_MAX,
    CheckpointBody,
    UnitEntry,
    pack_checkpoint,
    parts_of,
    read_checkpoint,
    unpack_checkpoint,
)
from quaestor.qmgr.recovery.checkpointing import undo_next
from quaestor.qmgr.recovery.outcomes import CLIENTS_MAX, Outcomes, label
from quaestor.qmgr.recovery.unit import NEXT, State, UnitOfRecovery
from quaestor.server.limits import Limits
from quaestor.storage.changes import UNDO_NEXT
from quaestor.storage.log_record import Identity, Kind, LogRecord

# --- units -----------------------------------------------------------------------------------------------------------

ALLOWED = {
    "IN_FLIGHT": "IN_COMMIT_1 IN_COMMIT_2 IN_BACKOUT ENDED",
    "IN_COMMIT_1": "IN_DOUBT IN_BACKOUT",
    "IN_DOUBT": "IN_COMMIT_2 IN_BACKOUT",
    "IN_COMMIT_2": "ENDED",
    "IN_BACKOUT": "ENDED",
    "ENDED": "",
}
"""The paper's picture."""


@pytest.mark.parametrize(("now", "then"), list(product(State, State)), ids=lambda state: state.name)
def test_a_unit_moves_only_as_the_picture_says(now, then):
    """U1."""
    unit = UnitOfRecovery(Identity())
    unit.state = now
    if then.name in ALLOWED[now.name].split():
        unit.become(then)
        assert then is unit.state
    else:
        with pytest.raises(Abend, match=rf"U1: .*now='{now.name}', wanted='{then.name}'"):
            unit.become(then)
        assert now is unit.state


def test_every_state_has_its_letter_and_its_row():
    assert {"F": "IN_FLIGHT", "1": "IN_COMMIT_1", "D": "IN_DOUBT", "C": "IN_COMMIT_2", "A": "IN_BACKOUT"} == {
        state.value: state.name for state in State if state is not State.ENDED
    }
    assert set(State) == set(NEXT)


def test_a_new_unit_has_left_no_trace():
    """U2: it has no URID, has nothing to undo, and ends with one step."""
    who = Identity("BATCH", "ALICE", "7", 5)
    unit = UnitOfRecovery(who, born=3)
    assert (who, State.IN_FLIGHT, 0, 0, 0, 3) == (
        unit.identity,
        unit.state,
        unit.urid,
        unit.first,
        unit.last,
        unit.born,
    )
    assert ([], [], [], b"", None, b"", False) == (
        unit.puts,
        unit.gets,
        unit.other,
        unit.xid,
        unit.shared,
        unit.label,
        unit.alone,
    )
    assert 0 == UnitOfRecovery(who).born
    unit.become(State.ENDED)
    unit.urid = 0x12AB
    assert "<unit 12ab ENDED>" == repr(unit)


def test_units_do_not_share_what_they_put_and_got():
    one, other = UnitOfRecovery(Identity()), UnitOfRecovery(Identity())
    one.puts.append(1)
    one.gets.append(2)
    one.other.append(3)
    assert ([], [], []) == (other.puts, other.gets, other.other)


# --- outcomes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "number", "packed"),
    [
        (b"C", 0, b"C" + bytes(8)),
        (b"CLIENT", 258, b"CLIENT\0\0\0\0\0\0\x01\x02"),
        (b"C" * 32, (1 << 64) - 1, b"C" * 32 + b"\xff" * 8),
    ],
)
def test_a_label_is_a_name_and_a_number(client, number, packed):
    """OC1."""
    assert packed == label(client, number)


@pytest.mark.parametrize(("client", "number"), [(b"", 1), (b"C" * 33, 1), (b"C", -1), (b"C", 1 << 64)])
def test_what_cannot_be_a_label_is_refused(client, number):
    with fails(Reason.UOW_NOT_AVAILABLE):
        label(client, number)


def test_a_unit_has_committed_if_its_number_is_not_above_the_last():
    """OC2."""
    outcomes = Outcomes()
    outcomes.note(label(b"ONE", 5))
    outcomes.note(label(b"TWO", 0))
    asked = [(b"ONE", 4), (b"ONE", 5), (b"ONE", 6), (b"TWO", 0), (b"TWO", 1), (b"THREE", 0)]
    assert [True, True, False, True, False, False] == [outcomes.committed(*each) for each in asked]


def test_an_older_number_that_comes_late_takes_nothing_back():
    """OC1, OC2: restart may read a checkpoint that knows more than the next COMMIT record."""
    outcomes = Outcomes()
    for number in (7, 3):
        outcomes.note(label(b"ONE", number))
    assert {b"ONE": 7} == outcomes.last


def test_who_has_not_committed_for_longest_is_forgotten_first(monkeypatch):
    """OC3: whoever commits again is the youngest."""
    monkeypatch.setattr(outcomes_module, "CLIENTS_MAX", 3)
    outcomes = Outcomes()
    for name in (b"A", b"B", b"C", b"A"):
        outcomes.note(label(name, 1))
    assert [b"B", b"C", b"A"] == list(outcomes.last)
    outcomes.note(label(b"D", 1))
    assert [b"C", b"A", b"D"] == list(outcomes.last)


def test_more_clients_are_remembered_than_may_connect():
    """OC3: nobody who is connected is forgotten between a commit that was cut off and the question for it."""
    outcomes = Outcomes()
    for number in range(CLIENTS_MAX + 1):
        outcomes.note(label(b"%d" % number, 1))
    assert 2 * Limits().connections == CLIENTS_MAX == len(outcomes.last)
    assert not outcomes.committed(b"0", 1)
    assert outcomes.committed(b"1", 1)


# --- what a checkpoint says ------------------------------------------------------------------------------------------


def entries(count):
    who = Identity("BATCH", "ÄRZTIN", "THREAD", 1 << 50)
    return [UnitEntry(n + 1, n + 2, n + 3, "D" if n % 2 else "F", bytes((n % 256, 0)), who) for n in range(count)]


BODY = CheckpointBody(entries(3), {0: 4096, 1: 1 << 40}, {b"\xff\0client": 1 << 63, b"B": 0})


def test_a_checkpoint_is_read_back_as_it_was():
    assert BODY == unpack_checkpoint(pack_checkpoint(BODY))


def test_one_from_before_there_were_outcomes_has_none():
    packed = b'{"units":[],"page_sets":{"1":77}}'
    assert CheckpointBody([], {1: 77}, {}) == unpack_checkpoint(packed)


@pytest.mark.parametrize(
    ("length", "lengths"),
    [
        (1, [1]),
        (PART_MAX, [PART_MAX]),
        (PART_MAX + 1, [PART_MAX, 1]),
        (2 * PART_MAX, [PART_MAX] * 2),
        (2 * PART_MAX + 5, [PART_MAX, PART_MAX, 5]),
    ],
)
def test_what_is_too_long_for_one_record_stands_in_several(length, lengths):
    """CB1: in order, the last one is the CHECKPOINT record."""
    assert 32_768 == PART_MAX
    packed = bytes(n % 251 for n in range(length))
    parts = parts_of(packed)
    assert lengths == [len(part) for part in parts]
    assert packed == b"".join(parts)


@pytest.mark.parametrize("units", [0, 3, 400, 1500])
def test_the_records_of_a_checkpoint_are_found_from_the_last(units):
    """CB1: each names the one before it."""
    body = BODY._replace(units=entries(units))
    log, previous = {}, 0
    for number, part in enumerate(parts_of(pack_checkpoint(body)), 1):
        rba = 1000 * number
        log[rba] = LogRecord(rba, Kind.CHECKPOINT, 0, 0, previous, 0, 0, 1, len(part), part)
        previous = rba
    assert body == read_checkpoint(log.__getitem__, previous)


# --- what is undone next ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "following"), [(Kind.INSERT, 500), (Kind.PREPARED, 500), (Kind.SHUNTED, 500), (Kind.COMPENSATION, 77)]
)
def test_behind_an_undoing_comes_what_it_names_and_not_what_was_logged_before(kind, following):
    """V3: so that undoing is never undone."""
    body = UNDO_NEXT.pack(77, Kind.DELETE) + b"mark"
    assert following == undo_next(LogRecord(900, kind, 0, 1, 500, 1, 2, 1, len(body), body))
