"""A coordinator of the chaos test: it prepares units and decides them, if need be when members have died and started.

Its history is its record: what it has written there to be committed is committed, everything else is backed out. So
whoever finds a unit in doubt after its coordinator was killed can decide it from the files (`decide_for_the_dead`).
"""

from chaos.queues import QUEUES


class Coordinating:
    """The part of an application that has its units decided in two phases."""

    def coordinator(self):
        """A unit that is prepared; half of them stay in doubt for a while, whatever happens meanwhile."""
        self.decide_what_is_left()
        unit = self.unit()
        source, target = self.choose.sample(QUEUES, 2)
        for _ in range(self.choose.randint(1, 3)):
            self.put(target, unit, persistent=self.choose.random() < 0.7)
            if self.choose.random() < 0.5:
                self.get(source, unit)
        self.undecided[unit] = self.member, None, False
        self.call("prepare", {"unit": unit}, lambda: self.app.prepare(unit.encode()))
        self.note_decision(unit, commit=self.choose.random() < 0.7)
        if self.choose.random() < 0.5:
            self.decide(unit)

    def note_decision(self, unit, *, commit):
        verb = "commit" if commit else "backout"
        operation = self.history.invoke(verb, unit=unit, member=self.member)
        self.undecided[unit] = self.member, operation, commit

    def decide_what_is_left(self):
        """What is in doubt where this client works; a prepare without an answer may have happened (TP3)."""
        mine = [unit for unit, (member, *_) in self.undecided.items() if member == self.member]
        known = {xid.decode() for xid in self.app.in_doubt()} if mine else ()
        for unit in mine:
            if unit not in known:
                _, operation, _ = self.undecided.pop(unit)
                if operation is not None:
                    operation.ok()
                continue
            if self.undecided[unit][1] is None:
                self.note_decision(unit, commit=False)
            self.decide(unit)

    def decide(self, unit):
        _, operation, commit = self.undecided[unit]
        (self.app.commit_prepared if commit else self.app.backout_prepared)(unit.encode())
        operation.ok()
        del self.undecided[unit]


def decide_for_the_dead(app, history, events):
    """Decide what is in doubt at a member as the files of its coordinators say; how many there were."""
    committed = {event.unit for event in events if event.verb == "commit"}
    found = app.in_doubt()
    for xid in found:
        unit = xid.decode()
        if unit in committed:
            app.commit_prepared(xid)
        else:
            operation = history.invoke("backout", unit=unit)
            app.backout_prepared(xid)
            operation.ok()
    return len(found)
