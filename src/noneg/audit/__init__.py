"""Audits: which rows to review, and what the answers tell of the whole table.

design = plan(table, score="p", label="confirmed", setting="one-sample", budget=200)
design.frame()                            # the list for reviewers
audit = read(filled_in, design)           # estimates without a prior and without SCAR
scores = audit.apply(scores)              # the prior and the selection for everything else
"""

from noneg.audit.design import Design
from noneg.audit.fusion import Agreement
from noneg.audit.negatives import KnownNegatives, known_negatives
from noneg.audit.planning import plan
from noneg.audit.reading import Audit, read
from noneg.audit.sequences import Sequence
from noneg.audit.strata import Expected
from noneg.audit.targets import Target

__all__ = [
    "Agreement",
    "Audit",
    "Design",
    "Expected",
    "KnownNegatives",
    "Sequence",
    "Target",
    "known_negatives",
    "plan",
    "read",
]
