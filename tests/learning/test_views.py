"""Views move pixels without creating new ones."""

import numpy as np
import pytest
import torch
from scipy.ndimage import rotate

from noneg.learning.views import Cropped, Turned


def seeded(k=0):
    return torch.Generator().manual_seed(k)


def test_turned_images_are_those_of_an_outside_rotation():
    # scipy also rotates by nearest pixels; a smooth image differs only by rounding.
    grid = np.mgrid[0:16, 0:16] - 7.5
    image = np.exp(-((grid[0] - 2.0) ** 2 + (grid[1] + 1.0) ** 2) / 18.0).astype(np.float32)
    x = torch.from_numpy(np.tile(image.ravel(), (2000, 1)))
    views = Turned(16)(x, seeded()).numpy().reshape(-1, 16, 16)
    angles = np.linspace(-10.0, 10.0, 41)
    candidates = [
        rotate(mirrored, angle, reshape=False, order=0)
        for mirrored in (image, image[:, ::-1])
        for angle in angles
    ]
    inner = np.s_[3:13, 3:13]
    gaps = [min(abs(view[inner] - c[inner]).max() for c in candidates) for view in views[:100]]
    assert max(gaps) < 0.15
    assert abs(views.mean(axis=0) - views.mean(axis=0)[:, ::-1]).max() < 0.05


def test_corners_that_come_from_outside_are_black():
    views = Turned(16, black=-1.0)(torch.ones(500, 256), seeded())
    assert set(views.unique().tolist()) == {-1.0, 1.0}
    assert (views == -1.0).float().mean() < 0.1


def test_crops_are_windows_of_the_reflected_image():
    image = torch.arange(36.0).reshape(1, 1, 6, 6)
    wide = np.pad(image[0, 0].numpy(), 2, mode="reflect")
    windows = [wide[r : r + 6, c : c + 6] for r in range(5) for c in range(5)]
    allowed = {w.tobytes() for w in windows} | {w[:, ::-1].tobytes() for w in windows}
    seen = {v[0].numpy().tobytes() for v in Cropped(2)(image.expand(2000, 1, 6, 6), seeded())}
    assert seen == allowed


def test_channels_move_together():
    plane = torch.rand(8, 1, 6, 6)
    views = Cropped()(plane.expand(8, 3, 6, 6), seeded())
    assert (views[:, 0] == views[:, 1]).all()
    assert (views[:, 0] == views[:, 2]).all()


@pytest.mark.parametrize(("view", "shape"), [(Turned(4), (9, 16)), (Cropped(2), (9, 3, 6, 6))])
def test_views_depend_on_the_generator_alone(view, shape):
    x = torch.rand(shape)
    assert (view(x, seeded(1)) == view(x, seeded(1))).all()
    assert (view(x, seeded(1)) != view(x, seeded(2))).any()


def test_views_keep_the_type_of_pixels_and_an_empty_batch():
    pixels = torch.arange(16, dtype=torch.uint8).expand(5, 16)
    assert Turned(4)(pixels, seeded()).dtype == torch.uint8
    assert Turned(4)(pixels[:0], seeded()).shape == (0, 16)


def test_large_shifts_need_no_table_of_all_views():
    """A table of all 80,802 views would take 42 GB."""
    view, image = Cropped(100), torch.rand(2, 1, 256, 256)
    one = view.sources(torch.tensor([2 * (201 * 100 + 100) + 1]), (1, 256, 256))
    mirrored = torch.arange(256 * 256).reshape(256, 256).flip(1)
    assert torch.equal(one.reshape(256, 256), mirrored)
    assert view(image, seeded()).shape == image.shape
