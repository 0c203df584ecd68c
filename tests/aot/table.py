"""Results as tables for the documentation."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from programs import GROUPS, Case
from refusals import REFUSALS, known

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
NAMES = {"tpu": "TPU", "cuda": "NVIDIA"}
VARIANTS = (("exact", 1), ("exact", 4), ("padded", 1), ("padded", 4))
WHOLE = ("examples", "models")  # one row for each program; the others are counted

Results = Mapping[str, dict[str, Any]]


def write(path: Path, cases: Sequence[Case], results: Results) -> None:
    """Puts the tables between the markers of a file.

    Raises:
        ValueError: it has no markers.
    """
    text = path.read_text()
    before, found, rest = text.partition(BEGIN)
    if not found or END not in rest:
        raise ValueError(f"{path} has no markers {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n\n{tables(cases, results)}\n{END}{rest.partition(END)[2]}")


def tables(cases: Sequence[Case], results: Results) -> str:
    """All tables, as Markdown."""
    releases = ", ".join(f"{name} {version(name)}" for name in ("jax", "jaxlib", "libtpu", "jax-cuda13-pjrt"))
    parts = [f"{releases}.", "## In short", counts(cases, results)]
    for platform in NAMES:
        parts += [f"## Examples and models: {NAMES[platform]}", programs(cases, results, platform)]
    parts += ["## Lowering rules", rules(cases, results), "## What does not compile", refusals(results)]
    return "\n\n".join(parts) + "\n"


def counts(cases: Sequence[Case], results: Results) -> str:
    """For each group, how many of its programs compile."""
    columns = [(platform, *variant) for platform in NAMES for variant in VARIANTS]
    rows = []
    for group in GROUPS:
        members = [case for case in cases if case.group == group]
        rows.append([group, str(len(members)), *[share(members, results, *column) for column in columns]])
    header = ["", "programs", *[f"{NAMES[platform]} {policy}, {count}" for platform, policy, count in columns]]
    return markdown(header, rows)


def known_of(
    cases: Sequence[Case], results: Results, platform: str, *variants: tuple[str, int]
) -> list[dict[str, Any]]:
    """The results that there are."""
    keys = [f"{platform}/{policy}/{count}/{case.key}" for case in cases for policy, count in variants]
    return [results[key] for key in keys if key in results]


def good_of(found: Sequence[Mapping[str, Any]]) -> str:
    """`37 of 38`."""
    return f"{sum(not result['error'] for result in found)} of {len(found)}"


def share(cases: Sequence[Case], results: Results, platform: str, policy: str, count: int) -> str:
    """How many compile, and how many were not compiled yet; programs without symbolic sizes are not padded."""
    wanted = [case for case in cases if policy == "exact" or case.sizes]
    found = known_of(wanted, results, platform, (policy, count))
    later = len(wanted) - len(found)
    return good_of(found) + (f", {later} to do" if later else "") if found else "-"


def programs(cases: Sequence[Case], results: Results, platform: str) -> str:
    """One row a program: seconds to compile, temporary memory, collective operations."""
    rows = []
    for case in cases:
        if case.group in WHOLE:
            same = set(case.sizes.values())
            sizes = str(min(same)) if len(same) == 1 else ", ".join(f"{n}={size}" for n, size in case.sizes.items())
            cells = [cell(results.get(f"{platform}/{policy}/{count}/{case.key}")) for policy, count in VARIANTS]
            rows.append([case.name, sizes, *cells])
    header = ["program", "sizes", *[f"{policy}, {count} device{'s' * (count > 1)}" for policy, count in VARIANTS]]
    return markdown(header, rows)


def cell(result: Mapping[str, Any] | None) -> str:
    """`1.2 s, 34 kB, 2 all-reduce`."""
    if result is None:
        return "-"
    if result["error"]:
        return "refused"
    parts = [f"{result['seconds']:.1f} s"]
    if result["temporary_bytes"] is not None:
        parts.append(f"{result['temporary_bytes'] / 1000:,.0f} kB")
    return ", ".join([*parts, *[f"{count} {name}" for name, count in result["collectives"].items()]])


def rules(cases: Sequence[Case], results: Results) -> str:
    """For each rule, how many of its compilations succeed; the scalar ops together."""
    names: dict[str, list[Case]] = {}
    for case in cases:
        if case.group in ("rules", "scalars"):
            names.setdefault(case.name.partition(".")[0] if case.group == "rules" else "scalar ops", []).append(case)
    rows = []
    for name in sorted(names, key=lambda name: (name == "scalar ops", name)):
        cells = [good_of(known_of(names[name], results, platform, *VARIANTS)) for platform in NAMES]
        made = known_of(names[name], results, "cuda", *VARIANTS)
        targets = sorted({target for result in made for target in result.get("libraries", ())})
        rows.append([name, str(len(names[name])), *cells, ", ".join(f"`{target}`" for target in targets)])
    header = ["rule", "programs", "TPU", "NVIDIA", "NVIDIA's libraries"]
    return markdown(header, rows)


def refusals(results: Results) -> str:
    """The known refusals with their reasons, and what else failed."""
    failed = {key: result["error"] for key, result in results.items() if result["error"]}
    rows = []
    for refusal in REFUSALS:
        keys = [key for key, error in failed.items() if known(key, error) is refusal]
        if keys:
            programs = sorted({key.split("/", 3)[3] for key in keys})
            shown = ", ".join(programs[:6]) + (f" and {len(programs) - 6} more" if len(programs) > 6 else "")
            platforms = ", ".join(sorted({NAMES.get(key.partition("/")[0], "GPU") for key in keys}))
            rows.append([shown, platforms, str(len(keys)), refusal.reason])
    for key, error in failed.items():
        if known(key, error) is None:
            rows.append([key, "", "1", f"not known: {error.strip().splitlines()[0][:160]}"])
    return markdown(["programs", "for", "compilations", "reason"], rows) if rows else "Everything compiles."


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
