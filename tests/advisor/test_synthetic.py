"""On synthetic dumps the advisor finds every planted incident, and reports nothing where nothing was planted."""

import io
from datetime import datetime

import pyarrow as pa
import pytest

from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import standard
from quaestor.advisor.evaluate import advise, needed
from quaestor.advisor.findings import at_least
from quaestor.advisor.rule import Severity
from quaestor.smf.columns import decode
from quaestor.smf.dump import DumpWriter
from quaestor.smf.framing import DumpReader
from quaestor.smf.synth.generate import generate
from quaestor.smf.synth.incidents import KINDS
from quaestor.smf.synth.profile_file import load_profile

OBJECTS = {"queue", "private_queue", "buffer_pool", "page_set", "structure", "smds"}


@pytest.fixture(scope="module")
def columns():
    return needed(RULES)


def advised(profile, columns):
    """(findings of warning or above, incidents) of a shipped profile."""
    stream = io.BytesIO()
    with DumpWriter(stream) as dump:
        made = generate(load_profile(profile), dump)
    stream.seek(0)
    parts = {}
    for block in DumpReader(stream).blocks():
        for structure, table in decode(block, set(columns), columns=columns).tables.items():
            parts.setdefault(structure, []).append(table)
    tables = {structure: pa.concat_tables(several) for structure, several in parts.items()}
    return at_least(advise(standard(RULES), tables).findings, Severity.WARNING), made.incidents


def local(text):
    return datetime.fromisoformat(text).replace(tzinfo=None)


def overlap(finding, incident):
    same = finding.queue_manager == incident["queue_manager"]
    return same and finding.first < local(incident["to"]) and finding.last > local(incident["from"])


def by_rule(finding, incident):
    return overlap(finding, incident) and bool(set(finding.rule.ids) & set(incident["rules"]))


def named(finding, incident):
    """Where the incident befell an object that findings name, it is that one."""
    if KINDS[incident["kind"]].target not in OBJECTS:
        return True
    return incident["object"] == finding.subject.split()[-1] or finding.subject.startswith(("log", "data", "Db2"))


def test_nothing_is_found_where_nothing_was_planted(columns):
    found, incidents = advised("clean", columns)
    assert [] == incidents
    assert [] == [(each.rule.id, each.queue_manager, each.subject) for each in found]


def test_every_planted_incident_is_found(columns, capsys):
    found, incidents = advised("incidents", columns)
    missed = [each["id"] for each in incidents if not any(by_rule(f, each) and named(f, each) for f in found)]
    strangers = [f for f in found if not any(overlap(f, each) for each in incidents)]
    unnamed = [f for f in found if not any(by_rule(f, each) for each in incidents)]
    recall = 1 - len(missed) / len(incidents)
    precision = 1 - len(strangers) / len(found)
    with capsys.disabled():
        print(  # noqa: T201  the figures are the point of the test
            f"\nadvisor, planted incidents: recall {recall:.3f} ({len(incidents)} incidents), precision {precision:.3f}"
            f" ({len(found)} findings), {1 - len(unnamed) / len(found):.3f} by a rule the incident names"
        )
    assert 1.0 == recall, f"not found: {missed}"
    assert 1.0 == precision, [(f.rule.id, f.queue_manager, f.subject) for f in strangers]
    assert {"mp16-ch4-11/BP-10", "mp1b/A-7", "mp1b/A-28", "mp16-ch4-11/BP-9"} >= {f.rule.id for f in unnamed}
