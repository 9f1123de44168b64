"""Calls that must succeed: valid tables, and options that are consistent with them and each
other."""

import csv
import io
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.hostile import good_scores
from hypothesis import strategies as st

SETTINGS = ["two-sample", "one-sample", "labeled"]
# Labels as people write them, with the options that make them unambiguous.
LABELS = [("0", "1", ()), ("-1", "1", ()), ("false", "true", ()), ("no", "yes", ("yes",))]
LABELS += [("a b", "<b>", ("<b>",)), ("3", "4", ("4",))]
METHODS = ["platt", "histogram", "isotonic", "temperature", "identity", "prior-shift", "auto"]
PRIOR_METHODS = ["dedpul", "bbe", "quick", "elkan-noto-e1", "elkan-noto-e3", "recpe"]
ENDINGS = ["csv", "tsv", "csv.gz", "csv.zst", "parquet"]
levels = st.floats(0.5, 0.999).map(repr)


class Table(NamedTuple):
    """A file with the scores of two models, and the options that a command needs to read it."""

    name: str
    content: bytes
    options: list[str]


class Call(NamedTuple):
    """Command-line arguments, and the files that they name."""

    arguments: list[str]
    files: dict[str, bytes]


@st.composite
def sound_tables(draw):
    """A few rows, of which at most a quarter are positive, with at most half of the weight."""
    n_positive = draw(st.integers(2, 8))
    n = draw(st.integers(4 * n_positive, 40))
    no, yes, said = draw(st.sampled_from(LABELS))
    columns = {
        "score": draw(st.lists(good_scores, min_size=n, max_size=n)),
        "other": draw(st.lists(good_scores, min_size=n, max_size=n)),
        "label": [yes] * n_positive + [no] * (n - n_positive),
        "w": draw(st.lists(st.sampled_from("123"), min_size=n, max_size=n)),
    }
    order = draw(st.permutations(range(n)))
    columns = {name: [column[i] for i in order] for name, column in columns.items()}
    form = draw(st.sampled_from(["csv", "tsv", "parquet"]))
    options = ["--positive-label", *said] if said else []
    return Table(f"t.{form}", _written(columns, form, draw(st.sampled_from(",;"))), options)


def _written(columns, form, delimiter):
    if form == "parquet":
        numbers = {name: list(map(float, columns[name])) for name in ("score", "other", "w")}
        values = {"false": False, "true": True} | {x: int(x) for x in ("-1", "0", "1", "3", "4")}
        labels = [values.get(label, label) for label in columns["label"]]
        out = io.BytesIO()
        pq.write_table(pa.table(numbers | {"label": labels}), out)
        return out.getvalue()
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t" if form == "tsv" else delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


@st.composite
def some(draw, *options):
    """Include each of these options or not; a list is a choice of values, and a strategy draws
    one."""
    out = []
    for name, *choices in options:
        if draw(st.booleans()):
            out.append(name)
            out += [draw(st.sampled_from(x) if isinstance(x, list) else x) for x in choices]
    return out


@st.composite
def priors(draw, *, estimate=()):
    """A setting, with a prior larger than the largest possible share of labeled rows."""
    setting = draw(st.sampled_from(SETTINGS))
    out = ["--setting", setting]
    if setting == "labeled":
        return out
    # Positives have at most half of the weight in these tables.
    prior = draw(st.floats(0.51 if setting == "one-sample" else 0.02, 0.98))
    interval = [draw(st.floats(0.505 if setting == "one-sample" else 0.01, prior))]
    interval.append(draw(st.floats(prior, 0.99)))
    kind = draw(st.sampled_from(["number", "number", "interval", *["estimate"] * bool(estimate)]))
    if kind == "estimate":
        return [*out, "--prior", draw(st.sampled_from(estimate))]
    out += ["--prior", repr(prior)]
    return [*out, "--prior-interval", *map(repr, interval)] if kind == "interval" else out


ESTIMATE = ["estimate", "estimate:bbe", "estimate:elkan-noto-e1"]


@st.composite
def weights(draw):
    """Weights of one kind or the other, or none."""
    if draw(st.booleans()):
        return []
    return ["--weight", "w", *draw(some(("--weight-kind", ["frequency", "importance"])))]


@st.composite
def rows(draw, table):
    """Options shared by the commands that read scores."""
    out = [table.name, "--score", "score", "--label", "label", *table.options]
    out += [*draw(priors(estimate=ESTIMATE)), *draw(weights())]
    return out + draw(st.sampled_from([[], [], ["--exact"], ["--sketch"]]))


@st.composite
def evaluations(draw, table):
    return draw(rows(table)) + draw(some(("--level", levels), ("--json",)))


@st.composite
def reports(draw, table):
    out = draw(rows(table)) + draw(some(("--level", levels), ("--no-recalibrate",)))
    out += draw(some(("--title", ["<b>&", "Ä", "{{7*7}}"])))
    place = ["o.html", "o.md", "o.txt", "o.json", "kept.html", "-"]
    out += draw(some(("-o", place), ("--format", ["html", "markdown", "text", "json"])))
    return [*out, "--force"]


