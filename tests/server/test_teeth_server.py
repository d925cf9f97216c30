"""Each rule of the server is taken away, and the fault test that is there for it must notice.

A row names the rule, the mutation and the test. The test runs as it stands, on a server that lacks the rule.
"""

import pytest

from quaestor.mqi.reasons import MQError
from quaestor.qmgr.connection.session import Connection
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.message.putting import OutputPath
from quaestor.qmgr.message.waiting import Waiters
from quaestor.qmgr.recovery.outcomes import Outcomes
from quaestor.server import introduction
from quaestor.server import service as service_module
from quaestor.server.arrivals import Arrivals
from quaestor.server.client.opening import LINKS
from quaestor.server.conversation import Conversation
from quaestor.server.group_commit import GroupCommit
from quaestor.server.journal import Journal
from quaestor.server.link import Link
from quaestor.server.password_line import PasswordLine
from quaestor.server.service import Service
from server import (
    test_answers,
    test_nothing_left,
    test_overlapped_commits,
    test_password_line,
    test_protocol,
    test_put_runs,
    test_server_faults,
)

pytestmark = pytest.mark.plain

held = test_overlapped_commits.held
checking = test_password_line.checking
client, service = test_answers.client, test_answers.service
NOTICED = (AssertionError, pytest.fail.Exception, MQError, TimeoutError)
PATIENCE_S = 3.0


def nothing(*_args, **_named):
    """What the rule does when it is gone."""


def dies_like_one_that_disconnects(patch):
    patch.setattr(Connection, "abandon", Connection.disconnect)


def connections_stay(patch):
    kept = []  # or what is forgotten would be collected, and closed by that

    def abandon(conversation):
        kept.append(conversation)

    patch.setattr(Conversation, "abandon", abandon)


def handles_stay(patch):
    patch.setattr(MessageManager, "close_all", nothing)


def no_outcome_is_kept(patch):
    patch.setattr(Outcomes, "note", nothing)


def an_older_link_stays(patch):
    patch.setattr(introduction, "take_over", nothing)


def unheld(patch):
    """Nobody is held back, however much it has not taken."""
    welcome = introduction.welcome

    def welcomed(link, number, user):
        link._output_max = 1 << 60
        welcome(link, number, user)

    patch.setattr(introduction, "welcome", welcomed)


def without(words):
    """A reason to cut a link off is none any more."""

    def take_away(patch):
        asked = service_module.why_cut_off

        def why(*looked_at):
            found = asked(*looked_at)
            return None if found and words in found else found

        patch.setattr(service_module, "why_cut_off", why)

    return take_away


def answers_always_gather(patch):
    flush, send_now = Link.flush, Link.send_now

    def flushed(link):
        with pytest.MonkeyPatch.context() as again:
            again.setattr(Link, "send_now", send_now)
            flush(link)

    patch.setattr(Link, "send_now", Link.send)
    patch.setattr(Link, "flush", flushed)


def answers_never_gather(patch):
    patch.setattr(Link, "send", Link.send_now)


def an_answer_overtakes_one_that_was_not_taken(patch):
    def send_now(link, data):
        link._send(data)

    patch.setattr(Link, "send_now", send_now)


def a_run_begins_with_a_put(patch):
    more = OutputPath.put_more

    def put_more(path, bodies, at, *rest):
        return more(path, bodies, at, *rest) if at else []

    patch.setattr(OutputPath, "put_more", put_more)


def an_unknown_operation_is_overlooked(patch):
    known = [one if one is not Conversation._unknown else (lambda *_: b"") for one in Conversation._carry_out]
    patch.setattr(Conversation, "_carry_out", known)


def a_conversation_holds_itself(patch):
    made = Conversation.__init__

    def make(conversation, *given):
        made(conversation, *given)
        conversation.itself = conversation

    patch.setattr(Conversation, "__init__", make)


def a_wait_that_is_over_knows_who_waited(patch):
    patch.setattr(Waiters, "given_up", Waiters.remove)


def frames_have_any_length(patch):
    welcome = introduction.welcome

    def welcomed(link, number, user):
        welcome(link, number, user)
        link._frame_max = 1 << 40

    patch.setattr(introduction, "welcome", welcomed)


def nobody_hears_of_garbage(patch):
    patch.setattr(Journal, "tell", nothing)


