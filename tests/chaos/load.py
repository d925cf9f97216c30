"""Applications of the chaos test, each a process of its own: they put, get and move messages and say what they see.

    python load.py FOLDER CLIENT KIND SEED MEMBER=DIRECTORY...

A client works with any member and goes to another when its own is gone. SIGTERM ends it after the unit it is in.
"""

import signal
import sys
import time
from pathlib import Path
from random import Random

from chaos.coordinating import Coordinating
from chaos.monitoring import Monitoring
from chaos.queues import QUEUES, TRIGGERED
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import local_place
from quaestor.testing.history import Recorder

SIZES = (40, 300, 300, 2000, 5000)
LONG = 70_000
USES = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT
GONE = {Reason.CONNECTION_BROKEN, Reason.HCONN_ERROR, Reason.Q_MGR_NOT_AVAILABLE, Reason.HOBJ_ERROR}
NOT_DONE = {
    Reason.Q_FULL, Reason.STORAGE_MEDIUM_FULL, Reason.CF_STRUC_FAILED, Reason.CF_STRUC_IN_USE, Reason.BACKED_OUT,
    Reason.DB2_NOT_AVAILABLE, Reason.UNKNOWN_OBJECT_NAME,
}  # fmt: skip
"""Answers to a call out of syncpoint that say that nothing was done."""


def body_of(name, size):
    """A body that proves itself: its name, repeated."""
    return (name.encode() + b"/") * (size // (len(name) + 1) + 1)


def name_of(body):
    name = body.split(b"/")[0]
    if body != (name + b"/") * (len(body) // (len(name) + 1)):
        raise SystemExit(f"a body that nobody put: {body[:100]!r}")
    return name.decode()


class Client(Coordinating, Monitoring):
    """One application: its choices come from its seed alone."""

    def __init__(self, folder, name, kind, seed, members, clock=None):
        self.name, self.kind = name, kind
        self.members = dict(members)
        self.choose = Random(seed)
        self.history = Recorder(Path(folder) / f"{name}.history", name, clock)
        self.ending = False
        self.count = 0
        self.app = self.member = None
        self.handles = {}
        self.undecided = {}
        """Units that may be in doubt: their member, the decision that was noted, whether it is to commit."""

    def run(self):
        while not self.ending:
            try:
                if not self.handles:
                    self.connect()
                getattr(self, self.kind)()
            except MQError as error:
                self.recover(error)
            time.sleep(self.choose.uniform(0.001, 0.02))  # noqa: TID251 - the pace of the load
        if self.app is not None:
            self.app.abandon()

    def connect(self):
        self.member = self.choose.choice(self.places(self.members))
        if self.app is not None:
            self.app.abandon()
        place = local_place(self.member, self.members[self.member])
        self.app = LINKS.connect(place, hello_of(self.member, None, None, self.name, b""))
        self.open()

    def places(self, members):
        """Where to work: any member, or one at which this client has units in doubt."""
        doubtful = sorted({member for member, *_ in self.undecided.values()} & set(members))
        return doubtful if doubtful and self.choose.random() < 0.5 else sorted(members)

    def open(self):
        if self.kind == "monitor":
            self.watch()
        elif self.kind == "requester":
            self.handles = {queue: self.app.open(queue, OpenOptions.OUTPUT) for queue in TRIGGERED}
        else:
            self.handles = {queue: self.app.open(queue, USES) for queue in QUEUES}

    def gone(self):
        """Done with this connection."""
        app, self.app, self.handles = self.app, None, {}
        if app is not None:
            app.abandon()

    def recover(self, error):
        """The member is gone: work with another. Any other answer: end the unit and go on."""
        time.sleep(0.05)  # noqa: TID251 - what an application does
        try:
            if error.reason in GONE or self.app is None:
                raise error
            self.app.backout()
        except MQError:
            self.gone()

    # -- what is done and written down

    def put(self, queue, unit, *, persistent):
        self.count += 1
        name = f"{self.name}.{self.count}"
        priority = self.choose.choice((0, 4))
        facts = {"queue": queue, "unit": unit, "message": name, "persistent": persistent, "priority": priority}
        size = LONG if self.choose.random() < 0.03 else self.choose.choice(SIZES)
        self.call(
            "put",
            facts,
            lambda: self.handles[queue].put(
                body_of(name, size),
                MQMD(persistence=int(persistent), priority=priority),
                PutOptions.SYNCPOINT if unit else PutOptions.NO_SYNCPOINT,
            ),
        )

    def get(self, queue, unit):
        """The name of a message, or nothing."""
        return self.call(
            "get",
            {"queue": queue, "unit": unit},
            lambda: self.handles[queue].get(
                GetOptions.SYNCPOINT if unit else GetOptions.NO_SYNCPOINT, wait_ms=self.wait_ms()
            ),
        )

    def call(self, verb, facts, do):
        operation = self.history.invoke(verb, member=self.member, **facts)
        try:
            answer = do()
        except MQError as error:
            if verb == "get" and error.reason is Reason.NO_MSG_AVAILABLE:
                operation.ok()
                return ""
            certain = error.reason in NOT_DONE or (facts["unit"] and error.reason not in GONE and verb != "commit")
            (operation.fail if certain else operation.info)(f"{error.reason.value} {error.facts}")
            raise
        name = name_of(answer.body) if verb == "get" else ""
        operation.ok(**({"message": name} if name else {}))
        return name

    def end(self, unit, *, commit):
        self.call("commit" if commit else "backout", {"unit": unit}, self.app.commit if commit else self.app.backout)

    def wait_ms(self):
        return self.choose.choice((0, 50, 200))

    def unit(self):
        self.count += 1
        return f"{self.name}/{self.count}"

    # -- kinds of application

    def putter(self):
        persistent = self.choose.random() < 0.6
        if self.choose.random() < 0.2:
            self.put(self.choose.choice(QUEUES), "", persistent=persistent)
            return
        unit = self.unit()
        mixed = self.choose.random() < 0.3
        one = self.choose.choice(QUEUES)
        for _ in range(self.choose.randint(1, 4)):
            queue = self.choose.choice(QUEUES) if mixed else one
            self.put(queue, unit, persistent=self.choose.random() < 0.5 if mixed else persistent)
        self.end(unit, commit=self.choose.random() > 0.1)

    def getter(self):
        if self.choose.random() < 0.05:
            self.get(self.choose.choice(QUEUES), "")
            return
        unit = self.unit()
        mixed = self.choose.random() < 0.3
        one = self.choose.choice(QUEUES)
        for _ in range(self.choose.randint(1, 6)):
            if not self.get(self.choose.choice(QUEUES) if mixed else one, unit):
                break
        self.end(unit, commit=self.choose.random() > 0.15)

    def mover(self):
        """From one queue to the other, in one unit: half of it would be seen."""
        unit = self.unit()
        source, target = self.choose.sample(QUEUES, 2)
        for _ in range(self.choose.randint(1, 3)):
            if self.get(source, unit):
                self.put(target, unit, persistent=self.choose.random() < 0.7)
        self.end(unit, commit=self.choose.random() > 0.1)


def main():
    folder, name, kind, seed, *members = sys.argv[1:]
    client = Client(folder, name, kind, int(seed), (each.split("=", 1) for each in members))
    signal.signal(signal.SIGTERM, lambda *_: setattr(client, "ending", True))
    client.run()


if __name__ == "__main__":
    main()
