"""Argument checks; violations raise an `InputError`.

Every message names the argument, the value and its row, the rule, and how to fix the problem.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from noneg.errors import Argument, InputError, Words
from noneg.kernels import binary_flags, checked_copy, in_unit_interval
from noneg.shares import lower_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray


Setting = Literal["two-sample", "one-sample", "labeled"]
WeightKind = Literal["frequency", "importance"]

# Scores this close to the range were probably meant to be in it.
ROUNDING = 1e-6
# Larger counts are no longer exact whole numbers; the squares of weights beyond the second limit,
# or below its inverse, overflow or underflow.
MOST_ROWS = 2**53
LARGEST_WEIGHT = 1e100
# Largest probability that the labeled share of one sample rejects the true prior by chance.
CHANCE = 1e-3
# Labeled share of one sample above which its labels are probably swapped.
MOST_LABELED = 0.5
PRIOR_RULE = "the share of positives in the population, a number in (0, 1)"

SETTINGS: dict[str, str] = {
    "two-sample": (
        "the positives and the unlabeled rows were collected separately; "
        "the unlabeled rows are a sample of the whole population"
    ),
    "one-sample": (
        "one sample was collected and some of its positives were labeled; "
        "the unlabeled rows are the rest"
    ),
    "labeled": "every row has its true label",
}


# British spelling, accepted wherever a setting is.
SPELLINGS = {"labelled": "labeled"}


def explain_settings() -> str:
    """Return one sentence per setting, for messages."""
    return "; ".join(f"'{name}': {text}" for name, text in SETTINGS.items())


def check_setting(setting: object) -> Setting:
    """Return the sampling setting; the error message explains each one."""
    name = SPELLINGS.get(setting, setting) if isinstance(setting, str) else None
    if name not in SETTINGS:
        rule, meanings = "must specify how the rows were sampled", f"{explain_settings()}."
        raise InputError("setting", rule, value=setting, remedy=meanings)
    return name  # type: ignore[return-value]


def check_pu_setting(setting: object) -> Setting:
    """Return a setting for positive and unlabeled data."""
    named = check_setting(setting)
    if is_labeled(named):
        rule = "must be 'two-sample' or 'one-sample' for positives and unlabeled rows"
        raise InputError("setting", rule, value=setting)
    return named


def is_labeled(setting: Setting | None) -> bool:
    """Return whether every row has its true label."""
    return setting == "labeled"


def is_pooled(setting: Setting | None) -> bool:
    """Return whether labeled positives belong to the marginal sample; false for two samples."""
    return setting != "two-sample"


def check_number(
    value: object, name: str, rule: str, fits: Callable[[float], bool] = math.isfinite
) -> float:
    """Return a finite float that satisfies the rule, or raise an error that names the argument."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, str) or not math.isfinite(number) or not fits(number):
        advice = "" if isinstance(value, str) else percentage(number)
        raise InputError(name, f"must be {rule}", value=value, remedy=advice)
    return number


def check_share(value: object, name: str, rule: str = "a number in (0, 1)") -> float:
    """Return a number in (0, 1)."""
    return check_number(value, name, rule, lambda x: 0.0 < x < 1.0)


def check_rate(value: object, name: str, rule: str = "a rate in (0, 1]") -> float:
    """Return a number in (0, 1]."""
    return check_number(value, name, rule, lambda x: 0.0 < x <= 1.0)


def check_choice(value: object, name: str, choices: Iterable[object], remedy: str = "") -> None:
    """Raise an error unless the value is one of the choices."""
    known = list(choices)
    if value not in known:
        *others, last = map(repr, known)
        raise InputError(name, f"must be {', '.join(others)} or {last}", value=value, remedy=remedy)


