"""Files of the label ranker: checkpoints that go on in the same bits, damage that is refused, the command line."""

import json

import pytest
from typer.testing import CliRunner

import luce
from fuzzing import archives
from luce.cli import app
from luce.data.extreme import write_tagged
from luce.errors import DataError, LuceError
from luce.rankers import Checkpoint, LabelRanker

from .tagged import parts, tagged

small = {
    "hidden_layer_sizes": (8,),
    "batch_size": 16,
    "steps_per_epoch": 7,
    "epochs": 4,
    "learning_rate": 0.01,
    "device": "cpu",
    "n_jobs": 1,
}


class Cut(Exception):
    """The power fails."""


@pytest.fixture(scope="module")
def data():
    return parts()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"dropout": 0.3, "negatives": 6},
        {"optimizer": "adagrad", "weight_decay": 0.01, "negatives": 2, "negative_sampling": "hard"},
        {"objective": "listmle", "optimizer": "adagrad"},
        {"learning_rate": [1e-3, 0.01]},
    ],
    ids=["adam", "dropout and negatives", "hard negatives", "random objective", "two rates"],
)
def test_going_on_ends_in_the_same_bits(data, settings, tmp_path, monkeypatch):
    given = {"validation": data["validation"]}
    whole = LabelRanker(**small | settings).fit(data["train"], **given)
    path, saved = tmp_path / "cut.checkpoint", Checkpoint.save
    for after in (1, 3):
        count = 0

        def save_and_fail(self, *arguments, after=after):
            nonlocal count
            saved(self, *arguments)
            count += 1
            if count == after:
                raise Cut

        monkeypatch.setattr(Checkpoint, "save", save_and_fail)
        with pytest.raises(Cut):
            keep = Checkpoint(path, steps=3, resume=path.exists())
            LabelRanker(**small | settings).fit(data["train"], **given, checkpoint=keep)
    monkeypatch.setattr(Checkpoint, "save", saved)
    again = LabelRanker(**small | settings).fit(data["train"], **given, checkpoint=Checkpoint(path, resume=True))
    assert again.history_ == whole.history_
    whole.save(tmp_path / "whole.luce")
    again.save(tmp_path / "again.luce")
    assert (tmp_path / "whole.luce").read_bytes() == (tmp_path / "again.luce").read_bytes()


def test_a_checkpoint_of_other_labels_is_refused(data, tmp_path):
    LabelRanker(**small).fit(data["train"], checkpoint=Checkpoint(tmp_path / "a"))
    labels = data["train"].labels.toarray()
    labels[7] = labels[7][::-1]
    other = luce.TaggedData(data["train"].features, labels)
    with pytest.raises(DataError, match="another training: its data"):
        LabelRanker(**small).fit(other, checkpoint=Checkpoint(tmp_path / "a", resume=True))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parameters": {"hidden_layer_sizes": [10**9]}}, "fewer weights than its layers need"),
        ({"parameters": {"hidden_layer_sizes": []}}, "must be"),
        ({"features": {"count": 10**12, "names": None}}, "fewer weights than its layers need"),
        ({"objective": {"name": "mcrank", "options": {}}}, "one output per grade"),
    ],
)
def test_what_is_wrong_is_named(data, change, words, tmp_path):
    LabelRanker(**small | {"epochs": 1}).fit(data["train"]).save(tmp_path / "a.luce")
    manifest, arrays = archives.unpacked((tmp_path / "a.luce").read_bytes())
    for key, value in change.items():
        manifest[key] = manifest[key] | value
    (tmp_path / "a.luce").write_bytes(archives.model(manifest, arrays))
    with pytest.raises(DataError, match=words):
        luce.load(tmp_path / "a.luce")


