"""DISPLAY output of every shape, and what is passed over in it (Y1 to Y3)."""

import pytest

from quaestor.advisor.display_output import flag, looks_like, number, read, word


def found(text):
    return list(read(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("500", 500),
        ("10,240", 10_240),
        ("1,048,576", 1_048_576),
        ("20480K", 20_480),
        ("3M", 3 * 1024),
        ("2G", 2 * 1024 * 1024),
        ("'24'", 24),
    ],
)
def test_a_number_as_display_shows_it(text, value):
    """Sizes are in K, whichever letter stands behind them."""
    assert value == number(text)


@pytest.mark.parametrize("text", ["", "K", "many", "NOLIMIT", "'", "1K2"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="could not convert"):
        number(text)


@pytest.mark.parametrize(
    ("text", "value"), [("YES", True), ("yes", True), ("ON", True), ("ENABLED", True), ("NO", False), ("OFF", False)]
)
def test_a_flag_as_display_shows_it(text, value):
    assert value is flag(text)


def test_a_word_is_in_capitals_and_without_marks():
    assert "FAST" == word("'fast'")


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("LOGLOAD     500000", {"logload": 500_000}),
        ("LOGLOAD     500000     150000", {"logload": 150_000}),  # Y2: the one to the right was set
        ("12.30.01 LOGLOAD     500000", {"logload": 500_000}),
        ("  LOGLOAD     500000  ", {"logload": 500_000}),
        ("OUTBUFF     4,000", {"outbuff_kb": 4_000}),
        ("TWOARCH     YES", {"dual_archive": True}),
        ("TWOACTV     YES    NO", {"dual_logging": False}),
        ("BLKSIZE     28672", {"archive_blksize": 28_672}),
        ("QINDXBLD    nowait", {"qindxbld": "NOWAIT"}),
        ("UNIT        TAPE", {"archive": "TAPE"}),
        ("UNIT        VTAPE1", {"archive": "TAPE"}),
        ("UNIT        3590-1", {"archive": "TAPE"}),
        ("UNIT        3490", {"archive": "TAPE"}),
        ("UNIT        3592-2E", {"archive": "TAPE"}),
        ("UNIT        CART", {"archive": "TAPE"}),
        ("UNIT        3390", {"archive": "DASD"}),
        ("UNIT        SYSALLDA", {"archive": "DASD"}),
        ("UNIT        SYSDA", {"archive": "DASD"}),
        ("OFFLOAD     NO", {"archive": "NONE"}),
        ("OFFLOAD     YES", None),  # it does not say on what
        ("UNIT        ARCHIVE1", None),  # a name of the installation's own: nobody said what it stands for
        ("LOGLOAD     many", None),  # Y1: words where a number is usual say nothing
        ("LOGLOAD", None),
        ("LOGLOAD 1 2 3", None),
        ("THE LOGLOAD IS 5", None),
        ("MAXRTU      2", None),  # no rule reads it
        ("", None),
    ],
)
def test_a_line_of_parameters(line, values):
    assert ([("system", "", values)] if values else []) == found(line)


def test_parameters_of_several_reports_are_one():
    assert [("system", "", {"logload": 1, "outbuff_kb": 2})] == found("LOGLOAD 1\nprose goes between\nOUTBUFF 2\n")


# --- objects ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("QUEUE(A) CURDEPTH(5)", [("queue", "A", {"curdepth": 5})]),
        ("QUEUE(A)\n CURDEPTH(5)\n INDXTYPE(msgid)", [("queue", "A", {"curdepth": 5, "indxtype": "MSGID"})]),  # Y3
        ("QUEUE( A ) CURDEPTH( 5 )", [("queue", "A", {"curdepth": 5})]),
        ("QUEUE('a.b') TRIGTYPE(FIRST)", [("queue", "a.b", {"trigtype": "FIRST"})]),
        ("QUEUE(A) QUEUE(B) STGCLASS(X)", [("queue", "B", {"stgclass": "X"})]),  # nothing is said about A
        (
            "QUEUE(A) CURDEPTH(1) CHANNEL(C) BATCHSZ(50) NPMSPEED(fast) DISCINT(6000) SHARECNV(10) BATCHINT(100)",
            [
                ("queue", "A", {"curdepth": 1}),
                (
                    "channel",
                    "C",
                    {"batchsz": 50, "npmspeed": "FAST", "discint_s": 6000, "sharecnv": 10, "batchint_ms": 100},
                ),
            ],
        ),
        ("CFSTRUCT(S) CFLEVEL(5) RECOVER(YES)", [("structure", "S", {"cflevel": 5, "recover": "YES"})]),
        ("CFSTATUS(S) SIZEMAX(2M) ENTSMAX(10)", [("structure", "S", {"size_kb": 2048, "entries_total": 10})]),
        ("CFSTATUS(S) ELEMMAX(60)", [("structure", "S", {"elements_total": 60})]),
        ("QMNAME(QM01) MAXUMSGS(500)", [("system", "", {"maxumsgs": 500})]),
        ("QUEUE(A) CURDEPTH()", []),
        ("QUEUE(A) CURDEPTH(many)", []),
        ("QUEUE(A) DESCR(five)", []),
        ("CURDEPTH(5)", []),  # of no object
    ],
)
def test_objects_and_their_attributes(text, objects):
    assert objects == found(text)


