"""A structure moves to another coupling facility while it is in use: nothing asked is lost, nothing is done twice."""

import socket
import threading
from collections import Counter

import pytest

from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.lists.client import Questions
from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.image import Incoming, head_of
from quaestor.storage.lists.movable import MovableConnection, rebuild
from quaestor.storage.lists.operations import (
    KEY_MAX,
    KEY_MIN,
    Claim,
    Count,
    Index,
    Limit,
    Lock,
    Read,
    ReadControls,
    ReadList,
    ReadSpace,
    Watch,
    Write,
)
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal

READY, TAKEN = 5, 6
SHAPE = Shape("QSG1APPL1", entries=50_000, elements=300_000)


@pytest.fixture
def facilities(tmp_path):
    """Sockets of three coupling facilities."""
    made = [CouplingFacility(tmp_path / f"{name}.sock") for name in "ABC"]
    serving = [threading.Thread(target=each.serve) for each in made]
    for thread in serving:
        thread.start()
    yield made
    for facility, thread in zip(made, serving, strict=True):
        if thread.is_alive():
            facility.stop()
            thread.join()


def connect(facility, connector="QM1", told=lambda _token: None):
    return MovableConnection(facility.path, SHAPE, connector, told)


def test_the_copy_answers_as_the_original(facilities):
    here, there, _ = facilities
    one = connect(here)
    one.request(Index(READY, 0, 3), Limit(READY, 99), Lock(7, "QM1"))
    for at in range(40):
        one.request(Write(READY, bytes([at % 3]) * 16, b"%03d" % at + bytes(at * 20), b"beside"))
    questions = (
        ReadList(READY, most=100),
        ReadControls(READY),
        ReadSpace(),
        Lock(7, "QM2"),
        ReadList(READY, where=((0, b"017"),)),
        Count(READY, bytes(16), bytes([1]) * 16),
    )
    before = one.request(*questions)
    assert ["QSG1APPL1"] == rebuild(here.path, there.path)
    assert before == one.request(*questions)
    assert 41 == one.request(Write(READY, KEY_MAX, b"next"))[0]
    assert {"QM1": True} == one.connectors()
    assert ({}, ["QSG1APPL1"]) == (here.facility.status(), list(there.facility.status()))
    one.disconnect()


def test_the_first_request_to_a_copy_tells_who_watches():
    here, there, told = MemoryFacility(), MemoryFacility(), []
    here.connect(SHAPE, "QM1", told.append).request(Watch("QM1", 9, READY))
    Incoming(head_of(here, SHAPE.name)).complete(there)
    there.connect(SHAPE, "QM1", told.append)
    there.connect(SHAPE, "QM2", told.append).request(Write(READY, KEY_MIN, b"arrives"))
    assert [9] == told


def test_a_queue_manager_that_waits_is_told_where_it_waits(facilities):
    here, there, _ = facilities
    told, came = [], threading.Event()

    def tell(token):
        told.append(token)
        came.set()

    waiting, putting = connect(here, "QM1", tell), connect(here, "QM2")
    waiting.request(Watch("QM1", 9, READY))
    rebuild(here.path, there.path)
    assert came.wait(5)
    assert [LOOK_AT_ALL] == told  # it asks, and finds the structure there
    waiting.request(Count(READY))
    came.clear()
    putting.request(Write(READY, KEY_MIN, b"x"))
    for _ in range(100):
        if 9 in told:
            break
        came.wait(0.05)
    assert 9 in told
    for each in (waiting, putting):
        each.disconnect()


