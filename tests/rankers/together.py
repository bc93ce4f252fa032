"""Several ranks on this machine: in threads, where LightGBM's network is each thread's own, or in processes."""

import os
import socket
import subprocess
import sys
import threading

import numpy as np

from luce.rankers.trees.machines import Machines


def free_addresses(count):
    """Ports of the loopback that nobody listens at."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return [f"127.0.0.1:{port}" for port in ports]


def split(dataset, *sizes):
    """The lists in shards of these sizes; the last has the rest."""
    return [dataset.take(part) for part in np.split(np.arange(dataset.n_lists), np.cumsum(sizes))]


def in_threads(work, count):
    """What `work(rank)` returns on each rank, or the error that ended it."""
    results = [None] * count

    def one(rank):
        try:
            results[rank] = work(rank)
        except BaseException as error:
            results[rank] = error

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    return results


def on_all(work, count=2):
    """The same of `work(rank, machines)`, the machines connected."""
    addresses = free_addresses(count)

    def one(rank):
        with Machines(addresses, rank, timeout=20.0) as machines:
            return work(rank, machines)

    return in_threads(one, count)


def start(code, *arguments, **more):
    """A Python process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "500"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], env=environment, **pipes, **more)


COMMAND_LINE = "from luce.cli import main; main()"
