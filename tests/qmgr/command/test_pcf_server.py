"""The command server: tools ask in PCF and get what MQSC answers."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmgr.command.console import Console
from quaestor.mqi import pcf
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.mqsc.words import KINDS
from quaestor.mqi.objects import COMMAND_QUEUE, LocalQueue, attributes_of
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.pcf import Filter, Parameter, PCFMessage
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.command import pcf_words

CREATE, INQUIRE, DELETE, CHANGE, CLEAR, COPY, NAMES = 11, 13, 12, 8, 9, 10, 18


class Tool:
    """A program that administers with PCF."""

    def __init__(self, console, user="OPER", little=True):
        self.console, self.little = console, little
        self.server = console.qm.command_server()
        self.app = console.qm.connect(user, "tool")
        self.replies = self.app.open("SYSTEM.DEFAULT.MODEL.QUEUE", dynamic_name="TOOL.*")

    def put(self, body, reply_to=None):
        descriptor = MQMD(
            msg_type=1, format="MQADMIN", encoding=546 if self.little else 785, reply_to_q=reply_to or self.replies.name
        )
        sent = self.app.put(COMMAND_QUEUE, body, descriptor, PutOptions.NO_SYNCPOINT)
        assert self.server.serve_one()
        return sent

    def ask(self, command, *parameters):
        """The responses to a command."""
        sent = self.put(pcf.pack(PCFMessage(command, tuple(Parameter(*p) for p in parameters)), little=self.little))
        found = []
        while not found or found[-1].control != pcf.LAST:
            message = self.replies.get(GetOptions.NO_SYNCPOINT, correl_id=sent.msg_id)
            assert (message.descriptor.format, message.descriptor.msg_type) == ("MQADMIN", 2)
            found.append(pcf.unpack(message.body, little=self.little))
        assert list(range(1, len(found) + 1)) == [response.sequence for response in found]
        return found

    def done(self, command, *parameters):
        """The parameters of each response of a command that succeeded."""
        found = self.ask(command, *parameters)
        assert {0} == {response.reason for response in found}, found
        return [{p.number: p.value for p in response.parameters} for response in found]

    def failed(self, command, *parameters):
        found = self.ask(command, *parameters)
        assert 3008 == found[-1].reason
        return found[0].reason


@pytest.fixture(params=[True, False], ids=["little-endian", "big-endian"])
def tool(request):
    return Tool(Console(), little=request.param)


def test_a_queue_is_created_inquired_changed_and_deleted(tool):
    assert [{}] == tool.done(CREATE, (2016, "ORDERS"), (20, 1), (15, 500), (10, 1), (23, 1), (2013, "Orders"), (4, 2))
    (row,) = tool.done(INQUIRE, (2016, "ORDERS"), (1002, (1009,)))
    assert ("ORDERS", 1, 500, 1, 0, 1, "Orders", 2) == tuple(row[n] for n in (2016, 20, 15, 10, 9, 23, 2013, 4))
    assert [{2016: "ORDERS", 20: 1, 63: 0, 3: 0}] == tool.done(INQUIRE, (2016, "ORD*"), (1002, (3,)))
    tool.done(CHANGE, (2016, "ORDERS"), (20, 1), (10, 0), (23, 0))
    definition = tool.console.qm.messages.catalogue.find(LocalQueue, "ORDERS")
    assert (True, False, 500) == (definition.put_allowed, definition.share, definition.max_depth)
    tool.done(COPY, (3001, "ORDERS"), (3002, "BILLS"), (20, 1), (15, 7))
    assert [("BILLS", 7), ("ORDERS", 500)] == [
        (row[2016], row[15]) for row in tool.done(INQUIRE, (2016, "*"), (20, 1), (1002, (15,))) if "." not in row[2016]
    ]
    (names,) = tool.done(NAMES, (2016, "*"), (20, 1))
    assert {"BILLS", "ORDERS", COMMAND_QUEUE} <= set(names[3011])
    tool.done(DELETE, (2016, "BILLS"))
    assert 2085 == tool.failed(INQUIRE, (2016, "BILLS"), (1002, (1009,)))


def test_messages_are_cleared_and_moved_and_status_is_shown(tool):
    for name in ("A", "B"):
        tool.done(CREATE, (2016, name), (20, 1))
    tool.app.put("A", "x", None, PutOptions.NO_SYNCPOINT)
    (status,) = tool.done(41, (2016, "A"))
    assert (1, 0, 0) == (status[3], status[17], status[1027])
    tool.done(127, (3001, "A"), (3002, "B"), (1145, 1147))
    assert 1 == tool.done(41, (2016, "B"))[0][3]
    tool.done(CLEAR, (2016, "B"))
    assert 0 == tool.done(41, (2016, "B"))[0][3]
    handles = tool.done(41, (2016, COMMAND_QUEUE), (1103, 1104))
    assert [("command server", 1)] == [(row[3058], row[1098]) for row in handles]


CONNECTIONS, END_CONNECTION = 85, 86


def test_connections_are_inquired_and_ended(tool):
    tool.done(CREATE, (2016, "ORDERS"), (20, 1))
    app = tool.console.qm.connect("ALICE", "billing")
    queue = app.open("ORDERS")
    queue.put("x", MQMD(persistence=1))
    everybody = tool.done(CONNECTIONS, (7007, b""), (1107, (1009,)))
    (row,) = [row for row in everybody if row[3058] == "billing"]
    assert (1111, "ALICE", 1) == (row[1110], row[3025], row[1128])
    assert 24 == len(row[7006])
    assert int.from_bytes(row[7009]) == app._thread.unit.urid
    assert [row] == tool.done(CONNECTIONS, (7006, row[7006]), (1107, (1009,)))
    (handle,) = tool.done(CONNECTIONS, (7006, row[7006]), (1110, 1112))
    assert (1112, "ORDERS", 1) == (handle[1110], handle[3046], handle[1016])
    assert handle[1022] == int(queue.opened.options)
    assert [{}] == tool.done(END_CONNECTION, (7006, row[7006]))
    with pytest.raises(MQError, match="2009"):
        queue.put("y")
    assert 2085 == tool.failed(CONNECTIONS, (7006, row[7006]))
    assert 3228 == tool.failed(CONNECTIONS)


def test_a_monitored_queue_tells_its_times(tool):
    tool.done(CREATE, (2016, "ORDERS"), (20, 1), (123, 17))
    tool.done(CREATE, (2016, "NOTES"), (20, 1))
    clock, app = tool.console.clock, tool.app
    for name in ("ORDERS", "NOTES"):
        app.put(name, "x", None, PutOptions.NO_SYNCPOINT)
    clock.advance(milliseconds=1500)
    for name in ("ORDERS", "NOTES"):
        app.get(name, GetOptions.NO_SYNCPOINT)
    (status,) = tool.done(41, (2016, "ORDERS"))
    assert (1_500_000, 1_500_000) == status[1226]
    put, got = (
        datetime.fromisoformat(f"{status[date]}T{status[time].replace('.', ':')}+00:00")
        for date, time in ((3128, 3129), (3130, 3131))
    )
    assert got - put in {timedelta(seconds=1), timedelta(seconds=2)}
    (status,) = tool.done(41, (2016, "NOTES"))
    assert not {1226, 3128, 3129, 3130, 3131} & set(status)


def test_other_objects_and_the_queue_manager(tool):
    assert [{}] == tool.done(40)
    assert "QM1" == tool.done(2, (1001, (1009,)))[0][2015]
    tool.done(1, (2006, "DLQ"), (33, 77))
    assert [{2015: "QM1", 2006: "DLQ", 33: 77}] == tool.done(2, (1001, (2006, 33)))
    tool.done(34, (2010, "N"), (2020, ("A", "B")), (2009, "two"))
    assert ("N", ("A", "B"), 2) == tuple(tool.done(36, (2010, "N"), (1004, (1009,)))[0][n] for n in (2010, 2020, 19))
    tool.done(5, (2012, "RUN"), (2001, "run"), (1, 6))
    assert ("run", 6) == tuple(tool.done(7, (2012, "RUN"))[0][n] for n in (2001, 1))
    tool.done(109, (2022, "FAST"), (62, 1))
    assert 1 == tool.done(122, (2022, "FAST"))[0][62]
    assert ("FAST",) == tuple(name for name in tool.done(148, (2022, "*"))[0][3106] if name != "DEFAULT")
    usage = tool.done(126)
    assert [0, 1] == [row[62] for row in usage if 1159 in row]
    assert all(row[1159] == row[1160] + row[1161] + row[1162] for row in usage if 1159 in row)


def test_filters(tool):
    for name, depth in (("A", 5), ("B", 50)):
        tool.done(CREATE, (2016, name), (20, 1), (15, depth), (10, int(name == "B")))
    by_depth = tool.done(INQUIRE, (2016, "*"), (15, Filter(4, 10)), (1002, (15,)))
    assert "B" in [row[2016] for row in by_depth]
    assert "A" not in [row[2016] for row in by_depth]
    assert ["B"] == [row[2016] for row in tool.done(INQUIRE, (2016, "*"), (10, Filter(2, 1)), (1002, (10,)))]
    tool.done(34, (2010, "N"), (2020, ("A", "B")))
    assert ["N"] == [row[2010] for row in tool.done(36, (2010, "*"), (2020, Filter(26, "A*")))]


def test_filters_on_what_a_status_tells(tool):
    """PW2: words, bytes and options are compared as PCF has them."""
    tool.done(CREATE, (2016, "ORDERS"), (20, 1))
    app = tool.console.qm.connect("ALICE", "billing")
    queue = app.open("ORDERS")
    queue.put("x", MQMD(persistence=1))
    assert ["ORDERS"] == [row[2016] for row in tool.done(41, (2016, "*"), (1027, Filter(2, 1)))]
    everybody = ((7007, b""), (1107, (1009,)))
    (row,) = tool.done(CONNECTIONS, *everybody, (3058, Filter(18, "bil*")))
    assert [row] == tool.done(CONNECTIONS, *everybody, (1128, Filter(2, 1)))
    assert [row] == tool.done(CONNECTIONS, *everybody, (7009, Filter(2, row[7009])))
    handles, options = ((7007, b""), (1110, 1112)), int(queue.opened.options)
    assert "ORDERS" in {row[3046] for row in tool.done(CONNECTIONS, *handles, (1022, Filter(2, options)))}
    assert "ORDERS" not in {row.get(3046) for row in tool.done(CONNECTIONS, *handles, (1022, Filter(5, options)))}


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ([(15, Filter(18, 10))], 3242),  # LK of a number
        ([(15, Filter(99, 10))], 3242),  # no operator
        ([(10, Filter(4, 1))], 3242),  # GT of a word
        ([(2013, Filter(26, "x"))], 3246),  # CT of a text
        ([(10, Filter(2, 9))], 3229),  # no such word
        ([(99999, Filter(2, b"x"))], 3265),  # unknown
        ([(1191, Filter(2, 1))], 3243),  # LOGLOAD, of no queue
        ([(2001, Filter(2, "x"))], 3247),  # APPLICID, of processes
        ([(2011, Filter(2, "x"))], 3247),  # the description of processes
        ([(2016, Filter(18, "A*"))], 3247),  # the name
        ([(15, Filter(2, "x"))], 3247),  # a text for a number
        ([(2013, Filter(2, 1))], 3243),  # a number for a text
        ([(15, Filter(4, 1)), (15, Filter(1, 9))], 3248),
    ],
)
def test_a_filter_that_could_hold_of_nothing_is_refused(tool, filters, reason):
    """K3, PC1: the reason says what is wrong, by the names of IBM MQ's headers."""
    assert reason == tool.failed(INQUIRE, (2016, "*"), *filters)


