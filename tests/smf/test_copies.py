"""Records that several dumps hold: each is read once (rules K1 to K3)."""

import io

from quaestor.smf.copies import Copies
from quaestor.smf.framing import DumpReader
from smf.dumps import blocked, record, spanned, with_section

RECORDS = [with_section(bytes([n]) * 60, qmgr=f"QM{n:02d}") for n in range(5)]
OTHER = record(record_type=30, subtype=4, body=b"\0" * 100)


def left_of(*dumps, window=1 << 20):
    """(records that stay, by dump; how many copies were left out)."""
    copies = Copies()
    made = []
    for dump in dumps:
        blocks = [copies.without(block) for block in DumpReader(io.BytesIO(dump), window=window).blocks()]
        made.append(sum(len(block.offsets) for block in blocks))
    return made, copies.left_out


def test_a_dump_that_is_read_twice_counts_once():
    whole = b"".join(RECORDS)
    assert ([5, 0], 5) == left_of(whole, whole)
    assert ([5], 0) == left_of(whole)


def test_copies_within_one_dump_in_blocks_of_any_size():
    twice = b"".join(RECORDS + RECORDS)
    assert ([5], 5) == left_of(twice)
    assert ([5], 5) == left_of(twice, window=256)


def test_framing_and_segments_make_no_other_record():
    plain, cut = b"".join(RECORDS), b"".join(spanned(each, 50) for each in RECORDS)
    assert ([5, 0, 0], 10) == left_of(plain, cut, blocked(RECORDS))


def test_the_first_copy_keeps_its_place():
    copies = Copies()
    (block,) = DumpReader(io.BytesIO(b"".join([RECORDS[0], RECORDS[0], RECORDS[1]]))).blocks()
    kept = copies.without(block)
    assert [0, 2 * len(RECORDS[0])] == kept.positions.tolist()


def test_records_of_other_products_are_left_alone():
    assert ([5, 3], 2) == left_of(
        b"".join([OTHER, OTHER, *RECORDS[:3]]), b"".join([OTHER, RECORDS[0], RECORDS[1], OTHER, RECORDS[4]])
    )
