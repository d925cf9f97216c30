"""Semantics 26 to 36: resolution, dynamic queues, open options, inhibits, lengths, truncation, handles, identifiers."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from model.answers import bodies, drain, fails, warns
from qmgr.small import EVERYTHING
from quaestor.mqi.descriptors import APPL_TYPE_QMGR, MQMD, NO_ID, Target
from quaestor.mqi.headers import MQXQH
from quaestor.mqi.objects import (
    AliasQueue,
    DefinitionType,
    IndexType,
    LocalQueue,
    ModelQueue,
    Namelist,
    Process,
    QueueManagerAttributes,
    RemoteQueue,
    StorageClass,
    TriggerType,
)
from quaestor.mqi.options import CloseOptions, GetOptions, MsgFlags, OpenOptions, PutOptions
from quaestor.mqi.reasons import CompCode, Reason
from quaestor.mqi.reports import Report

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
OUT, IN, BROWSE = OpenOptions.OUTPUT, OpenOptions.INPUT_SHARED, OpenOptions.BROWSE
INQUIRE, SET = OpenOptions.INQUIRE, OpenOptions.SET
SAVES = EVERYTHING | OpenOptions.SAVE_ALL_CONTEXT | OpenOptions.PASS_ALL_CONTEXT


# -- 26


@pytest.fixture
def network(qm, app):
    """Definitions that lead to other queue managers."""
    qm.queue("LOCAL")
    app.define(LocalQueue("QM2", xmit=True))
    app.define(LocalQueue("TO.QM3", xmit=True))
    app.define(LocalQueue("PLAIN"))
    for definition in (
        AliasQueue("ALIAS", target="LOCAL"),
        AliasQueue("ALIAS.REMOTE", target="REMOTE"),
        AliasQueue("ALIAS.NOWHERE", target="NOWHERE"),
        AliasQueue("ALIAS.ALIAS", target="ALIAS"),
        AliasQueue("ALIAS.MODEL", target="MODEL"),
        ModelQueue("MODEL"),
        RemoteQueue("REMOTE", remote_name="THERE", remote_qmgr="QM2"),
        RemoteQueue("REMOTE.XMITQ", remote_name="THERE", remote_qmgr="QM9", xmit_queue="TO.QM3"),
        RemoteQueue("REMOTE.HERE", remote_name="LOCAL", remote_qmgr="QM1"),
        RemoteQueue("REMOTE.UNKNOWN", remote_name="THERE", remote_qmgr="QM8"),
        RemoteQueue("REMOTE.NO.XMITQ", remote_name="THERE", remote_qmgr="QM8", xmit_queue="MISSING"),
        RemoteQueue("REMOTE.BAD.XMITQ", remote_name="THERE", remote_qmgr="QM8", xmit_queue="ALIAS"),
        RemoteQueue("REMOTE.PLAIN", remote_name="THERE", remote_qmgr="QM8", xmit_queue="PLAIN"),
        RemoteQueue("BRANCH", remote_qmgr="QM2"),
        RemoteQueue("BRANCH.XMITQ", remote_qmgr="QM3", xmit_queue="TO.QM3"),
        RemoteQueue("HERE.TOO", remote_qmgr="QM1"),
    ):
        app.define(definition)
    return app


@pytest.mark.parametrize(
    ("name", "qmgr", "arrives", "remote"),
    [
        ("LOCAL", "", "LOCAL", None),
        ("LOCAL  ", "QM1", "LOCAL", None),
        ("ALIAS", "", "LOCAL", None),
        ("LOCAL", "HERE.TOO", "LOCAL", None),
        ("REMOTE", "", "QM2", ("THERE", "QM2")),
        ("ALIAS.REMOTE", "", "QM2", ("THERE", "QM2")),
        ("REMOTE.XMITQ", "", "TO.QM3", ("THERE", "QM9")),
        ("ANY.QUEUE", "QM2", "QM2", ("ANY.QUEUE", "QM2")),
        ("ANY.QUEUE", "BRANCH", "QM2", ("ANY.QUEUE", "QM2")),
        ("ANY.QUEUE", "BRANCH.XMITQ", "TO.QM3", ("ANY.QUEUE", "QM3")),
    ],
)
def test_26_where_a_name_leads(network, name, qmgr, arrives, remote):
    network.put1(name, "x", MQMD(correl_id=b"C" * 24, format="MQSTR"), NOW, qmgr=qmgr)
    message = network.get(arrives, GET_NOW)
    if remote is None:
        assert message.text == "x"
        return
    header, body = MQXQH.unpack(message.body)
    assert (*remote, b"x") == (header.remote_q_name, header.remote_qmgr_name, body)
    assert ("MQXMIT", "MQSTR", b"C" * 24) == (
        message.envelope.format,
        header.descriptor.format,
        header.descriptor.correl_id,
    )
    assert message.msg_id == header.descriptor.msg_id


@pytest.mark.parametrize(
    ("name", "qmgr", "reason"),
    [
        ("NOWHERE", "", Reason.UNKNOWN_OBJECT_NAME),
        ("ALIAS.NOWHERE", "", Reason.UNKNOWN_ALIAS_BASE_Q),
        ("ALIAS.ALIAS", "", Reason.ALIAS_BASE_Q_TYPE_ERROR),
        ("ALIAS.MODEL", "", Reason.ALIAS_BASE_Q_TYPE_ERROR),
        ("MODEL", "QM2", Reason.Q_TYPE_ERROR),
        ("REMOTE.HERE", "", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("ANY", "QM7", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("ANY", "REMOTE", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("REMOTE.UNKNOWN", "", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("BRANCH", "", Reason.REMOTE_Q_NAME_ERROR),
        ("", "QM2", Reason.REMOTE_Q_NAME_ERROR),
        ("ANY", "PLAIN", Reason.XMIT_Q_USAGE_ERROR),
        ("REMOTE.PLAIN", "", Reason.XMIT_Q_USAGE_ERROR),
        ("REMOTE.BAD.XMITQ", "", Reason.XMIT_Q_TYPE_ERROR),
        ("REMOTE.NO.XMITQ", "", Reason.UNKNOWN_XMIT_Q),
        ("BAD NAME", "", Reason.OBJECT_NAME_ERROR),
        ("", "", Reason.OBJECT_NAME_ERROR),
        ("X" * 49, "", Reason.OBJECT_NAME_ERROR),
        ("LOCAL", "BAD-NAME", Reason.OBJECT_Q_MGR_NAME_ERROR),
    ],
)
def test_26_names_that_lead_nowhere(network, name, qmgr, reason):
    with fails(reason):
        network.open(name, OUT, qmgr=qmgr)


@pytest.mark.parametrize(
    ("default", "reason"),
    [
        ("MISSING", Reason.UNKNOWN_DEF_XMIT_Q),
        ("ALIAS", Reason.DEF_XMIT_Q_TYPE_ERROR),
        ("PLAIN", Reason.DEF_XMIT_Q_USAGE_ERROR),
        ("TO.QM3", None),
    ],
)
def test_26_the_default_transmission_queue(network, default, reason):
    network.alter(QueueManagerAttributes, def_xmit_queue=default)
    if reason is None:
        assert network.open("ANY", OUT, qmgr="QM7").name == "TO.QM3"
        return
    with fails(reason):
        network.open("ANY", OUT, qmgr="QM7")


@pytest.mark.parametrize("options", [IN, BROWSE, SET, OUT | IN])
@pytest.mark.parametrize("name", ["REMOTE", "ALIAS.REMOTE"])
def test_26_only_local_queues_for_input_browse_and_set(network, name, options):
    with fails(Reason.OPTION_NOT_VALID_FOR_TYPE):
        network.open(name, options)


def test_26_a_remote_definition_can_be_inquired(network):
    assert network.open("REMOTE", INQUIRE).inquire("RNAME", "RQMNAME") == {"RNAME": "THERE", "RQMNAME": "QM2"}


def test_26_a_group_travels_with_its_identifiers(network):
    md = MQMD(group_id=b"G" * 24, msg_seq_number=4, msg_flags=MsgFlags.MSG_IN_GROUP, format="MQSTR")
    network.put1("REMOTE", "x", md, NOW)
    header, body = MQXQH.unpack(network.get("QM2").body)
    sent = header.descriptor
    assert (b"G" * 24, 4, 8, "MQSTR", b"x") == (sent.group_id, sent.msg_seq_number, sent.msg_flags, sent.format, body)


@pytest.mark.parametrize("branch", ["BRANCH", "BRANCH.XMITQ"])
def test_26_an_alias_of_a_queue_manager_is_on_the_path(network, branch):
    """30 and 2: it inhibits puts, and is the first definition that has defaults."""
    network.alter(RemoteQueue, branch, def_priority=7, def_persistent=True)
    put = network.put1("ANY.QUEUE", "x", None, NOW, qmgr=branch)
    assert (7, 1) == (put.priority, put.persistence)
    opened = network.open("ANY.QUEUE", OUT, qmgr=branch)
    network.alter(RemoteQueue, branch, put_allowed=False)
    for call in (lambda: opened.put("x", None, NOW), lambda: network.put1("ANY.QUEUE", "x", None, NOW, qmgr=branch)):
        with fails(Reason.PUT_INHIBITED):
            call()


def test_30_setting_by_an_alias_sets_the_alias(qm, app, orders):
    """As inquiring asks the alias; the queue goes on for those who name it."""
    app.define(AliasQueue("FRONT", target="ORDERS"))
    front = app.open("FRONT", EVERYTHING)
    front.set(PUT="DISABLED", GET="DISABLED")
    assert front.inquire("PUT", "GET") == {"PUT": False, "GET": False}
    assert orders.inquire("PUT", "GET") == {"PUT": True, "GET": True}
    with fails(Reason.PUT_INHIBITED):
        front.put("x", None, NOW)
    orders.put("x", None, NOW)
    with fails(Reason.GET_INHIBITED):
        front.get(GET_NOW)
    with fails(Reason.SELECTOR_NOT_FOR_TYPE):
        front.set(TRIGDPTH=5)
    with fails(Reason.INHIBIT_VALUE_ERROR):
        front.set(PUT="SOMETIMES")


def test_26_what_is_put_to_a_remote_queue_comes_back_as_it_was_said(network):
    """The transmission header is nobody's affair but the channel's."""
    md = MQMD(correl_id=b"C" * 24, format="MQSTR", expiry=70, report=Report.COA, reply_to_q="LOCAL")
    opened = network.open("REMOTE", OUT)
    for put in (network.put1("REMOTE", b"x", md, NOW), opened.put(b"x", md, NOW)):
        said = put.descriptor
        assert (b"x", "MQSTR", b"C" * 24, 70, Report.COA) == (
            put.body,
            said.format,
            said.correl_id,
            said.expiry,
            said.report,
        )


@pytest.mark.parametrize(
    ("given", "carried"),
    [
        (("LOCAL", ""), ("LOCAL", "QM1")),
        (("REMOTE", ""), ("THERE", "QM2")),
        (("REMOTE.NO.XMITQ", ""), ("THERE", "QM8")),
        (("BRANCH", ""), ("BRANCH", "QM2")),
        (("REMOTE", "QM1"), ("REMOTE", "QM1")),
        (("ALIAS.REMOTE", ""), ("ALIAS.REMOTE", "QM1")),
        (("NOWHERE", ""), ("NOWHERE", "QM1")),
    ],
)
def test_26_a_remote_definition_is_an_alias_of_the_reply_to_queue(network, given, carried):
    """J8: who answers elsewhere does not know the definitions of here."""
    network.put1("LOCAL", "x", MQMD(reply_to_q=given[0], reply_to_qmgr=given[1]), NOW)
    got = network.get("LOCAL", GET_NOW).envelope
    assert carried == (got.reply_to_q, got.reply_to_qmgr)


def test_26_the_expiry_of_a_message_travels_with_it(network):
    network.put1("REMOTE", "x", MQMD(expiry=70), NOW)
    header, _ = MQXQH.unpack(network.get("QM2", GET_NOW).body)
    assert 70 == header.descriptor.expiry


# -- 27


@pytest.fixture
def models(app):
    app.define(ModelQueue("TEMP", share=True, def_exclusive=False))
    app.define(ModelQueue("PERM", share=True, def_exclusive=False, definition=DefinitionType.PERMDYN))
    return app


def test_27_opening_a_model_makes_a_queue(models):
    first, second = models.open("TEMP", EVERYTHING), models.open("TEMP", EVERYTHING, dynamic_name="REPLY.*")
    assert (True, True, 48 >= len(second.name)) == (
        first.name.startswith("CSQ."),
        second.name.startswith("REPLY."),
        True,
    )
    assert first.inquire("DEFTYPE") == {"DEFTYPE": DefinitionType.TEMPDYN}
    named = models.open("TEMP", EVERYTHING, dynamic_name="MINE")
    assert named.name == "MINE"
    with fails(Reason.OBJECT_ALREADY_EXISTS):
        models.open("TEMP", EVERYTHING, dynamic_name="MINE")


@pytest.mark.parametrize("name", ["", "BAD NAME", "X" * 49, "X" * 33 + "*", "A B*", "**"])
def test_27_bad_dynamic_names(models, name):
    with fails(Reason.DYNAMIC_Q_NAME_ERROR):
        models.open("TEMP", EVERYTHING, dynamic_name=name)


def test_27_a_temporary_queue_takes_no_persistent_message(models):
    queue = models.open("TEMP", EVERYTHING)
    queue.put("x", MQMD(persistence=0), NOW)
    with fails(Reason.PERSISTENT_NOT_ALLOWED):
        queue.put("x", MQMD(persistence=1), NOW)


def test_27_a_dynamic_queue_answers_for_itself(models):
    """Not its model: what was set is what is inquired."""
    queue = models.open("TEMP", EVERYTHING)
    queue.set(PUT="DISABLED", TRIGDPTH=7)
    assert queue.inquire("PUT", "TRIGDPTH") == {"PUT": False, "TRIGDPTH": 7}
    assert models.inquire(ModelQueue, "TEMP", "PUT") == {"PUT": True}


@pytest.mark.parametrize("target", ["TEMP", "PERM", Target("TEMP", dynamic_name="MINE")])
def test_27_put1_makes_no_queue(models, target):
    with fails(Reason.Q_TYPE_ERROR):
        models.put1(target, "x", None, NOW)
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        models.open("MINE", OUT)


def test_27_a_model_is_not_opened_by_an_alias_of_its_queue_manager(models):
    models.define(RemoteQueue("HOME", remote_qmgr="QM1"))
    with fails(Reason.Q_TYPE_ERROR):
        models.open("TEMP", EVERYTHING, qmgr="HOME")
    assert models.open("TEMP", EVERYTHING, qmgr="QM1").name


def test_27_a_temporary_queue_goes_with_its_creators_handle(models, other):
    queue = models.open("TEMP", EVERYTHING, dynamic_name="MINE")
    queue.put("x", None, NOW)
    guest = other.open("MINE", EVERYTHING)
    guest.close()
    assert other.open("MINE", IN).get().text == "x"
    guest = other.open("MINE", EVERYTHING)
    queue.close()
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        other.open("MINE", IN)
    for call in (guest.get, lambda: guest.put("x"), lambda: guest.inquire("CURDEPTH"), lambda: guest.set(PUT=False)):
        with fails(Reason.Q_DELETED):
            call()


def test_27_a_deleted_queue_stays_behind_the_scenes_until_the_units_on_it_end(qm, models, other):
    queue = models.open("TEMP", EVERYTHING, dynamic_name="MINE")
    guest = other.open("MINE", OUT)
    guest.put("uncommitted")
    guest.close()
    queue.close()
    models.open("TEMP", EVERYTHING, dynamic_name="OTHER")
    other.commit()
    assert [] == [stored.name for stored in qm.messages.catalogue._store.stored() if stored.name == "MINE"]
    assert models.open("TEMP", EVERYTHING, dynamic_name="MINE").inquire("CURDEPTH") == {"CURDEPTH": 0}


@pytest.mark.parametrize("held_by", ["handle", "unit"])
@pytest.mark.parametrize("kind", [DefinitionType.TEMPDYN, DefinitionType.PERMDYN])
def test_27_the_name_of_a_deleted_queue_is_in_use_until_it_is_gone(app, other, kind, held_by):
    """V9: a new queue of its name would lose its messages with the storage of the old one."""
    app.define(ModelQueue("MINE.MODEL", definition=kind))
    mine = app.open("MINE.MODEL", dynamic_name="MINE")
    theirs = other.open("MINE", OUT)
    if held_by == "unit" and kind is DefinitionType.TEMPDYN:  # a permanent one is not deleted then
        theirs.put("old")
        theirs.close()
    else:
        theirs.put("old", None, NOW)
    mine.close(CloseOptions.DELETE_PURGE)
    for making in (lambda: app.define(LocalQueue("MINE")), lambda: app.open("MINE.MODEL", dynamic_name="MINE")):
        with fails(Reason.NAME_IN_USE):
            making()
    other.commit()
    theirs.close()
    app.define(LocalQueue("MINE"))
    app.put1("MINE", "new", MQMD(persistence=1), NOW)
    assert app.get("MINE", GET_NOW).text == "new"


def test_27_disconnecting_closes_and_so_deletes(qm, models, other):
    models.open("TEMP", EVERYTHING, dynamic_name="MINE")
    models.disconnect()
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        other.open("MINE", OUT)


def test_27_a_permanent_queue_stays_until_it_is_deleted(models, other):
    queue = models.open("PERM", EVERYTHING, dynamic_name="KEPT")
    queue.put("x", MQMD(persistence=1), NOW)
    queue.close()
    queue = other.open("KEPT", EVERYTHING)
    with fails(Reason.Q_NOT_EMPTY):
        queue.close(CloseOptions.DELETE)
    queue.put("y")
    with fails(Reason.Q_NOT_EMPTY):
        queue.close(CloseOptions.DELETE_PURGE)
    other.backout()
    queue.close(CloseOptions.DELETE_PURGE)
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        other.open("KEPT", OUT)


def test_27_an_empty_permanent_queue_is_deleted(models):
    models.open("PERM", EVERYTHING, dynamic_name="KEPT").close(CloseOptions.DELETE)
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        models.open("KEPT", OUT)


def test_27_only_dynamic_queues_are_deleted_by_close(models, other, orders):
    with fails(Reason.OPTION_NOT_VALID_FOR_TYPE):
        orders.close(CloseOptions.DELETE)
    models.open("TEMP", EVERYTHING, dynamic_name="MINE")
    with fails(Reason.OPTION_NOT_VALID_FOR_TYPE):
        other.open("MINE", OUT).close(CloseOptions.DELETE)
    for options in (3, 4):
        with fails(Reason.OPTIONS_ERROR):
            orders.close(options)


def test_27_a_queue_that_is_used_is_not_deleted(app, orders):
    with fails(Reason.OBJECT_IN_USE):
        app.delete(LocalQueue, "ORDERS")
    orders.put("x")
    orders.close()
    for purge in (False, True):
        with fails(Reason.Q_NOT_EMPTY):
            app.delete(LocalQueue, "ORDERS", purge=purge)
    app.commit()
    with fails(Reason.Q_NOT_EMPTY):
        app.delete(LocalQueue, "ORDERS")
    app.delete(LocalQueue, "ORDERS", purge=True)
    app.define(LocalQueue("ORDERS"))
    with fails(Reason.NO_MSG_AVAILABLE):
        app.get("ORDERS")


# -- 28, 29


@pytest.mark.parametrize(
    ("opened", "call", "reason"),
    [
        (OUT, lambda q: q.get(), Reason.NOT_OPEN_FOR_INPUT),
        (BROWSE, lambda q: q.get(), Reason.NOT_OPEN_FOR_INPUT),
        (IN, lambda q: q.browse(), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.browse(), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.get(GetOptions.MSG_UNDER_CURSOR), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.get(GetOptions.UNLOCK), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.get(GetOptions.BROWSE_FIRST, wait_ms=0), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.get(GetOptions.NO_SYNCPOINT), Reason.NOT_OPEN_FOR_INPUT),
        (IN, lambda q: q.put("x"), Reason.NOT_OPEN_FOR_OUTPUT),
        (OUT, lambda q: q.inquire("CURDEPTH"), Reason.NOT_OPEN_FOR_INQUIRE),
        (OUT, lambda q: q.set(PUT="DISABLED"), Reason.NOT_OPEN_FOR_SET),
        (OUT, lambda q: q.put("x", None, PutOptions.PASS_ALL_CONTEXT), Reason.NOT_OPEN_FOR_PASS_ALL),
        (OUT, lambda q: q.put("x", None, PutOptions.PASS_IDENTITY_CONTEXT), Reason.NOT_OPEN_FOR_PASS_IDENT),
        (OUT, lambda q: q.put("x", None, PutOptions.SET_ALL_CONTEXT), Reason.NOT_OPEN_FOR_SET_ALL),
        (OUT, lambda q: q.put("x", None, PutOptions.SET_IDENTITY_CONTEXT), Reason.NOT_OPEN_FOR_SET_IDENT),
    ],
)
def test_28_a_handle_does_what_it_was_opened_for(qm, app, opened, call, reason):
    qm.queue("ORDERS")
    with fails(reason):
        call(app.open("ORDERS", opened))


@pytest.mark.parametrize("options", [0, 1 | 2, 2 | 4, 8192, 1 << 21, OUT | OpenOptions.SAVE_ALL_CONTEXT, IN | 1024])
def test_28_open_options_that_mean_nothing(qm, app, options):
    qm.queue("ORDERS")
    with fails(Reason.OPTIONS_ERROR):
        app.open("ORDERS", options)


@pytest.mark.parametrize("options", [2 | 4, 32 | 256, 1, 1 << 22])
def test_28_put_options_that_mean_nothing(orders, options):
    with fails(Reason.OPTIONS_ERROR):
        orders.put("x", None, options)


@pytest.mark.parametrize("options", [2 | 4, 16 | 32, 16 | 2, 512, 1024 | 16, 256 | 16, 1 << 25, 2 | 4096])
def test_28_get_options_that_mean_nothing(orders, options):
    with fails(Reason.OPTIONS_ERROR):
        orders.get(options)


def test_28_context_is_passed_from_a_message_that_was_got(qm, app, other):
    for name in ("IN", "OUT"):
        qm.queue(name)
    setter = app.open("IN", OUT | OpenOptions.SET_ALL_CONTEXT)
    setter.put("x", MQMD(user_identifier="CAROL", put_appl_name="payroll"), NOW | PutOptions.SET_ALL_CONTEXT)
    source = other.open("IN", IN | OpenOptions.SAVE_ALL_CONTEXT)
    sink = other.open("OUT", OUT | OpenOptions.PASS_ALL_CONTEXT)
    for options in (PutOptions.PASS_IDENTITY_CONTEXT, PutOptions.PASS_ALL_CONTEXT):
        with fails(Reason.CONTEXT_NOT_AVAILABLE):
            sink.put("y", None, options, context=source)
    with fails(Reason.CONTEXT_HANDLE_ERROR):
        sink.put("y", None, PutOptions.PASS_ALL_CONTEXT)
    source.get()
    sink.put("all", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=source)
    sink.put("identity", None, NOW | PutOptions.PASS_IDENTITY_CONTEXT, context=source)
    sink.put("default", None, NOW)
    sink.put("none", None, NOW | PutOptions.NO_CONTEXT)
    got = [(m.text, m.descriptor.user_identifier, m.descriptor.put_appl_name) for m in drain(app.open("OUT", IN))]
    assert got == [
        ("all", "CAROL", "payroll"),
        ("identity", "CAROL", "test"),
        ("default", "BOB", "test"),
        ("none", "", ""),
    ]


def test_28_context_is_that_of_an_open_queue_of_the_same_connection(qm, app, other, orders):
    """HA8: what is no such queue is refused where context is to be passed, and not looked at elsewhere."""
    passing = NOW | PutOptions.PASS_ALL_CONTEXT
    mine, theirs, gone = other.open("ORDERS", SAVES), app.open("ORDERS", SAVES), other.open("ORDERS", SAVES)
    for handle in (mine, theirs, gone):
        orders.put("x", None, NOW)
        handle.get(GET_NOW)
    gone.close()
    for context in (theirs, gone, other.open("ORDERS", OUT), 42):
        with fails(Reason.CONTEXT_HANDLE_ERROR):
            mine.put("passed", None, passing, context=context)
        mine.put("own", None, NOW, context=context)
    with fails(Reason.CONTEXT_HANDLE_ERROR):
        other.put1("ORDERS", "passed", None, passing)
    assert ["own"] * 4 == bodies(drain(orders))
    mine.put("passed", None, passing, context=mine)


LONG_NAMES = {"user_identifier": "administrator", "put_appl_name": "a program with a rather long name"}


def test_28_longer_names_than_there_is_room_for_are_passed_and_answered(qm, orders):
    """J5: the queue manager itself said them; what an application sets has the length of the field."""
    user, name = LONG_NAMES.values()
    long = qm.connections.connect(user, name)
    source = long.open("ORDERS", SAVES | OUT | OpenOptions.SET_ALL_CONTEXT | OpenOptions.PASS_ALL_CONTEXT)
    source.put("x", None, NOW)
    got = source.get(GET_NOW).descriptor
    source.put("passed", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=source)
    orders.put("answered", got, NOW)
    assert [(user, name), ("ALICE", "test")] == [
        (m.envelope.user_identifier, m.envelope.put_appl_name) for m in drain(orders)
    ]
    for field, said in LONG_NAMES.items():
        with fails(Reason.MD_ERROR):
            source.put("set", MQMD(**{field: said}), NOW | PutOptions.SET_ALL_CONTEXT)


def test_28_the_time_of_a_put_goes_with_its_context(qm, app):
    """J5, G5: passed or set it is the original's, refused there is none; else it is that of this put."""
    qm.queue("IN")
    every = app.open("IN", SAVES | OpenOptions.SET_ALL_CONTEXT)
    dated = MQMD(put_date="20200229", put_time="23595999")
    every.put("set", dated, NOW | PutOptions.SET_ALL_CONTEXT)
    assert ("20200229", "23595999") == when(every.get(GetOptions.NO_SYNCPOINT))
    every.put("passed", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=every)
    assert ("20200229", "23595999") == when(every.get(GetOptions.BROWSE_FIRST))
    every.get(GetOptions.NO_SYNCPOINT)
    for options, expected in (
        (PutOptions.PASS_ALL_CONTEXT, ("20200229", "23595999")),
        (PutOptions.PASS_IDENTITY_CONTEXT, today(qm)),
        (PutOptions.NO_CONTEXT, ("", "")),
        (PutOptions.NONE, today(qm)),
    ):
        passes = options & (PutOptions.PASS_ALL_CONTEXT | PutOptions.PASS_IDENTITY_CONTEXT)
        sent = every.put("x", dated, NOW | options, context=every if passes else None)
        got = app.get("IN", GetOptions.NO_SYNCPOINT)
        assert [expected, expected] == [when(sent), when(got)], options
    every.put("blank", None, NOW | PutOptions.SET_ALL_CONTEXT)
    assert ("", "") == when(app.get("IN", GetOptions.NO_SYNCPOINT))
    for wrong in ({"put_date": "2020-02-29"}, {"put_time": 7}):
        with fails(Reason.MD_ERROR):
            every.put("x", MQMD(**wrong), NOW | PutOptions.SET_ALL_CONTEXT)


