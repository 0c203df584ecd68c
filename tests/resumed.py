"""Runs that go on where they were ended: a pytest plugin, and the file that other runs keep their results in.

    pytest -p resumed --done FOLDER

A test that has passed is not run again. What was done counts for the direct call and its environment, as the verdict of
the self-test does: another release of jaxlib, or another line in `runtime/direct`, begins anew.
"""

from pathlib import Path
from typing import Any

import pytest


def place(folder: Path, what: str) -> Path:
    """The file for what is done here."""
    from hlograph.runtime.direct import verdict

    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{what}-{verdict.identity()}.txt"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--done`."""
    parser.addoption("--done", type=Path, required=True, help="the folder of the list of tests that have passed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what has passed."""
    config.stash[_PLACE] = place(config.getoption("--done"), "tests")
    passed = set(config.stash[_PLACE].read_text().split("\n")) if config.stash[_PLACE].exists() else set()
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]


_PLACE = pytest.StashKey[Path]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Keeps what has passed."""
    report = yield
    if report.when == "call" and report.passed:
        with item.config.stash[_PLACE].open("a") as file:
            file.write(f"{item.nodeid}\n")
    return report
