"""TLS on channels: what it adds at start, at each renegotiation and for the data; and whether AT-TLS helps.

Rules
  E1  TLS is paid in the channel initiator: at channel start, when SSLRKEYC bytes have passed (0: never), and for the
      data.  Only the negotiation can go to a coprocessor.
  E2  A renegotiation costs the same whatever the message size (2 KB to 1 MB).
  E3  The percent for the data is of channel initiator cost.  Business logic thins it out: the same addition on a larger
      whole.
  E4  Percent by message size is read linearly between the printed sizes, for the printed ciphers only.
  E5  With AT-TLS the caller pays for encryption and TCPIP for decryption; the sizes of the paper's four charts are
      lost, so they are numbered.
  E6  Whether the CPU of a TLS start includes the plain start is not said; it is taken as the whole.

Called by the planner's answers.  Calls bounds, measured, source.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, one_of, within
from quaestor.planner.measured import MeasuredChange, Range, percent_change
from quaestor.planner.source import Source, Table, formula

EXTRACT = "mp16-ch2-3"

COPROCESSOR_MS_PER_START = 0.5
COPROCESSOR_SAVES_MS_MAX = 22.0  # per renegotiation
RENEGOTIATION_MS = {"with ICSF": Range(2, 3), "without ICSF": Range.at(21)}  # TRIPLE_DES_SHA_US
RENEGOTIATION_SOURCE = Source(EXTRACT, "B11 ORACLE 69", "3834, 3844")
CRYPTO_EXPRESS_3_PER_S = Range(1800, 3200)

CHINIT_PERCENT = Table(
    "percent more channel initiator cost per transaction with TLS",
    Source(EXTRACT, "B11 ORACLE 71", "3914-3917"),
    ("message_kb", "TRIPLE_DES_SHA_US", "TLS_RSA_WITH_AES_256_SHA_CBC", "ECDHE_RSA_AES_256_CBC_SHA384"),
    ((2, 57, 48, 45), (16, 209, 157, 147), (64, 252, 181, 161), (1024, 347, 242, 222)),
)


@dataclass(frozen=True, slots=True)
class TlsStart:
    """Starting channels with one cipher, 4000 pairs in SYSTEM.CHANNEL.SYNCQ, Crypto Express 6S."""

    channels_per_s: float
    cpu_ms: float


TLS_START_SOURCE = Source(EXTRACT, "B9 ORACLE 68", "3763-3768")
TLS_START = {
    "TLS_RSA_WITH_AES_256_CBC_SHA256": TlsStart(148, 2.7),
    "ECDHE_RSA_AES_256_CBC_SHA384": TlsStart(93, 4.3),
    "ECDHE_ECDSA_AES_256_CBC_SHA384": TlsStart(93, 4.5),
}


@dataclass(frozen=True, slots=True)
class TransactionCost:
    """CPU microseconds of one 16 KB transaction at the sender, by address space."""

    queue_manager_us: float
    channel_initiator_us: float
    tcpip_us: float
    application_us: float
    total_us_printed: float

    @property
    def total_us(self) -> float:
        return self.queue_manager_us + self.channel_initiator_us + self.tcpip_us + self.application_us


TRANSACTION_SOURCE = Source(EXTRACT, "B11 ORACLE 72", "3923-3928")
PLAIN_16_KB = TransactionCost(15, 121, 16, 75, 228)  # the parts make 227
TLS_16_KB = TransactionCost(15, 311, 18, 70, 414)  # TLS_RSA_WITH_AES_256_SHA_CBC
TRIPLE_DES_2_KB_US = {"requester": 230, "server": 212, "transaction": 442}  # one channel
TRIPLE_DES_2_KB_SOURCE = Source(EXTRACT, "B11 ORACLE 70", "3890")


@dataclass(frozen=True, slots=True)
class AtTls:
    """AT-TLS against channel TLS in one chart: total cost, channel initiator cost, and TCPIP cost as a multiple."""

    total: MeasuredChange
    chinit_percent: float
    tcpip_times: Range


def _chart(number: int, lines: str, total: float, chinit: float, tcpip: Range) -> AtTls:
    source = Source(EXTRACT, "B12 ORACLE 75", lines)
    return AtTls(MeasuredChange(f"AT-TLS, chart {number}", source, Range.at(total)), chinit, tcpip)


AT_TLS = {  # TCPIP: the low end is NULL_SHA, the high end TLS_RSA_WITH_AES_256_CBC_SHA
    1: _chart(1, "4034-4037", -15, -24, Range.at(2)),
    2: _chart(2, "4043-4046", -30, -45, Range(2, 2.5)),
    3: _chart(3, "4052-4054", -24, -45, Range(2, 2.5)),
    4: _chart(4, "4060-4063", -24, -50, Range(2, 2.5)),
}


@formula(EXTRACT, "B11 data encryption", "3908-3919")
def tls_chinit_us(plain_chinit_us: float, message_kb: float, cipher: str) -> float:
    """Channel initiator cost of a transaction with TLS, from its cost without (E3, E4)."""
    at_least(0, plain_chinit_us=plain_chinit_us)
    one_of(CHINIT_PERCENT.columns[1:], cipher=cipher)
    percent = CHINIT_PERCENT.between(message_kb, cipher)
    return plain_chinit_us * (1 + percent / 100)


@formula(EXTRACT, "B11 TLS against the whole (ORACLE 73)", "3930")
def tls_percent_of_whole(plain_us: float, tls_us: float, business_logic_us: float = 0.0) -> float:
    """Percent that TLS adds to a transaction whose application does so much beside messaging (E3)."""
    at_least(0, business_logic_us=business_logic_us, tls_us=tls_us)
    return percent_change(plain_us + business_logic_us, tls_us + business_logic_us)


@formula(EXTRACT, "B11 renegotiations (CH-M14)", "3832, 3866, 4014")
def renegotiations_per_s(bytes_per_s: float, sslrkeyc_bytes: int) -> float:
    """Key renegotiations per second of a channel that sends and receives so many bytes (E1)."""
    at_least(0, sslrkeyc_bytes=sslrkeyc_bytes, bytes_per_s=bytes_per_s)
    return bytes_per_s / sslrkeyc_bytes if sslrkeyc_bytes else 0.0


@formula(EXTRACT, "B11 cost of renegotiation", "3834-3844")
def renegotiation_cpu_ms_per_s(bytes_per_s: float, sslrkeyc_bytes: int, icsf: bool = True) -> Range:
    """CPU that key renegotiation takes of every second (E2), with the figures of TRIPLE_DES_SHA_US."""
    each = RENEGOTIATION_MS["with ICSF" if icsf else "without ICSF"]
    return each.times(renegotiations_per_s(bytes_per_s, sslrkeyc_bytes))


@formula(EXTRACT, "B11 load of a coprocessor [D]", "3823")
def coprocessor_percent(operations_per_s: float) -> Range:
    """How busy negotiations keep one Crypto Express-3, at its best and at its worst rate."""
    at_least(0, operations_per_s=operations_per_s)
    most, least = CRYPTO_EXPRESS_3_PER_S.high, CRYPTO_EXPRESS_3_PER_S.low
    return Range(100 * operations_per_s / most, 100 * operations_per_s / least)


@formula(EXTRACT, "B9 TLS start", "3755-3768")
def tls_start(cipher: str) -> TlsStart:
    """Rate and CPU of starting channels with a cipher (E6)."""
    one_of(tuple(TLS_START), cipher=cipher)
    return TLS_START[cipher]


@formula(EXTRACT, "B9 restart with TLS [D]", "3755-3768")
def tls_restart_s(channels: int, cipher: str) -> float:
    """Time to start up to 4000 sender channels with TLS; measured with 4000 known."""
    within(0, 4000, channels=channels)
    return channels / tls_start(cipher).channels_per_s


@formula(EXTRACT, "B12 AT-TLS", "3996-4063")
def at_tls(chart: int) -> AtTls:
    """What AT-TLS changed in one of the four charts, presumably by ascending message size (E5)."""
    one_of(tuple(AT_TLS), chart=chart)
    return AT_TLS[chart]


@formula(EXTRACT, "B12 where AT-TLS fits (CH-R35)", "4010-4018")
def at_tls_fits(both_ends_zos: bool, one_cipher: bool, chlauth_with_sslpeer: bool) -> bool:
    """Whether AT-TLS can replace channel TLS without further rules or stopped channels."""
    return both_ends_zos and one_cipher and not chlauth_with_sslpeer


@formula(EXTRACT, "B11 share of a channel's life [D]", "3811-3813")
def handshake_percent(start_cpu_ms: float, messages: int, cpu_us_per_message: float) -> float:
    """Percent of a channel's CPU that its start took, over all it moved before it stopped."""
    at_least(0, start_cpu_ms=start_cpu_ms, messages=messages, cpu_us_per_message=cpu_us_per_message)
    start_us = 1000 * start_cpu_ms
    moved_us = messages * cpu_us_per_message
    above(0, cpu_us_of_start_and_messages=start_us + moved_us)
    return 100 * start_us / (start_us + moved_us)
