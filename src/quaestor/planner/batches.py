"""Batches of a channel: the size in effect, the size achieved, and the settings for a kind of traffic.

Rules
  K1  The batch size in effect is the least of both ends' BATCHSZ and both ends' limit: MAXUMSGS less 3 on z/OS,
      MAXUMSGS elsewhere, and 1 where that is not positive.
  K2  A batch ends at BATCHSZ messages, at BATCHLIM kilobytes (after the message that reaches it), or when the
      transmission queue is empty and BATCHINT has passed. A kilobyte is 1024 bytes, as everywhere in the chapter
      (63 KB are 64,512 bytes [2374]).
  K3  Without BATCHINT a batch of 1 is what most channels achieve, unless the queue is preloaded.
  K4  NPMSPEED is FAST only if both ends say so.  A non-persistent message on a FAST channel is outside the batch.
  K5  The log is forced at the end of a batch that holds anything else.
  K6  Where each message waits for its answer inside a batch, BATCHINT is the time of every one.

Called by the planner's answers.  Calls bounds, cfrm, quantity, source.
"""

from dataclasses import dataclass
from enum import Enum
from math import ceil, inf

from quaestor.planner.bounds import above, at_least
from quaestor.planner.cfrm import MAXUMSGS_DEFAULT
from quaestor.planner.quantity import KIB
from quaestor.planner.source import OutOfRangeError, Source, formula

EXTRACT = "mp16-ch2-3"

BATCHSZ_DEFAULT = 50
BATCHSZ_ADVISED_MAX = 100
BATCHINT_DEFAULT_MS = 0
BATCHINT_BELOW_MS = 300_000
BATCHLIM_DEFAULT_KB = 5000
BATCHLIM_UNIT_BYTES = KIB
ZOS_RESERVED_MESSAGES = 3
LARGE_BYTES = 100_000
VERY_LARGE_BYTES = 1_048_576
HEADER_SAVED_BYTES = 300
HEADER_BYTES = 480

SYNCHRONOUS_NORMAL_PER_S = 800.0  # measured with BATCHINT(0), one requester, NPMSPEED(NORMAL)
SYNCHRONOUS_SOURCE = Source(EXTRACT, "B6 ORACLE 63", "4099-4102")


class Speed(Enum):
    """NPMSPEED."""

    FAST = "FAST"
    NORMAL = "NORMAL"


class Traffic(Enum):
    """The kinds of traffic the paper has settings for, in its order."""

    REQUEST_REPLY = "request/reply at a low rate, maybe persistent, quick answer"
    REQUEST_REPLY_NON_PERSISTENT = "request/reply at a low rate, only non-persistent"
    REQUEST_REPLY_DELAYED = "request/reply at a low rate, maybe persistent, 100 ms delay tolerable"
    BULK = "bulk transfer of a preloaded queue"
    TRICKLE = "trickle transfer, processed later"


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """BATCHSZ, BATCHINT and NPMSPEED of a channel."""

    batchsz: int
    batchint_ms: int
    npmspeed: Speed = Speed.FAST


SETTINGS_SOURCE = Source(EXTRACT, "B6 recommended settings", "3602-3608")
SETTINGS = {
    Traffic.REQUEST_REPLY: BatchSettings(1, 0),
    Traffic.REQUEST_REPLY_NON_PERSISTENT: BatchSettings(50, 10_000),
    Traffic.REQUEST_REPLY_DELAYED: BatchSettings(50, 100),
    Traffic.BULK: BatchSettings(50, 0),
    Traffic.TRICKLE: BatchSettings(50, 5_000),
}


@dataclass(frozen=True, slots=True)
class ChannelEnd:
    """One end of a channel: its BATCHSZ and its queue manager's limit of uncommitted messages."""

    batchsz: int = BATCHSZ_DEFAULT
    maxumsgs: int = MAXUMSGS_DEFAULT
    zos: bool = True

    @property
    def limit(self) -> int:
        return max(1, self.maxumsgs - (ZOS_RESERVED_MESSAGES if self.zos else 0))


@formula(EXTRACT, "B5 batch size in effect", "3532-3539")
def effective_batchsz(sender: ChannelEnd, receiver: ChannelEnd) -> int:
    """The batch size that both ends together allow (K1)."""
    for end in (sender, receiver):
        at_least(1, batchsz=end.batchsz)
    return min(sender.batchsz, receiver.batchsz, sender.limit, receiver.limit)


