"""Thresholds with a guarantee: how often it holds, and what it costs relative to an oracle.

The parts `recall`, `precision`, `negatives` and `venn` draw rows from exactly known populations,
`nceas` compares presence records of species with an independent survey (NONEG_DATA), `learners`
trains on certified negatives as a second step, and `cost` measures the time for ten million rows.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from experiments.nceas import regions, species
from experiments.study import SETTINGS, Run, Study, arrays, cells, data_file, seeded
from experiments.synthetic.worlds import draw
from experiments.tables import Row, averaged
from noneg import PUScores
from noneg.learning.tabular import BaggingPU, WeightedPU
from noneg.performance import auroc, certified_negatives, fdp_envelope, recall_threshold
from noneg.recalibration import Isotonic, VennAbers
from noneg.simulation import LogisticGaussian
from noneg.sklearn import PUStratifiedKFold

LABELED = 0.4  # share of positives that are labeled in one sample
MOST_LABELED = 0.5
PRIOR = 0.1


@dataclass(frozen=True)
class Gaussians:
    """Positives N(d, 1) and negatives N(0, 1); the score is the sigmoid."""

    d: float
    prior: float

    def recall(self, t: float) -> float:
        return ndtr(self.d - logit(t))

    def precision(self, t: float) -> float:
        found = self.prior * self.recall(t)
        return found / (found + (1 - self.prior) * ndtr(-logit(t)))

    def draw(
        self, rng: np.random.Generator, n_positive: int, n_unlabeled: int, setting: str, **known
    ) -> tuple[PUScores, np.ndarray, np.ndarray]:
        """Return the scores, and the scores and classes of the unlabeled rows."""
        y = rng.random(n_unlabeled) < self.prior
        s = expit(rng.normal(size=n_unlabeled) + self.d * y)
        p = expit(rng.normal(self.d, 1, n_positive))
        if setting == "one-sample":
            rate = min(MOST_LABELED, n_positive / (self.prior * n_unlabeled))
            labeled = y & (rng.random(n_unlabeled) < rate)
            p, y, s = s[labeled], y[~labeled], s[~labeled]
        return PUScores(p, s, setting=setting, **known), s, y


def uniform_positives(world: str, n: int, gamma: float, rng: np.random.Generator) -> PUScores:
    """Return positives whose weighted distribution is uniform, and uninformative unlabeled rows.

    Under selection, the labeled positives are uniform, and `miss` gives the location of the hidden
    ones.
    """
    p, options = rng.random(n), {}
    if world == "ten scores":
        p = np.floor(10 * p) / 10
    if world in ("importance", "propensity"):
        s = rng.random(12 * n)
        rate = 1 / (1 + 2 * (1 - s)) if world == "importance" else 0.3 + 0.6 * s
        p = s[rng.random(s.size) < rate][:n]
        kept = {"positive_weight": 1 + 2 * (1 - p), "weight_kind": "importance"}
        options = kept if world == "importance" else {"propensity": 0.3 + 0.6 * p}
    if world != "one sample":
        return PUScores(p, [0.5], setting="two-sample", selection=gamma, **options)
    rows = round(n / LABELED / PRIOR)
    labeled = max(1, rng.binomial(rows, LABELED * PRIOR))
    parts = rng.random(labeled), rng.random(rows - labeled)
    return PUScores(*parts, prior=PRIOR, setting="one-sample", selection=gamma)


def miss(world: str, gamma: float, t: np.ndarray) -> np.ndarray:
    """Return the worst-case share of all positives below thresholds."""
    labeled = LABELED if world == "one sample" else 0.0
    # The largest share of hidden positives below the t-quantile of the labeled ones.
    hidden = np.minimum(gamma * t, 1 - (1 - t) / gamma)
    return labeled * t + (1 - labeled) * hidden


def selected(rng: np.random.Generator, n: int, gamma: float) -> np.ndarray:
    """Return hidden positives with scores as low as a selection factor allows; labeled ones are
    uniform."""
    corner = 1 / (1 + gamma)
    low = rng.random(n) < gamma * corner
    return np.where(low, corner * rng.random(n), corner + (1 - corner) * rng.random(n))


LEAST_RECORDS, LEAST_PRESENT = 60, 20
CONFIDENCE = 0.95
MODELS = {"good": 2.5, "poor": 1.0}
INTERVAL = (0.8, 1.2)  # ends of the prior interval, as multiples of the prior
ORACLE = 0.8  # recall of the oracle at the requested precision
ROWS = 10_000


@averaged(count="trials")
def keep_recall(world: str, gamma: float, n: int, alpha: float, trials: int) -> Iterator[Row]:
    """Yield whether a guaranteed recall holds, also for the next order statistic."""
    rng = seeded("recall", world, gamma, n, alpha)
    for _ in range(trials):
        scores = uniform_positives(world, n, gamma, rng)
        t = recall_threshold(scores, recall=1 - alpha, confidence=CONFIDENCE).threshold
        above = scores.in_order()[1][0]
        later = above[min(np.searchsorted(above, t, "right"), above.size - 1)]
        # Flagging everything misses nothing; with ten distinct scores, the one at t is still
        # flagged.
        missed, beyond = miss(world, gamma, t), miss(world, gamma, later)
        yield {
            "kept": missed <= alpha + 1e-12,
            "kept_by_next": beyond <= alpha + 1e-12,
            "all_flagged": t == 0.0,
            "recall": 1 - missed,
        }


def recall(run: Run) -> dict[str, list[Row]]:
    sizes = {"n": run.pick((30, 100, 200, 1000), (30, 200)), "alpha": (0.05, 0.1, 0.2)}
    plain = ("continuous", "ten scores", "importance", "propensity")
    every = cells(world=plain, gamma=1.0, **sizes)
    every += cells(world=("continuous", "one sample"), gamma=(1.5, 2.0), **sizes)
    return {"recall": run.rows(keep_recall, every, trials=run.trials(4000, 50))}


@averaged(count="trials")
def keep_precision(
    setting: str, model: str, prior: float, n_positive: int, known: str, trials: int
) -> Iterator[Row]:
    """Yield whether a guaranteed precision holds, and the resulting recall."""
    world = Gaussians(MODELS[model], prior)
    rng = seeded("precision", setting, model, prior, n_positive, known)
    wanted = world.precision(expit(world.d - ndtri(ORACLE)))
    options = {"prior": prior}
    if known == "interval":
        options["prior_interval"] = tuple(prior * end for end in INTERVAL)
    for _ in range(trials):
        scores, *_ = world.draw(rng, n_positive, ROWS, setting, **options)
        # Return the same as `precision_threshold`, without searching for advice if there is no
        # threshold.
        envelope = fdp_envelope(scores, confidence=CONFIDENCE)
        kept = envelope.threshold[envelope.promised >= wanted]
        made = kept.size > 0 and np.isfinite(kept[-1])
        yield {
            "wanted": wanted,
            "broken": made and world.precision(kept[-1]) < wanted,
            "promised": made,
            "recall": world.recall(kept[-1]) if made else 0.0,
            "oracle": ORACLE,
        }


def precision(run: Run) -> None:
    sizes = {"prior": (0.02, 0.1, 0.3, 0.5), "n_positive": run.pick((100, 500, 3000), 500)}
    every = cells(setting="two-sample", model=MODELS, **sizes, known=("exact", "interval"))
    # In one sample, at most 200 of 10,000 rows are positive at the smallest prior.
    few = {"prior": (0.1, 0.5), "n_positive": (100, 500)}
    every += cells(setting="one-sample", model=MODELS, **few, known="exact")
    run.resume("precision", keep_precision, every, trials=run.trials(1000, 20))


def keep_fdr(
    setting: str, model: str, prior: float, n_positive: int, known: str, trials: int
) -> Row:
    """Return the false discovery rate and the power of certified negatives."""
    world, q = Gaussians(MODELS[model], prior), 0.05
    rng = seeded("negatives", setting, model, prior, n_positive, known)
    options = {"prior": prior} if known == "prior" else {}
    draws = (world.draw(rng, n_positive, 2000, setting, **options) for _ in range(trials))
    return certify(draws, q, trials)


def keep_fdr_selected(gamma: float, prior: float, n_positive: int, trials: int) -> Row:
    """The same if hidden positives have scores as low as the selection factor allows."""
    rng = seeded("selected", gamma, prior, n_positive)

    def draw() -> tuple[PUScores, np.ndarray, np.ndarray]:
        y = rng.random(2000) < prior
        s = np.where(y, selected(rng, 2000, gamma), rng.beta(1, 6, 2000))
        p, options = rng.random(n_positive), {"prior": prior, "selection": gamma}
        return PUScores(p, s, setting="two-sample", **options), s, y

    return certify((draw() for _ in range(trials)), 0.1, trials)


def certify(draws: Iterable, q: float, trials: int) -> Row:
    found = [outcome(s <= certified_negatives(scores, fdr=q).cutoff, y) for scores, s, y in draws]
    wrong, power = np.array(found).T
    error = wrong.std() / np.sqrt(trials)
    return {"q": q, "fdr": wrong.mean(), "se": error, "power": power.mean(), "trials": trials}


def outcome(certified: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the share of positives among certified rows, and of negatives that are certified."""
    return (certified & y).sum() / max(certified.sum(), 1), (certified & ~y).sum() / (~y).sum()


