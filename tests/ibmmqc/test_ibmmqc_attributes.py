"""The numbered selectors of MQINQ and MQSET."""

import pytest

from ibmmqc.attributes import (
    FIRST_TEXT,
    NAMELIST,
    NAMES,
    NUMBERS,
    OF_ONE_TYPE,
    PROCESS,
    QUEUE,
    QUEUE_MANAGER,
    STORAGE_CLASS,
    TEXTS,
    Inquired,
    inquire,
    settings,
)
from quaestor.mqi.objects import (
    OBJECT_TYPES,
    AliasQueue,
    LocalQueue,
    Namelist,
    Process,
    QueueManagerAttributes,
    RemoteQueue,
    attributes_of,
)
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.inquiring import inquire as inquire_definition

CMQC = pytest.importorskip("ibmmq", reason="IBM's package is not installed").CMQC
MOVING = {"CURDEPTH", "IPPROCS", "OPPROCS"}

BY_NAME = {
    "MQIA_APPL_TYPE": "APPLTYPE",
    "MQIA_CODED_CHAR_SET_ID": "CCSID",
    "MQIA_CURRENT_Q_DEPTH": "CURDEPTH",
    "MQIA_DEF_INPUT_OPEN_OPTION": "DEFSOPT",
    "MQIA_DEF_PERSISTENCE": "DEFPSIST",
    "MQIA_DEF_PRIORITY": "DEFPRTY",
    "MQIA_DEFINITION_TYPE": "DEFTYPE",
    "MQIA_HARDEN_GET_BACKOUT": "HARDENBO",
    "MQIA_INHIBIT_GET": "GET",
    "MQIA_INHIBIT_PUT": "PUT",
    "MQIA_MAX_HANDLES": "MAXHANDS",
    "MQIA_USAGE": "USAGE",
    "MQIA_MAX_MSG_LENGTH": "MAXMSGL",
    "MQIA_MAX_Q_DEPTH": "MAXDEPTH",
    "MQIA_MAX_PRIORITY": "MAXPRTY",
    "MQIA_SYNCPOINT": "SYNCPT",
    "MQIA_COMMAND_LEVEL": "CMDLEVEL",
    "MQIA_PLATFORM": "PLATFORM",
    "MQCA_COMMAND_INPUT_Q_NAME": "COMMANDQ",
    "MQIA_MSG_DELIVERY_SEQUENCE": "MSGDLVSQ",
    "MQIA_OPEN_INPUT_COUNT": "IPPROCS",
    "MQIA_OPEN_OUTPUT_COUNT": "OPPROCS",
    "MQIA_RETENTION_INTERVAL": "RETINTVL",
    "MQIA_BACKOUT_THRESHOLD": "BOTHRESH",
    "MQIA_SHAREABILITY": "SHARE",
    "MQIA_TRIGGER_CONTROL": "TRIGGER",
    "MQIA_TRIGGER_INTERVAL": "TRIGINT",
    "MQIA_TRIGGER_MSG_PRIORITY": "TRIGMPRI",
    "MQIA_TRIGGER_TYPE": "TRIGTYPE",
    "MQIA_TRIGGER_DEPTH": "TRIGDPTH",
    "MQIA_MAX_UNCOMMITTED_MSGS": "MAXUMSGS",
    "MQIA_EXPIRY_INTERVAL": "EXPRYINT",
    "MQIA_Q_DEPTH_HIGH_LIMIT": "QDEPTHHI",
    "MQIA_Q_DEPTH_LOW_LIMIT": "QDEPTHLO",
    "MQIA_Q_DEPTH_MAX_EVENT": "QDPMAXEV",
    "MQIA_Q_DEPTH_HIGH_EVENT": "QDPHIEV",
    "MQIA_Q_DEPTH_LOW_EVENT": "QDPLOEV",
    "MQIA_Q_SERVICE_INTERVAL_EVENT": "QSVCIEV",
    "MQIA_INHIBIT_EVENT": "INHIBTEV",
    "MQIA_LOCAL_EVENT": "LOCALEV",
    "MQIA_REMOTE_EVENT": "REMOTEEV",
    "MQIA_START_STOP_EVENT": "STRSTPEV",
    "MQIA_PERFORMANCE_EVENT": "PERFMEV",
    "MQIA_Q_SERVICE_INTERVAL": "QSVCINT",
    "MQIA_INDEX_TYPE": "INDXTYPE",
    "MQIA_PAGESET_ID": "PSID",
    "MQIA_MONITORING_Q": "MONQ",
    "MQIA_STATISTICS_INTERVAL": "STATINT",
    "MQIA_ACCOUNTING_Q": "ACCTQ",
    "MQIA_PROPERTY_CONTROL": "PROPCTL",
    "MQCA_APPL_ID": "APPLICID",
    "MQCA_BASE_OBJECT_NAME": "TARGET",
    "MQCA_DEAD_LETTER_Q_NAME": "DEADQ",
    "MQCA_ENV_DATA": "ENVRDATA",
    "MQCA_INITIATION_Q_NAME": "INITQ",
    "MQCA_NAMELIST_DESC": "DESCR",
    "MQCA_PROCESS_DESC": "DESCR",
    "MQCA_Q_DESC": "DESCR",
    "MQCA_Q_MGR_DESC": "DESCR",
    "MQCA_REMOTE_Q_MGR_NAME": "RQMNAME",
    "MQCA_REMOTE_Q_NAME": "RNAME",
    "MQCA_BACKOUT_REQ_Q_NAME": "BOQNAME",
    "MQCA_USER_DATA": "USERDATA",
    "MQCA_STORAGE_CLASS": "STGCLASS",
    "MQCA_TRIGGER_DATA": "TRIGDATA",
    "MQCA_XMIT_Q_NAME": "XMITQ",
    "MQCA_DEF_XMIT_Q_NAME": "DEFXMITQ",
}
"""IBM's names of the selectors, and the keyword of the attribute in MQSC."""


