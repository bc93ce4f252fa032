"""The plain PyTorch forms that benchmarks compare with say what the objectives say."""

import numpy as np
import pytest
import torch

from luce.objectives import OBJECTIVES, Draw
from measuring import make_lists
from objectives import difference, draws_rankings
from torch_forms import FORMS
from torch_forms.batch import Batch

COPIES, SIZES = 1_000, np.array([6, 14])
SAMPLED = [form for form in FORMS if draws_rankings(form)]
OTHERS = [form for form in FORMS if not draws_rankings(form)]


def identity(form):
    return f"{form.objective} {form.name}".strip()


@pytest.mark.parametrize("form", OTHERS, ids=identity)
def test_loss_and_gradient_are_those_of_the_objective(form):
    tolerance = 1e-4 if form.objective == "pl-partition" else 1e-6
    assert difference(form, make_lists(np.array([31, 12, 40]), form.objective)) < tolerance


@pytest.mark.parametrize("form", SAMPLED, ids=identity)
def test_sampled_gradients_have_the_same_mean_and_variance(form):
    """From copies of two lists, one of fewer items than the metric has places."""
    lists = make_lists(np.tile(SIZES, COPIES), form.objective)
    n = SIZES.sum()
    scores, labels = (np.tile(values[:n], COPIES) for values in lists[:2])
    torch.manual_seed(0)
    batch = Batch.of(scores, labels, lists.offsets, torch.float32)
    theirs = form.value_and_gradient(batch, 2**22)[1][batch.mask].numpy()
    ours = OBJECTIVES[form.objective].value_and_gradient(scores, labels, lists.offsets, draw=Draw(1)).gradient
    gradients = [values.reshape(COPIES, n) for values in (ours, theirs)]
    variance, their_variance = (each.var(axis=0) for each in gradients)
    noise = np.sqrt((variance + their_variance) / COPIES)
    mean, their_mean = (each.mean(axis=0) for each in gradients)
    assert noise.max() < 0.1 * np.abs(mean).max()
    assert (np.abs(their_mean - mean) <= 5 * noise).all()
    assert 0.8 < variance.sum() / their_variance.sum() < 1.25