def negatives(run: Run) -> dict[str, list[Row]]:
    few, trials = run.pick((50, 500), 50), run.trials(1000, 20)
    sizes = {"prior": (0.1, 0.3, 0.5), "n_positive": few, "known": ("prior", "nothing")}
    every = cells(setting=SETTINGS, model=MODELS, **sizes)
    adverse = cells(gamma=(1.5, 2.0), prior=(0.1, 0.5), n_positive=few)
    found = run.rows(keep_fdr, every, trials=trials)
    return {"negatives": found, "selected": run.rows(keep_fdr_selected, adverse, trials=trials)}


@averaged(count="trials")
def two_probabilities(setting: str, n_positive: int, trials: int) -> Iterator[Row]:
    """Yield how wide Venn-Abers is, and how often the true probability lies inside."""
    world = LogisticGaussian.less_calibrated(0.3)
    for trial in range(trials):
        scores = draw(world, n_positive, setting, trial)
        s = np.sort(world.draw_rows(2000, 10_000 + trial)[0])
        true, fitted = world.posterior(s), VennAbers().fit(scores)
        low, high = fitted.probabilities(s).T
        plain = Isotonic().fit(scores).transform(s)
        yield {
            "width": (high - low).mean(),
            "inside": ((low <= true) & (true <= high)).mean(),
            "error": np.abs(fitted.transform(s) - true).mean(),
            "isotonic": np.abs(plain - true).mean(),
        }


