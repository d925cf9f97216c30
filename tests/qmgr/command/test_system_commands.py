"""SET ARCHIVE and RVERIFY SECURITY, and keywords of z/OS that could change nothing here (SY1, SY2, SY4, S9, W3)."""

import pytest

from model.answers import fails
from qmgr.command.console import Console
from qmgr.command.test_pcf_server import SET, Tool
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.mqsc import parse
from quaestor.mqi.options import OpenOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.security import Access, ProfileError, SecurityManager

INITIAL = 10


def archive(console):
    """{parameter: (at start, now)} of DISPLAY ARCHIVE."""
    return {row["PARAMETER"]: (row["INITIAL"], row["VALUE"]) for row in console.rows("DIS ARCHIVE") if "VALUE" in row}


# -- SET ARCHIVE


def test_the_time_to_quiesce_is_set_shown_and_set_back():
    """SY1."""
    console = Console(archive=True)
    assert {"OFFLOAD": ("YES", "YES"), "QUIESCE": (5, 5)} == archive(console)
    assert console.run("SET ARCHIVE QUIESCE(30)").ok
    assert (5, 30) == archive(console)["QUIESCE"]
    assert "QUIESCE    5                    30" in console.run("DISPLAY ARCHIVE").lines
    assert console.run("SET ARCHIVE DEFAULT").ok
    assert (5, 5) == archive(console)["QUIESCE"]
    assert "QUIESCE    5" in console.run("DISPLAY ARCHIVE").lines


def waited_by(console, command):
    """How many seconds a command waited for a unit that does not end."""
    waited = []
    console.qm.commands.pause = waited.append
    assert console.run(command).lines[0].startswith("CSQJ317I")
    return round(sum(waited))


def test_archive_log_waits_as_long_as_was_set():
    """SY2: unless it says itself how long."""
    console = Console(archive=True)
    assert console.run("DEFINE QLOCAL(ORDERS)").ok
    app = console.connect()
    app.put("ORDERS", "x", MQMD(persistence=1))
    assert 5 == waited_by(console, "ARCHIVE LOG MODE(QUIESCE) WAIT(YES)")
    assert console.run("SET ARCHIVE QUIESCE(2)").ok
    assert 2 == waited_by(console, "ARCHIVE LOG MODE(QUIESCE) WAIT(YES)")
    assert 3 == waited_by(console, "ARCHIVE LOG MODE(QUIESCE) TIME(3) WAIT(YES)")
    assert console.run("SET ARCHIVE DEFAULT").ok
    assert 5 == waited_by(console, "ARCHIVE LOG MODE(QUIESCE) WAIT(YES)")


def test_a_number_out_of_range_keeps_all_others_from_being_set():
    """SY1."""
    console = Console()
    assert console.run("SET SYSTEM STATIME(7) ACCTIME(8)").ok
    before = console.rows("DISPLAY SYSTEM")
    assert "ACCTIME(1441) is not valid" in console.run("SET SYSTEM LOGLOAD(300) STATIME(9) ACCTIME(1441)").lines[0]
    assert before == console.rows("DISPLAY SYSTEM")


@pytest.mark.parametrize("seconds", ["0", "1000", "-1", "soon", "''"])
def test_a_time_that_is_none(seconds):
    """SY1: from 1 to 999, as TIME; what was set before stays."""
    console = Console(archive=True)
    assert console.run("SET ARCHIVE QUIESCE(999)").ok
    refused = console.run(f"SET ARCHIVE QUIESCE({seconds})")
    assert not refused.ok
    assert refused.lines[0].startswith("CSQ9015E")
    assert "a number from 1 to 999" in refused.lines[0]
    assert (5, 999) == archive(console)["QUIESCE"]


def test_set_archive_has_to_set_something():
    assert Console().run("SET ARCHIVE").lines[0].startswith("CSQ9010E")


def test_what_was_set_ends_with_the_queue_manager():
    """SY1."""
    console = Console(archive=True)
    assert console.run("SET ARCHIVE QUIESCE(7)").ok
    console.restart()
    assert (5, 5) == archive(console)["QUIESCE"]


