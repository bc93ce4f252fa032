"""Model files of every released version are read, and predict what they predicted then."""

import json

import numpy as np
import pytest

import luce
from tests.released_models import FOLDER, PACKAGE, aggregation_answers, write

RELEASED = sorted(FOLDER.glob("*/*.luce"))


def check(model):
    rows = json.loads(model.with_suffix(".json").read_text())
    loaded = luce.load(model)
    if "orderings" in rows:
        scores = aggregation_answers(loaded, rows["orderings"])
    elif model.stem == "labels":
        scores = loaded.predict(np.array(rows["features"]))
    else:
        scores = loaded.predict(np.array(rows["features"]), rows["qid"])
    np.testing.assert_allclose(scores, rows["scores"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("model", RELEASED, ids=lambda model: f"{model.parent.name}-{model.stem}")
def test_models_of_earlier_versions_predict_the_same(model):
    pytest.importorskip(PACKAGE.get(model.stem, "luce"))
    check(model)


def test_models_of_this_version_are_written_and_read_again(tmp_path):
    write(tmp_path / "now")
    models = sorted((tmp_path / "now").glob("*.luce"))
    assert len(models) == len(list((tmp_path / "now").glob("*.json"))) >= 1
    for model in models:
        check(model)
    changed = json.loads(models[0].with_suffix(".json").read_text())
    changed["scores"][0] = changed["scores"][1]
    models[0].with_suffix(".json").write_text(json.dumps(changed))
    with pytest.raises(AssertionError):
        check(models[0])
