"""The steps of the Dockerfile without Docker: in an empty environment, as its user, on a read-only file system."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
FEATURES = ("rating", "price")
START = (
    'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t tmpfs tmpfs /tmp && cd / && '
    "user=$1 && shift && exec setpriv --reuid $user --regid $user --clear-groups --no-new-privs --bounding-set -all "
    '"$@"'
)
"""In a mount namespace of its own: the folder becomes read-only, /tmp empty, and the user the one of the image."""


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile and their arguments.

    >>> instructions("# a\\nFROM b\\nRUN c \\\\\\n  d")
    [('FROM', 'b'), ('RUN', 'c   d')]
    """
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line)]


class Image:
    """What a Dockerfile makes, with `folder` in place of the folder that its argument ROOT names."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder, self.place, self.user = folder, folder, "0"
        self.variables = {"PATH": f"{python}:/usr/bin:/bin", "HOME": "/nonexistent"}
        self.variables["LD_LIBRARY_PATH"] = str(python.parent / "lib")  # the user may not read the original's
        self.variables |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self.commands: dict[str, list[str]] = {}

    def expanded(self, text: str) -> str:
        return Template(text).substitute(self.variables)

    def step(self, word: str, rest: str) -> None:
        match word:
            case "FROM":
                version = re.search(r"python:([\d.]+)", rest)
                assert version and version[1] == ".".join(map(str, sys.version_info[:2])), "run it with that Python"
            case "ARG":
                assert rest.startswith("ROOT=")
                self.variables["ROOT"] = str(self.folder)
            case "ENV":
                for pair in rest.split(" "):
                    name, _, value = pair.partition("=")
                    self.variables[name] = self.expanded(value)
            case "WORKDIR":
                self.place = Path(self.expanded(rest))
                self.place.mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, target = self.expanded(rest).split(" ")
                for source in (ROOT / each for each in sources):
                    copy = shutil.copytree if source.is_dir() else shutil.copy
                    copy(source, target)
            case "RUN":
                subprocess.run(["sh", "-c", rest], check=True, cwd=self.place, env=self.variables)
            case "USER":
                self.user = rest.partition(":")[0]
            case "ENTRYPOINT" | "CMD":
                self.commands[word] = json.loads(rest)
            case "HEALTHCHECK":
                self.commands[word] = json.loads(rest[rest.index("[") :])
            case "EXPOSE":
                self.port = int(rest)
            case _:
                raise ValueError(f"{word} is not known here")

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """A process in what would be the container."""
        words = ["unshare", "--mount", "sh", "-c", START, str(self.folder), self.user, *command]
        return subprocess.Popen(words, env=self.variables)


def trial(folder: Path) -> None:
    """Build, start the server, ask for its health, score a request, and end it."""
    import luce

    shutil.rmtree(folder, ignore_errors=True)
    leave_out = shutil.ignore_patterns("site-packages", "test", "__pycache__", "*.a")
    shutil.copytree(sys.base_prefix, folder / "python", symlinks=True, ignore=leave_out)
    image = Image(folder / "image", folder / "python" / "bin")
    for word, rest in instructions((ROOT / "Dockerfile").read_text()):
        print("$", word, rest, flush=True)
        image.step(word, rest)
    rng = np.random.default_rng(0)
    data = luce.Dataset(rng.random((40, 2)), rng.integers(3, size=40), np.arange(0, 41, 10), feature_names=FEATURES)
    ranker = luce.TreeRanker(n_estimators=5, min_child_samples=2, n_jobs=1).fit(data)
    (image.folder / "models").mkdir()
    model = image.folder / "models" / "model.luce"
    ranker.save(model)
    model.chmod(0o444)
    for kept in ("python", "image"):
        assert image.start("test", "-r", str(folder / kept)).wait() == 0, "the folder must be readable"
        assert image.start("test", "-w", str(folder / kept)).wait() == 1, "the package must not be writable"
    begin = time.monotonic()
    server = image.start(*image.commands["ENTRYPOINT"], str(model))
    try:
        while image.start(*image.commands["HEALTHCHECK"]).wait() != 0:
            assert server.poll() is None and time.monotonic() < begin + 120
            time.sleep(0.2)
        print(f"ready after {time.monotonic() - begin:.1f} s")
        check(image, server.pid, ranker.predict([[0.5, 0.25], [0.25, 0.5]]).tolist())
    finally:
        server.terminate()
        status = server.wait(60)
    assert status == 0
    print("the server scored as predict does, as user", image.user, "and ended with status", status)


def check(image: Image, pid: int, expected: list[float]) -> None:
    """The score of a request, the user of the process, and the kernels: the server compiled none."""
    documents = [{"id": 0, "rating": 0.5, "price": 0.25}, {"id": 1, "rating": 0.25, "price": 0.5}]
    request = urllib.request.Request(
        f"http://127.0.0.1:{image.port}/rank", data=json.dumps({"documents": documents}).encode()
    )
    answer: dict[str, Any] = json.loads(urllib.request.urlopen(request, timeout=60).read())
    assert {each["id"]: each["score"] for each in answer["ranking"]} == dict(enumerate(expected))
    assert f"Uid:\t{image.user}\t" in Path(f"/proc/{pid}/status").read_text()
    built = {file.name for file in (image.folder / "kernels").rglob("*.nbc")}
    there = {file.name for file in Path(f"/proc/{pid}/root/tmp").rglob("*.nbc")}
    assert built and there == built, f"compiled at the start: {there - built}"


if __name__ == "__main__":
    trial(ROOT / "build" / "environments" / "container")
