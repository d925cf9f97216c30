"""Records that end exactly at an edge of the log, messages that end exactly at an edge of a page, on real files.

The operating system refuses what a disk in memory takes, such as a write or a hint of no length. A history is played
once to learn where its records end; then once for each of them, begun so that this one ends at the edge.
"""

from dataclasses import replace
from itertools import count

import pytest

from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.data.inserting import SURELY_SHORT, V6_OVERHEAD, V6_ROOM
from quaestor.qmgr.data.stored import FIRST_PAGE, FURTHER_PAGE, VERY_LONG, long_form
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.log_files import CI
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.storage.page import RECORD_LENGTH, ROOM
from quaestor.storage.real_disk import RealDisk

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
OUTPUT, CONTEXT = OpenOptions.OUTPUT | OpenOptions.SET_ALL_CONTEXT, PutOptions.SET_ALL_CONTEXT
IN_UNIT, GET_IN_UNIT = PutOptions.SYNCPOINT, GetOptions.SYNCPOINT
PERSISTENT = MQMD(persistence=1)
FULL = MQMD(
    persistence=1,
    format="MQHSAP12",
    reply_to_q="R" * 48,
    reply_to_qmgr="M" * 48,
    group_id=b"g" * 24,
    msg_flags=8,
    user_identifier="U" * 12,
    accounting_token=b"t" * 32,
    appl_identity_data="i" * 32,
    put_appl_name="n" * 28,
    put_date="20261119",
    put_time="05000000",
    appl_origin_data="orig",
)
"""With it a message that is short enough may be too long for the page (Z1)."""

LONGEST = 4 << 20
TIGHT = EngineSettings(
    logs=3,
    log_bytes=128 << 10,
    outbuff_kb=40,
    wrthrsh=2,
    buffer_pools={0: 16, 1: 5},
    pages=16,
    expansion=8,
)
"""Pages are written in the middle of calls, and the log with them."""


