"""Questions put to small workloads that tests write, and what is answered."""

from quaestor.planner.answer import Unanswered
from quaestor.planner.answers import in_order
from quaestor.planner.questions.load import Load
from quaestor.planner.workload_file import parse

GIB = 1 << 30
QUESTIONS = {each.number: each for each in in_order()}
HEAD = '[queue_manager]\nname = "Q"\n'
ORDERS = """
[[flow]]
queue = "ORDERS"
size = 1024
rate = 100
peak = 2
persistent = true
page_set = 1
outage = "1 h"
life = "1 s"
"""
LOOKUPS = """
[[flow]]
queue = "LOOKUPS"
size = 4096
rate = 50
persistent = false
page_set = 1
outage = "10 min"
life = "100 s"
indexed = true
"""
PLACES = """
[[page_set]]
number = 1
size = "4G"
buffer_pool = 3
[[buffer_pool]]
number = 3
buffers = 50_000
"""
FACILITY = "[coupling_facility]\ncfcc_level = 22\n"
SHARED = """
[[flow]]
queue = "S"
size = 1024
rate = 100
persistent = true
shared = true
outage = "100 s"
"""
PEAK_LOG = 200 * (2088 + 492)  # T-3, T-4 [635-648]: put and get of 1 KB, one to a commit


def asked(number, *parts, head=HEAD):
    """What is answered, and what is not."""
    return QUESTIONS[number].answers(Load(parse(head + "".join(parts), "w")))


def answers(number, *parts):
    """Values by (about, what)."""
    found, _ = asked(number, *parts)
    return {(each.about, each.what): each.value for each in found}


def rooms(number, *parts):
    found, _ = asked(number, *parts)
    return {each.about: each.head_room for each in found}


def lacking(number, *parts):
    found, without = asked(number, *parts)
    assert [] == found
    assert all(isinstance(each, Unanswered) for each in without)
    return [each.why for each in without]
