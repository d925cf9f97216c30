"""A common queue server whose way to a structure is cut: at a request that is done and not answered, at one that is
not done, for a while, or by a peer that changes the structure in between."""

from contextlib import suppress
from errno import ENOSPC

import pytest

from cqs.group import Group, agrees_with_log, on_structure, texts
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, lterm, program, suspended, transaction
from quaestor.cqs.refusals import CQSError, Why
from quaestor.storage.lists.operations import Count
from quaestor.storage.lists.structure import StructureLostError, StructureRefusal

TRANX, LTRMZ, GREEDY = transaction("TRANX"), lterm("LTRMZ"), transaction("GREEDY")
LONG = [bytes([number]) * 2000 for number in range(6)]


@pytest.fixture
def ims(server):
    return server.register("IMS1")


def unanswered_at(group, number):
    """The answer to a changing request, counted from here, is lost; how many there were."""
    seen = []

    def lost(_connector, operations):
        seen.append([operation.NAME for operation in operations])
        return len(seen) - 1 == number

    group.unanswered = lost
    return seen


def every_answer_lost(work):
    """Do something in a new group once for each of its changing requests, whose answer is lost."""
    number = 0
    while True:
        group = Group(Policy(size=1000, overflow_size=400))
        ims = group.start("CQS1").register("IMS1")
        prepared = work(ims)
        next(prepared)
        seen = unanswered_at(group, number)
        next(prepared)
        group.unanswered = lambda _connector, _operations: False
        yield group, ims
        if len(seen) <= number:
            return
        number += 1


def left_behind(server):
    """What stands on private queues and is held by nobody's unit, and continuations."""
    image = on_structure(server)
    held = [placed for placed in image.placed.values() if placed.header in (Private.LOCK, Private.COLD)]
    counts = server.pair.primary.connection.request(*(Count(header) for header in (Private.MOVE, *range(71, 192))))
    return len(held), sum(counts)


# -- answers that are lost, rules SP1 and SP3


def test_a_put_whose_answer_is_lost_is_put_once_with_all_its_records():
    def work(ims):
        yield
        yield ims.put(TRANX, LONG)

    for group, ims in every_answer_lost(work):
        assert [tuple(LONG)] == [message.segments for message in ims.browse(TRANX)]
        group.kill("CQS1")
        server = group.start("CQS1")
        again = server.register("IMS1")
        assert [tuple(LONG)] == [message.segments for message in again.browse(TRANX)]
        assert tuple(LONG) == again.delete(TRANX).segments
        assert (0, 0) == left_behind(server)
        assert agrees_with_log(server)


def test_a_read_whose_answer_is_lost_locks_one_message():
    def work(ims):
        for text in (b"one", b"two"):
            ims.put(TRANX, [text])
        yield
        unit = ims.begin()
        message = unit.read(TRANX)
        assert (b"one",) == message.segments
        unit.commit()
        yield

    for group, ims in every_answer_lost(work):
        assert ["two"] == texts(ims, TRANX)
        assert (0, 1) == left_behind(group.servers["CQS1"])
        assert agrees_with_log(group.servers["CQS1"])


def test_fast_path_input_whose_answer_is_lost_is_there_once():
    number = 0
    while True:
        group = Group(Policy(name="EMHQ", size=1000, fast_path=True))
        ims = group.start("CQS1").register("IMS1")
        seen = unanswered_at(group, number)
        ims.put(program("PSBY"), [b"input"])
        group.unanswered = lambda _connector, _operations: False
        assert ["input"] == texts(ims, program("PSBY"))
        number += 1
        if len(seen) < number:
            return


# -- clients that are gone, rules CL4 and CS3


def test_a_unit_of_a_client_that_has_failed_ends_with_it(group, server, ims):
    """Its message is ready again: a commit that came later would delete what somebody else reads."""
    ims.put(TRANX, [b"one"])
    unit = ims.begin()
    unit.read(TRANX)
    unit.insert(LTRMZ, [b"reply"])
    assert 1 == server.client_failed("IMS1")
    for late in (unit.commit, unit.backout, lambda: unit.read(TRANX), lambda: unit.insert(LTRMZ, [b"more"])):
        with pytest.raises(CQSError) as refused:
            late()
        assert Why.NOT_REGISTERED is refused.value.why
    other = server.register("IMS2")
    assert (["one"], []) == (texts(other, TRANX), texts(other, LTRMZ))
    assert agrees_with_log(server)


def test_a_client_that_fails_while_the_way_is_cut_gives_back_when_it_is_there_again(group, server, ims):
    ims.put(TRANX, [b"one"])
    ims.begin().read(TRANX)
    group.cut("CQS1", "CF01")
    with pytest.raises(StructureLostError):
        server.client_failed("IMS1")
    group.mend("CQS1", "CF01")
    assert 1 == server.client_failed("IMS1")
    assert ["one"] == texts(server.register("IMS2"), TRANX)
    assert group.start("CQS2").register("IMS1")


