"""A server process: the real client of the protocol, SIGHUP and SIGTERM under load, clients that are slow or gone."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from http.client import HTTPConnection

import numpy as np
import pytest

import luce
from tests.serve.conftest import lists, saved

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP."),
]
ROWS = lists(seed=9).features[:20]
WAIT = 120
"""Seconds after which something that must happen has not."""


class Process:
    """A server and the lines that it logs."""

    def __init__(self, path, *words, **environment):
        command = [sys.executable, "-m", "luce", "serve", str(path), "--port", "0", "--drain", "1", *words]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "LUCE_THREADS": "1", **environment}
        )
        self.lines = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self._news:
                self.lines.append(json.loads(line))
                self._news.notify_all()

    def wait_for(self, event):
        with self._news:
            assert self._news.wait_for(lambda: event in {line["event"] for line in self.lines}, WAIT), self.lines
        return next(line for line in self.lines if line["event"] == event)

    @property
    def port(self):
        return self.wait_for("listening")["port"]

    def close(self):
        self.process.kill()
        self._reader.join()
        self.process.stderr.close()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self._reader.join(WAIT)
        return self.process.wait(WAIT)


@pytest.fixture
def start():
    processes = []

    def started(*words, **environment):
        processes.append(Process(*words, **environment))
        return processes[-1]

    yield started
    for each in processes:
        each.close()


def test_the_client_of_the_protocol(linear, start):
    http = pytest.importorskip("tritonclient.http", reason="pip install 'tritonclient[http]'")
    server = start(linear, "--name", "shop")
    client = http.InferenceServerClient(f"127.0.0.1:{server.port}")
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("shop")
    assert client.get_model_metadata("shop")["outputs"] == [{"name": "scores", "datatype": "FP64", "shape": [-1]}]
    expected = luce.load(linear).predict(ROWS)
    for binary in (True, False):
        given = http.InferInput("features", ROWS.shape, "FP32").set_data_from_numpy(ROWS, binary_data=binary)
        wanted = http.InferRequestedOutput("scores", binary_data=binary)
        for outputs in (None, [wanted]):
            found = client.infer("shop", [given], outputs=outputs, request_id="7")
            np.testing.assert_array_equal(found.as_numpy("scores"), expected)
            assert found.get_response()["id"] == "7"
    with pytest.raises(Exception, match="There is no model 'other'"):
        client.infer("other", [given])
    client.close()
    assert server.stop() == 0


def answers(port, expected, found):
    """Requests on one connection after the other until the server is gone; what came of each."""
    body = json.dumps({"inputs": [{"name": "features", "shape": [20, 3], "datatype": "FP32", "data": ROWS.tolist()}]})
    connection = HTTPConnection("127.0.0.1", port, timeout=WAIT)
    while True:
        try:
            connection.request("POST", "/v2/models/shop/infer", body)
            answer = connection.getresponse()
            content = json.loads(answer.read())
        except ConnectionRefusedError:
            found["refused"] += 1
            break
        right = answer.status == 200 and content["outputs"][0]["data"] in expected
        found["right" if right else answer.status] += 1
    connection.close()


def test_no_request_is_lost_in_a_reload_and_at_the_end(linear, start, tmp_path):
    path = tmp_path / "shop.luce"
    shutil.copy(linear, path)
    other = saved(tmp_path / "other.luce", luce.LinearRanker(n_jobs=1), seed=3)
    expected = [luce.load(each).predict(ROWS).tolist() for each in (linear, other)]
    server = start(path, "--threads", "2")
    found = Counter()
    clients = [threading.Thread(target=answers, args=(server.port, expected, found)) for _ in range(4)]
    for each in clients:
        each.start()
    time.sleep(0.5)
    os.replace(other, path)
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("reloaded")
    path.write_bytes(b"no model")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("reload failed")
    assert server.stop() == 0
    for each in clients:
        each.join(WAIT)
    assert found["refused"] == 4 and set(found) <= {"refused", "right", 503} and found["right"] > 10, found


def test_a_signal_to_reload_while_the_model_is_being_loaded_waits(linear, start):
    server = start(linear)
    server.wait_for("loading")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("reloaded")
    assert server.stop() == 0


@pytest.fixture
def send():
    """What sends bytes on a connection of their own, which is returned."""
    with ExitStack() as stack:

        def sent(server, content):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=WAIT))
            connection.sendall(content)
            return connection

        yield sent


def read(connection):
    with connection.makefile("rb") as file:
        return file.read()


def test_clients_that_are_slow_or_gone_do_not_keep_a_connection(linear, start, send):
    server = start(linear, "--read-timeout", "0.5")

    silent, half = send(server, b""), send(server, b"POST /rank HTTP/1.1\r\nHost: a\r\n")
    slow = send(server, b"POST /rank HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
    gone = send(server, b"POST /rank HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
    gone.close()
    assert silent.recv(100) == b"" == half.recv(100)
    assert read(slow).startswith(b"HTTP/1.1 408")
    huge = send(server, b"GET /v2 HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 40_000 + b"\r\n")
    refused = read(huge)
    assert refused.startswith(b"HTTP/1.1 400") and b'{"error":' in refused
    unread = send(server, b"POST /rank HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n" + b" " * 1_000)
    assert unread.recv(100).startswith(b"HTTP/1.1 413")
    assert server.stop() == 0
    assert {line["status"] for line in server.lines if line["event"] == "request"} >= {408, 413, 499}


def test_a_client_that_does_not_read_its_answer_does_not_keep_a_connection(linear, start, send):
    server = start(linear, "--read-timeout", "0.5", "--connections", "1", "--max-rows", "200000")
    tensor = {"name": "features", "shape": [200_000, 3], "datatype": "FP32"}
    tensor["parameters"] = {"binary_data_size": 12 * 200_000}
    head = json.dumps({"inputs": [tensor]}).encode()
    lengths = f"Content-Length: {len(head) + 2_400_000}\r\nInference-Header-Content-Length: {len(head)}\r\n\r\n"
    send(server, b"POST /v2/models/shop/infer HTTP/1.1\r\nHost: a\r\n" + lengths.encode() + head + bytes(2_400_000))
    server.wait_for("request")
    end = time.monotonic() + WAIT
    while not read(send(server, b"GET /v2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).startswith(
        b"HTTP/1.1 200"
    ):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert server.stop() == 0


def test_connections_are_counted_while_they_are_open(linear, start, send):
    server = start(linear, "--connections", "2")
    request = b"GET /v2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    for _ in range(5):
        assert read(send(server, request)).startswith(b"HTTP/1.1 200")
    kept = [send(server, request.replace(b"close", b"keep-alive")) for _ in range(2)]
    assert all(each.recv(12) == b"HTTP/1.1 200" for each in kept)
    assert read(send(server, request)).startswith(b"HTTP/1.1 503")
    assert server.stop() == 0


def test_a_token_comes_from_a_file_or_the_environment(linear, start, tmp_path):
    (tmp_path / "token").write_text("secret\n")
    for server in (start(linear, "--token-file", tmp_path / "token"), start(linear, LUCE_SERVE_TOKEN="secret")):
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=WAIT)) as connection:
            for headers, status in (({}, 401), ({"Authorization": "Bearer secret"}, 200)):
                connection.request("GET", "/v2", headers=headers)
                answer = connection.getresponse()
                assert answer.status == status and answer.read()
