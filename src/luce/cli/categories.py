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
    import pyarrow.compute as pc

    from luce.aggregation import read_rankings
    from luce.aggregation.readers import read_named, read_rankings_by

    if by is None:
        return read_rankings(list(files), format=format, **options), {}
    tables = [_table(file, by, format, options) for file in files]
    all_rows = [table if by in options.values() else table.drop_columns([by]) for table in tables]
    rankings = read_named([str(file) for file in files], all_rows, format, options)
    missing = sum(table.column(by).null_count for table in tables)
    if missing:
        say(f"{missing:,} rows have no {by}; they are in no category.", "Note")
    named = [table.filter(pc.is_valid(table.column(by))) for table in tables]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuceWarning)  # what is left out is reported for all rankings
        parts = read_rankings_by(named, by, format=format, **options)
    found = {str(value): part for value, part in parts.items() if len(part)}
    return rankings, dict(sorted(found.items(), key=lambda part: -part[1].weights.sum()))


def _table(file: Path, by: str, format: str | None, options: Mapping[str, Any]) -> Any:
    """The table in a file, with categories as text or null; every ranking has one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from luce.data.table_files import read_table, table_format

    if format == "preflib" or table_format(file) is None:
        raise OptionError(f"--by needs tables (CSV, Parquet, Arrow), which have columns. Got {file.name}.")
    table = read_table(file, nulls=[""])
    if by not in table.column_names:
        raise unknown_name(f"column in {file.name}", by, table.column_names)
    text = table.column(by).cast(pa.string())
    table = table.set_column(table.column_names.index(by), by, pc.if_else(pc.equal(text, ""), None, text))
    ranking = options.get("ranking", "ranking")
    if ranking in table.column_names and ranking != by:
        values = table.group_by(ranking).aggregate([(by, "count_distinct", pc.CountOptions(mode="all"))])
        several = values.filter(pc.greater(values.column(f"{by}_count_distinct"), 1)).column(ranking)
        if len(several):
            raise DataError(f"{file}: ranking {several[0].as_py()!r} has more than one value of {by!r}, its category.")
    return table


def fit_categories(
    model: Any, parts: Mapping[str, Any], kind: str | None, elo: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A model for each category with the settings of the one given, and its table; messages name the category."""
    from sklearn.base import clone

    from luce.report.leaderboard import leaderboard

    fitted, tables = {}, {}
    with progress("Categories") as report:
        for number, (name, rankings) in enumerate(parts.items()):
            report(number / len(parts), name)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", LuceWarning)
                try:
                    fitted[name] = clone(model).fit(rankings)
                    rated = elo is not None and _has_worth(fitted[name], elo["anchor"])
                    tables[name] = leaderboard(fitted[name], kind=kind, elo=elo if rated else None)
                except DataError as error:
                    raise DataError(f"Category {name!r}: {error}") from error
            for each in caught:
                say(f"Category {name!r}: {each.message}", "Note")
            if elo is not None and not rated:
                say(f"Category {name!r} has no ratings: {elo['anchor'][0]!r}, the anchor, has no worth in it.", "Note")
    return fitted, tables


def _has_worth(model: Any, anchor: Any) -> bool:
    """Whether the anchor is a mean rating, or an item with a worth in this model."""
    return not isinstance(anchor, tuple) or (anchor[0] in model.names_ and anchor[0] not in model.not_estimable_)