def test_28_a_time_that_was_never_set_is_passed(qm, app):
    """What an application forwards keeps the moment at which it was put first."""
    qm.queue("IN")
    every = app.open("IN", SAVES)
    first = when(every.put("x", None, NOW))
    every.get(GetOptions.NO_SYNCPOINT)
    qm.clock.advance(seconds=90_000)
    forwarded = every.put("x", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=every)
    assert first == when(forwarded) == when(every.get(GetOptions.NO_SYNCPOINT))
    assert first != today(qm)


def test_28_a_report_has_the_time_at_which_it_was_made(qm, app):
    for name in ("IN", "REPLIES"):
        qm.queue(name)
    setter = app.open("IN", OUT | OpenOptions.SET_ALL_CONTEXT)
    asking = MQMD(put_date="20200229", put_time="23595999", report=int(Report.COA), reply_to_q="REPLIES")
    setter.put("x", asking, NOW | PutOptions.SET_ALL_CONTEXT)
    assert today(qm) == when(app.get("REPLIES", GET_NOW))


def test_28_a_report_has_the_identity_of_the_original_and_an_origin_of_its_own(qm, app):
    for name in ("IN", "REPLIES"):
        qm.queue(name)
    setter = app.open("IN", OUT | OpenOptions.SET_ALL_CONTEXT)
    said = MQMD(user_identifier="CAROL", appl_identity_data="desk", put_appl_name="payroll", appl_origin_data="home")
    setter.put("x", replace(said, report=int(Report.COA), reply_to_q="REPLIES"), NOW | PutOptions.SET_ALL_CONTEXT)
    got = app.get("REPLIES", GET_NOW).envelope
    assert ("CAROL", "desk") == (got.user_identifier, got.appl_identity_data)
    assert (APPL_TYPE_QMGR, "QM1", "") == (got.put_appl_type, got.put_appl_name, got.appl_origin_data)


