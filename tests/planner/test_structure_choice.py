"""Which structure a queue goes into, and what its failure does (MP16 chapter 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.source import OutOfRangeError
from quaestor.planner.structure_choice import (
    Outcome,
    SharedQueue,
    admin_failure,
    application_failure,
    application_structures,
    least_cflevel,
    message_survives,
    put_allowed,
    structures_for_queues,
)

KB_63 = 64_512
MB_100 = 100 * 1024 * 1024


@pytest.mark.parametrize(
    ("cflevel", "persistent", "large"),
    [(1, False, False), (2, False, False), (3, True, False), (4, True, True), (5, True, True)],
)
def test_messages_allowed_by_cflevel(cflevel, persistent, large):
    assert put_allowed(cflevel, recover=False, persistent=False, message_bytes=KB_63)
    assert persistent is put_allowed(cflevel, recover=True, persistent=True, message_bytes=KB_63)
    assert large is put_allowed(cflevel, recover=True, persistent=False, message_bytes=MB_100)
    assert not put_allowed(cflevel, recover=True, persistent=False, message_bytes=MB_100 + 1)


def test_persistent_messages_need_recover():
    assert not put_allowed(5, recover=False, persistent=True, message_bytes=10)


def test_least_cflevel():
    assert [3, 3, 4, 4] == [least_cflevel(size) for size in (0, KB_63, KB_63 + 1, MB_100)]


@pytest.mark.parametrize(("queues", "structures"), [(0, 2), (1, 2), (512, 2), (513, 3), (1024, 3), (1025, 4)])
def test_structures_for_queues(queues, structures):
    assert structures == structures_for_queues(queues)


def test_the_simplest_good_configuration():
    queues = [SharedQueue("Q.NP", persistent=False, message_bytes_max=1000), SharedQueue("Q.P", True, 1000)]
    without, with_recovery = application_structures(queues, smds=False)
    assert (3, False, False, ("Q.NP",)) == (without.cflevel, without.recover, without.duplexed, without.queues)
    assert (3, True, ("Q.P",)) == (with_recovery.cflevel, with_recovery.recover, with_recovery.queues)
    assert {5} == {structure.cflevel for structure in application_structures(queues)}


def test_a_deep_queue_is_set_apart():
    queues = [SharedQueue("CRITICAL", True, 1000), SharedQueue("DEEP", True, 100_000, may_grow_deep=True)]
    assert [("CRITICAL",), ("DEEP",)] == [s.queues for s in application_structures(queues)]
    assert [3, 4] == [s.cflevel for s in application_structures(queues, smds=False)]


@given(
    st.lists(
        st.builds(
            SharedQueue, st.text(max_size=3), st.booleans(), st.integers(0, MB_100), st.booleans(), st.booleans()
        ),
        max_size=30,
    )
)
def test_every_queue_has_one_place_that_takes_its_messages(queues):
    structures = application_structures(queues, smds=False)
    assert sorted(q.name for q in queues) == sorted(name for s in structures for name in s.queues)
    for queue in queues:
        assert any(
            queue.name in s.queues
            and put_allowed(s.cflevel, s.recover, queue.persistent, queue.message_bytes_max)
            and s.duplexed == queue.duplexed
            for s in structures
        )


def test_a_513th_queue_opens_another_structure():
    queues = [SharedQueue(f"Q{n}", False, 10) for n in range(513)]
    assert [512, 1] == [len(s.queues) for s in application_structures(queues)]


def test_loss_of_the_admin_structure():
    assert Outcome.GROUP_FAILS is admin_failure(False, (5, 3, 1))
    assert Outcome.ADMIN_REBUILT is admin_failure(False, (6, 0, 0))
    assert Outcome.ADMIN_REBUILT_BY_ALL is admin_failure(False, (7, 0, 0), all_members_up=False)
    assert Outcome.ADMIN_REBUILT is admin_failure(False, (7, 0, 1), all_members_up=False)
    assert Outcome.DUPLEX_CONTINUES is admin_failure(True, (5, 3, 1))


def test_loss_of_an_application_structure():
    assert [Outcome.QUEUE_MANAGERS_FAIL] * 2 + [Outcome.APPLICATIONS_FAIL] * 3 == [
        application_failure(False, level) for level in (1, 2, 3, 4, 5)
    ]
    assert {Outcome.DUPLEX_CONTINUES} == {application_failure(True, level) for level in (1, 2, 3, 4, 5)}


@given(persistent=st.booleans(), cflevel=st.integers(1, 5), recover=st.booleans(), kept=st.booleans())
def test_what_survives(persistent, cflevel, recover, kept):
    assert message_survives(persistent, cflevel, recover, duplexed=True, backup_and_logs_kept=kept)
    survives = message_survives(persistent, cflevel, recover, duplexed=False, backup_and_logs_kept=kept)
    assert survives == (persistent and recover and cflevel >= 3 and kept)


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="cflevel 6 is not valid: 1 to 5"):
        put_allowed(6, recover=True, persistent=False, message_bytes=1)
    with pytest.raises(OutOfRangeError, match="message_bytes_max"):
        least_cflevel(MB_100 + 1)
    with pytest.raises(OutOfRangeError, match=r"\(5, 0, 0\)"):
        admin_failure(False, (2, 1, 0))
