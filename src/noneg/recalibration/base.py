"""The base class of all calibrators.

A calibrator learns a map from [0, 1] to [0, 1] from a `PUScores` in any setting. Its fitted state
consists of plain numbers, so it can be saved completely, and loading it restores the same map bit
for bit. The class follows scikit-learn's conventions (``get_params``, ``set_params``, ``clone``,
attributes that end in ``_``) without importing scikit-learn.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from abc import ABC, abstractmethod
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from scipy.special import logit

from noneg.checks import as_array, check_scores
from noneg.errors import InputError
from noneg.scores import PUScores
from noneg.selection import density_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.laws import Mass

    # Scores, and masses that sum to 1.
    Law: TypeAlias = tuple[Floats, Floats]
    Rows = TypeVar("Rows")
    Fitted = TypeVar("Fitted")

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


def require_fit(calibrator: object, attribute: str, call: str) -> None:
    """Raise scikit-learn's error if a calibrator without this attribute is used."""
    if not hasattr(calibrator, attribute):
        from sklearn.exceptions import NotFittedError

        name = type(calibrator).__name__
        raise NotFittedError(f"this {name} is not fitted yet. Call {call} first.")


class Stored(ABC):
    """Something fitted that is stored as JSON with a checksum, and read without running code."""

    name: ClassVar[str]
    # Indentation of the JSON.
    indent: ClassVar[int | None] = 1
    # An attribute that a fit sets, and the call that fits.
    fitted_by: ClassVar[tuple[str, str]] = ("state_", "fit(scores)")

    fitted_on_: dict[str, Plain]

    @abstractmethod
    def _content(self) -> tuple[dict[str, Plain], State]:
        """Return the parameters of the constructor, and the fitted state."""

    @abstractmethod
    def _restore(self, state: State) -> None:
        """Set the attributes of a fitted object; raise a ValueError if the state is not valid."""

    def _require_fit(self) -> None:
        """Raise an error if there is nothing to store yet."""
        require_fit(self, *self.fitted_by)

    def to_dict(self) -> dict[str, Plain]:
        """Return the fitted calibrator as plain numbers and text, with a checksum."""
        self._require_fit()
        parameters, state = self._content()
        values = (FORMAT, VERSION, self.name, parameters, self.fitted_on_, state)
        content = dict(zip(KEYS, values, strict=False))
        return {**content, "checksum": checksum(content)}

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
        check_content(content)
        if content["method"] != cls.name:
            raise refusal(f"it contains the method {content['method']!r}, not {cls.name!r}")
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
            "score_range": list(scores.extent),
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

    def unfitted(self) -> Self:
        """Return a new calibrator with the same parameters."""
        return type(self)(**self.get_params())

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


def fit_noting(fit: Callable[[Rows], Fitted], rows: Rows) -> tuple[Fitted, tuple[str, ...]]:
    """Return what was fitted on the rows, and the warnings about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrationWarning)
        fitted = fit(rows)
    return fitted, tuple(dict.fromkeys(str(one.message) for one in caught))


def mapped_range(calibrator: Calibrator, scores: PUScores, at: ArrayLike) -> tuple[Floats, Floats]:
    """Return the smallest and largest probabilities that a score may correspond to.

    A calibrator is valid for one prior. The same method is refitted at both ends of the set of
    priors; these maps and the given fit cannot be distinguished without knowing the prior.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted on `scores`.
    scores : PUScores
    at : array-like
        Scores to map.

    Examples
    --------
    >>> from noneg.recalibration import make
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 4000, setting="two-sample", seed=0)
    >>> scores = scores.with_prior(0.3, (0.2, 0.4))
    >>> low, high = mapped_range(make("platt").fit(scores), scores, [0.5])
    >>> bool(low[0] < 0.4 and 0.6 < high[0])
    True
    """
    s = np.asarray(at, dtype=np.float64)
    method: Calibrator = getattr(calibrator, "chosen_", calibrator)
    others = [
        fit_quietly(method.unfitted(), scores.with_prior(prior)).transform(s)
        for prior in dict.fromkeys(scores.prior_set)
    ]
    maps = np.stack([calibrator.transform(s), *others])
    return maps.min(axis=0), maps.max(axis=0)


def probability_range(
    calibrator: Calibrator, s: ArrayLike, scores: PUScores
) -> tuple[Floats, Floats]:
    r"""Return the smallest and largest probabilities compatible with a score.

    A fitted map gives :math:`\pi\,d\mu_+/d\mu` as if positives were labeled at random. With a
    selection factor, the probability may be a multiple of this value (`noneg.selection`), up to 1.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted calibrator.
    s : array-like
        Scores in [0, 1].
    scores : PUScores
        Setting, prior and selection; with a ``prior_interval``, the range holds for every prior.

    Examples
    --------
    >>> from noneg.recalibration import Platt, probability_range
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 5000, setting="two-sample", seed=0)
    >>> calibrator = Platt().fit(scores)
    >>> low, high = probability_range(calibrator, [0.2, 0.8], scores.with_selection(2))
    >>> [bool(x) for x in low < calibrator.transform([0.2, 0.8])], float(high[1])
    ([True, True], 1.0)
    """
    x = check_scores(s, "s")
    value = np.asarray(calibrator.transform(x), dtype=np.float64)
    ends = [(prior, *density_ends(scores, prior)) for prior in scores.prior_set]
    low = min(prior * least for prior, least, _ in ends) / scores.known_prior
    high = max(prior * most for prior, _, most in ends) / scores.known_prior
    return np.minimum(low * value, 1.0), np.minimum(high * value, 1.0)


def check_rows(scores: PUScores) -> None:
    """Reject a population, which has no rows to fit on or to hold out."""
    if math.isinf(scores.n_marginal) or math.isinf(scores.n_positive):
        rule = "must contain rows, got a population"
        raise InputError("scores", rule, remedy="Draw a finite sample from it.")


def law_rows(scores: PUScores) -> tuple[Law, Law]:
    """Return the rows of the positive and the marginal sample: scores, and masses that sum to 1."""
    chunks = list(scores.chunks())
    return (
        _joined([(s, f * a) for in_positive, _, (s, f, a, _) in chunks if in_positive]),
        _joined([(s, f * w) for _, in_marginal, (s, f, _, w) in chunks if in_marginal]),
    )


def _joined(rows: list[tuple[Floats, Mass]]) -> Law:
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
    array = as_array(s)
    return check_scores(array.reshape(-1), "s").reshape(array.shape)


def checksum(content: Mapping[str, Plain]) -> str:
    """Return the SHA-256 hash of the content as compact JSON with sorted keys."""
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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


def check_increasing(state: State, x: str, *names: str) -> None:
    """Reject probabilities at nodes that decrease from one node to the next."""
    for name in names:
        check_nodes(state, x, name)
        check_probabilities(state, name)
        if (np.diff(state[name]) < 0.0).any():
            raise InputError(name, "must never decrease")


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
