"""Command server: PCF requests from SYSTEM.ADMIN.COMMAND.QUEUE, answers to the queue each request names.

Rules
  CS1 A request is got, run with the authority of the user who put it, and answered; one at a time. The answers carry
      the request's message identifier as their correlation identifier, its persistence, and its byte order.
  CS2 What is no PCF is answered with the reason (3001 ...) when there is somewhere to answer to. An answer that cannot
      be put is counted and dropped: there is nobody to tell.
  CS3 The queues it needs are defined when it starts, unless they are there: the command queue, and the model from which
      tools make their reply queues.
  CS4 It has no thread of its own: `serve_one` waits for one request; whoever runs the queue manager calls it.

Called by queue_manager.  Calls connection, pcf_commands.
"""

from quaestor.mqi import pcf
from quaestor.mqi.descriptors import MQMD, REPLY
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import COMMAND_QUEUE, LocalQueue, ModelQueue, MQObject
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.pcf import PCFError, PCFMessage
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.pcf_commands import answered
from quaestor.qmgr.command.processor import CommandProcessor
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.security import Itself

NEEDED: tuple[MQObject, ...] = (
    LocalQueue(COMMAND_QUEUE, share=True, def_exclusive=False),
    ModelQueue("SYSTEM.DEFAULT.MODEL.QUEUE"),
)
BYTE_ORDER = 0xF


class CommandServer:
    """Answers PCF (CS1-CS4)."""

    def __init__(self, connections: ConnectionManager, processor: CommandProcessor) -> None:
        self.answered = self.undelivered = 0
        self._processor = processor
        self._app = connections.connect(Itself(processor.qmgr), "command server")
        for definition in NEEDED:
            try:
                self._app.define(definition)
            except MQError as error:
                if error.reason is not Reason.OBJECT_ALREADY_EXISTS:
                    raise
        self._queue = self._app.open(COMMAND_QUEUE, OpenOptions.INPUT_SHARED)

    def serve_one(self, wait_ms: int = 0) -> bool:
        """Answer one request, waiting for it as long as said; False when none came (CS4)."""
        try:
            request = self._queue.get(GetOptions.NO_SYNCPOINT, wait_ms=wait_ms)
        except MQError as error:
            if error.reason is Reason.NO_MSG_AVAILABLE:
                return False
            raise
        for response in self._responses(request):
            self._answer(request, response)
        self.answered += 1
        return True

    def _responses(self, request: Message) -> list[PCFMessage]:
        descriptor = request.descriptor
        try:
            message = pcf.unpack(request.body, little=_little(descriptor))
        except PCFError as error:
            return [PCFMessage(0, (), pcf.RESPONSE, 1, pcf.LAST, 2, error.reason)]
        return answered(self._processor, message, descriptor.user_identifier)

    def _answer(self, request: Message, response: PCFMessage) -> None:
        """CS1, CS2."""
        asked = request.descriptor
        descriptor = MQMD(
            msg_type=REPLY,
            format=pcf.FORMAT,
            encoding=asked.encoding,
            ccsid=pcf.CCSID_UTF8,
            correl_id=request.msg_id,
            persistence=request.persistence,
        )
        body = pcf.pack(response, little=_little(asked))
        try:
            self._app.put1(asked.reply_to_q, body, descriptor, PutOptions.NO_SYNCPOINT, qmgr=asked.reply_to_qmgr)
        except MQError:
            self.undelivered += 1

    def close(self) -> None:
        self._app.disconnect()


def _little(descriptor: MQMD) -> bool:
    return descriptor.encoding & BYTE_ORDER == pcf.LITTLE
