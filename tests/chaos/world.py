"""The world of the chaos test: three members, what they share, and the ways between; each can be harmed and healed.

engine "facility"   the coupling facility's process and SQLite: when the process dies, structures are lost
engine "redis"      Redis that keeps everything (appendonly, each write forced) and PostgreSQL
engine "forgetful"  Redis that keeps nothing, and PostgreSQL: when it dies, structures are lost
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import quaestor
from chaos.network import Namespace, free_port, namespaces_possible, proxy_tcp, proxy_unix
from chaos.queues import DEPTH, EVERYWHERE, INITIATION, PROCESS, STRUCTURE_OF, TRIGGERED
from chaos.serve import CANNOT_START
from crash.kill_load import BASE
from quaestor.clock import SystemClock
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility import group_of
from quaestor.qmgr.group_settings import GroupSettings, save_group
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import local_place
from quaestor.server.home import Configuration, Home
from quaestor.testing.history import Recorder, read_histories
from servers import REDIS, PostgresServer

SRC = Path(quaestor.__file__).parents[1]
TESTS = Path(__file__).parents[1]
LOAD, SERVE = Path(__file__).with_name("load.py"), Path(__file__).with_name("serve.py")
MEMBERS = ("QM1", "QM2", "QM3")
STRUCTURES = sorted(set(STRUCTURE_OF.values()))
OFFLOADED_TO = dict(zip(STRUCTURES, ("OFFLOAD(SMDS)", "OFFLOAD(DB2)"), strict=True))
"""Long messages of one structure are in data sets, those of the other in the repository."""
ENGINES = ("facility", "redis", "forgetful")
KINDS = ("putter", "putter", "getter", "getter", "mover")
DECIDES = ("putter", "getter", "getter", "coordinator", "coordinator")
TRIGGERS = ("requester", "requester", "monitor", "monitor", "monitor")
READY_S = 30
START_S = 120
"""Three processes that begin at once, on a machine that may have other work."""
AWAY_S = 1.5


class Program:
    """A process that can be killed, stopped and continued, and started again."""

    def __init__(self, name, command, log):
        self.name, self.command, self._log = name, command, log
        self.process = None
        self.paused = False
        self.deaths = []
        """Why it ended by itself, each time that it was started again."""

    def start(self):
        if self.up:
            return
        self.deaths += self.death()
        environment = {**os.environ, "PYTHONPATH": f"{SRC}{os.pathsep}{TESTS}", "PYTHONUNBUFFERED": "1"}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment
            )
        self.paused = False

    @property
    def up(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.up:
            self.process.send_signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait(30)
        self.paused = False

    def pause(self):
        if self.up:
            self.process.send_signal(signal.SIGSTOP)
            self.paused = True

    def resume(self):
        if self.up and self.paused:
            self.process.send_signal(signal.SIGCONT)
        self.paused = False

    def death(self):
        """That it ended by itself, and its last words, if it did."""
        code = None if self.process is None else self.process.poll()
        if code in (None, 0, CANNOT_START, -signal.SIGKILL, -signal.SIGTERM):
            return []
        return [f"{self.name} ended with {code}: {self.said()[-1500:]}"]

    def said(self):
        return self._log.read_text(errors="replace") if self._log.exists() else ""


class World:
    """Everything, for one round (see above)."""

    def __init__(self, folder, engine, seed, *, namespaces=None, kinds=KINDS):
        self.kinds = kinds
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.engine, self.seed = folder, engine, seed
        wanted = namespaces_possible() if namespaces is None else namespaces
        self.namespaces = [Namespace(n) for n in range(1, 4)] if wanted and engine != "facility" else []
        self.history = Recorder(folder / "world.history", "world")
        self.postgres = None
        self.store_ways, self.repository_ways = {}, {}
        self.clients = {}
        self._client_count = 0
        self._make_servers()
        self.members = {name: self._member(number, name) for number, name in enumerate(MEMBERS)}

    # -- making it

    def _make_servers(self):
        log = self.folder / "store.log"
        if self.engine == "facility":
            self._target = self.folder / "cf.sock"
            command = [sys.executable, "-m", "quaestor.cli.main", "cf", "start", "--socket", str(self._target)]
            self.repository = str(self.folder / "group.db")
        else:
            self._target = free_port()
            keeps = ["yes", "--appendfsync", "always"] if self.engine == "redis" else ["no"]
            (self.folder / "redis").mkdir(exist_ok=True)
            command = [REDIS, "--port", str(self._target), "--bind", "0.0.0.0", "--protected-mode", "no", "--save", ""]
            command += ["--appendonly", *keeps, "--dir", str(self.folder / "redis")]
            self._postgres_port = free_port()
            self.postgres = PostgresServer(port=self._postgres_port)
        self.store = Program("store", command, log)

    def _member(self, number, name):
        directory = self.folder / name
        home = Home(directory)
        engine = {key: value for key, value in asdict(BASE).items() if isinstance(value, int)}
        engine |= {"packing": False, "log_bytes": 4 << 20, "logs": 4}
        home.create(Configuration(name, security=False, engine=engine))
        habits = "mp1b" if number % 2 else "fewest"  # members of both kinds in one group
        save_group(directory, GroupSettings("QSG1", *self._addresses(number, name), habits))
        command = [sys.executable, str(SERVE), str(directory)]
        if self.namespaces:
            command = self.namespaces[number].inside(command)
        return Program(name, command, self.folder / f"{name}.log")

    def _addresses(self, number, name):
        """Where a member finds structures and repository: each way its own."""
        if self.engine == "facility":
            path = self.folder / f"cf-{name}.sock"
            self.store_ways[name] = proxy_unix(path, self._target)
            return f"cf://{path}", self.repository
        database = "postgresql://test@{}:{}/postgres"
        if self.namespaces:
            space = self.namespaces[number]
            self.store_ways[name] = self.repository_ways[name] = space
            where = f"redis://{space.server}:{self._target}"
            return f"{where}?socket_timeout={AWAY_S}", database.format(space.server, self._postgres_port)
        self.store_ways[name], store = proxy_tcp(self._target)
        self.repository_ways[name], repository = proxy_tcp(self._postgres_port)
        where = f"redis://127.0.0.1:{store}?socket_timeout={AWAY_S}"
        return where, database.format("127.0.0.1", repository)

    def start(self):
        self.start_repository()
        self.store.start()
        for program in self.members.values():
            program.start()
        self.wait_until(self._all_answer, "the members do not start", START_S)
        self.mqsc(
            "QM1",
            *(f"DEFINE CFSTRUCT({name}) {OFFLOADED_TO[name]} CFLEVEL(5) RECOVER(YES)" for name in STRUCTURES),
            *map(defined, STRUCTURE_OF),
        )
        for name in MEMBERS:
            self.mqsc(name, f"DEFINE PROCESS({PROCESS.name}) APPLICID('serve')")
        for kind in self.kinds:
            self.start_client(kind)

    def start_client(self, kind):
        self._client_count += 1
        name = f"{kind}{self._client_count}"
        members = [f"{each}={self.folder / each}" for each in MEMBERS]
        seed = str(self.seed * 1000 + self._client_count)
        command = [sys.executable, str(LOAD), str(self.folder), name, kind, seed, *members]
        self.clients[name] = Program(name, command, self.folder / f"{name}.log")
        self.clients[name].start()
        return name

    def start_repository(self):
        if self.postgres is not None and not self.postgres.running:
            self.postgres.start()

    def kill_repository(self):
        if self.postgres is not None and self.postgres.running:
            self.postgres.kill()

    # -- asking

    def connect(self, member):
        return LINKS.connect(local_place(member, self.folder / member), hello_of(member, None, None, "CHAOS", b""))

    def mqsc(self, member, *commands):
        with self.connect(member) as app:
            answers = [app.mqsc(command) for command in commands]
        for command, answer in zip(commands, answers, strict=True):
            if not answer["ok"]:
                raise AssertionError(f"{member}: {command}: {answer['lines']}")
        return answers

    def group(self):
        """The group as somebody outside sees it, by the direct way."""
        if self.engine == "facility":
            addresses = f"cf://{self._target}", self.repository
        else:
            database = f"postgresql://test@127.0.0.1:{self._postgres_port}/postgres"
            addresses = f"redis://127.0.0.1:{self._target}", database
        clock = SystemClock()
        return group_of(GroupSettings("QSG1", *addresses), self.folder, clock, OperatorLog("CHECK", clock))

    def pages(self):
        """Pages in use of each member's data sets, as it says itself."""
        used = {}
        for name, program in self.members.items():
            file = self.folder / name / "pages"
            file.unlink(missing_ok=True)
            program.process.send_signal(signal.SIGUSR1)
            self.wait_until(file.exists, f"{name} does not say what it uses")
            used |= {f"{name} {structure}": count for structure, count in json.loads(file.read_text()).items()}
        return used

    def _all_answer(self):
        for name in MEMBERS:
            with self.connect(name):
                pass
        return True

    def wait_until(self, holds, otherwise, seconds=READY_S):
        """Until something holds; an answer that is an error means not yet."""
        until, why = time.monotonic() + seconds, ""
        while time.monotonic() < until:
            try:
                if holds():
                    return
            except (MQError, AssertionError, OSError) as error:
                why = str(error)
            time.sleep(0.1)  # noqa: TID251 - a test waits for processes
        raise AssertionError(f"{otherwise}: {why}")

    # -- the end

    def heal(self):
        """Every process is there, every way is open."""
        for way in {*self.store_ways.values(), *self.repository_ways.values()}:
            way.become("pass")
        self.start_repository()
        for program in (self.store, *self.members.values(), *self.clients.values()):
            program.resume()
        for program in (self.store, *self.members.values()):
            program.start()

    def end_clients(self, but=""):
        """After the unit that each is in; those of one kind may stay."""
        ending = [client for client in self.clients.values() if client.up and not (but and client.name.startswith(but))]
        for client in ending:
            client.process.terminate()
        for client in ending:
            try:
                client.process.wait(READY_S)
            except subprocess.TimeoutExpired:
                client.kill()
                raise AssertionError(f"{client.name} does not end") from None

    def died(self):
        """Members and clients that ended by themselves, with their last words, also those that were started again."""
        programs = [*self.members.values(), *self.clients.values()]
        return [death for each in programs for death in (*each.deaths, *each.death())]

    def events(self):
        return read_histories(sorted(self.folder.glob("*.history")))

    def close(self):
        for program in (*self.clients.values(), *self.members.values(), self.store):
            program.resume()
            program.kill()
        for way in {*self.store_ways.values(), *self.repository_ways.values(), *self.namespaces}:
            way.close()
        if self.postgres is not None:
            self.kill_repository()
            shutil.rmtree(self.postgres.where)
        self.history.close()


