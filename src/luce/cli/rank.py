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
Format = Annotated[str | None, typer.Option(help="csv, parquet, jsonl or run, whatever the ending.")]
Top = Annotated[int | None, typer.Option(min=1, help="How many of each list, all by default; of labels 10.")]

Sample = Annotated[
    int | None,
    typer.Option(min=1, help="Draw so many rankings of each list, likelier ones more often, instead of one."),
]
Temperature = Annotated[
    float | None,
    typer.Option(help="Of the rankings drawn: below 1 closer to the order of the scores, above 1 to chance."),
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
    """Order the items of each list, or the labels of each row, best first: as CSV on standard output, or to a file.

    Example: luce rank model.luce test.txt --top 10 -o test.run

    Example: luce rank model.luce test.txt --sample 10 --seed 1 --temperature 0.5 --top 5 -o sampled.csv
    """
    from luce.files import atomic_write
    from luce.rankers import Ranker, load

    kind = format or ("csv" if output is None else output.suffix.lstrip("."))
    if kind not in WRITERS:
        raise unknown_name("ranking format", kind, WRITERS)
    if sample is None and temperature is not None:
        raise OptionError("--temperature applies to sampled rankings: give their number with --sample.")
    if sample is not None and kind == "run":
        raise OptionError("A TREC run has one ranking per query: write sampled rankings as csv, parquet or jsonl.")
    check_written([output], [model, data])
    ranker = load(model)
    dataset = read_for(ranker, data, read, judged=False)
    if sample is None:
        ranking = ranker.rank(dataset, **({} if top is None else {"top": top}))
    elif not isinstance(ranker, Ranker):
        raise OptionError("Only rankings of lists can be sampled: a model of labels does not take --sample.")
    else:
        ranking = _drawn(ranker, dataset, sample, top, 1.0 if temperature is None else temperature, seed)
    if output is None:
        _print(ranking, kind)
        return
    name = replacing(output)
    with atomic_write(output) as partial, open(partial, "wb") as file:
        WRITERS[kind](ranking, file)
    say(f"{name}: {ranking.num_rows:,} rows")


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
    """A TREC run; items without a document id go by their row, labels by number."""
    from luce.data.trec import run_lines

    query = "query" if "query" in ranking.column_names else "row"
    document = next(name for name in ("document", "label", "row") if name in ranking.column_names)
    for batch in ranking.to_batches(max_chunksize=65_536):
        file.write(run_lines(*(batch.column(name) for name in (query, document, "rank", "score"))))


WRITERS = {"csv": csv_to, "parquet": _write_parquet, "jsonl": _write_json_lines, "run": _write_run}
