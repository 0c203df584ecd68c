"""What the site has besides Sphinx's pages: each page as plain Markdown beside it, `llms.txt`, which lists them, and
redirects from the addresses that pages had while all of them were in one folder.

Docstrings hold Markdown's code, backticks and blocks that are indented, and paths of pages: all become
reStructuredText's.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from pygments import token
from pygments.lexer import RegexLexer

SITE = "https://hlograph.readthedocs.io/en/latest"
MOVED = """<!doctype html><meta charset="utf-8"><title>Moved</title>
<script>location.replace("{page}" + location.hash)</script>
<meta http-equiv="refresh" content="0; url={page}"><a href="{page}">This page has moved.</a>
"""


class Mlir(RegexLexer):
    """MLIR's text, as far as colours go."""

    name = "MLIR"
    tokens = {  # noqa: RUF012
        "root": [
            (r"//.*", token.Comment),
            (r'"[^"]*"', token.String),
            (r"[%@#][\w.$-]+", token.Name.Variable),
            (r"\b(?:tensor|memref|vector)<[^>]*>", token.Keyword.Type),
            (r"\b(?:stablehlo|chlo|func|sdy)\.[\w.]+|\b(?:module|return|call)\b", token.Keyword),
            (r"-?\b\d[\w.+-]*", token.Number),
            (r"\w+", token.Text),
            (r"\s+|.", token.Text),
        ]
    }


def setup(app: Any) -> dict[str, bool]:
    app.add_lexer("mlir", Mlir)
    app.connect("build-finished", write)
    app.connect("autodoc-process-docstring", mark_code, priority=400)  # before napoleon reads its sections
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.name != "html":
        return
    lines = [
        "# hlograph",
        "",
        "> Compiles tensor graphs of PyTensor and Aesara, and JAX functions, to StableHLO with static and symbolic",
        "> dimensions, and runs them through PJRT on CPU, GPU or TPU. One compile serves every length of the data.",
        "",
        "## Pages",
        "",
    ]
    for page in sorted(app.env.all_docs):
        source = Path(app.env.doc2path(page))
        if source.suffix == ".md":
            target = Path(app.outdir, f"{page}.md")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            lines.append(f"- [{app.env.titles[page].astext()}]({SITE}/{page}.md)")
            before = Path(app.outdir, f"{source.stem}.html")
            if not page.startswith("tutorials/") and not before.exists():
                before.write_text(MOVED.format(page=f"{page}.html"))
    Path(app.outdir, "llms.txt").write_text("\n".join([*lines, ""]))


def mark_code(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    found, indent = [], 0  # of the last line that was not empty
    for line in lines:
        here = len(line) - len(line.lstrip())
        if line.strip():
            if found and not found[-1].strip() and here >= indent + 4:
                found += [" " * indent + ".. code-block:: python", ""]
            indent = here
        line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
        found.append(re.sub(r"\bdocs/([\w/-]+)\.md\b", r":doc:`/\1`", line))
    lines[:] = found
