"""Every setting a rule may read: its name, its type and what it means.

Called by settings for its checks and by explain.  Calls nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a queue manager or of one of its objects."""

    type: type
    meaning: str


def _number(meaning: str) -> Setting:
    return Setting(float, meaning)


def _flag(meaning: str) -> Setting:
    return Setting(bool, meaning)


def _text(meaning: str) -> Setting:
    return Setting(str, meaning)


SETTINGS: Mapping[str, Mapping[str, Setting]] = {
    "system": {
        "product": _text("mq or quaestor; without it quaestor where the records are of system QSTR"),
        "version": _number("version and release, such as 9.2"),
        "production": _flag("a production system"),
        "queue_sharing_group": _text("queue-sharing group"),
        "group_members": _number("queue managers in the group, those planned included"),
        "logload": _number("LOGLOAD of CSQ6SYSP"),
        "outbuff_kb": _number("OUTBUFF of CSQ6LOGP"),
        "maxumsgs": _number("MAXUMSGS of the queue manager"),
        "qindxbld": _text("QINDXBLD of CSQ6SYSP: WAIT or NOWAIT"),
        "expryint": _text("EXPRYINT of the queue manager: OFF or seconds"),
        "clcache": _text("CLCACHE of CSQ6SYSP: STATIC or DYNAMIC"),
        "objects": _number("objects defined"),
        "maxshortmsgs": _number("MAXSHORTMSGS: messages packed into a page; 0 for as many as fit"),
        "security_timeout_min": _number("security TIMEOUT"),
        "security_interval_min": _number("security INTERVAL"),
        "trace_global": _flag("TRACE(G) is active"),
        "trace_chinit": _flag("TRACE(CHINIT) is active"),
        "trace_asked_for": _flag("service asked for the trace"),
        "trace_destination": _text("where global trace goes: RES or GTF"),
        "accounting_class_3": _flag("TRACE(A) CLASS(3) is active all the time"),
        "smf_recording": _text("MAN data sets or LOGSTREAM"),
        "restart_limit_s": _number("how long a restart may take"),
        "ordered_replication": _flag("replication over several channels relies on order across them"),
        "active_logs": _number("active log data sets of one copy"),
        "active_log_mb": _number("size of one active log, MiB"),
        "dual_logging": _flag("TWOACTV of CSQ6LOGP"),
        "dual_bsds": _flag("TWOBSDS of CSQ6LOGP"),
        "dual_archive": _flag("TWOARCH of CSQ6LOGP"),
        "active_logs_striped": _flag("active logs are striped"),
        "archives_striped": _flag("archive logs are striped"),
        "archive": _text("archive medium: TAPE or DASD; NONE where OFFLOAD is NO"),
        "archive_time_s": _number("time to archive one active log"),
        "mount_time_s": _number("time to mount a tape"),
        "archive_mb": _number("primary allocation of an archive log, MiB"),
        "archive_large_format": _flag("archives have data set name type LARGE or EXT"),
        "archive_blksize": _number("BLKSIZE of CSQ6ARVP"),
        "archive_migrated": _flag("archives are migrated by HSM"),
        "tape_compression": _flag("tape drives compress in hardware"),
        "recovery_time_matters": _flag("a target for recovery time is in force"),
        "log_dasd": _text("DASD of the logs as MP16 chapter 4 names it"),
        "log_dasd_redundant": _flag("log DASD survives the loss of a volume"),
        "pav": _flag("PAV or HyperPAV on the log volumes"),
        "adjacent_logs_share_volume": _flag("logs that follow each other lie on one volume"),
        "copies_share_unit": _flag("both copies of the log can be lost together"),
        "zhpf": _flag("zHPF is enabled"),
        "page_set_hyperpav": _flag("HyperPAV on the page set volumes"),
        "write_burst_limit_s": _number("how long the write burst of a checkpoint may take"),
        "page_set_write_mb_per_s": _number("sustained write rate to the page sets"),
        "image_copies": _number("image copies kept of each page set"),
        "backup_method": _text("how page sets are copied: DFDSS or REPRO"),
        "planned_log_mb_per_hour": _number("hourly log that the backup interval was planned for"),
        "free_real_mb": _number("real storage to spare"),
        "chidisps": _number("CHIDISPS"),
        "chiadaps": _number("CHIADAPS"),
        "ssltasks": _number("SSLTASKS"),
        "channel_storage_mb": _number("storage of the channel initiator below the bar"),
        "cf_link": _text("kind of link to the coupling facility: ICP, CS5, PSIFB 12x IFB3, CBP, CFP ..."),
        "cf_engines": _number("engines of the coupling facility"),
        "cf_engines_shared": _flag("its engines are shared with other partitions"),
        "cf_busy_percent": _number("how busy it is (RMF)"),
        "cf_scm_mb": _number("storage class memory assigned to it"),
        "cf_free_mb": _number("its free storage"),
        "cf_response_critical": _flag("its response time is critical"),
        "shared_channels": _flag("shared channels are used"),
        "lowest_version_in_group": _number("lowest version in the group, such as 7.0"),
        "scsqauth_in_lla": _flag("SCSQAUTH is in the LLA"),
        "acctq_everywhere": _flag("ACCTQ is on, or QMGR, for every queue"),
        "chargeback": _flag("accounting is used for charge-back"),
    },
    "buffer_pool": {
        "usage_class": _number("1 objects and system, 2 long-lived, 3 short-lived, 4 queues that may spill"),
        "messages_live": _text("short or long: how long messages of the pool live"),
        "available_buffers": _number("buffers stealable now, as DISPLAY USAGE shows"),
    },
    "page_set": {
        "buffer_pool_of": _number("its buffer pool"),
        "total_pages": _number("pages"),
        "unused_pages": _number("pages not in use"),
        "persistent_pages": _number("pages with persistent messages"),
        "nonpersistent_pages": _number("pages with non-persistent messages"),
        "expand": _text("EXPAND: USER, SYSTEM or NONE"),
        "expansions": _number("extents added since start"),
        "secondary_extent": _flag("a secondary extent is defined"),
    },
    "structure": {
        "cflevel": _number("CFLEVEL"),
        "recover": _text("RECOVER: YES or NO"),
        "offload": _text("OFFLOAD: SMDS, DB2 or NONE"),
        "queues": _number("queues defined on it"),
        "size_kb": _number("SIZE of the policy"),
        "initsize_kb": _number("INITSIZE of the policy"),
        "minsize_kb": _number("MINSIZE of the policy"),
        "allowautoalt": _text("ALLOWAUTOALT of the policy: YES or NO"),
        "fullthreshold": _number("FULLTHRESHOLD of the policy"),
        "duplexed": _flag("system-managed duplexing is on"),
        "entries_total": _number("entries (ENTSMAX)"),
        "elements_total": _number("elements"),
        "persistent_messages": _flag("it holds persistent messages"),
        "backup_minutes_ago": _number("age of its last backup"),
        "backup_interval_min": _number("how often it must be backed up"),
        "scm_max_mb": _number("SCMMAXSIZE of the policy"),
        "scm_use": _text("what storage class memory is for: performance or emergency"),
        "offload_disabled": _flag("OFFLDnSZ(64K): nothing is offloaded"),
    },
    "channel": {
        "npmspeed": _text("NPMSPEED: FAST or NORMAL"),
        "batchsz": _number("BATCHSZ"),
        "batchint_ms": _number("BATCHINT"),
        "discint_s": _number("DISCINT"),
        "sharecnv": _number("SHARECNV"),
        "order_matters": _flag("applications mix persistent and non-persistent and rely on order"),
    },
    "queue": {
        "queue_type": _text("QLOCAL, QMODEL ..."),
        "stgclass": _text("STGCLASS"),
        "buffer_pool_of": _number("buffer pool of its page set"),
        "indxtype": _text("INDXTYPE"),
        "curdepth": _number("CURDEPTH"),
        "trigtype": _text("TRIGTYPE"),
        "is_dead_letter": _flag("the dead-letter queue"),
    },
}
KINDS = tuple(kind for kind in SETTINGS if kind != "system")
