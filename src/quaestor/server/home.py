"""Home: where a queue manager lives, and what it was told when it was created.

Rules
  HO1 A queue manager has one directory: its data sets, and beside them `server.toml`, `profiles`, `users`, the socket,
      the process number, the log and the audit. Only its owner can enter it. Stopped, it can be opened embedded.
  HO2 Its place is `$QUAESTOR_HOME/NAME`, else `~/.local/share/quaestor/NAME`, unless a directory is named. A name that
      would lead out of there, or deeper into it, needs one.
  HO3 Security is on. It is off only when `server.toml` says so in so many words; then there is no file `profiles`.
  HO4 Whoever created it may do everything, by the name that the operating system gives him, whatever the environment
      says; what others may do is added to `profiles`.
  HO5 A process serves it if its number is in `pid` and it owns the data sets. A number alone says nothing: it may be
      that of one that was killed, and by now of another program, which must neither keep it from starting nor be
      stopped. Who may not look is told so: what he cannot see may be running.
  HO6 Every word and value of `server.toml` is looked at before anything starts; what is not known, or of another kind,
      is 2059 with its name and what is valid.
  HO7 A queue manager is not created among other things: closing their directory to everybody else would take them away.
      Only what it reads at its start may be there before it, or all of a queue manager that was embedded so far; what
      was granted beforehand stays granted.

Called by process, cli and the client.  Calls the disk, identity and kept_file.
"""

import dataclasses
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_origin

from quaestor import toml_text
from quaestor.mqi.names import checked, is_name
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.security import CLASSES, EVERYBODY, ProfileError, parse_profiles
from quaestor.qmgr.statistics import TraceSettings
from quaestor.qmgr.statistics.metrics import PREFIX
from quaestor.server.identity import user_of
from quaestor.server.journal import JSON, TEXT
from quaestor.server.kept_file import alone, replace_file
from quaestor.server.limits import Limits
from quaestor.server.listeners import Tls
from quaestor.server.protocol import HEARTBEAT_MAX_S
from quaestor.storage.real_disk import make_directory, owner_of

HOME_VARIABLE = "QUAESTOR_HOME"
KINDS: dict[Any, str] = {
    str: "a text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "a table",
}
INTERVALS = ("heartbeat_s", "statime_s")
"""Without which nobody would ever rest."""
BEFOREHAND = {"profiles", "users", "group", "CSQINP1", "CSQINP2"}
DATA_SETS = {"BSDS1", "BSDS2"}
USER_CLASS = "altuser"

Table = TypeVar("Table")


