"""Archive logs: space for striped ones, cartridges, and the size beyond which DASD archives cost more.

Rules
  V1  Each stripe gets the quantities of CSQ6ARVP, so both are divided by the stripes, rounded up.
  V2  A log should fill whole cartridges; how full the last one is says how well it does.
  V3  Beyond 65,535 tracks a DASD archive needs a large or extended format data set, and costs more CPU.

Called by whoever plans logs.  Calls geometry, logs, source, bounds.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import at_least
from quaestor.planner.geometry import tracks
from quaestor.planner.logs import BDAM_TRACKS_MAX
from quaestor.planner.source import Source, Table, formula

STRIPED_ARCHIVES = Table(
    "archive quantities by stripes (UNIT 3390, ALCUNIT CYL)",
    Source("mp16-ch1", "T-2", "584-588"),
    ("stripes", "primary", "secondary"),
    ((1, 5600, 100), (4, 1400, 25)),
)


@dataclass(frozen=True, slots=True)
class ArchiveQuantities:
    """PRIQTY and SECQTY of CSQ6ARVP, in whatever ALCUNIT says."""

    primary: int
    secondary: int


@dataclass(frozen=True, slots=True)
class CartridgeUse:
    """Cartridges one archived log takes, and how full the last of them is (V2)."""

    cartridges: int
    last_fill_percent: float


@formula("mp16-ch1", "F-8", "582-588")
def striped_quantities(unstriped: ArchiveQuantities, stripes: int) -> ArchiveQuantities:
    """The quantities to ask for when the archive has this many stripes (V1)."""
    at_least(1, stripes=stripes)
    at_least(0, primary=unstriped.primary, secondary=unstriped.secondary)
    return ArchiveQuantities(-(-unstriped.primary // stripes), -(-unstriped.secondary // stripes))


@formula("mp16-ch1", "F-6", "554-556")
def cartridge_use(log_bytes: int, cartridge_bytes: int) -> CartridgeUse:
    """How one log lies on tape; the BSDS copy that goes with it is small and not counted (V2)."""
    at_least(1, log_bytes=log_bytes, cartridge_bytes=cartridge_bytes)
    cartridges = -(-log_bytes // cartridge_bytes)
    last_bytes = log_bytes - (cartridges - 1) * cartridge_bytes
    return CartridgeUse(cartridges, 100 * last_bytes / cartridge_bytes)


@formula("mp16-ch1", "T-1", "548-550")
def needs_large_format(archive_bytes: int) -> bool:
    """Whether a DASD archive is too large for a basic format data set (V3)."""
    return tracks(archive_bytes) > BDAM_TRACKS_MAX
