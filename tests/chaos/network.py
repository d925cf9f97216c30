"""Networks of the chaos test: ways between members and servers that can be cut.

    Namespaces   each member in a network namespace of its own, with a cable (veth) to the servers that is pulled
    Proxies      each way is a proxy in this process, which drops its connections and refuses new ones, or holds what
                 was sent and delivers it late, when the sender has given up long ago

Namespaces need root; where they cannot be made, proxies cut instead. What is delivered late needs proxies anyway.
"""

import os
import selectors
import shutil
import socket
import subprocess
import threading
from contextlib import suppress

CHUNK = 1 << 16


class Proxy:
    """One way: listens for a member, forwards to a server. A thread of this process."""

    def __init__(self, listening, target):
        self._listening, self._target = listening, target
        self._mode = "pass"
        self._links, self._pending = {}, {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._asked = []
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def become(self, mode):
        """pass, cut or hold; returns when it is so."""
        done = threading.Event()
        self._asked.append((mode, done))
        self._waker.send(b"x")
        done.wait(10)

    def close(self):
        self.become("end")
        self._thread.join(10)

    def _serve(self):
        while self._mode != "end":
            for key, _ in self._selector.select(1):
                if key.fileobj is self._woken:
                    self._change()
                    break
                if self._mode == "hold":
                    continue
                if key.fileobj is self._listening:
                    self._accept()
                elif key.fileobj in self._links:
                    self._forward(key.fileobj)
        for sock in (*self._links, self._listening, self._woken, self._waker):
            sock.close()

    def _change(self):
        self._woken.recv(100)
        while self._asked:
            mode, done = self._asked.pop(0)
            self._mode = mode
            watched = (self._listening, *self._links)
            for sock in watched:
                known = sock in {key.fileobj for key in self._selector.get_map().values()}
                if mode == "hold" and known:
                    self._selector.unregister(sock)
                elif mode != "hold" and not known:
                    self._selector.register(sock, selectors.EVENT_READ)
            if mode == "cut":
                for sock in list(self._links):
                    self._drop(sock)
            done.set()

    def _accept(self):
        sock, _ = self._listening.accept()
        if self._mode == "cut":
            sock.close()
            return
        other = socket.socket(socket.AF_UNIX if isinstance(self._target, str) else socket.AF_INET)
        try:
            other.connect(self._target)
        except OSError:
            sock.close()
            other.close()
            return
        for one, two in ((sock, other), (other, sock)):
            if one.family == socket.AF_INET:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._links[one] = two
            self._selector.register(one, selectors.EVENT_READ)

    def _forward(self, sock):
        try:
            data = sock.recv(CHUNK)
            if data:
                self._links[sock].sendall(data)
                return
        except OSError:
            pass
        self._drop(sock)

    def _drop(self, sock):
        other = self._links.pop(sock, None)
        for one in (sock, other):
            if one is not None:
                self._links.pop(one, None)
                with suppress(KeyError, ValueError):
                    self._selector.unregister(one)
                one.close()


def proxy_tcp(port):
    """A proxy to a port of this machine; its own port."""
    listening = socket.create_server(("127.0.0.1", 0))
    return Proxy(listening, ("127.0.0.1", port)), listening.getsockname()[1]


def proxy_unix(path, target):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen(64)
    return Proxy(listening, str(target))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


# --- namespaces ------------------------------------------------------------------------------------------------------


def ip(*words):
    return subprocess.run(["ip", *words], check=False, capture_output=True).returncode == 0


def namespaces_possible():
    """Whether network namespaces and cables between them can be made here."""
    if os.getuid() != 0 or shutil.which("ip") is None:
        return False
    probe = f"qp{os.getpid()}"
    try:
        return ip("netns", "add", probe) and ip("link", "add", probe, "type", "veth", "peer", "name", f"{probe}p")
    finally:
        ip("link", "del", probe)
        ip("netns", "del", probe)


class Namespace:
    """A member's own network, with a cable to this one."""

    def __init__(self, number):
        self.name = f"q{os.getpid() % 100000}n{number}"
        block = os.getpid() % 200
        self.server, self._own = f"10.{block + 20}.{number}.1", f"10.{block + 20}.{number}.2"
        inside = f"{self.name}i"
        done = [
            ip("netns", "add", self.name),
            ip("link", "add", self.name, "type", "veth", "peer", "name", inside),
            ip("link", "set", inside, "netns", self.name),
            ip("addr", "add", f"{self.server}/24", "dev", self.name),
            ip("link", "set", self.name, "up"),
            ip("-n", self.name, "addr", "add", f"{self._own}/24", "dev", inside),
            ip("-n", self.name, "link", "set", inside, "up"),
            ip("-n", self.name, "link", "set", "lo", "up"),
        ]
        if not all(done):
            self.close()
            raise OSError(f"no network namespace {self.name}: {done}")

    def inside(self, command):
        return ["ip", "netns", "exec", self.name, *command]

    def become(self, mode):
        """pass, or anything else: the cable is pulled."""
        ip("link", "set", self.name, "up" if mode == "pass" else "down")

    def close(self):
        ip("link", "del", self.name)
        ip("netns", "del", self.name)
