"""Random data for property tests: hard scores, all settings, all kinds of weights."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from noneg.scores import PUScores

# Ends, bin edges and their neighbors, denormals, and plain numbers.
HARD = [0.0, 5e-324, 1e-300, 0.2, np.nextafter(0.2, 1), 1 / 3, 0.5, np.nextafter(0.5, 0), 0.6]
HARD += [2.0**-7, np.nextafter(2.0**-7, 0), 1 - 2.0**-7, 0.8, 1.0 - 2.0**-53, 1.0]


def scores(min_size=1, max_size=60):
    """Lists of scores with many ties and edge cases."""
    one = st.one_of(st.sampled_from(HARD), st.floats(0.0, 1.0, allow_subnormal=True))
    return st.lists(one, min_size=min_size, max_size=max_size).map(np.array)


@dataclass(frozen=True)
class Sample:
    """Raw rows for building a PUScores; `setting` specifies how."""

    setting: str
    flags: np.ndarray
    score: np.ndarray
    prior: float

    def build(self, **options) -> PUScores:
        if self.setting == "labeled":
            return PUScores.from_labels(self.flags, self.score, **options)
        return PUScores.from_pu_labels(
            self.flags, self.score, prior=self.prior, setting=self.setting, **options
        )

    def take(self, index) -> "Sample":
        return replace(self, flags=self.flags[index], score=self.score[index])


@st.composite
def samples(draw, settings=("two-sample", "one-sample", "labeled"), min_size=4, max_size=60):
    """Any setting, with at least one positive and one other row."""
    setting = draw(st.sampled_from(settings))
    score = draw(scores(min_size, max_size))
    flags = np.array(draw(st.lists(st.booleans(), min_size=score.size, max_size=score.size)))
    flags[0], flags[1] = True, False
    share = flags.mean()
    lowest = share if setting == "one-sample" else 0.01
    prior = draw(st.floats(min(lowest + 1e-6, 0.99), 0.99))
    return Sample(setting, flags, score, prior)
