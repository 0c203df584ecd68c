"""Input that an op cannot take: nothing wrong is returned, and docs/reference/bad_input.md has a row for each."""

from pathlib import Path

import pytest
from bad_inputs import CASES, Case, answer, mistake
from op_coverage import of_this_release

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/bad_input.md"


@pytest.mark.skipif(not of_this_release(), reason="docs/reference/bad_input.md is of another PyTensor")
@pytest.mark.sampled(32)
@pytest.mark.parametrize("mode", ["hlograph", "padded"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_nothing_wrong_is_returned(case: Case, mode: str) -> None:
    wrong = mistake(case, answer(case, "PyTensor"), answer(case, mode))
    if case.differs:
        assert wrong, f"not different any more: {case.differs}"
        assert f"{case.what} |" in PAGE.read_text()
        assert case.differs in PAGE.read_text()
    else:
        assert not wrong, wrong


def test_every_row_is_on_the_page() -> None:
    rows = [line.split(" | ")[0].strip("| ") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [case.what for case in CASES], "run `make ops`"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [([1.0], [2.0]), ([1.0], [float("nan")]), (ValueError("no"), [1.0]), ([1.0], ValueError("no"))],
)
def test_what_is_a_mistake(theirs: object, ours: object) -> None:
    import numpy as np

    case = CASES[0]
    found = [[np.asarray(x) for x in side] if isinstance(side, list) else side for side in (theirs, ours)]
    assert mistake(case, *found)
    assert not mistake(case, found[0], found[0])
