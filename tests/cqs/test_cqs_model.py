"""Several servers and clients do anything in any order, fail at any time, and lose their structures: a plain model
tells which messages there are.
"""

from contextlib import suppress

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cqs.group import Group, Killed, agrees_with_log, texts
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import lterm, transaction
from quaestor.cqs.refusals import CQSError, Why

SERVERS = ("CQS1", "CQS2", "CQS3")
QUEUES = (transaction("TRANA"), transaction("TRANB"), lterm("LTRMZ"))
SEGMENT = b"." * 3000
NAMED, QUEUED = st.sampled_from(SERVERS), st.sampled_from(QUEUES)
LENGTHS, STEPS = st.sampled_from([0, 0, 1, 3]), st.integers(0, 24)


class SharedQueues(RuleBasedStateMachine):
    """The model: texts ready on each queue, and texts that a server's unit has locked, with their queue."""

    @initialize()
    def begin(self):
        self.group = Group(Policy(size=400))
        self.clients, self.units = {}, {}
        self.ready = {queue: set() for queue in QUEUES}
        self.locked = {name: {} for name in SERVERS}
        self.number = 0
        self.start("CQS1")

    # -- servers

    @rule(name=NAMED)
    def start(self, name):
        if name not in self.clients:
            server = self.group.start(name)
            self.clients[name] = server.register(f"IMS{name[-1]}")

    @precondition(lambda self: len(self.clients) > 1)
    @rule(name=NAMED)
    def kill(self, name):
        if name in self.clients:
            self.group.kill(name)
            self._gone(name)

    @precondition(lambda self: len(self.clients) > 1)
    @rule(name=NAMED)
    def take_for_failed(self, name):
        """A server that lives is taken for failed: its work is completed by others, and it can do nothing more."""
        if name not in self.clients:
            return
        client = self.clients[name]
        for cable in self.group._cables:
            if cable.connector == name and not cable.dead:
                cable._inner.fail()
        del self.clients[name]
        self._anybody().step()
        self.clients[name] = client
        with pytest.raises(CQSError) as refused:
            client.put(QUEUES[0], [b"late"])
        assert Why.FENCED is refused.value.why
        self.group.kill(name)
        self._gone(name)

    @rule(name=NAMED)
    def stop(self, name):
        if name in self.clients and len(self.clients) > 1:
            self.group.servers.pop(name).stop()
            self._gone(name)

    def _gone(self, name):
        self.clients.pop(name)
        self.units.pop(name, None)
        for text, queue in self.locked[name].items():
            self.ready[queue].add(text)
        self.locked[name] = {}
        self._anybody().step()

    def _anybody(self):
        return self.group.servers[next(iter(self.clients))]

    # -- messages

    @rule(name=NAMED, queue=QUEUED, length=LENGTHS)
    def put(self, name, queue, length):
        if name in self.clients:
            text = self._text()
            self.clients[name].put(queue, [text.encode(), *[SEGMENT] * length])
            self.ready[queue].add(text)

    @rule(name=NAMED, queue=QUEUED)
    def read(self, name, queue):
        if name not in self.clients:
            return
        unit = self.units.setdefault(name, self.clients[name].begin())
        message = unit.read(queue)
        if message is None:
            assert not self.ready[queue]
            return
        text = message.segments[0].decode()
        self.ready[queue].remove(text)
        self.locked[name][text] = queue

    @rule(name=NAMED, queue=QUEUED, length=LENGTHS)
    def commit(self, name, queue, length):
        if name in self.units:
            unit, text = self.units.pop(name), self._text()
            unit.insert(queue, [text.encode(), *[SEGMENT] * length])
            unit.commit()
            self.ready[queue].add(text)
            self.locked[name] = {}

    @precondition(lambda self: len(self.clients) > 1)
    @rule(name=NAMED, queue=QUEUED, length=LENGTHS, at=STEPS)
    def killed_in_commit(self, name, queue, length, at):
        if name not in self.units:
            return
        unit, text = self.units.pop(name), self._text()
        unit.insert(queue, [text.encode(), *[SEGMENT] * length])
        self.group.steps.kill_at = self.group.steps.count + at
        with suppress(Killed):
            unit.commit()
        self.group.steps.kill_at = None
        self.group.kill(name)
        del self.clients[name]
        self._anybody().step()
        if text in texts(next(iter(self.clients.values())), queue):
            self.ready[queue].add(text)
        else:
            for old, home in self.locked[name].items():
                self.ready[home].add(old)
        self.locked[name] = {}

    @rule(name=NAMED)
    def backout(self, name):
        if name in self.units:
            self.units.pop(name).backout()
            for text, queue in self.locked[name].items():
                self.ready[queue].add(text)
            self.locked[name] = {}

    def _text(self):
        self.number += 1
        return f"m{self.number}"

    # -- structures

    @rule(name=NAMED)
    def structure_checkpoint(self, name):
        if name in self.clients:
            self.group.servers[name].structure_checkpoint()

    @rule(name=NAMED)
    def system_checkpoint(self, name):
        if name in self.clients:
            self.group.servers[name].system_checkpoint()

    @rule(name=NAMED, facility=st.sampled_from(["CF01", "CF02"]))
    def copy(self, name, facility):
        if name in self.clients:
            self.group.servers[name].copy_structure(facility)

    @rule(facility=st.sampled_from(["CF01", "CF02"]))
    def lose(self, facility):
        self.group.lose(facility)

    @invariant()
    def every_message_is_there_once(self):
        for client in self.clients.values():
            for queue in QUEUES:
                found = texts(client, queue)
                assert sorted(self.ready[queue]) == sorted(found)
        assert agrees_with_log(self._anybody())


SharedQueues.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
test_shared_queues = SharedQueues.TestCase
