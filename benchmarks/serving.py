"""How fast is `luce serve`, what becomes of requests at saturation, in a reload and at the end, and of malformed ones?

python benchmarks/serving.py [--seconds 60] [--malformed 2000]

Server and clients run on this machine and share its cores: a client of its own machine leaves more to the server.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.http as triton

import luce
from fuzzing.requests import malformed_requests
from luce.data.synthetic import web_search
from measuring import show_machine

N_FEATURES, TREES, LEAVES = 136, 300, 31
PATH = "/v2/models/model/infer"


class Server:
    """A server process on a free port of 127.0.0.1."""

    def __init__(self, model: Path, log: Path, *words: str) -> None:
        self.log = log
        command = [sys.executable, "-m", "luce", "serve", str(model), "--port", "0", *words]
        self.process = subprocess.Popen(command, stderr=open(log, "w"))  # noqa: SIM115  the child's
        self.port = self.wait_for("listening")["port"]

    def wait_for(self, event: str) -> dict[str, Any]:
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            for line in self.log.read_text().splitlines():
                if line.endswith("}") and json.loads(line)["event"] == event:
                    return json.loads(line)
            time.sleep(0.05)
        raise SystemExit(f"The server did not log {event!r}: {self.log.read_text()[-2_000:]}")

    @property
    def resident(self) -> float:
        """The resident memory in MB."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--malformed", type=int, default=2_000)
    options = parser.parse_args()
    show_machine("luce", "starlette", "uvicorn", "orjson", "tritonclient", "numpy")
    print(f"{TREES} trees of {LEAVES} leaves, {N_FEATURES} features; load at start {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        models = [train(Path(folder), seed) for seed in (0, 1)]
        latency(Path(folder), models[0])
        saturation(Path(folder), models, options.seconds)
        malformed(Path(folder), models[0], options.malformed)


def train(folder: Path, seed: int) -> Path:
    data = web_search(60, n_features=N_FEATURES, mean_length=40, seed=seed).dataset
    names = [f"f{number}" for number in range(N_FEATURES)]
    lists = luce.Dataset(data.features, data.labels, data.offsets, feature_names=names)
    settings: dict[str, Any] = {"n_estimators": TREES, "num_leaves": LEAVES, "validation_fraction": None, "n_jobs": 1}
    path = folder / f"model{seed}.luce"
    luce.TreeRanker(**settings).fit(lists).save(path)
    return path


@contextmanager
def serving(folder: Path, model: Path, *words: str) -> Iterator[Server]:
    server = Server(model, folder / "log", "--name", "model", *words)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


def latency(folder: Path, model: Path) -> None:
    """Requests one after the other: the scorer in this process, tritonclient, and JSON documents."""
    scorer = luce.load_scorer(model)
    with serving(folder, model) as server:
        client = triton.InferenceServerClient(f"127.0.0.1:{server.port}")
        connection = HTTPConnection("127.0.0.1", server.port)
        print("\nOne request at a time; milliseconds          p50      p99   requests/s   × scorer")
        for n_rows in (100, 1_000):
            rows = np.random.default_rng(0).random((n_rows, N_FEATURES), np.float32)
            given = triton.InferInput("features", rows.shape, "FP32").set_data_from_numpy(rows)
            documents = [
                {"id": i, **{f"f{j}": value for j, value in enumerate(row)}} for i, row in enumerate(rows.tolist())
            ]
            body = json.dumps({"documents": documents, "top": 10})
            base = show(n_rows, "the scorer alone", lambda rows=rows: scorer.score(rows))
            show(n_rows, "tritonclient, binary", lambda given=given: client.infer("model", [given]), base)
            show(n_rows, "/rank, JSON documents", lambda body=body: post(connection, body), base)
        assert server.stop() == 0


def post(connection: HTTPConnection, body: str) -> bytes:
    connection.request("POST", "/rank", body)
    return connection.getresponse().read()


def show(n_rows: int, name: str, call: Callable[[], Any], base: float | None = None) -> float:
    for _ in range(20):
        call()
    times, end = [], time.perf_counter() + 5
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    p50, p99 = np.percentile(times, (50, 99)) * 1e3
    ratio = "" if base is None else f"{p50 / base:10.1f}"
    print(f"{n_rows:6,} rows  {name:24}{p50:13.2f}{p99:9.2f}{len(times) / sum(times):13.0f}{ratio}", flush=True)
    return float(p50)


def saturation(folder: Path, models: list[Path], seconds: float) -> None:
    """More clients than the server has places for, a reload in the middle, and SIGTERM at the end."""
    served = folder / "served.luce"
    shutil.copy(models[0], served)
    rows = np.random.default_rng(1).random((100, N_FEATURES), np.float32)
    right = [luce.load_scorer(each).score(rows).tobytes() for each in models]
    with serving(folder, served, "--threads", "2", "--queue", "8") as server:
        found = asyncio.run(_saturate(server, rows, right, models[1], served, seconds))
        status = server.process.wait(60)
    print(f"\n32 clients, 2 threads, a queue of 8, 100 rows, {seconds:g} s; SIGHUP at one half, SIGTERM at the end")
    for name, count in sorted(found["outcomes"].items()):
        print(f"  {name:44}{count:8,}")
    times = np.array(found["times"]) * 1e3
    print(
        f"  of the right answers: p50 {np.percentile(times, 50):.1f} ms, p99 {np.percentile(times, 99):.1f} ms", end=""
    )
    print(f", {len(times) / found['seconds']:.0f} per second; exit status {status}")
    lost = {name for name in found["outcomes"] if name.startswith("lost")}
    assert not lost and status == 0 and found["outcomes"]["right, of the new model"], found["outcomes"]


async def _saturate(
    server: Server, rows: Any, right: list[bytes], new: Path, served: Path, seconds: float
) -> dict[str, Any]:
    head, raw = _request(rows)
    outcomes: Counter[str] = Counter()
    times: list[float] = []
    begin = time.monotonic()
    clients = [
        asyncio.create_task(_client(server.port, head + raw, right, outcomes, times, begin + seconds + 60))
        for _ in range(32)
    ]
    await asyncio.sleep(seconds / 2)
    os.replace(new, served)
    server.process.send_signal(signal.SIGHUP)
    await asyncio.sleep(seconds / 2)
    server.process.send_signal(signal.SIGTERM)
    await asyncio.gather(*clients)
    return {"outcomes": outcomes, "times": times, "seconds": time.monotonic() - begin}


def _request(rows: Any) -> tuple[bytes, bytes]:
    tensor = {"name": "features", "shape": rows.shape, "datatype": "FP32"}
    tensor["parameters"] = {"binary_data_size": rows.nbytes}
    text = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(text) + rows.nbytes}\r\n"
    return f"{head}Inference-Header-Content-Length: {len(text)}\r\n\r\n".encode() + text, rows.tobytes()


