"""Failing: what ends a queue manager, and how applications are told.

Rules
  FA1 An `Abend`, an I/O error, no memory, a page that is not whole, or an interrupt while pages are being changed
      leaves memory in a state that nobody vouches for. Nothing is written any more; restart repairs from the log. An
      interrupt is Ctrl-C, or a program that ends itself when it is told to by a signal (`sys.exit`).
  FA2 Everybody's calls then answer 2009; what a commit that was under way decided is known after restart.
  FA3 The process keeps the files until it ends, because a force of the log may still be under way in it.
  FA4 A message that cannot be read because its page is not whole, or by an I/O error, is an answer to the one who asked
      for it (2193), because nothing was being changed; the page set needs media recovery.
  FA5 Ending the unit of a call that was refused may fail as the call itself may: that is no answer either.

Called by handle and session.
"""

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import TornPageError

FAILURES = (Abend, OSError, MemoryError, TornPageError)
INTERRUPTS = (KeyboardInterrupt, SystemExit)
FATAL = (*FAILURES, *INTERRUPTS)


class InterruptedWait(BaseException):
    """A wait for a message was interrupted by something: nothing was being changed (HA4)."""

    def __init__(self, by: BaseException) -> None:
        super().__init__(str(by))
        self.by = by
