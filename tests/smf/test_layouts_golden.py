"""Every offset and length of all 40 structures, compared with the golden file of layout facts."""

import json
from pathlib import Path

import pytest

from quaestor.smf.catalog import LEVELS, SECTIONS, STRUCTURES, length_at

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "smf_layouts.json").read_text(encoding="utf-8"))
TYPE_OF_WIRE = {
    "u1": "u8",
    "u2": "u16",
    "u4": "u32",
    "u8": "u64",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "text": "char",
    "bytes": "bytes",
}


def declared(cls):
    """The fields of a class, alignment gaps left out, triplets flattened to their three leaves."""
    for each in cls.LAYOUT.fields:
        if each.official == "-":
            continue
        if each.of is not None and each.of.LAYOUT.structure == "TRIPLET":
            for leaf in each.of.LAYOUT.fields:
                yield each.official + leaf.official, each.offset + leaf.offset, leaf.size, leaf
        else:
            yield each.official, each.offset, each.end - each.offset, each


def test_all_forty_structures_are_declared():
    assert set(GOLDEN) == set(STRUCTURES)
    assert len(GOLDEN) == 40


@pytest.mark.parametrize("structure", GOLDEN)
def test_offsets_and_lengths(structure):
    golden, cls = GOLDEN[structure], STRUCTURES[structure]
    assert golden["size"] == cls.LAYOUT.size
    expected = [(name, offset, length) for name, offset, length, *_ in golden["fields"]]
    assert expected == [(name, offset, length) for name, offset, length, _ in declared(cls)]


@pytest.mark.parametrize("structure", GOLDEN)
def test_wire_types(structure):
    for (name, _, _, kind, *_), (_, _, _, each) in zip(
        GOLDEN[structure]["fields"], declared(STRUCTURES[structure]), strict=True
    ):
        if kind in ("array", "group"):
            assert each.of is not None, name
        elif each.kind.name in ("block_id", "block_length", "reserved"):
            continue  # told apart by meaning, not by sign
        elif kind != "bits":
            assert kind == TYPE_OF_WIRE[each.wire], name


@pytest.mark.parametrize("structure", [name for name, g in GOLDEN.items() if any(len(f) > 5 for f in g["fields"])])
def test_elements_of_arrays(structure):
    cls = STRUCTURES[structure]
    for name, _, _, _, count, *inner in GOLDEN[structure]["fields"]:
        if inner:
            each = cls.LAYOUT[name]
            assert count == each.shape[0]
            assert [f[:3] for f in inner[0]] == [list(found[:3]) for found in declared(each.of)]


@pytest.mark.parametrize("structure", [name for name, g in GOLDEN.items() if g["observed"] and name in SECTIONS])
def test_lengths_seen_in_real_records(structure):
    for level, lengths in GOLDEN[structure]["observed"].items():
        assert lengths == [length_at(STRUCTURES[structure], level)]


@pytest.mark.parametrize("structure", SECTIONS)
def test_lengths_never_shrink_but_for_the_thread_accounting(structure):
    lengths = [n for level in LEVELS if (n := length_at(STRUCTURES[structure], level))]
    assert lengths == sorted(lengths) or structure == "QWAC"
