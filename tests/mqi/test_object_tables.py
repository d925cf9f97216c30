"""Every attribute of every object, as it is written, stored and supplied (A1-A4, O1-O5).

The numbers of the stored form stand here a second time: they are on disks, and never change (A2).
"""

import pytest

from quaestor.mqi.attributes import AttributeValueError, declared
from quaestor.mqi.objects import (
    COPIED,
    OBJECT_TYPES,
    AliasQueue,
    DefinitionType,
    IndexType,
    LocalQueue,
    ModelQueue,
    Namelist,
    Process,
    QueueManagerAttributes,
    RemoteQueue,
    StorageClass,
    TriggerType,
    attributes_of,
    object_from_bytes,
)
from quaestor.mqi.structures import StructureDefinition

QLOCAL = """
 1 DESCR     text 64                              |
 2 PUT       ENABLED DISABLED                     | ENABLED
 3 GET       ENABLED DISABLED                     | ENABLED
 4 DEFPRTY   0 to 9                               | 0
 5 DEFPSIST  YES NO                               | NO
 6 MAXDEPTH  0 to 999999999                       | 999999999
 7 MAXMSGL   0 to 104857600                       | 4194304
 8 MSGDLVSQ  PRIORITY FIFO                        | PRIORITY
 9 SHARE     SHARE NOSHARE                        | NO
10 DEFSOPT   EXCL SHARED                          | EXCL
11 HARDENBO  HARDENBO NOHARDENBO                  | NO
12 BOTHRESH  0 to 999999999                       | 0
13 BOQNAME   text 48                              |
14 USAGE     NORMAL XMITQ                         | NORMAL
15 TRIGGER   TRIGGER NOTRIGGER                    | NO
16 TRIGTYPE  NONE FIRST EVERY DEPTH               | FIRST
17 TRIGDPTH  1 to 999999999                       | 1
18 TRIGMPRI  0 to 9                               | 0
19 TRIGDATA  text 64                              |
20 PROCESS   text 48                              |
21 INITQ     text 48                              |
22 QDEPTHHI  0 to 100                             | 80
23 QDEPTHLO  0 to 100                             | 40
24 QDPMAXEV  ENABLED DISABLED                     | ENABLED
25 QDPHIEV   ENABLED DISABLED                     | DISABLED
26 QDPLOEV   ENABLED DISABLED                     | DISABLED
27 QSVCINT   0 to 999999999                       | 999999999
28 QSVCIEV   NONE HIGH OK                         | NONE
29 RETINTVL  0 to 999999999                       | 999999999
30 STGCLASS  text 8                               | DEFAULT
31 INDXTYPE  NONE MSGID CORRELID MSGTOKEN GROUPID | NONE
32 ACCTQ     QMGR OFF ON                          | QMGR
33 MONQ      QMGR OFF LOW MEDIUM HIGH             | QMGR
34 PROPCTL   COMPAT NONE ALL FORCE V6COMPAT       | COMPAT
35 CAPEXPRY  1 to 1000000000                      | NOLIMIT
36 DEFTYPE   PREDEFINED PERMDYN TEMPDYN SHAREDYN  | PREDEFINED fixed
37 PSID      -1 to 99                             | -1 fixed
38 CFSTRUCT  text 12                              |
"""
TABLES = {
    LocalQueue: QLOCAL,
    ModelQueue: QLOCAL.replace(
        "PREDEFINED PERMDYN TEMPDYN SHAREDYN  | PREDEFINED fixed", "TEMPDYN PERMDYN SHAREDYN | TEMPDYN"
    ),
    AliasQueue: """
 1 TARGET    text 48          |
 2 DESCR     text 64          |
 3 PUT       ENABLED DISABLED | ENABLED
 4 GET       ENABLED DISABLED | ENABLED
 5 DEFPRTY   0 to 9           | 0
 6 DEFPSIST  YES NO           | NO
 7 TARGTYPE  QUEUE TOPIC      | QUEUE
""",
    RemoteQueue: """
 1 RNAME     text 48          |
 2 RQMNAME   text 48          |
 3 XMITQ     text 48          |
 4 DESCR     text 64          |
 5 PUT       ENABLED DISABLED | ENABLED
 6 DEFPRTY   0 to 9           | 0
 7 DEFPSIST  YES NO           | NO
""",
    Process: """
 1 DESCR     text 64                         |
 2 APPLTYPE  MVS CICS IMS UNIX WINDOWSNT DEF | MVS
 3 APPLICID  text 256                        |
 4 USERDATA  text 128                        |
 5 ENVRDATA  text 128                        |
""",
    Namelist: """
 1 DESCR     text 64  |
 2 NAMES     names 48 |
""",
    StorageClass: """
 1 PSID      0 to 99 | 0
 2 DESCR     text 64 |
""",
    QueueManagerAttributes: """
 1 DESCR     text 64                  |
 2 DEADQ     text 48                  |
 3 DEFXMITQ  text 48                  |
 4 MAXUMSGS  1 to 999999999           | 10000
 5 MAXMSGL   32768 to 104857600       | 104857600
 6 TRIGINT   0 to 999999999           | 999999999
 7 CCSID     1 to 65535               | 1208
 8 EXPRYINT  0 to 999999999           | OFF
 9 MAXHANDS  1 to 999999999           | 256
10 ACCTQ     NONE OFF ON              | OFF
11 MONQ      NONE OFF LOW MEDIUM HIGH | OFF
12 STATINT   1 to 604800              | 1800
13 INHIBTEV  ENABLED DISABLED         | DISABLED
14 LOCALEV   ENABLED DISABLED         | DISABLED
15 REMOTEEV  ENABLED DISABLED         | DISABLED
16 PERFMEV   ENABLED DISABLED         | DISABLED
17 STRSTPEV  ENABLED DISABLED         | ENABLED
18 MAXPRTY   0 to 9                   | 9 fixed
19 CMDLEVEL  0 to 999999999           | 900 fixed
20 PLATFORM  MVS UNIX                 | UNIX fixed
21 SYNCPT    SYNCPT NOSYNCPT          | YES fixed
22 COMMANDQ  text 48                  | SYSTEM.ADMIN.COMMAND.QUEUE fixed
""",
    StructureDefinition: """
 1 DESCR         text 64                          |
 2 CFLEVEL       3 to 5                           | 3
 3 RECOVER       NO YES                           | NO
 4 RECAUTO       YES NO                           | YES
 5 CFCONLOS      ASQMGR TERMINATE TOLERATE        | ASQMGR
 6 OFFLOAD       SMDS DB2                         | SMDS
 7 OFFLD1TH      0 to 100                         | 70
 8 OFFLD1SZ      0 to 64                          | 32K
 9 OFFLD2TH      0 to 100                         | 80
10 OFFLD2SZ      0 to 64                          | 4K
11 OFFLD3TH      0 to 100                         | 90
12 OFFLD3SZ      0 to 64                          | 0K
13 DSGROUP       text 44                          |
14 DSBLOCK       8K 16K 32K 64K 128K 256K 512K 1M | 256K
15 DSBUFS        1 to 9999                        | 100
16 DSEXPAND      YES NO                           | YES
17 SIZE          16 to 1073741824                 | 65536
18 INITSIZE      0 to 1073741824                  | 0
19 ALLOWAUTOALT  NO YES                           | NO
20 FULLTHRESHOLD 1 to 100                         | 80
""",
}
TYPE_CODES = {
    1: "QLOCAL",
    2: "QMODEL",
    3: "QALIAS",
    4: "QREMOTE",
    5: "PROCESS",
    6: "NAMELIST",
    7: "STGCLASS",
    8: "QMGR",
}


