"""Profiles as TOML files: those that are shipped, and those people write.

Rules
  F1  A mistake is named with its place, what stands there and what would be valid; a profile with a mistake is not
      used at all.
  F2  Every name that one table uses is defined in another: queues, rhythms, sizes, structures, page sets, pools.
  F3  A key that the profile does not know is a mistake, for it is a typing error.
  F4  A profile may extend a shipped one: what it does not say itself is as there.

Called by generate and by the command.  Calls profile, incidents.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from quaestor.smf.catalog import LEVELS
from quaestor.smf.synth import incidents
from quaestor.smf.synth.profile import (
    CONNECTION_TYPES,
    INDEX_TYPES,
    Application,
    BufferPool,
    ChannelInitiator,
    Incident,
    Log,
    PageSet,
    Profile,
    Queue,
    QueueManager,
    Rhythm,
    SizeMix,
    Structure,
    Use,
)

T = TypeVar("T")
_SHIPPED = resources.files("quaestor.smf.synth") / "profiles"
_TABLES = ("queue_manager", "structure", "queue", "application", "incident", "rhythm", "sizes")


class ProfileError(Exception):
    """A profile that cannot be used; the text says where and why."""


def shipped_profiles() -> dict[str, str]:
    """Name and title of every profile that comes with the product."""
    found = (each for each in _SHIPPED.iterdir() if each.name.endswith(".toml"))
    return {
        each.name.removesuffix(".toml"): str(tomllib.loads(each.read_text(encoding="utf-8")).get("title", ""))
        for each in sorted(found, key=lambda each: each.name)
    }


def load_profile(name: str) -> Profile:
    """A shipped profile by its name, or the profile in a file."""
    path = Path(name)
    shipped = _SHIPPED / f"{name}.toml"
    if path.suffix == ".toml":
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ProfileError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    elif shipped.is_file():
        text = shipped.read_text(encoding="utf-8")
    else:
        raise ProfileError(f"no profile {name}; shipped are {', '.join(shipped_profiles())}")
    return profile_of(_parsed(text, name), path.stem)


def _parsed(text: str, name: str) -> dict[str, Any]:
    """The table of a file, over that of the profile it extends (F4)."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{name}: {error}") from None
    base = table.pop("extends", None)
    if base is None:
        return table
    _one_of(f"{name}, extends", base, shipped_profiles())
    return {**_parsed((_SHIPPED / f"{base}.toml").read_text(encoding="utf-8"), base), **table}


def profile_of(table: Mapping[str, Any], name: str) -> Profile:
    """The profile in a parsed TOML document."""
    plain = {key: value for key, value in table.items() if key not in _TABLES}
    if not isinstance(table.get("start"), date):
        raise ProfileError("start: a date such as 2026-03-02 is needed")
    made = _build(
        Profile,
        {
            "title": "",
            **plain,
            "name": name,
            "queue_managers": tuple(_queue_manager(each) for each in _list(table, "queue_manager")),
            "queues": tuple(_build(Queue, each, "queue") for each in _list(table, "queue")),
            "structures": tuple(_build(Structure, each, "structure") for each in _list(table, "structure")),
            "applications": tuple(_application(each) for each in _list(table, "application")),
            "incidents": tuple(_build(Incident, each, "incident") for each in _list(table, "incident")),
            "rhythms": tuple(_rhythm(key, each) for key, each in table.get("rhythm", {}).items()),
            "sizes": tuple(_mix(key, each) for key, each in table.get("sizes", {}).items()),
        },
        "profile",
    )
    check(made)
    return made


def at_level(profile: Profile, level: str) -> Profile:
    """The same installation with all queue managers at one level; incidents it cannot show are not planted."""
    _one_of("level", level, LEVELS)
    managers = tuple(replace(each, level=level) for each in profile.queue_managers)
    moved = replace(profile, queue_managers=managers)
    return replace(moved, incidents=tuple(each for each in moved.incidents if incidents.visible(each, moved)))


# --- tables to values ------------------------------------------------------------------------------------------------