# -- what is lost with a structure


def test_fast_path_input_that_was_lost_with_its_structure_holds_up_nobody():
    """RB1: it is not recovered, so its unit has nothing to delete; the reply counts."""
    group = Group(Policy(name="EMHQ", size=1000, fast_path=True))
    server = group.start("CQS1")
    ims = server.register("IMS1")
    for text in (b"one", b"two"):
        ims.put(program("PSBY"), [text])
    committed, backed_out = ims.begin(), ims.begin()
    for unit in (committed, backed_out):
        assert unit.read(program("PSBY")) is not None
    group.lose()
    committed.insert(LTRMZ, [b"reply"])
    committed.commit()
    backed_out.backout()
    assert ["reply"] == texts(ims, LTRMZ)
    assert agrees_with_log(server)


# -- overflow


def in_overflow(messages=1):
    """A queue in overflow status of which so many messages are left, on the overflow structure."""
    group = Group(Policy(size=200, overflow_size=400))
    server = group.start("CQS1")
    ims = server.register("IMS1")
    while not server.pair.overflow:
        ims.put(GREEDY, [b"%d" % ims.count(GREEDY), b"." * 3000])
    while ims.count(GREEDY) > messages:
        ims.delete(GREEDY)
    assert server.pair.overflow
    return group, server, ims


@pytest.mark.parametrize("target", [suspended("GREEDY"), TRANX, LTRMZ])
def test_a_message_that_moves_from_the_overflow_structure_can_be_read(target):
    """SP4: only names in overflow status are read from there."""
    _, server, ims = in_overflow()
    assert 1 == ims.move(GREEDY, target)
    assert not server.pair.overflow
    assert ims.delete(target) is not None
    assert not on_structure(server).placed
    assert agrees_with_log(server)


def test_a_name_whose_last_message_is_locked_is_in_overflow_when_its_structures_were_recovered():
    """OV6: it comes back to the overflow structure, and is read from there."""
    group, server, ims = in_overflow()
    unit = ims.begin()
    assert unit.read(GREEDY) is not None
    group.lose()
    assert [] == ims.browse(TRANX)  # who asks recovers
    unit.backout()
    assert ims.delete(GREEDY) is not None
    assert not server.pair.overflow


def test_a_put_that_has_happened_is_not_refused_because_overflow_processing_is(group):
    """CL2: whoever is told that it was not put puts it again."""
    group = Group(Policy(size=200, overflow_size=400))
    server = group.start("CQS1")
    ims = server.register("IMS1")

    def cut(_connector, operations):
        if any(operation.NAME == "lock" for operation in operations):  # the structures are about to be quiesced
            group.watchers.clear()
            group.cut("CQS1", "CF01")

    group.watchers.append(cut)
    number = 0
    while group.watchers:
        ims.put(GREEDY, [b"%d" % number, b"." * 3000])
        number += 1
    group.mend("CQS1", "CF01")
    assert [str(each) for each in range(number)] == texts(ims, GREEDY)


def test_a_commit_that_has_happened_is_not_refused_because_its_queue_is_empty():
    group, _, ims = in_overflow()
    unit = ims.begin()
    assert unit.read(GREEDY) is not None

    def cut(_connector, operations):
        if any(operation.NAME == "delete" for operation in operations):
            group.watchers.clear()
            group.cut("CQS1", "CF01")

    group.watchers.append(cut)
    unit.commit()
    group.mend("CQS1", "CF01")
    assert [] == ims.browse(GREEDY)


# -- a peer changes the structure in between


def test_records_are_not_missed_because_a_peer_copies_the_structure(group, server, ims):
    """The message is locked, and stands complete on the new structure when the old one is wiped."""
    ims.put(TRANX, LONG)
    other = group.start("CQS2")
    unit = ims.begin()

    def copy(connector, operations):
        if connector == "CQS1" and any(operation.NAME == "list" for operation in operations):
            group.watchers.clear()
            other.copy_structure()

    group.watchers.append(copy)
    assert tuple(LONG) == unit.read(TRANX).segments
    assert not group.watchers


def test_a_browse_is_not_cut_short_because_a_peer_copies_the_structure(group, server, ims):
    ims.put(TRANX, LONG)
    ims.put(TRANX, [b"two"])
    other = group.start("CQS2")

    def copy(connector, operations):
        if connector == "CQS1" and any(operation.NAME == "list" for operation in operations):
            group.watchers.clear()
            other.copy_structure()

    group.watchers.append(copy)
    assert [tuple(LONG), (b"two",)] == [message.segments for message in ims.browse(TRANX)]


