"""Settings out of what DISPLAY commands print: SYSTEM, LOG, ARCHIVE, USAGE, SECURITY, TRACE, CHINIT, and MQSC objects.

Rules
  Y1  Three shapes are read wherever they stand: lists of `PARAMETER value [set value]`, objects as `NAME(value)
      ATTRIBUTE(value) ...`, and the rows of DISPLAY USAGE and GROUP. All else is passed over: time stamps, message ids,
      prose, but for the active logs that a queue manager of this product tells in words.
  Y2  A value that was set since start stands to the right of the initial one, and it is the one that holds.
  Y3  A continuation belongs to the object that opened it: attributes of an object may go over many lines.

Called by settings.  Calls nothing.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

Found = tuple[str, str, dict[str, Any]]
_MARK = re.compile(r"\bCSQ[0-9A-Z]\d{3}[A-Z]\b|^\s*(?:QUEUE|CHANNEL|CFSTRUCT|QMNAME|STGCLASS|PSID)\(", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\b([A-Z][A-Z0-9]*)\(\s*([^()]*?)\s*\)")
_PARAMETER = re.compile(r"^\s*(?:\d\d\.\d\d\.\d\d\s+)?([A-Z][A-Z0-9]{3,9})\s+(\S+)(?:\s+(\S+))?\s*$")
_USAGE = re.compile(
    r"^[\s_]*(\d+)\s+(\d+)\s+([\d,]+)\s+([\d,]+)\s+([\d,]+)\s+([\d,]+)\s+(?:(USER|SYSTEM|NONE)\s+)?(\d+)\s*$"
)
_GROUP = re.compile(r"Queue managers in group (\S+)")
_MEMBER = re.compile(r"^\s*[A-Z][A-Z0-9]{0,3}\s+\d+\s")
_LOGS = re.compile(r"^Active logs (\d+) of ([\d.]+) MB", re.MULTILINE)
_TRACE = re.compile(r"^[\s_]*\d+\s+(G|GLOBAL|CHINIT)\b(?:.*?\b(RES|GTF|SMF|SRV)\b)?", re.MULTILINE)
_TIMEOUT = re.compile(r"timeout\s*=\s*(\d+)\s*minutes?", re.IGNORECASE)
_INTERVAL = re.compile(r"interval\s*=\s*(\d+)\s*minutes?", re.IGNORECASE)
_TASKS = re.compile(r"(\d+)\s+(adapter|dispatcher|SSL server)\s+subtasks? started", re.IGNORECASE)
_TASK_NAMES = {"adapter": "chiadaps", "dispatcher": "chidisps", "ssl server": "ssltasks"}


def looks_like(text: str) -> bool:
    """Whether a text is DISPLAY output rather than TOML."""
    return bool(_MARK.search(text)) or bool(re.search(r"DISPLAY (?:LOG|SYSTEM|ARCHIVE) report", text))


def number(text: str) -> float:
    """A number as DISPLAY shows it: 10,240 or 20480K (in K) or 3M (in K)."""
    scale = {"K": 1, "M": 1024, "G": 1024 * 1024}
    plain = text.replace(",", "").strip("'")
    if plain and plain[-1] in scale:
        return float(plain[:-1]) * scale[plain[-1]]
    return float(plain)


def flag(text: str) -> bool:
    return text.upper() in {"YES", "ON", "ENABLED"}


def word(text: str) -> str:
    return text.strip("'").upper()


_TAPE = re.compile(r"TAPE|CART|^34[289]0|^359[02]")
_DASD = re.compile(r"DASD|DISK|^SYS(?:ALL)?DA$|^33[0-9]0|^9345")


def medium(unit: str) -> str:
    """What archives are on, by device type or by a name that says so; a name of the installation's own says nothing."""
    for found, pattern in (("TAPE", _TAPE), ("DASD", _DASD)):
        if pattern.search(unit.upper()):
            return found
    raise ValueError(unit)


def no_archive(offload: str) -> str:
    """That nothing is archived; on what, where it is, OFFLOAD does not say."""
    if flag(offload):
        raise ValueError(offload)
    return "NONE"


