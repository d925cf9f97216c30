"""A queue manager played by the test: the other end of a client's link, which answers as it is told."""

import socket
import threading
from contextlib import suppress

import pytest

from quaestor.server import values
from quaestor.server.client.opening import hello_of
from quaestor.server.protocol import HEADER, HEADER_LENGTH, Op, frame

HELLO = hello_of("QM1", "alice", "secret", "test")
WELCOME = {"qmgr": "QM1", "version": 2, "user": "alice", "heartbeat_s": 30, "frame_bytes": 1 << 20}


class Side:
    """A queue manager's end of a link, played by the test."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(10)

    def asked(self):
        """The number and conversation of the next request."""
        length, _, _, conversation, number = HEADER.unpack(self._exactly(HEADER_LENGTH))
        self._exactly(length - HEADER_LENGTH)
        return conversation, number

    def _exactly(self, length):
        data = b""
        while len(data) < length:
            data += self.sock.recv(length - len(data)) or pytest.fail("the link has ended")
        return data

    def answer(self, answer, op=Op.REPLY):
        packed = answer if isinstance(answer, bytes) else values.pack(answer)
        self.sock.sendall(frame(op, 0, *self.asked(), packed))

    def has_ended(self):
        with suppress(ConnectionResetError):
            while self.sock.recv(1 << 16):
                pass
        return True


class Pair:
    """A place whose queue manager is the test; each reach makes another link."""

    name, tls = "QM1", None

    def __init__(self):
        self.sides = []

    def reach(self):
        here, there = socket.socketpair()
        self.sides.append(Side(there))
        return here

    reach_plain = reach

    @property
    def side(self):
        return self.sides[-1]


def until(holds):
    pause = threading.Event()
    while not holds():
        pause.wait(0.001)
