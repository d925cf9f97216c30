"""What a task's account tells beside counts: waits, time on queue, waiting getters, what was skipped or had expired."""

import asyncio
import threading

import pytest

import quaestor
from qmgr.statistics.test_intervals import queue_manager, records, sections
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import DefinitionType, LocalQueue
from quaestor.mqi.options import CloseOptions, GetOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.mqi.reports import Report
from quaestor.qmgr.connection import Handle
from quaestor.qmgr.connection.accounted import AccountedHandle
from quaestor.qmgr.connection.verb import CLOCKED_ALWAYS, CLOCKED_EVERY, COLD, Verb
from quaestor.smf.printing.programs import printout, task_printout
from quaestor.smf.records import read_dump, tasks

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
US = 4096


class TickingClock(FakeClock):
    """A clock that moves by one microsecond whenever it is looked at, so that elapsed time is never nothing."""

    def monotonic_ns(self):
        self.us += 1
        return self.us * 1000


def only_queue(smf, name="ORDERS"):
    (found,) = [section for section in sections(smf, "WQST") if section.base_name == name]
    return found


@pytest.fixture
def work():
    """A queue manager with accounting, an application and its queue; `end` gives the queue's account."""
    qm, clock, smf = queue_manager("acctg(3)")
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS", share=True, def_exclusive=False))

    def end():
        app.disconnect()
        qm.stop()
        return only_queue(smf)

    return app, clock, end


def test_time_on_queue_is_that_of_messages_got_not_browsed(work):
    app, clock, end = work
    queue = app.open("ORDERS", 1 | 8 | 16)
    for _ in range(2):
        queue.put(b"x", None, NOW)
        clock.advance(seconds=3)
    queue.browse()
    queue.get(GET_NOW)
    clock.advance(seconds=1)
    queue.get(GET_NOW)
    account = end()
    assert (6_000_000 * US, 4_000_000 * US) == (account.on_queue_longest, account.on_queue_shortest)
    assert 10_000_000 * US == account.on_queue_elapsed
    assert (3, 2, 1) == (account.valid_gets, account.valid_destructive_gets, account.browses_any)


def test_skipped_and_expired_messages_are_counted(work):
    app, clock, end = work
    queue = app.open("ORDERS")
    for _ in range(5):
        queue.put(b"x", MQMD(correl_id=b"A" * 24), NOW)
    queue.put(b"y", MQMD(correl_id=b"B" * 24), NOW)
    queue.get(GET_NOW, correl_id=b"B" * 24)
    for _ in range(5):
        queue.get(GET_NOW)
    queue.put(b"z", MQMD(expiry=10), NOW)
    clock.advance(seconds=2)
    with pytest.raises(MQError):
        queue.get(GET_NOW)
    account = end()
    assert (5, 1) == (account.messages_skipped, account.messages_expired)
    assert (1, 6, 7, 6) == (account.gets_specific, account.gets_any, account.gets, account.valid_gets)


def test_a_queue_opened_by_an_alias_has_both_names(work):
    app, _, end = work
    app.define(quaestor.AliasQueue("BY.ALIAS", target="ORDERS"))
    with app.open("BY.ALIAS", 16) as queue:
        queue.put(b"x", None, NOW)
    account = end()
    assert ("BY.ALIAS", "ORDERS", 3) == (account.object_name, account.base_name, account.queue_type)


def test_a_failed_open_is_an_other_call():
    qm, _, smf = queue_manager("acctg(3)")
    app = qm.connect("ALICE", "JOB")
    with pytest.raises(MQError):
        app.open("NOWHERE")
    with pytest.raises(MQError):
        app.put("NOWHERE", b"x")
    app.disconnect()
    qm.stop()
    (task,) = sections(smf, "WTAS")
    assert (2, 0) == (task.others, task.queue_blocks)


