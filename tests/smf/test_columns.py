"""Column-wise equals record by record: values, damage and order, every structure, every level (rules W, S, G, N, P)."""

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quaestor.layout import CODE_PAGES, pack, unpack
from quaestor.smf.arrow_schema import RECORD_COLUMNS, columns_of, schema
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.catalog import CATALOG, KINDS, LEVELS, SECTIONS
from quaestor.smf.columns import decode, join_continuations
from quaestor.smf.framing import DumpReader
from quaestor.smf.records import block_records
from quaestor.smf.sections.coupling_facility import CouplingFacilityStatistics, StructureFigures
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.writer import RecordIdentity, build_record, dump_marker, task_records
from smf.dumps import REAL, REAL_DUMPS, record
from smf.rows import WHEN_US, block_of, expected_tables, random_record
from smf.strategies import levels_of, records

real = pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
SYSA = RecordIdentity("SYSA", "QM1A", "10.0.0", -240, "QSG1")
EVERY_KIND_AND_LEVEL = [(kind, level) for kind in KINDS if kind.slots for level in levels_of(kind)]


def assert_same(block, **options):
    """The tables of a block hold what the record-by-record decoder gives, and name the same damage."""
    decoded = decode(block, **options)
    expected = expected_tables(block, options.get("names", "human"))
    assert set(expected) == set(decoded.tables)
    for structure, rows in expected.items():
        table = decoded.tables[structure]
        table.validate(full=True)
        assert schema(SECTIONS[structure], options.get("names", "human")) == table.schema
        for row, found in zip(rows, table.to_pylist(), strict=True):
            assert row == found
    damages = [damage for each in block_records(block) for damage in each.damages]
    assert sorted(damages, key=lambda damage: damage.offset) == decoded.damages
    return decoded


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "level"), EVERY_KIND_AND_LEVEL, ids=lambda each: getattr(each, "name", each))
def test_every_kind_at_every_level(kind, level):
    assert_same(block_of([random_record(kind, level, seed) for seed in range(3)]))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.slots], ids=lambda kind: kind.name)
def test_levels_mixed_in_one_block_keep_the_order_of_the_dump(kind):
    """Sections of all lengths share one gather; what a shorter one lacks is null, not its neighbour (G2)."""
    mixed = [random_record(kind, level, seed) for seed, level in enumerate(levels_of(kind) * 2)]
    random.Random(1).shuffle(mixed)
    assert_same(block_of(mixed))


@given(st.lists(records(), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_mixture_of_records(made):
    assert_same(block_of(made))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.slots], ids=lambda kind: kind.name)
def test_official_names_bear_the_same_values(kind):
    assert_same(block_of([random_record(kind, levels_of(kind)[-1], 5)]), names="official")


def test_text_is_read_in_the_code_page_asked_for():
    identity = RecordIdentity("S[A]", "Q^M", "8.0", page=CODE_PAGES["037"])
    block = block_of([build_record(CATALOG[115, 215], [SECTIONS["QPST"]()], identity, WHEN_US)])
    row = decode(block, page=CODE_PAGES["037"]).tables["QPST"].to_pylist()[0]
    assert ("S[A]", "Q^M") == (row["system"], row["queue_manager"])
    assert "S[A]" != decode(block).tables["QPST"]["system"][0].as_py()


def test_leap_seconds_move_what_the_tod_clock_said():
    block = block_of([build_record(CATALOG[115, 215], [SECTIONS["QPST"]()], SYSA, WHEN_US)])
    plain, leaped = (decode(block, leap_seconds=each).tables["QPST"]["utc_time"] for each in (0, 27))
    assert 27_000_000 == plain[0].value - leaped[0].value


