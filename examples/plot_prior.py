"""
The share of positives, estimated
=================================

Every PU number needs the class prior. Known from elsewhere (a survey, an audit, last year), it is
best. Otherwise it can be estimated, under one assumption: somewhere the scores are so high that
only positives are there.
"""

import noneg
from noneg.plots import PriorSensitivityDisplay, ScoreDistributionDisplay
from noneg.prior import estimate_prior
from noneg.simulation import LogisticGaussian

world = LogisticGaussian.better_calibrated()
scores = world.draw(1000, 10_000, setting="two-sample", seed=2)
print(f"true prior: {world.prior}")

# %%
# The picture behind it: the histogram of positives, scaled down as far as needed to fit under
# that of everybody. What is left over would be the negatives.

ScoreDistributionDisplay.from_scores(scores)

# %%
# Three answers. The estimators differ in how they read the highest scores; each says what it
# assumes. Where classes overlap everywhere, as here, no positive region is pure, so what can be
# found is an upper bound of the prior.

for method in ("dedpul", "bbe", "quick"):
    found = estimate_prior(scores, method=method)
    print(f"{method:8}{found.value:.3f}  [{found.low:.3f}, {found.high:.3f}]")
print(estimate_prior(scores).assumption)

# %%
# What it does to the numbers
# ---------------------------
# An interval of the prior widens every interval that depends on it. `with_prior` costs nothing.

estimate = estimate_prior(scores)
honest = estimate.apply(scores)
print("prior taken for granted:", noneg.estimate("ece", scores.with_prior(estimate.value)))
print("prior with its interval:", noneg.estimate("ece", honest))

PriorSensitivityDisplay.from_scores(honest)
