"""The stored study of tables: who is first, and that a cell can be measured again."""

import pytest

from experiments.study import HERE
from experiments.tables import Tables
from experiments.tabular.page import load, ranks, text_summary
from experiments.tabular.study import draw, measured
from noneg.learning import PUClassifier

STORED = Tables(HERE / "tabular")


@pytest.mark.parametrize(
    ("labels", "prior", "first"),
    [
        ("scar", "known", "PUClassifier()"),
        ("scar", "estimated", "PUClassifier()"),
        ("selected", "known", "PUClassifier(), propensity"),
    ],
)
def test_the_default_is_first_by_mean_rank(labels, prior, first):
    runs = load(STORED, labels, prior)
    found = ranks(runs)
    assert found.methods[0] == first
    assert runs["table"].nunique() == 14
    assert found.worlds == (56 if prior == "known" and labels == "scar" else 28)


def test_a_cell_comes_out_as_stored():
    X, labeled, *_, X_test, y_test = draw("cancer", "one-sample", 0.4, "scar", 0)
    prior = 212 / 569
    model = PUClassifier(setting="one-sample", prior=prior, n_jobs=1).fit(X, labeled)
    found = measured(y_test, model.predict_proba(X_test)[:, 1], 0.0)
    (stored,) = (
        row
        for row in STORED("runs")
        if (row["table"], row["setting"], row["rate"], row["split"])
        == ("cancer", "one-sample", 0.4, 0)
        and (row["labels"], row["prior"], row["method"]) == ("scar", "known", "PUClassifier()")
    )
    # Another machine rounds otherwise, and may stop a round earlier.
    assert found["brier"] == pytest.approx(stored["brier"], abs=0.01)
    assert found["auc"] == pytest.approx(stored["auc"], abs=0.02)


def test_the_page_is_made_from_the_stored_tables():
    stored = (HERE / "tabular" / "summary.md").read_text(encoding="utf-8")
    assert text_summary(STORED).strip() == stored.strip()
