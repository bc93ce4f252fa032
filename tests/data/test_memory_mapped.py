"""The stored form: everything comes back, other tools open it, and no damage to it can crash a reader."""

import json
import pickle
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from luce.data.memory_mapped import read_mapped, write_mapped
from luce.data.ragged import Dataset
from luce.errors import DataError

FEATURES = np.array([[0.5, 0, np.nan], [0, 2, 0], [-0.0, 3, 1e-45]], np.float32)
SPARSE = sparse.csr_array(np.array([[0.5, 0, 7], [0, 0, 0], [0, 3, 0]], np.float32))
FULL = {
    "labels": [2, np.nan, 1],
    "offsets": [0, 2, 2, 3],
    "query_ids": ["a", "", "é b"],
    "document_ids": ["x", "", "漢字"],
    "item_weights": [1, 0.5, 2],
    "list_weights": [1, 2, 3],
    "feature_names": ["bm25", "naïve", "length"],
}
DATASETS = {
    "dense": Dataset(FEATURES, **FULL),
    "sparse": Dataset(SPARSE, **FULL),
    "plain": Dataset(FEATURES, [1, 0, 2], [0, 1, 3]),
    "no rows": Dataset(np.empty((0, 3)), [], [0, 0], ["a"]),
    "no lists": Dataset(np.empty((0, 0)), [], [0], [], []),
    "a part": Dataset(SPARSE, **FULL).take([2, 0]),
}


def everything(dataset):
    """All that is in a dataset, so that == means the same to the last bit; uses every part of it."""
    kept = [dataset.labels, dataset.offsets]
    features = dataset.features
    kept += [features.data, features.indices, features.indptr] if dataset.is_sparse else [features]
    kept += [each for each in (dataset.item_weights, dataset.list_weights) if each is not None]
    documents = None if dataset.document_ids is None else dataset.document_ids.to_pylist()
    arrays = [(array.dtype, array.shape, array.tobytes()) for array in kept]
    return arrays, dataset.query_ids.to_pylist(), documents, dataset.feature_names, features.shape


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.luce-data"


@pytest.mark.parametrize("name", DATASETS)
def test_everything_comes_back(path, name):
    write_mapped(DATASETS[name], path)
    back = read_mapped(path)
    assert everything(back) == everything(DATASETS[name])
    assert everything(pickle.loads(pickle.dumps(read_mapped(path)))) == everything(back)


@pytest.mark.parametrize("name", DATASETS)
def test_arrow_opens_it(path, name):
    write_mapped(DATASETS[name], path)
    table, data = pa.ipc.open_file(path).read_all(), DATASETS[name]
    items = table["items"].combine_chunks()
    np.testing.assert_array_equal(items.values.field("label").to_numpy(), data.labels)
    np.testing.assert_array_equal(items.offsets, data.offsets)
    assert table["query_id"].to_pylist() == data.query_ids.to_pylist()
    if name == "dense":
        assert table["items"][0][1]["features"].as_py() == [0, 2, 0]
    if name == "sparse":
        assert table["items"][0][0]["features"].as_py() == [{"column": 0, "value": 0.5}, {"column": 2, "value": 7}]


def test_ids_that_are_a_slice_of_others(path):
    whole = Dataset(np.zeros((4, 1)), [1, 2, 0, 0], [0, 1, 2, 3, 4], ["a", "bb", "ccc", "d"])
    part = Dataset(np.zeros((2, 1)), [1, 2], [0, 1, 2], whole.query_ids[1:3])
    write_mapped(part, path)
    assert read_mapped(path).query_ids.to_pylist() == ["bb", "ccc"]


def test_nothing_can_be_changed_or_is_a_copy(path):
    write_mapped(DATASETS["dense"], path)
    data = read_mapped(path)
    for array in (data.features, data.labels, data.offsets, data.item_weights):
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert array.flags.aligned


def test_works_as_a_dataset(path):
    write_mapped(DATASETS["sparse"], path)
    data = read_mapped(path)
    assert repr(data) == repr(DATASETS["sparse"])
    assert everything(data.take([2, 0])) == everything(DATASETS["a part"])
    assert data.with_features(np.ones((3, 1))).features.tolist() == [[1], [1], [1]]


def test_missing_ids_are_refused(path):
    with pytest.raises(DataError, match="query_ids must not be missing"):
        write_mapped(Dataset([[1.0]], [1], [0, 1], [None]), path)
    assert not path.exists()


