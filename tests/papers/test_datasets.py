"""Public data as distributed: found where they lie, read, and refused when they are not what was published."""

from dataclasses import replace

import pytest

from luce.errors import DataError
from papers.datasets import (
    DATASETS,
    REAL_DATA,
    DatasetSpec,
    Layout,
    PartSize,
    PublicDataset,
    SyntheticShape,
    find,
    find_folds,
    real_data,
)

LISTS = "2 qid:1 1:0.5 2:1\n0 qid:1 1:0.1\n1 qid:2 2:3\n"
TAGS = "3 4 5\n0,2 0:1 3:0.5\n4 1:2\n1,2 2:1\n"


@pytest.fixture
def small(monkeypatch):
    """Two public datasets of a few lines: judged lists in two folds, tagged rows in two layouts."""
    files = {"train": "Fold{fold}/train.txt", "test": "Fold{fold}/test.txt"}
    lists = PublicDataset("lists", "a library", (Layout("Lists", files),), 2, sizes={"train": PartSize(2, 3)}, folds=2)
    both = {"train": "all.txt", "test": "all.txt"}
    split = Layout("Tags", both, {"train": "train_rows.txt", "test": "test_rows.txt"})
    apart = Layout("tags", {"train": "train.txt", "test": "test.txt"})
    sizes = {"train": PartSize(2, 2), "test": PartSize(1, 1)}
    tags = PublicDataset("tags", "a library", (split, apart), 4, 5, sizes)
    monkeypatch.setitem(DATASETS, "lists", lists)
    monkeypatch.setitem(DATASETS, "tags", tags)


def put(folder, **files):
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_txt", ".txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_judged_lists_by_fold(small, tmp_path):
    put(tmp_path, Lists__Fold1__train_txt=LISTS, Lists__Fold1__test_txt=LISTS)
    put(tmp_path, Lists__Fold2__train_txt="1 qid:7 1:4\n", Lists__Fold2__test_txt=LISTS)
    train = find(tmp_path, "lists").read("train")
    assert (train.n_lists, train.n_rows, train.n_features) == (2, 3, 2)
    other = find(tmp_path, "lists", fold=2).read("train")  # counts are known of fold 1 alone
    assert (other.n_rows, other.n_features, other.features[0, 0]) == (1, 2, 4)


@pytest.mark.parametrize("present, missing", [(1, 2), (2, 1)])
def test_a_fold_that_is_missing_is_reported_at_once(small, tmp_path, present, missing):
    assert find_folds(tmp_path, "lists") is None is find_folds(None, "lists")
    put(tmp_path, **{f"Lists__Fold{present}__{part}_txt": LISTS for part in ("train", "test")})
    with pytest.raises(DataError, match=f"All 2 folds of lists are needed; missing: {missing}"):
        find_folds(tmp_path, "lists")
    put(tmp_path, **{f"Lists__Fold{missing}__{part}_txt": LISTS for part in ("train", "test")})
    assert find_folds(tmp_path, "lists").fold == 1


def test_tagged_rows_in_one_file_with_splits_or_apart(small, tmp_path):
    put(tmp_path, Tags__all_txt=TAGS, Tags__train_rows_txt="3 1\n1 2\n", Tags__test_rows_txt="2 3\n")
    found = find(tmp_path, "tags")
    assert found.read("train").labels.indices.tolist() == [1, 2, 0, 2]
    assert found.read("test").labels.indices.tolist() == [4]
    put(tmp_path / "other", tags__train_txt="2 4 5\n0 0:1\n1 1:1\n", tags__test_txt="1 4 5\n3 0:1\n")
    assert find(tmp_path / "other", "tags").read("test").labels.indices.tolist() == [3]


def test_counts_are_verified(small, tmp_path):
    put(tmp_path, Lists__Fold1__train_txt="1 qid:7 1:4\n", Lists__Fold1__test_txt=LISTS)
    with pytest.raises(DataError, match=r"train part of lists as published: it has 1 lists, not 2; 1 rows, not 3"):
        find(tmp_path, "lists").read("train")
    put(tmp_path, tags__train_txt="2 4 6\n0 0:1\n1 1:1\n", tags__test_txt="1 4 5\n3 0:1\n")
    with pytest.raises(DataError, match=r"6 labels, not 5.*a library.*synthetic data"):
        find(tmp_path, "tags").read("train")


def test_a_spec_reads_public_data_and_is_synthetic_without_them(small, tmp_path):
    shape = SyntheticShape(5, 2)
    assert DatasetSpec.locate(tmp_path, "lists", shape, seed=7) == DatasetSpec("lists", None, shape, 7)
    put(tmp_path, Lists__Fold1__train_txt=LISTS, Lists__Fold1__test_txt=LISTS)
    spec = DatasetSpec.locate(tmp_path, "lists", shape)
    assert (spec.shape, str(spec), spec.read("train").n_lists) == (None, "lists", 2)
    with pytest.raises(DataError, match="All 2 folds"):
        DatasetSpec.locate(tmp_path, "lists", shape, all_folds=True)
    with pytest.raises(DataError, match="is missing now"):
        spec.read("train", fold=2)


def test_missing_data(small, tmp_path):
    assert find(None, "lists") is None and find(tmp_path, "lists") is None
    put(tmp_path, Lists__Fold1__train_txt=LISTS)
    with pytest.raises(DataError, match=r"incomplete; missing: .*Fold1/test\.txt.*a library"):
        find(tmp_path, "lists")
    with pytest.raises(DataError, match="no folder"):
        find(tmp_path / "nowhere", "lists")


def test_parts_of_small_real_sets(monkeypatch, tmp_path):
    monkeypatch.setitem(DATASETS, "mq2008", replace(DATASETS["mq2008"], sizes={"train": PartSize(4, 5)}))
    monkeypatch.setitem(DATASETS, "lightgbm-rank", replace(DATASETS["lightgbm-rank"], sizes={}))
    for part in range(1, 6):
        put(tmp_path, **{f"mq2008__S{part}_txt": f"{part} qid:1 1:1\n" + LISTS.replace("qid:1", "qid:3") * (part == 3)})
    assert real_data(None) == []
    (spec,) = real_data(tmp_path)
    assert (spec.name, str(spec)) == ("mq2008", "mq2008")
    fourth = [spec.read(part, fold=4).labels.tolist() for part in ("train", "validation", "test")]
    assert fourth == [[4, 5, 1], [2], [3, 2, 0, 1]]
    with pytest.raises(DataError, match=r"S1.txt, .*S2.txt, .*S3.txt is not the train part of mq2008.*5 lists, not 4"):
        spec.read("train")
    for part, lists in (("train", 5), ("test", 2)):
        put(tmp_path, **{f"lightgbm-rank/rank.{part}": "1 1:2\n0 1:1\n" * lists})
        put(tmp_path, **{f"lightgbm-rank/rank.{part}.query": "2\n" * lists})
    spec = real_data(tmp_path)[1]
    assert [spec.read(part).n_lists for part in ("train", "validation", "test")] == [4, 1, 2]
    assert [each.name for each in real_data(tmp_path)] == [name for name in REAL_DATA if name != "mslr-sample"]


@pytest.mark.parametrize("data", DATASETS.values(), ids=DATASETS)
def test_every_record_says_where_its_files_go(data):
    assert data.source and data.files() and data.features > 0
    for layout in data.layouts:
        assert {"train", "test"} <= set(layout.files)
        assert all(("{fold" in file) == (data.folds > 1) for file in layout.files.values())
        assert set(layout.splits) <= set(layout.files)
    assert all(size.lists <= size.rows for size in data.sizes.values())