def test_only_inquiries_have_filters(tool):
    """PC1."""
    assert 3243 == tool.failed(CREATE, (2016, "A"), (20, 1), (15, Filter(4, 10)))
    assert 2085 == tool.failed(INQUIRE, (2016, "A"))


@pytest.mark.parametrize("name", ["ORDERS", "ORD*"])
@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ((15,), {15}),
        ((15, 99999), {15}),  # what nobody has here is passed over
        (15, {15}),
        ((2016,), set()),
        ((2016, 20), set()),
        ((99999, 63), set()),
    ],
)
def test_an_inquiry_shows_what_it_asks_for(tool, name, asked, shown):
    """PC1: and whose it is, which is never more because it is asked for."""
    tool.done(CREATE, (2016, "ORDERS"), (20, 1))
    (row,) = tool.done(INQUIRE, (2016, name), (1002, asked))
    assert {2016, 20, 63} | shown == set(row)


@pytest.mark.parametrize("name", ["ORDERS", "ORD*"])
@pytest.mark.parametrize("asked", [(99999,), (2001,), (99999, 2001), (31, 32), 99999])  # 2001 is of processes
def test_an_inquiry_of_nothing_that_there_is_fails(tool, name, asked):
    """PC1: all attributes are not what it asked for. MQIACF_SELECTOR says which it was."""
    tool.done(CREATE, (2016, "ORDERS"), (20, 1))
    first, last = tool.ask(INQUIRE, (2016, name), (1002, asked))
    wrong = asked if isinstance(asked, int) else asked[0]
    assert (2067, ((1014, wrong),)) == (first.reason, tuple(p[:2] for p in first.parameters))
    assert 3008 == last.reason


