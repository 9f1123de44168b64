"""Proxy accuracy and proxy AUC compared with the metrics they stand for, on USPS digits.

Propositions 1 and 2 and the shape of Section 4.3 (internal label shift) of "Accessible, Realistic,
and Fair Evaluation of Positive-Unlabeled Learning Algorithms", with scikit-learn classifiers.
"""

from itertools import combinations, product

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from experiments.study import SETTINGS, Run, arrays, cells, data_file, seeded
from experiments.tables import Row, records, standard_error
from noneg import PUScores
from noneg.performance.ordering import proxy_accuracy, proxy_auc

CASES = {"case 1": (4, 7, 9, 5, 8), "case 2": (1, 6, 4, 9, 8)}
N_TRAIN, LABELED = 4000, 0.3  # rows, and the share of positives labeled
SIZES = (250, 1000, 4000)  # rows per validation set
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def load(case: str):
    """Return rows for training, validation and testing, each with labels."""
    z = arrays("usps.npz")
    x, test = (z[f"X_{part}"].astype(np.float64) for part in ("train", "test"))
    y, hidden = (np.isin(z[f"y_{part}"], CASES[case]).astype(int) for part in ("train", "test"))
    train, rest = np.split(seeded("usps", case).permutation(y.size), [N_TRAIN])
    return (x[train], y[train]), (x[rest], y[rest]), (test, hidden)