def test_figures_of_private_queues_are_zeros_all_the_same():
    """Rows of zeros are not converted (N3), and nobody can tell."""
    shared = QueueAccounting(cf_calls=None)
    shared.cf_calls = unpack(QueueAccounting, bytes(range(256)) * 11).cf_calls
    for queues in ([QueueAccounting()] * 5, [QueueAccounting()] * 5 + [shared], [shared] * 3):
        made = task_records(TaskIdentification(), TaskAccounting(), queues, SYSA, WHEN_US)
        assert_same(block_of(made))


def test_unused_slots_of_structures_are_left_out():
    """64 slots, two in use: two entries in the list (N2)."""
    used = [StructureFigures(structure=name, structure_full=number) for number, name in enumerate(("APP1", "APP2"))]
    section = CouplingFacilityStatistics(structures=[*used, *(StructureFigures() for _ in range(62))])
    decoded = assert_same(block_of([build_record(CATALOG[115, 2], [section], SYSA, WHEN_US)]))
    assert ["APP1", "APP2"] == [each["structure"] for each in decoded.tables["QEST"]["structures"][0].as_py()]


def test_a_value_its_column_cannot_hold_is_null():
    """2^63 puts did not happen; -9223372036854775808 puts even less (S4)."""
    made = [SECTIONS["QQST"](queue="A", puts=2**63), SECTIONS["QQST"](queue="B", puts=2**63 - 1)]
    table = decode(block_of([build_record(CATALOG[115, 216], made, SYSA, WHEN_US)])).tables["QQST"]
    assert [None, 2**63 - 1] == table["puts"].to_pylist()


# --- which columns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["human", "official"])
@pytest.mark.parametrize("structure", SECTIONS)
def test_no_two_columns_of_a_table_share_a_name(structure, names):
    columns = [each.name for each in columns_of(SECTIONS[structure].LAYOUT, names)]
    assert len(columns) == len({each.lower() for each in columns})
    assert list(RECORD_COLUMNS) == columns[: len(RECORD_COLUMNS)]


@pytest.mark.parametrize("structure", SECTIONS)
def test_nobody_sees_what_is_internal(structure):
    hidden = {each.official for each in SECTIONS[structure].LAYOUT.fields if not each.kind.shown}
    assert not hidden & set(schema(SECTIONS[structure], "official").names)


def test_a_narrow_reading_equals_the_columns_of_the_wide_one():
    block = block_of([random_record(CATALOG[116, 1], level, 3) for level in ("8.0", "10.0.0")])
    asked = ["position", "queue_manager", "task_channel", "object_name", "queue_type_name", "puts", "put_elapsed_us"]
    narrow = decode(block, ["WQST"], columns={"WQST": asked}).tables
    assert ["WQST"] == list(narrow)
    assert set(asked) == set(narrow["WQST"].column_names)
    assert decode(block).tables["WQST"].select(narrow["WQST"].column_names).equals(narrow["WQST"])


def test_a_reading_of_one_column_needs_no_other():
    block = block_of([random_record(CATALOG[115, 2], "8.0", 3)])
    for name in schema(SECTIONS["QMST"]).names:
        assert [name] == decode(block, columns={"QMST": [name]}).tables["QMST"].column_names


def test_text_stays_dictionary_encoded_for_who_asks():
    block = block_of([random_record(CATALOG[116, 1], "8.0", 3)])
    encoded = decode(block, dictionary=True).tables["WQST"]
    assert schema(SECTIONS["WQST"], dictionary=True) == encoded.schema
    assert pa.types.is_dictionary(encoded.schema.field("object_name").type)
    assert decode(block).tables["WQST"].to_pylist() == encoded.to_pylist()


def test_unknown_names_are_refused():
    block = block_of([random_record(CATALOG[115, 2], "8.0", 3)])
    with pytest.raises(ValueError, match="no such structure: QXXX"):
        decode(block, ["QXXX", "QMST"])
    with pytest.raises(ValueError, match="QMST has no column depth"):
        decode(block, columns={"QMST": ["depth", "puts"]})


# --- damage ----------------------------------------------------------------------------------------------------------