def test_a_list_goes_with_its_inquiry(tool):
    """PC1."""
    tool.done(CREATE, (2016, "ORDERS"), (20, 1))
    assert 3047 == tool.failed(INQUIRE, (2016, "ORDERS"), (1003, (1009,)))
    assert 3047 == tool.failed(CHANGE, (2016, "ORDERS"), (20, 1), (1002, (15,)))
    assert [{2016: "ORDERS", 1103: 1105}] == tool.done(41, (2016, "ORDERS"), (1026, (2016,)))
    assert [{2015: "QM1"}] == tool.done(2, (1001, (2015,)))
    assert len(tool.done(INQUIRE, (2016, "ORDERS"), (1002, (), pcf.INTEGER_LIST))[0]) > 40
    assert {7006, 1110} == set(tool.done(CONNECTIONS, (7007, b""), (1107, (7006,)))[0])


INITIAL, SET, LOG_COPY, LOG_STATUS = 10, 11, 12, 13


def test_the_log_is_inquired_and_set(tool):
    """PC5: MQCMD_INQUIRE_LOG, MQCMD_SET_LOG; numbers as the headers of IBM MQ have them."""
    initial, copy, status = tool.done(120)
    assert (INITIAL, 64, 16, 0, 0, 0) == tuple(initial[number] for number in (1175, 1180, 1181, 1182, 1183, 1185))
    assert (LOG_COPY, 1, "log1-01") == (copy[1175], copy[1216], copy[3059])
    assert (LOG_STATUS, 3, 0) == (status[1175], status[1220], status[1221])
    assert int(status[3122], 16) > 0
    tool.done(136, (1175, SET), (1181, 8))
    assert [(INITIAL, 16), (SET, 8)] == [(row[1175], row[1181]) for row in tool.done(120) if 1181 in row]
    tool.done(136, (1175, INITIAL))
    assert [(INITIAL, 16)] == [(row[1175], row[1181]) for row in tool.done(120) if 1181 in row]
    assert 4005 == tool.failed(136, (1175, SET), (1181, 0))
    assert 3014 == tool.failed(136, (1175, SET), (1191, 500))


