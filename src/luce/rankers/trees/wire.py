"""Messages between machines: a fixed header, then as many bytes as were expected; nothing in them is ever unpickled."""

import selectors
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from luce.errors import MachineError

HEADER = struct.Struct(">4sBIQ")
"""A mark, the kind of message, its number, how many bytes follow."""
MARK, MESSAGE, FAREWELL = b"LUCE", 0, 1
LONGEST_FAREWELL = 4_096
AT_ONCE = 2**20
"""The most bytes of one call to the system."""
PARTING = 2.0
"""Seconds that another machine has to read why this one stops."""


class Peer:
    """The connection to one other machine, and what is on its way there and from there."""

    def __init__(self, connection: socket.socket, rank: int, address: str):
        self.connection, self.name = connection, f"rank {rank} ({address})"
        self.number, self.header, self.into, self.got = 0, bytearray(), memoryview(b""), 0
        self.out = self.rest = memoryview(b"")
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self, out: Any, into: memoryview) -> None:
        """Get ready to send these bytes and to fill that buffer."""
        self.number += 1
        self.rest = memoryview(out)
        self.out = memoryview(HEADER.pack(MARK, MESSAGE, self.number % 2**32, len(self.rest)))
        self.header, self.into, self.got = bytearray(), into, 0

    @property
    def wants(self) -> int:
        """What it waits for: to write, to read, both or nothing (0)."""
        reading = len(self.header) < HEADER.size or self.got < len(self.into)
        return selectors.EVENT_WRITE * bool(self.out) | selectors.EVENT_READ * reading

    def send(self) -> None:
        try:
            self.out = self.out[self.connection.send(self.out[:AT_ONCE]) :]
        except BlockingIOError:
            return
        except OSError as error:
            self._gone(error.strerror)
        if not self.out:
            self.out, self.rest = self.rest, memoryview(b"")

    def receive(self) -> None:
        try:
            if len(self.header) < HEADER.size:
                self._receive_header()
            else:
                count = self.connection.recv_into(self.into[self.got : self.got + AT_ONCE])
                self.got += count
                if not count:
                    self._gone("its connection is closed")
        except BlockingIOError:
            return
        except OSError as error:
            self._gone(error.strerror)

    def _receive_header(self) -> None:
        part = self.connection.recv(HEADER.size - len(self.header))
        if not part:
            self._gone("its connection is closed")
        self.header += part
        if len(self.header) < HEADER.size:
            return
        mark, kind, number, length = HEADER.unpack(self.header)
        if mark == MARK and kind == FAREWELL and length <= LONGEST_FAREWELL:
            self._farewell(length)
        if (mark, kind, number, length) != (MARK, MESSAGE, self.number % 2**32, len(self.into)):
            raise MachineError(
                f"{self.name} sent {length} bytes where {len(self.into)} were expected: it is out of sync, or another "
                "program. Restart all ranks, with the same version of Luce."
            )

    def _farewell(self, length: int) -> NoReturn:
        """The other one stops, and says why."""
        self.connection.settimeout(PARTING)
        text = b""
        while len(text) < length and (part := self.connection.recv(length - len(text))):
            text += part
        raise MachineError(f"{self.name} has stopped: {text.decode(errors='replace')}")

    def _gone(self, how: str | None) -> NoReturn:
        raise MachineError(
            f"{self.name} is disconnected ({how}): it ended, was killed, or cannot be reached. Training stops."
        )

    def leave(self, why: str) -> None:
        """Say why this machine stops, unless it stops in the middle of a message."""
        text = why.encode()[:LONGEST_FAREWELL]
        try:
            self.connection.settimeout(PARTING)
            if why and not self.out:
                self.connection.sendall(HEADER.pack(MARK, FAREWELL, 0, len(text)) + text)
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has gone already

    def close(self, until: float) -> None:
        """Wait for the other side to close, at most until then: what it has not read yet would be lost."""
        try:
            while (left := until - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(AT_ONCE):
                    break
        except OSError:
            pass
        self.connection.close()


def exchange(peers: Sequence[Peer], outgoing: Sequence[Any], incoming: Sequence[memoryview]) -> None:
    """Send each peer its bytes and fill the buffer for what comes from there, with all of them at once.

    A peer whose process ended is noticed at once; one whose machine vanished, by the keep-alive of its connection.
    """
    with selectors.DefaultSelector() as selector:
        for peer, out, into in zip(peers, outgoing, incoming, strict=True):
            peer.begin(out, into)
            selector.register(peer.connection, peer.wants, peer)
        while selector.get_map():
            for key, events in selector.select():
                peer = key.data
                if events & selectors.EVENT_READ:  # first, as it may say why it does not listen any more
                    peer.receive()
                if events & selectors.EVENT_WRITE:
                    peer.send()
                if not peer.wants:
                    selector.unregister(peer.connection)
                elif peer.wants != key.events:
                    selector.modify(peer.connection, peer.wants, peer)
