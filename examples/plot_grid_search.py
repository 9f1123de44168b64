"""
GridSearchCV without negatives
==============================

This example selects a model with scikit-learn's own tools, using folds that preserve the share of
labeled rows and scorers that need no negatives. `y` is 1 for labeled positives and 0 for unlabeled
rows.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import noneg
from noneg.recalibration import Recalibrated
from noneg.sklearn import PUStratifiedKFold, scorer

X, benign = load_breast_cancer(return_X_y=True)
rng = np.random.default_rng(0)
malignant = benign == 0
labeled = malignant & (rng.random(len(X)) < 0.5)
prior = float(malignant.mean())

# %%
# Which regularization is best? The proxy AUC ranks labeled against unlabeled rows. It is smaller
# than the AUC, since half of the malignant rows are unlabeled, but the two increase together.

model = make_pipeline(StandardScaler(), SVC(class_weight="balanced"))
grid = {"svc__C": [0.01, 0.1, 1.0, 10.0], "svc__gamma": [0.001, 0.01, 0.1]}
folds = PUStratifiedKFold(5, setting="one-sample", random_state=0)
search = GridSearchCV(model, grid, scoring=scorer("proxy_auc", setting="one-sample"), cv=folds)
search.fit(X, labeled)
print(search.best_params_)

# %%
# All twelve values, compared with the AUC from the hidden labels.

import matplotlib.pyplot as plt
from sklearn.metrics import roc_auc_score

proxy, true = search.cv_results_["mean_test_score"], []
print(" C      gamma   proxy AUC   true AUC")
for parameters, found in zip(search.cv_results_["params"], proxy, strict=True):
    fresh = model.set_params(**parameters)
    margin = cross_val_predict(fresh, X, labeled, cv=folds, method="decision_function")
    true.append(roc_auc_score(malignant, margin))
    C, gamma = parameters.values()
    print(f"{C:6.2f} {gamma:7.3f} {found:10.3f} {true[-1]:10.3f}")

fig, ax = plt.subplots(layout="constrained")
ax.plot(proxy, true, "o", label="a pair of C and gamma")
ax.plot(proxy[search.best_index_], true[search.best_index_], "s", ms=10, label="chosen")
ax.set(xlabel="proxy AUC, from labeled and unlabeled rows", ylabel="true AUC")
ax.legend()

# %%
# An SVM does not output probabilities. `Recalibrated` adds them, using out-of-fold scores and the
# same PU labels.

best = make_pipeline(StandardScaler(), SVC(class_weight="balanced"))
best.set_params(**search.best_params_)
repaired = Recalibrated(best, method="platt", setting="one-sample", prior=prior)
probability = cross_val_predict(repaired, X, labeled, cv=folds, method="predict_proba")[:, 1]
truth = noneg.PUScores.from_labels(malignant, probability)
print("true calibration error", noneg.estimate("ece", truth))
print("true accuracy         ", noneg.estimate("accuracy", truth))
