"""Attributes of the queue manager that name queues hold names of queues, or nothing (AD6)."""

import pytest

from qmgr.command.console import Console
from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.objects import QueueManagerAttributes

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


def test_what_was_kept_before_is_still_read(console):
    """A queue manager with such a name starts, and its other attributes can be altered."""
    catalogue = console.qm.messages.catalogue
    with console.qm.engine.recovery.latch:
        catalogue.alter(QueueManagerAttributes, "", dead_letter_queue="A B")
    console.restart()
    console.connect().alter(QueueManagerAttributes, max_uncommitted=77)
    assert {"DEADQ": "A B", "MAXUMSGS": 77} == console.app.inquire(QueueManagerAttributes, "", "DEADQ", "MAXUMSGS")
