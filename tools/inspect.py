"""`hlograph inspect FILE`: what a file is and holds, whom it is for, and whether it would be loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from .console import columns
from .files import trusted_option

__all__ = ["inspect"]

Rows = Sequence[tuple[str, ...]]


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@trusted_option
def inspect(file: str, as_json: bool, trusted: bool) -> None:
    """Show what is in a file, without compiling or running it.

    Prints the format and StableHLO version, who reads it and for how long, whether its digest matches, arguments and
    results with their dimensions, sizes, constraints, checks, platforms, custom calls, operations, constants,
    parameters, and the pullback.

    FILE is a module (.mlir, .mlirbc) or a bundle.
    """
    from ..codegen.artifact.inspection import inspect as facts_of
    from ..runtime.bundles import opening

    is_bundle = opening.is_bundle(file)
    facts = opening.facts(file) if is_bundle else facts_of(file, trusted=trusted)
    if as_json:
        import json

        click.echo(json.dumps(facts, indent=1))
        return
    for title, rows in sections(facts):
        click.echo(title)
        if rows:
            click.echo(columns(rows, indent="  "))


def sections(facts: Mapping[str, Any]) -> Iterator[tuple[str, Rows]]:
    """The facts as parts with a title and rows: first those that are one value, then the others as tables."""
    single = {name: value for name, value in facts.items() if not isinstance(value, list | dict) and value is not None}
    yield str(single.pop("file", "")), [(name, _text(value)) for name, value in single.items()]
    for name, value in facts.items():
        if isinstance(value, list) and value:
            if not isinstance(value[0], dict):
                yield f"{name}: {', '.join(map(str, value))}", []
                continue
            yield name, [tuple(_text(cell) for cell in row.values()) for row in value]
        elif isinstance(value, dict) and value:
            yield name, [(str(key), _text(cell)) for key, cell in value.items()]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(map(str, value))})"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
