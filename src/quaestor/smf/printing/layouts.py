"""A declaration as a table: where each field is, what it is called, what it is, how it adds up, since when.

A table is a list of rows of texts, the first one its heading; it prints as text or as Markdown.

Called by the command `smf describe` and by the generator of docs/formats.  Calls layout and catalog.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from quaestor.layout import Add, Field, Layout, Record
from quaestor.smf.catalog import HEADERS, KINDS, STRUCTURES, TRIPLETS, homes

EVERY_LEVEL = "all"
HEADING = ("Offset", "Length", "Official", "Name", "Kind", "Adds up", "Unit", "Since", "Meaning")

Table = list[tuple[str, ...]]


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

    def row(self) -> tuple[str, ...]:
        inside = "+" * self.depth
        return (
            f"{inside}{self.offset}",
            str(self.length),
            self.official,
            self.name,
            self.kind,
            self.adds_up,
            self.unit,
            self.since,
            self.meaning,
        )


def field_table(section: type[Record]) -> Table:
    """A structure's fields; an offset with a plus sign counts from the beginning of its array element."""
    return [HEADING, *(line.row() for line in field_lines(section))]


def structure_table() -> Table:
    """Every structure, how long it is now, and where it is found."""
    rows = [
        (name, str(section.LAYOUT.size), found_in(name), title(section)) for name, section in sorted(STRUCTURES.items())
    ]
    return [("Structure", "Length", "Found in", "What it is"), *rows]


def record_table() -> Table:
    """Every record type and subtype, and the structures that its triplets point to."""
    rows = [
        (kind.name, kind.title, ", ".join(slot.section.LAYOUT.structure for slot in kind.slots) or "-")
        for kind in KINDS
    ]
    return [("Record", "What it is", "Structures"), *rows]


def as_text(table: Table) -> str:
    """Columns side by side, two blanks between them."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return "\n".join(line.rstrip() for line in lines)


def as_markdown(table: Table) -> str:
    heading, *rows = ([cell.replace("|", "\\|") for cell in row] for row in table)
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
    """What a field is, and its wire form where the length does not say it."""
    wire = each.of.LAYOUT.structure.rpartition(".")[2] if each.of is not None else each.wire
    shape = "".join(f"[{dimension}]" for dimension in each.shape)
    return f"{each.kind.name}{'' if wire in ('text', 'bytes') else f' {wire}'}{shape}"


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
    level = next(level for level, length in layout.lengths.items() if each.end <= length)
    return "" if level == EVERY_LEVEL else level


def lengths_text(section: type[Record]) -> str:
    """How long the structure is at which level."""
    steps = section.LAYOUT.lengths
    if EVERY_LEVEL in steps:
        return f"{section.LAYOUT.size} bytes"
    return ", ".join(f"{length} bytes from {level}" for level, length in steps.items())


def title(section: type[Record]) -> str:
    """What a structure is, from the first line of its class."""
    first = (section.__doc__ or "").strip().splitlines()[0].removeprefix(f"{section.LAYOUT.structure}: ")
    return first[:1].upper() + first[1:]


def about(section: type[Record]) -> str:
    """What a structure is, where it is found, how long it is: the text above its table."""
    return f"{title(section)}\n\nFound in {found_in(section.LAYOUT.structure)}; {lengths_text(section)}."


def found_in(structure: str) -> str:
    """The records that hold a structure, or what it is part of."""
    section = STRUCTURES[structure]
    if section in HEADERS:
        return f"every {structure[2:]} record" if structure.startswith("SM") else "the header section"
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