@formula(EXTRACT, "B6 achieved batch size [D]", "3612-3648, 3683, 3701-3704")
def achieved_batch_size(
    messages_per_s: float,
    batchsz: int = BATCHSZ_DEFAULT,
    batchint_ms: float = BATCHINT_DEFAULT_MS,
    message_bytes: float = 0.0,
    batchlim_kb: float = BATCHLIM_DEFAULT_KB,
    preloaded: bool = False,
) -> float:
    """Messages per batch to expect (K2, K3)."""
    at_least(1, batchsz=batchsz)
    at_least(0, batchint_ms=batchint_ms, messages_per_s=messages_per_s, message_bytes=message_bytes)
    above(0, batchlim_kb=batchlim_kb)
    in_interval = inf if preloaded else messages_per_s * batchint_ms / 1000
    by_limit = ceil(batchlim_kb * BATCHLIM_UNIT_BYTES / message_bytes) if message_bytes > 0 else inf
    return min(batchsz, max(1.0, in_interval), by_limit)


@formula(EXTRACT, "0.1, B6 measured batch size (CH-R17) [D]", "3637-3638")
def measured_batch_size(messages: int, batches: int) -> float:
    """Messages per batch that a channel achieved in an interval: QCSTNMSG / QCSTBATC; 0 without batches."""
    at_least(0, batches=batches, messages=messages)
    return messages / batches if batches else 0.0


@formula(EXTRACT, "B6 batches", "3701-3704")
def batches_per_s(messages_per_s: float, achieved: float) -> float:
    """Ends of batch per second: each costs a channel synchronisation."""
    at_least(0, messages_per_s=messages_per_s)
    at_least(1, achieved=achieved)
    return messages_per_s / achieved


@formula(EXTRACT, "B6 BATCHINT for a batch size (CH-R18, CH-R20)", "3680-3684, 3698-3705")
def batchint_ms_for(messages_per_s: float, batchsz: int = BATCHSZ_DEFAULT) -> int:
    """The BATCHINT in which a batch fills; refused where it would make a unit of recovery of five minutes or more."""
    above(0, messages_per_s=messages_per_s)
    at_least(1, batchsz=batchsz)
    needed = ceil(1000 * batchsz / messages_per_s)
    if needed >= BATCHINT_BELOW_MS:
        least = 1000 * batchsz / BATCHINT_BELOW_MS
        raise OutOfRangeError(f"messages_per_s {messages_per_s:g} must be above {least:g} for BATCHSZ {batchsz}")
    return needed


@formula(EXTRACT, "B6 settings by traffic", "3602-3608, 3691-3692")
def recommended_settings(traffic: Traffic, message_bytes: int = 0) -> BatchSettings:
    """Settings for a kind of traffic, with the batch size that the message size allows."""
    settings = SETTINGS[traffic]
    return BatchSettings(min(settings.batchsz, advised_batchsz_max(message_bytes)), settings.batchint_ms)


@formula(EXTRACT, "B6 batch size by message size (CH-R21)", "3607, 3691-3692")
def advised_batchsz_max(message_bytes: int) -> int:
    """The largest BATCHSZ advised for messages of this size."""
    at_least(0, message_bytes=message_bytes)
    if message_bytes >= VERY_LARGE_BYTES:
        return 1
    return 10 if message_bytes > LARGE_BYTES else BATCHSZ_ADVISED_MAX


@formula(EXTRACT, "B5 NPMSPEED in effect (CH-R23)", "3587-3592")
def effective_npmspeed(sender: Speed, receiver: Speed | None) -> Speed:
    """NORMAL unless both ends say FAST; None is an end that does not know the attribute (K4)."""
    return Speed.FAST if sender is receiver is Speed.FAST else Speed.NORMAL


@formula(EXTRACT, "B6 inside the batch (CH-M10)", "3616-3640")
def moved_in_syncpoint(persistent: bool, npmspeed: Speed) -> bool:
    """Whether a message is got and put within the batch, and so appears only at its end (K4)."""
    return persistent or npmspeed is Speed.NORMAL


@formula(EXTRACT, "B6 synchronous rate (CH-R19)", "4099-4102")
def synchronous_per_s(batchint_ms: float, unbatched_per_s: float = SYNCHRONOUS_NORMAL_PER_S) -> float:
    """Messages/s of one requester that waits for each reply, when messages move within the batch (K6)."""
    at_least(0, batchint_ms=batchint_ms)
    above(0, unbatched_per_s=unbatched_per_s)
    return min(unbatched_per_s, 1000 / batchint_ms if batchint_ms else inf)


@formula(EXTRACT, "B5 header compression", "3543-3548")
def bytes_with_compressed_header(message_bytes: int, header_bytes: int = HEADER_BYTES) -> int:
    """Bytes sent with COMPHDR: about 300 fewer, whatever the message."""
    at_least(0, message_bytes=message_bytes)
    at_least(HEADER_SAVED_BYTES, header_bytes=header_bytes)
    return message_bytes + header_bytes - HEADER_SAVED_BYTES
