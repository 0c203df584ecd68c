"""The table of passes in docs/reference/passes.md, as the registry has them.

    python tests/pass_table.py

Writes it anew; `tests/codegen/passes/test_rewrite_api.py` compares.
"""

from pathlib import Path

from hlograph.codegen.passes.registry import DEFAULT, PASSES, parse_spec

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "passes.md"
START, END = "<!-- the table of passes: python tests/pass_table.py -->\n", "<!-- its end -->\n"


def table() -> str:
    """A line for each pass: its name, what it does, and its places in `optimize="default"`."""
    order = [parse_spec(spec)[0] for spec in DEFAULT]
    lines = ["", "| pass | what it does | by default |", "|---|---|---|"]
    for name, found in PASSES.items():
        places = ", ".join(str(place) for place, each in enumerate(order, start=1) if each == name)
        lines.append(f"| `{name}` | {found.line} | {places} |")
    return "\n".join([*lines, "", ""])


def shown() -> str:
    """The table as the page has it."""
    return PAGE.read_text().partition(START)[2].partition(END)[0]


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(START)
    PAGE.write_text(before + START + table() + END + rest.partition(END)[2])
