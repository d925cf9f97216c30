"""Whatever a program does, IBM's API gives it what the native one does, and leaves the same on the queues."""

from random import Random

import pytest

from ibmmqc import doors
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor import MQMD, GetOptions, MQError, PutOptions
from quaestor.mqi.objects import IndexType, Process, TriggerType

mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
CMQC = mq.CMQC
QUEUES = {
    "PLAIN": {},
    "GROUPS": {"index_type": IndexType.GROUPID},
    "SHORT": {"max_msg_length": 3, "max_depth": 3},
    "TRIGGERS": {
        "trigger": True,
        "trigger_type": TriggerType.EVERY,
        "initiation_queue": "STARTED",
        "process": "BILLING",
    },
    "STARTED": {},
}
WAYS = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE | CMQC.MQOO_INQUIRE | CMQC.MQOO_SET
INHIBIT = {"PUT": CMQC.MQIA_INHIBIT_PUT, "GET": CMQC.MQIA_INHIBIT_GET}
NOW = GetOptions.NO_SYNCPOINT
A, B = b"A" * 24, b"B" * 24
FIELDS = {
    "priority": "Priority",
    "persistence": "Persistence",
    "expiry": "Expiry",
    "correl_id": "CorrelId",
    "format": "Format",
    "report": "Report",
    "msg_flags": "MsgFlags",
    "reply_to_q": "ReplyToQ",
}
GETS = [
    GetOptions.SYNCPOINT,
    NOW,
    NOW | GetOptions.BROWSE_FIRST,
    NOW | GetOptions.BROWSE_NEXT,
    NOW | GetOptions.BROWSE_NEXT | GetOptions.LOCK,
    NOW | GetOptions.BROWSE_MSG_UNDER_CURSOR,
    NOW | GetOptions.UNLOCK,
    NOW | GetOptions.LOGICAL_ORDER | GetOptions.ALL_MSGS_AVAILABLE,
    GetOptions.SYNCPOINT | GetOptions.MSG_UNDER_CURSOR,
    GetOptions.SYNCPOINT | GetOptions.MARK_SKIP_BACKOUT,
    GetOptions.SYNCPOINT | GetOptions.LOGICAL_ORDER,
    GetOptions.SYNCPOINT_IF_PERSISTENT,
]


class Native:
    """The application, by the native API."""

    def __init__(self):
        self.qm = page_queue_manager()
        for name, attributes in QUEUES.items():
            self.qm.queue(name, **attributes)
        with self.qm.connect() as admin:
            admin.define(Process("BILLING", appl_id="bill.py"))

    def begin(self):
        self.app = self.qm.connect()
        self.queues = {name: self.app.open(name, EVERYTHING) for name in QUEUES}

    def answer(self, name, *args):
        """What a call gives; the reason of a refusal or a warning."""
        try:
            found = getattr(self, name)(*args)
        except MQError as error:
            return int(error.reason)
        warned = self.app.warning
        return found if warned is None else int(warned.reason)

    def put(self, queue, body, said, options, alone):
        md = MQMD(**said)
        put = self.app.put1(queue, body, md, options) if alone else self.queues[queue].put(body, md, options)
        return put.priority, put.persistence, put.correl_id

    def get(self, queue, options, correl_id, room):
        got = self.queues[queue].get(options, correl_id=correl_id, max_length=room)
        said = got.descriptor
        about = (said.format, said.report, said.msg_type, said.feedback, said.msg_flags, said.reply_to_q)
        return got.body, got.priority, got.persistence, got.expiry, got.backout_count, got.correl_id, *about

    def inhibit(self, queue, which, word):
        self.queues[queue].set(**{which: word})

    def depth(self, queue):
        return self.queues[queue].inquire("CURDEPTH")["CURDEPTH"]

    def commit(self):
        self.app.commit()

    def backout(self):
        self.app.backout()


