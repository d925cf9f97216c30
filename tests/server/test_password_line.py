"""Wrong passwords keep nobody out: who is checked next, who makes room, and who is told what (PL1-PL5)."""

import errno
import socket
from itertools import cycle

import pytest

from quaestor.mqi.reasons import Reason
from quaestor.server import values
from quaestor.server.identity import Identity
from quaestor.server.password_line import KEPT, PLACES, PasswordLine, origin_of
from quaestor.server.protocol import HEADER, HEADER_LENGTH, Op
from server.conftest import HELLO, hello

HOSTILE, HOME, ELSEWHERE = "10.0.0.9:999", "10.0.0.1:111", "10.0.0.2:222"


class Asker:
    sock = None

    def __init__(self, peer):
        self.peer, self.open = peer, True


def join(line, peer, user="alice"):
    """Wait for a check; gives the asker, and whoever has no place any more."""
    asker = Asker(peer)
    return asker, line.join(asker, user, "secret", lambda _: None)


def next_of(line, *, right=False):
    """Carry out the next check: whose it was."""
    check = line.first()
    line.checked(check, right=right)
    return check.origin, check.user


def known(line, peer, user="alice"):
    join(line, peer, user)
    next_of(line, right=True)


@pytest.mark.parametrize("users", [1, 500])
def test_who_is_honest_is_checked_next_however_many_wrong_ones_wait(users):
    """PL2, PL4: from the first moment on, and as long as it goes on; whatever users they name."""
    line, names = PasswordLine(), cycle(f"user{number}" for number in range(users))
    for _ in range(2 * PLACES):
        join(line, HOSTILE, next(names))
    for _ in range(100):
        next_of(line)
        join(line, HOSTILE, next(names))
        _, leaves = join(line, HOME)
        assert "10.0.0.9" == leaves.origin
        assert ("10.0.0.1", "alice") == next_of(line, right=True)
        join(line, HOSTILE, next(names))


def test_an_origin_waits_behind_as_many_as_it_has_sent_itself():
    """PL2: two that send many are checked in turns; the third, who came last, is the third."""
    line = PasswordLine()
    for peer in (HOSTILE, HOSTILE, HOSTILE, HOME, HOME, ELSEWHERE):
        join(line, peer)
    expected = ["10.0.0.9", "10.0.0.1", "10.0.0.2", "10.0.0.9", "10.0.0.1", "10.0.0.9"]
    assert expected == [next_of(line, right=True)[0] for _ in expected]


def test_wrong_passwords_are_remembered_after_they_have_gone():
    """PL2: one of an origin with a wrong one comes behind one without; right ones cost nothing."""
    line = PasswordLine()
    join(line, HOSTILE)
    next_of(line)
    known(line, HOME)
    join(line, HOSTILE, "bob")
    join(line, HOME, "bob")
    assert [("10.0.0.1", "bob"), ("10.0.0.9", "bob")] == [next_of(line), next_of(line)]


def test_wrong_passwords_are_forgotten_behind_enough_others():
    line = PasswordLine()
    join(line, HOME)
    next_of(line)
    for _ in range(KEPT):
        join(line, HOSTILE)
        next_of(line)
    join(line, HOME)
    join(line, ELSEWHERE)
    assert [("10.0.0.1", "alice"), ("10.0.0.2", "alice")] == [next_of(line), next_of(line)]  # in the order of coming


def test_a_user_known_from_there_does_not_answer_for_others_of_its_address():
    """PL3: the hostile one is behind the same address."""
    line = PasswordLine()
    known(line, HOSTILE)
    for number in range(2 * PLACES):
        join(line, HOSTILE, f"user{number}")
    for _ in range(10):
        next_of(line)
    join(line, HOSTILE, "alice")
    assert ("10.0.0.9", "alice") == next_of(line, right=True)


def test_a_user_known_from_there_answers_for_itself():
    """PL3: whoever has one user cannot keep others out with it."""
    line = PasswordLine()
    known(line, HOSTILE, "mallory")
    for _ in range(2 * PLACES):
        join(line, HOSTILE, "mallory")
    join(line, HOME)
    assert [("10.0.0.9", "mallory"), ("10.0.0.1", "alice")] == [next_of(line), next_of(line)]


def test_a_known_user_comes_before_strangers_of_as_many_addresses_as_there_are_places():
    line = PasswordLine()
    known(line, HOME)
    for number in range(2 * PLACES):
        join(line, f"10.1.0.{number}:1", "root")
    _, leaves = join(line, ELSEWHERE)
    assert "10.0.0.2" == leaves.origin  # PL4: like the strangers, and later than they
    join(line, HOME)
    assert ("10.0.0.1", "alice") == next_of(line)


