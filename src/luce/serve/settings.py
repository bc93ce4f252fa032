"""The limits of a service."""

from dataclasses import dataclass, field

from luce.threads import thread_count

BUFFERED_BODIES = 16
"""Requests of the largest size that may be in memory at a time."""

EXPLAINED_ROWS = 100
"""Rows that one request may have explained: Shapley values take far longer than scores."""


@dataclass(frozen=True)
class Settings:
    """What a service allows.

    Attributes
    ----------
    token : str or None
        The bearer token that requests need, except those for the health of the server.
    max_rows : int
        The number of rows, or documents, per request.
    max_body : int
        The bytes of a request body.
    threads : int
        The number of requests that are scored at the same time, each on one thread.
    queue : int
        The number of requests that may wait for a thread; more are refused with 503.
    connections : int
        The number of open connections; requests on more are refused with 503.
    read_timeout : float
        Seconds in which a request must have arrived.
    timeout : float
        Seconds from there to its answer.
    drain : float
        Seconds after SIGTERM in which requests are still accepted and answered.
    """

    token: str | None = field(default=None, repr=False)
    max_rows: int = 10_000
    max_body: int = 16 * 2**20
    threads: int = thread_count(-1)
    queue: int = 64
    connections: int = 512
    read_timeout: float = 10.0
    timeout: float = 10.0
    drain: float = 5.0
