"""Small hand-made dumps: records with true headers and nothing clever in them."""

import struct
from pathlib import Path

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "smf"
REAL_DUMPS = sorted(REAL.glob("*.dat"))


def record(body=b"", record_type=116, subtype=1, date=0x0116058F, time=3_600_000, system="SYS1", qmgr="QM01"):
    """A record with its RDW; the body follows the 28-byte header."""
    names = (system.ljust(4) + qmgr.ljust(4)).encode("cp037")
    head = struct.pack(">HHBBII8sH4s", 0, 0, 0x5E, record_type, time, date, names, subtype, b"\xf8\xf0\xf0\0")
    data = head + body
    return len(data).to_bytes(2, "big") + data[2:]


def with_section(section=b"\xaa" * 40, **header):
    """A 115-215 record with one triplet pointing to `section`, and no header section."""
    triplets = struct.pack(">IHHIHH", 0, 0, 0, 44, len(section), 1)
    return record(triplets + section, record_type=115, subtype=215, **header)


def segmented(data, cut):
    """The segments of a record, `cut` bytes of data each."""
    pieces = [data[4:][i : i + cut] for i in range(0, len(data) - 4, cut)]
    codes = [1] + [3] * (len(pieces) - 2) + [2] if len(pieces) > 1 else [0]
    return [struct.pack(">HBB", len(p) + 4, c, 0) + p for p, c in zip(pieces, codes, strict=True)]


def spanned(data, cut):
    return b"".join(segmented(data, cut))


def blocked(records, size=200):
    """Records in blocks of at most `size` bytes, unless one record alone is longer."""
    blocks, now = [], b""
    for each in records:
        if now and len(now) + len(each) + 4 > size:
            blocks.append(now)
            now = b""
        now += each
    blocks.append(now)
    return b"".join((len(b) + 4).to_bytes(2, "big") + b"\0\0" + b for b in blocks)
