"""Security profiles; what the message manager counts."""

import pytest

from model.answers import fails
from qmgr.command.console import Console
from qmgr.small import EVERYTHING, memory_queue_manager
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.objects import LocalQueue, ModelQueue, Namelist, Process, QueueManagerAttributes, StorageClass
from quaestor.mqi.options import OpenOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.qmgr.security import ANSWERS_MAX, TIMEOUT_US, Access, ProfileError, SecurityManager, parse_profiles

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


def test_answers_about_names_without_end_are_forgotten():
    """S4: every dynamic queue has a name of its own."""
    security = SecurityManager(lambda: PROFILES, FakeClock())
    for number in range(3 * ANSWERS_MAX):
        security.check("ALICE", "queue", f"PAY.{number}", Access.CONTROL)
    assert len(security._answers) <= ANSWERS_MAX


@pytest.mark.parametrize(
    "error",
    [PermissionError(13, "Permission denied"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")],
)
def test_profiles_that_cannot_be_read_leave_those_in_force_that_are(error):
    """S4: and the queue manager goes on."""
    console = Console("connect * * read\ncommand REFRESH.* OPER control\nqueue ORDERS ALICE control")

    def broken():
        raise error

    console.qm.security._read_profiles = broken
    assert "CSQ9015E +QM1 the profiles cannot be read" in console.run("REFRESH SECURITY(*) TYPE(CLASSES)").lines[0]
    assert "" == console.qm.failure
    console.connect().define(LocalQueue("ORDERS"))


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


@pytest.mark.parametrize("asked", ["REPLY.*", "ORDERS.NEXT"])
def test_a_model_makes_only_queues_that_its_user_may_open(asked):
    """OP1: both names are checked, so nobody takes a name that others will look for."""
    text = "connect QM1 * read\nqueue ASKING ALICE control\nqueue REPLY.* BOB update\nqueue ASKING BOB update"
    qm = memory_queue_manager(text)
    qm.connect("ALICE").define(ModelQueue("ASKING"))
    bob, target = qm.connect("BOB"), Target("ASKING", dynamic_name=asked)
    if asked == "REPLY.*":
        assert bob.open(target, OpenOptions.INPUT_EXCLUSIVE).name.startswith("REPLY.")
        return
    with fails(Reason.NOT_AUTHORIZED) as refused:
        bob.open(target, OpenOptions.INPUT_EXCLUSIVE)
    assert asked == refused.value.facts["name"]
    assert qm.messages.catalogue.find(LocalQueue, asked) is None


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


ACTING = """
connect   QM1     *      read
altuser   AL*     DESK   update
altuser   BOB     DESK   read
queue     ORDERS  OWNER  control
queue     ORDERS  DESK   context
queue     ORDERS  ALICE  put,browse
queue     ORDERS  BOB    update
"""
AS_ALICE, AS_BOB = Target("ORDERS", alternate_user="ALICE"), Target("ORDERS", alternate_user="BOB")
ALTERNATE = OpenOptions.ALTERNATE_USER_AUTHORITY


@pytest.fixture
def desk():
    """An application that may act for ALICE, and by itself not even put."""
    qm = memory_queue_manager(ACTING)
    qm.connect("OWNER").define(LocalQueue("ORDERS", share=True, def_exclusive=False))
    return qm.connect("DESK")


def test_the_alternate_user_is_checked_in_place_of_the_application(desk):
    desk.open(AS_ALICE, OpenOptions.OUTPUT | OpenOptions.BROWSE | ALTERNATE)
    desk.put1(AS_ALICE, "x", None, PutOptions.ALTERNATE_USER_AUTHORITY)
    with fails(Reason.NOT_AUTHORIZED) as refused:
        desk.open(AS_ALICE, OpenOptions.INPUT_SHARED | ALTERNATE)
    facts = refused.value.facts
    assert ("ALICE", "queue", "GET", "DESK") == tuple(facts[name] for name in ("user", "resource", "access", "acting"))


def test_who_may_not_act_for_a_user_is_refused_whatever_that_user_may(desk):
    for call in (
        lambda: desk.open(AS_BOB, OpenOptions.OUTPUT | ALTERNATE),
        lambda: desk.put1(AS_BOB, "x", None, PutOptions.ALTERNATE_USER_AUTHORITY),
        lambda: desk.open("ORDERS", OpenOptions.OUTPUT | ALTERNATE),  # names nobody
    ):
        with fails(Reason.NOT_AUTHORIZED) as refused:
            call()
        assert ("DESK", "altuser") == (refused.value.facts["user"], refused.value.facts["resource"])


def test_without_the_option_the_alternate_user_is_not_looked_at(desk):
    for call in (lambda: desk.open(AS_ALICE, OpenOptions.OUTPUT), lambda: desk.put1(AS_ALICE, "x")):
        with fails(Reason.NOT_AUTHORIZED) as refused:
            call()
        assert ("DESK", "queue") == (refused.value.facts["user"], refused.value.facts["resource"])


def test_context_is_the_affair_of_the_application_itself(desk):
    """ALICE may not set context, DESK may."""
    said = MQMD(user_identifier="ZOE")
    options = PutOptions.ALTERNATE_USER_AUTHORITY | PutOptions.SET_IDENTITY_CONTEXT
    assert "ZOE" == desk.put1(AS_ALICE, "x", said, options).envelope.user_identifier


def test_what_is_put_for_a_user_names_him(desk):
    queue = desk.open(AS_ALICE, OpenOptions.OUTPUT | ALTERNATE)
    said = queue.put("x").envelope
    assert ("ALICE", "test") == (said.user_identifier, said.put_appl_name)
    assert "ALICE" == desk.put1(AS_ALICE, "x", None, PutOptions.ALTERNATE_USER_AUTHORITY).envelope.user_identifier
    assert "" == queue.put("x", None, PutOptions.NO_CONTEXT).envelope.user_identifier


OTHERS = [(Process, "BILLING"), (Namelist, "TILLS"), (StorageClass, "FAST"), (QueueManagerAttributes, "")]


@pytest.mark.parametrize(("kind", "name"), OTHERS)
def test_an_object_that_is_no_queue_is_inquired_for_a_user(kind, name):
    """ALICE may, DESK may act for her, BOB may not, and nobody may act for him."""
    profiles = "connect QM1 * read\naltuser AL* DESK update\nstgclass FAST OWNER control\n" + "".join(
        f"{each} {'*' if each == 'qmgr' else of} {user}\n"
        for each, of in (("process", "BILLING"), ("namelist", "TILLS"), ("stgclass", "FAST"), ("qmgr", ""))
        for user in ("ALICE inquire", "OWNER control")
    )
    qm = memory_queue_manager(profiles)
    if name:
        qm.connect("OWNER").define(kind(name))
    desk, alice = qm.connect("DESK"), qm.connect("ALICE")
    assert alice.inquire(kind, name, "DESCR") == desk.inquire(kind, name, "DESCR", alternate_user="ALICE ")
    for refused_to, resource, asked in (
        ("DESK", kind.MQSC_TYPE.lower(), {}),
        ("DESK", "altuser", {"alternate_user": "BOB"}),
        ("DESK", "altuser", {"alternate_user": ""}),
        ("ALFRED", kind.MQSC_TYPE.lower(), {"alternate_user": "ALFRED"}),
    ):
        with fails(Reason.NOT_AUTHORIZED) as refused:
            desk.inquire(kind, name, **asked)
        assert (refused_to, resource) == (refused.value.facts["user"], refused.value.facts["resource"])
    assert "DESK" == refused.value.facts["acting"]


@pytest.mark.parametrize("user", ["THIRTEEN.CHAR", b"ALICE", 5])
def test_a_user_that_is_none_inquires_nothing(app, user):
    with fails(Reason.OD_ERROR):
        app.inquire(QueueManagerAttributes, alternate_user=user)


@pytest.mark.parametrize("user", ["THIRTEEN.CHAR", b"ALICE", None])
def test_an_alternate_user_that_is_none(app, qm, user):
    qm.queue("ORDERS")
    with fails(Reason.OD_ERROR):
        app.open(Target("ORDERS", alternate_user=user), OpenOptions.OUTPUT | ALTERNATE)


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
