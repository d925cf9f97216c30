"""Group settings: how a queue manager is told which queue-sharing group it belongs to.

Rules
  GS1 A group has a name (at most four characters), structures (`cf:///path` for the coupling facility of this machine,
      `redis://...` for several) and a repository (a file, or `postgresql://...`). All members name the same. Whether
      a member makes as few requests to structures as it can, or those that MP1B counted, is its own affair.
  GS2 They are kept in the file `group` of the queue manager's directory, so that every door that opens it joins the
      same group. Without that file it belongs to none, so the file is durable before anybody joins.
  GS3 What a member needs (msgpack, redis, sortedcontainers) is not installed everywhere: it is imported when a queue
      manager joins, and missing it is said with what to do.
  GS4 Addresses may have passwords in them: the file is for its owner only, and no message shows them.
  GS5 A file or a socket is named from where the one who names it is, and kept by its whole name: started elsewhere, a
      member would make itself another repository.

Called by the package door, the server and the command line.  Calls the coupling facility manager, when it joins.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from quaestor import toml_text
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.operator_log import without_passwords
from quaestor.storage.real_disk import make_directory, sync_directory

GROUP_FILE = "group"
GROUP_NAME_MAX = 4
FACILITY, SQLITE = "cf://", "sqlite:"
REQUESTS = ("fewest", "mp1b")


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """A queue-sharing group, as a member is told of it (GS1)."""

    name: str
    structures: str
    repository: str
    requests: str = "fewest"

    def __post_init__(self) -> None:
        if self.requests not in REQUESTS:
            raise MQError(Reason.OPTIONS_ERROR, requests=self.requests, one_of=", ".join(REQUESTS))
        if not self.name.isalnum() or len(self.name) > GROUP_NAME_MAX:
            raise MQError(Reason.OBJECT_NAME_ERROR, group=self.name, longest=GROUP_NAME_MAX)


def placed(settings: GroupSettings) -> GroupSettings:
    """The same with whole names for what is on this machine (GS5)."""
    structures, repository = settings.structures, settings.repository
    if structures.startswith(FACILITY):
        structures = f"{FACILITY}{Path(structures.removeprefix(FACILITY)).absolute()}"
    if "://" not in repository:
        repository = str(Path(repository.removeprefix(SQLITE)).absolute())
    return replace(settings, structures=structures, repository=repository)


def save_group(directory: Path, settings: GroupSettings) -> None:
    """Keep the settings with the queue manager (GS2)."""
    make_directory(directory)
    text = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in asdict(settings).items())
    file, fresh = directory / GROUP_FILE, directory / f"{GROUP_FILE}.new"
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as kept:
        kept.write(text)  # GS4
        kept.flush()
        os.fsync(kept.fileno())
    fresh.replace(file)
    sync_directory(directory)


def told(settings: GroupSettings) -> str:
    """A group as it may be shown to anybody (GS4)."""
    places = map(without_passwords, (settings.structures, settings.repository))
    return " ".join((settings.name, *places))


def group_in(directory: Path) -> GroupSettings | None:
    """The settings kept with a queue manager; None when it belongs to no group (GS2)."""
    file = directory / GROUP_FILE
    if not file.exists():
        return None
    try:
        return GroupSettings(**toml_text.tables(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError, AttributeError) as error:
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, why=f"{file}: {error}") from error


def joining(directory: Path, settings: GroupSettings | None = None) -> Callable[..., Any] | None:
    """How the queue manager in a directory joins its group; None when it has none. New settings are kept (GS2)."""
    if settings is not None:
        settings, known = placed(settings), group_in(directory)
        if known is not None and placed(replace(known, requests=settings.requests)) != settings:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, group=settings.name, why=f"it belongs to group {told(known)}")
        save_group(directory, settings)
    else:
        settings = group_in(directory)
    if settings is None:
        return None
    try:
        facility = import_module("quaestor.qmgr.coupling_facility")
    except ModuleNotFoundError as error:
        why = f"a queue-sharing group needs {error.name}: pip install 'quaestor[shared]'"  # GS3
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, group=settings.name, why=why) from error
    join: Callable[..., Any] = facility.member_of_group(settings, directory)
    return join
