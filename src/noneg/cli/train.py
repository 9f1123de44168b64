"""``noneg train``: from a table to a model and a report; ``noneg predict`` applies it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import answer, busy, check_outputs, tell
from noneg.cli.question import Source
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.learning import PUClassifier
    from noneg.scores import PUScores

REPORT, SCORES, PROBABILITY = "report.html", "scores.parquet", "probability"


@main.command(short_help="Train a classifier on a table, and report on it.")
@opt.FILES
@opt.two_labels
@opt.setting
@opt.option(
    "--prior",
    "Share of positives in the population, in (0, 1), or 'estimate' to estimate it from the table.",
    type=opt.PriorChoice(),
)
@opt.LABELS[0]
@opt.column("--weight", "Column of importance weights.")
@opt.column(
    "--propensity",
    "Column of labeling rates in (0, 1]: the probability that a positive like this one is labeled.",
)
@opt.column(
    "--feature", "features", "Feature column; may be repeated.  [default: all]", multiple=True
)
@opt.column("--ignore", "ignored", "Column to exclude from the features.", multiple=True)
@opt.option("-o", "--out", "Output folder for the model.", required=True, metavar="FOLDER")
@opt.option("--seed", "Random seed.", default=0)
@opt.force
@opt.as_json
def train(files: tuple[str, ...], out: str, **asked: Any) -> None:
    """Train boosted trees on the table in FILE, and write model, scores and report to a folder.

    Columns may contain numbers, text and missing values. The report evaluates held-out
    probabilities, which are stored in scores.parquet. noneg predict applies the model.

    Examples
    --------
    noneg train table.parquet --label confirmed --setting one-sample --prior estimate -o model/
    """
    import pyarrow as pa

    folder = Path(out)
    if folder.exists():
        check_outputs([("out", str(folder / REPORT))], files)
    table, roles, features = _columns(files, asked)
    with busy("Training"):
        model = _trained(table.select(features), roles, asked)
    scores, held = _held_out(model, roles)
    notes = {
        "features": features,
        "texts": [features[k] for k in model.model_.columns_.categories],
        "label": asked["label"],
        "setting": asked["setting"],
        "prior": model.prior_,
        "rows": table.num_rows,
    }
    source = Source(files, {"label": asked["label"], "weight": asked["weight"]})
    with busy("Writing"):
        verdict = _write(model, scores, folder, notes, source)
        _write_table(pa.table(held), folder / SCORES)
    told = _told(model, scores, folder, notes)
    content = {"out": out, "verdict": verdict, **notes}
    answer("noneg.train/1", content, None, f"On held-out rows: {verdict}", *told)


def _columns(
    files: tuple[str, ...], asked: dict[str, Any]
) -> tuple[Any, dict[str, Any], list[str]]:
    """Return the table, the columns that are not features, and the names of the features."""
    from noneg.checks import check_flags
    from noneg.tables.frames import check_columns, read_table

    named = {role: asked[role] for role in ("label", "weight", "propensity") if asked[role]}
    some = {"columns": asked["features"], "named": named} if asked["features"] else {}
    table = read_table(list(files), **some)
    check_columns(table, (*named.items(), *(("ignored", name) for name in asked["ignored"])))
    others = {*named.values(), *asked["ignored"]}
    features = [name for name in table.column_names if name not in others]
    if not features:
        rule = "must contain a feature in addition to the label, got no other column"
        raise InputError("source", rule)
    roles = {role: table[name].to_numpy(zero_copy_only=False) for role, name in named.items()}
    check_flags(roles["label"], "label", asked["positive_label"])
    return table, roles, features


def _trained(table: Any, roles: dict[str, Any], asked: dict[str, Any]) -> PUClassifier:
    from noneg.learning import PUClassifier

    prior = asked["prior"]
    if isinstance(prior, str) and prior != "estimate":
        rule = "must be a number or 'estimate': only one estimator works on features here"
        raise InputError("prior", rule, value=prior)
    model = PUClassifier(
        setting=asked["setting"],
        prior=prior,
        positive_label=asked["positive_label"],
        random_state=asked["seed"],
    )
    return model.fit(table, roles["label"], roles.get("weight"), propensity=roles.get("propensity"))


def _held_out(model: PUClassifier, roles: dict[str, Any]) -> tuple[PUScores, dict[str, Any]]:
    """Return the probabilities and labels of held-out rows."""
    import numpy as np

    from noneg.checks import check_flags
    from noneg.tables.batches import Columns

    weight = roles.get("weight")
    counts = np.ones(len(roles["label"]), dtype=bool) if weight is None else weight > 0.0
    labels = roles["label"][counts]
    p = getattr(model.model_, "out_of_fold_", np.full(labels.size, np.nan))
    there = np.isfinite(p)
    if not there.any():
        rule = "must contain at least two labeled positives and two other rows"
        raise InputError("label", f"{rule}, so that some can be held out")
    flags = check_flags(labels, "label", model.positive_label)[there]
    others = {name: roles[name][counts][there] for name in roles if name != "label"}
    held = {"labeled": flags.astype(int), PROBABILITY: p[there], **others}
    known = {"prior": model.prior_, "propensity": others.get("propensity")}
    rows = Columns(p[there], flags, others.get("weight"))
    scores = rows.scores(model.setting, "importance", **known)
    found = getattr(model, "prior_estimate_", None)
    return (scores if found is None else found.apply(scores)), held


def _write(
    model: PUClassifier, scores: PUScores, folder: Path, notes: dict[str, Any], source: Source
) -> str:
    """Write the model and the report; return the verdict."""
    from noneg.atomic import write_text
    from noneg.evaluation import evaluate
    from noneg.learning import save_model
    from noneg.report import to_html
    from noneg.report.content import document

    save_model(model, folder, notes=notes)
    evaluation = evaluate(scores)
    about = source.about(f"Can the model trained on {source.name} be trusted?")
    write_text(folder / REPORT, to_html(evaluation, about))
    return str(document(evaluation, about).verdict[0])


def _told(
    model: PUClassifier, scores: PUScores, folder: Path, notes: dict[str, Any]
) -> Iterator[str]:
    yield f"{notes['rows']:,} rows, {len(notes['features'])} features: {scores!r}"
    found = getattr(model, "prior_estimate_", None)
    for warning in () if found is None else found.warnings:
        yield f"Note on the prior: {warning}"
    gains = sorted(zip(model.model_.feature_importances_, notes["features"], strict=True))[::-1]
    best = ", ".join(f"{name} ({share:.0%})" for share, name in gains[:5] if share > 0.0)
    yield f"Columns that matter most: {best or 'none'}."
    yield f"Wrote the model to {folder}, with {SCORES} (held-out rows) and {REPORT}."


@main.command(short_help="Apply a trained model to new rows.")
@click.argument("folder", metavar="MODEL")
@opt.FILES
@opt.written(
    "--out",
    "Output file for the rows with the new column: .csv or .parquet.",
    type=opt.Output("must end in .csv or .parquet", ".csv", ".parquet"),
    required=True,
)
@opt.option("--column", "Name of the new column.", default=PROBABILITY, metavar="NAME")
@opt.force
def predict(folder: str, files: tuple[str, ...], out: str, column: str) -> None:
    """Write the rows of FILE with their probability of being positive under MODEL.

    Examples
    --------
    noneg predict model/ new.parquet --out scored.parquet
    """
    from noneg.learning import load_model
    from noneg.learning.saving import model_notes
    from noneg.tables.frames import read_table

    notes = model_notes(folder)
    table = read_table(list(files), texts=notes["texts"])
    if column in table.column_names:
        rule = f"must be a new name, but column {column!r} exists"
        raise InputError("column", rule, value=column)
    missing = [name for name in notes["features"] if name not in table.column_names]
    if missing:
        rule = "must contain the columns that the model was trained on"
        raise InputError("source", f"{rule}, but {missing[0]!r} is missing")
    _check_numbers(table, set(notes["features"]) - set(notes["texts"]))
    with busy("Predicting"):
        p = load_model(folder).predict_proba(table.select(notes["features"]))[:, 1]
    _write_table(table.append_column(column, [p]), Path(out))
    tell(f"Wrote {p.size:,} rows to {out}; column {column!r} has a mean of {p.mean():.4f}.")


def _check_numbers(table: Any, names: set[str]) -> None:
    """Reject text in a column that contained numbers, booleans or times in training."""
    import pyarrow as pa

    for field in table.schema:
        if field.name in names and field.type in (pa.string(), pa.large_string()):
            rule = f"must not contain text in column {field.name!r}, which had none in training"
            remedy = "Store both tables in the same format: a CSV file has no types."
            raise InputError("source", rule, remedy=remedy)


def _write_table(table: Any, path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet as pq

    from noneg.atomic import replacing

    write = pyarrow.csv.write_csv if path.suffix.lower() == ".csv" else pq.write_table
    with replacing(path) as partial:
        write(table, partial)
