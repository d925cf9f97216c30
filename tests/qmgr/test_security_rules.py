"""Security, rule by rule: which profile decides, how long an answer is kept, who hears of a refusal (S1-S10)."""

import pytest

from model.answers import fails
from quaestor.clock import FakeClock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr import security as security_module
from quaestor.qmgr.security import CLASSES, TIMEOUT_US, Access, Itself, Profile, ProfileError, SecurityManager
from quaestor.qmgr.security import parse_profiles as parse


def security(text, clock=None, **more):
    return SecurityManager(lambda: text, clock or FakeClock(), **more)


def granted(text, user, name, resource="queue"):
    """Every single access that somebody has."""
    manager = security(text)
    return {each for each in SINGLE if manager.allows(user, resource, name, each)}


SINGLE = (
    Access.BROWSE,
    Access.INQUIRE,
    Access.PUT,
    Access.GET,
    Access.SET,
    Access.CONTEXT,
    Access.ADMINISTER,
)
READ, UPDATE, CONTROL = set(SINGLE[:2]), set(SINGLE[:5]), set(SINGLE)


# --- S1, S2: what a profile grants -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "access"),
    [
        ("none", set()),
        ("read", READ),
        ("update", UPDATE),
        ("control", CONTROL),
        ("browse", {Access.BROWSE}),
        ("put,get", {Access.PUT, Access.GET}),
        ("read,context", READ | {Access.CONTEXT}),
        ("none,set", {Access.SET}),
        ("PUT,Inquire", {Access.PUT, Access.INQUIRE}),
        ("administer", {Access.ADMINISTER}),
    ],
)
def test_words_of_access(word, access):
    assert access == granted(f"queue ORDERS ALICE {word}", "ALICE", "ORDERS")


def test_every_single_access_is_one_bit():
    """S1: none of them brings another with it."""
    assert [1, 2, 4, 8, 16, 32, 64] == [int(each) for each in SINGLE]
    assert [3, 31, 127, 0] == [int(each) for each in (Access.READ, Access.UPDATE, Access.CONTROL, Access.NONE)]


@pytest.mark.parametrize(
    ("profiles", "access"),
    [
        ("queue * ALICE control", CONTROL),
        ("queue OR* ALICE read\nqueue * ALICE control", READ),
        ("queue * ALICE control\nqueue OR* ALICE read", READ),  # the order of lines does not matter
        ("queue ORDERS* ALICE read\nqueue ORDERS ALICE put", {Access.PUT}),  # a whole name before a longer `*`
        ("queue ORDERS.* ALICE control\nqueue O* ALICE read", READ),  # the longer one does not cover it
        ("queue ORDERS BOB control", set()),
        ("queue ORDERS BOB control\nqueue * ALICE control", set()),  # the best profile decides alone
        ("queue ORDERS * read\nqueue ORDERS ALICE none", set()),  # his own entry before everybody's
        ("queue ORDERS ALICE control\nqueue ORDERS * none", CONTROL),
        ("queue ORDERS ALICE read\nqueue ORDERS ALICE update", UPDATE),  # the last of two alike
        ("process ORDERS ALICE control", set()),  # another class
        ("# queue ORDERS ALICE control", set()),
    ],
)
def test_the_most_specific_profile_decides_and_in_it_the_user(profiles, access):
    assert access == granted(profiles, "ALICE", "ORDERS")


def test_several_accesses_are_granted_together_or_not_at_all():
    manager = security("queue ORDERS ALICE put")
    manager.check("ALICE", "queue", "ORDERS", Access.PUT)
    assert not manager.allows("ALICE", "queue", "ORDERS", Access.PUT | Access.GET)
    with pytest.raises(MQError) as refused:
        manager.check("ALICE", "queue", "ORDERS", Access.PUT | Access.GET)
    assert Access.GET.name == refused.value.facts["access"]  # what is missing, not what was asked


def test_to_ask_for_nothing_is_always_allowed():
    assert security("queue ORDERS BOB read").allows("ALICE", "queue", "ORDERS", Access.NONE)


