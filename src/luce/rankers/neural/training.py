"""Training with PyTorch: a network, its optimizer, and their state for a checkpoint."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from luce.arrays import Floats, Integers
from luce.distributed import current_group, summed_work
from luce.errors import LuceError, OptionError
from luce.optimizers.gradient_descent import Arrays, Learner, as_arrays, like
from luce.rankers.neural.network import OwnNetwork
from luce.threads import check_threads, one_thread_after_fork, thread_count

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adagrad": torch.optim.Adagrad,
    "sgd": torch.optim.SGD,
}
ON_GPU: dict[str, dict[str, Any]] = {"adam": {"fused": True, "capturable": True}, "sgd": {"fused": True}}
"""What makes a step of an optimizer one kernel, which a CUDA graph can hold."""

NEVER = 2**62
"""The number of a step that is never taken."""

PRECISIONS = ("float32", "tf32", "bfloat16")
SCHEDULES = ("cosine", "linear")


class Schedule(NamedTuple):
    """What the learning rate is multiplied by: it rises for `warmup` steps, then falls to 0 after `steps`, or stays.

    >>> [Schedule("linear", 2, 6).factor(step) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """

    kind: str | None = None
    warmup: int = 0
    steps: int = 0

    def factor(self, step: int) -> float:
        if step < self.warmup:
            return (step + 1) / self.warmup
        done = (step - self.warmup) / max(self.steps - self.warmup, 1)
        if self.kind == "linear":
            return 1.0 - done
        return 0.5 + 0.5 * math.cos(math.pi * done) if self.kind == "cosine" else 1.0


class TorchLearner(Learner):
    """A network and its optimizer, for `optimizers.gradient_descent.descend`; a subclass adds `step`.

    `nuisance` are the initial values of the parameters that an objective learns beside the network.
    """

    def __init__(
        self,
        network: nn.Module,
        nuisance: Sequence[float],
        *,
        optimizer: str,
        learning_rate: float,
        weight_decay: float,
        seed: int,
        validation_score: Callable[[Any], float | None],
        precision: str = "float32",
        max_grad_norm: float | None = None,
        schedule: Schedule = Schedule(),  # noqa: B008 – a NamedTuple never changes
    ):
        self.network, self.seed, self.learning_rate = network, seed, learning_rate
        self._validation_score, self.precision = validation_score, precision
        self.max_grad_norm, self.schedule = max_grad_norm, schedule
        self.device = next(network.parameters()).device
        on_gpu = self.device.type == "cuda"
        place = self.device if on_gpu else None  # elsewhere the objectives run on the CPU
        self.nuisance = nn.Parameter(torch.tensor([*nuisance], dtype=torch.float64, device=place))
        self.bad_step = torch.full((), NEVER, device=place)
        groups: list[dict[str, Any]] = [
            {"params": list(network.parameters())},
            {"params": [self.nuisance], "weight_decay": 0.0},
        ]
        form: dict[str, Any] = {"lr": learning_rate, "weight_decay": weight_decay}
        if on_gpu and optimizer in ON_GPU:  # a recorded step reads the learning rate where it lies
            form |= ON_GPU[optimizer] | {"lr": torch.tensor(learning_rate, device=self.device)}
        self.optimizer = OPTIMIZERS[optimizer](groups, **form)
        share_network(network)

    @abstractmethod
    def step(self, lists: Integers, epoch: float, step: int) -> Any:
        """One update from these lists; their mean loss before it."""

    def begin_step(self, step: int) -> None:
        """Set the learning rate of a step, and what dropout draws."""
        self.network.train()
        if not isinstance(self.network, OwnNetwork) or self.network.dropout:
            self.seed_dropout(step)
        if self.schedule.kind is not None or self.schedule.warmup:
            rate = self.learning_rate * self.schedule.factor(step)
            for group in self.optimizer.param_groups:
                if isinstance(group["lr"], Tensor):
                    group["lr"].fill_(rate)
                else:
                    group["lr"] = rate

    def update(self, work: Callable[[], Any]) -> Any:
        """A step of the optimizer by the loss that `work` computes and propagates backward, summed over ranks."""
        self.optimizer.zero_grad()
        if current_group() is None:
            loss = work()
        else:
            parameters = [*self.network.parameters(), self.nuisance]
            found = summed_work(lambda: np.append(float(work()), _gradients(parameters)), 1 + _size(parameters))
            _set_gradients(parameters, found[1:])
            loss = float(found[0])
        if self.max_grad_norm is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.max_grad_norm)
        self.optimizer.step()
        return loss

    def autocast(self) -> Any:
        """Where the network computes in lower precision, if it is to; its parameters stay float32."""
        return torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16", cache_enabled=False
        )

    def watch(self, loss: Any, step: Any) -> Any:
        """The loss of a step; one that is not finite is an error, on a GPU as soon as the host reads the losses."""
        if isinstance(loss, float):
            return self.read(loss, step)
        self.bad_step.copy_(torch.where(loss.isfinite(), self.bad_step, self.bad_step.clamp(max=step)))
        return loss

    def read(self, total: Any, step: int) -> float:
        value = float(total)
        if not math.isfinite(value):
            raise self.diverged(min(int(self.bad_step), step))
        return value

    def seed_dropout(self, step: int) -> None:
        """Make dropout depend on the seed, the step and the rank alone: a checkpoint need not store its state."""
        group = current_group()
        entropy = (self.seed, step) if group is None else (self.seed, step, group.rank)
        seed = np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0].item()
        # torch.manual_seed would format a traceback for devices that are not there, half a millisecond each time.
        torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def diverged(self, step: int) -> LuceError:
        """The error for scores that are no longer finite."""
        return LuceError(
            f"Training diverges: the scores are not finite at step {step + 1}. "
            f"Try a learning_rate below {self.learning_rate:g}, standardized features, or normalization."
        )

    def validation_score(self) -> float | None:
        share_network(self.network)  # processors of different kinds round differently
        return self._validation_score(self)

    def parameters(self) -> dict[str, Any]:
        learned = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        copies = {name: t.detach().clone() for name, t in (learned | {"nuisance": self.nuisance}).items()}
        # From a GPU they are copied when they are needed: a later epoch may be better.
        return copies if self.device.type == "cuda" else {name: t.cpu().numpy() for name, t in copies.items()}

    def state(self) -> Arrays:
        memory = {
            f"optimizer.{number}.{name}": value.detach().to("cpu", copy=True).numpy()
            for number, entries in self.optimizer.state_dict()["state"].items()
            for name, value in entries.items()
            if isinstance(value, Tensor)
        }
        return as_arrays(self.parameters()) | memory

    def restore(self, state: Arrays) -> None:
        learned = {name: array for name, array in state.items() if not name.startswith("optimizer.")}
        memory: dict[int, dict[str, Tensor]] = {}
        for name in state.keys() - learned.keys():
            number, key = name.removeprefix("optimizer.").split(".", 1)
            memory.setdefault(int(number), {})[key] = torch.from_numpy(state[name])
        self._check_optimizer_state(memory)
        load_network(self.network, like(as_arrays(self.parameters()), learned))
        with torch.no_grad():
            self.nuisance.copy_(torch.from_numpy(state["nuisance"]))
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": memory})

    def _check_optimizer_state(self, memory: dict[int, dict[str, Tensor]]) -> None:
        """A ValueError unless this is state of the optimizer for these parameters: PyTorch does not check it."""
        probe = nn.Parameter(torch.zeros(1))
        probe.grad = torch.zeros(1)
        model = type(self.optimizer)([probe], lr=1.0)  # type: ignore[call-arg]
        model.step()
        wanted = model.state_dict()["state"].get(0, {})
        parameters = [one for group in self.optimizer.param_groups for one in group["params"]]
        for number, entries in memory.items():
            one = parameters[number] if 0 <= number < len(parameters) else None
            forms = {name: (t.shape if t.ndim == 0 or one is None else one.shape) for name, t in wanted.items()}
            if one is None or {name: t.shape for name, t in entries.items()} != forms:
                raise ValueError(f"optimizer.{number} is not state of {type(self.optimizer).__name__}")


def _size(parameters: Sequence[Tensor]) -> int:
    return sum(1 + one.numel() for one in parameters)


def _gradients(parameters: Sequence[Tensor]) -> Floats:
    """For each parameter whether it has a gradient, and the gradient."""
    found = np.zeros(_size(parameters))
    start = 0
    for one in parameters:
        if one.grad is not None:
            found[start] = 1.0
            found[start + 1 : start + 1 + one.numel()] = one.grad.cpu().numpy().ravel()
        start += 1 + one.numel()
    return found


def _set_gradients(parameters: Sequence[Tensor], values: Floats) -> None:
    """Take over the sums of what `_gradients` gave on all ranks."""
    start = 0
    for one in parameters:
        part = values[start + 1 : start + 1 + one.numel()].reshape(one.shape)
        one.grad = torch.from_numpy(part).to(one) if values[start] else None
        start += 1 + one.numel()


def share_network(network: nn.Module) -> None:
    """Give the network on all ranks of a group the state that it has on the first; outside of one, nothing is done."""
    group = current_group()
    if group is None:
        return
    for name, module in network.named_modules():
        by_batch = isinstance(module, nn.modules.batchnorm._BatchNorm)
        if by_batch or (isinstance(module, nn.modules.batchnorm._NormBase) and module.track_running_stats):
            raise OptionError(
                f"{type(module).__name__} ({name or 'the module'}) normalizes by the rows of a batch, of which each of "
                "several ranks has some: use normalization='layer', or one rank."
            )
    state = network.state_dict()
    group.agree({"the network": {name: [list(one.shape), str(one.dtype)] for name, one in state.items()}})
    with torch.no_grad():
        for tensor in state.values():
            own = tensor.detach().cpu().numpy()
            tensor.copy_(torch.from_numpy(group.broadcast(own).reshape(own.shape)))


def load_network(network: nn.Module, arrays: Arrays) -> None:
    """Put stored arrays into a network; a ValueError says what does not fit."""
    stored = {k.removeprefix("network."): torch.from_numpy(v) for k, v in arrays.items() if k.startswith("network.")}
    wanted, given = (
        {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in tensors.items()}
        for tensors in (network.state_dict(), stored)
    )
    if wanted != given:
        name = next(n for n in [*wanted, *given] if wanted.get(n) != given.get(n))
        raise ValueError(f"{name} must be {wanted.get(name)}. Got {given.get(name)}")
    network.load_state_dict(stored, assign=any(t.is_meta for t in network.state_dict().values()))


@contextmanager
def torch_settings(n_jobs: int | None, device: torch.device, precision: str = "float32") -> Iterator[None]:
    """Set PyTorch's threads and the precision of products; restore them and the global random state afterwards."""
    one_thread_after_fork("PyTorch", torch.set_num_threads)
    before, products = torch.get_num_threads(), torch.get_float32_matmul_precision()
    cuda = [device] if device.type == "cuda" else []
    # Kernels and graphs run on the current device, which need not be the one of the tensors.
    current = torch.cuda.device(device) if cuda else nullcontext()
    with current, torch.random.fork_rng(devices=cuda):
        try:
            if n_jobs is not None:
                torch.set_num_threads(check_threads("PyTorch", min(thread_count(n_jobs), thread_count(-1))))
            torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
            yield
        finally:
            torch.set_num_threads(before)
            torch.set_float32_matmul_precision(products)
