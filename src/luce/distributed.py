"""The one seam to more than one machine: sums and gathers over the process group of torch.distributed that is there.

A fit, an evaluation or a ranking inside an initialized group works on the share of the data of its rank, and all ranks
end with the same result. Outside a group nothing of this is imported.
"""

import contextlib
import json
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.errors import DataError, MachineError, NumericalError, OptionError

GRACE = 5.0
"""Seconds in which the ranks that are left say that they are, or why they stop, once one of them does not answer."""
_SHARED_ERRORS = {each.__name__: each for each in (DataError, NumericalError, OptionError)}
"""What fails on one rank is raised as the same error on the others."""
LARGE = 2**16
"""From so many values on a sum is split: each rank adds one part, and the parts are gathered."""


def current_group() -> "Group | None":
    """The group of more than one process that this one belongs to, or None."""
    package = sys.modules.get("torch.distributed")  # a process that did not import it is in no group
    if package is None or not package.is_available() or not package.is_initialized() or package.get_world_size() == 1:
        return None
    return _group(package.group.WORLD)


@cache
def _group(world: Any) -> "Group":
    return Group(world)


class Group:
    """The ranks that work together, and what they tell each other; every rank makes the same calls in the same order.

    Sums are added in the order of ranks, so that all ranks have the same bits, and have them again in the next run.

    Attributes
    ----------
    rank, size
        Which process this is, from 0, and how many there are.
    fails_first
        Whether this rank was the first to stop with an error in what all were doing together.
    """

    fails_first = False

    def __init__(self, world: Any) -> None:
        import torch.distributed as package

        self.rank, self.size = package.get_rank(), package.get_world_size()
        self._package = package
        self._store: Any = package.distributed_c10d._get_default_store()
        # The values are on the CPU, which NCCL does not reach.
        self._group = world if "gloo" in package.get_backend_config() else package.new_group(backend="gloo")
        self._begun, self._active = 0, list[int]()

    def leave(self) -> None:
        """Let go of gloo's threads: where an object that is still held has them, they abort the exit of the process."""
        self._group = self._store = None

    def sum(self, values: Any) -> Floats:
        """The sum over all ranks, of values of the same shape on each."""
        own = np.ascontiguousarray(values, dtype=np.float64)
        if own.size < LARGE:
            return _added(self.gather_rows(own.ravel())).reshape(np.shape(values))
        blocks = np.array_split(own.ravel(), self.size)
        part = _added(self.exchange(blocks, [len(blocks[self.rank])] * self.size))
        return np.concatenate(self.gather(part)).reshape(own.shape)

    def gather_rows(self, own: NDArray[Any]) -> NDArray[Any]:
        """The values of all ranks, of the same number and type on each, a row for each rank."""
        import torch

        found = np.empty((self.size, own.size), dtype=own.dtype)
        if own.size:
            with self._answered():
                mine = torch.from_numpy(np.ascontiguousarray(own).view(np.uint8))
                self._package.all_gather(list(torch.from_numpy(found.view(np.uint8))), mine, self._group)
        return found

    def gather(self, own: NDArray[Any]) -> list[NDArray[Any]]:
        """The flat values of each rank, in the order of ranks; of one type, and as many on each rank as it has."""
        sizes = self.gather_rows(np.array([own.size]))[:, 0]
        return self.exchange([own.ravel()] * self.size, sizes.tolist())

    def exchange(self, outgoing: Sequence[NDArray[Any]], sizes: Sequence[int]) -> list[NDArray[Any]]:
        """What each rank has for this one: `outgoing[r]` goes to rank r, and `sizes[r]` values come from there."""
        import torch

        sent = np.concatenate([np.ascontiguousarray(each).ravel() for each in outgoing])
        found, unit = np.empty(sum(sizes), dtype=sent.dtype), sent.dtype.itemsize
        with self._answered():
            self._package.all_to_all_single(
                torch.from_numpy(found.view(np.uint8)),
                torch.from_numpy(sent.view(np.uint8)),
                [size * unit for size in sizes],
                [each.size * unit for each in outgoing],
                group=self._group,
            )
        return np.split(found, np.cumsum(sizes)[:-1])

    def broadcast(self, own: NDArray[Any]) -> NDArray[Any]:
        """The flat values of rank 0, on every rank."""
        import torch

        size = self.gather_rows(np.array([own.size]))[0, 0]
        found = np.array(own).ravel() if self.rank == 0 else np.empty(size, dtype=own.dtype)
        if size:
            with self._answered():
                self._package.broadcast(torch.from_numpy(found.view(np.uint8)), 0, self._group)
        return found

    def gather_json(self, own: Any) -> list[Any]:
        """What each rank has, in the order of ranks; anything that JSON can hold."""
        texts = self.gather(np.frombuffer(json.dumps(own).encode(), dtype=np.uint8))
        return [json.loads(text.tobytes()) for text in texts]

    def agree(self, common: dict[str, Any], own: Any = None) -> list[Any]:
        """What each rank has of its own, in the order of ranks; an error on all of them where `common` differs."""
        gathered = self.gather_json([common, own])
        first = gathered[0][0]
        for rank, (theirs, _) in enumerate(gathered):
            for name in [*first, *theirs]:
                if first.get(name) != theirs.get(name):
                    raise MachineError(
                        f"The ranks do not work on the same: {name} is {_short(first.get(name))} at rank 0 and "
                        f"{_short(theirs.get(name))} at rank {rank}. Give every rank the same settings, and parts of "
                        "one data set."
                    )
        return [each for _, each in gathered]

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Work that all ranks do: the others are told the error that ends it here, instead of waiting."""
        self._begun += 1
        number = self._begun  # the same on all ranks: it tells this work from an earlier one that they went on from
        self._active.append(number)
        try:
            yield
        except BaseException as error:
            self._leave(number, str(error) or type(error).__name__)
            raise
        finally:
            self._active.pop()

    @contextlib.contextmanager
    def _answered(self) -> Iterator[None]:
        """A call to the other ranks; an error that names those which did not answer."""
        try:
            yield
        except RuntimeError as error:  # torch's errors of connections and time-outs are of this type
            self._lost(error)

    def _leave(self, number: int, why: str) -> None:
        self.fails_first = True
        with contextlib.suppress(RuntimeError):  # the store may be gone with its process
            self._store.set(f"luce/left/{self.rank}", f"{number} {why}")
            self.fails_first = self._store.add(f"luce/failures/{number}", 1) == 1

    def _lost(self, error: RuntimeError) -> NoReturn:
        """Raise the reason of a rank that stopped with an error, or the names of those that vanished."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        try:
            self._store.set(f"luce/waiting/{self.rank}", "")
            reasons: dict[int, str] = {}
            until, silent = time.monotonic() + GRACE, others
            while silent and not reasons and time.monotonic() < until:
                time.sleep(0.05)
                reasons = {rank: why for rank in others if (why := self._reason(rank))}
                silent = [rank for rank in others if not self._has(f"luce/waiting/{rank}")]
        except RuntimeError:
            raise MachineError(
                f"Rank 0 or the launcher, which keeps the store of the group, cannot be reached any more: {error}"
            ) from error
        for rank, why in reasons.items():
            raise MachineError(f"Rank {rank} has stopped: {why}") from error
        names = " and ".join(f"rank {rank}" for rank in silent or others)
        raise MachineError(
            f"{names[0].upper()}{names[1:]} did not answer: killed, suspended, or out of reach of the network. "
            f"This rank, {self.rank}, stops; a restart goes on from the last checkpoint. ({error})"
        ) from error

    def _has(self, key: str) -> bool:
        return bool(self._store.check([key]))

    def _reason(self, rank: int) -> str:
        """Why another rank has left what this one still does; empty where it has not."""
        key = f"luce/left/{rank}"
        number, _, why = (
            self._store.get(key).decode(errors="replace").partition(" ") if self._has(key) else ("0", "", "")
        )
        return why if int(number) in self._active else ""


