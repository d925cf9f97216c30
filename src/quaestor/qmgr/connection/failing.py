"""Failing: what ends a queue manager, and how applications are told.

Rules
  FA1 An `Abend`, an I/O error, no memory, a page that is not whole, or an interrupt while pages are being changed
      leaves memory in a state that nobody vouches for. Nothing is written any more; restart repairs from the log.
  FA2 Everybody's calls then answer 2009; what a commit that was under way decided is known after restart.
  FA3 The process keeps the files until it ends, because a force of the log may still be under way in it.
  FA4 A message that cannot be read because its page is not whole is an answer to the one who asked for it (2193),
      because nothing was being changed; the page set needs media recovery.

Called by handle and session.
"""

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import TornPageError

FAILURES = (Abend, OSError, MemoryError, TornPageError)
FATAL = (*FAILURES, KeyboardInterrupt)
