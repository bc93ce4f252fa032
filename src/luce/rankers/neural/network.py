"""The networks that score items: layers on each row, then attention between the rows of a list."""

import inspect
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import torch
from torch import Tensor, nn

from luce.kernels.attention import attend
from luce.rankers.neural.entries import Entries, dense, masked

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "identity": nn.Identity,
}
NORMALIZATIONS: dict[str, type[nn.Module]] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}


class OwnNetwork(nn.Module):
    """A network of Luce's, which draws random numbers for dropout alone."""

    dropout: float


class InputLayer(nn.Linear):
    """A linear layer of dense or sparse rows; a sparse row costs only its entries.

    >>> layer, rows = InputLayer(3, 2), torch.tensor([[0.0, 2, 0], [1, 0, 0]])
    >>> entries = Entries(torch.tensor([1, 0]), torch.tensor([0, 1, 2]), torch.tensor([2.0, 1]), n_features=3)
    >>> torch.allclose(layer(entries), layer(rows))
    True
    """

    def forward(self, rows: Tensor | Entries) -> Tensor:
        if isinstance(rows, Tensor):
            return super().forward(rows)
        weight = self.weight.t()
        # Few entries read their weights where they lie, many read a copy in which those of a feature lie together.
        return self.bias + rows @ (weight if len(rows.indices) < self.in_features else weight.contiguous())


class Network(OwnNetwork):
    """Rows (N, F), dense or sparse, of lists with offsets (Q+1,) in, scores (N,) or (N, outputs) out.

    `longest`, at least the size of the longest list, avoids that attention waits for a GPU.

    >>> network = Network(3, None, hidden_layer_sizes=(4,), attention_blocks=1, attention_heads=2)
    >>> network(torch.zeros(5, 3), torch.tensor([0, 2, 5])).shape
    torch.Size([5])
    """

    def __init__(
        self,
        n_features: int,
        outputs: int | None,
        *,
        hidden_layer_sizes: Sequence[int],
        activation: str = "relu",
        dropout: float = 0.0,
        normalization: str | None = None,
        attention_blocks: int = 0,
        attention_heads: int = 1,
    ):
        super().__init__()
        self.dropout = dropout
        widths = [n_features, *hidden_layer_sizes]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers.append((nn.Linear if layers else InputLayer)(before, after))
            if normalization is not None:
                layers.append(NORMALIZATIONS[normalization](after))
            layers.append(ACTIVATIONS[activation]())
            if dropout:
                layers.append(nn.Dropout(dropout))
        self.rows = nn.Sequential(*layers)
        self.context = nn.ModuleList(
            AttentionBlock(widths[-1], attention_heads, dropout) for _ in range(attention_blocks)
        )
        self.single = outputs is None
        self.out = (nn.Linear if layers else InputLayer)(widths[-1], 1 if outputs is None else outputs)

    def forward(self, rows: Tensor | Entries, offsets: Tensor, longest: int | None = None) -> Tensor:
        x = self.rows(rows)
        for block in self.context:
            x = block(x, offsets, longest)
        scores = self.out(x)
        return scores[:, 0] if self.single else scores


class NetworkAverage(nn.Module):
    """A weighted sum of networks, each of which sees the features of its mask; the others are 0 to it."""

    def __init__(self, networks: Sequence[nn.Module], weights: Tensor, masks: Tensor):
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.weights: Tensor
        self.masks: Tensor
        self.register_buffer("weights", weights)
        self.register_buffer("masks", masks)

    def forward(self, rows: Tensor | Entries, offsets: Tensor, longest: int | None = None) -> Tensor:
        each = zip(self.networks, self.weights, self.masks, strict=True)
        scores = [weight * call(one, masked(rows, mask), offsets, longest) for one, weight, mask in each]
        return torch.stack(scores).sum(0)


def call(network: nn.Module, rows: Tensor | Entries, offsets: Tensor, longest: int | None = None) -> Tensor:
    """The scores of a network; the `forward` of a user's takes dense rows, and the offsets of the lists or not."""
    if isinstance(network, Network | NetworkAverage):
        return network(rows, offsets.to(rows.device), longest)
    return network(dense(rows), offsets.to(rows.device)) if takes_offsets(network) else network(dense(rows))


def takes_offsets(network: nn.Module) -> bool:
    """Whether `forward` takes the offsets of the lists beside the rows."""
    return _has_offsets(type(network))  # type: ignore[arg-type]


@cache
def _has_offsets(kind: type[nn.Module]) -> bool:
    return "offsets" in inspect.signature(kind.forward).parameters


class AttentionBlock(nn.Module):
    """A transformer layer in which items attend to their own list, without positions: their order does not matter."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_layers = nn.LayerNorm(width), nn.LayerNorm(width)
        self.projection, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, offsets: Tensor, longest: int | None = None) -> Tensor:
        n, width = x.shape
        if longest is None:
            longest = int(offsets.diff().max()) if len(offsets) > 1 else 0
        parts = self.projection(self.before_attention(x)).view(n, 3, self.heads, width // self.heads)
        query, key, value = parts.unbind(1)
        attended = attend(query, key, value, offsets, longest)
        x = x + self.drop(self.merge(attended.reshape(n, width)))
        return x + self.drop(self.layers(self.before_layers(x)))