class Kept:
    """A queue manager in a directory, an application or more, and what its queue is to hold."""

    def __init__(self, directory, settings, applications=1):
        self.directory, self.settings, self.applications = directory, settings, applications
        self.bodies, self.numbers, self.descriptor = [], count(), PERSISTENT
        self.start()
        self.app.define(LocalQueue("Q", share=True, max_msg_length=LONGEST))
        self.open()

    def start(self):
        self.manager = QueueManager("QM1", RealDisk(self.directory), FakeClock(), self.settings)
        self.manager.start(background=False)
        self.app, *_ = [self.manager.connect("ALICE") for _ in range(self.applications)]
        self.log, self.recovery = self.manager.engine.log, self.manager.engine.recovery

    def open(self):
        self.queue = self.app.open("Q", OpenOptions.INPUT_SHARED | OpenOptions.BROWSE | OUTPUT)

    def kill(self):
        """As `kill -9` leaves the files."""
        self.app.abandon()
        self.manager.engine.close()
        self.manager._disk.disown()

    def check_what_a_kill_leaves(self):
        self.kill()
        self.start()
        self.open()
        assert self.bodies == list(self.browsed())
        with self.recovery.latch:
            assert [] == check(self.manager.engine.data)

    def browsed(self):
        for _ in self.bodies:
            yield self.queue.browse(max_length=LONGEST).body
        with pytest.raises(MQError, match="NO_MSG_AVAILABLE"):
            self.queue.browse()

    def fill(self, upto):
        """End the log there, all of it durable."""
        while left := upto - self.log.end:
            assert left >= HEADER_LENGTH
            length = min(left, 20_000)
            if 0 < left - length < HEADER_LENGTH:
                length -= HEADER_LENGTH
            with self.recovery.latch:
                self.log.check_space()
                self.log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(length - HEADER_LENGTH))
        self.log.force(self.log.end - 1)

    def body(self, length=20):
        return (b"%06d " % next(self.numbers) * (length // 7 + 1))[:length]

    def put(self, length=20, options=NOW):
        body = self.body(length)
        context = CONTEXT if self.descriptor is FULL else PutOptions.NONE
        return self.queue.put(body, self.descriptor, options | context)

    def put_for_good(self, length=20):
        message = self.put(length)
        self.bodies.append(message.body)
        return message

    def get(self, options=GET_NOW):
        assert self.bodies[0] == self.queue.get(options, max_length=LONGEST).body

    def get_for_good(self):
        self.get()
        del self.bodies[0]

    def play(self):
        """Every way to end a unit, and what else writes the log."""
        app = self.app
        for length in (20, 3100, 20):
            self.put_for_good(length)
        self.get_for_good()
        some = [self.put(options=IN_UNIT).body for _ in range(3)]
        app.commit()
        self.bodies += some
        many = [self.body() for _ in range(4)]
        self.queue.put_all(many, PERSISTENT, IN_UNIT)
        app.commit()
        self.bodies += many
        self.put_for_good(9000)
        self.get_for_good()
        self.get(GET_IN_UNIT)
        one = self.put(options=IN_UNIT).body
        app.commit()
        self.bodies = [*self.bodies[1:], one]
        self.put(options=IN_UNIT)
        self.get(GET_IN_UNIT)
        app.backout()
        one = self.put(options=IN_UNIT).body
        app.prepare(b"XID")
        app.commit_prepared(b"XID")
        self.bodies.append(one)
        with self.recovery.latch:
            self.recovery.checkpoint()
        self.put_for_good()
        for _ in range(3):
            self.get_for_good()


def ends_of_records(kept):
    """How far behind its beginning every record of a history ends."""
    begun = kept.log.end
    kept.play()
    kept.log.force(kept.log.end - 1)
    return [record.end - begun for record in kept.log.scan(begun)]


def end_of_ci(log, before):
    """The first that is so far away at least."""
    return -(-(log.end + HEADER_LENGTH + before) // CI) * CI


def end_of_active_log(log, _before):
    return log.files.start + log.files.size


@pytest.mark.parametrize(
    ("edge", "changed", "applications"),
    [
        pytest.param(end_of_ci, {}, 1, id="a CI, alone"),
        pytest.param(end_of_active_log, {}, 1, id="an active log, alone"),
        pytest.param(end_of_active_log, {"archive": True, "logs": 2, "dual_logs": True}, 2, id="an active log, copied"),
    ],
)
def test_any_record_may_end_at_an_edge(tmp_path, edge, changed, applications):
    settings = replace(TIGHT, **changed)
    ends = ends_of_records(Kept(tmp_path / "first", settings, applications))
    for number, end in enumerate([0, *ends]):
        kept = Kept(tmp_path / str(number), settings, applications)
        kept.fill(edge(kept.log, end) - end)
        kept.play()
        kept.check_what_a_kill_leaves()
        kept.kill()


def borders(described, *, packing):
    """Lengths up to which a message lies in a page, in so many more, with and without reference pages (Z1, Z2, PG3)."""
    first, further = (0, ROOM) if packing else (FIRST_PAGE, FURTHER_PAGE)
    whole_pages = [first + pages * further for pages in (1, 2, 7)]
    listed = next(n for n in range(LONGEST) if long_form(n * further, described, packing=packing).form == VERY_LONG)
    last_listed = max(
        length
        for length in range((listed - 2) * further, listed * further)
        if long_form(length, described, packing=packing).form != VERY_LONG
    )
    shorts = [SURELY_SHORT, FIRST_PAGE, V6_ROOM - V6_OVERHEAD, ROOM - RECORD_LENGTH - described]
    return [*shorts, *whole_pages, last_listed]


@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize(("buffers", "full"), [(4, False), (5, True), (20, False)])
def test_a_message_may_end_at_an_edge_of_a_page(tmp_path, buffers, full, packing):
    """In page sets that grow by a page or a quarter whenever they must, and pools that hold less than a message."""
    kept = Kept(
        tmp_path,
        replace(TIGHT, log_bytes=8 << 20, pages=3, expansion=1, buffer_pools={0: 4, 1: buffers}, packing=packing),
    )
    if full:
        kept.descriptor = FULL
    described = len(kept.put_for_good(0).pack())
    for border in borders(described, packing=packing):
        for length in (border - 1, border, border + 1):
            kept.put(length, IN_UNIT)
            kept.app.backout()
            kept.put_for_good(length)
    kept.check_what_a_kill_leaves()
    while kept.bodies:
        kept.get(GET_IN_UNIT)
        kept.app.backout()
        kept.get_for_good()
    kept.check_what_a_kill_leaves()
    kept.kill()