def test_nothing_is_lost_or_doubled_while_it_moves_again_and_again(facilities):
    """Three connectors put and get as fast as they can, over eight moves among three facilities."""
    ending, put, got, failed = threading.Event(), Counter(), Counter(), []

    def work(name):
        try:
            member, count = connect(facilities[0], name), 0
            while not ending.is_set():
                body = f"{name} {count}".encode()
                member.request(Write(READY, KEY_MIN, body))
                put[body] += 1
                count += 1
                (claimed,) = member.request(Claim(READY, KEY_MIN, KEY_MAX, TAKEN, keep=0))
                if claimed is not None:
                    got[claimed.entry.data] += 1
            member.disconnect()
        except Exception as error:  # noqa: BLE001 - shown by the assertion below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(f"QM{at}",)) for at in range(3)]
    for thread in threads:
        thread.start()
    for step in range(8):
        threading.Event().wait(0.05)
        rebuild(facilities[step % 3].path, facilities[(step + 1) % 3].path)
    ending.set()
    for thread in threads:
        thread.join()
    last = connect(facilities[0])
    (left,) = last.request(ReadList(READY, most=100_000))
    last.disconnect()
    assert [] == failed
    assert put == got + Counter(entry.data for entry in left)
    assert {1} == set(put.values())


def test_a_copy_that_fails_changes_nothing(facilities, monkeypatch):
    here, there, _ = facilities
    one = connect(here)
    number = one.request(Write(READY, KEY_MIN, b"kept"))[0]

    def broken(_self, _entries):
        raise ValueError("no room")

    monkeypatch.setattr(Incoming, "take", broken)
    with pytest.raises(StructureRefusal):
        rebuild(here.path, there.path)
    assert b"kept" == one.request(Read(number))[0].data
    monkeypatch.undo()
    rebuild(here.path, there.path)
    assert b"kept" == one.request(Read(number))[0].data
    one.disconnect()


def test_what_is_in_use_there_or_is_the_same_is_refused(facilities):
    here, there, _ = facilities
    one, other = connect(here), connect(there, "QM2")
    for target in (there, here):
        with pytest.raises(StructureRefusal, match="IN_USE"):
            rebuild(here.path, target.path)
    with pytest.raises(StructureRefusal, match="NOT_FOUND"):
        rebuild(here.path, there.path, "NOTHERE")
    for each in (one, other):
        each.disconnect()


def test_a_facility_that_ends_leaves_its_name_to_the_other(facilities):
    here, there, _ = facilities
    one = connect(here)
    number = one.request(Write(READY, KEY_MIN, b"kept"))[0]
    rebuild(here.path, there.path)
    assert b"kept" == one.request(Read(number))[0].data
    here.stop()
    for _ in range(100):
        if here.path.is_symlink():
            break
        threading.Event().wait(0.05)
    new = connect(here, "QM2")
    assert b"kept" == new.request(Read(number))[0].data
    for each in (one, new):
        each.disconnect()


def test_a_move_that_cannot_be_remembered_is_refused(facilities):
    """RB5: a facility that is started again would make a second structure; so the structure goes on here."""
    here, there, _ = facilities
    one = connect(here)
    one.request(Write(READY, KEY_MIN, b"x"))
    in_the_way = here.path.with_name("A.sock.new")
    in_the_way.mkdir()
    with pytest.raises(StructureRefusal, match="LOST"):
        rebuild(here.path, there.path)
    assert (1,) == one.request(Count(READY))
    in_the_way.rmdir()
    assert [SHAPE.name] == rebuild(here.path, there.path)
    assert (1,) == one.request(Count(READY))
    one.disconnect()


def test_what_came_of_a_copy_that_failed_is_thrown_away(facilities):
    """RB2."""
    here, there, _ = facilities
    one = connect(here)
    operator = Questions(there.path)
    operator.ask("incoming", SHAPE.name, head_of(here.facility, SHAPE.name))
    operator.sock.close()
    other = Questions(there.path)
    assert {} == other.ask("status")
    with pytest.raises(StructureLostError):
        other.ask("complete", SHAPE.name)
    other.sock.close()
    assert not there._rebuilding._incoming
    one.disconnect()


def test_a_facility_that_does_not_take_a_structure_holds_up_nobody_for_long(facilities, tmp_path, monkeypatch):
    """RB1: what is asked waits meanwhile; a copy that is not taken fails, and the structure goes on here."""
    monkeypatch.setattr("quaestor.server.structure_rebuild.AWAY_S", 1)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "deaf.sock"))
        deaf.listen(1)
        one = connect(facilities[0])
        with pytest.raises(StructureRefusal, match="LOST"):
            rebuild(facilities[0].path, tmp_path / "deaf.sock")
        assert (0,) == one.request(Count(READY))
        one.disconnect()
