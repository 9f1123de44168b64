"""MLflow integration: log an evaluation to a run, and use one as a metric."""

from __future__ import annotations

from typing import Any

from noneg.checks import Setting, is_labeled
from noneg.evaluation import Evaluation, evaluate
from noneg.extras import optional
from noneg.report import to_html
from noneg.scores import PUScores


def log(evaluation: Evaluation, *, prefix: str = "", report: bool = True) -> None:
    """Log the numbers of an evaluation, its verdict and the report to the active run.

    Parameters
    ----------
    evaluation : Evaluation
    prefix : str
        Prefix for each name, as in ``"validation."``.
    report : bool
        Whether to add the report as an artifact, ``report.html``.

    Examples
    --------
    >>> import os, tempfile, mlflow
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(50, 200, setting="two-sample", seed=0)
    >>> os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # or use a tracking server
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mlflow.set_tracking_uri(f"file:{folder}/runs")
    ...     with mlflow.start_run() as run:
    ...         log(evaluate(scores), report=False)
    ...     mlflow.get_run(run.info.run_id).data.tags["noneg.verdict"]
    'check'
    """
    with optional("logging to MLflow"):
        import mlflow
    mlflow.log_metrics(evaluation.flat(prefix))
    mlflow.set_tag(f"{prefix}noneg.verdict", evaluation.verdict.code)
    mlflow.set_tag(f"{prefix}noneg.setting", evaluation.setting)
    if report:
        mlflow.log_text(to_html(evaluation), f"{prefix}report.html")


def make_metric(
    *, setting: Setting, prior: float | None = None, name: str = "noneg", level: float = 0.95
) -> Any:  # noqa: ANN401
    """Return a metric for ``mlflow.models.evaluate(extra_metrics=[...])``.

    Predictions are scores in [0, 1]; targets are 1 for labeled positives and 0 for unlabeled rows.

    Parameters
    ----------
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled.
    prior : float, optional
        Share of positives in the population.
    name : str
        Name of the MLflow metric that contains the numbers of `noneg.Evaluation.flat`.
    level : float
        Confidence level of the intervals.

    Examples
    --------
    >>> make_metric(setting="one-sample", prior=0.1).name
    'noneg'
    """
    with optional("an MLflow metric"):
        from mlflow.metrics import MetricValue
        from mlflow.models import make_metric as make

    def measure(predictions: Any, targets: Any, metrics: Any = None) -> Any:  # noqa: ANN401, ARG001
        if len(predictions) < 2:  # MLflow tries each metric on the first row.
            return MetricValue(aggregate_results={})
        if is_labeled(setting):
            scores = PUScores.from_labels(targets, predictions)
        else:
            scores = PUScores.from_pu_labels(targets, predictions, setting=setting, prior=prior)
        return MetricValue(aggregate_results=evaluate(scores, level=level).flat())

    return make(eval_fn=measure, greater_is_better=False, name=name)  # type: ignore[no-untyped-call]
