"""How queue managers are defined: what SMF does not say, from a TOML file or from DISPLAY output.

Rules
  E1  Settings belong to a queue manager (`system`), or to one of its buffer pools, page sets, structures, channels or
      queues. What stands under `all` holds for every queue manager that does not say otherwise.
  E2  Every name is known here with its meaning; an unknown one is refused with the nearest that exists, for a typing
      error must not silence a rule.
  E3  What nobody said is not known (NaN, None), and rules on it do not fire. A number is finite: a rule cannot be
      silenced by writing nan.
  E4  Whose DISPLAY output is, is what whoever gives it says; else what it says itself (display_owners); else the one
      queue manager that is looked at, or all.
  E5  A queue manager is of this product if the setting `product` says so. Where nobody says, the system in its records
      does: ours bear QSTR unless they are told otherwise, and nothing else in a record tells the two apart. What is
      said of a queue manager has no system: it is of ours if all records of that name are.
  E6  Structures are the group's: what one member says of a structure holds for the members that do not say otherwise,
      before what holds for all. Who is a member of what, records say.
  E7  Where only some queue managers are looked at, settings of the others are left out. Who gives them is told: rules
      on definitions would be silent for no reason that is seen. What they say of structures is lent to the members of
      their group (E6), and is itself not looked at.

    [all]
    logload = 4000000
    [QM01]
    outbuff_kb = 400
    [QM01.structure.APPLICATION1]
    cflevel = 4

Called by evaluate and by the command.  Calls display_output, display_owners, rows.
"""

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from quaestor import toml_text
from quaestor.advisor import display_output
from quaestor.advisor.display_owners import by_owner
from quaestor.advisor.rows import Array, Rows, is_number
from quaestor.advisor.setting_names import KINDS, SETTINGS

ALL = "all"
GROUPS_OWN = "structure"  # E6
OURS, OUR_SYSTEM = "QUAESTOR", "QSTR"  # E5
_NOT_TRACED = ("trace_global", "trace_chinit")  # z/OS's, for its service
_BESIDE = {"structure": {"admin_duplexed": ("CSQ_ADMIN", "duplexed")}}
"""What stands beside every object of a kind: a setting of one object that the others lean on."""


class SettingsError(ValueError):
    """A settings file that cannot be used; the text says where and why."""


