"""Structures: what a CFSTRUCT definition says of a coupling facility structure.

Rules
  SU1 Attributes are declared as those of other objects are, and kept in the shared repository by their keywords, as
      DISPLAY shows them.
  SU2 SIZE and what follows it is ours: where there is no policy of the sysplex, the definition says how large the
      structure may be, in KB, how large it is to begin with (INITSIZE; 0 is SIZE), and whether it is altered by
      itself, ratio or size, when it fills up (ALLOWAUTOALT, FULLTHRESHOLD).
  SU3 Messages too long for an entry need CFLEVEL(4), which keeps them in the shared repository. From CFLEVEL(5) on
      OFFLOAD says where they are kept, and the rules OFFLDnTH and OFFLDnSZ send shorter ones there too. Levels are
      never lowered.
  SU4 With OFFLOAD(DB2) no rule sends anything away unless the definition says so: sizes are 64K where none is given.

Called by the commands on CFSTRUCT.  Calls attributes.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quaestor.mqi.attributes import Attribute, AttributeValueError, declared, number, text, words

NAME = re.compile(r"[A-Z@#$][A-Z0-9@#$_]{0,11}")
SIZES = {f"{size}K": size for size in range(65)}
BLOCKS = {word: word for word in ("8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M")}
LONG_LEVEL, OFFLOAD_LEVEL = 4, 5
"""Levels from which messages leave their structure, and from which OFFLOAD and its rules say which and where (SU3)."""

RULE_SIZES = {"OFFLD1SZ": "offload1_size", "OFFLD2SZ": "offload2_size", "OFFLD3SZ": "offload3_size"}
NO_RULE = 64


def _words(keyword: str, at: int, *choices: str) -> Any:
    return words(keyword, at, choices[0], **{word: word for word in choices})


@dataclass(frozen=True, slots=True)
class StructureDefinition:
    """A CFSTRUCT (SU1)."""

    name: str
    description: str = text("DESCR", 1, 64)
    level: int = number("CFLEVEL", 2, 3, 3, 5)
    recover: str = _words("RECOVER", 3, "NO", "YES")
    recover_by_itself: str = _words("RECAUTO", 4, "YES", "NO")
    connection_lost: str = _words("CFCONLOS", 5, "ASQMGR", "TERMINATE", "TOLERATE")
    offload: str = _words("OFFLOAD", 6, "SMDS", "DB2")
    offload1_threshold: int = number("OFFLD1TH", 7, 70, 0, 100)
    offload1_size: int = number("OFFLD1SZ", 8, 32, 0, 64, fixed=False, **SIZES)
    offload2_threshold: int = number("OFFLD2TH", 9, 80, 0, 100)
    offload2_size: int = number("OFFLD2SZ", 10, 4, 0, 64, fixed=False, **SIZES)
    offload3_threshold: int = number("OFFLD3TH", 11, 90, 0, 100)
    offload3_size: int = number("OFFLD3SZ", 12, 0, 0, 64, fixed=False, **SIZES)
    data_set_name: str = text("DSGROUP", 13, 44)
    data_set_block: str = words("DSBLOCK", 14, "256K", **BLOCKS)
    data_set_buffers: int = number("DSBUFS", 15, 100, 1, 9999)
    data_set_expand: str = _words("DSEXPAND", 16, "YES", "NO")
    size_kb: int = number("SIZE", 17, 65_536, 16, 1 << 30)
    initial_size_kb: int = number("INITSIZE", 18, 0, 0, 1 << 30)
    alter_by_itself: str = _words("ALLOWAUTOALT", 19, "NO", "YES")
    full_threshold: int = number("FULLTHRESHOLD", 20, 80, 1, 100)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or self.name == "CSQ_ADMIN":
            raise AttributeValueError("CFSTRUCT", self.name, "1 to 12 characters of A-Z 0-9 @ # $ _, not CSQ_ADMIN")
        for field, attribute in ATTRIBUTES.items():
            attribute.check(getattr(self, field))

    @property
    def keeps_long(self) -> bool:
        """Whether messages may be longer than an entry (SU3)."""
        return self.level >= LONG_LEVEL

    @property
    def in_data_sets(self) -> bool:
        """Whether what leaves the structure goes to data sets, else to the repository (SU3)."""
        return self.level >= OFFLOAD_LEVEL and self.offload == "SMDS"

    def without_rules(self, given: Collection[str]) -> "StructureDefinition":
        """As a new definition with OFFLOAD(DB2) is that gives these keywords (SU4)."""
        if self.offload != "DB2":
            return self
        sizes: dict[str, Any] = {field: NO_RULE for keyword, field in RULE_SIZES.items() if keyword not in given}
        return replace(self, **sizes)

    def row(self) -> dict[str, Any]:
        """{keyword: value}, as it is kept and shown."""
        return {each.keyword: _shown(each, getattr(self, field)) for field, each in ATTRIBUTES.items()}

    @staticmethod
    def of(name: str, row: Mapping[str, Any]) -> "StructureDefinition":
        """The definition that was kept; what it does not say has its default."""
        known = [each for each in ATTRIBUTES.values() if each.keyword in row]
        return StructureDefinition(name, **{each.field: each.parse((str(row[each.keyword]),)) for each in known})


def _shown(attribute: Attribute, value: Any) -> Any:
    return attribute.written(value)[0] if attribute.named else value


ATTRIBUTES: dict[str, Attribute] = declared(StructureDefinition)
KEYWORDS = tuple(attribute.keyword for attribute in ATTRIBUTES.values())
