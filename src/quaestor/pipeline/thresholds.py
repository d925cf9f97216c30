"""The thresholds of MP1B as a table: what is looked at, when it is out of line, what to do about it.

Rules
  T1  A threshold is a condition on one row of its source, in the words of the update language. Names in braces are
      parameters of the report, so that a limit can be moved without touching this table.
  T2  Limits that the paper leaves open are ours, and their parameters say so (`ours`).
  T3  A buffer pool that was never used says nothing (F-19). Single maxima and lists do not count (A-16).
  T4  What MP1B reports only as information (A-28 to A-35, A-44, A-46) is no exception and stands in other reports.

Called by report_queries.exceptions, the catalog of reports and the advisor's rules.  Calls nothing, knows no Spark.
"""

from dataclasses import dataclass

ALERT = "alert"
WARNING = "warning"
NOTE = "note"


@dataclass(frozen=True, slots=True)
class Threshold:
    """One rule: `when` and `figure` speak of the source's columns, `says` takes the object's name for %s.

    `worst` says which figure of a day stands for it: the `sum` of counts, the `max` of averages, the `min` of what is
    left.
    """

    rule: str
    severity: str
    when: str
    figure: str
    unit: str
    says: str
    advice: str
    worst: str = "sum"


@dataclass(frozen=True, slots=True)
class Limit:
    """A parameter of the thresholds: whose it is, its default, and whether the figure is the paper's or ours (T2)."""

    kind: str
    name: str
    default: float
    about: str
    ours: bool = False


LOG_READS_PER_HOUR = 100
"""Log reads from buffers beyond which the paper's "large" begins (A-14, A-37), here and in the advisor's rules."""

LIMITS = (
    Limit("tasks", "unit_us", 10_000, "A-1: us of elapsed time per commit of a short transaction"),
    Limit("tasks", "force_us", 2_000, "A-3: us that a log force may take on average", ours=True),
    Limit("queues", "skipped", 10, "A-9: messages skipped per valid get", ours=True),
    Limit("db2", "db2_server_us", 10_000, "A-16: us of server time of an update, write or delete"),
    Limit("db2", "db2_delay_us", 1_000, "A-17: us that a request waits for a Db2 server"),
    Limit("db2", "db2_depth", 10, "A-18: requests queued for Db2, warning"),
    Limit("db2", "db2_depth_alert", 20, "A-18: requests queued for Db2, alert"),
    Limit("cf", "cf_factor", 2, "A-21: times its own median that a structure may take", ours=True),
    Limit("buffer", "low_percent", 15, "A-25: per cent of a buffer pool that must stay stealable"),
    Limit("log", "buffer_reads", LOG_READS_PER_HOUR, "A-14, A-37: log reads from buffers in an hour", ours=True),
    Limit("log", "checkpoints_per_hour", 10, "A-43: checkpoints an hour caused by LOGLOAD"),
)

BUFFER_POOLS = (
    Threshold(
        "A-24", ALERT, "SOS > 0", "SOS", "times",
        "Buffer pool %s is too small: no buffer was free", "Make the pool larger; spread its page sets.",
    ),
    Threshold(
        "A-27", ALERT, "DMC > 0", "DMC", "times",
        "Buffer pool %s wrote pages synchronously", "Make the pool larger.",
    ),
    Threshold(
        "A-25", WARNING, "GETP + GETN > 0 AND 100 * STEALABLE_LOW <= {low_percent} * BUFFERS",
        "100 * STEALABLE_LOW / BUFFERS", "% left",
        "Buffer pool %s ran low", "Make the pool larger, move queues, or find out what stopped draining.", "min",
    ),
    Threshold(
        "A-26", WARNING, "RIO > 0", "RIO", "page reads",
        "Buffer pool %s read pages back from a page set", "Expected after a start; otherwise the pool is too small.",
    ),
)  # fmt: skip

LOG = (
    Threshold(
        "A-36", ALERT, "WAIT_COUNT_NO_BUF > 0", "WAIT_COUNT_NO_BUF", "waits",
        "Log: tasks waited for a log buffer", "Make OUTBUFF larger.",
    ),
    Threshold(
        "A-39", ALERT, "READ_REQ_ARCHIVE > 0", "READ_REQ_ARCHIVE", "reads",
        "Log: archive logs were read", "Find the long unit of recovery; use larger or more active logs.",
    ),
    Threshold(
        "A-41", WARNING, "DELAYED_MAXRTU > 0", "DELAYED_MAXRTU", "reads",
        "Log: reads waited for a tape unit that MAXRTU withholds", "Raise MAXRTU; find why archives are needed.",
    ),
    Threshold(
        "A-42", WARNING, "DELAYED_UNAVAILABLE > 0", "DELAYED_UNAVAILABLE", "reads",
        "Log: reads waited for tape units or operators", "Look for outstanding mounts and replies.",
    ),
    Threshold(
        "A-45", WARNING, "MOUNTS_ATTEMPTED > MOUNTS_DONE", "MOUNTS_ATTEMPTED - MOUNTS_DONE", "mounts",
        "Log: look-ahead tape mounts failed", "Look for tape units in short supply.",
    ),
    Threshold(
        "A-38", WARNING, "READ_REQ_ACTIVE > 0", "READ_REQ_ACTIVE", "reads",
        "Log: active logs were read", "A long unit of recovery backs out: find it and commit more often.",
    ),
    Threshold(
        "A-37", WARNING, "READ_REQ_BUF_AN_HOUR > {buffer_reads}", "READ_REQ_BUF_AN_HOUR", "reads an hour",
        "Log: many reads from log buffers", "Applications back out: see who does (A-14).", "max",
    ),
    Threshold(
        "A-40", WARNING, "LOGBUF_PAGEDIN > 0", "LOGBUF_PAGEDIN", "pages",
        "Log: log buffers were paged in", "Storage is short: use a smaller OUTBUFF if no task waits for buffers.",
    ),
    Threshold(
        "A-43", WARNING, "CHECKPOINTS_AN_HOUR > {checkpoints_per_hour}", "CHECKPOINTS_AN_HOUR", "an hour",
        "Log: checkpoints follow each other too closely", "Raise LOGLOAD; see that active logs are not small.", "max",
    ),
)  # fmt: skip