def test_28_a_browse_leaves_no_context(qm, app):
    """GE8."""
    qm.queue("IN")
    every = app.open("IN", SAVES)
    for _ in range(2):
        every.put("x", None, NOW)
    every.get(GetOptions.NO_SYNCPOINT)
    every.get(GetOptions.BROWSE_FIRST)
    with fails(Reason.CONTEXT_NOT_AVAILABLE):
        every.put("y", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=every)


def when(message):
    return message.descriptor.put_date, message.descriptor.put_time


def today(qm):
    """Date and time of a put now."""
    now = datetime.fromtimestamp(qm.clock.now_us() / 1_000_000, UTC)
    return now.strftime("%Y%m%d"), now.strftime("%H%M%S00")


@pytest.mark.parametrize(
    ("share", "exclusive_default", "first", "second", "allowed"),
    [
        (True, False, OpenOptions.INPUT_SHARED, OpenOptions.INPUT_SHARED, True),
        (True, False, OpenOptions.INPUT_SHARED, OpenOptions.INPUT_EXCLUSIVE, False),
        (True, False, OpenOptions.INPUT_EXCLUSIVE, OpenOptions.INPUT_SHARED, False),
        (True, False, OpenOptions.INPUT_AS_Q_DEF, OpenOptions.INPUT_AS_Q_DEF, True),
        (True, True, OpenOptions.INPUT_AS_Q_DEF, OpenOptions.INPUT_SHARED, False),
        (False, False, OpenOptions.INPUT_SHARED, OpenOptions.INPUT_SHARED, False),
        (False, True, OpenOptions.INPUT_SHARED, OpenOptions.BROWSE, True),
        (True, True, OpenOptions.INPUT_EXCLUSIVE, OpenOptions.OUTPUT, True),
    ],
)
def test_29_shared_and_exclusive_input(qm, app, other, share, exclusive_default, first, second, allowed):
    qm.queue("Q", share=share, def_exclusive=exclusive_default)
    handle = app.open("Q", first)
    if allowed:
        other.open("Q", second).close()
    else:
        with fails(Reason.OBJECT_IN_USE):
            other.open("Q", second)
    handle.close()
    other.open("Q", second)