def test_a_put_to_a_model_is_an_other_call_and_leaves_nothing():
    """AC6: the model is no queue, and whoever counts the call does not make one of it."""
    qm, _, smf = queue_manager("acctg(3)")
    app = qm.connect("ALICE", "JOB")
    app.define(quaestor.ModelQueue("MODEL"))
    with pytest.raises(MQError, match="2057"):
        app.put1("MODEL", b"x")
    assert ["(objects)"] == [stored.name for stored in qm.engine.data.queues.values()]
    app.disconnect()
    qm.stop()
    (task,) = sections(smf, "WTAS")
    assert (2, 0) == (task.others, task.queue_blocks)


def test_names_are_resolved_with_the_latch_held(work, monkeypatch):
    """HA2: others change definitions meanwhile."""
    app, _, _ = work
    held, catalogue = [], app.messages.catalogue
    resolver, latch = catalogue.resolver, app._recovery.latch
    monkeypatch.setattr(catalogue, "resolver", lambda: held.append(latch.locked()) or resolver())
    app.put1("ORDERS", b"x")
    assert held
    assert all(held)


def test_dynamic_queues_do_not_pile_up():
    qm, clock, smf = queue_manager("acctg(3)")
    app = qm.connect("ALICE", "JOB")
    app.define(quaestor.ModelQueue("MODEL"))
    clock.advance(seconds=61)
    qm.scheduler.run_due()
    for _ in range(3):
        for _ in range(4):
            with app.open("MODEL") as queue:
                queue.put(b"x", None, NOW)
        clock.advance(seconds=61)
        qm.scheduler.run_due()
    assert {} == app.task.queues
    app.disconnect()
    qm.stop()
    assert 12 == len(sections(smf, "WQST"))


def test_a_put_to_a_waiting_getter_and_a_get_that_waited(tmp_path):
    """The getter waits for half a second; that is its wish, not time in the queue manager."""
    with quaestor.connect("QM1", tmp_path, application="GETTER", trace="acctg(3)") as getter:
        getter.define(LocalQueue("ORDERS", share=True, def_exclusive=False))

        def wait():
            with getter.open("ORDERS", 1) as queue:
                queue.get(GET_NOW, wait_ms=10_000)

        thread = threading.Thread(target=wait)
        thread.start()
        with quaestor.connect("QM1", tmp_path, application="PUTTER") as putter:
            while not getter.messages.catalogue.anybody_waits:
                pass
            thread.join(0.3)
            putter.put("ORDERS", b"x", None, NOW)
        thread.join()
    (dump,) = (tmp_path / "smf").iterdir()
    found = {task.identification.connection_name: task.queues[0] for task in tasks(read_dump(dump))}
    assert 1 == found["PUTTER"].put1s_to_waiter
    assert 1 == found["GETTER"].valid_gets
    assert found["GETTER"].get_elapsed < 200_000 * US


def test_accounting_may_stop_while_an_application_waits_for_a_message():
    """AH2: the get that waits ends as it would have, and so does the next."""
    qm, _, _ = queue_manager("acctg(3)")
    with qm.connect("ALICE", "GETTER") as getter, qm.connect("BOB", "PUTTER") as putter:
        getter.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
        queue, got = getter.open("ORDERS", 1), []
        thread = threading.Thread(target=lambda: got.append(queue.get(GET_NOW, wait_ms=10_000).body))
        thread.start()
        while not getter.messages.catalogue.anybody_waits:
            pass
        qm.statistics.stop("ACCTG")
        putter.put("ORDERS", b"1", None, NOW)
        thread.join()
        putter.put("ORDERS", b"2", None, NOW)
        assert [b"1", b"2"] == [*got, queue.get(GET_NOW).body]
    qm.stop()


@pytest.mark.parametrize("ends", ["close", "STOP TRACE"])
def test_a_call_that_was_kept_does_what_its_handle_does(ends):
    """NO4: `put = queue.put` outlives accounting, and says 2019 when its handle is closed."""
    qm, _, _ = queue_manager("acctg(3)")
    with qm.connect("ALICE", "JOB") as app:
        app.define(LocalQueue("ORDERS"))
        queue = app.open("ORDERS")
        put, get = queue.put, queue.get
        if ends == "close":
            queue.close()
            for call in (lambda: put(b"x"), get):
                with pytest.raises(MQError, match="2019"):
                    call()
        else:
            qm.statistics.stop("ACCTG")
            assert 2 * CLOCKED_EVERY == sum(put(b"x", None, NOW) is not None for _ in range(2 * CLOCKED_EVERY))
            assert 2 * CLOCKED_EVERY == sum(get(GET_NOW).body == b"x" for _ in range(2 * CLOCKED_EVERY))
    qm.stop()


