"""`luce rank`: the lists of a file, ordered by a model."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Data, Reading
from luce.cli.output import say
from luce.cli.reading import read_data
from luce.errors import unknown_name

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `luce train` wrote.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write: .csv, .parquet, .jsonl or .run (TREC).")
]
Format = Annotated[str | None, typer.Option(help="csv, parquet, jsonl or run, whatever the ending.")]
Top = Annotated[int | None, typer.Option(min=1, help="How many of each list.")]


def rank(
    model: Model, data: Data, output: Output = None, format: Format = None, top: Top = None, read: Reading = None
) -> None:
    """Order the items of each list, best first: as CSV on standard output, or to a file.

    Example: luce rank model.luce test.txt --top 10 -o test.run
    """
    from luce.files import replacing
    from luce.rankers import load

    kind = format or ("csv" if output is None else output.suffix.lstrip("."))
    if kind not in WRITERS:
        raise unknown_name("ranking format", kind, WRITERS)
    ranker = load(model)
    ranking = ranker.rank(read_data(data, read, *ranker.features), top=top)
    if output is None:
        WRITERS[kind](ranking, sys.stdout.buffer)
        return
    with replacing(output) as partial, open(partial, "wb") as file:
        WRITERS[kind](ranking, file)
    say(f"{output}: {ranking.num_rows:,} rows")


def _write_csv(ranking: Any, file: Any) -> None:
    from pyarrow import csv

    csv.write_csv(ranking, file)


def _write_parquet(ranking: Any, file: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(ranking, file)


def _write_json_lines(ranking: Any, file: Any) -> None:
    import json

    for batch in ranking.to_batches(max_chunksize=65_536):
        file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode())


def _write_run(ranking: Any, file: Any) -> None:
    """TREC run: `query Q0 document rank score tag`; items without a document id go by their row."""
    document = "document" if "document" in ranking.column_names else "row"
    for batch in ranking.to_batches(max_chunksize=65_536):
        columns = (batch.column(name).to_pylist() for name in ("query", document, "rank", "score"))
        lines = (
            f"{query} Q0 {item} {place} {score!r} luce\n" for query, item, place, score in zip(*columns, strict=True)
        )
        file.write("".join(lines).encode())


WRITERS = {"csv": _write_csv, "parquet": _write_parquet, "jsonl": _write_json_lines, "run": _write_run}
