"""`luce card`: a page about a model."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Json, Metrics, ModelFile, Reading, Seed, Threads
from luce.cli.output import check_written, command_line, plain_text, progress, replacing, say, show_json
from luce.cli.reading import read_for
from luce.errors import DataError

TestData = Annotated[
    Path | None, typer.Option("--data", metavar="DATA", help="Judged lists, not those of the training, to evaluate on.")
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="HTML", help="Page to write.")]
Notes = Annotated[Path | None, typer.Option(help="Text file on the intended use; empty lines separate paragraphs.")]
Repeats = Annotated[int, typer.Option(min=0, help="Number of times each feature is shuffled; 0 leaves that out.")]

LONGEST_NOTES = 100_000
"""Characters."""


def card(
    model: ModelFile,
    data: TestData = None,
    output: Output = Path("card.html"),
    notes: Notes = None,
    metrics: Metrics = "ndcg@10,ndcg@5,mrr,map",
    repeats: Repeats = 3,
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Write a model card: what a model is for, what it was trained on, its features by importance, and caveats.

    With --data, also metrics with 95 % confidence intervals, what the first of them loses when a feature is shuffled,
    and caveats from comparing the data with those of the training.

    Example: luce card model.luce --data test.txt -o card.html

    Example: luce card model.luce --data test.txt --notes use.txt --json
    """
    from luce.rankers import RANKERS, restore_ranker
    from luce.report.model_card import write_model_card
    from luce.storage import open_model

    check_written([output], [model, data, notes])
    paragraphs = [] if notes is None else _paragraphs(notes)
    manifest, arrays = open_model(model, RANKERS)
    ranker = restore_ranker(model, manifest, arrays, None)
    if threads is not None:
        ranker.set_params(n_jobs=threads)
    measured = {} if data is None else _measured(ranker, data, read, metrics, repeats, seed, threads)
    made = _card(ranker, model, manifest.get("versions"), paragraphs, measured)
    if json:
        facts = made.to_dict()
        show_json(facts | {"caveats": [*map(plain_text, facts["caveats"])]})
    name = replacing(output)
    about = {"title": f"Model card: {model.name}", "summary": made.summary, "settings": {}}
    write_model_card(output, made, command=command_line(), **about)
    say(name, "Report")


def _paragraphs(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} must be text in UTF-8. {error}") from error
    if len(text) > LONGEST_NOTES:
        raise DataError(f"{path} must have at most {LONGEST_NOTES:,} characters. Got {len(text):,}.")
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]


def _measured(
    ranker: Any, data: Path, read: list[str] | None, metrics: str, repeats: int, seed: int, threads: int | None
) -> dict[str, Any]:
    """What the data say of the model."""
    import numpy as np

    from luce.data.summary import summarize
    from luce.metrics import evaluate
    from luce.rankers import Ranker
    from luce.rankers.importance import permutation_importance
    from luce.report.caveats import data_caveats, metric_caveats

    dataset = read_for(ranker, data, read)
    if not isinstance(ranker, Ranker):
        return {"data": data.name, "results": ranker.evaluate(dataset, random_state=seed)}
    settings: dict[str, Any] = {"random_state": seed, "n_jobs": threads}
    settings["max_grade"] = max(ranker.max_grade_, float(np.fmax.reduce(dataset.labels, initial=0.0)))
    results = evaluate(ranker.predict(dataset), dataset, metrics, **settings)
    equal = evaluate(np.zeros(dataset.n_rows), dataset, metrics, **settings | {"n_bootstrap": 0})
    found: dict[str, Any] = {"data": data.name, "results": results, "equal_scores": equal}
    if repeats:
        with progress("Shuffling features") as report:
            first = next(iter(results.means))
            lost = permutation_importance(ranker, dataset, first, repeats=repeats, seed=seed, callback=report)
        found["importances"] = [lost]
    aligned, _ = ranker.check_input(dataset)
    compared = data_caveats(ranker, dataset, summarize(aligned), data.name)
    return found | {"caveats": [*metric_caveats(results, equal), *compared]}


def _card(ranker: Any, model: Path, versions: Any, notes: list[str], measured: dict[str, Any]) -> Any:
    from datetime import UTC, datetime
    from hashlib import sha256

    from luce.rankers.importance import learned_importance
    from luce.report.caveats import model_caveats
    from luce.report.formatting import amount
    from luce.report.model_card import ModelCard

    content = model.read_bytes()
    provenance = ranker.provenance_ or {"training": None, "validation": None}
    learned = learned_importance(ranker)
    importances = [*measured.pop("importances", []), *([] if learned is None else [learned])]
    return ModelCard(
        name=model.name,
        about={
            "File": f"{model.name}, {amount(len(content))}",
            "SHA-256": sha256(content).hexdigest(),
            "Trained with": ", ".join(f"{name} {number}" for name, number in dict(versions or {}).items()),
            "Date of this card": datetime.now(UTC).date().isoformat(),
        },
        description=ranker.describe(),
        progress=_progress(ranker),
        **provenance,
        notes=notes,
        caveats=[*model_caveats(ranker), *measured.pop("caveats", [])],
        importances=importances,
        usage={
            "On the command line:": f"luce rank {shlex.quote(model.name)} DATA --top 10",
            "In Python:": f"luce.load({model.name!r}).rank(data, top=10)",
        },
        **measured,
    )


def _progress(ranker: Any) -> dict[str, str]:
    """How the training ended, and what wrote the file."""
    from luce.report.formatting import count, decimal

    steps = len(ranker.history_)
    found = {"Training": count(steps, "bag" if ranker.n_bags > 1 else ranker.iteration_name)}
    if ranker.best_iteration_ < steps:
        found["Training"] += f", best {ranker.best_iteration_}"
    if ranker.best_score_ is not None:
        found["Validation score"] = f"{ranker.metric} {decimal(ranker.best_score_)}"
    return found
