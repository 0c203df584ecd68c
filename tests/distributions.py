"""The wheel and the source distribution: built, looked into, installed in a clean environment, tried from elsewhere.

    python tests/distributions.py dist

`make dist` runs it. In: the repository. Out: both files in the folder. Decision to know: the wheel that is tried is
built from the unpacked source distribution, so that what is missing there is noticed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SDIST_HAS = [
    "LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "hlograph/py.typed", "tests/conftest.py",
    "tests/requirements-aesara.txt", ".ci/environment", "lit_tests/lit.cfg.py",
]  # fmt: skip
WHEEL_HAS = ["hlograph/py.typed", "hlograph/codegen/emit.py", "hlograph/runtime/jit.py"]
LEFTOVERS = ("__pycache__", ".pyc", ".pytest_cache", ".mypy_cache", ".hypothesis", "/build/", ".venv")

SMOKE = """
import jax, numpy as np, hlograph
from pathlib import Path
assert Path(hlograph.__file__).is_relative_to(__import__("sys").prefix), hlograph.__file__
fast = hlograph.jit(lambda x: (x * 2).sum(), dims={"x": ("n",)})
for n in (1, 3, 5):
    assert fast(np.ones(n, np.float32)) == 2 * n
program = hlograph.emit_stablehlo(jax.numpy.sin, jax.ShapeDtypeStruct((3,), "float32"))
loaded = hlograph.load(program.save("sine.mlir"))
np.testing.assert_allclose(loaded.compile()(np.ones(3, np.float32)), np.sin(np.ones(3)), rtol=1e-6)
print("hlograph", hlograph.__version__, "runs from", Path.cwd())
"""


def run(*command: str | Path, cwd: Path) -> None:
    """A command that must succeed; what it prints is shown only when it does not."""
    ended = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{ended.stdout}{ended.stderr}")


def build(source: Path, folder: Path, kind: str) -> Path:
    """Calls setuptools as installers do, in a process of its own.

    Args:
        source: the project's folder.
        folder: where the file goes.
        kind: "sdist" or "wheel".
    """
    code = f"import sys; from setuptools import build_meta; print(build_meta.build_{kind}(sys.argv[1]))"
    before = set(folder.iterdir())
    run(sys.executable, "-c", code, folder, cwd=source)
    (made,) = set(folder.iterdir()) - before
    return made


def tracked(folder: Path) -> Path:
    """A copy of the repository's files as git knows them, without what lies about."""
    copy = folder / "hlograph"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, copy / name)
    return copy


def complaints(names: list[str], wanted: list[str]) -> list[str]:
    """What is missing from an archive, and what has no place in it."""
    missing = [f"{name} is missing" for name in wanted if not any(found.endswith(f"/{name}") for found in names)]
    return missing + [f"{name} is a leftover" for name in names if any(part in name for part in LEFTOVERS)]


def make(folder: Path) -> tuple[Path, Path]:
    """Both files, and a look into them.

    Raises:
        SystemExit: with what is wrong.
    """
    with tempfile.TemporaryDirectory() as temporary:
        (made := Path(temporary) / "made").mkdir()
        sdist = build(tracked(Path(temporary)), made, "sdist")
        with tarfile.open(sdist) as archive:
            names = archive.getnames()
            archive.extractall(Path(temporary) / "unpacked", filter="data")
        wrong = complaints(names, SDIST_HAS)
        (unpacked,) = (Path(temporary) / "unpacked").iterdir()
        wheel = build(unpacked, made, "wheel")
        with zipfile.ZipFile(wheel) as archive:
            names = ["/" + name for name in archive.namelist()]
        wrong += complaints(names, WHEEL_HAS)
        wrong += [] if any(name.endswith("licenses/LICENSE") for name in names) else ["the wheel has no LICENSE"]
        if wrong:
            sys.exit("\n".join(wrong))
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(sdist, folder)), Path(shutil.copy(wheel, folder))


def try_out(wheel: Path) -> str:
    """Installs the wheel in an environment of its own and runs a few lines from another folder; what they print.

    JAX and NumPy are those of this environment, so that nothing is downloaded; of hlograph only the wheel is seen.
    """
    with tempfile.TemporaryDirectory() as temporary:
        environment, elsewhere = Path(temporary) / "environment", Path(temporary) / "elsewhere"
        elsewhere.mkdir()
        venv.create(environment)
        python = environment / "bin" / "python"
        [packages] = (environment / "lib").glob("python*/site-packages")
        run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=elsewhere)
        (packages / "around.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
        settings = {**os.environ, "PYTHONPATH": ""}
        ended = subprocess.run(
            [python, "-c", SMOKE], cwd=elsewhere, env=settings, capture_output=True, text=True, check=False
        )
        if ended.returncode:
            sys.exit(f"the installed wheel does not run:\n{ended.stdout}{ended.stderr}")
        return ended.stdout.strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    files = make(parser.parse_args().folder.resolve())
    print(*(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB" for file in files), sep="\n")
    print(try_out(files[1]))
