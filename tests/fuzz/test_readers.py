"""Corrupted files: readers reject them with a ValueError and nothing else.

Small changes to a valid file, in bytes and in values, reach more code than random text.
"""

import json

import numpy as np
import pytest
from fuzz.hostile import bounded, spoilt
from hypothesis import given, strategies as st

import noneg
import noneg.tables
from noneg import PUScores, Sketch
from noneg.lab.bench import RunConfig
from noneg.lab.bench.protocol import load_records, read_record, write_record
from noneg.recalibration import METHODS, load
from noneg.recalibration.base import checksum

SCORES = PUScores.from_labels(np.arange(60) % 3 == 0, (np.arange(60) * 7 % 60 + 0.5) / 60)
FITTED = {name: method().fit(SCORES) for name, method in METHODS.items()}

odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.floats(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def places(content, prefix=()):
    """Paths to every value of a JSON object."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (*prefix, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*prefix, key))


@st.composite
def changed(draw, content):
    """The same object with a value or two replaced, removed or added."""
    copy = json.loads(json.dumps(content))
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(list(places(copy))))
        parent = copy
        for key in path[:-1]:
            parent = parent[key]
        if draw(st.integers(0, 3)) == 0:
            del parent[path[-1]]
        else:
            parent[path[-1]] = draw(odd_values)
        if not copy:
            return copy
    return copy


def signed(content):
    """Write a valid checksum into a calibrator, as a forger would."""
    if not isinstance(content, dict) or "checksum" not in content:
        return content
    body = {key: value for key, value in content.items() if key != "checksum"}
    try:
        return body | {"checksum": checksum(body)}
    except ValueError:
        return content


def refuses(reader, *arguments, error=ValueError):
    """Return whether a reader rejects the file; errors other than the documented one propagate."""
    try:
        reader(*arguments)
    except error:
        return True
    return False


DEEP = "[" * 100_000


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data())
@bounded(12)
def test_calibrators(name, data):
    content = FITTED[name].to_dict()
    forged = signed(data.draw(changed(content)))

    def use(text):
        fitted = load(text)
        mapped = fitted.transform(np.linspace(0, 1, 50))
        assert ((mapped >= 0) & (mapped <= 1)).all()

    refuses(use, json.dumps(forged))
    text = data.draw(spoilt(json.dumps(content).encode())).decode(errors="replace")
    refuses(use, text)


@pytest.mark.parametrize("text", [DEEP, '{"format":' * 50_000, "9" * 10_000, "", "null", "[]", "1"])
def test_texts_that_hold_no_calibrator(text):
    for read in (load, *(method.from_json for method in METHODS.values())):
        assert refuses(read, text)


@pytest.mark.parametrize("odd", [["platt"], {}, None, 3, "Platt"])
def test_a_method_that_is_not_a_name(odd):
    """A list in its place once caused a TypeError in a dictionary lookup."""
    assert refuses(load, json.dumps(signed(FITTED["platt"].to_dict() | {"method": odd})))


def sketch(kind):
    weight = None if kind == "frequency" else np.linspace(0.5, 2.0, 60)
    out = Sketch(weight_kind=kind, setting="one-sample", prior=0.5, prior_interval=(0.4, 0.6))
    return out.update(np.arange(60) % 3 == 0, np.linspace(0, 1, 60), sample_weight=weight)


def use_sketch(found):
    """An accepted sketch must yield numbers or explain why it has none."""
    assert np.isfinite(noneg.ece(found.scores(), bins=3, binning="width"))


@pytest.mark.parametrize("kind", ["frequency", "importance"])
@given(data=st.data())
@bounded(25)
def test_sketches_as_json(kind, data, tmp_path_factory):
    content = sketch(kind).to_dict()
    path = tmp_path_factory.getbasetemp() / "s.json"
    path.write_text(json.dumps(data.draw(changed(content))), encoding="utf-8")
    refuses(lambda: use_sketch(Sketch.load(path)))
    path.write_bytes(data.draw(spoilt(json.dumps(content).encode())))
    refuses(lambda: use_sketch(Sketch.load(path)))


@pytest.mark.parametrize("name", ["weight_kind", "setting", "prior", "prior_interval", "schema"])
@pytest.mark.parametrize("odd", [["a"], {}, True, "x", 7, [[0.1], 0.2]], ids=str)
def test_a_sketch_whose_head_is_odd(name, odd):
    """A boolean as an interval, or a list as a kind, once caused a TypeError."""
    assert refuses(Sketch.from_dict, sketch("frequency").to_dict() | {name: odd})


@pytest.mark.parametrize("name", ["weight", "square", "sum"])
@pytest.mark.parametrize("huge", [1e200, 1e299, 1e308])
def test_sums_of_a_sketch_that_are_huge(name, huge):
    """Their squares overflow, which once caused a warning."""
    content = sketch("importance").to_dict()
    content["positive"][name][0] = huge
    assert refuses(Sketch.from_dict, content)


def test_a_sketch_that_is_nested_deeply(tmp_path):
    (tmp_path / "s.json").write_text(DEEP)
    assert refuses(Sketch.load, tmp_path / "s.json")


@pytest.mark.parametrize("kind", ["frequency", "importance"])
@given(data=st.data())
@bounded(25)
def test_sketches_as_parquet(kind, data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "s.parquet"
    sketch(kind).save(path)
    whole = path.read_bytes()
    path.write_bytes(data.draw(spoilt(whole)))
    refuses(lambda: use_sketch(Sketch.load(path)))


@given(data=st.data())
@bounded(40)
def test_records_of_runs(data, tmp_path_factory):
    run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    folder = tmp_path_factory.mktemp("records")
    write_record(folder, run, {"status": "done", "checkpoints": {"step": [1]}, "seconds": 1.0})
    path = next(folder.glob("*.json"))
    content = path.read_bytes()
    for spoil in (
        data.draw(spoilt(content)),
        json.dumps(data.draw(changed(json.loads(content)))).encode(),
        DEEP.encode(),
    ):
        path.write_bytes(spoil)
        refuses(read_record, path)
    assert refuses(load_records, folder)


@given(data=st.data())
@bounded(40)
def test_tables_as_parquet(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "t.parquet"
    noneg.tables.write(SCORES, path)
    path.write_bytes(data.draw(spoilt(path.read_bytes())))
    refuses(lambda: noneg.read(path, score="score", label="label", setting="labeled"))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "tsv"])
@given(data=st.data())
@bounded(25)
def test_tables_as_text(ending, data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"t.{ending}"
    noneg.tables.write(SCORES, path)
    path.write_bytes(data.draw(spoilt(path.read_bytes())))
    refuses(lambda: noneg.read(path, score="score", label="label", setting="labeled"))
