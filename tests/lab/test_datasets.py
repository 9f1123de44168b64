import os
from functools import cache

import numpy as np
import pytest

from noneg.lab.datasets import BUNDLED, FILES, load

# Number of rows, row shape, classes and test rows, from the descriptions of the data sets.
KNOWN = {
    "breast_cancer": (427, (30,), 2, 142),
    "digits": (1348, (64,), 10, 449),
    "usps": (7291, (256,), 10, 2007),
    "letter": (16_000, (16,), 26, 4000),
    "mnist": (60_000, (784,), 10, 10_000),
    "cifar10": (20_000, (32, 32, 3), 10, 10_000),
    "covtype": (15_120, (54,), 7, 565_892),
    "spambase": (3451, (57,), 2, 1150),
    "credit_default": (22_500, (23,), 2, 7500),
}


@cache
def stored(name):
    """A data set from the folder, read once, because unpacking the images is slow."""
    return load(name, None if name in BUNDLED else folder())


def folder() -> str:
    place = os.environ.get("NONEG_DATA")
    if not place:
        pytest.skip("NONEG_DATA names no folder with the data sets")
    return place


@pytest.mark.parametrize("name", [*BUNDLED, *FILES])
def test_shapes_are_those_of_the_descriptions(name):
    data = stored(name)
    rows, shape, classes, test_rows = KNOWN[name]
    assert data.X_train.shape == (rows, *shape)
    assert data.X_test.shape == (test_rows, *shape)
    assert np.array_equal(np.unique(data.y_train), np.arange(classes))
    assert data.y_train.shape == (rows,)
    assert data.y_test.shape == (test_rows,)


def test_every_name_is_described():
    assert {*BUNDLED, *FILES} == set(KNOWN)


def test_cifar10_pixels_have_the_published_means():
    images = stored("cifar10").X_train
    # Published for all 50,000 images; the mean of 20,000 has a standard error below 0.001.
    assert images.mean(axis=(0, 1, 2)) / 255 == pytest.approx([0.4914, 0.4822, 0.4465], abs=0.003)


def test_covtype_indicators_are_one_hot():
    rows = stored("covtype").X_train
    assert (rows[:, 10:14].sum(axis=1) == 1).all()
    assert (rows[:, 14:].sum(axis=1) == 1).all()


def test_breast_cancer_has_malignant_as_class_one():
    data = load("breast_cancer")
    assert data.y_train.sum() + data.y_test.sum() == 212  # scikit-learn's description


def test_an_unknown_name_is_rejected_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'name' must be one of breast_cancer, digits.*'iris'"):
        load("iris")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"'usps' needs the file usps\.npz"):
        load("usps", tmp_path)


def test_a_folder_of_files_is_split_as_each_data_set_is(tmp_path):
    """Files with a few rows, or as many as the split needs, in the formats of the folder."""
    rows, labels = np.arange(24).reshape(8, 3), np.arange(8) % 2
    np.savez(tmp_path / "spambase.npz", X=rows, y=labels)
    data = load("spambase", tmp_path)
    np.testing.assert_array_equal(data.X_test, rows[[3, 7]])
    np.testing.assert_array_equal(data.y_train, labels[[0, 1, 2, 4, 5, 6]])
    whole = {"X_train": rows, "y_train": labels, "X_test": rows[:2], "y_test": labels[:2]}
    np.savez(tmp_path / "usps.npz", **whole)
    np.testing.assert_array_equal(load("usps", tmp_path).X_test, rows[:2])
    many = np.arange(16_003)
    np.savez(tmp_path / "letter.npz", X=many[:, None], y=many % 26)
    assert load("letter", tmp_path).X_test.ravel().tolist() == [16_000, 16_001, 16_002]
    with pytest.raises(FileNotFoundError, match=r"needs the file mnist\.npz, which is not in"):
        load("mnist", tmp_path)


def test_cover_types_are_one_hot(tmp_path):
    n = 15_121
    np.savez(
        tmp_path / "covtype.npz",
        quantitative=np.arange(10 * n).reshape(n, 10),
        wilderness=np.full(n, 2),
        soil=np.full(n, 39),
        cover_type=np.arange(n) % 7 + 1,
    )
    data = load("covtype", tmp_path)
    (row,) = data.X_test
    assert row[:10].tolist() == list(range(10 * (n - 1), 10 * n))
    assert np.flatnonzero(row[10:]).tolist() == [2, 4 + 39]
    assert data.y_test.tolist() == [(n - 1) % 7]


def test_images_come_back_from_their_differences(tmp_path):
    """The stored planes are G, R - G and B - G as differences along rows, then columns."""
    images = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    red, green, blue = np.moveaxis(images, -1, 0)
    planes = np.stack([green, red - green, blue - green])
    columns = np.diff(planes, axis=-2, prepend=np.zeros_like(planes[..., :1, :]))
    residual = np.diff(columns, axis=-1, prepend=np.zeros_like(columns[..., :1]))
    labels = np.arange(4)
    parts = {f"{x}_residual": residual for x in ("train", "test")}
    parts |= {f"{x}_labels": labels for x in ("train", "test")}
    np.savez(tmp_path / "cifar10_20k.npz", **parts)
    np.testing.assert_array_equal(load("cifar10", tmp_path).X_train, images)
