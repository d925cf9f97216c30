"""TLS and AT-TLS on channels (MP16 chapter 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.channel_costs import restart_s
from quaestor.planner.channel_tls import (
    CHINIT_PERCENT,
    COPROCESSOR_MS_PER_START,
    COPROCESSOR_SAVES_MS_MAX,
    PLAIN_16_KB,
    TLS_16_KB,
    TRIPLE_DES_2_KB_US,
    at_tls,
    at_tls_fits,
    coprocessor_percent,
    handshake_percent,
    renegotiation_cpu_ms_per_s,
    renegotiations_per_s,
    tls_chinit_us,
    tls_percent_of_whole,
    tls_restart_s,
    tls_start,
)
from quaestor.planner.measured import Range, percent_change
from quaestor.planner.source import OutOfRangeError

AES_256 = "TLS_RSA_WITH_AES_256_SHA_CBC"
CIPHERS = CHINIT_PERCENT.columns[1:]


@pytest.mark.oracle("mp16-ch2-3/68", kind="measured", lines="3763-3768")
@pytest.mark.parametrize(
    ("cipher", "per_s", "cpu_ms"),
    [
        ("TLS_RSA_WITH_AES_256_CBC_SHA256", 148, 2.7),
        ("ECDHE_RSA_AES_256_CBC_SHA384", 93, 4.3),
        ("ECDHE_ECDSA_AES_256_CBC_SHA384", 93, 4.5),
    ],
)
def test_starting_channels_with_tls(cipher, per_s, cpu_ms):
    assert (per_s, cpu_ms) == (tls_start(cipher).channels_per_s, tls_start(cipher).cpu_ms)
    assert tls_restart_s(4000, cipher) == 4000 / per_s > restart_s(4000)
    assert cpu_ms > COPROCESSOR_MS_PER_START == 0.5


@pytest.mark.oracle("mp16-ch2-3/68", kind="measured", lines="3763-3768")
def test_restarting_four_thousand_senders_with_elliptic_curves():
    assert 43 == int(tls_restart_s(4000, "ECDHE_RSA_AES_256_CBC_SHA384"))


@pytest.mark.oracle("mp16-ch2-3/69", kind="measured", lines="3834, 3844")
def test_renegotiating_with_and_without_a_coprocessor():
    """One renegotiation a second: 1 MB/s with SSLRKEYC of 1 MB."""
    mb = 2**20
    assert 1 == renegotiations_per_s(mb, sslrkeyc_bytes=mb)
    assert Range(2, 3) == renegotiation_cpu_ms_per_s(mb, mb)
    without = renegotiation_cpu_ms_per_s(mb, mb, icsf=False)
    assert Range.at(21) == without
    assert without.high - renegotiation_cpu_ms_per_s(mb, mb).low <= COPROCESSOR_SAVES_MS_MAX == 22


@pytest.mark.oracle("mp16-ch2-3/70", kind="measured", lines="3890")
def test_the_requester_pays_a_tenth_more():
    cost = TRIPLE_DES_2_KB_US
    assert 442 == cost["transaction"] == cost["requester"] + cost["server"]
    assert percent_change(cost["server"], cost["requester"]) == pytest.approx(10, abs=2)


@pytest.mark.oracle("mp16-ch2-3/71", kind="measured", lines="3914-3917")
@pytest.mark.parametrize(
    ("cipher", "percents"),
    [
        ("TRIPLE_DES_SHA_US", (57, 209, 252, 347)),
        ("TLS_RSA_WITH_AES_256_SHA_CBC", (48, 157, 181, 242)),
        ("ECDHE_RSA_AES_256_CBC_SHA384", (45, 147, 161, 222)),
    ],
)
def test_channel_initiator_cost_with_tls(cipher, percents):
    added = [tls_chinit_us(100, message_kb, cipher) - 100 for message_kb in (2, 16, 64, 1024)]
    assert added == pytest.approx(percents)


@pytest.mark.oracle("mp16-ch2-3/72", kind="source-error", lines="3923-3928")
def test_a_16_kb_transaction_by_address_space():
    """The parts without TLS make 227; printed is 228, and the percent of the total follows from the printed one."""
    plain, tls = PLAIN_16_KB, TLS_16_KB
    assert (227, 228) == (plain.total_us, plain.total_us_printed)
    assert 414 == tls.total_us == tls.total_us_printed
    assert 157 == round(percent_change(plain.channel_initiator_us, tls.channel_initiator_us))
    assert tls_chinit_us(plain.channel_initiator_us, 16, AES_256) == pytest.approx(tls.channel_initiator_us, rel=0.001)
    assert 12.5 == percent_change(plain.tcpip_us, tls.tcpip_us)
    assert -6.6 == int(10 * percent_change(plain.application_us, tls.application_us)) / 10
    assert 0 == percent_change(plain.queue_manager_us, tls.queue_manager_us)
    assert 81 == int(tls_percent_of_whole(plain.total_us_printed, tls.total_us_printed))


@pytest.mark.oracle("mp16-ch2-3/73", kind="exact", lines="3930")
def test_business_logic_thins_the_cost_out():
    logic = 375 - 75
    assert (528, 714) == (PLAIN_16_KB.total_us_printed + logic, TLS_16_KB.total_us_printed + logic)
    assert 35 == int(tls_percent_of_whole(PLAIN_16_KB.total_us_printed, TLS_16_KB.total_us_printed, logic))


@pytest.mark.oracle("mp16-ch2-3/75", kind="measured", lines="4034-4063")
@pytest.mark.parametrize(
    ("chart", "total", "chinit", "tcpip"),
    [(1, -15, -24, (2, 2)), (2, -30, -45, (2, 2.5)), (3, -24, -45, (2, 2.5)), (4, -24, -50, (2, 2.5))],
)
def test_at_tls_moves_the_cost(chart, total, chinit, tcpip):
    measured = at_tls(chart)
    assert measured.total.cpu_after(100).low == pytest.approx(100 + total)
    assert (chinit, Range(*tcpip)) == (measured.chinit_percent, measured.tcpip_times)


def test_where_at_tls_fits():
    assert at_tls_fits(both_ends_zos=True, one_cipher=True, chlauth_with_sslpeer=False)
    assert not at_tls_fits(both_ends_zos=False, one_cipher=True, chlauth_with_sslpeer=False)
    assert not at_tls_fits(both_ends_zos=True, one_cipher=False, chlauth_with_sslpeer=False)
    assert not at_tls_fits(both_ends_zos=True, one_cipher=True, chlauth_with_sslpeer=True)


def test_no_renegotiation_when_switched_off():
    assert 0 == renegotiations_per_s(10**9, sslrkeyc_bytes=0)
    assert Range(0, 0) == renegotiation_cpu_ms_per_s(10**9, 0)


def test_a_coprocessor_fills_between_two_rates():
    assert coprocessor_percent(900).high == 50
    assert coprocessor_percent(3200).low == 100


def test_percent_of_the_whole_without_business_logic():
    assert 50 == tls_percent_of_whole(100, 150)


def test_a_short_lived_channel_mostly_shakes_hands():
    assert 100 == handshake_percent(4.3, messages=0, cpu_us_per_message=100)
    assert 50 == handshake_percent(4.0, messages=40, cpu_us_per_message=100)
    assert 0 == handshake_percent(0, messages=1, cpu_us_per_message=1)


@given(message_kb=st.floats(2, 1023), cipher=st.sampled_from(CIPHERS))
def test_larger_messages_cost_more_to_encrypt(message_kb, cipher):
    assert 100 < tls_chinit_us(100, message_kb, cipher) <= tls_chinit_us(100, message_kb + 1, cipher)


@given(plain=st.floats(1, 1e4), added=st.floats(0, 1e4), logic=st.floats(0, 1e5), more=st.floats(0, 1e5))
def test_more_business_logic_never_makes_tls_look_dearer(plain, added, logic, more):
    thin, thinner = (tls_percent_of_whole(plain, plain + added, work) for work in (logic, logic + more))
    assert thinner <= thin + 1e-6


@given(rate=st.floats(0, 1e9), key_bytes=st.integers(1, 10**9))
def test_a_longer_key_life_renegotiates_less(rate, key_bytes):
    assert renegotiations_per_s(rate, key_bytes + 1) <= renegotiations_per_s(rate, key_bytes)


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="cipher ROT13 is not valid: TRIPLE_DES_SHA_US"):
        tls_chinit_us(100, 16, "ROT13")
    with pytest.raises(OutOfRangeError, match="message_kb 1 is outside 2 to 1024"):
        tls_chinit_us(100, 1, AES_256)
    with pytest.raises(OutOfRangeError, match="channels 4001 is not valid: 0 to 4000"):
        tls_restart_s(4001, "ECDHE_RSA_AES_256_CBC_SHA384")
    with pytest.raises(OutOfRangeError, match="chart 5 is not valid: 1, 2, 3, 4"):
        at_tls(5)
    with pytest.raises(OutOfRangeError, match="sslrkeyc_bytes -1 is not valid: 0 or more"):
        renegotiations_per_s(1, -1)
