"""Listeners: the sockets applications come in by, and TLS.

Rules
  LS1 Local applications come by a socket file that only its owner can open. Its path may be longer than a socket's
      name can be: it is then reached through its directory.
  LS2 Remote applications come by TCP. An address that is not loopback is refused without TLS, unless that is asked for
      in so many words (`plain = true` in `server.toml`).
  LS3 TLS is 1.2 or later, and agreed upon once: nobody negotiates again on a link. With a file of authorities, clients
      may show a certificate, or must if so configured; it is verified before anything is read. A file
      that cannot be used is named.

Called by process and the client.  Calls the operating system.
"""

import contextlib
import ipaddress
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BACKLOG = 512
SOCKET_NAME_MAX = 100
PORT_DIGITS = 5
KEEPALIVE_IDLE_S, KEEPALIVE_EVERY_S, KEEPALIVE_TIMES = 60, 15, 4


class ListenError(ValueError):
    """An address that cannot or must not be listened on."""


@dataclass(frozen=True, slots=True)
class Tls:
    """What a server shows, and whom it believes (LS3)."""

    certificate: Path
    key: Path
    authorities: Path | None = None
    require_certificate: bool = False

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        with _named(self.certificate, self.key):
            context.load_cert_chain(self.certificate, self.key)
        if self.authorities is not None:
            with _named(self.authorities):
                context.load_verify_locations(self.authorities)
            context.verify_mode = ssl.CERT_REQUIRED if self.require_certificate else ssl.CERT_OPTIONAL
        return context


@contextmanager
def _named(*files: Path) -> Iterator[None]:
    """Say which of some files cannot be read, or that they hold nothing that can be used."""
    for file in files:
        try:
            file.open("rb").close()
        except OSError as error:
            raise ListenError(f"{file}: {error.strerror}") from error
    try:
        yield
    except ssl.SSLError as error:
        raise ListenError(f"{', '.join(map(str, files))}: not what TLS needs: {error.reason or error}") from error


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`."""
    host, colon, port = address.rpartition(":")
    if not (colon and host.isprintable() and port.isdecimal() and len(port) <= PORT_DIGITS and int(port) <= 65_535):
        raise ListenError(f"{address!r} is not host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_reach(address: str, *, tls: bool, plain_allowed: bool) -> None:
    """Refuse an address that others reach without TLS (LS2)."""
    if not (tls or plain_allowed or is_loopback(split_address(address)[0])):
        raise ListenError(f"{address} is not loopback: it needs TLS (`quaestor qmgr tls`), or `plain = true`")


def listen_tcp(address: str, *, tls: bool, plain_allowed: bool = False) -> socket.socket:
    """A listening TCP socket (LS2)."""
    check_reach(address, tls=tls, plain_allowed=plain_allowed)
    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise ListenError(f"cannot listen on {address}: {error.strerror}") from error
    return _listening(sock)


def listen_local(path: Path) -> socket.socket:
    """A listening socket file; one left by a process that is gone is replaced (LS1)."""
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        with socket_name(path) as name:
            sock.bind(name)
    finally:
        os.umask(mask)
    return _listening(sock)


def _listening(sock: socket.socket) -> socket.socket:
    sock.listen(BACKLOG)
    sock.setblocking(False)
    return sock


@contextmanager
def socket_name(path: Path) -> Iterator[str]:
    """A name for the socket file that is short enough (LS1)."""
    if len(os.fsencode(path)) <= SOCKET_NAME_MAX:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def tune_tcp(sock: socket.socket) -> None:
    """Small frames go at once; a peer that vanished without a word is noticed."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with contextlib.suppress(AttributeError, OSError):  # names of Linux
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_EVERY_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_TIMES)