def test_a_refusal_says_who_what_and_which():
    with pytest.raises(MQError) as refused:
        security("").check("ALICE", "queue", "ORDERS", Access.READ)
    assert Reason.NOT_AUTHORIZED is refused.value.reason
    facts = {"user": "ALICE", "resource": "queue", "name": "ORDERS", "access": "READ"}
    assert facts == refused.value.facts


# --- S3, S6: who is not checked --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "active"), [(None, False), ("", True), ("queue * * read", True)])
def test_no_profiles_at_all_is_not_the_same_as_none_that_grant(text, active):
    manager = security(text)
    assert (active, not active) == (manager.active, manager.allows("ALICE", "queue", "ORDERS", Access.PUT))


def test_only_the_queue_manager_is_itself():
    """S6: a user of that name is a user."""
    manager = security("connect * * read")
    assert manager.allows(Itself("QM1"), "queue", "ORDERS", Access.CONTROL)
    assert not manager.allows("QM1", "queue", "ORDERS", Access.CONTROL)
    with fails(Reason.NOT_AUTHORIZED):
        manager.check("QM1", "command", "DEFINE.QLOCAL", Access.ADMINISTER)


# --- S4: answers are kept --------------------------------------------------------------------------------------------


def test_an_answer_is_kept_until_its_time_is_over_and_not_a_microsecond_longer(monkeypatch):
    clock = FakeClock()
    manager, decided = security("queue ORDERS ALICE read", clock), []
    decide = manager._decide
    monkeypatch.setattr(manager, "_decide", lambda *asked: decided.append(asked) or decide(*asked))

    def ask(later_us):
        clock.us += later_us
        manager.check("ALICE", "queue", "ORDERS", Access.READ)
        return len(decided)

    assert [1, 1, 1, 2, 2, 3] == [ask(us) for us in (0, 1, TIMEOUT_US - 2, 1, 0, TIMEOUT_US)]


def test_the_time_is_54_minutes_unless_somebody_says_otherwise():
    assert (54 * 60 * 1_000_000, 7) == (security("").timeout_us, security("", timeout_us=7).timeout_us)


def test_answers_are_kept_for_each_user_class_and_name():
    manager = security("queue ORDERS ALICE read\nprocess ORDERS ALICE control")
    assert manager.allows("ALICE", "queue", "ORDERS", Access.READ)
    for user, resource, name in [("BOB", "queue", "ORDERS"), ("ALICE", "namelist", "ORDERS"), ("ALICE", "queue", "X")]:
        assert not manager.allows(user, resource, name, Access.READ)
    assert manager.allows("ALICE", "process", "ORDERS", Access.CONTROL)
    assert not manager.allows("ALICE", "queue", "ORDERS", Access.CONTROL)


def test_when_too_many_answers_are_kept_all_are_forgotten(monkeypatch):
    monkeypatch.setattr(security_module, "ANSWERS_MAX", 3)
    manager = security("queue * ALICE read")
    kept = []
    for number in range(5):
        manager.allows("ALICE", "queue", f"Q{number}", Access.READ)
        kept.append(sorted(name for _, _, name in manager._answers))
    assert [["Q0"], ["Q0", "Q1"], ["Q0", "Q1", "Q2"], ["Q3"], ["Q3", "Q4"]] == kept


@pytest.mark.parametrize("again", [SecurityManager.refresh, lambda manager: manager.reverify(["ALICE"])])
def test_an_answer_of_profiles_that_are_read_again_meanwhile_is_not_kept(again, monkeypatch):
    """S10: whoever asked before, by another thread, is answered so once."""
    text = ["queue ORDERS ALICE update"]
    manager = SecurityManager(lambda: text[0], FakeClock())
    assert manager.allows("ALICE", "queue", "OTHERS", Access.NONE)
    decide = manager._decide

    def revoked_meanwhile(*asked):
        decided = decide(*asked)
        text[0] = "queue ORDERS ALICE none"
        again(manager)
        return decided

    monkeypatch.setattr(manager, "_decide", revoked_meanwhile)
    assert manager.allows("ALICE", "queue", "ORDERS", Access.PUT)
    monkeypatch.setattr(manager, "_decide", decide)
    assert not manager.allows("ALICE", "queue", "ORDERS", Access.PUT)


