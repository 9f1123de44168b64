"""All runs of the study in order of importance, so that every prefix is a usable result."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from experiments.study import SETTINGS
from noneg.lab.bench import RunConfig, work
from noneg.lab.bench.protocol import SELECTIONS

# Algorithm, variant and correction; a name in the tables omits the variant "ref".
Method = tuple[str, str, str | None]


def methods(names: str) -> tuple[Method, ...]:
    """Return methods by the names that they have in the tables, separated by spaces.

    >>> methods("upu/bench/batch glws")
    (('upu', 'bench', 'batch'), ('glws', 'ref', None))
    """
    parts = [(*name.split("/"), None, None) for name in names.split()]
    return tuple((algorithm, variant or "ref", last) for algorithm, variant, last, *_ in parts)


# Half the paper's steps; in experiments/learners, the best checkpoint of most methods comes
# earlier.
STEPS, EVERY = 10_000, 100
IMAGE_STEPS, IMAGE_EVERY = 5000, 250
SPLITS = 3
WORLDS = (("usps", 1), ("letter", 1), ("usps", 2), ("letter", 2))
RATES = (0.1, 0.5, 0.2, 0.4)
CORRECTED = ("upu", "nnpu", "nnpu-ga", "pusb", "vpu", "dist-pu")
PRIORS, FAR_PRIORS = (0.4, 0.6), (0.35, 0.7)
TOLD = methods("nnpu vpu cvir dist-pu count-loss glws")
CONFIGURATIONS = 9
NUMBERS = range(CONFIGURATIONS + 1)
PAPER_STEPS = 20_000
STEP_SIZES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2)
RATE_METHODS = methods(
    "upu/bench/batch nnpu/bench/none dist-pu/bench/none vpu/bench/batch "
    "nnpu glws count-loss likelihood"
)
SELECTION_METHODS = methods(
    "upu nnpu nnpu-ga pusb pubn vpu cvir dist-pu lbe count-loss "
    "robust-pu holistic-pu pue glws likelihood elkan-noto naive"
)
# The default, and the random configurations with the largest learning rates.
SELECTION_CONFIGURATIONS = (0, 7, 9)
# What labels favor in the study of features.
FEATURE_WORLDS = (
    *("-selected-by-feature-4", "-selected-by-class-4", "-selected-by-feature-4-repaired"),
    *("-selected-by-class-4-repaired", "-selected-by-feature-2", "-selected-by-class-2"),
)
FAVORED_CLASS = "-standardized-selected-by-class-4"
# Letter has too few rows for 30% labeled rows in a sample of their own.
LETTER_RATE = 0.1
# Methods whose original is the same as the paper's version.
PAPER_ONLY_REF = ("p3mix-e", "p3mix-c", "holistic-pu")
IMAGE_METHODS = methods(
    "nnpu/bench/batch nnpu/bench/none vpu/bench/batch dist-pu/bench/batch pubn/bench cvir/bench "
    "nnpu vpu cvir tedn dist-pu vpu/bench/none dist-pu/bench/none count-loss glws holistic-pu "
    "p3mix-c p3mix-e upu/bench/none nnpu-ga/bench/none robust-pu/bench lbe/bench pue/bench "
    "count-loss/bench glws/bench pan/bench likelihood ncpu"
)
# With equal batches and prior 1/2, these corrected losses equal uPU's, and PUSB decides as nnPU
# does.
TWINS = {
    ("nnpu", "bench", "batch"): ("upu", "bench", "batch"),
    ("nnpu-ga", "bench", "batch"): ("upu", "bench", "batch"),
    ("pusb", "bench", "batch"): ("upu", "bench", "batch"),
    ("pusb", "bench", "none"): ("nnpu", "bench", "none"),
}


# Methods published after the benchmark, which have a table of their own.
LATER = ("ncpu",)


def versions() -> list[Method]:
    """Return the versions of the methods that the benchmark's studies compare."""
    return [m for m in work.versions() if m[0] not in LATER]


def run(method: Method, dataset: str, case: int, split: int, **other) -> RunConfig:
    names = ("algorithm", "variant", "correction")
    options = {"setting": "one-sample", "steps": STEPS, "every": EVERY, **other}
    place = {"dataset": dataset, "case": case, "split": split}
    return RunConfig(**place, **dict(zip(names, method, strict=True)), **options)


def on_splits(
    found: Iterable[Method],
    datasets: Iterable[str],
    cases: Iterable[int] = (1,),
    numbers: Iterable[int] = (0,),
    **other: object,
) -> Iterator[RunConfig]:
    """Yield the runs on all splits: of methods on data sets, with configurations."""
    for method, data, case, number, k in product(found, datasets, cases, numbers, range(SPLITS)):
        yield run(method, data, case, k, configuration=number, **other)


def tables(*, quick: bool = False) -> list[RunConfig]:
    """Runs on USPS and Letter."""
    if quick:
        return [replace(r, steps=60, every=20) for r in _first(0)]
    return [r for split in range(SPLITS) for r in _first(split)] + list(_then())


def single() -> list[Method]:
    """Return the methods without those that are equivalent to another one."""
    return [m for m in versions() if m not in TWINS]


def _first(split: int) -> Iterator[RunConfig]:
    """Return what every claim needs, for one split."""
    yield from (run(m, "usps", 1, split) for m in single())
    if split == 0:
        yield from (run(m, "usps", 1, split) for m in TWINS)
    pairs = [m for m in single() if m[0] in CORRECTED and m[1] == "bench"]
    uncorrected = [m for m in pairs if m[2] == "none"]
    for method in (*uncorrected, ("pusb", "bench", "none")):
        yield run((*method[:2], None), "usps", 1, split, setting="two-sample")
    yield from (run(m, "letter", 1, split) for m in single())
    for rate, data, method in product(RATES, ("usps", "letter"), pairs):
        yield run(method, data, 1, split, rate=rate)
    yield from (run(m, "usps", 1, split, given_prior=p) for p in PRIORS for m in TOLD)
    yield from (run(m, data, 2, split) for data in ("usps", "letter") for m in single())


