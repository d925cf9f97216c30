"""Who the tasks are: connection, transaction, user, tokens - and the empty records that their rows begin as.

Rules
  N1  What never changes for an application (job, channel, queue names, dispositions) is in the template; what differs
      from task to task (transaction, user, thread, tokens) is a column.
  N2  The thread cross reference is: CICS - thread number, transaction, packed task number; IMS - region, PSB; batch -
      binary zero; channels - an address pair (MP1B T-8).
  N3  No two tasks of a queue manager share a correlator: time of allocation, a word per application, a word per task.

Called by accounting.  Calls writer for the template.
"""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quaestor.layout import CP1047
from quaestor.smf.catalog import CATALOG, length_at
from quaestor.smf.sections.headers import CorrelationHeader
from quaestor.smf.sections.message import MessageAccounting
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification, ThreadAccounting
from quaestor.smf.synth.profile import (
    CONNECTION_TYPES,
    INDEX_TYPES,
    SYNC_QUEUE,
    Application,
    Profile,
    QueueManager,
    Use,
)
from quaestor.smf.synth.sheet import Figures, tod
from quaestor.smf.writer import RecordIdentity, build_record, task_records

_LOCAL, _ALIAS, _REMOTE = 1, 3, 6
_SHARED = 2
_UNSET_SIZE = 0x0FFFFFFF
_WQST_VERSIONS = {576: 1, 592: 2, 608: 3, 672: 4, 704: 5, 2752: 6, 2792: 8, 2800: 9}
_END_OF_TASK = 0x20000000

Counts = NDArray[np.int64]


