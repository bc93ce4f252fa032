"""The stored form: everything comes back, other tools open it, and no damage to it can crash a reader."""

import json
import pickle

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy import sparse

from luce.data import tensor_file
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
def test_safetensors_opens_it(path, name):
    write_mapped(DATASETS[name], path)
    arrays = load_file(path)
    np.testing.assert_array_equal(arrays["labels"], DATASETS[name].labels)
    np.testing.assert_array_equal(arrays["offsets"], DATASETS[name].offsets)


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

    class Stops(dict):
        def __getitem__(self, name):
            if name == "features":
                raise KeyboardInterrupt
            return super().__getitem__(name)

    arrays, metadata = tensor_file.map_tensors(path)
    with pytest.raises(KeyboardInterrupt):
        tensor_file.write_tensors(tensor_file.Tensors(Stops(arrays), metadata), path)
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
    with pytest.raises(DataError, match="its length is not what its header says"):
        read_mapped(path)


def change(path, name, at, value):
    """Write a number into a stored array."""
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    entry = json.loads(content[8:start])[name]
    kind = np.dtype(tensor_file.KINDS[entry["dtype"]])
    array = np.frombuffer(content, kind, entry["shape"][0], start + entry["data_offsets"][0])
    array[at] = value
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("array", "at", "value", "part"),
    [
        ("offsets", 1, 4, "offsets"),
        ("offsets", 0, -1, "offsets"),
        ("offsets", -1, 2, "offsets"),
        ("features.starts", 1, 9, "features"),
        ("features.starts", -1, 2**31 - 1, "features"),
        ("features.columns", 2, 3, "features"),
        ("features.columns", 0, -1, "features"),
        ("features.columns", 1, 0, "features"),
        ("query_ids.offsets", 1, -5, "query_ids"),
        ("query_ids.offsets", -1, 2**60, "query_ids"),
        ("query_ids.text", 1, 255, "query_ids"),
        ("document_ids.offsets", 1, 10**12, "document_ids"),
    ],
)
def test_what_is_inside_is_checked_on_first_use(path, array, at, value, part):
    write_mapped(DATASETS["sparse"], path)
    change(path, array, at, value)
    data = read_mapped(path)
    for name in {"offsets", "features", "query_ids", "document_ids"} - {part}:
        getattr(data, name)
    with pytest.raises(DataError, match=f"is damaged: its {part} are wrong"):
        getattr(data, part)


def rewrite(path, edit):
    """Change the header of a stored file."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = edit(json.loads(content[8:start]))
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 64 - 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[start:])


def entry(name, **changes):
    return lambda header: header | {name: header[name] | changes}


def metadata(**changes):
    return lambda header: header | {"__metadata__": header["__metadata__"] | changes}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (metadata(version="2"), "expected 'luce-data', version 1; it is 'luce-data', version 2"),
        (metadata(format="pt"), "it is 'pt'"),
        (metadata(n_features="4"), r"features must be float32 of shape \(3, 4\), and is float32 of shape \(3, 3\)"),
        (metadata(n_features="many"), "many"),
        (metadata(n_features=3), "its header has no metadata"),
        (metadata(feature_names='["a"]'), "feature_names must be 3 strings"),
        (metadata(feature_names="[1, 2, 3]"), "feature_names must be 3 strings"),
        (lambda header: {key: header[key] for key in header if key != "__metadata__"}, "its header has no metadata"),
        (lambda header: [header], "its header has no metadata"),
        (lambda header: b'{"a":' + b"[" * 100_000, "cannot be opened"),
        (lambda header: b"\xff\xff", "cannot be opened"),
        (lambda header: {key: header[key] for key in header if key != "offsets"}, "it has no 'offsets'"),
        (entry("labels", dtype="BF16"), "labels is of type 'BF16', and only F64, I64"),
        (entry("labels", dtype="I64"), "labels must be float64 of shape .*, and is int64"),
        (entry("labels", shape=[3.0]), "not made of whole numbers"),
        (entry("labels", shape=[-3]), "not made of whole numbers"),
        (entry("labels", shape=[True, 3]), "not made of whole numbers"),
        (entry("labels", shape=[4]), "labels is cut short"),
        (entry("labels", shape=[0, 2**80], data_offsets=[0, 0]), "cannot be opened"),
        (entry("labels", shape=[], data_offsets=[0, 8]), "cannot be opened"),
        (entry("labels", data_offsets=[10**9, 10**9 + 24]), "labels is cut short"),
        (entry("labels", data_offsets=[1, 25]), "labels is not aligned"),
        (entry("labels", data_offsets=[24]), "cannot be opened"),
        (entry("offsets", shape=[3], data_offsets=[24, 48]), "query_ids.offsets must be int64 of shape"),
        (entry("features", shape=[9]), "features must be float32 of shape"),
    ],
)
def test_headers_that_lie(path, edit, expected):
    write_mapped(DATASETS["dense"], path)
    rewrite(path, edit)
    with pytest.raises(DataError, match=expected):
        read_mapped(path)


def test_a_header_longer_than_the_limit(path):
    path.write_bytes((10**9).to_bytes(8, "little") + b"{}" * 100)
    with pytest.raises(DataError, match="cut short or not of this format"):
        read_mapped(path)


def test_no_file_and_a_directory(path):
    with pytest.raises(DataError, match="There is no file"):
        read_mapped(path)
    with pytest.raises(DataError, match="is a directory"):
        read_mapped(path.parent)
