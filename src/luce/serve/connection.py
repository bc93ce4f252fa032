"""A connection: closed where a request does not arrive, or an answer is not read, in time; uvicorn waits forever."""

import asyncio
import logging

import h11
import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

from luce.serve.logs import log
from luce.serve.service import Service

HEAD = 32 * 2**10
"""Bytes of the head of a request."""

KEEP_ALIVE = 75
"""Seconds without a request after which a connection is closed; longer than the 60 s of common load balancers."""


class Connection(H11Protocol):
    """uvicorn's protocol with the time-outs that it lacks."""

    _arrival: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    @property
    def service(self) -> Service:
        return self.config.app.service  # type: ignore[union-attr]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.service.connections += 1
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self.service.connections -= 1
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()  # the application has its own time-out for the body
        elif self.timeout_keep_alive_task is None:  # a part of a head, or the rest of a request that was refused
            self._await_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:  # what is left of the body is read and dropped
            self._await_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(self.service.settings.read_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def send_400_response(self, msg: str) -> None:
        """The answer to what is no HTTP, in the form of our other errors."""
        log(logging.WARNING, "invalid HTTP request")
        content = orjson.dumps({"error": msg})
        headers = [("content-type", "application/json"), ("content-length", str(len(content))), ("connection", "close")]
        try:
            for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=content), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # in the middle of an answer
            pass
        self.transport.close()

    def _await_request(self) -> None:
        if self._arrival is None:
            self._arrival = self.loop.call_later(self.service.settings.read_timeout, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None
