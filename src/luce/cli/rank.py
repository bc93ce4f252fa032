"""`luce rank`: the lists of a file, ordered by a model or drawn from its policy."""

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Data, ModelFile, Reading, Seed
from luce.cli.output import check_written, csv_to, replacing, say, visible
from luce.cli.reading import read_for
from luce.errors import OptionError, unknown_name

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write: .csv, .parquet, .jsonl or .run (TREC).")
]
Format = Annotated[
    str | None, typer.Option(help="Output format: csv, parquet, jsonl or run. (default: by the extension of the file)")
]
Top = Annotated[
    int | None,
    typer.Option(min=1, help="Number of items per list, or of labels per row. (default: all items, 10 labels)"),
]

Sample = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of rankings to sample per list from the Plackett-Luce policy, instead of the one best."
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        help="Temperature of the sampled rankings: below 1 closer to the order of the scores, above 1 more random."
    ),
]


def rank(
    model: ModelFile,
    data: Data,
    output: Output = None,
    format: Format = None,
    top: Top = None,
    sample: Sample = None,
    temperature: Temperature = None,
    seed: Seed = 0,
    read: Reading = None,
) -> None:
    """Rank the items of each list, or the labels of each row, best first: as CSV on standard output, or to a file.

    The column row counts the rows of DATA from 1, with the rows of each list together.

    Example: luce rank model.luce test.txt --top 10 -o test.run

    Example: luce rank model.luce test.txt --sample 10 --seed 1 --temperature 0.5 --top 5 -o sampled.csv
    """
    from luce.files import atomic_write
    from luce.rankers import Ranker, load_ranker

    kind = format or ("csv" if output is None else output.suffix.lstrip("."))
    if kind not in WRITERS:
        raise unknown_name("ranking format", kind, WRITERS)
    if sample is None and temperature is not None:
        raise OptionError("--temperature applies to sampled rankings only: add --sample with their number.")
    if sample is not None and kind == "run":
        raise OptionError("A TREC run has one ranking per query. Write sampled rankings as csv, parquet or jsonl.")
    check_written([output], [model, data])
    ranker = load_ranker(model)
    dataset = read_for(ranker, data, read, judged=False)
    if sample is None:
        ranking = ranker.rank(dataset, **({} if top is None else {"top": top}))
    elif not isinstance(ranker, Ranker):
        raise OptionError("--sample needs a ranker of lists, and this model ranks labels. Leave out --sample.")
    else:
        ranking = _drawn(ranker, dataset, sample, top, 1.0 if temperature is None else temperature, seed)
    ranking = _rows_from_one(ranking)
    if output is None:
        _print(ranking, kind)
        return
    name = replacing(output)
    with atomic_write(output) as partial, open(partial, "wb") as file:
        WRITERS[kind](ranking, file)
    say(f"{name}: {ranking.num_rows:,} rows")


def _rows_from_one(ranking: Any) -> Any:
    """Row numbers as people and editors count them; in Python they are indices."""
    import pyarrow.compute as pc

    if "row" not in ranking.column_names:
        return ranking
    at = ranking.column_names.index("row")
    return ranking.set_column(at, "row", pc.add(ranking.column(at), 1))


def _print(ranking: Any, kind: str) -> None:
    """The bytes as they are for a program or a file, and for a terminal without what it would obey."""
    if not sys.stdout.isatty():
        WRITERS[kind](ranking, sys.stdout.buffer)
        return
    written = io.BytesIO()
    WRITERS[kind](ranking, written)
    sys.stdout.write(visible(written.getvalue().decode(errors="backslashreplace")))


def _drawn(ranker: Any, dataset: Any, sample: int, top: int | None, temperature: float, seed: int) -> Any:
    from luce.policy import Policy
    from luce.policy.table import rankings_table

    policy = Policy.of(ranker, dataset, temperature)
    return rankings_table(policy, policy.sample(sample, depth=top, seed=seed), dataset)


def _write_parquet(ranking: Any, file: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(ranking, file)


def _write_json_lines(ranking: Any, file: Any) -> None:
    import json

    for batch in ranking.to_batches(max_chunksize=65_536):
        file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode())


def _write_run(ranking: Any, file: Any) -> None:
    """A TREC run; items without a document id are named by their row from 1, labels by their number."""
    from luce.data.trec import run_lines

    query = "query" if "query" in ranking.column_names else "row"
    document = next(name for name in ("document", "label", "row") if name in ranking.column_names)
    for batch in ranking.to_batches(max_chunksize=65_536):
        file.write(run_lines(*(batch.column(name) for name in (query, document, "rank", "score"))))


WRITERS = {"csv": csv_to, "parquet": _write_parquet, "jsonl": _write_json_lines, "run": _write_run}