def venn(run: Run) -> dict[str, list[Row]]:
    every = cells(setting=("labeled", *SETTINGS), n_positive=run.pick((100, 1000), 100))
    return {"venn": run.rows(two_probabilities, every, trials=run.trials(40, 2))}


# Species whose presence records are not a random sample, compared with an independent survey. Half
# of the records and the background are used to train a quadratic logistic model, the other half are
# the labeled positives, and the survey sites are the unlabeled rows. The assumption behind a
# guarantee is false here; this part measures how badly it fails, and which selection factor fixes
# it.
FACTORS = (1.0, 2.0, 4.0)
RECALL = 0.9
PART = 0.25  # requested false discovery rate, as a fraction of the prevalence


def measure(region: str) -> Iterator[Row]:
    """Return the guarantee and the survey's result, one row for each species and factor."""
    features = PolynomialFeatures(2, include_bias=False).fit_transform
    for one in species(region, LEAST_RECORDS, LEAST_PRESENT, ddof=1):
        n, rng = len(one.records), np.random.default_rng(len(one.records))
        held = rng.permutation(n) < n // 2
        model = LogisticRegression(C=0.1, max_iter=300)
        score = one.scorer(model, one.records[~held], features)
        p, u = score(one.records[held]), score(one.sites)
        for factor in FACTORS:
            named = {"species": one.name, "factor": factor, "prior": one.present.mean()}
            yield named | judge(p, u, one.present, factor)


def judge(p: np.ndarray, u: np.ndarray, y: np.ndarray, factor: float) -> Row:
    scores = PUScores(p, u, prior=float(y.mean()), setting="two-sample", selection=factor)
    t = recall_threshold(scores, recall=RECALL).threshold
    certified = u <= certified_negatives(scores, fdr=PART * y.mean()).cutoff
    fdp, power = outcome(certified, y)
    return {
        "records": p.size,
        "recall": (u[y] >= t).mean(),
        "flagged": (u >= t).mean(),
        "certified": certified.mean(),
        "fdp": fdp,
        "power": power,
    }


