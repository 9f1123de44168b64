"""The base class of all calibrators, and the splitting of rows into folds.

A calibrator learns a map from [0, 1] to [0, 1] from a `PUScores` in any setting. Its fitted state
consists of plain numbers, so it can be saved completely, and loading it restores the same map bit
for bit. The class follows scikit-learn's conventions (``get_params``, ``set_params``, ``clone``,
attributes that end in ``_``) without importing scikit-learn.

Rows are assigned to folds at random. Labeled positives and the other rows are split separately, so
every fold is a smaller sample from the same setting. A row that represents many rows, such as a
bucket of a sketch, is split as if those rows were listed individually.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy.special import logit

from noneg.checks import check_count
from noneg.errors import InputError
from noneg.knowledge import NOTHING
from noneg.laws import FlaggedRows, SplitRows, WeightedRows
from noneg.randomness import stream
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags, Floats, Integers, Places
    from noneg.laws import Chunk, Rows

    # Whether rows belong to the positive distribution and to the marginal distribution, and the
    # rows themselves.
    Piece = tuple[bool, bool, Chunk]
    # The unlabeled rows and the labeled positives.
    Groups = tuple[Chunk, Chunk]

Plain: TypeAlias = Any
State: TypeAlias = "dict[str, Plain]"

FORMAT = "noneg calibrator"
VERSION = 1
KEYS = ("format", "version", "method", "parameters", "fitted_on", "state", "checksum")
OUTPUTS = ("default", "pandas", "polars")
# Number of scores mapped at a time, so that temporaries stay in the processor's cache.
CHUNK = 1 << 16
# Log odds of scores of exactly 0 and 1.
LARGEST_LOGIT = 14.0
# Beyond this many rows, NumPy cannot draw hypergeometric numbers; shares are nearly even anyway.
MOST_EVEN = 1_000_000_000


class CalibrationWarning(UserWarning):
    """A calibrator was fitted, but the data do not fully determine the result.

    Examples
    --------
    >>> issubclass(CalibrationWarning, UserWarning)
    True
    """


def stored_number(name: str, about: str) -> property:
    """Return an attribute of a calibrator that is a number in its fitted state."""
    return property(lambda self: float(self.state_[name]), doc=about)


def stored_array(name: str, about: str) -> property:
    """Return an attribute of a calibrator that is a list of numbers in its fitted state."""
    return property(lambda self: np.array(self.state_[name], dtype=np.float64), doc=about)


def not_fitted(calibrator: object, call: str) -> ValueError:
    """Return scikit-learn's error for a calibrator that is used before it is fitted."""
    from sklearn.exceptions import NotFittedError

    return NotFittedError(f"this {type(calibrator).__name__} is not fitted yet. Call {call} first.")


