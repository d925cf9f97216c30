"""Damaged records in a load: what is readable counts, in the raw tables and in every summary as shipped."""

import struct

import pytest

from pipeline.lakes import HOUR_US, MONDAY_US, dump, load_raw, raw_tables, statistics, task
from quaestor.pipeline.day_part import part
from quaestor.pipeline.summary import read_definitions
from quaestor.smf.catalog import HEADER_SIZE
from quaestor.smf.records import unpack_record

SHIPPED = read_definitions()
PAST = 40_000


def without_headers(record):
    """The record, the triplet of its header section pointing past its end."""
    return record[:HEADER_SIZE] + struct.pack(">I", PAST) + record[HEADER_SIZE + 4 :]


def with_all_ones(record):
    """The record, the figures of its last section as large as their fields hold; its first 24 bytes say what it is."""
    sections, kind = unpack_record(record).sections, unpack_record(record).kind
    last = max(slot.triplet for slot in kind.slots if slot.section.LAYOUT.structure in sections)
    offset, length, _ = struct.unpack_from(">IHH", record, HEADER_SIZE + 8 * last)
    return record[: offset + 24] + b"\xff" * (length - 24) + record[offset + length :]


def files_of(lake, table):
    snapshot = lake.snapshot()
    return {structure: tuple(snapshot.live(structure)) for structure in sorted(table.structures)}


@pytest.mark.parametrize("damaged", [without_headers, with_all_ones])
def test_a_damaged_record_counts_in_the_raw_tables(tmp_path, damaged):
    """Three intervals of three pools, one of them damaged: nine rows, and a line for the damage where there is one."""
    records = [each for n in (1, 2, 3) for each in statistics(n, MONDAY_US + n * HOUR_US)]
    records[3] = damaged(records[3])
    lake, (report,) = load_raw(tmp_path / "lake", [dump(tmp_path / "dump", records)])
    rows = raw_tables(lake)
    assert (9, 3) == (len(rows["QPST"]), len(rows["QJST"]))
    assert (damaged is without_headers) == bool(report.damages)


@pytest.fixture(scope="module", params=[without_headers, with_all_ones])
def lake(request, tmp_path_factory):
    """Two intervals and two tasks, the second of each damaged."""
    folder, moments = tmp_path_factory.mktemp("lake"), [(n, MONDAY_US + n * HOUR_US) for n in (1, 2)]
    (*good,), (*bad,) = ([*statistics(n, when), task(n, when)] for n, when in moments)
    records = [*good, *(request.param(each) for each in bad)]
    return load_raw(folder / "lake", [dump(folder / "dump", records)])[0]


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_damaged_record_stops_no_summary(lake, name):
    """E2: every definition as shipped."""
    files = files_of(lake, SHIPPED[name])
    if all(files.values()):
        assert len(part(SHIPPED[name], lake.place, files)) > 0