def a_quiesce_waits_for_nobody(patch):
    patch.setattr(Service, "_go_on_quiescing", Service.stop)


def commits_are_confirmed_before_they_are_durable(patch):
    harden = GroupCommit.harden

    def hardened(commits):
        log = commits._recovery.log
        patch.setattr(log, "force", nothing)
        harden(commits)

    patch.setattr(GroupCommit, "harden", hardened)


def who_is_alone_need_not_wait(patch):
    def commit(commits, unit):
        log = commits._recovery.log
        patch.setattr(log, "force", nothing)
        commits._recovery.commit(unit)
        log._failed = None  # nobody is told

    patch.setattr(GroupCommit, "commit", commit)


def the_failed_go_on_answering(patch):
    patch.setattr(Service, "failed", False)


def commits_are_confirmed_while_their_force_is_in_flight(patch):
    depart = GroupCommit.depart

    def departed(commits):
        began = depart(commits)
        if began:
            commits._end(*commits._landed())
        return began

    patch.setattr(GroupCommit, "depart", departed)


def a_link_ends_before_its_commit(patch):
    patch.setattr(GroupCommit, "concerns", lambda *_: False)


def the_error_of_an_asynchronous_put_is_lost(patch):
    kept = Conversation.error

    def error(on, number, payload, failure):
        return kept(on, number, payload, failure) if number else b""

    patch.setattr(Conversation, "error", error)


def connections_without_limit(patch):
    patch.setattr(Arrivals, "admit", lambda arrivals, link: arrivals.strangers.pop(link, None))


def first_come_first_checked(patch):
    patch.setattr(PasswordLine, "_behind", lambda *_: (0, True))


def all_of_an_origin_are_alike(patch):
    patch.setattr(PasswordLine, "_behind", lambda line, origin, _: (line._wrong_origins.count(origin), True))


