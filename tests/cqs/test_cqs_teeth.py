"""Teeth: each rule is removed in turn, and the proof named beside it must then fail."""

from zlib import crc32

import pytest

from cqs.group import Group, texts
from cqs.test_cqs_kills import (
    Book,
    checkpoints,
    filling,
    flow,
    messages,
    played,
    proved,
    proved_for_kills,
    proved_for_power,
)
from cqs.test_cqs_oracles import test_no_reader_sees_a_message_without_its_end as no_torso
from cqs.test_cqs_oracles import test_who_is_told_and_when as informing
from cqs.test_cqs_structures import test_a_fenced_server_does_not_read_either as fenced_reader
from cqs.test_cqs_structures import test_another_server_learns_of_the_names as learned_names
from cqs.test_cqs_structures import test_recovery_keeps_what_is_locked_locked as locked_stays
from quaestor.cqs import checkpoint, members, pair, structure
from quaestor.cqs.changes import Kind
from quaestor.cqs.interest import Interest
from quaestor.cqs.merged_log import MergedLog
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.queue_names import QueueName, transaction
from quaestor.cqs.recovery_data_sets import RecoveryDataSets
from quaestor.cqs.refusals import CQSError
from quaestor.cqs.structure import NotThereError, SharedStructure
from quaestor.mqi.reasons import Abend
from quaestor.storage import log_stream
from quaestor.storage.log_stream import LogStream

pytestmark = pytest.mark.crash
TRANX = transaction("TRANX")
CAUGHT = (AssertionError, Abend, NotThereError, CQSError, pytest.fail.Exception)


def without_the_log(patch):
    """ML1: a change is logged before it is done."""
    append = MergedLog.append
    empty = b"\x93\x90\x90\x90"
    patch.setattr(
        MergedLog,
        "append",
        lambda self, kind, body=b"", **how: append(self, kind, empty if kind == Kind.CHANGE else body, **how),
    )


def without_force(patch):
    """LG3: what a client is told is safe is durable."""
    patch.setattr(LogStream, "force", lambda self: None)


def without_a_chain(patch):
    """LG1: a record's checksum is taken over that of the record before it."""
    patch.setattr(log_stream, "crc32", lambda data, _chain=0: crc32(data))


def without_applied(patch):
    """SS2: a logged change is done once."""
    apply = SharedStructure.apply
    patch.setattr(SharedStructure, "apply", lambda self, effects, _rba, control=None: apply(self, effects, 0, control))


def without_redo(patch):
    """MB2: what a failed server had logged is done in its name."""
    patch.setattr(members, "redo", lambda *_, **__: None)


def without_tidying(patch):
    """MB2: what a failed server had locked is ready again."""
    patch.setattr(members, "tidy", lambda *_: None)


def without_fences(patch):
    """ML2: who was fenced appends nothing."""
    observe = MergedLog._observe

    def blind(self, records):
        observe(self, [record for record in records if record.kind != Kind.FENCED])

    patch.setattr(MergedLog, "_observe", blind)


def without_rebuild_records(patch):
    """ML3: who works on an earlier structure appends nothing."""
    observe = MergedLog._observe

    def blind(self, records):
        observe(self, [record for record in records if record.kind != Kind.REBUILD])

    patch.setattr(MergedLog, "_observe", blind)


def without_the_gate(patch):
    """SS1: a change is refused unless the gate is open as it was."""
    patch.setattr(structure, "Holding", lambda *_: structure.ReadSpace())


def without_logged_reads(patch):
    """CH3: a read is logged."""
    append = MergedLog.append
    patch.setattr(
        MergedLog,
        "append",
        lambda self, kind, body=b"", **how: None if kind == Kind.READ else append(self, kind, body, **how),
    )


def without_reserving(patch):
    """SS3: first records wait on the move queue until the log has the change."""

    def at_once(self, puts, _client):
        return self.change(*_ready(puts), structure.ReadSpace())[-1]

    patch.setattr(SharedStructure, "reserve", at_once)
    patch.setattr(SharedStructure, "_put", lambda self, put, entry: [])


def without_staging_first(patch):
    """UW3: continuations are there before the first record is."""

    def the_other_way_round(self, puts, _client):
        for operation in reversed(_ready(puts)):
            self.change(operation)
        return self.space()

    patch.setattr(SharedStructure, "reserve", the_other_way_round)
    patch.setattr(SharedStructure, "_put", lambda self, put, entry: [])