def check_count(value: object, name: str, least: int) -> int:
    """Return an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(name, f"must be an integer of at least {least}", value=value)
    return int(value)


def check_prior(prior: object, name: str = "prior") -> float:
    """Return a class prior in (0, 1)."""
    return check_share(prior, name, PRIOR_RULE)


def percentage(number: float) -> str:
    """Return advice about a share that was probably given as a percentage.

    Examples
    --------
    >>> percentage(40.0)
    'Divide a percentage by 100: 0.4.'
    """
    return f"Divide a percentage by 100: {number / 100:g}." if 1 < number < 100 else ""


def missing_prior(
    setting: Setting, *, needed: bool = True, ranged: bool = True, estimated: bool = True
) -> InputError:
    """Return the error for a missing prior, required or not.

    The caller may accept a range of priors, and ``prior="estimate"``.
    """
    why = f": {PRIOR_RULE}, which cannot be determined from these rows alone"
    rule = ("must be given with ", Argument("setting", setting), why)
    interval = (Argument("prior_interval"), " for a range, or ") if ranged else ()
    word, call = Argument("prior", "estimate"), "noneg.prior.estimate_prior"
    ways = (*interval, word if estimated else call, " to estimate it from these rows")
    last = (".",) if needed else (", or ", Argument("prior", "unknown"), " if nobody knows it.")
    known = "Use an external source, such as a reviewed sample, or "
    return InputError("prior", rule, remedy=(known, *ways, *last))


def unknown_prior(metric: str) -> InputError:
    """Return the error for scores without a prior, for a metric that needs one."""
    advice = "Pass the share of positives, or estimate it with noneg.prior.estimate_prior."
    return InputError("prior", f"must be known for {metric}", value=None, remedy=advice)


def determined(name: str, value: object) -> InputError:
    """Return the error for a prior, or a prior interval, given with labeled rows."""
    why = f", got {value!r}: it is determined by the labels"
    rule = ("must not be given with ", Argument("setting", "labeled"), why)
    return InputError(name, rule, remedy="Omit it, or choose another setting.")


def check_prior_given(
    setting: Setting, prior: object, interval: object = None, **ways: bool
) -> None:
    """Require a prior or an interval unless the labels determine the prior; then, reject both.

    Keyword arguments are those of `missing_prior`.
    """
    if not is_labeled(setting) and prior is None and interval is None:
        raise missing_prior(setting, **ways)
    check_undetermined(setting, prior=prior, prior_interval=interval)
    check_estimated_alone(prior, interval)


def check_estimated_alone(prior: object, interval: object) -> None:
    """Raise an error for an interval next to an estimate."""
    if isinstance(prior, str) and interval is not None:
        rule = f"must not be given with prior={prior!r}, which has its own interval"
        raise InputError("prior_interval", rule)


def check_undetermined(setting: Setting, **known: object) -> None:
    """Raise an error for the first thing known about the prior if the labels determine it."""
    for name, value in known.items():
        if is_labeled(setting) and value is not None:
            raise determined(name, value)


def check_prior_interval(interval: Any, prior: float | None) -> tuple[float, float]:  # noqa: ANN401
    """Return an interval of priors; it must contain the prior, if there is one."""
    try:
        low, high = interval
    except (TypeError, ValueError):
        raise InputError("prior_interval", "must be a pair (low, high)", value=interval) from None
    low, high = check_prior(low, "prior_interval"), check_prior(high, "prior_interval")
    if low > high:
        rule = f"must be a pair (low, high) with low <= high, got ({low:g}, {high:g})"
        raise InputError("prior_interval", rule)
    if prior is not None and not low <= prior <= high:
        rule = f"must contain the prior {prior:g}, got ({low:g}, {high:g})"
        raise InputError("prior_interval", rule)
    return low, high


def check_selection(selection: Any) -> float:  # noqa: ANN401
    """Return a selection factor: a finite number of at least 1.

    Examples
    --------
    >>> check_selection(2)
    2.0
    """
    rule = "a number of at least 1 (1 means that labeled positives are a random sample)"
    return check_number(selection, "selection", rule, lambda x: x >= 1.0)


def least_prior(share: float, n: float) -> float:
    """Return the smallest prior consistent with a labeled share of n rows in one sample.

    Labeled rows are positives, so their share exceeds the prior only by chance: the result is an
    exact binomial (Clopper-Pearson) limit.

    Examples
    --------
    >>> round(least_prior(0.1, 1000), 4)
    0.0729
    """
    return float(lower_limit(share * n, (1.0 - share) * n, CHANCE))


def check_one_sample(prior: float, share: float, n: float) -> None:
    """Raise an error if the prior is below the labeled share of one sample by more than chance."""
    if np.isinf(n):
        rule = "one-sample needs finite samples; a population is available only for two-sample"
        raise InputError("setting", rule)
    if prior < share and prior < (least := least_prior(share, n)):
        advice = "Most rows are labeled: are positives and unlabeled rows swapped? Otherwise use"
        rule = (
            f"must be at least the labeled share {share:.6g} of the sample (or "
            f"{least:.4g}, allowing for chance in {n:,.0f} rows)"
        )
        larger = f"{advice if share > MOST_LABELED else 'Use'} a larger prior, or "
        separate = Argument("setting", "two-sample"), " if the positives were collected separately."
        raise InputError("prior", rule, value=prior, remedy=(larger, *separate))


def check_level(level: object) -> float:
    """Return a confidence level in (0, 1)."""
    return check_share(level, "level", "a confidence level in (0, 1) such as 0.95")


def check_scores(values: object, name: str, *, keep: bool = False) -> NDArray[np.float64]:
    """Return scores in [0, 1] as a read-only float64 vector.

    The data are copied only if necessary: to convert them, or to protect them from later changes.
    """
    scores = _vector(values, name)
    if keep and not is_owned(scores):
        scores, inside = checked_copy(scores)
        scores.flags.writeable = False
    else:
        inside = in_unit_interval(scores)
    if not inside:
        row = int(np.flatnonzero(~((scores >= 0.0) & (scores <= 1.0)))[0])
        value = float(scores[row])
        rule = "must contain scores in [0, 1]"
        raise InputError(name, rule, value=value, row=row, remedy=remedy(value))
    return scores


def remedy(value: float) -> str:
    """Return advice about a score outside [0, 1]."""
    if math.isnan(value):
        return "Remove rows without a score, or impute the score; no row is dropped silently."
    if abs(value - 0.5) < 0.5 + ROUNDING:
        return "It is outside the range by a rounding error: clip the scores to [0, 1]."
    first = "Divide percentages by 100; turn" if 1 < value <= 100 else "Turn"
    return f"{first} margins or logits into probabilities first, for example with a sigmoid."


def number_advice(value: object, otherwise: str = "Convert the column first.") -> str:
    """Return advice about text in place of a number.

    Examples
    --------
    >>> number_advice("0,93")
    'Write numbers with a decimal point: 0.93.'
    >>> number_advice("93%")
    'Write percentages as shares: 0.93.'
    >>> number_advice("1,000")
    'Write 1000, or use a decimal point if the comma is one.'
    """
    text = str(value).strip()
    if re.fullmatch(r"-?[1-9]\d{0,2}(,\d{3})+", text):
        return f"Write {text.replace(',', '')}, or use a decimal point if the comma is one."
    if re.fullmatch(r"-?\d*,\d+", text):
        return f"Write numbers with a decimal point: {text.replace(',', '.')}."
    if re.fullmatch(r"\d+([.,]\d+)? ?%", text):
        return f"Write percentages as shares: {float(text[:-1].replace(',', '.')) / 100:g}."
    return otherwise


def is_owned(array: NDArray[Any]) -> bool:
    """Return whether the array and its base are read-only, so that nobody can change the data.

    A reader that passes on its own arrays can make them read-only to avoid a copy.
    """
    root = array
    while isinstance(root.base, np.ndarray) and not root.flags.writeable:
        root = root.base
    return root.flags.owndata and not root.flags.writeable


def as_array(values: object) -> NDArray[Any]:
    """Return values as an array; a tensor is detached, moved to the CPU and converted to double."""
    if hasattr(values, "detach"):
        tensor: Any = values.detach().cpu()
        # NumPy has no bfloat16 and no 8-bit floats.
        return np.asarray(tensor.double() if tensor.is_floating_point() else tensor)
    return np.asarray(values)


def _check_unmasked(values: object, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
        rule, next_step = "must contain a value in every row", "Fill or remove it."
        raise InputError(name, rule, row=row, lack="is masked", remedy=next_step)


def _vector(values: object, name: str) -> NDArray[np.float64]:
    _check_unmasked(values, name)
    array = as_array(values)
    if array.ndim != 1:
        several = "For class probabilities use noneg.calibration.one_vs_rest or top_label."
        raise InputError(name, f"must be one-dimensional, got shape {array.shape}", remedy=several)
    if array.size and array.dtype.kind not in "fiu":
        array = _numbers(array, name)
    vector = np.ascontiguousarray(array, dtype=np.float64)
    if vector is array:  # the caller may own it
        vector = vector.view()
    vector.flags.writeable = False
    return vector


def _numbers(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Convert an object array to numbers, or raise an error about the first invalid entry."""
    out = np.empty(array.size)
    for row, value in enumerate(array.tolist()):
        if value is None:
            out[row] = math.nan
        elif isinstance(value, (bool, str, bytes, complex)) or not hasattr(value, "__float__"):
            advice = number_advice(value)
            raise InputError(name, "must contain numbers", value=value, row=row, remedy=advice)
        else:
            out[row] = float(value)
    return out


