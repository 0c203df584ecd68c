"""Every error that a user can cause; see `hlograph.codegen.errors`."""

from .codegen.errors import *  # noqa: F403