def classifiers() -> dict[str, object]:
    rates, depths, counts = (1e-5, 1e-3, 0.1), (2, 6), (1, 5, 25, 100)
    return {
        **{f"logistic, C = {c:g}": LogisticRegression(C=c, max_iter=500) for c in rates},
        **{f"{k} neighbors": KNeighborsClassifier(k) for k in counts},
        **{f"tree, depth {d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in depths},
        "naive Bayes": GaussianNB(),
        "forest": RandomForestClassifier(100, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=40, random_state=0),
    }


def fitted_scores(train, rest, case: str) -> dict[str, np.ndarray]:
    """Return validation scores of classifiers trained with unlabeled rows as negatives.

    Each classifier occurs twice: unchanged, and with its scores shifted (on the logit scale) so
    that the share of rows predicted positive equals the prior.
    """
    x, y = train
    labeled = (y == 1) & (seeded("labels", case).random(y.size) < LABELED)
    scores: dict[str, np.ndarray] = {}
    for name, model in classifiers().items():
        p = model.fit(x, labeled).predict_proba(rest[0])[:, 1]
        p = p + 1e-7 * seeded("ties", name).random(p.size)  # a fixed order for ties
        scores[name] = np.clip(p, 0.0, 1.0)
        cut = np.quantile(scores[name], 1.0 - y.mean())
        scores[f"{name}, moved"] = _moved(scores[name], float(cut))
    return scores


def _moved(p: np.ndarray, cut: float) -> np.ndarray:
    """Map scores monotonically so that the cut becomes one half."""
    return np.where(p < cut, p / (2.0 * cut), 0.5 + (p - cut) / (2.0 * max(1.0 - cut, 1e-12)))


def validation(y: np.ndarray, n: int, setting: str, rng: np.random.Generator):
    """Draw the rows of a PU validation set from the pool: labeled positives and unlabeled rows."""
    if setting == "one-sample":
        rows = rng.integers(y.size, size=n)
        flags = (y[rows] == 1) & (rng.random(n) < LABELED)
        return rows[flags], rows[~flags]
    n_known = round(LABELED * y.mean() * n)
    return rng.choice(np.flatnonzero(y), n_known), rng.integers(y.size, size=n - n_known)


def published(known: np.ndarray, rest: np.ndarray, prior: float) -> float:
    """Return the proxy accuracy as in the benchmark's one-sample code: labeled hits in both
    terms."""
    hits, n = (known >= 0.5).sum(), known.size + rest.size
    return 2.0 * prior * hits / known.size + (hits + (rest < 0.5).sum()) / n


def measure(scores: dict[str, np.ndarray], y: np.ndarray, setting: str, n: int, trials: int):
    """Return the proxies of every classifier on many validation sets: arrays (proxy, trial,
    classifier)."""
    prior = float(y.mean())
    values = np.empty((3, trials, len(scores)))
    for trial in range(trials):
        known, rest = validation(y, n, setting, seeded("validation", setting, n, trial))
        for k, s in enumerate(scores.values()):
            pu = PUScores(s[known], s[rest], prior=prior, setting=setting)
            shown = published(s[known], s[rest], prior)
            values[:, trial, k] = proxy_accuracy(pu), proxy_auc(pu), shown
    return values


def proposition_rows(case: str, scores, y: np.ndarray, trials: int) -> tuple[list[Row], list[Row]]:
    """Compare mean proxies of classifiers with their expectations, and count correctly ordered
    pairs."""
    prior = float(y.mean())
    accuracy = np.array([((s >= 0.5) == y).mean() for s in scores.values()])
    area = np.array([roc_auc_score(y, s) for s in scores.values()])
    means, orders = [], []
    # The share of positives among unlabeled validation rows.
    betas = prior, (1.0 - LABELED) * prior / (1.0 - LABELED * prior)
    for (setting, beta), n in product(zip(SETTINGS, betas, strict=True), SIZES):
        values = measure(scores, y, setting, n, trials)
        truths = {"PA": accuracy, "PAUC": area, "PA as published": accuracy}
        expected = {"PA": accuracy + prior, "PAUC": (1.0 - beta) * area + beta / 2.0}
        for (proxy, truth), value in zip(truths.items(), values, strict=True):
            named = {"case": case, "setting": setting, "proxy": proxy}
            if proxy in expected or setting == "one-sample":
                orders.append(named | {"n": n} | _order(value, truth))
            if proxy in expected and n == 1000:
                numbers = {
                    "mean": value.mean(axis=0),
                    "standard_error": map(standard_error, value.T),
                }
                means += records(**named, classifier=scores, **numbers, expected=expected[proxy])
    return means, orders


def _order(found: np.ndarray, truth: np.ndarray) -> Row:
    return {
        "pairs_in_order": concordance(found, truth),
        "pairs_in_order_of_means": concordance(found.mean(axis=0)[None], truth),
        "lost_by_choice": truth.max() - truth[found.argmax(axis=1)].mean(),
        "trials": found.shape[0],
    }


def concordance(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of pairs with different true values that a proxy orders correctly."""
    pairs = [(i, j) for i, j in combinations(range(truth.size), 2) if truth[i] != truth[j]]
    i, j = np.array(pairs).T
    return float(((found[:, i] - found[:, j]) * (truth[i] - truth[j]) > 0).mean())


def fit_upu(known: np.ndarray, rest: np.ndarray, prior: float, ridge: float = 1e-4) -> np.ndarray:
    """Return the weights that minimize the convex unbiased PU risk (Eq. 7) with the logistic
    loss."""

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = rest @ w
        value = np.logaddexp(0.0, z).mean() - prior * (known @ w).mean() + ridge / 2 * w @ w
        slope = rest.T @ expit(z) / z.size - prior * known.mean(axis=0) + ridge * w
        return float(value), slope

    return minimize(objective, np.zeros(rest.shape[1]), jac=True, method="L-BFGS-B").x


def shift_rows(case: str, parts, trials: int, components: int) -> list[Row]:
    """Return the test accuracy as more positives are labeled, in both settings and with the
    correction."""
    (x, y), (x2, y2), test = parts
    x, y = np.concatenate([x, x2]), np.concatenate([y, y2])
    features = Nystroem(gamma=0.005, n_components=components, random_state=0).fit(x)
    design, test_design = (np.c_[features.transform(a), np.ones(len(a))] for a in (x, test[0]))
    rows = []
    for share in SHARES:
        hits: dict[str, list[float]] = {}
        for trial in range(trials):
            rng = seeded("shift", case, share, trial)
            for name, (known, rest) in _shift_sets(y, share, rng).items():
                w = fit_upu(design[known], design[rest], float(y.mean()))
                right = ((test_design @ w >= 0.0) == test[1]).mean()
                hits.setdefault(name, []).append(float(right))
        accuracy = [np.mean(found) for found in hits.values()]
        numbers = {"standard_error": map(standard_error, hits.values()), "trials": trials}
        rows += records(case=case, labeled=share, training=hits, accuracy=accuracy, **numbers)
    return rows


def _shift_sets(y: np.ndarray, share: float, rng: np.random.Generator):
    """Return labeled and unlabeled training rows; the correction adds labeled rows to the unlabeled
    ones."""
    rows = rng.permutation(y.size)[:N_TRAIN]
    flags = (y[rows] == 1) & (rng.random(N_TRAIN) < share)
    known, rest = rows[flags], rows[~flags]
    apart = rng.choice(np.flatnonzero(y), known.size)
    return {
        "two-sample": (apart, rows),
        "one-sample": (known, rest),
        "one-sample, corrected": (known, rows),
    }


def one_case(case: str, quick: bool) -> tuple[list[Row], ...]:  # noqa: FBT001
    train, rest, _ = parts = load(case)
    scores = fitted_scores(train, rest, case)
    found = proposition_rows(case, scores, rest[1], 20 if quick else 400)
    return *found, shift_rows(case, parts, 2 if quick else 20, 50 if quick else 300)


def proxies(run: Run) -> dict[str, list[Row]]:
    every = cells(case=CASES) if data_file("usps.npz") else []
    found = run.map(one_case, every, quick=run.quick)
    names = ("propositions", "orders", "shift")
    return {name: [row for case in found for row in case[k]] for k, name in enumerate(names)}
