"""The entry point: arguments in, exit code out, and every error as one clear line.

Exit codes: 0 done; 1 the input is wrong (unknown file, malformed module, wrong dtype, a run that fails); 2 the command
is wrong (unknown option, missing argument); 130 interrupted. The commands raise; only this file prints errors and
chooses exit codes. It imports the command line library inside `main`, because that library is an optional dependency.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

PROGRAM = "hlograph"
# What the extra `cli` in pyproject.toml installs.
EXTRA_PACKAGES = ("click", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after `hlograph`; those of the process when None.

    Returns:
        The exit code.
    """
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name not in EXTRA_PACKAGES:
            raise
        _print_error(_missing(error))
        return 1
    import click

    flags: dict[str, bool] = {}
    try:
        code = app.main(arguments, PROGRAM, standalone_mode=False, obj=flags)
        sys.stdout.flush()
        return code or 0
    except BrokenPipeError:
        # The reader of our output has gone (`hlograph explain x.mlir | head`): no error, but not a success either.
        # Python flushes stdout when it ends and would complain there; it may flush into nothing instead.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except click.Abort:
        _print_error("interrupted")
        return 130
    except Exception as error:  # the top of the program: whatever arrives here becomes a message and an exit code
        return _report(error, flags.get("traceback", False))


def _report(error: Exception, with_traceback: bool) -> int:
    import click

    if with_traceback:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print(error.format_message(), file=sys.stderr)
        return 2
    _print_error(_message(error, traceback_shown=with_traceback))
    return error.exit_code if isinstance(error, click.ClickException) else 1


def _message(error: Exception, *, traceback_shown: bool) -> str:
    import click

    from ..codegen.renamed import FLAGS

    if isinstance(error, click.UsageError) and error.ctx is not None:
        message = error.format_message().rstrip()
        if isinstance(error, click.NoSuchOption) and error.option_name in FLAGS:
            message = f"No such option {error.option_name!r} any more: it is {FLAGS[error.option_name]} now"
        stop = "" if message.endswith((".", "?", ")")) else "."
        return f"{message}{stop} See '{error.ctx.command_path} --help'."
    if isinstance(error, click.ClickException):
        return error.format_message()
    from ..errors import HlographError

    if isinstance(error, HlographError):
        return str(error) or type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRA_PACKAGES:
        return _missing(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    hint = "" if traceback_shown else "; `hlograph --traceback ...` shows where"
    first, *_ = str(error).strip().splitlines() or [""]  # the rest may be a compiler's dump of thousands of lines
    return f"unexpected {type(error).__name__}: {first}{hint}"


def _missing(error: ModuleNotFoundError) -> str:
    return f'the command line needs the package {error.name}: pip install "hlograph[cli]"'


def _print_error(message: str) -> None:
    first, *rest = message.strip().splitlines() or [""]
    print("\n".join([f"hlograph: error: {first}", *(f"  {line}".rstrip() for line in rest)]), file=sys.stderr)