def test_29_zos_defaults_are_exclusive_and_not_shared(app, other):
    app.define(LocalQueue("Q"))
    app.open("Q")
    with fails(Reason.OBJECT_IN_USE):
        other.open("Q", IN)


# -- 30, 31, 32


def test_30_inhibited_on_any_definition_of_the_path(qm, app, orders):
    app.define(AliasQueue("FRONT", target="ORDERS"))
    front = app.open("FRONT", EVERYTHING)
    front.put("x", None, NOW)
    app.alter(AliasQueue, "FRONT", put_allowed=False, get_allowed=False)
    with fails(Reason.PUT_INHIBITED):
        front.put("x")
    with fails(Reason.PUT_INHIBITED):
        app.put1("FRONT", "x")
    with fails(Reason.GET_INHIBITED):
        front.get()
    assert orders.get().text == "x"
    app.alter(AliasQueue, "FRONT", put_allowed=True, get_allowed=True)
    orders.set(PUT="DISABLED", GET=False)
    with fails(Reason.PUT_INHIBITED):
        front.put("x")
    with fails(Reason.GET_INHIBITED):
        front.browse()


def test_30_a_remote_definition_inhibits_too(network):
    network.alter(RemoteQueue, "REMOTE", put_allowed=False)
    with fails(Reason.PUT_INHIBITED):
        network.put1("ALIAS.REMOTE", "x")


