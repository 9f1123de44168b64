"""
Text: find more pages like these
================================

Someone marked sixty help pages about statistics in SciPy's documentation and wants to find all the
others. The pages are available as docstrings. The usual approach trains "marked against the rest"
and treats the result as a probability, but it is the probability of being *marked*.
"""

import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

import noneg
from noneg.learning import WeightedPU
from noneg.plots import ReliabilityDisplay
from noneg.sklearn import PUStratifiedKFold

modules = (
    scipy.stats,
    scipy.linalg,
    scipy.ndimage,
    scipy.optimize,
    scipy.signal,
    scipy.special,
)
pages = {
    (module.__name__, name): (getattr(module, name).__doc__ or "").split("Examples\n")[0]
    for module in modules
    for name in module.__all__
}
pages = {key: page for key, page in pages.items() if len(page) > 200}
about_statistics = np.array([module == "scipy.stats" for module, _ in pages])
rng = np.random.default_rng(0)
marked = np.zeros(len(pages), bool)
marked[rng.choice(np.flatnonzero(about_statistics), 60, replace=False)] = True
prior = float(about_statistics.mean())
print(f"{len(pages)} pages, {marked.sum()} marked, {prior:.0%} are about statistics")

# %%
# `WeightedPU` applies Elkan and Noto's weighting to any scikit-learn classifier that accepts
# weights. The words are converted to fifty features without using the marks.

words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2)
X = make_pipeline(words, TruncatedSVD(50, random_state=0)).fit_transform(pages.values())
plain = LogisticRegression(C=10.0)
weighted = WeightedPU(plain, setting="one-sample", prior=prior)
folds = PUStratifiedKFold(5, setting="one-sample", random_state=0)

found = {}
for name, model in {"marked against rest": plain, "PU weights": weighted}.items():
    score = cross_val_predict(model, X, marked, cv=folds, method="predict_proba")[:, 1]
    found[name] = noneg.PUScores.from_pu_labels(marked, score, prior=prior, setting="one-sample")
    truth = noneg.PUScores.from_labels(about_statistics, score)
    print(
        f"{name:20} PU-ECE {noneg.estimate('ece', found[name])}   "
        f"true {noneg.estimate('ece', truth)}   AUC {noneg.estimate('auroc', truth)}"
    )

# %%
# Sixty marks are not many, so the bands are wide. They still show that the first model's
# probabilities are far too low.

display = None
for name, scores in found.items():
    ax = None if display is None else display.ax_
    display = ReliabilityDisplay.from_scores(scores, bins=6, binning="mass", name=name, ax=ax)