def _list(table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = table.get(key, [])
    if not isinstance(found, list):
        raise ProfileError(f"{key}: a list of tables, written [[{key}]], is needed")
    return found


def _build(cls: type[T], table: Mapping[str, Any], where: str) -> T:
    """A value from a table; lists become tuples (F3)."""
    place = f"{where} {table['name']}" if isinstance(table.get("name"), str) else where
    known = [each.name for each in fields(cls)]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise ProfileError(f"{place}: no key {key}; known are {', '.join(known)}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return cls(**values)
    except TypeError as error:
        missing = str(error).split(": ")[-1]
        raise ProfileError(f"{place}: {missing} must be given") from None


def _queue_manager(table: Mapping[str, Any]) -> QueueManager:
    place = f"queue_manager {table.get('name', '?')}"
    values = dict(table)
    for key, cls in (("buffer_pools", BufferPool), ("page_sets", PageSet)):
        if key in values:
            values[key] = tuple(_build(cls, each, f"{place}, {key}") for each in values[key])
    for key, single in (("log", Log), ("channel_initiator", ChannelInitiator)):
        if key in values:
            values[key] = _build(single, values[key], f"{place}, {key}")
    return _build(QueueManager, values, "queue_manager")


def _application(table: Mapping[str, Any]) -> Application:
    place = f"application {table.get('name', '?')}, uses"
    uses = tuple(_build(Use, each, place) for each in table.get("uses", []))
    return _build(Application, {**table, "uses": uses}, "application")


def _rhythm(name: str, table: Mapping[str, Any]) -> Rhythm:
    made = _build(Rhythm, {**table, "name": name}, "rhythm")
    if len(made.hours) != 24 or len(made.week) != 7:
        raise ProfileError(f"rhythm {name}: 24 hours and 7 days are needed")
    return made


def _mix(name: str, pairs: Any) -> SizeMix:
    try:
        sizes, shares = zip(*((int(size), float(share)) for size, share in pairs), strict=True)
    except (TypeError, ValueError):
        raise ProfileError(f"sizes {name}: a list of [bytes, share] pairs is needed") from None
    if min(sizes) < 0 or max(sizes) > 100 << 20 or min(shares) <= 0:
        raise ProfileError(f"sizes {name}: 0 to 104857600 bytes, shares above 0")
    total = sum(shares)
    return SizeMix(name, sizes, tuple(share / total for share in shares))


# --- checks ----------------------------------------------------------------------------------------------------------


def check(profile: Profile) -> None:
    """Refuse a profile in which something does not fit together (F1, F2)."""
    if not profile.queue_managers or not profile.applications:
        raise ProfileError("at least one [[queue_manager]] and one [[application]] are needed")
    _between("interval_minutes", profile.interval_minutes, 1, 1440)
    if 1440 % profile.interval_minutes:
        raise ProfileError(f"interval_minutes: {profile.interval_minutes} does not divide a day")
    _between("days", profile.days, 1, 3660)
    for queue in profile.queues:
        _check_queue(profile, queue)
    for manager in profile.queue_managers:
        _check_manager(profile, manager)
    for application in profile.applications:
        _check_application(profile, application)
    for incident in profile.incidents:
        problem = incidents.problem(incident, profile)
        if problem:
            raise ProfileError(f"incident {incident.kind}: {problem}")


def _check_queue(profile: Profile, queue: Queue) -> None:
    place = f"queue {queue.name}"
    _one_of(f"{place}, index", queue.index, INDEX_TYPES)
    if queue.shared == (queue.page_set >= 0):
        raise ProfileError(f"{place}: either page_set or structure must be given")
    if queue.shared:
        _one_of(f"{place}, structure", queue.structure, [each.name for each in profile.structures])


def _check_manager(profile: Profile, manager: QueueManager) -> None:
    place = f"queue_manager {manager.name}"
    _one_of(f"{place}, level", manager.level, LEVELS)
    pools = [each.number for each in manager.buffer_pools]
    for page_set in manager.page_sets:
        _one_of(f"{place}, page set {page_set.number}, buffer_pool", page_set.buffer_pool, pools)
    _between(f"{place}, buffer pool numbers", max(pools), 0, 99 if manager.at_least("8.0") else 15)
    _between(f"{place}, log copies", manager.log.copies, 1, 2)
    for queue in profile.queues_on(manager):
        if queue.shared and not manager.queue_sharing_group:
            raise ProfileError(f"{place}: uses shared queue {queue.name} but has no queue_sharing_group")
        if not queue.shared:
            _one_of(f"{place}, page set of {queue.name}", queue.page_set, [each.number for each in manager.page_sets])


def _check_application(profile: Profile, application: Application) -> None:
    place = f"application {application.name}"
    _one_of(f"{place}, kind", application.kind, CONNECTION_TYPES)
    _one_of(f"{place}, rhythm", application.rhythm, ["", *(each.name for each in profile.rhythms)])
    managers = [each.name for each in profile.queue_managers]
    for name in application.queue_managers:
        _one_of(f"{place}, queue_managers", name, managers)
    if application.long_running == bool(application.tasks_per_hour):
        raise ProfileError(f"{place}: either tasks_per_hour or instances must be given")
    if application.is_channel and not application.long_running:
        raise ProfileError(f"{place}: a channel is long-running; give instances and units_per_hour")
    for use in application.uses:
        _one_of(f"{place}, queue", use.queue, [each.name for each in profile.queues])
        _one_of(f"{place}, sizes", use.sizes, ["", *(each.name for each in profile.sizes)])
        _between(f"{place}, persistent", use.persistent, 0, 1)


def _one_of(place: str, found: object, valid: Iterable[object]) -> None:
    valid = list(valid)
    if found not in valid:
        raise ProfileError(f"{place}: {found!r} is not one of {', '.join(map(str, valid))}")


def _between(place: str, found: float, low: float, high: float) -> None:
    if not low <= found <= high:
        raise ProfileError(f"{place}: {found} is not between {low:g} and {high:g}")


__all__ = ["ProfileError", "at_level", "load_profile", "profile_of", "shipped_profiles"]
