"""Semantics 26 and 27: where a name leads, also to other queue managers; dynamic queues."""

import pytest

from model.answers import fails
from qmgr.small import EVERYTHING
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.headers import MQXQH
from quaestor.mqi.objects import (
    AliasQueue,
    DefinitionType,
    LocalQueue,
    ModelQueue,
    QueueManagerAttributes,
    RemoteQueue,
)
from quaestor.mqi.options import CloseOptions, GetOptions, MsgFlags, OpenOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.mqi.reports import Report

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
OUT, IN, BROWSE = OpenOptions.OUTPUT, OpenOptions.INPUT_SHARED, OpenOptions.BROWSE
INQUIRE, SET = OpenOptions.INQUIRE, OpenOptions.SET


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


def test_30_a_remote_definition_inhibits_too(network):
    network.alter(RemoteQueue, "REMOTE", put_allowed=False)
    with fails(Reason.PUT_INHIBITED):
        network.put1("ALIAS.REMOTE", "x")


@pytest.mark.parametrize(("flags", "longest"), [(0, 572), (MsgFlags.MSG_IN_GROUP, 500)])
def test_31_a_message_and_its_header_are_no_longer_than_the_transmission_queue_allows(network, flags, longest):
    """The header of a message in a group has an extension."""
    network.alter(LocalQueue, "QM2", max_msg_length=1000)
    network.put1("REMOTE", bytes(longest), MQMD(msg_flags=int(flags)), NOW)
    assert len(network.get("QM2", GET_NOW).body) == 1000
    with fails(Reason.MSG_TOO_BIG_FOR_Q):
        network.put1("REMOTE", bytes(longest + 1), MQMD(msg_flags=int(flags)), NOW)
