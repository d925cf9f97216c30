"""What can go wrong, where it is planted, and which rule must find it.

An incident is a condition of one object (a pool, a queue, a structure, a channel ...) over some intervals of one day.
The models of synth ask for that condition and change what *happens*; the counters follow, so all identities between
records hold in bad intervals too.

Rules
  I1  Every kind says which fields show it and which rules of the papers fire on them.
  I2  An incident that the queue manager's level has no field for is a mistake in the profile, not a silent no-op.
  I3  What was planted is listed beside the dump with its times; an empty list is a promise that nothing was.

Called by profile_file (checks), by all models (conditions), by generate (the list).  Calls profile.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.catalog import SECTIONS, length_at
from quaestor.smf.synth.profile import Incident, Profile, QueueManager

_LOG_SLOWDOWN, _CF_SLOWDOWN = 40.0, 5.0
_MOST_SEVERE = 10.0
_DB2_DISPATCH_US, _DB2_QUEUED_US = 150.0, 4000.0


@dataclass(frozen=True, slots=True)
class IncidentKind:
    """One kind of incident: what it is, what it befalls, which fields and rules show it (I1)."""

    what: str
    target: str
    fields: tuple[str, ...]
    rules: tuple[str, ...]

    @property
    def structure(self) -> str:
        """The structure without which the incident cannot be seen."""
        return self.fields[0].split(".")[0]


def _kind(what: str, target: str, fields: str, rules: str) -> IncidentKind:
    return IncidentKind(what, target, tuple(fields.split()), tuple(rules.split()))


KINDS: Mapping[str, IncidentKind] = {
    "buffer_pool_small": _kind(
        "buffer pool too small: deferred and synchronous writes, pages read back, no buffer free",
        "buffer_pool",
        "QPST.QPSTSOS QPST.QPSTDMC QPST.QPSTCBSL QPST.QPSTDWT QPST.QPSTRIO QPST.QPSTIMW",
        "mp1b/A-24 mp1b/A-25 mp1b/A-26 mp1b/A-27 mp16-ch1/A-40 mp16-ch1/A-41 mp16-ch4-11/BP-1 mp16-ch4-11/BP-2",
    ),
    "page_set_reads": _kind(
        "messages of a queue are read back from its page set",
        "private_queue",
        "WQST.GETPSN WQST.GETPSET QPST.QPSTRIO",
        "mp1b/A-7 mp1b/A-26 mp16-ch4-11/BP-4",
    ),
    "page_set_full": _kind(
        "page set full: puts refused with 2192",
        "page_set",
        "QIS1.QIS1FULL QIS1.QIS1UNPG",
        "mp16-ch1/A-29 mp16-ch1/A-32",
    ),
    "log_buffers_short": _kind(
        "too few log buffers: tasks wait for one", "", "QJST.QJSTWTB", "mp1b/A-36 mp16-ch4-11/LOG-1"
    ),
    "log_buffers_paged": _kind("log buffers had to be paged in", "", "QJST.QJSTBPAG", "mp1b/A-40"),
    "archive_reads": _kind(
        "a long unit of recovery backs out: the log is read from active and archive data sets",
        "",
        "QJST.QJSTRARH QJST.QJSTRACT QJST.QJSTALR",
        "mp1b/A-38 mp1b/A-39",
    ),
    "tape_units_short": _kind(
        "archive reads wait for tape units",
        "",
        "QJST.QJSTTVC QJST.QJSTWUR QJST.QJSTLAMA QJST.QJSTRARH",
        "mp1b/A-39 mp1b/A-41 mp1b/A-42 mp1b/A-45",
    ),
    "frequent_checkpoints": _kind(
        "LOGLOAD too small: a checkpoint every few minutes", "", "QJST.QJSTLLCP", "mp1b/A-43"
    ),
    "long_log_io": _kind(
        "log volume answers slowly: every force waits",
        "",
        "WTAS.WTASJCET QJST.QJSTIO",
        "mp1b/A-3 mp16-ch4-11/LOG-4 mp16-ch4-11/LOG-6",
    ),
    "backing_out": _kind(
        "an application backs out most of its units of recovery",
        "application",
        "WTAS.WTASBAN QJST.QJSTRBUF",
        "mp1b/A-14 mp1b/A-37",
    ),
    "slow_units": _kind(
        "units of recovery of an application wait for a latch",
        "application",
        "WTAS.WTASCMET WTAS.WTASLWET",
        "mp1b/A-1",
    ),
    "large_units": _kind(
        "units of recovery with hundreds of messages",
        "application",
        "WTAS.WTASCMN WQST.VALIDPUT WQST.VALIDGET",
        "mp16-ch4-11/APP-1",
    ),
    "mqset_used": _kind("an application issues MQSET", "application", "WQST.SETN", "mp1b/A-2"),
    "queue_without_index": _kind(
        "gets by identifier search a queue that has no index",
        "queue",
        "WQST.INDXTYPE WQST.GETS WQST.GETSMSG QPST.QPSTGETP",
        "mp1b/A-4 mp1b/A-9 mp1b/A-32 mp16-ch1/A-76",
    ),
    "index_not_needed": _kind("an index that no get uses", "queue", "WQST.INDXTYPE WQST.GETA", "mp1b/A-5"),
    "expired_messages": _kind("gets meet expired messages", "queue", "WQST.GETEXMSG", "mp1b/A-10"),
    "structure_full": _kind(
        "structure full: puts refused with 2192",
        "structure",
        "QEST.QESTSFUL QEST.QESTMNUS",
        "mp1b/A-20 mp16-ch2-3/CF-R6 mp16-ch2-3/CF-R21",
    ),
    "cf_redrives": _kind(
        "messages do not fit the first read: requests to a structure are redriven",
        "structure",
        "QEST.QESTRSEC WTAS.WTASRSEC",
        "mp1b/A-22 mp16-ch2-3/CF-R36",
    ),
    "cf_slow": _kind(
        "requests to a structure take several times their usual time",
        "structure",
        "QEST.QESTSSTC QEST.QESTMSTC WTAS.WTASSSTC",
        "mp1b/A-21 mp16-ch2-3/CF-R1",
    ),
    "smds_full": _kind("shared message data set full", "smds", "QESD.QESDSMFL QESD.QESDSMMF", "mp16-ch2-3/CF-R24"),
    "slow_db2": _kind(
        "Db2 takes long for updates, writes and deletes",
        "group",
        "Q5ST.WRITSCUW Q5ST.UPDTSCUW Q5ST.DELESCUW",
        "mp1b/A-16",
    ),
    "db2_servers_short": _kind(
        "too few Db2 server tasks: requests queue", "group", "Q5ST.DHIGMAX Q5ST.READTCUW", "mp1b/A-17 mp1b/A-18"
    ),
    "db2_deadlocks": _kind("Db2 deadlocks", "group", "Q5ST.DEADCNT", "mp1b/A-19"),
    "batch_of_one": _kind(
        "a sender channel ends a batch after every message",
        "sender",
        "QCST.QCSTBATC QCST.QCSTNMSG",
        "mp16-ch1/A-26 mp16-ch2-3/CH-R17 mp16-ch2-3/CH-R20",
    ),
    "dispatcher_starved": _kind(
        "one dispatcher carries nearly all channels, others are idle",
        "",
        "QCT_DSP.QCTELTM QCT_DSP.QCTREQN QCST.QCSTDSPN",
        "mp16-ch2-3/CH-R12 mp16-ch2-3/CH-R14",
    ),
    "adapters_short": _kind(
        "all adapters busy: requests queue", "", "QCT_ADP.QCTREQN QCT_ADP.QCTELTM", "mp16-ch2-3/CH-R8"
    ),
    "ssl_task_busy": _kind("an SSL task is busy nearly all the time", "", "QCT_SSL.QCTELTM", "mp16-ch2-3/CH-R31"),
    "channels_near_limit": _kind(
        "channels in use approach MAXCHL and ACTCHL", "", "QCCT.QCCTNOCC QCCT.QCCTNOAC", "mp16-ch2-3/CH-R4"
    ),
}


def problem(incident: Incident, profile: Profile) -> str:
    """Why an incident cannot be planted; empty when it can (I2)."""
    if incident.kind not in KINDS:
        return f"is not one of {', '.join(KINDS)}"
    manager = _manager(incident, profile)
    if manager is None:
        return f"no queue manager {incident.queue_manager}"
    if not 0 <= incident.from_hour < incident.to_hour <= 24 or incident.day < 0:
        return f"day {incident.day}, hours {incident.from_hour:g} to {incident.to_hour:g} are no time of a day"
    if not 0 < incident.severity <= _MOST_SEVERE:
        return f"severity {incident.severity:g} is not above 0 and at most {_MOST_SEVERE:g}"
    valid = set(_targets(KINDS[incident.kind].target, profile, manager))
    if incident.object not in valid:
        return f"object {incident.object!r} is not one of {', '.join(sorted(valid)) or 'those it has (none)'}"
    if not visible(incident, profile):
        return f"level {manager.level} of {manager.name} has no {KINDS[incident.kind].structure}"
    return ""


def visible(incident: Incident, profile: Profile) -> bool:
    """Whether the queue manager's level has the structure that shows the incident (I2)."""
    manager = _manager(incident, profile)
    section = SECTIONS[KINDS[incident.kind].structure]
    return manager is not None and length_at(section, manager.level) is not None


