"""Rules of structures' definitions: the CFRM policy, CFSTRUCT objects, backups and storage class memory."""

from quaestor.advisor.rows import Floats, Groups, ratio
from quaestor.advisor.rule import NO, Columns, Cutoff, Row, Rule, Severity
from quaestor.planner.cfrm import ENTRIES_PER_QUEUE_MANAGER, queue_managers_supported, recommended_sizes
from quaestor.planner.storage_class_memory import augmented_mb
from quaestor.planner.structure_choice import QUEUES_PER_STRUCTURE, structures_for_queues

STRUCTURE = "settings.structure"


def _sizes(row: Row) -> str:
    wanted = recommended_sizes(int(row.initsize_kb))
    return f"INITSIZE {wanted.init_kb:,} KB goes with SIZE {wanted.size_kb:,} KB and MINSIZE {wanted.min_kb:,} KB"


def promised_mb(at: Columns) -> Floats:
    """SCMMAXSIZE of all structures of the queue manager's coupling facility together."""
    group = Groups([at.queue_manager])
    return group.sum(at.scm_max_mb)[group.of_row]


RULES = (
    Rule(
        id="mp16-ch2-3/CF-R5",
        title="More queues than a structure takes",
        table=STRUCTURE,
        when=lambda at, cut: at.queues > cut.queues_max,
        measure="queues",
        cutoffs=(Cutoff("queues_max", QUEUES_PER_STRUCTURE, "queues of a structure"),),
        severity=Severity.ALERT,
        shows=("queues",),
        advice="{queues:,.0f} queues are defined on the structure and {queues_max:.0f} are the most.",
        effect=lambda row: f"{structures_for_queues(int(row.queues)) - 1} application structures take them",
        lines="3194",
    ),
    Rule(
        id="mp16-ch2-3/CF-R8",
        title="A structure without persistent messages is protected",
        table=STRUCTURE,
        severity=Severity.NOTE,
        when=lambda at, cut: (
            (at.persistent_messages == cut.no) & ((at.maybe("duplexed") == 1) | (at.maybe("recover") == "YES"))
        ),
        measure="persistent_messages",
        cutoffs=(NO,),
        advice="The structure holds non-persistent messages only, and is duplexed or backed up: this costs much and"
        " saves little.",
        lines="3224-3225",
    ),
    Rule(
        id="mp16-ch2-3/CF-R9",
        title="SIZE is more than twice INITSIZE",
        table=STRUCTURE,
        figures={"times": lambda at: ratio(at.size_kb, at.initsize_kb)},
        when=lambda at, cut: at.times > cut.times_max,
        measure="times",
        cutoffs=(Cutoff("times_max", 2, "SIZE over INITSIZE"),),
        shows=("initsize_kb",),
        advice="SIZE {size_kb:,.0f} KB is {times:.1f} times INITSIZE {initsize_kb:,.0f} KB: control storage for the"
        " difference is taken from the start. Lower SIZE or raise INITSIZE.",
        effect=_sizes,
        lines="2338-2340",
    ),
    Rule(
        id="mp16-ch2-3/CF-R10",
        title="Auto-alter may shrink the structure",
        table=STRUCTURE,
        when=lambda at, cut: (at.allowautoalt == "YES") & (at.minsize_kb < cut.share * at.initsize_kb),
        grave=lambda at, _: at.structure == "CSQ_ADMIN",
        measure="minsize_kb",
        low_is_worse=True,
        cutoffs=(Cutoff("share", 1.0, "MINSIZE to INITSIZE"),),
        shows=("initsize_kb",),
        advice="ALLOWAUTOALT(YES) with MINSIZE {minsize_kb:,.0f} KB below INITSIZE {initsize_kb:,.0f} KB: storage"
        " may be taken away when it is needed. Set MINSIZE to INITSIZE.",
        effect=_sizes,
        lines="2339-2344, 2535-2537",
    ),
    Rule(
        id="mp16-ch2-3/CF-R13",
        title="CSQ_ADMIN is too small for the group",
        table=STRUCTURE,
        settings=("group_members",),
        figures={"members_carried": lambda at: at.entries_total // ENTRIES_PER_QUEUE_MANAGER},
        when=lambda at, cut: (at.structure == "CSQ_ADMIN") & (at.entries_total < cut.entries_each * at.group_members),
        measure="entries_total",
        low_is_worse=True,
        cutoffs=(Cutoff("entries_each", ENTRIES_PER_QUEUE_MANAGER, "entries of CSQ_ADMIN for each member"),),
        shows=("entries_total",),
        advice="CSQ_ADMIN has {entries_total:,.0f} entries for {group_members:.0f} members; each needs 1,000."
        " Enlarge it before a queue manager joins.",
        effect=lambda row: f"it carries {queue_managers_supported(int(row.entries_total))} members",
        lines="2348-2352",
    ),
    Rule(
        id="mp16-ch2-3/CF-R25",
        title="A backup of the structure is due",
        table=STRUCTURE,
        when=lambda at, cut: (
            (at.persistent_messages == 1) & (at.backup_minutes_ago > cut.share * at.backup_interval_min)
        ),
        measure="backup_minutes_ago",
        cutoffs=(Cutoff("share", 1.0, "age of the backup to the interval"),),
        advice="The last backup is {backup_minutes_ago:.0f} minutes old and one is due every"
        " {backup_interval_min:.0f}.",
        command="BACKUP CFSTRUCT({structure})",
        lines="2559-2580",
    ),
    Rule(
        id="mp16-ch2-3/CF-R28",
        title="CSQ_ADMIN is not duplexed",
        table=STRUCTURE,
        severity=Severity.NOTE,
        when=lambda at, cut: (at.structure != "CSQ_ADMIN") & (at.duplexed == 1) & (at.admin_duplexed == cut.no),
        measure="admin_duplexed",
        cutoffs=(NO,),
        advice="The structure is duplexed and CSQ_ADMIN is not. Duplex it too: the structure's protection rests on it.",
        lines="2680, 3233",
    ),
    Rule(
        id="mp16-ch2-3/CF-R53",
        title="CFLEVEL is too low",
        table=STRUCTURE,
        when=lambda at, cut: at.cflevel < cut.cflevel_min,
        measure="cflevel",
        low_is_worse=True,
        cutoffs=(Cutoff("cflevel_min", 3, "CFLEVEL from which on messages are recoverable"),),
        advice="CFLEVEL({cflevel:.0f}): at 1 a failure of the coupling facility takes the queue managers down, and"
        " nothing is gained by it.",
        command="ALTER CFSTRUCT({structure}) CFLEVEL(5)",
        lines="2601",
    ),
    Rule(
        id="mp16-ch2-3/CF-R23",
        also=("mp16-ch2-3/CF-R51",),
        title="Offload works against storage class memory",
        table=STRUCTURE,
        when=lambda at, cut: (
            (at.scm_use == "performance") & (at.cflevel >= cut.cflevel) & (at.maybe("offload_disabled") != 1)
        ),
        measure="cflevel",
        cutoffs=(Cutoff("cflevel", 5, "CFLEVEL that offloads"),),
        advice="Storage class memory is there for performance and CFLEVEL(5) offloads messages before they reach it."
        " Disable offload.",
        command="ALTER CFSTRUCT({structure}) OFFLD1SZ(64K) OFFLD2SZ(64K) OFFLD3SZ(64K)",
        lines="3124-3150",
    ),
    Rule(
        id="mp16-ch2-3/CF-R45",
        title="Storage class memory is promised more than once",
        table=STRUCTURE,
        settings=("cf_scm_mb",),
        figures={"promised_mb": promised_mb},
        when=lambda at, cut: at.promised_mb > cut.share * at.cf_scm_mb,
        measure="promised_mb",
        cutoffs=(Cutoff("share", 1.0, "SCMMAXSIZE to what the coupling facility has"),),
        advice="SCMMAXSIZE of all structures, {promised_mb:,.0f} MB, exceeds the {cf_scm_mb:,.0f} MB assigned to the"
        " coupling facility: puts may end with 2192.",
        lines="3055",
    ),
    Rule(
        id="mp16-ch2-3/CF-R46",
        title="Storage class memory needs more control storage than is free",
        table=STRUCTURE,
        settings=("cf_free_mb",),
        figures={"promised_mb": promised_mb, "augmented_mb": lambda at: augmented_mb(1.0) * at.promised_mb},
        when=lambda at, cut: at.cf_free_mb < cut.share * at.augmented_mb,
        measure="augmented_mb",
        cutoffs=(Cutoff("share", 1.0, "free storage to augmented space"),),
        advice="Storage class memory of {promised_mb:,.0f} MB for all structures takes up to {augmented_mb:,.0f} MB of"
        " augmented space and {cf_free_mb:,.0f} MB are free: the coupling facility runs out first.",
        lines="3043, 3056, 3112",
    ),
    Rule(
        id="mp16-ch2-3/CF-R52",
        title="Auto-alter meets storage class memory too late",
        table=STRUCTURE,
        when=lambda at, cut: (at.allowautoalt == "YES") & (at.scm_max_mb > 0) & (at.fullthreshold > cut.percent_max),
        measure="fullthreshold",
        cutoffs=(
            Cutoff("percent_max", 80, "FULLTHRESHOLD well below the 90 % at which pre-staging begins", ours=True),
        ),
        advice="FULLTHRESHOLD({fullthreshold:.0f}) leaves no time to alter before pre-staging at 90 % freezes the"
        " ratio. Lower it.",
        lines="3047-3051",
    ),
)
