"""Every structure prints at every level; nothing that people see is lost, nothing that is absent is made up."""

import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.layout import Record, pack, unpack
from quaestor.smf.catalog import LEVELS, SECTIONS, length_at
from quaestor.smf.printing import mq116s, queue_account
from quaestor.smf.printing.figures import View
from quaestor.smf.printing.forms import Block, Form, Row, figure
from quaestor.smf.printing.programs import FORMS
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.channel import ChannelAccounting
from quaestor.smf.sections.queue import QueueStatistics
from quaestor.smf.sections.storage import StorageSummary
from smf.printing.given import ms, squeezed, utc

PRINTERS = {
    **{structure: form.lines for structure, form in FORMS.items()},
    "WTID": mq116s.identification,
    "WTAS": mq116s.accounting,
    "WQST": queue_account.account,
}
MOST = {"u1": 0xFF, "u2": 0xFFFF, "i2": 0x7FFF}


def printed(section):
    return "\n".join(PRINTERS[section.LAYOUT.structure](section, View()))


def value_of(each, changed):
    """A value that says something, and another one that must print differently."""
    if each.of is not None:
        return filled(each.of)
    if each.is_tod_interval:
        return ms(3000 if changed else 30)
    match each.kind.name:
        case "text":
            return "NEW" if changed else "OLD"
        case "token":
            return bytes([0xC1 + changed] * each.size)
        case "stamp":
            return utc(15 + changed, 0, 0)
        case "code" | "flags":
            return 3 if changed else 1
        case _:
            return min(MOST.get(each.wire, 70_000), 70_000) - 1 if changed else 6


def shaped(each, changed=False, shape=None):
    """The value in the shape of its field."""
    shape = each.shape if shape is None else shape
    return [shaped(each, changed, shape[1:]) for _ in range(shape[0])] if shape else value_of(each, changed)


def filled(cls):
    """A section in which every field that people see says something."""
    return cls(**{each.name: shaped(each) for each in cls.LAYOUT.fields if each.kind.shown})


def shown_paths(cls):
    """The way to every leaf that people see: fields and, through arrays, fields of their elements."""
    for each in cls.LAYOUT.fields:
        if not each.kind.shown:
            continue
        if each.of is None:
            yield ((each.name,), each)
        else:
            yield from (((each.name, *path), leaf) for path, leaf in shown_paths(each.of))


def change(section, path, leaf):
    """Give the leaf its other value, in the first element of every array on the way."""
    owner = section
    for name in path[:-1]:
        owner = getattr(owner, name)
        while isinstance(owner, list):
            owner = owner[0]
    setattr(owner, path[-1], shaped(leaf, changed=True))


def test_every_section_has_a_printer():
    assert set(SECTIONS) == set(PRINTERS)


@pytest.mark.parametrize("structure", SECTIONS)
def test_no_figure_that_people_see_is_lost(structure):
    """Change any one field of a full section: its printout changes."""
    cls = SECTIONS[structure]
    full = printed(filled(cls))
    for path, leaf in shown_paths(cls):
        section = filled(cls)
        change(section, path, leaf)
        assert full != printed(section), f"{structure}.{'.'.join(path)} is not printed"


@pytest.mark.parametrize("structure", SECTIONS)
def test_every_structure_prints_at_every_level(structure):
    cls = SECTIONS[structure]
    lengths = {length for level in LEVELS if (length := length_at(cls, level))}
    assert lengths
    for length in lengths:
        text = printed(unpack(cls, pack(filled(cls), length), length=length))
        assert text
        assert "None" not in text.replace("Index None", "")


@pytest.mark.parametrize("structure", SECTIONS)
def test_a_section_cut_anywhere_still_prints(structure):
    cls = SECTIONS[structure]
    data = pack(filled(cls))
    for length in {4, *(each.end for each in cls.LAYOUT.fields), *(each.end - 1 for each in cls.LAYOUT.fields)}:
        if length >= 4:
            printed(unpack(cls, data, length=length))


@pytest.mark.parametrize("structure", SECTIONS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_bytes_print_without_an_error(structure, data):
    cls = SECTIONS[structure]
    length = data.draw(st.integers(4, cls.LAYOUT.size))
    piece = data.draw(st.binary(min_size=1, max_size=64))
    raw = (piece * (cls.LAYOUT.size // len(piece) + 1))[: cls.LAYOUT.size]
    printed(unpack(cls, raw, length=length))


@pytest.mark.parametrize("structure", SECTIONS)
def test_an_absent_field_leaves_no_zero_behind(structure):
    """Cut everything behind the eye-catcher: what still prints holds no figure."""
    cls = SECTIONS[structure]
    text = printed(unpack(cls, pack(filled(cls)), length=4))
    figures = re.findall(r"(?<![\w-])0(?![\w-])", text)
    assert [] == figures


def test_a_value_that_means_none_is_not_a_number():
    channel = ChannelAccounting(exit_shortest=0x8FFFFFFF, exit_longest=5, network_shortest=0x8FFFFFFF)
    text = "\n".join(squeezed(FORMS["QCST"].lines(channel, View())))
    assert "Exits uS: avg 0 shortest - longest 5" in text
    assert "Network" not in text
    shared = QueueStatistics(page_set=-1, buffer_pool=-1, flag_bits=0x80000000, structure="APP1")
    rows = squeezed(FORMS["QQST"].lines(shared, View()))
    assert "Page set - Buffer pool - Flags shared" in rows
    assert "QSG Structure APP1" in rows


def test_bits_without_a_name_show_as_one_figure():
    pool = BufferStatistics(location=0x80000001)
    assert "00 Location: pool above the bar, x00000001" in squeezed(FORMS["QPST"].lines(pool, View()))


def test_a_field_that_no_row_names_prints_under_its_meaning():
    """The last line of defence for a level that nobody has seen yet (P2)."""
    bare = Form("", (Row((figure("MEMLIMIT", "memlimit"),)),))
    rows = list(bare.lines(StorageSummary(memlimit=1, real_frames=77), View()))
    assert ["  MEMLIMIT          1", f"  {'Real frames used '.ljust(52, '.')} 77"] == rows


def test_elements_of_an_array_without_a_form_are_numbered():
    cls = SECTIONS["QEST"]
    section = cls()
    section.structures[2].structure = "APP1"
    (row,) = Form("").lines(section, View())
    assert re.search(r"\[2\] CF structure name \.+ APP1$", row)
    named = Form("", blocks={"structures": Block(Form(""), partial("slot {} ".format))})
    (row,) = named.lines(section, View())
    assert row.startswith("  slot 2 CF structure name")


def test_a_lead_number_that_is_absent_is_a_dash():
    cut = unpack(BufferStatistics, bytes(104), length=8)
    assert isinstance(cut, Record)
    assert [] == list(FORMS["QPST"].lines(cut, View()))