def test_no_more_users_are_known_than_are_kept():
    line = PasswordLine()
    for number in (0, *range(KEPT), 0, KEPT):
        known(line, HOME, f"user{number}")
    assert KEPT == len(line._known)
    assert [True, False, True] == [("10.0.0.1", f"user{number}") in line._known for number in (0, 1, KEPT)]


def test_who_has_gone_has_no_place_and_costs_no_check():
    """PL1."""
    line = PasswordLine()
    gone = [join(line, f"10.1.0.{number}:1")[0] for number in range(PLACES)]
    for asker in gone:
        asker.open = False
    _, leaves = join(line, HOME)
    assert leaves is None
    assert ("10.0.0.1", "alice") == next_of(line)
    asker, _ = join(line, HOME)
    asker.open = False
    assert line.first() is None


@pytest.mark.parametrize(
    ("peer", "origin"),
    [
        ("local", ""),
        ("10.0.0.1:1414", "10.0.0.1"),
        ("::1:1414", "0::"),
        ("2001:db8:1:2:3:4:5:6:1414", "20010db800010002::"),
        ("2001:db8:1:2:ffff::7:1", "20010db800010002::"),
        ("2001:db8:1:3::7:1", "20010db800010003::"),
        ("::ffff:10.0.0.1:1414", "10.0.0.1"),
        ("fe80::1%eth0:1414", "fe80000000000000::"),
    ],
)
def test_where_a_link_comes_from(peer, origin):
    """PL5."""
    assert origin.lstrip("0") == origin_of(peer).lstrip("0")


def test_a_password_that_waits_is_not_printed():
    """US3."""
    line = PasswordLine()
    join(line, HOME)
    assert "secret" not in repr(line.first())


# -- the same by way of the service


class Known:
    """Users that are there without a file, and how often one was looked up."""

    asked = 0

    def verify(self, _user, password):
        self.asked += 1
        return password == "open sesame"


class ByHand:
    """Checks that are carried out when the test says so."""

    def __init__(self):
        self.jobs = []

    def submit(self, job):
        self.jobs.append(job)

    def shutdown(self, **_):
        pass


@pytest.fixture
def checking(turns):
    """A service whose checks the test carries out."""
    server = turns()
    identity = server.service.identity = Identity(Known())
    identity.close()
    identity._hashing = ByHand()
    return server


def comes(server, peer, password):
    here, there = socket.socketpair()
    server.service.arrivals.accepted(there, peer, None)
    server.peers.append(here)
    here.setblocking(False)
    here.send(hello(HELLO | {"password": password}))
    server.turn()
    return here


def check_one(server):
    server.service.identity._hashing.jobs.pop(0)()
    server.turn(2)


def told(sock):
    """The reason, or the user; None while nothing has come."""
    try:
        data = sock.recv(1 << 16)
    except BlockingIOError:
        return None
    except OSError as error:
        return errno.errorcode[error.errno]
    if not data:
        return "end"
    _, op, *_ = HEADER.unpack_from(data)
    if op == Op.REPLY:
        return values.unpack(data[HEADER_LENGTH:])["user"]
    return values.unpack_error(data[HEADER_LENGTH:]).reason


def test_wrong_passwords_keep_nobody_out(checking):
    """Who is honest waits for one check of theirs, however many go on coming; who makes room may come again."""
    wrong = [comes(checking, HOSTILE, "guess") for _ in range(PLACES + 8)]
    checking.turn(2)
    assert [None] * PLACES + [Reason.MAX_CONNS_LIMIT_REACHED] * 8 == [told(sock) for sock in wrong]
    for number in range(3):
        honest = comes(checking, HOME, "open sesame")
        check_one(checking)
        if not number:
            assert Reason.NOT_AUTHORIZED == told(wrong[0])
            check_one(checking)
        assert "ALICE" == told(honest)
        comes(checking, HOSTILE, "guess")
        check_one(checking)


def test_who_had_no_place_is_counted_and_does_not_fill_the_log(checking):
    """SV8: one line for all of a second, however many come; no line where nobody did."""
    for _ in range(PLACES + 8):
        comes(checking, HOSTILE, "guess")
    checking.turn(2)
    assert "" == checking.out.getvalue()
    for _ in range(2):
        checking.clock.advance(seconds=1)
        checking.turn()
    (line,) = checking.out.getvalue().splitlines()
    assert "QSV011W link refused why='too many passwords at a time' made_room=8" in line


def test_who_goes_before_its_check_costs_none(checking):
    comes(checking, HOSTILE, "guess").close()
    checking.turn(2)
    check_one(checking)
    assert 0 == checking.service.identity._users.asked
