"""Any table and any flags: a command succeeds, or explains in one paragraph why it does not.

A third of the calls are valid and must succeed, a third contain a few errors, and a third are
arbitrary. There is never a traceback, a partial file, or an unintentionally modified file.
"""

import click
import pytest
from click.testing import CliRunner
from fuzz.hostile import bounded, names, spoilt, tables, words
from fuzz.judge import check, check_sound, folder_of
from fuzz.sound import WITH_A_TABLE, WITHOUT, Call, sound_calls
from hypothesis import given, strategies as st

from noneg import PUScores
from noneg.cli import main
from noneg.recalibration import Platt

# Output names: new names of every kind, an existing one, and locations that cannot be written.
PLACES = ["o.csv", "o.parquet", "o.tsv", "o.csv.gz", "o.csv.zst", "o.json", "o.html", "o.md"]
ODD_PLACES = ["kept.csv", "kept.html", "kept.json", "no/o.csv", ".", "", "o", "-", "o.html/x", "/"]
ODD_PLACES += ["o<script>.html", "\u00f6 \u00fc.csv", "-x.csv", "a'b.parquet", "x" * 300 + ".csv"]
ODD_PLACES += ["o.csv\u0000", "o\udcff.html", "o.txt", "/dev/full", "a\nb.csv"]
NUMBERS = ["0.5", "0.95", "0.05", "0.3"]
ODD_NUMBERS = ["0", "1", "-1", "nan", "inf", "1e-300", "1e300", "x", "", "0.9999999999999999"]
ODD_WHOLE = ["0", "1", "17", "-1", "1e3", "x", "", "9" * 30, "0.5"]
# Sizes that exceed the memory of any machine, so that the result does not depend on the machine.
ODD_SIZES = ["0", "1", "-3", "x", "9" * 16, "9" * 30]
METHODS = ["platt", "histogram", "isotonic", "temperature", "identity", "prior-shift"]
PRIORS = ["0.5", "0.9", "estimate", "estimate:bbe"]

# Options by name: reasonable and unreasonable values.
BY_NAME = {
    **dict.fromkeys(["out", "save"], (PLACES, ODD_PLACES)),
    **dict.fromkeys(["n", "n_positive", "n_unlabeled"], (["2", "50"], ODD_SIZES)),
    "prior": (PRIORS, ["0.1", "estimate:x", "estimate:", *ODD_NUMBERS]),
    "method": (METHODS, ["x", ""]),
    "methods": (["bbe", "tice", "en"], ["x", "", "all "]),
    "master": ([""], [""]),  # no cluster is started here
    "positive_label": (["1"], ["0", "", "yes", "nan", "<b>"]),
    "prior_interval": (["0.5"], ODD_NUMBERS),
    "priors": (["0.5"], ODD_NUMBERS),
    "reference": (["best", "t", "u"], ["x", ""]),
    "names": (["a,b", "a"], ["", ",", "a,a", "<b>,[red]"]),
}
BY_COLUMN = {"score": 0, "label": 1, "weight": 2, "features": 0}


def values(option, columns, *, odd):
    """Values for one option, reasonable or odd."""
    if option.name in BY_COLUMN and not odd and len(columns) > BY_COLUMN[option.name]:
        return st.just(columns[BY_COLUMN[option.name]])
    if option.name in BY_COLUMN:
        return st.one_of(names, st.sampled_from([*columns, "x"]))
    if option.name in BY_NAME:
        return st.sampled_from(BY_NAME[option.name][odd])
    if isinstance(option.type, click.Choice) and not odd:
        return st.sampled_from([*map(str, option.type.choices)])
    by_type = {click.INT: (["2", "5"], ODD_WHOLE), click.FLOAT: (NUMBERS, ODD_NUMBERS)}
    found = by_type.get(option.type)
    return st.sampled_from(found[odd]) if found else words


@st.composite
def questions(draw, command, columns, rate):
    """Arguments of a command; this share of them is odd."""
    out = []
    odd = st.integers(0, 99).map(lambda n: n >= 100 * (1.0 - rate))
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            out += draw(files(parameter, odd=draw(odd)))
            continue
        usual = parameter.required or parameter.name in ("prior", "setting", "out")
        rare = parameter.name in ("master", "table", "engine")
        missing = draw(odd) if usual else draw(st.integers(0, 4)) < 4 or (rare and not draw(odd))
        if not parameter.is_eager and not missing:
            out.append(draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts])))
            if not parameter.is_flag:
                chosen = values(parameter, columns, odd=draw(odd))
                out += [draw(chosen) for _ in range(parameter.nargs)]
    return out


