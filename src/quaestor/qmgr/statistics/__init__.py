"""Statistics and accounting: every manager's section and every task's tally become SMF 115 and 116 records.

    manager      intervals, tasks, traces; the one others talk to      traces       START, STOP, DISPLAY TRACE
    collect      115: the sections of an interval                      intervals    what was counted since the last look
    accounts     116: a task's tally as records                        forms        filling in empty structures, quickly
    dump_files   records on disk, one file after the other             settings     which traces, how long, where
    metrics      the same figures as Prometheus text

Called by queue_manager, connection, command, the scheduler.  Calls the managers' sections and smf.
"""

from quaestor.qmgr.statistics.dump_files import DumpFiles
from quaestor.qmgr.statistics.manager import StatisticsManager
from quaestor.qmgr.statistics.settings import TraceError, TraceSettings
from quaestor.qmgr.statistics.traces import TraceRow, Traces

__all__ = ["DumpFiles", "StatisticsManager", "TraceError", "TraceRow", "TraceSettings", "Traces"]
