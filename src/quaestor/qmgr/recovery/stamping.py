"""Stamping: page 0 says when its queue manager was last started or stopped, so that another page set is known as such.

Rules
  ST1 At the end of every start, and of a stop, page 0 of each page set is logged and written anew, durably. Then the
      bootstrap data set notes the RBA, with the checkpoint that follows; not before, for a cut must not make a page
      set look old.
  ST2 A page set whose page 0 is older than the note is a copy that somebody took before: restart would redo too little
      of the log for it, and committed work would be lost without a word. Nothing starts.
  ST3 A page 0 that is newer has grown since the start. After a stop that cannot be: then it is another queue manager's
      page set, as it is when page 0 is newer than the log (X5).
  ST4 A restored image copy says itself from where it is to be redone (Y2), and a page 0 that is torn is repaired from
      the log (T3): neither is asked.

What is not known: a file that was copied while the queue manager ran and is put back after it was killed.

Called by restart and the engine.  Calls recovery, buffer.
"""

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.recovery.manager import RecoveryManager
from quaestor.storage.log_record import Kind
from quaestor.storage.page import header_of, is_whole
from quaestor.storage.page_set import describe


def stamp(recovery: RecoveryManager, *, stopping: bool = False) -> None:
    """Write page 0 of every page set anew; the next checkpoint makes the note durable (ST1). The latch is held."""
    buffers, inventory = recovery.buffers, recovery.log.files.inventory
    stamps = {}
    for number, page_set in buffers.page_sets.items():
        frame = recovery.change(None, Kind.HEADER, 0, page_set, 0, describe(number, page_set.pages))
        stamps[str(number)] = frame.rba
        buffers.pool_of[number].write([frame])
    for page_set in buffers.page_sets.values():
        page_set.harden()
    inventory.stamps, inventory.stamped_at_stop = stamps, stopping


def check_stamps(recovery: RecoveryManager, copies: dict[int, int], end: int) -> None:
    """Refuse page sets that are not those the log was written with (ST2-ST4). Nothing has been changed yet."""
    inventory = recovery.log.files.inventory
    for number, page_set in recovery.buffers.page_sets.items():
        first = page_set.read_raw(0, 1)
        if number in copies or not is_whole(first, number, 0):
            continue  # ST4
        rba, noted = header_of(first).rba, inventory.stamps.get(str(number), 0)
        if rba >= end:
            raise Abend("X5", "a page is newer than the log", page_set=number, page=0, rba=rba, end=end)
        if rba < noted or (noted and inventory.stamped_at_stop and rba != noted):
            text = "a page set is an older copy, or another queue manager's; put its last one back or recover it"
            raise Abend("ST2", text, page_set=number, written_at=f"{rba:012X}", expected=f"{noted:012X}")
