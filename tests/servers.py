"""Real servers for tests: started here, on sockets in a folder of their own."""

import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
import redis

REDIS = shutil.which("redis-server") or shutil.which("valkey-server")


@contextmanager
def redis_server(folder: Path):
    """A Redis server that keeps nothing on disk; its address."""
    if REDIS is None:
        pytest.skip("no redis-server: `make servers` installs it")
    folder.mkdir(parents=True, exist_ok=True)
    socket = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    with subprocess.Popen([REDIS, *options], stdout=subprocess.DEVNULL) as server:
        try:
            _wait_for(f"unix://{socket}")
            yield f"unix://{socket}"
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
