"""Mutated dumps, real and synthetic: no reader crashes, both decoders see the same, what is whole is delivered.

Bounded: so many mutations from fixed seeds, a few seconds in all. `QUAESTOR_FUZZ=5000` goes on for longer.
"""

import io
import os
import random
from collections import Counter

import pytest

from quaestor.smf.columns import decode
from quaestor.smf.detection import UnusableDumpError
from quaestor.smf.dump import DumpWriter
from quaestor.smf.framing import DumpReader
from quaestor.smf.inventory import Inventory
from quaestor.smf.printing.plain import plain_record
from quaestor.smf.printing.programs import printout, task_printout
from quaestor.smf.records import block_records, tasks
from quaestor.smf.synth.generate import generate
from quaestor.smf.synth.profile_file import at_level, load_profile
from smf.dumps import REAL_DUMPS, blocked, segmented

ROUNDS = int(os.environ.get("QUAESTOR_FUZZ", "40"))
LEVELS = ("5.2", "8.0", "10.0.0")


@pytest.fixture(scope="module")
def dumps():
    """Records of the small profile at three levels, of the real dumps where they are, and all in other framings."""
    found = []
    for level in LEVELS:
        stream = io.BytesIO()
        with DumpWriter(stream) as writer:
            generate(at_level(load_profile("small"), level), writer, size_bytes=60_000)
        found.append(stream.getvalue())
    found += [path.read_bytes()[:60_000] for path in REAL_DUMPS]
    records = [bytes(b.data[o : o + n]) for b in DumpReader(io.BytesIO(found[1])).blocks() for o, n in _places(b)]
    found.append(blocked(records, 27_998))
    found.append(b"".join(segment for each in records for segment in segmented(each, 3000)))
    found.append(b"".join(each[4:] for each in records))
    return found


def _places(block):
    return zip(block.offsets.tolist(), block.lengths.tolist(), strict=True)


def mutate(data, rng):
    """A few of: flipped bytes, a piece cut out, a piece put in, zeros, a piece twice, an end cut off."""
    data = bytearray(data)
    for _ in range(rng.randrange(1, 12)):
        at, size = rng.randrange(len(data)), rng.choice((1, 2, 4, 8, 40, 700, 5000))
        match rng.randrange(7):
            case 0 | 1:
                data[at] = rng.randrange(256)
            case 2:
                del data[at : at + size]
            case 3:
                data[at:at] = rng.randbytes(size)
            case 4:
                data[at : at + size] = bytes(len(data[at : at + size]))
            case 5:
                data[at:at] = data[at : at + size]
            case 6:
                data[at : at + 2] = rng.choice((b"\xff\xff", b"\x00\x00", b"\x7f\xff", b"\x00\x04"))
        if not data:
            return b""
    return bytes(data[: rng.choice((len(data), len(data), rng.randrange(1, len(data) + 1)))])


def read_every_way(data, window):
    """Sections and damage by both decoders; the inventory and the printouts must not stop either."""
    by_record, by_column, inventory = Counter(), Counter(), Inventory()
    damage_by_record, damage_by_column = Counter(), Counter()
    for block in DumpReader(io.BytesIO(data), window=window).blocks():
        for record in block_records(block):
            by_record.update({name: len(found) for name, found in record.sections.items()})
            damage_by_record.update(map(str, record.damages))
            printed = [line for task in tasks([record]) for line in task_printout(task)] or list(printout(record))
            assert printed
            assert plain_record(record)["position"] == record.position
        decoded = decode(block)
        by_column.update({name: len(table) for name, table in decoded.tables.items()})
        damage_by_record.update(map(str, block.damages))
        damage_by_column.update(map(str, decoded.damages))
        inventory.add(block)
    by_inventory = Counter()
    for (structure, _), count in inventory.sections.items():
        by_inventory[structure] += count
    assert +by_record == +by_column == by_inventory
    assert damage_by_record == damage_by_column
    return by_record, damage_by_record


def test_whole_dumps_are_read_alike_by_every_reader(dumps):
    for data in dumps:
        sections, _ = read_every_way(data, 1 << 20)
        assert sections.total() > 0


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_mutated_dumps_stop_no_reader(dumps, seed):
    rng = random.Random(seed)
    data = mutate(dumps[seed % len(dumps)], rng)
    try:
        read_every_way(data, rng.choice((1 << 20, 1 << 17)))
    except UnusableDumpError as refused:
        assert "\n" not in str(refused)  # noqa: PT017  being refused is one good outcome of two