def rows(kind):
    """The attributes of a kind: number, keyword, values, default; as the tables above write them."""
    for attribute in declared(kind).values():
        if attribute.bare or attribute.words:
            values = " ".join(attribute.bare or attribute.words)
        elif attribute.length:
            values = f"{'names' if isinstance(attribute.default, tuple) else 'text'} {attribute.length}"
        else:
            values = f"{attribute.low} to {attribute.high}"
        default = ",".join(attribute.written(attribute.default))
        yield [
            str(attribute.number),
            attribute.keyword,
            *values.split(),
            "|",
            *default.split(),
            *["fixed"] * attribute.fixed,
        ]


@pytest.mark.parametrize("kind", list(TABLES))
def test_the_attributes_of_a_kind(kind):
    assert [line.split() for line in TABLES[kind].strip().splitlines()] == list(rows(kind))


def test_the_numbers_of_the_kinds_are_on_disks():
    assert TYPE_CODES == {code: kind.MQSC_TYPE for code, kind in OBJECT_TYPES.items()}


CASES = [(kind, field, attribute) for kind in TABLES for field, attribute in declared(kind).items()]
IDS = [f"{kind.__name__}-{attribute.keyword}" for kind, _, attribute in CASES]


def made(kind, **values):
    return kind("ORDERS" if kind is not StorageClass else "FAST", **values)


