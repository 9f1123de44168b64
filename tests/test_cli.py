"""The command line as users see it: its output, and its error messages."""

import gzip
import json
import os
import pickle
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

import noneg
from noneg.cli import main
from noneg.errors import Argument, InputError
from noneg.evaluation import evaluate
from noneg.results import plain
from noneg.sentences import printable
from noneg.simulation import LogisticGaussian
from noneg.tables import write

NONEG = [sys.executable, "-c", "from noneg.cli import main; main(prog_name='noneg')"]
COLUMNS = ["--score", "score", "--label", "label"]
LABELED = [*COLUMNS, "--setting", "labeled"]
TWO_SAMPLE = [*COLUMNS, "--setting", "two-sample", "--prior", "0.5"]
ONE_SAMPLE = [*COLUMNS, "--setting", "one-sample", "--prior", "0.5"]
HEAVY = ("torch", "matplotlib", "altair", "pandas", "duckdb", "sklearn", "scipy", "rich", "numba")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def world_file():
    world = LogisticGaussian.less_calibrated()
    write(world.draw(500, 5000, setting="two-sample", seed=3), "scores.csv")
    return "scores.csv"


def run(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def good(*arguments, **options):
    result = run(*arguments, **options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def strict_json(text):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def test_help_and_version():
    assert good("--help") == good("-h")
    assert good() == good("--help")
    assert good("--version").startswith("noneg ")
    for command in ("evaluate", "compare", "plan", "simulate", "demo"):
        assert command in good("--help")
        assert f"noneg {command}" in good(command, "--help")


def test_the_module_runs_as_the_command():
    run = subprocess.run(
        [sys.executable, "-m", "noneg", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout == good("--version")


def test_the_table_of_an_evaluation(world_file):
    lines = good("evaluate", world_file, *TWO_SAMPLE).splitlines()
    assert lines[0] == "scores.csv: score 'score', label 'label'"
    assert lines[1] == "500 labeled positives and 5,000 unlabeled rows; two-sample; prior 0.5"
    result = evaluate(
        noneg.read(world_file, score="score", label="label", setting="two-sample", prior=0.5)
    )
    table = "\n".join(lines)
    for estimate in (result.ece, result.ece_width_15, result.ece_mass_15):
        assert f"{estimate.value:.4f}  [{estimate.low:.4f}, {estimate.high:.4f}]" in table
    assert f"Plain error, {result.bins} equal-mass bins" in table
    assert f"p = {result.test.p_value:.3f}, evidence against it" in table
    for bound in result.bounds.values():
        assert f"within {bound.value:.3f}" in table or bound.vacuous
    for warning in result.warnings:
        assert f"Note: {warning}" in lines
    ends = {m.end(1) for line in lines if (m := re.search(r" (-?\d+\.\d{4})  \[", line))}
    assert len(ends) == 1
    for name, found in result.metrics.items():
        assert f"{found.value:.4f}  [{found.low:.4f}, {found.high:.4f}]" in table, name
    assert not any(line != line.rstrip() for line in lines)
    assert "\x1b" not in table


def test_the_json_of_an_evaluation(world_file):
    out = strict_json(good("evaluate", world_file, *TWO_SAMPLE, "--json"))
    keys = {"n_positive", "n_marginal", "prior", "setting", "ece", "ece_width_15", "ece_mass_15"}
    assert keys <= out.keys()
    assert {"bins", "calibration_p_value", "bounds", "warnings", "version"} <= out.keys()
    assert out["schema"] == "noneg.evaluation/1"
    assert out["source"] == {
        "files": [world_file],
        "score": "score",
        "label": "label",
        "positive_label": None,
        "weight": None,
    }
    assert (out["n_positive"], out["n_marginal"], out["setting"]) == (500, 5000, "two-sample")
    scores = noneg.read(world_file, score="score", label="label", setting="two-sample", prior=0.5)
    expected = plain(evaluate(scores).to_dict())
    assert {key: out[key] for key in expected} == expected


def test_the_json_of_few_rows_has_no_nan():
    Path("t.csv").write_text("score,label\n0.25,1\n")
    out = strict_json(good("evaluate", "t.csv", *LABELED, "--json"))
    assert out["ece_mass_15"] is None
    assert out["bounds"] == {}
    assert "not available for these data" in good("evaluate", "t.csv", *LABELED)


def test_the_options_of_an_evaluation_arrive():
    Path("t.csv").write_text("score,label,w\n0.9,yes,2\n0.4,no,3\n0.2,no,4\n")
    arguments = ["--positive-label", "yes", "--weight", "w", "--level", "0.9"]
    out = strict_json(good("evaluate", "t.csv", *ONE_SAMPLE, *arguments, "--json"))
    assert (out["n_positive"], out["n_marginal"], out["level"]) == (2, 9, 0.9)
    assert "90% interval" in good("evaluate", "t.csv", *ONE_SAMPLE, *arguments)
    arguments = ["--positive-label", "yes", "--weight", "w", "--weight-kind", "importance"]
    out = strict_json(good("evaluate", "t.csv", *ONE_SAMPLE, *arguments, "--json"))
    assert out["n_marginal"] == 3
    arguments = ["--positive-label", "yes", "--prior-interval", "0.4", "0.6"]
    out = strict_json(good("evaluate", "t.csv", *ONE_SAMPLE, *arguments, "--json"))
    assert (out["prior"]["low"], out["prior"]["high"]) == (0.4, 0.6)
    assert "prior 0.5 in [0.4, 0.6]" in good("evaluate", "t.csv", *ONE_SAMPLE, *arguments)


def test_several_files_and_standard_input_are_one_table(world_file):
    whole = strict_json(good("evaluate", world_file, *TWO_SAMPLE, "--json"))
    header, *rows = Path(world_file).read_text().splitlines(keepends=True)
    Path("1.csv").write_text(header + "".join(rows[:700]))
    Path("2.csv").write_text(header + "".join(rows[700:]))
    zipped = gzip.compress(Path("2.csv").read_bytes())
    for arguments, given in (
        (["1.csv", "2.csv"], None),
        (["[12].csv"], None),
        (["1.csv", "-"], zipped),
    ):
        out = strict_json(good("evaluate", *arguments, *TWO_SAMPLE, "--json", input=given))
        assert out | {"source": 0} == whole | {"source": 0}
    assert "standard input: score" in good("evaluate", "-", *LABELED, input=zipped)


def test_simulated_rows_are_those_of_the_library():
    for setting, sizes, prior in (
        ("two-sample", {"n_positive": 50, "n_unlabeled": 300}, ["--prior", "0.5"]),
        ("one-sample", {"n_positive": 50, "n_unlabeled": 300}, ["--prior", "0.5"]),
        ("labeled", {"n": 300}, []),
    ):
        size = [x for name, n in sizes.items() for x in (f"--{name.replace('_', '-')}", n)]
        arguments = ["--world", "better-calibrated", "--seed", 4, "--setting", setting, *size]
        said = good("simulate", *arguments, "--out", f"{setting}.parquet")
        assert "True calibration error: 0.023458913" in said
        assert f"noneg evaluate {setting}.parquet --score score --label label" in said
        arguments = [*COLUMNS, "--setting", setting, *prior, "--json"]
        out = strict_json(good("evaluate", f"{setting}.parquet", *arguments))
        world = LogisticGaussian.better_calibrated()
        expected = plain(evaluate(world.draw(**sizes, setting=setting, seed=4)).to_dict())
        assert {key: out[key] for key in expected} == expected


def test_simulated_rows_can_be_printed_and_replaced():
    size = ["--setting", "labeled", "--n", 3]
    result = run("simulate", *size, "--beta0", 0, "--beta1", 2, "--out", "-")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "score,label"
    assert len(result.stdout.splitlines()) == 4
    assert "True calibration error: 0.000000000" in result.stderr
    Path("t.csv").write_text("precious")
    assert run("simulate", *size, "--out", "t.csv").exit_code == 2
    assert Path("t.csv").read_text() == "precious"
    good("simulate", *size, "--out", "t.csv", "--force")
    assert Path("t.csv").read_text().startswith("score,label\n")


def test_plan():
    said = good("plan", "--eps", 0.05, "--prior", 0.3, "--method", "normal")
    assert "For an error of 0.05 at a prior of 0.3, you need" in said
    assert "positives             292" in said
    assert "unlabeled rows      2,920" in said
    assert "This is an approximation: half-width at level 0.95" in said
    out = strict_json(
        good(
            "plan",
            "--eps",
            0.2,
            "--prior",
            0.3,
            "--n-unlabeled",
            50_000,
            "--method",
            "bound",
            "--json",
        )
    )
    assert out["schema"] == "noneg.plan/1"
    assert (out["n_positive"], out["n_unlabeled"], out["method"]) == (843, 50_000, "bound")


def test_demo_shows_the_truth_next_to_the_estimate():
    said = good("demo", "--out", "report.html")
    row = next(line for line in said.splitlines() if line.startswith("Expected calibration error"))
    estimate, low, high, truth = map(float, re.findall(r"\d\.\d+", row))
    assert low <= truth <= high
    assert abs(estimate - truth) < 0.02
    assert "which reveals the true labels at the end: report.html\n" in said
    assert said.endswith("write its rows here: noneg demo --data .\n")
    page = Path("report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "The truth, revealed" in page


HEADER = "score,label\n"
GOOD = HEADER + "0.9,1\n0.4,0\n0.2,0\n"
LETTERS = HEADER + "0.9,a\n0.2,b\n"
WEIGHTS = "score,label,w\n0.9,1,{}\n0.2,0,1\n"
# Name: (content of t.csv, arguments, words that the message must contain).
WRONG = {
    "nan": (HEADER + "0.9,1\nnan,0\n", LABELED, ["'score'", "got nan", "line 3", "t.csv"]),
    "infinity": (HEADER + "inf,1\n0.5,0\n", LABELED, ["'score'", "got inf", "line 2"]),
    "below zero": (HEADER + "0.9,1\n-0.1,0\n", LABELED, ["'score'", "-0.1", "line 3", "sigmoid"]),
    "just above one": (HEADER + "1.0000001,1\n", LABELED, ["'score'", "1.0000001", "clip"]),
    "text score": (HEADER + "0.9,1\nhigh,0\n", LABELED, ["'score'", "'high'", "line 3"]),
    "decimal comma": ("score;label\n0,5;1\n", LABELED, ["'0,5'", "line 2", "point: 0.5"]),
    "percentages": (HEADER + "90,1\n20,0\n", LABELED, ["'score'", "got 90.0", "by 100"]),
    "percent signs": (HEADER + "90%,1\n2%,0\n", LABELED, ["'90%'", "shares: 0.9"]),
    "null score": (HEADER + "0.9,1\n,0\n", LABELED, ["'score'", "line 3", "has none", "impute"]),
    "null label": (HEADER + "0.9,1\n0.3,\n", LABELED, ["'label'", "line 3", "has none"]),
    "empty file": ("", LABELED, ["t.csv", "0 bytes"]),
    "header only": (HEADER, LABELED, ["t.csv", "only a header"]),
    "not a parquet file": (GOOD, ["@t.parquet", *LABELED], ["t.parquet", "despite its name"]),
    "three labels": (HEADER + "0.9,a\n0.1,b\n0.2,c\n", LABELED, ["'label'", "'a', 'b', 'c'"]),
    "ambiguous labels": (
        LETTERS,
        LABELED,
        ["'label'", "'a' and 'b'", "Pass the positive value as --positive-label."],
    ),
    "unknown positive label": (
        LETTERS,
        [*LABELED, "--positive-label", "z"],
        ["--positive-label", "'z'", "['a', 'b']"],
    ),
    "label of one kind": (HEADER + "0.9,1\n0.2,1\n", TWO_SAMPLE, ["'label'", "unlabeled row"]),
    "no weight": (
        "score,label,w\n0.9,1,0\n0.2,0,0\n",
        [*TWO_SAMPLE, "--weight", "w"],
        ["column 'w' must not be zero in every row"],
    ),
    "no positive": (HEADER + "0.9,0\n0.2,0\n", TWO_SAMPLE, ["'label'", "labeled positive"]),
    "missing score column": (
        GOOD,
        ["--score", "scor", "--label", "label", "--setting", "labeled"],
        ["--score", "'scor'", "Did you mean 'score'?", "It has 'score', 'label'."],
    ),
    "missing label column": (
        GOOD,
        ["--score", "score", "--label", "confirmed", "--setting", "labeled"],
        ["--label", "'confirmed'", "It has 'score', 'label'."],
    ),
    "missing weight column": (GOOD, [*LABELED, "--weight", "w"], ["--weight", "'w'"]),
    "same column": (
        GOOD,
        ["--score", "label", "--label", "label", "--setting", "labeled"],
        ["--score, --label and --weight", "'label', 'label'"],
    ),
    "missing file": (GOOD, ["@u.csv", *LABELED], ["FILE", "'u.csv'", "Did you mean 't.csv'?"]),
    "missing folder": (
        GOOD,
        ["@x/t.csv", *LABELED],
        ["the folder 'x' of 'x/t.csv' does not exist"],
    ),
    "pattern": (GOOD, ["@*.pq", *LABELED], ["'*.pq'", "no file matches"]),
    "folder": (GOOD, ["@.", *LABELED], ["'.'", "is a folder"]),
    "file twice": (GOOD, ["@t.csv", "t.csv", *LABELED], ["t.csv", "appears twice"]),
    "negative weight": (
        WEIGHTS.format(-1),
        [*LABELED, "--weight", "w"],
        ["'w'", "-1.0", "line 2"],
    ),
    "fractional weight": (
        WEIGHTS.format(1.5),
        [*LABELED, "--weight", "w"],
        ["'w'", "1.5", "--weight-kind importance"],
    ),
    "weight without a value": (
        WEIGHTS.format(""),
        [*LABELED, "--weight", "w"],
        ["a weight in eve"],
    ),
    "kind of weight": (GOOD, [*LABELED, "--weight-kind", "x"], ["--weight-kind", "'x'"]),
    "prior 0": (GOOD, [*TWO_SAMPLE, "--prior", "0"], ["--prior", "in (0, 1), got 0.0"]),
    "prior 1": (GOOD, [*TWO_SAMPLE, "--prior", "1"], ["--prior", "in (0, 1), got 1.0"]),
    "prior a": (GOOD, [*TWO_SAMPLE, "--prior", "a"], ["--prior", "'a'", "such as 0.05"]),
    "prior in percent": (GOOD, [*TWO_SAMPLE, "--prior", "40"], ["got 40.0", "by 100: 0.4"]),
    "prior with %": (GOOD, [*TWO_SAMPLE, "--prior", "40%"], ["--prior", "'40%'", "shares: 0.4"]),
    "prior with a comma": (GOOD, [*TWO_SAMPLE, "--prior", "0,4"], ["'0,4'", "point: 0.4"]),
    "prior nan": (GOOD, [*TWO_SAMPLE, "--prior", "nan"], ["--prior", "got nan"]),
    "prior below labeled share": (
        GOOD,
        [*ONE_SAMPLE, "--prior", "0.0001"],
        ["--prior", "0.333333", "got 0.0001", "--setting two-sample"],
    ),
    "prior of labeled rows": (GOOD, [*LABELED, "--prior", "0.3"], ["--prior", "must not", "0.3"]),
    "no prior": (
        GOOD,
        [*COLUMNS, "--setting", "one-sample"],
        ["--prior must be given with --setting one-sample", "--prior estimate"],
    ),
    "prior interval": (
        GOOD,
        [*TWO_SAMPLE, "--prior-interval", "0.6", "0.7"],
        ["--prior-interval", "(0.6, 0.7)", "prior 0.5"],
    ),
    "half a prior interval": (
        GOOD,
        [*TWO_SAMPLE, "--prior-interval", "0.6"],
        ["--prior-interval", "2 arguments"],
    ),
    "level": (GOOD, [*LABELED, "--level", "1.5"], ["--level", "got 1.5"]),
    "missing setting": (
        GOOD,
        COLUMNS,
        ["'--setting'", "every row has its true label", "collected separately", "one sample was"],
    ),
    "unknown setting": (
        GOOD,
        [*COLUMNS, "--setting", "pn"],
        ["--setting", "'pn'", "every row has its true label"],
    ),
    "missing score": (GOOD, ["--label", "label"], ["'--score'"]),
    "missing file argument": (GOOD, ["@", *LABELED], ["FILE"]),
    "unknown option": (GOOD, [*LABELED, "--bins", "3"], ["--bins"]),
    "irregular": (HEADER + "0.9,1\n0.2\n", LABELED, ["t.csv", "line 3 has 1 fields"]),
    "not UTF-8": (HEADER + "0.9,\udcff\n", LABELED, ["t.csv", "UTF-8", "line 2"]),
}
WRONG_COMMANDS = {
    "unknown command": (["evaluat"], ["evaluat"]),
    "eps": (["plan", "--eps", 0, "--prior", 0.3], ["--eps", "got 0.0"]),
    "plan prior": (["plan", "--eps", 0.1, "--prior", 3], ["--prior", "got 3.0"]),
    "out of reach": (
        ["plan", "--eps", 0.1, "--prior", 0.3, "--n-positive", 10],
        ["--eps", "--n-positive 10"],
    ),
    "both sizes": (
        ["plan", "--eps", 0.1, "--prior", 0.3, "--n-positive", 10, "--n-unlabeled", 11],
        ["--n-positive and --n-unlabeled", "10 and 11"],
    ),
    "no size": (
        ["simulate", "--setting", "labeled", "--out", "t.csv"],
        ["--n must be", "got nothing", "Pass for example --n 1000."],
    ),
    "size of another setting": (
        ["simulate", "--setting", "two-sample", "--n", 9, "--out", "t.csv"],
        ["--n is not used", "9", "Pass --n-positive and --n-unlabeled."],
    ),
    "half a world": (
        ["simulate", "--setting", "labeled", "--n", 9, "--beta0", 1, "--out", "t.csv"],
        ["--beta1"],
    ),
    "two worlds": (
        [
            "simulate",
            "--setting",
            "labeled",
            "--world",
            "calibrated",
            "--beta0",
            1,
            "--out",
            "t.csv",
        ],
        ["--world"],
    ),
    "constant score": (
        ["simulate", "--setting", "labeled", "--beta0", 1, "--beta1", 0, "--out", "t.csv"],
        ["--beta1", "got 0.0"],
    ),
    "seed": (
        ["simulate", "--setting", "labeled", "--n", 9, "--seed", -1, "--out", "t.csv"],
        ["--seed", "got -1"],
    ),
    "kind of file": (
        ["simulate", "--setting", "labeled", "--n", 9, "--out", "t.xlsx"],
        ["--out", "'t.xlsx'"],
    ),
    "demo folder": (["demo", "--out", "x/t.html"], ["--out", "'x/t.html'"]),
}


def refused(*arguments, **options):
    result = run(*arguments, **options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    message = result.stderr
    assert message.count("\n") == 1
    assert message.endswith("\n")
    for jargon in ("Traceback", "Error:", "DuckDB", "duckdb", "Binder"):
        assert jargon not in message
    return message


def message_of(case):
    content, arguments, _ = WRONG[case]
    Path("t.csv").write_text(content, encoding="utf-8", errors="surrogateescape")
    Path("t.parquet").write_text(GOOD) if case == "not a parquet file" else None
    files = ["t.csv"]
    if arguments and arguments[0].startswith("@"):
        files = [arguments[0][1:]] if arguments[0] != "@" else []
        arguments = arguments[1:]
    return refused("evaluate", *files, *arguments)


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_input_is_explained_in_one_paragraph(case):
    message = message_of(case)
    for word in WRONG[case][2]:
        assert word in message


def test_a_missing_unlabeled_row_is_reported_alike_in_both_settings():
    Path("t.csv").write_text(WRONG["label of one kind"][0])
    message = refused("evaluate", "t.csv", *ONE_SAMPLE)
    assert "column 'label' must contain at least one unlabeled row" in message
    assert message == message_of("label of one kind")


@pytest.mark.parametrize("case", WRONG_COMMANDS)
def test_a_wrong_command_is_explained_in_one_paragraph(case):
    arguments, words = WRONG_COMMANDS[case]
    message = refused(*arguments)
    for word in words:
        assert word in message


def test_every_invalid_input_has_its_own_message():
    messages = [message_of(case) for case in WRONG]
    assert len(messages) >= 25
    assert len(set(messages)) == len(messages)


def test_hostile_names_are_shown_as_they_are():
    file, score, label = "[red]'a\"\n\x1b[2J🦔].csv", "[bold]s[/bold]\n", "it's; DROP TABLE x; --"
    Path(file).write_text(f'"{score}",{label}\n0.9,1\n0.2,0\n')
    arguments = ["--score", score, "--label", label, "--setting", "labeled"]
    first = good("evaluate", file, *arguments).splitlines()[0]
    shown = "score '[bold]s[/bold]\\n', label \"it's; DROP TABLE x; --\""
    assert first == f"[red]'a\"\\n\\x1b[2J🦔].csv: {shown}"
    source = strict_json(good("evaluate", file, *arguments, "--json"))["source"]
    assert (source["files"], source["score"], source["label"]) == ([file], score, label)
    message = refused("evaluate", file, *arguments, "--weight", "[blink]\x07")
    assert "'[blink]\\x07'" in message
    assert "\x1b" not in message


def test_a_name_in_another_encoding_can_be_read_and_shown():
    name = b"\xff.csv"
    Path(os.fsdecode(name)).write_text(GOOD)
    result = subprocess.run([*NONEG, "evaluate", name, *LABELED], capture_output=True, check=True)
    assert result.stdout.startswith(b"\\udcff.csv: ")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    Path("🦔.csv").write_text(GOOD)
    command = [*NONEG, "evaluate", "🦔.csv", *LABELED]
    result = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert result.stdout.startswith(b"\\U0001f994.csv: ")


def test_options_replace_arguments_but_not_columns():
    options = {"prior": "--prior", "weight_kind": "--weight-kind", "setting": "--setting"}

    def told(*parts, **more):
        return InputError(*parts, **more).told(options)

    assert told("prior", "must be 'prior'") == "--prior must be 'prior'."
    assert told("x", "must be", value=None) == "'x' must be, got nothing."
    assert told(("prior", "x"), "must be") == "--prior and 'x' must be."
    assert told("x", ("needs ", Argument("setting", "labeled"))) == "'x' needs --setting labeled."
    assert told("x", "is not a file 'a/prior=3.csv'") == "'x' is not a file 'a/prior=3.csv'."
    remedy = ("Pass ", Argument("weight_kind"), ".")
    assert told("x", "is wrong", remedy=remedy) == "'x' is wrong. Pass --weight-kind."
    estimate = Argument("prior", "estimate", call="estimate_prior")
    assert told("x", ("needs ", estimate)) == "'x' needs --prior estimate."
    column = InputError("prior", "must contain numbers", value="a", row=2).of_column(
        "line {}".format
    )
    assert column.told(options) == "column 'prior' must contain numbers, got 'a' in line 2."


def test_an_error_is_the_same_in_another_process():
    error = InputError("x", "must be set", row=3, lack="is empty", remedy="Fill it.").of_column()
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert str(copied) == "column 'x' must be set, but row 3 is empty. Fill it."
    assert (copied.argument, copied.row, copied.remedy) == ("x", 3, "Fill it.")


def test_unprintable_signs_are_escaped():
    assert printable("a\u202eb\u2028\ud800c\t") == "a\\u202eb\\u2028\\ud800c\\t"
    assert printable("👩‍🔬 é [x] \\n") == "👩‍🔬 é [x] \\n"


@pytest.mark.parametrize("command", [["-c", "import noneg; dir(noneg)"], [*NONEG[1:], "--help"]])
def test_starting_loads_nothing_heavy(command):
    result = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True
    )
    loaded = {line.split("|")[-1].strip().split(".")[0] for line in result.stderr.splitlines()}
    assert "noneg" in loaded
    assert not loaded & {*HEAVY, "numpy"}


def test_a_closed_pipe_is_quiet(world_file):
    for command in (
        ["simulate", "--setting", "labeled", "--n", "200000", "--out", "-"],
        ["evaluate", world_file, *TWO_SAMPLE],
        ["evaluate", world_file, *TWO_SAMPLE, "--json"],
    ):
        reading, writing = os.pipe()
        os.close(reading)
        result = subprocess.run(
            [*NONEG, *command], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(writing)
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
        assert "Broken" not in result.stderr


def on_a_terminal(*arguments, when_started=None):
    """Run noneg in a pseudo-terminal; return its output and its exit code."""
    terminal, end = pty.openpty()
    process = subprocess.Popen([*NONEG, *arguments], stdin=end, stdout=end, stderr=end)
    os.close(end)
    if when_started:
        when_started(process)
    shown = b""
    while block := _read(terminal):
        shown += block
    os.close(terminal)
    return shown.decode(), process.wait()


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def test_a_terminal_gets_color_and_errors_get_red(world_file):
    shown, code = on_a_terminal("evaluate", world_file, *TWO_SAMPLE)
    assert code == 0
    assert "\x1b[1mscores.csv: score 'score', label 'label'\x1b[0m" in shown
    shown, code = on_a_terminal("evaluate", "no.csv", *TWO_SAMPLE)
    assert code == 2
    assert "\x1b[31m" in shown
    assert "'no.csv' does not exist" in shown


def test_an_interrupt_is_quiet():
    os.mkfifo("pipe")

    def interrupt_while_reading(process):
        with Path("pipe").open("wb"):  # opens at the same time as the command
            while process.poll() is None:  # one that arrives just before a read waits for the next
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=15)

    shown, code = on_a_terminal(
        "evaluate", "pipe", *TWO_SAMPLE, when_started=interrupt_while_reading
    )
    assert code == 130
    assert "Traceback" not in shown
    assert "noneg" not in shown


def test_long_work_shows_a_sign_of_life(monkeypatch):
    from noneg.cli import output

    class Screen:
        def isatty(self):
            return True

    started = []
    monkeypatch.setattr(output.sys, "stderr", Screen())
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    monkeypatch.setattr("rich.progress.Progress.start", lambda _: started.append(1))
    monkeypatch.setattr("rich.progress.Progress.stop", lambda _: None)
    with output.busy("x"):
        while not started:
            pass
    assert started == [1]