def default_directory(name: str) -> Path:
    """Where a queue manager of this name is when nothing else is said (HO2)."""
    if "/" in name or name in {".", ".."}:
        raise MQError(Reason.Q_MGR_NAME_ERROR, name=name, why="it names no folder: say where the queue manager is kept")
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
    metrics_prefix: str = PREFIX  # of the names at /metrics
    log: str = TEXT  # lines of server.log and audit.log: text or json
    limits: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    traces: dict[str, Any] = field(default_factory=dict)
    """Which SMF traces start, and how records are kept: the fields of `TraceSettings`."""

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*", self.metrics_prefix):
            raise ValueError(f"metrics_prefix = {_toml(self.metrics_prefix)} is not valid: a name such as {PREFIX}")
        if self.log not in {TEXT, JSON}:
            raise ValueError(f"log = {_toml(self.log)} is not valid: one of {TEXT}, {JSON}")
        if self.require_certificate and not (self.certificate and self.authorities):
            raise ValueError(
                "require_certificate = true is not valid: without certificate and authorities none is asked"
            )


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

    def none_here(self, name: str) -> str:
        """That no queue manager is kept here, and how one is made."""
        return f"no queue manager in {self.directory}; make one: quaestor qmgr create {self.words(name)}"

    def words(self, name: str) -> str:
        """How a command names the one that is kept here: with the directory when that is not the usual one (HO2)."""
        usual = "/" not in name and self.directory == default_directory(name)
        return name if usual else f"{name} --directory {self.directory}"

    def create(self, configuration: Configuration) -> None:
        """Make the directory and say what it is for (HO3, HO4)."""
        checked(configuration.name, Reason.Q_MGR_NAME_ERROR)
        if self.exists:
            raise MQError(Reason.OBJECT_ALREADY_EXISTS, directory=str(self.directory))
        make_directory(self.directory, mode=0o700)
        found = {path.name for path in self.directory.iterdir()}
        if found - BEFOREHAND and not found & DATA_SETS:  # HO7
            other = min(found - BEFOREHAND)
            raise ValueError(f"{self.directory}: there are other things in it, as {other}; name an empty directory")
        self.directory.chmod(0o700)
        if configuration.security:
            me = user_of(os.geteuid())
            lines = [f"{kind:9} *  {me}  control\n" for kind in CLASSES]
            granted = self.profiles.read_bytes() if self.profiles.exists() else b""
            replace_file(self.profiles, ("# class   name  user  access\n" + "".join(lines)).encode() + granted)
        self.write(configuration)

    def write(self, configuration: Configuration) -> None:
        with alone(self.directory):
            self._write(configuration)

    def change(self, **said: Any) -> None:
        """Say some words of the configuration anew; what others say meanwhile stays said (KF3)."""
        with alone(self.directory):
            self._write(dataclasses.replace(self.configuration(), **said))

    def _write(self, configuration: Configuration) -> None:
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
        replace_file(self.configuration_file, "".join(lines))

    def configuration(self) -> Configuration:
        if not self.exists:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, why=f"no queue manager in {self.directory}: create it first")
        try:
            return _table(Configuration, toml_text.tables(self.configuration_file.read_text(encoding="utf-8")))
        except ValueError as error:
            raise self._wrong(error) from error

    def _wrong(self, error: ValueError | MQError) -> MQError:
        """HO6."""
        return MQError(Reason.Q_MGR_NOT_AVAILABLE, why=f"{self.configuration_file}: {error}")

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
            return _table(TraceSettings, configuration.traces, "traces")
        except ValueError as error:
            raise self._wrong(error) from error

    def limits(self, configuration: Configuration) -> Limits:
        """The table `limits`."""
        try:
            return _table(Limits, configuration.limits, "limits")
        except ValueError as error:
            raise self._wrong(error) from error

    def grant(self, resource: str, name: str, user: str, access: str) -> str:
        """Add a line to the profiles. The first line of a new profile is its owner's, who would be shut out else."""
        line = f"{resource} {name} {user} {access}\n"
        granted = [(p.resource, p.name, p.user) for p in parse_profiles(line)]
        if granted != [(resource, name, user)]:
            raise ValueError(f"{name!r}, {user!r}: an object and a user are one word each, without spaces and #")
        bare = name.removesuffix("*")
        if resource != USER_CLASS and bare and not is_name(bare):
            raise ValueError(f"{name!r} is no name: 1 to 48 letters, digits and . / _ %, and perhaps * at its end")
        with alone(self.directory):
            text = self.profiles.read_bytes() if self.profiles.exists() else b""
            try:
                known = any((p.resource, p.name) == (resource, name) for p in parse_profiles(text.decode()))
            except (ProfileError, UnicodeDecodeError) as error:
                raise ValueError(f"{self.profiles}: {error}") from None
            me = user_of(os.geteuid())
            first = "" if known or user in (me, EVERYBODY) else f"{resource} {name} {me} control\n"
            end = b"\n" if text and not text.endswith(b"\n") else b""
            replace_file(self.profiles, text + end + (first + line).encode())
        return first + line

    def settings(self, configuration: Configuration) -> EngineSettings | None:
        if not configuration.engine:
            return None
        try:
            told = dict(configuration.engine)
            for name in ("buffer_pools", "page_sets"):
                if isinstance(told.get(name), dict):
                    told[name] = {int(number): value for number, value in told[name].items()}
            return _table(EngineSettings, told, "engine")
        except (ValueError, MQError) as error:
            raise self._wrong(error) from error

    def running_pid(self) -> int | None:
        """The process that serves it, if it is alive (HO5)."""
        try:
            pid = int(self.pid.read_text())
            return pid if owner_of(self.directory) == pid else None
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None


def _table(kind: type[Table], told: dict[str, Any], name: str = "") -> Table:
    """What a table of `server.toml` says, or a ValueError that names what is wrong (HO6)."""
    known = {each.name: each for each in dataclasses.fields(kind)}  # type: ignore[arg-type] # every kind is a dataclass
    for word, value in told.items():
        shown = f"{name}.{word}" if name else word
        if word not in known:
            raise ValueError(f"{shown} is not known: one of {', '.join(known)}")
        wanted = get_origin(known[word].type) or known[word].type
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise ValueError(f"{shown} = {_toml(value)} is not valid: {KINDS[wanted]}")
        if wanted in {int, float} and word != "zone_minutes" and not value >= 0:
            raise ValueError(f"{shown} = {value} is not valid: a number from 0 up")
        if word in INTERVALS and not value:
            raise ValueError(f"{shown} = {value} is not valid: more than 0")
        if word == "heartbeat_s" and value > HEARTBEAT_MAX_S:
            raise ValueError(f"{shown} = {value} is not valid: {HEARTBEAT_MAX_S} at most")
    if "name" in known and "name" not in told:
        raise ValueError("name is missing")
    return kind(**told)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {_toml(one)}' for key, one in value.items()) + " }"
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False)  # what JSON escapes is escaped in TOML