# -- keywords without meaning


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("SET ARCHIVE ARCRETN(30)", "ARCRETN of SET ARCHIVE"),
        ("SET ARCHIVE ARCPFX1(CSQARC1)", "ARCPFX1 of SET ARCHIVE"),
        ("SET ARCHIVE COMPACT(YES)", "COMPACT of SET ARCHIVE"),
        ("SET ARCHIVE QUIESCE(7) UNIT2(TAPE)", "UNIT2 of SET ARCHIVE"),
        ("SET ARCHIVE ARCPFX(CSQARC)", "ARCPFX1 or ARCPFX2 of SET ARCHIVE"),
        ("SET LOG MAXARCH(500)", "MAXARCH of SET LOG"),
        ("SET LOG WRTHRSH(20) COMPLOG(ANY)", "COMPLOG of SET LOG"),
        ("SET SYSTEM EXCLMSG(X500)", "EXCLMSG of SET SYSTEM"),
        ("ALTER SECURITY INTERVAL(12)", "INTERVAL of ALTER SECURITY"),
    ],
)
def test_a_keyword_that_could_change_nothing_is_refused_by_its_name(command, named):
    """W3: and nothing else of the command is done."""
    console = Console()
    before = [console.rows(f"DIS {noun}") for noun in ("ARCHIVE", "LOG", "SYSTEM", "SECURITY")]
    refused = console.run(command)
    assert f"CSQ9001E +QM1 {named} has no meaning for this queue manager" == refused.lines[0]
    assert before == [console.rows(f"DIS {noun}") for noun in ("ARCHIVE", "LOG", "SYSTEM", "SECURITY")]


@pytest.mark.parametrize("command", ["SET ARCHIVE FROB(1)", "SET LOG ARCRETN(30)", "DISPLAY ARCHIVE ARCRETN"])
def test_a_keyword_that_nobody_knows_is_told_as_such(command):
    assert "is not a known keyword here" in Console().run(command).lines[0]


@pytest.mark.parametrize(
    ("written", "in_full"),
    [
        ("SET ARC Q(7)", "SET ARCHIVE QUIESCE('7')"),
        ("REV SEC(ALICE)", "RVERIFY SECURITY('ALICE')"),
        ("REVERIFY SECURITY(alice, 'bob')", "RVERIFY SECURITY('ALICE,bob')"),
        ("RV SEC(A B)", "RVERIFY SECURITY('A,B')"),
        ("RVERIFY SECURITY('ALICE,bob') CMDSCOPE(QM1)", "RVERIFY SECURITY('ALICE,bob') CMDSCOPE('QM1')"),
    ],
)
def test_the_commands_are_written_out(written, in_full):
    """K1, K4: what is written reads the same again."""
    (command,) = parse(written)
    assert in_full == command.text()
    assert [in_full] == [again.text() for again in parse(in_full)]


# -- RVERIFY SECURITY

CLOSED = """
connect   *       *      read
command   *       OPER   control
queue     *       OPER   control
stgclass  *       OPER   control
queue     ORDERS  OPER   control
queue     ORDERS  ALICE  read
queue     ORDERS  bob    read
"""
OPENED = CLOSED.replace("ALICE  read", "ALICE  update").replace("bob    read", "bob    update")


@pytest.fixture
def console():
    """ALICE and bob may browse ORDERS; since then somebody has written that they may put."""
    console = Console(CLOSED)
    assert console.run("DEFINE QLOCAL(ORDERS)").ok
    console.alice, console.bob = (console.qm.connect(user, "test") for user in ("ALICE", "bob"))
    for app in (console.alice, console.bob):
        app.open("ORDERS", OpenOptions.BROWSE)
    console.profiles = OPENED
    return console


def may_put(app):
    try:
        app.open("ORDERS", OpenOptions.OUTPUT).close()
    except MQError as error:
        return error.reason is not Reason.NOT_AUTHORIZED
    return True


def test_a_user_is_verified_again_and_no_other(console):
    """S9: what he may do is what the profiles say now."""
    assert [False, False] == [may_put(console.alice), may_put(console.bob)]
    reply = console.run("RVERIFY SECURITY(ALICE)")
    assert reply.ok
    assert 1 == len(reply.lines)
    assert [True, False] == [may_put(console.alice), may_put(console.bob)]
    assert console.run("RVERIFY SECURITY('bob')").ok
    assert [True, True] == [may_put(console.alice), may_put(console.bob)]


def test_several_users_at_once(console):
    assert console.run("REV SEC(ALICE,'bob')").ok
    assert [True, True] == [may_put(console.alice), may_put(console.bob)]


def test_a_user_of_whom_nothing_is_known_is_passed_over(console):
    """SY4: names that are not quoted are in capitals, so BOB is nobody."""
    reply = console.run("RVERIFY SECURITY(BOB, ALICE)")
    assert reply.ok
    assert "CSQH007I +QM1 Reverify flag not set for user-id BOB, no entry found" == reply.lines[0]
    assert 2 == len(reply.lines)
    assert [True, False] == [may_put(console.alice), may_put(console.bob)]


