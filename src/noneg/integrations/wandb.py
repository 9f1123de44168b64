"""Weights & Biases integration: log an evaluation to a run, online or offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noneg.extras import optional
from noneg.report import to_html

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation


def log(
    evaluation: Evaluation,
    run: Any = None,  # noqa: ANN401 - wandb.Run
    *,
    prefix: str = "",
    report: bool = True,
) -> None:
    """Log the numbers of an evaluation and the report to a run; its verdict goes to the summary.

    Parameters
    ----------
    evaluation : Evaluation
    run : wandb.Run, optional
        The active run by default.
    prefix : str
        Prefix for each name, as in ``"validation."``.
    report : bool
        Whether to add the report, as a panel and as an artifact.

    Examples
    --------
    >>> import tempfile, wandb
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(50, 200, setting="two-sample", seed=0)
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     wandb.init(mode="offline", dir=folder) as run,
    ... ):
    ...     log(evaluate(scores), run, report=False)
    ...     run.summary["noneg.verdict"]
    'check'
    """
    with optional("logging to Weights & Biases"):
        import wandb
    run = run or wandb.run
    if run is None:
        msg = "There is no active run. Start one with wandb.init(), or pass run=."
        raise ValueError(msg)
    run.log(evaluation.flat(prefix))
    run.summary[f"{prefix}noneg.verdict"] = evaluation.verdict.code
    run.summary[f"{prefix}noneg.setting"] = evaluation.setting
    if report:
        page = to_html(evaluation)
        run.log({f"{prefix}report": wandb.Html(page, inject=False)})
        artifact = wandb.Artifact(f"{prefix}report-{run.id}", type="report")
        with artifact.new_file(f"{prefix}report.html", encoding="utf-8") as stream:
            stream.write(page)
        run.log_artifact(artifact)
