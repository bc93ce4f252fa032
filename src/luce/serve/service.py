"""The state of a service: the model, its threads and what is admitted to them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from luce.serve.logs import log
from luce.serve.metrics import Metrics
from luce.serve.model import Model
from luce.serve.settings import BUFFERED_BODIES, Settings

Result = TypeVar("Result")


class Service:
    """One model and the requests to it.

    Attributes
    ----------
    model : Model
        What requests that begin now are answered by.
    draining : bool
        Whether the server is about to end; it still answers, and is no longer ready.
    connections : int
        The number of open connections.
    """

    def __init__(self, path: Path, name: str, settings: Settings) -> None:
        self.path, self.name, self.settings = path, name, settings
        self.metrics = Metrics()
        self.draining = False
        self.connections = 0
        self.model = self._load()
        self._pool = ThreadPoolExecutor(settings.threads, thread_name_prefix="luce-serve")
        self._places = BoundedSemaphore(settings.threads + settings.queue)
        self._buffered = 0
        self._reloading = asyncio.Lock()

    async def reload(self) -> None:
        """Serve the model that is in the file now; where that fails, the one that is served stays."""
        async with self._reloading:
            try:
                self.model = await asyncio.to_thread(self._load)
            except Exception as error:
                self.metrics.reloads.labels("failed").inc()
                log(logging.ERROR, "reload failed", error=str(error), model_version=self.model.version)
            else:
                self.metrics.reloads.labels("done").inc()
                log(logging.INFO, "reloaded", model_version=self.model.version)

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """What `work` returns on one of the threads; 503 where too many wait for them, or where it takes too long."""
        if not self._places.acquire(blocking=False):
            raise unavailable("Too many requests are waiting")
        job = self._pool.submit(work, *arguments)
        job.add_done_callback(lambda _: self._places.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(job), self.settings.timeout)
        except TimeoutError:
            raise unavailable(f"The answer took longer than {self.settings.timeout:g} s") from None

    @asynccontextmanager
    async def body_of(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, which is refused as soon as it is too large, too slow, or more than memory is for."""
        if request.headers.get("content-encoding", "identity") != "identity":
            raise HTTPException(415, "Compressed requests are not supported: send the body as it is.")
        parts: list[bytes] = []
        size = 0
        try:
            self._check_size(int(request.headers.get("content-length", 0)))
            async with asyncio.timeout(self.settings.read_timeout):
                async for part in request.stream():
                    parts.append(part)
                    size += len(part)
                    self._buffered += len(part)
                    self._check_size(size)
            yield b"".join(parts)
        except TimeoutError:
            raise HTTPException(
                408, f"The request did not arrive within {self.settings.read_timeout:g} s.", {"Connection": "close"}
            ) from None
        finally:
            self._buffered -= size

    def _check_size(self, size: int) -> None:
        if size > self.settings.max_body:
            raise HTTPException(413, f"The body of a request may have at most {self.settings.max_body:,} bytes.")
        if self._buffered + size > BUFFERED_BODIES * self.settings.max_body:
            raise unavailable("Too many requests are being read")

    def _load(self) -> Model:
        model = Model.load(self.path)
        self.metrics.model.info({"name": self.name, "version": model.version})
        return model

    def close(self) -> None:
        """End the threads; what waits for them is dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def unavailable(reason: str) -> HTTPException:
    """The answer of a saturated server."""
    return HTTPException(503, f"{reason}: try again later.", {"Retry-After": "1"})
