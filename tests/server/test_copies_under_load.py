"""`quaestor pageset copy` of a server that runs: its applications go on, and what they committed can be recovered."""

import json
import threading

import pytest
from click.testing import CliRunner

from quaestor.cli.main import main
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import MQError
from quaestor.server.home import Configuration, Home
from server.conftest import ENGINE, QUICK

KEPT = MQMD(persistence=1)


@pytest.fixture
def home(tmp_path):
    """With archives: how much log there is between a copy and the end is the machine's."""
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1", security=False, limits=QUICK, engine=ENGINE | {"archive": True}))
    return home


def run(*words):
    return CliRunner().invoke(main, list(map(str, words)))


class Busy(threading.Thread):
    """Puts and gets in units of a few, some of which are backed out; knows what is on its queue."""

    def __init__(self, connection, name):
        super().__init__(daemon=True)
        self.connection, self.name, self.there, self.ending, self.units = connection, name, [], threading.Event(), 0
        self.start()

    def run(self):
        with self.connection as app, app.open(self.name) as queue:
            while not self.ending.is_set():
                self.units += 1
                there = list(self.there)
                for size in (20, 700, 9000):
                    body = f"{self.units} ".ljust(size, "x")
                    queue.put(body, KEPT)
                    there.append(body)
                for _ in range(min(3, len(self.there)) if self.units % 5 else 0):
                    assert there.pop(0) == queue.get(GetOptions.SYNCPOINT).text
                if self.units % 7:
                    app.commit()
                    self.there = there
                else:
                    app.backout()


def texts(serving, name):
    with serving.connect() as app, app.open(name) as queue:
        found = []
        while True:
            try:
                found.append(queue.get().text)
            except MQError:
                app.commit()
                return found


def test_a_copy_under_load_and_what_is_recovered_from_it(serve, home):
    serving, names = serve(), ("ONE", "TWO", "THREE")
    with serving.connect() as app:
        for name in names:
            app.define(LocalQueue(name, max_depth=100_000))
    busy = [Busy(serving.connect(), name) for name in names]
    serving.wait_for(lambda: all(each.units > 10 for each in busy))
    for _ in range(3):
        before = sum(each.units for each in busy)
        done = run("pageset", "copy", home.directory, 1, "--json")
        assert 0 == done.exit_code, done.output
        told = json.loads(done.stdout)
        assert (1, "copy-01") == (told["page_set"], told["copy"])
        serving.wait_for(lambda before=before: sum(each.units for each in busy) > before + 20)
    for each in busy:
        each.ending.set()
        each.join(30)
    serving.stop()
    (home.directory / "pageset-01").unlink()
    done = run("pageset", "recover", home.directory, 1)
    assert (0, "page set 1 is recovered\n") == (done.exit_code, done.stdout), done.output
    again = serve()
    assert [each.there for each in busy] == [texts(again, name) for name in names]


@pytest.mark.parametrize(("number", "said"), [(1, "64 pages copied to copy-01, log needed from "), (7, "PSID(7) WAS")])
def test_what_the_server_says_is_said(serve, home, number, said):
    serve()
    done = run("pageset", "copy", home.directory, number)
    assert (0 if number == 1 else 2, True) == (done.exit_code, said in done.output), done.output


def test_applications_are_answered_while_a_copy_is_taken(serve, home, monkeypatch):
    """The loop does not carry it out: a copy of a large page set takes minutes."""
    serving, go_on, reading = serve(), threading.Event(), threading.Event()
    taken = serving.manager.commands.run

    def slow(text, user):
        if text.startswith("BACKUP"):
            reading.set()
            go_on.wait(30)
        return taken(text, user)

    monkeypatch.setattr(serving.manager.commands, "run", slow)
    copying = threading.Thread(target=run, args=("pageset", "copy", home.directory, 1))
    copying.start()
    assert reading.wait(10)
    with serving.connect() as app:
        app.define(LocalQueue("ORDERS"))
        app.put("ORDERS", "x")
        app.commit()
    go_on.set()
    copying.join(30)
    assert (Home(home.directory).directory / "copy-01").exists()
