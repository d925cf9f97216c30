"""Statistics of one queue manager over one day: all records of type 115, and 116-10.

Rules
  X1  Counters of MQI calls are the ledger's sums of what the accounting records say, interval by interval.
  X2  Every record of an interval is built at its end, in the order in which MQ writes them, and carries the interval.
  X3  A level gets the records it has: pools in 115-2 before V8 and in 115-215 since, page sets from 9.0, queues from
      9.3.0, channels from 8.0, storage from 10.0. The writer decides (W2).
  X4  Occurrences that do not fit in one record go to the next.

Called by generate.  Calls the models of each manager, sheet, writer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from quaestor.layout import Record
from quaestor.smf.catalog import CATALOG, length_at
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.channel import (
    AdapterTask,
    ChannelInitiatorStatistics,
    DispatcherTask,
    DnsTask,
    SslTask,
)
from quaestor.smf.sections.coupling_facility import CouplingFacilityStatistics, SharedMessageDataSetStatistics
from quaestor.smf.sections.data import DataStatistics, PageSetStatistics
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.smf.sections.lock import LockStatistics
from quaestor.smf.sections.log import LogStatistics
from quaestor.smf.sections.message import MessageStatistics
from quaestor.smf.sections.storage import StorageStatistics, StorageSummary
from quaestor.smf.sections.topic import TopicStatistics
from quaestor.smf.synth import channels, managers, shared
from quaestor.smf.synth.buffer_pools import page_figures, pool_flags
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.log_work import fill_log_ios, log_figures
from quaestor.smf.synth.rhythm import stream
from quaestor.smf.synth.sheet import Figures, Sheet, Templates
from quaestor.smf.writer import MAX_RECORD_BYTES, Interval, RecordIdentity, build_record

_STEP_US = 500  # between two records of an interval
_FIRST_BLOCK, _BLOCK_BYTES = 0x8CB000, 0x290
_ALWAYS: tuple[type[Record], ...] = (  # in every 115-2
    MessageStatistics,
    DataStatistics,
    LockStatistics,
    Db2Statistics,
    CouplingFacilityStatistics,
    TopicStatistics,
)
_ROOM = MAX_RECORD_BYTES - 200

Counts = NDArray[np.int64]
Occurrence = tuple[Callable[[], Record], Figures]  # how its template is made, and its columns


@dataclass(slots=True)
class Desk:
    """Where the statistics of a day are written: sheets with the moment each of their rows was built."""

    conditions: Conditions
    identity: RecordIdentity
    midnight_us: int
    templates: Templates
    sheets: list[tuple[Sheet, Counts]] = field(default_factory=list)

    @property
    def end_us(self) -> Counts:
        """The end of every interval."""
        profile = self.conditions.profile
        return self.midnight_us + (np.arange(profile.intervals_per_day) + 1) * profile.interval_us

    def sheet(self, record_type: int, subtype: int, sections: Callable[[], Iterable[Record]]) -> Sheet:
        """One record of a kind in each interval (X2); the sections are made when the template is."""
        length = self.conditions.profile.interval_us
        kind = CATALOG[record_type, subtype]
        template = self.templates.get(
            (self.identity.queue_manager, kind.name, len(self.sheets)),
            lambda: [build_record(kind, sections(), self.identity, 0, interval=Interval(0, length))],
        )
        made = Sheet(template, len(self.end_us))
        built = self.end_us + _STEP_US * (1 + len(self.sheets))
        made.stamp(built, self.identity)
        made.stamp_interval(self.end_us - length, self.identity)
        self.sheets.append((made, built))
        return made

    def repeated(self, record_type: int, subtype: int, occurrences: Sequence[Occurrence]) -> None:
        """Occurrences of the one structure of a record, over as many records as they need (X4)."""
        (slot,) = CATALOG[record_type, subtype].slots
        length = length_at(slot.section, self.identity.level)
        if length is None:
            return
        per_record = _ROOM // length
        for first in range(0, len(occurrences), per_record):
            part = occurrences[first : first + per_record]
            sheet = self.sheet(record_type, subtype, partial(_templates, part))
            for occurrence, (_, figures) in enumerate(part):
                sheet.fill(slot.section.LAYOUT.structure, figures, occurrence)


def _templates(occurrences: Sequence[Occurrence]) -> list[Record]:
    return [make() for make, _ in occurrences]


def statistics_day(
    conditions: Conditions, identity: RecordIdentity, midnight_us: int, ledger: Ledger, templates: Templates
) -> Desk:
    """Every statistics record of one queue manager and day."""
    desk = Desk(conditions, identity, midnight_us, templates)
    rng = stream(conditions.profile, conditions.manager.name, conditions.day, "statistics")
    log = log_figures(conditions, ledger, rng)
    _log_record(desk, log, ledger, rng)
    _message_record(desk, log["checkpoints"], ledger, rng)
    if conditions.manager.at_least("8.0"):
        _channel_records(desk, ledger, rng)
    if conditions.manager.at_least("10.0.0"):
        desk.repeated(115, 5, managers.storage_pools(conditions))
        desk.repeated(115, 6, managers.getmains(conditions))
        desk.repeated(115, 7, [(StorageSummary, managers.storage_summary(conditions, rng))])
    return desk


def _log_record(desk: Desk, log: Figures, ledger: Ledger, rng: np.random.Generator) -> None:
    sheet = desk.sheet(115, 1, lambda: [StorageStatistics(), LogStatistics()])
    sheet.fill("QSST", managers.storage_figures(ledger))
    sheet.fill("QJST", log)
    (place,) = sheet.places("QJST")
    if "copies" in (place.dtype.names or ()):
        fill_log_ios(place, log, desk.conditions, desk.end_us, rng)


def _message_record(desk: Desk, checkpoints: Counts, ledger: Ledger, rng: np.random.Generator) -> None:
    """115-2, and what used to be in it: pools, page sets, queues (X3)."""
    conditions, manager = desk.conditions, desk.conditions.manager
    pages = page_figures(conditions, ledger, checkpoints, rng)
    pools: list[Occurrence] = [
        (
            partial(
                BufferStatistics,
                buffer_pool=pool.number,
                buffers=pool.buffers,
                location=pool_flags(pool, manager),
            ),
            figures,
        )
        for pool, figures in pages.pools
    ]
    structures = [each for each in conditions.profile.structures_on(manager) if each.smds]
    data_sets: list[Occurrence] = [
        (
            partial(SharedMessageDataSetStatistics, structure=each.name, structure_number=each.number),
            shared.message_data_set(each, conditions, ledger, rng),
        )
        for each in structures
    ]
    sheet = desk.sheet(115, 2, lambda: [*(make() for make in _ALWAYS), *_templates(pools), *_templates(data_sets)])
    sheet.fill("QMST", managers.message_figures(ledger))
    sheet.fill("QIST", managers.data_figures(ledger))
    sheet.fill("QLST", managers.lock_figures(ledger))
    sheet.fill("Q5ST", shared.db2_figures(conditions, ledger, rng))
    if manager.queue_sharing_group:
        shared.fill_structures(sheet.places("QEST")[0], conditions, ledger, rng)
    for structure, filled in (("QESD", data_sets), ("QPST", pools)):
        for occurrence, (_, figures) in enumerate(filled):
            sheet.fill(structure, figures, occurrence)
    if manager.at_least("8.0"):
        desk.repeated(115, 215, pools)
    page_sets: list[Occurrence] = [
        (partial(PageSetStatistics, page_set=each.number, buffer_pool=each.buffer_pool, pages=each.pages), figures)
        for each, figures in pages.page_sets
    ]
    desk.repeated(115, 201, page_sets)
    if manager.at_least("9.3.0"):
        queues: list[Occurrence] = [
            (partial(managers.queue_template, queue, manager), managers.queue_figures(queue, ledger, desk.end_us))
            for queue in conditions.profile.queues_on(manager)
        ]
        desk.repeated(115, 216, queues)


def _channel_records(desk: Desk, ledger: Ledger, rng: np.random.Generator) -> None:
    """115-231 and 116-10; a queue manager without channels has neither."""
    conditions, manager = desk.conditions, desk.conditions.manager
    running = channels.channels_of(conditions)
    if not running:
        return
    initiator = partial(
        ChannelInitiatorStatistics, job_name=f"{manager.name}CHIN", queue_sharing_group=manager.queue_sharing_group
    )
    tasks: list[tuple[type[Record], list[Figures]]] = [
        (DispatcherTask, channels.dispatcher_figures(running, conditions, ledger)),
        (AdapterTask, channels.adapter_figures(conditions, ledger)),
        (SslTask, channels.ssl_figures(running, conditions, ledger, desk.end_us)),
        (DnsTask, [channels.dns_figures(conditions, rng)]),
    ]
    sheet = desk.sheet(115, 231, lambda: [initiator(), *(cls(task=n) for cls, made in tasks for n in _blocks(made))])
    sheet.fill("QCCT", channels.initiator_figures(running, conditions, rng))
    for cls, figures in tasks:
        for occurrence, columns in enumerate(figures):
            sheet.fill(cls.LAYOUT.structure, columns, occurrence)
    if 4 in manager.accounting:
        filled: list[Occurrence] = [
            (
                partial(channels.channel_template, each),
                channels.channel_figures(each, conditions, ledger, desk.end_us),
            )
            for each in running
        ]
        desk.repeated(116, 10, filled)


def _blocks(tasks: Sequence[Figures]) -> range:
    """Addresses of the tasks' control blocks."""
    return range(_FIRST_BLOCK, _FIRST_BLOCK + _BLOCK_BYTES * len(tasks), _BLOCK_BYTES)
