"""Softmax, cosine and pointwise losses."""

from torch import Tensor
from torch.nn import functional

from torch_forms.batch import NOTHING, Batch


def _softmax_loss(batch: Batch, targets: Tensor) -> Tensor:
    return -(targets * batch.scores.masked_fill(~batch.mask, NOTHING).log_softmax(dim=1)).sum(dim=1)


def listnet(batch: Batch) -> Tensor:
    return _softmax_loss(batch, batch.labels.masked_fill(~batch.mask, NOTHING).softmax(dim=1))


def attrank(batch: Batch) -> Tensor:
    return _softmax_loss(batch, batch.labels.masked_fill(batch.labels <= 0, NOTHING).softmax(dim=1))


def kl(batch: Batch) -> Tensor:
    gains = batch.gains
    return _softmax_loss(batch, gains / gains.sum(dim=1, keepdim=True))


def c_kl(batch: Batch) -> Tensor:
    return _softmax_loss(batch, batch.gains / batch.ideal_dcg())


def softmax(batch: Batch) -> Tensor:
    return _softmax_loss(batch, batch.labels * batch.mask)


def rankcosine(batch: Batch) -> Tensor:
    return (1 - functional.cosine_similarity(batch.labels, batch.scores * batch.mask, dim=1)) / 2


def cosine(batch: Batch) -> Tensor:
    return (1 - functional.cosine_similarity(batch.gains, batch.scores * batch.mask, dim=1)) / 2


def c_cosine(batch: Batch) -> Tensor:
    unit = functional.normalize(batch.scores * batch.mask, dim=1)
    return (1 - (batch.gains / batch.ideal_dcg() * unit).sum(dim=1)) / 2


def squared_gain(batch: Batch) -> Tensor:
    return (((batch.scores - batch.gains) * batch.mask) ** 2).sum(dim=1)


def squared_label(batch: Batch) -> Tensor:
    return (((batch.scores - batch.labels) * batch.mask) ** 2).sum(dim=1)


def c_squared(batch: Batch) -> Tensor:
    return (((batch.scores - batch.gains / batch.ideal_dcg()) * batch.mask) ** 2).sum(dim=1)


def mcrank(batch: Batch) -> Tensor:
    classes = batch.scores.flatten(0, 1), batch.labels.flatten().long()
    each = functional.cross_entropy(*classes, reduction="none").view_as(batch.labels)
    return (each * batch.mask).sum(dim=1)


def bce(batch: Batch) -> Tensor:
    relevant = (batch.labels > 0).to(batch.scores.dtype)
    each = functional.binary_cross_entropy_with_logits(batch.scores, relevant, reduction="none")
    return (each * batch.mask).sum(dim=1)


FORMS = {
    "listnet": listnet,
    "attrank": attrank,
    "kl": kl,
    "c-kl": c_kl,
    "softmax": softmax,
    "rankcosine": rankcosine,
    "cosine": cosine,
    "c-cosine": c_cosine,
    "squared-gain": squared_gain,
    "squared-label": squared_label,
    "c-squared": c_squared,
    "mcrank": mcrank,
    "bce": bce,
}