@pytest.mark.parametrize(("kind", "field", "attribute"), CASES, ids=IDS)
def test_an_attribute_holds_what_is_in_its_range_and_nothing_beyond(kind, field, attribute):
    """A3: refused where the object is built, with what is valid."""
    good, bad = edges(attribute)
    for value in good:
        assert value == getattr(made(kind, **{field: value}), field)
        assert value == attribute.parse(attribute.written(value))
    for value in bad:
        with pytest.raises(AttributeValueError) as refused:
            made(kind, **{field: value})
        assert (attribute.keyword, value) == (refused.value.keyword, refused.value.value)


def edges(attribute):
    """The values at both ends of what an attribute holds, and those just beyond."""
    if attribute.words is not None:
        return list(attribute.words.values()), [next(iter(attribute.words)).lower(), 12345, None]
    if isinstance(attribute.default, tuple):
        whole = ("A" * attribute.length,)
        return [(), whole, whole * 3], [whole[0], ["A"], (5,), ("A" * (attribute.length + 1),), ("A\0B",)]
    if attribute.length:
        too_long = ("x" * (attribute.length + 1), "ä" * attribute.length)
        return ["", "x" * attribute.length, "ä"], [*too_long, "\ud800", 5, None, b"x"]
    return [attribute.low, attribute.high], [attribute.low - 1, attribute.high + 1, str(attribute.low), None, 1.5]


@pytest.mark.parametrize(("kind", "field", "attribute"), [c for c in CASES if c[0] is not StructureDefinition])
def test_an_attribute_is_stored_under_its_number_when_it_is_not_the_default(kind, field, attribute):
    """A4."""
    default = made(kind).pack()
    for value in edges(attribute)[0]:
        stored = made(kind, **{field: value})
        packed = stored.pack()
        assert stored == object_from_bytes(packed)
        if value == attribute.default:
            assert default == packed
        else:
            assert bytes((attribute.number,)) == packed[len(default) : len(default) + 1]


@pytest.mark.parametrize(
    ("value", "stored"),
    [(0, b""), (1, b"\1"), (255, b"\xff"), (256, b"\1\0"), (999_999_999, b"\x3b\x9a\xc9\xff")],
)
def test_a_number_is_stored_without_leading_zeros(value, stored):
    packed = QueueManagerAttributes("QM1", trigger_interval_ms=value).pack()
    whole = b"\x08\x00\x00\x03QM1" + (
        b"" if value == 999_999_999 else b"\x06" + len(stored).to_bytes(2, "big") + stored
    )
    assert whole == packed


