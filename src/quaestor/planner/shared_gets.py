"""What getting from a shared queue does to the coupling facility: redrives, late deletes, and wasted signals.

Rules
  G1  A get offers a buffer of one of the classes 256, 512, 1024, 2048 bytes, then every 4 KB, up to 63 KB; at first
      4 KB.
  G2  A message that does not fit is a redrive, and the buffer grows to the smallest class that holds it.
  G3  Version 6 shrinks the buffer at once when a smaller class would have done.  From version 7 on it shrinks only
      after ten messages in a row that a smaller class would have held; the paper does not say to which class.  Here:
      to the class of the largest of those ten, so that none of them would have been a redrive.
  G4  The buffer's size is remembered for the queue.
  G5  Up to CFLEVEL(4) a got message is deleted later, 341 at a time: up to 340 dead messages for each queue manager
      and structure still take room.
  G6  A put onto an empty queue signals every queue manager that has it open for input; one finds the message.

Called by the planner's answers.  Calls bounds, source, structures.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from quaestor.planner.bounds import at_least, one_of, within
from quaestor.planner.source import Source, Table, formula
from quaestor.planner.structures import LARGEST_WHOLE_BYTES

EXTRACT = "mp16-ch2-3"

BUFFER_CLASSES_BYTES: tuple[int, ...] = (
    256,
    512,
    1024,
    2048,
    *range(4096, LARGEST_WHOLE_BYTES, 4096),
    LARGEST_WHOLE_BYTES,
)
FIRST_BUFFER_BYTES = 4096
SHRINK_AFTER_MESSAGES = 10
BATCH_DELETE_ENTRIES = 341

REDRIVE_COST = Table(
    "cost of redrives, version 6, non-persistent request/reply",
    Source(EXTRACT, "A10 ORACLE 26", "2786-2801"),
    ("case", "messages_bytes_max", "transactions_per_s", "cpu_us", "redrives"),
    ((1, 2048, 9758, 291, 0), (2, 4096, 9405, 302, 1), (3, 4096, 9117, 313, 457_825)),
)


@dataclass(frozen=True, slots=True)
class Redrives:
    """What a run of gets did: which messages were redriven (from 1), and the buffer after each."""

    messages: tuple[int, ...]
    buffers_bytes: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.messages)


@dataclass(slots=True)
class _GetBuffer:
    """The remembered buffer of one queue while messages are got (G2 to G4)."""

    patience: int
    size: int = FIRST_BUFFER_BYTES
    smaller: list[int] = field(default_factory=list)

    def get(self, fitting: int) -> bool:
        """Take a message of class `fitting`; whether it was a redrive."""
        redriven = fitting > self.size
        if fitting >= self.size:
            self.size = fitting
            self.smaller.clear()
        else:
            self.smaller.append(fitting)
            if len(self.smaller) >= self.patience:
                self.size = max(self.smaller)
                self.smaller.clear()
        return redriven


@formula(EXTRACT, "A10 buffer class", "2747")
def buffer_class_bytes(message_bytes: float) -> int:
    """The smallest buffer that holds a message, its headers included (G1)."""
    within(0, LARGEST_WHOLE_BYTES, message_bytes=message_bytes)
    return next(size for size in BUFFER_CLASSES_BYTES if size >= message_bytes)


@formula(EXTRACT, "A10 redrives (CF-M21)", "2734-2776")
def redrives_of_a_run(messages_bytes: Iterable[float], version: int = 7) -> Redrives:
    """Redrives when messages of these sizes, headers included, are got in this order from one queue."""
    at_least(6, version=version)
    buffer = _GetBuffer(patience=1 if version == 6 else SHRINK_AFTER_MESSAGES)
    redriven, buffers = [], []
    for number, message_bytes in enumerate(messages_bytes, start=1):
        if buffer.get(buffer_class_bytes(message_bytes)):
            redriven.append(number)
        buffers.append(buffer.size)
    return Redrives(tuple(redriven), tuple(buffers))


@formula(EXTRACT, "A10 sizes about a boundary (CF-R36)", "2780")
def crosses_buffer_class(messages_bytes: Sequence[float]) -> bool:
    """Whether messages of these sizes, headers included, ask for different buffers."""
    return len({buffer_class_bytes(size) for size in messages_bytes}) > 1


@formula(EXTRACT, "0.1, A10 redrive ratio (CF-R36, CF-R37) [D]", "2734-2741")
def redrive_ratio(redrives_counted: int, calls: int) -> float:
    """Redrives per call of one kind in an interval: QESTRSEC / QESTCSEC, or QESTRMEC / QESTCMEC; 0 without calls."""
    at_least(0, calls=calls, redrives_counted=redrives_counted)
    return redrives_counted / calls if calls else 0.0


@formula(EXTRACT, "A11 undeleted messages", "2811-2819")
def undeleted_bytes(stored_message_bytes: int, queue_managers: int, cflevel: int = 4) -> int:
    """Room that got messages may still take in one structure (G5)."""
    one_of((1, 2, 3, 4, 5), cflevel=cflevel)
    at_least(0, stored_message_bytes=stored_message_bytes)
    at_least(1, queue_managers=queue_managers)
    late = cflevel <= 4
    return (BATCH_DELETE_ENTRIES - 1) * stored_message_bytes * queue_managers if late else 0


@formula(EXTRACT, "A15 signals of the 0-to-1 transition (CF-M29)", "3174-3184")
def signals_wasted(depth_before_put: int, queue_managers_open_for_input: int) -> tuple[int, int]:
    """(signals sent, signals that find nothing) for one put (G6)."""
    at_least(0, queue_managers_open_for_input=queue_managers_open_for_input, depth_before_put=depth_before_put)
    sent = queue_managers_open_for_input if depth_before_put == 0 else 0
    return sent, max(0, sent - 1)
