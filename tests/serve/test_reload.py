"""A model file is replaced while it is served."""

import asyncio
import shutil

import pytest

import luce
from tests.serve.conftest import saved

RANK = {"documents": [{"id": 1, "rating": 1, "price": 2, "age": 3}]}


@pytest.fixture
def served(linear, tmp_path, connect):
    path = tmp_path / "model.luce"
    shutil.copy(linear, path)
    return path, *connect(path)


def test_a_reload_serves_the_file_that_is_there_now(served):
    path, client, service = served
    before = client.post("/rank", json=RANK).json()
    saved(path, luce.TreeRanker(n_estimators=3, n_jobs=1), seed=2)
    assert client.post("/rank", json=RANK).json() == before
    asyncio.run(service.reload())
    after = client.post("/rank", json=RANK).json()
    assert after["model_version"] != before["model_version"]
    assert after["ranking"][0]["score"] == luce.load(path).predict([[1.0, 2.0, 3.0]])[0]
    assert 'luce_reloads_total{result="done"} 1.0' in client.get("/metrics").text


@pytest.mark.parametrize("damage", ["truncated", "gone"])
def test_a_damaged_file_leaves_the_model_that_is_served(served, caplog, damage):
    path, client, service = served
    before = client.post("/rank", json=RANK).json()
    content = path.read_bytes()
    path.unlink()
    if damage == "truncated":
        path.write_bytes(content[:-100])
    asyncio.run(service.reload())
    assert client.post("/rank", json=RANK).json() == before
    assert 'luce_reloads_total{result="failed"} 1.0' in client.get("/metrics").text
    assert "reload failed" in [record.getMessage() for record in caplog.records]


def test_explanations_are_of_the_model_that_is_served(served):
    path, client, service = served
    saved(path, luce.LinearRanker(n_jobs=1), seed=2)
    answer = client.post("/rank", json={**RANK, "explain": True})
    assert answer.status_code == 409 and "send SIGHUP" in answer.json()["error"] and str(path) not in answer.text
    asyncio.run(service.reload())
    assert client.post("/rank", json={**RANK, "explain": True}).status_code == 200


def test_a_file_that_is_replaced_while_it_is_read_is_not_served(served, monkeypatch):
    path, client, service = served
    before = client.post("/rank", json=RANK).json()

    def replace_and_load(given):
        saved(path, luce.TreeRanker(n_estimators=3, n_jobs=1), seed=4)
        return luce.load_scorer(given)

    monkeypatch.setattr("luce.serve.model.load_scorer", replace_and_load)
    asyncio.run(service.reload())
    assert client.post("/rank", json=RANK).json() == before
    monkeypatch.undo()
    asyncio.run(service.reload())
    assert client.post("/rank", json=RANK).json()["model_version"] != before["model_version"]
