"""Optional packages, and the extra that installs each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Top-level module to extra, as in pyproject.toml.
EXTRAS = {
    "dask": "cluster",
    "distributed": "cluster",
    "joblib": "cluster",
    "lightgbm": "boost",
    "mlflow": "mlflow",
    "matplotlib": "plot",
    "numba": "fast",
    "onnx": "onnx",
    "pooch": "data",
    "py4j": "spark",
    "pyspark": "spark",
    "safetensors": "serve",
    "skops": "serve",
    "sqlglot": "sql",
    "torch": "learn",
    "torchmetrics": "learn",
    "wandb": "wandb",
}


@contextmanager
def optional(what: str, otherwise: str = "") -> Iterator[None]:
    """Name the extra to install if an import in the block finds an optional package missing.

    Parameters
    ----------
    what : str
        The feature that needs the import.
    otherwise : str
        An alternative to installing, as in ``"or use .json"``.

    Examples
    --------
    >>> with optional("a picture"):
    ...     raise ModuleNotFoundError(name="matplotlib.pyplot")
    Traceback (most recent call last):
        ...
    ImportError: a picture needs matplotlib. Install it with: pip install 'noneg[plot]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        install = f"Install it with: pip install 'noneg[{EXTRAS[module]}]'"
        tail = f", {otherwise}." if otherwise else ""
        raise ImportError(f"{what} needs {module}. {install}{tail}", name=error.name) from error
