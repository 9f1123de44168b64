"""Public files from a local server: correct, wrong, missing, and cached."""

import bz2
import gzip
import hashlib
import io
import os
import pickle
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest

from noneg.lab import datasets
from noneg.lab.datasets import load

pytest.importorskip("pooch")


class Server:
    """Serves bytes by path and counts the requests."""

    def __init__(self):
        self.files, self.asked = {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.lstrip("/")
                outer.asked.append(name)
                if name not in outer.files:
                    self.send_error(404)
                    return
                body = outer.files[name]
                cut = name in outer.cut
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if cut else body)

            def log_message(self, *_):
                pass

        self.cut = set()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,))
        self.thread.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server with small files in the published formats, with their hashes registered as known."""
    found = Server()
    monkeypatch.setenv("NONEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NONEG_DATA", raising=False)

    def offer(name, body):
        found.files[name] = body
        digest = hashlib.sha256(body).hexdigest()
        monkeypatch.setitem(datasets.SOURCES, name, (found.address, digest))

    found.offer = offer
    yield found
    found.stop()


def kept(tmp_path):
    place = tmp_path / "cache"
    return sorted(p.name for p in place.iterdir()) if place.exists() else []


def offer_letter(server):
    server.offer("letter-recognition.data", b"T,2,8,3\nI,5,12,3\n")


def test_a_file_is_fetched_once_and_kept(server, tmp_path):
    offer_letter(server)
    for _ in range(2):
        data = load("letter")
        assert data.X_train.tolist() == [[2, 8, 3], [5, 12, 3]]
        assert data.y_train.tolist() == [19, 8]
    assert server.asked == ["letter-recognition.data"]
    assert kept(tmp_path) == ["letter-recognition.data"]


def test_a_wrong_file_is_rejected_and_not_kept(server, tmp_path):
    offer_letter(server)
    server.files["letter-recognition.data"] = b"T,2,8,4\n"
    with pytest.raises(ValueError, match=r"is not the published one: its SHA-256 must be"):
        load("letter")
    assert kept(tmp_path) == []


def test_a_damaged_copy_is_fetched_again(server, tmp_path):
    offer_letter(server)
    load("letter")
    (tmp_path / "cache" / "letter-recognition.data").write_bytes(b"T,2")
    assert load("letter").y_train.tolist() == [19, 8]
    assert len(server.asked) == 2


def test_half_a_file_is_never_left(server, tmp_path):
    offer_letter(server)
    server.cut.add("letter-recognition.data")
    with pytest.raises((ValueError, ConnectionError), match=r"letter-recognition\.data"):
        load("letter")
    assert kept(tmp_path) == []


def test_a_missing_file_and_a_server_that_is_down_say_what_to_do(server, tmp_path):
    offer_letter(server)
    server.files.clear()
    with pytest.raises(ConnectionError, match=r"cannot be downloaded.*404.*NONEG_DATA to a folder"):
        load("letter")
    server.stop()
    with pytest.raises(ConnectionError, match=r"cannot be downloaded.*Check the connection"):
        load("letter")
    assert kept(tmp_path) == []
    server.__init__()  # so that the fixture has something to stop


def test_without_pooch_the_message_explains_how_to_install_it(monkeypatch, server):
    offer_letter(server)
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'noneg\[data\]'"):
        load("letter")


def test_a_folder_of_the_user_comes_first(server, monkeypatch, tmp_path):
    offer_letter(server)
    rows = np.arange(32).reshape(2, 16)
    np.savez(tmp_path / "letter.npz", X=rows, y=np.array([1, 2]))
    monkeypatch.setenv("NONEG_DATA", str(tmp_path))
    assert load("letter").y_train.tolist() == [1, 2]
    assert server.asked == []
    (tmp_path / "letter.npz").unlink()
    assert load("letter").y_train.tolist() == [19, 8]


def test_digits_of_the_post_are_read(server):
    line = "{} " + " ".join(f"{k}:{{}}" for k in range(1, 257)) + " \n"
    server.offer("usps.bz2", bz2.compress((line.format(7, *[-1] * 255, 0.5)).encode()))
    server.offer("usps.t.bz2", bz2.compress((line.format(10, *[0.25] * 256)).encode()))
    data = load("usps")
    assert (data.y_train.tolist(), data.y_test.tolist()) == ([6], [9])
    assert data.X_train.shape == data.X_test.shape == (1, 256)
    assert (data.X_train[0, 0], data.X_train[0, -1], data.X_test[0, 5]) == (-1.0, 0.5, 0.25)


def test_images_are_read(server):
    pixels = np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072)
    file, body = io.BytesIO(), {}
    for k, name in enumerate(("data_batch_1", "data_batch_2", "test_batch")):
        body[name] = pickle.dumps({b"data": pixels + np.uint8(k), b"labels": [k, 9]})
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in body.items():
            entry = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    server.offer("cifar-10-python.tar.gz", file.getvalue())
    data = load("cifar10")
    assert data.y_train.tolist() == [0, 9, 1, 9]
    assert data.X_train.shape == (4, 32, 32, 3)
    # Planes of red, green and blue, each row by row.
    assert data.X_train[0, 1, 2].tolist() == [(34 + 1024 * c) % 256 for c in range(3)]


def test_mnist_and_cover_types_are_read(server):
    file = io.BytesIO()
    images = np.zeros((2, 28, 28), np.uint8)
    np.savez(
        file, x_train=images, y_train=np.array([3, 4]), x_test=images[:1], y_test=np.array([5])
    )
    server.offer("mnist.npz", file.getvalue())
    assert load("mnist").X_train.shape == (2, 784)
    lines = "".join(",".join(["2"] * 54 + [str(k)]) + "\n" for k in (1, 7))
    server.offer("covtype.data.gz", gzip.compress(lines.encode()))
    found = load("covtype")
    assert found.y_train.tolist() == [0, 6]
    assert found.X_train.shape == (2, 54)


@pytest.mark.parametrize("name", ["spambase", "credit_default"])
def test_openml_is_asked_for_the_rest(monkeypatch, tmp_path, name):
    from sklearn import datasets as sklearn_datasets

    monkeypatch.setenv("NONEG_CACHE", str(tmp_path))
    monkeypatch.delenv("NONEG_DATA", raising=False)
    asked = []

    def answer(**options):
        asked.append(options)
        return SimpleNamespace(data=np.ones((8, 3)), target=np.array(list("01010101")))

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", answer)
    data = load(name)
    assert data.y_train.tolist() == [0, 1, 0, 0, 1, 0]
    assert asked[0]["data_home"] == str(tmp_path)

    def down(**_):
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", down)
    with pytest.raises(ConnectionError, match=r"openml\.org/d/.*no route to host"):
        load(name)


def test_letters_of_the_folder_are_the_published_file():
    """The folder's rows, written in UCI's format, have the published hash."""
    if not os.environ.get("NONEG_DATA"):
        pytest.skip("NONEG_DATA names no folder with the data sets")
    data = load("letter")
    rows = np.concatenate([data.X_train, data.X_test]).tolist()
    labels = np.concatenate([data.y_train, data.y_test])
    text = "".join(
        ",".join([chr(ord("A") + k), *map(str, row)]) + "\n"
        for k, row in zip(labels, rows, strict=True)
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == datasets.SOURCES["letter-recognition.data"][1]


@pytest.mark.parametrize("kind", [None, tarfile.DIRTYPE])
def test_an_archive_without_a_batch_is_rejected(kind):
    """Either the batch is missing, or a folder has its name."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        entry = tarfile.TarInfo("cifar-10-batches-py/data_batch_1" if kind else "other")
        entry.type = kind or tarfile.REGTYPE
        archive.addfile(entry)
    file.seek(0)
    with (
        tarfile.open(fileobj=file) as archive,
        pytest.raises(ValueError, match="must contain data_batch_1, but does not"),
    ):
        datasets._batch(archive, "data_batch_1")
