"""What is public, and what there was once under another name."""

import inspect
from collections.abc import Callable
from typing import Any

import pytensor.tensor as pt
import pytest

import hlograph
from hlograph import Program
from hlograph.codegen import renamed
from hlograph.codegen.program import PUBLIC
from hlograph.runtime.options import CompileOptions

X = pt.dvector("x")
PROGRAM = hlograph.emit_stablehlo(([X], X * 2.0))


def test_the_public_names() -> None:
    assert hlograph.__all__ == [
        *("Bucket", "CpuOptions", "Function", "Mode", "Program", "Ragged", "SparseParts", "__version__"),
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


def test_calls_agree_on_the_options_of_compiling() -> None:
    """Their names and defaults; the mode alone returns NumPy arrays by default, as its library does."""
    options = inspect.signature(CompileOptions.of).parameters
    linker = inspect.signature(hlograph.Mode(library="pytensor").__class__.__init__)
    calls = {"function": hlograph.function, "jit": hlograph.jit, "compile": Program.compile}
    for name, signature in {call: inspect.signature(function) for call, function in calls.items()}.items():
        found = {o: p.default for o, p in signature.parameters.items() if o in options}
        assert found == {o: p.default for o, p in options.items()}, name
    assert options.keys() - linker.parameters.keys() == set()
    different = {o for o, p in options.items() if linker.parameters[o].default != p.default}
    assert different == {"outputs"}


@pytest.mark.parametrize("call", ["function", "jit", "compile", "Mode"])
def test_calls_pass_the_options_of_compiling_on(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = inspect.signature(CompileOptions.of).parameters.keys()

    def named(**given: object) -> CompileOptions:
        raise LookupError(*sorted(given))

    monkeypatch.setattr(CompileOptions, "of", staticmethod(named))
    with pytest.raises(LookupError) as raised:
        CALLS[call]()
    assert set(raised.value.args) == options


def test_the_members_of_a_program() -> None:
    assert len(PUBLIC) == 13
    assert dir(PROGRAM) == sorted(PUBLIC)
    assert all(getattr(PROGRAM, name) is not None for name in PUBLIC)


def test_methods_from_above_are_found_on_the_class() -> None:
    assert Program.parse("module { func.func @main() { return } }").signature.arguments == ()
    assert Program.save.__doc__.startswith("Writes the program to a file")
