"""What a checkpoint writes of a pool, piece by piece, and from where restart begins after it (OP1-OP4)."""

import pytest

from qmgr.buffer.pools import NUMBER, Pool
from quaestor.qmgr.buffer import nothing
from quaestor.storage.changes import pack_next, text
from quaestor.storage.log_record import Kind


@pytest.fixture
def small():
    """Its pages are all there is to write: those of page set 0 have been."""
    made = Pool()
    made.buffers.write_all()
    return made


def run(old, pages=100, *, between=None, in_steps=False):
    """Write the pages in pieces, doing what is to be done outside, and something `between` two pieces."""
    for outside in old.write(pages, in_steps=in_steps):
        outside()
        if outside is nothing and between is not None:
            between()
    for outside in old.sync():
        outside()
    return old.recovery_rbas()[NUMBER]


# --- which are old (OP1) ----------------------------------------------------------------------------------------------


def test_a_page_is_old_two_checkpoints_after_its_first_change(small):
    """OP1: the first checkpoint leaves it, and restart would begin with its change; the second writes it."""
    rba = small.start(5)
    old = small.buffers.begin_checkpoint()
    assert (rba, [5]) == (run(old), small.changed())
    old = small.buffers.begin_checkpoint()
    assert (small.log.end, []) == (run(old), small.changed())
    assert b"started" == small.on_disk(5)


def test_a_checkpoint_that_makes_nothing_older(small):
    """One that comes soon after another, for want of log."""
    small.start(5)
    for _ in range(3):
        run(small.buffers.begin_checkpoint(ages=False))
    assert ([5], 0) == (small.changed(), small.pool.checkpoint)


def test_a_page_that_is_changed_again_is_as_old_as_its_first_change(small):
    small.change(5)
    run(small.buffers.begin_checkpoint())
    small.change(5)
    run(small.buffers.begin_checkpoint())
    assert [] == small.changed()


def test_a_page_that_is_started_again_is_new(small):
    """B10: where messages are got before two checkpoints have passed, their page is never written."""
    for _ in range(4):
        small.start(5)
        run(small.buffers.begin_checkpoint())
    assert ([5], 0) == (small.changed(), small.counted("pages_written")[0])


@pytest.mark.parametrize("before", [0, 1])
def test_a_page_whose_first_change_is_before_the_named_rba_is_old(small, before):
    """OP1: a log that is wanted again must not be needed. A change at that very RBA is behind it."""
    first, second = small.start(5), small.start(6)
    run(small.buffers.begin_checkpoint(second + before))
    assert ([6] if not before else []) == small.changed()
    assert first < second


def test_pages_of_non_persistent_messages_are_never_old(small):
    """B7."""
    small.volatile(5, b"lost")
    for _ in range(3):
        assert small.log.end == run(small.buffers.begin_checkpoint())
    assert ([5], []) == (small.changed(), small.formed)


def test_a_page_in_use_waits_for_the_next_checkpoint(small):
    """OP4: its oldest change is noted."""
    frame = small.pool.get(small.page_set, 5)
    rba = small.logged(Kind.CHAIN, 5, pack_next(1))
    small.pool.set_write(frame, rba)
    run(small.buffers.begin_checkpoint())
    assert (rba, [5]) == (run(small.buffers.begin_checkpoint()), small.changed())
    small.pool.release(frame)
    assert (small.log.end, []) == (run(small.buffers.begin_checkpoint()), small.changed())


def test_pages_that_a_checkpoint_wrote_are_counted_for_their_page_set(small):
    small.start(5, 6)
    run(small.buffers.begin_checkpoint())
    assert 0 == small.buffers.meter.page_sets[NUMBER].checkpoint_pages
    run(small.buffers.begin_checkpoint())
    assert 2 == small.buffers.meter.page_sets[NUMBER].checkpoint_pages


# --- piece by piece (OP2, OP3) ----------------------------------------------------------------------------------------


def aged(small, *pages):
    """Pages that the next checkpoint writes."""
    small.start(*pages)
    run(small.buffers.begin_checkpoint())


def test_a_piece_is_so_many_pages_and_the_log_is_forced_outside(small):
    """OP3: five pages, two at a time: the log is forced once, because the first force served all of them."""
    aged(small, *range(5, 10))
    pieces, forces = [], 0
    for outside in small.buffers.begin_checkpoint().write(2, in_steps=True):
        if outside is nothing:
            pieces.append(small.counted("pages_written")[0])
        else:
            forces += 1
            assert 0 == small.counted("pages_written")[0]
            outside()
    assert ([2, 4, 5], 1) == (pieces, forces)


