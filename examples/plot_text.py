"""
Text: find more pages like these
================================

Somebody marked sixty help pages about statistics in SciPy's documentation, and wants all of them.
The pages are here anyway, as docstrings. The usual way trains "marked against the rest" and takes
the result for a probability; what it gives is the chance to be *marked*.
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
# `WeightedPU` is Elkan and Noto's weighting around any scikit-learn classifier that takes
# weights. Words are made into fifty features without looking at marks.

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
# Sixty marks are few, and the bands say so; that the first model is far too timid they show all
# the same.

display = None
for name, scores in found.items():
    ax = None if display is None else display.ax_
    display = ReliabilityDisplay.from_scores(scores, bins=6, binning="mass", name=name, ax=ax)
