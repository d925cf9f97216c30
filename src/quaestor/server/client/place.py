"""Place: where a queue manager is to be found, and how to get a socket to it.

Rules
  PL1 `host:port`, or `[v6]:port`, is an address: it ends in a colon and digits and has no slash. Anything else is a
      directory: `./host:1414` is one, if need be.
  PL2 Without either, the queue manager is one of this machine, reached by the socket in its directory.
  PL3 With TLS the server's certificate is verified against the authorities given, or the system's, and its name
      against the host. That can be turned off for nobody.
  PL4 A certificate of the client's that is refused (expired, of another authority) is heard of only with the first
      answer: TLS 1.3 is through by then. It is 2035 as well, and says what the queue manager said.
  PL5 Where nobody answers, 2059 names the place and the command that starts the queue manager, or makes one.

Called by the package door.  Calls the operating system.
"""

import os
import re
import socket
import ssl
from dataclasses import dataclass, replace
from pathlib import Path

from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.home import Home, default_directory
from quaestor.server.listeners import socket_name, split_address, tune_tcp

CONNECT_S = 30.0
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^/\\:\[\]]+):\d+")


def is_address(where: object) -> bool:
    """Whether this is an address and not a directory (PL1)."""
    return isinstance(where, str) and _ADDRESS.fullmatch(where) is not None


def certificate_refused(error: BaseException | None) -> MQError | None:
    """What the queue manager says against the certificate that was shown, if this is that (PL4)."""
    said = str(error.reason or "") if isinstance(error, ssl.SSLError) else ""
    if "CERTIFICATE" not in said:
        return None
    words = said.rpartition("ALERT_")[2].replace("_", " ").lower()
    return MQError(Reason.NOT_AUTHORIZED, why=f"TLS: the queue manager says: {words}")


@dataclass(frozen=True, slots=True)
class ClientTls:
    """Whom a client believes, and what it shows (PL3)."""

    authorities: str | os.PathLike[str] | None = None
    certificate: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None
    server_name: str = ""  # when the certificate names another host than the address

    def context(self) -> ssl.SSLContext:
        for file in (self.authorities, self.certificate, self.key):
            if file is not None:
                Path(file).open("rb").close()  # says which one is missing; the library of TLS does not
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=self.authorities)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


@dataclass(frozen=True, slots=True)
class Place:
    """A queue manager of this machine (`path`) or of another (`address`)."""

    name: str
    path: Path | None = None
    address: str = ""
    tls: ClientTls | None = None

    def reach(self) -> socket.socket:
        """A connected socket; 2059 when nobody answers, 2035 when TLS does not come about."""
        try:
            return self._local() if self.path is not None else self._remote()
        except ssl.SSLError as error:
            raise self.refused(error) from error
        except (OSError, ValueError) as error:  # a name that cannot be one is a ValueError
            raise self.unreachable(error) from error

    def unreachable(self, error: OSError | ValueError) -> MQError:
        """Nobody answers: why, and what to do about it (PL5)."""
        strerror, filename = getattr(error, "strerror", None), getattr(error, "filename", None)
        why = f"{filename}: {strerror}" if filename and strerror else strerror or str(error)
        if isinstance(error, ConnectionRefusedError) and self.path is None:
            why = f"{why}; where it is kept: quaestor qmgr start {self.name}"
        elif isinstance(error, ConnectionRefusedError | FileNotFoundError) and self.path is not None:
            home = Home(self.path.parent)
            start = f"it does not run; start it: quaestor qmgr start {home.words(self.name)}"
            why = start if home.exists else home.none_here(self.name)
        return MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=self.name, where=str(self.path or self.address), why=why)

    def refused(self, error: ssl.SSLError) -> MQError:
        """TLS did not come about; a certificate that is not believed says why: expired, another host, another CA."""
        why = getattr(error, "verify_message", "") or error.reason or str(error)
        return MQError(Reason.NOT_AUTHORIZED, qmgr=self.name, why=f"TLS: {why}")

    def _local(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with socket_name(self.path or Path()) as name:
                sock.connect(name)
        except BaseException:
            sock.close()
            raise
        return sock

    def _remote(self) -> socket.socket:
        sock = socket.create_connection(split_address(self.address), CONNECT_S)
        try:
            tune_tcp(sock)
            if self.tls is not None:
                sock = self.tls.context().wrap_socket(sock, server_hostname=self.server_name)
            sock.settimeout(None)
        except BaseException:
            sock.close()
            raise
        return sock

    @property
    def server_name(self) -> str:
        """The name that the server's certificate must have."""
        named = "" if self.tls is None else self.tls.server_name
        return named or split_address(self.address)[0]

    def reach_plain(self) -> socket.socket:
        """A connected socket, before TLS."""
        return replace(self, tls=None).reach()


def local_place(name: str, directory: str | os.PathLike[str] | None = None) -> Place:
    """A queue manager of this machine (PL2)."""
    home = Home(Path(directory) if directory is not None else default_directory(name))
    return Place(name, path=home.socket)
