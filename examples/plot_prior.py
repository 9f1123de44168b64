"""
The share of positives, estimated
=================================

Every PU estimate needs the class prior. It is best to know it from another source, such as a
survey, an audit or last year's data. Otherwise, it can be estimated under one assumption: that the
rows with the highest scores are all positive.
"""

import noneg
from noneg.plots import PriorSensitivityDisplay, ScoreDistributionDisplay
from noneg.prior import estimate_prior
from noneg.simulation import LogisticGaussian

world = LogisticGaussian.better_calibrated()
scores = world.draw(1000, 10_000, setting="two-sample", seed=2)
print(f"true prior: {world.prior}")

# %%
# The idea: scale the histogram of the positives down until it fits under the histogram of all rows.
# The remainder would be the negatives.

ScoreDistributionDisplay.from_scores(scores)

# %%
# Here are three estimates. The estimators differ in how they use the highest scores, and each
# reports its assumption. Where the classes overlap everywhere, as here, no region is purely
# positive, so only an upper bound on the prior can be estimated.

for method in ("dedpul", "bbe", "quick"):
    found = estimate_prior(scores, method=method)
    print(f"{method:8}{found.value:.3f}  [{found.low:.3f}, {found.high:.3f}]")
print(estimate_prior(scores).assumption)

# %%
# Effect on the metrics
# ---------------------------
# An interval for the prior widens every interval that depends on it. Calling `with_prior` is cheap.

estimate = estimate_prior(scores)
honest = estimate.apply(scores)
print("prior taken for granted:", noneg.estimate("ece", scores.with_prior(estimate.value)))
print("prior with its interval:", noneg.estimate("ece", honest))

PriorSensitivityDisplay.from_scores(honest)
