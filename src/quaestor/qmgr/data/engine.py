"""The engine: the managers that hold messages safe, built and started in their order.

Rules
  G1  What is not there is made: log, bootstrap data set, page sets. Making is complete when its last file says so, so a
      start that is cut while making begins making again.
  G2  Starting is restart, then loading; stopping cleanly writes every page, so that the next start has little to redo.
      Where there is no log for that (B13, V12), the next start has more.
  G3  After an Abend nothing is written any more: the files stay as they are for restart.

Called by queue_manager and tests.  Calls every manager from lock to data.
"""

from dataclasses import dataclass, field

from quaestor.clock import Clock
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.buffer import BufferManager, IoMeter
from quaestor.qmgr.buffer.writing import IMAGE
from quaestor.qmgr.data.express import express
from quaestor.qmgr.data.load import load
from quaestor.qmgr.data.objects import ObjectManager
from quaestor.qmgr.data.page_storage import PageStorage
from quaestor.qmgr.lock import LockManager
from quaestor.qmgr.log import BY_NAME as LOGS
from quaestor.qmgr.recovery import RecoveryManager, Restart, restart
from quaestor.qmgr.resource_manager import Served
from quaestor.storage.bootstrap import Bootstrap
from quaestor.storage.disk import Disk
from quaestor.storage.log_files import LogFiles
from quaestor.storage.page_set import PageSet


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """System parameters: logs as in CSQ6LOGP, pools and page sets as in CSQINP1."""

    logs: int = 4
    log_bytes: int = 16 << 20
    dual_logs: bool = False
    archive: bool = False
    outbuff_kb: int = 4000
    wrthrsh: int = 64
    """Full log buffers that are written unasked; a unit of a hundred messages of 1 KB fills fewer."""

    ci_per_io: int = 128
    log_space: str = "least"
    """As little as it takes, or as much as MP16 measured (FL1)."""

    logload: int = 100_000
    buffer_pools: dict[int, int] = field(default_factory=lambda: {0: 5_000, 1: 20_000})
    page_sets: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 1})
    """{page set: buffer pool}"""

    pages: int = 1024
    expansion: int = 2048
    """Pages of a new page set, and by how many at least it grows."""

    pages_per_io: int = 16
    packing: bool = False
    awake: bool = False
    """Whether processors are kept from halting while the log is forced; every one of them is busy then."""

    one_processor: bool = False
    """Whether threads that commit together share a processor; what they start meanwhile stays on it (OC5)."""

    def __post_init__(self) -> None:
        if self.log_space not in LOGS:
            raise MQError(Reason.OPTIONS_ERROR, log_space=self.log_space, one_of=", ".join(LOGS))


def settings_of(disk: Disk) -> EngineSettings:
    """What the bootstrap data set knows of an engine: enough to restart it for a utility.

    It has one buffer pool, and those that commands gave to page sets. Where there are archives, or image copies that
    will need them, they are kept (F2).
    """
    if not Bootstrap.formatted(disk):
        raise Abend("S1", "no queue manager is kept here: there is no bootstrap data set")
    bootstrap = Bootstrap.open(disk)
    bootstrap.close()
    inventory = bootstrap.inventory
    page_sets = dict.fromkeys(inventory.page_sets, 0)
    kept = {rule[0]: 1_000 for rule in inventory.page_set_rules.values() if rule is not None}
    archive = bool(inventory.archives or inventory.image_copies)
    return EngineSettings(buffer_pools={**kept, 0: 20_000}, page_sets=page_sets, archive=archive)


class Engine:
    """Lock, log, buffer, recovery and data manager over one disk (G1-G3)."""

    def __init__(self, disk: Disk, clock: Clock, settings: EngineSettings | None = None) -> None:
        settings = settings or EngineSettings()
        self.disk, self.settings = disk, settings
        self.locks, self.served = LockManager(), Served()
        self.log = LOGS[settings.log_space](
            self._log_files(settings),
            outbuff_kb=settings.outbuff_kb,
            wrthrsh=settings.wrthrsh,
            ci_per_io=settings.ci_per_io,
            clock=clock,
            served=self.served,
        )
        self.buffers = BufferManager(self.log, IoMeter(clock, self.served))
        self.recovery = RecoveryManager(self.log, self.buffers, clock, logload=settings.logload)
        self.data = ObjectManager(self.recovery, self.buffers, self.locks, packing=settings.packing)
        self.data.space.expansion = settings.expansion
        self.recovery.managers.append(self.data)
        self.express = express(self.data, self.recovery)
        self.storage = PageStorage(
            disk,
            self.log,
            self.buffers,
            self.data.space,
            settings.buffer_pools,
            settings.page_sets,
            settings.pages,
            settings.pages_per_io,
        )
        self.storage.holds_queues, self.storage.forget = self.data.holds_queues, self.data.forget_page_set

    def start(self) -> Restart:
        """Restart from the log, then rebuild the queues (G2)."""
        self.storage.open()
        with self.recovery.latch:
            found = restart(self.recovery)
            load(self.data)
        return found

    def stop(self) -> None:
        """Write everything and take a last checkpoint (G2)."""
        with self.recovery.latch:
            self.buffers.write_all()
            if self.recovery.has_room(len(self.buffers.page_sets) * IMAGE):
                self.recovery.stamping.stamp_all()
                self.recovery.checkpoint()
                self.recovery.stamping.note_stop()
            else:
                self.log.force(self.log.end - 1)
            self.close()

    def close(self) -> None:
        """Let go of the files as they are."""
        self.log.files.close()
        self.buffers.close()

    def _log_files(self, settings: EngineSettings) -> LogFiles:
        if Bootstrap.formatted(self.disk):
            return LogFiles.open(self.disk, archive=settings.archive)
        if any(PageSet.formatted(self.disk, number) for number in settings.page_sets):
            raise Abend("G1", "page sets are here and their bootstrap data set is not; put it back, or cold start")
        return LogFiles.create(
            self.disk,
            logs=settings.logs,
            log_bytes=settings.log_bytes,
            dual=settings.dual_logs,
            archive=settings.archive,
        )
