"""The order of the examples, as a reader goes on."""

EXAMPLES = (
    *("reliability", "fraud", "genes", "clicks", "text", "images", "multiclass"),
    *("prior", "threshold", "recalibrate", "compare", "how_many_labels"),
    *("grid_search", "torch_training", "daily_sketches", "spark"),
)


def place(file: str) -> int:
    """Return the place of an example; one that has none is an error."""
    return EXAMPLES.index(file.removeprefix("plot_").removesuffix(".py"))
