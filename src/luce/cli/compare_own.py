"""The models and scores of the user's own that `luce compare --with` adds to a comparison."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from luce.cli.output import say
from luce.cli.reading import Features, columns_of, read_column, read_data
from luce.errors import DataError, OptionError

PICKLES = (".pkl", ".pickle", ".joblib", ".dill")


class OwnModel(NamedTuple):
    """A model file, or a column of the test data."""

    name: str
    file: Path | None
    column: str | None


def own_models(given: list[str] | None, test: Path | None, reading: list[str] | None) -> dict[str, OwnModel]:
    """What each NAME=FILE or NAME=COLUMN means, by name."""
    if given and test is None:
        raise OptionError(
            "--with needs --test. A model that is trained already may have been trained on lists of DATA, and its "
            "metrics on them would be too high: give lists that it was not trained on."
        )
    found: dict[str, OwnModel] = {}
    for word in given or []:
        name, equals, source = (part.strip() for part in word.partition("="))
        if not (equals and name and source) or name in found:
            raise OptionError(f"--with must be NAME=FILE or NAME=COLUMN, each name once. Got {word!r}.")
        found[name] = _own_model(name, source, test, reading)  # type: ignore[arg-type]
    return found


def _own_model(name: str, source: str, test: Path, reading: list[str] | None) -> OwnModel:
    from luce.experiments.peers.model_files import MODEL_FORMATS, model_format

    if model_format(Path(source)) is not None:
        return OwnModel(name, Path(source), None)
    columns = columns_of(test, reading)
    if source in columns:
        return OwnModel(name, None, source)
    known = ", ".join(each.title for each in MODEL_FORMATS)
    there = f"{source} is not a model file of a known format" if Path(source).exists() else f"there is no file {source}"
    hint = ""
    if Path(source).suffix.lower() in PICKLES:
        hint = " A pickle can run any code when it is loaded, so none is: save the model in the format of its library."
    table = f"{test} has no such column: {', '.join(columns)}" if columns else f"{test} is not a table with columns"
    raise OptionError(
        f"--with {name}={source} must name a model file ({known}) or a column of the test data. "
        f"But {there}, and {table}.{hint}"
    )


def own_scores(
    models: Mapping[str, OwnModel],
    test: Path,
    dataset: Any,
    reading: list[str] | None,
    threads: int | None,
    isolate: bool,
) -> tuple[dict[str, Any], dict[str, str]]:
    """The scores of the rows of the test data by name, and where they come from."""
    from luce.experiments.peers.model_files import model_process

    scores, origins = {}, {}
    with model_process(isolate and any(model.file is not None for model in models.values())) as call:
        for name, model in models.items():
            if model.file is None:
                scores[name] = _column(test, str(model.column), dataset, reading)
                origins[name] = f"scores in column {model.column}"
            else:
                scores[name], title = _file_scores(call, name, model.file, test, dataset, reading, threads)
                origins[name] = f"{title}, file {model.file}"
    return scores, origins


def _column(test: Path, column: str, dataset: Any, reading: list[str] | None) -> Any:
    import numpy as np

    from luce.arrays import list_of_row

    scores = read_column(test, reading, column)
    missing = np.flatnonzero(np.isnan(scores))
    if len(missing):
        query = dataset.query_ids[int(list_of_row(dataset.offsets)[missing[0]])].as_py()
        raise DataError(
            f"Column {column!r} of {test} must have a score in every row. It is empty in {len(missing):,} of "
            f"{len(scores):,} rows, the first in list {query}."
        )
    return scores


def _file_scores(
    call: Callable[..., Any],
    name: str,
    file: Path,
    test: Path,
    dataset: Any,
    reading: list[str] | None,
    threads: int | None,
) -> tuple[Any, str]:
    """The scores of a model file, with features matched by name where the model and the data have names."""
    from luce.data.alignment import aligned, picked
    from luce.experiments.peers.model_files import features_of, scores_of

    features = call(features_of, file)
    columns = columns_of(test, reading)
    if features.names and columns:
        others = [word for word in reading or [] if not word.startswith(("features=", "exclude="))]
        names = _matched(features.names, columns, file, test)
        coded = [name for name, values in zip(names, features.categories or (), strict=False) if values is not None]
        dataset = read_data(test, others, Features(names=names, categorical=coded or None))
    elif features.names and dataset.feature_names:
        names = _matched(features.names, dataset.feature_names, file, test)
        dataset = picked(dataset, names)
    else:
        unnamed = test if features.names else file
        say(f"The {features.n_features} features of {name} are matched by position: {unnamed} has no feature names.")
        if not columns and dataset.n_features != features.n_features:  # text may end before the last feature
            dataset = read_data(test, reading, Features(features.n_features))
    known = features.categories if dataset.n_features == features.n_features else None
    none = (None,) * dataset.n_features
    for column, (given, expected) in enumerate(zip(dataset.categories or none, known or none, strict=True)):
        if given is not None and expected is None:
            raise DataError(
                f"{file} does not contain the numbering of categories such as {dataset.feature_name(column)!r} of "
                f"{test}: give the scores of the model as a column."
            )
    return call(scores_of, file, aligned(dataset, None, known), threads), features.title


def _matched(wanted: Sequence[str], names: Sequence[str], file: Path, test: Path) -> list[str]:
    """The names as the data have them; LightGBM writes underscores for spaces."""
    written = {name.replace(" ", "_"): name for name in names} | {name: name for name in names}
    missing = [repr(name) for name in wanted if name not in written]
    if missing:
        shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        raise DataError(
            f"{file} was trained with {len(wanted)} features, of which {test} lacks {len(missing)}: {shown}. "
            "Add these columns to the test data, or give the scores of the model as a column."
        )
    return [written[name] for name in wanted]
