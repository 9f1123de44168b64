"""Which of scikit-learn's checks the PU estimators fail, and why this is by design.

``python tests/learning/sklearn_checks.py`` runs all checks and prints the table.
"""

import warnings
from collections import Counter

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from noneg.learning import BaggingPU, PUClassifier, WeightedPU
from noneg.learning.estimator import TABLE_LEARNERS
from noneg.recalibration import Recalibrated

UNNAMED = "trains on labels 1 and 2, or 'one' and 'two'; which one is positive is never guessed"
COMMON = {
    "check_estimators_dtypes": UNNAMED,
    "check_classifier_data_not_an_array": UNNAMED,
    "check_classifiers_classes": UNNAMED,
    "check_fit2d_1feature": UNNAMED,
    "check_sample_weights_pandas_series": UNNAMED,
    "check_sample_weights_not_an_array": UNNAMED,
    "check_sample_weights_shape": UNNAMED,
    "check_sample_weights_not_overwritten": UNNAMED,
}
# These checks treat unlabeled rows as negative, so nearly all of them must be.
PU = {"setting": "two-sample", "prior": 0.02}
# scikit-learn declares the same for its own BaggingClassifier, which a test verifies.
DRAWN = "draws rows at random by their weights, as scikit-learn's own bagging does"
# Estimators with their defaults, and the checks that they fail by design.
MODELS = {kind.__name__: (kind(**PU), COMMON) for kind in TABLE_LEARNERS.values()} | {
    "WeightedPU": (WeightedPU(setting="one-sample", prior=0.6), COMMON),
    "BaggingPU": (
        BaggingPU(**PU, n_estimators=20),
        COMMON
        | {
            "check_sample_weight_equivalence_on_dense_data": DRAWN,
            "check_sample_weight_equivalence_on_sparse_data": DRAWN,
        },
    ),
    "PUClassifier": (PUClassifier(**PU), COMMON),
    "Recalibrated": (
        # The checks interpret weights as row counts.
        Recalibrated(
            LogisticRegression(), setting="two-sample", prior=0.3, weight_kind="frequency"
        ),
        COMMON,
    ),
}


def results(name):
    """Run all checks for an estimator; those that fail by design have the status xfail."""
    model, by_design = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_estimator(model, on_fail=None, on_skip=None, expected_failed_checks=by_design)


def table():
    """Return the Markdown table for all estimators."""
    lines = ["| estimator | passed | skipped | fails by design | why |", "|---|---:|---:|---|---|"]
    for name, (_, by_design) in MODELS.items():
        found = Counter(result["status"] for result in results(name))
        for why in dict.fromkeys(by_design.values()):
            checks = ", ".join(f"`{check}`" for check, reason in by_design.items() if reason is why)
            head = f"`{name}` | {found['passed']} | {found['skipped']}" if found else "| |"
            lines.append(f"| {head} | {checks} | {why} |")
            found = None
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201
