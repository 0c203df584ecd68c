"""Scripts in processes of their own: what they import, how they end, and what would end or block a process of tests."""

import os
import subprocess
import sys
from textwrap import dedent
from typing import Any


def run_script(script: str, *args: object, environment: dict[str, str] | None = None, **options: Any) -> str:
    """What a script prints; it must end by itself, without an error and without a word about one."""
    command = [sys.executable, "-W", "ignore", "-c", dedent(script), *map(str, args)]
    variables = os.environ | (environment or {})
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, env=variables, **options)
    assert (found.returncode, found.stderr) == (0, ""), found.stderr
    return found.stdout
