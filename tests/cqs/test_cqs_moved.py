"""Servers whose structures are rebuilt in another coupling facility while they work (`quaestor cf rebuild`)."""

import threading

import pytest

from cqs.group import agrees_with_log, texts
from quaestor.cqs.group_directory import define, server
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import transaction
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.lists.movable import rebuild

TRANX = transaction("TRANX")


@pytest.fixture
def facilities(tmp_path):
    made = [CouplingFacility(tmp_path / f"{name}.sock") for name in "AB"]
    serving = [threading.Thread(target=each.serve) for each in made]
    for thread in serving:
        thread.start()
    yield made
    for facility, thread in zip(made, serving, strict=True):
        facility.stop()
        thread.join()


def test_servers_follow_a_structure_that_moves(tmp_path, facilities):
    """LV1: what is asked where it was is asked again where it is; nothing is lost, nobody starts again."""
    here, there = facilities
    define(tmp_path / "msgq", Policy(size=1000, overflow_size=400), {"CF01": str(here.path)})
    one, two = (server(name, tmp_path / "msgq").start() for name in ("CQS1", "CQS2"))
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    told = threading.Event()
    ims3 = two.register("IMS3", lambda _queue: told.set())
    ims1.put(TRANX, [b"one"])
    unit = ims2.begin()
    assert (b"one",) == unit.read(TRANX).segments
    ims3.register_interest(TRANX)
    told.clear()
    assert ["MSGQ", "MSGQ.OFLW"] == rebuild(here.path, there.path)
    unit.commit()
    ims1.put(TRANX, [b"two", b"." * 3000, b"." * 3000])
    assert told.wait(10)
    assert [] == one.step() + two.step()
    assert ["two"] == texts(ims2, TRANX)
    assert agrees_with_log(one)
    two.structure_checkpoint()
    late = server("CQS3", tmp_path / "msgq").start()
    assert ["two"] == texts(late.register("IMS4"), TRANX)
    for each in (late, two, one):
        each.stop()
