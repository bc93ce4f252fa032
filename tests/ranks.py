"""Processes on this machine in one group of torch.distributed, started once for the tests that ask for them."""

import atexit
import multiprocessing
import sys
import tempfile
import traceback
from datetime import timedelta
from functools import cache
from pathlib import Path

import cloudpickle

TIMEOUT = 60
"""Seconds after which a rank that does not answer counts as lost."""


def on_ranks(work, *each, size=2, **common):
    """What `work(*arguments, **common)` returns on each rank, or the error that ended it; EOFError if it was killed.

    `each` has a list for each positional argument, with the value of each rank.
    """
    pipes = _ranks(size)
    cloudpickle.register_pickle_by_value(sys.modules[work.__module__])
    for rank, pipe in enumerate(pipes):
        pipe.send_bytes(cloudpickle.dumps((work, [values[rank] for values in each], common)))
    found = [_answer(pipe) for pipe in pipes]
    if any(isinstance(one, BaseException) for one in found):
        stop_ranks()  # what they have exchanged since may not fit together
    return found


def stop_ranks():
    """End the processes; the next call starts new ones."""
    for size in (2, 3):
        if size in _started:
            for process in _started.pop(size):
                process.terminate()
                process.join()
    _ranks.cache_clear()


_started = {}
atexit.register(stop_ranks)


@cache
def _ranks(size):
    context, folder = multiprocessing.get_context("spawn"), Path(tempfile.mkdtemp())
    pipes, _started[size] = [], []
    for rank in range(size):
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(rank, size, str(folder / "store"), theirs), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        _started[size].append(process)
    return pipes


def _answer(pipe):
    try:
        return cloudpickle.loads(pipe.recv_bytes())
    except EOFError as error:
        return error


def _serve(rank, size, store, pipe):
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    file = f"file://{store}"
    torch.distributed.init_process_group(
        "gloo", init_method=file, rank=rank, world_size=size, timeout=timedelta(seconds=TIMEOUT)
    )
    while True:
        try:
            work, arguments, common = cloudpickle.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            pipe.send_bytes(cloudpickle.dumps(work(*arguments, **common)))
        except BaseException as error:
            error.add_note(traceback.format_exc())
            pipe.send_bytes(cloudpickle.dumps(error))
            return  # the ranks that wait for this one are told by its connections
