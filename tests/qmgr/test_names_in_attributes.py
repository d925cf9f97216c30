"""Attributes that name other objects hold names that objects can have, or nothing (AD6)."""

import pytest

from qmgr.command.console import Console
from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.objects import (
    AliasQueue,
    LocalQueue,
    ModelQueue,
    Namelist,
    QueueManagerAttributes,
    RemoteQueue,
    attributes_of,
)

FIELDS = ("dead_letter_queue", "def_xmit_queue")
BAD = ("A B", "A*", "?", " A", "\u00e9", "A ", " ")


@pytest.fixture
def console():
    made = Console()
    made.connect()
    return made


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("bad", BAD)
def test_what_no_queue_can_be_called_is_refused(console, field, bad):
    with pytest.raises(AttributeValueError, match="1 to 48 characters"):
        console.app.alter(QueueManagerAttributes, **{field: bad})
    with pytest.raises(AttributeValueError, match="1 to 48 characters"):
        console.app.define(QueueManagerAttributes("QM1", **{field: bad}), replace=True)


@pytest.mark.parametrize("field", FIELDS)
def test_a_name_and_nothing_are_taken(console, field):
    """Whether or not there is such a queue yet."""
    for good in ("a.Queue/of_100%", "A" * 48, ""):
        console.app.alter(QueueManagerAttributes, **{field: good})
        assert good in console.app.inquire().values()


@pytest.mark.parametrize(("keyword", "written", "kept"), [("DEADQ", "' '", ""), ("DEFXMITQ", "'A.B  '", "A.B")])
def test_blanks_behind_a_name_are_padding(console, keyword, written, kept):
    """N1: so DEADQ(' ') takes the name away."""
    assert console.run(f"ALTER QMGR {keyword}(OLD)").ok
    assert console.run(f"ALTER QMGR {keyword}({written})").ok
    assert [kept] == [row[keyword] for row in console.rows(f"DISPLAY QMGR {keyword}")]


QUEUES = [
    *((kind, field) for kind in (LocalQueue, ModelQueue) for field in ("backout_queue", "process", "initiation_queue")),
    (AliasQueue, "target"),
    *((RemoteQueue, field) for field in ("remote_name", "remote_qmgr", "xmit_queue")),
]


@pytest.mark.parametrize(("kind", "field"), QUEUES)
def test_what_a_queue_names_has_a_name_too(console, kind, field):
    for bad in BAD:
        with pytest.raises(AttributeValueError, match="1 to 48 characters"):
            console.app.define(kind("Q", **{field: bad}))
    console.app.define(kind("Q", **{field: "OTHER"}))
    with pytest.raises(AttributeValueError, match="1 to 48 characters"):
        console.app.alter(kind, "Q", **{field: "A B"})
    keyword = attributes_of(kind)[field].keyword
    assert {keyword: "OTHER"} == console.app.inquire(kind, "Q", keyword)
    console.app.alter(kind, "Q", **{field: ""})
    assert {keyword: ""} == console.app.inquire(kind, "Q", keyword)


def test_a_namelist_has_names(console):
    """Each of them, though none need be defined."""
    for bad in (*BAD, ""):
        with pytest.raises(AttributeValueError, match="1 to 48 characters"):
            console.app.define(Namelist("N", names=("A", bad)))
    console.app.define(Namelist("N", names=("A", "b/C")))
    with pytest.raises(AttributeValueError, match="1 to 48 characters"):
        console.app.alter(Namelist, "N", names=("A B",))
    assert {"NAMES": ("A", "b/C")} == console.app.inquire(Namelist, "N", "NAMES")


@pytest.mark.parametrize(
    ("written", "kept"), [("A,'B  '", ["A", "B"]), ("' '", []), ("", []), ("A,' '", None), ("'A B'", None)]
)
def test_names_of_a_namelist_as_a_command_writes_them(console, written, kept):
    """A blank alone is none at all, as NAMES() is."""
    assert (kept is not None) is console.run(f"DEFINE NAMELIST(N) NAMES({written})").ok
    found = console.rows("DISPLAY NAMELIST(N) NAMES") if kept is not None else []
    assert [kept] * len(found) == [row["NAMES"] for row in found]


def test_a_command_is_told_which_name_is_none(console):
    reply = console.run("DEFINE QALIAS(A) TARGET('NO NAME')")
    assert not reply.ok
    assert any("TARGET" in line and "1 to 48 characters" in line for line in reply.lines)
    assert console.run("DEFINE QALIAS(A) TARGET('PADDED  ')").ok
    assert ["PADDED"] == [row["TARGET"] for row in console.rows("DISPLAY QALIAS(A) TARGET")]


def test_what_was_kept_before_is_still_read(console):
    """A queue manager with such a name starts, and its other attributes can be altered."""
    catalogue = console.qm.messages.catalogue
    with console.qm.engine.recovery.latch:
        catalogue.alter(QueueManagerAttributes, "", dead_letter_queue="A B")
    console.restart()
    console.connect().alter(QueueManagerAttributes, max_uncommitted=77)
    assert {"DEADQ": "A B", "MAXUMSGS": 77} == console.app.inquire(QueueManagerAttributes, "", "DEADQ", "MAXUMSGS")