def test_system_parameters_are_inquired_and_set(tool):
    """MQCMD_INQUIRE_SYSTEM, MQCMD_SET_SYSTEM, MQCMD_INQUIRE_ARCHIVE."""
    (before,) = tool.done(123)
    tool.done(137, (1175, SET), (1191, 500), (1199, 5))
    initial, changed = tool.done(123)
    assert (before, {1175: SET, 1191: 500, 1199: 5}) == (initial, changed)
    assert -1 == before[1443], "ACCTIME is as STATIME"
    tool.done(137, (1175, INITIAL))
    assert [before] == tool.done(123)
    assert [{1175: INITIAL, 1182: 0, 1212: 5}] == tool.done(114)


def test_security_is_inquired_altered_and_refreshed():
    """MQCMD_INQUIRE_SECURITY, MQCMD_CHANGE_SECURITY, MQCMD_REFRESH_SECURITY."""
    tool = Tool(Console("connect * * read\nqueue * * control\ncommand * OPER control\nstgclass * OPER control"))
    timeout, subsystem, *switches = tool.done(121)
    assert ({1152: 54}, {1154: 10, 1155: 22}) == (timeout, subsystem)
    assert [8, 9, 3, 11] == [switch[1154] for switch in switches]
    tool.done(100, (1152, 10))
    assert [{1152: 10}] == tool.done(121, (1151, (1152,)))
    assert 5 == len(tool.done(121, (1151, (1154,))))
    tool.done(78)
    tool.done(78, (1106, 3), (1129, 4))
    assert 4005 == tool.failed(78, (1106, 2))
    assert [{1152: 54}, {1154: 10, 1155: 21}] == Tool(Console()).done(121)


