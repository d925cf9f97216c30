"""Structures that are lost: what applications are told, what goes on, what BACKUP and RECOVER CFSTRUCT bring back."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, SHARE, USES, VOLATILE, Sharing, browsed, drained
from quaestor.mqi.objects import LocalQueue, Process, TriggerType
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility import recovering
from quaestor.qmgr.coupling_facility.structures import Failing
from quaestor.storage.lists.operations import Write


@pytest.fixture
def sharing(recoverable):
    return recoverable


def operate(sharing, name, what, structure="APPL1"):
    manager = sharing.members[name]
    with manager.engine.recovery.latch:
        return getattr(recovering, what)(manager.shared, structure)


# -- connectivity


def test_a_structure_that_cannot_be_reached_is_2345_and_others_go_on(sharing, one):
    with one.open("ORDERS", USES) as orders, one.open("BILLS", USES) as bills:
        orders.put(b"before", VOLATILE, OUT)
        sharing.cut_off("APPL1")
        for call in (lambda: orders.put(b"x", VOLATILE, OUT), lambda: orders.get(GET_OUT)):
            with pytest.raises(MQError, match="2345"):
                call()
        bills.put(b"bill", VOLATILE, OUT)
        assert b"bill" == bills.get(GET_OUT).body
        sharing.reach_again("APPL1")
        assert b"before" == orders.get(GET_OUT).body


def test_a_queue_that_may_trigger_is_closed_whether_or_not_its_structure_is_reached(sharing, one):
    """Z4: how many messages wait cannot be asked. When the structure is back, the trigger message comes."""
    one.define(LocalQueue("START.HERE", **SHARE))
    one.define(Process("SERVER", appl_id="serve"))
    triggers = {"trigger": True, "trigger_type": TriggerType.FIRST, "process": "SERVER"}
    one.alter(LocalQueue, "ORDERS", initiation_queue="START.HERE", **triggers)
    with one.open("START.HERE", USES) as monitor:
        orders = one.open("ORDERS", USES)
        orders.put(b"waits", VOLATILE, OUT)
        sharing.cut_off("APPL1")
        orders.close()
        with pytest.raises(MQError, match="2033"):
            monitor.get(GET_OUT)
        sharing.reach_again("APPL1")
        sharing.members["QM1"].messages.follow_step()
        assert b"ORDERS" in monitor.get(GET_OUT).body


def test_a_commit_that_structures_do_not_learn_of_is_backed_out(sharing, one, two):
    """The descriptor cannot be written: nothing has been decided, and the private part goes the same way."""
    one.define(LocalQueue("PRIVATE", share=True, def_exclusive=False))
    with one.open("ORDERS", USES) as orders, one.open("PRIVATE", USES) as private:
        orders.put(b"shared", PERSISTENT, IN)
        private.put(b"private", PERSISTENT, IN)
        sharing.cut_off("CSQ_ADMIN")
        with pytest.raises(MQError, match="2003"):
            one.commit()
        assert [] == browsed(one, "PRIVATE")
        orders.put(b"out of syncpoint", VOLATILE, OUT)  # needs no CSQ_ADMIN
    sharing.reach_again("CSQ_ADMIN")
    assert ([b"out of syncpoint"], []) == (drained(two), sharing.leaks())


@pytest.mark.plain
def test_what_was_committed_is_finished_when_the_structure_is_back(sharing, one, two, monkeypatch):
    """After the COMMIT record nothing can fail: the rest is done when it can be."""
    log = sharing.members["QM1"].engine.log
    force = log.force
    with one.open("ORDERS", USES) as orders:
        orders.put(b"committed", PERSISTENT, IN)

        def cut_after(rba):
            force(rba)
            sharing.cut_off("APPL1")

        monkeypatch.setattr(log, "force", cut_after)
        one.commit()
    monkeypatch.undo()
    assert 1 == len(sharing.leaks())
    sharing.reach_again("APPL1")
    assert ([], [b"committed"]) == (sharing.leaks(), drained(two))


def test_an_outcome_that_is_not_known_is_said(sharing, one, two):
    """The one request of a unit that logs nothing was sent and not answered."""
    structure = sharing.members["QM1"].shared.structures["APPL1"]
    with one.open("ORDERS", USES) as orders:
        orders.put(b"perhaps", VOLATILE, IN)
        connection = structure._connection
        request = connection.request

        def unanswered(*operations):
            request(*operations)
            connection.broken = True
            return request(*operations)

        connection.request = unanswered
        with pytest.raises(MQError, match="2124"):
            one.commit()
    sharing.reach_again("APPL1")
    assert ([b"perhaps"], []) == (drained(two), sharing.leaks())


def test_a_structure_that_is_not_recovered_is_empty_and_usable_at_once(tmp_path):
    sharing = Sharing(tmp_path)
    app = sharing.start("QM1").connect("ALICE")
    sharing.define()
    with app.open("ORDERS", USES) as orders:
        orders.put(b"gone", VOLATILE, OUT)
        sharing.cut_off("APPL1", lost=True)
        sharing.reach_again("APPL1")
        orders.put(b"new", VOLATILE, OUT)
        assert [b"new"] == drained(app)


# -- backup and recovery


def test_recovery_brings_back_exactly_the_persistent_messages(sharing, one, two):
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        for body in (b"1", b"2", b"3"):
            here.put(body, PERSISTENT, OUT)
        here.put(b"volatile", VOLATILE, OUT)
        sharing.publish()
        assert 3 == operate(sharing, "QM2", "backup").messages
        assert b"1" == there.get(GET_OUT).body
        there.put(b"4", PERSISTENT, OUT)
        here.get(GET_IN)  # in flight: it was not got
        here.put(b"never", PERSISTENT, IN)
        sharing.cut_off("APPL1", lost=True)
        sharing.reach_again("APPL1")
        with pytest.raises(MQError, match="2373"):
            here.put(b"x", VOLATILE, OUT)
        one.backout()
        done = operate(sharing, "QM1", "recover")
        assert (3, 2) == (done.messages, done.members)
        sharing.reach_again("APPL1")
        assert [b"2", b"3", b"4"] == drained(two)
    assert [] == sharing.leaks()


def test_a_member_for_administration_alone_spares_the_logs_of_the_others(sharing, one, two):
    """MP16, CF-R27: the backup of a structure is on the log of the member that takes it, and of nobody else."""
    sharing.start("ADM1")
    with one.open("ORDERS", USES) as here:
        for number in range(20):
            here.put(bytes(3000) + bytes((number,)), PERSISTENT, OUT)
    sharing.publish()
    ends = {name: member.engine.log.end for name, member in sharing.members.items()}
    assert 20 == operate(sharing, "ADM1", "backup").messages
    grown = {name: member.engine.log.end - ends[name] for name, member in sharing.members.items()}
    assert (0, 0) == (grown["QM1"], grown["QM2"])
    assert grown["ADM1"] > 20 * 3000
    sharing.cut_off("APPL1", lost=True)
    sharing.reach_again("APPL1")
    assert 20 == operate(sharing, "ADM1", "recover").messages
    sharing.reach_again("APPL1")
    assert list(range(20)) == [body[-1] for body in drained(two)]


def test_units_that_a_backup_found_unfinished_end_as_they_did(sharing, one, two):
    """Puts and gets in flight while the backup was read: their outcome is on the log."""
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        for body in (b"got", b"kept"):
            here.put(body, PERSISTENT, OUT)
        assert b"got" == here.get(GET_IN).body
        here.put(b"put", PERSISTENT, IN)
        assert b"kept" == there.get(GET_IN).body
        there.put(b"backed out", PERSISTENT, IN)
        sharing.publish()
        operate(sharing, "QM1", "backup")
        one.commit()
        two.backout()
        sharing.cut_off("APPL1", lost=True)
        sharing.reach_again("APPL1")
        operate(sharing, "QM2", "recover")
        sharing.reach_again("APPL1")
        assert [b"kept", b"put"] == sorted(drained(one))


class NeverHeardOfIt:
    """The copy of a repository that is away, from before a structure was defined."""

    def __init__(self, tables):
        self._tables, self.structures = tables, self

    def __getattr__(self, name):
        return getattr(self._tables, name)

    def read(self, _name):
        return None

    def all(self):
        return []


def test_what_a_structure_has_lost_is_not_decided_while_the_repository_is_away(sharing, one):
    """A member whose copy does not know the structure must not take it for one that never had messages (CF4)."""
    with one.open("ORDERS", USES) as queue:
        queue.put(b"kept", PERSISTENT, OUT)
    first, second = (sharing.members[name].shared for name in ("QM1", "QM2"))
    group, old = second.group, NeverHeardOfIt(second.group.tables)
    second.group = replace(group, tables=old, db2=SimpleNamespace(away="it does not answer", known=old))
    sharing.cut_off("APPL1", lost=True)
    sharing.away.clear()
    for shared in (second, first, second):
        with shared.latch:
            shared.connect_step()
    assert (Failing.FAILED, Failing.LOST) == (first.structures["APPL1"].failing, second.structures["APPL1"].failing)
    second.group = group
    sharing.reach_again("APPL1")
    operate(sharing, "QM2", "recover")
    sharing.reach_again("APPL1")
    assert [b"kept"] == drained(one)


def test_without_a_backup_the_logs_alone_are_enough(sharing, one, two):
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        for body in (b"1", b"2"):
            here.put(body, PERSISTENT, OUT)
        there.get(GET_OUT)
        sharing.cut_off("APPL1", lost=True)
        sharing.reach_again("APPL1")
        operate(sharing, "QM1", "recover")
        assert [b"2"] == drained(one)


def test_a_message_longer_than_a_log_record_is_recovered_from_backup_and_log(tmp_path):
    """Data of 300 KB is logged in pieces; in the structure it is a reference to a data set."""
    sharing = Sharing(tmp_path, RECOVER="YES", CFLEVEL=5, OFFLOAD="SMDS")
    one = sharing.start("QM1").connect("ALICE")
    sharing.start("QM2")
    sharing.define()
    first, second = (bytes([number]) * 300_000 for number in (1, 2))
    with one.open("ORDERS", USES) as queue:
        queue.put(first, PERSISTENT, OUT)
        sharing.publish()
        operate(sharing, "QM1", "backup")
        queue.put(second, PERSISTENT, OUT)
        sharing.cut_off("APPL1", lost=True)
        sharing.reach_again("APPL1")
        operate(sharing, "QM2", "recover")
        sharing.reach_again("APPL1")
        assert [first, second] == drained(one)


def test_a_structure_that_works_is_not_recovered(sharing):
    with pytest.raises(MQError, match="2346"):
        operate(sharing, "QM1", "recover")


def test_a_recovery_that_is_cut_is_begun_again(sharing, one, two, monkeypatch):
    with one.open("ORDERS", USES) as here:
        for number in range(120):
            here.put(b"%d" % number, PERSISTENT, IN)
        one.commit()
        sharing.cut_off("APPL1", lost=True)
        sharing.reach_again("APPL1")
        manager = sharing.members["QM1"]
        structure = manager.shared.structures["APPL1"]
        ask, asked = structure.ask_for_recovery, []

        def cut(*operations):
            asked.append(operations)
            if len(asked) == 40:
                raise MQError(2345)
            return ask(*operations)

        monkeypatch.setattr(structure, "ask_for_recovery", cut)
        with pytest.raises(MQError):
            operate(sharing, "QM1", "recover")
        with pytest.raises(MQError, match="2373"):
            here.get(GET_OUT)
    sharing.kill("QM1")
    sharing.start("QM1")
    assert 120 == operate(sharing, "QM2", "recover").messages
    sharing.reach_again("APPL1")
    assert [b"%d" % number for number in range(120)] == drained(two)


def test_members_keep_their_logs_as_long_as_a_backup_needs_them(sharing, one):
    recovery = sharing.members["QM1"].engine.recovery
    sharing.publish()
    operate(sharing, "QM1", "backup")
    mark = recovery.log.end
    with one.open("ORDERS", USES) as queue:
        for _ in range(3):
            queue.put(b"x" * 1000, PERSISTENT, OUT)
    with recovery.latch:
        recovery.checkpoint()
    assert recovery.needed_rba() <= mark
    sharing.publish()
    operate(sharing, "QM1", "backup")
    operate(sharing, "QM1", "backup", "APPL2")
    assert recovery.kept_rba() > mark


@pytest.mark.parametrize("seed", range(12))
def test_whatever_members_did_recovery_finds_the_same(sharing, one, two, seed):
    """Random work of two members around a backup, then the structure is lost: what was there is there again."""
    chance, apps = random.Random(seed), (one, two)
    queues = [app.open("ORDERS", USES) for app in apps]
    for step in range(60):
        at = chance.randrange(2)
        action = chance.choice(["put", "put", "put", "get", "get", "commit", "backout", "out"])
        if action == "put":
            queues[at].put(b"%d" % step, PERSISTENT, IN)
        elif action == "out":
            queues[at].put(b"%d" % step, PERSISTENT, OUT)
        elif action == "get":
            try:
                queues[at].get(GET_IN)
            except MQError:
                continue
        elif action == "commit":
            apps[at].commit()
        else:
            apps[at].backout()
        if chance.random() < 0.1:
            sharing.publish()
            operate(sharing, f"QM{at + 1}", "backup")
    for app in apps:
        chance.choice([app.commit, app.backout])()
    before = browsed(one)
    sharing.cut_off("APPL1", lost=True)
    sharing.reach_again("APPL1")
    operate(sharing, "QM1", "recover")
    sharing.reach_again("APPL1")
    assert before == drained(two)


def test_operators_back_up_and_recover_by_command(sharing, one, two):
    def run(text):
        return sharing.members["QM1"].commands.run(text, "ALICE")

    with one.open("ORDERS", USES) as queue:
        queue.put(b"1", PERSISTENT, OUT)
        sharing.publish()
        assert run("BACKUP CFSTRUCT(APPL1)").ok
        queue.put(b"2", PERSISTENT, OUT)
        assert not run("RECOVER CFSTRUCT(APPL1)").ok  # it works
        sharing.cut_off("APPL1", lost=True)
        sharing.reach_again("APPL1")
        assert run("RECOVER CFSTRUCT(APPL1)").ok
        sharing.reach_again("APPL1")
    assert [b"1", b"2"] == drained(two)


def test_everything_is_lost_and_members_live_on(sharing, one, two):
    """The coupling facility ends and comes back: entry numbers begin again, and nothing is mistaken for another."""
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        for body in (b"1", b"2", b"3"):
            here.put(body, PERSISTENT, OUT)
        there.get(GET_IN)
        there.put(b"in flight", PERSISTENT, IN)
        sharing.publish()
        for structure in ("CSQ_ADMIN", "APPL1", "APPL2"):
            sharing.cut_off(structure, lost=True)
        for structure in ("CSQ_ADMIN", "APPL1", "APPL2"):
            sharing.reach_again(structure)
        sharing.publish()
        operate(sharing, "QM1", "recover")
        sharing.publish()
        with pytest.raises(MQError, match="2003"):
            two.commit()  # what it had done is lost
        here.put(b"4", PERSISTENT, OUT)
        assert [b"1", b"2", b"3", b"4"] == drained(two)
    assert [] == sharing.leaks()


def test_a_structure_that_another_member_was_looking_at_is_usable_soon(sharing, one):
    """Two members connect to a new structure at once: the second finds it busy, and looks again."""
    structure = sharing.members["QM1"].shared.structures["APPL1"]
    structure.failing = Failing.LOST  # as it is while another formats it
    with one.open("ORDERS", USES) as queue:
        with pytest.raises(MQError, match="2345"):
            queue.put(b"x", VOLATILE, OUT)
        sharing.reach_again("APPL1")
        queue.put(b"x", VOLATILE, OUT)


# -- units in doubt


def in_doubt(sharing, one, backup):
    """A unit that has put and got and is in doubt, with a backup before, between or after, or none."""
    with one.open("ORDERS", USES) as queue:
        for body in (b"got", b"there"):
            queue.put(body, PERSISTENT, OUT)
        sharing.publish()
        if backup == "before":
            operate(sharing, "QM2", "backup")
        assert b"got" == queue.get(GET_IN).body
        queue.put(b"put", PERSISTENT, IN)
        queue.put(b"volatile", VOLATILE, IN)
        if backup == "between":
            sharing.publish()
            operate(sharing, "QM2", "backup")
        one.prepare(b"XID")
        if backup == "after":
            sharing.publish()
            operate(sharing, "QM2", "backup")


def lose(sharing, *structures):
    for structure in structures:
        sharing.cut_off(structure, lost=True)
    for structure in structures:
        sharing.reach_again(structure)
    sharing.publish()


ALL = ("CSQ_ADMIN", "APPL1", "APPL2")


@pytest.mark.parametrize("lost", [("APPL1",), ALL], ids=["the structure", "everything"])
@pytest.mark.parametrize("backup", ["none", "before", "between", "after"])
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "backout"])
def test_a_unit_in_doubt_is_so_in_the_recovered_structure(sharing, one, two, backup, lost, commit):
    in_doubt(sharing, one, backup)
    lose(sharing, *lost)
    operate(sharing, "QM2", "recover")
    sharing.publish()
    assert [b"there"] == browsed(two)
    (one.commit_prepared if commit else one.backout_prepared)(b"XID")
    assert ([b"there", b"put"] if commit else [b"got", b"there"]) == drained(two)
    assert [] == sharing.leaks()


@pytest.mark.parametrize("recovered", ["before", "after"])
@pytest.mark.parametrize("lost", [("APPL1",), ALL], ids=["the structure", "everything"])
def test_its_member_may_be_down_meanwhile(sharing, one, two, recovered, lost):
    """The structure is recovered by another member, before or after the unit's own is started again."""
    in_doubt(sharing, one, "between")
    sharing.kill("QM1")
    lose(sharing, *lost)
    if recovered == "before":
        operate(sharing, "QM2", "recover")
    again = sharing.start("QM1").connect("ALICE")
    if recovered == "after":
        operate(sharing, "QM2", "recover")
    sharing.publish()
    assert ((b"XID",), [b"there"]) == (again.in_doubt(), browsed(two))
    again.commit_prepared(b"XID")
    assert ([b"there", b"put"], []) == (drained(two), sharing.leaks())


