"""RDW-stripped dumps: records whose four leading bytes were dropped in transfer.

Rules
  T1  Nothing says how long a record is but its own triplets: it ends where its last section ends (R6).
  T2  Start and end of dump (types 2 and 3) are 14 bytes long without their RDW.
  T3  Segments of spanned records lie end to end without marks, so a spanned record is whole already.
  T4  An RDW is put back in front of every record, so that all readers see one form.
  T5  Triplets may be damaged, so an end is believed when a record begins there or the dump ends. Otherwise the record
      ends where the next one begins, if that is earlier: damage costs the record that it is in, and a section that
      then lies outside is named by who reads the sections.
  T6  Where no record begins, the next one is looked for; what is skipped has one line, however many windows it is long.

Called by framing.  Calls catalog for the number of triplets, detection to find the next record.
"""

from collections.abc import Callable
from typing import NamedTuple

from quaestor.smf.catalog import CATALOG, FIRST_SECTION, HEADER_SIZE, TRIPLET_SIZE
from quaestor.smf.detection import STRIPPED, is_header, is_stripped_record, next_stripped

Report = Callable[[int, str], None]
NO_HEADER = "no SMF record header"
_LONGEST = 1 << 20
_SHORTEST = FIRST_SECTION - STRIPPED
_HEADER_AND_TRIPLETS = 128  # more than any record needs before its first section


class Rest(NamedTuple):
    """Where the rest of a window begins, and where in the dump the damage it begins with, if it does."""

    at: int
    lost_at: int | None


def walk(
    data: bytearray,
    base: int,
    record: Callable[[int, int, int], None],
    damage: Report,
    *,
    last: bool,
    lost_at: int | None = None,
) -> Rest:
    """Find every record in `data`, which begins with damage from `lost_at` on, if any (T6).

    Each is appended with an RDW behind `data` (T4).
    """
    at, size = 0, len(data)
    rebuilt = bytearray()
    found: list[tuple[int, int, int]] = []
    length = _length(data, at, size) if lost_at is None else None
    while at < size and (last or size - at >= _HEADER_AND_TRIPLETS):
        more = not last and size - at <= _LONGEST  # what is not in sight may be in the next window
        if length is None:
            if lost_at is None:
                lost_at, at = base + at, at + 1
            skip_to = next_stripped(data, at, size)
            if skip_to < 0 and not last:
                at = max(at, size - _SHORTEST + 1)
                break
            at = size if skip_to < 0 else skip_to
            damage(lost_at, f"{NO_HEADER}; {base + at - lost_at} bytes skipped")
            lost_at, length = None, _length(data, at, size)
            continue
        end = at + length
        if more and end + _HEADER_AND_TRIPLETS > size:
            break
        length = _length(data, end, size)
        if length is None and end != size:
            begins = next_stripped(data, at + 1, min(end, size))
            if begins >= 0:  # T5
                end, length = begins, _length(data, begins, size)
            elif end > size:
                damage(base + at, _no_end(end - at, size - at, last=last))
                at = size
                break
        found.append((size + len(rebuilt), end - at + STRIPPED, base + at))
        rebuilt += min(end - at + STRIPPED, 0xFFFF).to_bytes(2, "big") + b"\0\0" + data[at:end]
        at = end
    data += rebuilt
    for each in found:
        record(*each)
    return Rest(at, lost_at)


def _no_end(length: int, left: int, *, last: bool) -> str:
    if last:
        return f"record cut short: {length} bytes long, {left} are left"
    return f"record of {length} bytes has no end; {left} bytes skipped"


def _length(data: bytearray, at: int, size: int) -> int | None:
    """The length of the record at `at` without its RDW (T1, T2); None when none begins there."""
    if size - at >= 14 and data[at + 1] in (2, 3) and is_header(data[at : at + 32].ljust(32, b"\0"), -STRIPPED):
        return 14
    if size - at < _SHORTEST:
        return None
    if not is_stripped_record(data, at):
        return None
    return _end_of_sections(data, at, size) - STRIPPED


def _end_of_sections(data: bytearray, at: int, size: int) -> int:
    """Where the last section of the record ends, counted with the missing RDW."""
    record_type, subtype = data[at + 1], int.from_bytes(data[at + 18 : at + 20], "big")
    kind = CATALOG.get((record_type, subtype))
    most = kind.triplets.LAYOUT.size // TRIPLET_SIZE if kind else 1
    end = FIRST_SECTION
    limit = HEADER_SIZE + most * TRIPLET_SIZE
    for index in range(most):
        triplet = at + HEADER_SIZE - STRIPPED + index * TRIPLET_SIZE
        if HEADER_SIZE + index * TRIPLET_SIZE >= limit or triplet + TRIPLET_SIZE > size:
            break
        offset = int.from_bytes(data[triplet : triplet + 4], "big")
        length = int.from_bytes(data[triplet + 4 : triplet + 6], "big")
        count = int.from_bytes(data[triplet + 6 : triplet + 8], "big")
        if offset and count:
            limit = min(limit, offset)
            end = max(end, offset + length * count)
    return end
