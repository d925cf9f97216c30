"""Definitions that a group keeps for its members: QSGDISP(GROUP), and the copy that each member has of them."""

import pytest

from qmgr.shared.sharing import GET_OUT, OUT, USES, VOLATILE, Sharing
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import AliasQueue, LocalQueue, RemoteQueue
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.security import SecurityManager
from quaestor.storage.shared_tables import RepositoryAwayError


@pytest.fixture
def sharing(tmp_path):
    made = Sharing(tmp_path)
    made.start("QM1")
    made.start("QM2")
    return made


def run(sharing, name, text, *, ok=True):
    reply = sharing.members[name].commands.run(text, "OPER")
    assert reply.ok is ok, reply.lines
    return reply


def follow(sharing):
    """Half a second of a life."""
    for manager in sharing.members.values():
        manager.copies.step()


def shown(sharing, name, text, *keywords):
    return [tuple(row[word] for word in keywords) for row in run(sharing, name, text).rows]


def messages(reply):
    return [line.split()[0] for line in reply.lines]


@pytest.mark.parametrize(
    ("noun", "attributes", "keyword", "value"),
    [
        ("QLOCAL", "MAXDEPTH(7)", "MAXDEPTH", 7),
        ("QALIAS", "TARGET(ORDERS)", "TARGET", "ORDERS"),
        ("QREMOTE", "RNAME(ORDERS) RQMNAME(QM9)", "RQMNAME", "QM9"),
        ("QMODEL", "DEFTYPE(PERMDYN)", "DEFTYPE", "PERMDYN"),
        ("PROCESS", "APPLICID(PAYROLL)", "APPLICID", "PAYROLL"),
        ("NAMELIST", "NAMES(A,B)", "NAMES", ["A", "B"]),
        ("STGCLASS", "PSID(1)", "PSID", 1),
    ],
)
def test_every_kind_of_object_is_defined_once_and_copied_by_all(sharing, noun, attributes, keyword, value):
    reply = run(sharing, "QM1", f"DEFINE {noun}(X) QSGDISP(GROUP) {attributes}")
    assert ["CSQM122I", "CSQN138I", "CSQ9022I"] == messages(reply)
    assert f"CSQN138I +QM1 'DEFINE {noun}' command generated for CMDSCOPE(*), sent to 2" in reply.lines
    display = f"DISPLAY {noun}(X) QSGDISP(ALL) ALL"
    assert [("COPY", value), ("GROUP", value)] == shown(sharing, "QM1", display, "QSGDISP", keyword)
    assert [("GROUP", value)] == shown(sharing, "QM2", display, "QSGDISP", keyword)
    follow(sharing)
    assert [("COPY", value), ("GROUP", value)] == shown(sharing, "QM2", display, "QSGDISP", keyword)


def test_a_change_of_the_group_replaces_the_copies(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP) MAXDEPTH(7) DESCR('first')")
    follow(sharing)
    run(sharing, "QM2", "ALTER QLOCAL(X) QSGDISP(GROUP) MAXDEPTH(8)")
    follow(sharing)
    wanted = [("COPY", 8, "first"), ("GROUP", 8, "first")]
    display = "DISPLAY QLOCAL(X) QSGDISP(ALL) MAXDEPTH DESCR"
    for name in ("QM1", "QM2"):
        assert wanted == shown(sharing, name, display, "QSGDISP", "MAXDEPTH", "DESCR")
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP) MAXDEPTH(9)", ok=False)
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP) MAXDEPTH(9) REPLACE")
    follow(sharing)
    for name in ("QM1", "QM2"):
        assert [("COPY", 9, ""), ("GROUP", 9, "")] == shown(sharing, name, display, "QSGDISP", "MAXDEPTH", "DESCR")


def test_a_deletion_takes_the_copies_away(sharing):
    run(sharing, "QM1", "DEFINE QALIAS(X) QSGDISP(GROUP) TARGET(ORDERS)")
    follow(sharing)
    reply = run(sharing, "QM2", "DELETE QALIAS(X) QSGDISP(GROUP)")
    assert ["CSQM122I", "CSQN138I", "CSQ9022I"] == messages(reply)
    follow(sharing)
    for name in ("QM1", "QM2"):
        assert [] == shown(sharing, name, "DISPLAY QALIAS(X*) QSGDISP(ALL)", "QUEUE")
    assert ["CSQM125I", "CSQM090E", "CSQ9023E"] == messages(
        run(sharing, "QM1", "DELETE QALIAS(X) QSGDISP(GROUP)", ok=False)
    )


