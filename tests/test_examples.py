"""The examples run as they are, improve the ranking, and write the reports that they print."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from luce.cli import app

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
RANKED_IN_BULK = {"ray_data": "ray", "spark": "pyspark"}
CLUSTERS = {"ray_train": "ray", "spark_torch_distributor": "pyspark"}
"""Programs that start processes of packages that Luce does not need; what those warn of is their own."""


def runnable(path):
    needs = path.stem in RANKED_IN_BULK
    marks = [pytest.mark.filterwarnings("ignore"), pytest.mark.multiprocess] if needs else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("path", [runnable(path) for path in EXAMPLES if path.stem not in CLUSTERS])
def test_example_improves_the_ranking(path, tmp_path, monkeypatch, capsys):
    if path.stem in RANKED_IN_BULK:
        pytest.importorskip(RANKED_IN_BULK[path.stem])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUCE_THREADS", "2")
    found = runpy.run_path(str(path))
    assert found["after"] > found["before"] + 0.03
    said = capsys.readouterr().out
    assert len(said.splitlines()) >= 1
    for page in re.findall(r"Report: (\S+\.html)", said):
        assert "</html>" in (tmp_path / page).read_text(encoding="utf-8")
    assert ("page" in found) == ("Report:" in said)


@pytest.mark.multiprocess
@pytest.mark.parametrize(("name", "package"), CLUSTERS.items())
def test_a_cluster_on_this_machine_improves_the_ranking(name, package, tmp_path):
    pytest.importorskip(package)
    words, variables = [sys.executable, FOLDER / f"{name}.py"], {**os.environ, "LUCE_THREADS": "1"}
    ran = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stderr
    before, after = re.search(r"NDCG@10 (\S+) of equal scores, (\S+) after", ran.stdout).groups()
    assert float(after) > float(before) + 0.03


def command_of(file):
    """The words after the command `luce` in a script or a manifest."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    if file.endswith(".yaml"):
        yaml = pytest.importorskip("yaml")
        job = next(part for part in yaml.safe_load_all(text) if part["kind"] == "Job")
        words = job["spec"]["template"]["spec"]["containers"][0]["command"]
    else:
        words = shlex.split(text.replace("\\\n", ""), comments=True)
        words = [re.sub(r"^\$SLURM_\w+$", "16", word) for word in words]
    return words[words.index("luce") + 1 :]


@pytest.mark.parametrize("file", ["kubernetes.yaml", "slurm.sh"])
def test_the_command_of_a_job_is_understood(file):
    name, *words = command_of(file)
    understood = get_command(app).commands[name].make_context(name, words)
    assert not understood.args
    assert understood.params["model"] == "trees"
    assert understood.params["resume"]
    assert f"| [{file}]({file}) |" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_listed_and_can_be_read_at_one_sitting(path):
    assert f"| [{path.name}]({path.name}) |" in (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 90


def test_the_index_lists_no_others():
    listed = re.findall(r"^\| \[(\w+\.py)\]", (FOLDER / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(listed) == [path.name for path in EXAMPLES]
