"""Dates of the certificate that a server shows (VD1-VD3)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quaestor.clock import FakeClock, SystemClock
from quaestor.server import certificates
from quaestor.server.home import Configuration, Home
from quaestor.server.validity import doubt, valid

DAY_US = 86_400_000_000
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
    said = doubt(made(tmp_path, 90), NOW + later)
    assert said.startswith(why)
    assert bool(why) == bool(said)


def test_a_chain_is_good_while_all_of_it_is(tmp_path):
    """VD2: the certificate is good for a year, the one above it for another five days."""
    long, short = made(tmp_path / "long", 365), made(tmp_path / "short", 5)
    chain = tmp_path / "chain.pem"
    chain.write_bytes(b"subject=QM1\n" + long.read_bytes() + short.read_bytes())
    assert valid(chain.read_bytes()) == (valid(long.read_bytes())[0], valid(short.read_bytes())[1])
    assert doubt(chain, NOW).startswith("it expires on ")


@pytest.mark.parametrize(("days", "year"), [(1, 1951), (1, 1999), (1, 2049), (1, 2051)])
def test_years_of_two_digits_and_of_four(tmp_path, days, year):
    """RFC 5280: two digits up to 2049, four from 2050 on."""
    began = datetime(year, 6, 1, tzinfo=UTC)
    file = made(tmp_path, days, int(began.timestamp()) * 1_000_000)
    assert began + timedelta(days=days) == valid(file.read_bytes())[1]


@pytest.mark.parametrize(
    "text", [b"", b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", b"-----BEGIN CERTIFICATE-----\nMA"]
)
def test_dates_that_cannot_be_read_are_said(tmp_path, text):
    """VD3."""
    file = tmp_path / "server.pem"
    file.write_bytes(text)
    assert "its dates cannot be read" == doubt(file, NOW)


def test_a_certificate_that_is_cut_anywhere_stops_nobody(tmp_path):
    """VD3: whatever is left of one, there is an answer."""
    whole = made(tmp_path, 90).read_bytes()
    body = b"".join(whole.splitlines()[1:-1])
    cut = tmp_path / "cut.pem"
    for length in range(0, len(body), 4):
        cut.write_bytes(b"-----BEGIN CERTIFICATE-----\n" + body[:length] + b"\n-----END CERTIFICATE-----\n")
        assert doubt(cut, NOW) in {"", "its dates cannot be read"}