def test_31_longer_than_the_queue_or_the_queue_manager_allows(qm, app):
    qm.queue("SHORT", max_msg_length=10)
    qm.queue("LONG", max_msg_length=104857600)
    app.alter(QueueManagerAttributes, max_msg_length=40000)
    short, long = app.open("SHORT", EVERYTHING), app.open("LONG", EVERYTHING)
    short.put(bytes(10))
    with fails(Reason.MSG_TOO_BIG_FOR_Q) as caught:
        short.put(bytes(11))
    assert caught.value.facts == {"queue": "SHORT", "length": 11, "max_length": 10}
    long.put(bytes(40000))
    for handle in (short, long):
        with fails(Reason.MSG_TOO_BIG_FOR_Q_MGR):
            handle.put(bytes(40001))


@pytest.mark.parametrize(("flags", "longest"), [(0, 572), (MsgFlags.MSG_IN_GROUP, 500)])
def test_31_a_message_and_its_header_are_no_longer_than_the_transmission_queue_allows(network, flags, longest):
    """The header of a message in a group has an extension."""
    network.alter(LocalQueue, "QM2", max_msg_length=1000)
    network.put1("REMOTE", bytes(longest), MQMD(msg_flags=int(flags)), NOW)
    assert len(network.get("QM2", GET_NOW).body) == 1000
    with fails(Reason.MSG_TOO_BIG_FOR_Q):
        network.put1("REMOTE", bytes(longest + 1), MQMD(msg_flags=int(flags)), NOW)


