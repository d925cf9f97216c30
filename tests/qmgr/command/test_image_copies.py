"""BACKUP PSID: an image copy of a page set while applications work (IC1-IC3)."""

import errno

import pytest

from qmgr.command.console import Console
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.reasons import Reason
from quaestor.qmgr.checker import check
from quaestor.qmgr.recovery.media import ImageCopy, restore

KEPT = MQMD(persistence=1)


@pytest.fixture
def console():
    made = Console(archive=True)
    assert made.run("DEFINE QLOCAL(ORDERS)").ok
    made.connect()
    return made


def between(monkeypatch, act):
    """Have something happen when the first piece of a copy has been read, and the latch is free again."""
    whole, seen = ImageCopy.write, []

    def write(copy, *run):
        if not seen:
            seen.append(True)
            act()
        whole(copy, *run)

    monkeypatch.setattr(ImageCopy, "write", write)
    return seen


def test_the_reply_says_where_the_copy_is_and_what_it_needs(console):
    reply = console.run("BACKUP PSID(1)")
    assert reply.ok
    (row,) = reply.rows
    assert {"PSID": 1, "DSN": "copy-01", "PAGES": 64} == {key: row[key] for key in ("PSID", "DSN", "PAGES")}
    assert f"CSQP061I +QM1 Page set 1: 64 pages copied to copy-01, log needed from {row['RBA']}" == reply.lines[0]
    assert int(row["RBA"], 16) == console.qm.engine.log.files.inventory.image_copies["1"]
    assert ["copy-01"] == console.disk.names("copy")


def test_others_work_while_it_is_taken(console, monkeypatch):
    """IC1: what they commit meanwhile is not in every page of the copy, and is there when it has been recovered."""
    app, other = console.app, console.connect()
    app.put("ORDERS", "before", KEPT)
    app.commit()
    other.put("ORDERS", "never committed", KEPT)

    def work():
        app.put("ORDERS", "meanwhile" * 2000, KEPT)
        app.commit()
        with console.qm.engine.recovery.latch:
            console.qm.engine.buffers.write_all()

    seen = between(monkeypatch, work)
    assert console.run("BACKUP PSID(1)").ok
    assert seen
    app.put("ORDERS", "behind", KEPT)
    app.commit()
    console.disk = console.disk.after_power_cut()
    restore(console.disk, 1)
    console.start()
    with console.connect().open("ORDERS") as queue:
        assert ["before", "meanwhile" * 2000, "behind"] == [queue.get().text for _ in range(3)]
    with console.qm.engine.recovery.latch:
        assert [] == check(console.qm.engine.data)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("BACKUP PSID(7)", "PSID(7) WAS NOT FOUND"),
        ("BACKUP PSID(100)", "a number from 0 to 99"),
        ("BACKUP PSID(x)", "a number from 0 to 99"),
        ("BACKUP PSID", "PSID needs a number"),
    ],
)
def test_a_page_set_that_is_not_there(console, command, said):
    reply = console.run(command)
    assert not reply.ok
    assert said in reply.lines[0]
    assert [] == console.disk.names("cop")


def test_one_copy_of_a_page_set_is_taken_at_a_time(console, monkeypatch):
    """IC2: of another page set one may be."""
    second = []
    between(monkeypatch, lambda: second.extend([console.run("BACKUP PSID(1)"), console.run("BACKUP PSID(0)")]))
    assert console.run("BACKUP PSID(1)").ok
    assert ["CSQP063E +QM1 an image copy of page set 1 is under way", True] == [second[0].lines[0], second[1].ok]
    assert console.run("BACKUP PSID(1)").ok


def test_no_room_for_a_copy_is_the_operators_trouble_alone(console, monkeypatch):
    """IC2, Y5: the copy before stays."""
    assert console.run("BACKUP PSID(1)").ok
    before = bytes(console.disk.files["copy-01"].seen)

    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    between(monkeypatch, full)
    reply = console.run("BACKUP PSID(1)")
    assert "CSQP062E +QM1 no image copy of page set 1 is taken: No space left on device" == reply.lines[0]
    assert (["copy-01"], before) == (console.disk.names("cop"), bytes(console.disk.files["copy-01"].seen))
    console.app.put("ORDERS", "goes on", KEPT)
    assert console.qm.connections.failure is None


def test_a_page_that_is_not_whole_ends_the_copy_and_nothing_else(console):
    """IC2, Y6."""
    console.app.put("ORDERS", b"t" * 9000, KEPT)
    console.app.commit()
    with console.qm.engine.recovery.latch:
        console.qm.engine.buffers.write_all()
    pages = console.disk.files["pageset-01"]
    at = pages.seen.index(b"t" * 3000)
    pages.seen[at] ^= 0xFF
    reply = console.run("BACKUP PSID(1)")
    assert reply.lines[0].startswith("CSQP062E +QM1 Y6: a page is not whole and no image copy is taken")
    assert [] == console.disk.names("cop")
    assert console.qm.connections.failure is None


def test_a_page_set_that_is_deleted_meanwhile(console, monkeypatch):
    """IC2."""
    assert console.run("DEFINE PSID(5)").ok
    between(monkeypatch, lambda: console.run("DELETE PSID(5)"))
    assert "the page set was deleted meanwhile" in console.run("BACKUP PSID(5)").lines[0]
    assert "5" not in console.qm.engine.log.files.inventory.image_copies
    assert console.run("DEFINE PSID(5)").ok
    assert console.run("BACKUP PSID(5)").ok


def test_the_end_of_the_queue_manager_ends_it(console, monkeypatch):
    """IC3."""
    between(monkeypatch, console.qm.stop)
    reply = console.run("BACKUP PSID(1)")
    assert Reason.Q_MGR_STOPPING is reply.reason
    assert [] == console.disk.names("cop")


def test_what_the_engine_does_not_survive_ends_the_queue_manager(console, monkeypatch):
    """IC2."""

    def broken(_recovery):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(type(console.qm.engine.recovery), "checkpoint", broken)
    assert Reason.CONNECTION_BROKEN is console.run("BACKUP PSID(1)").reason
    assert console.qm.connections.failure is not None


def test_who_may_take_one():
    """CP2."""
    profiles = "command * OPER control\ncommand * ALICE read\nqueue * OPER control\nconnect * OPER read\n"
    console = Console(profiles)
    assert console.qm.commands.run("BACKUP PSID(1)", "ALICE").lines[0].startswith("CSQ9016E")
    assert console.qm.commands.run("BACKUP PSID(1)", "OPER").ok