def test_damage_of_one_section_leaves_the_others_alone():
    data = bytearray(random_record(CATALOG[115, 2], "8.0", 1))
    at = 28 + 8 * 2
    data[at : at + 8] = (5000).to_bytes(4, "big") + (80).to_bytes(2, "big") + (300).to_bytes(2, "big")
    decoded = assert_same(block_of([bytes(data), random_record(CATALOG[115, 2], "8.0", 2)]))
    assert [
        Damage(1000, f"115-2: triplet of QIST points past the record (5000+80x300 of {len(data)})")
    ] == decoded.damages
    assert (2, 1) == (len(decoded.tables["QMST"]), len(decoded.tables["QIST"]))


def test_damage_is_named_even_where_the_structure_is_not_wanted():
    data = bytearray(random_record(CATALOG[115, 2], "8.0", 1))
    data[28 + 8 * 2 : 28 + 8 * 2 + 4] = (90_000).to_bytes(4, "big")
    assert 1 == len(decode(block_of([bytes(data)]), ["QMST"]).damages)


def test_damage_of_the_framing_comes_along_in_its_place():
    block = block_of([random_record(CATALOG[115, 2], "8.0", 1)])
    block.damages.append(Damage(7, "zero bytes where a record should begin"))
    assert [7] == [damage.offset for damage in decode(block).damages]


@pytest.mark.parametrize("length", [3, 4, 6, 7, 35, 36, 127, 128, 143, 144])
def test_a_header_section_of_any_length(length):
    """A header too short to say how many triplets there are leaves the space before the first section (K2)."""
    made = bytearray(random_record(CATALOG[116, 1], "10.0.0", 1))
    made[32:34] = length.to_bytes(2, "big")
    assert_same(block_of([bytes(made)]))


@given(st.lists(records(), min_size=1, max_size=4), st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_mutation_of_triplets_and_headers(made, data):
    """Same sections, same words for the damage, whatever the triplets say (O1, K2)."""
    mutated = []
    for each in made:
        changed = bytearray(each)
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(14, min(len(changed) - 1, 130)))
            changed[at] = data.draw(st.sampled_from([0, 1, 3, 5, 7, 36, 128, 255, changed[at] ^ 1]))
        mutated.append(bytes(changed))
    assert_same(block_of([each for each in mutated if each[5] in (115, 116)] or made))


@given(records(), st.integers(18, 200))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_record_cut_short(made, length):
    assert_same(block_of([made[:length]]))
    assert_same(block_of([made[:length]], gap=b"\xff" * 200))


# --- which records ---------------------------------------------------------------------------------------------------


def test_other_records_are_counted_and_passed_on():
    marker = dump_marker(2, SYSA, WHEN_US)
    made = [
        marker,
        record(record_type=30, subtype=4),
        random_record(CATALOG[115, 2], "8.0", 1),
        record(record_type=115, subtype=99),
    ]
    decoded = assert_same(block_of([*made, random_record(CATALOG[116, 1], "10.0.0", 1), marker]))
    assert {
        ("2", ""): 2,
        ("30", ""): 1,
        ("115-2", "8.0.0"): 1,
        ("115", "8.0.0"): 1,
        ("116-1", "10.0.0"): 1,
    } == decoded.inventory


def test_a_block_without_mq_records_has_no_tables():
    decoded = decode(block_of([dump_marker(2, SYSA, WHEN_US)]))
    assert ({}, [], {("2", ""): 1}) == (decoded.tables, decoded.damages, decoded.inventory)
    empty = np.zeros(0, np.int64)
    assert {} == decode(Block(bytearray(), empty, empty, empty)).tables


def test_records_need_not_touch_each_other():
    """Offsets and positions are what the block says, not what the buffer looks like."""
    assert_same(block_of([random_record(CATALOG[116, 1], "5.2", seed) for seed in range(4)], gap=b"\xee" * 3001))