def test_a_crash_leaves_the_old_file(path, monkeypatch):
    write_mapped(DATASETS["plain"], path)
    old = path.read_bytes()

    @contextmanager
    def stops(file, schema, options):
        file.write(b"ARROW1")
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(pa.ipc, "new_file", stops)
    with pytest.raises(KeyboardInterrupt):
        write_mapped(DATASETS["dense"], path)
    assert path.read_bytes() == old
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_cut_short_at_every_byte(path, name):
    write_mapped(DATASETS[name], path)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"cannot be opened as .luce-data"):
            read_mapped(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(DataError, match=r"cannot be opened as .luce-data"):
        read_mapped(path)


def column(path, name):
    """A column of a stored file: of the lists, of their items, or of the entries of sparse features."""
    batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    if name in batch.schema.names:
        return batch.column(name)
    items = batch.column("items").values
    return items.field(name) if items.type.get_field_index(name) >= 0 else items.field("features").values.field(name)


def change(path, name, buffer, kind, at, value):
    """Write a number into a buffer of a column: 1 has the offsets, the last one the values."""
    content = bytearray(path.read_bytes())
    stored = column(path, name).buffers()[buffer].to_pybytes()
    assert content.count(stored) >= 1
    values = np.frombuffer(bytearray(stored), kind)
    values[at] = value
    path.write_bytes(content.replace(stored, values.tobytes(), 1))


@pytest.mark.parametrize(
    ("name", "buffer", "kind", "at", "value", "part"),
    [
        ("items", 1, np.int64, 1, 4, "offsets"),
        ("items", 1, np.int64, 1, -1, "offsets"),
        ("items", 1, np.int64, 0, -1, None),
        ("items", 1, np.int64, 3, 2, "offsets"),
        ("items", 1, np.int64, 3, 2**60, None),
        ("features", 1, np.int32, 1, 9, "features"),
        ("features", 1, np.int32, 3, 2**31 - 1, None),
        ("column", 1, np.int32, 2, 3, "features"),
        ("column", 1, np.int32, 0, -1, "features"),
        ("column", 1, np.int32, 1, 0, "features"),
        ("query_id", 1, np.int64, 1, -5, "query_ids"),
        ("query_id", 1, np.int64, 3, 2**60, None),
        ("query_id", 2, np.uint8, 1, 255, "query_ids"),
        ("document_id", 1, np.int64, 1, 10**12, "document_ids"),
    ],
)
def test_what_is_inside_is_checked(path, name, buffer, kind, at, value, part):
    write_mapped(DATASETS["sparse"], path)
    change(path, name, buffer, kind, at, value)
    if part is None:
        with pytest.raises(DataError, match=r"cannot be opened as .luce-data"):
            read_mapped(path)
        return
    data = read_mapped(path)
    for other in {"offsets", "features", "query_ids", "document_ids"} - {part}:
        getattr(data, other)
    with pytest.raises(DataError, match=f"is damaged: its {part} are wrong"):
        getattr(data, part)


def rewrite(path, edit):
    """Write a stored file again, its record batch changed."""
    batch = pa.ipc.open_file(path).get_batch(0)
    changed = edit(batch)
    with pa.ipc.new_file(path, changed.schema) as writer:
        writer.write_batch(changed)


def metadata(**changes):
    def edit(batch):
        about = json.loads(batch.schema.metadata[b"luce-data"]) | changes
        return batch.replace_schema_metadata({"luce-data": json.dumps(about)})

    return edit


def said(text):
    return lambda batch: batch.replace_schema_metadata({"luce-data": text})


def items(**changes):
    """Other columns of items; None leaves one out."""

    def edit(batch):
        lists = batch.column("items")
        columns = {each.name: lists.values.field(each.name) for each in lists.values.type.fields} | changes
        columns = {name: values for name, values in columns.items() if values is not None}
        structs = pa.StructArray.from_arrays(list(columns.values()), list(columns))
        return with_column("items", pa.LargeListArray.from_arrays(lists.offsets, structs))(batch)

    return edit


def with_column(name, values):
    def edit(batch):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True)) | {name: values}
        columns = {name: values for name, values in columns.items() if values is not None}
        return pa.record_batch(columns).replace_schema_metadata(batch.schema.metadata)

    return edit


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (metadata(version=2), "expected version 1 of the format; it is 2"),
        (
            metadata(n_features=4, feature_names=None),
            r"features must be fixed_size_list<.*\[4\].*, and is fixed_size_list<.*\[3\]",
        ),
        (metadata(n_features="3"), "it cannot have '3' features"),
        (metadata(n_features=-1), "it cannot have -1 features"),
        (metadata(n_features=True), "it cannot have True features"),
        (metadata(feature_names=["a"]), "feature_names must be 3 strings"),
        (metadata(feature_names=[1, 2, 3]), "feature_names must be 3 strings"),
        (metadata(feature_names=3), "cannot be opened"),
        (said("[]"), "cannot be opened"),
        (said("{}"), "it has no 'version'"),
        (said("[" * 100_000), "cannot be opened"),
        (said(b"\xff\xff"), "cannot be opened"),
        (lambda batch: batch.replace_schema_metadata(None), "it has no b'luce-data'"),
        (with_column("items", None), "it has no .*items"),
        (with_column("query_id", None), "it has no 'query_id'"),
        (with_column("items", pa.array([1, 2, 3])), "items must be lists of structs, and are int64"),
        (with_column("query_id", pa.array([0.5, 1, 2])), "query_id must be int64 or large_string, and is double"),
        (with_column("query_id", pa.array(["a", None, "c"], pa.large_string())), "query_id must not be null"),
        (with_column("list_weight", pa.array([1.0, None, 2.0])), "list_weight must not be null"),
        (items(label=None), "it has no 'label'"),
        (items(features=None), "it has no 'features'"),
        (items(label=pa.array([1, 2, 3])), "label must be double, and is int64"),
        (items(label=pa.array([1.0, None, 2.0])), "label must not be null"),
        (items(item_weight=pa.array([1, 2, 3])), "item_weight must be double"),
        (items(document_id=pa.array(["a", "b", "c"]).dictionary_encode()), "document_id must be large_string"),
        (items(features=pa.array([[1.0], [2.0], [3.0]])), "features must be"),
    ],
)
def test_columns_and_metadata_that_are_wrong(path, edit, expected):
    write_mapped(DATASETS["dense"], path)
    rewrite(path, edit)
    with pytest.raises(DataError, match=expected):
        read_mapped(path)


def test_more_than_one_record_batch(path):
    write_mapped(DATASETS["dense"], path)
    batch = pa.ipc.open_file(path).get_batch(0)
    with pa.ipc.new_file(path, batch.schema) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch)
    with pytest.raises(DataError, match="expected one record batch; it has 2"):
        read_mapped(path)


def test_no_file_and_a_directory(path):
    with pytest.raises(DataError, match="There is no file"):
        read_mapped(path)
    with pytest.raises(DataError, match="is a directory"):
        read_mapped(path.parent)
