"""What is wrong with a profile: every name defined, every number in its range, every text as long as its field.

Rules
  V1  A mistake is named with its place, what stands there and what would be valid.
  V2  Every name that one table uses is defined in another: queues, rhythms, sizes, structures, page sets, pools.
  V3  No value is accepted that the records could not hold, and no day that the TOD clock does not reach.

Called by profile_file.  Calls profile, incidents.
"""

from collections.abc import Iterable
from datetime import date
from typing import Any, get_args, get_origin

from quaestor.layout import CP1047
from quaestor.smf.catalog import LEVELS
from quaestor.smf.synth import incidents
from quaestor.smf.synth.profile import CONNECTION_TYPES, INDEX_TYPES, Application, Profile, Queue, QueueManager

_TYPE_NAMES = {int: "whole number", float: "number", str: "text", bool: "true or false", tuple: "list", date: "date"}
_MOST_TASKS_PER_HOUR, _MOST_INSTANCES, _MOST_MESSAGES_PER_HOUR = 200_000, 9_999, 10**7
_BUSIEST = 10.0  # a rhythm's factor; 1.0 is the hour that the rates are given for
_LONGEST_TIME = 9e18 / 4096  # microseconds that a total in TOD units may hold
_FIRST_DAY, _LAST_DAY = date(1900, 1, 2), date(2042, 9, 16)  # that the TOD clock has in full, in every zone


class ProfileError(Exception):
    """A profile that cannot be used; the text says where and why."""


def check_value(place: str, value: Any, wanted: Any) -> None:
    """Refuse a value of another type than its field's, and numbers that no field of a record can hold."""
    inner = get_args(wanted)
    kind = get_origin(wanted) or wanted
    if kind is tuple and isinstance(value, tuple):
        for each in value:
            check_value(place, each, inner[0])
        return
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise ProfileError(f"{place}: {value!r} is not a {_TYPE_NAMES.get(kind, 'table')}")
    if kind in (int, float) and not place.endswith("zone_minutes"):
        _between(place, value, 0, 2**32 - 1)


def check(profile: Profile) -> None:
    """Refuse a profile in which something does not fit together (V1, V2)."""
    if not profile.queue_managers or not profile.applications:
        raise ProfileError("at least one [[queue_manager]] and one [[application]] are needed")
    _between("interval_minutes", profile.interval_minutes, 1, 1440)
    if 1440 % profile.interval_minutes:
        raise ProfileError(f"interval_minutes: {profile.interval_minutes} does not divide a day")
    _between("days", profile.days, 1, 3660)
    check_days(profile, profile.days)
    _between("growth_percent_per_week", profile.growth_percent_per_week, 0, 100)
    for rhythm in profile.rhythms:
        for factor in (*rhythm.hours, *rhythm.week):
            _between(f"rhythm {rhythm.name}", factor, 0, _BUSIEST)
    for what, names in (
        ("queue_manager", [each.name for each in profile.queue_managers]),
        ("queue", [each.name for each in profile.queues]),
        ("structure", [each.name for each in profile.structures]),
        ("structure number", [each.number for each in profile.structures]),
        ("application", [each.name for each in profile.applications]),
    ):
        _distinct(what, names)
    for structure in profile.structures:
        _between(f"structure {structure.name}, number", structure.number, 1, 63)
        _between(f"structure {structure.name}, microseconds", max(structure.single_us, structure.multiple_us), 0, 1e5)
        _fits("structure", structure.name, 12)
    for queue in profile.queues:
        _check_queue(profile, queue)
    for manager in profile.queue_managers:
        _check_manager(profile, manager)
    for application in profile.applications:
        _check_application(profile, application)
    for incident in profile.incidents:
        problem = incidents.problem(incident, profile)
        if problem:
            raise ProfileError(f"incident {incident.kind}: {problem}")


def check_days(profile: Profile, days: int) -> None:
    """Refuse so many days if the clock that stamps the records does not have them (V3)."""
    if profile.start < _FIRST_DAY or profile.start.toordinal() + days - 1 > _LAST_DAY.toordinal():
        raise ProfileError(f"start: {days} days from {profile.start} are not between {_FIRST_DAY} and {_LAST_DAY}")


def _check_queue(profile: Profile, queue: Queue) -> None:
    place = f"queue {queue.name}"
    _fits("queue", queue.name, 48)
    one_of(f"{place}, index", queue.index, INDEX_TYPES)
    if queue.shared == (queue.page_set >= 0):
        raise ProfileError(f"{place}: either page_set or structure must be given")
    if queue.shared:
        one_of(f"{place}, structure", queue.structure, [each.name for each in profile.structures])


