"""What options mean, and which contradict each other (P1-P5)."""

from itertools import combinations

import pytest

from quaestor.mqi import options
from quaestor.mqi.options import (
    CloseOptions,
    GetOptions,
    OpenOptions,
    PutOptions,
    check_close,
    check_open,
    get_plan,
    has,
    put1_plan,
    put_plan,
)
from quaestor.mqi.reasons import MQError, Reason

NO_NUMBERS = [None, "16", 16.0, b"\x10", True, False]
OO, PMO, GMO = OpenOptions, PutOptions, GetOptions


def why(call, value):
    """Why options are refused; 2046 is the only reason there is (P1)."""
    with pytest.raises(MQError) as refused:
        call(value)
    assert Reason.OPTIONS_ERROR is refused.value.reason
    assert value == refused.value.facts["options"]
    return refused.value.facts["why"]


@pytest.mark.parametrize("call", [check_open, check_close, put_plan, put1_plan, get_plan])
@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_is_no_option(call, value):
    assert "not a number" == why(call, value)


@pytest.mark.parametrize(
    ("value", "bits", "there"),
    [
        (6, 2, True),
        (6, 1, False),
        (0, 1, False),
        (PMO.SYNCPOINT, 2, True),
        (True, 1, True),
        ("2", 2, False),
        (None, 1, False),
    ],
)
def test_a_bit_of_what_may_be_a_number(value, bits, there):
    assert there is has(value, bits)


# --- open ------------------------------------------------------------------------------------------------------------

USES = [OO.INPUT_AS_Q_DEF, OO.INPUT_SHARED, OO.INPUT_EXCLUSIVE, OO.BROWSE, OO.OUTPUT, OO.INQUIRE, OO.SET]
INPUTS = USES[:3]
CONTEXTS = [OO.PASS_IDENTITY_CONTEXT, OO.PASS_ALL_CONTEXT, OO.SET_IDENTITY_CONTEXT, OO.SET_ALL_CONTEXT]


@pytest.mark.parametrize("use", USES)
def test_a_handle_is_for_one_of_these_at_least(use):
    check_open(use)
    check_open(use | OO.ALTERNATE_USER_AUTHORITY | OO.FAIL_IF_QUIESCING | OO.READ_AHEAD)


@pytest.mark.parametrize("rest", [0, OO.ALTERNATE_USER_AUTHORITY, OO.FAIL_IF_QUIESCING, OO.READ_AHEAD])
def test_a_handle_that_is_for_nothing(rest):
    assert "neither input, browse, output, inquire nor set" == why(check_open, rest)


@pytest.mark.parametrize(("one", "other"), list(combinations(INPUTS, 2)))
def test_one_way_of_input_at_most(one, other):
    assert "more than one input option" == why(check_open, one | other)


@pytest.mark.parametrize("use", USES)
def test_context_is_saved_on_input_only(use):
    if use in INPUTS:
        check_open(use | OO.SAVE_ALL_CONTEXT)
    else:
        assert "context can be saved on input only" == why(check_open, use | OO.SAVE_ALL_CONTEXT)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("context", CONTEXTS)
def test_context_is_passed_and_set_on_output_only(use, context):
    if use is OO.OUTPUT:
        check_open(use | context)
    else:
        assert "context can be passed or set on output only" == why(check_open, use | context)


@pytest.mark.parametrize("bit", [1 << n for n in range(13, 33) if 1 << n not in (OO.FAIL_IF_QUIESCING, OO.READ_AHEAD)])
def test_an_open_option_that_nobody_knows(bit):
    assert "unknown option" == why(check_open, OO.OUTPUT | bit)


@pytest.mark.parametrize("value", [CloseOptions.NONE, CloseOptions.DELETE, CloseOptions.DELETE_PURGE, 0, 1, 2])
def test_a_queue_is_kept_deleted_or_purged(value):
    check_close(value)


@pytest.mark.parametrize("value", [3, 4, 5, 1 << 20, -1])
def test_what_a_close_cannot_do(value):
    assert "not one of NONE, DELETE, DELETE_PURGE" == why(check_close, value)