def summed(values: Any) -> Floats:
    """The sum over the ranks of the group; outside of one the values themselves.

    >>> summed([1.0, 2.0])
    array([1., 2.])
    """
    group = current_group()
    return np.asarray(values, dtype=np.float64) if group is None else group.sum(values)


def overall_mean(values: Floats) -> float:
    """The mean of the values of all ranks of the group; outside of one that of the values.

    >>> overall_mean(np.array([1.0, 2.0]))
    1.5
    """
    total, count = summed([values.sum(), values.size])
    return float(total / count)


def highest(value: float) -> float:
    """The highest value of the ranks of the group; outside of one the value itself.

    >>> highest(2.0)
    2.0
    """
    group = current_group()
    return value if group is None else float(group.gather_rows(np.array([value])).max())


def numbered(count: int) -> tuple[int, int]:
    """The number of the first of `count` things of this rank, where those of all ranks are numbered, and of how many.

    >>> numbered(3)
    (0, 3)
    """
    group = current_group()
    if group is None:
        return 0, count
    counts = group.gather_rows(np.array([count]))[:, 0]
    return int(counts[: group.rank].sum()), int(counts.sum())


def is_first_rank() -> bool:
    """Whether this process speaks for all ranks of the group: warns, reports progress, writes files.

    >>> is_first_rank()
    True
    """
    group = current_group()
    return group is None or group.rank == 0


