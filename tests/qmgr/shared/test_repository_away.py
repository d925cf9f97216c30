"""Members that work while the shared repository is away from some of them: what they do not know does no harm.

Each asks the repository as in service, through the Db2 manager; what is defined is followed only when the test says so.
"""

import pytest

from chaos.simulated import Fate, Way
from qmgr.shared.sharing import GET_IN, IN, PERSISTENT, USES, Sharing, drained
from quaestor.mqi.reasons import MQError
from quaestor.testing import FaultyDisk


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
