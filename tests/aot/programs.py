"""The programs that are compiled ahead of time, collected from where they stand: nothing is written twice.

    python tests/aot/programs.py FOLDER

Examples, benchmark models, and lit tests are run as they are, on the CPU, and every program that they emit is kept: as
FOLDER/*.mlir, with FOLDER/index.json saying what they are and at which sizes they are compiled. Lit tests name their
modules `Rule.dynamic.what`, which is how each lowering rule and scalar op is known to have a program here; one
without is an error.
"""

import io
import itertools
import json
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# A second process, which emits nothing of its own; and what needs another environment.
NOT_EMITTING = {"pymc_eight_schools.py", "score.py", "state_space.py", "without_jax.py"}
GROUPS = ("examples", "models", "rules", "scalars", "builder", "jax")
# Sizes to try for each root; the first is a multiple of four, so that it divides among four devices.
SIZES = {"examples": (64, 32, 96, 24, 8, 4), "models": (256, 64)}
SMALL = (8, 4, 12, 16, 2, 3, 5, 6, 1, 0)


@dataclass(frozen=True)
class Case:
    """One program.

    Attributes:
        group: one of `GROUPS`.
        name: unique in the group.
        path: the module's file, relative to the index.
        sizes: root name to size, for all sizes that are open.
    """

    group: str
    name: str
    path: str
    sizes: dict[str, int]

    @property
    def key(self) -> str:
        """`group/name`."""
        return f"{self.group}/{self.name}"


class Collection:
    """Programs by group and name; the same name again gets a number, the same program again is dropped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases: list[Case] = []
        self.problems: list[str] = []
        self._known: set[tuple[str, str]] = set()

    def add(self, group: str, name: str, program: Any) -> None:
        """Keeps a program; one for which no sizes are found is a problem."""
        text = program.text
        if (group, text) in self._known:
            return
        self._known.add((group, text))
        names = {case.name for case in self.cases if case.group == group}
        unique = next(n for i in itertools.count(1) if (n := name if i == 1 else f"{name}-{i}") not in names)
        sizes = choose_sizes(program, SIZES.get(group, SMALL))
        if sizes is None:
            self.problems.append(f"{group}/{unique}: no sizes found that satisfy {program.signature}")
            return
        path = self.folder / f"{group}-{unique}.mlir"
        path.write_text(text)
        self.cases.append(Case(group, unique, path.name, sizes))

    def run(self, group: str, file: Path, prefix: str = "") -> None:
        """Runs a script, without arguments, and keeps what it emits."""
        before = list(sys.path), sys.argv
        sys.path.insert(0, str(file.parent))
        sys.argv = [str(file)]
        try:
            with recorded() as programs, redirect_stdout(io.StringIO()):
                try:
                    runpy.run_path(str(file), run_name="__main__")
                except SystemExit as error:
                    if error.code not in (None, 0):
                        self.problems.append(f"{group}: {file.name} ended with {error.code}")
                except Exception as error:  # whatever a script may raise is to be told with all the others
                    self.problems.append(f"{group}: {file.name} failed: {type(error).__name__}: {error}")
        finally:
            sys.path[:], sys.argv = before
        for program in programs:
            name = program.name
            self.add(group, f"{prefix}{'' if name == 'main' and prefix else name}".rstrip(".") or file.stem, program)


@contextmanager
def recorded() -> Iterator[list[Any]]:
    """What is emitted, or parsed from text that was built, while this is open: by whatever name it was imported."""
    from hlograph import Program
    from hlograph.dialects import frontend, registry

    found: list[Any] = []

    def recording(function: Callable[..., Any]) -> Callable[..., Any]:
        def record(*args: Any, **options: Any) -> Any:
            found.append(function(*args, **options))
            return found[-1]

        return record

    emit, trace, parse = frontend.emit, registry.trace, Program.parse
    frontend.emit, registry.trace = recording(emit), recording(trace)
    Program.parse = staticmethod(recording(parse))  # type: ignore[method-assign,assignment]
    try:
        yield found
    finally:
        frontend.emit, registry.trace = emit, trace
        Program.parse = staticmethod(parse)  # type: ignore[method-assign,assignment]


def choose_sizes(program: Any, candidates: tuple[int, ...]) -> dict[str, int] | None:
    """The first sizes among the candidates that the program's constraints allow; None where there are none."""
    from hlograph.builder import dims as dimension
    from hlograph.errors import HlographError
    from hlograph.runtime.calls.arguments import find_sizes
    from hlograph.runtime.executables.policy import dependent_roots

    signature = program.signature
    follows = dependent_roots(signature)
    free = [root.name for root in signature.roots if root.name not in follows]
    for chosen in itertools.islice(itertools.product(candidates, repeat=len(free)), 20_000):
        sizes = dict(zip(free, chosen, strict=True))
        try:
            sizes |= {name: dimension.evaluate(dim, sizes) for name, dim in follows.items()}
            shapes = [tuple(dimension.evaluate(dim, sizes) for dim in a.dims) for a in signature.arguments]
            values = {root.name: sizes[root.name] for root in signature.roots if root.axis is None}
            find_sizes(signature, shapes, values)
        except (HlographError, ZeroDivisionError):
            continue
        return sizes | {count.name: candidates[0] for count in signature.counts if count.bound is None}
    return None


