"""Malformed tables, names and arguments, as Hypothesis strategies."""

import csv
import io
import os

from hypothesis import settings, strategies as st

# Without it, the same few examples are used every time; `make fuzz` sets it and searches for new
# ones.
FACTOR = int(os.environ.get("NONEG_FUZZ", "0"))


def bounded(examples):
    """Settings for one fuzz test: a few fixed examples, or many new ones."""
    return settings(
        max_examples=examples * max(1, FACTOR),
        derandomize=not FACTOR,
        deadline=None,
        print_blob=True,
    )


NAMES = ["score", "label", "w", "", " ", "<script>alert(1)</script>", 'a"b', "a'b", "a;b", "ä,ö"]
NAMES += ["日本", "\u202escore", "1", "null", "score; DROP TABLE x", "{{7*7}}", "a\nb", "[red]x"]
WORDS = ["", "nan", "NaN", "inf", "-inf", "null", "None", "x", "0,5", "1e999", "-0.0", "1e-400"]
WORDS += ["0x1p-3", "\uff11", "<b>", '"', "'", "\t", "9" * 40, "true", "yes", "\u0000", "2", "-1"]

names = st.one_of(st.sampled_from(NAMES), st.text(max_size=8))
good_scores = st.one_of(
    st.floats(0.0, 1.0).map(repr), st.sampled_from(["0", "1", "0.5", "1e-300", ".25"])
)
words = st.one_of(st.sampled_from(WORDS), st.text(max_size=6))


@st.composite
def columns(draw, rows):
    """One column of text: scores, labels, weights, or anything, mostly of one kind."""
    kind = draw(st.sampled_from(["score", "label", "words", "whole", "any"]))
    cell = {
        "score": good_scores,
        "label": st.sampled_from(draw(st.sampled_from([["0", "1"], ["-1", "1"], ["no", "yes"]]))),
        "words": words,
        "whole": st.integers(0, 5).map(str),
        "any": st.one_of(good_scores, words),
    }[kind]
    values = draw(st.lists(cell, min_size=rows, max_size=rows))
    if values and draw(st.integers(0, 5)) == 0:
        values[draw(st.integers(0, rows - 1))] = draw(words)
    return values


@st.composite
def sound_columns(draw, rows):
    """Scores, labels of both kinds, and weights: valid input for commands."""
    score = draw(st.lists(good_scores, min_size=rows, max_size=rows))
    label = draw(st.lists(st.sampled_from("01"), min_size=rows, max_size=rows))
    weight = draw(st.lists(st.sampled_from("0123"), min_size=rows, max_size=rows))
    if rows > 1:
        label[:2] = "1", "0"
    return [score, label, weight]


@st.composite
def texts(draw, *, sound):
    """A table as CSV text with its column names: either valid, or arbitrary."""
    rows = draw(st.integers(4 if sound else 0, 40))
    if sound:
        header, cells = ["score", "label", "w"], draw(sound_columns(rows))
    else:
        n = draw(st.integers(0, 4))
        header = draw(st.lists(names, min_size=n, max_size=n))
        cells = [draw(columns(rows)) for _ in header]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=draw(st.sampled_from(",,,;\t")), lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(*cells, strict=True))
    return header, out.getvalue()


@st.composite
def tables(draw, *, sound):
    """Return the bytes of a file and its column names; unless `sound`, every other file is
    corrupted."""
    header, text = draw(texts(sound=sound or draw(st.booleans())))
    content = text.encode("utf-8", errors="surrogatepass")
    if not sound and draw(st.booleans()):
        content = draw(spoilt(content))
    return header, content


@st.composite
def spoilt(draw, content):
    """Cut, flip, repeat or insert bytes, several times."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["cut", "flip", "insert", "repeat"]))
        if kind == "cut":
            del data[at : at + draw(st.integers(1, 1 + len(data)))]
        elif kind == "flip" and at < len(data):
            data[at] ^= draw(st.integers(1, 255))
        elif kind == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=8))
        else:
            data[at:at] = data[at : at + draw(st.integers(1, 64))]
    return bytes(data)