# --- continuations ---------------------------------------------------------------------------------------------------


def task_with_queues(count, queue_manager, correlator, when_us=WHEN_US):
    """A task whose queues need continuations: 116-1 and its 116-2 records."""
    identity = RecordIdentity("SYSA", queue_manager, "8.0")
    task = TaskAccounting()
    task.allocated_at, task.correlator_2, task.correlator_3 = int.from_bytes(correlator[:8], "big"), 1, 2
    joined = pack(task)[8:24]
    queues = [QueueAccounting(object_name=f"Q{number}", correlator=joined) for number in range(count)]
    return task_records(TaskIdentification(), task, queues, identity, when_us)


@pytest.mark.parametrize("names", ["human", "official"])
def test_every_queue_finds_the_first_record_of_its_task(names):
    one, two, three = (
        task_with_queues(25, "QM1A", b"A" * 8),
        task_with_queues(25, "QM1A", b"B" * 8),
        task_with_queues(25, "QM2A", b"A" * 8),
    )
    assert [3, 3, 3] == [len(each) for each in (one, two, three)]
    again = task_with_queues(25, "QM1A", b"A" * 8, WHEN_US + 60_000_000)  # the next interval of the same task
    order = [one[0], two[0], three[0], one[1], three[1], one[2], two[1], again[0], two[2], again[1], three[2], again[2]]
    block = block_of(order)
    decoded = decode(block, names=names)
    joined = join_continuations(decoded.tables["WQST"], decoded.tables["WTAS"], names)
    first = {id(part): block.positions[order.index(task[0])] for task in (one, two, three, again) for part in task}
    belongs = {int(at): int(first[id(part)]) for at, part in zip(block.positions, order, strict=True)}
    assert len({*belongs.values()}) == 4
    assert [belongs[each] for each in joined["position"].to_pylist()] == joined["task_position"].to_pylist()


def test_a_continuation_whose_task_is_not_in_the_dump_stays_alone():
    parts = task_with_queues(25, "QM1A", b"A" * 8)
    decoded = decode(block_of(parts[1:] + task_with_queues(2, "QM1A", b"B" * 8)))
    joined = join_continuations(decoded.tables["WQST"], decoded.tables["WTAS"])
    assert {2: {None}, 1: {joined["position"][-1].as_py()}} == {
        subtype: {row["task_position"] for row in joined.to_pylist() if row["subtype"] == subtype} for subtype in (1, 2)
    }


# --- the real dumps --------------------------------------------------------------------------------------------------


@real
@pytest.mark.real
@pytest.mark.parametrize("path", REAL_DUMPS, ids=lambda path: path.name)
def test_real_dumps_are_the_same_both_ways(path):
    with path.open("rb") as stream:
        for block in DumpReader(stream).blocks():
            assert_same(block)


@real
@pytest.mark.real
def test_every_record_and_section_of_the_channel_dump():
    """319 records, 28 of them in segments, and the 16 QCT_DNS blocks that a count of triplets one too low hides."""
    inventory, rows = Counter(), Counter()
    with (REAL / "TESTCHL.dat").open("rb") as stream:
        reader = DumpReader(stream, window=100_000)
        for block in reader.blocks():
            decoded = decode(block)
            assert [] == decoded.damages
            inventory += decoded.inventory
            rows.update({structure: len(table) for structure, table in decoded.tables.items()})
    assert (319, 28) == (sum(inventory.values()), reader.spanned)
    assert {"116-1": 200, "116-0": 45, "116-10": 8} == {
        name: count for (name, _), count in inventory.items() if name.startswith("116")
    }
    assert (16, 22, 200, 23) == tuple(rows[each] for each in ("QCT_DNS", "WQST", "WTAS", "QCST"))


def test_levels_are_all_there():
    """The parameters above cover every level that any structure changes at."""
    assert set(LEVELS) == {level for _, level in EVERY_KIND_AND_LEVEL}
