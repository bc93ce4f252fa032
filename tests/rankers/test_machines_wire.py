"""Connections between machines: who is let in, what is read, and what is said when something is wrong."""

import ctypes
import socket
import threading
import time

import numpy as np
import pytest

from luce.errors import MachineError
from luce.rankers.trees.collectives import _REDUCER as REDUCER
from luce.rankers.trees.collectives import Collectives
from luce.rankers.trees.collectives import _memory as memory
from luce.rankers.trees.machines import Machines
from luce.rankers.trees.wire import FAREWELL, HEADER, MARK, MESSAGE, Peer, exchange

from .together import free_addresses, in_threads, on_all


def test_sums_are_the_same_bits_in_the_order_of_ranks():
    values = np.array([[1e16, 0.1, -3.0], [1.0, 0.2, 5.0], [-1e16, 0.3, 7.0]])
    results = on_all(lambda rank, machines: machines.all_reduce(values[rank].reshape(3, 1)), 3)
    expected = ((values[0] + values[1]) + values[2]).reshape(3, 1)
    for result in results:
        np.testing.assert_array_equal(result, expected)
    assert expected[0, 0] != values[[0, 2, 1], 0].cumsum()[-1]  # another order shows


def test_much_goes_both_ways_at_once_and_nothing_at_all():
    sizes = [3_000_000, 0, 5_000_000]
    results = on_all(lambda rank, machines: machines.all_gather(bytes([rank]) * sizes[rank]), 3)
    expected = [bytes([rank]) * size for rank, size in enumerate(sizes)]
    assert results == [expected] * 3


def test_one_that_does_not_come_is_named():
    addresses = free_addresses(3)
    started = time.monotonic()

    def one(rank):
        with Machines(addresses, rank, timeout=1.0):
            pass

    first, second = in_threads(one, 2)
    assert time.monotonic() - started < 30
    for error in (first, second):
        assert isinstance(error, MachineError)
        assert f"rank 2 ({addresses[2]}) did not connect within 1 seconds" in str(error)
    with pytest.raises(MachineError, match=r"rank 0 .* did not connect within 0.3 seconds"):
        Machines(addresses, 1, timeout=0.3).__enter__()


def test_strangers_are_not_let_in():
    addresses = free_addresses(2)
    host, port = addresses[0].split(":")

    def stranger():
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                with socket.create_connection((host, int(port)), 5) as caller:
                    caller.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    return caller.recv(100)
            except ConnectionRefusedError:
                time.sleep(0.01)

    def one(rank):
        if rank == 1:
            stranger()
        with Machines(addresses, rank, timeout=20.0) as machines:
            return machines.all_reduce(np.ones(1)).item()

    assert in_threads(one, 2) == [2.0, 2.0]


def test_ranks_of_other_machines_are_told():
    addresses = free_addresses(3)
    lists = [addresses[:2], [addresses[0], addresses[2]]]

    def one(rank):
        with Machines(lists[rank], rank, timeout=20.0):
            pass

    errors = in_threads(one, 2)
    for rank, error in enumerate(errors):
        assert isinstance(error, MachineError)
        assert f"Rank {1 - rank} was given other machines than rank {rank}" in str(error)


def test_a_port_that_is_taken_or_elsewhere():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MachineError, match=r"Rank 0 cannot listen at 127\.0\.0\.1"):
            Machines(f"127.0.0.1:{port},127.0.0.1:1", 0, timeout=5.0).__enter__()
    with pytest.raises(MachineError, match="must be an address of this machine"):
        Machines("203.0.113.7:9000,127.0.0.1:1", 0, timeout=5.0).__enter__()


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="this system has other names for it")
def test_a_machine_that_vanishes_is_noticed_within_the_time():
    def options(_, machines):
        connection = machines._peers[0].connection
        seconds = [connection.getsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_KEEP{n}")) for n in KEEP]
        return connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), *seconds

    for alive, idle, interval, probes in on_all(options):
        assert alive
        assert idle + interval * probes <= 20


KEEP = ("IDLE", "INTVL", "CNT")


def wired(sent, close=True):
    """The error of one who expects 8 bytes and gets these."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near, far = socket.create_connection(server.getsockname()), server.accept()[0]
    peer = Peer(near, 1, "there:1")
    far.sendall(sent)
    if close:
        far.shutdown(socket.SHUT_WR)
    with near, far, pytest.raises(MachineError) as caught:
        exchange([peer], [b"12345678"], [memoryview(bytearray(8))])
    return str(caught.value)


def test_what_is_not_expected_is_refused():
    whole = HEADER.pack(MARK, MESSAGE, 1, 8) + b"12345678"
    for length in range(len(whole)):
        assert wired(whole[:length]).startswith("rank 1 (there:1) is disconnected")
    for wrong in (
        HEADER.pack(MARK, MESSAGE, 1, 9),
        HEADER.pack(MARK, MESSAGE, 2, 8),
        HEADER.pack(b"HTTP", MESSAGE, 1, 8),
        HEADER.pack(MARK, 7, 1, 8),
        HEADER.pack(MARK, FAREWELL, 0, 2**40),
    ):
        assert "out of sync" in wired(wrong + b"12345678", close=False)
    assert wired(HEADER.pack(MARK, FAREWELL, 0, 3) + b"why") == "rank 1 (there:1) has stopped: why"


def test_last_words_are_heard_while_sending():
    """The other one stops while it is sent more than fits into the wire."""
    ready = threading.Barrier(2)

    def work(rank, machines):
        ready.wait(20)
        if rank == 1:
            raise RuntimeError("no more room")
        return machines.all_gather(bytes(20_000_000))

    first, _ = on_all(work)
    assert isinstance(first, MachineError)
    assert str(first).endswith("has stopped: no more room")


@pytest.mark.parametrize("one_memory", [False, True])
def test_lightgbm_gets_its_sums_and_blocks(one_memory):
    """Also where it gives the same memory to send from and to receive in."""
    lengths = [3_000_000, 0, 4_000_000]
    starts = [0, 3_000_000, 3_000_000]
    values = np.random.default_rng(0).integers(0, 80, (3, sum(lengths)), dtype=np.uint8)

    @REDUCER
    def add(source, into, unit, size):
        target = memory(into, size)
        target += memory(source, size)

    def work(rank, machines):
        network, given = Collectives(machines), values[rank].copy()
        sizes = [(ctypes.c_int32 * 3)(*part) for part in (starts, lengths)]
        into = given if one_memory else np.zeros_like(given)
        call = given.ctypes.data, len(given), 1, *sizes, 3, into.ctypes.data, len(into), ctypes.pointer(add)
        network._reduce_scatter(*call)
        summed = into[: lengths[rank]].copy()
        everywhere = into if one_memory else np.zeros_like(given)
        network._all_gather(into.ctypes.data, lengths[rank], *sizes, 3, everywhere.ctypes.data, len(everywhere))
        return network.failure, summed, everywhere

    total = values.sum(axis=0, dtype=np.uint8)
    for rank, (failure, summed, everywhere) in enumerate(on_all(work, 3)):
        assert failure is None
        np.testing.assert_array_equal(summed, total[starts[rank] : starts[rank] + lengths[rank]])
        np.testing.assert_array_equal(everywhere, total)