def test_waits_for_the_log_and_for_pages_stand_with_the_verb(tmp_path):
    settings = quaestor.EngineSettings(buffer_pools={0: 200, 1: 60})
    with quaestor.connect("QM1", tmp_path, settings=settings, trace="acctg(3)") as app:
        app.define(LocalQueue("ORDERS", def_persistent=True))
        with app.open("ORDERS") as queue:
            for _ in range(5):
                queue.put(b"x" * 1000, None, NOW)
            for _ in range(200):
                queue.put(b"x" * 1000)
            app.commit()
            for _ in range(205):
                queue.get()
            app.commit()
    (dump,) = (tmp_path / "smf").iterdir()
    (task,) = tasks(read_dump(dump))
    (queue,) = [queue for queue in task.queues if queue.base_name == "ORDERS"]
    assert (5, 0) == (queue.put_log_forces, queue.get_log_forces)
    assert 0 < queue.put_log_force_elapsed <= queue.put_elapsed
    assert queue.get_page_set_reads > 0
    assert queue.get_page_set_elapsed > 0
    assert task.accounting.log_forces >= 7
    assert task.accounting.log_bytes > 205 * 1000
    assert task.accounting.log_writes > 410
    assert queue.put_suspends > 5


def test_asyncio_gets_are_one_get_however_often_they_look(tmp_path):
    async def work():
        app = await quaestor.connect_async("QM1", tmp_path, application="ASYNC", trace="acctg(3)")
        async with app:
            await app.define(LocalQueue("ORDERS"))
            async with await app.open("ORDERS") as queue:
                waiting = asyncio.create_task(queue.get(GET_NOW, wait_ms=5000))
                await asyncio.sleep(0.05)
                await queue.put(b"x", None, NOW)
                await waiting
                with pytest.raises(MQError):
                    await queue.get(GET_NOW, wait_ms=10)

    asyncio.run(work())
    (dump,) = (tmp_path / "smf").iterdir()
    (task,) = tasks(read_dump(dump))
    (queue,) = task.queues
    assert (2, 1, 1) == (queue.gets, queue.valid_gets, queue.puts)


def test_a_connection_nobody_accounts_for_has_plain_handles(tmp_path):
    with quaestor.connect("QM1", tmp_path) as app:
        app.define(LocalQueue("ORDERS"))
        with app.open("ORDERS") as queue:
            assert Handle is type(queue)
        assert app.task is None
    assert not (tmp_path / "smf").exists()
    with quaestor.connect("QM1", tmp_path, trace="acctg(1)") as app, app.open("ORDERS") as queue:
        assert AccountedHandle is type(queue)


def made(verb, calls, *, cpu_ns, work_ns, wait_ns=0):
    """Calls of a verb as an accounted handle makes them, clocked when that is due; how many were due."""
    due = 0
    for _ in range(calls):
        if verb.left:
            verb.left -= 1
            verb.waited(wait_ns)
            verb.pass_unclocked(1)
        else:
            verb.entered()
            verb.waited(wait_ns)
            verb.clocked(cpu_ns, verb.took(work_ns + wait_ns))
            due += 1
    return due


def test_some_calls_are_clocked_and_stand_for_all():
    """VE1, VE2."""
    verb = Verb()
    due = made(verb, 5000, cpu_ns=5, work_ns=7)
    assert CLOCKED_ALWAYS + (5000 - CLOCKED_ALWAYS) // CLOCKED_EVERY == due
    assert (5000, 5000 - due) == (verb.calls, verb.unclocked)
    assert (25_000, 35_000) == (verb.cpu_total_ns(), verb.elapsed_total_ns())


