"""Which program prints a record, and the whole printout of a record or a task.

MQ1150 prints SMF 115, MQ1160 prints 116-0, MQ116S prints tasks (116-1 with its 116-2 continuations) and, in its
manner, channel accounting (116-10).

Called by the command `smf print`.  Calls the modules that hold the forms.
"""

from collections.abc import Iterator
from enum import Enum

from quaestor.layout import CP1047, CodePage
from quaestor.smf.printing import identity, media, mover, mq116s, mq1150, mq1160, objects, queue_account
from quaestor.smf.printing.figures import View
from quaestor.smf.printing.forms import Form
from quaestor.smf.records import SmfRecord, Task

FORMS: dict[str, Form] = {
    **mq1150.FORMS,
    **media.FORMS,
    **objects.FORMS,
    **mover.FORMS,
    **mq1160.FORMS,
    "WTAS": mq116s.TASK,
    "WQST": queue_account.QUEUE,
}


class Program(Enum):
    """The printing programs of MP1B."""

    MQ1150 = "mq1150"
    MQ1160 = "mq1160"
    MQ116S = "mq116s"


def program_of(record: SmfRecord) -> Program | None:
    """The program that prints a record; None for other SMF types."""
    if record.header.record_type == 115:
        return Program.MQ1150
    if record.header.record_type != 116:
        return None
    return Program.MQ1160 if record.header.subtype == 0 else Program.MQ116S


def printout(record: SmfRecord, page: CodePage = CP1047) -> Iterator[str]:
    """A record's header and every section under its title."""
    view = View(record.zone, page)
    yield from identity.header_lines(record)
    if record.headers.correlation is not None:
        yield from mq1160.identification(record.headers.correlation, view)
    if record.kind is None:
        yield "  subtype not known: nothing to print"
    elif not record.sections:
        yield f"  {record.kind.title}: no section to print"
    for structure, sections in record.sections.items():
        yield FORMS[structure].title
        for place, section in enumerate(sections, start=1):
            yield from FORMS[structure].lines(section, view, place)


def task_printout(task: Task, page: CodePage = CP1047) -> Iterator[str]:
    """A task as MQ116S prints it: who it was, what it did, then each of its queues."""
    view = View(task.record.zone, page)
    yield from mq116s.header(task)
    if task.identification is not None:
        yield from mq116s.identification(task.identification, view)
    if task.accounting is not None:
        yield from mq116s.accounting(task.accounting, view)
    for queue in task.queues:
        yield from queue_account.account(queue, view)