class Stored(ABC):
    """Something fitted that is stored as JSON with a checksum, and read without running code."""

    name: ClassVar[str]
    # Indentation of the JSON.
    indent: ClassVar[int | None] = 1

    fitted_on_: dict[str, Plain]

    @abstractmethod
    def _require_fit(self) -> None:
        """Raise an error if there is nothing to store yet."""

    @abstractmethod
    def _content(self) -> tuple[dict[str, Plain], State]:
        """Return the parameters of the constructor, and the fitted state."""

    @abstractmethod
    def _restore(self, state: State) -> None:
        """Set the attributes of a fitted object; raise a ValueError if the state is not valid."""

    def to_dict(self) -> dict[str, Plain]:
        """Return the fitted calibrator as plain numbers and text, with a checksum."""
        self._require_fit()
        parameters, state = self._content()
        return sealed(self.name, parameters, self.fitted_on_, state)

    def to_json(self) -> str:
        """Return the fitted calibrator as JSON; `from_json` restores it bit for bit."""
        return json.dumps(self.to_dict(), allow_nan=False, indent=self.indent) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Restore a calibrator of this class; use `noneg.recalibration.load` for any class."""
        return cls.from_dict(read_object(text))

    @classmethod
    def from_dict(cls, content: Mapping[str, Plain]) -> Self:
        """Restore a calibrator of this class from the output of `to_dict`."""
        check_method(content, cls.name)
        try:
            self = cls(**content["parameters"])
            self._restore(content["state"])
            check_fitted_on(content["fitted_on"])
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise refusal(f"it is not a valid {cls.name!r} calibrator ({error})") from None
        self.fitted_on_ = dict(content["fitted_on"])
        return self


class Calibrator(Stored):
    """A map from scores to probabilities, fitted on a `PUScores`.

    Subclasses define `name`, `learns` and `monotone`, compute a state in ``_fit``, apply it in
    ``_map``, and validate a state loaded from a file in ``_check``.

    Attributes
    ----------
    name : str
        Name of the method in JSON and on the command line.
    learns : str
        What the method learns, in a few words, for lists of methods.
    monotone : bool
        Whether the map is nondecreasing for all data.
    state_ : dict
        Fitted state: numbers, lists of numbers and text.
    fitted_on_ : dict
        Setting, prior, numbers of rows, and range of scores ("score_range") of the data; the
        command line adds the name of the score column ("score_column").
    """

    learns: ClassVar[str]
    monotone: ClassVar[bool]
    # Attribute names for parameters whose own name is already taken.
    kept_as: ClassVar[dict[str, str]] = {}

    state_: State

    def fit(self, scores: PUScores, y: None = None) -> Self:
        """Learn the map from PU or labeled scores.

        Parameters
        ----------
        scores : PUScores
            Scores with labels, sampling setting and class prior.
        y : None
            Not used; the labels are in `scores`.

        Returns
        -------
        self
        """
        if y is not None or not isinstance(scores, PUScores):  # type: ignore[redundant-expr]
            remedy = "Build one with PUScores.from_pu_labels or PUScores.from_labels and call"
            rule = f"must be a PUScores, got {type(scores).__name__}"
            raise InputError("scores", rule, remedy=f"{remedy} fit(scores).")
        check_rows(scores)
        self.state_ = self._fit(scores)
        self.fitted_on_ = {
            "setting": scores.setting,
            "prior": float(scores.known_prior),
            "n_positive": float(scores.n_positive),
            "n_marginal": float(scores.n_marginal),
            "score_range": list(score_range(scores.chunks())),
        }
        return self

    def transform(self, s: ArrayLike) -> Any:  # noqa: ANN401
        """Return calibrated probabilities for scores in [0, 1].

        The result is an array of the same shape. If `s` is a column from pandas, Polars or another
        library, the result is a column of the same kind, name and index; `set_output` overrides
        this.
        """
        return as_kind(self._transform(s), s, getattr(self, "_output", "default"))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the output type of `transform`, as in scikit-learn's transformers.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            "default" returns the same type as the input; None changes nothing.
        """
        if transform is not None:
            if transform not in OUTPUTS:
                known = ", ".join(OUTPUTS)
                raise InputError("transform", f"must be one of {known} or None", value=transform)
            self._output = transform
        return self

    def _transform(self, s: ArrayLike) -> Floats:
        self._require_fit()
        scores = check_unit(s)
        out = np.empty(scores.shape)
        flat, target = scores.reshape(-1), out.reshape(-1)
        for start in range(0, flat.size, CHUNK):
            piece = slice(start, start + CHUNK)
            target[piece] = self._map(flat[piece])
        return np.clip(out, 0.0, 1.0, out=out)

    def fit_transform(self, scores: PUScores, s: ArrayLike) -> Any:  # noqa: ANN401
        """Fit on `scores` and return calibrated probabilities for `s`."""
        return self.fit(scores).transform(s)

    def predict_proba(self, s: ArrayLike) -> Floats:
        """Return the probabilities of both classes, negative first, shape (n, 2)."""
        positive = self._transform(s).reshape(-1)
        return np.stack([1.0 - positive, positive], axis=-1)

    def band(
        self,
        scores: PUScores,  # noqa: ARG002
        s: ArrayLike,  # noqa: ARG002
        *,
        level: float = 0.95,  # noqa: ARG002
        draws: int = 200,  # noqa: ARG002
        seed: int = 0,  # noqa: ARG002
    ) -> tuple[Floats, Floats]:
        """Return a confidence band for the calibrated probability (likelihood fits only)."""
        rule = f"must be a curve fitted by likelihood to have a band, got {self.name!r}"
        raise InputError("method", rule, remedy="Use platt, temperature, beta, bpm or spline.")

    @abstractmethod
    def _fit(self, scores: PUScores) -> State:
        """Return the fitted state."""

    @abstractmethod
    def _map(self, s: Floats) -> Floats:
        """Apply the fitted state to a vector of scores in [0, 1]."""

    @abstractmethod
    def _check(self, state: State) -> None:
        """Raise a ValueError if `state` is not a valid state of this method."""

    def _require_fit(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self, "fit(scores)")

    # scikit-learn's conventions.

    def get_params(self, deep: bool = True) -> dict[str, Plain]:  # noqa: FBT001, FBT002, ARG002
        """Return the constructor's parameters."""
        names = signature(type(self)).parameters
        return {name: getattr(self, self.kept_as.get(name, name)) for name in names}

    def set_params(self, **parameters: Plain) -> Self:
        """Set constructor parameters by name."""
        known = signature(type(self)).parameters
        for name, value in parameters.items():
            if name not in known:
                listed = ", ".join(known) or "none"
                rule = f"is not a parameter of {type(self).__name__} (it has: {listed})"
                raise InputError(name, rule)
            setattr(self, self.kept_as.get(name, name), value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def __sklearn_tags__(self) -> Plain:
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
        )

    def __repr__(self) -> str:
        defaults = signature(type(self)).parameters
        changed = {k: v for k, v in self.get_params().items() if v != defaults[k].default}
        listed = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        return f"{type(self).__name__}({listed})"

    def _content(self) -> tuple[dict[str, Plain], State]:
        return self.get_params(), self.state_

    def _restore(self, state: State) -> None:
        self._check(state)
        self.state_ = dict(state)