def test_a_member_that_was_down_refreshes_its_copies_at_start(sharing):
    for name in ("STAYS", "CHANGES", "GOES"):
        run(sharing, "QM1", f"DEFINE QLOCAL({name}) QSGDISP(GROUP) MAXDEPTH(7)")
    follow(sharing)
    run(sharing, "QM2", "ALTER QLOCAL(STAYS) QSGDISP(COPY) MAXDEPTH(1)")
    sharing.members["QM2"].stop()
    run(sharing, "QM1", "ALTER QLOCAL(CHANGES) QSGDISP(GROUP) MAXDEPTH(8)")
    run(sharing, "QM1", "DELETE QLOCAL(GOES) QSGDISP(GROUP)")
    run(sharing, "QM1", "DEFINE QLOCAL(NEW) QSGDISP(GROUP) MAXDEPTH(9)")
    sharing.start("QM2")
    found = shown(sharing, "QM2", "DISPLAY QLOCAL(*) QSGDISP(COPY) MAXDEPTH", "QUEUE", "MAXDEPTH")
    assert [("CHANGES", 8), ("NEW", 9), ("STAYS", 7)] == found


def test_copies_are_on_the_page_set_and_survive_a_kill(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP) MAXDEPTH(7)")
    with sharing.members["QM1"].connect("ALICE") as app:
        app.put("X", b"kept", None, OUT)
    sharing.kill("QM1")
    manager = sharing.start("QM1")
    assert manager.messages.catalogue.find(LocalQueue, "X").copied
    with manager.connect("ALICE") as app:
        assert 0 == app.open("X", USES).inquire("CURDEPTH")["CURDEPTH"]  # it was not persistent


def test_a_copy_is_altered_and_made_again_by_hand(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP) MAXDEPTH(7) DESCR('group')")
    run(sharing, "QM1", "ALTER QLOCAL(X) MAXDEPTH(1)", ok=False)  # it is none of its own
    run(sharing, "QM1", "ALTER QLOCAL(X) QSGDISP(PRIVATE) MAXDEPTH(1)")
    run(sharing, "QM1", "ALTER QLOCAL(X) QSGDISP(COPY) DESCR('mine')")
    display = "DISPLAY QLOCAL(X) QSGDISP(COPY) MAXDEPTH DESCR"
    follow(sharing)
    assert [(1, "mine")] == shown(sharing, "QM1", display, "MAXDEPTH", "DESCR")
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(COPY)", ok=False)
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(COPY) MAXDEPTH(2) REPLACE")
    assert [(2, "group")] == shown(sharing, "QM1", display, "MAXDEPTH", "DESCR")
    run(sharing, "QM1", "DELETE QLOCAL(X) QSGDISP(COPY)")
    assert [("GROUP",)] == shown(sharing, "QM1", "DISPLAY QLOCAL(X) QSGDISP(ALL) MAXDEPTH", "QSGDISP")
    follow(sharing)
    assert [] == shown(sharing, "QM1", "DISPLAY QLOCAL(X*) QSGDISP(COPY)", "QUEUE")  # until the group's changes
    run(sharing, "QM1", "DEFINE QLOCAL(NONE) QSGDISP(COPY)", ok=False)