@contextlib.contextmanager
def failing_together() -> Iterator[None]:
    """Work of each rank on its own, such as checks: what fails on one rank fails on all, once all have done theirs."""
    group, own = current_group(), None
    try:
        yield
    except Exception as error:
        if group is None:
            raise
        own = error
    if group is None:
        return
    failures = group.gather_json(None if own is None else [type(own).__name__, str(own)])
    if own is not None:
        raise own
    for rank, failure in enumerate(failures):
        if failure is not None:  # of the same type, so that all ranks go on alike where it is caught
            name, why = failure
            raise _SHARED_ERRORS.get(name, MachineError)(f"Rank {rank} has stopped: {why}")


def summed_work(work: Callable[[], Floats], size: int) -> Floats:
    """The sum over the ranks of the group of the `size` numbers that `work` gives; what fails on one fails on all.

    >>> summed_work(lambda: np.ones(2), 2)
    array([1., 1.])
    """
    if current_group() is None:
        return work()
    own, failure = np.zeros(size + 1), None
    try:
        own[:-1] = work()
    except Exception as error:
        own[-1], failure = 1.0, error
    total = summed(own)
    if total[-1]:
        with failing_together():
            if failure is not None:
                raise failure
    return total[:-1]


def gathered(own: NDArray[Any]) -> NDArray[Any]:
    """The flat values of all ranks of the group, one rank after the other; outside of one the values themselves.

    >>> gathered(np.array([3, 1]))
    array([3, 1])
    """
    group = current_group()
    return own if group is None else np.concatenate(group.gather(own))


def in_share(numbers: Integers, first: int, count: int) -> Integers:
    """Which of these things, numbered over all ranks, are among the `count` of this rank, as numbered there.

    >>> in_share(np.array([7, 2, 5]), first=5, count=3)
    array([2, 0])
    """
    return numbers[(numbers >= first) & (numbers < first + count)] - first


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Work that all ranks of the group do: the others are told the error that ends it here, instead of waiting."""
    group = current_group()
    with contextlib.nullcontext() if group is None else group.together():
        yield


@contextlib.contextmanager
def launched(timeout: float) -> Iterator[Group | None]:
    """The group of the processes that torchrun, or another launcher with its variables, started; None outside of one.

    `timeout` is the number of seconds after which a rank that does not answer counts as lost.
    """
    import os

    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or "RANK" not in os.environ:
        yield None
        return
    from luce.errors import load_package

    package: Any = load_package("torch", "neural").distributed
    wait = timedelta(seconds=timeout)
    try:
        store, rank, size = next(package.rendezvous("env://", timeout=wait))
        store = _without_leftovers(store, rank, size, timeout)
        package.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=wait)
    except RuntimeError as error:  # torch's errors of connections and time-outs are of this type
        raise MachineError(
            f"The ranks did not find each other within {timeout:g} seconds. Were all started, with the same "
            f"MASTER_ADDR and MASTER_PORT, and does the network let them connect? ({error})"
        ) from error
    group = current_group()
    assert group is not None
    try:
        with group.together():
            yield group
    finally:
        group.leave()
        package.destroy_process_group()
        _group.cache_clear()


def _without_leftovers(store: Any, rank: int, size: int, timeout: float) -> Any:
    """The part of the store of these processes, without the addresses of those that died.

    After a restart torchrun goes on with the same store. Rank 0 names the new part, and tells each other rank once it
    sees the mark that this one has just made.
    """
    import torch.distributed as package

    own, until = uuid.uuid4().hex, time.monotonic() + timeout
    if rank:
        store.set(f"luce/new/{rank}", own)
        name = store.get(f"luce/welcome/{own}").decode()
        store.set(f"luce/here/{name}/{rank}", "")
        return package.PrefixStore(name, store)
    missing = [*range(1, size)]
    while missing and time.monotonic() < until:
        for other in missing:
            if store.check([f"luce/new/{other}"]):
                store.set(f"luce/welcome/{store.get(f'luce/new/{other}').decode()}", own)
        missing = [other for other in missing if not store.check([f"luce/here/{own}/{other}"])]
        time.sleep(0.01)
    if missing:
        raise MachineError(f"Rank {missing[0]} of {size} did not join within {timeout:g} seconds: was it started?")
    return package.PrefixStore(own, store)


def _added(parts: Sequence[Floats] | Floats) -> Floats:
    """The sum in the order of ranks."""
    total = np.array(parts[0], dtype=np.float64)
    for part in parts[1:]:
        total += part
    return total


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
