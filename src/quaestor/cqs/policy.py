"""The policy (CFRM): how large the structures of a pair are, where they may be, and when they are rebuilt.

Rules
  PO1 Sizes are kilobytes. A structure begins with INITSIZE, where there is one, and can be altered up to SIZE.
  PO2 A structure is rebuilt when the share of its systems that have lost it reaches REBUILDPERCENT.
  PO3 Coupling facilities are tried in the order of the preference list.
  PO4 A policy that no structure can have is a ValueError, which names what is wrong.

Called by pair, overflow, rebuild.  Calls storage.lists.
"""

from dataclasses import dataclass

from quaestor.cqs.messages import ELEMENT_BYTES, QBUFFER_BYTES
from quaestor.cqs.queue_names import HEADERS
from quaestor.storage.lists.structure import Shape

OVERFLOW_THRESHOLD_PERCENT = 70


@dataclass(frozen=True, slots=True)
class Policy:
    """A structure pair as it is defined."""

    name: str = "MSGQ"
    size: int = 100_000
    initsize: int | None = None
    overflow_size: int | None = None
    rebuild_percent: int = 10
    preference: tuple[str, ...] = ("CF01",)
    elements_per_entry: float = 2
    overflow_threshold_percent: int = OVERFLOW_THRESHOLD_PERCENT
    fast_path: bool = False
    """The pair of fast path (EMHQ): its input is not recoverable, and its messages fit one buffer."""

    qbuffer_bytes: int = QBUFFER_BYTES

    def __post_init__(self) -> None:
        """PO4."""
        sizes = {"size": self.size, "initsize": self.initsize, "overflow_size": self.overflow_size}
        for what, kilobytes in sizes.items():
            if kilobytes is not None and kilobytes < 1:
                raise ValueError(f"{what} is {kilobytes}: a size in KB from 1 up")
        if self.initsize is not None and self.initsize > self.size:
            raise ValueError(f"initsize is {self.initsize}: {self.size} at most, which is size")
        shares = {"rebuild_percent": self.rebuild_percent, "threshold": self.overflow_threshold_percent}
        for what, percent in shares.items():
            if percent < 1:
                raise ValueError(f"{what} is {percent}: a percentage from 1 up")
        if not self.preference:
            raise ValueError("preference is empty: it names a coupling facility at least")

    @property
    def names(self) -> tuple[str, ...]:
        """Primary and overflow structure."""
        return (self.name, f"{self.name}.OFLW") if self.overflow_size else (self.name,)

    def shape(self, structure: int, name: str = "") -> Shape:
        """A structure of the pair as it begins (PO1)."""
        kilobytes = (self.overflow_size or 0) if structure else self.initsize or self.size
        return self.shaped(name or self.names[structure], kilobytes)

    def shaped(self, name: str, kilobytes: int) -> Shape:
        """A structure of a size."""
        return Shape.sized(
            name, kilobytes, self.elements_per_entry, lists=HEADERS, locks=16, element_bytes=ELEMENT_BYTES
        )

    def rebuild_due(self, lost: int, systems: int) -> bool:
        """Whether so many systems without access are enough (PO2)."""
        return 0 < lost < systems and 100 * lost >= self.rebuild_percent * systems
