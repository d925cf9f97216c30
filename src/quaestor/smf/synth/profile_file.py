"""Profiles as TOML files: those that are shipped, and those people write.

Rules
  F1  A mistake is named with its place, what stands there and what would be valid; a profile with a mistake is not
      used at all.
  F2  A key that the profile does not know is a mistake, for it is a typing error.
  F3  A profile may extend a shipped one: what it does not say itself is as there.

Called by the command, tests and benchmarks.  Calls profile, profile_check.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date, datetime
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from quaestor import toml_text
from quaestor.smf.catalog import LEVELS
from quaestor.smf.synth import incidents
from quaestor.smf.synth.profile import (
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
from quaestor.smf.synth.profile_check import ProfileError, check, check_value, one_of

T = TypeVar("T")
_SHIPPED = resources.files("quaestor.smf.synth") / "profiles"
_TABLES = ("queue_manager", "structure", "queue", "application", "incident", "rhythm", "sizes")


def shipped_profiles() -> dict[str, str]:
    """Name and title of every profile that comes with the product."""
    found = (each for each in _SHIPPED.iterdir() if each.name.endswith(".toml"))
    return {
        each.name.removesuffix(".toml"): str(toml_text.tables(each.read_text(encoding="utf-8")).get("title", ""))
        for each in sorted(found, key=lambda each: each.name.removesuffix(".toml"))
    }


def load_profile(name: str) -> Profile:
    """A shipped profile by its name, or the profile in a file."""
    path = Path(name)
    shipped = _SHIPPED / f"{name}.toml"
    if path.suffix == ".toml":
        try:
            text = toml_text.text_of(path)
        except (OSError, ValueError) as error:
            raise ProfileError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    elif shipped.is_file():
        text = shipped.read_text(encoding="utf-8")
    else:
        raise ProfileError(f"no profile {name}; shipped are {', '.join(shipped_profiles())}")
    return profile_of(_parsed(text, name), path.stem)


def _parsed(text: str, name: str) -> dict[str, Any]:
    """The table of a file, over that of the profile it extends (F3)."""
    try:
        table = toml_text.tables(text)
    except ValueError as error:
        raise ProfileError(f"{name}: {error}") from None
    base = table.pop("extends", None)
    if base is None:
        return table
    one_of(f"{name}, extends", base, shipped_profiles())
    return {**_parsed((_SHIPPED / f"{base}.toml").read_text(encoding="utf-8"), base), **table}


def profile_of(table: Mapping[str, Any], name: str) -> Profile:
    """The profile in a parsed TOML document."""
    plain = {key: value for key, value in table.items() if key not in _TABLES}
    if not isinstance(table.get("start"), date) or isinstance(table["start"], datetime):
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
            "rhythms": tuple(_rhythm(key, each) for key, each in _table(table, "rhythm").items()),
            "sizes": tuple(_mix(key, each) for key, each in _table(table, "sizes").items()),
        },
        "profile",
    )
    check(made)
    return made


def at_level(profile: Profile, level: str) -> Profile:
    """The same installation with all queue managers at one level; incidents it cannot show are not planted."""
    one_of("level", level, LEVELS)
    managers = tuple(replace(each, level=level) for each in profile.queue_managers)
    moved = replace(profile, queue_managers=managers)
    return replace(moved, incidents=tuple(each for each in moved.incidents if incidents.visible(each, moved)))


# --- tables to values ------------------------------------------------------------------------------------------------


def _list(table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise ProfileError(f"{key}: a list of tables is needed")
    return found


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, Mapping):
        raise ProfileError(f"{key}: a table is needed")
    return found


def _build(cls: type[T], table: Mapping[str, Any], where: str) -> T:
    """A value from a table; lists become tuples (F2)."""
    place = f"{where} {table['name']}" if isinstance(table.get("name"), str) else where
    known = [each.name for each in fields(cls)]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise ProfileError(f"{place}: no key {key}; known are {', '.join(known)}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    for each in fields(cls):  # type: ignore[arg-type]
        if each.name in values:
            check_value(f"{place}, {each.name}", values[each.name], each.type)
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
            values[key] = tuple(_build(cls, each, f"{place}, {key}") for each in _list(values, key))
    for key, single in (("log", Log), ("channel_initiator", ChannelInitiator)):
        if key in values:
            values[key] = _build(single, _table(values, key), f"{place}, {key}")
    return _build(QueueManager, values, "queue_manager")


def _application(table: Mapping[str, Any]) -> Application:
    place = f"application {table.get('name', '?')}, uses"
    uses = tuple(_build(Use, each, place) for each in _list(table, "uses"))
    return _build(Application, {**table, "uses": uses}, "application")


def _rhythm(name: str, table: Mapping[str, Any]) -> Rhythm:
    if not isinstance(table, Mapping):
        raise ProfileError(f"rhythm {name}: a table is needed")
    made = _build(Rhythm, {**table, "name": name}, "rhythm")
    if len(made.hours) != 24 or len(made.week) != 7:
        raise ProfileError(f"rhythm {name}: 24 hours and 7 days are needed")
    return made


def _mix(name: str, pairs: Any) -> SizeMix:
    try:
        sizes, shares = zip(*((int(size), float(share)) for size, share in pairs), strict=True)
    except (TypeError, ValueError, OverflowError):
        raise ProfileError(f"sizes {name}: a list of [bytes, share] pairs is needed") from None
    if min(sizes) < 0 or max(sizes) > 100 << 20 or not all(0 < share <= 1e6 for share in shares):
        raise ProfileError(f"sizes {name}: 0 to 104857600 bytes, shares above 0 and at most 1000000")
    total = sum(shares)
    return SizeMix(name, sizes, tuple(share / total for share in shares))


__all__ = ["ProfileError", "at_level", "load_profile", "profile_of", "shipped_profiles"]