def test_32_too_long_for_the_buffer_stays(orders):
    orders.put("0123456789", None, NOW)
    for options in (GetOptions.NONE, GetOptions.BROWSE_FIRST):
        with fails(Reason.TRUNCATED_MSG_FAILED, CompCode.WARNING) as caught:
            orders.get(options, max_length=4)
        assert (b"0123", 10) == (caught.value.facts["message"].body, caught.value.facts["length"])
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 1}


def test_32_truncation_accepted_takes_it(app, orders):
    orders.put("0123456789", None, NOW)
    message = orders.get(GET_NOW | GetOptions.ACCEPT_TRUNCATED_MSG, max_length=4)
    assert (b"0123", 10, True) == (message.body, message.original_length, message.truncated)
    assert warns(app, Reason.TRUNCATED_MSG_ACCEPTED)
    assert [] == drain(orders)


def test_32_a_negative_length(orders):
    for more in ({}, {"wait_ms": 0}):
        with fails(Reason.BUFFER_LENGTH_ERROR):
            orders.get(max_length=-1, **more)


# -- 34, 35, 36 and other bad input


def test_34_closed_handles_and_connections(app, orders):
    orders.close()
    orders.close()
    for call in (lambda: orders.put("x"), lambda: orders.put_all([]), orders.get, orders.inquire, orders.set):
        with fails(Reason.HOBJ_ERROR):
            call()
    handle = app.open("ORDERS", EVERYTHING)
    app.disconnect()
    app.disconnect()
    for call in (lambda: handle.put("x"), handle.get, app.commit, app.backout, app.begin, lambda: app.open("ORDERS")):
        with fails(Reason.HCONN_ERROR):
            call()


