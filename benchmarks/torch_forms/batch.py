"""Ragged lists as PyTorch code usually has them: a padded batch with a mask, in float32."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

NOTHING = -1e9
"""A score for padding: e^NOTHING is 0, and unlike −∞ it leaves no NaN in a gradient."""


@dataclass(frozen=True)
class Batch:
    """Scores (Q, longest) or (Q, longest, grades), labels and mask (Q, longest), the tie parameter of pairs."""

    scores: Tensor
    labels: Tensor
    mask: Tensor
    parameter: Tensor

    @classmethod
    def of(
        cls, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, dtype: torch.dtype, device: str = "cpu"
    ) -> "Batch":
        """Flat lists, padded."""
        sizes = np.diff(offsets)
        mask = torch.from_numpy(np.arange(sizes.max()) < sizes[:, None])
        padded = torch.zeros(mask.shape + scores.shape[1:], dtype=dtype)
        padded[mask] = torch.from_numpy(scores).to(dtype)
        grades = torch.zeros(mask.shape, dtype=dtype)
        grades[mask] = torch.from_numpy(labels).to(dtype)
        parameter = torch.zeros((), dtype=dtype)
        return cls(*(tensor.to(device) for tensor in (padded, grades, mask, parameter)))

    def part(self, first: int, last: int) -> "Batch":
        """Some of the lists, with inputs that take a gradient."""
        scores = self.scores[first:last].detach().requires_grad_()
        parameter = self.parameter.detach().requires_grad_()
        return Batch(scores, self.labels[first:last], self.mask[first:last], parameter)

    @property
    def gains(self) -> Tensor:
        """2^y − 1, and 0 at padding."""
        return (torch.exp2(self.labels) - 1) * self.mask

    def ideal_dcg(self, level: int | None = None) -> Tensor:
        """(Q, 1), of so many first places."""
        places = torch.arange(self.mask.shape[1], dtype=self.labels.dtype, device=self.labels.device)
        gains = self.gains.sort(dim=1, descending=True).values
        return (gains / torch.log2(places + 2))[:, :level].sum(dim=1, keepdim=True)