def test_csq_admin_alone_is_lost_and_units_in_doubt_stay(sharing, one, two):
    in_doubt(sharing, one, "none")
    sharing.kill("QM1")
    lose(sharing, "CSQ_ADMIN")
    again = sharing.start("QM1").connect("ALICE")
    assert ((b"XID",), [b"there"]) == (again.in_doubt(), browsed(two))
    again.commit_prepared(b"XID")
    assert ([b"there", b"put", b"volatile"], []) == (drained(two), sharing.leaks())


# -- edges


def test_purging_leaves_nothing_of_a_recovery_that_was_cut(sharing, one, two, monkeypatch):
    with one.open("ORDERS", USES) as queue:
        for number in range(120):
            queue.put(b"%d" % number, PERSISTENT, IN)
        one.commit()
    lose(sharing, "APPL1")
    structure = sharing.members["QM1"].shared.structures["APPL1"]
    ask, asked = structure.ask_for_recovery, []

    def cut(*operations):
        asked.append(operations)
        if isinstance(operations[-1], Write) and len(operations) < 50:
            raise MQError(Reason.CF_NOT_AVAILABLE)  # the last piece
        return ask(*operations)

    with monkeypatch.context() as breaking:
        breaking.setattr(structure, "ask_for_recovery", cut)
        with pytest.raises(MQError):
            operate(sharing, "QM1", "recover")
    assert sharing.members["QM2"].commands.run("RECOVER CFSTRUCT(APPL1) TYPE(PURGE)", "OPER").ok
    sharing.publish()
    assert ([], []) == (browsed(one), browsed(two))
    with one.open("ORDERS", USES) as queue:
        queue.put(b"new", PERSISTENT, OUT)
    assert [b"new"] == drained(two)