def fit_quietly(calibrator: Calibrator, scores: PUScores) -> Calibrator:
    """Fit on a part of the rows without warnings, because the fit on all rows warns once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return calibrator.fit(scores)


def check_rows(scores: PUScores) -> None:
    """Reject a population, which has no rows to fit on or to hold out."""
    if math.isinf(scores.n_marginal) or math.isinf(scores.n_positive):
        rule = "must contain rows, got a population"
        raise InputError("scores", rule, remedy="Draw a finite sample from it.")


def score_range(pieces: Iterable[Piece]) -> tuple[float, float]:
    """Return the smallest and largest scores."""
    ends = [(s.min(), s.max()) for _, _, (s, *_) in pieces if s.size]
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))


def law_rows(pieces: Iterable[Piece], *, positive: bool = False) -> tuple[Floats, Floats]:
    """Return the rows of the marginal (or positive) sample: scores, and masses that sum to 1."""
    rows = [
        (s, f * (a if positive else w))
        for in_positive, in_marginal, (s, f, a, w) in pieces
        if (in_positive if positive else in_marginal)
    ]
    s = np.concatenate([np.zeros(0), *(s for s, _ in rows)])
    if all(isinstance(mass, float) for _, mass in rows):
        # Broadcasting equal masses takes no memory.
        return s, np.broadcast_to(1.0 / max(s.size, 1), s.shape)
    mass = np.concatenate([np.broadcast_to(mass, s.shape) for s, mass in rows])
    return s, mass / (float(mass.sum()) or 1.0)


def check_fitted_on(content: Mapping[str, Plain]) -> None:
    """Reject an invalid score range, score column or grouping; older files have none of them."""
    check_fields({"score_range": content.get("score_range", [0.0, 1.0])}, score_range=list)
    if len(content.get("score_range", [0.0, 1.0])) != 2:
        raise InputError("score_range", "must contain two numbers")
    if not isinstance(content.get("score_column", ""), str):
        raise InputError("score_column", "must be text")
    if not all(isinstance(name, str) for name in content.get("by", [])):
        raise InputError("by", "must hold names of columns")


def check_unit(s: ArrayLike) -> Floats:
    """Return scores of any shape as doubles, or raise an error if one is not in [0, 1]."""
    array = np.asarray(s)
    if array.size and array.dtype.kind not in "fiu":
        rule = f"must contain numbers in [0, 1], got an array of {array.dtype}"
        raise InputError("s", rule, remedy="Convert it first.")
    scores = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    if scores.size and not (scores.min() >= 0.0 and scores.max() <= 1.0):
        flat = scores.reshape(-1)
        row = int(np.flatnonzero(~((flat >= 0.0) & (flat <= 1.0)))[0])
        raise InputError(
            "s",
            "must contain scores in [0, 1]",
            value=float(flat[row]),
            row=row,
            remedy="Apply the calibrator to scores from the same model that it was fitted on.",
        )
    return scores


def checksum(content: Mapping[str, Plain]) -> str:
    """Return the SHA-256 hash of the content as compact JSON with sorted keys."""
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(
    method: str, parameters: Mapping[str, Plain], fitted_on: Mapping[str, Plain], state: State
) -> dict[str, Plain]:
    """Return the content of a calibrator's file, with a checksum."""
    values = (FORMAT, VERSION, method, parameters, fitted_on, state)
    content = dict(zip(KEYS[:-1], values, strict=True))
    return {**content, "checksum": checksum(content)}