def collect(folder: Path) -> Collection:
    """All programs, in `folder`."""
    collection = Collection(folder)
    for file in sorted((REPOSITORY / "examples").glob("*.py")):
        if file.name not in NOT_EMITTING:
            collection.run("examples", file, prefix=f"{file.stem}.")
    _models(collection)
    lit = REPOSITORY / "lit_tests"
    sys.path[:0] = [str(lit / "ops"), str(lit / "builder"), str(REPOSITORY / "tests")]
    for file in sorted((lit / "ops").glob("*.py")):
        if file.name != "common.py":
            collection.run("scalars" if file.stem == "scalar" else "rules", file)
    for folder_name in ("builder", "jax"):
        for file in sorted((lit / folder_name).glob("*.py")):
            if file.name != "building.py":
                collection.run(folder_name, file)
    collection.problems += _without_program(collection.cases)
    collection.cases = [case for case in collection.cases if _wanted(case, collection.cases)]
    return collection


def _models(collection: Collection) -> None:
    """The benchmarks' models: PyTensor graphs as `hlograph.function` takes them, and JAX functions."""
    import hlograph

    sys.path.insert(0, str(REPOSITORY / "benchmarks"))
    import models
    import ragged

    for name, model in models.MODELS.items():
        with recorded() as programs:
            hlograph.function(*model.graph())
        for program in programs:
            collection.add("models", f"{name} (PyTensor)", program)
    for name, model in ragged.MODELS.items():
        program = hlograph.jit(model.function(), dims=model.data).program(*model.arguments(64))
        collection.add("models", f"{name} (JAX)", program)


def _without_program(cases: list[Case]) -> list[str]:
    """The lowering rules and scalar ops that no program is for."""
    from hlograph.dialects import registry
    from hlograph.dialects.tensor.scalar import TABLE

    found = {case.name.partition(".")[0] for case in cases if case.group in ("rules", "scalars")}
    return [f"no program for the lowering rule {name}" for name in sorted({*registry.registered(), *TABLE} - found)]


def _wanted(case: Case, cases: list[Case]) -> bool:
    """A static case is left out where there is a symbolic one of that name, which is compiled at fixed sizes too."""
    symbolic = case.name.replace(".static", ".dynamic")
    return symbolic == case.name or not any(x.group == case.group and x.name == symbolic for x in cases)


def read_index(folder: Path) -> list[Case]:
    """What `collect` has put there."""
    return [Case(**entry) for entry in json.loads((folder / "index.json").read_text())]


def main() -> int:
    """Collects; prints what is missing, and fails then."""
    import jax

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.mlir"):
        old.unlink()
    jax.config.update("jax_enable_x64", True)
    collection = collect(folder)
    (folder / "index.json").write_text(json.dumps([asdict(case) for case in collection.cases], indent=1))
    for problem in collection.problems:
        print(problem, file=sys.stderr)
    return 1 if collection.problems else 0


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("PYTENSOR_FLAGS", f"base_compiledir={REPOSITORY / 'build' / 'pytensor' / 'aot'}")
    sys.exit(main())