def check_filled(n: float, name: str, what: str) -> None:
    """Raise an error for an empty sample."""
    if n == 0:
        raise InputError(name, f"must contain at least one {what}, got none")


def check_same_length(**lengths: int) -> None:
    """Raise an error for columns of different lengths."""
    (first, n), *others = lengths.items()
    for name, m in others:
        if m != n:
            rule = f"must have one entry per row, got {m} entries for {n} rows of '{first}'"
            raise InputError(name, rule)


def check_weights(weights: object, kind: object, n: int, name: str) -> NDArray[np.float64]:
    """Return nonnegative weights, which must be whole numbers if they count rows."""
    w = _vector(weights, name)
    check_same_length(scores=n, **{name: w.size})
    if kind not in get_args(WeightKind):
        rule = (
            "must be 'frequency' (a weight counts identical rows) or 'importance' "
            "(a weight corrects for unequal sampling)"
        )
        raise InputError("weight_kind", rule, value=kind)
    for bad, broken in _weight_rules(w, kind):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError(name, broken, value=float(w[row]), row=row)
    return w


def _weight_rules(
    w: NDArray[np.float64], kind: object
) -> Iterator[tuple[NDArray[np.bool_], Words]]:
    """Yield a mask of the weights that violate a rule, and the rule."""
    yield ~(np.isfinite(w) & (w >= 0.0)), "must be finite and not negative"
    if kind == "frequency":
        whole = "must be whole numbers when they count rows (pass "
        yield w != np.floor(w), (whole, Argument("weight_kind", "importance"), " otherwise)")
        yield np.cumsum(w) > MOST_ROWS, f"must be at most {MOST_ROWS:,} in all when they count rows"
    else:
        rule = (
            f"must be 0 or within a factor of {LARGEST_WEIGHT:g} of 1 (divide all weights by "
            "their mean)"
        )
        yield (w > LARGEST_WEIGHT) | ((w < 1.0 / LARGEST_WEIGHT) & (w > 0.0)), rule