def refusal(why: str) -> ValueError:
    """Return the error for a file that was not written by `to_json`."""
    return ValueError(
        f"the calibrator cannot be read: {why}. Pass a file written by "
        "Calibrator.to_json, or fit the calibrator again."
    )


def read_object(text: str) -> dict[str, Plain]:
    """Return the object in a JSON text, or raise an error if there is none."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise refusal(f"it is not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise refusal(f"it contains a {type(content).__name__}, not an object")
    return content


def check_method(content: Mapping[str, Plain], method: str) -> None:
    """Reject an object that is damaged, or contains another method."""
    check_content(content)
    if content["method"] != method:
        raise refusal(f"it contains the method {content['method']!r}, not {method!r}")


def check_content(content: Mapping[str, Plain]) -> None:
    """Reject an object with a foreign format, another version, or a wrong checksum."""
    if content.get("format") != FORMAT:
        raise refusal(f"its 'format' is {content.get('format')!r}, not {FORMAT!r}")
    if content.get("version") != VERSION:
        raise refusal(f"its version is {content.get('version')!r}; this library reads {VERSION}")
    if set(content) != set(KEYS):
        odd = ", ".join(sorted(set(content) ^ set(KEYS)))
        raise refusal(f"entries are missing or unknown ({odd})")
    try:
        found = checksum({key: content[key] for key in KEYS if key != "checksum"})
    except ValueError:
        raise refusal("it contains a number that is not finite") from None
    except RecursionError:
        raise refusal("it is nested too deeply") from None
    if content["checksum"] != found:
        raise refusal("its checksum does not match its content, so it was modified")
    if not all(isinstance(content[key], dict) for key in ("parameters", "fitted_on", "state")):
        raise refusal("'parameters', 'fitted_on' and 'state' must be objects")


def check_fields(state: State, **kinds: type) -> None:
    """Reject a state that does not have exactly these entries, floats or lists of floats."""
    if set(state) != set(kinds):
        raise ValueError(f"its state must contain {', '.join(kinds)}, got {', '.join(state)}")
    for name, kind in kinds.items():
        values = state[name] if kind is list else [state[name]]
        good = isinstance(values, list)
        if not good or not all(isinstance(v, float) and math.isfinite(v) for v in values):
            many = "a list of finite decimal numbers" if kind is list else "a finite decimal number"
            raise InputError(name, f"must be {many}")


def check_nodes(state: State, x: str, y: str) -> None:
    """Reject nodes that do not increase within [0, 1], or do not match the number of values."""
    nodes = np.array(state[x])
    if nodes.size == 0 or nodes.size != len(state[y]):
        raise InputError(x, f"and '{y}' must have the same length and not be empty")
    if nodes[0] < 0.0 or nodes[-1] > 1.0 or (np.diff(nodes) <= 0.0).any():
        raise InputError(x, "must increase within [0, 1]")


def check_probabilities(state: State, name: str) -> None:
    """Reject values outside [0, 1]."""
    if not all(0.0 <= value <= 1.0 for value in state[name]):
        raise InputError(name, "must lie in [0, 1]")


def as_kind(values: Floats, given: Any, kind: str) -> Any:  # noqa: ANN401
    """Return values as the input's or the requested kind of column; arrays stay arrays."""
    if values.ndim != 1 or (kind == "default" and isinstance(given, (np.ndarray, list, tuple))):
        return values
    import narwhals.stable.v2 as nw

    column = nw.from_native(given, allow_series=True, pass_through=True)
    known = isinstance(column, nw.Series)
    if kind == "default" and not known:
        return values
    backend: Any = column.implementation if kind == "default" else kind
    made = nw.new_series(column.name if known else "", values, nw.Float64, backend=backend)
    # Rows keep their index if the library has one.
    index = nw.maybe_get_index(column) if known else None
    if index is not None and made.implementation == column.implementation:
        made = nw.maybe_set_index(made, index=index)
    return made.to_native()


