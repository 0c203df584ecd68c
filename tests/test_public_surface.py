"""What is public, and what there was once under another name."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytensor.tensor as pt
import pytest

import hlograph
from hlograph import Program
from hlograph.codegen import renamed
from hlograph.codegen.program import PUBLIC
from hlograph.runtime.options import DEFAULTS, CompileOptions
from hlograph.tools.app import app

ROOT = Path(__file__).resolve().parent.parent

X = pt.dvector("x")
PROGRAM = hlograph.emit_stablehlo(([X], X * 2.0))


def test_the_public_names() -> None:
    assert hlograph.__all__ == [
        *("Bucket", "CpuOptions", "Function", "Mode", "Predictor", "Program", "Ragged"),
        *("SparseParts", "__version__"),
        *("builder", "bundle", "emit_stablehlo", "errors", "explain", "function", "jit", "load", "load_bundle"),
        "passes",
    ]
    assert all(getattr(hlograph, name) is not None for name in hlograph.__all__)
    assert {"Context", "Tensor", "lowers", "lowers_with_jax"} <= vars(hlograph.builder).keys()
    errors = [item for name, item in vars(hlograph.errors).items() if not name.startswith("_")]
    assert all(issubclass(item, (hlograph.errors.HlographError, UserWarning)) for item in errors)


@pytest.mark.parametrize("name", renamed.NAMES)
def test_an_old_name_says_the_new_one(name: str) -> None:
    owner, _, member = name.rpartition(".")
    with pytest.raises(AttributeError) as raised:
        getattr({"hlograph": hlograph, "Program": PROGRAM}[owner], member)
    assert f"it is {renamed.NAMES[name]} now" in str(raised.value)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = PROGRAM.nothing  # type: ignore[attr-defined]


CALLS: dict[str, Callable[..., Any]] = {
    "emit_stablehlo": lambda **options: hlograph.emit_stablehlo(([X], X), **options),
    "function": lambda **options: hlograph.function([X], X, **options),
    "jit": lambda **options: hlograph.jit(lambda x: x, **options),
    "Mode": hlograph.Mode,
    "CpuOptions": hlograph.CpuOptions,
    "compile": PROGRAM.compile,
    "optimize": PROGRAM.optimize,
    "plain": PROGRAM.plain,
    "save": lambda **options: PROGRAM.save("nothing.mlir", **options),
}


@pytest.mark.parametrize("option", renamed.OPTIONS)
@pytest.mark.parametrize("call", CALLS)
def test_an_old_option_says_the_new_one(call: str, option: str) -> None:
    with pytest.raises(TypeError, match="any more") as raised:
        CALLS[call](**{option: True})
    assert renamed.OPTIONS[option] in str(raised.value)


@pytest.mark.parametrize("call", ["function", "jit", "compile", "Mode"])
def test_calls_pass_the_options_of_compiling_on(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They show them, with their defaults and what they mean; the mode alone returns NumPy arrays by default."""
    shown = {"function": hlograph.function, "jit": hlograph.jit, "compile": Program.compile, "Mode": hlograph.Mode}[
        call
    ]
    parameters = inspect.signature(shown.__init__ if call == "Mode" else shown).parameters
    different = {option for option, default in DEFAULTS.items() if parameters[option].default != default}
    assert different == ({"outputs"} if call == "Mode" else set())
    assert call == "Mode" or all(f"    {option}: " in (shown.__doc__ or "") for option in DEFAULTS)
    with pytest.raises(TypeError, match=r"has no option 'policyy'; did you mean 'policy'\?"):
        CALLS[call](policyy="exact")

    def named(**given: object) -> CompileOptions:
        raise LookupError(*sorted(given))

    monkeypatch.setattr(CompileOptions, "of", staticmethod(named))
    with pytest.raises(LookupError) as raised:
        CALLS[call](**DEFAULTS)
    assert set(raised.value.args) == DEFAULTS.keys()


TAKING: dict[str, tuple[Callable[..., Any], int]] = {  # and how many parameters are no options
    "emit_stablehlo": (hlograph.emit_stablehlo, 2),
    "function": (hlograph.function, 2),
    "jit": (hlograph.jit, 1),
    "compile": (Program.compile, 1),
    "Mode": (hlograph.Mode.__init__, 1),
    "plain": (Program.plain, 1),
    "explain": (hlograph.explain, 2),
    "save": (Program.save, 2),
    "load": (hlograph.load, 1),
    "parse": (Program.parse, 1),
    "bundle": (hlograph.bundle, 2),
    "load_bundle": (hlograph.load_bundle, 1),
    "to_jax_export": (Program.to_jax_export, 1),
}


def test_the_table_of_options_is_what_calls_take() -> None:
    page = (ROOT / "docs/reference/options.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    named = [
        (re.findall(r"`(\w+)`", options), set(re.findall(r"`(\w+)`", calls)), line) for options, _, calls, line in rows
    ]
    for call, (function, own) in TAKING.items():
        parameters = list(inspect.signature(function).parameters.values())[own:]
        taken = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
        assert taken == {option for options, calls, _ in named for option in options if call in calls}, call
    assert {call for _, calls, _ in named for call in calls} == TAKING.keys()
    every = {option for options, _, _ in named for option in options} - {"name"}  # `--name` of arguments, too
    for name, command in app.commands.items():
        given = {parameter.name for parameter in command.params if parameter.name in every}
        assert given == {option for options, _, line in named for option in options if f"`{name}`" in line} & every, (
            name
        )


def test_the_members_of_a_program() -> None:
    assert len(PUBLIC) == 13
    assert dir(PROGRAM) == sorted(PUBLIC)
    assert all(getattr(PROGRAM, name) is not None for name in PUBLIC)


def test_methods_from_above_are_found_on_the_class() -> None:
    assert Program.parse("module { func.func @main() { return } }").signature.arguments == ()
    assert Program.save.__doc__.startswith("Writes the program to a file")
