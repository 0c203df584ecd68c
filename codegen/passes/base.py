"""What a pass is, and how its options are read.

In: options as text. Out: values for `run`. What `run` takes by keyword are the pass's options, with their types and
defaults. Decision to know: which passes there are is said above, in `registry.py`.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from ..errors import PassError

# On `?` types the first writes shape ops, the second their casts, which canonicalize folds.
LEGALIZE_CHLO = "func.func(chlo-legalize-to-stablehlo,shape-legalize-to-stablehlo),canonicalize,cse"


@dataclass(frozen=True, kw_only=True)
class Pass:
    """StableHLO to StableHLO.

    Attributes:
        name: for `--pass`, `--explain` and `optimize=`; of a pass of ours also the name of its file or package.
        line: what it does.
        on_loops: whether it wants calls inlined and everything in MLIR's canonical form, in a copy; see `driver.py`.
        default: whether `optimize="default"` runs it behind its own passes.
        other_function: whether what it makes takes and returns something else, of which a pullback is not the pullback.
    """

    name: str
    line: str
    on_loops: bool = False
    default: bool = False
    other_function: bool = False

    @property
    def run(self) -> Callable[..., None]:
        """What changes a module in place: `run(module, report, **options)`."""
        raise NotImplementedError

    @property
    def triggers(self) -> Collection[str] | int | None:
        """Without what there is nothing to do.

        Returns:
            Names of ops, one of which must be in the module; or the least number of ops; or None: nothing is needed.
        """
        return None

    @property
    def parts(self) -> Collection[str]:
        """The rewrites that the pass consists of, which are passes by their own names too."""
        return ()

    @property
    def reassociates(self) -> bool:
        """Whether it may change rounding, unless it is told not to: whether it has the option `reassociate`."""
        return any(option.name == "reassociate" for option in _options(self))

    def parse(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Options as `run` takes them.

        Raises:
            PassError: there is no such option, or it is of another type.
        """
        if not given:
            return {}
        named = {option.name: option for option in _options(self) if option.kind is option.KEYWORD_ONLY}
        others = [option for option in _options(self) if option.kind is option.VAR_KEYWORD]
        found = {}
        for name, text in given.items():
            if name not in named and not others:
                raise PassError(self._no_option(name, named))
            kind = (named.get(name) or others[0]).annotation
            value = _value(kind, text)
            if value is None:
                raise PassError(f"pass {self.name!r}: {name} is {_expected(kind)}, not {text!r}")
            found[name] = value
        return found

    def _no_option(self, name: str, named: Mapping[str, inspect.Parameter]) -> str:
        if not named:
            return f"pass {self.name!r} takes no options"
        close = difflib.get_close_matches(name, named, 1)
        hint = f" did you mean {close[0]!r}?" if close else ""
        takes = ", ".join(f"{each} ({_expected(option.annotation)})" for each, option in named.items())
        return f"pass {self.name!r} has no option {name!r};{hint} it takes {takes}"


@cache
def _options(found: Pass) -> list[inspect.Parameter]:
    """What a pass's function takes by keyword."""
    parameters = inspect.signature(found.run, eval_str=True).parameters.values()
    return [each for each in parameters if each.kind in (each.KEYWORD_ONLY, each.VAR_KEYWORD)]


def _value(kind: Any, text: str) -> Any:
    """An option's value; None where the text says no such thing."""
    if get_origin(kind) is Literal:
        return text if text in get_args(kind) else None
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower())
    assert kind is int, f"an option of type {kind}"
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else None


def _expected(kind: Any) -> str:
    if get_origin(kind) is Literal:
        *names, last = get_args(kind)
        return f"{', '.join(names)} or {last}" if names else last
    return "true or false" if kind is bool else "an integer"