def test_the_first_calls_stand_for_themselves():
    """VE2: they are cold, here a thousand times as long as the others."""
    verb = Verb()
    made(verb, COLD, cpu_ns=5000, work_ns=7000)
    made(verb, 1000, cpu_ns=5, work_ns=7)
    assert (COLD * 5000 + 5000, COLD * 7000 + 7000) == (verb.cpu_total_ns(), verb.elapsed_total_ns())


def test_what_calls_wait_is_never_estimated():
    """VE3: one call in ten thousand waits, and is not one of those that are clocked."""
    verb = Verb()
    made(verb, 100, cpu_ns=5, work_ns=7)
    made(verb, 1, cpu_ns=5, work_ns=7, wait_ns=1_000_000)
    made(verb, 9899, cpu_ns=5, work_ns=7)
    assert 70_000 + 1_000_000 == verb.elapsed_total_ns()


def test_a_wait_of_a_clocked_call_stands_for_no_other():
    """VE3: the call that is clocked happens to wait; those that it stands for did not."""
    verb = Verb()
    made(verb, COLD, cpu_ns=5, work_ns=7)
    made(verb, 1, cpu_ns=5, work_ns=7, wait_ns=1_000_000)
    made(verb, 991, cpu_ns=5, work_ns=7)
    assert 7000 + 1_000_000 == verb.elapsed_total_ns()


def test_elapsed_time_is_that_of_all_calls_though_few_are_clocked():
    """Each call that is clocked takes a microsecond, which the clock moves by when it is looked at."""
    qm, _, smf = queue_manager("acctg(3)", TickingClock())
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS"))
    queue = app.open("ORDERS")
    for _ in range(3000):
        queue.put(b"x", None, NOW)
        queue.get(GET_NOW)
    app.disconnect()
    qm.stop()
    account = only_queue(smf)
    assert (3000, 3000) == (account.puts, account.gets)
    assert (3000 * US, 3000 * US) == (account.put_elapsed, account.get_elapsed)


def test_a_get_that_waits_is_not_charged_with_the_wait_however_often_it_came_at_once(tmp_path):
    """AC3, for a get that nobody clocks: more have been made before than are always clocked."""
    with quaestor.connect("QM1", tmp_path, application="GETTER", trace="acctg(3)") as getter:
        getter.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
        waiting = GET_NOW | GetOptions.WAIT
        with getter.open("ORDERS", 1 | 16) as queue:
            for _ in range(CLOCKED_ALWAYS + 5):
                queue.put(b"x", None, NOW)
                queue.get(waiting, wait_ms=10_000)
            with pytest.raises(MQError):
                queue.get(waiting, wait_ms=300)
    (dump,) = (tmp_path / "smf").iterdir()
    (task,) = tasks(read_dump(dump))
    assert CLOCKED_ALWAYS + 6 == task.queues[0].gets
    assert task.queues[0].get_elapsed < 200_000 * US


def test_every_figure_but_work_is_that_of_every_call(work):
    """PC1 to PC3: more calls than may pass, lengths and times that change, calls that fail in between."""
    app, clock, end = work
    queue, put, waits_us = app.open("ORDERS"), [], []
    for number in range(3 * CLOCKED_EVERY):
        body, persistent = b"x" * (10 if number % 5 else 2000 + number), number % 7 == 0
        queue.put(body, MQMD(persistence=int(persistent)) if persistent else None, NOW)
        put.append((len(body), persistent))
        waits_us.append(1000 * (1 + number % 100))
        clock.us += waits_us[-1]
        queue.get(GET_NOW)
        if number % 50 == 0:
            with pytest.raises(MQError, match="2033"):
                queue.get(GET_NOW)
    account = end()
    lengths, failed = [length for length, _ in put], len(range(0, 3 * CLOCKED_EVERY, 50))
    assert (len(put), len(put), len(put) + failed) == (account.puts, account.valid_puts, account.gets)
    assert (len(put), len(put)) == (account.valid_gets, account.valid_destructive_gets)
    assert [sum(lengths)] * 2 == [account.put_bytes, account.get_bytes]
    assert [sum(kept for _, kept in put)] * 2 == [account.puts_persistent, account.gets_persistent]
    assert [max(lengths), min(lengths)] * 2 == [
        account.put_size_high, account.put_size_low, account.get_size_high, account.get_size_low
    ]  # fmt: skip
    assert (max(waits_us) * US, min(waits_us) * US) == (account.on_queue_longest, account.on_queue_shortest)
    assert sum(waits_us) == pytest.approx(account.on_queue_elapsed / US, abs=len(put) / 4)
    assert 1 == account.depth_high


