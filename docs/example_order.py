"""The order of the examples in the gallery."""

EXAMPLES = (
    *("reliability", "fraud", "genes", "clicks", "text", "images", "multiclass"),
    *("prior", "threshold", "recalibrate", "compare", "how_many_labels"),
    *("grid_search", "torch_training", "daily_sketches", "spark"),
)


def place(file: str) -> int:
    """Return the position of an example; an unlisted example is an error."""
    return EXAMPLES.index(file.removeprefix("plot_").removesuffix(".py"))
