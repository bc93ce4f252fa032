"""Model files and checkpoints, damaged or forged: refused in words or harmless; and a full disk costs nothing."""

import errno
import os
import random
import resource
from pathlib import Path

import numpy as np
import pytest
import torch

import luce
from fuzzing import archives, trained
from fuzzing.mutations import BYTES, mutated
from luce.errors import DataError, LuceError, OptionError
from luce.rankers import Checkpoint, NeuralRanker
from luce.storage import FORMAT

data = trained.LISTS


@pytest.fixture(scope="module")
def whole():
    """The bytes of model files and of checkpoints from the middle of a training, by kind."""
    files = trained.model_files() | trained.checkpoint_files()
    return {Path(name).stem: content for name, content in files.items()}


def forged(file, change):
    """A file with other values at places of its manifest."""
    manifest, arrays = archives.unpacked(file)
    for place, value in change.items():
        manifest = archives.changed(manifest, [int(key) if key.isdigit() else key for key in place.split(".")], value)
    return archives.model(manifest, arrays)


def test_damaged_bytes_are_refused_or_harmless(whole, tmp_path):
    path = tmp_path / "a.luce"
    path.write_bytes(whole["linear"])
    scores = luce.load(path).predict(data)
    refused = 0
    for seed in range(200):
        _, content = mutated(random.Random(seed), {"a.luce": whole["linear"]}, BYTES, ())
        path.write_bytes(content)
        try:
            np.testing.assert_array_equal(luce.load(path).predict(data), scores)
        except LuceError:
            refused += 1
    assert refused > 100


CHANGES = [
    (
        "linear",
        {"format": FORMAT + 1},
        f"has model format {FORMAT + 1}; this version of Luce supports formats up to {FORMAT}: update Luce",
    ),
    ("linear", {"kind": "forest"}, "unknown kind 'forest'"),
    ("linear", {"parameters.reg_lambda": "x"}, "reg_lambda must be a number ≥ 0. Got 'x'"),
    ("linear", {"parameters.reg_lambda": float("nan")}, "reg_lambda must be a number ≥ 0. Got nan"),
    ("linear", {"parameters.colour": 1}, "colour"),
    ("linear", {"parameters.optimizer": "newton"}, "no optimizer 'newton'"),
    ("linear", {"parameters.n_jobs": 10**9}, "n_jobs must be from 1 to 1,024"),
    ("linear", {"objective.options.depth": "x"}, "'depth' option of listmle must be an integer ≥ 1, or None. Got 'x'"),
    ("linear", {"objective.name": "listmel"}, "Did you mean 'listmle'"),
    ("linear", {"features.count": 5}, "transform fill was fitted on 4 features. Got 5"),
    ("linear", {"features.count": 10**18}, "transform fill was fitted on 4 features"),
    ("linear", {"features.names": ["a", "b", "c", "c"]}, "4 different strings"),
    ("linear", {"max_grade": float("inf")}, "max_grade must be a number"),
    ("linear", {"history": [{"loss": 1}]}, "history must be records"),
    ("linear", {"transforms": []}, "finite numbers of the right shape"),
    ("linear", {"transforms.2.n_features": 9}, "second-order was fitted on 9 features. Got 4"),
    ("linear", {"transforms.0.values": [1, 2, 3, 4]}, "stored fill transform is incomplete"),
    ("network", {"parameters.epochs": "x"}, "epochs must be an integer ≥ 1. Got 'x'"),
    ("network", {"parameters.hidden_layer_sizes": [10**9]}, "fewer weights than its layers need"),
    (
        "network",
        {"parameters.hidden_layer_sizes": [1] * 10**5},
        "fewer weights than its layers need",
    ),
    ("network", {"max_grade": 1e9}, "fewer weights than its layers need"),
    ("attention", {"parameters.attention_blocks": 10**9}, "fewer weights than its layers need"),
    ("attention", {"parameters.hidden_layer_sizes": [8]}, r"rows.0.weight must be \(\(8, 4\)"),
    ("ensemble", {"members": []}, "estimators must be \\(name, ranker\\) pairs"),
    ("ensemble", {"members": None}, "does not contain all members"),
    ("ensemble", {"members.0.kind": "ensemble"}, "member of unknown kind 'ensemble'"),
    ("ensemble", {"members.0.kind": ["linear"]}, "member of unknown kind"),
    ("ensemble", {"members.0.kind": "trees"}, "not contain a complete TreeRanker"),
    ("ensemble", {"members.0.name": "trees"}, "different names"),
    ("ensemble", {"members.0.name": 3}, "estimators must be \\(name, ranker\\) pairs"),
    ("ensemble", {"members.1.features.names": ["a", "b", "c", "d"]}, "finite numbers of the right shape"),
    ("ensemble", {"members.1.parameters.num_leaves": 1}, "num_leaves must be"),
    ("ensemble", {"objective": {"name": "mcrank", "options": {}}}, "mcrank has several scores per row"),
    ("ensemble", {"parameters.transforms": []}, "transforms"),
    ("bags", {"parameters.n_bags": 1}, "rows.0.weight must be"),
    ("attention", {"module": "Net"}, "weights of a custom module 'Net'"),
]


