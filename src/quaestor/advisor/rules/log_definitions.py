"""Rules of the log's definitions: active logs, their copies and volumes, archives, LOGLOAD.

They read settings only, as those of `definitions` do.
"""

from quaestor.advisor.rule import NO, YES, Cutoff, Row, Rule, Severity
from quaestor.planner.geometry import TRACK_BYTES
from quaestor.planner.logload import GENERAL, ORDERED_REPLICATION, Shape, recommended_logload
from quaestor.planner.logs import ACTIVE_LOGS_MIN, BDAM_TRACKS_MAX
from quaestor.planner.quantity import MIB

SYSTEM = "settings.system"
DUAL_LOGS = "quaestor qmgr create NAME --dual-logs (how many copies a log has is said when it is created)"
LOGLOAD_OF_OURS = "LOGLOAD keeps its restart short and costs next to nothing; where it does, mp1b/A-43 counts it"
TRACKS_MAX_MIB = BDAM_TRACKS_MAX * TRACK_BYTES / MIB


def _logload(_: Row) -> str:
    wanted = recommended_logload(Shape.HIGH_DEPTH, 1000)
    return (
        f"LOGLOAD {wanted.low:,} to {wanted.high:,} is recommended where no restart limit or replication says otherwise"
    )


RULES = (
    Rule(
        id="mp16-ch1/A-2",
        title="Archives are migrated although recovery must be quick",
        table=SYSTEM,
        when=lambda at, cut: (
            (at.archive_migrated == cut.yes) & (at.recovery_time_matters == cut.yes) & (at.archive == "DASD")
        ),
        measure="archive_migrated",
        cutoffs=(YES,),
        advice="Archives on DASD are migrated and must be recalled before they are read. Archive straight to tape,"
        " or recall before use.",
        lines="499, 508",
    ),
    Rule(
        id="mp16-ch1/A-5",
        title="One copy on DASD without redundancy",
        table=SYSTEM,
        severity=Severity.ALERT,
        when=lambda at, cut: (
            (at.log_dasd_redundant == cut.no)
            & (
                (at.maybe("dual_logging") == cut.no)
                | (at.maybe("dual_bsds") == cut.no)
                | (at.maybe("dual_archive") == cut.no)
            )
        ),
        measure="log_dasd_redundant",
        cutoffs=(NO,),
        advice="The log's DASD does not survive the loss of a volume, and active log, BSDS or archive is kept once"
        " only. Keep each twice.",
        command="CSQ6LOGP TWOACTV=YES,TWOBSDS=YES,TWOARCH=YES",
        own_command=DUAL_LOGS,
        lines="523",
    ),
    Rule(
        id="mp16-ch1/A-8",
        title="Too few active logs",
        table=SYSTEM,
        when=lambda at, cut: at.active_logs < cut.logs_min,
        measure="active_logs",
        low_is_worse=True,
        cutoffs=(Cutoff("logs_min", ACTIVE_LOGS_MIN, "active logs of one copy"),),
        advice="{active_logs} active logs; at least four keep running while one is archived.",
        lines="538",
    ),
    Rule(
        id="mp16-ch1/A-11",
        title="The active log is too large to archive to DASD",
        table=SYSTEM,
        severity=Severity.ALERT,
        when=lambda at, cut: (at.version < 8) & (at.archive == "DASD") & (at.active_log_mb > cut.mb_max),
        measure="active_log_mb",
        cutoffs=(Cutoff("mb_max", TRACKS_MAX_MIB, "65,535 tracks in MiB"),),
        advice="Before V8 an archive on DASD holds at most 65,535 tracks ({mb_max:,.0f} MiB); the active log has"
        " {active_log_mb:,.0f}.",
        lines="542",
    ),
    Rule(
        id="mp16-ch1/A-12",
        title="Archives need a large format",
        table=SYSTEM,
        when=lambda at, cut: (
            (at.archive == "DASD")
            & (at.archive_mb > cut.mb_max)
            & (at.archive_large_format == 0)
            & ~(at.maybe("version") < 8)  # before V8 there are no such archives: A-11
        ),
        measure="archive_mb",
        cutoffs=(Cutoff("mb_max", TRACKS_MAX_MIB, "65,535 tracks in MiB"),),
        advice="Archives of {archive_mb:,.0f} MiB exceed 65,535 tracks: give them a data class of name type EXT"
        " (required for striping) or LARGE.",
        lines="548",
    ),
    Rule(
        id="mp16-ch1/A-13",
        also=("mp16-ch4-11/DASD-4",),
        title="Large archives cost CPU",
        table=SYSTEM,
        severity=Severity.NOTE,
        when=lambda at, cut: (at.archive_mb > cut.mb_max) & (at.archive == "DASD"),
        measure="archive_mb",
        cutoffs=(Cutoff("mb_max", TRACKS_MAX_MIB, "65,535 tracks in MiB"),),
        advice="Archives of {archive_mb:,.0f} MiB are above 65,535 tracks: the queue manager's CPU rises. Use them"
        " only when short of active logs; striping over volumes may help.",
        lines="550, 4218",
    ),
    Rule(
        id="mp16-ch1/A-14",
        title="Tapes are compressed by the drive",
        table=SYSTEM,
        when=lambda at, cut: (at.archive == "TAPE") & (at.tape_compression == cut.yes),
        measure="tape_compression",
        cutoffs=(YES,),
        advice="Tape drives compress archives: reading backwards in recovery suffers badly. Turn it off.",
        lines="556",
    ),
    Rule(
        id="mp16-ch1/A-17",
        title="A log is read and written on one volume",
        table=SYSTEM,
        when=lambda at, cut: (at.pav == cut.no) & (at.adjacent_logs_share_volume == 1),
        measure="adjacent_logs_share_volume",
        cutoffs=(NO,),
        advice="Logs that follow each other share a volume without PAV: offload reads one while the other is"
        " written. Separate them.",
        lines="564-568",
    ),
    Rule(
        id="mp16-ch1/A-19",
        title="Both copies of the log can be lost together",
        table=SYSTEM,
        severity=Severity.ALERT,
        when=lambda at, cut: at.copies_share_unit == cut.yes,
        measure="copies_share_unit",
        cutoffs=(YES,),
        advice="One failure takes both copies of the log. Place them on different units.",
        lines="570",
    ),
    Rule(
        id="mp16-ch4-11/DASD-3",
        title="Active logs are faster than archives",
        table=SYSTEM,
        when=lambda at, cut: (
            (at.active_logs_striped == cut.yes) & ((at.maybe("version") < 8) | (at.maybe("archives_striped") == 0))
        ),
        measure="active_logs_striped",
        cutoffs=(YES,),
        advice="Active logs are striped and archives are not (or cannot be): a burst fills the logs faster than they"
        " are archived. See that their number and size cover the log rate over the archive time.",
        lines="4216",
    ),
    Rule(
        id="mp16-ch1/A-37",
        title="Archive blocks are small",
        table=SYSTEM,
        severity=Severity.NOTE,
        when=lambda at, cut: (at.archive == "TAPE") & (at.archive_blksize < cut.bytes_min),
        measure="archive_blksize",
        low_is_worse=True,
        cutoffs=(Cutoff("bytes_min", 24_576, "BLKSIZE of archives on tape", ours=True),),
        advice="Archives go to tape in blocks of {archive_blksize:,.0f} bytes. Use a large block size.",
        command="SET ARCHIVE BLKSIZE(28672)",
        own_command="",
        lines="850",
    ),
    Rule(
        id="mp16-ch1/A-63",
        also=("mp16-ch1/A-67",),
        title="LOGLOAD is small",
        table=SYSTEM,
        when=lambda at, cut: (
            (at.logload < cut.logload_min) & (at.maybe("ordered_replication") != 1) & ~(at.maybe("restart_limit_s") > 0)
        ),
        measure="logload",
        low_is_worse=True,
        cutoffs=(Cutoff("logload_min", GENERAL.low, "LOGLOAD without a restart limit or replication"),),
        advice="LOGLOAD is {logload:,.0f}: checkpoints come often, pages are written twice, and long units of"
        " recovery are moved forward in the log again and again.",
        command="SET SYSTEM LOGLOAD(4000000)",
        not_ours=LOGLOAD_OF_OURS,
        effect=_logload,
        lines="1669-1677, 1732",
    ),
    Rule(
        id="mp16-ch1/A-66",
        title="Ordered replication wants a small LOGLOAD",
        table=SYSTEM,
        severity=Severity.NOTE,
        when=lambda at, cut: (at.ordered_replication == 1) & (at.logload > cut.logload_max),
        measure="logload",
        cutoffs=(
            Cutoff(
                "logload_max", ORDERED_REPLICATION.low, "LOGLOAD for replication that relies on order across channels"
            ),
        ),
        advice="Replication relies on order across channels and LOGLOAD is {logload:,.0f}: if throughput is skewed"
        " to one channel try 100,000.",
        command="SET SYSTEM LOGLOAD(100000)",
        lines="1677, 1724",
    ),
)
