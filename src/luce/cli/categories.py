"""`luce aggregate --by`: the rankings of each category, and a model of each."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from luce.cli.output import progress, say
from luce.errors import DataError, LuceWarning, OptionError, unknown_name


def read_categories(
    files: Sequence[Path], by: str | None, format: str | None, options: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The rankings of the files, and those of each category, the largest first."""
    from luce.aggregation import read_rankings

    if by is None:
        return read_rankings(list(files), format=format, **options), {}
    tables = [_table(file, by, format) for file in files]
    ranker = options.get("ranker")
    # The rankings are read a second time with the categories as their rankers, so that every format has them.
    others = [table if ranker in (None, by) else table.drop_columns([ranker]) for table in tables]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuceWarning)
        grouped = read_rankings(others, format=format, **{**options, "ranker": by})
    own = [table if ranker == by else table.drop_columns([by]) for table in tables]
    rankings = read_rankings(own, format=format, **options)
    parts = {
        str(name): part_of(rankings, grouped.rankers == code)
        for code, name in enumerate(grouped.ranker_names)
        if name != ""
    }
    return rankings, dict(sorted(parts.items(), key=lambda part: -part[1].weights.sum()))


def _table(file: Path, by: str, format: str | None) -> Any:
    """The table in a file, with text, or nothing, in the column of categories."""
    import pyarrow as pa

    from luce.data.table_files import read_table, table_format

    if format == "preflib" or table_format(file) is None:
        raise OptionError(f"--by needs tables (CSV, Parquet, Arrow), which have columns. Got {file.name}.")
    table = read_table(file)
    if by not in table.column_names:
        raise unknown_name(f"column in {file.name}", by, table.column_names)
    text = table.column(by).cast(pa.string()).fill_null("")
    return table.set_column(table.column_names.index(by), by, text)


def part_of(rankings: Any, chosen: Any) -> Any:
    """Some of the rankings, without the items that they neither rank nor have below them."""
    import numpy as np

    from luce.aggregation import Rankings

    part = rankings.take(np.flatnonzero(chosen))
    used = np.unique(part.pool[part.pool >= 0])
    seen = np.unique(np.concatenate([part.items, *(part.pools[pool] for pool in used)]))
    code = np.zeros(part.n_items, np.int64)
    code[seen] = np.arange(len(seen))
    number = np.full(len(part.pools) + 1, -1)
    number[used] = np.arange(len(used))
    return Rankings(
        items=code[part.items],
        places=part.places,
        offsets=part.offsets,
        open_end=part.open_end,
        pool=number[part.pool],  # −1 reads the last
        pools=tuple(code[part.pools[pool]] for pool in used),
        weights=part.weights,
        rankers=part.rankers,
        ranker_names=part.ranker_names,
        names=tuple(part.names[each] for each in seen),
    )


def fit_categories(model: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    """A model for each category with the settings of the one given; warnings and errors name the category."""
    from sklearn.base import clone

    fitted = {}
    with progress("Categories") as report:
        for number, (name, rankings) in enumerate(parts.items()):
            report(number / len(parts), name)
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", LuceWarning)
                    fitted[name] = clone(model).fit(rankings)
            except DataError as error:
                raise DataError(f"Category {name!r}: {error}") from error
            for each in caught:
                say(f"Category {name!r}: {each.message}", "Note")
    return fitted