def nceas(run: Run) -> dict[str, list[Row]]:
    every = cells(region=regions(*run.pick((), ("SWI",))))
    return {"nceas": run.rows(measure, every)}


# Training on certified negatives as a second step, compared with existing learners. Step one
# separates labeled from unlabeled rows, out of fold; step two trains on the labeled positives and
# the certified negatives. One sample, 15% of the positives labeled, known prior.
DATA = ("Gaussians", "letter", "usps")
RATES = (0.05, 0.1)
RATE, TRAIN, TABLE = 0.15, 4000, 6000
SETTING = "one-sample"


def load(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if name == "Gaussians":
        y = rng.random(TABLE) < 0.2
        x = rng.normal(size=(TABLE, 6)) + 1.2 * y[:, None] * (np.arange(6) < 2)
    elif name == "letter":
        z = arrays("letter.npz")
        x, y = z["X"], z["y"] < 13
    else:
        z = arrays("usps.npz")
        x, y = z["X_train"], z["y_train"] % 2 == 0
    kept = rng.permutation(len(y))[:TABLE]
    return StandardScaler().fit_transform(x[kept].astype(float)), y[kept]


def new(model: str):
    if model == "logistic":
        return LogisticRegression(max_iter=200)
    return HistGradientBoostingClassifier(max_iter=50, random_state=0)


def learn(data: str, model: str, trial: int) -> list[Row]:
    """Return the test AUROC of each learner."""
    rng = seeded("two-step", data, trial)
    x, y = load(data, rng)
    labeled = y & (rng.random(y.size) < RATE)
    rows, flags, prior = x[:TRAIN], labeled[:TRAIN], float(y.mean())
    known = {"setting": SETTING, "prior": prior}
    fitted = {
        "labeled against unlabeled": new(model).fit(rows, flags),
        "WeightedPU": WeightedPU(new(model), **known).fit(rows, flags),
        "BaggingPU": BaggingPU(new(model), **known).fit(rows, flags),
        **{f"two steps, q = {q:g}": two_steps(model, rows, flags, prior, q) for q in RATES},
    }
    return [{"learner": name, "auroc": area(x[TRAIN:], y[TRAIN:], f)} for name, f in fitted.items()]


def area(x: np.ndarray, y: np.ndarray, fitted) -> float:
    return np.nan if fitted is None else roc_auc_score(y, fitted.predict_proba(x)[:, 1])


def two_steps(model: str, rows: np.ndarray, flags: np.ndarray, prior: float, q: float):
    """Return the second classifier, or None if too few rows are certified."""
    folds = PUStratifiedKFold(3, setting=SETTING)
    s = cross_val_predict(new(model), rows, flags, cv=folds, method="predict_proba")[:, 1]
    scores = PUScores.from_pu_labels(flags, s, prior=prior, setting=SETTING)
    negative = (s <= certified_negatives(scores, fdr=q).cutoff) & ~flags
    if negative.sum() < 20:
        return None
    used = flags | negative
    return new(model).fit(rows[used], flags[used])


def learners(run: Run) -> None:
    data = DATA if data_file("letter.npz") else DATA[:1]
    trials = range(run.trials(3, 1))
    every = cells(data=data, model="logistic", trial=trials)
    # Boosting takes minutes with the 256 features of USPS.
    every += cells(data=data[:2], model="boosting", trial=trials)
    run.resume("learners", learn, every)


def cost(run: Run) -> dict[str, list[Row]]:
    """Return the seconds for an exact AUROC and for the envelope on new rows, the best of three."""
    n = run.pick(10_000_000, 100_000)
    rng = np.random.default_rng(0)
    y = rng.random(n) < PRIOR
    s = np.where(y, rng.beta(5, 2, n), rng.beta(2, 5, n))
    labeled = y & (rng.random(n) < 0.2)
    rows = []
    for function in (auroc, fdp_envelope, recall_threshold, certified_negatives):
        seconds = []
        for _ in range(4):  # the first call compiles
            scores = PUScores.from_pu_labels(labeled, s, prior=PRIOR, setting="one-sample")
            start = time.perf_counter()
            function(scores)
            seconds.append(time.perf_counter() - start)
        rows.append({"function": function.__name__, "rows": n, "seconds": min(seconds[1:])})
    return {"cost": rows}


PARTS = (negatives, nceas, venn, learners, recall, precision, cost)
STUDY = Study("promises", PARTS, optional=("nceas",))
