"""Members that work while the shared repository is away from some of them: what they do not know does no harm.

Each asks the repository as in service, through the Db2 manager; what is defined is followed only when the test says so.
"""

import pytest

from chaos.simulated import Fate, Way
from qmgr.shared.sharing import GET_IN, IN, OUT, PERSISTENT, USES, VOLATILE, Sharing, drained
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility import resetting
from quaestor.qmgr.coupling_facility.structures import Failing
from quaestor.testing import FaultyDisk, PowerCut


class Group:
    """QM1 defines what QM2 uses; requests of QM2 may get no answer."""

    def __init__(self, folder):
        self.sharing = Sharing(folder, structures=("APPL1", "APPL2"), through_db2=True, RECOVER="YES")
        self.fate = Fate(FaultyDisk())
        self.sharing.disks["QM2"] = self.fate.disk
        self.sharing.wrap = lambda name, made: Way(made, self.fate, []) if name == "QM2" else made
        self.one, self.two = self.sharing.start("QM1"), self.sharing.start("QM2")

    def defined(self):
        """A queue that QM2 uses before it has followed the repository."""
        self.sharing.define("ORDERS", "APPL1", by="QM1")
        app = self.two.connect("BOB")
        return app, app.open("ORDERS", USES)


@pytest.fixture
def group(tmp_path):
    made = Group(tmp_path)
    yield made
    made.sharing.close()


# -- what the member itself has done


@pytest.mark.parametrize("ended", ["before", "after"])
def test_a_put_without_answer_leaves_nothing_while_the_repository_is_away(group, ended):
    """DM4: the queue was seen and not yet followed; the structure is back before the repository is."""
    app, queue = group.defined()
    queue.put(b"1", PERSISTENT, IN)
    group.fate.arm(0, "answer lost")
    with pytest.raises(MQError, match="2345"):
        queue.put(b"2", PERSISTENT, IN)
    group.sharing.repository_away.add("QM2")
    if ended == "before":
        app.backout()
    group.two.shared.reach_step()
    app.backout()
    group.two.shared.reach_step()
    assert ([], []) == (group.sharing.leaks(), drained(group.one.connect("ALICE")))


def test_a_get_without_answer_is_given_back_while_the_repository_is_away(group):
    app, queue = group.defined()
    with group.one.connect("ALICE") as alice:
        alice.put("ORDERS", b"1", PERSISTENT)
    group.fate.arm(0, "answer lost")
    with pytest.raises(MQError, match="2345"):
        queue.get(GET_IN)
    group.sharing.repository_away.add("QM2")
    group.two.shared.reach_step()
    app.backout()
    assert ([], [b"1"]) == (group.sharing.leaks(), drained(group.one.connect("ALICE")))


def test_units_that_work_on_survive_both_cuts(group):
    """Their entries are found where they were put: nobody has taken this member for dead."""
    app, queue = group.defined()
    queue.put(b"1", PERSISTENT, IN)
    group.sharing.repository_away.add("QM2")
    group.sharing.cut_off("APPL1")
    group.sharing.reach_again("APPL1")
    app.commit()
    assert ([], [b"1"]) == (group.sharing.leaks(), drained(group.one.connect("ALICE")))


def test_a_structure_that_is_new_here_waits_for_the_repository_and_others_do_not(group):
    """DS1: its data set is to be noted there before it is used; the background goes on with what there is."""
    assert group.one.commands.run("DEFINE CFSTRUCT(APPL0) CFLEVEL(5) OFFLOAD(SMDS)", "OPER").ok
    _, queue = group.defined()
    group.sharing.follow()
    group.sharing.repository_away.add("QM2")
    structures = group.two.shared.structures
    waiting = {"APPL0": group.two.shared.structure("APPL0"), **structures}
    group.sharing.cut_off("APPL1")
    with pytest.raises(MQError, match="2345"):
        queue.put(b"1", VOLATILE, OUT)
    group.sharing.away.clear()
    structures.clear()
    structures.update(waiting)
    group.two.shared.reach_step()
    assert (Failing.LOST, None) == (structures["APPL0"].failing, structures["APPL1"].failing)
    group.sharing.repository_away.clear()
    group.sharing.follow()
    group.two.shared.reach_step()
    assert structures["APPL0"].failing is None


