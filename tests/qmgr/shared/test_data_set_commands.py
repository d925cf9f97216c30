"""Commands on shared message data sets act on them: stopped, disabled, failed and recovered, altered."""

from contextlib import suppress

import pytest

from qmgr.shared.cutting import Cutting, Power
from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, STRUCTURE, USES, VOLATILE, Sharing
from qmgr.shared.sharing import drained as all_of
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.data_sets import file_name
from quaestor.storage.message_data_set import MessageDataSet
from quaestor.testing import PowerCut

LONG, SHORT = bytes(range(256)) * 396, b"short"
OTHER, THIRD, LONGER = LONG[::-1], LONG[1:], LONG * 3
NAMES = {LONG: "long", SHORT: "short", OTHER: "other", THIRD: "third", LONGER: "longer"}
LENGTH = {"max_msg_length": 1 << 20}
ID = b"S" * 24


@pytest.fixture
def sharing(tmp_path):
    made = Sharing(tmp_path, CFLEVEL=5, RECOVER="YES")
    for name in ("QM1", "QM2"):
        made.start(name)
    made.define(**LENGTH)
    return made


def opened(sharing, name):
    app = sharing.members[name].connect("ALICE")
    return app, app.open("ORDERS", USES)


def drained(app):
    """Names of what is there; bodies are too long to be shown."""
    return [NAMES.get(body, body) for body in all_of(app)]


def fill(queue):
    """Put until there is no room."""
    for _ in range(1000):
        queue.put(LONG, VOLATILE, OUT)


def run(sharing, name, text):
    """A command on one member; the others have followed the tables when it is done."""
    reply = sharing.members[name].commands.run(text, "OPER")
    sharing.publish()
    return reply


def data_set(sharing, name) -> MessageDataSet:
    return sharing.members[name].shared.data_sets.connections[STRUCTURE].own


def rows(reply):
    return [part.row for part in reply.parts if hasattr(part, "row")]


# -- connections


def test_a_stopped_connection_hides_what_is_there_from_one_member_only(sharing):
    _, one = opened(sharing, "QM1")
    app, two = opened(sharing, "QM2")
    one.put(LONG, PERSISTENT, OUT)
    one.put(SHORT, MQMD(msg_id=ID, persistence=1), OUT)
    assert run(sharing, "QM2", f"STOP SMDSCONN(QM1) CFSTRUCT({STRUCTURE})").ok
    for call in (lambda: two.get(GET_OUT), lambda: two.get(GET_IN), lambda: two.browse(2**4)):
        with pytest.raises(MQError, match="2561"):
            call()
    app.backout()
    assert SHORT == two.get(GET_OUT, msg_id=ID).body
    two.put(OTHER, PERSISTENT, OUT)  # its own data set is another
    assert LONG == one.get(GET_OUT).body
    assert OTHER == two.get(GET_OUT).body
    one.put(LONG, VOLATILE, OUT)
    assert run(sharing, "QM2", f"START SMDSCONN(*) CFSTRUCT({STRUCTURE})").ok
    assert LONG == two.get(GET_OUT).body
    assert [] == sharing.leaks()


def test_puts_stay_in_the_structure_as_long_as_they_fit(sharing):
    """The rules would send them away; with the data set stopped only what is too long for an entry is refused."""
    _, one = opened(sharing, "QM1")
    for name, value in (("OFFLD1TH", 0), ("OFFLD1SZ", "4K")):
        run(sharing, "QM1", f"ALTER CFSTRUCT({STRUCTURE}) {name}({value})")
    one.put(bytes(40_000), PERSISTENT, OUT)
    assert 10 == data_set(sharing, "QM1").space.used  # as the rules say since they were altered
    run(sharing, "QM1", f"STOP SMDSCONN(QM1) CFSTRUCT({STRUCTURE})")
    assert not data_set(sharing, "QM1").open
    with pytest.raises(MQError, match="2561"):
        one.put(LONG, PERSISTENT, OUT)
    one.put(bytes(50_000), MQMD(persistence=1, msg_id=ID), OUT)
    assert bytes(50_000) == one.get(GET_OUT, msg_id=ID).body
    run(sharing, "QM1", f"START SMDSCONN(QM1) CFSTRUCT({STRUCTURE})")
    assert bytes(40_000) == one.get(GET_OUT).body
    assert 0 == data_set(sharing, "QM1").space.used


