"""Log manager: every recoverable change in one sequence, and the promise that it is on disk.

Rules
  J1  `append` gives a record its RBA and puts it in the log buffers; it never waits for the disk unless no buffer
      is free. It is called with the engine latch held.
  J2  `force(rba)` returns when the record at that RBA is durable. It is called without the latch, so others go on.
  J3  One force serves everybody who waits (group commit): one thread leads, writes all that is in the buffers and
      syncs once; whoever comes meanwhile waits. The leader goes on for those, a few times, so that the disk need not
      wait for another thread to wake; then one of them leads. There is no timer.
  J4  When WRTHRSH buffers are full and no write of them has been started, one is, without being asked for, and nobody
      waits for it. While another write is under way the question is asked again with every full CI. Only when every
      buffer (OUTBUFF) holds what is not written yet does a put wait, for the write in flight; a record that is longer
      than all buffers is taken when nothing else is in them. Where writes cannot be started they are made in the
      system's cache, without sync.
  J5  A write or sync that fails is final: nothing is written or confirmed any more, every force raises Abend. So is a
      force, or a change of data sets, that is interrupted: nobody knows what it has written, and whoever waits for it
      is told. So is whatever else ends the queue manager (`give_up`). Then nobody waits for a write in flight, whose
      end may have been told to the one who was interrupted.
  J6  New work is refused (2056) as soon as the active log after the current one cannot be made ready, so that the
      rest of the current one, a quarter of it at least, is left for ending the units there are. Who needs more (a
      restart with few buffers, for page images) ends the queue manager and says what helps; the next start goes on. Of
      the last eighth redo takes nothing: a start with more buffers needs some of it to end.
  J7  Counting is that of the papers: a CI written again because it was part-filled is a rewrite; full CIs go in
      groups of at most `ci_per_io`, the current CI by itself; the operating system gets all of it as one request.
  J8  A force of one data set writes whole CIs from aligned memory, so that the disk can take them as they lie in the
      buffers. Every other write goes to the end of its last CI too: of a block that cannot be read, as one of an active
      log that is used again may be, no part can be written. What stands behind the last record in its CI is no record:
      it has another RBA.
  J9  An active log may be left before it is full (ARCHIVE LOG): records that say nothing fill it, so that the log stays
      one sequence without a hole.
  J10 A force may be started and finished in two calls, so that its caller works while the disk does. Between them the
      lead is with nobody. Whoever has to wait for the log meanwhile takes it: he waits for the write in flight, then
      goes on as J3 says; so does everybody who needs the data sets or the buffers to himself (J4, J9, the end of a data
      set, sliding the buffers), under the same lock. There is one write in flight at most, so the log has no holes.
      Nothing is confirmed before the write has ended, whoever takes its end.
  J11 Records may be appended behind the last one while its CI is in flight. Some, all or none of their bytes may be
      written with it. That is right: they stand behind the RBA that is confirmed, nobody was told of them, a part of
      one is no record (L1), and the next write begins at the CI's beginning again.
  J12 Records of one unit that are there together are appended in one piece (`append_run`), as many of them as need
      nothing written first; they are the same bytes that `append` makes of them one by one.
  J13 A threshold write may end within a record, and the buffers may then begin again there: such a record is neither
      whole in the data sets nor in the buffers. Whoever has to read it, to undo it, forces the log first.
  J14 When the active log after the current one is needed until the checkpoint of this switch is over, and that is taken
      in steps, there is time for it: nobody copies the one or is refused for it as yet. When five eighths of the
      current one are written (`short_at`) and it is not over, whoever commits ends it; whoever puts when six are has
      the next one copied.
  J15 An active log is archived when all of it is durable, the record that ends in the next one included; the background
      makes a piece at a time (AR3). What fails there stops nobody: the operator is told once (CSQJ128E) and it is tried
      again. Where the ring comes round to a log that is not archived, J6 says what happens; those who are refused
      try again every `AGAIN_NS` at most, because that holds up everybody.
  J16 How far the log is durable is noted in the bootstrap data set at a checkpoint and, in the background, every few
      seconds: an active log that somebody put back as it was before that ends too early, and nothing starts with it
      (L2). Nobody waits for the note, so what was committed in the last few seconds is not watched over by it.
  J17 Who is about to force the log may have the disk begin first (`send`), and do what is left of his work while it
      writes: when he forces what he sent (`force_sent`), most of the write is over. What was sent is volatile until
      then, and counts as written by the force. It is a hint: whoever else forces the log meanwhile, or wants more of it
      durable than was sent, writes all of it as if nothing had been; but through the system's cache, because what was
      sent is there and may go to the disk after what goes past it.

Called by recovery (append, send, force, read), buffer (force), the scheduler (offload).  Calls log_files.
Why forcing has no timer: a commit that waits for company is slow when alone; under load company comes by itself.
"""

from quaestor.qmgr.log.filling import BY_NAME
from quaestor.qmgr.log.manager import ENDS_SHARE, LogManager

__all__ = ["BY_NAME", "ENDS_SHARE", "LogManager"]