def test_a_negative_number_is_stored_in_nine_bytes():
    packed = QueueManagerAttributes("QM1", accounting=-1).pack()
    assert b"\x08\x00\x00\x03QM1\x0a\x00\x09" + b"\xff" * 9 == packed
    assert -1 == object_from_bytes(packed).accounting


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind is not StructureDefinition])
def test_a_copy_of_the_group_says_so_in_its_first_byte(kind):
    """O3, O5."""
    own, copy = made(kind), made(kind, copied=True)
    assert (COPIED, own.pack()[1:]) == (copy.pack()[0] ^ own.pack()[0], copy.pack()[1:])
    assert (own, copy) == (object_from_bytes(own.pack()), object_from_bytes(copy.pack()))
    assert ("QMGR", "COPY") == (own.disposition, copy.disposition)


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"", "object type missing was written by a newer release"),
        (b"\x09", "object type 09 was written by a newer release"),
        (b"\x00\x00\x00\x01A", "object type 00 was written by a newer release"),
        (b"\x01", "the stored form has no name"),
        (b"\x01\x04\x00\x01\x05", "the stored form has no name"),
        (b"\x01\x00\x00\x06ORDER", "the stored form is cut in attribute number 0"),
        (b"\x01\x00\x00\x01A\x04", "the stored form is cut in attribute number 4"),
        (b"\x01\x00\x00\x01A\x04\x00\x02\x05", "the stored form is cut in attribute number 4"),
        (b"\x01\x00\x00\x01A\x63\x00\x00", "attribute number 99 was written by a newer release"),
        (b"\x01\x00\x00\x01A\x04\x00\x01\xff", "DEFPRTY(255) is not valid: a number from 0 to 9"),
        (b"\x01\x00\x00\x01 ", "QLOCAL( ) is not valid: 1 to 48 characters"),
    ],
)
def test_what_cannot_be_read_is_named(packed, why):
    with pytest.raises(ValueError, match="^" + why.replace("(", r"\(").replace(")", r"\)")):
        object_from_bytes(packed)


def test_a_namelist_has_no_more_names_than_ibm_mq_allows():
    most = Namelist("LIST", names=("N" * 48,) * 256)
    assert most == object_from_bytes(most.pack())
    with pytest.raises(AttributeValueError, match="257 names"):
        Namelist("LIST", names=("N",) * 257)


# --- what objects say of themselves ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queue", "shared", "disposition"),
    [
        (LocalQueue("A"), False, "QMGR"),
        (LocalQueue("A", copied=True), False, "COPY"),
        (LocalQueue("A", structure="APP1"), True, "SHARED"),
        (ModelQueue("A", structure="APP1"), False, "QMGR"),
        (ModelQueue("A", structure="APP1", copied=True), False, "COPY"),
    ],
)
def test_where_a_queue_is(queue, shared, disposition):
    assert (shared, disposition) == (queue.shared, queue.disposition)


@pytest.mark.parametrize(
    ("definition", "structure"),
    [(DefinitionType.TEMPDYN, ""), (DefinitionType.PERMDYN, ""), (DefinitionType.SHAREDYN, "APP1")],
)
def test_only_a_shared_dynamic_queue_is_on_the_structure_of_its_model(definition, structure):
    model = ModelQueue("MODEL", definition=definition, structure="APP1", max_depth=7, copied=True)
    queue = model.instance("CSQ.1")
    assert LocalQueue("CSQ.1", definition=definition, structure=structure, max_depth=7) == queue
    assert type(queue) is LocalQueue


def test_words_that_came_as_numbers_are_what_they_mean():
    """O4: clients send numbers, and whoever reads asks which it is."""
    queue = LocalQueue("A", share=1, trigger_type=2, index_type=5, put_allowed=0)
    assert (True, TriggerType.EVERY, IndexType.GROUPID, False) == (
        queue.share, queue.trigger_type, queue.index_type, queue.put_allowed
    )  # fmt: skip
    assert queue.share is True
    assert queue.trigger_type is TriggerType.EVERY
    assert type(queue.put_allowed) is bool


def test_altering_makes_another_object_that_is_checked_too():
    before = LocalQueue("A", max_depth=5)
    after = before.altered(max_depth=6, descr="more")
    assert (5, 6, "more") == (before.max_depth, after.max_depth, after.descr)
    with pytest.raises(AttributeValueError):
        before.altered(max_depth=-1)


def test_attributes_are_declared_once_for_a_kind():
    assert attributes_of(LocalQueue) is attributes_of(LocalQueue)
    assert set(attributes_of(ModelQueue)) == set(attributes_of(LocalQueue))