def test_usage_says_of_what_it_is(tool):
    """PC6."""
    page_set, _, *pools = tool.done(126)
    assert (1168, 0) == (page_set[1157], page_set[62])
    assert {1170} == {row[1157] for row in pools}
    (oldest,) = tool.done(126, (1157, 1169))
    assert (1169, 10, 16) == (oldest[1157], oldest[1167], len(oldest[3078].ljust(16)))
    assert {1168, 1169, 1170} == {row[1157] for row in tool.done(126, (1157, 1009))}


@pytest.mark.parametrize("command", [103, 104, 106, 107, 124, 125, 131, 140, 145, 157, 158, 159, 160])
def test_what_has_no_pcf_form_goes_by_the_escape(tool, command):
    """PW4: TRACE, ARCHIVE LOG, BUFFPOOL, PSID, THREAD and INDOUBT."""
    assert 3007 == tool.failed(command)


def test_an_escape_carries_any_command(tool):
    lines = [row[3014] for row in tool.done(38, (1017, 1), (3014, "ALTER BUFFPOOL(1) BUFFERS(200)"))]
    assert lines[1] == "CSQP023I +QM1 Request completed, buffer pool 1 has 200 buffers"
    failed = tool.ask(38, (1017, 1), (3014, "FROB"))
    assert {(2, 3008)} == {(response.comp_code, response.reason) for response in failed}
    assert "CSQ9019E +QM1 FROB is not a known verb here" in [response.value(3014) for response in failed]
    assert 3228 == tool.failed(38)


@pytest.mark.parametrize(
    ("reason", "command", "parameters"),
    [
        (3007, 4711, ()),
        (4001, CREATE, ((2016, COMMAND_QUEUE), (20, 1))),
        (4004, DELETE, ((2016, COMMAND_QUEUE), (1007, 1))),
        (3228, CREATE, ((20, 1),)),
        (4005, CREATE, ((2016, "A"), (20, 99))),
        (4005, CREATE, ((2016, "A"), (20, 1), (15, -5))),
        (4005, CREATE, ((2016, "A"), (20, 1), (15, (5,)))),
        (4005, CREATE, ((2016, "A"), (20, 1), (15, (5, 6)))),
        (4005, CREATE, ((2016, "A"), (20, 1), (10, (1,)))),
        (4005, CREATE, ((2016, "A"), (20, 1), (2013, ("one", "two")))),
        (4005, CREATE, ((2016, "A"), (20, 1), (23, 7))),
        (4005, CREATE, ((2016, "A"), (20, 1), (23, (1,)))),
        (4005, 34, ((2010, "A"), (2020, (1, 2)))),
        (4005, 136, ((1181, (1, 2)),)),
        (3014, CREATE, ((2016, "A"), (20, 1), (4711, 1))),
        (3014, CREATE, ((2016, "A"), (20, 1), (2002, "B"))),
        (2085, CLEAR, ((2016, "NONE"),)),
    ],
)
def test_what_cannot_be_done_has_a_reason(tool, reason, command, parameters):
    assert reason == tool.failed(command, *parameters)