DB2 = (
    Threshold(
        "A-18", ALERT, "DHIGMAX > {db2_depth_alert}", "DHIGMAX", "requests",
        "Db2: requests queued deep", "Use more Db2 servers (QSGDATA).", "max",
    ),
    Threshold(
        "A-18", WARNING, "DHIGMAX > {db2_depth} AND DHIGMAX <= {db2_depth_alert}", "DHIGMAX", "requests",
        "Db2: requests queued", "Consider more Db2 servers (QSGDATA).", "max",
    ),
    Threshold(
        "A-19", ALERT, "DEADCNT > 0", "DEADCNT", "deadlocks",
        "Db2: deadlocks", "See who else uses these Db2 tables.",
    ),
    Threshold(
        "A-19", ALERT, "ABNDCNT > 0", "ABNDCNT", "abends",
        "Db2: server tasks ended abnormally", "Look for the abend in the job log.",
    ),
)  # fmt: skip

DB2_VERBS = (
    Threshold(
        "A-16", WARNING, "LOGGED = 1 AND server_us / CALLS > {db2_server_us}", "server_us / CALLS", "us",
        "Db2: %s answers slowly", "See Db2's log and its waits.", "max",
    ),
    Threshold(
        "A-17", WARNING, "(thread_us - server_us) / CALLS > {db2_delay_us}",
        "(thread_us - server_us) / CALLS", "us",
        "Db2: %s waits for a server", "Use more Db2 servers (QSGDATA).", "max",
    ),
)  # fmt: skip

STRUCTURES = (
    Threshold(
        "A-20", ALERT, "QESTSFUL > 0", "QESTSFUL", "times",
        "Structure %s was full", "Enlarge the structure, or find what does not drain.",
    ),
    Threshold(
        "A-21", WARNING, "QESTCSEC > 0 AND QESTSSTC / QESTCSEC > {cf_factor} * single_median",
        "QESTSSTC / QESTCSEC", "us",
        "Structure %s answers slowly (single)", "See the load of the coupling facility and its links.", "max",
    ),
    Threshold(
        "A-21", WARNING, "QESTCMEC > 0 AND QESTMSTC / QESTCMEC > {cf_factor} * multiple_median",
        "QESTMSTC / QESTCMEC", "us",
        "Structure %s answers slowly (multiple)", "See the load of the coupling facility and its links.", "max",
    ),
    Threshold(
        "A-22", NOTE, "QESTRSEC + QESTRMEC > 0", "QESTRSEC + QESTRMEC", "redrives",
        "Structure %s: requests were redriven", "Messages over 4 KB need a second read; averages hold both.",
    ),
)  # fmt: skip

QUEUE_DAYS = (
    Threshold(
        "A-4", WARNING, "QTYPE = 'Local' AND INDXTYPE = 'None' AND GETS + GETBRWS > 0 AND GETA = 0",
        "GETS + GETBRWS", "gets by id",
        "Queue %s has no index, and every get asks for one message", "Index the queue.",
    ),
    Threshold(
        "A-5", NOTE, "NOT INDXTYPE IN ('None', '?') AND GETS + GETBRWS = 0 AND GETA > 0", "GETA", "gets of any",
        "Queue %s has an index that no get uses", "Drop the index.",
    ),
)  # fmt: skip
"""On what all users of a queue did in a day: one task alone says nothing about its index."""

QUEUE_RECORDS = (
    Threshold(
        "A-7", WARNING, "IOS > 0", "IOS", "page set I/Os",
        "Queue %s: messages came from the page set", "Normal after a start; otherwise see its buffer pool.",
    ),
    Threshold(
        "A-9", WARNING, "VALIDGET > 0 AND GETSMSG / VALIDGET > {skipped}", "GETSMSG / VALIDGET", "skipped a get",
        "Queue %s: gets search past many messages", "Index the queue, or get in its order.", "max",
    ),
    Threshold(
        "A-10", NOTE, "GETEXMSG > 0", "GETEXMSG", "messages",
        "Queue %s: gets met expired messages", "See why they were not got in time.",
    ),
    Threshold(
        "A-2", NOTE, "SETN > 0", "SETN", "MQSETs",
        "Queue %s: an application changes it with MQSET", "See that it restores what it sets when it fails.",
    ),
)  # fmt: skip

TASKS = (
    Threshold(
        "A-1", WARNING, "JOBTYPE IN ('CICS', 'IMS') AND NCOMMITS > 0 AND ET / NCOMMITS > {unit_us}", "ET / NCOMMITS",
        "us a commit",
        "%s: units of recovery are slow", "See what they wait for (report elapsed-split).", "max",
    ),
    Threshold(
        "A-3", WARNING, "WTASJCN > 0 AND WTASJCET / WTASJCN > {force_us}", "WTASJCET / WTASJCN", "us a force",
        "%s waits long for the log", "Move the log data sets to a quieter volume, or split the work.", "max",
    ),
    Threshold(
        "A-14", WARNING, "NBACKOUTS > 0 AND READ_REQ_BUF_AN_HOUR > {buffer_reads}", "NBACKOUTS", "backouts",
        "%s backs out", "Find out why; backing out reads the log.",
    ),
)  # fmt: skip
