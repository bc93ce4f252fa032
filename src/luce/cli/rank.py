"""`luce rank`: the lists of a file, ordered by a model or drawn from its policy."""

import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Data, ModelFile, Reading, Seed
from luce.cli.output import check_written, csv_to, replacing, say, visible
from luce.cli.reading import in_blocks, list_stream, read_for
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

    The column row counts the rows of DATA from 1, with the rows of each list together. Parquet, Arrow and .luce-data
    files may be larger than memory: they are ranked list after list, if the rows of each list are together.

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
    if sample is None:
        rankings = _ranked(ranker, data, read, top)
    elif not isinstance(ranker, Ranker):
        raise OptionError("--sample needs a ranker of lists, and this model ranks labels. Leave out --sample.")
    else:
        dataset = read_for(ranker, data, read, judged=False)
        rankings = iter([_drawn(ranker, dataset, sample, top, 1.0 if temperature is None else temperature, seed)])
    rankings = map(_rows_from_one, rankings)
    if output is None:
        _print(rankings, kind)
        return
    name = replacing(output)
    with atomic_write(output) as partial, open(partial, "wb") as file:
        n_rows = WRITERS[kind](rankings, file)
    say(f"{name}: {n_rows:,} rows")


def _ranked(ranker: Any, data: Path, read: list[str] | None, top: int | None) -> Iterator[Any]:
    """The rankings of all lists in one table after another, or of all rows in one where the model ranks labels."""
    import pyarrow as pa

    from luce.rankers import Ranker
    from luce.rankers.bulk import rank_datasets

    if not isinstance(ranker, Ranker):
        return iter([ranker.rank(read_for(ranker, data, read), **({} if top is None else {"top": top}))])
    datasets = list_stream(ranker, data, read) or in_blocks(read_for(ranker, data, read, judged=False))
    return (pa.Table.from_batches([batch]) for batch in rank_datasets(ranker, datasets, top))


def _rows_from_one(ranking: Any) -> Any:
    """Row numbers as people and editors count them; in Python they are indices."""
    import pyarrow.compute as pc

    if "row" not in ranking.column_names:
        return ranking
    at = ranking.column_names.index("row")
    return ranking.set_column(at, "row", pc.add(ranking.column(at), 1))


def _print(rankings: Iterable[Any], kind: str) -> None:
    """The bytes as they are for a program or a file, and for a terminal without what it would obey."""
    if not sys.stdout.isatty():
        WRITERS[kind](rankings, sys.stdout.buffer)
        return
    written = io.BytesIO()
    WRITERS[kind](rankings, written)
    sys.stdout.write(visible(written.getvalue().decode(errors="backslashreplace")))


def _drawn(ranker: Any, dataset: Any, sample: int, top: int | None, temperature: float, seed: int) -> Any:
    from luce.policy import Policy
    from luce.policy.table import rankings_table

    policy = Policy.of(ranker, dataset, temperature)
    return rankings_table(policy, policy.sample(sample, depth=top, seed=seed), dataset)


def _write_csv(rankings: Iterable[Any], file: Any) -> int:
    n_rows = 0
    for ranking in rankings:
        csv_to(ranking, file, header=n_rows == 0)
        n_rows += ranking.num_rows
    return n_rows


def _write_parquet(rankings: Iterable[Any], file: Any) -> int:
    from pyarrow import parquet

    n_rows, writer = 0, None
    for ranking in rankings:
        writer = writer or parquet.ParquetWriter(file, ranking.schema)
        writer.write_table(ranking)
        n_rows += ranking.num_rows
    if writer is not None:
        writer.close()
    return n_rows


def _write_json_lines(rankings: Iterable[Any], file: Any) -> int:
    import json

    n_rows = 0
    for batch in _batches(rankings):
        file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode())
        n_rows += batch.num_rows
    return n_rows


def _write_run(rankings: Iterable[Any], file: Any) -> int:
    """A TREC run; items without a document id are named by their row from 1, labels by their number."""
    from luce.data.trec import run_lines

    n_rows = 0
    for batch in _batches(rankings):
        names = batch.schema.names
        query = "query" if "query" in names else "row"
        document = next(name for name in ("document", "label", "row") if name in names)
        file.write(run_lines(*(batch.column(name) for name in (query, document, "rank", "score"))))
        n_rows += batch.num_rows
    return n_rows


def _batches(rankings: Iterable[Any]) -> Iterator[Any]:
    return (batch for ranking in rankings for batch in ranking.to_batches(max_chunksize=65_536))


WRITERS = {"csv": _write_csv, "parquet": _write_parquet, "jsonl": _write_json_lines, "run": _write_run}
"""Each writes the tables of rankings as they come, and returns the number of rows."""
