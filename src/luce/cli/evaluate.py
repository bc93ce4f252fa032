"""`luce evaluate`: how good models or run files are on judged lists."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Empty, Gain, Json, Metrics, Reading, Seed, Threads, empty_value
from luce.cli.output import show_json
from luce.cli.reading import read_data
from luce.errors import OptionError

Files = Annotated[list[Path], typer.Argument(metavar="MODEL... DATA", help="Model or TREC run files, then the data.")]
Highest = Annotated[float | None, typer.Option(help="Highest grade, for err; the model's own by default.")]
PerList = Annotated[Path | None, typer.Option(help="CSV file to write with the value of every list.")]


def evaluate(
    files: Files,
    metrics: Metrics = "ndcg@1,ndcg@5,ndcg@10,err",
    empty: Empty = "skip",
    gain: Gain = "exponential",
    max_grade: Highest = None,
    per_list: PerList = None,
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Measure models (.luce) or rankings (TREC .run) on judged lists, with 95 % intervals.

    Example: luce evaluate model.luce test.txt --metrics ndcg@10,err

    Example: luce evaluate bm25.run judged.qrels
    """
    import luce

    if len(files) < 2:
        raise OptionError("luce evaluate needs a model or a run file, and then the data.")
    *sources, data = files
    settings: dict[str, Any] = {"empty": empty_value(empty), "gain": gain, "random_state": seed, "n_jobs": threads}
    results = {}
    for source in sources:
        scores, dataset, grade = _scored(source, data, read)
        highest = grade if max_grade is None else max_grade
        results[str(source)] = luce.evaluate(scores, dataset, metrics, max_grade=highest, **settings)
    if per_list is not None:
        _write_lists(per_list, results)
    if json:
        show_json({name: result.to_dict() for name, result in results.items()})
        return
    for name, result in results.items():
        print(f"{name} on {data}\n{result}")


def _scored(source: Path, data: Path, reading: list[str] | None) -> tuple[Any, Any, float | None]:
    """Scores, the lists they are of, and the highest grade the source knows of."""
    import luce

    if source.suffix == ".run":
        return (*luce.read_run(source, read_data(data, reading)), None)
    ranker = luce.load(source)
    dataset = read_data(data, reading, *ranker.features)
    return ranker.predict(dataset), dataset, ranker.max_grade_


def _write_lists(path: Path, results: dict[str, Any]) -> None:
    import pyarrow as pa
    from pyarrow import csv

    from luce.files import replacing

    tables = [
        result.table().add_column(0, "source", pa.array([name] * result.n_lists)) for name, result in results.items()
    ]
    with replacing(path) as partial:
        csv.write_csv(pa.concat_tables(tables), partial)
