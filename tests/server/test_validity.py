"""Dates of the certificate that a server shows (VD1-VD4)."""

import io
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from quaestor.clock import FakeClock, SystemClock
from quaestor.server import certificates, process, validity
from quaestor.server.home import Configuration, Home
from quaestor.server.validity import Watch, doubt, valid

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
NOW_US = SystemClock().now_us()
NOW = datetime.fromtimestamp(NOW_US / 1_000_000, UTC)


def made(folder, days, began_us=NOW_US):
    """A certificate of so many days, made at a time."""
    folder.mkdir(exist_ok=True)
    return certificates.server(folder, "QM1", ["localhost"], days, FakeClock(began_us)).file


@pytest.fixture
def home(tmp_path, request):
    """A queue manager with a certificate of its own: days, and how many days ago it was made."""
    days, ago = request.param
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1", listen="127.0.0.1:0", engine={"logs": 3, "log_bytes": 1 << 20, "pages": 64}))
    made(home.directory, days, NOW_US - ago * DAY_US)
    home.write(replace(home.configuration(), certificate="server.pem", key="server.key"))
    return home


@pytest.mark.parametrize(
    ("home", "why"),
    [
        ((10, 20), "it expired on "),
        ((365, -20), "it is not valid before "),
        ((29, 0), "it expires on "),
        ((365, 0), ""),
    ],
    indirect=["home"],
)
def test_a_server_starts_and_says_what_is_wrong_with_its_certificate(server, why):
    told = [line for line in server.log().splitlines() if "QSV007W" in line]
    assert [] == told if not why else len(told) == 1
    for line in told:
        text = "QSV007W clients refuse the certificate by its dates, or soon will"
        assert f"{text} certificate='{server.home.directory / 'server.pem'}' why='{why}" in line
    assert "QSV001I" in server.log()


@pytest.mark.parametrize("home", [(90, 0)], indirect=True)
def test_a_server_that_runs_says_once_that_its_certificate_expires_and_once_that_it_has(home, monkeypatch):
    """VD4: good for 90 days, looked at for 100; a file that takes its place meanwhile is for the next start."""
    clock, out = FakeClock(NOW_US + HOUR_US), io.StringIO()
    monkeypatch.setattr(process, "SystemClock", lambda: clock)
    server = process.Server(home, out)
    told = []
    try:
        made(home.directory, 3650)
        for _ in range(100):
            clock.advance(days=1)
            server.service.turn([])
            told.append(out.getvalue().count("QSV007W"))
    finally:
        server.service._close()
        server._stop()
    assert [0] * 59 + [1] * 30 + [2] * 11 == told
    soon, late = (line for line in out.getvalue().splitlines() if "QSV007W" in line)
    assert "why='it expires on " in soon
    assert "why='it expired on " in late


@dataclass
class ClockSetBack(FakeClock):
    """One whose time of day is behind the time that has passed."""

    back_us: int = 0

    def now_us(self):
        return self.us - self.back_us


def test_a_certificate_is_looked_at_four_times_a_day(tmp_path, monkeypatch):
    """VD4: however often the server asks."""
    looks, clock = [], FakeClock(NOW_US)
    monkeypatch.setattr(validity, "doubt", lambda _, now: looks.append(now) or "")
    watch = Watch(made(tmp_path, 90).read_bytes(), clock, pytest.fail)
    for _ in range(24 * 60):
        watch.look()
        clock.advance(minutes=1)
    assert [NOW + timedelta(hours=each) for each in (0, 6, 12, 18)] == looks


def test_each_doubt_is_told_once(tmp_path):
    """VD4: not again where the clock is set back and comes to the same time once more."""
    clock, told = ClockSetBack(NOW_US - HOUR_US), []
    watch = Watch(made(tmp_path, 90).read_bytes(), clock, lambda why: told.append(why[:14]))
    every = ["it is not vali", "it expires on ", "it expired on "]
    for days, expected in ((0, 1), (1, 1), (60, 2), (1, 2), (30, 3), (1, 3)):
        clock.advance(days=days)
        watch.look()
        assert every[:expected] == told
    clock.back_us = 20 * DAY_US
    for _ in range(30):
        clock.advance(days=1)
        watch.look()
    assert every == told


def test_dates_that_cannot_be_read_are_told_once():
    clock, told = FakeClock(NOW_US), []
    watch = Watch(b"", clock, told.append)
    for _ in range(3):
        watch.look()
        clock.advance(days=1)
    assert ["its dates cannot be read"] == told


def test_the_dates_are_those_that_were_written(tmp_path):
    """VD3: five minutes are given to clocks that are behind."""
    begins, ends = valid(made(tmp_path, 90).read_bytes())
    second = NOW.replace(microsecond=0)
    assert (second - timedelta(minutes=5), second + timedelta(days=90)) == (begins, ends)


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (timedelta(minutes=-6), "it is not valid before "),
        (timedelta(), ""),
        (timedelta(days=59, hours=23), ""),
        (timedelta(days=60, hours=1), "it expires on "),
        (timedelta(days=90, hours=1), "it expired on "),
    ],
)
def test_what_is_said_when(tmp_path, later, why):
    said = doubt(made(tmp_path, 90).read_bytes(), NOW + later)
    assert said.startswith(why)
    assert bool(why) == bool(said)


def test_a_chain_is_good_while_all_of_it_is(tmp_path):
    """VD2: the certificate is good for a year, the one above it for another five days."""
    long, short = made(tmp_path / "long", 365), made(tmp_path / "short", 5)
    chain = tmp_path / "chain.pem"
    chain.write_bytes(b"subject=QM1\n" + long.read_bytes() + short.read_bytes())
    assert valid(chain.read_bytes()) == (valid(long.read_bytes())[0], valid(short.read_bytes())[1])
    assert doubt(chain.read_bytes(), NOW).startswith("it expires on ")


@pytest.mark.parametrize(("days", "year"), [(1, 1951), (1, 1999), (1, 2049), (1, 2051)])
def test_years_of_two_digits_and_of_four(tmp_path, days, year):
    """RFC 5280: two digits up to 2049, four from 2050 on."""
    began = datetime(year, 6, 1, tzinfo=UTC)
    file = made(tmp_path, days, int(began.timestamp()) * 1_000_000)
    assert began + timedelta(days=days) == valid(file.read_bytes())[1]


@pytest.mark.parametrize(
    "text", [b"", b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", b"-----BEGIN CERTIFICATE-----\nMA"]
)
def test_dates_that_cannot_be_read_are_said(text):
    """VD3."""
    assert "its dates cannot be read" == doubt(text, NOW)


def test_a_certificate_that_is_cut_anywhere_stops_nobody(tmp_path):
    """VD3: whatever is left of one, there is an answer."""
    whole = made(tmp_path, 90).read_bytes()
    body = b"".join(whole.splitlines()[1:-1])
    for length in range(0, len(body), 4):
        cut = b"-----BEGIN CERTIFICATE-----\n" + body[:length] + b"\n-----END CERTIFICATE-----\n"
        assert doubt(cut, NOW) in {"", "its dates cannot be read"}