@pytest.mark.parametrize("kind", [pcf.RESPONSE, pcf.EVENT])
def test_a_message_that_is_no_command_runs_none(tool, kind):
    create = PCFMessage(CREATE, (Parameter(2016, "ORDERS"), Parameter(20, 1)), kind)
    tool.put(pcf.pack(create, little=tool.little))
    responses = [pcf.unpack(tool.replies.get(GetOptions.NO_SYNCPOINT).body, little=tool.little) for _ in range(2)]
    assert [3001, 3008] == [response.reason for response in responses]
    assert not tool.console.run("DISPLAY QLOCAL(ORDERS)").ok


def test_a_command_of_the_extended_type_runs(tool):
    create = PCFMessage(CREATE, (Parameter(2016, "ORDERS"), Parameter(20, 1)), pcf.COMMAND_XR)
    tool.put(pcf.pack(create, little=tool.little))
    assert tool.console.run("DISPLAY QLOCAL(ORDERS)").ok


def test_users_that_are_numbers_are_nobody(tool):
    assert [{}] == tool.done(133, (3025, (1, 2)))


def test_what_is_no_pcf_is_answered_and_what_cannot_be_answered_is_dropped(tool):
    tool.put(b"garbage")
    response = pcf.unpack(tool.replies.get(GetOptions.NO_SYNCPOINT).body, little=tool.little)
    assert (2, 3002) == (response.comp_code, response.reason)
    tool.put(b"garbage", reply_to="NOWHERE")
    assert (2, 1) == (tool.server.answered, tool.server.undelivered)
    assert not tool.server.serve_one()


def test_the_user_who_asked_needs_the_authority():
    profiles = (
        "connect * * read\ncommand DISPLAY.* * read\nqueue * * update\ncommand * OPER control\nqueue * OPER control"
    )
    console = Console(profiles)
    alice = Tool(console, "ALICE")
    assert 2035 == alice.failed(CREATE, (2016, "A"), (20, 1))
    assert alice.done(2, (1001, (1009,)))
    alice.server.close()
    Tool(console).done(CREATE, (2016, "A"), (20, 1))
    assert 1 == console.qm.commands.refusals


def test_every_attribute_has_a_number_and_comes_back():
    for noun, kind in KINDS.items():
        for attribute in attributes_of(kind).values():
            assert pcf_words.number_of(noun, attribute.keyword) is not None, attribute.keyword
            for value in (attribute.words or {}).values():
                shown = attribute.written(value)
                sent = pcf_words.to_pcf(attribute, attribute.keyword, shown[0])
                assert isinstance(sent, int)
                assert shown == pcf_words.to_words(attribute, sent)


@settings(max_examples=60)
@given(st.sampled_from(sorted(pcf_words.COMMANDS)), st.data())
def test_no_request_breaks_the_server(command, data):
    numbers = st.sampled_from(
        [*pcf_words.NUMBERS.values(), *pcf_words.NAME.values(), 20, 1002, 1006, 3001, 3002, 63, 3080]
    )
    values = st.one_of(
        st.integers(-5, 5), st.sampled_from(["A", "*", "", "'"]), st.just((1, 1009)), st.just(Filter(2, 1))
    )
    parameters = data.draw(st.lists(st.tuples(numbers, values), max_size=4))
    found = TOOL.ask(command, *parameters)
    assert found[-1].control == pcf.LAST
    assert TOOL.console.qm.connections.failure is None


TOOL = Tool(Console())


def test_a_reply_queue_may_be_full():
    tool = Tool(Console())
    tool.app.define(LocalQueue("SMALL", max_depth=0))
    tool.put(pcf.pack(PCFMessage(40), little=True), reply_to="SMALL")
    assert 1 == tool.server.undelivered
    with pytest.raises(MQError):
        tool.replies.get(GetOptions.NO_SYNCPOINT)


def test_a_tool_learns_what_the_queue_manager_is(tool):
    """O6: MQIA_MAX_PRIORITY, MQIA_SYNCPOINT, MQIA_COMMAND_LEVEL, MQIA_PLATFORM and MQCA_COMMAND_INPUT_Q_NAME."""
    (row,) = tool.done(2)
    assert (9, 1, 900, 3, COMMAND_QUEUE) == tuple(row[number] for number in (14, 30, 31, 32, 2003))
    assert [{2015: "QM1", 31: 900, 32: 3}] == tool.done(2, (1001, (31, 32)))
    assert 4005 == tool.failed(1, (31, 800))