class DearClock(FakeClock):
    """A clock that takes its time to tell the time: a microsecond, and three of CPU for that of the CPU."""

    def monotonic_ns(self):
        self.us += 1
        return self.us * 1000

    def cpu_ns(self):
        self.cpu += 3000
        return self.cpu


def test_looking_at_the_cpu_clock_is_nobodys_cpu_time():
    """VE5: a call has no more CPU time than elapsed time."""
    qm, _, smf = queue_manager("acctg(3)", DearClock())
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS"))
    queue = app.open("ORDERS")
    for _ in range(3000):
        queue.put(b"x", None, NOW)
    app.disconnect()
    qm.stop()
    account = only_queue(smf)
    assert 0 < account.put_cpu <= account.put_elapsed


def test_calls_that_stand_for_others_bring_no_more_cpu_than_there_was_time():
    """VE5: gets that are looked at for their time, one in many also for its CPU, and that one is dear."""
    verb = Verb()
    for _ in range(CLOCKED_ALWAYS):
        verb.entered()
        verb.clocked(1000, verb.took(1000))
    for _ in range(100):
        verb.entered()
        verb.took(10)
    assert CLOCKED_ALWAYS * 1000 + 1000 == verb.elapsed_total_ns() == verb.cpu_total_ns()


def test_the_cpu_time_of_a_get_is_without_that_of_its_wait(monkeypatch, work):
    """AC3: falling asleep and waking up took a millisecond of CPU, and the wait a second."""
    app, clock, end = work

    def sleep(*_):
        clock.advance(seconds=1)
        clock.cpu += 1_000_000
        return False

    monkeypatch.setattr(Handle, "_block", sleep)
    queue = app.open("ORDERS", 1)
    for _ in range(20):
        with pytest.raises(MQError):
            queue.get(GET_NOW, wait_ms=1000)
    account = end()
    assert (20, 0, 0) == (account.gets, account.get_elapsed, account.get_cpu)


def test_a_wait_for_the_latch_behind_a_wait_for_a_message_is_part_of_the_call(monkeypatch, work):
    """AC3, AC5: the message was there after a second, the latch five microseconds later."""
    app, clock, end = work

    def sleep(handle, *_):
        clock.advance(seconds=1)
        clock.us += 5
        handle.tally.task.latch_waited(5000)
        return False

    monkeypatch.setattr(Handle, "_block", sleep)
    queue = app.open("ORDERS", 1)
    for _ in range(20):
        with pytest.raises(MQError):
            queue.get(GET_NOW, wait_ms=1000)
    account = end()
    assert (20, 20 * 5 * US) == (account.gets, account.get_elapsed)


def test_live_records_print_as_the_papers_programs_print_them(work, tmp_path):
    with quaestor.connect("QM1", tmp_path, application="PRINTED", trace="stat,acctg(1,3)") as app:
        app.define(LocalQueue("ORDERS"))
        with app.open("ORDERS") as queue:
            for _ in range(40):
                queue.put(b"x" * 70)
                app.commit()
                queue.get()
                app.commit()
    (dump,) = (tmp_path / "smf").iterdir()
    found = list(read_dump(dump))
    mq1150 = "\n".join(line for record in found if record.header.record_type == 115 for line in printout(record))
    mq1160 = "\n".join(
        line for r in found if (116, 0) == (r.header.record_type, r.header.subtype) for line in printout(r)
    )
    (task,) = tasks(found)
    mq116s = "\n".join(task_printout(task))
    assert "#MQGET         40 #MQPUT         40 #MQPUT1          0" in mq1150
    assert "PRINTED" in mq1160
    assert "Commit : Count      80" in mq116s
    assert "Total Requests:         82" in mq116s
    assert (
        "GETs: Valid         40 Max size         70 Min Size         70 Total bytes 0000000000000AF0 (2800)" in mq116s
    )
    app, _, end = work
    app.put("ORDERS", b"x", None, NOW)
    assert 1 == end().put1s