def test_a_server_that_comes_back_while_a_peer_completes_it_is_not_forgotten(group, server, ims, monkeypatch):
    """LS3: only a connector that has failed is forgotten; a peer would take the new one for failed with it."""
    other = group.start("CQS2")
    ims.put(TRANX, [b"one"])
    group.kill("CQS1")
    connection = other.pair.primary.connection
    forget = connection.forget

    def come_back(connector):
        group.start("CQS1")
        forget(connector)

    monkeypatch.setattr(connection, "forget", come_back)
    assert ["CQS1"] == other.step()
    group.clock.advance(seconds=60)
    assert [] == other.step()
    assert ["one"] == texts(group.servers["CQS1"].register("IMS1"), TRANX)


def test_what_a_server_that_was_slow_locks_late_is_refused(group, server, ims):
    """MB2: behind the look at what it had locked nothing more is locked in its name."""
    ims.put(TRANX, [b"one"])
    other = group.start("CQS2")
    group.facilities["CF01"].leave("MSGQ", "CQS1", failed=True)  # it has said nothing for a while
    late = []

    def wake(connector, operations):
        # the peer has looked for what CQS1 has locked, and is about to say that nothing is left
        if connector == "CQS2" and any(each.NAME == "list" and each.list == Private.MOVE for each in operations):
            group.watchers.clear()
            try:
                late.append(ims.begin().read(TRANX))
            except CQSError as refused:
                late.append(refused.why)

    group.watchers.append(wake)
    assert ["CQS1"] == other.step()
    assert [Why.FENCED] == late
    assert ["one"] == texts(other.register("IMS2"), TRANX)


@pytest.mark.parametrize("what", ["copy_structure", "structure_checkpoint", "recover_structure"])
@pytest.mark.parametrize("completed", [True, False])
def test_who_was_taken_for_failed_does_not_say_where_the_structures_are(
    group, server, ims, monkeypatch, what, completed
):
    """RD1: whoever starts next would work on a copy that the others do not know, and read everything again."""
    ims.put(TRANX, [b"one"])
    other = group.start("CQS2")
    ims2, save = other.register("IMS2"), server.pair.data_sets.save

    def slow(*words):
        monkeypatch.undo()
        group.facilities["CF01"].leave("MSGQ", "CQS1", failed=True)  # it has said nothing for a while
        ims2.put(TRANX, [b"two"])
        if completed:
            assert ["CQS1"] == other.step()
        ims2.put(TRANX, [b"three"])
        return save(*words)

    monkeypatch.setattr(server.pair.data_sets, "save", slow)
    with suppress(CQSError, StructureLostError, StructureRefusal):
        getattr(server, what)()
    third = group.start("CQS3").register("IMS3")
    assert ["one", "two", "three"] == texts(ims2, TRANX) == texts(third, TRANX)


def test_a_recovery_data_set_that_is_written_anew_is_not_missed(group, server, monkeypatch):
    """RD1: the one before is deleted first, perhaps between two looks at it."""
    server.structure_checkpoint()
    newest, older = server.pair.data_sets.newest()[0], server.pair.data_sets.names[0]
    exists = group.disk.exists

    def deleted(name):
        if name == older and exists(name):
            monkeypatch.undo()
            group.disk.delete(name)
            return True
        return exists(name)

    monkeypatch.setattr(group.disk, "exists", deleted)
    assert newest == server.pair.data_sets.newest()[0]


# -- the end of the queues


def test_queues_that_were_copied_and_deleted_begin_again(group, server, ims):
    """RD4: nothing says any more where they moved to, and nothing of them is wanted."""
    ims.put(TRANX, [b"one"])
    server.copy_structure()
    server.delete_structure()
    ims = group.start("CQS1").register("IMS1")
    assert [] == texts(ims, TRANX)
    ims.put(TRANX, [b"two"])
    assert ["two"] == texts(ims, TRANX)


def test_an_insert_after_a_full_structure_was_lost_is_asked_of_the_new_one(group, server, ims):
    unit = ims.begin()
    server.pair.full.add(0)
    group.cut("CQS1", "CF01")
    with pytest.raises(StructureLostError):
        ims.put(TRANX, [b"one"])
    group.mend("CQS1", "CF01")
    unit.insert(LTRMZ, [b"reply"])
    unit.commit()
    assert ["reply"] == texts(ims, LTRMZ)


def test_a_copy_that_fails_leaves_no_connection(group, server, ims, monkeypatch):
    ims.put(TRANX, [b"one"])

    def full(*_words):
        raise OSError(ENOSPC, "no space left")

    monkeypatch.setattr(server.pair.data_sets, "save", full)
    with pytest.raises(OSError, match="no space"):
        server.copy_structure("CF02")
    for copied in group.facilities["CF02"].status().values():
        assert not any(copied["connectors"].values())
    assert ["one"] == texts(ims, TRANX)