def log_odds(s: Floats) -> Floats:
    """Return logits, with large finite ones for scores of exactly 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(logit(s), -LARGEST_LOGIT, LARGEST_LOGIT))


def deal_rows(
    flags: NDArray[np.bool_], number: int, random: np.random.Generator
) -> NDArray[np.intp]:
    """Return the fold of each row; labeled rows and other rows are dealt separately."""
    place = np.empty(flags.size, dtype=np.intp)
    for kind in (flags, ~flags):
        place[kind] = random.permutation(int(kind.sum())) % number
    return place


def check_folds(folds: object, scores: PUScores) -> int:
    """Return the number of folds after checking that each can contain a row of both groups."""
    number = check_count(folds, "folds", 2)
    check_rows(scores)
    other = "negatives" if scores.prior_is_estimated else "unlabeled rows"
    for n, what in zip(weighty_rows(scores), (other, "positives"), strict=True):
        if n < number:
            rule = f"must be at most the number of {what}, which is {n:,.0f}"
            remedy = f"Use fewer folds, or collect more {what}."
            raise InputError("folds", rule, value=number, remedy=remedy)
    return number


def weighty_rows(scores: PUScores) -> tuple[float, float]:
    """Return the numbers of unlabeled rows and of labeled positives with nonzero weight."""
    unlabeled, positive = (_weighty(group, k) for k, group in enumerate(scores.in_order()))
    return unlabeled, positive


def _weighty(group: Chunk, positive: int) -> float:
    count = np.broadcast_to(group[1], group[0].shape)
    return float(count[_weighs(group, positive)].sum())


@dataclass(frozen=True, eq=False)
class _Dealt:
    """A group of rows, and the part in each fold as flags or as numbers of rows."""

    group: Chunk
    shares: list[NDArray[Any]]

    def fold(self, k: int) -> Chunk:
        """Return the rows of a fold."""
        return self._take(self.shares[k])

    def rest(self, k: int) -> Chunk:
        """Return the rows of all other folds; rows at the same point are not split up."""
        share = self.shares[k]
        return self._take(~share if share.dtype == np.bool_ else self.group[1] - share)

    def _take(self, share: NDArray[Any]) -> Chunk:
        there = np.flatnonzero(share)
        s, count, a, w = take(self.group, there)
        return s, count if share.dtype == np.bool_ else share[there].astype(float), a, w


def _deal(scores: PUScores, folds: int, seed: int) -> list[_Dealt]:
    """Split both groups into folds; rows are copied only when a fold is requested."""
    groups = scores.in_order()
    weigh = [_weighs(group, k) for k, group in enumerate(groups)]
    # Rows are sorted. With the seed alone, the same ranks would always share a fold.
    data = [
        zlib.crc32(np.ascontiguousarray(group[0][there]).data)
        for group, there in zip(groups, weigh, strict=True)
    ]
    random = stream(seed, f"folds {data}")
    pairs = zip(groups, weigh, strict=True)
    return [_Dealt(group, _shares(group, there, folds, random)) for group, there in pairs]


def join(parts: list[Groups]) -> Groups:
    """Return the combined rows of several folds."""
    unlabeled, positive = zip(*parts, strict=True)
    return _joined(unlabeled), _joined(positive)


def build(groups: Groups, like: PUScores, *, labeled: bool = False) -> PUScores:
    """Return rows as a `PUScores` with the same setting and prior as another one.

    For labeled rows, the prior comes from their labels.
    """
    rows = SplitRows(*(_rows(group) for group in groups))
    if labeled or like.prior_is_estimated:
        return PUScores._build(rows, NOTHING, "labeled", part=True)  # noqa: SLF001 - rows have no other door
    return PUScores._build(rows, like.knowledge, like.setting, part=True)  # noqa: SLF001


def splits(scores: PUScores, folds: int, seed: int) -> Iterator[tuple[PUScores, Groups]]:
    """Yield, for each fold, the scores to fit on and the held-out rows."""
    number = check_folds(folds, scores)
    unlabeled, positive = _deal(scores, number, seed)
    for k in range(number):
        rest = build((unlabeled.rest(k), positive.rest(k)), scores)
        yield rest, (unlabeled.fold(k), positive.fold(k))


def _weighs(group: Chunk, positive: int) -> Flags:
    """Return a mask of the rows with nonzero mass in the distribution of their group."""
    return np.broadcast_to(np.not_equal(group[1] * group[3 - positive], 0.0), group[0].shape)


def _shares(
    group: Chunk, weighs: Flags, folds: int, random: np.random.Generator
) -> list[NDArray[Any]]:
    """Split a group; weightless rows are split separately, so every fold gets weighted rows."""
    if weighs.all():
        return _dealt(group[0].size, group[1], folds, random)
    count = group[1]
    out = np.zeros((folds, weighs.size), bool if isinstance(count, float) else float)
    for there in (weighs, ~weighs):
        some = count if isinstance(count, float) else count[there]
        out[:, there] = _dealt(int(there.sum()), some, folds, random)
    return list(out)


def _dealt(
    n: int, count: Floats | float, folds: int, random: np.random.Generator
) -> list[NDArray[Any]]:
    if isinstance(count, float):
        fold = (random.permutation(n) % folds).astype(np.min_scalar_type(folds))
        return [fold == k for k in range(folds)]
    left, rest, out = np.floor(count).astype(np.int64), count - np.floor(count), list[Any]()
    # Fractional parts, from buckets of weighted rows, go to a single fold.
    place = random.integers(folds, size=rest.size) if rest.any() else np.zeros(rest.size)
    for k in range(folds):
        share = _share(left, folds - k, random)
        left -= share
        out.append(share + rest * (place == k) if rest.any() else share)
    return out


def _share(left: Integers, n: int, random: np.random.Generator) -> Integers:
    """Draw the number of rows at each score that go to the next of n folds."""
    total = int(left.sum())
    if total < MOST_EVEN:
        return random.multivariate_hypergeometric(left, -(-total // n), method="marginals")
    return random.binomial(left, 1.0 / n)


def take(group: Chunk, index: Places) -> Chunk:
    """Return some rows of a group."""
    s, *masses = group
    one, two, three = (x if isinstance(x, float) else x[index] for x in masses)
    return s[index], one, two, three


def _joined(chunks: tuple[Chunk, ...]) -> Chunk:
    columns: list[Any] = [
        x[0] if isinstance(x[0], float) else np.concatenate(x) for x in zip(*chunks, strict=True)
    ]
    return columns[0], columns[1], columns[2], columns[3]


def _rows(group: Chunk) -> Rows:
    s, *masses = group
    if all(isinstance(x, float) for x in masses):
        return FlaggedRows(s, None)
    return WeightedRows(s, *(None if isinstance(x, float) else x for x in masses))