def defined(queue):
    """A shared queue as a command."""
    triggers = ""
    if queue in TRIGGERED:
        triggers = (
            f"TRIGGER TRIGTYPE({TRIGGERED[queue].name}) TRIGDPTH({DEPTH}) INITQ({INITIATION}) PROCESS({PROCESS.name})"
        )
    where = f"QSGDISP(SHARED) CFSTRUCT({STRUCTURE_OF[queue]})"
    return f"DEFINE QLOCAL({queue}) {where} SHARE DEFSOPT(SHARED) MAXDEPTH(100000) {triggers}"


def drained(world, member):
    """Read everything that is left, by one application, and write it down."""
    from chaos.load import USES, name_of
    from quaestor.mqi.options import GetOptions
    from quaestor.mqi.reasons import Reason

    found = 0
    with world.connect(member) as app:
        for queue in EVERYWHERE:
            with app.open(queue, USES) as handle:
                while True:
                    operation = world.history.invoke("drain", queue=queue, member=member)
                    try:
                        name = name_of(handle.get(GetOptions.NO_SYNCPOINT).body)
                    except MQError as error:
                        if error.reason is not Reason.NO_MSG_AVAILABLE:
                            raise
                        operation.ok()
                        break
                    operation.ok(message=name)
                    found += 1
    return found
