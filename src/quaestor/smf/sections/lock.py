"""What the lock manager counts: QLST, SMF 115 subtype 2."""

from quaestor.layout import Record, at, block_id, block_length, count, eye_catcher, record, reserved


@record("QLST", size=32, lengths={"5.2": 32})
class LockStatistics(Record):
    """QLST: lock requests of this interval."""

    id: block_id = at(0, "QLSTID", "Block identifier (hex)", default=0xD30F)
    length: block_length = at(2, "QLSTLL", "Length of this block in bytes")
    eye: eye_catcher = at(4, "QLSTEYEC", "Eye-catcher", size=4, default="QLST")
    lock_gets: count = at(8, "QLSTGETL", "Lock requests")
    already_held: count = at(12, "QLSTHLDL", "Lock requests already held")
    lock_releases: count = at(16, "QLSTRELL", "Lock releases")
    reserved_20: reserved = at(20, "FILLER__001", "reserved", size=12)
