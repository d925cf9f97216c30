"""Structures, coupling facility hours, channel initiator and channels: the figures beside the counts."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from advisor.given import NINE, table, task
from quaestor.advisor.shared_views import BASELINE_INTERVALS, cf_hours, channels, initiator_tasks, structures

HOUR = timedelta(hours=1)


def slot(name="APPLICATION1", **values):
    plain = dict.fromkeys(("single_calls", "multiple_calls", "entries_high", "elements_high"), 0)
    return {"structure": name, "single_elapsed_us": 0.0, "multiple_elapsed_us": 0.0, **plain, **values}


# --- structures -------------------------------------------------------------------------------------------------------


@pytest.mark.oracle("mp1b/35", kind="exact", lines="1862-1903")
def test_a_put_in_figures_of_its_structure():
    """1,000 puts of 1,000 bytes: singles of 73 us, multiples of 211 us, 7,192 elements of 256 bytes, 1,313 entries."""
    made = structures(
        {
            "QEST": table(
                "QEST",
                {
                    "structures": [
                        slot(
                            single_calls=1000,
                            single_elapsed_us=73_000.0,
                            multiple_calls=1000,
                            multiple_elapsed_us=2.11e5,
                        )
                        | {"entries_high": 1313, "elements_high": 7192},
                        slot("CSQ_ADMIN", single_calls=1000, single_elapsed_us=53_000.0),
                    ]
                },
            )
        }
    )
    assert ["APPLICATION1", "CSQ_ADMIN"] == list(made.structure)
    assert [73, 53] == list(made.single_us)
    assert 211 == made.multiple_us[0]
    assert np.isnan(made.multiple_us[1])
    assert 1402 == int(made.bytes_per_entry[0])  # 256 x 7,192 / 1,313
    assert np.isnan(made.bytes_per_entry[1])


def test_slots_belong_to_their_record():
    rows = [{"structures": [slot("A"), slot("B")]}, {"structures": [], "queue_manager": "QM02"}]
    rows.append({"structures": [slot("C")], "queue_manager": "QM03"})
    made = structures({"QEST": table("QEST", *rows)})
    assert [("QM01", "A"), ("QM01", "B"), ("QM03", "C")] == list(zip(made.queue_manager, made.structure, strict=True))


@pytest.mark.parametrize(("intervals", "known"), [(5, False), (6, True)])
def test_six_intervals_make_a_baseline(intervals, known):
    """G2: fewer say nothing about what is usual; the median is not moved by one slow interval."""
    assert 6 == BASELINE_INTERVALS
    times = [100.0] * (intervals - 1) + [9000.0]
    rows = [
        {"structures": [slot(single_calls=10, single_elapsed_us=us, multiple_calls=1, multiple_elapsed_us=us)]}
        for us in times
    ]
    made = structures({"QEST": table("QEST", *rows)})
    assert known == (not np.isnan(made.single_us_usual).any())
    if known:
        assert [10] * 6 == list(made.single_us_usual)
        assert [100] * 6 == list(made.multiple_us_usual)


def test_intervals_without_calls_make_no_baseline():
    """Three nights without work beside three hours of it are no six hours."""
    rows = [{"structures": [slot(single_calls=calls, single_elapsed_us=90.0 * calls)]} for calls in (0, 9, 0, 9, 0, 9)]
    assert np.isnan(structures({"QEST": table("QEST", *rows)}).single_us_usual).all()


def test_a_baseline_is_of_one_structure_and_queue_manager():
    def rows(manager, us):
        return [
            {"queue_manager": manager, "structures": [slot(single_calls=1, single_elapsed_us=us)]} for _ in range(6)
        ]

    made = structures({"QEST": table("QEST", *rows("QM01", 30.0), *rows("QM02", 70.0))})
    assert [30] * 6 + [70] * 6 == list(made.single_us_usual)


# --- requests at commit -----------------------------------------------------------------------------------------------


def commits(requests, asynchronous, at=NINE, manager="QM01"):
    kinds = [{"requests": requests, "async_": asynchronous}]
    return task(commit_cf_calls={"kinds": kinds}, local_time=at, queue_manager=manager)


def test_requests_at_commit_are_summed_by_the_hour_that_ends():
    """What was built in the first minute of an hour belongs to the hour before (T2)."""
    made = cf_hours(
        {
            "WTAS": table(
                "WTAS",
                commits(10, 1, NINE - timedelta(minutes=20)),
                commits(30, 3, NINE + timedelta(seconds=59)),
                commits(50, 50, NINE + timedelta(minutes=1)),
            )
        }
    )
    assert [datetime(2026, 3, 2, 9), datetime(2026, 3, 2, 10)] == list(made.local_time.astype(object))
    assert [40, 50] == list(made.requests)
    assert [4, 50] == list(made.asynchronous)
    assert [0.1, 1.0] == list(made.asynchronous_share)
    assert [3600, 3600] == list(made.seconds)


def test_an_hour_without_requests_has_no_share():
    made = cf_hours({"WTAS": table("WTAS", commits(0, 0))})
    assert np.isnan(made.asynchronous_share).all()


def test_the_usual_share_is_that_of_the_queue_manager():
    rows = [commits(100, 10, NINE + n * HOUR) for n in range(6)] + [commits(100, 80, NINE, "QM02")]
    made = cf_hours({"WTAS": table("WTAS", *rows)})
    assert [0.1] * 6 == list(made.asynchronous_share_usual[made.queue_manager == "QM01"])
    assert np.isnan(made.asynchronous_share_usual[made.queue_manager == "QM02"]).all()


# --- the channel initiator --------------------------------------------------------------------------------------------

SSL = [  # ORACLE 74: requests, CPU seconds, average elapsed time in microseconds; two of ten tasks, and an idle one
    (78_284, 3.943509, 202),
    (367_304, 4.429724, 44),
    (0, 0.0, 0),
]


def of_tasks(structure, rows, seconds=60.0, **more):
    made = [
        {"requests": n, "cpu_us": cpu * 1e6, "request_elapsed_us": float(n * us), "interval_us": seconds * 1e6, **more}
        for n, cpu, us in rows
    ]
    return table(structure, *made)


@pytest.mark.oracle("mp16-ch2-3/74", kind="approx", lines="3963-3971")
def test_ssl_tasks_of_the_paper():
    """Busy 26.4 and 27.0 %, 6.6 and 7.4 % CPU of one minute: both have room."""
    made = initiator_tasks({"QCCT": table("QCCT", {"channels_high": 8}), "QCT_SSL": of_tasks("QCT_SSL", SSL)})
    assert (3, 1) == (made.ssls[0], made.ssls_idle[0])
    assert 0.2694 == pytest.approx(made.ssl_busy_high[0], abs=0.0005)
    assert 0.0 == made.ssl_busy_low[0]
    assert 445_588 == made.ssl_requests[0]
    assert 0 == made.ssl_requests_low[0]
    assert 0.13955 == pytest.approx(made.ssl_cpu_share[0], abs=0.0001)
    assert 71.76 == pytest.approx(made.ssl_us_per_request[0], abs=0.01)


def test_tasks_belong_to_the_record_of_their_time_and_queue_manager():
    later = {"local_time": NINE + HOUR}
    controls = table(
        "QCCT", {"channels_high": 1}, {"channels_high": 2, **later}, {"channels_high": 3, "queue_manager": "QM02"}
    )
    adapters = [of_tasks("QCT_ADP", [(5, 0.0, 1)]), of_tasks("QCT_ADP", [(7, 0.0, 1), (9, 0.0, 1)], **later)]
    made = initiator_tasks({"QCCT": controls, "QCT_ADP": pa.concat_tables(adapters)})
    assert [1, 2] == list(made.adapters[:2])
    assert [5, 16] == list(made.adapter_requests[:2])
    assert [5, 7] == list(made.adapter_requests_low[:2])
    assert np.isnan(made.adapters[2])
    assert np.isnan(made.dispatchers).all()


# --- channels ---------------------------------------------------------------------------------------------------------


def channel(**values):
    return {"channel": "TO.QM2", "channel_type": 1, "dispatcher": 1, **values}


def test_averages_of_a_channel():
    row = channel(messages=120, batches=8, message_bytes=2_400_000)
    made = channels({"QCST": table("QCST", row)})
    assert [15, 300_000, 20_000] == [made.achieved_batch[0], made.bytes_per_batch[0], made.bytes_per_message[0]]
    assert 120 / 3600 == made.messages_per_s[0]
    idle = channels({"QCST": table("QCST", channel(messages=0, batches=0))})
    assert np.isnan([idle.achieved_batch[0], idle.bytes_per_batch[0], idle.bytes_per_message[0]]).all()
    assert 0 == idle.messages_per_s[0]


@pytest.mark.parametrize(
    ("started", "zone", "counted"),
    [  # the record of nine o'clock covers the hour before; the start is in UTC, the record in local time
        (datetime(2026, 3, 2, 8, 0, 1), 0, 1),
        (datetime(2026, 3, 2, 8, 0, 0), 0, 0),
        (datetime(2026, 3, 2, 7, 30), 0, 0),
        (datetime(2026, 3, 2, 7, 30), 60, 1),
        (datetime(2026, 3, 2, 7, 0, 0), 60, 0),
        (datetime(2026, 3, 2, 13, 30), -300, 1),
        (datetime(2026, 3, 2, 13, 0), -300, 0),
    ],
)
def test_a_start_within_the_interval_counts(started, zone, counted):
    row = channel(started_at=started.replace(tzinfo=UTC), zone_minutes=zone)
    assert [counted] == list(channels({"QCST": table("QCST", row)}).starts)


def test_instances_of_one_channel_are_counted_together():
    rows = [channel(), channel(), channel(channel="TO.QM3"), channel(local_time=NINE + HOUR)]
    assert [2, 2, 1, 1] == list(channels({"QCST": table("QCST", *rows)}).instances)


@pytest.mark.parametrize(("message_bytes", "many"), [(100 * 2**20, 2), (100 * 2**20 - 1, 1)])
def test_channels_with_messages_of_100_mb(message_bytes, many):
    rows = [channel(messages=1, message_bytes=message_bytes), channel(channel="B", messages=1, message_bytes=2**30)]
    rows.append(channel(channel="C", messages=1, message_bytes=1))
    assert [many] * 3 == list(channels({"QCST": table("QCST", *rows)}).channels_with_very_large)


def test_clients_and_dispatchers():
    rows = [channel(channel_type=7, dispatcher=3), channel(channel_type=1, dispatcher=1), channel(dispatcher=1)]
    made = channels({"QCST": table("QCST", *rows)})
    assert [1, 0, 0] == list(made.is_client)
    assert [2, 2, 2] == list(made.dispatchers_used)
