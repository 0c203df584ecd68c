"""On which platforms a module can run: what it was made for, the libraries that it calls, and elements of XLA's ops.

In: a module. Out: the platforms, by JAX's names, and the calls that each of the others does not have. Decisions to
know: a call that nobody here knows restricts nothing; whoever let it in answers for it. A program that says for which
platforms it is (`Signature.platforms`) runs on no other, whatever it calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ..errors import CompileError, DeviceError, OptionError, UnsupportedGraphError
from ..ir.bindings import ir
from ..ir.values import attributes_of, call_target, walk

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
# Where JAX has a library for what it has none for everywhere.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "pivoted_qr": ("cpu", "cuda", "rocm"),
    "eig": ("cpu", "cuda", "rocm"),
    "schur": ("cpu",),
}
_GPU = ("cuda", "rocm")
# How the names of library calls begin -> JAX's names of the platforms that have them.
_STARTS: Mapping[str, tuple[str, ...]] = {
    "lapack_": ("cpu",),
    "__onednn$": ("cpu",),
    "xla_ffi_python_cpu": ("cpu",),
    "hlograph.host": ("cpu", *_GPU),
    "cu": ("cuda",),
    "__cu": ("cuda",),
    "mosaic_gpu": ("cuda",),
    "__gpu$": _GPU,
    "triton_kernel_call": _GPU,
    "xla_ffi_python_gpu": _GPU,
    "hip": ("rocm",),
    "tpu_": ("tpu",),
}
_TPU = frozenset({"Qr", "Eigh", "LuDecomposition", "ProductOfElementaryHouseholderReflectors"})
_WITHOUT_FORM = "hlograph.library"
# Ops, and elements that XLA does not have in them.
_SIX_BITS = dict.fromkeys(["stablehlo.convert", "stablehlo.bitcast_convert"], frozenset(["f6E2M3FN", "f6E3M2FN"]))
_TWO_BITS = dict.fromkeys(["stablehlo.concatenate", "stablehlo.sort"], frozenset(["i2", "ui2"]))


def known_platforms(names: Sequence[str]) -> tuple[str, ...]:
    """Platforms by JAX's names, each once.

    Raises:
        OptionError: there are none, or one is not one of `PLATFORMS`.
    """
    found = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
    strange = [name for name in found if name not in PLATFORMS]
    if strange or not found:
        raise OptionError(f"platforms are some of {', '.join(PLATFORMS)}; got {strange[:1] or list(found)}")
    return found


def platforms_of_call(target: str, name: str = "") -> tuple[str, ...]:
    """The platforms that have a custom call; all where it is not known to be for some only.

    Args:
        target: its target.
        name: of a matrix function without a portable form its name, "eig".
    """
    if target == _WITHOUT_FORM:
        return LIBRARIES.get(name, PLATFORMS)
    if target in _TPU:
        return ("tpu",)
    return next((having for start, having in _STARTS.items() if target.startswith(start)), PLATFORMS)


def possible(module: ir.Module) -> tuple[str, ...]:
    """The platforms that have all calls of a module."""
    found = list(_restricted(module))
    return tuple(platform for platform in PLATFORMS if all(platform in having for _, having in found))


def in_the_way(module: ir.Module, platforms: Collection[str]) -> list[str]:
    """The calls that some of the platforms do not have, each as `call (platforms that have it)`."""
    return sorted(
        {f"{call} ({listed(having)})" for call, having in _restricted(module) if not set(platforms) <= {*having}}
    )


def refuse_calls(module: ir.Module, platforms: Collection[str], name: str) -> None:
    """Refuses a program for platforms of which some do not have what it calls.

    Raises:
        UnsupportedGraphError: it names the calls, and the platforms that have each.
    """
    calls = in_the_way(module, platforms)
    if calls:
        raise UnsupportedGraphError(
            f"{name} is to be for {listed(platforms)}, and calls {', '.join(calls)}; name only platforms that have it"
        )


def refuse_others(name: str, own: Collection[str], wanted: Collection[str]) -> None:
    """Refuses to run a program on platforms that it is not for.

    Args:
        name: the program's.
        own: the platforms that it says it is for; none where it says nothing.
        wanted: those that it is to run on, "gpu" for any of these.

    Raises:
        DeviceError: it names both.
    """
    others = [platform for platform in wanted if not {*own} & {*(_GPU if platform == "gpu" else (platform,))}]
    if own and others:
        raise DeviceError(
            f"{name} is for {listed(own)}, as it was emitted (platforms=), and not for {listed(others)}; emit it for "
            "this platform too"
        )


def refuse_elements(module: ir.Module, platform: str) -> None:
    """Refuses elements of which XLA makes wrong numbers, or on which it ends the process, in a module from anywhere.

    Raises:
        CompileError: with the op.
    """
    unknown = {**_SIX_BITS, **(_TWO_BITS if platform == "cpu" else {})}
    for operation in walk(module):
        if operation.name in unknown:
            types = {str(getattr(x.type, "element_type", "")) for x in (*operation.operands, *operation.results)}
            found = sorted(types & unknown[operation.name])
            if found:
                raise CompileError(f"XLA has no {operation.name} of {found[0]} for {platform}; use a wider type there")


def listed(platforms: Collection[str]) -> str:
    """`cpu and cuda`."""
    return " and ".join(platforms)


def has_no_form(module: ir.Module) -> bool:
    """Whether a module has matrix functions without a portable form: a library's call is put there for a platform."""
    return any(call_target(operation) == _WITHOUT_FORM for operation in walk(module))


def _restricted(module: ir.Module) -> Iterator[tuple[str, Sequence[str]]]:
    for operation in walk(module):
        target = call_target(operation)
        if target:
            config, name = attributes_of(operation.attributes).get("backend_config"), ""
            if target == _WITHOUT_FORM and isinstance(config, ir.DictAttr) and "name" in config:
                name = str(config["name"]).strip('"')
            having = platforms_of_call(target, name)
            if having != PLATFORMS:
                yield name or target, having
