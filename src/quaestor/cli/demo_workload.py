"""Work for the circle demo: what applications do to a queue manager, in a few seconds.

Rules
  DW1 A mixed day in small: transactions on persistent messages, requests and replies that are not persistent, a
      browser, large messages, work that is backed out. Each application is a thread with a connection and a name of
      its own.
  DW2 A nightly batch in small: one unit after the other puts more than its buffer pool was made for, then all of it is
      got. Given the pool, it needs the same pages every time.

Called by the circle demo.  Calls the native API.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import quaestor
from quaestor import Connection, EngineSettings, GetOptions, LocalQueue, OpenOptions, PutOptions, TraceSettings
from quaestor.mqi.objects import IndexType

TRACES = TraceSettings("stat,acctg(1,3)", statime_s=1.0)
SHARED = {"share": True, "def_exclusive": False}
TRANSACTIONS, REQUESTS, LARGE, BROWSES = 2000, 8000, 200, 500
UNIT = 50
_NOW, _GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


def mixed_day(name: str, directory: Path) -> None:
    """Several applications at once (DW1)."""
    with quaestor.connect(name, directory, application="SETUP", trace=TRACES) as app:
        for queue in (
            LocalQueue("PAYMENTS", def_persistent=True, **SHARED),
            LocalQueue("REQUEST", **SHARED),
            LocalQueue("REPLY", index_type=IndexType.CORRELID, **SHARED),
            LocalQueue("IMAGES", def_persistent=True, **SHARED),
        ):
            app.define(queue, replace=True)
        jobs: tuple[tuple[str, Callable[[Connection], None]], ...] = (
            ("PAYIN", _pay_in),
            ("PAYOUT", _pay_out),
            ("ASKER", _ask),
            ("ANSWERER", _answer),
            ("ARCHIVE", _archive),
            ("MONITOR", _look),
        )

        def run(job: tuple[str, Callable[[Connection], None]]) -> None:
            with quaestor.connect(name, directory, application=job[0]) as own:
                job[1](own)

        with ThreadPoolExecutor(len(jobs)) as pool:
            for done in [pool.submit(run, job) for job in jobs]:
                done.result()


def _pay_in(app: Connection) -> None:
    """One payment per unit; every tenth is backed out and made again."""
    with app.open("PAYMENTS", OpenOptions.OUTPUT) as payments:
        for number in range(TRANSACTIONS):
            payments.put(b"p" * 1000)
            if number % 10 == 9:
                app.backout()
                payments.put(b"p" * 1200)
            app.commit()


def _pay_out(app: Connection) -> None:
    with app.open("PAYMENTS", OpenOptions.INPUT_AS_Q_DEF) as payments:
        for _ in range(TRANSACTIONS):
            payments.get(wait_ms=20_000)
            app.commit()


def _ask(app: Connection) -> None:
    """Requests whose replies are got by their correlation identifier."""
    with app.open("REQUEST", OpenOptions.OUTPUT) as asking, app.open("REPLY", OpenOptions.INPUT_AS_Q_DEF) as replies:
        for _ in range(REQUESTS):
            asked = asking.put(b"q" * 200, None, _NOW)
            replies.get(_GET_NOW, wait_ms=20_000, correl_id=asked.msg_id)


def _answer(app: Connection) -> None:
    with app.open("REQUEST", OpenOptions.INPUT_AS_Q_DEF) as asked, app.open("REPLY", OpenOptions.OUTPUT) as replies:
        for _ in range(REQUESTS):
            request = asked.get(_GET_NOW, wait_ms=20_000)
            replies.put(b"r" * 500, None, _NOW, correl_id=request.msg_id)


def _archive(app: Connection) -> None:
    """Large messages, put and got."""
    with app.open("IMAGES") as images:
        for _ in range(LARGE):
            images.put(b"i" * 100_000)
        app.commit()
        for _ in range(LARGE):
            images.get()
        app.commit()


def _look(app: Connection) -> None:
    """A monitor that browses."""
    for _ in range(BROWSES):
        with app.open("PAYMENTS", OpenOptions.BROWSE) as payments:
            try:
                payments.browse()
            except quaestor.MQError as error:
                if error.reason is not quaestor.Reason.NO_MSG_AVAILABLE:
                    raise


def nightly_batch(name: str, directory: Path, buffers: int, messages: int) -> None:
    """More than a small pool holds (DW2)."""
    settings = EngineSettings(buffer_pools={0: 1000, 1: buffers}, pages=4096)
    traces = TraceSettings(TRACES.trace, statime_s=3600.0)
    with quaestor.connect(name, directory, application="NIGHTLY", settings=settings, trace=traces) as app:
        app.define(LocalQueue("BATCH", def_persistent=True, **SHARED), replace=True)
        with app.open("BATCH") as batch:
            for number in range(messages):
                batch.put(b"b" * 1000)
                if number % UNIT == UNIT - 1:
                    app.commit()
            app.commit()
            for number in range(messages):
                batch.get()
                if number % UNIT == UNIT - 1:
                    app.commit()
