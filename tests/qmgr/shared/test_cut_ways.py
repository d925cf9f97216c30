"""A way is cut at every request of a member that lives, and comes back: nothing of the member is left, nothing is lost.

Its application backs its unit out, or goes on with it: at once, in what can still be reached, or when the way is back.
"""

from collections import Counter
from types import SimpleNamespace

import pytest

from chaos.simulated import Fate, Way
from qmgr.shared.cutting import World, two_structures, work
from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, USES, VOLATILE
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.coupling_facility import manager
from quaestor.qmgr.coupling_facility.checking import check_structures
from quaestor.qmgr.coupling_facility.descriptors import Descriptors
from quaestor.qmgr.coupling_facility.habits import FEWEST, MP1B
from quaestor.qmgr.coupling_facility.keys import decided_list
from quaestor.qmgr.coupling_facility.units import SharedUnit
from quaestor.qmgr.db2 import Db2Manager
from quaestor.storage.lists.structure import StructureLostError

HOWS = ("not sent", "answer lost", "late")
BACKS_OUT, GOES_ON, WAITS = THEN = ("backs out", "goes on", "goes on when it is back")
NEVER = 1 << 30


class LivingWorld(World):
    """The first member works; what befalls a request of its is seen by its application, which does one thing then."""

    def __init__(self, folder, then=BACKS_OUT, again=NEVER, habits=FEWEST, **attributes):
        self.fate, self.late = Fate(SimpleNamespace(_off=False)), []
        super().__init__(folder, habits=habits, **attributes)
        self.then, self.again, self.how, self.cut_again = then, again, "", False

    def wrapped(self, name, made):
        return Way(made, self.fate, self.late) if name == "QM1" else made

    def strike(self, cut_at, how):
        self.how = how
        self.fate.arm(cut_at, how)

    # -- what the application does

    def put(self, queue, body, descriptor=PERSISTENT, options=IN):
        self._tried(lambda: World.put(self, queue, body, descriptor, options), ends=options == OUT)

    def get(self, queue, options=GET_IN):
        self._tried(lambda: World.get(self, queue, options), ends=options == GET_OUT)

    def commit(self):
        self._tried(lambda: World.commit(self), ends=True)

    def prepare(self, xid):
        """In doubt, or backed out."""
        try:
            self.app.prepare(xid)
        except MQError as error:
            assert error.reason in (Reason.BACKED_OUT, Reason.UOW_NOT_AVAILABLE), error  # noqa: PT017 - nothing else
            self._unit = Counter()
            self.settle()
            return False
        if self.fate.left < 0:
            self.connect_again()  # its coordinator takes its time
        return True

    def decide(self, xid, *, commit):
        """As often as it takes."""
        changes, self._unit = self._unit if commit else Counter(), Counter()
        end = self.app.commit_prepared if commit else self.app.backout_prepared

        def ended():
            for _ in range(3):
                try:
                    return end(xid)
                except MQError:
                    self.connect_again()
            raise AssertionError("it cannot be decided")

        self._happens(changes, ended)
        self.settle()

    def _tried(self, call, *, ends):
        """A call, after which nothing is in flight if it `ends` a unit."""
        try:
            call()
        except MQError as error:
            if error.reason is Reason.NO_MSG_AVAILABLE:
                return
            if error.reason is Reason.BACKED_OUT:
                self.possible = self.confirmed
            if not ends and self.then == BACKS_OUT:
                self.backout()
                ends = True
            elif self.then == WAITS:
                self.connect_again()
        if ends:
            self.settle()

    # -- what happens meanwhile

    def connect_again(self):
        """The way is back; it may be cut once more, before everything is as it should be."""
        if self.again != NEVER and self.fate.left < 0:
            self.fate.arm(self.again, self.how)
            self.again = NEVER
            self.one.shared.reach_step()
            self.cut_again = self.fate.left < 0
            self.fate.arm(-1, "")
        for _ in range(2):
            self.one.shared.reach_step()
        for late in self.late:
            with pytest.raises(StructureLostError):
                late()
        self.late.clear()

    def settle(self):
        """The member has finished what it could not; what was under way has happened, or has not."""
        if self.fate.left >= 0 and not self.late and self.confirmed == self.possible:
            return
        self.connect_again()
        there = self.found(private=self.one)
        assert there in [+self.confirmed, +self.possible], (there, self.confirmed, self.possible)
        self.confirmed = self.possible = there

    # -- what is found afterwards

    def check_nothing_left(self):
        """All that was confirmed is there, nothing else is, and nobody finds anything of a member that has stopped."""
        self.app.abandon()
        self.connect_again()
        expected = +self.confirmed
        assert expected == self.found(private=self.one)
        assert [] == self.sharing.leaks()
        self.one.stop()
        assert [] == check_structures(self.sharing.group("CHECK"), idle=True)
        assert [] == [each for each in self.sharing.descriptors() if each.unit[0] == 1]
        assert [] == [each for name in ("APPL1", "APPL2") for each in self.sharing.entries(decided_list(1), name)]
        again = self.sharing.start("QM1")
        assert expected == self.found(private=again)


def doubtful(world):
    """Units that are prepared, and then committed or backed out."""
    world.put("ORDERS", b"p0", PERSISTENT)
    world.put("BILLS", b"v0", VOLATILE)
    world.commit()
    for xid, commit in ((b"1", True), (b"2", False), (b"3", True)):
        world.put("ORDERS", b"p" + xid, PERSISTENT)
        world.put("BILLS", b"v" + xid, VOLATILE)
        world.get("BILLS")
        if world.prepare(xid):
            world.decide(xid, commit=commit)


def cut(folder, scenario, cut_at, how, **what):
    world = LivingWorld(folder, **what)
    world.strike(cut_at, how)
    scenario(world)
    assert world.fate.left < 0, "nothing was cut"
    world.check_nothing_left()
    world.sharing.close()
    return world