def _ready(puts):
    """Messages written to where they are to be at once."""
    return [op for put in puts for op in structure.written(structure.Placed(put.header, put.key, put.message))]


def without_the_front(patch):
    """QN4: what comes back stands before all that were not read."""
    patch.setattr(QueueName, "returned_key", lambda self, _identifier: self.key)


def without_turns(patch):
    """RD1: a structure checkpoint goes to the data set that is not the newest."""
    init = RecoveryDataSets.__init__

    def only_one(self, disk, name):
        init(self, disk, name)
        self.names = self.names[:1]

    patch.setattr(RecoveryDataSets, "__init__", only_one)


def without_kept_output(patch):
    """CH2: committed output that found the structure full is in the log."""
    logged = pair.Change.logged
    patch.setattr(pair.Change, "logged", lambda self: pair.Change(logged(self).effects, (), self.released))


def without_completing(patch):
    """CP2: a structure checkpoint holds all that was logged before it."""
    patch.setattr(checkpoint, "redo", lambda *_, **__: None)


def without_overflow_table(patch):
    """SP2: who meets a new generation looks at the names in overflow again."""
    patch.setattr(StructurePair, "read_overflow", lambda self: None)


def without_looking_at_registration(patch):
    """IN1: who registers is told when there is work already."""
    watch = Interest._watch
    patch.setattr(Interest, "_watch", lambda self, queue, token: watch(self, queue, token) and False)


def prove_order():
    group = Group()
    ims = group.start("CQS1").register("IMS1")
    for text in (b"1", b"2"):
        ims.put(TRANX, [text])
    unit = ims.begin()
    unit.read(TRANX)
    unit.backout()
    assert ["1", "2"] == texts(ims, TRANX)


def prove_gate():
    """CQS2 holds the gate: a put of CQS1 waits."""
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims = one.register("IMS1")

    def wait():
        raise InterruptedError

    one.pair.around.wait = wait
    two.pair.hold()
    with pytest.raises(InterruptedError):
        ims.put(TRANX, [b"a"])


def prove_chain():
    from storage.test_log_stream import test_what_was_cut_off_does_not_come_back as cut_off

    cut_off()


def prove_pending_in_checkpoint():
    """CQS1 is killed between log and structure; CQS2 takes a checkpoint, and the structure is lost."""
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims, book = one.register("IMS1"), Book()
    one.pair.finish = lambda: None
    book.put(ims, TRANX, "a")
    two.structure_checkpoint()
    group.kill("CQS1")
    group.lose()
    group.clock.advance(seconds=20)
    two.step()
    assert book.there == set(messages(two))


def prove_stale():
    """CQS2 has lost nothing, and CQS1 recovers the structure elsewhere: what CQS2 does then must not be lost."""
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"])
    old = {cable: cable._facility for cable in group._cables if cable.connector == "CQS2"}
    group.lose()
    ims1.put(TRANX, [b"b"])
    for cable in old:
        cable.dead, cable._there = False, lambda: True
    ims2.put(TRANX, [b"c"])
    assert ["a", "b", "c"] == texts(ims1, TRANX)


PROOFS = [
    (without_the_log, lambda: proved(*played(flow))),
    (without_force, lambda: proved_for_power(flow)),
    (without_a_chain, prove_chain),
    (without_applied, lambda: proved_for_kills(flow)),
    (without_redo, lambda: proved_for_kills(flow)),
    (without_tidying, lambda: proved_for_kills(flow)),
    (without_fences, fenced_reader),
    (without_rebuild_records, prove_stale),
    (without_the_gate, prove_gate),
    (without_logged_reads, locked_stays),
    (without_reserving, lambda: proved_for_kills(flow)),
    (without_staging_first, no_torso),
    (without_the_front, prove_order),
    (without_turns, lambda: proved_for_power(checkpoints)),
    (without_kept_output, lambda: proved_for_kills(filling)),
    (without_completing, prove_pending_in_checkpoint),
    (without_overflow_table, learned_names),
    (without_looking_at_registration, informing),
]


@pytest.mark.parametrize(("removed", "proof"), PROOFS, ids=[removed.__name__ for removed, _ in PROOFS])
def test_a_removed_rule_is_caught(removed, proof, monkeypatch):
    removed(monkeypatch)
    with pytest.raises(CAUGHT):
        proof()


@pytest.mark.parametrize("proof", [prove_order, prove_gate, prove_pending_in_checkpoint, prove_stale, prove_chain])
def test_the_proofs_hold_with_their_rules(proof):
    proof()
