"""Tables of reports made by hand: four weeks of two queue managers, without Spark."""

from datetime import date, datetime, timedelta
from math import sin

import pyarrow as pa

from quaestor.reports.catalog import REPORTS, Unit

ARROW = {Unit.TEXT: pa.string(), Unit.TIME: pa.string(), Unit.DATE: pa.date32(), Unit.JULIAN: pa.date32()}
WHOLE = (Unit.COUNT, Unit.BYTES)
START = datetime(2026, 3, 2)
HOURS = [START + timedelta(hours=hour) for hour in range(28 * 24)]
APPLICATIONS = (
    "CICSPRD1",
    "CICSPRD2",
    "IMSP",
    "BILLJOB",
    "TO.PARTNER",
    "FROM.PARTNER",
    "WEB.CLIENTS",
    "EXTRACT",
    "AUDIT",
)
CHANNELS = (("TO.PARTNER", "Sender"), ("FROM.PARTNER", "Receiver"), ("WEB.CLIENTS", "SvrConn"))
QUEUES = ("ORDERS.IN", "ORDERS.REPLY", "BILLING.FILES", "STOCK.SHARED", "SYSTEM.CHANNEL.SYNCQ")


def arrow_type(unit):
    if unit is Unit.MOMENT:
        return pa.timestamp("us")
    return ARROW.get(unit, pa.int64() if unit in WHOLE else pa.float64())


def table_of(name, rows):
    """A report's table from rows given as dictionaries; what a row lacks is null."""
    schema = pa.schema([(each.name, arrow_type(each.unit)) for each in REPORTS[name].columns])
    return pa.Table.from_pylist([{key: row.get(key) for key in schema.names} for row in rows], schema=schema)


def empty(name):
    return table_of(name, [])


def exception(severity, day, qmgr, rule, message, worst, unit, **more):
    return {
        "severity": severity,
        "date": date(2026, 3, day),
        "first_time": "09:00:00.00",
        "last_time": "10:55:00.00",
        "qmgr": qmgr,
        "rule": rule,
        "object": "",
        "message": message,
        "worst": worst,
        "unit": unit,
        "intervals": 4,
        "advice": "Do something about it.",
        **more,
    }


def exceptions():
    return [
        exception("alert", 3, "PRD1", "A-24", "Buffer pool 3 is too small: no buffer was free", 12.0, "times"),
        exception("alert", 9, "PRD2", "A-39", "Log: archive logs were read", 1314.0, "reads"),
        *(
            exception("warning", day, "PRD1", "A-25", "Buffer pool 3 ran low", 15.0 - day, "% left")
            for day in (3, 5, 10)
        ),
        *(
            exception("warning", 5, "PRD1", "A-16", f"Db2: {verb} answers slowly", us, "us", object=verb)
            for verb, us in (("WRITE", 28_959.0), ("DELETE", 28_588.0))
        ),
        exception("note", 4, "PRD1", "A-10", "Queue A<B> & C: gets met expired messages", 250.0, "messages"),
    ]


def weeks():
    return [
        {
            "week": date(2026, 3, 2) + timedelta(weeks=week),
            "application": name,
            "cpu_s": 40.0 / (place + 1) * (1 + 0.1 * week),
            "elapsed_s": 300.0 / (place + 1),
            "commits": 10_000 // (place + 1),
            "megabytes": 120.0 / (place + 1),
        }
        for week in range(4)
        for place, name in enumerate(APPLICATIONS)
    ]


def splits():
    names = ("cpu_s", "log_s", "page_set_s", "cf_s", "db2_s", "other_s")
    made = []
    for place, name in enumerate(APPLICATIONS):
        parts = {each: 10.0 * ((place + number) % 4) for number, each in enumerate(names)}
        made.append({"application": name, "elapsed_s": sum(parts.values()), **parts})
    return made


def traffic():
    return [
        {
            "QMGR": qmgr,
            "BASENAME": queue,
            "messages_put": 50_000 // (place + 1),
            "messages_got": 49_000 // (place + 1),
            "megabytes_put": 400.0 / (place + 1),
            "megabytes_got": 390.0 / (place + 1),
            "persistent_put": 20_000 // (place + 1),
            "depth_high": 40 * place,
        }
        for place, queue in enumerate(QUEUES)
        for qmgr in ("PRD1", "PRD2")
    ]


def stay(queue, longest, shortest, mean, valid):
    return {
        "QMGR": "PRD1",
        "BASENAME": queue,
        "MAXTOQ": longest,
        "MINTOQ": shortest,
        "AVGTOQ": mean,
        "VALIDGET": valid,
    }


def stays():
    usual = [stay(queue, 8.6e9 / 10**place, 900.0, 4e4 / (place + 1), 5873) for place, queue in enumerate(QUEUES[:4])]
    return [*usual, stay(QUEUES[4], 1.3e9, 1.3e9, None, 3)]


def day_wave(hour, phase=0.0):
    return 0.5 + 0.5 * sin((hour.hour / 24) * 6.283 + phase)


def pools():
    return [
        {
            "hour": hour, "QMGR": qmgr, "BUFFER_POOL": pool, "BUFFERS": 50_000,
            "low_percent": max(1.0, 90 - 20 * pool - 40 * day_wave(hour, pool)),
            "RIO": 0, "WIO": 0, "DWT": 0, "IMW": 0, "DMC": 0, "SOS": 0,
        }
        for qmgr in ("PRD1", "PRD2")
        for pool in range(4)
        for hour in HOURS
    ]  # fmt: skip


def logs():
    return [
        {
            "hour": hour, "QMGR": qmgr, "megabytes_per_s": 3 * day_wave(hour, place),
            "forces_per_s": 80 * day_wave(hour, place),
            "CHECKPOINTS": 1 if hour.hour == 3 else 0, "LOG_IOS": 100, "CIS_WRITTEN": 1000,
        }
        for place, qmgr in enumerate(("PRD1", "PRD2"))
        for hour in HOURS
    ]  # fmt: skip


def structures():
    return [
        {
            "hour": hour, "QMGR": "PRD1", "STRUCTURE": name, "QESTCSEC": int(9000 * day_wave(hour)) + 1,
            "single_avg_us": 10 + 3 * day_wave(hour, place), "QESTCMEC": int(3000 * day_wave(hour)),
            "multiple_avg_us": 22.0, "QESTSFUL": 0, "ENTRIES_MAX": 1000,
        }
        for place, name in enumerate(("CSQ_ADMIN", "APPLICATION1"))
        for hour in HOURS
    ]  # fmt: skip


def channels():
    return [
        {
            "QMGR": "PRD1", "CHANNEL": name, "TYPE": kind, "partners": 1, "MESSAGES": 90_000 // (place + 1),
            "megabytes_sent": 300.0, "megabytes_received": 2.0, "BATCHES": 2000 if kind != "SvrConn" else 0,
            "batch_size": 12.5 if kind != "SvrConn" else None, "BATCHSZ": 50 if kind != "SvrConn" else None,
            "network_avg_us": 900.0, "network_max_us": 9000.0,
        }
        for place, (name, kind) in enumerate(CHANNELS)
    ]  # fmt: skip


def four_weeks():
    """The tables of the page."""
    made = {
        "exceptions": exceptions(),
        "cpu-by-week": weeks(),
        "elapsed-split": splits(),
        "queue-traffic": traffic(),
        "time-on-queue": stays(),
        "buffer-pools": pools(),
        "log-activity": logs(),
        "cf-activity": structures(),
        "channel-traffic": channels(),
    }
    return {name: table_of(name, rows) for name, rows in made.items()}
