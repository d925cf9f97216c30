"""Statistics wait for company, and nobody can tell from the rows (rules F)."""

import io
import random

import numpy as np
import pyarrow as pa
import pytest

from quaestor.smf import streaming
from quaestor.smf.blocks import Damage
from quaestor.smf.catalog import CATALOG, KINDS
from quaestor.smf.columns import decode
from quaestor.smf.framing import DumpReader
from quaestor.smf.streaming import Waiting, decode_blocks, rare_records
from smf.dumps import REAL_DUMPS, record
from smf.rows import block_of, random_record
from smf.strategies import levels_of

FREQUENT = [CATALOG[116, 0], CATALOG[116, 1], CATALOG[116, 2]]
RARE = [kind for kind in KINDS if kind.slots and kind not in FREQUENT]


def mixed(share_of_rare, count=200, seed=1):
    """Records of all kinds, statistics between accounting."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        kind = chance.choice(RARE if chance.random() < share_of_rare else FREQUENT)
        made.append(random_record(kind, chance.choice(levels_of(kind)), number, occurrences=1))
    return made


def joined(decodings):
    """Tables by structure, inventory and damage of all that was decoded."""
    tables, inventory, damages = {}, {}, []
    for decoded in decodings:
        damages += decoded.damages
        for key, count in decoded.inventory.items():
            inventory[key] = inventory.get(key, 0) + count
        for structure, table in decoded.tables.items():
            tables.setdefault(structure, []).append(table)
    return {name: pa.concat_tables(each) for name, each in tables.items()}, inventory, damages


def windows(data, size=100_000):
    return DumpReader(io.BytesIO(data), window=size).blocks()


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("most", [0, 20_000, 8 << 20])
def test_rows_and_their_order_are_those_of_each_block_alone(monkeypatch, share, most):
    monkeypatch.setattr(streaming, "_MOST_BYTES", most)
    data = b"".join(mixed(share))
    tables, inventory, damages = joined(decode_blocks(windows(data)))
    expected, counted, _ = joined(map(decode, windows(data)))
    assert set(expected) == set(tables)
    assert (counted, []) == (inventory, damages)
    for structure, table in expected.items():
        assert table.equals(tables[structure]), structure


def test_no_structure_is_in_records_that_wait_and_in_others():
    """Otherwise its rows would lose their order (F1)."""
    frequent, rare = ({slot.section for kind in kinds for slot in kind.slots} for kinds in (FREQUENT, RARE))
    assert not frequent & rare


def test_which_records_wait():
    made = [random_record(kind, levels_of(kind)[-1], 1) for kind in [*FREQUENT, *RARE]]
    others = [record(record_type=30, subtype=4), record(record_type=116, subtype=300), record(record_type=116)[:18]]
    expected = [False] * len(FREQUENT) + [True] * len(RARE) + [False, True, False]
    assert expected == rare_records(block_of(made + others)).tolist()


def test_damage_comes_from_both():
    good, bad = random_record(CATALOG[116, 1], "8.0", 1), bytearray(random_record(CATALOG[115, 2], "8.0", 1))
    bad[28 + 8 : 28 + 12] = (60_000).to_bytes(4, "big")
    block = block_of([good] * 20 + [bytes(bad)])
    block.damages.append(Damage(3, "zero bytes where a record should begin"))
    _, _, damages = joined(decode_blocks([block]))
    assert [3, int(block.positions[-1])] == sorted(damage.offset for damage in damages)


def test_options_reach_the_decoder():
    block = block_of(mixed(0.3, 30))
    tables, _, _ = joined(decode_blocks([block], ["WQST"], columns={"WQST": ["position", "puts"]}))
    assert {"WQST": ["position", "puts"]} == {name: table.column_names for name, table in tables.items()}
    official, _, _ = joined(decode_blocks([block], ["WQST"], names="official", dictionary=True))
    assert "OBJNAME" in official["WQST"].column_names


def test_records_that_touch_each_other_are_copied_in_one_piece():
    made = [random_record(CATALOG[115, 2], "8.0", seed) for seed in range(5)]
    for gap in (b"", b"\xaa" * 7):
        block, waiting = block_of(made, gap), Waiting()
        waiting.add(block, np.array([0, 1, 3]))
        waiting.add(block, np.array([], np.int64))
        waiting.add(block, np.array([4]))
        (left,) = waiting.leave()
        assert b"".join(made[each] for each in (0, 1, 3, 4)) == bytes(left.data)
        assert block.positions[[0, 1, 3, 4]].tolist() == left.positions.tolist()
        assert (False, []) == (waiting.is_full, list(waiting.leave()))


@pytest.mark.real
@pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
@pytest.mark.parametrize("path", REAL_DUMPS, ids=lambda path: path.name)
def test_real_dumps_give_the_same_rows(path):
    data = path.read_bytes()
    tables, inventory, _ = joined(decode_blocks(windows(data)))
    expected, counted, _ = joined(map(decode, windows(data)))
    assert (counted, set(expected)) == (inventory, set(tables))
    assert all(table.equals(tables[structure]) for structure, table in expected.items())
