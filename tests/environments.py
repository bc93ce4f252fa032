"""Luce in virtual environments of their own: `python tests/environments.py lowest wheel 3.12 3.13 triton serve`.

lowest: Python 3.11 and the lowest declared version of every dependency except PyTorch.
wheel: the sdist, and the wheel built from it, installed without extras and tried from an empty folder.
3.12, 3.13: that Python with the newest version of every dependency except PyTorch.
triton: Triton beside the packages of the calling environment; its kernels run in its interpreter, without a GPU.
serve: the steps of the Dockerfile, and its server as a user without rights on a read-only file system; needs root.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "environments"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Those of the dev extra that the tests below import:
TOOLS = ("mpmath", "pytest", "pytest-xdist", "cloudpickle", "pandas", "polars")
PACKAGES = [*EXTRAS["trees"], *EXTRAS["report"], *EXTRAS["tune"], *(p for p in EXTRAS["dev"] if p.startswith(TOOLS))]
WITHOUT_TORCH = [
    *(f"tests/{name}" for name in ("aggregation", "data", "kernels", "metrics", "objectives", "policy")),
    *(f"tests/test_{name}.py" for name in ("base", "coordinate_ascent", "newton", "optimizers")),
    "tests/rankers/test_linear.py",
]
TRIAL = r"""
import luce
from luce.data.synthetic import web_search
data = web_search(40, n_features=5, mean_length=8, seed=0).dataset
luce.write(data, "lists.txt")
with open("votes.csv", "w") as votes:
    print("rank1,rank2,rank3\ntea,rum,gin\nrum,tea,gin\ngin,rum,tea\ntea,gin,rum", file=votes)
ranker = luce.LinearRanker().fit(data)
ranker.save("a.luce")
assert (luce.load("a.luce").predict(data) == ranker.predict(data)).all()
print("luce", luce.__version__, "from", luce.__file__)
"""
WORKERS = ("-n", "2", "--dist", "load")
ONE_THREAD = {"LUCE_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
COMMANDS = (
    "train lists.txt -o b.luce",
    "evaluate b.luce lists.txt",
    "rank b.luce lists.txt -o b.run",
    "aggregate votes.csv",
)


def run(*words: object, cwd: Path = ROOT, **variables: str) -> None:
    print("$", *words, flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(list(map(str, words)), check=True, cwd=cwd, env=environment | variables)


def interpreter(version: str) -> str:
    """Python of this version: this one, one on the path, or one of pyenv."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    kept = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob(f"versions/{version}.*/bin/python")
    for found in (shutil.which(f"python{version}"), *kept):
        if found and subprocess.run([found, "--version"], capture_output=True).returncode == 0:
            return str(found)
    sys.exit(f"There is no Python {version}: put python{version} on the path, or `pyenv install {version}`.")


def environment(name: str, version: str, *packages: object) -> Path:
    """The folder of programs of a new environment with these packages."""
    run(interpreter(version), "-m", "venv", "--clear", FOLDER / name)
    programs = FOLDER / name / "bin"
    run(programs / "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return programs


def test_without_torch(programs: Path) -> None:
    # Dependencies of another age warn of each other; only Luce's own newest environment makes warnings errors.
    warn = ("-o", "filterwarnings=default")
    run(programs / "python", "-m", "pytest", *WORKERS, *warn, *WITHOUT_TORCH, **ONE_THREAD)


def lowest() -> None:
    floors = [re.sub(r">=([\d.]+).*", r"==\1", package) for package in [*PROJECT["dependencies"], *PACKAGES]]
    test_without_torch(environment("lowest", "3.11", *floors, "-e", ROOT))


def newest(version: str) -> None:
    test_without_torch(environment(version, version, *PACKAGES, "-e", ROOT))


def wheel() -> None:
    built = FOLDER / "built"
    shutil.rmtree(built, ignore_errors=True)
    run(environment("build", "3.11", "build") / "python", "-m", "build", "--outdir", built)
    programs = environment("wheel", "3.11", *built.glob("*.whl"))
    with tempfile.TemporaryDirectory() as folder:
        run(programs / "python", "-W", "error", "-c", TRIAL, cwd=Path(folder))
        for words in COMMANDS:
            run(programs / "luce", *words.split(), cwd=Path(folder))


def triton() -> None:
    folder = FOLDER / "triton"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", folder, "triton")
    files = ("device_kernels", "device_pairs", "device_targets", "device_subsets", "attention")
    tests = (*(f"kernels/test_{each}.py" for each in files), "objectives/test_torch_device.py")
    # The interpreter computes with NumPy, which warns where a device overflows silently.
    warn = ("-o", "filterwarnings=default")
    variables = {"PYTHONPATH": str(folder), "TRITON_INTERPRET": "1", **ONE_THREAD}
    run(sys.executable, "-m", "pytest", *WORKERS, "--all", *warn, *(f"tests/{each}" for each in tests), **variables)


def serve() -> None:
    run(sys.executable, ROOT / "tests" / "container.py", PYTHONPATH=str(ROOT / "src"), **ONE_THREAD)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        {"lowest": lowest, "wheel": wheel, "triton": triton, "serve": serve}.get(name, lambda name=name: newest(name))()
