"""Frames between a connector and the coupling facility: however the bytes are cut, the same is asked and answered."""

import socket
import struct
import threading
from contextlib import suppress

import msgpack
import pytest

from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.lists.client import RECEIVE, FacilityConnection, Questions, reach
from quaestor.storage.lists.operations import Read, ReadList, Write
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal

KEY = b"k" * 16


def frame(*words):
    body = msgpack.packb(words)
    return struct.pack(">I", len(body)) + body


class Answering:
    """Somebody who takes one question and answers with these pieces, each sent by itself, then ends."""

    def __init__(self, path, pieces):
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen(1)
        self._thread = threading.Thread(target=self._answer, args=(pieces,))

    def _answer(self, pieces):
        sock, _ = self._server.accept()
        with sock:
            sock.recv(RECEIVE)
            for piece in pieces:
                sock.sendall(piece)
                threading.Event().wait(0.002)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._thread.join()
        self._server.close()


@pytest.fixture
def facility(tmp_path):
    made = CouplingFacility(tmp_path / "cf.sock")
    serving = threading.Thread(target=made.serve)
    serving.start()
    yield made.path
    made.stop()
    serving.join()


LONG = frame("ok", b"x" * (RECEIVE + 5000))


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        ([frame("ok", "all")], "all"),
        ([frame("ok", "all")[at : at + 1] for at in range(len(frame("ok", "all")))], "all"),
        ([LONG[:2], LONG[2:40_000], LONG[40_000:]], b"x" * (RECEIVE + 5000)),
        ([LONG], b"x" * (RECEIVE + 5000)),
    ],
    ids=["at once", "byte by byte", "long, in pieces", "longer than the room"],
)
def test_an_answer_may_come_in_any_pieces(tmp_path, pieces, answer):
    with Answering(tmp_path / "sock", pieces):
        questions = Questions(tmp_path / "sock")
        assert answer == questions.ask("anything")
        questions.sock.close()


@pytest.mark.parametrize("kept", [0, 3, 4, 9])
def test_who_ends_within_an_answer_is_lost(tmp_path, kept):
    with Answering(tmp_path / "sock", [frame("ok", "everything")[:kept]]):
        questions = Questions(tmp_path / "sock")
        with pytest.raises(StructureLostError):
            questions.ask("anything")
        questions.sock.close()


def test_an_answer_that_comes_too_late_is_that_of_no_other_question(tmp_path):
    """LC4: whoever asked has given up, and somebody else still has the connection."""
    late, server = threading.Event(), socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "sock"))
    server.listen(1)

    def answer():
        sock, _ = server.accept()
        with sock, suppress(OSError):
            sock.recv(RECEIVE)
            late.wait(10)
            sock.sendall(frame("ok", "to the first"))
            sock.recv(RECEIVE)
            sock.sendall(frame("ok", "to the second"))

    serving = threading.Thread(target=answer)
    serving.start()
    questions = Questions(tmp_path / "sock", 0.05)
    with pytest.raises(StructureLostError):
        questions.ask("the first")
    late.set()
    with pytest.raises(StructureLostError):
        questions.ask("the second")
    questions.sock.close()
    serving.join()
    server.close()


def test_a_refusal_is_raised_as_one(tmp_path):
    with Answering(tmp_path / "sock", [frame("no", "FULL", 3)]):
        questions = Questions(tmp_path / "sock")
        with pytest.raises(StructureRefusal, match="FULL, operation 3"):
            questions.ask("anything")
        questions.sock.close()


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_questions_may_come_in_any_pieces_and_several_at_once(facility, size):
    """The facility answers each, in order."""
    connection = FacilityConnection(facility, Shape("APPL1"), "QM1", lambda _: None)
    shape = ["APPL1", 512, 64, 256, 255, 10_000, 60_000]
    sent = frame("connect", shape, "QM2") + b"".join(
        frame("request", [Write(1, KEY, b"%d" % at).packed()]) for at in range(5)
    )
    with reach(facility) as sock:
        for at in range(0, len(sent), size):
            sock.sendall(sent[at : at + size])
        answers = msgpack.Unpacker()
        found, data = [], b""
        while len(found) < 6:
            data += sock.recv(RECEIVE)
            while len(data) >= 4 and len(data) >= 4 + (length := struct.unpack_from(">I", data)[0]):
                answers.feed(data[4 : 4 + length])
                found.append(answers.unpack())
                data = data[4 + length :]
    assert [["ok", [[at], at, at]] for at in range(1, 6)] == found[1:]
    (entries,) = connection.request(ReadList(1))
    assert [b"%d" % at for at in range(5)] == [entry.data for entry in entries]
    connection.disconnect()


