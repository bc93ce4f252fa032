"""What surrounds every request: the token, the log, the metrics, and the end of connections when the server ends."""

import hmac
import logging
import time
from collections.abc import Collection
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from luce.serve.logs import log
from luce.serve.service import Service


class Guard:
    """An ASGI application around another one; `unprotected` paths need no token."""

    def __init__(self, app: ASGIApp, service: Service, unprotected: Collection[str]) -> None:
        self.app, self.service, self.unprotected = app, service, unprotected

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self.service)
        app = self._refusal(scope) or self.app
        with self.service.metrics.in_flight.track_inprogress():
            try:
                await app(scope, exchange.receive, exchange.send)
            except Exception as error:  # answered with 500 by now
                log(logging.ERROR, "internal error", exc_info=error, path=scope["path"][:200])
            finally:
                exchange.record()

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """What answers a request without the token, or on one connection too many; None where it is admitted."""
        settings = self.service.settings
        if scope["path"] in self.unprotected:
            return None
        if self.service.connections > settings.connections:
            headers = {"Retry-After": "1", "Connection": "close"}
            return _error(503, "Too many connections are open: try again later.", headers)
        if settings.token is None:
            return None
        kind, _, given = Request(scope).headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(given.encode(), settings.token.encode()):
            return None
        text = "The request needs the token of this server: Authorization: Bearer TOKEN."
        return _error(401, text, {"WWW-Authenticate": "Bearer"})


class _Exchange:
    """One request and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, service: Service) -> None:
        self.scope, self._receive, self._send, self.service = scope, receive, send, service
        headers = Request(scope).headers
        self.received = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        self.start = time.perf_counter()
        self.status = 499  # where the client is gone before there is one

    async def receive(self) -> Message:
        message = await self._receive()
        self.received |= message["type"] == "http.request" and not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            # With a part of the request unread, to close would reset the connection before the answer is read.
            if self.service.draining and self.received:
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        await self._send(message)

    def record(self) -> None:
        """Count and log the request; the log has no values of features."""
        seconds = time.perf_counter() - self.start
        route = self.scope.get("route_path", "other")
        self.service.metrics.requests.labels(route, self.status).inc()
        self.service.metrics.seconds.labels(route).observe(seconds)
        facts: dict[str, Any] = {"method": self.scope["method"], "path": self.scope["path"][:200]}
        facts |= {"status": self.status, "milliseconds": round(1e3 * seconds, 3)}
        facts |= {"rows": self.scope["rows"]} if "rows" in self.scope else {}
        log(logging.INFO, "request", **facts)


def _error(status: int, text: str, headers: dict[str, str]) -> Response:
    return Response(orjson.dumps({"error": text}), status, headers, media_type="application/json")
