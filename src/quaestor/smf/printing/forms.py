"""Rows of labels and figures, declared once per structure.

A form names the rows of a structure's printout. A cell says which fields it reads, so the form knows what its rows
already show; every other field that people see prints from its declaration (P2), arrays and blocks included.

Called by the modules that hold the forms, and by `programs`.  Calls figures.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from quaestor.layout import Field, Record
from quaestor.smf.printing import figures
from quaestor.smf.printing.figures import View

INDENT = "  "
LABEL_WIDTH = 52


@dataclass(frozen=True, slots=True)
class Cell:
    """A label, the fields it reads, and what stands behind it."""

    label: str
    reads: tuple[str, ...]
    text: Callable[[Any, View], str]
    width: int = 10

    def line(self, section: Record, view: View) -> str:
        return f"{self.label} {self.text(section, view):>{self.width}}"


@dataclass(frozen=True, slots=True)
class Row:
    """Cells on one line. A row of absent fields is left out, a `sparse` row also one of zeros (P3, P4)."""

    cells: tuple[Cell, ...]
    lead: str = ""
    joint: str = " "
    sparse: bool = False

    def shows(self, section: Record) -> bool:
        names = [name for cell in self.cells for name in cell.reads]
        if self.sparse:
            return any(says_something(section, name) for name in names)
        return any(getattr(section, name) is not None for name in names)

    def line(self, section: Record, view: View) -> str:
        return self.lead + self.joint.join(cell.line(section, view) for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Block:
    """How the elements of an inner array print: a form, and what leads the element at each place."""

    form: "Form"
    lead: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Form:
    """The printout of one structure. `lead` begins every row of a repeated structure, as the pool number does."""

    title: str
    rows: tuple[Row, ...] = ()
    blocks: Mapping[str, Block] = field(default_factory=dict)
    lead: Cell | None = None
    indent: str = INDENT
    numbered: bool = False  # rows are led by the place of the section in its record
    elsewhere: frozenset[str] = frozenset()  # fields that the caller prints itself

    @property
    def named(self) -> frozenset[str]:
        """The fields that need no declared line."""
        cells = [cell for row in self.rows for cell in row.cells] + ([self.lead] if self.lead else [])
        return frozenset(name for cell in cells for name in cell.reads) | self.elsewhere

    def lines(self, section: Record, view: View, place: int = 1) -> Iterator[str]:
        lead = self.indent + (f"{self.lead.text(section, view)} " if self.lead else "")
        lead += f"{place:02d} " if self.numbered else ""
        for each in self.rows:
            if each.shows(section):
                yield (lead + each.line(section, view)).rstrip()
        yield from _declared(self, section, view, lead)


def row(*cells: Cell, lead: str = "", joint: str = " ", sparse: bool = False) -> Row:
    return Row(cells, lead, joint, sparse)


# --- cells ------------------------------------------------------------------------------------------------------------


def figure(label: str, name: str, width: int = 10) -> Cell:
    """A value by the kind of its field; for intervals, microseconds."""

    def text(section: Record, view: View) -> str:
        return figures.leaf(getattr(section, name), section.LAYOUT[name], view)

    return Cell(label, (name,), text, width)


def words(label: str, name: str) -> Cell:
    """A name, a code or a time: text that is not aligned to the right."""
    return figure(label, name, width=0)


def two_digits(label: str, name: str) -> Cell:
    """A pool or page set number as MQ1150 has it."""
    return Cell(label, (name,), lambda section, _: figures.number(getattr(section, name)).rjust(2, "0"), 2)


def _of_two(how: Callable[[Any, Any], str]) -> Callable[..., Cell]:
    def cell(label: str, first: str, second: str, width: int = 8) -> Cell:
        return Cell(label, (first, second), lambda s, _: how(getattr(s, first), getattr(s, second)), width)

    return cell


mean = _of_two(figures.average)
mean_us = _of_two(figures.average_us)
mean_ms = _of_two(figures.average_ms)
percent = _of_two(figures.percent)


def longest_ms(label: str, name: str, width: int = 8) -> Cell:
    return Cell(label, (name,), lambda section, _: figures.whole_ms(getattr(section, name)), width)


# --- what no row names (P2) -------------------------------------------------------------------------------------------


def says_something(section: Record, name: str) -> bool:
    """Whether a field is there, set, and neither zero nor blank (P3, P4)."""
    value = getattr(section, name)
    return value != section.LAYOUT[name].unset and _speaks(value)


def _speaks(value: Any) -> bool:
    if isinstance(value, Record):
        return any(says_something(value, each.name) for each in value.LAYOUT.fields if each.kind.shown)
    if isinstance(value, list):
        return any(map(_speaks, value))
    return any(value) if isinstance(value, bytes) else bool(value)


def _declared(form: Form, section: Record, view: View, lead: str) -> Iterator[str]:
    named = form.named
    for each in section.LAYOUT.fields:
        if not each.kind.shown or each.name in named or not says_something(section, each.name):
            continue
        value = getattr(section, each.name)
        if each.of is not None:
            yield from _elements(form.blocks.get(each.name), each, value, view, lead)
        else:
            yield f"{lead}{_label(each)} {_values(value, each, view)}"


def _label(each: Field) -> str:
    """A field's meaning with its unit, filled up with dots."""
    unit = f" ({each.kind.unit})" if each.kind.unit in ("us", "bytes") else ""
    meaning = each.meaning if unit and each.meaning.endswith(unit) else each.meaning + unit
    return f"{meaning} ".ljust(LABEL_WIDTH, ".")


def _values(value: Any, each: Field, view: View) -> str:
    if isinstance(value, list):
        return " ".join(_values(inner, each, view) for inner in value)
    return figures.leaf(value, each, view)


def _elements(block: Block | None, each: Field, value: Any, view: View, lead: str) -> Iterator[str]:
    """Every element of a block that says something, led by its place."""
    shown = block or Block(Form(""), lambda place: f"{each.meaning} [{place}] ")
    for place, element in _places(value):
        if _speaks(element):
            for line in shown.form.lines(element, view):
                yield f"{lead}{shown.lead(place)}{line.removeprefix(shown.form.indent)}"


def _places(value: Any) -> Iterable[tuple[int, Record]]:
    return enumerate(value) if isinstance(value, list) else [(0, value)]
