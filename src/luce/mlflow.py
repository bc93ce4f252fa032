"""Luce for MLflow: a flavor that saves, logs and loads rankers, and METRICS for `mlflow.models.evaluate`."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from luce.errors import OptionError, load_package
from luce.metrics import evaluate, parse_metrics
from luce.rankers import LabelRanker, Ranker, load_ranker

pd: Any = load_package("pandas", "mlflow")
load_package("mlflow", "mlflow")

import mlflow  # noqa: E402
from mlflow import pyfunc  # noqa: E402
from mlflow.models import Model, ModelSignature, make_metric  # noqa: E402
from mlflow.models.model import MLMODEL_FILE_NAME, ModelInfo  # noqa: E402
from mlflow.models.utils import _save_example  # noqa: E402
from mlflow.tracking.artifact_utils import _download_artifact_from_uri  # noqa: E402
from mlflow.types import ColSpec, DataType, Schema, TensorSpec  # noqa: E402
from mlflow.types.schema import AnyType  # noqa: E402
from mlflow.utils import environment  # noqa: E402
from mlflow.utils.model_utils import (  # noqa: E402
    _get_flavor_configuration,
    _validate_and_prepare_target_save_path,
)

__all__ = [
    "get_default_conda_env",
    "get_default_pip_requirements",
    "infer_signature",
    "load_model",
    "log_model",
    "ranking_metrics",
    "save_model",
]

FLAVOR_NAME = "luce"
FILE = "model.luce"
QUERY = "query"
"""The column of a data frame with the query of each row, unless another one is named."""

MOST_EXAMPLE_COLUMNS = 1_000
"""An input example of more columns is not written unasked."""


def save_model(
    ranker: Any,
    path: str | os.PathLike[str],
    *,
    query: str = QUERY,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    conda_env: Any = None,
    pip_requirements: Any = None,
    extra_pip_requirements: Any = None,
    metadata: Mapping[str, Any] | None = None,
    mlflow_model: Model | None = None,
) -> None:
    """Save a ranker as an MLflow model in a local folder: its `.luce` file, and what MLflow knows of it.

    Parameters
    ----------
    ranker : Ranker or LabelRanker
        A fitted ranker of any kind.
    path : str or path-like
        The folder, which must not exist or be empty.
    query : str, default="query"
        The column with the query of each row in the data frames that the model will be given as a pyfunc. It may be
        missing unless the score of an item depends on the rest of its list.
    signature : ModelSignature, optional
        By default `infer_signature(ranker, query)`.
    input_example : data frame or array-like, optional
        By default one list of two items whose features are 0 or the first category.
    conda_env, pip_requirements, extra_pip_requirements : optional
        As in the flavors of MLflow; by default `get_default_pip_requirements(ranker)`.
    metadata : mapping, optional
        Stored in the file MLmodel.
    mlflow_model : mlflow.models.Model, optional
        The model that the flavor is added to.

    Examples
    --------
    >>> import tempfile, luce, luce.mlflow
    >>> from pathlib import Path
    >>> data = luce.from_arrays([[1.0], [3.0], [2.0]], [0, 2, 1], ["q", "q", "q"], feature_names=["bm25"])
    >>> ranker = luce.LinearRanker().fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     luce.mlflow.save_model(ranker, Path(folder) / "model")
    ...     loaded = luce.mlflow.load_model(Path(folder) / "model")
    >>> bool((loaded.predict(data) == ranker.predict(data)).all())
    True
    """
    _check_ranker(ranker, query)
    environment._validate_env_arguments(conda_env, pip_requirements, extra_pip_requirements)
    path = os.path.abspath(path)
    _validate_and_prepare_target_save_path(path)
    model = Model() if mlflow_model is None else mlflow_model
    _save_example(model, _example(ranker, query) if input_example is None else input_example, path)
    model.signature = infer_signature(ranker, query) if signature is None else signature
    if metadata is not None:
        model.metadata = dict(metadata)
    ranker.save(Path(path) / FILE)
    env = {"conda_env": environment._CONDA_ENV_FILE_NAME, "python_env": environment._PYTHON_ENV_FILE_NAME}
    pyfunc.add_to_model(model, loader_module="luce.mlflow", data=FILE, model_config={"query": query}, **env)
    facts = {"kind": ranker.kind, "objective": str(ranker.get_objective()), "luce_version": version("luce")}
    model.add_flavor(FLAVOR_NAME, data=FILE, query=query, **facts)
    model.save(os.path.join(path, MLMODEL_FILE_NAME))
    _write_environment(ranker, Path(path), conda_env, pip_requirements, extra_pip_requirements)


def log_model(ranker: Any, name: str, *, registered_model_name: str | None = None, **given: Any) -> ModelInfo:
    """Log a ranker in the active run of MLflow, or a new one, and register it if a name is given for that.

    Parameters
    ----------
    ranker : Ranker or LabelRanker
        A fitted ranker of any kind.
    name : str
        The name of the logged model.
    registered_model_name : str, optional
        The model of the registry of which this becomes a new version.
    **given
        Further arguments of `save_model` and of `mlflow.models.Model.log`, such as `params`, `tags` and `step`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        What was logged; `model_uri` is what `load_model` and `mlflow.pyfunc.load_model` take.
    """
    flavor = sys.modules[__name__]
    return Model.log(None, flavor, registered_model_name, name=name, ranker=ranker, **given)


def load_model(model_uri: str | os.PathLike[str], dst_path: str | None = None) -> Any:
    """The ranker of a saved or logged model, ready to score and rank.

    Parameters
    ----------
    model_uri : str or path-like
        A folder, or a URI such as "models:/NAME/VERSION" or "runs:/RUN/NAME".
    dst_path : str, optional
        The local folder to download to.

    Returns
    -------
    Ranker or LabelRanker
        The fitted ranker.
    """
    folder = _download_artifact_from_uri(artifact_uri=os.fspath(model_uri), output_path=dst_path)
    flavor = _get_flavor_configuration(model_path=folder, flavor_name=FLAVOR_NAME)
    return load_ranker(Path(folder) / flavor["data"])


def infer_signature(ranker: Any, query: str = QUERY) -> ModelSignature:
    """The signature of a ranker: its features by name, categories as text, and the query; the scores it gives.

    Without feature names the input is an array; if the score of an item depends on the rest of its list, a data frame
    with the columns "1", "2", … and the query.

    Examples
    --------
    >>> import luce, luce.mlflow
    >>> data = luce.from_arrays([[1.0], [3.0]], [0, 2], ["q", "q"], feature_names=["bm25"])
    >>> luce.mlflow.infer_signature(luce.LinearRanker().fit(data)).inputs
    ['bm25': double (required), 'query': Any (optional)]
    """
    count, _ = ranker.features
    if isinstance(ranker, LabelRanker):
        outputs = TensorSpec(np.dtype(np.float32), (-1, len(ranker.label_counts_)))
        return ModelSignature(Schema([TensorSpec(np.dtype(np.float32), (-1, count))]), Schema([outputs]))
    columns: list[Any] = [ColSpec(DataType.double) for _ in range(count)]
    if (names := _column_names(ranker)) is not None:
        kinds = [DataType.double if values is None else DataType.string for values in _categories(ranker)]
        columns = [ColSpec(kind, name) for kind, name in zip(kinds, names, strict=True)]
        columns.append(ColSpec(AnyType(), query, required=False))
    return ModelSignature(Schema(columns), Schema([TensorSpec(np.dtype(np.float64), (-1,))]))


def get_default_pip_requirements(ranker: Any = None) -> list[str]:
    """The packages that a model needs, as they are installed here.

    >>> import luce
    >>> [each.partition("==")[0] for each in get_default_pip_requirements(luce.TreeRanker())]
    ['luce', 'numpy', 'pandas', 'lightgbm']
    """
    packages = ("luce", "numpy", "pandas", *(() if ranker is None else ranker.packages))
    return [f"{package}=={version(package)}" for package in packages]


def get_default_conda_env(ranker: Any = None) -> Any:
    """The same as a Conda environment."""
    return environment._mlflow_conda_env(additional_pip_deps=get_default_pip_requirements(ranker))


def ranking_metrics(metrics: str | Sequence[str] = "ndcg@10", **settings: Any) -> list[Any]:
    """METRICS as `extra_metrics` of `mlflow.models.evaluate`, each with its mean over lists and 95 % interval.

    The column "query" of the data has the query of each row; for another one give
    `evaluator_config={"col_mapping": {"query": NAME}}`. MLflow logs ndcg@10 as ndcg_at_10/mean, ndcg_at_10/low and
    ndcg_at_10/high.

    Parameters
    ----------
    metrics : str or sequence of str
        Names of METRICS, with commas in one string.
    **settings
        Further arguments of `luce.evaluate`, such as `empty`, `gain` and `max_grade`.

    Returns
    -------
    list of mlflow.models.EvaluationMetric

    Examples
    --------
    >>> import luce.mlflow
    >>> [metric.name for metric in luce.mlflow.ranking_metrics("ndcg@10, mrr")]
    ['ndcg_at_10', 'mrr']
    """
    return [_evaluation_metric(each, settings) for each in parse_metrics(metrics)]


def _evaluation_metric(metric: Any, settings: Mapping[str, Any]) -> Any:
    from mlflow.metrics import MetricValue

    from luce.data import from_arrays
    from luce.data.grouping import group_rows

    def of_lists(predictions: Any, targets: Any, query: Any) -> Any:
        dataset = from_arrays(np.zeros((len(targets), 1)), targets, query)
        order = group_rows(query).order
        scores = np.asarray(predictions, dtype=np.float64)
        found = evaluate(scores if order is None else scores[order], dataset, [metric], **settings)
        (mean,), ((low, high),) = found.means.values(), found.intervals.values()
        return MetricValue(aggregate_results={"mean": mean, "low": low, "high": high})

    def evaluated(predictions: Any, targets: Any, metrics: Any, query: Any) -> Any:
        return of_lists(predictions, targets, query)

    name = str(metric).replace("@", "_at_").replace("(", "_").replace("=", "_").replace(")", "").replace(".", "_")
    return make_metric(eval_fn=evaluated, greater_is_better=metric.higher_is_better, name=name.replace("-", "_"))


class RankerModel:
    """A ranker as a pyfunc: a data frame or an array gives scores."""

    def __init__(self, ranker: Any, query: str):
        self.ranker, self.query = ranker, query

    def predict(self, model_input: Any, params: Any = None) -> Any:
        """The score of each row, or of a label ranker of each label for each row."""
        if isinstance(model_input, pd.DataFrame) and self.query in model_input.columns:
            qid = model_input[self.query]
            given = model_input.drop(columns=self.query)
            return self.ranker.predict(given, None if qid.isna().all() else qid)
        return self.ranker.predict(model_input)

    def get_raw_model(self) -> Any:
        """The ranker."""
        return self.ranker


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> RankerModel:
    """The model of `mlflow.pyfunc.load_model`, of the `.luce` file."""
    return RankerModel(load_ranker(path), (model_config or {}).get("query", QUERY))


def _check_ranker(ranker: Any, query: str) -> None:
    if not isinstance(ranker, Ranker | LabelRanker):
        raise OptionError(f"The flavor {FLAVOR_NAME} is for rankers. Got {type(ranker).__name__}.")
    if ranker.module_name is not None:
        raise OptionError(
            f"MLflow could not load a ranker with a module of its own, {ranker.module_name}: pass that to luce.load."
        )
    if query in (_column_names(ranker) or ()):
        raise OptionError(f"The column of the query must not be a feature. Got query={query!r}: choose another name.")


def _column_names(ranker: Any) -> Sequence[str] | None:
    """The names of the columns of a data frame to score; None where it is an array."""
    count, names = ranker.features
    if names is None and isinstance(ranker, Ranker) and ranker.list_context:
        return [str(number) for number in range(1, count + 1)]
    return names


def _categories(ranker: Any) -> Sequence[Any]:
    return ranker.categories_ or [None] * ranker.features[0]


def _example(ranker: Any, query: str) -> Any:
    """One list of two items in the form of the signature; None where that has very many columns."""
    count, names = ranker.features[0], _column_names(ranker)
    if count > MOST_EXAMPLE_COLUMNS:
        return None
    if names is None:
        return np.zeros((2, count), np.float32 if isinstance(ranker, LabelRanker) else np.float64)
    values = [0.0 if each is None else each[0] for each in _categories(ranker)]
    frame = pd.DataFrame({name: [value] * 2 for name, value in zip(names, values, strict=True)})
    return frame.assign(**{query: ["1", "1"]})


def _write_environment(ranker: Any, path: Path, conda_env: Any, pip_requirements: Any, extra: Any) -> None:
    """The files from which MLflow makes the environment of the model."""
    if conda_env is None:
        defaults = get_default_pip_requirements(ranker) if pip_requirements is None else None
        conda, pip, constraints = environment._process_pip_requirements(defaults, pip_requirements, extra)
    else:
        conda, pip, constraints = environment._process_conda_env(conda_env)
    mlflow.utils.yaml_utils.write_yaml(str(path), environment._CONDA_ENV_FILE_NAME, conda)
    (path / environment._REQUIREMENTS_FILE_NAME).write_text("\n".join(pip), encoding="utf-8")
    if constraints:
        (path / environment._CONSTRAINTS_FILE_NAME).write_text("\n".join(constraints), encoding="utf-8")
    environment._PythonEnv.current().to_yaml(str(path / environment._PYTHON_ENV_FILE_NAME))