def test_an_object_of_its_own_keeps_a_member_from_having_a_copy(sharing):
    run(sharing, "QM2", "DEFINE QREMOTE(X) RNAME(MINE)")
    reply = run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP)")
    follow(sharing)
    said = sharing.members["QM2"].operator_log.entries[-1]
    assert ("CSQM094I", "QREMOTE(X) ALREADY EXISTS") == (said.identifier, said.text)
    assert "DEFINE QLOCAL('X') REPLACE QSGDISP('COPY')" == said.facts["generated"]
    assert [("QREMOTE", "QMGR"), ("QLOCAL", "GROUP")] == shown(
        sharing, "QM2", "DISPLAY QUEUE(X) QSGDISP(ALL)", "TYPE", "QSGDISP"
    )
    run(sharing, "QM2", "DELETE QREMOTE(X)")
    run(sharing, "QM2", "DEFINE QLOCAL(X) QSGDISP(COPY)")
    assert ["CSQM122I", "CSQN138I", "CSQ9022I"] == messages(reply)
    assert ["CSQM094I", "CSQM090E", "CSQ9023E"] == messages(run(sharing, "QM2", "DEFINE QALIAS(X)", ok=False))
    assert ["CSQM094I", "CSQM090E", "CSQ9023E"] == messages(run(sharing, "QM2", "DEFINE QLOCAL(X) REPLACE", ok=False))


def test_the_copy_of_here_that_cannot_be_made_is_said_with_the_command(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X)")
    reply = run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP)")
    assert ["CSQM122I", "CSQN138I", "CSQN121I", "CSQM094I", "CSQ9022I"] == messages(reply)
    follow(sharing)
    found = shown(sharing, "QM2", "DISPLAY QLOCAL(X) QSGDISP(ALL)", "QSGDISP")
    assert [("COPY",), ("GROUP",)] == found


def test_a_copy_that_holds_messages_or_is_open_is_not_deleted(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP)")
    follow(sharing)
    with sharing.members["QM2"].connect("ALICE") as app:
        app.put("X", b"1", VOLATILE, OUT)
    run(sharing, "QM1", "DELETE QLOCAL(X) QSGDISP(GROUP)")
    follow(sharing)
    assert [] == shown(sharing, "QM1", "DISPLAY QLOCAL(X*) QSGDISP(ALL)", "QUEUE")
    assert [("COPY", 1)] == shown(sharing, "QM2", "DISPLAY QLOCAL(X) CURDEPTH", "QSGDISP", "CURDEPTH")
    assert "2055" in sharing.members["QM2"].operator_log.entries[-1].text
    run(sharing, "QM2", "DELETE QLOCAL(X) QSGDISP(COPY) PURGE")


def test_a_queue_that_is_open_does_not_become_a_transmission_queue(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP) SHARE DEFSOPT(SHARED)")
    follow(sharing)
    with sharing.members["QM2"].connect("ALICE") as app, app.open("X", USES):
        run(sharing, "QM1", "ALTER QLOCAL(X) QSGDISP(GROUP) USAGE(XMITQ)")
        follow(sharing)
    assert [("XMITQ",)] == shown(sharing, "QM1", "DISPLAY QLOCAL(X) USAGE", "USAGE")
    assert [("NORMAL",)] == shown(sharing, "QM2", "DISPLAY QLOCAL(X) USAGE", "USAGE")


