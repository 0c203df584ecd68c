"""Files that were written once are read for good: samples of releases, of older jaxlibs and of foreign modules.

The samples are `make_samples.py`'s; those of jax come from `jax.export` of the release that their name says.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import logsumexp

import hlograph

FOLDER = Path(__file__).parent / "samples"
RELEASES = sorted(path for path in FOLDER.glob("[0-9]*/**/*") if path.suffix in (".mlir", ".mlirbc"))
FOREIGN = sorted(path for path in (FOLDER / "foreign").iterdir() if path.suffix in (".mlir", ".mlirbc"))


def _arrays(path: Path, what: str) -> list[np.ndarray]:
    with np.load(path, allow_pickle=False) as arrays:
        return [arrays[f"{what}_{i}"] for i in range(sum(name.startswith(what) for name in arrays.files))]


def _check(path: Path, arguments: list, expected: list) -> None:
    program = hlograph.load(path)
    if program.signature.arguments[0].sparse:
        arguments = [csr_matrix(arguments[0]), *arguments[1:]]
    found = program.compile()(*arguments)
    found = list(found) if isinstance(found, tuple) else [found]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5 if np.asarray(got).dtype == np.float32 else 1e-10, atol=1e-12)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", RELEASES, ids=lambda path: "-".join(path.relative_to(FOLDER).parts))
def test_samples_of_releases_give_what_they_gave(path):
    numbers = FOLDER / path.relative_to(FOLDER).parts[0] / f"{path.stem}.npz"
    _check(path, _arrays(numbers, "argument"), _arrays(numbers, "result"))


def test_there_are_samples_of_all_kinds():
    assert {path.suffix for path in RELEASES} == {".mlir", ".mlirbc"}
    assert {"sizes", "values", "constraints", "checks_in_loop", "counts", "key", "linalg"} <= {p.stem for p in RELEASES}
    assert len(FOREIGN) >= 5


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_foreign_modules_give_what_numpy_gives(path):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=(3, 2)).astype(np.float32)
    z = np.tanh(x @ y)
    _check(path, [x, y], [z.sum(0), logsumexp(z), np.where(x > 0, x, 0.5 * x)])
