"""What the service refuses: without the token, too large, too slow, too many at once, malformed."""

import threading

import pytest

import luce
from fuzzing.requests import malformed_requests
from tests.serve.conftest import FEATURES, saved

RANK = {"documents": [{"id": 1, "rating": 1, "price": 2, "age": 3}]}


def test_the_token_is_needed_except_for_health(linear, connect):
    client, _ = connect(linear, token="secret")
    assert [client.get(f"/v2/health/{name}").status_code for name in ("live", "ready")] == [200, 200]
    for headers in (
        {},
        {"Authorization": "Bearer secret2"},
        {"Authorization": "secret"},
        {"Authorization": "Bearer é"},
    ):
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        for answer in (client.post("/rank", json=RANK, headers=raw), client.get("/metrics", headers=raw)):
            assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
    assert client.post("/rank", json=RANK, headers={"Authorization": "bearer secret"}).status_code == 200


def test_a_body_that_is_too_large_is_refused_before_all_of_it_is_read(linear, connect):
    client, service = connect(linear, max_body=10_000)
    sent = []

    async def parts():
        for number in range(100):
            sent.append(number)
            yield b" " * 1_000

    assert client.post("/rank", content=b" " * 10_001).status_code == 413
    assert client.post("/rank", content=parts()).status_code == 413
    assert client.post("/rank", content=b" " * 10_000).status_code == 400
    assert service._buffered == 0 and len(sent) < 15


def test_the_memory_of_all_requests_is_limited(linear, connect):
    client, service = connect(linear, max_body=1_000)
    service._buffered = 16 * 1_000 - 10
    answer = client.post("/rank", json=RANK)
    assert answer.status_code == 503 and answer.headers["Retry-After"] == "1"


def test_compressed_bodies_are_refused(linear, connect):
    assert connect(linear)[0].post("/rank", content=b"x", headers={"Content-Encoding": "gzip"}).status_code == 415


def test_a_saturated_server_says_when_to_come_back(linear, connect):
    client, service = connect(linear, threads=1, queue=1, timeout=0.2)
    release = threading.Event()
    blocked = [service._pool.submit(release.wait)]
    first = client.post("/rank", json=RANK)  # waits for the thread, in vain
    assert first.status_code == 503 and "took longer than 0.2 s" in first.json()["error"]
    assert all(service._places.acquire(timeout=30) for _ in range(2))
    answer = client.post("/rank", json=RANK)
    assert answer.status_code == 503 and answer.headers["Retry-After"] == "1"
    assert "Too many requests are waiting" in answer.json()["error"]
    service._places.release(), service._places.release()
    release.set()
    [each.result() for each in blocked]
    assert client.post("/rank", json=RANK).status_code == 200


def test_the_place_of_a_request_that_took_too_long_is_free_again(linear, connect):
    client, service = connect(linear, threads=1, queue=0, timeout=0.05)
    release = threading.Event()
    service._pool.submit(release.wait)
    assert [client.post("/rank", json=RANK).status_code for _ in range(3)] == [503] * 3
    assert "took longer" in client.post("/rank", json=RANK).json()["error"]
    release.set()


def test_too_many_connections_are_refused_and_health_is_not(linear, connect):
    client, service = connect(linear, connections=1)
    service.connections = 2
    answer = client.post("/rank", json=RANK)
    assert answer.status_code == 503 and answer.headers["connection"] == "close"
    assert client.get("/v2/health/live").status_code == 200


def test_an_internal_error_has_no_details_in_its_answer(linear, connect, monkeypatch, caplog):
    client, service = connect(linear)
    monkeypatch.setattr(type(service.model), "score", lambda *_: 1 / 0)
    answer = client.post("/rank", json=RANK)
    assert answer.status_code == 500 and answer.json().keys() == {"error"} and "ZeroDivision" not in answer.text
    assert any(record.exc_info and "ZeroDivision" in str(record.exc_info[0]) for record in caplog.records)


def test_routes_that_are_not_there(linear, connect):
    client, _ = connect(linear)
    assert client.get("/rank").status_code == 405 and client.get("/").status_code == 404
    assert "/v2/models/{name}/infer" in client.get("/rank/").json()["error"]


def test_malformed_requests_are_answered_without_server_errors(tmp_path, connect):
    path = saved(tmp_path / "a.luce", luce.TreeRanker(n_estimators=3, n_jobs=1))
    client, _ = connect(path)
    found = [
        client.post(each.path, content=each.body, headers=each.headers)
        for each in malformed_requests(600, "shop", list(FEATURES))
    ]
    counts = {code: sum(each.status_code == code for each in found) for code in {each.status_code for each in found}}
    assert counts.keys() <= {200, 400} and counts[400] > 400, counts
    assert all(each.json()["error"] for each in found if each.status_code == 400)


def test_requests_are_counted_and_logged_without_values(linear, connect, caplog):
    client, _ = connect(linear)
    caplog.set_level("INFO", "luce.serve")
    client.post("/rank", json={"documents": [{"id": "sku", "rating": 12345.5, "price": 1, "age": 2}]})
    client.post("/rank", json={"documents": [{}]})
    text = client.get("/metrics").text
    assert 'luce_requests_total{route="/rank",status="200"} 1.0' in text
    assert 'luce_requests_total{route="/rank",status="400"} 1.0' in text
    assert "luce_rows_scored_total 1.0" in text and 'luce_model_info{name="shop"' in text
    records = [record.fields for record in caplog.records if record.getMessage() == "request"]
    assert [(each["status"], each.get("rows")) for each in records[:2]] == [(200, 1), (400, None)]
    assert "12345" not in str(records) and "sku" not in str(records)


@pytest.mark.parametrize("draining", [False, True])
def test_a_draining_server_is_not_ready_and_closes_connections_that_are_read(linear, connect, draining):
    client, service = connect(linear, max_body=100_000)
    service.draining = draining
    assert client.get("/v2/health/ready").status_code == (503 if draining else 200)
    answer = client.post("/rank", json=RANK)
    assert answer.status_code == 200 and (answer.headers.get("connection") == "close") == draining
    assert "connection" not in client.post("/rank", content=b" " * 100_001).headers
