"""Rates: puts and gets one by one, a hundred per commit, non-persistent, from eight threads, with accounting on."""

import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from engine import contestants
from engine.contestants import BODY, AtOnce, Contestant, Disk, Lmdb, Quaestor, Singly, Sqlite, contest, installed
from engine.table import Rounds, ahead, every_round, medians, share, show, verdict
from quaestor.embedded import Operator, operate
from quaestor.qmgr.log import manager as log_manager

BATCH, THREADS = 100, 8
FIRST = 5
"""Calls at the beginning of a turn that are not counted, where a turn is short."""

COMPILED = bool(log_manager.__file__ and log_manager.__file__.endswith(".so"))
"""Whether this is the build of `make compile`, which is measured against LMDB too."""

SINGLE, ONE_PROCESSOR = "quaestor, one thread", "quaestor, on one processor"
TRACES = ("TRACE(ACCTG) CLASS(3)", "TRACE(STAT) CLASS(1)")


def one_per_commit(directory: Path, rounds: int, each: int = 100) -> None:
    """Persistent, one message per commit; the queue is as deep after a round as before it.

    The promise of the disk is on one call for message and commit, which is what the peers have; beside it put, then
    commit, which is judged against the peers too. Rounds are short and many, and ours is compared with the disk round
    by round: what the disk allows differs by a fifth from one tenth of a second to the next. Nobody's first calls of a
    turn are counted: they are those of a program that was asleep while the others had their turns.
    """
    disk = Disk(directory)
    with contest(directory) as everybody:
        rates = with_gets([*everybody, AtOnce(everybody[0])], rounds * 9, each, disk)
    puts, gets = its_own(rates, "put "), its_own(rates, "get ")
    allowed = [
        (f"{name}, of what the disk allows", share(puts, name, disk.name), "at least 0.85")
        for name in (AtOnce.name, "quaestor")
    ]
    show("persistent put, one per commit", puts, *allowed, *ours_ahead(puts, besides=[disk.name]))
    show("persistent get, one per commit", gets, *ours_ahead(gets))


def ours_ahead(rates: Rounds, besides: Sequence[str] = ()) -> list[tuple[str, float, str]]:
    """Both ways to commit one message, each against the peers."""
    one_call, two_calls = AtOnce.name, "quaestor"
    told = []
    for name, other in ((one_call, two_calls), (two_calls, one_call)):
        what, ratio, least = ahead(rates, besides=[*besides, other], ours=name)
        told.append((f"{name}, {what}", ratio, least))
    return told


def with_gets(there: list[Contestant], rounds: int, each: int, disk: Disk) -> Rounds:
    """Everybody puts, then everybody gets, in every round."""
    put = [(f"put {disk.name}", disk.write, each)]
    put += [(f"put {one.name}", partial(repeat_put, one), each) for one in there]
    get = [(f"get {one.name}", partial(repeat_get, one), each) for one in there]
    return every_round(
        [
            [(name, partial(work, each), each, partial(work, FIRST)) for name, work, each in turns]
            for turns in (put, get)
        ],
        rounds,
    )


def its_own(rates: Rounds, verb: str) -> Rounds:
    """Those of one verb, by the name of who was measured."""
    return {name.removeprefix(verb): each for name, each in rates.items() if name.startswith(verb)}


def repeat_put(one: Contestant, times: int, batch: int = 1) -> None:
    bodies = (BODY,) * batch
    for _ in range(times):
        one.put(bodies)


def repeat_get(one: Contestant, times: int, batch: int = 1) -> None:
    for _ in range(times):
        one.get(batch)


def hundred_per_commit(directory: Path, rounds: int, times: int = 100) -> None:
    """Persistent, a hundred per commit; persist-queue and huey have no such unit for gets.

    The promise is on one call for the hundred, which is what the peers have; beside it the same with a call for each.
    """
    with contest(directory) as everybody:
        there = [one for one in everybody if one.name != "persist-queue"]
        units = [one for one in there if one.name != "huey-sqlite"]
        singly = Singly(there[0])
        puts = [(f"put {one.name}", partial(repeat_put, one, times, BATCH), times * BATCH) for one in (*there, singly)]
        gets = [(f"get {one.name}", partial(repeat_get, one, times, BATCH), times * BATCH) for one in (*units, singly)]
        rates = every_round([puts, gets], rounds * 2)
    put, get = its_own(rates, "put "), its_own(rates, "get ")
    del get[Singly.name]
    behind = ["SQLite", "LMDB"] if COMPILED and "LMDB" in put else ["SQLite"]
    show(
        "persistent put, 100 per commit",
        put,
        *((f"of {one}", share(put, "quaestor", one), "at least 1") for one in behind),
    )
    show("persistent get, 100 per commit", get)