SCENARIOS = [(work, 37), (two_structures, 9), (doubtful, 31)]
"""With how many requests each has; one more is never cut."""


@pytest.mark.parametrize(("scenario", "requests"), SCENARIOS, ids=lambda each: getattr(each, "__name__", ""))
def test_so_much_is_asked(tmp_path, scenario, requests):
    world = LivingWorld(tmp_path)
    world.strike(NEVER, "not sent")
    scenario(world)
    assert requests == NEVER - world.fate.left
    world.check_nothing_left()


EVERY_CUT = [(scenario, cut_at) for scenario, requests in SCENARIOS for cut_at in range(requests)]
AND_THEN = [*((BACKS_OUT, how) for how in HOWS), (GOES_ON, "answer lost"), (WAITS, "answer lost")]


def named(value):
    return getattr(value, "__name__", None)


@pytest.mark.crash
@pytest.mark.parametrize(("then", "how"), AND_THEN)
@pytest.mark.parametrize(("scenario", "cut_at"), EVERY_CUT, ids=named)
def test_a_way_is_cut_at_a_request_and_comes_back(tmp_path, scenario, cut_at, then, how):
    cut(tmp_path, scenario, cut_at, how, then=then)


@pytest.mark.crash
@pytest.mark.parametrize("cut_at", range(38))
def test_with_the_habits_of_mp1b_nothing_else_is_left(tmp_path, cut_at):
    cut(tmp_path, work, cut_at, "answer lost", habits=MP1B)


@pytest.mark.crash
@pytest.mark.parametrize("how", ["not sent", "answer lost"])
@pytest.mark.parametrize(("scenario", "cut_at"), [(work, 4), (work, 13), (work, 16), (doubtful, 11), (doubtful, 14)])
def test_it_is_cut_once_more_before_everything_is_done(tmp_path, scenario, cut_at, how):
    """At every request with which the member connects again, undoes what was not answered and finishes the rest."""
    again = 0
    while cut(tmp_path, scenario, cut_at, how, again=again).cut_again:
        again += 1
    assert again >= 7


@pytest.mark.crash
@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("cut_at", range(37))
def test_the_repository_is_away_as_long_as_the_way_is_back(tmp_path, cut_at, then):
    """Its queues were defined by another member, and have not been followed yet (DM4)."""
    world = LivingWorld(tmp_path, then=then, through_db2=True)
    world.strike(cut_at, "answer lost")
    world.sharing.repository_away.add("QM1")
    work(world)
    world.app.abandon()
    world.connect_again()
    assert (+world.confirmed, []) == (world.found(private=world.one), world.sharing.leaks())
    world.sharing.repository_away.clear()
    world.sharing.follow()
    world.check_nothing_left()
    world.sharing.close()


# --- teeth ------------------------------------------------------------------------------------------------------------


def without_reconciling(patch):
    """PR8: what was done without an answer is undone."""
    patch.setattr(manager, "reconcile", lambda *_: set())


def without_waiting_for_answers(patch):
    """CU8: a unit is not prepared while a structure owes it an answer."""
    patch.setattr(SharedUnit, "not_answered", lambda *_: None)


def without_looking_for_the_word(patch):
    """CU4: the word of a unit whose writing was not answered goes with the unit."""
    patch.setattr(Descriptors, "word_of", lambda *_: None)


def without_learning_what_is_seen(patch):
    """DM4: the copy of the repository has what questions were answered with."""
    patch.setattr(Db2Manager, "_saw", lambda *_: None)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("remove", "proof"),
    [
        (without_reconciling, lambda folder: cut(folder, work, 4, "answer lost")),
        (without_waiting_for_answers, lambda folder: cut(folder, doubtful, 6, "answer lost", then=GOES_ON)),
        (without_looking_for_the_word, lambda folder: cut(folder, work, 13, "answer lost")),
        (
            without_learning_what_is_seen,
            lambda folder: test_the_repository_is_away_as_long_as_the_way_is_back(folder, 4, BACKS_OUT),
        ),
    ],
    ids=lambda each: each.__name__.strip("<>"),
)
def test_a_missing_rule_is_noticed(tmp_path, remove, proof, monkeypatch):
    (tmp_path / "with").mkdir()
    proof(tmp_path / "with")
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend)):
        proof(tmp_path)


@pytest.mark.parametrize("how", HOWS)
def test_a_definition_that_is_cut_off_is_none(tmp_path, how):
    """SD6: at every request of DEFINE. What was told to have failed is defined by the next command, once."""
    refused = 0
    for cut_at in range(8):
        folder = tmp_path / str(cut_at)
        folder.mkdir()
        world = LivingWorld(folder)
        world.strike(cut_at, how)
        define = "DEFINE QLOCAL(NEW) QSGDISP(SHARED) CFSTRUCT(APPL1) MAXDEPTH(1)"
        told = world.one.commands.run(define, "OPER")
        cut = world.fate.left < 0
        world.connect_again()
        defined = [row["QUEUE"] for row in world.two.commands.run("DISPLAY QLOCAL(NEW)", "OPER").rows]
        assert (["NEW"] if told.ok else []) == defined
        if not told.ok:
            refused += 1
            assert world.two.commands.run(define, "OPER").ok
        with world.two.connect("BOB") as app, app.open("NEW", USES) as queue:
            queue.put(b"fits", PERSISTENT, OUT)
            with pytest.raises(MQError, match="2053"):
                queue.put(b"one too many", PERSISTENT, OUT)
        assert [] == check_structures(world.sharing.group("CHECK"), idle=True)
        if not cut:
            break
    assert refused
    assert not cut, "there are requests at which it was not cut"
