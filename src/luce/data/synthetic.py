"""Synthetic data with a known truth: judged lists like web search, tagged rows."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes, read_only
from luce.data.extreme import TaggedData
from luce.data.ragged import Dataset
from luce.errors import OptionError

GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
"""About how many documents have the grades 0, 1, 2, 3, 4."""

DOCUMENT_TRAITS, QUERY_TRAITS = 11, 3
ROWS = 16_384
"""Documents drawn together."""


class SyntheticLists(NamedTuple):
    """A dataset and the truth behind its labels.

    Attributes
    ----------
    dataset : Dataset
        The judged lists.
    truth : ndarray of shape (N,)
        The score of each row without the noise of the judges.
    """

    dataset: Dataset
    truth: Floats


class _World(NamedTuple):
    """What training and test data share: how traits show in features, and from what quality on a grade is given."""

    kinds: Integers
    of_document: NDArray[np.float32]
    of_query: NDArray[np.float32]
    blur: NDArray[np.float32]
    cuts: Floats


def web_search(
    n_lists: int = 300,
    n_features: int = 136,
    mean_length: float = 60,
    *,
    seed: int = 0,
    world_seed: int = 0,
    noise: float = 0.5,
    missing: float = 0.0,
) -> SyntheticLists:
    """Generate judged lists that resemble web search, with the true scores behind the labels.

    Grades 0 to 4 are skewed (about 52, 32, 13, 2, 1 %), lengths are ragged (log-normal), a tenth of the features is
    constant within a query, others are counts, heavy-tailed or mostly zero; quality is not linear in any of them.

    Parameters
    ----------
    n_lists, n_features : int
        The number of lists and of features.
    mean_length : float
        The mean number of items of a list.
    seed : int
        Seed of the lists.
    world_seed : int
        Seed of the truth, which datasets of one `world_seed` share: train on one `seed` and test on another.
    noise : float
        Standard deviation of the judges' noise.
    missing : float
        Share of the feature values that are missing, from 0 to below 1.

    Returns
    -------
    SyntheticLists

    Examples
    --------
    >>> data, truth = web_search(n_lists=100, n_features=20, mean_length=30, seed=1)
    >>> data.n_lists, data.n_features, len(truth) == data.n_rows
    (100, 20, True)
    """
    _check(1, n_lists=n_lists, n_features=n_features, mean_length=mean_length)
    _check(0, seed=seed, world_seed=world_seed, noise=noise)
    if not 0 <= missing < 1:
        raise OptionError(f"missing must be from 0 to below 1. Got {missing}.")
    world = _world(n_features, world_seed, noise)
    random = default_rng([seed, 1])
    spread = 0.7
    lengths = np.exp(random.normal(np.log(mean_length) - spread**2 / 2, spread, n_lists))
    offsets = offsets_of_sizes(np.maximum(1, np.rint(lengths)))
    queries = random.standard_normal((n_lists, QUERY_TRAITS), dtype=np.float32)
    strictness = 0.6 * random.standard_normal(n_lists)
    features = np.empty((offsets[-1], n_features), dtype=np.float32)
    truth, labels = np.empty(offsets[-1]), np.empty(offsets[-1])
    lists = list_of_row(offsets)
    for first in range(0, len(lists), ROWS):
        rows = slice(first, first + ROWS)
        of_row = lists[rows]
        traits = random.standard_normal((len(of_row), DOCUMENT_TRAITS), dtype=np.float32)
        truth[rows] = _quality(traits, queries[of_row])
        judged = truth[rows] + strictness[of_row] + noise * random.standard_normal(len(of_row))
        labels[rows] = np.searchsorted(world.cuts, judged)
        features[rows] = _features(world, traits, queries[of_row], random)
        if missing:
            features[rows][random.random(features[rows].shape, dtype=np.float32) < missing] = np.nan
    return SyntheticLists(Dataset(features, labels, offsets, document_ids=_document_ids(offsets)), read_only(truth))


def _check(least: float, **given: float) -> None:
    for name, value in given.items():
        if not value >= least:
            raise OptionError(f"{name} must be at least {least}. Got {value}.")


def _world(n_features: int, seed: int, noise: float) -> _World:
    random = default_rng([seed, 0])
    kinds = random.choice(5, n_features, p=(0.1, 0.3, 0.25, 0.25, 0.1))
    of_document = random.standard_normal((DOCUMENT_TRAITS, n_features)) * (
        random.random((DOCUMENT_TRAITS, n_features)) < 0.25
    )
    of_query = random.standard_normal((QUERY_TRAITS, n_features))
    of_document[:, kinds == 0] = 0
    of_query[:, kinds != 0] *= 0.2
    blur = np.where(kinds == 0, 0, random.uniform(0.3, 1.2, n_features))
    size = 200_000
    traits, queries = random.standard_normal((size, DOCUMENT_TRAITS)), random.standard_normal((size, QUERY_TRAITS))
    judged = _quality(traits, queries) + np.sqrt(0.36 + noise**2) * random.standard_normal(size)
    cuts = np.quantile(judged, np.cumsum(GRADE_SHARES)[:-1])
    return _World(kinds, of_document.astype(np.float32), of_query.astype(np.float32), blur.astype(np.float32), cuts)


def _quality(traits: NDArray[np.floating], queries: NDArray[np.floating]) -> Floats:
    """How good a document is for a query: partly a sum, partly what only rules and products can see."""
    a, b, c, d, e, f, g, h, i, j, k = traits.T.astype(np.float64)
    u, v, _ = queries.T.astype(np.float64)
    plain = 0.5 * a + 0.4 * b + 0.4 * c
    shaped = np.tanh(2 * d) - 0.4 * (e - 0.5) ** 2 + 0.9 * np.maximum(f, 0) * (g > 0)
    together = 0.6 * h * i + 0.4 * u * j + 0.4 * np.where(v > 0, k, -k)
    return plain + shaped + together


def _features(
    world: _World, traits: NDArray[np.float32], queries: NDArray[np.float32], random: Generator
) -> NDArray[np.float32]:
    """What can be measured of the traits: each feature mixes a few of them, blurred and bent."""
    seen = traits @ world.of_document + queries @ world.of_query
    seen += world.blur * random.standard_normal(seen.shape, dtype=np.float32)
    counts, heavy, rare = (np.flatnonzero(world.kinds == kind) for kind in (2, 3, 4))
    seen[:, counts] = np.floor(3 * np.maximum(seen[:, counts], 0))
    seen[:, heavy] = np.exp(seen[:, heavy])
    seen[:, rare] = np.where(seen[:, rare] > 0.5, seen[:, rare], 0)
    return seen


def _document_ids(offsets: Integers) -> pa.Array:
    lists = list_of_row(offsets)
    ranks = np.arange(len(lists)) - offsets[lists]
    document, rank = (pa.array(numbers + 1).cast(pa.large_string()) for numbers in (lists, ranks))
    return pc.binary_join_element_wise(document, rank, pa.scalar("-", pa.large_string()))


def tagged_documents(
    n_rows: int, *, n_words: int = 300, n_labels: int = 100, most_labels: int = 9, seed: int = 0
) -> TaggedData:
    """Generate documents as word counts, each tagged with a few labels, some far more common than others.

    A document has a few topics. Its labels are the first of a Plackett-Luce draw whose scores follow from its topics
    and from how common a label is.

    Parameters
    ----------
    n_rows : int
        The number of documents.
    n_words, n_labels : int
        The number of words, which are the features, and of labels.
    most_labels : int
        A document has from one to this many labels.
    seed : int
        Other seeds give other documents with the same truth.

    Returns
    -------
    TaggedData

    Examples
    --------
    >>> tagged_documents(50, n_labels=20)
    TaggedData(50 rows, 300 features, 20 labels, 5.42 per row, sparse)
    """
    _check(1, n_rows=n_rows, n_words=n_words, n_labels=n_labels, most_labels=most_labels)
    _check(0, seed=seed)
    world, random = default_rng([n_words, n_labels]), default_rng([seed, 3])
    words = world.dirichlet(np.full(n_words, 0.05), 20)
    scores = world.normal(0, 3, (20, n_labels))
    common = -np.log(np.arange(1, n_labels + 1))
    topics = random.dirichlet(np.full(20, 0.1), n_rows)
    counts = random.poisson(random.integers(10, 60, (n_rows, 1)) * (topics @ words))
    keys = topics @ scores + common + random.gumbel(size=(n_rows, n_labels))
    places = np.argsort(np.argsort(-keys, axis=1), axis=1)
    features = sparse.csr_array(np.log1p(counts).astype(np.float32))
    return TaggedData(features, places < random.integers(1, most_labels + 1, (n_rows, 1)))
