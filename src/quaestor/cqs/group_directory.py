"""The group directory: where servers of a group find their policy, coupling facilities, log and recovery data sets.

Rules
  GD1 One directory for each structure pair, on a disk that all servers of the group reach. `policy.toml` says how
      large the structures are and where the coupling facilities are; the log stream and SRDS1 and SRDS2 are beside it.
  GD2 A coupling facility is the socket of one on this machine, or the address of a Redis or Valkey server (redis://,
      rediss://, unix://). A structure that is rebuilt in another facility of this machine is followed there.

Called by programs that run a server, and by the command line.  Calls server, storage.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

from quaestor import toml_text
from quaestor.clock import SystemClock
from quaestor.cqs.linked_pair import Connect, Surroundings
from quaestor.cqs.policy import Policy
from quaestor.cqs.server import CommonQueueServer
from quaestor.storage.lists.movable import MovableConnection
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.real_disk import RealDisk

POLICY_FILE = "policy.toml"
_REDIS = ("redis://", "rediss://", "unix://")


class PolicyError(Exception):
    """The policy of a group cannot be read, or is there already."""


def define(directory: Path, policy: Policy, facilities: Mapping[str, str]) -> None:
    """Write the policy of a new group (GD1)."""
    if (directory / POLICY_FILE).exists():
        raise PolicyError(f"{directory / POLICY_FILE} is there already")
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / POLICY_FILE
    lines = [f"{name} = {_toml(value)}\n" for name, value in asdict(policy).items() if value is not None]
    lines += ["\n[facilities]\n", *(f"{name} = {_toml(place)}\n" for name, place in facilities.items())]
    try:
        file.write_text("".join(lines), encoding="utf-8")
    except OSError:
        file.unlink(missing_ok=True)  # half a policy would be in the way of the next
        raise


def read(directory: Path) -> tuple[Policy, dict[str, str]]:
    """The policy of a group, and where its coupling facilities are."""
    try:
        told = toml_text.tables((directory / POLICY_FILE).read_text(encoding="utf-8"))
        places = told.pop("facilities")
        told["preference"] = tuple(told["preference"])
        unknown = set(told) - {field.name for field in fields(Policy)}
        if unknown:
            raise PolicyError(f"{directory / POLICY_FILE}: not known: {', '.join(sorted(unknown))}")
        return Policy(**told), places
    except FileNotFoundError:
        raise PolicyError(f"{directory}: no group is defined here: there is no {POLICY_FILE}") from None
    except KeyError as error:
        raise PolicyError(f"{directory / POLICY_FILE}: {error} is missing") from error
    except OSError as error:
        raise PolicyError(f"{directory / POLICY_FILE}: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise PolicyError(f"{directory / POLICY_FILE}: {error}") from error


def connect_to(place: str) -> Connect:
    """How to connect to a coupling facility (GD2)."""
    kind = RedisConnection if place.startswith(_REDIS) else MovableConnection
    return partial(kind, place)


def server(name: str, directory: Path) -> CommonQueueServer:
    """A server of the group in a directory; `start` it."""
    policy, places = read(directory)
    facilities = {facility: connect_to(place) for facility, place in places.items()}
    return CommonQueueServer(name, policy, Surroundings(facilities, RealDisk(directory), SystemClock()))


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, int | float):
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