async def _client(
    port: int, request: bytes, right: list[bytes], outcomes: Counter[str], times: list[float], end: float
) -> None:
    """Requests on a connection that is kept open while the server does, until it accepts none."""
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            outcomes["no new connection after SIGTERM"] += 1
            return
        close = False
        while not close:
            try:
                start = time.perf_counter()
                writer.write(request)
                await writer.drain()
                head, content = await _answer(reader)
                took = time.perf_counter() - start
            except (OSError, asyncio.IncompleteReadError) as error:
                outcomes[f"lost: {type(error).__name__}"] += 1
                break
            close = b"connection: close" in head.lower()
            name = _outcome(head, content, right)
            outcomes[name] += 1
            if name.startswith("right"):
                times.append(took)
            elif not close:
                await asyncio.sleep(0.02)  # a polite client waits longer: Retry-After is 1 s
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head, await reader.readexactly(int(lengths[0].partition(b":")[2]))


def _outcome(head: bytes, content: bytes, right: list[bytes]) -> str:
    status = int(head.split()[1])
    if status == 503 and b"retry-after: 1" in head.lower():
        return "503 with Retry-After"
    scores = content[-len(right[0]) :]
    if status != 200 or scores not in right:
        return f"lost: status {status}"
    return f"right, of the {'new' if right.index(scores) else 'old'} model"


def malformed(folder: Path, model: Path, count: int) -> None:
    """Malformed requests after twice as many that warm the server up; its resident memory before and after."""
    names = [f"f{number}" for number in range(N_FEATURES)]
    with serving(folder, model) as server:
        # The first explanation loads the ranker and LightGBM, some 100 MB and seconds, which is no growth.
        document = {"id": 0, **dict.fromkeys(names, 0.5)}
        post(HTTPConnection("127.0.0.1", server.port), json.dumps({"documents": [document], "explain": True}))
        asyncio.run(_send(server.port, malformed_requests(2 * count, "model", names, seed=1)))
        before = server.resident
        found = asyncio.run(_send(server.port, malformed_requests(count, "model", names, seed=2)))
        after = server.resident
        assert server.stop() == 0
    shown = ", ".join(f"{status or 'never complete'}: {number:,}" for status, number in sorted(found.items()))
    print(f"\n{count:,} malformed requests: {shown}")
    print(f"  resident memory {before:.1f} MB before, {after:.1f} MB after (after {2 * count:,} others to warm up)")
    assert not any(status >= 500 for status in found) and sum(found.values()) == count


async def _send(port: int, requests: Any) -> Counter[int]:
    """Each on a connection of its own; one in four has a wrong Content-Length besides."""
    found: Counter[int] = Counter()
    for number, each in enumerate(requests):
        lie = {0: 7, 2: -7}.get(number % 8, 0)
        length = max(0, len(each.body) + lie)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        headers = "".join(f"{name}: {value}\r\n" for name, value in each.headers.items())
        writer.write(f"POST {each.path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n{headers}\r\n".encode())
        writer.write(each.body)
        if lie > 0:
            writer.write_eof()  # fewer bytes than promised
        try:
            head, _ = await _answer(reader)
            found[int(head.split()[1])] += 1
        except asyncio.IncompleteReadError:  # a request that never became complete is not answered
            found[0] += 1
        writer.close()
    return found


if __name__ == "__main__":
    main()
