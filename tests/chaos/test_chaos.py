"""Chaos, bounded: three members and their clients as real processes; kill -9, pauses and cuts; then the reckoning.

A few rounds of each engine, with faults that together touch everything; `make chaos` goes on for as long as one likes.
Networks are cut by pulling the cables of namespaces where those can be made, and by proxies where not.
"""

import pytest

from chaos.rounds import run_round
from chaos.world import DECIDES, KINDS, TRIGGERS
from servers import redis_program

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.xdist_group("chaos")]

ROUNDS = [
    ("facility", KINDS, [["member"], ["store", "pause"]], 1),
    ("facility", DECIDES, [["cut", "client"], ["two members", "cut two"]], 2),
    ("redis", KINDS, [["store", "member"], ["repository", "cut"]], 3),
    ("forgetful", TRIGGERS, [["late", "member"], ["store"]], 4),
]
"""Plain work, units in doubt, triggering."""


def named(value):
    if isinstance(value, tuple):
        return value[-1]
    return value if not isinstance(value, list) else ",".join("+".join(each) for each in value)


@pytest.mark.parametrize(("engine", "kinds", "faults", "seed"), ROUNDS, ids=named)
def test_every_confirmed_message_is_delivered_once(tmp_path, engine, kinds, faults, seed):
    if engine != "facility":
        redis_program()
    problems, events = run_round(tmp_path, engine, faults, seed, kinds=kinds)
    assert [] == problems, problems
    assert events > 200


def test_ways_are_cut_by_proxies_where_namespaces_cannot_be_made(tmp_path):
    redis_program()
    problems, _ = run_round(tmp_path, "forgetful", [["cut", "repository cut"]], 5, namespaces=False)
    assert [] == problems, problems
