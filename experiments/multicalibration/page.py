"""Names of the methods, for the tables of the README."""

NAMES = {
    ("", "none"): "unchanged",
    ("hidden", "auto"): "`Auto`, labels hidden",
    ("hidden", "multi"): "`Multi`, labels hidden",
    ("known", "auto"): "`Auto`, all labels",
    ("known", "multi"): "`Multi`, all labels",
    ("known", "mcgrad"): "MCGrad, all labels",
}