def test_a_recovery_that_fails_leaves_the_structure_to_others(sharing, one, two, monkeypatch):
    """A log that one member cannot read may be readable to another."""
    with one.open("ORDERS", USES) as queue:
        queue.put(b"1", PERSISTENT, OUT)
    lose(sharing, "APPL1")
    media = sharing.members["QM1"].shared.media

    def away(_name):
        raise MQError(Reason.CF_STRUC_FAILED)

    monkeypatch.setattr(media, "_disk_of", away)
    with pytest.raises(MQError, match="2373"):
        operate(sharing, "QM1", "recover")
    assert 1 == operate(sharing, "QM2", "recover").messages
    assert [b"1"] == drained(two)


@pytest.mark.parametrize("what", ["its log cannot be read", "an active log is gone"])
def test_a_member_whose_log_is_damaged_ends_no_other(sharing, one, two, what):
    """SM7: the recovery is refused, with the member's name; the queue manager that was asked goes on."""
    with two.open("ORDERS", USES) as queue:
        queue.put(b"1", PERSISTENT, OUT)
    disk = sharing.disks["QM2"]
    lose(sharing, "APPL1")
    file = disk.files["log1-01"]
    if what == "an active log is gone":
        del disk.files["log1-01"]
    else:
        disk.unreadable["log1-01"] = range(1 << 40)
    reply = sharing.members["QM1"].commands.run("RECOVER CFSTRUCT(APPL1)", "ALICE")
    assert (False, "") == (reply.ok, sharing.members["QM1"].failure)
    assert "QM2" in str(reply.lines)
    disk.files["log1-01"] = file
    disk.unreadable.clear()
    assert 1 == operate(sharing, "QM1", "recover").messages
    assert [b"1"] == drained(one)


