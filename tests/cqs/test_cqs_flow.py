from cqs.group import Group
from quaestor.cqs.queue_names import lterm, transaction

TRANX, LTRMZ = transaction("TRANX"), lterm("LTRMZ")


def test_smoke():
    group = Group()
    one, two = group.start("CQS1"), group.start("CQS2")
    told = []
    ims1 = one.register("IMS1", lambda queue: told.append(("IMS1", str(queue))))
    ims2 = two.register("IMS2", lambda queue: told.append(("IMS2", str(queue))))
    ims1.register_interest(TRANX)
    ims2.register_interest(TRANX)
    ims1.register_interest(LTRMZ)
    ims1.put(TRANX, [b"I-MSG1"])
    assert [("IMS1", "1TRANX"), ("IMS2", "1TRANX")] == told
    unit = ims2.begin()
    message = unit.read(TRANX)
    assert (b"I-MSG1",) == message.segments
    assert ims1.begin().read(TRANX) is None
    unit.insert(LTRMZ, [b"x" * 3000, b"y" * 3000, b"z" * 3000])
    unit.commit()
    assert ("IMS1", "5LTRMZ") == told[-1]
    unit = ims1.begin()
    assert 3 == len(unit.read(LTRMZ).segments)
    one.structure_checkpoint()
    group.lose()
    unit.backout()
    unit = ims1.begin()
    assert 3 == len(unit.read(LTRMZ).segments)
    unit.commit()
    ims1.put(TRANX, [b"I-MSG2"])
    unit2 = ims2.begin()
    unit2.read(TRANX)
    group.kill("CQS2")
    assert ["CQS2"] == one.step()
    assert 1 == ims1.count(TRANX)
    print(one.copy_structure("CF02", 2000))
    assert 1 == ims1.count(TRANX)
    group.start("CQS2")
    group.stop()