def _manager(incident: Incident, profile: Profile) -> QueueManager | None:
    return next((each for each in profile.queue_managers if each.name == incident.queue_manager), None)


def _targets(target: str, profile: Profile, manager: QueueManager) -> Iterator[str]:
    """Names of all objects that an incident of this kind can befall."""
    if target in ("", "group"):
        if target == "" or manager.queue_sharing_group:
            yield ""
    elif target == "buffer_pool":
        yield from (str(each.number) for each in manager.buffer_pools)
    elif target == "page_set":
        yield from (str(each.number) for each in manager.page_sets)
    elif target in ("queue", "private_queue"):
        yield from (each.name for each in profile.queues_on(manager) if target == "queue" or not each.shared)
    elif target in ("structure", "smds"):
        yield from (each.name for each in profile.structures_on(manager) if target == "structure" or each.smds)
    else:
        wanted = profile.applications_on(manager)
        yield from (each.name for each in wanted if target in ("application", each.kind))


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is wrong on one queue manager on one day, interval by interval."""

    profile: Profile
    manager: QueueManager
    day: int

    def severity(self, kind: str, name: object = "") -> NDArray[np.float64]:
        """0 where all is well, otherwise how bad it is, for each interval of the day."""
        found = np.zeros(self.profile.intervals_per_day)
        for incident in self.profile.incidents:
            here = incident.queue_manager == self.manager.name and incident.day == self.day
            if here and incident.kind == kind and incident.object == str(name):
                found[active_intervals(incident, self.profile)] = incident.severity
        return found

    def log_slowdown(self) -> NDArray[np.float64]:
        """How many times longer than usual a log I/O takes in each interval."""
        return 1 + _LOG_SLOWDOWN * self.severity("long_log_io")

    def cf_slowdown(self, structure: str) -> NDArray[np.float64]:
        """How many times longer than usual a request to a structure takes in each interval."""
        return 1 + _CF_SLOWDOWN * self.severity("cf_slow", structure)

    def db2_dispatch_us(self) -> NDArray[np.float64]:
        """How long a request waits for a Db2 server task in each interval."""
        return _DB2_DISPATCH_US + _DB2_QUEUED_US * self.severity("db2_servers_short")


def active_intervals(incident: Incident, profile: Profile) -> slice:
    """The intervals that lie wholly inside the incident's hours; at least one."""
    per_hour = 60 / profile.interval_minutes
    first = int(np.ceil(incident.from_hour * per_hour - 1e-9))
    last = int(np.floor(incident.to_hour * per_hour + 1e-9))
    first = min(first, profile.intervals_per_day - 1)
    return slice(first, max(first + 1, last))


