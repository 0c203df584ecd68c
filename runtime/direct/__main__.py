"""`python -m hlograph.runtime.direct`: whether kernels may be called directly here, as a self-test has found.

It prints the record, and runs the self-test where there is no verdict yet; with `--again` in any case.
"""

from __future__ import annotations

import argparse
import contextlib
import sys

from . import kept, verdict


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0 where kernels may be called directly, 1 where not."""
    parser = argparse.ArgumentParser(prog="python -m hlograph.runtime.direct", description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="run the self-test although there is a verdict")
    again = parser.parse_args(arguments).again and not verdict.switched_off()
    for path in kept.paths(verdict.name()) if again else ():
        with contextlib.suppress(OSError):
            path.unlink()
    reason = verdict.refusal(wait=True)
    print(*verdict.lines(), f"no direct calls: {reason}" if reason else "direct calls", sep="\n")
    print(f"kept in {kept.place(verdict.name()) or 'no file: ' + verdict.NOWHERE}")
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
