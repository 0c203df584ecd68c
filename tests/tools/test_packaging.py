"""pyproject.toml against the folders: a folder that is forgotten there is missing from what users install."""

import importlib
import tomllib
from pathlib import Path

import hlograph

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
PACKAGES = SETTINGS["tool"]["setuptools"]["packages"]
TOPS = SETTINGS["tool"]["setuptools"]["package-dir"]  # what lies in them follows


def test_every_folder_with_python_files_is_packaged() -> None:
    found = {
        str(file.parent.relative_to(REPOSITORY)) for top in TOPS.values() for file in (REPOSITORY / top).rglob("*.py")
    }
    assert {name.removeprefix("hlograph.").replace(".", "/") for name in PACKAGES} == found
    assert [folder for folder in found if not (REPOSITORY / folder / "__init__.py").is_file()] == []


def test_a_top_folder_is_named_after_its_package() -> None:
    assert all(package.removeprefix("hlograph.") == folder for package, folder in TOPS.items())


def test_the_core_needs_jax_and_numpy_only() -> None:
    names = {requirement.partition(">=")[0] for requirement in SETTINGS["project"]["dependencies"]}
    assert names == {"jax", "jaxlib", "numpy"}


def test_public_modules_can_be_imported_by_name() -> None:
    for name in ("builder", "errors", "passes"):
        module = importlib.import_module(f"hlograph.{name}")
        assert getattr(hlograph, name) is module
    assert hlograph.builder.add.__module__.startswith("hlograph.codegen.builder")
