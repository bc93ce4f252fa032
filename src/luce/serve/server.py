"""The uvicorn server: signals, time-outs of connections, and an end that loses no request."""

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from prometheus_client import disable_created_metrics

from luce.compilation import on_compilation
from luce.errors import OptionError
from luce.serve.app import create_app
from luce.serve.connection import HEAD, KEEP_ALIVE, Connection
from luce.serve.logs import log, log_json
from luce.serve.service import Service
from luce.serve.settings import Settings

ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of Linux, which Python does not name."""


def run(path: Path, name: str, host: str, port: int, settings: Settings) -> None:
    """Serve a model until SIGTERM or Ctrl-C."""
    for variable in ("LUCE_THREADS", "OMP_NUM_THREADS"):  # a request is scored on one thread
        os.environ.setdefault(variable, "1")
    early: list[int] = []
    if hasattr(signal, "SIGHUP"):  # which by itself ends a process; it waits until there is a model
        signal.signal(signal.SIGHUP, lambda number, _: early.append(number))
    log_json()
    disable_created_metrics()
    listener = _listener(host, port)  # before the model is loaded: an address in use is an error at once
    on_compilation(None)  # what the command line prints is no JSON
    log(logging.INFO, "loading", path=str(path))
    service = Service(path, name, settings)
    if settings.token is None and host not in ("127.0.0.1", "::1", "localhost"):
        log(logging.WARNING, "no token", advice="Everyone who reaches this address may send requests: set a token.")
    config = uvicorn.Config(
        create_app(service),
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(settings.read_timeout + settings.timeout) + 1,
    )
    Server(config, service, early).run(sockets=[listener])
    service.close()
    log(logging.INFO, "stopped")


def _listener(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise OptionError(f"The server cannot listen on {host}, port {port}: {error.strerror}.") from error
    # asyncio does it for sockets with a protocol number alone; else an answer in two parts waits 40 ms for the client.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class Server(uvicorn.Server):
    """A server that reloads its model on SIGHUP and answers what still arrives for a while after SIGTERM.

    `early` has the signals to reload that came before the server began.
    """

    def __init__(self, config: uvicorn.Config, service: Service, early: Collection[int]) -> None:
        super().__init__(config)
        self.service, self.early = service, early
        self.drain = service.settings.drain
        self._reloads: set[asyncio.Task[None]] = set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike uvicorn's, it does not raise the signal again in the end: SIGTERM is the ordinary end."""
        loop = asyncio.get_running_loop()
        handlers: dict[int, Any] = {signal.SIGTERM: self.handle_exit, signal.SIGINT: self.handle_exit}
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = lambda *_: loop.call_soon_threadsafe(self.reload)
        former = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGINT:
            self.drain = 0.0
        super().handle_exit(sig, frame)

    def reload(self) -> None:
        """Load the model file again, while requests go on."""
        task = asyncio.get_running_loop().create_task(self.service.reload())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = (sockets or [])[0].getsockname()[:2]
        log(logging.INFO, "listening", host=host, port=port, model_version=self.service.model.version)
        if self.early:
            self.reload()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop being ready; answer what arrives in a while, each connection once; then accept no more, and end."""
        self.service.draining = True
        log(logging.INFO, "draining", seconds=self.drain)
        await self._wait(self.drain)
        if self.drain:
            for listener in sockets or []:
                _drop_new_connections(listener)
            await asyncio.sleep(0.1)  # those before them are accepted
            for server in self.servers:
                server.close()
            await self._wait(1.0, until_closed=True)
        await super().shutdown(sockets)

    async def _wait(self, seconds: float, until_closed: bool = False) -> None:
        end = time.monotonic() + min(seconds, self.drain)
        while time.monotonic() < end and self.drain and not (until_closed and not self.server_state.connections):
            await asyncio.sleep(0.05)


def _drop_new_connections(listener: socket.socket) -> None:
    """On Linux, have the first packet of every further connection dropped.

    To close a socket resets the connections that wait to be accepted. A client whose first packet is dropped sends it
    again after a second, and is then refused. The filter is classic BPF, on the flags of TCP: without SYN, accept.
    """
    if not sys.platform.startswith("linux"):
        return
    steps = ((0x30, 0, 0, 13), (0x45, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filter_ = struct.pack("HP", len(steps), ctypes.addressof(program))
    with contextlib.suppress(OSError):  # not allowed in some sandboxes
        listener.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, filter_)
