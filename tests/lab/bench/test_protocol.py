"""Names of runs and their records."""

import json
from dataclasses import replace

import pytest
from lab.bench.made import RUN

from noneg.lab.bench import RunConfig, load_records, sweep
from noneg.lab.bench.protocol import open_runs, record_path, write_record


def test_a_name_changes_with_every_field():
    others = [
        {"dataset": "breast_cancer"}, {"setting": "two-sample"}, {"case": 2}, {"rate": 0.2},
        {"algorithm": "upu"}, {"variant": "bench"}, {"correction": "none"}, {"configuration": 1},
        {"split": 1}, {"steps": 7}, {"every": 7}, {"given_prior": 0.4},
        {"augmented": False},
    ]  # fmt: skip
    assert len({RUN.key, *(replace(RUN, **other).key for other in others)}) == 14


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("dataset", "iris", "'dataset' must be one of cifar10"),
        ("setting", "labeled", "'setting' must be 'two-sample' or 'one-sample'"),
        ("case", 3, "'case' must be an integer from 1 to 2"),
        ("rate", 1.0, r"'rate' must be a share in \(0, 1\)"),
        ("steps", 0, "'steps' must be at least 1"),
        ("given_prior", 1.5, "'given_prior' must"),
    ],
)
def test_a_wrong_field_is_rejected_by_name(field, value, words):
    with pytest.raises(ValueError, match=words):
        replace(RUN, **{field: value})


def test_a_sweep_is_the_product_of_its_axes():
    axes = {"dataset": ["digits"], "setting": ["one-sample"], "algorithm": ["upu", "nnpu"]}
    runs = sweep(**axes, split=range(3), rate=[0.1, 0.3])
    assert len({run.key for run in runs}) == 12


def test_records_come_back_and_are_not_done_again(tmp_path):
    runs = [replace(RUN, split=k) for k in range(3)]
    write_record(tmp_path, runs[0], {"status": "done", "checkpoints": {}})
    write_record(tmp_path, runs[1], {"status": "failed", "error": "x"})
    assert [r["run"]["split"] for r in load_records(tmp_path)] in ([0, 1], [1, 0])
    assert open_runs(tmp_path, [*runs, runs[2]]) == ([runs[2]], [])
    assert open_runs(tmp_path, runs, retry_failed=True) == (runs[1:], [])


@pytest.mark.parametrize("damage", ["cut off", "empty", "no status", "no checkpoints", "not text"])
@pytest.mark.parametrize("retry", [False, True])
def test_a_damaged_record_does_not_count(tmp_path, damage, retry):
    runs = [replace(RUN, split=k) for k in range(2)]
    for one in runs:
        write_record(tmp_path, one, {"status": "done", "checkpoints": {"step": [100]}})
    path = record_path(tmp_path, runs[1])
    content = path.read_bytes()
    path.write_bytes(
        {
            "cut off": content[: len(content) // 2],
            "empty": b"",
            "no status": content.replace(b"status", b"sta_us"),
            "no checkpoints": content.replace(b"checkpoints", b"check"),
            "not text": content.replace(b"done", b"\xff\xfe"),
        }[damage]
    )
    assert open_runs(tmp_path, runs, retry_failed=retry) == ([runs[1]], [runs[1]])


def test_a_record_of_another_format_is_not_written_over(tmp_path):
    write_record(tmp_path, RUN, {"status": "done", "checkpoints": {}})
    path = record_path(tmp_path, RUN)
    path.write_text(path.read_text().replace("noneg.bench/2", "noneg.bench/1"))
    with pytest.raises(ValueError, match=r"the current format is 'noneg\.bench/2'"):
        open_runs(tmp_path, [RUN])


def test_records_of_an_older_format_are_rejected(tmp_path):
    write_record(tmp_path, RUN, {"status": "done", "checkpoints": {}})
    path = record_path(tmp_path, RUN)
    path.write_text(path.read_text().replace("noneg.bench/2", "noneg.bench/1"))
    with pytest.raises(ValueError, match=r"the current format is 'noneg\.bench/2'"):
        load_records(tmp_path)


@pytest.mark.parametrize("damage", ["other run", "no json", "no run"])
def test_a_foreign_file_is_rejected(tmp_path, damage):
    write_record(tmp_path, RUN, {"status": "done", "checkpoints": {}})
    path = record_path(tmp_path, RUN)
    content = json.loads(path.read_text())
    if damage == "other run":
        content["run"]["split"] = 5
    if damage == "no run":
        content = {"a": 1}
    path.write_text("{" if damage == "no json" else json.dumps(content))
    with pytest.raises(ValueError, match=rf"'folder' contains {path.name}"):
        load_records(tmp_path)


def test_invalid_runs_and_folders_are_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"'values' must contain fields of a run, got \['color'\]"):
        RunConfig.from_dict(RUN.to_dict() | {"color": "red"})
    with pytest.raises(FileNotFoundError, match=r"'folder' must be a folder of records.*nowhere"):
        load_records(tmp_path / "nowhere")


def test_options_are_part_of_a_run_and_of_its_method():
    plain, other = RUN, replace(RUN, options=(("lr", 0.01),))
    assert "options" not in plain.to_dict()
    assert RunConfig.from_dict(other.to_dict()) == other
    assert plain.key != other.key
    assert other.method.endswith("/lr=0.01")


def test_names_of_stored_runs_have_not_changed():
    run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    assert run.key == "4f38e82b4d7f9a93"
