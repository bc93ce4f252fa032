"""The Open Inference Protocol: the scores are those of predict, in JSON and in binary, and errors are 400."""

import json

import numpy as np
import pytest

import luce
from tests.serve.conftest import FEATURES, lists, saved

PATH = "/v2/models/shop/infer"


def tensors(features, datatype="FP32", **fields):
    tensor = {"name": "features", "shape": list(np.shape(features)), "datatype": datatype, "data": features}
    return {"inputs": [{**tensor, **fields}]}


ROWS = [[1.0, 0.5, 2.0], [0.25, -1.0, 3.5]]


def test_the_server_and_the_model_describe_themselves(linear, connect):
    client, service = connect(linear)
    assert client.get("/v2").json()["extensions"] == ["binary_tensor_data"]
    found = client.get("/v2/models/shop").json()
    assert found["inputs"][0] == {"name": "features", "datatype": "FP32", "shape": [-1, 3]}
    assert found["parameters"]["feature_names"] == list(FEATURES)
    assert found["versions"] == [service.model.version]
    assert client.get("/v2/models/shop/ready").status_code == client.get("/v2/health/live").status_code == 200
    assert client.get("/v2/models/other").json()["error"] == "There is no model 'other'. This server has 'shop'."


@pytest.mark.parametrize("datatype", ["FP32", "FP64"])
@pytest.mark.parametrize("flat", [False, True])
def test_scores_are_those_of_predict(linear, connect, datatype, flat):
    rows = lists(seed=2).features.tolist()
    data = [value for row in rows for value in row] if flat else rows
    answer = connect(linear)[0].post(PATH, json={**tensors(rows, datatype, data=data), "id": "7"}).json()
    assert answer["outputs"][0]["data"] == luce.load(linear).predict(np.array(rows, np.float32)).tolist()
    assert (answer["id"], answer["model_name"], answer["outputs"][0]["shape"]) == ("7", "shop", [len(rows)])


def binary_request(rows, offsets=None):
    features = np.asarray(rows, "<f4")
    inputs = [{"name": "features", "shape": features.shape, "datatype": "FP32"}]
    inputs[0]["parameters"] = {"binary_data_size": features.nbytes}
    raw = features.tobytes()
    if offsets is not None:
        values = np.asarray(offsets, "<i8")
        inputs.append({"name": "offsets", "shape": values.shape, "datatype": "INT64"})
        inputs[1]["parameters"] = {"binary_data_size": values.nbytes}
        raw += values.tobytes()
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    return head + raw, {"Inference-Header-Content-Length": str(len(head))}


def test_binary_tensors_there_and_back(linear, connect):
    rows = lists(seed=3).features
    body, headers = binary_request(rows)
    answer = connect(linear)[0].post(PATH, content=body, headers=headers)
    length = int(answer.headers["Inference-Header-Content-Length"])
    assert json.loads(answer.content[:length])["outputs"][0]["parameters"] == {"binary_data_size": 8 * len(rows)}
    np.testing.assert_array_equal(np.frombuffer(answer.content[length:], "<f8"), luce.load(linear).predict(rows))


def test_lists_are_needed_where_scores_depend_on_them(tmp_path, connect):
    path = saved(tmp_path / "a.luce", luce.LinearRanker(transforms=("list-zscore",), n_jobs=1))
    client, rows = connect(path)[0], lists(seed=4).features[:5]
    assert "add the input 'offsets'" in client.post(PATH, json=tensors(rows.tolist())).json()["error"]
    body, headers = binary_request(rows, [0, 2, 5])
    answer = client.post(PATH, content=body, headers=headers).content
    np.testing.assert_array_equal(np.frombuffer(answer[-40:], "<f8"), luce.load(path).predict(rows, group=[2, 3]))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ([], "must be a JSON object. Got an array."),
        ({}, "'inputs' must be an array. Got null."),
        ({"inputs": []}, "lacks the input 'features'"),
        ({"inputs": [{"name": "feature"}]}, "There is no input 'feature'. Did you mean 'features'?"),
        (tensors(ROWS, shape=[2, 4]), "The shape of 'features' must be [rows, 3]. Got [2, 4]."),
        (tensors(ROWS, shape=[-1, 3]), "Got [-1, 3]."),
        (tensors(ROWS, shape=[2, True]), "'shape' must be an integer. Got a boolean."),
        (tensors(ROWS, shape=[3, 3]), "needs 9 values. Got 6."),
        (tensors(ROWS, shape=[1_000_000, 3]), "at most 10,000 rows. Got 1,000,000"),
        (tensors(ROWS, "BYTES"), "must be FP32 or FP64. Got 'BYTES'."),
        (tensors(ROWS, data=[[1, 2, 3], [4, 5]]), "must have the same length"),
        (tensors(ROWS, data=[1, 2, 3, 4, 5, "6"]), "Got a string as value 6."),
        (tensors(ROWS, data=[1, 2, 3, 4, 5, 1e39]), "Row 2 has a feature that is infinite, or too large"),
        (tensors(ROWS, data=[1, None, 3, 4, 5, 6]), "Row 1 has no finite score"),
        (tensors(ROWS, parameters={"binary_data_size": 24}), "need 24 bytes. Its binary_data_size is 24, and 0 bytes"),
        ({**tensors(ROWS), "outputs": [{"name": "score"}]}, "There is no output 'score'. Did you mean 'scores'?"),
        ({**tensors(ROWS), "id": 7}, "'id' must be a string. Got a number."),
        ({"inputs": tensors(ROWS)["inputs"] * 2}, "There are two inputs 'features'."),
    ],
)  # fmt: skip
def test_what_is_not_valid_is_refused_with_its_reason(linear, connect, request_, words):
    answer = connect(linear)[0].post(PATH, content=json.dumps(request_))
    assert answer.status_code == 400 and words in answer.json()["error"], answer.text


def test_offsets_must_fit_the_rows(linear, connect):
    def error(offsets):
        body, headers = binary_request(ROWS, offsets)
        return connect(linear)[0].post(PATH, content=body, headers=headers).json()["error"]

    assert "offsets must run from 0 to the number of rows, 2. Got 0 to 3." in error([0, 3])
    assert "offsets must not decrease" in error([0, 2, 1, 2])


@pytest.mark.parametrize("length", ["-1", "x", "1" * 50, "10000"])
def test_a_wrong_length_of_the_json_is_refused(linear, connect, length):
    body, _ = binary_request(ROWS)
    answer = connect(linear)[0].post(PATH, content=body, headers={"Inference-Header-Content-Length": length})
    assert answer.status_code == 400 and "must be the length of the JSON" in answer.json()["error"]


def test_no_rows_have_no_scores(linear, connect):
    assert connect(linear)[0].post(PATH, json=tensors([], shape=[0, 3])).json()["outputs"][0]["data"] == []
