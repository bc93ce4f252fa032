"""`luce export`: a model as a file of a search engine or another library, checked by the rule of that engine."""

from pathlib import Path
from typing import Annotated

import typer

from luce.cli.options import Json, ModelFile, Overwrite, Reading
from luce.cli.output import check_new, check_written, say, show, show_json
from luce.cli.reading import read_for
from luce.errors import OptionError, unknown_name

Format = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="elasticsearch or opensearch (Learning to Rank plugins), elasticsearch-native, solr, vespa, ranklib, "
        "lightgbm, treelite or onnx.",
    ),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="File to write; its name is that of the model there.")
]
CheckData = Annotated[
    Path | None,
    typer.Option(
        metavar="DATA", help="Data to check the file with. (default: rows made from the model, thresholds included)"
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(min=0, help="Largest difference of a score that is accepted; else nothing is written, exit status 1."),
]


def export(
    model: ModelFile,
    to: Format,
    output: Output,
    data: CheckData = None,
    tolerance: Tolerance = None,
    overwrite: Overwrite = False,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Write a model in the format of a search engine or another library, and check that it scores the same there.

    Before anything is written, rows are scored from the content of the file by the rule of the engine, in its float32
    arithmetic. Templates that the engine needs, such as the feature set, are written beside the file. What a format
    cannot express is refused.

    Example: luce export model.luce --to solr -o shop.json

    Example: luce export model.luce --to elasticsearch -o shop.json --data test.parquet --tolerance 1e-5
    """
    from luce.exports import EXPORTS, prepare
    from luce.rankers import load_ranker

    if to not in EXPORTS:
        raise unknown_name("export format", to, EXPORTS)
    if read is not None and data is None:
        raise OptionError("--read says how to read the data of --data: add --data, or leave out --read.")
    check_written([output], [model, data])
    ranker = load_ranker(model)
    prepared = prepare(ranker, to, output, data=None if data is None else read_for(ranker, data, read, judged=False))
    check_written(prepared.files, [model, data])
    for path in prepared.files:
        check_new(path, overwrite)
    exceeded = tolerance is not None and not prepared.check.within(tolerance)
    if not exceeded:
        prepared.write()
    if json:
        show_json(
            {"written": [] if exceeded else [str(path) for path in prepared.files], "check": vars(prepared.check)}
        )
    else:
        show(prepared.check)
    if exceeded:
        say(f"{output} was not written: a score differs by more than {tolerance:g}.", "Error")
        raise typer.Exit(1)
    for path in prepared.files:
        say(path, "Written")