ODD_FILES = ["t.csv", "t.parquet", "*.csv", "none.csv", ".", "c.json", "", "a\u0000b", "/dev/null"]


@st.composite
def files(draw, argument, *, odd):
    """Names of input files, reasonable or odd."""
    if argument.name == "calibrator":
        return ["t.csv" if odd else "c.json"]
    if not odd:
        return ["t.csv", "u.csv"][: draw(st.sampled_from([2, 2, 1]))]
    return draw(st.lists(st.sampled_from(ODD_FILES), max_size=2))


@pytest.fixture(scope="module")
def calibrator():
    """Input for ``noneg apply``."""
    scores = PUScores.from_labels([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.9])
    return Platt().fit(scores).to_json().encode()


COMMANDS = [*WITH_A_TABLE, *WITHOUT]


@pytest.mark.parametrize("name", COMMANDS)
@given(data=st.data())
@bounded(8)
def test_sound_calls_succeed(name, data, calibrator):
    call = data.draw(sound_calls(name, calibrator))
    with folder_of(call.files):
        check_sound(call.arguments)


@st.composite
def broken(draw, call):
    """A call that would succeed, with one to three errors added."""
    command = main.commands[call.arguments[0]]
    arguments, files = list(call.arguments), dict(call.files)
    for _ in range(draw(st.integers(1, 3))):
        option = draw(st.sampled_from(command.params))
        at = draw(st.integers(1, len(arguments) - 1))
        kind = draw(st.sampled_from(["value", "option", "less", "word", "file", "table"]))
        if kind == "value" and (option.opts[-1] in arguments):
            at = arguments.index(option.opts[-1]) + 1
            arguments[at : at + 1] = [draw(values(option, COLUMNS, odd=True))]
        elif kind == "option" and isinstance(option, click.Option) and not option.is_eager:
            arguments += [option.opts[-1], draw(values(option, COLUMNS, odd=draw(st.booleans())))]
        elif kind == "less":
            del arguments[at : at + draw(st.integers(1, 2))]
            arguments = arguments if len(arguments) > 1 else [*arguments, "--json"]
        elif kind == "word":
            arguments[at] = draw(st.one_of(words, st.sampled_from([*PLACES, *ODD_PLACES])))
        elif files and kind == "file":
            name = draw(st.sampled_from(sorted(files)))
            files[name] = draw(spoilt(files[name]))
        elif files:
            files[min(set(files) - {"c.json"})] = draw(tables(sound=False))[1]
    return Call(arguments, files)


COLUMNS = ["score", "label", "w"]


@pytest.mark.parametrize("name", COMMANDS)
@given(data=st.data())
@bounded(12)
def test_calls_with_a_few_things_wrong(name, data, calibrator):
    call = data.draw(broken(data.draw(sound_calls(name, calibrator))))
    with folder_of(call.files):
        check(without_a_cluster(call.arguments))


def without_a_cluster(arguments):
    """Skip calls that would start one."""
    return [word for word in arguments if word != "spark"]


RATES = st.sampled_from([0.1, 0.4])


@pytest.mark.parametrize("name", COMMANDS)
@given(data=st.data(), rate=RATES)
@bounded(12)
def test_any_table_and_any_flags(name, data, rate, calibrator):
    header, content = data.draw(tables(sound=rate < 0.2))
    again = data.draw(tables(sound=False))[1] if rate > 0.2 else content
    files = {"t.csv": content, "u.csv": again, "t.parquet": content, "c.json": calibrator}
    with folder_of(files):
        check([name, *data.draw(questions(main.commands[name], header, rate))])


@bounded(60)
@given(st.lists(st.one_of(words, st.sampled_from([*main.commands, "--help", "--version", "--"]))))
def test_any_words(arguments):
    if "demo" in arguments:
        return
    with folder_of({}):
        result = CliRunner().invoke(main, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.exit_code in (0, 2)
        assert "Traceback" not in result.output