def test_records_of_a_task_with_many_queues_go_on_in_116_2():
    qm, _, smf = queue_manager("acctg(3)")
    app = qm.connect("ALICE", "JOB")
    for number in range(25):
        app.define(LocalQueue(f"Q{number}"))
        app.put(f"Q{number}", b"x", None, NOW)
    app.disconnect()
    qm.stop()
    (task,) = tasks(records(smf))
    assert 25 == len(task.queues)
    assert {"116-1", "116-2"} == {f"116-{record.header.subtype}" for record in records(smf)}


def test_a_task_answers_for_what_it_logged_itself():
    """Calls of another task and background work log in between; neither is charged to the one, and all is charged."""
    qm, _, smf = queue_manager("acctg(3)")
    apps = [qm.connect("ALICE", name) for name in ("ONE", "OTHER")]
    apps[0].define(LocalQueue("ORDERS", share=True, def_exclusive=False, def_persistent=True))
    queues, log, grown = [app.open("ORDERS") for app in apps], qm.engine.log, [0, 0]
    before = log.end
    for number in range(6):
        for which in (0, 1):
            start = log.end
            queues[which].put(bytes(100 * number), None, NOW if number % 2 else PutOptions.NONE)
            apps[which].commit()
            grown[which] += log.end - start
        with qm.engine.recovery.latch:
            qm.engine.recovery.checkpoint()
    for app in apps:
        start = log.end
        app.disconnect()
        assert start == log.end
    qm.stop()
    figures = {task.identification.connection_name.strip(): task.accounting for task in tasks(records(smf))}
    assert sum(grown) < log.end - before
    assert grown[1] == figures["OTHER"].log_bytes
    assert 3 * 2 + 3 * 1 == figures["OTHER"].log_writes


def puts_of_each_record(app, qm, clock, smf, queue):
    """Four puts, three of them behind the ends of intervals; then the end."""
    queue.put(b"x", None, NOW)
    for _ in range(3):
        clock.advance(seconds=61)
        qm.scheduler.run_due()
        queue.put(b"x", None, NOW)
    queue.close()
    app.disconnect()
    qm.stop()
    return [(account.puts, account.open_now) for account in sections(smf, "WQST")]


def test_a_queue_that_was_open_before_accounting_began_is_not_forgotten():
    """AK3: it was never opened, as far as its account knows."""
    qm, clock, smf = queue_manager("")
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS"))
    queue = app.open("ORDERS")
    qm.statistics.start("ACCTG", (3,))
    assert [(2, 1), (1, 1), (1, 0)] == puts_of_each_record(app, qm, clock, smf, queue)


def test_a_queue_that_could_not_be_closed_is_not_forgotten():
    """AK3: the close that failed is a call all the same."""
    qm, clock, smf = queue_manager("acctg(3)")
    app = qm.connect("ALICE", "JOB")
    app.define(quaestor.ModelQueue("MODEL", definition=DefinitionType.PERMDYN))
    queue = app.open("MODEL")
    queue.put(b"x", None, NOW)
    with pytest.raises(MQError, match="2055"):
        queue.close(CloseOptions.DELETE)
    assert [(3, 1), (1, 1), (1, 0)] == puts_of_each_record(app, qm, clock, smf, queue)


