"""Media recovery: image copies of page sets, and what restoring one means.

Rules
  Y1  An image copy is taken while the queue manager runs. It begins with a checkpoint and names, on its page 0, the RBA
      of the oldest change that it may lack.
  Y2  Restoring is putting the copy in the page set's place while the queue manager is down. Restart sees the RBA on
      page 0 and redoes from there, for that page set alone; the log must still have it, in active logs or archives.
  Y3  The bootstrap data set knows the RBA of each page set's copy, so that archives it needs are not pruned.
  Y4  Page 0 is written when all other pages are durable, to a copy as to the page set that it becomes: one that was cut
      has none, and nothing takes it for whole.
  Y5  A copy is made under another name and takes the place of the one before it when all of it is durable: whenever it
      is cut or fails, there is one good copy. So there is room for both, or none is taken.

Called by commands and tests; `restored` by restart.  Calls recovery, disk.
"""

from contextlib import suppress

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.recovery.manager import RecoveryManager
from quaestor.storage.changes import header
from quaestor.storage.disk import Disk, File
from quaestor.storage.page import PAGE, is_whole, seal
from quaestor.storage.page_set import PageSet, describe, file_name, media_rba

RUN = 256


def copy_name(number: int) -> str:
    return f"copy-{number:02d}"


def new_copy_name(number: int) -> str:
    """Of one that is being made (Y5)."""
    return f"copying-{number:02d}"


def image_copy(recovery: RecoveryManager, number: int, disk: Disk) -> int:
    """Copy a page set (Y1); gives the RBA it must be redone from. The engine latch is held."""
    recovery.checkpoint()
    page_set = recovery.buffers.page_sets[number]
    rba = recovery.buffers.recovery_rbas(recovery.log.end)[number]
    page_set.harden()
    name = new_copy_name(number)
    if disk.exists(name):
        disk.delete(name)  # left by a cut
    target = disk.create(name, 0)
    try:
        _copy_pages(page_set, target, rba)
    except OSError:
        with suppress(OSError):
            disk.delete(name)
        raise
    disk.rename(name, copy_name(number))  # Y5
    recovery.log.files.inventory.image_copies[str(number)] = rba
    recovery.log.files.save()
    return rba


def _copy_pages(page_set: PageSet, target: File, rba: int) -> None:
    for page in range(1, page_set.pages, RUN):
        target.write(page * PAGE, page_set.read_raw(page, min(RUN, page_set.pages - page)))
    first = bytearray(PAGE)
    header(first, describe(page_set.number, page_set.pages, rba), page_set.number, 0)
    seal(first, 0)
    _complete(target, first)


def restore(disk: Disk, number: int) -> None:
    """Put an image copy in the page set's place (Y2). The queue manager is down."""
    source = disk.open(copy_name(number))
    first = source.read(0, PAGE)
    if not (is_whole(first, number, 0) and any(first) and media_rba(first)):
        raise Abend("Y4", "the image copy is not complete; another one is needed", copy=copy_name(number))
    if disk.exists(file_name(number)):
        disk.delete(file_name(number))
    target = disk.create(file_name(number), 0)
    for at in range(PAGE, source.size(), RUN * PAGE):
        target.write(at, source.read(at, RUN * PAGE))
    _complete(target, first)
    source.close()


def _complete(target: File, first: bytes | bytearray) -> None:
    """All pages but the first are written (Y4)."""
    target.sync()
    target.write(0, first)
    target.sync()
    target.close()


def restored(recovery: RecoveryManager) -> dict[int, int]:
    """{page set: RBA} of page sets that are restored image copies (Y2)."""
    found = {}
    for number, page_set in recovery.buffers.page_sets.items():
        first = page_set.read_raw(0, 1)
        if is_whole(first, number, 0) and any(first) and media_rba(first):
            found[number] = media_rba(first)
    return found
