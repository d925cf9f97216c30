"""Home: where a queue manager lives, and what it was told when it was created.

Rules
  HO1 A queue manager has one directory: its data sets, and beside them `server.toml`, `profiles`, `users`, the socket,
      the process number, the log and the audit. Only its owner can enter it. Stopped, it can be opened embedded.
  HO2 Its place is `$QUAESTOR_HOME/NAME`, else `~/.local/share/quaestor/NAME`, unless a directory is named.
  HO3 Security is on. It is off only when `server.toml` says so in so many words; then there is no file `profiles`.
  HO4 Whoever created it may do everything; what others may do is added to `profiles`.
  HO5 A process serves it if its number is in `pid` and it owns the data sets. A number alone says nothing: it may be
      that of one that was killed, and by now of another program, which must neither keep it from starting nor be
      stopped.

Called by process, cli and the client.  Calls the disk.
"""

import getpass
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quaestor.mqi.names import checked
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.security import EVERYBODY, parse_profiles
from quaestor.qmgr.statistics import TraceSettings
from quaestor.server.journal import TEXT
from quaestor.server.listeners import Tls
from quaestor.server.users import USER_MAX
from quaestor.storage.disk import owner_of

HOME_VARIABLE = "QUAESTOR_HOME"
CLASSES = ("connect", "queue", "process", "namelist", "stgclass", "qmgr", "command")


def default_directory(name: str) -> Path:
    """Where a queue manager of this name is when nothing else is said (HO2)."""
    root = os.environ.get(HOME_VARIABLE)
    return (Path(root) if root else Path.home() / ".local" / "share" / "quaestor") / name


@dataclass(frozen=True, slots=True)
class Configuration:
    """What `server.toml` says."""

    name: str
    listen: str = ""  # host:port; none without it
    plain: bool = False  # beyond loopback without TLS
    security: bool = True
    certificate: str = ""
    key: str = ""
    authorities: str = ""
    require_certificate: bool = False
    metrics: str = ""  # host:port of /metrics and /health; none without it
    log: str = TEXT  # lines of server.log and audit.log: text or json
    limits: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    traces: dict[str, Any] = field(default_factory=dict)
    """Which SMF traces start, and how records are kept: the fields of `TraceSettings`."""


class Home:
    """The directory of one queue manager (HO1)."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.configuration_file = directory / "server.toml"
        self.profiles = directory / "profiles"
        self.users = directory / "users"
        self.socket = directory / "socket"
        self.pid = directory / "pid"
        self.address = directory / "address"
        self.log = directory / "server.log"
        self.audit = directory / "audit.log"

    @property
    def exists(self) -> bool:
        return self.configuration_file.exists()

    def create(self, configuration: Configuration) -> None:
        """Make the directory and say what it is for (HO3, HO4)."""
        checked(configuration.name, Reason.Q_MGR_NAME_ERROR)
        if self.exists:
            raise MQError(Reason.OBJECT_ALREADY_EXISTS, directory=str(self.directory))
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.directory.chmod(0o700)
        if configuration.security:
            me = getpass.getuser()[:USER_MAX]
            lines = [f"{kind:9} *  {me}  control\n" for kind in CLASSES]
            self.profiles.write_text("# class   name  user  access\n" + "".join(lines), encoding="utf-8")
        self.write(configuration)

    def write(self, configuration: Configuration) -> None:
        lines = []
        for name in Configuration.__dataclass_fields__:
            value = getattr(configuration, name)
            if isinstance(value, dict):
                continue
            lines.append(f"{name} = {_toml(value)}\n")
        for name in ("limits", "engine", "traces"):
            table = getattr(configuration, name)
            if table:
                lines.append(f"\n[{name}]\n")
                lines += [f"{key} = {_toml(value)}\n" for key, value in table.items()]
        self.configuration_file.write_text("".join(lines), encoding="utf-8")

    def configuration(self) -> Configuration:
        if not self.exists:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, why=f"no queue manager in {self.directory}: create it first")
        try:
            told = tomllib.loads(self.configuration_file.read_text(encoding="utf-8"))
            return Configuration(**told)
        except (tomllib.TOMLDecodeError, TypeError) as error:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, why=f"{self.configuration_file}: {error}") from error

    def tls(self, configuration: Configuration) -> Tls | None:
        if not configuration.certificate:
            return None
        place = self.directory
        return Tls(
            place / configuration.certificate,
            place / configuration.key,
            place / configuration.authorities if configuration.authorities else None,
            configuration.require_certificate,
        )

    def read_profiles(self, configuration: Configuration) -> str | None:
        """The profiles, or None with security off (HO3)."""
        if not configuration.security:
            return None
        return self.profiles.read_text(encoding="utf-8") if self.profiles.exists() else ""

    def traces(self, configuration: Configuration) -> TraceSettings:
        """The table `traces` of `server.toml`, as in `traces.trace = "stat,acctg(3)"`."""
        try:
            return TraceSettings(**configuration.traces)
        except TypeError as error:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, why=f"{self.configuration_file}: traces: {error}") from error

    def grant(self, resource: str, name: str, user: str, access: str) -> str:
        """Add a line to the profiles. The first line of a new profile is its owner's, who would be shut out else."""
        line = f"{resource} {name} {user} {access}\n"
        parse_profiles(line)
        text = self.profiles.read_text(encoding="utf-8") if self.profiles.exists() else ""
        known = any((p.resource, p.name) == (resource, name) for p in parse_profiles(text))
        me = getpass.getuser()[:USER_MAX]
        first = "" if known or user in (me, EVERYBODY) else f"{resource} {name} {me} control\n"
        with self.profiles.open("a", encoding="utf-8") as profiles:
            profiles.write(first + line)
        return first + line

    def settings(self, configuration: Configuration) -> EngineSettings | None:
        if not configuration.engine:
            return None
        told = dict(configuration.engine)
        for name in ("buffer_pools", "page_sets"):
            if name in told:
                told[name] = {int(number): value for number, value in told[name].items()}
        return EngineSettings(**told)

    def running_pid(self) -> int | None:
        """The process that serves it, if it is alive (HO5)."""
        try:
            pid = int(self.pid.read_text())
            return pid if owner_of(self.directory) == pid else None
        except (OSError, ValueError):
            return None


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {_toml(one)}' for key, one in value.items()) + " }"
    if isinstance(value, int | float):
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