class Ibm(Native):
    """The same, by IBM's package."""

    def begin(self):
        self.app = mq.connect("QM1")
        self.queues = {name: mq.Queue(self.app, name, WAYS) for name in QUEUES}

    def answer(self, name, *args):
        try:
            return getattr(self, name)(*args)
        except mq.MQMIError as error:
            return error.reason

    def put(self, queue, body, said, options, alone):
        named = {FIELDS[name]: value.encode() if isinstance(value, str) else value for name, value in said.items()}
        md, how = mq.MD(Version=2, **named), mq.PMO(Options=int(options))
        if alone:
            self.app.put1(queue, body, md, how)
        else:
            self.queues[queue].put(body, md, how)
        return md.Priority, md.Persistence, md.CorrelId

    def get(self, queue, options, correl_id, room):
        md, how = mq.MD(Version=2), mq.GMO(Version=2, Options=int(options))
        how.MatchOptions = CMQC.MQMO_NONE
        if correl_id is not None:
            md.CorrelId, how.MatchOptions = correl_id, CMQC.MQMO_MATCH_CORREL_ID
        body = self.queues[queue].get(room, md, how)
        about = (text(md.Format), md.Report, md.MsgType, md.Feedback, md.MsgFlags, text(md.ReplyToQ))
        return body, md.Priority, md.Persistence, md.Expiry, md.BackoutCount, md.CorrelId, *about

    def inhibit(self, queue, which, word):
        self.queues[queue].set(INHIBIT[which], int(word == "DISABLED"))

    def depth(self, queue):
        return self.queues[queue].inquire(CMQC.MQIA_CURRENT_Q_DEPTH)


def text(packed):
    return packed.rstrip(b"\0 ").decode()


def a_put(random, queue):
    said = {"persistence": random.choice([0, 1, 2]), "priority": random.choice([-1, 0, 5, 9])}
    said |= random.choice([{}, {}, {"expiry": 10}, {"correl_id": A}, {"correl_id": B}, {"format": "MINE"}])
    said |= random.choice([{}, {}, {"report": CMQC.MQRO_COA}, {"report": CMQC.MQRO_COD_WITH_DATA}])
    said |= {"reply_to_q": "PLAIN"} if "report" in said else {}
    options = random.choice([PutOptions.SYNCPOINT, PutOptions.NO_SYNCPOINT])
    if queue == "GROUPS" and random.random() < 0.6:
        said["msg_flags"] = random.choice([CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP])
        return "put", queue, b"x", said, int(options | PutOptions.LOGICAL_ORDER), False
    return "put", queue, random.choice([b"", b"x", b"longer"]), said, int(options), random.random() < 0.2


def a_call(random):
    queue, which = random.choice(list(QUEUES)), random.random()
    if which < 0.45:
        return a_put(random, queue)
    if which < 0.8:
        asked = random.choice([None, None, None, A, B])
        return "get", queue, int(random.choice(GETS)), asked, random.choice([None, None, None, 2])
    if which < 0.9:
        return (random.choice(["commit", "backout"]),)
    if which < 0.94:
        return "inhibit", queue, random.choice(["PUT", "GET"]), random.choice(["DISABLED", "ENABLED"])
    return "depth", queue


@pytest.mark.parametrize("seed", range(40))
def test_ibms_api_and_the_native_one_agree(seed, monkeypatch):
    native, ibm, random = Native(), Ibm(), Random(seed)
    monkeypatch.setattr(doors, "connect", lambda *_: doors.Door("QM1", ibm.qm.connect()))
    native.begin()
    ibm.begin()
    for _ in range(40):
        call = a_call(random)
        assert native.answer(*call) == ibm.answer(*call), call
        if random.random() < 0.05:
            for side in (native, ibm):
                side.qm.clock.advance(seconds=2)
    for queue in QUEUES:
        left = None
        while not isinstance(left, int):
            native.commit()
            ibm.commit()
            for side in (native, ibm):
                side.answer("inhibit", queue, "GET", "ENABLED")
            left = native.answer("get", queue, int(NOW), None, None)
            assert left == ibm.answer("get", queue, int(NOW), None, None)
    ibm.app.disconnect()
