"""Tables with known hidden labels, their plans, and the answers."""

import numpy as np

from noneg import audit

COLUMNS = {"score": "p", "label": "l", "setting": "one-sample", "sizes": []}


def table(n=600, seed=0, labeled=0.4):
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(0.7, 2.0, n), 3)
    y = rng.random(n) < score**1.3
    return score, y, y & (rng.random(n) < labeled)


def planned(score, flags, budget, targets, **options):
    return audit.plan(
        {"p": score, "l": flags}, **COLUMNS | {"budget": budget, "targets": targets} | options
    )


def answered(design, y, **options):
    answers = [int(y[int(row)]) for row in design.id]
    return audit.read({"id": list(design.id), "answer": answers}, design, **options)
