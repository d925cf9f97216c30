"""Hypothesis strategies for SMF: any section object at any level, identities, whole records."""

import random
from datetime import UTC, datetime

from hypothesis import strategies as st

from quaestor.layout import unpack
from quaestor.smf.catalog import KINDS, LEVELS, length_at
from quaestor.smf.writer import Interval, RecordIdentity, build_record

FILLS = ("random", "zeros", "ones", "blanks")
FIRST_US = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
LAST_US = int(datetime(2041, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000

levels = st.sampled_from(LEVELS)
kinds = st.sampled_from([kind for kind in KINDS if kind.slots])
moments_us = st.integers(FIRST_US, LAST_US)
names4 = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=4)


def levels_of(kind):
    """The levels at which a record kind has anything in it."""
    return [level for level in LEVELS if any(slot.used_at(level) for slot in kind.slots)]


@st.composite
def sections(draw, cls, level):
    """Any object of a section class, as long as its level says: every bit pattern is a value."""
    length = length_at(cls, level)
    fill = draw(st.sampled_from(FILLS))
    if fill == "random":
        data = random.Random(draw(st.integers(0, 2**32))).randbytes(length)
    else:
        data = {"zeros": b"\0", "ones": b"\xff", "blanks": b"\x40"}[fill] * length
    return unpack(cls, data, 0, length)


@st.composite
def slot_sections(draw, kind, level, most=3):
    """Sections for every slot of a record kind that the level uses, in the order of the triplets."""
    made = []
    for slot in kind.slots:
        if slot.used_at(level):
            count = draw(st.integers(0, most)) if slot.repeats else 1
            made += [draw(sections(slot.section, level)) for _ in range(count)]
    return made


@st.composite
def identities(draw, level=None):
    return RecordIdentity(
        system=draw(names4),
        queue_manager=draw(names4),
        level=level or draw(levels),
        zone_minutes=15 * draw(st.integers(-48, 56)),
        queue_sharing_group=draw(st.one_of(st.just(""), names4)),
    )


@st.composite
def intervals(draw):
    return Interval(draw(moments_us), draw(st.integers(1, 86_400_000_000)))


@st.composite
def records(draw, kind=None, level=None):
    """A whole record of any kind and level, RDW included."""
    kind = kind or draw(kinds)
    level = level or draw(st.sampled_from(levels_of(kind)))
    return build_record(
        kind,
        draw(slot_sections(kind, level)),
        draw(identities(level)),
        draw(moments_us),
        interval=draw(intervals()),
        sequence=draw(st.integers(0, 2**32 - 1)),
    )