# --- put -------------------------------------------------------------------------------------------------------------

PLAIN_PUT = {
    "in_syncpoint": True,
    "new_msg_id": False,
    "new_correl_id": False,
    "logical_order": False,
    "fail_if_quiescing": False,
    "context": 0,
    "plain": True,
}
PUT_CONTEXTS = [
    PMO.DEFAULT_CONTEXT,
    PMO.PASS_IDENTITY_CONTEXT,
    PMO.PASS_ALL_CONTEXT,
    PMO.SET_IDENTITY_CONTEXT,
    PMO.SET_ALL_CONTEXT,
    PMO.NO_CONTEXT,
]


@pytest.mark.parametrize(
    ("bits", "changed"),
    [
        (0, {}),
        (PMO.SYNCPOINT, {}),
        (PMO.NO_SYNCPOINT, {"in_syncpoint": False}),
        (PMO.NEW_MSG_ID, {"new_msg_id": True, "plain": False}),
        (PMO.NEW_CORREL_ID, {"new_correl_id": True, "plain": False}),
        (PMO.LOGICAL_ORDER, {"logical_order": True, "plain": False}),
        (PMO.FAIL_IF_QUIESCING, {"fail_if_quiescing": True}),
        (PMO.ALTERNATE_USER_AUTHORITY, {}),
        (PMO.ASYNC_RESPONSE, {}),
        (PMO.DEFAULT_CONTEXT, {}),
        *((context, {"context": int(context)}) for context in PUT_CONTEXTS[1:]),
    ],
)
def test_what_a_put_option_changes(bits, changed):
    """P2: without one it is in syncpoint."""
    assert PLAIN_PUT | changed == put_plan(int(bits))._asdict()
    if not bits & PMO.LOGICAL_ORDER:
        assert put_plan(bits) == put1_plan(bits)


def test_a_put_is_in_or_out_of_syncpoint():
    assert "both in and out of syncpoint" == why(put_plan, PMO.SYNCPOINT | PMO.NO_SYNCPOINT)


@pytest.mark.parametrize(("one", "other"), list(combinations(PUT_CONTEXTS, 2)))
def test_one_context_at_most(one, other):
    assert "more than one context option" == why(put_plan, one | other)


@pytest.mark.parametrize("bit", [1, 8, 16, 1 << 17, 1 << 18, 1 << 31, 1 << 32])
def test_a_put_option_that_nobody_knows(bit):
    assert "unknown option" == why(put_plan, bit)


def test_a_put1_has_no_handle_that_knows_its_group():
    """P5."""
    assert "MQPUT1 is not in logical order" == why(put1_plan, PMO.LOGICAL_ORDER)
    assert put_plan(PMO.LOGICAL_ORDER).logical_order


# --- get -------------------------------------------------------------------------------------------------------------

PLAIN_GET = {
    "wait": False,
    "in_syncpoint": True,
    "if_persistent": False,
    "browse": 0,
    "under_cursor": False,
    "lock": False,
    "unlock": False,
    "truncate": False,
    "logical_order": False,
    "all_available": False,
    "fail_if_quiescing": False,
    "marks": False,
    "plain": True,
}
BROWSES = [GMO.BROWSE_FIRST, GMO.BROWSE_NEXT, GMO.BROWSE_MSG_UNDER_CURSOR]


def browsing(how, **more):
    return {"browse": int(how), "in_syncpoint": False, "plain": False, **more}