def not_persistent(directory: Path, rounds: int, count: int = 10_000) -> None:
    """Out of syncpoint, never logged; the peers without syncing."""
    peers = list(installed([partial(Sqlite, directory, "off"), partial(Lmdb, directory, sync=False)]))
    with closing(Quaestor(directory)) as ours:
        puts = [("put quaestor", partial(ours.put_volatile, count), count)]
        puts += [(f"put {one.name}", partial(repeat_put, one, count // 4), count // 4) for one in peers]
        gets = [("get quaestor", partial(ours.get_volatile, count), count)]
        gets += [(f"get {one.name}", partial(repeat_get, one, count // 4), count // 4) for one in peers]
        rates = every_round([puts, gets], rounds * 2)
    for verb, least in (("put", 100_000), ("get", 60_000)):
        some = its_own(rates, f"{verb} ")
        a_second = medians(some)["quaestor"]
        show(f"non-persistent {verb}", some, ("a second", a_second, f"at least {least}"), ahead(some))


def eight_threads(directory: Path, rounds: int, each: int = 75) -> None:
    """Eight threads, each putting and getting persistently, every call its own commit.

    The queue manager twice: as it comes, and with threads that share a processor while they commit together (ADR 58).
    """
    with contest(directory) as everybody, closing(on_one_processor(directory)) as ours:
        turns = [(SINGLE, partial(pairs, everybody[0], each * 4), each * 8)]
        for one in (*everybody, ours):
            its = [one.for_thread() for _ in range(THREADS)]
            turns.append((one.name, partial(together, its, each), each * 2 * THREADS))
        rates = every_round([turns], rounds * 2)
    ways = {"": "quaestor", " on one processor": ONE_PROCESSOR}
    over_one = [(f"8 threads{how} over one", share(rates, name, SINGLE), "at least 2") for how, name in ways.items()]
    show("8 threads, put and get: commits", rates, ahead(rates, besides=[SINGLE, ONE_PROCESSOR]), *over_one)


def on_one_processor(directory: Path) -> Quaestor:
    made = Quaestor(directory / "one-processor", settings=replace(contestants.SETTINGS, one_processor=True))
    made.name = ONE_PROCESSOR
    return made


def together(ways: Sequence[Contestant], each: int) -> None:
    """Every thread with its own way to the queue, made beforehand; one that fails fails the run."""
    with ThreadPoolExecutor(len(ways)) as pool:
        for done in [pool.submit(pairs, way, each) for way in ways]:
            done.result()


def pairs(one: Contestant, each: int) -> None:
    for _ in range(each):
        one.put((BODY,))
        one.get(1)


def accounting(directory: Path, rounds: int) -> None:
    """The same work with class 3 accounting and statistics off and on, in turns, the order changing."""
    with closing(Quaestor(directory)) as ours, closing(operate("BENCH", directory / "quaestor")) as operator:
        _accounting(ours, operator, rounds)


def _accounting(ours: Quaestor, operator: Operator, rounds: int) -> None:
    """Where there is no disk a round is short, and they are many, so that neighbours even out."""
    works: list[tuple[str, int, Callable[[], None]]] = [
        ("persistent, one per commit", rounds * 6, lambda: pairs(ours, 150)),
        (
            "persistent, 100 per commit",
            rounds * 20,
            lambda: (repeat_put(ours, 10, BATCH), repeat_get(ours, 10, BATCH))[0],
        ),
        ("non-persistent", rounds * 30, lambda: (ours.put_volatile(1500), ours.get_volatile(1500))[0]),
    ]
    for name, times, work in works:
        slower = []
        for number in range(times):
            took = {}
            for traced in (False, True) if number % 2 else (True, False):
                for trace in TRACES if traced else ():
                    operator.run(f"START {trace}")
                work()
                took[traced] = _seconds(work)
                for trace in TRACES if traced else ():
                    operator.run(f"STOP {trace.split()[0]}")
            slower.append((took[True] / took[False] - 1) * 100)
        print(f"\nput and get, {name}: class 3 and statistics on against off, {times} rounds")
        verdict(("percent slower, median of rounds", statistics.median(slower), "at most 10"))


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