@st.composite
def recalibrations(draw, table):
    out = [*draw(rows(table)), "--method", draw(st.sampled_from(METHODS)), "--folds", "2"]
    places = [f"o.{ending}" for ending in ENDINGS]
    out += draw(some(("--out", places), ("--save", ["c2.json"]), ("--column", ["new", "日本"])))
    return out + draw(some(("--seed", ["0", "7"]), ("--json",), ("--force",)))


@st.composite
def thresholds(draw, table):
    share, size = st.floats(1e-9, 1.0).map(repr), st.floats(0.01, 100.0).map(repr)
    wanted = draw(
        st.sampled_from(
            [
                # The precision of all rows together is at least the smallest prior above.
                ("--precision", st.floats(1e-9, 0.02).map(repr)),
                ("--recall", share),
                ("--f-beta", size),
                ("--cost", size, size),
                ("--at", share),
            ]
        )
    )
    out = [wanted[0], *[draw(x) for x in wanted[1:]]]
    return draw(rows(table)) + out + draw(some(("--level", levels), ("--json",)))


@st.composite
def comparisons(draw, table):
    """Two columns of one file, or the same column of two files with the same rows."""
    two_files = draw(st.booleans())
    again = f"u{table.name[1:]}"
    out = [table.name, again, "--score", "score"] if two_files else [table.name]
    out += [] if two_files else ["--score", "score", "--score", "other"]
    names = ["t", "u"] if two_files else ["score", "other"]
    if draw(st.booleans()):
        names = draw(st.sampled_from([["a", "b"], ["<b>", "[red]"]]))
        out += ["--names", ",".join(names)]
    out += ["--label", "label", *table.options, *draw(priors(estimate=ESTIMATE)), *draw(weights())]
    out += draw(some(("--reference", ["best", *names]), ("--threshold", levels)))
    out += draw(some(("--level", levels), ("-o", ["o.html", "kept.html"]), ("--json",)))
    return [*out, "--force"]


@st.composite
def prior_questions(draw, table):
    setting = draw(st.sampled_from(SETTINGS[:2]))
    out = [table.name, "--label", "label", "--setting", setting, *table.options]
    if draw(st.booleans()):
        out += ["--score", "score", *draw(weights())]
        methods = PRIOR_METHODS
    else:
        out += ["--feature", "score", "--feature", "other"]
        methods = ["elkan-noto-e1", "tice", "km1"]
    for method in draw(st.lists(st.sampled_from(methods), max_size=2, min_size=1)):
        out += ["--method", method]
    return out + draw(some(("--level", levels), ("--json",)))


@st.composite
def applications(draw, table):
    out = ["c.json", table.name, "--score", draw(st.sampled_from(["score", "other"]))]
    out += ["--out", draw(st.sampled_from([f"o.{ending}" for ending in ENDINGS]))]
    return out + draw(some(("--column", ["new", "日本"]), ("--json",), ("--force",)))


@st.composite
def simulations(draw):
    setting = draw(st.sampled_from(SETTINGS))
    size = st.integers(1, 50).map(str)
    sizes = {
        "labeled": ["--n", draw(size)],
        "two-sample": ["--n-positive", draw(size), "--n-unlabeled", draw(size)],
        # Half of the rows are positive, and two of them are labeled.
        "one-sample": ["--n-positive", "2", "--n-unlabeled", str(20 + int(draw(size)))],
    }
    out = ["--setting", setting, *sizes[setting]]
    places = [f"o.{ending}" for ending in ENDINGS]
    out += ["--out", draw(st.sampled_from([*places, "-", "kept.csv"]))]
    slope = st.one_of(st.floats(-5.0, -0.1), st.floats(0.1, 5.0)).map(repr)
    world = draw(some(("--world", ["less-calibrated", "better-calibrated", "calibrated"])))
    if not world and draw(st.booleans()):
        world = ["--beta0", draw(slope), "--beta1", draw(slope)]
    if setting != "one-sample":
        world += draw(some(("--prior", st.floats(0.01, 0.99).map(repr))))
    return [*out, *world, *draw(some(("--seed", ["0", "7"]))), "--force"]


@st.composite
def plans(draw):
    share = st.floats(0.05, 0.95).map(repr)
    out = ["--eps", draw(share), "--prior", draw(share)]
    out += draw(some(("--ratio", st.floats(0.1, 100.0).map(repr)), ("--json",)))
    method = draw(st.sampled_from(["bound", "normal"]))
    out += ["--method", method]
    if method == "normal":
        return out + draw(some(("--delta", share), ("--mean-score", share)))
    lipschitz = st.floats(0.0, 3.0).map(repr)
    return out + draw(
        some(("--binning", ["mass", "width"]), ("--lipschitz", lipschitz), ("--delta", share))
    )


WITH_A_TABLE = {
    "evaluate": evaluations,
    "report": reports,
    "recalibrate": recalibrations,
    "apply": applications,
    "threshold": thresholds,
    "compare": comparisons,
    "prior": prior_questions,
}
WITHOUT = {"simulate": simulations, "plan": plans}


@st.composite
def sound_calls(draw, name, calibrator):
    """A call to a command that must succeed."""
    if name in WITHOUT:
        return Call([name, *draw(WITHOUT[name]())], {})
    table = draw(sound_tables())
    again = f"u{table.name[1:]}"
    files = {table.name: table.content, again: table.content, "c.json": calibrator}
    return Call([name, *draw(WITH_A_TABLE[name](table))], files)
