"""One triplet that is wrong costs its own section, whatever it says and wherever it stands (O1).

Each record is one that we write ourselves, with every section its level knows. One triplet after another is made to
point into the SMF header, then past the end; the record-by-record reader and the column reader see the same.
"""

import io
import struct

import pytest

from quaestor.smf.catalog import CATALOG, HEADER_SIZE, TRIPLET_SIZE
from quaestor.smf.columns import decode
from quaestor.smf.framing import DumpReader
from quaestor.smf.records import unpack_record
from smf.dumps import REAL_DUMPS
from smf.rows import block_of, random_record

LEVELS = ["8.0", "9.4.5", "10.0.0"]
KINDS = [kind for kind in CATALOG.values() if kind.slots]
KINDS_AND_LEVELS = [
    (kind, level) for kind in KINDS for level in LEVELS if any(slot.used_at(level) for slot in kind.slots)
]
IN_HEADER, PAST = 30, 40_000
WORDS = {IN_HEADER: "points into the header of the record", PAST: "points past the record"}


def pointing_to(data, triplet, offset):
    """The record, its triplet's length and count as they were."""
    at = HEADER_SIZE + triplet * TRIPLET_SIZE
    return data[:at] + struct.pack(">I", offset) + data[at + 4 :]


def used(kind, sections):
    """Which triplet leads to which section, of those the record has."""
    return {
        slot.triplet: slot.section.LAYOUT.structure for slot in kind.slots if slot.section.LAYOUT.structure in sections
    }


@pytest.mark.parametrize("offset", WORDS)
@pytest.mark.parametrize(("kind", "level"), KINDS_AND_LEVELS, ids=lambda each: getattr(each, "name", each))
def test_a_wrong_triplet_costs_its_own_section(kind, level, offset):
    whole = random_record(kind, level, seed=1)
    true = unpack_record(whole)
    for triplet, structure in used(kind, true.sections).items():
        found = unpack_record(pointing_to(whole, triplet, offset))
        (damage,) = found.damages
        assert f"{kind.name}: triplet of {structure} {WORDS[offset]}" in damage.reason
        assert {name: each for name, each in true.sections.items() if name != structure} == found.sections
        assert true.headers == found.headers


@pytest.mark.parametrize("offset", WORDS)
@pytest.mark.parametrize(("kind", "level"), KINDS_AND_LEVELS, ids=lambda each: getattr(each, "name", each))
def test_a_wrong_triplet_of_the_headers_costs_the_headers(kind, level, offset):
    """What the managers counted is there all the same; who wrote it, the SMF header says."""
    whole = random_record(kind, level, seed=2)
    true, found = unpack_record(whole), unpack_record(pointing_to(whole, 0, offset))
    (damage,) = found.damages
    assert f"{kind.name}: triplet of header section {WORDS[offset]}" in damage.reason
    assert true.sections == found.sections
    assert (None, None, None) == (found.headers.common, found.headers.correlation, found.headers.extension)
    assert true.header == found.header


@pytest.mark.parametrize("offset", WORDS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_columns_lose_as_little(kind, offset):
    """The damaged record between two whole ones: of each structure but its own, three records have their rows."""
    whole = random_record(kind, "10.0.0", seed=3)
    structures = used(kind, unpack_record(whole).sections)
    for triplet, lost in [(0, ""), *structures.items()]:
        decoded = decode(block_of([whole, pointing_to(whole, triplet, offset), whole]))
        (damage,) = decoded.damages
        assert 1000 + len(whole) == damage.offset
        for structure in structures.values():
            places = set(decoded.tables[structure]["position"].to_pylist())
            assert (2 if structure == lost else 3) == len(places), structure


@pytest.mark.real
@pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
@pytest.mark.parametrize("path", REAL_DUMPS, ids=lambda path: path.name)
def test_real_records_keep_their_sections_without_their_headers(path):
    """Up to a hundred records of each dump, the triplet of their headers pointing past the end."""
    for block in DumpReader(io.BytesIO(path.read_bytes())).blocks():
        for offset, length in list(zip(block.offsets.tolist(), block.lengths.tolist(), strict=True))[:100]:
            whole = bytes(block.data[offset : offset + length])
            true, found = (unpack_record(each) for each in (whole, pointing_to(whole, 0, PAST)))
            if true.kind is not None:
                assert true.sections == found.sections
                assert 1 == len(found.damages)