def test_profiles_that_cannot_be_read_leave_everything_as_it_was(console):
    for spoilt in ("queue ORDERS ALICE", None):
        console.profiles = spoilt
        assert not console.run("RVERIFY SECURITY(ALICE)").ok
        assert not may_put(console.alice)


def test_refresh_is_for_everybody_again(console):
    """S9: and what was read for one user alone is no more."""
    assert console.run("RVERIFY SECURITY(ALICE)").ok
    console.profiles = CLOSED
    assert may_put(console.alice)
    assert console.run("REFRESH SECURITY(*)").ok
    assert [False, False] == [may_put(console.alice), may_put(console.bob)]


@pytest.mark.parametrize("command", ["RVERIFY SECURITY", "RVERIFY SECURITY('')", "RVERIFY SECURITY(' , ')"])
def test_somebody_has_to_be_named(console, command):
    assert console.run(command).lines[0].startswith("CSQ9010E")


def test_without_profiles_there_is_nobody_to_verify():
    """SY4."""
    reply = Console().run("RVERIFY SECURITY(ALICE)")
    assert reply.ok
    assert "CSQH008I +QM1 Subsystem security not active, no userids processed" == reply.lines[0]


def test_who_may_give_the_commands(console):
    for command in ("SET ARCHIVE QUIESCE(3)", "RVERIFY SECURITY(ALICE)"):
        refused = console.qm.commands.run(command, "ALICE")
        assert not refused.ok
        assert "CSQ9016E" in "".join(refused.lines)


# -- the security manager itself


def security(texts):
    return SecurityManager(lambda: texts[0], FakeClock())


def test_a_more_special_profile_is_there_for_the_verified_user_alone():
    """S2, S9: for others the profile that covers the name is still the general one."""
    texts = ["queue ORDERS.* * read"]
    kept = security(texts)
    for user in ("ALICE", "BOB"):
        kept.check(user, "queue", "ORDERS.NEW", Access.BROWSE)
    texts[0] += "\nqueue ORDERS.NEW ALICE update"
    assert {"ALICE"} == kept.reverify(["ALICE", "ZOE"])
    kept.check("ALICE", "queue", "ORDERS.NEW", Access.PUT)
    kept.check("BOB", "queue", "ORDERS.NEW", Access.BROWSE)
    kept.refresh()
    with fails(Reason.NOT_AUTHORIZED):
        kept.check("BOB", "queue", "ORDERS.NEW", Access.BROWSE)


def test_nothing_is_read_for_nobody():
    """S9: not even what cannot be read."""
    texts = ["queue * * read"]
    kept = security(texts)
    texts[0] = "spoilt"
    assert set() == kept.reverify(["ALICE"])
    kept.check("ALICE", "queue", "ORDERS", Access.BROWSE)
    with pytest.raises(ProfileError):
        kept.reverify(["ALICE"])


def test_a_verified_user_can_be_verified_again():
    """S9: also when nothing was asked about him meanwhile."""
    texts = ["queue * * none"]
    kept = security(texts)
    assert not kept.allows("ALICE", "queue", "ORDERS", Access.PUT)
    for access, allowed in (("update", True), ("read", False)):
        texts[0] = f"queue * * {access}"
        assert {"ALICE"} == kept.reverify(["ALICE"])
        if not allowed:
            assert {"ALICE"} == kept.reverify(["ALICE"])
        assert allowed is kept.allows("ALICE", "queue", "ORDERS", Access.PUT)


# -- PCF


def test_archive_parameters_by_pcf():
    """MQCMD_SET_ARCHIVE, MQCMD_INQUIRE_ARCHIVE: MQIACF_SYSP_QUIESCE_INTERVAL."""
    tool = Tool(Console())
    assert [{1175: INITIAL, 1182: 0, 1212: 5}] == tool.done(114)
    tool.done(134, (1175, SET), (1212, 60))
    assert [{1175: INITIAL, 1182: 0, 1212: 5}, {1175: SET, 1212: 60}] == tool.done(114)
    assert 4005 == tool.failed(134, (1175, SET), (1212, 1000))
    tool.done(134, (1175, INITIAL))
    assert [{1175: INITIAL, 1182: 0, 1212: 5}] == tool.done(114)


def test_users_are_verified_by_pcf(console):
    """MQCMD_REVERIFY_SECURITY: MQCACF_USER_IDENTIFIER, one or a list."""
    tool = Tool(console)
    tool.done(133, (3025, ("ALICE", "bob")))
    assert [True, True] == [may_put(console.alice), may_put(console.bob)]
    console.profiles = CLOSED
    tool.done(133, (3025, "bob"))
    assert [True, False] == [may_put(console.alice), may_put(console.bob)]