def check_propensity(
    propensity: object, n: int, flags: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return labeling rates in (0, 1]; rates of rows that are not flagged are ignored."""
    e = _vector(propensity, "propensity")
    check_same_length(scores=n, propensity=e.size)
    if flags is not None:
        e = np.where(flags, e, 1.0)
    bad = ~((e > 0.0) & (e <= 1.0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        rule = "must contain the rate in (0, 1] at which a positive like this one is labeled"
        raise InputError("propensity", rule, value=float(e[row]), row=row)
    return e


NAME_IT = ("Pass the positive value as ", Argument("positive_label"), ".")


def check_flags(
    labels: object, name: str, positive_label: object = None, *, choosable: bool = True
) -> NDArray[np.bool_]:
    """Return a new array that is True where the label is the positive one.

    `choosable` is true if the caller has a positive_label argument that the message can mention.
    """
    _check_unmasked(labels, name)
    array = as_array(labels)
    if array.ndim != 1:
        raise InputError(name, f"must be one-dimensional, got shape {array.shape}")
    if array.size == 0 or (array.dtype == np.bool_ and positive_label is None):
        # Compiled loops use the bytes of flags as numbers, and foreign booleans may hold any byte.
        return np.not_equal(array.astype(np.bool_, copy=False).view(np.uint8), 0)
    whole = array.dtype.kind in "iu" and positive_label is None
    if whole and (flags := binary_flags(array)) is not None:
        return flags
    found = _distinct(array, name)
    booleans = f"Pass booleans, for example {name} == {found[0]!r}."
    advice: Words = NAME_IT if choosable else booleans
    positive = _positive_value(found, name, positive_label, advice)
    return np.asarray(array == positive, dtype=np.bool_)


def _distinct(array: NDArray[Any], name: str) -> list[Any]:
    values = array.tolist() if array.dtype.kind == "O" else np.unique(array).tolist()
    # A value not equal to itself is missing: nan, and pandas NA, for which even != is not True.
    missing = [row for row, v in enumerate(values) if v is None or (v == v) is not True]  # noqa: PLR0124
    if missing:
        row = missing[0] if array.dtype.kind == "O" else int(np.flatnonzero(array != array)[0])  # noqa: PLR0124
        rule = "must contain a label in every row"
        fill = "Write the value that means unlabeled into such rows."
        raise InputError(name, rule, row=row, lack="has none", remedy=fill)
    found = sorted(set(values), key=str)
    if len(found) > 2:
        shown = ", ".join(repr(v) for v in found[:5]) + (", ..." if len(found) > 5 else "")
        rule = f"must contain two values, got {len(found)}: {shown}"
        one = "Reduce it to positive or not, or use noneg.calibration.one_vs_rest for many classes."
        raise InputError(name, rule, remedy=one)
    return found


def _positive_value(found: list[Any], name: str, positive_label: object, advice: Words) -> object:
    if positive_label is not None:
        matches = [v for v in found if v == positive_label or str(v) == str(positive_label)]
        if not matches and found:
            rule = f"must be a value of '{name}' ({found})"
            raise InputError("positive_label", rule, value=positive_label)
        return matches[0] if matches else positive_label
    obvious = ({0, 1}, {-1, 1}, {0}, {1}, {-1})
    if not all(isinstance(v, (bool, int, float)) for v in found) or set(found) not in obvious:
        values = " and ".join(map(repr, found))
        rule = f"contains {values}, so the positive value is unclear"
        raise InputError(name, rule, remedy=advice)
    return 1