def _check_manager(profile: Profile, manager: QueueManager) -> None:
    place = f"queue_manager {manager.name}"
    for what, text in (("name", manager.name), ("system", manager.system), ("group", manager.queue_sharing_group)):
        _fits(f"{place}, {what}", text, 4)
    _between(f"{place}, zone_minutes", manager.zone_minutes, -14 * 60, 14 * 60)
    percents = [each.busy_percent for each in manager.buffer_pools] + [each.busy_percent for each in manager.page_sets]
    for percent in percents:
        _between(f"{place}, busy_percent", percent, 0, 100)
    one_of(f"{place}, level", manager.level, LEVELS)
    for accounted in manager.accounting:
        one_of(f"{place}, accounting", accounted, (1, 3, 4))
    pools = [each.number for each in manager.buffer_pools]
    if not pools:
        raise ProfileError(f"{place}: at least one buffer pool is needed")
    for page_set in manager.page_sets:
        one_of(f"{place}, page set {page_set.number}, buffer_pool", page_set.buffer_pool, pools)
    _between(f"{place}, buffer pool numbers", max(pools), 0, 99 if manager.at_least("8.0") else 15)
    log, initiator = manager.log, manager.channel_initiator
    for what, found, low, high in (
        ("log copies", log.copies, 1, 2),
        ("outbuff_kb", log.outbuff_kb, 40, 4000),
        ("logload", log.logload, 200, 16_000_000),
        ("active_log_mb", log.active_log_mb, 1, 4096),
        ("log io_us", log.io_us, 1, 1e5),
        ("dispatchers", initiator.dispatchers, 1, 200),
        ("adapters", initiator.adapters, 1, 200),
        ("ssl_tasks", initiator.ssl_tasks, 0, 200),
        ("max_channels", initiator.max_channels, 1, 9999),
        ("cpu_factor", manager.cpu_factor, 0.001, 100),
    ):
        _between(f"{place}, {what}", found, low, high)
    for queue in profile.queues_on(manager):
        if queue.shared and not manager.queue_sharing_group:
            raise ProfileError(f"{place}: uses shared queue {queue.name} but has no queue_sharing_group")
        if not queue.shared:
            one_of(f"{place}, page set of {queue.name}", queue.page_set, [each.number for each in manager.page_sets])


def _check_application(profile: Profile, application: Application) -> None:
    place = f"application {application.name}"
    one_of(f"{place}, kind", application.kind, CONNECTION_TYPES)
    one_of(f"{place}, rhythm", application.rhythm, ["", *(each.name for each in profile.rhythms)])
    managers = [each.name for each in profile.queue_managers]
    for name in application.queue_managers:
        one_of(f"{place}, queue_managers", name, managers)
    if application.long_running == bool(application.tasks_per_hour):
        raise ProfileError(f"{place}: either tasks_per_hour or instances must be given")
    if application.is_channel and not application.long_running:
        raise ProfileError(f"{place}: a channel is long-running; give instances and units_per_hour")
    _check_names(place, application)
    _between(f"{place}, tasks_per_hour", application.tasks_per_hour, 0, _MOST_TASKS_PER_HOUR)
    _between(f"{place}, instances", application.instances, 0, _MOST_INSTANCES)
    for use in application.uses:
        one_of(f"{place}, queue", use.queue, [each.name for each in profile.queues])
        one_of(f"{place}, sizes", use.sizes, ["", *(each.name for each in profile.sizes)])
        _between(f"{place}, persistent", use.persistent, 0, 1)
        most = max(1, use.get, use.put, use.put1, use.browse, use.inquire, use.set)
        calls = application.busiest_units_per_hour * most * (1 + use.miss)
        _between(f"{place}, calls per hour", calls, 0, _MOST_MESSAGES_PER_HOUR)
        waiting_us = calls * 24 * _BUSIEST * profile.queue(use.queue).on_queue_ms * 1000
        _between(f"{place}, time on queue in a day", waiting_us, 0, _LONGEST_TIME)
        _fits(f"{place}, opened_as", use.opened_as, 48)


def _check_names(place: str, application: Application) -> None:
    limits = [(application.connection, 8), (application.channel_name, 20), (application.partner, 48)]
    limits += [(user, 8) for user in application.users]
    named = application.transaction_names if application.kind in ("cics", "ims") else application.transactions
    limits += [(name, application.transaction_bytes) for name in named]
    for text, size in limits:
        _fits(place, text, size)
    if not application.users or not application.uses:
        raise ProfileError(f"{place}: at least one user and one use are needed")


def _distinct(what: str, names: list[Any]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ProfileError(f"{what} {name} is defined twice")


def _fits(place: str, text: str, size: int) -> None:
    try:
        CP1047.encode(text, size)
    except UnicodeEncodeError:
        raise ProfileError(f"{place}: {text!r} has characters that EBCDIC does not have") from None
    except ValueError as error:
        raise ProfileError(f"{place}: {error}") from None


def one_of(place: str, found: object, valid: Iterable[object]) -> None:
    valid = list(valid)
    if found not in valid:
        raise ProfileError(f"{place}: {found!r} is not one of {', '.join(map(str, valid))}")


def _between(place: str, found: float, low: float, high: float) -> None:
    if not low <= found <= high:
        raise ProfileError(f"{place}: {found} is not between {low:g} and {high:g}")