@pytest.mark.parametrize(
    ("bits", "changed"),
    [
        (0, {}),
        (GMO.SYNCPOINT, {}),
        (GMO.NO_SYNCPOINT, {"in_syncpoint": False}),
        (GMO.SYNCPOINT_IF_PERSISTENT, {"in_syncpoint": False, "if_persistent": True}),
        (GMO.WAIT, {"wait": True}),
        (GMO.ACCEPT_TRUNCATED_MSG, {"truncate": True}),
        (GMO.FAIL_IF_QUIESCING, {"fail_if_quiescing": True}),
        (GMO.MSG_UNDER_CURSOR, {"under_cursor": True, "plain": False}),
        (GMO.MSG_UNDER_CURSOR | GMO.WAIT, {"under_cursor": True, "plain": False}),  # P4
        (GMO.LOGICAL_ORDER, {"logical_order": True, "plain": False}),
        (GMO.ALL_MSGS_AVAILABLE, {"all_available": True, "plain": False}),
        (GMO.MARK_SKIP_BACKOUT, {"marks": True, "plain": False}),
        (GMO.MARK_SKIP_BACKOUT | GMO.SYNCPOINT, {"marks": True, "plain": False}),
        (GMO.UNLOCK, {"unlock": True, "plain": False}),
        (GMO.UNLOCK | GMO.NO_SYNCPOINT, {"unlock": True, "in_syncpoint": False, "plain": False}),
        *((how, browsing(how)) for how in BROWSES),
        *((how | GMO.NO_SYNCPOINT, browsing(how)) for how in BROWSES),
        *((how | GMO.LOCK, browsing(how, lock=True)) for how in BROWSES),
        (GMO.BROWSE_FIRST | GMO.WAIT, browsing(GMO.BROWSE_FIRST, wait=True)),
        (GMO.BROWSE_NEXT | GMO.WAIT, browsing(GMO.BROWSE_NEXT, wait=True)),
        (GMO.BROWSE_MSG_UNDER_CURSOR | GMO.WAIT, browsing(GMO.BROWSE_MSG_UNDER_CURSOR)),  # P4
    ],
)
def test_what_a_get_option_changes(bits, changed):
    assert PLAIN_GET | changed == get_plan(int(bits))._asdict()


@pytest.mark.parametrize(("one", "other"), list(combinations([*BROWSES, GMO.MSG_UNDER_CURSOR], 2)))
def test_one_place_at_most(one, other):
    assert "more than one of browse and cursor" == why(get_plan, one | other)


@pytest.mark.parametrize(
    ("one", "other"), list(combinations([GMO.SYNCPOINT, GMO.NO_SYNCPOINT, GMO.SYNCPOINT_IF_PERSISTENT], 2))
)
def test_one_syncpoint_option_at_most(one, other):
    assert "more than one syncpoint option" == why(get_plan, one | other)


@pytest.mark.parametrize("how", BROWSES)
@pytest.mark.parametrize("unit", [GMO.SYNCPOINT, GMO.SYNCPOINT_IF_PERSISTENT])
def test_a_browse_is_not_in_syncpoint(how, unit):
    assert "a browse is not in syncpoint" == why(get_plan, how | unit)


@pytest.mark.parametrize("more", [GMO.WAIT, GMO.SYNCPOINT, GMO.BROWSE_FIRST, GMO.LOCK, GMO.FAIL_IF_QUIESCING])
def test_unlock_stands_alone(more):
    said = why(get_plan, GMO.UNLOCK | more)
    assert "UNLOCK stands alone" == said


@pytest.mark.parametrize("more", [0, GMO.MSG_UNDER_CURSOR, GMO.NO_SYNCPOINT, GMO.WAIT])
def test_a_lock_needs_a_browse(more):
    assert "LOCK needs a browse" == why(get_plan, GMO.LOCK | more)


@pytest.mark.parametrize("more", [*BROWSES, GMO.NO_SYNCPOINT, GMO.SYNCPOINT_IF_PERSISTENT])
def test_only_a_get_in_syncpoint_is_marked(more):
    assert "only a get in syncpoint can be marked" == why(get_plan, GMO.MARK_SKIP_BACKOUT | more)


@pytest.mark.parametrize("bit", [8, 1 << 14, 1 << 16, 1 << 18, 1 << 31])
def test_a_get_option_that_nobody_knows(bit):
    assert "unknown option" == why(get_plan, bit)


def test_every_option_of_a_kind_has_a_bit_of_its_own():
    for kind in (OpenOptions, CloseOptions, PutOptions, GetOptions, options.MatchOptions, options.MsgFlags):
        single = [flag.value for flag in kind if flag.value]
        assert all(value & (value - 1) == 0 for value in single), kind
        assert len(single) == len(set(single)), kind
