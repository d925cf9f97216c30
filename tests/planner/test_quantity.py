"""Quantities as people write them: every accepted spelling, every refusal with what would be accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.geometry import CYLINDER_BYTES, PAGE_BYTES, TRACK_BYTES, cylinders, pages, tracks
from quaestor.planner.quantity import (
    GIB,
    KIB,
    MB,
    MIB,
    QuantityError,
    Units,
    count,
    duration_s,
    rate_bytes_per_s,
    rate_per_s,
    show_bytes,
    show_seconds,
    size_bytes,
)
from quaestor.planner.source import OutOfRangeError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("4096", 4096),
        ("4096 B", 4096),
        ("12 bytes", 12),
        ("4k", 4 * KIB),
        ("4K", 4 * KIB),
        ("4 KB", 4 * KIB),
        ("1.5 MB", 3 * MIB // 2),
        ("1GiB", GIB),
        ("2 Gi", 2 * GIB),
        ("1 tb", 1024 * GIB),
        ("1.3 KB", 1331),  # 1331.2, to the nearest byte
        ("1.4 B", 1),
        ("1.5 B", 2),
        (".5k", 512),
        ("10,000", 10_000),
        ("450 000", 450_000),
        ("1_000 k", 1000 * KIB),
        ("  7 MB ", 7 * MIB),
    ],
)
def test_sizes_are_binary_unless_told(text, expected):
    assert expected == size_bytes(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("4k", 4000), ("74 MB", 74 * MB), ("1GiB", GIB), ("2 300 GB", 2_300_000 * MB)]
)
def test_decimal_is_asked_for_and_kib_stays_binary(text, expected):
    assert expected == size_bytes(text, Units.DECIMAL)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a size"),
        ("MB", "not a size"),
        ("-4k", "not a size"),
        ("1,5 MB", "not a size"),
        ("1..5k", "not a size"),
        ("4 q", "'q' is no unit of a size"),
        ("4 iB", "'iB' is no unit of a size"),
        ("4 MBps", "'MBps' is no unit of a size"),
        ("nan", "not a size"),
    ],
)
def test_a_size_that_is_none_is_refused_with_examples(text, says):
    with pytest.raises(QuantityError, match=says) as refusal:
        size_bytes(text)
    assert "4k, 1.5 MB, 1GiB" in str(refusal.value)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize(("text", "expected"), [("500", 500), ("125K", 125_000), ("4M", 4_000_000), ("0.5k", 500)])
def test_counts_are_decimal(text, expected):
    assert expected == count(text)


@pytest.mark.parametrize(
    ("text", "says"), [("1.5", "not a whole number"), ("4 KB", "'KB' is no unit of a count"), ("few", "not a count")]
)
def test_a_count_that_is_none_is_refused(text, says):
    with pytest.raises(QuantityError, match=says) as refusal:
        count(text)
    assert "450 000" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 min", 1800),
        ("2h", 7200),
        ("1h 30m", 5400),
        ("8 min 15 s", 495),
        ("200 ms", 0.2),
        ("35 us", 0.000035),
        ("1.5 d", 129_600),
    ],
)
def test_durations(text, expected):
    assert expected == pytest.approx(duration_s(text), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("30", "without its unit"),
        ("30 lightyears", "'lightyears' is no unit"),
        ("soon", "not a duration"),
        ("", "not a duration"),
        ("2h and a bit", "not a duration|no unit"),
        ("-5 s", "not a duration"),
    ],
)
def test_a_duration_that_is_none_is_refused(text, says):
    with pytest.raises(QuantityError, match=says) as refusal:
        duration_s(text)
    assert "1h 30m" in str(refusal.value)


@pytest.mark.parametrize("amount", ["-1", "few", "", " ", "1e3"])
@pytest.mark.parametrize("period", ["/s", "/year", "/", "/0", ""])
@pytest.mark.parametrize(
    ("read", "examples"),
    [(rate_per_s, ("500/s", "30k/min", "1.8M/h")), (rate_bytes_per_s, ("9.11 MB/s", "800 MB/h"))],
)
def test_a_rate_that_is_none_is_refused_with_rates(amount, period, read, examples):
    """U7: what is offered instead is a rate too."""
    with pytest.raises(QuantityError) as refusal:
        read(amount + period)
    offered = str(refusal.value).partition("for example ")[2].split(", ")
    assert list(examples) == offered
    assert all(read(each) > 0 for each in offered)


HUNDRED_DIGITS = "9" * 100


@pytest.mark.parametrize(
    ("read", "text", "least"),
    [
        (size_bytes, "{}T", 1e111),
        (count, "{}", 1e99),
        (duration_s, "{} d", 1e104),
        (duration_s, "1s {} d", 1e104),
        (rate_per_s, "{}T/s", 1e111),
        (rate_bytes_per_s, "{}T/s", 1e111),
    ],
)
def test_a_number_has_a_hundred_digits_at_most(read, text, least):
    assert least < float(read(text.format(HUNDRED_DIGITS)))
    for digits in (101, 400, 5000):
        with pytest.raises(QuantityError, match=rf": {digits} digits are not valid; write 100 at most"):
            read(text.format("9" * digits))


def test_rates():
    assert rate_per_s("500/s") == 500
    assert rate_per_s("30k/min") == 500
    assert rate_per_s("1.8M / h") == 500
    assert rate_bytes_per_s("800 MB/h") == 800 * MIB / 3600
    assert rate_bytes_per_s("2.7 MB/s", Units.DECIMAL) == 2_700_000


@pytest.mark.parametrize("text", ["500", "500/", "/s", "500/fortnight", "5 KB/s"])
def test_a_rate_that_is_none_is_refused(text):
    with pytest.raises(QuantityError):
        rate_per_s(text)


@pytest.mark.parametrize("text", ["9 MB", "9 MB/", "9 parsec/s"])
def test_a_data_rate_that_is_none_is_refused(text):
    with pytest.raises(QuantityError):
        rate_bytes_per_s(text)


@pytest.mark.parametrize(
    ("value", "units", "shown"),
    [
        (0, Units.BINARY, "0 B"),
        (9_550_000, Units.BINARY, "9.108 MiB"),
        (73_728_000, Units.DECIMAL, "73.73 MB"),
        (4 * GIB, Units.BINARY, "4 GiB"),
        (-2048, Units.BINARY, "-2 KiB"),
        (5 * 1024**5, Units.BINARY, "5,120 TiB"),
    ],
)
def test_what_is_shown_says_its_units(value, units, shown):
    assert shown == show_bytes(value, units)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (492, "8 min 12 s"),
        (480, "8 min"),
        (3599.7, "1 h"),
        (5400, "1 h 30 min"),
        (100_800, "1 d 4 h"),
        (59.9, "1 min"),
        (12.34, "12.3 s"),
        (0.2, "200 ms"),
        (0.9996, "1000 ms"),
        (0.000035, "35 us"),
        (0, "0 ms"),
        (-60, "-1 min"),
    ],
)
def test_a_duration_is_shown_by_its_two_largest_units(value, shown):
    assert shown == show_seconds(value)


@given(st.integers(0, 1024**5), st.sampled_from(Units))
def test_a_shown_size_reads_back_to_itself(value, units):
    assert size_bytes(show_bytes(value, units), units) == pytest.approx(value, rel=6e-4, abs=1)


@given(st.integers(0, 10**12), st.sampled_from("kMGT"))
def test_binary_is_never_below_decimal(number, prefix):
    text = f"{number}{prefix}"
    assert size_bytes(text) >= size_bytes(text, Units.DECIMAL)
    assert size_bytes(f"{text}iB", Units.DECIMAL) == size_bytes(text)


@given(st.floats(0.001, 1e8))
def test_a_shown_duration_reads_back_near_itself(value):
    assert duration_s(show_seconds(value)) == pytest.approx(value, rel=0.03)


def test_pages_tracks_and_cylinders_are_whole():
    assert (0, 1, 1, 2) == tuple(pages(n) for n in (0, 1, PAGE_BYTES, PAGE_BYTES + 1))
    assert (1, 2) == (tracks(TRACK_BYTES), tracks(TRACK_BYTES + 1))
    assert cylinders(100 * CYLINDER_BYTES) == 100
    assert CYLINDER_BYTES == 737_280


@pytest.mark.parametrize("measure", [pages, tracks, cylinders])
def test_no_negative_space(measure):
    with pytest.raises(OutOfRangeError, match="data_bytes -1 is not valid: 0 or more"):
        measure(-1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.001])
def test_bounds_refuse_what_is_no_number(value):
    with pytest.raises(OutOfRangeError, match=r"rate .* is not valid: 0 or more"):
        at_least(0, rate=value)
    with pytest.raises(OutOfRangeError, match=r"rate .* is not valid: more than 0"):
        above(0, rate=value)
    with pytest.raises(OutOfRangeError, match=r"rate .* is not valid: 0 to 1"):
        within(0, 1, rate=value)


def test_bounds_let_the_edges_in():
    at_least(0, rate=0)
    within(0, 1, low=0, high=1)
    with pytest.raises(OutOfRangeError, match="more than 0"):
        above(0, rate=0)
