"""The tests of JAX and of libraries on it with `jax.jit` replaced by `hlograph.jit`: what became of each call, counted.

    python tests/conformance/jax_suites.py [--suite jax-numpy|...] [--naming apart|sizes|plain|jax] [--every N]

In: their text, which comes into build/conformance from the library's repository (JAX_GIT, OPTAX_GIT, ... is another
place of it), by the tag of the release that is installed or else the newest there. Out: counts by verdict
(`jax_plugin.py` says what they mean), and what is wrong, broken or refused. JAX_NUM_GENERATED_CASES is how many cases
JAX makes of each of its tests. Exit status 1 where a number is wrong.
"""

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "conformance"
NUMPY = ("operators", "reducers", "indexing", "einsum", "setops", "ufuncs", "vectorize")
KINDS = ("shared", "fixed", "exact", "by jax.jit", "its own", "refused", "broken", "wrong")


class Suite(NamedTuple):
    """Tests of a library: where its repository is, how it names releases, and files."""

    library: str
    repository: str
    tag: str
    tests: tuple[str, ...]


JAX = ("jax", "https://github.com/jax-ml/jax", "jax-v{}")
SUITES = {
    "jax-numpy": Suite(*JAX, (*(f"tests/lax_numpy_{name}_test.py" for name in NUMPY), "tests/lax_numpy_test.py")),
    "jax-lax": Suite(*JAX, ("tests/lax_test.py", "tests/lax_control_flow_test.py")),
    "jax-nn": Suite(*JAX, ("tests/nn_test.py", "tests/fft_test.py", "tests/image_test.py")),
    "jax-scipy": Suite(*JAX, tuple(f"tests/lax_scipy_{name}test.py" for name in ("", "special_functions_"))),
    "jax-linalg": Suite(*JAX, ("tests/linalg_test.py",)),
    "jax-shape-poly": Suite(*JAX, ("tests/shape_poly_test.py",)),
    "optax": Suite("optax", "https://github.com/google-deepmind/optax", "v{}", ("optax",)),
    "equinox": Suite("equinox", "https://github.com/patrick-kidger/equinox", "v{}", ("tests",)),
    "dynamax": Suite("dynamax", "https://github.com/probml/dynamax", "{}", ("dynamax",)),
    "distrax": Suite("distrax", "https://github.com/google-deepmind/distrax", "v{}", ("distrax",)),
    "flax": Suite("flax", "https://github.com/google/flax", "v{}", ("tests/linen",)),
}


def sources(suite: Suite) -> Path:
    """The folder with the tests of a library, fetched when it is not there."""
    version = importlib.metadata.version(suite.library)
    folder = BUILD / f"{suite.library}-{version}"
    if (folder / "pytest.ini").exists():
        return folder
    BUILD.mkdir(parents=True, exist_ok=True)
    archive, top = str(BUILD / f"{suite.library}.tar"), suite.tests[0].partition("/")[0]
    repository = os.environ.get(f"{suite.library.upper()}_GIT", suite.repository)
    for name in (suite.tag.format(version), suite.tag.format(".".join(version.split(".")[:3])), "HEAD"):
        clone, commit = Path(repository), name
        if not clone.is_dir():
            clone, commit = BUILD / f"{suite.library}.git", "FETCH_HEAD"
            _git(clone.parent, "init", "-q", "--bare", clone.name)
            if not _git(clone, "fetch", "-q", "--depth", "1", repository, name):
                continue
        if _git(clone, "archive", "-o", archive, commit, top):
            print(f"tests of {name}, for {suite.library} {version}")
            break
    else:
        sys.exit(f"{repository} has no tests of {suite.library}: set {suite.library.upper()}_GIT to a clone")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (folder / "pytest.ini").write_text("[pytest]\npython_files = *_test.py test_*.py\n")
    return folder


def _git(folder: Path, *arguments: str) -> bool:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False).returncode == 0


def run(suite: Suite, name: str, naming: str, every: int, rest: list[str]) -> Path:
    """Runs tests; what became of them is in the file that is returned."""
    folder = sources(suite)
    report = BUILD / f"{name}-{naming}.jsonl"
    report.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "CONFORMANCE_NAMING": naming,
        "CONFORMANCE_REPORT": str(report),
        "CONFORMANCE_EVERY": str(every),
        "PYTHONPATH": str(HERE),
        "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"),
    }
    options = ["-q", "-p", "jax_plugin", "-p", "no:cacheprovider", f"--rootdir={folder}", "--confcutdir=.", "--tb=no"]
    options += ["-W", "ignore", "--no-header", "-rN", "--timeout=300", "--import-mode=importlib"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, *rest, *suite.tests], cwd=folder, env=environment, check=False
    )
    return report


def show(report: Path) -> Counter[str]:
    """Prints what became of the calls of each test, and what is not as it should be; counts by verdict."""
    tests = [json.loads(line) for line in report.read_text().splitlines()]
    counts: Counter[str] = Counter()
    for test in tests:
        for function, (kind, why) in test["calls"].items():
            counts[kind] += 1
            if kind in ("refused", "broken", "wrong"):
                print(f"{kind}: {test['test']} {function}: {why}")
        if test["outcome"] == "failed":
            print(f"FAILED {test['test']}: {test['error'][:150]}")
    outcomes = Counter(test["outcome"] for test in tests)
    total = max(counts.total(), 1)
    share = 1 - sum(counts[kind] for kind in ("refused", "broken", "wrong")) / total
    print("tests:", *[f"{count} {outcome}" for outcome, count in outcomes.items()])
    print("calls:", *[f"{counts[kind]} {kind}" for kind in KINDS], f"({share:.1%} shared or as jax.jit)")
    return counts


def main() -> int:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite", default="*", help=f"a pattern of {', '.join(SUITES)}")
    parser.add_argument("--naming", choices=("apart", "sizes", "plain", "jax"), default="apart")
    parser.add_argument("--every", type=int, default=1, help="one test of so many")
    parser.add_argument("--show", action="store_true", help="what was run before")
    options, rest = parser.parse_known_args()
    wrong = 0
    for name in [name for name in SUITES if fnmatch(name, options.suite)]:
        report = BUILD / f"{name}-{options.naming}.jsonl"
        if not options.show:
            run(SUITES[name], name, options.naming, options.every, rest)
        if report.exists():
            print(f"==> {name}, {options.naming}")
            wrong += show(report)["wrong"]
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
