"""Checks in a graph: their flags come back with the results and are read after the run.

In: the signature's checks and the vector of flags. Out: nothing, or the check's own exception with its own message.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.errors import CheckFailedError
from ...codegen.signature import CheckSpec


def exception_class(name: str) -> type[Exception]:
    """The class that `ValueError` or `package.module.Name(ValueError)` names.

    The module is not imported for it: where it is not loaded, the built-in base in parentheses is raised.
    """
    match = re.fullmatch(r"([\w.]+)(?:\((\w+)\))?", name)
    if match is None:
        return CheckFailedError
    path, base = match.groups()
    module, _, attribute = path.rpartition(".")
    found = getattr(sys.modules.get(module), attribute, None) if module else getattr(builtins, path, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        found = getattr(builtins, base or "", None)
    return found if isinstance(found, type) and issubclass(found, Exception) else CheckFailedError


def raise_failed(checks: Sequence[CheckSpec], flags: Any) -> None:
    """Raises for the first check whose flag is false, or not positive."""
    values = np.asarray(flags)
    if (values > 0).all():
        return
    number = int(np.argmin(values > 0))
    failed = checks[number]
    place = f" (in {failed.place.replace('{}', str(-int(values[number])))})" if failed.place else ""
    raise exception_class(failed.exception)(failed.message + place)
