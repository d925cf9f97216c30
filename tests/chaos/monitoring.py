"""A trigger monitor of the chaos test, with the servers that it starts, and applications that put what they serve.

A monitor ends at any error but an empty queue, and begins again elsewhere: it opens the initiation queue anew, and that
is an occasion for trigger messages that were lost with whatever befell it.
"""

from chaos.queues import INITIATION, TRIGGERED
from quaestor.mqi.headers import TriggerMessage
from quaestor.mqi.objects import TriggerType
from quaestor.mqi.options import GetOptions, OpenOptions
from quaestor.mqi.reasons import MQError, Reason

SERVES = OpenOptions.INPUT_SHARED | OpenOptions.SET


class Monitoring:
    """The part of an application that is triggered, and that triggers."""

    def requester(self):
        """Puts to queues that trigger, in units and out of them."""
        unit = self.unit() if self.choose.random() < 0.7 else ""
        one = self.choose.choice(sorted(TRIGGERED))
        for _ in range(self.choose.randint(1, 3) if unit else 1):
            self.put(one, unit, persistent=self.choose.random() < 0.6)
        if unit:
            self.end(unit, commit=self.choose.random() > 0.1)

    def monitor(self):
        """One trigger message and what it starts; whether there was one."""
        try:
            queue = self.triggered()
            if queue:
                self.serve(queue)
        except MQError:
            self.gone()
            raise
        return bool(queue)

    def watch(self):
        """Open the initiation queue."""
        operation = self.history.invoke("monitor", queue=INITIATION, member=self.member)
        self.handles = {INITIATION: self.app.open(INITIATION, OpenOptions.INPUT_SHARED)}
        operation.ok()

    def triggered(self):
        """The queue that a trigger message is for, or nothing."""
        operation = self.history.invoke("trigger", member=self.member)
        try:
            message = self.handles[INITIATION].get(GetOptions.NO_SYNCPOINT, wait_ms=self.wait_ms())
        except MQError as error:
            if error.reason is not Reason.NO_MSG_AVAILABLE:
                raise
            operation.ok()
            return ""
        queue = TriggerMessage.unpack(message.body).q_name
        operation.ok(queue=queue, message=message.msg_id.hex())
        return queue

    def serve(self, queue):
        """Get everything; before that, what triggers by its depth is switched on again."""
        operation = self.history.invoke("serve", queue=queue, member=self.member)
        self.handles[queue] = self.app.open(queue, SERVES)
        operation.ok()
        if TRIGGERED[queue] is TriggerType.DEPTH:
            operation = self.history.invoke("rearm", queue=queue, member=self.member)
            self.handles[queue].set(TRIGGER="YES")
            operation.ok()
        while self.served(queue):
            pass
        operation = self.history.invoke("rest", queue=queue, member=self.member)
        self.handles.pop(queue).close()
        operation.ok()

    def served(self, queue):
        """One unit; whether there may be more."""
        unit, more = self.unit(), True
        for _ in range(self.choose.randint(1, 4)):
            more = bool(self.get(queue, unit))
            if not more:
                break
        commit = self.choose.random() > 0.15
        self.end(unit, commit=commit)
        return more or not commit
