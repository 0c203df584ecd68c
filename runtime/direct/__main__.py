"""`python -m hlograph.runtime.direct`: whether kernels may be called directly here, as a self-test has found.

It prints the record, and runs the self-test where there is no verdict yet; with `--again` in any case.
"""

from __future__ import annotations

import argparse
import sys

from . import kept, verdict


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0 where kernels may be called directly, 1 where not."""
    parser = argparse.ArgumentParser(prog="python -m hlograph.runtime.direct", description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="run the self-test although there is a verdict")
    if parser.parse_args(arguments).again and not verdict.unsupported():
        for path in kept.paths(verdict.name()):
            path.unlink(missing_ok=True)
    reason = verdict.refusal(wait=True)
    print(*verdict.lines(), f"no direct calls: {reason}" if reason else "direct calls", sep="\n")
    print(f"kept in {kept.place(verdict.name()) or 'no file: ' + verdict.NOWHERE}")
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