@pytest.mark.parametrize("cut_at", [None, *range(18)])
def test_units_are_ended_although_a_definition_cannot_be_followed_yet(group, cut_at):
    """DS1: a data set is to be made, and noted; what could not be finished does not wait for that."""
    assert group.one.commands.run("ALTER CFSTRUCT(APPL2) CFLEVEL(4)", "OPER").ok
    group.sharing.follow()
    group.two.shared.reach_step()
    app, queue = group.defined()
    queue.put(b"1", PERSISTENT, IN)
    group.sharing.cut_off("APPL1")
    app.backout()
    assert group.one.commands.run("ALTER CFSTRUCT(APPL2) CFLEVEL(5) OFFLOAD(SMDS)", "OPER").ok
    group.sharing.follow()
    if cut_at is None:
        group.sharing.repository_away.add("QM2")
    else:
        group.fate.arm(cut_at, "not sent")
    group.sharing.away.clear()
    group.two.shared.reach_step()
    group.fate.left = -1
    group.two.shared.reach_step()
    assert [] == group.sharing.leaks()
    group.sharing.repository_away.clear()
    group.sharing.follow()
    group.two.shared.reach_step()
    assert "SMDS" == group.two.shared.data_sets.offloaded_to("APPL2")


# -- what a dead member has left, rule PE6


def committed_on_the_log_only(group, monkeypatch, *queues):
    """QM1 commits a unit and dies before it tells the structures; QM2 knows nothing of its queues."""
    group.sharing.repository_away.add("QM2")
    app = group.one.connect("ALICE")
    for at, structure in enumerate(queues, 1):
        group.sharing.define(f"Q{at}", structure, by="QM1")
        app.put(f"Q{at}", b"%d" % at, PERSISTENT, IN)
    monkeypatch.setattr(group.one.shared, "_finish", killed)
    with pytest.raises(PowerCut):
        app.commit()
    group.sharing.kill("QM1")


def killed(*_what, **_how):
    raise PowerCut


def found_by(group, *queues):
    with group.sharing.members["QM2"].connect("BOB") as app:
        return [drained(app, queue) for queue in queues]


def test_a_peer_that_does_not_know_a_queue_forgets_nothing_of_it(group, monkeypatch):
    """What has committed on the dead member's log is there when the repository is back."""
    committed_on_the_log_only(group, monkeypatch, "APPL1")
    group.two.shared.peers.step()
    assert (1, False) == (len(group.sharing.descriptors()), group.two.shared.admin.connectors()["QM1"])
    group.sharing.repository_away.clear()
    group.sharing.follow()
    group.two.shared.peers.step()
    assert ([], ["QM2"]) == (group.sharing.descriptors(), list(group.two.shared.admin.connectors()))
    assert ([[b"1"]], []) == (found_by(group, "Q1"), group.sharing.leaks())


def test_the_members_own_restart_finds_what_such_a_peer_has_left(group, monkeypatch):
    committed_on_the_log_only(group, monkeypatch, "APPL1", "APPL2")
    group.two.shared.peers.step()
    group.sharing.start("QM1")
    group.sharing.repository_away.clear()
    group.sharing.follow()
    assert ([[b"1"], [b"2"]], []) == (found_by(group, "Q1", "Q2"), group.sharing.leaks())


def test_what_is_known_is_ended_at_once(group):
    """Messages that a dead member had got are there for others, also while the repository is away."""
    group.sharing.define("ORDERS", "APPL1", by="QM1")
    with group.one.connect("ALICE") as app:
        app.put("ORDERS", b"1", PERSISTENT, OUT)
    group.one.connect("ALICE").open("ORDERS", USES).get(GET_IN)
    assert [[]] == found_by(group, "ORDERS")
    group.sharing.repository_away.add("QM2")
    group.sharing.kill("QM1")
    group.two.shared.peers.step()
    assert [[b"1"]] == found_by(group, "ORDERS")
    assert not group.two.shared.admin.connectors()["QM1"]


