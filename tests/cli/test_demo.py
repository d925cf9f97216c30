"""`quaestor demo`: the main job runs on an embedded default and leaves what it promises."""

from click.testing import CliRunner

from quaestor.cli.main import main


def test_the_demo_makes_a_dump_and_shows_it(tmp_path):
    done = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "out")])
    assert 0 == done.exit_code, done.output
    assert (tmp_path / "out" / "small.smf").stat().st_size > 1_000_000
    for expected in ("no damage", "Log manager : QJST", "====> New task record found", "quaestor smf --help"):
        assert expected in done.stdout
    assert "Traceback" not in done.output


def test_every_command_has_help_with_its_purpose():
    """Walk the whole tree of commands: each has help, and says in a line what it does."""

    def walk(command, path):
        found = CliRunner().invoke(main, [*path, "--help"])
        assert 0 == found.exit_code, path
        assert command.get_short_help_str(), path
        for name in getattr(command, "list_commands", lambda _: [])(None):
            walk(command.get_command(None, name), [*path, name])

    walk(main, [])