def test_34_a_warning_is_that_of_the_last_call(app, orders):
    """Whatever the next call is, it has its own warning or none."""
    others = (
        lambda: orders.inquire("CURDEPTH"),
        lambda: app.put1("ORDERS", "long", None, NOW),
        lambda: app.open("ORDERS", OUT),
        lambda: orders.set(PUT="ENABLED"),
        app.inquire,
        app.commit,
        app.backout,
    )
    for other_call in others:
        orders.put("long", None, NOW)
        orders.get(GET_NOW | GetOptions.ACCEPT_TRUNCATED_MSG, max_length=1)
        assert warns(app, Reason.TRUNCATED_MSG_ACCEPTED)
        other_call()
        assert app.warning is None


def test_34_too_many_handles(qm, app):
    qm.queue("ORDERS")
    app.alter(QueueManagerAttributes, max_handles=2)
    first = app.open("ORDERS", OUT)
    app.open("ORDERS", OUT)
    with fails(Reason.HANDLE_NOT_AVAILABLE):
        app.open("ORDERS", OUT)
    first.close()
    app.open("ORDERS", OUT)


def test_34_quiescing_and_stopping(qm, app, orders):
    qm.connections.quiesce()
    orders.put("work goes on")
    for call in (
        lambda: orders.put("x", None, PutOptions.FAIL_IF_QUIESCING),
        lambda: orders.get(GetOptions.FAIL_IF_QUIESCING),
        lambda: app.open("ORDERS", OUT | OpenOptions.FAIL_IF_QUIESCING),
        qm.connect,
    ):
        with fails(Reason.Q_MGR_QUIESCING):
            call()
    app.open("ORDERS", OUT)
    qm.connections.stop()
    for call in (lambda: orders.put("x"), lambda: app.open("ORDERS", OUT), app.commit):
        with fails(Reason.CONNECTION_BROKEN):
            call()
    with fails(Reason.Q_MGR_STOPPING):
        qm.connect()


def test_35_generated_identifiers_say_who_made_them_and_are_never_repeated(qm, orders):
    made = [orders.put("x", None, NOW).msg_id for _ in range(1000)]
    assert {b"CSQ QM1         "} == {identifier[:16] for identifier in made}
    assert (1000, made, {24}) == (len(set(made)), sorted(made), {len(identifier) for identifier in made})


def test_35_new_identifiers_on_request(orders):
    md = MQMD(msg_id=b"M" * 24, correl_id=b"C" * 24)
    kept = orders.put("x", md, NOW)
    made = orders.put("x", md, NOW | PutOptions.NEW_MSG_ID | PutOptions.NEW_CORREL_ID)
    assert (b"M" * 24, b"C" * 24) == (kept.msg_id, kept.correl_id)
    assert not {made.msg_id, made.correl_id} & {b"M" * 24, b"C" * 24, NO_ID}


def test_36_begin_without_participants_warns(app, orders):
    with app.begin():
        assert warns(app, Reason.NO_EXTERNAL_PARTICIPANTS)
        orders.put("x")
        with fails(Reason.UOW_IN_PROGRESS):
            app.begin()
    assert ["x"] == bodies(drain(orders))


def test_36_a_unit_of_work_backs_out_when_an_exception_leaves_it(app, orders):
    def work():
        with app.begin():
            orders.put("x")
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert [] == drain(orders)


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        ({"msg_type": 3}, Reason.MSG_TYPE_ERROR),
        ({"msg_type": 0}, Reason.MSG_TYPE_ERROR),
        ({"msg_type": 10**9}, Reason.MSG_TYPE_ERROR),
        ({"feedback": -1}, Reason.FEEDBACK_ERROR),
        ({"feedback": 10**9}, Reason.FEEDBACK_ERROR),
        ({"persistence": 3}, Reason.PERSISTENCE_ERROR),
        ({"persistence": -1}, Reason.PERSISTENCE_ERROR),
        ({"msg_id": b"x" * 25}, Reason.MD_ERROR),
        ({"correl_id": "text"}, Reason.MD_ERROR),
        ({"msg_seq_number": 0}, Reason.MSG_SEQ_NUMBER_ERROR),
        ({"offset": 1}, Reason.OFFSET_ERROR),
        ({"priority": "high"}, Reason.MD_ERROR),
        ({"priority": None}, Reason.MD_ERROR),
        ({"priority": 1.5}, Reason.MD_ERROR),
        ({"priority": 1 << 31}, Reason.MD_ERROR),
        ({"expiry": 1.5}, Reason.MD_ERROR),
        ({"expiry": 1 << 31}, Reason.MD_ERROR),
        ({"expiry": 10**14, "persistence": 1}, Reason.MD_ERROR),
        ({"feedback": 1 << 40}, Reason.MD_ERROR),
        ({"format": "TOO LONG FORMAT"}, Reason.MD_ERROR),
        ({"reply_to_q": "X" * 49}, Reason.MD_ERROR),
        ({"reply_to_q": b"BYTES"}, Reason.MD_ERROR),
        ({"accounting_token": "text"}, Reason.MD_ERROR),
        ({"accounting_token": bytes(33)}, Reason.MD_ERROR),
        ({"group_id": b"x" * 25}, Reason.MD_ERROR),
        ({"reply_to_q": "\ud800"}, Reason.MD_ERROR),
        ({"user_identifier": "\ud800"}, Reason.MD_ERROR),
        ({"put_appl_name": "x" * 256}, Reason.MD_ERROR),
    ],
)
def test_bad_descriptors(orders, described, reason):
    with fails(reason):
        orders.put("x", MQMD(**described), NOW)
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 0}