def test_a_connection_is_displayed_as_it_is(sharing):
    def shown(name="QM1"):
        (row,) = rows(sharing.members["QM2"].commands.run(f"DISPLAY SMDSCONN({name}) ALL", "OPER"))
        return row["AVAIL"], row["STATUS"], row["OPENMODE"]

    _, one = opened(sharing, "QM1")
    _, two = opened(sharing, "QM2")
    assert (("NORMAL", "CLOSED", "NONE"), ("NORMAL", "OPEN", "UPDATE")) == (shown(), shown("QM2"))
    one.put(LONG, PERSISTENT, OUT)
    two.browse(2**4)
    assert ("NORMAL", "OPEN", "READONLY") == shown()
    run(sharing, "QM2", f"STOP SMDSCONN(QM1) CFSTRUCT({STRUCTURE})")
    assert ("STOPPED", "CLOSED", "NONE") == shown()
    run(sharing, "QM2", f"START SMDSCONN(QM1) CFSTRUCT({STRUCTURE})")
    run(sharing, "QM1", f"RESET SMDS(QM1) CFSTRUCT({STRUCTURE}) ACCESS(DISABLED)")
    assert ("NORMAL", "NOTENABLED", "NONE") == shown()


def test_a_data_set_that_cannot_be_read_is_in_error_until_it_is_started(sharing, monkeypatch):
    _, one = opened(sharing, "QM1")
    _, two = opened(sharing, "QM2")
    one.put(LONG, PERSISTENT, OUT)
    data_sets = sharing.members["QM2"].shared.data_sets
    with monkeypatch.context() as away:
        away.setattr(data_sets, "_peer", _no_disk)
        with pytest.raises(MQError, match="2561"):
            two.get(GET_OUT)
    with pytest.raises(MQError, match="2561"):
        two.get(GET_OUT)  # nobody tries by himself
    run(sharing, "QM2", f"START SMDSCONN(QM1) CFSTRUCT({STRUCTURE})")
    assert LONG == two.get(GET_OUT).body


def _no_disk(*_where):
    raise OSError(5, "no disk")


# -- data sets


@pytest.mark.parametrize("command", ["ACCESS(DISABLED)", "STATUS(FAILED)"])
def test_a_data_set_that_is_disabled_or_failed_is_nobodys(sharing, command):
    _, one = opened(sharing, "QM1")
    _, two = opened(sharing, "QM2")
    one.put(LONG, PERSISTENT, OUT)
    assert run(sharing, "QM2", f"RESET SMDS(QM1) CFSTRUCT({STRUCTURE}) {command}").ok
    for queue in (one, two):
        with pytest.raises(MQError, match="2561"):
            queue.get(GET_OUT)
    with pytest.raises(MQError, match="2561"):
        one.put(LONG, VOLATILE, OUT)
    two.put(LONG, VOLATILE, OUT)
    moved = sharing.disks["QM1"].files.pop(file_name(STRUCTURE))  # it is closed: it may be moved
    sharing.disks["QM1"].files[file_name(STRUCTURE)] = moved
    undo = {"ACCESS(DISABLED)": "ACCESS(ENABLED)", "STATUS(FAILED)": "STATUS(RECOVERED)"}[command]
    assert run(sharing, "QM1", f"RESET SMDS(QM1) CFSTRUCT({STRUCTURE}) {undo}").ok
    assert ["long", "long"] == drained(sharing.members["QM2"].connect("ALICE"))