@dataclass(slots=True)
class Names:
    """The names of an application's tasks on one queue manager."""

    application: Application
    manager: QueueManager
    rng: np.random.Generator

    @property
    def connection(self) -> str:
        return self.application.connection or (
            f"{self.manager.name}CHIN" if self.application.is_channel else self.application.name[:8]
        )

    @property
    def word(self) -> int:
        """A word that tells this application from the others of the queue manager (N3)."""
        return zlib.crc32(f"{self.manager.name}.{self.application.name}".encode()) & 0x7FFFFFFF

    def columns(self, start: Counts) -> Figures:
        """What differs from task to task in WTID (N1)."""
        users = _texts(self.application.users, 8)[self.rng.integers(0, len(self.application.users), len(start))]
        made: Figures = {
            "operator_id": users,
            "user_id": users,
            "correlation": _bytes(self._cross_references(len(start))),
            "unit_of_work_id": _bytes(
                np.hstack([np.full((len(start), 16), 0x40, np.uint8), _words(tod(start), ">u8")])
            ),
            "network_id": _bytes(
                np.hstack([np.tile(_text(self.connection, 8), (len(start), 1)), _words(tod(start), ">u8")])
            ),
        }
        if self.application.is_channel:
            partners = [self.application.partner.format(n + 1) for n in range(self.application.instances)]
            made["channel_connection"] = np.tile(_texts(partners, 48), -(-len(start) // len(partners)))[: len(start)]
        return made

    def _cross_references(self, count: int) -> NDArray[np.uint8]:
        """Twelve bytes per task (N2)."""
        kind = self.application.kind
        if kind in ("batch", "rrs"):
            return np.zeros((count, 12), np.uint8)
        number = np.arange(count) + self.rng.integers(1, 90_000)
        if self.application.is_channel:
            return np.hstack(
                [_words(0x14000000 + number * 0x40, ">u4"), _words(np.full(count, 0xE7E75C5C), ">u4")] * 2
            )[:, :12]
        names = self.application.transaction_names
        chosen = self.rng.integers(0, len(names), count)
        if kind == "ims":
            regions = _texts([f"{n:04d}" for n in range(1, 41)], 4)[number % 40]
            return np.hstack([_unvoid(regions, 4), _unvoid(_texts(names, 8)[chosen], 8)])
        return np.hstack([_words(1 + number % 60, ">u4"), _unvoid(_texts(names, 4)[chosen], 4), _packed(number)])

    def correlators(self, start: Counts) -> Figures:
        """The three parts of the correlator (N3)."""
        row = np.arange(len(start))
        if self.application.long_running:
            row = row % self.application.instances
            start = np.zeros_like(start) + int(start.min()) - 3_600_000_000
        return {
            "allocated_at": tod(start) + (row & 0xFFF).astype(np.uint64),
            "correlator_2": np.full(len(start), self.word),
            "correlator_3": 0x10000000 + row * 0x40,
        }

    def correlator_bytes(self, parts: Figures) -> NDArray[np.void]:
        """The correlator as WQST holds it."""
        return _bytes(
            np.hstack(
                [
                    _words(parts["allocated_at"], ">u8"),
                    _words(parts["correlator_2"], ">u4"),
                    _words(parts["correlator_3"], ">u4"),
                ]
            )
        )


def task_template(profile: Profile, names: Names, identity: RecordIdentity) -> list[bytes]:
    """The records of a task of which nothing is known yet but its application (N1)."""
    application, manager = names.application, names.manager
    uses = sorted(application.uses, key=lambda use: use.queue == SYNC_QUEUE)
    made: list[bytes] = []
    if 1 in manager.accounting and not application.long_running:
        who = CorrelationHeader(
            header_type=2,
            user_id=application.users[0],
            connection_name=names.connection,
            operator_id=application.users[0],
            connection_type=CONNECTION_TYPES[application.kind],
        )
        made.append(
            build_record(CATALOG[116, 0], [ThreadAccounting(), MessageAccounting()], identity, 0, correlation=who)
        )
    if 3 in manager.accounting:
        identification = TaskIdentification(
            connection_type=CONNECTION_TYPES[application.kind],
            connection_name=names.connection,
            channel=application.channel_name,
        )
        version = _WQST_VERSIONS[length_at(QueueAccounting, manager.level) or 0]
        task = TaskAccounting(flag_bits=0 if application.long_running else _END_OF_TASK, version=version)
        blocks = [_queue_template(profile, manager, application, use, version) for use in uses]
        made += task_records(identification, task, blocks, identity, 0)
    return made


def _queue_template(
    profile: Profile, manager: QueueManager, application: Application, use: Use, version: int
) -> QueueAccounting:
    queue = profile.queue(use.queue)
    alias = _REMOTE if use.put and use.opened_as and application.kind == "batch" else _ALIAS
    return QueueAccounting(
        version=version,
        object_name=use.opened_as or queue.name,
        base_name=queue.name,
        queue_type=alias if use.opened_as else _LOCAL,
        index_type=INDEX_TYPES[queue.index],
        disposition=_SHARED if queue.shared else 0,
        page_set=0 if queue.shared else queue.page_set,
        buffer_pool=0 if queue.shared else manager.pool_of(queue.page_set),
        structure=queue.structure,
        get_size_low=_UNSET_SIZE,
        put_size_low=_UNSET_SIZE,
        open_now=1 if application.long_running else 0,
    )


# --- columns of bytes ------------------------------------------------------------------------------------------------


def _text(text: str, size: int) -> NDArray[np.uint8]:
    return np.frombuffer(CP1047.encode(text, size), np.uint8)


def _texts(texts: tuple[str, ...] | list[str], size: int) -> NDArray[np.void]:
    return np.frombuffer(b"".join(CP1047.encode(text, size) for text in texts), f"V{size}")


def _bytes(matrix: NDArray[np.uint8]) -> NDArray[np.void]:
    """A matrix of bytes as one column of byte strings."""
    return np.ascontiguousarray(matrix).view(f"V{matrix.shape[1]}").ravel()


def _unvoid(column: NDArray[np.void], size: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(column).view(np.uint8).reshape(-1, size)


def _words(values: NDArray[np.generic], dtype: str) -> NDArray[np.uint8]:
    """Numbers as big-endian bytes, one row each."""
    return np.ascontiguousarray(values.astype(dtype)).view(np.uint8).reshape(len(values), -1)


def _packed(numbers: Counts) -> NDArray[np.uint8]:
    """Seven-digit numbers in packed decimal, positive sign."""
    digits = (numbers[:, None] // 10 ** np.arange(6, -1, -1)) % 10
    nibbles = np.hstack([digits, np.full((len(numbers), 1), 0xC)])
    return np.asarray(nibbles[:, 0::2] << 4 | nibbles[:, 1::2], np.uint8)
