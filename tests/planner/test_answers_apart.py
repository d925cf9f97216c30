"""What one queue, page set or structure lacks does not silence the others (A2)."""

import pytest

from quaestor.planner.answers import plan
from quaestor.planner.questions.catalog import QUESTIONS
from quaestor.planner.questions.load import Load
from quaestor.planner.workload_file import parse

HEAD = '[queue_manager]\nname = "Q"\n'
GONE, PLACED = "GONE", "PLACED"


def flow(name, more="", size='"1k"', rate='"5/s"', persistent="true"):
    return f'[[flow]]\nqueue = "{name}"\nsize = {size}\nrate = {rate}\npersistent = {persistent}\n{more}\n'


def page_set(number, size):
    return f'[[page_set]]\nnumber = {number}\nsize = "{size}"\nbuffer_pool = 1\n'


def told(number, written):
    """What is answered, and what is not, by the thing it is about."""
    found, without = QUESTIONS[number].answers(Load(parse(HEAD + written, "w")))
    return [each.about for each in found], {each.about: each.why for each in without}


@pytest.mark.parametrize("number", ["ch1-15", "ch1-17"])
@pytest.mark.parametrize("places", [(GONE, PLACED), (PLACED, GONE)], ids=str)
def test_a_queue_without_a_page_set_leaves_the_others_their_answers(number, places):
    flows = "".join(flow(name, "page_set = 1" if name == PLACED else "") for name in places)
    found, without = told(number, flows + page_set(1, "1G"))
    assert [PLACED] == found
    assert {GONE: "the workload lacks the page set of GONE"} == without


def test_a_queue_that_nobody_puts_to_does_not_make_its_page_set_expand():
    flows = flow("IDLE", rate='"0/s"') + flow(PLACED, "page_set = 1")
    assert ([PLACED], {}) == told("ch1-17", flows + page_set(1, "1G"))


@pytest.mark.parametrize("sizes", [("64G", "1G"), ("1G", "64G")], ids=str)
def test_a_page_set_too_large_for_the_target_leaves_the_others_their_interval(sizes):
    """20 minutes less 10 to react: 64 GiB take 902 s to restore, 1 GiB takes 14."""
    sets = "".join(page_set(number, size) for number, size in enumerate(sizes, start=1))
    found, without = told("ch1-19", f'[targets]\npage_set_recovery = "20 min"\n{flow("A", "page_set = 1")}{sets}')
    large, small = (f"page set {1 + sizes.index(size)}" for size in ("64G", "1G"))
    assert [small] == found
    assert {large: "target_s 1200 is not valid: more than 1502.00086022"} == without


def test_what_no_page_set_can_have_is_said_once():
    sets = page_set(1, "1G") + page_set(2, "1G")
    found, without = told("ch1-19", flow("A", "page_set = 1", persistent="false") + sets)
    assert [] == found
    assert {"": "the workload lacks a persistent [[flow]] with a rate above 0"} == without


def test_a_size_that_was_not_measured_leaves_the_other_queues_their_engines():
    facility = "[coupling_facility]\ncfcc_level = 22\n"
    shared = flow("LARGE", "shared = true", size='"90M"') + flow("SMALL", "shared = true", size='"4k"')
    found, without = told("ch4-19", facility + shared)
    assert ["SMALL"] == found
    assert ["LARGE"] == list(without)
    assert "message_bytes 94371840 is not valid" in without["LARGE"]


def test_a_plan_names_the_thing_that_is_not_answered():
    made = plan(parse(HEAD + flow(GONE) + flow(PLACED, "page_set = 1") + page_set(1, "1G"), "w"))
    assert {
        "ch1-15": "GONE: the workload lacks the page set of GONE",
        "ch1-7": "the workload lacks [dasd]",
    } == {each.number: each.said for each in made.unanswered if each.number in ("ch1-15", "ch1-7")}


def parts(number, written, head=HEAD):
    """What is answered, and why the rest is not."""
    found, without = QUESTIONS[number].answers(Load(parse(head + written, "w")))
    return [each.what for each in found], [each.why for each in without]


def test_io_times_are_known_of_all_queues_without_the_time_of_one():
    found, without = told("ch4-9", flow("A") + flow("B") + '[dasd]\ntype = "DS8800 (RAID 5)"\n')
    assert ["A", "B"] == found
    assert {"": "the workload lacks [dasd] log_io_time"} == without


def test_users_and_cluster_take_storage_however_many_connect():
    head = f'{HEAD}users = 10\ncluster_configuration = "1 MB"\n'
    found, without = parts("ch1-42", flow("A"), head)
    assert ["users", "cluster cache"] == found
    assert ["the workload lacks [queue_manager] connections"] == without


def test_what_waiters_add_to_a_get_is_known_without_the_cost_of_a_put():
    found, without = parts("ch4-21", flow("A") + '[accounting]\nclass = 3\ntransactions = "1/s"\nget_us = 40\n')
    assert [
        "a get with 1 waiting",
        "a get with single-byte conversion",
        "a get with double-byte conversion",
    ] == found
    assert ["the workload lacks [accounting] put_us, as class 3 records have it"] == without