def test_a_page_that_was_written_between_two_pieces_is_not_written_again(small):
    aged(small, 5, 6, 7)
    run(small.buffers.begin_checkpoint(), pages=1, between=lambda: small.pool.write(small.pool.changed()))
    assert (3, []) == (small.counted("pages_written")[0], small.changed())


def test_a_page_that_was_forgotten_between_two_pieces_is_not_written(small):
    """OP2: its message is gone."""
    aged(small, 5, 6)
    run(small.buffers.begin_checkpoint(), pages=1, between=lambda: small.pool.forget(small.frame(6)))
    assert (b"started", b"page 6") == (small.on_disk(5), small.on_disk(6))


def test_a_page_that_was_started_again_between_two_pieces_stays(small):
    """OP2, B10: and restart begins behind the checkpoint for it, so nothing is noted of its older self."""
    aged(small, 5, 6)
    started = []
    old = small.buffers.begin_checkpoint()
    rba = run(old, pages=1, between=lambda: started or started.append(small.start(6, body=b"anew")))
    assert ([6], b"page 6") == (small.changed(), small.on_disk(6))
    assert rba <= started[0]


def test_a_page_that_is_changed_while_the_log_is_forced_is_written_with_its_change(small):
    """OP3, B2: the page has a later RBA by then, so the log is forced again before it is written."""
    aged(small, 5)
    later = []

    def change():
        later.append(small.logged(Kind.TEXT, 5, b"in between"))
        small.pool.change(small.page_set, 5, text, b"in between", later[-1])

    for outside in small.buffers.begin_checkpoint().write(9, in_steps=True):
        outside()
        if outside is not nothing and not later:
            change()
    assert (b"in between", []) == (small.on_disk(5), small.changed())
    assert small.log.hardened > later[0]


def test_a_share_is_what_was_looked_at_of_what_may_be_old(small):
    """Who commits sees from it whether the checkpoint keeps pace with the log."""
    aged(small, *range(5, 9))
    small.start(12)
    old = small.buffers.begin_checkpoint()
    assert 0 == old.share
    shares = []
    for outside in old.write(1, in_steps=True):
        outside()
        if outside is nothing:
            shares.append(old.share)
    assert [0, 0.25, 0.5, 0.75] == shares
    assert 1.0 == old.share


def test_where_nothing_is_old_all_of_it_is_done(small):
    small.start(5)
    assert 1.0 == small.buffers.begin_checkpoint().share
    assert 0.0 == small.buffers.begin_checkpoint().share


def test_page_sets_are_synced_after_so_many_pages(small, monkeypatch):
    """OP3: where the checkpoint is taken in pieces; else once, at the end."""
    monkeypatch.setattr("quaestor.qmgr.buffer.old_pages.SYNCED_PAGES", 2)
    aged(small, *range(5, 10))
    synced = [page for page in small.buffers.begin_checkpoint().write(1, in_steps=True) if page == small.page_set.sync]
    assert 2 == len(synced)


def test_in_one_go_page_sets_are_synced_once(small, monkeypatch):
    monkeypatch.setattr("quaestor.qmgr.buffer.old_pages.SYNCED_PAGES", 2)
    aged(small, *range(5, 10))
    old = small.buffers.begin_checkpoint()
    assert small.page_set.sync not in [*old.write(1, in_steps=False)]
    assert [small.page_set.sync] == [*old.sync()]


# --- from where restart begins (OP4) ----------------------------------------------------------------------------------


def test_restart_begins_with_the_oldest_change_that_may_be_missing(small):
    """OP4: page 5 is old and written, 6 and 7 stay."""
    aged(small, 5)
    kept = small.start(6)
    small.start(7)
    assert kept == run(small.buffers.begin_checkpoint())


def test_what_is_written_and_not_synced_yet_may_be_missing(small):
    """B6, T5: the first sync is over only when somebody has done it."""
    first = small.start(5)
    run(small.buffers.begin_checkpoint())
    old = small.buffers.begin_checkpoint()
    for outside in old.write(9, in_steps=False):
        outside()
    assert first == old.recovery_rbas()[NUMBER]
    syncs = old.sync()
    outside = next(syncs)
    assert first == old.recovery_rbas()[NUMBER]
    outside()
    assert [] == [*syncs]
    assert old.recovery_rbas()[NUMBER] > first


def test_a_change_behind_the_beginning_of_the_checkpoint_is_behind_where_restart_begins(small):
    """OP4: pages that are changed meanwhile need not be looked at."""
    old = small.buffers.begin_checkpoint()
    began = small.log.end
    small.start(5)
    assert began == run(old)
