"""`quaestor demo`: the main job runs on an embedded default and leaves what it promises."""

import json
import shlex
from pathlib import Path

from click.testing import CliRunner

from quaestor.cli.main import main


def test_the_demo_ends_with_the_path_of_its_report(spark, tmp_path):
    """With a day instead of a month; the incidents that were planted stand at the top of the report."""
    out = tmp_path / "my demo"
    done = CliRunner().invoke(main, ["demo", "month", "--out", str(out), "--profile", "small"])
    assert 0 == done.exit_code, done.output
    assert [str(out / "report.html")] == done.stdout.splitlines()
    steps = [line for line in done.stderr.splitlines() if line.startswith("$ quaestor ")]
    assert ["smf synth", "lake load", "report html"] == [" ".join(line.split()[2:4]) for line in steps]
    assert all(any(word.startswith(str(out)) for word in shlex.split(line)) for line in steps), "as they can be typed"
    assert "Traceback" not in done.output
    html = Path(done.stdout.strip()).read_text(encoding="utf-8")
    planted = json.loads((out / "small.smf.incidents.json").read_text(encoding="utf-8"))
    found = html[html.index('class="findings"') : html.index("<details>")]
    for each in planted["incidents"]:
        rules = [rule.removeprefix("mp1b/") for rule in each["rules"] if rule.startswith("mp1b/")]
        assert not rules or any(rule in found for rule in rules), each


def test_every_command_has_help_with_its_purpose():
    """Walk the whole tree of commands: each has help, and says in a line what it does."""

    def walk(command, path):
        found = CliRunner().invoke(main, [*path, "--help"])
        assert 0 == found.exit_code, path
        assert command.get_short_help_str(), path
        for name in getattr(command, "list_commands", lambda _: [])(None):
            walk(command.get_command(None, name), [*path, name])

    walk(main, [])
