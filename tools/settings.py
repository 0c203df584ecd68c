"""The options that every command takes.

`--traceback` may stand before or after the name of the command; both write into the one `Settings` that `cli.main`
hands to click as the context's object and reads again when the command has failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

__all__ = ["Settings", "traceback_option"]

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Settings:
    """Options of the whole command line.

    Attributes:
        traceback: show Python's traceback of an error as well as its message.
    """

    traceback: bool = False


def traceback_option(*, hidden: bool = True) -> Callable[[Command], Command]:
    """The option `--traceback`, for a command or for the whole program."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        settings = context.find_object(Settings)
        if value and settings is not None:
            settings.traceback = True

    return click.option(
        "--traceback",
        is_flag=True,
        expose_value=False,
        is_eager=True,  # so that it holds for errors in the other options too
        hidden=hidden,
        callback=remember,
        help="Show Python's traceback of an error.",
    )