def test_what_has_not_failed_is_not_recovered(sharing):
    assert not run(sharing, "QM1", f"RESET SMDS(QM1) CFSTRUCT({STRUCTURE}) STATUS(RECOVERED)").ok
    assert not run(sharing, "QM1", f"RECOVER CFSTRUCT({STRUCTURE})").ok


@pytest.mark.parametrize("backed_up", [False, True])
def test_a_failed_data_set_is_written_again_from_the_logs(sharing, backed_up):
    """Persistent messages of every state are as they were; what was in the structure never left it."""
    app, one = opened(sharing, "QM1")
    _, two = opened(sharing, "QM2")
    one.put(LONG, PERSISTENT, OUT)
    if backed_up:
        sharing.publish()
        assert run(sharing, "QM2", f"BACKUP CFSTRUCT({STRUCTURE})").ok
    one.put(OTHER, PERSISTENT, OUT)
    one.put(THIRD, VOLATILE, OUT)
    one.put(SHORT, VOLATILE, OUT)
    one.put(LONGER, PERSISTENT, IN)
    damaged = sharing.disks["QM1"].files[file_name(STRUCTURE)]
    damaged.write(0, bytes(len(damaged.seen)))
    sharing.members["QM1"].shared.data_sets.connections[STRUCTURE].own._buffers.clear()
    with pytest.raises(MQError, match="2561"):
        two.get(GET_OUT)  # what is damaged is never given out
    assert run(sharing, "QM1", f"RESET SMDS(QM1) CFSTRUCT({STRUCTURE}) STATUS(FAILED)").ok
    assert not run(sharing, "QM2", f"RECOVER CFSTRUCT({STRUCTURE})").ok  # a put is not yet on the log's disk
    assert run(sharing, "QM1", f"RECOVER CFSTRUCT({STRUCTURE})").ok
    run(sharing, "QM2", f"START SMDSCONN(QM1) CFSTRUCT({STRUCTURE})")
    app.commit()
    assert ["long", "other", "short", "longer"] == drained(sharing.members["QM2"].connect("ALICE"))
    while sharing.members["QM1"].shared.reclaim_step():
        pass
    assert 0 == data_set(sharing, "QM1").space.used


def test_a_data_set_whose_file_is_gone_has_failed(sharing):
    _, one = opened(sharing, "QM1")
    one.put(LONG, PERSISTENT, OUT)
    sharing.kill("QM1")
    del sharing.disks["QM1"].files[file_name(STRUCTURE)]
    sharing.start("QM1")
    (row,) = rows(sharing.members["QM1"].commands.run("DISPLAY SMDS(QM1) ALL", "OPER"))
    assert "FAILED" == row["STATUS"]
    app, again = opened(sharing, "QM1")
    with pytest.raises(MQError, match="2561"):
        again.get(GET_OUT)
    assert run(sharing, "QM1", f"RECOVER CFSTRUCT({STRUCTURE})").ok
    assert ["long"] == drained(app)


def test_purging_ends_a_failed_data_set_too(sharing):
    app, one = opened(sharing, "QM1")
    one.put(LONG, PERSISTENT, OUT)
    one.put(SHORT, PERSISTENT, OUT)
    run(sharing, "QM1", f"RESET SMDS(QM1) CFSTRUCT({STRUCTURE}) STATUS(FAILED)")
    assert run(sharing, "QM2", f"RECOVER CFSTRUCT({STRUCTURE}) TYPE(PURGE)").ok
    assert [] == drained(app)
    one.put(LONG, PERSISTENT, OUT)
    assert ["long"] == drained(app)


# -- attributes