def object_of(definition, object_type, asked_for=""):
    return Inquired(definition.name, object_type, lambda *words: inquire_definition(definition, None, words), asked_for)


LOCAL = LocalQueue("ORDERS", process="BILL", descr="what is wanted", get_allowed=False, def_exclusive=False, share=True)
OBJECTS = {
    QUEUE: object_of(LOCAL, QUEUE),
    NAMELIST: object_of(Namelist("LIST", descr="names"), NAMELIST),
    PROCESS: object_of(Process("BILL", descr="a program", appl_id="bill.py"), PROCESS),
    QUEUE_MANAGER: object_of(QueueManagerAttributes("QM1", descr="ours", dead_letter_queue="DEAD"), QUEUE_MANAGER),
}


def refused(what, *selectors):
    with pytest.raises(MQError) as said:
        inquire(what, selectors)
    return said.value.reason


def test_every_selector_means_an_attribute_that_exists():
    known = {a.keyword for kind in OBJECT_TYPES.values() for a in attributes_of(kind).values()} | MOVING
    assert set() == {number.keyword for number in NUMBERS.values()} - known
    assert set() == {keyword for keyword, _ in TEXTS.values()} - known


def test_selectors_have_ibms_numbers():
    ours = {number: told.keyword for number, told in NUMBERS.items()}
    ours |= {number: keyword for number, (keyword, _) in TEXTS.items()}
    assert {getattr(CMQC, name): keyword for name, keyword in BY_NAME.items()} == ours


def test_selectors_that_are_no_attribute_have_ibms_numbers():
    names = {
        "NAMELIST_NAME": CMQC.MQOT_NAMELIST,
        "PROCESS_NAME": CMQC.MQOT_PROCESS,
        "Q_MGR_NAME": CMQC.MQOT_Q_MGR,
        "Q_NAME": CMQC.MQOT_Q,
        "Q_MGR_IDENTIFIER": CMQC.MQOT_Q_MGR,
    }
    assert {getattr(CMQC, f"MQCA_{name}"): kind for name, kind in names.items()} == NAMES
    assert CMQC.MQCA_FIRST == FIRST_TEXT


def test_texts_have_the_lengths_that_ibms_package_expects():
    from mqinq import get_attr_length

    assert {number: get_attr_length(number) for number in TEXTS} == {n: length for n, (_, length) in TEXTS.items()}
    assert {get_attr_length(number) for number in NAMES} == {48}


def test_numbers_and_texts_come_in_the_order_asked_for():
    what = Inquired("ORDERS", QUEUE, lambda *words: dict.fromkeys(words, 7) | {"PROCESS": "BILL", "PUT": False})
    numbers, text = inquire(what, [3, 2016, 9, 10, 2012, 20])
    assert [7, 0, 1, 1] == numbers
    assert b"ORDERS".ljust(48) + b"BILL".ljust(48) == text


def test_what_holds_for_every_queue_manager():
    numbers, text = inquire(OBJECTS[QUEUE_MANAGER], [14, 30, 31, 32, 2015, 2032, 2003, 2014, 2006])
    assert [9, CMQC.MQSP_AVAILABLE, CMQC.MQCMDL_LEVEL_900, CMQC.MQPL_UNIX] == numbers
    names = ("QM1", "QM1", "SYSTEM.ADMIN.COMMAND.QUEUE")
    assert b"".join(name.encode().ljust(48) for name in names) == text[: 3 * 48]
    assert b"ours".ljust(64) + b"DEAD".ljust(48) == text[3 * 48 :]


@pytest.mark.parametrize(
    ("object_type", "selectors", "texts"),
    [
        (QUEUE, [2016, 2013, 2012], ["ORDERS", "what is wanted", "BILL"]),
        (NAMELIST, [2010, 2009], ["LIST", "names"]),
        (PROCESS, [2012, 2011, 2001], ["BILL", "a program", "bill.py"]),
    ],
)
def test_each_type_of_object_has_a_name_and_a_description(object_type, selectors, texts):
    _, text = inquire(OBJECTS[object_type], selectors)
    assert texts == [part.strip() for part in text.decode().split("  ") if part.strip()]


