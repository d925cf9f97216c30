"""Rules of the data manager: QIST."""

from quaestor.advisor.rows import ratio
from quaestor.advisor.rule import Cutoff, Rule

RULES = (
    Rule(
        id="mp16-ch4-11/BP-10",
        title="Gets are served from page sets",
        table="QIST",
        figures={"from_disk_share": lambda at: ratio(at.gets_from_disk, at.gets_from_disk + at.gets_from_buffer)},
        when=lambda at, cut: (at.from_disk_share > cut.share_max) & (at.gets_from_disk > cut.gets_min),
        measure="from_disk_share",
        cutoffs=(
            Cutoff("share_max", 0.1, "share of gets that read the page set", ours=True),
            Cutoff("gets_min", 100, "gets from disk from which on it matters", ours=True),
        ),
        advice="{gets_from_disk} gets ({from_disk_share:.0%}) read their message from a page set. Spread the queues"
        " over page sets on several volumes so that reads run in parallel, and see the rules of the buffer"
        " pools.",
        lines="4494",
    ),
)
