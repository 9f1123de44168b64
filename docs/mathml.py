"""Render formulas as MathML, which browsers display natively, without scripts or a network."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
# Sizes that the converter supports only with a side; it accepts a style only at the start of a
# group.
BIG = re.compile(r"\\(Big|big|Bigg|bigg)(?![A-Za-z])")
# It would put an index below an accented letter.
ACCENTED = re.compile(r"(\\(?:bar|hat|tilde)(?: +\w| *\{\w+\}| *\\[a-z]+))_")


def mathml(node, *, as_block):
    text = " ".join(node.astext().split()).replace(r"\textstyle", "")
    text = ACCENTED.sub(r"\1{}_", BIG.sub(r"\\\1l", text))
    try:
        return tex2mathml(text, as_block=as_block)
    except MathError as error:
        LOGGER.warning("%s In: %s", error, text, location=node)
        return f"<code>{text}</code>"


def inline(writer, node):
    writer.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def block(writer, node):
    writer.body.append(f'<div class="formula">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
