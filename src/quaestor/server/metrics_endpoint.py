"""Metrics endpoint: `/metrics` for Prometheus and `/health` for whoever restarts things, over HTTP.

Rules
  HE1 It listens on loopback unless told otherwise; what it tells is names and figures, never contents.
  HE2 `/health` is 200 while the queue manager works and 503 with the reason when it does not.
  HE3 A scrape takes the figures with the engine latch held and makes the text afterwards as far as it can.
  HE4 GET and HEAD are answered; what stands behind a `?` changes nothing.
  HE5 Who goes away before the answer is not worth a line either.

Called by the server.  Calls two functions it was given.
"""

import json
import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TEXT = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"
LOOPBACK = "127.0.0.1"
POLL_S = 0.1
"""How often it looks whether it is to stop."""


class MetricsEndpoint:
    """A small HTTP server on a thread of its own (HE1, HE2). `port` 0 takes any free one."""

    def __init__(
        self, metrics: Callable[[], str], failure: Callable[[], str], *, host: str = LOOPBACK, port: int = 9157
    ) -> None:
        self._server = (_Six if ":" in host else _Four)((host, port), _handler(metrics, failure))
        self._server.daemon_threads = True
        self.address: tuple[str, int] = (host, self._server.server_port)
        self._thread = Thread(target=self._server.serve_forever, args=(POLL_S,), name="quaestor-metrics", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Return when nobody is served any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Four(ThreadingHTTPServer):
    """Over IPv4."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # HE5
            super().handle_error(request, client_address)


class _Six(_Four):
    """Over IPv6."""

    address_family = socket.AF_INET6


def _handler(metrics: Callable[[], str], failure: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """HE4; everything else is 501 by the standard library."""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._answer(200, TEXT, metrics())
            elif path == "/health":
                why = failure()
                said = {"status": "failed", "why": why} if why else {"status": "running"}
                self._answer(503 if why else 200, JSON, json.dumps(said))
            else:
                self._answer(404, TEXT, "/metrics and /health are here\n")

        do_HEAD = do_GET  # noqa: N815 - the standard library's name

        def _answer(self, code: int, content: str, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", content)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A scrape is not worth a line."""

    return Handler
