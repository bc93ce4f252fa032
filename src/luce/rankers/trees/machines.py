"""Several machines that train one model: who they are, how they find each other, and sums over all of them."""

import contextlib
import hashlib
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.errors import MachineError, OptionError
from luce.options import is_integer, is_number
from luce.rankers.trees.wire import PARTING, Peer, exchange

HELLO = struct.Struct(">8sII16s")
"""A mark, the rank, how many machines there are, and what tells their list from another."""
GREETING = b"LUCE\0\0\0\1"
AGAIN = 0.1
"""Seconds until a machine that is not there yet is called again."""
STRANGER = 5.0
"""Seconds that one who calls has to say hello."""
LARGEST = 2**36
"""No message is longer, in bytes."""


class Machines:
    """The machines of one training, each with a shard of the lists; a `with` block connects this one to the others.

    Every rank runs the same program with its own rank and its own shard, and ends with the same model. An error on one
    rank stops all, and each reports it; a killed process is noticed at once, a machine that vanishes within `timeout`
    seconds. Anyone who can reach the ports while the machines connect can join: use a network that you trust.

    Parameters
    ----------
    addresses : str or sequence of str
        "host:port" of every machine, in the order of their ranks; as one string, separated by commas.
    rank : int
        Which of them this is, from 0.
    timeout : float, default=60.0
        Seconds to wait for all to connect, and for an answer of a machine before it counts as lost.

    Examples
    --------
    >>> with Machines("localhost:9000", rank=0) as machines:
    ...     machines.all_reduce(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    def __init__(self, addresses: str | Sequence[str], rank: int, *, timeout: float = 60.0):
        given = addresses.split(",") if isinstance(addresses, str) else list(addresses)
        self.addresses = [_address(one) for one in given]
        self.size = len(self.addresses)
        if len(set(self.addresses)) < self.size or not self.size:
            raise OptionError(f"machines must be the host:port of each machine, each once. Got {addresses!r}.")
        if not (is_integer(rank) and 0 <= rank < self.size):
            raise OptionError(f"rank must be from 0 to {self.size - 1}, one of {self.size} machines. Got {rank!r}.")
        if not (is_number(timeout) and timeout > 0):
            raise OptionError(f"timeout must be a number of seconds > 0. Got {timeout!r}.")
        self.rank, self.timeout = int(rank), float(timeout)
        self._peers: list[Peer] = []

    def __enter__(self) -> Self:
        if self._peers:
            raise OptionError("These machines are connected already.")
        deadline = time.monotonic() + self.timeout
        found: dict[int, socket.socket] = {}
        try:
            for rank in range(self.rank):
                found[rank] = self._call(rank, deadline)
            if self.rank < self.size - 1:
                self._listen(found, deadline)
        except BaseException:
            for connection in found.values():
                connection.close()
            raise
        self._peers = [Peer(found[rank], rank, self._name(rank)) for rank in sorted(found)]
        return self

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        self.stop(error)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Work that all do together: an error here stops the others too."""
        if len(self._peers) != self.size - 1:
            raise OptionError("These machines are not connected: fit inside `with luce.Machines(…) as machines:`.")
        try:
            yield
        except BaseException as error:
            self.stop(error)
            raise

    def stop(self, error: BaseException | None = None) -> None:
        """Close the connections, after sending the others the error, if any."""
        peers, self._peers = self._peers, []
        why = "" if error is None else str(error) or type(error).__name__
        for peer in peers:
            peer.leave(why)
        until = time.monotonic() + PARTING
        for peer in peers:
            peer.close(until)

    def all_to_all(self, outgoing: Sequence[Any], incoming: Sequence[memoryview]) -> None:
        """Send each other rank its bytes, and fill the buffer for those that come from it."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        exchange(self._peers, [outgoing[rank] for rank in others], [incoming[rank] for rank in others])

    def all_gather(self, own: bytes) -> list[bytes]:
        """What each rank has, in the order of ranks."""
        lengths = np.zeros(self.size, dtype="<i8")
        lengths[self.rank] = len(own)
        mine = lengths[self.rank : self.rank + 1].tobytes()
        self.all_to_all([mine] * self.size, _bytes_of(lengths[:, None]))
        if lengths.min() < 0 or lengths.max() > LARGEST:
            raise MachineError(f"A rank wants to send {lengths.max()} bytes: it is out of sync. Restart all ranks.")
        parts = [own if rank == self.rank else bytearray(length) for rank, length in enumerate(lengths.tolist())]
        self.all_to_all([own] * self.size, [memoryview(part) for part in parts])
        return [bytes(part) for part in parts]

    def all_reduce(self, own: Floats) -> Floats:
        """The sum over all ranks, added in the order of ranks: the same bits everywhere."""
        if self.size == 1:
            return own
        parts = np.empty((self.size, own.size), dtype="<f8")
        parts[self.rank] = own.ravel()
        if own.size:
            rows = _bytes_of(parts)
            self.all_to_all([rows[self.rank]] * self.size, rows)
        result = parts[0].astype(np.float64)
        for part in parts[1:]:
            result += part
        return result.reshape(own.shape)

    def _name(self, rank: int) -> str:
        host, port = self.addresses[rank]
        return f"{host}:{port}"

    def _hello(self) -> bytes:
        mark = hashlib.sha256(repr(self.addresses).encode()).digest()[:16]
        return HELLO.pack(GREETING, self.rank, self.size, mark)

    def _call(self, rank: int, deadline: float) -> socket.socket:
        """Connect to a lower rank, which listens or will soon."""
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):  # not there yet
                connection = socket.create_connection(self.addresses[rank], max(deadline - time.monotonic(), AGAIN))
                if connection.getsockname() == connection.getpeername():  # a port may find itself
                    connection.close()
                elif self._greet(connection, deadline) == rank:
                    return self._with_keep_alive(connection)
            time.sleep(AGAIN)
        self._absent([rank])

    def _listen(self, found: dict[int, socket.socket], deadline: float) -> None:
        """Wait for all higher ranks to call."""
        missing = set(range(self.rank + 1, self.size))
        try:
            family = socket.getaddrinfo(*self.addresses[self.rank], type=socket.SOCK_STREAM)[0][0]
            listener = socket.create_server(self.addresses[self.rank], family=family)
        except OSError as error:
            raise MachineError(
                f"Rank {self.rank} cannot listen at {self._name(self.rank)}: {error.strerror}. It must be an address "
                "of this machine, and the port free."
            ) from error
        with listener:
            while missing:
                listener.settimeout(max(deadline - time.monotonic(), 1e-3))
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    self._absent(sorted(missing))
                rank = self._greet(connection, min(deadline, time.monotonic() + STRANGER))
                if rank in missing:
                    found[rank] = self._with_keep_alive(connection)
                    missing.remove(rank)
                else:
                    connection.close()

    def _greet(self, connection: socket.socket, deadline: float) -> int | None:
        """Exchange hellos: the rank of the other; None, and closed, if it is no machine of ours."""
        rank = None
        try:
            connection.settimeout(max(deadline - time.monotonic(), AGAIN))
            connection.sendall(self._hello())
            rank = self._greeted(_received(connection))
        except OSError:
            pass
        finally:
            if rank is None:
                connection.close()
        return rank

    def _greeted(self, hello: bytes) -> int | None:
        """The rank that says hello; an error if it was given other machines."""
        if len(hello) != HELLO.size or not hello.startswith(GREETING):
            return None
        _, rank, size, mark = HELLO.unpack(hello)
        if (size, mark) != HELLO.unpack(self._hello())[2:]:
            names = ",".join(map(self._name, range(self.size)))
            raise MachineError(
                f"Rank {rank} was given other machines than rank {self.rank}, which has {names}: give every rank the "
                "same machines in the same order."
            )
        return rank

    def _with_keep_alive(self, connection: socket.socket) -> socket.socket:
        """The connection, which notices within `timeout` that the other machine has vanished."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        probes, seconds = 4, max(int(self.timeout / 8), 1)
        timing = {"TCP_KEEPIDLE": 4 * seconds, "TCP_KEEPINTVL": seconds, "TCP_KEEPCNT": probes}
        timing |= {"TCP_KEEPALIVE": 4 * seconds, "TCP_USER_TIMEOUT": max(int(1_000 * self.timeout), 1)}
        for name, value in timing.items():
            if hasattr(socket, name):  # systems differ
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return connection

    def _absent(self, ranks: list[int]) -> NoReturn:
        names = ", ".join(f"rank {rank} ({self._name(rank)})" for rank in ranks)
        raise MachineError(
            f"{names} did not connect within {self.timeout:g} seconds: start every rank with the same machines. "
            "Is it reachable, and is its port free?"
        )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise OptionError(f"A machine must be host:port, the port from 1 to 65535. Got {text!r}.")
    return host, int(port)


def _bytes_of(rows: NDArray[Any]) -> list[memoryview]:
    """The memory of each row."""
    return [memoryview(row.view(np.uint8)) for row in rows]


def _received(connection: socket.socket) -> bytes:
    """A hello, or as much of one as comes."""
    text = b""
    while len(text) < HELLO.size and (part := connection.recv(HELLO.size - len(text))):
        text += part
    return text