@dataclass(slots=True)
class Settings:
    """Values by (queue manager, kind, object, name)."""

    values: dict[tuple[str, str, str, str], Any] = field(default_factory=dict)
    fellows: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The members of each queue manager's group (E6)."""
    lent: dict[tuple[str, str, str, str], Any] = field(default_factory=dict)
    """What queue managers that are not looked at say of structures (E7)."""

    systems: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The systems that records of each queue manager are of (E5)."""

    def put(self, manager: str, kind: str, name: str, values: Mapping[str, Any]) -> None:
        """Take values of one object (E2)."""
        for key, value in values.items():
            _check(kind, key, value, f"{manager}.{kind}.{name}" if name else manager)
            self.values[manager, kind, name, key] = value

    def get(self, manager: str, kind: str, name: str, key: str) -> Any:
        """The object's own value, or its group's (E6), or what holds for all (E1); None when nobody said (E3)."""
        found = self.values.get((manager, kind, name, key))
        if found is None and kind == GROUPS_OWN:
            known = ChainMap(self.values, self.lent)
            said = (known.get((each, kind, name, key)) for each in self.fellows.get(manager, ()))
            found = next((value for value in said if value is not None), None)
        return self.values.get((ALL, kind, name, key)) if found is None else found

    def beside(
        self, members: Iterable[Collection[str]], systems: Mapping[str, Collection[str]] | None = None
    ) -> "Settings":
        """The same, with what records say: the queue managers of each queue-sharing group (E6), and systems (E5)."""
        fellows = {**self.fellows, **{each: sorted(group) for group in members for each in group}}
        return Settings(self.values, fellows, self.lent, systems or {})

    def queue_managers(self) -> list[str]:
        """Those that something is said about by name."""
        return sorted({manager for manager, *_ in self.values} - {ALL})

    def only(self, managers: Collection[str]) -> "Settings":
        """What holds for these queue managers; for all of them when none is named (E7)."""
        if not managers:
            return self
        left: dict[Any, Any] = {}
        rest: dict[Any, Any] = {}
        for key, value in self.values.items():
            (left if key[0] in (ALL, *managers) else rest)[key] = value
        return Settings(left, lent={key: value for key, value in rest.items() if key[1] == GROUPS_OWN})

    def objects(self, kind: str) -> list[tuple[str, str]]:
        """(queue manager, object) of every object of a kind that something is said about."""
        return sorted({(manager, name) for manager, other, name, _ in self.values if other == kind})

    def knows(self, kind: str, key: str) -> bool:
        """Whether anybody has said it of any object of a kind."""
        return any(each[1] == kind and each[3] == key for each in ChainMap(self.values, self.lent))

    def column(self, managers: Array, kind: str, names: Iterable[Any], key: str) -> Array:
        """The values of one setting for rows of these queue managers and objects."""
        found = [
            self.get(str(manager or ""), kind, _named(name), key) for manager, name in zip(managers, names, strict=True)
        ]
        return as_array(found, SETTINGS[kind][key].type)

    def is_ours(self, manager: str, system: str) -> bool:
        """Whether a queue manager is of this product (E5)."""
        said = self.get(manager, "system", "", "product")
        if said is not None:
            return bool(said.upper() == OURS)
        return {OUR_SYSTEM} == ({system} if system else set(self.systems.get(manager, ())))

    def table(self, kind: str) -> Rows:
        """One row for each object of a kind, with all that can be said about one, and what it leans on."""
        rows = self.objects(kind)
        managers = np.array([manager for manager, _ in rows], object)
        names = [name for _, name in rows]
        columns = {key: self.column(managers, kind, names, key) for key in SETTINGS[kind]}
        for beside, (other, key) in _BESIDE.get(kind, {}).items():
            columns[beside] = self.column(managers, kind, [other] * len(rows), key)
        return Rows(
            {
                "queue_manager": managers,
                "system": np.array([""] * len(rows), object),
                "release": np.array([None] * len(rows), object),
                "local_time": np.full(len(rows), np.datetime64("NaT", "us")),
                "seconds": np.full(len(rows), np.nan),
                **({kind: np.array(names, object)} if kind != "system" else {}),
                **columns,
            },
            len(rows),
        )


def as_array(values: list[Any], kind: type) -> Array:
    """A column of a setting: text as objects, all else as numbers (E3)."""
    if kind is str:
        return np.array(values, object) if values else np.empty(0, object)
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)


def _named(name: Any) -> str:
    if isinstance(name, float):
        return "" if np.isnan(name) else f"{name:.0f}"
    return str(name or "")


def _check(kind: str, key: str, value: Any, where: str) -> None:
    known = SETTINGS[kind].get(key)
    if known is None:
        near = get_close_matches(key, SETTINGS[kind], 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise SettingsError(f"{where}: no setting {key}{hint}")
    if not (is_number(value) if known.type is float else isinstance(value, known.type)):
        raise SettingsError(f"{where}: {key} takes {_TYPES[known.type]}, not {value!r}")


_TYPES = {float: "a number", bool: "true or false", str: "text"}


def load(text: str, name: str = "settings") -> Settings:
    """Settings of a TOML file."""
    try:
        parsed = toml_text.tables(text)
    except ValueError as error:
        raise SettingsError(f"{name}: {error}") from None
    made = Settings()
    for manager, body in parsed.items():
        if not isinstance(body, dict):
            raise SettingsError(f"{name}: {manager} stands outside a queue manager; put it under [{ALL}] or [QM01]")
        for kind, objects in _parts(body):
            for each, values in objects:
                if not isinstance(values, dict):
                    raise SettingsError(f"{name}: {each} stands outside a {kind}; put it under [{manager}.{kind}.NAME]")
                made.put(manager, kind, each, values)
    return made


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, Mapping[str, Any]]]]]:
    """The settings of the queue manager itself, then those of its objects."""
    objects = {key: value for key, value in body.items() if key in KINDS and isinstance(value, dict)}
    yield "system", [("", {key: value for key, value in body.items() if key not in objects})]
    for kind, members in objects.items():
        yield kind, [(str(each), values) for each, values in members.items()]


def of_display(text: str, unnamed: str = ALL, owner: str | None = None) -> Settings:
    """Settings of DISPLAY output: the owner's, or else of whom it names, or else of `unnamed` (E4)."""
    made = Settings()
    for named, part in [(owner, text)] if owner else by_owner(text):
        for kind, name, values in display_output.read(part):
            made.put(named or unnamed, kind, name, values)
    return made


def of_ours(text: str, owner: str) -> Settings:
    """The settings of a queue manager of this product, from what it answers, and what holds for all of them."""
    made = Settings()
    made.put(owner, "system", "", {"product": OURS.lower(), "archive": "DASD", **dict.fromkeys(_NOT_TRACED, False)})
    return merged([made, of_display(text, owner=owner)])


def read(text: str, name: str = "settings", unnamed: str = ALL, owner: str | None = None) -> Settings:
    """Settings of a file of either form: DISPLAY output holds messages or attributes, TOML assignments."""
    if display_output.looks_like(text):
        return of_display(text, unnamed, owner)
    if owner:
        raise SettingsError(f"{name}: TOML has the names of queue managers in it; write no {owner}: before the file")
    return load(text, name)


def merged(several: Iterable[Settings]) -> Settings:
    """All of them, a later one over an earlier."""
    made = Settings()
    for each in several:
        made.values.update(each.values)
    return made