@pytest.mark.parametrize(
    ("kind", "change", "words"), CHANGES, ids=lambda value: None if isinstance(value, str) else str(value)[:40]
)
def test_what_is_wrong_is_named(whole, tmp_path, kind, change, words):
    (tmp_path / "a.luce").write_bytes(forged(whole[kind], change))
    with pytest.raises(DataError, match=words):
        luce.load(tmp_path / "a.luce")


@pytest.mark.parametrize("kind", ["linear", "network", "attention"])
def test_numbers_and_headers_that_cannot_be(whole, tmp_path, kind):
    manifest, arrays = archives.unpacked(whole[kind])
    header, numbers = archives.taken_apart(whole[kind])
    name = "weights" if kind == "linear" else "network.out.weight"
    huge = archives.changed(header, (name, "shape"), [10**9, 10**9])
    flipped = bytes([numbers[0] ^ 1]) + numbers[1:]
    wrong = ({name: np.full_like(arrays[name], np.nan)},)
    if kind != "linear":
        wrong += {"learning_rate": np.ones(2)}, {"learning_rate": np.zeros(1)}, {"learning_rate": np.full(1, np.nan)}
    for content, words in (
        *((archives.model(manifest, arrays | one), "finite numbers of the right shape") for one in wrong),
        (archives.model(manifest, arrays | {"more": np.ones(3, np.complex64)}), "values that are not real numbers"),
        (archives.put_together(header, flipped), "its checksum does not match"),
        (archives.put_together(header | {"__metadata__": {"format": "pt"}}, numbers), "its metadata have no format"),
        (archives.put_together(huge, numbers), "damaged or not a Luce model file"),
        (archives.put_together(header, numbers[:-1]), "damaged or not a Luce model file"),
        ((2**40).to_bytes(8, "little") + whole[kind][8:], "damaged or not a Luce model file"),
    ):
        (tmp_path / "a.luce").write_bytes(content)
        with pytest.raises(DataError, match=words):
            luce.load(tmp_path / "a.luce")


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.ones(3)},
        {"weights": np.array([1.0, -1.0])},
        {"weights": np.array([1.0, np.nan])},
        {"nuisance": np.ones(1)},
        {"member.0.weights": np.ones(1)},
    ],
    ids=str,
)
def test_arrays_of_an_ensemble_that_cannot_be(whole, tmp_path, change):
    manifest, arrays = archives.unpacked(whole["ensemble"])
    (tmp_path / "a.luce").write_bytes(archives.model(manifest, arrays | change))
    with pytest.raises(DataError, match="finite numbers of the right shape"):
        luce.load(tmp_path / "a.luce")