def test_a_second_backup_replaces_the_first(sharing, one, two):
    """What was got between them does not come back, what was put between them does."""
    with one.open("ORDERS", USES) as queue:
        queue.put(b"1", PERSISTENT, OUT)
        sharing.publish()
        operate(sharing, "QM1", "backup")
        queue.get(GET_OUT)
        queue.put(b"2", PERSISTENT, OUT)
        sharing.publish()
        operate(sharing, "QM2", "backup")
    lose(sharing, "APPL1")
    assert 1 == operate(sharing, "QM1", "recover").messages
    assert [b"2"] == drained(one)


# -- size


def test_a_structure_that_is_full_grows_while_it_is_used(sharing, one, two):
    """MP16: an operator's alter keeps the ratio; a structure does not shrink below what it holds."""

    def run(text):
        return sharing.members["QM2"].commands.run(text, "OPER")

    def fill(queue):
        for _ in range(10_000):
            queue.put(bytes(5000), VOLATILE, OUT)

    before = sharing.space()
    with one.open("ORDERS", USES) as queue:
        with pytest.raises(MQError, match="2192"):
            fill(queue)
        assert run("ALTER CFSTRUCT(APPL1) SIZE(8192)").ok
        after = sharing.space()
        assert 2 == pytest.approx(after.entries_total / before.entries_total, abs=0.01)
        assert 6 == pytest.approx(after.elements_total / after.entries_total, abs=0.01)
        queue.put(bytes(5000), VOLATILE, OUT)
        refused = run("ALTER CFSTRUCT(APPL1) SIZE(2048)")
        assert (False, after.entries_total) == (refused.ok, sharing.space().entries_total)
        drained(two)
        assert run("ALTER CFSTRUCT(APPL1) SIZE(2048)").ok
    assert before.entries_total / 2 == pytest.approx(sharing.space().entries_total, abs=1)