def _then() -> Iterator[RunConfig]:
    """Return runs that increase certainty: other methods in two samples, other configurations,
    twins."""
    other = [(*m[:2], None) for m in single() if m[2] in (None, "none")]
    yield from (run(m, "usps", 1, k, setting="two-sample") for k in range(SPLITS) for m in other)
    yield from _searched(1)
    for k, prior, method in product(range(SPLITS), FAR_PRIORS, TOLD):
        yield run(method, "usps", 1, k, given_prior=prior)
    yield from (run(m, *world, k) for k in range(SPLITS) for world in WORLDS for m in TWINS)
    for number in range(2, CONFIGURATIONS + 1):
        yield from _searched(number)


def _searched(number: int) -> Iterator[RunConfig]:
    """Return one random configuration of every method."""
    for split, data, method in product(range(SPLITS), ("letter", "usps"), single()):
        yield run(method, data, 1, split, configuration=number)


def paper_versions() -> list[Method]:
    """Return the 23 methods in the paper's tables: its versions, corrected and uncorrected."""
    return [m for m in versions() if m[1] == "bench" or m[0] in PAPER_ONLY_REF]


def paper_methods() -> list[str]:
    """The names that their runs have in the tables."""
    found = ((m[0], "bench" if m[1] == "bench" else None, m[2]) for m in paper_versions())
    return ["/".join(part for part in m if part) for m in found]


def protocol() -> list[RunConfig]:
    """The paper's protocol on USPS and Letter: 10 configurations, 3 splits, 20,000 steps.

    Its versions of the methods first; then the same on standardized letters; then the original
    methods on all three.
    """
    paper = paper_versions()
    others = [m for m in versions() if m not in paper and m[0] != "tedn"]
    parts = [(paper, ("usps", "letter")), (paper, ("letter-standardized",)),
             (others, ("usps", "letter", "letter-standardized"))]  # fmt: skip
    return [r for part in parts for r in on_splits(*part, (1, 2), NUMBERS, steps=PAPER_STEPS)]


def two_samples() -> list[RunConfig]:
    """The methods that the paper corrects, in the setting they were made for.

    PUSB decides as nnPU does. The runs on Letter have another rate, so they need runs in one sample
    to be compared with.
    """
    worlds = [("usps", "two-sample", 0.3)]
    worlds += [("letter", setting, LETTER_RATE) for setting in SETTINGS]
    found = []
    for data, setting, rate in worlds:
        correction = None if setting == "two-sample" else "none"
        asked = [(name, "bench", correction) for name in CORRECTED if name != "pusb"]
        options = {"setting": setting, "rate": rate, "steps": PAPER_STEPS}
        found += on_splits(asked, (data,), (1, 2), NUMBERS, **options)
    return found


def rates() -> list[RunConfig]:
    """Letters, raw and standardized: learning rate, length, and the weight of Count Loss."""
    data, found = ("usps", "letter", "letter-standardized"), []
    for rate in STEP_SIZES:
        found += on_splits(RATE_METHODS, data[1:], steps=PAPER_STEPS, options=(("lr", rate),))
    for weight, rate in product((1.0, 10.0), (1e-4, 1e-3, 1e-2)):
        options = (("lr", rate), ("weight", weight))
        found += on_splits(methods("count-loss"), data, steps=PAPER_STEPS, options=options)
    return found


def selections() -> list[RunConfig]:
    """Two samples with labels that favor high-scoring positives, and a given prior that is off by
    20%."""
    worlds = [("", p) for p in (None, 0.4, 0.6)]
    worlds += [(f"-selected-{g:g}", None) for g in SELECTIONS]
    worlds += [(f"-selected-{g:g}-repaired", None) for g in SELECTIONS]
    worlds += [("-selected-2", p) for p in (0.4, 0.6)]
    worlds += [("-selected-2-repaired", p) for p in (0.4, 0.6)]
    return _with_labels(worlds)


def features() -> list[RunConfig]:
    """The same with labels that favor a feature or a class instead of the score.

    A class of Letter has too few rows to be favored fourfold.
    """
    found = [one for world in FEATURE_WORLDS for one in _with_labels([(world, None)])]
    return [one for one in found if not one.dataset.startswith(f"letter{FAVORED_CLASS}")]


def _with_labels(worlds: list[tuple[str, float | None]]) -> list[RunConfig]:
    """Runs with these labels and given priors."""
    data, found = (("usps", 0.1), ("letter-standardized", 0.05)), []
    for method, (name, rate), (suffix, told) in product(SELECTION_METHODS, data, worlds):
        options = {"setting": "two-sample", "rate": rate, "given_prior": told}
        found += on_splits([method], [name + suffix], numbers=SELECTION_CONFIGURATIONS, **options)
    return found


def later() -> list[RunConfig]:
    """Later methods under the paper's protocol, with default hyperparameters."""
    return list(on_splits([(name, "ref", None) for name in LATER], ("usps",), steps=PAPER_STEPS))


def images(*, quick: bool = False) -> list[RunConfig]:
    """Runs on CIFAR-10."""
    if quick:
        return [run(m, "cifar10", 1, 0, steps=3, every=3) for m in IMAGE_METHODS[:2]]
    size = {"steps": IMAGE_STEPS, "every": IMAGE_EVERY}
    return [run(m, "cifar10", 1, k, **size) for k in range(SPLITS) for m in IMAGE_METHODS]
