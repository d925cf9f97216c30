"""Certificates of one's own: an authority for one queue manager, and what it signs.

Rules
  CT1 An authority is made once per queue manager; its key stays in the queue manager's directory, readable by its
      owner. It is there whole or not at all.
  CT2 A server's certificate names the hosts clients use, by name or address, without a port; a client's names its user.
      Neither can sign.
  CT3 A certificate ends when its authority does at the latest: longer it would only seem to be valid. Who makes one is
      told when it is shortened; an authority that has ended makes none.
  CT4 Whoever has an authority already uses that: `server.toml` takes any certificate, key and authorities.

Called by `quaestor qmgr tls` and tests.  Calls kept_file and the package `cryptography`, which only this module needs.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from quaestor.clock import Clock, SystemClock
from quaestor.server.kept_file import EVERYBODY_READS, alone, replace_file
from quaestor.server.users import check_user

SERVER, CLIENT = "server", "client"
HOST_MAX = 253
_HOST = re.compile(r"(\*\.)?([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}")


@dataclass(frozen=True, slots=True)
class Made:
    """A certificate that was made, and until when it is valid (CT3)."""

    file: Path
    ends: datetime
    shortened: bool


def server(directory: Path, name: str, hosts: Iterable[str], days: int, clock: Clock | None = None) -> Made:
    """A server's certificate and key, and the authority if there is none (CT1, CT2)."""
    with alone(directory):
        return _make(directory, directory, SERVER, name, hosts, days, clock or SystemClock())


def client(directory: Path, user: str, out: Path, days: int, clock: Clock | None = None) -> Made:
    """A client's certificate and key, with the authority to believe, in a folder of their own (CT2)."""
    check_user(user)
    if not (directory / "authority.key").exists():
        raise ValueError("there is no authority yet: make the server's certificate first")
    out.mkdir(parents=True, exist_ok=True, mode=0o700)
    with alone(directory):
        made = _make(directory, out, CLIENT, user, (), days, clock or SystemClock())
        replace_file(out / "authority.pem", (directory / "authority.pem").read_bytes(), EVERYBODY_READS)
    return made


def _make(home: Path, out: Path, kind: str, name: str, hosts: Iterable[str], days: int, clock: Clock) -> Made:
    x509, hashes, serialization, ec, oid = _cryptography()
    names = [_host(x509, host) for host in hosts]
    now = datetime.fromtimestamp(clock.now_us() // 1_000_000, UTC)
    authority, authority_key = _authority(home, name, now)
    wanted, over = now + timedelta(days=days), authority.not_valid_after_utc
    if over <= now:
        why = f"the authority ended on {over:%Y-%m-%d}; without authority.key another is made, for clients to believe"
        raise ValueError(f"{home / 'authority.pem'}: {why}")
    ends = min(wanted, over)  # CT3
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(x509, oid, name))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    purpose = oid.ExtendedKeyUsageOID.SERVER_AUTH if kind == SERVER else oid.ExtendedKeyUsageOID.CLIENT_AUTH
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(authority_key, hashes.SHA256())
    _write_key(out / f"{kind}.key", key, serialization)
    file = out / f"{kind}.pem"
    replace_file(file, certificate.public_bytes(serialization.Encoding.PEM), EVERYBODY_READS)
    return Made(file, ends, shortened=ends < wanted)


def _authority(home: Path, name: str, now: datetime) -> tuple[Any, Any]:
    """The queue manager's own authority, made when there is none (CT1)."""
    x509, hashes, serialization, ec, oid = _cryptography()
    key_file, certificate_file = home / "authority.key", home / "authority.pem"
    if key_file.exists():
        kept, believed = key_file.read_bytes(), certificate_file.read_bytes()
        try:
            return x509.load_pem_x509_certificate(believed), serialization.load_pem_private_key(kept, None)
        except (ValueError, TypeError):
            raise ValueError(f"{key_file}, {certificate_file.name}: not a key and its certificate in PEM") from None
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(x509, oid, f"{name} authority")
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    replace_file(certificate_file, certificate.public_bytes(serialization.Encoding.PEM), EVERYBODY_READS)
    _write_key(key_file, key, serialization)  # last: an authority is there as soon as its key is
    return certificate, key


def _write_key(path: Path, key: Any, serialization: Any) -> None:
    packed = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    replace_file(path, packed)


def _name(x509: Any, oid: Any, name: str) -> Any:
    return x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, name)])


def _host(x509: Any, host: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        if len(host) > HOST_MAX or not _HOST.fullmatch(host):
            raise ValueError(f"{host!r} is no name or address of a host") from None
        return x509.DNSName(host)


def _cryptography() -> tuple[Any, Any, Any, Any, Any]:
    """The parts of the package that are needed; a queue manager runs without it."""
    try:
        from cryptography import x509  # noqa: PLC0415 - only who makes certificates needs it
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
        from cryptography.x509 import oid  # noqa: PLC0415
    except ImportError as error:
        raise ValueError("making certificates needs the package `cryptography`: pip install quaestor[tls]") from error
    return x509, hashes, serialization, ec, oid
