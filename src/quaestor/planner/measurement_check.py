"""What the formulas say about a measured hour, beside what was measured: how far a plan from them can be trusted.

Rules
  V1  The log rate is compared: formulas give it from sizes, persistence and rates; the log manager counted it.
  V2  The difference is said in percent of what was measured, with its sign.

Called by the plan's commands.  Calls the questions' load, measurement.
"""

from collections.abc import Iterator

from quaestor.planner.answer import MissingError
from quaestor.planner.measurement import Measurement
from quaestor.planner.quantity import show_bytes
from quaestor.planner.questions.load import Load
from quaestor.planner.workload import Workload


def log_agreement(measured: Measurement, workload: Workload) -> Iterator[str]:
    """A sentence about the log rate; none where nothing was logged (V1, V2)."""
    if measured.log is None or not measured.log.bytes_per_s:
        return
    try:
        planned = Load(workload).peak_log_rate
    except MissingError:
        return
    counted = measured.log.bytes_per_s
    percent = 100 * (planned / counted - 1)
    yield (
        f"log rate of that hour: {show_bytes(counted)}/s counted, {show_bytes(planned)}/s by the formulas"
        f" ({round(percent):+d} %)"
    )
