"""Real servers for tests: started here, on sockets in a folder of their own."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
import redis

from quaestor.server import certificates

REDIS = shutil.which("redis-server") or shutil.which("valkey-server")


def redis_program():
    """The program of a Redis server; a test that needs one is skipped where none could be installed."""
    if REDIS is None:
        pytest.skip("no redis-server: `make servers` installs it")
    return REDIS


@contextmanager
def redis_server(folder: Path, *more: str):
    """A Redis server that keeps nothing on disk, unless it is told more; its address."""
    program = redis_program()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    with _running([program, *options, *more], f"unix://{path}") as url:
        yield url


@contextmanager
def redis_server_with_tls(folder: Path, password: str):
    """A Redis server that is reached over TLS only, with a certificate of our own for `localhost`; its address."""
    program = redis_program()
    folder.mkdir(parents=True, exist_ok=True)
    certificates.server(folder, "Redis", ["localhost"], days=1)
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    options = ["--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no", "--requirepass", password]
    options += ["--tls-cert-file", "server.pem", "--tls-key-file", "server.key", "--tls-ca-cert-file", "authority.pem"]
    options += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
    url = f"rediss://:{password}@localhost:{port}?ssl_ca_certs={folder / 'authority.pem'}"
    with _running([program, *options], url, cwd=folder):
        yield url


@contextmanager
def _running(command, url, **where):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, **where) as server:
        try:
            _wait_for(url)
            yield url
        finally:
            server.kill()


def _wait_for(url):
    client = redis.Redis.from_url(url)
    for _ in range(100):
        try:
            client.ping()
        except redis.ConnectionError:
            Event().wait(0.05)
        else:
            client.close()
            return
    pytest.fail(f"no Redis server at {url}")


class PostgresServer:
    """A PostgreSQL server of our own that can be stopped and started. It does not run as root, so nobody runs it."""

    def __init__(self, options: str = "", port: int = 0) -> None:
        places = os.pathsep.join([os.environ["PATH"], *map(str, Path("/usr/lib/postgresql").glob("*/bin"))])
        self._found = {program: shutil.which(program, path=places) for program in ("initdb", "pg_ctl", "psql")}
        if None in self._found.values():
            pytest.skip("no PostgreSQL: `make servers` installs it")
        self._options, self._port = options, port
        self.running = False
        self.where = Path(tempfile.mkdtemp(prefix="postgres"))
        self._who = {"user": "nobody"} if os.getuid() == 0 else {}
        if self._who:
            shutil.chown(self.where, "nobody")
        self.url = f"postgresql://test@/postgres?host={self.where}"
        self._run("initdb", "-D", self.where / "data", "-U", "test", "-A", "trust", "--no-sync")
        if port:
            with (self.where / "data" / "pg_hba.conf").open("a") as allowed:
                allowed.write("host all all 0.0.0.0/0 trust\n")

    def start(self):
        listening = f"-c listen_addresses='*' -p {self._port}" if self._port else "-c listen_addresses=''"
        options = f"{listening} -c fsync=off -k {self.where} {self._options}"
        command = [self._found["pg_ctl"], "-D", self.where / "data", "-w", "-o", options]
        subprocess.run([*command, "-l", self.where / "log", "start"], check=True, cwd=self.where, **self._who)
        self.running = True

    def kill(self):
        self._run("pg_ctl", "-D", self.where / "data", "-m", "immediate", "stop")
        self.running = False

    def sql(self, statements: str) -> list[str]:
        """One statement after the other, stopping at the first that fails; the words that come back."""
        each = [part for statement in statements.split(";") for part in ("-c", statement)]
        reach = ["-h", self.where, "-U", "test", "-d", "postgres"]
        return self._run("psql", *reach, "-qtA", "-v", "ON_ERROR_STOP=1", *each).split()

    def _run(self, program, *arguments):
        command = [self._found[program], *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=self.where, **self._who).stdout


@contextmanager
def postgres_server(options: str = ""):
    """A PostgreSQL server while somebody needs it."""
    server = PostgresServer(options)
    server.start()
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(server.where)
