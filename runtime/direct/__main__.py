"""`python -m hlograph.runtime.direct`: whether kernels may be called directly here, as a self-test has found.

It prints the verdict, and runs the self-test where there is none yet; with `--again` in any case.
"""

from __future__ import annotations

import argparse
import sys

from . import verdict


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0 where kernels may be called directly, 1 where not."""
    parser = argparse.ArgumentParser(prog="python -m hlograph.runtime.direct", description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="run the self-test although there is a verdict")
    parser.add_argument("--kernels", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.kernels:
        from .self_test import run

        return run()
    if reason := verdict.unsupported():
        print(f"no direct calls: {reason}")
        return 1
    found = verdict.supervise(again=given.again)
    print(*(f"  {line}" for line in found.tried), sep="\n")
    print(f"{'direct calls' if found.good else 'no direct calls'}: {found.reason}")
    print(f"kept in {verdict.place() or 'no file: ' + verdict.NOWHERE}")
    if verdict.switched_off():
        print(f"switched off by {verdict.SWITCH}")
    return 0 if found.good else 1


if __name__ == "__main__":
    sys.exit(main())
