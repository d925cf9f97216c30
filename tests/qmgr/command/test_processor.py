"""The processor: forms of a reply, scripts, authority and its audit, hostile text, failures, who else may ask."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.answers import fails
from qmgr.command.console import Console, InMemory, depth
from quaestor.advisor import display_output
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.mqsc.words import OBJECTS_OF, keywords_of
from quaestor.mqi.reasons import Abend, Reason
from quaestor.qmgr.command import Parts, Refusal, Trace

# -- forms of a reply


def test_the_reply_for_a_program():
    console = Console()
    console.run("DEFINE QLOCAL(Q1) DESCR('a queue') MAXDEPTH(5000) SHARE")
    reply = console.run("DISPLAY QLOCAL(Q1) DESCR MAXDEPTH SHARE PUT")
    name, text = "Q1".ljust(48), "a queue".ljust(64)
    words = f"DESCR({text}) MAXDEPTH(      5000) SHARE PUT(ENABLED   )"
    assert reply.messages == [
        "CSQN205I   COUNT=       4, RETURN=00000000, REASON=00000000",
        f"CSQM401I +QM1 QUEUE({name}) TYPE(QLOCAL  ) QSGDISP(QMGR      ) {words}",
        "CSQM293I +QM1 1 QLOCAL FOUND MATCHING REQUEST CRITERIA",
        "CSQ9022I +QM1 CSQMDRTS ' DISPLAY QLOCAL' NORMAL COMPLETION",
    ]


def test_a_missing_queue_for_a_program():
    assert Console().run("DELETE QLOCAL(Q2)").messages == [
        "CSQN205I   COUNT=       4, RETURN=0000000C, REASON=00000008",
        "CSQM125I +QM1 QLOCAL(Q2) QSGDISP(QMGR) WAS NOT FOUND",
        "CSQM090E +QM1 FAILURE REASON CODE X'00D44002'",
        "CSQ9023E +QM1 CSQMMSGP ' DELETE QLOCAL' ABNORMAL COMPLETION",
    ]


def test_rows_have_numbers_as_numbers_and_lists_as_lists():
    console = Console()
    console.run("DEFINE NAMELIST(N) NAMES(A,B)")
    assert console.rows("DIS NAMELIST(N) NAMES") == [{"NAMELIST": "N", "QSGDISP": "QMGR", "NAMES": ["A", "B"]}]
    (pool,) = console.rows("DIS BUFFPOOL(1)")
    assert pool == {"BUFFPOOL": 1, "BUFFERS": 64, "LOCATION": "BELOW", "PAGECLAS": "4KB"}


def test_a_script_goes_on_after_a_command_that_failed():
    console = Console()
    script = "* a comment\nDEF QL(A) +\n   MAXDEPTH(5)\nFROB\nDEF QL(B) DESCR('one -\ntwo')\nDEF QL(C) +"
    replies = list(console.qm.commands.script(script, "OPER"))
    assert [True, False, True, False] == [reply.ok for _, reply in replies]
    assert ["DEF QL(A) MAXDEPTH(5)", "FROB"] == [text for text, _ in replies][:2]
    assert ["A", "B"] == [row["QUEUE"] for row in console.rows("DIS QL(*)")]
    assert "one two" == console.rows("DIS QL(B) DESCR")[0]["DESCR"]


@pytest.mark.parametrize("text", ["", "* nothing", "DIS QMGR\nDIS QMGR"])
def test_run_takes_one_command(text):
    reply = Console().run(text)
    assert not reply.ok
    assert "one command is expected" in reply.lines[0]


def test_a_command_that_is_too_long():
    reply = Console().run("DEFINE NAMELIST(N) NAMES(" + "A," * 20_000 + "A)")
    assert reply.lines[0].startswith("CSQ9033E")


# -- authority

PROFILES = """
connect   QM1        *      read
command   DISPLAY.*  *      read
command   *          OPER   control
command   *          *      none
queue     *          OPER   control
queue     PAY.*      *      none
queue     PAY.*      BOB    control
"""


def test_every_refusal_is_counted_and_told():
    console, told = Console(PROFILES), []
    console.qm.commands.audit = told.append
    assert console.run("DEFINE QLOCAL(A)", "OPER").ok
    refused = console.run("DEFINE QLOCAL(B)", "ALICE")
    assert refused.lines == [
        "CSQ9016E +QM1 'DEFINE QLOCAL' command request not authorized",
        "CSQ9023E +QM1 CSQMMSGP ' DEFINE QLOCAL' ABNORMAL COMPLETION",
    ]
    assert console.run("DISPLAY QLOCAL(*)", "ALICE").ok
    assert not console.run("DEFINE QLOCAL(PAY.ROLL)", "OPER").ok  # the command, but not this queue
    assert told == [Refusal("ALICE", "DEFINE QLOCAL", "B"), Refusal("OPER", "DEFINE QLOCAL", "PAY.ROLL")]
    assert 2 == console.qm.commands.refusals


def test_every_command_is_refused_to_somebody_without_authority():
    console = Console("connect * * read")
    for runner in console.qm.commands._runners.values():
        reply = console.run(f"{runner.mark.verb} {runner.mark.noun}", "MALLORY")
        assert "CSQ9016E" in reply.lines[0], reply.lines
    assert len(console.qm.commands._runners) == console.qm.commands.refusals


# -- hostile text

WORDS = st.sampled_from(
    [
        *OBJECTS_OF,
        "QLOCAL",
        "PSID",
        "BUFFPOOL",
        "CONN",
        "USAGE",
        "TRACE",
        "(",
        ")",
        "'",
        ",",
        "*",
        "A",
        "1",
        "99999999999",
    ]
)


@settings(max_examples=150)
@given(
    st.one_of(
        st.text(max_size=80), st.lists(WORDS, max_size=10).map(" ".join), st.lists(WORDS, max_size=9).map("".join)
    )
)
def test_no_text_breaks_the_processor(text):
    reply = CONSOLE.run(text)
    assert reply.lines
    assert CONSOLE.qm.connections.failure is None


CONSOLE = Console()


@settings(max_examples=200)
@given(st.data())
def test_no_combination_of_known_words_breaks_the_processor(data):
    verb, noun = data.draw(st.sampled_from(sorted(CONSOLE.qm.commands._runners)))
    if (verb, noun) == ("SET", "LOG"):
        return
    keywords = keywords_of(verb, noun)
    values = st.sampled_from(["", "A", "*", "0", "1", "-1", "X Y", "'x'", "QLOCAL", "NONE", "A,B", "YES", "LT"])
    parts = [verb, f"{noun}({data.draw(values)})"]
    for keyword in data.draw(st.lists(st.sampled_from(keywords), max_size=3)):
        parts += [data.draw(st.sampled_from([keyword, f"{keyword}({data.draw(values)})"]))]
    reply = CONSOLE.run(" ".join(parts))
    assert reply.lines[-1].startswith("CSQ9022I" if reply.ok else "CSQ9023E")
    assert CONSOLE.qm.connections.failure is None


@pytest.mark.parametrize(
    "command", ["DISPLAY PSID({})", "ALTER BUFFPOOL({}) BUFFERS(9)", "DISPLAY TRACE(STAT) CLASS({})"]
)
@pytest.mark.parametrize("number", ["1" * 5000, "-1", "100", "\u0663", "x"])
def test_a_number_that_nothing_can_have(command, number):
    """CP1: more digits than Python reads, a sign, digits of another script."""
    assert CONSOLE.run(command.format(number)).lines[0].startswith("CSQ9015E")


@pytest.mark.parametrize(
    "command", ["DEFINE QLOCAL(A) DESCR('{}')", "DEFINE NAMELIST(A) NAMES('{}')", "DISPLAY QLOCAL('{}')", "{}"]
)
@pytest.mark.parametrize("half", ["\ud800", "x\udfffy"])
def test_half_a_character_is_refused(command, half):
    """CP1: JSON can carry one, nothing else can; the reply is text that everybody can be sent."""
    reply = CONSOLE.run(command.format(half))
    assert not reply.ok
    assert "CSQ9031E +QM1 half a character stands in the command" == reply.lines[0]
    assert "\n".join(reply.lines).encode()
    assert CONSOLE.run("DISPLAY QLOCAL('\U0001f600')").lines[0].startswith("CSQM125I")


def test_the_usage_of_a_page_set_by_its_number():
    """However the number is written."""
    assert CONSOLE.rows("DISPLAY USAGE PSID(1)") == CONSOLE.rows("DISPLAY USAGE PSID(01)")
    assert [1] == [row["PSID"] for row in CONSOLE.rows("DISPLAY USAGE PSID(01)") if "PSID" in row]
    assert "PSID(77) WAS NOT FOUND" in CONSOLE.run("DISPLAY USAGE PSID(77)").lines[0]


# -- keywords without a value


@pytest.mark.parametrize("without", ["", "()"])
@pytest.mark.parametrize(
    "command",
    [
        "SET LOG WRTHRSH",
        "ALTER SECURITY TIMEOUT",
        "DEFINE QLOCAL(B) LIKE",
        "DEFINE QLOCAL(B) QSGDISP",
        "DEFINE QLOCAL(B) CMDSCOPE",
        "DEFINE BUFFPOOL(5) BUFFERS",
        "ALTER PSID(0) EXPAND",
        "MOVE QLOCAL(A) TYPE",
        "RESOLVE INDOUBT NID(*) ACTION",
        "ARCHIVE LOG MODE",
        "START TRACE(STAT) CLASS",
        "STOP TRACE(STAT) TNO",
        "STOP TRACE(STAT) CLASS",
        "ALTER TRACE(STAT) CLASS(1) TNO",
        "STOP QMGR MODE",
    ],
)
def test_a_keyword_without_its_value_is_refused(command, without):
    """K2: what it would mean without the keyword is not what was said."""
    stopped = []
    console = Console(parts=Parts(stop=stopped.append), archive=True)
    console.run("START TRACE(STAT) CLASS(1)")
    seen = ("DIS LOG", "DIS SECURITY TIMEOUT", "DIS QL(*)", "DIS BUFFPOOL(*)", "DIS TRACE(*)")
    before = [console.rows(text)[:5] for text in seen]
    assert console.run(command + without).lines[0].startswith("CSQ9010E")
    assert before == [console.rows(text)[:5] for text in seen]
    assert not stopped


# -- storage classes


@pytest.mark.parametrize(
    "command",
    [
        "ALTER STGCLASS(HERE) PSID(77)",
        "DEFINE STGCLASS(HERE) PSID(77) REPLACE",
        "ALTER QLOCAL(Q) STGCLASS(NOWHERE)",
        "DEFINE QLOCAL(Q) STGCLASS(NOWHERE) REPLACE",
    ],
)
def test_a_queue_does_not_go_to_a_page_set_that_is_not_there(command):
    """OB3: nor does the queue manager find one like that when it starts."""
    console = Console()
    for text in (
        "DEFINE STGCLASS(HERE) PSID(1)",
        "DEFINE STGCLASS(NOWHERE) PSID(77)",
        "DEFINE QLOCAL(Q) STGCLASS(HERE)",
    ):
        assert console.run(text).ok
    shown = "DISPLAY QLOCAL(*) STGCLASS PSID", "DISPLAY STGCLASS(*) PSID"
    before = [console.rows(text) for text in shown]
    reply = console.run(command)
    assert Reason.STORAGE_CLASS_ERROR is reply.reason
    assert "page_set=77" in reply.lines[0]
    assert before == [console.rows(text) for text in shown]
    console.restart()
    assert before == [console.rows(text) for text in shown]
    for text in ("ALTER STGCLASS(NOWHERE) PSID(78)", "ALTER STGCLASS(HERE) PSID(0)", "DELETE QLOCAL(Q)"):
        assert console.run(text).ok


# -- structures


def test_a_shared_queue_does_not_keep_a_storage_class_from_moving(tmp_path):
    """OB3."""
    console = Console(group=InMemory(tmp_path))
    for text in (
        "DEFINE CFSTRUCT(APPL1)",
        "DEFINE STGCLASS(CLASS) PSID(1)",
        "DEFINE STGCLASS(NOWHERE) PSID(77)",
        "DEFINE QLOCAL(S) QSGDISP(SHARED) CFSTRUCT(APPL1) STGCLASS(CLASS)",
        "DEFINE QLOCAL(P) STGCLASS(CLASS)",
    ):
        assert console.run(text).ok
    console.perform("put S 1")
    console.perform("commit")
    assert console.run("ALTER STGCLASS(CLASS) PSID(0)").ok
    assert [0] == [row["PSID"] for row in console.rows("DISPLAY QLOCAL(P) PSID")]
    assert console.run("ALTER QLOCAL(S) QSGDISP(SHARED) STGCLASS(NOWHERE)").ok
    assert not console.run("ALTER QLOCAL(S) QSGDISP(SHARED) STGCLASS(NONE)").ok
    assert 1 == depth(console, "S")


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        ("ALTER QLOCAL(S) QSGDISP(SHARED) CFSTRUCT('')", "QSGDISP(SHARED) needs CFSTRUCT"),
        ("ALTER QMODEL(M) CFSTRUCT('')", "DEFTYPE(SHAREDYN) needs CFSTRUCT"),
        ("ALTER QMODEL(N) DEFTYPE(SHAREDYN)", "DEFTYPE(SHAREDYN) needs CFSTRUCT"),
        ("ALTER QMODEL(G) QSGDISP(GROUP) CFSTRUCT('')", "DEFTYPE(SHAREDYN) needs CFSTRUCT"),
    ],
)
def test_what_is_on_a_structure_is_not_altered_to_be_on_none(tmp_path, command, needs):
    """OB4."""
    console = Console(group=InMemory(tmp_path))
    for text in (
        "DEFINE CFSTRUCT(APPL1)",
        "DEFINE QLOCAL(S) QSGDISP(SHARED) CFSTRUCT(APPL1)",
        "DEFINE QMODEL(M) DEFTYPE(SHAREDYN) CFSTRUCT(APPL1)",
        "DEFINE QMODEL(G) DEFTYPE(SHAREDYN) CFSTRUCT(APPL1) QSGDISP(GROUP)",
        "DEFINE QMODEL(N)",
    ):
        assert console.run(text).ok
    before = console.rows("DISPLAY QUEUE(*) QSGDISP(ALL) ALL")
    reply = console.run(command)
    assert f"CSQ9010E +QM1 {needs}" == reply.lines[0]
    assert before == console.rows("DISPLAY QUEUE(*) QSGDISP(ALL) ALL")
    for text in (
        "ALTER QLOCAL(S) QSGDISP(SHARED) DESCR(A)",
        "ALTER QMODEL(N) DEFTYPE(SHAREDYN) CFSTRUCT(APPL1)",
        "ALTER QMODEL(M) DEFTYPE(TEMPDYN) CFSTRUCT('')",
        "DELETE QLOCAL(S) QSGDISP(SHARED)",
    ):
        assert console.run(text).ok


# -- who else is asked


class Kept:
    """Traces that somebody keeps."""

    def __init__(self):
        self.active, self.minutes = [], {"STATIME": 30, "ACCTIME": 30}

    def start(self, kind, classes, destination):
        self.active.append(Trace(len(self.active) + 1, kind, classes, destination))
        return len(self.active)

    def stop(self, number):
        self.active = [trace for trace in self.active if trace.number != number]

    def display(self):
        return self.active

    def intervals(self):
        return self.minutes

    def set_interval(self, name, minutes):
        self.minutes[name] = minutes


def test_whoever_keeps_traces_is_asked():
    kept = Kept()
    console = Console(parts=Parts(traces=kept))
    assert [{"TNO": 1}] == console.rows("START TRACE(STAT)")
    assert [{"TNO": 2}] == console.rows("START TRACE(ACCTG) CLASS(3) DEST(SMF)")
    assert [Trace(1, "STAT", (1, 2)), Trace(2, "ACCTG", (3,))] == kept.active
    assert console.run("DISPLAY TRACE(*)").lines == [
        "CSQW127I +QM1 CURRENT TRACE ACTIVITY IS -",
        "TNO TYPE   CLASS            DEST USERID",
        "01  STAT   01,02            SMF  *",
        "02  ACCTG  03               SMF  *",
        "END OF TRACE REPORT",
        "CSQ9022I +QM1 CSQWVCM1 ' DISPLAY TRACE' NORMAL COMPLETION",
    ]
    assert [2] == [row["TNO"] for row in console.rows("DIS TRACE(ACCTG)")]
    assert console.run("STOP TRACE(STAT) TNO(1)").lines[0].startswith("CSQW131I")
    assert console.run("ALTER TRACE(ACCTG) TNO(02) CLASS(1,3)").ok
    assert [("ACCTG", (1, 3))] == [(trace.kind, trace.classes) for trace in kept.active]
    assert not console.run("ALTER TRACE(ACCTG) TNO(9) CLASS(1)").ok
    assert not console.run("START TRACE(ACCTG) CLASS(0)").ok
    assert console.run("SET SYSTEM STATIME(5)").ok
    assert ("STATIME", 5) in [(row["PARAMETER"], row["VALUE"]) for row in console.rows("DIS SYSTEM")]


def test_an_archive_that_quiesces_waits_for_the_units():
    """SY2, FM5: the latch is free while it waits."""
    console, waited = Console(archive=True), []
    assert console.run("DEFINE QLOCAL(ORDERS)").ok
    app = console.connect()
    app.put("ORDERS", "x", MQMD(persistence=1))

    def pause(seconds):
        waited.append(seconds)
        if len(waited) == 30:
            app.commit()

    console.qm.commands.pause = pause
    assert not console.run("ARCHIVE LOG MODE(QUIESCE) TIME(1) WAIT(YES)").ok
    assert 1 == pytest.approx(sum(waited))
    assert console.run("ARC LOG MODE(QUIESCE) TIME(60) WAIT(YES)").lines[0].startswith("CSQJ312I")
    assert 30 == len(waited)
    for wrong in ("TIME(60)", "MODE(QUIESCE) TIME(0)", "MODE(QUIESCE) WAIT(LONG)"):
        assert console.run(f"ARCHIVE LOG {wrong}").lines[0].startswith("CSQ9015E")


def traced(console):
    return [(row["TNO"], row["TYPE"], row["CLASS"]) for row in console.rows("DIS TRACE(*)")]


def test_a_trace_is_stopped_by_what_it_was_started_with():
    """TC1."""
    console = Console()
    for text in ("(STAT)", "(A)", "(ACCTG) CLASS(3)", "(ACCTG) CLASS(1,3)"):
        assert console.run(f"START TRACE{text}").ok
    everything = [(1, "STAT", [1, 2]), (2, "ACCTG", [1]), (3, "ACCTG", [3]), (4, "ACCTG", [1, 3])]
    assert everything == traced(console)
    assert [3] == [row["TNO"] for row in console.rows("DIS TRACE(ACCTG) CLASS(3)")]
    assert [1, 4] == [row["TNO"] for row in console.rows("DIS TRACE(*) TNO(1,04)")]
    assert not console.run("STOP TRACE").ok
    for text in ("(ACCTG) CLASS(4)", "(ACCTG) USERID(ALICE)", "(STAT) TNO(2)"):
        assert console.run(f"STOP TRACE{text}").lines[0].startswith("CSQW137I")
    assert everything == traced(console)
    assert console.run("STOP TRACE(ACCTG) CLASS(3)").ok
    assert [everything[0], everything[1], everything[3]] == traced(console)
    assert console.run("STOP TRACE(*)").ok
    assert [] == traced(console)


@pytest.mark.parametrize("refused", ["(ACCTG) TNO(1) CLASS(99)", "(ACCTG) TNO(1) CLASS(9)", "(*) TNO(1) CLASS(1)"])
def test_a_trace_that_cannot_be_altered_goes_on(refused):
    """TC2."""
    console = Console()
    assert console.run("START TRACE(ACCTG) CLASS(3)").ok
    assert not console.run(f"ALTER TRACE{refused}").ok
    assert [(1, "ACCTG", [3])] == traced(console)


def test_a_trace_of_one_user_is_refused():
    """TC3: it would be a trace of everybody."""
    assert "USERID(ALICE) is not valid" in Console().run("START TRACE(ACCTG) USERID(ALICE)").lines[0]
    assert Console().run("START TRACE(ACCTG) USERID(*)").ok


def test_whoever_ends_the_queue_manager_is_asked():
    asked = []
    console = Console(parts=Parts(stop=asked.append))
    assert console.run("STOP QMGR").lines[0] == "CSQY002I +QM1 QUEUE MANAGER STOPPING, MODE(QUIESCE)"
    assert console.run("STOP QMGR MODE(FORCE)").ok
    assert not console.run("STOP QMGR MODE(SOON)").ok
    assert ["QUIESCE", "FORCE"] == asked


@pytest.mark.parametrize(
    "command", ["STOP QMGR(QM2)", "ALTER QMGR(QM2) DESCR(A)", "PING QMGR(QM2)", "ARCHIVE LOG(2)", "DISPLAY USAGE(1)"]
)
def test_what_there_is_one_of_takes_no_name(command):
    """CP4."""
    asked = []
    console = Console(parts=Parts(stop=asked.append), archive=True)
    assert console.run(command).lines[0].startswith("CSQ9031E")
    assert not asked
    assert [""] == [row["DESCR"] for row in console.rows("DISPLAY QMGR DESCR")]


def test_what_the_queue_manager_is_is_shown_and_not_altered():
    """O6, AD5."""
    console = Console()
    shown = {"QMNAME": "QM1", "CMDLEVEL": 900, "PLATFORM": "UNIX", "SYNCPT": "YES"}
    assert [shown] == console.rows("DISPLAY QMGR CMDLEVEL PLATFORM SYNCPT")
    assert ["CMDLEVEL(900)", "SYNCPT"] == console.run("DISPLAY QMGR CMDLEVEL SYNCPT").lines[2:4]
    for change in ("CMDLEVEL(800)", "PLATFORM(MVS)", "NOSYNCPT", "MAXPRTY(3)", "COMMANDQ(Q)"):
        assert "said by the queue manager itself" in console.run(f"ALTER QMGR {change}").lines[0]
    assert [shown] == console.rows("DISPLAY QMGR CMDLEVEL PLATFORM SYNCPT WHERE(CMDLEVEL GE 900)")


@pytest.mark.parametrize("asked", ["QMNAME", "QMNAME WHERE(QMNAME EQ QM1)", "DESCR WHERE(QMNAME EQ QM1)"])
def test_the_name_of_the_queue_manager_can_be_asked_for(asked):
    """It leads every answer to DISPLAY QMGR, and scripts written for z/OS ask for it alone."""
    console = Console()
    (row,) = console.rows(f"DISPLAY QMGR {asked}")
    assert "QM1" == row["QMNAME"]
    assert not console.rows("DISPLAY QMGR QMNAME WHERE(QMNAME EQ QM2)")
    assert console.run("ALTER QMGR QMNAME(QM2)").lines[0].startswith("CSQ9001E")


def test_a_getter_that_waits_learns_that_its_connection_was_stopped():
    console = Console()
    console.run("DEFINE QLOCAL(ORDERS)")
    app = console.connect()
    answer = []

    def wait():
        with fails(Reason.CONNECTION_BROKEN):
            app.get("ORDERS", wait_ms=20_000)
        answer.append("2009")

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not console.rows("DIS QS(ORDERS) IPPROCS")[0]["IPPROCS"]:
        pass
    assert console.run("STOP CONN(1)").ok
    waiting.join(10)
    assert ["2009"] == answer
    assert 0 == console.rows("DIS QS(ORDERS) IPPROCS")[0]["IPPROCS"]


def test_what_the_engine_does_not_survive_ends_the_queue_manager(monkeypatch):
    console = Console()

    def broken(*_args):
        raise Abend("D1", "a rule is broken")

    monkeypatch.setattr(console.qm.messages.catalogue, "all", broken)
    reply = console.run("DIS QUEUE(*)")
    assert "MQRC 2009" in reply.lines[0]
    assert isinstance(console.qm.connections.failure, Abend)


def test_the_advisor_reads_what_display_shows():
    console = Console()
    console.run("DEFINE QLOCAL(ORDERS) INDXTYPE(MSGID)")
    text = "\n".join(
        line
        for command in ("DIS QL(*) ALL", "DIS LOG", "DIS SYSTEM", "DIS USAGE", "DIS SECURITY", "DIS QMGR ALL")
        for line in console.run(command).lines
    )
    found = list(display_output.read(text))
    system = {key: value for kind, _, values in found if kind == "system" for key, value in values.items()}
    assert (1000, 64, False) == (system["logload"], system["outbuff_kb"], system["dual_logging"])
    assert (54, 10_000) == (system["security_timeout_min"], system["maxumsgs"])
    assert ("queue", "ORDERS", "MSGID") in [(kind, name, values.get("indxtype")) for kind, name, values in found]
    assert ["0", "1"] == [name for kind, name, _ in found if kind == "page_set"]


def test_a_pool_is_altered_while_applications_work():
    console = Console(buffer_pools={0: 100, 1: 400})
    console.run("DEFINE QLOCAL(ORDERS) SHARE DEFSOPT(SHARED) DEFPSIST(YES)")
    wrong = []

    def work(number):
        try:
            with console.qm.connect(f"U{number}") as app, app.open("ORDERS") as orders:
                for at in range(60):
                    orders.put(f"{number}-{at}" * 50)
                    app.commit()
                    if at % 3:
                        orders.get()
                        app.commit()
        except BaseException as error:  # noqa: BLE001 - told to the test
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    sizes = [100, 1000, 150, 500_000, 100]
    working = True
    while working:  # once more after the last of them has ended
        working = any(worker.is_alive() for worker in workers)
        for size in sizes:
            assert console.run(f"ALTER BUFFPOOL(1) BUFFERS({size})").ok
            console.steps()
    assert [] == wrong
    assert 80 == depth(console, "ORDERS")
    assert 100 == console.rows("DIS BUFFPOOL(1)")[0]["BUFFERS"]
    console.restart()
    assert 80 == depth(console, "ORDERS")
    assert 100 == console.rows("DIS BUFFPOOL(1)")[0]["BUFFERS"]


# -- what a command says is what is looked at


def test_the_usage_of_an_open_queue_changes_only_by_force():
    """OB2: one that nobody has open changes without."""
    console = Console()
    console.run("DEFINE QLOCAL(Q)")
    assert console.run("ALTER QLOCAL(Q) USAGE(XMITQ)").ok
    console.perform("open Q")
    assert Reason.OBJECT_IN_USE is console.run("ALTER QLOCAL(Q) USAGE(NORMAL)").reason
    assert console.run("ALTER QLOCAL(Q) USAGE(XMITQ) DESCR(A)").ok
    assert console.run("ALTER QLOCAL(Q) USAGE(NORMAL) FORCE").ok
    assert ["NORMAL"] == [row["USAGE"] for row in console.rows("DISPLAY QLOCAL(Q) USAGE")]


def test_units_in_doubt_are_shown_by_the_name_of_their_connection():
    console = Console()
    console.run("DEFINE QLOCAL(Q)")
    console.perform("put Q 1")
    console.perform("prepare one")
    (unit,) = console.rows("DISPLAY THREAD(*) TYPE(INDOUBT)")
    assert [unit] == console.rows(f"DISPLAY THREAD('{unit['NAME']}') TYPE(INDOUBT)")
    assert [] == console.rows(f"DISPLAY THREAD('{unit['NAME']}X') TYPE(INDOUBT)")


def test_a_shared_queue_is_moved_only_as_such(tmp_path):
    """QC4."""
    console = Console(group=InMemory(tmp_path))
    console.run("DEFINE CFSTRUCT(APPL1)")
    console.run("DEFINE QLOCAL(S) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    console.run("DEFINE QLOCAL(P)")
    assert Reason.UNKNOWN_OBJECT_NAME is console.run("MOVE QLOCAL(S) TOQLOCAL(P)").reason
    assert Reason.UNKNOWN_OBJECT_NAME is console.run("MOVE QLOCAL(P) TOQLOCAL(S) QSGDISP(SHARED)").reason
    assert console.run("MOVE QLOCAL(S) TOQLOCAL(P) QSGDISP(SHARED)").ok


@pytest.mark.parametrize("word", ["TIME(5)", "WAIT(YES)", "WAIT(NO)"])
def test_an_archive_that_does_not_quiesce_waits_for_nothing(word):
    """SY2."""
    assert "go with MODE(QUIESCE)" in Console(archive=True).run(f"ARCHIVE LOG {word}").lines[0]


def test_of_the_two_queues_of_a_move_the_one_in_the_way_is_named():
    console = Console()
    for name in ("SOURCE", "TARGET"):
        assert console.run(f"DEFINE QLOCAL({name}) MAXDEPTH(1)").ok
    app, said = console.connect(), lambda: console.run("MOVE QLOCAL(SOURCE) TOQLOCAL(TARGET)").lines[0]
    for name in ("SOURCE", "TARGET"):
        with app.open(name):
            assert f"CSQM101I +QM1 QLOCAL({name}) IS IN USE (handles=1)" == said()
        app.put(name, "x")
        assert f"QLOCAL({name}) MQRC 2055" in said(), "uncommitted"
        app.commit()
        if name == "SOURCE":
            assert console.run("ALTER QLOCAL(TARGET) MAXDEPTH(0)").ok
            assert "QLOCAL(TARGET) MQRC 2053" in said()
            assert console.run("ALTER QLOCAL(TARGET) MAXDEPTH(1)").ok
    assert "QLOCAL(TARGET) MQRC 2055" in said()
    assert (
        "QLOCAL(NOWHERE) QSGDISP(QMGR) WAS NOT FOUND" in console.run("MOVE QLOCAL(SOURCE) TOQLOCAL(NOWHERE)").lines[0]
    )
