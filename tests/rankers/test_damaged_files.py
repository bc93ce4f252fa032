"""Model files and checkpoints, damaged or forged: refused in words or harmless; and a full disk costs nothing."""

import errno
import json
import os
import resource
import subprocess
import sys
import zipfile
from collections import Counter

import numpy as np
import pytest
import safetensors.numpy
import torch

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, LuceError, OptionError
from luce.rankers import Checkpoint, LinearRanker, NeuralRanker, TreeRanker
from luce.rankers.storage import FORMAT

from . import damage, loading

small = {"epochs": 1, "device": "cpu", "n_jobs": 1}


class Cut(Exception):
    """The power fails."""


@pytest.fixture(scope="module")
def data():
    return web_search(6, n_features=4, mean_length=5, seed=1).dataset


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The bytes of model files and of checkpoints from the middle of a training, by kind."""
    path = tmp_path_factory.mktemp("whole") / "file"
    chain = ["fill", "standardise", luce.data.features.make_transform("second-order", threshold=0.01)]
    rankers = {
        "linear": LinearRanker(luce.objective("listmle", depth=5), transforms=chain, max_iterations=3, n_jobs=1),
        "network": NeuralRanker("mcrank", hidden=(3,), normalisation="batch", **small),
        "trees": TreeRanker(trees=3, leaves=4, min_rows_in_leaf=2, categorical=[0], n_jobs=1),
        "attention": NeuralRanker(hidden=(4,), context="attention", attention_blocks=1, **small),
    }
    files = {}
    for kind, ranker in rankers.items():
        ranker.fit(data, validation=data).save(path)
        files[kind] = path.read_bytes()

    def cut(record):
        if record["iteration"] == 1:
            raise Cut

    for kind, ranker in loading.TRAININGS.items():
        path.unlink()
        with pytest.raises(Cut):
            ranker.fit(data, validation=data, checkpoint=Checkpoint(path, steps=1), callback=cut)
        files[kind] = path.read_bytes()
    return files


def forged(file, change):
    """A file with other values at places of its manifest."""
    manifest, tensors = damage.unpacked(file)
    for place, value in change.items():
        manifest = damage.changed(manifest, [int(key) if key.isdigit() else key for key in place.split(".")], value)
    return damage.model(manifest, tensors)


def damaged_files(whole):
    """(kind, what was done, bytes) of everything that damage.py does to every file."""
    rng = np.random.default_rng(0)
    for kind, file in whole.items():
        ways = {"manifest": damage.manifests(file, rng), "tensors": damage.tensors(file, rng)}
        if kind not in loading.TRAININGS:  # the same door leads to both
            ways["accident"] = damage.accidents(file, rng)
            ways["claims"] = damage.claims(file)
            ways["entries"] = damage.rearranged(file, whole["network" if kind == "linear" else "linear"])
            ways["text"] = damage.texts(file)
        for way, files in ways.items():
            yield from ((kind, way, content) for content in files)
    yield from ((kind, "manifest", forged(whole[kind], change)) for kind, change, _ in CHANGES)
    yield from (("linear", "bomb", content) for content in damage.bombs(whole["linear"]))


@pytest.fixture(scope="module")
def report(data, whole, tmp_path_factory):
    """What became of all of them in a process of their own, and how many of each kind and way there were."""
    folder = tmp_path_factory.mktemp("damaged")
    luce.write(data, folder / "data.luce-data")
    for kind, file in whole.items():
        (folder / kind / "damaged").mkdir(parents=True)
        (folder / kind / "whole").write_bytes(file)
    made = {}
    for number, (kind, way, content) in enumerate(damaged_files(whole)):
        path = folder / kind / "damaged" / f"{way}-{number}"
        path.write_bytes(content)
        made[f"{kind}/{path.name}"] = way
    run = subprocess.run(
        [sys.executable, loading.__file__, folder], capture_output=True, text=True, cwd=folder, timeout=600
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout) | {"made": made}


def test_damage_is_refused_or_harmless(report):
    assert len(report["damaged"]) == len(report["made"]) >= 2_000
    wrong, refused = {}, Counter()
    for name, outcome in report["damaged"].items():
        way = report["made"][name]
        if outcome == "refused":
            refused[way] += 1
        elif way in ("manifest", "tensors"):  # which may rightly say something else
            if not outcome.startswith("scores "):
                wrong[name] = outcome
        elif outcome != report["whole"][name.partition("/")[0]]:
            wrong[name] = outcome
    assert wrong == {}
    made = Counter(report["made"].values())
    assert refused["bomb"] == made["bomb"]
    assert refused.keys() == made.keys()
    assert "refused" not in report["whole"].values()


def test_damage_runs_nothing_writes_nothing_and_takes_no_memory(report):
    assert report["events"] == []
    assert report["megabytes"] < 40


CHANGES = [
    ("linear", {"format": FORMAT + 1}, f"has model format {FORMAT + 1}; this Luce reads up to {FORMAT}: update it"),
    ("linear", {"kind": "forest"}, "unknown kind 'forest'"),
    ("linear", {"parameters.l2": "x"}, "l2 must be a number ≥ 0. Got 'x'"),
    ("linear", {"parameters.l2": float("nan")}, "l2 must be a number ≥ 0. Got nan"),
    ("linear", {"parameters.colour": 1}, "colour"),
    ("linear", {"parameters.optimiser": "newton"}, "no optimiser 'newton'"),
    ("linear", {"parameters.n_jobs": 10**9}, "n_jobs must be from 1 to 1,024"),
    ("linear", {"objective.options.depth": "x"}, "'depth' option of listmle must be an integer ≥ 1 or None. Got 'x'"),
    ("linear", {"objective.name": "listmel"}, "Did you mean 'listmle'"),
    ("linear", {"features.count": 5}, "transform fill was fitted on 4 features. Got 5"),
    ("linear", {"features.count": 10**18}, "transform fill was fitted on 4 features"),
    ("linear", {"features.names": ["a", "b", "c", "c"]}, "4 different strings"),
    ("linear", {"max_grade": float("inf")}, "max_grade must be a number"),
    ("linear", {"history": [{"loss": 1}]}, "history must be records"),
    ("linear", {"transforms": []}, "finite numbers of its shape"),
    ("linear", {"transforms.2.n_features": 9}, "second-order was fitted on 9 features. Got 4"),
    ("linear", {"transforms.0.values": [1, 2, 3, 4]}, "stored fill transform is not whole"),
    ("network", {"parameters.epochs": "x"}, "epochs must be an integer ≥ 1. Got 'x'"),
    ("network", {"parameters.hidden": [10**9]}, "more layers, or wider ones, than it holds numbers for"),
    ("network", {"parameters.hidden": [1] * 10**5}, "more layers, or wider ones, than it holds numbers for"),
    ("network", {"max_grade": 1e9}, "more layers, or wider ones, than it holds numbers for"),
    ("attention", {"parameters.attention_blocks": 10**9}, "more layers, or wider ones, than it holds numbers for"),
    ("attention", {"parameters.hidden": [8]}, r"rows.0.weight must be \(\(8, 4\)"),
    ("attention", {"module": "Net"}, "weights of a module 'Net' of your own"),
]


@pytest.mark.parametrize(
    ("kind", "change", "words"), CHANGES, ids=lambda value: None if isinstance(value, str) else str(value)[:40]
)
def test_what_is_wrong_is_named(whole, tmp_path, kind, change, words):
    (tmp_path / "a.luce").write_bytes(forged(whole[kind], change))
    with pytest.raises(DataError, match=words):
        luce.load(tmp_path / "a.luce")


@pytest.mark.parametrize("kind", ["linear", "network", "attention"])
def test_numbers_and_entries_that_cannot_be(whole, tmp_path, kind):
    manifest, tensors = damage.unpacked(whole[kind])
    arrays = safetensors.numpy.load(tensors)
    arrays["weights" if kind == "linear" else "network.out.weight"].fill(np.nan)
    text = json.dumps(manifest)
    entries = [(damage.MANIFEST, text), (damage.TENSORS, tensors)]
    file = damage.packed(*entries)
    at = file.index(damage.CENTRAL) + 20
    huge = (3_000_000_000).to_bytes(4, "little")
    for content, words in (
        (damage.model(manifest, safetensors.numpy.save(arrays)), "finite numbers of its shape"),
        (damage.packed((damage.MANIFEST, "{}"), *entries), "manifest.json is in it 2 times"),
        (damage.packed(entries[0]), "tensors.safetensors is in it 0 times"),
        (file[:at] + 2 * huge + file[at + 8 :], "manifest.json claims 3000000000 bytes"),
        (damage.packed(*entries, method=zipfile.ZIP_DEFLATED), "manifest.json is compressed"),
    ):
        (tmp_path / "a.luce").write_bytes(content)
        with pytest.raises(DataError, match=words):
            luce.load(tmp_path / "a.luce")


def test_a_module_of_ones_own_must_be_brought(data, whole, tmp_path):
    path = tmp_path / "own.luce"
    module = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Flatten(0))
    ranker = NeuralRanker(module=module, **small).fit(data)
    ranker.save(path)
    with pytest.raises(DataError, match=r"a module 'Sequential' of your own: load\(path, module=…\)"):
        luce.load(path)
    for other in (torch.nn.Linear(3, 1), torch.nn.Linear, "Sequential"):
        with pytest.raises(DataError, match="does not hold a whole NeuralRanker"):
            luce.load(path, module=other)
    np.testing.assert_array_equal(luce.load(path, module=module).predict(data), ranker.predict(data))
    path.write_bytes(whole["linear"])
    with pytest.raises(OptionError, match="it takes no module"):
        luce.load(path, module=module)


def test_the_device_of_another_machine_is_not_asked_for(data, whole, tmp_path):
    manifest, tensors = damage.unpacked(whole["network"])
    assert "device" not in manifest["parameters"]
    manifest["parameters"]["device"] = "meta"  # which would hold no numbers
    (tmp_path / "a.luce").write_bytes(damage.model(manifest, tensors))
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
def test_a_full_disk_leaves_the_old_file_whole(data, whole, tmp_path, full_disk, kind, moment):
    path = tmp_path / "file"
    path.write_bytes(whole[kind])
    if kind in loading.TRAININGS:
        again = Checkpoint(path, steps=1, resume=True)

        def save():
            loading.TRAININGS[kind].fit(data, validation=data, checkpoint=again)

    else:
        loaded = luce.load(path).set_params(l2=2.0)

        def save():
            loaded.save(path)

    undo = full_disk[moment](len(whole[kind]))
    try:
        with pytest.raises(LuceError, match="was not written, what was there before is untouched"):
            save()
    finally:
        undo()
    assert path.read_bytes() == whole[kind]
    assert list(tmp_path.iterdir()) == [path]
    save()
    assert path.read_bytes() != whole[kind]