def test_a_queue_of_another_type_takes_the_name(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(GROUP)")
    follow(sharing)
    run(sharing, "QM1", "DELETE QLOCAL(X) QSGDISP(GROUP)")
    run(sharing, "QM1", "DEFINE QALIAS(X) QSGDISP(GROUP) TARGET(Y)")
    follow(sharing)
    for name in ("QM1", "QM2"):
        assert isinstance(sharing.members[name].messages.catalogue.find_queue("X"), AliasQueue)


def test_a_name_is_the_groups_once(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    reply = run(sharing, "QM2", "DEFINE QALIAS(X) QSGDISP(GROUP)", ok=False)
    assert "CSQM094I +QM2 QLOCAL(X) QSGDISP(SHARED) ALREADY EXISTS" in reply.lines
    run(sharing, "QM1", "DEFINE QREMOTE(Y) QSGDISP(GROUP)")
    reply = run(sharing, "QM2", "DEFINE QLOCAL(Y) QSGDISP(SHARED) CFSTRUCT(APPL1)", ok=False)
    assert "ALREADY EXISTS" in reply.lines[0]
    run(sharing, "QM1", "DELETE QREMOTE(Y) QSGDISP(GROUP)")
    follow(sharing)
    run(sharing, "QM2", "DEFINE QLOCAL(Y) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    follow(sharing)


def test_a_shared_queue_with_the_name_of_a_private_one_is_2343(sharing):
    run(sharing, "QM2", "DEFINE QLOCAL(X) DESCR('private')")
    with sharing.members["QM2"].connect("ALICE") as app:
        app.put("X", b"private", VOLATILE, OUT)
        run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1) DESCR('shared') SHARE")
        sharing.members["QM2"].messages.follow_step()
        with pytest.raises(MQError, match="2343"):
            app.put("X", b"which?", VOLATILE, OUT)
        found = shown(sharing, "QM2", "DISPLAY QLOCAL(X) DESCR", "QSGDISP", "DESCR")
        assert [("QMGR", "private"), ("SHARED", "shared")] == found
        run(sharing, "QM2", "ALTER QLOCAL(X) QSGDISP(SHARED) MAXDEPTH(1)", ok=False)
        run(sharing, "QM2", "DELETE QLOCAL(X) PURGE")
        app.put("X", b"shared", VOLATILE, OUT)
    assert [(1,)] == shown(sharing, "QM1", "DISPLAY QLOCAL(X) CURDEPTH", "CURDEPTH")
    sharing.publish()
    run(sharing, "QM1", "DELETE QLOCAL(X) QSGDISP(SHARED) PURGE")
    sharing.members["QM2"].messages.follow_step()
    assert [] == shown(sharing, "QM2", "DISPLAY QLOCAL(X*)", "QUEUE")


def test_what_is_in_the_way_of_a_shared_queue_may_be_of_any_type(sharing):
    run(sharing, "QM2", "DEFINE QREMOTE(X) RNAME(Y) RQMNAME(QM2)")
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    sharing.members["QM2"].messages.follow_step()
    assert isinstance(sharing.members["QM2"].messages.catalogue.find_queue("X"), RemoteQueue)
    run(sharing, "QM1", "DELETE QLOCAL(X) QSGDISP(SHARED)")
    sharing.members["QM2"].messages.follow_step()
    with sharing.members["QM2"].connect("ALICE") as app, pytest.raises(MQError, match="2087"):
        app.put("X", b"", VOLATILE, OUT)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("LIVE", ["QMGR", "COPY", "SHARED"]),
        ("", ["QMGR", "COPY", "SHARED"]),
        ("ALL", ["QMGR", "COPY", "SHARED", "GROUP"]),
        ("PRIVATE", ["QMGR", "COPY"]),
        ("QMGR", ["QMGR"]),
        ("COPY", ["COPY"]),
        ("SHARED", ["SHARED"]),
        ("GROUP", ["GROUP"]),
    ],
)
def test_display_picks_by_disposition(sharing, word, found):
    run(sharing, "QM1", "DEFINE QLOCAL(A.OWN)")
    run(sharing, "QM1", "DEFINE QALIAS(A.TOLD) QSGDISP(GROUP)")
    run(sharing, "QM1", "DEFINE QLOCAL(A.SHARED) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    asked = f"DISPLAY QUEUE(A.*) {f'QSGDISP({word})' if word else ''}"
    assert sorted(found) == sorted(one for (one,) in shown(sharing, "QM1", asked, "QSGDISP"))


def test_a_definition_changed_by_two_members_at_once_is_changed_by_one(sharing, monkeypatch):
    """The second has seen the version before, and is told so."""
    run(sharing, "QM1", "DEFINE PROCESS(X) QSGDISP(GROUP) APPLICID(A)")
    table = sharing.members["QM1"].shared.group.tables.objects
    stale = table.read("process X")
    run(sharing, "QM2", "ALTER PROCESS(X) QSGDISP(GROUP) APPLICID(B)")
    monkeypatch.setattr(table, "read", lambda _key: stale)
    reply = run(sharing, "QM1", "ALTER PROCESS(X) QSGDISP(GROUP) APPLICID(C)", ok=False)
    assert "2041" in reply.lines[0]
    monkeypatch.undo()
    assert [("B",)] == shown(sharing, "QM1", "DISPLAY PROCESS(X) QSGDISP(GROUP) APPLICID", "APPLICID")


def test_without_its_repository_a_definition_of_the_group_cannot_be_changed(sharing, monkeypatch):
    tables = sharing.members["QM1"].shared.group.tables.tables

    def away(*_changes):
        raise RepositoryAwayError("the shared repository is away")

    monkeypatch.setattr(tables, "change", away)
    assert "2342" in run(sharing, "QM1", "DEFINE PROCESS(X) QSGDISP(GROUP)", ok=False).lines[0]


def test_authority_over_an_object_is_authority_over_the_groups(tmp_path):
    sharing = Sharing(tmp_path)
    manager = sharing.start("QM1")
    profiles = "command * OPER control\ncommand * LOWLY control\nqueue * OPER control\n"
    manager.messages._security = SecurityManager(lambda: profiles, sharing.clock)
    for text in (
        "DEFINE QLOCAL(X) QSGDISP(GROUP)",
        "ALTER QLOCAL(X) QSGDISP(GROUP)",
        "DELETE QLOCAL(X) QSGDISP(GROUP)",
    ):
        assert "CSQ9016E" in manager.commands.run(text, "LOWLY").lines[0]
        assert manager.commands.run(text, "OPER").ok


def test_clear_and_move_are_of_private_queues_unless_they_say_shared(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(OWN)")
    run(sharing, "QM1", "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    with sharing.members["QM1"].connect("ALICE") as app:
        app.put("X", b"1", VOLATILE, OUT)
    assert "QSGDISP(PRIVATE) WAS NOT FOUND" in run(sharing, "QM1", "CLEAR QLOCAL(X)", ok=False).lines[0]
    run(sharing, "QM1", "MOVE QLOCAL(X) QSGDISP(SHARED) TOQLOCAL(OWN)")
    run(sharing, "QM1", "CLEAR QLOCAL(X) QSGDISP(SHARED)")
    run(sharing, "QM1", "MOVE QLOCAL(OWN) TOQLOCAL(X)")
    assert [(1,)] == shown(sharing, "QM2", "DISPLAY QLOCAL(X) CURDEPTH", "CURDEPTH")


def test_messages_move_between_queues_of_one_name(sharing):
    """From a private queue to the shared one that took its name, and back; then one of them is deleted."""
    run(sharing, "QM1", "DEFINE QLOCAL(X)")
    with sharing.members["QM1"].connect("ALICE") as app:
        for body in (b"1", b"2"):
            app.put("X", body, MQMD(persistence=1, msg_id=body * 24), OUT)
    assert "CSQM" in run(sharing, "QM1", "MOVE QLOCAL(X)", ok=False).lines[0]  # there is no shared one
    run(sharing, "QM2", "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    run(sharing, "QM1", "MOVE QLOCAL(X)")
    assert [(2,)] == shown(sharing, "QM2", "DISPLAY QLOCAL(X) CURDEPTH", "CURDEPTH")
    assert 0 == sharing.members["QM1"].messages.catalogue.state("X").stored.depth
    run(sharing, "QM1", "MOVE QLOCAL(X) QSGDISP(SHARED)")
    assert [(0,)] == shown(sharing, "QM2", "DISPLAY QLOCAL(X) CURDEPTH", "CURDEPTH")
    run(sharing, "QM1", "MOVE QLOCAL(X) QSGDISP(PRIVATE) TOQLOCAL(X)")
    run(sharing, "QM1", "DELETE QLOCAL(X)")
    with sharing.members["QM1"].connect("ALICE") as app, app.open("X", USES) as queue:
        found = [queue.get(GET_OUT) for _ in range(2)]
    assert [(b"1", b"1" * 24), (b"2", b"2" * 24)] == [(each.body, each.descriptor.msg_id) for each in found]


def test_a_move_to_a_queue_of_the_same_name_keeps_its_limits(sharing):
    run(sharing, "QM1", "DEFINE QLOCAL(X)")
    with sharing.members["QM1"].connect("ALICE") as app:
        app.put("X", b"1", VOLATILE, OUT)
        app.put("X", b"2", VOLATILE, OUT)
    run(sharing, "QM2", "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1) MAXDEPTH(1)")
    assert "2053" in run(sharing, "QM1", "MOVE QLOCAL(X)", ok=False).lines[0]
    with sharing.members["QM2"].connect("BOB") as app:
        app.put("X", b"3", VOLATILE, OUT)
    assert "2055" in run(sharing, "QM1", "MOVE QLOCAL(X)", ok=False).lines[0]
