"""`luce demo`: from synthetic data to files, models and a report, in one command."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.evaluate import LIST_METRICS
from luce.cli.options import Overwrite, Seed, Threads
from luce.cli.output import check_new, replacing, say, show
from luce.errors import OptionError

Directory = Annotated[Path, typer.Option(help="Folder for the data, the model and the report.")]
Size = Annotated[int, typer.Option("--lists", min=30, help="Number of judged lists to generate.")]


def demo(
    directory: Directory = Path("luce-demo"),
    lists: Size = 600,
    overwrite: Overwrite = False,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Run the main workflow on synthetic data: train rankers, evaluate them and write a report.

    Example: luce demo --lists 1000
    """
    import numpy as np

    from luce.data import split, write
    from luce.data.synthetic import web_search
    from luce.metrics import compare_results, evaluate
    from luce.rankers.importance import permutation_importance
    from luce.report import write_report
    from luce.report.results import headline

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(
            f"--directory {directory} cannot be created: {error.strerror}. Choose another folder."
        ) from error
    for name in ("train.txt", "validation.txt", "test.txt", "model.luce"):
        check_new(directory / name, overwrite)
    synthetic = web_search(lists, n_features=40, mean_length=40, seed=seed, missing=0.02)
    parts = dict(zip(("train", "validation", "test"), split(synthetic.dataset, (0.6, 0.2, 0.2), seed), strict=True))
    for name, part in parts.items():
        write(part, directory / f"{name}.txt")
        say(f"{directory / name}.txt: {part!r}")

    rankers, costs = _fit(parts, seed, threads)
    rankers["listmle"].save(directory / "model.luce")
    test = parts["test"]
    scores = {"random order": np.random.default_rng(seed).random(test.n_rows)}
    scores |= {name: ranker.predict(test) for name, ranker in rankers.items()}
    results = {
        name: evaluate(value, test, LIST_METRICS, random_state=seed, n_jobs=threads) for name, value in scores.items()
    }
    for name, result in results.items():
        show(f"{name}\n{result}\n")

    best = max(rankers, key=lambda name: results[name].means["ndcg@10"])
    tests = compare_results(results, "ndcg@10", "random order")
    page = replacing(directory / "report.html")
    write_report(
        directory / "report.html",
        title="A first look at Luce",
        summary=f"{headline(results, 'ndcg@10', tests)} Evaluated on {test.n_lists} lists.",
        command=f"luce demo --lists {lists} --seed {seed}",
        dataset=test,
        results=results,
        comparisons={"ndcg@10": tests},
        costs=costs,
        histories={name: ranker.history_ for name, ranker in rankers.items()},
        validation_metric=rankers["listmle"].metric,
        scores=scores,
        importances={best: permutation_importance(rankers[best], test, repeats=2, seed=seed)},
        settings={"ranker": "linear", "objectives": ", ".join(rankers), "lists": str(lists), "seed": str(seed)},
    )
    program = "luce" if shutil.which("luce") else sys.argv[0]  # outside its environment `luce` is not found
    train_file, held_out, test_file, mine = (
        str(directory / name) for name in ("train.txt", "validation.txt", "test.txt", "mine.luce")
    )
    say("\nNow try:")
    for words in (
        ("inspect", train_file),
        ("train", train_file, "--validation", held_out, "-o", mine),
        ("evaluate", mine, test_file),
    ):
        say(f"  {shlex.join([program, *words])}")
    say(page, "Report")


def _fit(parts: dict[str, Any], seed: int, threads: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rankers of the demonstration, and the cost of each."""
    from luce.cli.rankers import fit, make_ranker
    from luce.compilation import working_time
    from luce.report import Cost

    rankers, costs = {}, {}
    for name in ("listnet", "listmle", "pl-partition"):
        start = working_time()
        rankers[name] = make_ranker("linear", name, None, {}, seed, threads)
        fit(rankers[name], parts["train"], parts["validation"], f"Training {name}")
        costs[name] = Cost(working_time() - start)
    return rankers, costs