killed = test_server_faults.test_a_client_killed_at_any_step
garbage = test_protocol.test_garbage_ends_the_link_with_one_line
TEETH = {
    "a link that ends backs out": (dies_like_one_that_disconnects, killed, {"step": 5}),
    "a link that ends leaves no connection": (connections_stay, killed, {"step": 3}),
    "a link that ends leaves no handle": (handles_stay, killed, {"step": 2}),
    "a stop backs out": (
        dies_like_one_that_disconnects,
        test_server_faults.test_an_immediate_stop_backs_out_and_says_2009,
        {},
    ),
    "the outcome of a unit is remembered": (
        no_outcome_is_kept,
        test_server_faults.test_a_link_lost_in_a_commit_leaves_all_of_it_or_nothing,
        {},
    ),
    "a client that comes back ends its older link": (
        an_older_link_stays,
        test_server_faults.test_a_client_that_comes_back_ends_its_older_link,
        {},
    ),
    "a slow reader's answers are bounded": (
        unheld,
        test_server_faults.test_a_slow_reader_is_held_back_then_cut_off,
        {},
    ),
    "an answer that stands alone is sent at once": (
        answers_always_gather,
        test_answers.test_an_answer_that_stands_alone_does_not_wait_for_other_requests,
        {},
    ),
    "answers that come together are one send": (
        answers_never_gather,
        test_answers.test_answers_to_commits_of_several_conversations_are_one_send,
        {},
    ),
    "answers keep their order": (
        an_answer_overtakes_one_that_was_not_taken,
        test_answers.test_an_answer_behind_one_that_was_not_taken_waits_with_it,
        {},
    ),
    "a run in a unit is put as a whole": (
        a_run_begins_with_a_put,
        test_answers.test_a_run_in_a_unit_that_has_begun_needs_no_put_of_its_own,
        {},
    ),
    "who takes no answers is cut off": (
        without("take its answers"),
        test_server_faults.test_a_slow_reader_is_held_back_then_cut_off,
        {},
    ),
    "who answers no heartbeat is cut off": (
        without("heartbeats"),
        test_server_faults.test_a_waiting_client_that_answers_no_heartbeat_is_cut_off,
        {},
    ),
    "who stops in a frame is cut off": (
        without("in the middle"),
        test_server_faults.test_a_client_that_stops_in_a_frame_is_cut_off,
        {},
    ),
    "an unknown operation ends the link": (
        an_unknown_operation_is_overlooked,
        garbage,
        {"garbage": test_protocol.GARBAGE["an unknown operation"]},
    ),
    "a conversation that has ended is gone": (
        a_conversation_holds_itself,
        test_nothing_left.test_nothing_is_left_of_a_client_that,
        {"client": test_nothing_left.disconnects},
    ),
    "a wait that is over is gone": (
        a_wait_that_is_over_knows_who_waited,
        test_nothing_left.test_nothing_is_left_of_a_client_that,
        {"client": test_nothing_left.dies_waiting},
    ),
    "a frame has a longest length": (
        frames_have_any_length,
        garbage,
        {"garbage": test_protocol.GARBAGE["a frame too long later"]},
    ),
    "garbage is told of": (nobody_hears_of_garbage, garbage, {"garbage": test_protocol.GARBAGE["zeros"]}),
    "connections are limited": (connections_without_limit, test_server_faults.test_too_many_connections_are_told, {}),
    "a quiesce waits for applications": (
        a_quiesce_waits_for_nobody,
        test_server_faults.test_a_quiesce_waits_for_applications_and_tells_those_who_ask,
        {},
    ),
    "nothing is confirmed before it is durable": (
        commits_are_confirmed_before_they_are_durable,
        test_server_faults.test_a_failed_log_ends_the_server_and_confirms_nothing,
        {"company": True},
    ),
    "nor is what a client alone commits": (
        who_is_alone_need_not_wait,
        test_server_faults.test_a_failed_log_ends_the_server_and_confirms_nothing,
        {"company": False},
    ),
    "nobody is answered by an engine that has failed": (
        the_failed_go_on_answering,
        test_server_faults.test_a_failed_log_ends_the_server_and_confirms_nothing,
        {"company": False},
    ),
    "nothing is confirmed while its force is in flight": (
        commits_are_confirmed_while_their_force_is_in_flight,
        test_overlapped_commits.test_nobody_is_told_before_the_force_is_over,
        {},
    ),
    "what is confirmed survives the power": (
        commits_are_confirmed_while_their_force_is_in_flight,
        test_overlapped_commits.test_what_was_confirmed_survives_the_power,
        {"seed": 1},
    ),
    "a link ends after its commit": (
        a_link_ends_before_its_commit,
        test_overlapped_commits.test_a_link_that_dies_meanwhile_ends_when_its_commit_has,
        {},
    ),
    "the error of an asynchronous put refuses the commit": (
        the_error_of_an_asynchronous_put_is_lost,
        test_put_runs.test_one_that_is_too_long_refuses_the_unit,
        {},
    ),
    "wrong passwords wait behind right ones": (
        first_come_first_checked,
        test_password_line.test_wrong_passwords_keep_nobody_out,
        {},
    ),
    "who sends many waits behind who sends one": (
        all_of_an_origin_are_alike,
        test_password_line.test_an_origin_waits_behind_as_many_as_it_has_sent_itself,
        {},
    ),
    "a known user answers for itself": (
        all_of_an_origin_are_alike,
        test_password_line.test_a_user_known_from_there_does_not_answer_for_others_of_its_address,
        {},
    ),
}


@pytest.fixture
def impatient(monkeypatch):
    """What a rule would have brought about is not waited for as long as where the rule holds."""
    connect = test_protocol.raw

    def soon(server):
        sock = connect(server)
        sock.settimeout(PATIENCE_S)
        return sock

    monkeypatch.setattr(test_protocol, "raw", soon)
    monkeypatch.setattr(test_overlapped_commits, "PATIENCE_S", PATIENCE_S)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("rule", TEETH)
def test_the_fault_test_notices_when_the_rule_is_gone(rule, request, monkeypatch):
    take_away, test, given = TEETH[rule]
    names = test.__code__.co_varnames[: test.__code__.co_argcount]
    wanted = {name: request.getfixturevalue(name) for name in names if name not in given}
    if "server" in wanted:
        monkeypatch.setattr(type(wanted["server"]).wait_for, "__defaults__", (PATIENCE_S,))
    take_away(monkeypatch)
    with pytest.raises(NOTICED):
        test(**wanted, **given)
    for link in tuple(LINKS._all):
        link.close()  # the test has not come to that
