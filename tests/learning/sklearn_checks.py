"""Which of scikit-learn's checks its PU estimators fail, and why that is by design.

``python tests/learning/sklearn_checks.py`` runs all checks and prints the table.
"""

import warnings
from collections import Counter

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from noneg.learning import BaggingPU, LinearPU, PUClassifier, WeightedPU
from noneg.recalibration import Recalibrated

UNNAMED = "trains on labels 1 and 2, or 'one' and 'two'; which one is positive is never guessed"
NAME = "the second argument is called `labeled`: it does not hold the classes"
ACCURACY = "asks to predict the given labels; a PU classifier predicts the hidden ones"
SINGLE = "asks for 1e-7; a network computes in single precision, and sums rows in batches"
COMMON = {
    "check_fit_score_takes_y": NAME,
    "check_n_features_in_after_fitting": NAME,
    "check_estimators_dtypes": UNNAMED,
    "check_classifier_data_not_an_array": UNNAMED,
    "check_classifiers_classes": UNNAMED,
    "check_fit2d_1feature": UNNAMED,
}
PU = {"setting": "two-sample", "prior": 0.3}
# Estimators with their defaults, and the checks that they fail by design.
MODELS = {
    "LinearPU": (LinearPU(**PU), COMMON),
    "WeightedPU": (
        WeightedPU(**PU),
        COMMON | {"check_classifiers_train": ACCURACY},
    ),
    "BaggingPU": (BaggingPU(**PU), COMMON),
    # Fewer epochs than by default, for speed: with 30 of them the same checks fail.
    "PUClassifier": (
        PUClassifier(**PU, epochs=3),
        COMMON | {"check_methods_subset_invariance": SINGLE},
    ),
    "Recalibrated": (
        Recalibrated(LogisticRegression(), **PU),
        {name: why for name, why in COMMON.items() if why is UNNAMED}
        | dict.fromkeys(
            (
                "check_sample_weights_pandas_series",
                "check_sample_weights_not_an_array",
                "check_sample_weights_shape",
                "check_sample_weights_not_overwritten",
            ),
            UNNAMED,
        ),
    ),
}


def results(name):
    """Run all checks of an estimator; those that fail by design have the status xfail."""
    model, by_design = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_estimator(model, on_fail=None, on_skip=None, expected_failed_checks=by_design)


def table():
    """Return the Markdown table of all estimators."""
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