Taker = tuple[str, Callable[[str], Any]]
_SYSTEM: dict[str, Taker] = {
    "LOGLOAD": ("logload", number),
    "OUTBUFF": ("outbuff_kb", number),
    "TWOACTV": ("dual_logging", flag),
    "TWOBSDS": ("dual_bsds", flag),
    "TWOARCH": ("dual_archive", flag),
    "BLKSIZE": ("archive_blksize", number),
    "UNIT": ("archive", medium),
    "OFFLOAD": ("archive", no_archive),
    "QINDXBLD": ("qindxbld", word),
    "CLCACHE": ("clcache", word),
    "MAXUMSGS": ("maxumsgs", number),
    "EXPRYINT": ("expryint", word),
}
_QUEUE: dict[str, Taker] = {
    "TYPE": ("queue_type", word),
    "STGCLASS": ("stgclass", word),
    "INDXTYPE": ("indxtype", word),
    "CURDEPTH": ("curdepth", number),
    "TRIGTYPE": ("trigtype", word),
}
_CHANNEL: dict[str, Taker] = {
    "NPMSPEED": ("npmspeed", word),
    "BATCHSZ": ("batchsz", number),
    "BATCHINT": ("batchint_ms", number),
    "DISCINT": ("discint_s", number),
    "SHARECNV": ("sharecnv", number),
}
_STRUCTURE: dict[str, Taker] = {
    "CFLEVEL": ("cflevel", number),
    "RECOVER": ("recover", word),
    "OFFLOAD": ("offload", word),
    "SIZEMAX": ("size_kb", number),
    "ENTSMAX": ("entries_total", number),
    "ELEMMAX": ("elements_total", number),
}
_OBJECTS: dict[str, tuple[str, dict[str, Taker]]] = {
    "QUEUE": ("queue", _QUEUE),
    "CHANNEL": ("channel", _CHANNEL),
    "CFSTRUCT": ("structure", _STRUCTURE),
    "CFSTATUS": ("structure", _STRUCTURE),
    "QMNAME": ("system", _SYSTEM),
}


def read(text: str) -> Iterator[Found]:
    """(kind, object, values) of all that is understood, in the order of the text (Y1)."""
    yield from _parameters(text)
    yield from _objects(text)
    yield from _usage(text)
    yield from _others(text)


def _taken(takers: dict[str, Taker], pairs: list[tuple[str, str]]) -> dict[str, Any]:
    made = {}
    for key, text in pairs:
        if key in takers and text:
            name, convert = takers[key]
            try:
                made[name] = convert(text)
            except ValueError:
                continue  # Y1: a value in words where a number is usual says nothing to a rule
    return made


def _parameters(text: str) -> Iterator[Found]:
    """Lists of parameters; the set value holds when there is one (Y2)."""
    pairs = [(found[1], found[3] or found[2]) for line in text.splitlines() if (found := _PARAMETER.match(line))]
    values = _taken(_SYSTEM, pairs)
    if values:
        yield "system", "", values


def _objects(text: str) -> Iterator[Found]:
    """MQSC objects; the attribute that names an object opens it (Y3)."""
    kind, name, pairs = "", "", list[tuple[str, str]]()
    takers: dict[str, Taker] = {}
    for found in _ATTRIBUTE.finditer(text):
        if found[1] in _OBJECTS:
            values = _taken(takers, pairs)
            if values:
                yield kind, name, values
            kind, takers = _OBJECTS[found[1]]
            name, pairs = "" if kind == "system" else found[2].strip("'"), []
        else:
            pairs.append((found[1], found[2]))
    values = _taken(takers, pairs)
    if values:
        yield kind, name, values


def _usage(text: str) -> Iterator[Found]:
    names = ("buffer_pool_of", "total_pages", "unused_pages", "persistent_pages", "nonpersistent_pages")
    for line in text.splitlines():
        found = _USAGE.match(line)
        if found:
            page_set, *counts = found.groups()
            values: dict[str, Any] = dict(zip(names, map(number, counts[:5]), strict=True))
            values["expansions"] = number(counts[6])
            if counts[5]:
                values["expand"] = counts[5]
            yield "page_set", page_set, values


def _others(text: str) -> Iterator[Found]:
    values: dict[str, Any] = {}
    for pattern, name in ((_TIMEOUT, "security_timeout_min"), (_INTERVAL, "security_interval_min")):
        if found := pattern.search(text):
            values[name] = number(found[1])
    for found in _TASKS.finditer(text):
        values[_TASK_NAMES[found[2].lower()]] = number(found[1])
    if found := _LOGS.search(text):
        values |= {"active_logs": number(found[1]), "active_log_mb": number(found[2])}
    if found := _GROUP.search(text):
        rows = text[found.end() :].partition("CSQ")[0].splitlines()
        values |= {"queue_sharing_group": found[1], "group_members": float(sum(map(bool, map(_MEMBER.match, rows))))}
    if "TRACE ACTIVITY" in text.upper():
        active = {found[1]: found[2] for found in _TRACE.finditer(text)}
        values["trace_global"] = bool({"G", "GLOBAL"} & set(active))
        values["trace_chinit"] = "CHINIT" in active
        destination = active.get("G") or active.get("GLOBAL")
        if destination:
            values["trace_destination"] = destination
    if values:
        yield "system", "", values
