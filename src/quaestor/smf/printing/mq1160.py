"""MQ1160: message manager accounting of one task, SMF 116-0: CPU in milliseconds, puts and gets by size band.

MP1B's sample of this printout did not survive, so the labels are the ones it uses for the fields. QWAC, which MP1B
does not describe, follows with the times of the thread.

Called by programs.  Calls forms, identity.
"""

from collections.abc import Iterator

from quaestor.layout import Record
from quaestor.smf.printing import figures
from quaestor.smf.printing.figures import View
from quaestor.smf.printing.forms import Cell, Form, Row, figure, row, words
from quaestor.smf.printing.identity import cross_reference, dotted, dotted_token, thread_type
from quaestor.smf.sections.headers import CorrelationHeader

BANDS = (("0-99", "0_99"), ("100-999", "100_999"), ("1000-9999", "1000_9999"), (">=10000", "10000_up"))


def _cpu_ms(section: Record, _: View) -> str:
    """Milliseconds to the microsecond: a short task uses less than one."""
    cpu = getattr(section, "cpu", None)
    return figures.ABSENT if cpu is None else f"{cpu / figures.TOD_UNITS_PER_MILLISECOND:.3f}"


def _by_size(label: str, verb: str) -> Row:
    return row(*(figure(band, f"{verb}_{name}") for band, name in BANDS), lead=f"{label} : ")


MESSAGE_ACCOUNTING = Form(
    "Message manager : QMAC",
    (row(Cell("CPU m/s :", ("cpu",), _cpu_ms, 12)), _by_size("Puts", "puts"), _by_size("Gets", "gets")),
)
THREAD = Form(
    "Thread : QWAC",
    (
        row(words("Started", "started_at")),
        row(words("Ended  ", "ended_at")),
        row(figure("Commits", "commits"), figure("Backouts", "backouts")),
        row(
            figure("In MQ uS: elapsed", "in_mq_elapsed", 14),
            figure("TCB", "in_mq_tcb", 14),
            figure("SRB", "in_mq_srb", 14),
            sparse=True,
        ),
    ),
)
FORMS = {"QMAC": MESSAGE_ACCOUNTING, "QWAC": THREAD}


def identification(correlation: CorrelationHeader, view: View) -> Iterator[str]:
    """Who the task was, from QWHC."""
    kind = correlation.connection_type
    yield dotted("Thread type", thread_type(kind))
    yield dotted("Connection name", correlation.connection_name)
    yield dotted("Operator id", correlation.operator_id)
    yield dotted("User identifier", correlation.user_id)
    yield from dotted_token(
        "Correlator Id", correlation.correlation, cross_reference(kind, correlation.correlation, view), always=True
    )
    yield from dotted_token("NID", correlation.network_id, view.characters(correlation.network_id))
    yield from dotted_token(
        "accounting token", correlation.accounting_token, view.characters(correlation.accounting_token)
    )