# --- usage ------------------------------------------------------------------------------------------------------------

PAGES = {"buffer_pool_of": 1, "total_pages": 268_542, "unused_pages": 102_704, "persistent_pages": 29}
PAGES["nonpersistent_pages"] = 165_809


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("   1   1  268542  102704   29  165809  USER   0", {"expand": "USER", "expansions": 0}),
        ("_  1   1  268,542  102,704   29  165,809  NONE   7", {"expand": "NONE", "expansions": 7}),
        ("   1   1  268542  102704   29  165809   3", {"expansions": 3}),  # before the method was shown
    ],
)
def test_a_row_of_usage(line, more):
    """MP16's own row (ORACLE 17)."""
    assert [("page_set", "1", {**PAGES, **more})] == found(line)


@pytest.mark.parametrize("line", ["1 1 268542 102704 29", "1 1 268542 102704 29 165809 LATER 0", "one two three"])
def test_what_is_no_row_of_usage(line):
    assert [] == found(line)


# --- security, trace, tasks -------------------------------------------------------------------------------------------


def test_security_as_mp16_shows_it():
    text = "CSQH015I MQPZ Security timeout = 54 minutes\nCSQH016I MQPZ Security interval = 12 minutes\n"
    assert [("system", "", {"security_timeout_min": 54, "security_interval_min": 12})] == found(text)


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        ("", {"trace_global": False, "trace_chinit": False}),
        ("01 GLOBAL 01 RES * *", {"trace_global": True, "trace_chinit": False, "trace_destination": "RES"}),
        ("01 G * GTF", {"trace_global": True, "trace_chinit": False, "trace_destination": "GTF"}),
        ("01 GLOBAL 01", {"trace_global": True, "trace_chinit": False}),
        ("02 STAT 01 SMF * *", {"trace_global": False, "trace_chinit": False}),
        ("03 CHINIT * RES", {"trace_global": False, "trace_chinit": True}),
    ],
)
def test_traces_that_are_active(rows, values):
    assert [("system", "", values)] == found(f"CSQW127I CURRENT TRACE ACTIVITY IS -\n{rows}\nEND OF TRACE REPORT\n")


def test_a_trace_row_without_its_heading_is_nothing():
    assert [] == found("01 GLOBAL 01 RES * *")


def test_tasks_of_the_channel_initiator():
    text = "30 adapter subtasks started, 0 failed\n5 dispatcher subtasks started\n8 SSL server subtasks started\n"
    assert [("system", "", {"chiadaps": 30, "chidisps": 5, "ssltasks": 8})] == found(text)


# --- which form a file has --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_display"),
    [
        ("CSQM401I !QM01\nQUEUE(A)", True),
        ("QUEUE(A) CURDEPTH(5)", True),
        ("  PSID(1) BUFFPOOL(0)", True),
        ("DISPLAY LOG report ...\nOUTBUFF 400", True),
        ("[QM01]\nlogload = 5\n", False),
        ("[QM01]\ntrace_destination = 'CSQ'\n", False),
        ("", False),
    ],
)
def test_display_output_is_told_from_toml(text, is_display):
    assert is_display is looks_like(text)


def test_who_is_in_the_group():
    """The rows below the heading, until the next message."""
    rows = "Queue manager  Number  Status\n-------------  ------\nQM1   1  ACTIVE\nQM2   2  INACTIVE\nEnd of it\n"
    text = f"CSQ5007I +QM1 Queue managers in group QSG1\n{rows}CSQ9022I +QM1 DONE\nQM3   3  ACTIVE\n"
    assert [("system", "", {"queue_sharing_group": "QSG1", "group_members": 2})] == found(text)


def test_active_logs_in_words():
    assert [("system", "", {"active_logs": 4, "active_log_mb": 0.5})] == found("Active logs 4 of 0.5 MB, full 0\n")
    assert [] == found("Active logs 4, full 0\n")
