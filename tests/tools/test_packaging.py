"""pyproject.toml against the folders: a folder that is forgotten there is missing from what users install."""

import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
PACKAGES = SETTINGS["tool"]["setuptools"]["packages"]
FOLDERS = SETTINGS["tool"]["setuptools"]["package-dir"]


def test_every_folder_with_python_files_is_packaged() -> None:
    tops = [FOLDERS[name] for name in PACKAGES if "/" not in FOLDERS[name]]
    found = {str(file.parent.relative_to(REPOSITORY)) for top in tops for file in (REPOSITORY / top).rglob("*.py")}
    assert found == set(FOLDERS.values())


def test_every_package_has_its_folder_and_its_init() -> None:
    assert set(PACKAGES) == set(FOLDERS)
    missing = [folder for folder in FOLDERS.values() if not (REPOSITORY / folder / "__init__.py").is_file()]
    assert missing == []


def test_a_package_is_named_after_its_folder() -> None:
    for package, folder in FOLDERS.items():
        assert package.removeprefix("hlograph.") == folder.replace("/", ".")


def test_the_core_needs_jax_and_numpy_only() -> None:
    names = {requirement.partition(">=")[0] for requirement in SETTINGS["project"]["dependencies"]}
    assert names == {"jax", "jaxlib", "numpy"}
