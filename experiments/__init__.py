"""Studies behind the claims in the documentation; ``python -m experiments`` lists them.

Each study has a folder with its stored tables, figures and page. Code shared by several studies is
in `synthetic` (populations that are known exactly), `training` (learning algorithms) and `stacked`
(many networks at once).
"""

STUDIES = {
    "audit": "experiments.audit.study",
    "bpm": "experiments.bpm.study",
    "coverage": "experiments.synthetic.coverage",
    "few_rows": "experiments.synthetic.few_rows",
    "groups": "experiments.groups.study",
    "information": "experiments.information.study",
    "learners": "experiments.training.learners",
    "metric_study": "experiments.synthetic.metrics",
    "monitoring": "experiments.monitoring.study",
    "multicalibration": "experiments.multicalibration.study",
    "prior": "experiments.prior.study",
    "prior_sets": "experiments.prior_sets.study",
    "promises": "experiments.promises.study",
    "pu_benchmark": "experiments.training.benchmark",
    "pu_ece": "experiments.synthetic.pu_ece",
    "pu_ece_neural": "experiments.pu_ece_neural.study",
    "pu_performance": "experiments.pu_performance.study",
    "pu_protocol": "experiments.training.full",
    "recalibration": "experiments.recalibration.study",
    "selection": "experiments.selection.study",
    "tabular": "experiments.tabular.study",
}
