"""From a raw table to each export: encodings, transforms, ensembles and background models, trained and served alike."""

import numpy as np
import pandas as pd
import pytest

import luce
from luce.exports import EXPORTS
from luce.exports.check import rows_of

COLORS = ["red", "blue", "green", None]


@pytest.fixture(scope="module")
def frames():
    """Training rows and rows to score: numbers with gaps, and a column of text."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "query": np.repeat(np.arange(60), 10),
            "price": rng.lognormal(3, 2, 600),
            "title bm25": rng.exponential(5, 600),
            "age": rng.integers(0, 400, 600).astype(float),
            "color": pd.Series([COLORS[number] for number in rng.integers(4, size=600)], dtype=object),
        }
    )
    worth = np.log(frame["price"]) - 0.01 * frame["age"] + (frame["color"] == "red")
    frame["label"] = pd.qcut(worth, 4, labels=False)
    frame.loc[::17, "age"] = np.nan
    return frame.iloc[:500], frame.iloc[500:]


def dataset(frame, **options):
    return luce.from_table(frame, query="query", label="label", **options)


ZERO = luce.data.transforms.make_transform("fill", constant=0)
TREES = {"n_estimators": 20, "n_jobs": 1, "validation_fraction": None}
NUMBERS = {"exclude": ["color"]}
WITHOUT_GAPS = {"exclude": ["color", "age"]}
KINDS = {
    "linear": (lambda: luce.LinearRanker(transforms=(ZERO, "standardize"), n_jobs=1), {}),
    "trees": (lambda: luce.TreeRanker(**TREES), NUMBERS),
    "trees, transforms": (lambda: luce.TreeRanker(transforms=("symlog1p", "standardize"), **TREES), NUMBERS),
    "bags": (lambda: luce.TreeRanker(n_bags=2, **TREES), NUMBERS),
    "categories": (lambda: luce.TreeRanker(**TREES), {}),
    "network": (
        lambda: luce.NeuralRanker(transforms=(ZERO, "standardize"), epochs=1, validation_fraction=None, n_jobs=1),
        {},
    ),
    "ensemble": (
        lambda: luce.EnsembleRanker([(str(n), luce.TreeRanker(num_leaves=n, **TREES)) for n in (4, 8)], n_jobs=1),
        NUMBERS,
    ),
}
REFUSED = {
    "linear": {"elasticsearch-native", "vespa", "ranklib", "lightgbm", "treelite"},
    "categories": {"elasticsearch", "opensearch", "elasticsearch-native", "solr", "vespa", "ranklib"},
    "network": {"elasticsearch", "opensearch", "elasticsearch-native", "vespa", "ranklib", "lightgbm", "treelite"},
    **{name: {"ranklib"} for name in ("trees", "trees, transforms", "bags", "ensemble")},
}


@pytest.fixture(scope="module")
def fitted(frames):
    made = {name: (make().fit(dataset(frames[0], **options)), options) for name, (make, options) in KINDS.items()}
    trees = luce.TreeRanker(**TREES)
    gaps = dataset(frames[0], **WITHOUT_GAPS)
    linear = luce.LinearRanker(transforms=("standardize",), n_jobs=1).fit(gaps)
    return made | {"background": (trees.fit(gaps, init_model=linear), WITHOUT_GAPS)}


@pytest.mark.filterwarnings("ignore:.*learned.*")
@pytest.mark.parametrize("form", [form for form in EXPORTS if form != "onnx"])
@pytest.mark.parametrize("name", [*KINDS, "background"])
def test_the_exported_file_scores_the_raw_rows_of_a_table_as_the_ranker_does(name, form, frames, fitted, tmp_path):
    if form == "treelite":
        pytest.importorskip("treelite")
    ranker, options = fitted[name]
    path = tmp_path / "shop.model"
    if name == "background" or form in REFUSED[name]:
        with pytest.raises(luce.OptionError, match="cannot express this ranker"):
            luce.export(ranker, form, path)
        assert list(tmp_path.iterdir()) == []
        return
    assert luce.export(ranker, form, path).different_rows == 0
    test = ranker.aligned(dataset(frames[1], **options))
    rows = rows_of(EXPORTS[form], ranker, test)
    if name in ("linear", "network"):
        assert list(rows.names[-3:]) == ["color=blue", "color=green", "color=red"]
    found = EXPORTS[form].oracle(path.read_bytes(), rows)
    wanted = ranker.predict(frames[1])
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    assert np.array_equal(np.argsort(found), np.argsort(wanted)) or name in ("linear", "network")