def test_a_long_entry_goes_and_comes_whole(facility):
    """Longer than what one read brings, both ways."""
    connection = FacilityConnection(facility, Shape("APPL1", elements_max=2000), "QM1", lambda _: None)
    data = bytes(range(256)) * 1200
    (number,) = connection.request(Write(1, KEY, data))
    assert data == connection.request(Read(number))[0].data
    assert (1, 1200) == tuple(connection.used)
    connection.disconnect()


def test_the_same_operation_is_sent_as_the_same_bytes(facility):
    """LC5: what is asked between, one operation or several, is asked and answered as itself."""
    connection = FacilityConnection(facility, Shape("S"), "QM1", lambda _token: None)
    sent, exchange = [], connection._requests.exchange
    connection._requests.exchange = lambda frame: sent.append(frame) or exchange(frame)
    write, read = Write(1, KEY, b"data"), Read(1)
    assert [(1,), (2,)] == [connection.request(write), connection.request(write)]
    assert b"data" == connection.request(read)[0].data
    assert (3,) == connection.request(write)
    assert [4, 5] == list(connection.request(write, write))
    assert (6,) == connection.request(write)
    assert () == connection.request()
    assert sent[0] is sent[1]
    assert 6 == connection.used[0]
    connection.disconnect()


@pytest.mark.parametrize(
    "asked",
    [
        frame("request", [["list", 1, KEY, KEY, 10, -5, []]]),
        frame("request", [["list", 1, KEY, KEY, 10, 1 << 63, []], ["list", 1, KEY, KEY, 10, (1 << 64) - 1, []]]),
        frame("request", [["watch", "QM2", [], 1, KEY, KEY, False]]),
        frame("request", [["write", 1, KEY, b"x", None], ["claim", 1, KEY, KEY, 2, b"", 255, 0, 9, [], 99]]),
        frame("request", [["write", 1, KEY, "words", "beside"], ["first", 1, KEY, KEY, [[0, b"w"]]]]),
        frame("rebuild", "APP1", "/nowhere"),
        frame("rebuild", "", "x" * 300),
        frame("incoming", "APP2", [["APP2"]]),
        frame("entries", "APP2", []),
        frame("listen", [], {}),
        frame("connect", ["APP2", 1, 1, 0, 1, 1, 1], "QM2") + frame("request", [["write", 1, KEY, b"x", b""]]),
        frame("connect", ["APP2", 1, 1, 256, 1, None, 1], "QM2") + frame("request", [["write", 1, KEY, b"x", b""]]),
        frame({"request": 1}),
        frame(),
    ],
)
def test_no_question_ends_the_facility(facility, asked):
    """FA4: what is no question of ours ends the socket that it came on."""
    good = FacilityConnection(facility, Shape("APP1"), "QM1", lambda _token: None)
    hostile = Questions(facility)
    hostile.ask("connect", ["APP1"], "QM2")
    with suppress(StructureLostError, StructureRefusal):
        hostile.sock.sendall(asked)
        hostile.sock.settimeout(5)
        hostile.sock.recv(RECEIVE)
    hostile.sock.close()
    assert (1,) == good.request(Write(2, KEY, b"x"))
    good.disconnect()


def test_an_answer_that_was_not_waited_for_is_not_that_of_the_next_question(facility, monkeypatch):
    """LC4: somebody pressed Ctrl-C, and ends in good order."""
    connection = FacilityConnection(facility, Shape("APP1"), "QM1", lambda _token: None)
    questions = connection._requests

    def interrupted(_receive, _room):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(questions, "_look", interrupted)
        with pytest.raises(KeyboardInterrupt):
            connection.request(Write(2, KEY, b"x"))
    with pytest.raises(StructureLostError):
        connection.request(Read(99))
    connection.fail()


def test_who_disconnects_from_a_facility_that_is_gone_keeps_no_socket(tmp_path):
    made = CouplingFacility(tmp_path / "cf.sock")
    serving = threading.Thread(target=made.serve)
    serving.start()
    connection = FacilityConnection(made.path, Shape("APP1"), "QM1", lambda _token: None)
    made.stop()
    serving.join()
    with pytest.raises(StructureLostError):
        connection.disconnect()
    assert [-1, -1] == [each.sock.fileno() for each in (connection._requests, connection._listening)]