# -- generic names


def told(reply, code):
    return [line for line in reply.lines if code in line]


def test_a_generic_name_means_what_can_be_backed_up_and_what_has_failed(sharing, one):
    """CU4: every night BACKUP CFSTRUCT(*) makes a copy of all that can be copied."""
    run = sharing.members["QM1"].commands.run
    assert run("DEFINE CFSTRUCT(AAAA) CFLEVEL(3) RECOVER(NO)", "OPER").ok
    one.put1("ORDERS", b"kept", PERSISTENT, OUT)
    sharing.publish()
    reply = run("BACKUP CFSTRUCT(*)", "OPER")
    assert (True, 2) == (reply.ok, len(told(reply, "CSQE121I"))), reply.lines
    for none in ("BACKUP CFSTRUCT(AAAA)", "BACKUP CFSTRUCT(AA*)", "RECOVER CFSTRUCT(*)"):
        assert not run(none, "OPER").ok
    sharing.cut_off("APPL1", lost=True)
    with pytest.raises(MQError):
        one.put1("ORDERS", b"", VOLATILE, OUT)
    sharing.reach_again("APPL1")
    sharing.publish()
    reply = run("RECOVER CFSTRUCT(*)", "OPER")
    assert (True, 1) == (reply.ok, len(told(reply, "CSQE131I"))), reply.lines
    assert [b"kept"] == drained(one)
    assert not run("RECOVER CFSTRUCT(APPL1)", "OPER").ok
