"""Whatever a client sends, the service goes on: it answers, or it ends that link with one line (W8, LI1, CA1, VA2).

The service runs on the test's own thread, so what it cannot carry out would be raised here.
"""

from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor import LocalQueue
from quaestor.server import values
from quaestor.server.calls import CALLS
from quaestor.server.protocol import HEADER, HEADER_LENGTH, Op, frame
from server.conftest import HELLO, OPEN_FOR_ALL, Turns, call, hello


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One for all: whatever it is sent, it goes on."""
    made = Turns(tmp_path_factory.mktemp("server"))
    yield made
    made.forget_peers()
    made.service._close()


@contextmanager
def others_are_served(server):
    """Whatever happens inside, another client's call is answered afterwards."""
    other = server.introduced()
    yield
    assert [(Op.REPLY, 4)] == answered(server.say(other, call("status", number=4)))
    server.forget_peers()


def answered(data):
    """Operations and numbers of the answers."""
    found = []
    while data:
        length, op, _, _, number = HEADER.unpack_from(data)
        assert HEADER_LENGTH <= length <= len(data)
        found.append((op, number))
        data = data[length:]
    return found


ODD_NUMBERS = [
    None,
    True,
    0,
    1,
    -1,
    5,
    1 << 31,
    1 << 40,
    1 << 70,
    -(1 << 70),
    1 << 20_000,
    1.5,
    float("inf"),
    float("nan"),
]
ODD_TEXTS = ["", "ORDERS", "ORDERS.*", "x" * 300, "\0", "\u00e9", b"", b"x", bytes(24), b"\xff" * 400, "QLOCAL", "QMGR"]
ODD_LISTS = [[], ["a"], [1, 2], ["ORDERS", "", ""], ["ORDERS"] + [""] * 5, [None], [[]], ["CURDEPTH", 5], (), ("x",)]
ODD_MAPS = [{}, {"": None}, {"MAXDEPTH": 10**30}, {"PUT": "DISABLED"}]
DEFINITION = LocalQueue("OTHER").pack()
odd = st.sampled_from([*ODD_NUMBERS, *ODD_TEXTS, *ODD_LISTS, *ODD_MAPS, DEFINITION, DEFINITION[:10]])


@given(
    said=odd | st.dictionaries(st.sampled_from(["versions", "user", "password", "qmgr", "client", "application"]), odd)
)
@settings(max_examples=150)
def test_any_hello_is_answered_or_ends_its_link_alone(server, said):
    with others_are_served(server):
        first = server.say(server.link(), hello(said))
        assert first is None or [number for _, number in answered(first)] == [1]


HUGE = {"a number": 1 << 20_000, "a list": [1 << 20_000], "a map": {"": -(1 << 20_000)}, "small": 5, "none": None}


@pytest.mark.parametrize("where", ["application", "qmgr", "client", "user", "password", "versions", "more"])
@pytest.mark.parametrize("said", HUGE.values(), ids=HUGE)
def test_a_hello_whose_names_cannot_be_written_down_ends_its_link_alone(server, where, said):
    """W8, LI1: nobody is known yet, so anybody could send it; nor can a number of thousands of digits be told."""
    with others_are_served(server):
        server.say(server.link(), hello(HELLO | {where: said}))


def test_an_integer_that_cannot_be_written_down_is_none(server):
    """VA2: in any call."""
    for number in (1 << 8 * 1024, -(1 << 20_000)):
        with others_are_served(server):
            assert server.say(server.introduced(), call("outcome", number, number=4)) is None
            assert "an integer of" in server.last_line()
    assert values.unpack(values.pack(1 << 8183)) == 1 << 8183


@pytest.mark.parametrize("versions", [None, 2, True, "2", 2.0, {}, {"2": 2}, [], [1, 3], ["2"]])
def test_a_hello_whose_versions_are_none_of_ours_is_refused(server, versions):
    """W1: whatever they are; nothing of it may end the service."""
    with others_are_served(server):
        assert [(Op.ERROR, 1)] == answered(server.say(server.link(), hello(HELLO | {"versions": versions})))
        assert "another version" in server.last_line()


@given(asked=st.lists(st.tuples(st.sampled_from(sorted(CALLS)), st.lists(odd, max_size=6)), min_size=1, max_size=12))
@settings(max_examples=120)
def test_any_call_is_answered_or_ends_its_link_alone(server, asked):
    """CA1: of another number of parameters, of other kinds, out of range."""
    with others_are_served(server):
        peer = server.introduced()
        for number, (name, words) in enumerate(asked, 10):
            handle = [1] if name in ("inquire", "set", "close") else []
            told = server.say(peer, call(name, *handle, *words, number=number))
            if told is None:
                assert "QSV010W" in server.last_line()
                break
            assert [number] == [number for _, number in answered(told)]
            if name == "disconnect":
                break


heads = st.sampled_from([b"", b"\0\1\0\0\0\4", b"\0\1\0\0\0\0", b"\0\2\0\0\0\4", b"\0\1" + bytes(12)])


@given(
    sent=st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 255), heads, st.binary(max_size=40) | st.binary(max_size=4)),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=150)
def test_any_frame_is_answered_or_ends_its_link_alone(server, sent):
    """W8: any operation, any flags, any payload."""
    with others_are_served(server):
        peer = server.introduced()
        for number, (op, flags, head, rest) in enumerate(sent, 10):
            if server.say(peer, frame(op, flags, 1, number, head + rest)) is None:
                assert "not a frame of this protocol" in server.last_line()
                break


@given(st.binary(min_size=1, max_size=60))
@settings(max_examples=60)
def test_any_bytes_on_the_port_end_at_most_their_link(server, data):
    with others_are_served(server):
        server.say(server.link(), data)


def test_a_request_of_millions_of_values_is_not_read(server):
    """VA2: all others would wait meanwhile."""
    millions = frame(Op.CALL, 0, 1, 4, values.pack(["inquire", 1, ["x"] * 5000]))
    with others_are_served(server):
        assert server.say(server.introduced(), millions) is None
        assert "too many values" in server.last_line()
    with others_are_served(server):
        nested = values.pack(["inquire", 1, [["x"] * 100 for _ in range(100)]])
        assert server.say(server.introduced(), frame(Op.CALL, 0, 1, 4, nested)) is None
    with others_are_served(server):
        most = values.pack(["inquire", 1, ["CURDEPTH"] * 4000])
        assert [(Op.REPLY, 4)] == answered(server.say(server.introduced(), frame(Op.CALL, 0, 1, 4, most)))


def test_there_are_no_more_handles_than_numbers_for_them(server):
    """CA1: 2017, and not a search without end for one that is free."""
    with others_are_served(server):
        before = set(server.service.links)
        peer = server.introduced()
        (link,) = server.service.links - before
        handles = link.conversations[1].handles
        handles |= dict.fromkeys(range(2, 65_536), handles[1])
        opening = call("open", "ORDERS", "", "", OPEN_FOR_ALL, number=4)
        assert [(Op.ERROR, 4)] == answered(server.say(peer, opening))
        closing = call("close", 7, 0, number=5)
        del handles[7]
        assert [(Op.ERROR, 5), (Op.REPLY, 6)] == answered(
            server.say(peer, closing, call("open", "ORDERS", "", "", OPEN_FOR_ALL, number=6))
        )
        handles.clear()
