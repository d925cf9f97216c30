"""A declaration as a table: where each field is, what it is called, what it is, how it adds up, since when.

Called by the command `smf describe` and by the generator of docs/formats.  Calls layout and catalog.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from quaestor.layout import Add, Field, Layout, Record
from quaestor.smf.catalog import HEADERS, KINDS, STRUCTURES, TRIPLETS, homes

EVERY_LEVEL = "all"


@dataclass(frozen=True, slots=True)
class FieldLine:
    """One field of a layout as people read it; `depth` is 1 inside an array or block."""

    depth: int
    offset: int
    length: int
    official: str
    name: str
    kind: str
    adds_up: str
    unit: str
    since: str
    meaning: str

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def field_lines(section: type[Record], depth: int = 0, since: str = "") -> Iterator[FieldLine]:
    """Every field of a structure; the fields of an inner array follow it, offsets inside the element."""
    for each in section.LAYOUT.fields:
        level = since or since_level(section.LAYOUT, each)
        yield FieldLine(
            depth,
            each.offset,
            each.end - each.offset,
            each.official,
            each.name,
            _kind(each),
            "" if each.kind.add is Add.NONE else each.kind.add.value,
            each.kind.unit,
            level,
            _meaning(each),
        )
        if each.of is not None:
            yield from field_lines(each.of, depth + 1, level)


def _kind(each: Field) -> str:
    wire = each.of.LAYOUT.structure.rpartition(".")[2] if each.of is not None else each.wire
    shape = "".join(f"[{dimension}]" for dimension in each.shape)
    return f"{each.kind.name} {wire}{shape}"


def _meaning(each: Field) -> str:
    """The meaning, and what codes, bits and the value that means none stand for."""
    parts = [each.meaning]
    if each.codes:
        parts.append(", ".join(f"{value} {name}" for value, name in each.codes.items()))
    if each.bits:
        parts.append(", ".join(f"x{bit:0{2 * each.element_size}X} {name}" for bit, name in each.bits.items()))
    if each.unset is not None:
        parts.append(f"{each.unset} means not set")
    return "; ".join(parts)


def since_level(layout: Layout, each: Field) -> str:
    """The first level whose section is long enough for the whole field; blank when every level has it."""
    for level, length in layout.lengths.items():
        if each.end <= length:
            return "" if level == EVERY_LEVEL else level
    return list(layout.lengths)[-1]


def lengths_text(section: type[Record]) -> str:
    """How long the structure is at which level."""
    steps = section.LAYOUT.lengths
    if EVERY_LEVEL in steps:
        return f"{section.LAYOUT.size} bytes"
    return ", ".join(f"{length} bytes from {level}" for level, length in steps.items())


def title(section: type[Record]) -> str:
    """What a structure is, from the first line of its class."""
    first = (section.__doc__ or "").strip().splitlines()[0]
    return first.removeprefix(f"{section.LAYOUT.structure}: ")


def found_in(structure: str) -> str:
    """The records that hold a structure, or what it is part of."""
    section = STRUCTURES[structure]
    if section in HEADERS:
        return "headers"
    if section in TRIPLETS:
        return ", ".join(kind.name for kind in KINDS if kind.triplets is section)
    holders = (name for name, each in STRUCTURES.items() if any(field.of is section for field in each.LAYOUT.fields))
    return ", ".join(homes(structure) or sorted(holders))


def near(name: str) -> list[str]:
    """Structures that a mistyped name may have meant; for the name of a field, the structures that have it."""
    wanted = name.upper()
    owners = [
        structure
        for structure, section in STRUCTURES.items()
        if any(wanted in (each.official, each.name.upper()) for each in section.LAYOUT.fields)
    ]
    return owners or get_close_matches(wanted, STRUCTURES, n=4, cutoff=0.5)
