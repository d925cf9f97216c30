"""Exclusive input of a shared queue: it excludes the handles of all members, and is given back whatever happens."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmgr.shared.sharing import GET_IN, OUT, STRUCTURE, VOLATILE, Sharing, drained
from quaestor.mqi.options import OpenOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.interest import INTEREST_LIST, Interest

SHARED, ALONE = int(OpenOptions.INPUT_SHARED), int(OpenOptions.INPUT_EXCLUSIVE)
OUTPUT, BROWSE, AS_DEFINED = int(OpenOptions.OUTPUT), int(OpenOptions.BROWSE), int(OpenOptions.INPUT_AS_Q_DEF)


def app(sharing, name):
    return sharing.members[name].connect("ALICE")


def refused(sharing, name, options, by):
    with pytest.raises(MQError, match=rf"2042.*open_on=\['{by}'\]"):
        app(sharing, name).open("ORDERS", options)
    return True


@pytest.mark.parametrize(("first", "second"), [(ALONE, SHARED), (ALONE, ALONE), (SHARED, ALONE)])
def test_exclusive_and_other_input_exclude_each_other(sharing, first, second):
    handle = app(sharing, "QM1").open("ORDERS", first)
    assert refused(sharing, "QM2", second, "QM1")
    handle.close()
    app(sharing, "QM2").open("ORDERS", second)
    assert refused(sharing, "QM1", first, "QM2")


def test_shared_input_is_for_all(sharing):
    for name in ("QM1", "QM2", "QM1"):
        app(sharing, name).open("ORDERS", SHARED)


@pytest.mark.parametrize("options", [OUTPUT, BROWSE, OUTPUT | BROWSE])
def test_who_does_not_read_is_not_excluded(sharing, options):
    """And does not exclude: browsing and putting go on beside exclusive input."""
    app(sharing, "QM1").open("ORDERS", options)
    app(sharing, "QM2").open("ORDERS", ALONE)
    app(sharing, "QM1").open("ORDERS", options)


def test_exclusive_by_definition(sharing):
    """NOSHARE, and DEFSOPT(EXCL) for whoever asks for what the queue says."""
    sharing.define("ALONE", share=False)
    sharing.define("SAYS", def_exclusive=True)
    app(sharing, "QM1").open("ALONE", SHARED)
    app(sharing, "QM1").open("SAYS", AS_DEFINED)
    for name in ("ALONE", "SAYS"):
        with pytest.raises(MQError, match="2042"):
            app(sharing, "QM2").open(name, SHARED)


def test_a_handle_that_does_not_read_first(sharing):
    """A member that has the queue open already says that it reads when it does."""
    putting = app(sharing, "QM1").open("ORDERS", OUTPUT)
    reading = app(sharing, "QM1").open("ORDERS", ALONE)
    assert refused(sharing, "QM2", SHARED, "QM1")
    reading.close()
    app(sharing, "QM2").open("ORDERS", ALONE).close()
    putting.put(b"still open", VOLATILE, OUT)


def test_it_is_given_back_with_the_last_handle(sharing):
    handles = [app(sharing, "QM1").open("ORDERS", SHARED) for _ in range(2)]
    handles[0].close()
    assert refused(sharing, "QM2", ALONE, "QM1")
    handles[1].close()
    app(sharing, "QM2").open("ORDERS", ALONE)


def test_it_is_given_back_with_the_connection(sharing):
    connected = app(sharing, "QM1")
    connected.open("ORDERS", ALONE)
    connected.disconnect()
    app(sharing, "QM2").open("ORDERS", ALONE)


def test_a_refused_open_leaves_nothing(sharing):
    """Neither a handle nor a word that would refuse others, nor one that would keep the queue from being deleted."""
    handle = app(sharing, "QM1").open("ORDERS", ALONE)
    assert refused(sharing, "QM2", ALONE, "QM1")
    handle.close()
    app(sharing, "QM1").open("ORDERS", ALONE).close()
    sharing.publish()
    assert () == sharing.entries(INTEREST_LIST)


def test_each_member_counts_its_own_handles(sharing):
    """IPPROCS and OPPROCS are those of the queue manager that answers."""
    handles = [app(sharing, "QM1").open("ORDERS", SHARED | OUTPUT) for _ in range(2)]
    app(sharing, "QM2").open("ORDERS", SHARED)
    rows = [
        sharing.members[name].commands.run("DISPLAY QSTATUS(ORDERS) IPPROCS OPPROCS", "OPER").rows[0]
        for name in ("QM1", "QM2")
    ]
    assert [(2, 2), (1, 0)] == [(row["IPPROCS"], row["OPPROCS"]) for row in rows]
    handles[0].close()
    with pytest.raises(MQError, match="2042"):
        app(sharing, "QM2").open("ORDERS", ALONE)
    (row,) = sharing.members["QM2"].commands.run("DISPLAY QSTATUS(ORDERS) IPPROCS", "OPER").rows
    assert 1 == row["IPPROCS"]


# -- members die


def test_a_dead_member_has_it_until_it_is_recovered(sharing):
    """What it had got is back in its place for whoever reads alone next (IR6)."""
    with sharing.members["QM2"].connect("BOB") as putting:
        for body in (b"first", b"second"):
            putting.put("ORDERS", body, VOLATILE, OUT)
    app(sharing, "QM1").open("ORDERS", ALONE).get(GET_IN)
    sharing.kill("QM1")
    assert refused(sharing, "QM2", ALONE, "QM1")
    sharing.members["QM2"].shared.peers.step()
    with app(sharing, "QM2").open("ORDERS", ALONE):
        pass
    assert [b"first", b"second"] == drained(app(sharing, "QM2"))


def test_a_member_that_starts_again_reads_nothing(sharing):
    app(sharing, "QM1").open("ORDERS", ALONE)
    sharing.kill("QM1")
    sharing.start("QM1")
    app(sharing, "QM2").open("ORDERS", ALONE)
    assert refused(sharing, "QM1", SHARED, "QM2")


def test_it_holds_while_the_structure_is_out_of_reach(sharing):
    app(sharing, "QM1").open("ORDERS", ALONE)
    sharing.cut_off(STRUCTURE)
    with pytest.raises(MQError, match="2345"):
        app(sharing, "QM2").put("ORDERS", b"x", VOLATILE, OUT)
    with pytest.raises(MQError, match="2345"):
        app(sharing, "QM2").open("ORDERS", ALONE)
    sharing.reach_again(STRUCTURE)
    assert refused(sharing, "QM2", SHARED, "QM1")


def test_it_holds_again_after_the_structure_was_lost(sharing):
    app(sharing, "QM1").open("ORDERS", ALONE)
    sharing.cut_off(STRUCTURE, lost=True)
    for name in ("QM1", "QM2"):
        with pytest.raises(MQError, match="2345"):
            app(sharing, name).put("ORDERS", b"x", VOLATILE, OUT)
    sharing.reach_again(STRUCTURE)
    sharing.publish()
    assert refused(sharing, "QM2", SHARED, "QM1")


def test_a_close_while_the_structure_is_out_of_reach(sharing):
    handle = app(sharing, "QM1").open("ORDERS", ALONE)
    sharing.cut_off(STRUCTURE)
    for name in ("QM1", "QM2"):
        with pytest.raises(MQError, match="2345"):
            app(sharing, name).put("ORDERS", b"x", VOLATILE, OUT)
    handle.close()
    sharing.reach_again(STRUCTURE)
    sharing.publish()
    app(sharing, "QM2").open("ORDERS", ALONE)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["QM1", "QM2", "QM3"]), st.sampled_from(["shared", "alone", "output", "close", "kill", "tick"])
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_nobody_ever_reads_beside_one_that_reads_alone(tmp_path, steps):
    """Any members open, close, die and start again: an open is given exactly when no handle excludes it."""
    sharing = Sharing(tmp_path)
    for name in ("QM1", "QM2", "QM3"):
        sharing.start(name)
    sharing.define()
    handles = []  # (member, options, handle)
    kinds = {"shared": SHARED, "alone": ALONE, "output": OUTPUT}
    for name, what in steps:
        if what in kinds:
            options = kinds[what]
            readers = [each for _, each, _ in handles if each != OUTPUT]
            wanted = options == OUTPUT or not readers or (options == SHARED and ALONE not in readers)
            if wanted:
                handles.append((name, options, app(sharing, name).open("ORDERS", options)))
                continue
            with pytest.raises(MQError, match="2042"):
                app(sharing, name).open("ORDERS", options)
        elif what == "close" and handles:
            handles.pop(0)[2].close()
        elif what == "kill":
            sharing.kill(name)
            handles = [each for each in handles if each[0] != name]
            next(iter(sharing.members.values())).shared.peers.step()
            sharing.start(name)
        elif what == "tick":
            sharing.publish()
    sharing.close()


def test_the_rule_is_needed(sharing, monkeypatch):
    """Without the look at others two members read alone."""
    monkeypatch.setattr(Interest, "_check_others", lambda *_: None)
    for name in ("QM1", "QM2"):
        app(sharing, name).open("ORDERS", ALONE)
