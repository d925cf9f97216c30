"""Habits: which requests gets and units make where fewer would do.

Rules
  HA1 Unless told otherwise a member makes the fewest: a queue remembers how large its messages are (GB2), and a unit
      that logs nothing and worked in one structure ends with one request there (CU3).
  HA2 The version that MP1B measured made more, so a group that is to be compared with its figures, or with a dump of
      such a version, is told to have its habits: every get begins with 4 KB (GB3); every committed unit has a
      descriptor in CSQ_ADMIN (M-13); what is longer than 4 KB is got with two requests, and if it is alone in its unit
      deleted with a request for a single entry (ORACLE 37; which of the two commits that was, the paper leaves open).
  HA3 Habits change counters and time, never outcomes: a descriptor of a unit in one structure says where to look, and
      what is found there is all or nothing with or without it.

Called by the group settings, the manager and the units.  Calls get_buffer.
"""

from dataclasses import dataclass

from quaestor.qmgr.coupling_facility.get_buffer import FIRST, ForgetfulBuffer, GetBuffer


@dataclass(frozen=True, slots=True)
class Habits:
    """What a member does more than it must (HA1, HA2)."""

    get_buffer: type[GetBuffer] = GetBuffer
    describes_every_unit: bool = False
    single_from: int | None = None
    """Data longer than this, got alone, is deleted with a single request."""

    def ends_single(self, data_length: int) -> bool:
        return self.single_from is not None and data_length > self.single_from


FEWEST = Habits()
MP1B = Habits(ForgetfulBuffer, describes_every_unit=True, single_from=FIRST)
BY_NAME = {"fewest": FEWEST, "mp1b": MP1B}
