"""Three members, two queues in two structures, crashes and restarts, against a plain model: a sorted list and a set.

Members die at any moment between calls; peers or their own restart end what they left. The model needs no log: what was
confirmed is there, what was not is not.
"""

from collections import Counter
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, USES, VOLATILE, Sharing, browsed
from quaestor.mqi.reasons import MQError, Reason

NAMES = ("QM1", "QM2", "QM3")
QUEUES = {"ORDERS": "APPL1", "BILLS": "APPL2"}
members, queues = st.sampled_from(NAMES), st.sampled_from(list(QUEUES))
persistent = st.booleans()


class Sharers(RuleBasedStateMachine):
    """Every call is made by some member; the model knows what is confirmed and what each unit holds."""

    def __init__(self):
        super().__init__()
        self.folder = Path(mkdtemp())
        self.sharing = Sharing(self.folder, structures=tuple(QUEUES.values()))
        self.there = {queue: Counter() for queue in QUEUES}
        self.puts, self.gets, self.apps, self.handles = {}, {}, {}, {}
        self.made = 0
        for name in NAMES:
            self.up(name)
        for queue, structure in QUEUES.items():
            self.sharing.define(queue, structure)

    def teardown(self):
        rmtree(self.folder, ignore_errors=True)

    def up(self, name):
        self.apps[name] = self.sharing.start(name).connect(name)
        self.puts[name], self.gets[name], self.handles[name] = [], [], {}

    def handle(self, name, queue):
        if queue not in self.handles[name]:
            self.handles[name][queue] = self.apps[name].open(queue, USES)
        return self.handles[name][queue]

    def alive(self, name):
        return name in self.apps

    # -- calls

    @rule(name=members, queue=queues, persistent=persistent, unit=st.booleans())
    def put(self, name, queue, persistent, unit):
        if not self.alive(name):
            return
        self.made += 1
        body = b"%d" % self.made
        self.handle(name, queue).put(body, PERSISTENT if persistent else VOLATILE, IN if unit else OUT)
        if unit:
            self.puts[name].append((queue, body))
        else:
            self.there[queue][body] += 1

    @rule(name=members, queue=queues, unit=st.booleans())
    def get(self, name, queue, unit):
        if not self.alive(name):
            return
        try:
            body = self.handle(name, queue).get(GET_IN if unit else GET_OUT).body
        except MQError as error:
            assert error.reason is Reason.NO_MSG_AVAILABLE  # noqa: PT017 - one answer of two
            assert not +self.there[queue]
            return
        assert self.there[queue][body] == 1
        self.there[queue][body] -= 1
        if unit:
            self.gets[name].append((queue, body))

    @rule(name=members, commit=st.booleans())
    def end(self, name, commit):
        if not self.alive(name):
            return
        (self.apps[name].commit if commit else self.apps[name].backout)()
        self.ended(name, commit=commit)

    def ended(self, name, *, commit):
        for queue, body in self.puts[name] if commit else self.gets[name]:
            self.there[queue][body] += 1
        self.puts[name], self.gets[name] = [], []

    # -- deaths

    @precondition(lambda self: len(self.apps) > 1)
    @rule(name=members)
    def a_member_dies_and_a_peer_recovers_it(self, name):
        if not self.alive(name):
            return
        self.sharing.kill(name)
        del self.apps[name]
        next(iter(self.sharing.members.values())).shared.peers.step()
        self.ended(name, commit=False)

    @rule(name=members)
    def a_member_dies_and_recovers_itself(self, name):
        if self.alive(name):
            self.sharing.kill(name)
            del self.apps[name]
            self.ended(name, commit=False)
        self.up(name)

    @rule(name=members)
    def a_structure_is_away_for_a_while(self, name):
        """Connections are lost and made again; nothing is."""
        if self.alive(name):
            self.sharing.cut_off("APPL1")
            self.sharing.reach_again("APPL1")

    # -- always

    @invariant()
    def everybody_sees_what_is_there(self):
        for name, app in self.apps.items():
            for queue in QUEUES:
                assert +self.there[queue] == Counter(browsed(app, queue)), (name, queue)

    @invariant()
    def nothing_is_held_but_by_open_units(self):
        held = sum(len(self.puts[name]) + len(self.gets[name]) for name in self.apps)
        assert held == len(self.sharing.leaks())


Sharers.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestSharers = Sharers.TestCase