def test_label_counts_that_cannot_be_are_refused(data, tmp_path):
    LabelRanker(**small | {"epochs": 1}).fit(data["train"]).save(tmp_path / "a.luce")
    manifest, arrays = archives.unpacked((tmp_path / "a.luce").read_bytes())
    counts = arrays["label_counts"]
    for wrong in (counts - 10**6, counts + 10**6, counts[:-1]):
        (tmp_path / "a.luce").write_bytes(archives.model(manifest, {**arrays, "label_counts": wrong}))
        with pytest.raises(DataError):
            luce.load(tmp_path / "a.luce")


def call(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if code:
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_line_trains_evaluates_and_ranks(tmp_path):
    for seed, name in enumerate(("train", "validation", "test")):
        write_tagged(tagged(seed=seed), tmp_path / f"{name}.txt.gz")
    model = tmp_path / "model.luce"
    given = [
        "--set",
        "hidden_layer_sizes=16",
        "--set",
        "epochs=1",
        "--set",
        "learning-rate=0.02",
        "--set",
        "batch-size=16",
    ]
    call("train", tmp_path / "train.txt.gz", "--validation", tmp_path / "validation.txt.gz", "--model", "labels",
         *given, "--threads", 1, "-o", model)  # fmt: skip
    ranker = luce.load(model)
    assert ranker.get_objective().name == "pl-partition"
    told = json.loads(call("evaluate", model, tmp_path / "test.txt.gz", "--json"))[str(model)]["metrics"]
    assert list(told) == ["precision@1", "precision@3", "precision@5", "psp@1", "psp@3", "psp@5"]
    test = tagged(seed=2)
    assert told["psp@3"]["mean"] == pytest.approx(ranker.evaluate(test, metrics="psp@3").means["psp@3"])
    other = call("evaluate", model, tmp_path / "test.txt.gz", "--metrics", "psp@3", "--propensity", "0.6,2.6", "--json")
    expected = ranker.evaluate(test, metrics="psp@3", a=0.6, b=2.6).means["psp@3"]
    assert json.loads(other)[str(model)]["metrics"]["psp@3"]["mean"] == pytest.approx(expected)
    lines = call("rank", model, tmp_path / "test.txt.gz", "--top", 2).splitlines()
    assert lines[0] == '"row","rank","label","score"' and len(lines) == 1 + 2 * test.n_rows
    call("rank", model, tmp_path / "test.txt.gz", "-o", tmp_path / "a.run")
    best = ranker.top_labels(test, 1)[0][0, 0]
    assert (tmp_path / "a.run").read_text().startswith(f"1 Q0 {best} 1 ")


def test_presets_of_labels(data):
    for name in ("tags-pl-partition", "tags-pl-lb", "tags-ranknet", "tags-ranksvm"):
        ranker = luce.rankers.preset(name, epochs=1, n_jobs=1, device="cpu")
        assert (
            isinstance(ranker, LabelRanker) and ranker.hidden_layer_sizes == (256,) and len(ranker.learning_rate) == 3
        )
    assert ranker.fit(data["train"], validation=data["validation"]).learning_rate_ in (1e-4, 1e-3, 1e-2)


def test_the_command_line_says_what_does_not_go(tmp_path):
    write_tagged(tagged(), tmp_path / "train.txt")
    LabelRanker(**small | {"epochs": 1}).fit(tagged()).save(tmp_path / "a.luce")
    for words, message in (
        (["train", tmp_path / "train.txt", "--model", "labels", "--read", "sparse=true"], "no option 'sparse'"),
        (["evaluate", tmp_path / "a.luce", tmp_path / "train.txt", "--propensity", "1"], "must be two numbers"),
        (["rank", tmp_path / "a.luce", tmp_path / "train.txt", "--sample", 3], "Leave out --sample"),
        (["compare", tmp_path / "train.txt", "--models", "labels"], "is trained on tagged rows"),
        (["compare", tmp_path / "train.txt", "--presets", "tags-ranksvm"], "is trained on tagged rows"),
    ):
        with pytest.raises(LuceError, match=message):
            call(*words, code=2)