def test_bags_whose_masks_or_weights_cannot_be(whole, tmp_path):
    manifest, arrays = archives.unpacked(whole["bags"])
    masks, weights = arrays["network.masks"], arrays["network.weights"]
    assert masks.shape == (2, 4) and weights.shape == (2,)
    for wrong in (
        {"network.masks": masks[:1]},
        {"network.masks": masks[:, :3].copy()},
        {"network.masks": masks.ravel()},
        {"network.masks": masks.astype(np.float32)},
        {"network.weights": weights[:1]},
        {"network.weights": weights[:0]},
        {"network.weights": np.array(0.5, np.float32)},
        {"network.weights": np.array([np.nan, 1], np.float32)},
    ):
        claimed = archives.changed(manifest, ["parameters", "n_bags"], 10**6)
        (tmp_path / "a.luce").write_bytes(archives.model(claimed, arrays | wrong))
        with pytest.raises(DataError, match="does not contain a complete NeuralRanker"):
            luce.load(tmp_path / "a.luce")


def test_no_more_networks_are_built_than_a_file_has_arrays_for(whole, tmp_path, monkeypatch):
    manifest, arrays = archives.unpacked(whole["bags"])
    arrays |= {"network.weights": np.ones(10**4, np.float32), "network.masks": np.ones((10**4, 4), bool)}
    claimed = archives.changed(manifest, ["parameters", "n_bags"], 10**6)
    (tmp_path / "a.luce").write_bytes(archives.model(claimed, arrays))
    monkeypatch.setattr(NeuralRanker, "build_network", lambda _: pytest.fail("a network is built"))
    with pytest.raises(DataError, match="finite numbers of the right shape"):
        luce.load(tmp_path / "a.luce")


def test_a_module_of_ones_own_must_be_brought(whole, tmp_path):
    path = tmp_path / "own.luce"
    module = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Flatten(0))
    ranker = NeuralRanker(module=module, epochs=1, **trained.SMALL).fit(data)
    ranker.save(path)
    with pytest.raises(DataError, match=r"a custom module 'Sequential': pass it as load\(path, module=…\)"):
        luce.load(path)
    for other in (torch.nn.Linear(3, 1), torch.nn.Linear, "Sequential"):
        with pytest.raises(DataError, match="does not contain a complete NeuralRanker"):
            luce.load(path, module=other)
    np.testing.assert_allclose(luce.load(path, module=module).predict(data), ranker.predict(data), rtol=1e-4, atol=1e-5)
    path.write_bytes(whole["linear"])
    with pytest.raises(OptionError, match="leave out module="):
        luce.load(path, module=module)


def test_the_device_of_another_machine_is_not_asked_for(whole, tmp_path):
    manifest, arrays = archives.unpacked(whole["network"])
    assert "device" not in manifest["parameters"]
    manifest["parameters"]["device"] = "meta"  # which would hold no numbers
    (tmp_path / "a.luce").write_bytes(archives.model(manifest, arrays))
    assert np.isfinite(luce.load(tmp_path / "a.luce").predict(data)).all()


@pytest.fixture
def full_disk(monkeypatch):
    """Three ways to run out of room, each called with the size of a file that would fit."""

    def while_writing(size):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, before[1]))
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def no_room(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def at(name):
        def patched(_):
            monkeypatch.setattr(os, name, no_room)
            return monkeypatch.undo

        return patched

    return {"while writing": while_writing, "at the end": at("fsync"), "at the last move": at("replace")}


@pytest.mark.parametrize("moment", ["while writing", "at the end", "at the last move"])
@pytest.mark.parametrize("kind", ["linear", "adam"])
def test_a_full_disk_leaves_the_old_file_whole(whole, tmp_path, full_disk, kind, moment):
    path = tmp_path / "file"
    path.write_bytes(whole[kind])
    if kind in trained.TRAININGS:
        again = Checkpoint(path, steps=1, resume=True)

        def save():
            trained.TRAININGS[kind].fit(data, validation=data, checkpoint=again)

    else:
        loaded = luce.load(path).set_params(reg_lambda=2.0)

        def save():
            loaded.save(path)

    undo = full_disk[moment](len(whole[kind]))
    try:
        with pytest.raises(LuceError, match="was not written; the previous file, if any, is unchanged"):
            save()
    finally:
        undo()
    assert path.read_bytes() == whole[kind]
    assert list(tmp_path.iterdir()) == [path]
    save()
    assert path.read_bytes() != whole[kind]
