"""Security profiles; what the message manager counts."""

import pytest

from model.answers import fails
from qmgr.small import EVERYTHING, memory_queue_manager
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue, Process
from quaestor.mqi.options import OpenOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.qmgr.security import TIMEOUT_US, Access, ProfileError, SecurityManager, parse_profiles

PROFILES = """
# class   name      user   access
connect   QM1       *      read
queue     *         *      none
queue     PAY.*     ALICE  control
queue     PAY.*     *      read
queue     PAY.SLIP  BOB    update
"""


@pytest.mark.parametrize(
    ("user", "name", "access"),
    [
        ("ALICE", "PAY.ROLL", Access.CONTROL),
        ("BOB", "PAY.ROLL", Access.READ),
        ("BOB", "PAY.SLIP", Access.UPDATE),
        ("ALICE", "PAY.SLIP", Access.NONE),  # the most specific profile decides, and names only BOB
        ("ALICE", "ORDERS", Access.NONE),
    ],
)
def test_the_most_specific_profile_decides(user, name, access):
    security = SecurityManager(lambda: PROFILES, FakeClock())
    for asked in Access:
        if asked <= access:
            security.check(user, "queue", name, asked)
        else:
            with fails(Reason.NOT_AUTHORIZED):
                security.check(user, "queue", name, asked)


def test_without_profiles_everything_is_allowed():
    security = SecurityManager(lambda: None, FakeClock())
    assert not security.active
    security.check("ANYBODY", "queue", "ANY", Access.CONTROL)


def test_answers_are_kept_until_the_timeout_or_a_refresh():
    text, clock = [PROFILES], FakeClock()
    security = SecurityManager(lambda: text[0], clock)
    security.check("ALICE", "queue", "PAY.ROLL", Access.CONTROL)
    text[0] = "queue PAY.* ALICE read"
    clock.us += TIMEOUT_US
    security.check("ALICE", "queue", "PAY.ROLL", Access.CONTROL)  # asked anew, of the profiles it has
    security.refresh()
    with fails(Reason.NOT_AUTHORIZED):
        security.check("ALICE", "queue", "PAY.ROLL", Access.UPDATE)


@pytest.mark.parametrize(
    "line",
    [
        "queue A B",
        "queue A B sometimes",
        "queue A B read write",
        "queues A B read",
        "QUEUE A B read",
        "queue A*B C read",
    ],
)
def test_a_bad_profile_is_named(line):
    with pytest.raises(ProfileError, match="line 2"):
        parse_profiles(f"queue * * read\n{line}")


def test_an_access_that_is_none_is_told_with_those_there_are():
    with pytest.raises(ProfileError, match=r"line 1: 'fly' is no access; one of none, browse, .*put.*control$"):
        parse_profiles("queue ORDERS ALICE put,fly")


def test_the_calls_that_are_checked():
    qm = memory_queue_manager(PROFILES)
    with qm.connect("ALICE") as alice:
        alice.define(LocalQueue("PAY.ROLL", share=True))
        alice.put("PAY.ROLL", "x")
        with fails(Reason.NOT_AUTHORIZED):
            alice.define(Process("RUN"))
        with fails(Reason.NOT_AUTHORIZED):
            alice.define(LocalQueue("ORDERS"))
    bob = qm.connect("BOB")
    bob.open("PAY.ROLL", OpenOptions.BROWSE)
    for options in (OpenOptions.OUTPUT, OpenOptions.INPUT_SHARED, OpenOptions.SET):
        with fails(Reason.NOT_AUTHORIZED):
            bob.open("PAY.ROLL", options)
    for call in (
        lambda: bob.alter(LocalQueue, "PAY.ROLL", descr="x"),
        lambda: bob.delete(LocalQueue, "PAY.ROLL"),
        lambda: bob.put("PAY.ROLL", "x"),
    ):
        with fails(Reason.NOT_AUTHORIZED):
            call()


def test_put1_that_sets_context_needs_the_right_to_do_so():
    qm = memory_queue_manager("connect QM1 * read\nqueue ORDERS ALICE control\nqueue ORDERS BOB update")
    alice, bob = qm.connect("ALICE"), qm.connect("BOB")
    alice.define(LocalQueue("ORDERS"))
    said = MQMD(user_identifier="ZOE", put_appl_name="a till")
    alice.put1("ORDERS", "x", said, PutOptions.SET_ALL_CONTEXT)
    alice.put1("ORDERS", "x", said, PutOptions.SET_IDENTITY_CONTEXT)
    alice.commit()
    got = [alice.get("ORDERS").descriptor for _ in range(2)]
    assert [("ZOE", "a till"), ("ZOE", "test")] == [(md.user_identifier, md.put_appl_name) for md in got]
    bob.put1("ORDERS", "x", said)
    with fails(Reason.NOT_AUTHORIZED):
        bob.put1("ORDERS", "x", said, PutOptions.SET_ALL_CONTEXT)


def test_a_user_who_may_not_connect():
    with fails(Reason.NOT_AUTHORIZED):
        memory_queue_manager("connect QM1 ALICE read").connect("BOB")


# -- counting


def test_calls_are_counted_into_the_section_that_smf_writes(qm, app):
    qm.queue("ORDERS")
    stats = qm.messages.stats
    names = ("opens", "closes", "puts", "put1s", "gets", "inquires", "sets")
    before = [getattr(stats, name) for name in names]
    queue = app.open("ORDERS", EVERYTHING)
    queue.put(bytes(100), MQMD(persistence=1))
    queue.put(bytes(10), MQMD(persistence=0), PutOptions.NO_SYNCPOINT)
    app.put1("ORDERS", bytes(5), MQMD(persistence=0))
    queue.get()
    with fails(Reason.NO_MSG_AVAILABLE):
        queue.get()
    queue.inquire("CURDEPTH")
    queue.set(PUT=True)
    queue.close()
    assert [1, 1, 2, 1, 2, 1, 1] == [getattr(stats, name) - old for name, old in zip(names, before, strict=True)]
    assert (1, 100, 2, 15) == (
        stats.persistent_puts,
        stats.persistent_bytes_put,
        stats.nonpersistent_puts,
        stats.nonpersistent_bytes_put,
    )