def listing(profile: Profile, days: int) -> list[dict[str, Any]]:
    """The incidents planted in the first days of a profile, as they stand in the side file (I3)."""
    planted = [each for each in profile.incidents if each.day < days]
    return [
        {
            "id": f"I-{number:02d}",
            "kind": incident.kind,
            "what": KINDS[incident.kind].what,
            "queue_manager": incident.queue_manager,
            "object": incident.object,
            **_times(incident, profile),
            "severity": incident.severity,
            "rules": list(KINDS[incident.kind].rules),
            "fields": list(KINDS[incident.kind].fields),
        }
        for number, incident in enumerate(planted, 1)
    ]


def _times(incident: Incident, profile: Profile) -> dict[str, str]:
    """System, begin and end of an incident; the times carry the queue manager's zone."""
    manager = _manager(incident, profile)
    if manager is None:
        raise ValueError(f"no queue manager {incident.queue_manager}")
    zone = timezone(timedelta(minutes=manager.zone_minutes))
    midnight = datetime.combine(profile.date_of(incident.day), time(), zone)
    active = active_intervals(incident, profile)
    length = timedelta(minutes=profile.interval_minutes)
    return {
        "system": manager.system,
        "from": (midnight + active.start * length).isoformat(),
        "to": (midnight + active.stop * length).isoformat(),
    }
