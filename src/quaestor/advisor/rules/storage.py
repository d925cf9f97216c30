"""Rules of the storage manager: QSST counts and the storage summary QSRS."""

from quaestor.advisor.rows import ratio
from quaestor.advisor.rule import Cutoff, Rule, Severity
from quaestor.planner.quantity import GIB, MIB

RULES = (
    Rule(
        id="mp16-ch1/A-48",
        also=("mp16-ch1/A-83",),
        title="31-bit storage is short",
        table="QSRS",
        figures={"available_mb": lambda at: at.region_31_available / MIB},
        when=lambda at, cut: at.available_mb < cut.mb_min,
        measure="available_mb",
        low_is_worse=True,
        cutoffs=(Cutoff("mb_min", 200, "MiB of 31-bit storage that should stay available", ours=True),),
        advice="{available_mb:,.0f} MiB of 31-bit storage are left. From V8 on buffer pools may lie above the bar;"
        " move the largest ones.",
        command="ALTER BUFFPOOL(n) LOCATION(ABOVE)",
        lines="934-937, 2220-2222",
    ),
    Rule(
        id="mp16-ch1/A-83",
        title="The queue manager ran short of storage",
        table="QSST",
        severity=Severity.ALERT,
        figures={"shortages": lambda at: at.times_short_storage_set + at.abends_lack_storage},
        when=lambda at, cut: at.shortages > cut.times,
        measure="shortages",
        cutoffs=(Cutoff("times", 0, "times storage was short in an interval"),),
        shows=("short_storage_contractions",),
        advice="Storage was short {times_short_storage_set} times and {abends_lack_storage} tasks ended for lack of"
        " it. Move buffer pools above the bar, or take work away.",
        command="ALTER BUFFPOOL(n) LOCATION(ABOVE)",
        lines="934, 2220-2222",
    ),
    Rule(
        id="mp16-ch1/A-49",
        title="64-bit storage for larger pools is at hand",
        table="QSRS",
        severity=Severity.NOTE,
        figures={
            "free_share": lambda at: ratio(at.available_64, at.memlimit),
            "available_gb": lambda at: at.available_64 / GIB,
        },
        when=lambda at, cut: at.free_share > cut.share_min,
        measure="available_gb",
        cutoffs=(Cutoff("share_min", 0.5, "share of MEMLIMIT that is available", ours=True),),
        advice="{available_gb:.1f} GiB of 64-bit storage are available ({free_share:.0%} of MEMLIMIT). With real"
        " storage to back them, pools may grow to the size of their page sets; beyond that nothing is gained.",
        lines="1036, 2224",
    ),
)