def test_other_bad_arguments(app, orders):
    for body in (42, "half \ud800"):
        for put in (orders.put, lambda body: app.put1("ORDERS", body), lambda body: orders.put_all(["x", body])):
            with fails(Reason.BUFFER_ERROR):
                put(body)
            app.backout()
    with fails(Reason.MD_ERROR):
        orders.put("x", {"priority": 3})
    for target in (42, Target("ORDERS", alternate_user="\ud800"), Target("ORDERS", alternate_user="x" * 13)):
        with fails(Reason.OD_ERROR):
            app.open(target, OUT | OpenOptions.ALTERNATE_USER_AUTHORITY)
    with fails(Reason.OBJECT_NAME_ERROR):
        app.open("\ud800", OUT)
    with fails(Reason.OBJECT_Q_MGR_NAME_ERROR):
        app.open("ORDERS", OUT, qmgr="\ud800")
    for correl_id in (b"x" * 30, "x" * 24, bytearray(b"x" * 24), 42):
        with fails(Reason.MD_ERROR):
            orders.put("x", correl_id=correl_id)
        with fails(Reason.MATCH_OPTIONS_ERROR):
            orders.get(correl_id=correl_id)
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 0}


def test_bodies_of_every_kind(app, orders):
    for body in (b"bytes", bytearray(b"bytes"), memoryview(b"bytes")):
        orders.put(body, None, NOW)
        message = orders.get(GET_NOW)
        assert (b"bytes", "", 0) == (message.body, message.envelope.format, message.envelope.ccsid)
    orders.put("Grüße", MQMD(), NOW)
    message = orders.get(GET_NOW)
    assert ("Grüße", "MQSTR", 1208) == (message.text, message.envelope.format, message.envelope.ccsid)


# -- inquire and set


def test_inquire_every_attribute_by_keyword(app, orders):
    everything = orders.inquire()
    assert (0, 999_999_999, True, 1, 1) == tuple(
        everything[keyword] for keyword in ("CURDEPTH", "MAXDEPTH", "PUT", "IPPROCS", "OPPROCS")
    )
    with fails(Reason.SELECTOR_ERROR):
        orders.inquire("COLOUR")
    with fails(Reason.SELECTOR_NOT_FOR_TYPE):
        orders.inquire("RQMNAME")


def test_inquire_an_alias_answers_for_itself(app, orders):
    app.define(AliasQueue("FRONT", target="ORDERS", def_priority=8))
    front = app.open("FRONT", INQUIRE)
    assert front.inquire("TARGET", "DEFPRTY") == {"TARGET": "ORDERS", "DEFPRTY": 8}
    with fails(Reason.SELECTOR_NOT_FOR_TYPE):
        front.inquire("CURDEPTH")


def test_inquire_other_objects(app):
    app.define(Process("RUN", appl_id="serve"))
    app.define(Namelist("NAMES", names=("A", "B")))
    assert app.inquire(Process, "RUN", "APPLICID") == {"APPLICID": "serve"}
    assert app.inquire(Namelist, "NAMES", "NAMES") == {"NAMES": ("A", "B")}
    assert app.inquire(StorageClass, "DEFAULT", "PSID")["PSID"] in {0, 1}
    assert app.inquire()["MAXUMSGS"] == 10_000
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        app.inquire(Process, "NOBODY")


def test_what_is_altered_or_set_is_what_it_is_called(app, orders):
    """A client sends numbers; the queue manager asks for the very kind."""
    app.define(Process("RUN"))
    app.define(LocalQueue("INIT"))
    app.alter(LocalQueue, "ORDERS", index_type=IndexType.GROUPID, process="RUN", initiation_queue="INIT")
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get(GetOptions.LOGICAL_ORDER)  # 2394 when the index is another
    monitor = app.open("INIT", IN)
    orders.set(TRIGTYPE=TriggerType.EVERY, TRIGGER=True)
    orders.put("x", None, NOW)
    assert len(drain(monitor)) == 1
    app.alter(LocalQueue, "ORDERS", trigger_type=TriggerType.DEPTH, trigger_depth=9)
    orders.put("y", None, NOW)
    assert [] == drain(monitor)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"PUT": "MAYBE"}, Reason.INHIBIT_VALUE_ERROR),
        ({"GET": 3}, Reason.INHIBIT_VALUE_ERROR),
        ({"TRIGGER": "PERHAPS"}, Reason.TRIGGER_CONTROL_ERROR),
        ({"TRIGDPTH": 0}, Reason.TRIGGER_DEPTH_ERROR),
        ({"TRIGMPRI": 10}, Reason.TRIGGER_MSG_PRIORITY_ERR),
        ({"TRIGTYPE": "LAST"}, Reason.TRIGGER_TYPE_ERROR),
        ({"MAXDEPTH": 5}, Reason.SELECTOR_ERROR),
    ],
)
def test_set_refuses_bad_values(orders, values, reason):
    with fails(reason):
        orders.set(**values)


def test_definitions_need_a_storage_class_and_a_free_name(app):
    with fails(Reason.STORAGE_CLASS_ERROR):
        app.define(LocalQueue("Q", storage_class="NONE"))
    app.define(AliasQueue("Q", target="ELSEWHERE"))
    with fails(Reason.OBJECT_ALREADY_EXISTS):
        app.define(LocalQueue("Q"))
    with fails(Reason.OBJECT_ALREADY_EXISTS):
        app.define(LocalQueue("Q"), replace=True)
    app.define(AliasQueue("Q", target="THERE"), replace=True)
    for call in (lambda: app.alter(LocalQueue, "NONE", descr="x"), lambda: app.delete(LocalQueue, "NONE")):
        with fails(Reason.UNKNOWN_OBJECT_NAME):
            call()


def test_a_report_to_a_waiting_getter_does_not_lose_the_report(qm, app, orders):
    """A message that asks for a report is never handed over past the queue."""
    qm.queue("REPLIES")
    orders.put("x", MQMD(report=Report.COA, reply_to_q="REPLIES"), NOW)
    assert len(drain(app.open("REPLIES", IN))) == 1
