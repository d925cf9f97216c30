"""Rules of the message manager: QMST against the log's definitions. Its counts alone need no watching (2012-2014)."""

from quaestor.advisor.rows import Floats, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.advisor.rules.log_definitions import LOGLOAD_OF_OURS
from quaestor.planner.log_flow import log_buffers
from quaestor.planner.logload import LARGE_AT_LOW_DEPTH, LARGE_MESSAGE_BYTES, Shape, recommended_logload


def persistent_bytes(at: Columns) -> Floats:
    """Mean size of a persistent message put."""
    return ratio(at.persistent_bytes_put, at.persistent_puts)


def _more_buffers(row: Row) -> str:
    return f"{log_buffers(4000):,} log buffers instead of {log_buffers(row.outbuff_kb):,}"


def _logload(row: Row) -> str:
    wanted = recommended_logload(Shape.LOW_DEPTH, int(row.bytes_each))
    return f"for messages of this size on shallow queues LOGLOAD {wanted.low:,} to {wanted.high:,} is recommended"


RULES = (
    Rule(
        id="mp16-ch1/A-59",
        title="Large persistent messages with few log buffers",
        table="QMST",
        settings=("outbuff_kb",),
        figures={"bytes_each": persistent_bytes},
        when=lambda at, cut: (at.bytes_each > cut.bytes_min) & (at.outbuff_kb < cut.outbuff_kb_min),
        measure="bytes_each",
        cutoffs=(
            Cutoff("bytes_min", 100_000, "mean persistent message that is large", ours=True),
            Cutoff("outbuff_kb_min", 4000, "OUTBUFF at its most"),
        ),
        shows=("outbuff_kb",),
        advice="Persistent messages average {bytes_each:,.0f} bytes and OUTBUFF is {outbuff_kb:.0f} KB. Set it to"
        " 4000.",
        command="CSQ6LOGP OUTBUFF=4000",
        own_command="outbuff_kb = 4000 under [engine] in server.toml",
        effect=_more_buffers,
        lines="1639, 4791",
    ),
    Rule(
        id="mp16-ch1/A-64",
        title="Large messages take checkpoints quickly",
        table="QMST",
        severity=Severity.NOTE,
        settings=("logload",),
        figures={"bytes_each": persistent_bytes},
        when=lambda at, cut: (at.bytes_each > cut.bytes_min) & (at.logload < cut.logload_min),
        measure="bytes_each",
        cutoffs=(
            Cutoff("bytes_min", LARGE_MESSAGE_BYTES, "mean persistent message"),
            Cutoff("logload_min", LARGE_AT_LOW_DEPTH.low, "LOGLOAD for such messages"),
        ),
        shows=("bytes_each",),
        advice="Persistent messages average {bytes_each:,.0f} bytes and LOGLOAD is {logload:,.0f}: raise it if"
        " queues are shallow.",
        command="SET SYSTEM LOGLOAD(1000000)",
        not_ours=LOGLOAD_OF_OURS,
        effect=_logload,
        lines="1704",
    ),
)