def test_refresh_reads_the_profiles_and_forgets_the_answers():
    text = ["queue ORDERS ALICE read"]
    manager = SecurityManager(lambda: text[0], FakeClock())
    assert not manager.allows("ALICE", "queue", "ORDERS", Access.PUT)
    text[0] = "queue ORDERS ALICE put"
    assert not manager.allows("ALICE", "queue", "ORDERS", Access.PUT)
    manager.refresh()
    assert manager.allows("ALICE", "queue", "ORDERS", Access.PUT)
    assert (Profile("queue", "ORDERS", "ALICE", Access.PUT),) == manager.profiles
    text[0] = None
    manager.refresh()
    assert ((), False) == (manager.profiles, manager.active)


@pytest.mark.parametrize("broken", ["queue ORDERS", OSError("gone"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")])
def test_profiles_that_cannot_be_read_leave_profiles_and_answers(broken):
    text = ["queue ORDERS ALICE read"]

    def read():
        if isinstance(text[0], Exception):
            raise text[0]
        return text[0]

    manager = SecurityManager(read, FakeClock())
    manager.check("ALICE", "queue", "ORDERS", Access.READ)
    text[0] = broken
    with pytest.raises(ProfileError):
        manager.refresh()
    assert manager.allows("ALICE", "queue", "ORDERS", Access.READ)
    assert 1 == len(manager._answers)


# --- S5, S7: who hears of a refusal ----------------------------------------------------------------------------------


def test_each_refusal_is_told_once_and_nothing_else():
    manager, heard = security("queue ORDERS ALICE read"), []
    manager.refused = heard.append
    manager.check("ALICE", "queue", "ORDERS", Access.READ)
    assert not manager.allows("ALICE", "queue", "ORDERS", Access.PUT)
    assert [] == heard
    for _ in range(2):
        with pytest.raises(MQError) as refused:
            manager.check("ALICE", "queue", "ORDERS", Access.PUT)
        assert refused.value is heard[-1]
    assert 2 == len(heard)


@pytest.mark.parametrize("acting", ["", "SERVER"])
def test_a_refusal_names_who_acts_for_another(acting):
    with pytest.raises(MQError) as refused:
        security("").check("ALICE", "queue", "ORDERS", Access.PUT, acting)
    assert ({"acting": acting} if acting else {}) == {
        name: fact for name, fact in refused.value.facts.items() if name == "acting"
    }


# --- S8: lines -------------------------------------------------------------------------------------------------------


def test_a_text_of_profiles():
    text = """
    # all of them
    connect * * read      # everybody
    queue	ORDERS.*   ALICE	put,get

    altuser AL* SERVER update
    """
    expected = (
        Profile("connect", "*", "*", Access.READ),
        Profile("queue", "ORDERS.*", "ALICE", Access.PUT | Access.GET),
        Profile("altuser", "AL*", "SERVER", Access.UPDATE),
    )
    assert expected == parse(text)
    assert () == parse("\n# nothing\n\n")


@pytest.mark.parametrize("resource", CLASSES)
def test_every_class_has_profiles(resource):
    assert CONTROL == granted(f"{resource} NAME ALICE control", "ALICE", "NAME", resource)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("queue ORDERS ALICE", r"line 3: expected class, name, user and access, found 'queue ORDERS ALICE'"),
        ("queue ORDERS ALICE put get", r"line 3: expected class, name, user and access"),
        ("queue ORDERS ALICE write", r"line 3: 'write' is no access; one of none, browse, inquire"),
        ("queue ORDERS ALICE put,", r"line 3: '' is no access"),
        ("queue ORDERS ALICE put,write", r"line 3: 'write' is no access"),
        ("topic ORDERS ALICE put", r"line 3: 'topic' is no class; one of connect, queue"),
        ("Queue ORDERS ALICE put", r"line 3: 'Queue' is no class"),
        ("queue *ORDERS ALICE put", r"line 3: only the end of a name may be \*, found '\*ORDERS'"),
        ("queue OR** ALICE put", r"line 3: only the end of a name may be \*, found 'OR\*\*'"),
    ],
)
def test_a_line_that_grants_nothing_is_refused_with_its_number(line, said):
    with pytest.raises(ProfileError, match=said):
        parse(f"connect * * read\n\n{line}\n")
