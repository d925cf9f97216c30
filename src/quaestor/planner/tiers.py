"""Two tiers or three: clients straight into z/OS, or through a concentrator queue manager.

Rules
  T1  A client of two tiers takes a server-connection channel of its own on z/OS; three tiers take one pair of
      message channels for all clients of a concentrator.
  T2  The cost of a message falls with the messages sent over one connection: a part for each message and a part for
      the connection.  The two parts are solved from the two costs the papers print; between them nobody has checked.
  T3  Three tiers log a persistent message twice, two tiers once.
  T4  Two tiers end at the channel limit or at the channel initiator's storage, whichever comes first.

Called by the plan and by the advisor (TIER-1 to TIER-5).  Calls source, bounds.
"""

import math
from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, one_of
from quaestor.planner.source import Source, Table, formula

EXTRACT = "mp16-ch4-11"

SERVER_CONNECTION_KB = 177
MESSAGE_CHANNEL_KB = 107
CHANNELS_MAX = 9_999
CHANNEL_INITIATOR_STORAGE_KB = 2 * 1_024 * 1_024
SHORT_LIVED_BELOW_MESSAGES = 10
FOOTPRINT_SOURCE = Source(EXTRACT, "8 ORACLE 51", "5513-5521")


@formula(EXTRACT, "8 ORACLE 51", "5517-5521")
def two_tier_storage_kb(clients: int, *, client_kb: float = SERVER_CONNECTION_KB) -> float:
    """z/OS storage of clients that connect directly, 1KB messages, SHARECNV(0) (T1)."""
    at_least(0, clients=clients, client_kb=client_kb)
    return clients * client_kb


@formula(EXTRACT, "8 ORACLE 51", "5517-5521")
def three_tier_storage_kb(channel_pairs: int = 1, *, channel_kb: float = MESSAGE_CHANNEL_KB) -> float:
    """z/OS storage of the channels to a concentrator, 1KB messages, however many clients it has (T1)."""
    at_least(1, channel_pairs=channel_pairs)
    at_least(0, channel_kb=channel_kb)
    return 2 * channel_pairs * channel_kb


@formula(EXTRACT, "8 ORACLE 51", "5517-5521")
def clients_from_which_three_tiers_save_storage(channel_pairs: int = 1) -> int:
    """The least number of clients whose own channels take more than the concentrator's."""
    return math.floor(three_tier_storage_kb(channel_pairs) / SERVER_CONNECTION_KB) + 1


@formula(EXTRACT, "8", "5513-5515")
def clients_max(
    *, client_kb: float = SERVER_CONNECTION_KB, storage_kb: float = CHANNEL_INITIATOR_STORAGE_KB
) -> tuple[int, str]:
    """How many clients two tiers take, and what ends it (T4).  Storage is what the initiator has left for channels."""
    above(0, client_kb=client_kb)
    at_least(0, storage_kb=storage_kb)
    by_storage = math.floor(storage_kb / client_kb)
    return (CHANNELS_MAX, "MAXCHL") if by_storage >= CHANNELS_MAX else (by_storage, "storage")


CLIENT_COST = Table(
    "z/OS cost of a message put and got by a client, SHARECNV(0)",
    Source(EXTRACT, "8 ORACLE 52", "5571"),
    ("messages_per_connection", "us_per_message"),
    ((1, 905), (50, 165)),
)


@dataclass(frozen=True, slots=True)
class ConnectionCost:
    """What a message costs by itself and what its connection costs (T2)."""

    message_us: float
    connection_us: float

    def us_per_message(self, messages_per_connection: float) -> float:
        at_least(1, messages_per_connection=messages_per_connection)
        return self.message_us + self.connection_us / messages_per_connection


@formula(EXTRACT, "8 ORACLE 52", "5571")
def connection_cost(points: Table = CLIENT_COST) -> ConnectionCost:
    """Solve the two parts from the first and the last row (T2)."""
    (few, dear), (many, cheap) = points.rows[0], points.rows[-1]
    above(few, messages_per_connection=many)
    connection_us = (dear - cheap) / (1 / few - 1 / many)
    return ConnectionCost(dear - connection_us / few, connection_us)


@formula(EXTRACT, "8 TIER-1", "5472-5487")
def connections_are_short_lived(
    messages_per_connection: float, *, short_lived_below: float = SHORT_LIVED_BELOW_MESSAGES
) -> bool:
    """Whether connecting dominates, so that pooling or a third tier pays.  The cut-off is ours."""
    at_least(1, messages_per_connection=messages_per_connection, short_lived_below=short_lived_below)
    return messages_per_connection < short_lived_below


@formula(EXTRACT, "8", "5507-5509")
def times_logged(tiers: int) -> int:
    """How often a persistent message is logged on its way (T3)."""
    one_of(("2", "3"), tiers=str(tiers))
    return tiers - 1


@formula(EXTRACT, "8 TIER-3", "5497")
def message_channels_needed(client_rate_per_sec: float, channel_rate_per_sec: float) -> int:
    """Channels a concentrator needs for the rate of all its clients."""
    at_least(0, client_rate_per_sec=client_rate_per_sec)
    above(0, channel_rate_per_sec=channel_rate_per_sec)
    return max(1, math.ceil(client_rate_per_sec / channel_rate_per_sec))


@dataclass(frozen=True, slots=True)
class TierFactor:
    """One line of the comparison (lines 5461-5515)."""

    factor: str
    two_tiers: str
    three_tiers: str


TIER_FACTORS = (
    TierFactor(
        "z/OS cost",
        "high where connections are short; like sender and receiver where they last",
        "lower: many clients share a channel and its batches",
    ),
    TierFactor("rate", "each client's channel has its own", "one channel may be the limit; add channels"),
    TierFactor("latency", "lower", "one hop more; little on a fast network, less with HiperSockets"),
    TierFactor(
        "persistence",
        "logged once; many clients keep several adapters and the log busy",
        "logged twice; the channel handles persistent messages one after the other",
    ),
    TierFactor("connections", "9,999 channels, 2GB of storage", "many times more"),
    TierFactor("availability", "simpler", "more to arrange"),
)

ROUND_TRIP_ORDER = (
    "local bindings on z/OS",
    "bindings to a distributed queue manager, then sender and receiver",
    "client straight to z/OS",
    "client to a local distributed queue manager, then sender and receiver",
    "client to a remote distributed queue manager, then sender and receiver",
)
ROUND_TRIP_SOURCE = Source(EXTRACT, "8", "5525-5561")
"""Configurations measured, from the shortest round trip to the longest; 2KB non-persistent messages."""