@pytest.mark.parametrize("options", ["x", None, []])
def test_options_that_are_no_number_are_refused_to_an_accounted_application_too(work, options):
    """NO1: the same answer, whether or not somebody counts it."""
    app, _, end = work
    queue = app.open("ORDERS")
    with pytest.raises(MQError, match="2046"):
        queue.get(options)
    with pytest.raises(MQError, match="2046"):
        queue.look(options, 0, None)
    assert (2, 2, 0) == ((account := end()).gets, account.gets_any, account.valid_gets)


@pytest.mark.parametrize("browsed", [False, True])
def test_a_wait_that_ends_is_what_it_was_whatever_others_did_meanwhile(work, browsed):
    """AC2: two handles on one queue; one waits by looking again, the other does something else."""
    app, _, end = work
    waiter, other = (app.open("ORDERS", 1 | 8 | 16) for _ in range(2))
    mine, others = (GetOptions.BROWSE_NEXT, GET_NOW) if browsed else (GET_NOW, GetOptions.BROWSE_NEXT)
    waiting = waiter.look(mine, 1000, None)
    with pytest.raises(MQError):
        other.get(others)
    other.put(b"x", None, NOW)
    assert waiter.look(mine, 1000, waiting).body == b"x"
    account = end()
    assert (1, not browsed) == (account.valid_gets, account.valid_destructive_gets)


def test_unlocking_brings_no_message(work):
    """F-8, F-9: neither a message of no bytes nor time on the queue; also where calls are no longer clocked."""
    app, _, end = work
    queue = app.open("ORDERS", 1 | 8 | 16)
    queue.put(b"abc", None, NOW)
    for _ in range(CLOCKED_ALWAYS):
        queue.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK)
        queue.get(GetOptions.UNLOCK)
    account = end()
    assert (2 * CLOCKED_ALWAYS, CLOCKED_ALWAYS, 0) == (account.gets, account.valid_gets, account.valid_destructive_gets)
    assert (3, 3, 0) == (account.get_size_low, account.get_size_high, account.on_queue_elapsed)


def test_reports_of_what_had_expired_are_generated_messages(work):
    app, clock, end = work
    app.define(LocalQueue("REPORTS"))
    queue = app.open("ORDERS")
    queue.put(b"x", MQMD(expiry=1, report=int(Report.EXPIRATION | Report.COA), reply_to_q="REPORTS"), NOW)
    queue.put(b"x", MQMD(expiry=1), NOW)
    clock.advance(seconds=1)
    with pytest.raises(MQError):
        queue.get(GET_NOW)
    account = end()
    assert (2, 2) == (account.generated_messages, account.messages_expired)


def test_calls_that_overlap_take_no_time_away():
    """VE6: two tasks of asyncio; what the long call waits for is seen by the short one, too."""
    verb = Verb()
    for _ in range(CLOCKED_ALWAYS):
        verb.entered()
        verb.entered()
        verb.waited(10_000)
        for elapsed_ns in (1_000, 11_000):
            verb.clocked(0, verb.took(elapsed_ns))
    clocked_ns = verb.elapsed_total_ns()
    for _ in range(CLOCKED_EVERY):
        verb.passed()
    assert verb.elapsed_total_ns() >= clocked_ns > 0


def test_many_tasks_of_asyncio_are_accounted_for_as_one(tmp_path):
    async def work(queue):
        for _ in range(CLOCKED_ALWAYS):
            await queue.put("x", MQMD(persistence=1), NOW)
            await queue.put("y", None, NOW)
            await queue.get(GET_NOW, wait_ms=5)

    async def main():
        async with await quaestor.connect_async("QM1", tmp_path, trace="acctg(1,3)") as app:
            await app.define(LocalQueue("ORDERS"))
            async with await app.open("ORDERS") as queue:
                await asyncio.gather(*(work(queue) for _ in range(8)))

    asyncio.run(main())
    (dump,) = (tmp_path / "smf").iterdir()
    (task,) = tasks(read_dump(dump))
    (queue,) = task.queues
    assert (16 * CLOCKED_ALWAYS, 8 * CLOCKED_ALWAYS) == (queue.puts, queue.gets)
    assert queue.put_elapsed > queue.put_log_force_elapsed > 0
