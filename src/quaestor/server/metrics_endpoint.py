"""Metrics endpoint: `/metrics` for Prometheus and `/health` for whoever restarts things, over HTTP.

Rules
  HE1 It listens on loopback unless told otherwise; what it tells is names and figures, never contents.
  HE2 `/health` is 200 while the queue manager works and 503 with the reason when it does not. It does not wait for a
      scrape that is being made.
  HE3 A scrape takes the figures with the engine latch held and makes the text afterwards as far as it can. One is made
      at a time.
  HE4 GET and HEAD are answered; what stands behind a `?` changes nothing. A connection is for one request.
  HE5 Who goes away before the answer is not worth a line either.
  HE6 Connections take no threads, and are bounded in time and number: so long to ask, so long to take the answer. Who
      comes when all places are taken has that of whoever came first and has not asked yet, or else of whoever came
      first. Silence therefore keeps nobody out.

Called by administration.  Calls listeners, two functions it was given.
"""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from threading import Event, Thread

from quaestor.server.listeners import listen_tcp

TEXT = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"
LOOPBACK = "127.0.0.1"
PLACES = 64
ASK_S, TAKE_S = 10.0, 60.0
HEADERS_MAX = 100
WORDS = 3
"""Of the first line: method, path, version."""

Answer = tuple[HTTPStatus, str, str]


class MetricsEndpoint:
    """A small HTTP server on a thread of its own (HE1, HE2). `port` 0 takes any free one."""

    def __init__(
        self, metrics: Callable[[], str], failure: Callable[[], str], *, host: str = LOOPBACK, port: int = 9157
    ) -> None:
        self._metrics, self._failure = metrics, failure
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._socket = listen_tcp(where, tls=False, plain_allowed=True)
        self.address: tuple[str, int] = (host, self._socket.getsockname()[1])
        self._places: dict[StreamWriter, bool] = {}  # whether it has asked, in the order of coming
        self._scrapes = ThreadPoolExecutor(1, "quaestor-scrape")
        self._loop, self._ending, listening = asyncio.new_event_loop(), asyncio.Event(), Event()
        self._thread = Thread(target=self._run, args=(listening,), name="quaestor-metrics", daemon=True)
        self._thread.start()
        listening.wait()

    def stop(self) -> None:
        """Return when nobody is served any more."""
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._scrapes.shutdown(cancel_futures=True)

    def _run(self, listening: Event) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listening))

    async def _serve(self, listening: Event) -> None:
        server = await asyncio.start_server(self._serve_one, sock=self._socket)
        listening.set()
        await self._ending.wait()
        server.close()
        for writer in self._places:
            writer.transport.abort()

    async def _serve_one(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One connection from its beginning to its end (HE5, HE6)."""
        self._make_room()
        self._places[writer] = False
        try:
            async with asyncio.timeout(ASK_S):
                asked = await _first_line(reader)
            self._places[writer] = True
            if asked:
                method, answer = await self._answer(asked)
                async with asyncio.timeout(TAKE_S):
                    writer.write(_packed(answer, body=method != "HEAD"))
                    writer.close()
                    await writer.wait_closed()
        except (OSError, ValueError):  # ValueError: a line without end; OSError: gone, or its time is over
            pass
        finally:
            self._places.pop(writer, None)
            writer.transport.abort()

    def _make_room(self) -> None:
        """HE6."""
        if len(self._places) >= PLACES:
            silent = (writer for writer, asked in self._places.items() if not asked)
            goes = next(silent, None) or next(iter(self._places))
            del self._places[goes]
            goes.transport.abort()

    async def _answer(self, asked: str) -> tuple[str, Answer]:
        """The method, and what is said to it (HE2-HE4)."""
        words = asked.split()
        if len(words) != WORDS:
            return "", (HTTPStatus.BAD_REQUEST, TEXT, "this is no request of HTTP\n")
        method, path = words[0], words[1].partition("?")[0]
        if method not in {"GET", "HEAD"}:
            return method, (HTTPStatus.NOT_IMPLEMENTED, TEXT, "GET and HEAD are answered\n")
        if path == "/metrics":
            text = await asyncio.get_running_loop().run_in_executor(self._scrapes, self._metrics)
            return method, (HTTPStatus.OK, TEXT, text)
        if path == "/health":
            why = self._failure()
            said = {"status": "failed", "why": why} if why else {"status": "running"}
            return method, (HTTPStatus.SERVICE_UNAVAILABLE if why else HTTPStatus.OK, JSON, json.dumps(said))
        return method, (HTTPStatus.NOT_FOUND, TEXT, "/metrics and /health are here\n")


async def _first_line(reader: StreamReader) -> str:
    """The first line of a request that is all there; empty when the client went away."""
    first = await reader.readline()
    for _ in range(HEADERS_MAX):
        if not (await reader.readline()).strip():
            return first.decode("latin-1")
    raise ValueError("too many headers")


def _packed(answer: Answer, *, body: bool) -> bytes:
    status, content, text = answer
    raw = text.encode()
    lines = (
        f"HTTP/1.0 {status.value} {status.phrase}",
        f"Content-Type: {content}",
        f"Content-Length: {len(raw)}",
        "Connection: close",
    )
    return "\r\n".join((*lines, "\r\n")).encode() + (raw if body else b"")