@pytest.mark.parametrize(
    ("keyword", "selector", "value", "told"),
    [
        ("GET", 9, True, 0),
        ("GET", 9, False, 1),
        ("PUT", 10, True, 0),
        ("PUT", 10, False, 1),
        ("DEFSOPT", 4, True, 4),
        ("DEFSOPT", 4, False, 2),
        ("DEFPSIST", 5, True, 1),
        ("SHARE", 23, False, 0),
        ("TRIGGER", 24, True, 1),
        ("MSGDLVSQ", 16, True, 1),
        ("ACCTQ", 134, -3, -3),
        ("EXPRYINT", 39, 0, 0),
    ],
)
def test_a_value_is_told_as_ibm_numbers_it(keyword, selector, value, told):
    assert ([told], b"") == inquire(Inquired("X", QUEUE, lambda *_: {keyword: value}), [selector])


@pytest.mark.parametrize("selector", [0, 19, 999, 2000, 2001 + 998, 4000, -1])
@pytest.mark.parametrize("object_type", list(OBJECTS))
def test_a_selector_nobody_knows(object_type, selector):
    assert Reason.SELECTOR_ERROR is refused(OBJECTS[object_type], selector)


@pytest.mark.parametrize(("selector", "owner"), OF_ONE_TYPE.items())
def test_a_selector_of_another_type_of_object(selector, owner):
    """AT3. The process of a queue has the selector that the name of a process has."""
    others = set(OBJECTS) - {owner} - ({QUEUE} if selector == 2012 else set())
    for other in others:
        assert Reason.SELECTOR_NOT_FOR_TYPE is refused(OBJECTS[other], selector)
    inquire(OBJECTS[owner], [selector])


@pytest.mark.parametrize(
    ("object_type", "selector"), [(QUEUE, 2006), (QUEUE, 25), (QUEUE_MANAGER, 15), (PROCESS, 9), (NAMELIST, 1)]
)
def test_an_attribute_of_another_type_of_object(object_type, selector):
    assert Reason.SELECTOR_NOT_FOR_TYPE is refused(OBJECTS[object_type], selector)


def test_a_storage_class_has_no_selector_of_its_own():
    what = Inquired("FAST", STORAGE_CLASS, dict)
    assert {Reason.SELECTOR_NOT_FOR_TYPE} == {refused(what, selector) for selector in OF_ONE_TYPE}


@pytest.mark.parametrize(
    ("definition", "leads_to", "told"),
    [
        (LocalQueue("ORDERS"), "ORDERS", (1, "ORDERS")),
        (AliasQueue("AL", target="ORDERS"), "ORDERS", (3, "AL")),
        (RemoteQueue("REM", remote_name="THERE", remote_qmgr="QM2"), "XQ", (6, "REM")),
        (LocalQueue("CSQ.1"), "CSQ.1", (1, "CSQ.1")),
    ],
)
def test_a_queue_has_the_name_and_type_of_what_was_opened(definition, leads_to, told):
    """AT4; the last one was made from a model."""
    asked_for = "MODEL" if definition.name == "CSQ.1" else definition.name
    what = object_of(definition, QUEUE, asked_for)._replace(name=leads_to)
    numbers, text = inquire(what, [20, 2016])
    assert told == (numbers[0], text.decode().rstrip())


# --- MQSET -----------------------------------------------------------------------------------------------------------


def test_settings_by_keyword():
    assert {"PUT": False, "TRIGDATA": "go", "TRIGGER": True} == settings([10, 2023, 24], [1, 1], b"go".ljust(64))


def test_texts_to_set_are_taken_one_after_the_other():
    texts = b"go\0rest".ljust(64) + b"DEAD ".ljust(48) + b"\xffX".ljust(8)
    assert {"TRIGDATA": "go", "DEADQ": "DEAD", "STGCLASS": "\ufffdX"} == settings([2023, 2006, 2022], [], texts)


@pytest.mark.parametrize(
    ("selector", "number", "meant"),
    [(9, 0, True), (9, 1, False), (10, 0, True), (10, 2, 2), (24, 0, False), (24, 1, True), (24, 2, 2), (29, 7, 7)],
)
def test_a_number_to_set_is_what_it_means_or_itself(selector, number, meant):
    """One that means nothing is left for the queue manager to refuse."""
    ((_, value),) = settings([selector], [number], b"").items()
    assert (meant, type(meant)) == (value, type(value))


@pytest.mark.parametrize(
    ("selectors", "numbers"), [([999], [1]), ([10, 9], [1]), ([2999], []), ([20], [1]), ([10], [])]
)
def test_a_setting_that_means_nothing(selectors, numbers):
    with pytest.raises(MQError) as said:
        settings(selectors, numbers, b"")
    assert Reason.SELECTOR_ERROR is said.value.reason
