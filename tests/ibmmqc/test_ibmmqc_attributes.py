"""The numbered selectors of MQINQ and MQSET."""

import pytest

from ibmmqc.attributes import NUMBERS, TEXTS, Inquired, inquire, settings
from quaestor.mqi.objects import OBJECT_TYPES, attributes_of
from quaestor.mqi.reasons import MQError, Reason

VALUES = {"GET": True, "PUT": False, "CURDEPTH": 7, "PROCESS": "BILL"}
QUEUE = Inquired("ORDERS", 1, lambda keyword: {keyword: VALUES[keyword]})
MOVING = {"CURDEPTH", "IPPROCS", "OPPROCS"}


def test_every_selector_means_an_attribute_that_exists():
    known = {a.keyword for kind in OBJECT_TYPES.values() for a in attributes_of(kind).values()} | MOVING
    assert set() == {number.keyword for number in NUMBERS.values()} - known
    assert set() == {keyword for keyword, _ in TEXTS.values()} - known


def test_numbers_and_texts_come_in_the_order_asked_for():
    numbers, text = inquire(QUEUE, [3, 2016, 9, 10, 2012, 20])
    assert [7, 0, 1, 1] == numbers
    assert b"ORDERS".ljust(48) + b"BILL".ljust(48) == text


def test_what_holds_for_every_queue_manager():
    assert ([9, 1, 900, 3], b"QM1".ljust(48)) == inquire(Inquired("QM1", 0, dict), [14, 30, 31, 32, 2015])


@pytest.mark.parametrize("selector", [0, 20, 999, 2999])
def test_a_selector_nobody_knows(selector):
    with pytest.raises(MQError) as refused:
        inquire(Inquired("QM1", 0, dict), [selector])
    assert Reason.SELECTOR_ERROR is refused.value.reason


def test_settings_by_keyword():
    assert {"PUT": False, "TRIGDATA": "go", "TRIGGER": True} == settings([10, 2023, 24], [1, 1], b"go".ljust(64))


@pytest.mark.parametrize(("selectors", "numbers"), [([999], [1]), ([10, 9], [1])])
def test_a_setting_that_means_nothing(selectors, numbers):
    with pytest.raises(MQError) as refused:
        settings(selectors, numbers, b"")
    assert Reason.SELECTOR_ERROR is refused.value.reason