def test_buffers_and_expanding_are_altered_while_it_is_used(sharing):
    _, one = opened(sharing, "QM1")
    own = data_set(sharing, "QM1")
    assert run(sharing, "QM2", f"ALTER SMDS(QM1) CFSTRUCT({STRUCTURE}) DSBUFS(2) DSEXPAND(NO)").ok
    assert (2, False) == (own.stats.buffers_total, own.expand)
    one.put(LONG, VOLATILE, OUT)
    with pytest.raises(MQError, match="2192"):
        fill(one)
    assert run(sharing, "QM1", f"ALTER SMDS(QM1) CFSTRUCT({STRUCTURE}) DSEXPAND(DEFAULT)").ok
    one.put(LONG, VOLATILE, OUT)
    (row,) = rows(sharing.members["QM1"].commands.run("DISPLAY SMDS(QM1) ALL", "OPER"))
    assert (2, "YES") == (row["DSBUFS"], row["DSEXPAND"])
    assert run(sharing, "QM1", f"ALTER CFSTRUCT({STRUCTURE}) DSBUFS(50)").ok
    assert run(sharing, "QM1", f"ALTER SMDS(QM1) CFSTRUCT({STRUCTURE}) DSBUFS(DEFAULT)").ok
    assert (50, 50) == (own.stats.buffers_total, data_set(sharing, "QM2").stats.buffers_total)


def test_an_expansion_that_the_system_refuses_is_said_and_tried_again_by_command(sharing, monkeypatch):
    _, one = opened(sharing, "QM1")
    own = data_set(sharing, "QM1")

    def full(_size):
        raise OSError(28, "no space")

    with monkeypatch.context() as short:
        short.setattr(own._file, "extend", full)
        with pytest.raises(MQError, match="2192"):
            fill(one)
    (row,) = rows(sharing.members["QM1"].commands.run("DISPLAY SMDSCONN(QM1) ALL", "OPER"))
    assert "FAILED" == row["EXPANDST"]
    with pytest.raises(MQError, match="2192"):
        one.put(LONG, VOLATILE, OUT)
    run(sharing, "QM1", f"ALTER SMDS(QM1) CFSTRUCT({STRUCTURE}) DSEXPAND(YES)")
    one.put(LONG, VOLATILE, OUT)


# -- space


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("cut", range(1, 5))
def test_a_member_that_dies_with_a_get_leaves_no_space_in_use(sharing, cut, done):
    """Its peer's data set is free as soon as the message is gone, without anybody starting again."""
    _, one = opened(sharing, "QM1")
    power = Power()
    power.disk = sharing.disks["QM2"]
    sharing.kill("QM2")
    power.disk = sharing.disks["QM2"]
    sharing.wrap = lambda name, made: Cutting(made, power) if name == "QM2" else made
    sharing.start("QM2")
    _, two = opened(sharing, "QM2")
    one.put(LONG, VOLATILE, OUT)
    power.requests, power.cut_at, power.done = 0, cut, done
    with suppress(PowerCut, MQError):
        two.get(GET_OUT)
    sharing.kill("QM2")
    manager = sharing.members["QM1"].shared
    manager.peers.step()
    while manager.reclaim_step():
        pass
    there = len(sharing.entries(1)) - 1
    assert 25 * there == data_set(sharing, "QM1").space.used
    assert ["long"] * there == drained(sharing.members["QM1"].connect("ALICE"))


def test_of_several_data_sets_none_is_recovered_when_one_has_not_failed(sharing):
    """CD2."""
    assert run(sharing, "QM1", f"RESET SMDS(QM1) CFSTRUCT({STRUCTURE}) STATUS(FAILED)").ok
    reply = run(sharing, "QM1", f"RESET SMDS(*) CFSTRUCT({STRUCTURE}) STATUS(RECOVERED) ACCESS(DISABLED)")
    assert "CSQE218E" in reply.lines[0]
    assert "SMDS(QM2)" in reply.lines[0]
    shown = rows(run(sharing, "QM1", f"DISPLAY SMDS(*) CFSTRUCT({STRUCTURE}) STATUS ACCESS"))
    found = {row["SMDS"]: (row["STATUS"], row["ACCESS"]) for row in shown}
    assert "FAILED" == found["QM1"][0]
    assert {"ENABLED"} == {access for _, access in found.values()}
