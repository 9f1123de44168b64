"""Audits: choosing rows to review, and estimating metrics of the whole table from the answers.

design = plan(table, score="p", label="confirmed", setting="one-sample", budget=200)
design.frame()                            # the list for reviewers
audit = read(filled_in, design)           # estimates without a prior and without SCAR
scores = audit.apply(scores)              # the prior and the selection for everything else
"""

from noneg.audit.estimates import Agreement as Agreement
from noneg.audit.negatives import (
    KnownNegatives as KnownNegatives,
    known_negatives as known_negatives,
)
from noneg.audit.planning import Design as Design, plan as plan
from noneg.audit.reading import Audit as Audit, read as read
from noneg.audit.sequences import Sequence as Sequence
from noneg.audit.strata import Expected as Expected
from noneg.audit.targets import Target as Target
