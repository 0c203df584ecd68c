"""PyTensor's own tests in hlograph's mode, counted; or Aesara's, where that is installed.

    python tests/conformance/run.py [--suite jax|scan|tensor|math|more] [--backend python] [--jobs 2] [tests ...]
    build/aesara/bin/python tests/conformance/run.py [--suite aesara|aesara-tensor|aesara-scan] ...

Their text is the library's, and comes into build/conformance: from its repository (PYTENSOR_GIT or AESARA_GIT is
another place of it), by the tag of the release that is installed or else of its minor version; or from the source
distribution.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "conformance"
SUITES = {
    "jax": ["tests/link/jax"],
    "scan": ["tests/scan/test_basic.py"],
    "tensor": [f"tests/tensor/test_{name}.py" for name in ("elemwise", "shape", "basic", "subtensor")],
    "math": ["tests/tensor/test_math.py", "tests/tensor/linalg"],
    "sparse": ["tests/sparse"],
    "aesara": ["tests/link/jax"],
    "aesara-tensor": [
        f"tests/tensor/test_{name}.py" for name in ("basic", "elemwise", "subtensor", "math", "extra_ops")
    ],
    "aesara-random": ["tests/tensor/random/test_basic.py"],
    "aesara-scan": ["tests/scan/test_basic.py"],
    "more": [
        *(f"tests/tensor/test_{name}.py" for name in ("extra_ops", "pad", "reshape", "sort", "blockwise", "einsum")),
        *("tests/tensor/test_special.py", "tests/test_ifelse.py", "tests/test_gradient.py", "tests/test_raise_op.py"),
        "tests/compile/test_builders.py",
    ],
}


LIBRARY = "pytensor" if importlib.util.find_spec("pytensor") else "aesara"
DEFAULT = {"pytensor": ("jax", "scan"), "aesara": ("aesara", "aesara-tensor", "aesara-random", "aesara-scan")}


def sources(version: str) -> Path:
    """The folder with the tests of a release, fetched when it is not there."""
    folder = BUILD / f"{LIBRARY}-{version}"
    if (folder / "tests" / "link" / "jax").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    archive, fetched = BUILD / "tests.tar", str(BUILD / "fetched.git")
    urls = dict(line.split(", ", 1) for line in importlib.metadata.metadata(LIBRARY).get_all("Project-URL"))
    names = ("repository", "source")
    repository = os.environ.get(f"{LIBRARY.upper()}_GIT") or next(url for x, url in urls.items() if x.lower() in names)
    _git("init", "-q", "--bare", fetched)
    for tag in (f"rel-{version}", f"rel-{version.rpartition('.')[0]}.0"):
        if _git("-C", fetched, "fetch", "-q", "--depth", "1", repository, f"refs/tags/{tag}"):
            print(f"tests of {tag}, for {LIBRARY} {version}")
            _git("-C", fetched, "archive", "-o", str(archive), "FETCH_HEAD", "tests", "conftest.py")
            break
    else:
        archive = _distribution(version)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    inside = folder / f"{LIBRARY}-{version}"
    if inside.exists():
        for name in ("tests", "conftest.py"):
            (inside / name).rename(folder / name)
    if not (folder / "tests" / "link" / "jax").exists():
        sys.exit(f"what was fetched has no tests/link/jax: set {LIBRARY.upper()}_GIT to a clone of {LIBRARY}")
    (folder / "pytest.ini").touch()
    return folder


def _distribution(version: str) -> Path:
    """The source distribution, without what PyTensor leaves out of it."""
    options = ["-q", "--no-deps", "--no-binary", LIBRARY, "-d", str(BUILD)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, f"{LIBRARY}=={version}"], check=True)
    return next(BUILD.glob(f"{LIBRARY}-{version}.tar.gz"))


def _git(*arguments: str) -> bool:
    return subprocess.run(["git", *arguments], capture_output=True, check=False).returncode == 0


def run(folder: Path, suite: str, tests: list[str], jobs: int, backend: str) -> Path:
    """Runs tests; what became of them is in the file that is returned."""
    report = BUILD / (f"{suite}.json" if backend == "hlograph" else f"{suite}-{backend}.json")
    report.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "CONFORMANCE_SUITE": suite,
        "CONFORMANCE_BACKEND": backend,
        "CONFORMANCE_LIBRARY": LIBRARY,
        "CONFORMANCE_REPORT": str(report),
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent.parent)]),
        f"{LIBRARY.upper()}_FLAGS": f"base_compiledir={BUILD / 'compiled'}",
        "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"),
    }
    options = ["-q", "-p", "conformance_plugin", "-p", "no:cacheprovider", f"--rootdir={folder}", "--confcutdir=."]
    options += ["-o", "xfail_strict=false", "-W", "ignore", "--no-header", "--tb=no", "-rN", "--timeout=300"]
    options += ["-n", str(jobs)] if jobs > 1 else []
    subprocess.run([sys.executable, "-m", "pytest", *options, *tests], cwd=folder, env=environment, check=False)
    return report


def show(report: Path, ours: Path) -> bool:
    """Prints what passed, by file; what was left out, and what failed. Whether all passed.

    Of another backend those tests are counted that compile something in our mode, as its report says where it is there.
    """
    from table import row_of

    data = json.loads(report.read_text())
    results = data["results"]
    if report != ours and ours.exists():
        used = {name for name, result in json.loads(ours.read_text())["results"].items() if result.get("used")}
        results = {name: {**result, "used": True} for name, result in results.items() if name in used}
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    apart: dict[str, list[str]] = defaultdict(list)
    for name, reason in data["left_out"].items():
        apart[f"left out: {reason}"].append(name)
    failed = []
    for name, result in results.items():
        outcome, (_, kind, reason) = result["outcome"], row_of(name, LIBRARY)
        if kind == "beyond":
            done = outcome == "passed" and not result.get("refused")
            apart[f"what JAX cannot do: {'done' if done else 'not done'}"].append(name)
        elif outcome in ("skipped", "expected to fail"):
            apart[f"{outcome}, as the library says"].append(name)
        elif outcome == "passed" and not result.get("used"):
            apart["compiled nothing in the mode"].append(name)
        else:
            file = name.partition("::")[0]
            total[file] += 1
            passed[file] += outcome == "passed"
            if kind == "known":
                apart[f"{'passed' if outcome == 'passed' else 'not passed'}: {reason}"].append(name)
            elif outcome != "passed":
                failed.append(f"FAILED {name}: {result.get('error', outcome)[:110]}")
    for reason, names in sorted(apart.items()):
        print(f"{len(names):4} {reason}" + (f": {', '.join(names)}"[:300] if len(names) < 4 else ""))
    print(*failed, sep="\n")
    for file, count in sorted(total.items()):
        print(f"{passed[file]:4}/{count:<4} {file}")
    print(f"{passed.total()}/{total.total()}")
    return not failed


def main() -> int:
    """The exit status: 0 where tests were run, whatever became of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite", choices=SUITES, default=None, help="by default JAX's tests and Scan's")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--backend", choices=("hlograph", "python"), default="hlograph")
    parser.add_argument("tests", nargs="*", help="some tests of the suite")
    options = parser.parse_args()
    folder = sources(importlib.metadata.version(LIBRARY))
    for suite in [options.suite] if options.suite else DEFAULT[LIBRARY]:
        report = run(folder, suite, options.tests or SUITES[suite], options.jobs, options.backend)
        if not report.exists():
            print(f"{suite}: pytest has run nothing", file=sys.stderr)
            return 1
        print(f"==> {suite}")
        show(report, BUILD / f"{suite}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
