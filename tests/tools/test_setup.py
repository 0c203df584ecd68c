"""The search for an interpreter behind `make setup`, and what makes an environment, on machines that are made up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FIND = REPOSITORY / ".ci" / "find_python"
TODAY = "3.13 3.12 3.14"


class Machine:
    """A PATH with what is put there, and a home with what pyenv keeps."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.home = folder / "bin", folder / "home"
        self.bin.mkdir()
        self.home.mkdir()
        for tool in ("sh", "bash", "rm", "awk", "mv", "touch"):  # what every machine has
            (self.bin / tool).symlink_to(str(shutil.which(tool)))

    def has(self, path: str, version: str, *, runs: bool = True) -> Path:
        """An interpreter of this version, which knows nothing but to say where it is; or a stub that does not run."""
        file = self.home / path if "/" in path else self.bin / path
        file.parent.mkdir(parents=True, exist_ok=True)
        # After "-c" and what is run come the versions that are asked for.
        answer = f'shift 2; case " $* " in *" {version} "*) echo {file} ;; esac' if runs else "exit 127"
        file.write_text(f"#!/bin/sh\n{answer}\n")
        file.chmod(0o755)
        return file

    def run(self, *command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "HOME": str(self.home), **settings}
        return subprocess.run(
            list(map(str, command)), env=environment, capture_output=True, text=True, check=False, cwd=self.home
        )

    def finds(self, *groups: str, **settings: str) -> str:
        return self.run(FIND, *groups, **settings).stdout.strip()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_wanted_version_comes_first_if_it_runs(machine: Machine) -> None:
    machine.has("python3.13", "3.13", runs=False)
    for minor in (11, 12, 14):
        machine.has(f"python3.{minor}", f"3.{minor}")
    assert machine.finds(TODAY, "3.11").endswith("python3.12")
    wanted = machine.has("python3.13", "3.13")
    assert machine.finds(TODAY, "3.11") == str(wanted)


def test_uv_comes_before_pyenv_and_both_before_older_versions(machine: Machine) -> None:
    older = machine.has("python3.11", "3.11")
    assert machine.finds(TODAY, "3.11") == str(older)
    kept = machine.has("elsewhere/versions/3.13.0/bin/python", "3.13")
    assert machine.finds(TODAY, PYENV_ROOT=str(machine.home / "elsewhere")) == str(kept)
    pyenv = machine.has(".pyenv/versions/3.12.1/bin/python", "3.12")
    assert machine.finds(TODAY, "3.11") == str(pyenv)
    managed = machine.has("managed/python", "3.12")
    (machine.bin / "uv").write_text(f'#!/bin/sh\ncase "$*" in *" 3.12") echo {managed} ;; *) exit 2 ;; esac\n')
    (machine.bin / "uv").chmod(0o755)
    assert machine.finds(TODAY, "3.11") == str(managed)


def test_none(machine: Machine) -> None:
    machine.has("python3.10", "3.10")
    machine.has("python3", "3.10")
    ended = machine.run(FIND, TODAY, "3.11")
    assert ended.returncode == 1
    assert ended.stderr == f"no Python {TODAY} 3.11 that runs: neither on PATH nor known to uv or pyenv\n"


def test_an_environment_is_not_made_of_itself(machine: Machine) -> None:
    """With an environment's own `python` first on PATH, the interpreter that it was made of is found."""
    made_of = getattr(sys, "_base_executable", sys.executable)
    (machine.bin / "python3").symlink_to(sys.executable)
    version = "{}.{}".format(*sys.version_info)
    found = machine.finds(version)
    assert found
    assert Path(found).resolve() == Path(made_of).resolve()
    assert not Path(found).is_relative_to(sys.prefix) or sys.prefix == sys.base_prefix


def test_an_interrupted_environment_is_made_anew(tmp_path: Path) -> None:
    """A folder whose Python does not run is replaced, here without uv's help; nothing is installed."""
    folder, tools = tmp_path / "environment", tmp_path / "tools"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    (folder / "bin" / "python").chmod(0o755)
    tools.mkdir()
    (tools / "uv").write_text('#!/bin/sh\ntest "$1" != venv\n')  # it can all but make environments
    (tools / "uv").chmod(0o755)
    base = getattr(sys, "_base_executable", sys.executable)
    said: list[str] = []
    for _ in range(2):  # the second time there is nothing to do
        ended = subprocess.run(
            [REPOSITORY / ".ci" / "environment", folder, base, "hlograph"],
            capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout + ended.stderr
        said.append(ended.stdout)
    assert "creating" in said[0]
    assert "creating" not in said[1]
    subprocess.run([folder / "bin" / "python", "-m", "pip", "--version"], check=True, capture_output=True)