def test_a_unit_that_logs_nothing_waits_for_the_structure_that_has_its_word(group, monkeypatch):
    """CU3: the word is in a structure in which QM2 knows no queue; the other part of the unit is one that it knows."""
    group.sharing.define("Q2", "APPL2", by="QM1")
    assert [[]] == found_by(group, "Q2")
    group.sharing.repository_away.add("QM2")
    group.sharing.define("Q1", "APPL1", by="QM1")
    app = group.one.connect("ALICE")
    app.put("Q1", b"1", VOLATILE, IN)
    app.put("Q2", b"2", VOLATILE, IN)
    monkeypatch.setattr(group.one.shared, "_finish", killed)
    with pytest.raises(PowerCut):
        app.commit()
    group.sharing.kill("QM1")
    group.two.shared.peers.step()
    assert 1 == len(group.sharing.leaks())
    group.sharing.repository_away.clear()
    group.sharing.follow()
    group.two.shared.peers.step()
    assert ([[b"1"], [b"2"]], []) == (found_by(group, "Q1", "Q2"), group.sharing.leaks())


def test_a_member_that_is_not_known_yet_is_not_forgotten(group):
    group.sharing.repository_away.add("QM2")
    group.sharing.start("QM3")
    group.sharing.kill("QM3")
    group.two.shared.peers.step()
    assert not group.two.shared.admin.connectors()["QM3"]
    group.sharing.repository_away.clear()
    group.sharing.follow()
    group.two.shared.peers.step()
    assert "QM3" not in group.two.shared.admin.connectors()


# -- structures that have failed, rules SM6, RC4 and RT1


def test_a_structure_is_recovered_only_with_everybody_who_has_joined(group):
    """QM3 has joined and put since QM1 followed the repository; then the structure is lost, and QM1 cut off."""
    group.sharing.define("ORDERS", "APPL1", by="QM1")
    with group.sharing.start("QM3").connect("CAROL") as app:
        app.put("ORDERS", b"1", PERSISTENT, OUT)
    group.sharing.facility.delete(group.sharing.prefix + "APPL1")
    for _ in range(2):
        for manager in group.sharing.members.values():
            manager.shared.reach_step()
    structure = group.one.shared.structures["APPL1"]
    assert Failing.FAILED is structure.failing
    group.sharing.repository_away.add("QM1")
    for command in ("RECOVER CFSTRUCT(APPL1)", "RECOVER CFSTRUCT(APPL1) TYPE(PURGE)", "BACKUP CFSTRUCT(APPL2)"):
        told = group.one.commands.run(command, "OPER")
        assert (False, True) == (told.ok, "2342" in told.lines[0]), told.lines
    assert Failing.FAILED is structure.failing
    group.sharing.repository_away.clear()
    group.sharing.follow()
    assert group.one.commands.run("RECOVER CFSTRUCT(APPL1)", "OPER").ok
    group.two.shared.reach_step()
    assert [[b"1"]] == found_by(group, "ORDERS")


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_structure_is_made_to_fail_only_when_all_can_be_told(tmp_path, when, monkeypatch):
    sharing = Sharing(tmp_path, through_db2=True, RECOVER="YES", CFLEVEL=5)
    one = sharing.start("QM1")
    sharing.define(by="QM1")
    with one.connect("ALICE") as app:
        app.put("ORDERS", b"1", VOLATILE, OUT)
        if when == "before":
            sharing.repository_away.add("QM1")
        else:
            monkeypatch.setattr(resetting, "_settled", lambda _structure: not sharing.repository_away.add("QM1"))
        told = one.commands.run("RESET CFSTRUCT(APPL1) ACTION(FAIL)", "OPER")
        assert (False, True) == (told.ok, "2342" in told.lines[0]), told.lines
        assert [b"1"] == drained(app)
    sharing.close()
