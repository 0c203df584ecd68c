"""Custom calls that a file may hold: by their names, and by what they take, give and are told.

In: a custom call of a module that was read. Out: nothing, or why it is refused. What a custom call names is machine
code of the process that runs it, which believes the shapes that it is given: a result that is too short is memory of
someone else. So a file's calls are those of a list, with the shapes that JAX's own lowerings give them; all others are
opened by hand. Decisions to know: sizes that are open fit until they are known, so a program from a file is checked
again when it is specialized. Layouts and alias pairs of equal types are not dangerous; a call in the wrong calling
convention is. A line of the list is

    target  types | operands -> results | configuration

`T[m,n]` is an array of T whose last sizes are m and n; before them stand the sizes of a batch, the same for all arrays
of a call. T is what the line's letters say (s, d, c, z: LAPACK's), R its real type, C its complex one. A letter is what
the first array says that has it; other sizes are computed of letters, and `n<=m` in the configuration is demanded. What
a configuration may hold stands behind its name: one of the letters, `?` for a boolean, `ui8`, a size, or texts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ..dims import Dim, evaluate, parse, roots, symbol
from ..ir.bindings import ir
from ..ir.values import attributes_of, call_target, shape_of
from ..renamed import nearest

Arrays: TypeAlias = "Sequence[tuple[str, tuple[int | None, ...]]]"
Config: TypeAlias = "Mapping[str, ir.Attribute] | str"

EVERY = "*"  # in `allow`: all names
_REAL = {"s": "f32", "d": "f64", "c": "f32", "z": "f64"}
_TYPE = {**_REAL, "c": "complex<f32>", "z": "complex<f64>"}
_COMPLEX = {"s": "complex<f32>", "d": "complex<f64>", "c": "complex<f32>", "z": "complex<f64>"}

_TABLE = """
lapack_?potrf_ffi  sdcz | T[n,n] -> T[n,n] i32[] | uplo=LU
lapack_?getrf_ffi  sdcz | T[m,n] -> T[m,n] i32[min(m,n)] i32[] |
lapack_?trsm_ffi   sdcz | T[m,m] T[m,n] -> T[m,n] | side=L uplo=LU trans_x=NTC diag=NU
lapack_?trsm_ffi   sdcz | T[n,n] T[m,n] -> T[m,n] | side=R uplo=LU trans_x=NTC diag=NU
lapack_?geqrf_ffi  sdcz | T[m,n] -> T[m,n] T[min(m,n)] |
lapack_?geqp3_ffi  sdcz | T[m,n] i32[n] -> T[m,n] i32[n] T[min(m,n)] |
lapack_?orgqr_ffi  sd   | T[m,n] T[k] -> T[m,n] | k<=n n<=m
lapack_?ungqr_ffi  cz   | T[m,n] T[k] -> T[m,n] | k<=n n<=m
lapack_?ormqr_ffi  sd   | T[m,k] T[k] T[m,n] -> T[m,n] | left=true transpose=? k<=m
lapack_?ormqr_ffi  sd   | T[n,k] T[k] T[m,n] -> T[m,n] | left=false transpose=? k<=n
lapack_?unmqr_ffi  cz   | T[m,k] T[k] T[m,n] -> T[m,n] | left=true transpose=? k<=m
lapack_?unmqr_ffi  cz   | T[n,k] T[k] T[m,n] -> T[m,n] | left=false transpose=? k<=n
lapack_?gesdd_ffi  sdcz | T[m,n] -> T[m,n] R[min(m,n)] T[m,m] T[n,n] i32[] | mode=AN
lapack_?gesdd_ffi  sdcz | T[m,n] -> T[m,n] R[min(m,n)] T[m,min(m,n)] T[min(m,n),n] i32[] | mode=S
lapack_?gesvd_ffi  sdcz | T[m,n] -> T[m,n] R[min(m,n)] T[m,m] T[n,n] i32[] | mode=AN
lapack_?gesvd_ffi  sdcz | T[m,n] -> T[m,n] R[min(m,n)] T[m,min(m,n)] T[min(m,n),n] i32[] | mode=S
lapack_?syevd_ffi  sd   | T[n,n] -> T[n,n] R[n] i32[] | mode=NV uplo=LU
lapack_?heevd_ffi  cz   | T[n,n] -> T[n,n] R[n] i32[] | mode=NV uplo=LU
lapack_?sytrd_ffi  sd   | T[n,n] -> T[n,n] R[n] R[n-1] T[n-1] i32[] | uplo=LU
lapack_?hetrd_ffi  cz   | T[n,n] -> T[n,n] R[n] R[n-1] T[n-1] i32[] | uplo=LU
lapack_?geev_ffi   sd   | T[n,n] -> T[n] T[n] C[n,n] C[n,n] i32[] | compute_left=NV compute_right=NV
lapack_?geev_ffi   cz   | T[n,n] -> T[n] T[n,n] T[n,n] i32[] | compute_left=NV compute_right=NV
lapack_?gees_ffi   sd   | T[n,n] -> T[n,n] T[n,n] T[n] T[n] i32[] i32[] | mode=NV sort=N
lapack_?gees_ffi   cz   | T[n,n] -> T[n,n] T[n,n] T[n] i32[] i32[] | mode=NV sort=N
lapack_?gehrd_ffi  sdcz | T[n,n] -> T[n,n] T[n-1] i32[] | low=1 high=n 1<=n
lapack_?gtsv_ffi   sdcz | T[n] T[n] T[n] T[n,k] -> T[n] T[n] T[n] T[n,k] i32[] |
cusolver_potrf_ffi sdcz | T[n,n] -> T[n,n] i32[] | lower=?
cusolver_getrf_ffi sdcz | T[m,n] -> T[m,n] i32[min(m,n)] i32[] |
cusolver_geqrf_ffi sdcz | T[m,n] -> T[m,n] T[min(m,n)] |
cusolver_orgqr_ffi sdcz | T[m,n] T[k] -> T[m,n] | k<=n n<=m
cusolver_ormqr_ffi sdcz | T[m,k] T[k] T[m,n] -> T[m,n] | left=true transpose=? k<=m
cusolver_ormqr_ffi sdcz | T[n,k] T[k] T[m,n] -> T[m,n] | left=false transpose=? k<=n
cusolver_syevd_ffi sdcz | T[n,n] -> T[n,n] R[n] i32[] | algorithm=ui8 lower=?
cusolver_gesvdj_ffi sdcz | T[m,n] -> T[m,n] R[min(m,n)] T[m,m] T[n,n] i32[] | compute_uv=? full_matrices=?
cusolver_gesvd_ffi sdcz | T[m,n] -> T[m,n] R[n] T[m,m] T[n,n] i32[] | compute_uv=? full_matrices=? transposed=false n<=m
cusolver_sytrd_ffi sdcz | T[n,n] -> T[n,n] R[n] R[n-1] T[n-1] i32[] | lower=?
cusparse_gtsv2_ffi sdcz | T[n] T[n] T[n] T[n,k] -> T[n,k] |
cuhybrid_geqp3     sdcz | T[m,n] i32[n] -> T[m,n] i32[n] T[min(m,n)] | magma=auto,off,on
cuhybrid_eig_real  sd   | T[n,n] -> T[n] T[n] C[n,n] C[n,n] i32[] | magma=auto,off,on left=? right=?
cuhybrid_eig_comp  cz   | T[n,n] -> T[n] T[n,n] T[n,n] i32[] | magma=auto,off,on left=? right=?
cu_lu_pivots_to_permutation s | i32[k] -> i32[m] | k<=m
Qr                 sdcz | T[m,n] -> T[m,n] T[min(m,n)] | text:
ProductOfElementaryHouseholderReflectors sdcz | T[m,n] T[k] -> T[m,n] | k<=n n<=m text:
LuDecomposition    sdcz | T[m,n] -> T[m,n] i32[min(m,n)] i32[m] | text:
Eigh               sdcz | T[n,n] -> T[n,n] R[n] | text:[01],[01],[0-9]{1,6},[-+.0-9e]{1,20}
"""


def _lines() -> dict[str, list[tuple[str, str]]]:
    """Of each target the lines that it has, with its letter; what is `cu...` is `hip...` where the GPU is AMD's."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in _TABLE.strip().splitlines():
        head, _, rest = line.partition(" | ")
        target, letters = head.split()
        for letter in letters:
            name = target.replace("?", letter)
            for each in {name, re.sub("^cu", "hip", name)}:
                found.setdefault(each, []).append((letter, rest))
    return found


TARGETS = _lines()

# Attributes that any call may have, and those of some.
_PLAIN = frozenset(
    {
        *("api_version", "backend_config", "call_target_name", "called_computations", "has_side_effect"),
        *("indices_of_shape_operands", "operand_layouts", "output_operand_aliases", "result_layouts"),
        *("mhlo.backend_config", "mhlo.sharding", "mhlo.frontend_attributes", "sdy.sharding", "sdy.sharding_rule"),
    }
)
_WORDS: Mapping[str, Collection[str]] = {
    "hlograph.size": ("hlograph.dim", "hlograph.bound"),
    "shape_assertion": ("error_message",),
    "stablehlo.dynamic_rng_bit_generator": ("rng_algorithm",),
    "stablehlo.dynamic_top_k": ("is_stable",),
}
# Those that `specialize` puts ops in the place of, which it verifies.
_REFINED = frozenset(f"stablehlo.dynamic_{name}" for name in ("reduce_window", "rng_bit_generator", "top_k"))
_SAME = frozenset({"Sharding", "annotate_device_placement"})  # give what they take
_MARKS = frozenset({"hlograph.size", "hlograph.fft", "hlograph.library"})
KNOWN = frozenset({*TARGETS, *_REFINED, *_SAME, *_MARKS, "shape_assertion"})
_TRANSFORMS = ("FFT", "IFFT", "RFFT", "IRFFT")


class Misfit(Exception):
    """A call is not what its target takes; the text says in what."""


def problem(operation: ir.Operation, allow: Collection[str]) -> str:
    """Why a custom call is refused, where it stands, and what to do; "" where it is on the list, and fits it.

    Args:
        operation: the call, verified.
        allow: names that are taken as they are; `EVERY` for all.
    """
    target = call_target(operation)
    if target in allow or EVERY in allow:
        return ""
    by_hand = f". Where you trust the file all the same: hlograph.load(path, allow=[{target[:200]!r}])"
    if target not in KNOWN:
        hint = nearest(target, sorted(KNOWN), form=" (did you mean {!r}?)")
        python = "callback" in target or target == "hlograph.host"
        why = "it calls Python of another process" if python else "it runs code that StableHLO says nothing about"
        what = f"custom call {target[:200]!r} is not one that a file may hold: {why}{hint}"
        return what + _place(operation) + by_hand
    try:
        _check(operation, target)
    except Misfit as misfit:
        what = f"custom call {target!r} does not fit what runs under this name: {misfit}"
        return what + _place(operation) + by_hand
    return ""


def _place(operation: ir.Operation) -> str:
    line = re.search(r":(\d+):\d+", str(operation.location))
    return f", line {line[1]}" if line else ""


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise Misfit(what)


def _check(operation: ir.Operation, target: str) -> None:
    attributes = attributes_of(operation.attributes)
    known = {*_PLAIN, *_WORDS.get(target, ())}
    strange = sorted(name for name in attributes if name not in known and not name.startswith("jax."))
    _require(not strange, f"it has the attributes {strange}")
    called = ir.ArrayAttr(attributes["called_computations"]) if "called_computations" in attributes else ()
    _require(target in _REFINED or not len(called), "it calls functions of the module")
    if target in _REFINED:
        return
    if target in _SAME or target == "shape_assertion":
        taken, given = ([str(x.type) for x in side] for side in (operation.operands, operation.results))
        _require(given == (taken if target in _SAME else []), f"its results are {given}")
        _untyped(attributes)
        return
    operands, results = _arrays(operation, attributes)
    if target in _MARKS:
        _check_mark(target, attributes, operands, results)
        return
    is_text = "text:" in TARGETS[target][0][1]
    config: Config = _untyped(attributes) if is_text else _typed(attributes)
    problems = []
    for letter, line in TARGETS[target]:
        try:
            return _fit(letter, line, operands, results, config)
        except Misfit as misfit:
            problems.append(str(misfit))
    raise Misfit("; or ".join(dict.fromkeys(problems)))


def _fit(letter: str, line: str, operands: Arrays, results: Arrays, config: Config) -> None:
    """Raises `Misfit` unless a call is what a line says, as far as its sizes are known."""
    arrays, _, told = line.partition(" |")
    takes, gives = (_wanted(side, letter) for side in arrays.split(" -> "))
    counts = f"{len(operands)} operands and {len(results)} results, not {len(takes)} and {len(gives)}"
    _require((len(operands), len(results)) == (len(takes), len(gives)), counts)
    given, wanted = (*operands, *results), (*takes, *gives)
    batch = tuple(symbol(f"batch{axis}") for axis in range(len(given[0][1]) - len(wanted[0][1])))
    known: dict[str, int] = {}
    demanded: list[tuple[str, int, Dim]] = []
    for place, ((element, sizes), (kind, own)) in enumerate(zip(given, wanted, strict=True)):
        name = f"operand {place}" if place < len(operands) else f"result {place - len(operands)}"
        dims = (*batch, *own)
        shown = ", ".join("?" if size is None else str(size) for size in sizes)
        fits = element == kind and len(sizes) == len(dims)
        _require(fits, f"{name} is {element}[{shown}], not {kind}[{', '.join(map(str, dims))}]")
        for size, dim in zip(sizes, dims, strict=True):
            if size is not None:
                demanded.append((name, size, dim))
                if str(dim) in roots(dim):
                    known.setdefault(str(dim), size)
    for name, size, dim in demanded:
        if roots(dim) <= known.keys() and evaluate(dim, known) != size:
            raise Misfit(f"a size of {name} is {size}, not {dim} = {evaluate(dim, known)}")
    expected = {}
    for word in told.split():
        low, _, high = word.partition("<=")
        if high:
            least, most = parse(low), parse(high)
            is_open = not roots(least) | roots(most) <= known.keys()
            _require(is_open or evaluate(least, known) <= evaluate(most, known), f"{word} is demanded, with {known}")
        elif isinstance(config, str):
            _require(re.fullmatch(word.removeprefix("text:"), config), f"its configuration is {config[:80]!r}")
        else:
            name, _, expected[name] = word.partition("=")
    if not isinstance(config, str):
        _require(config.keys() == expected.keys(), f"it is told {sorted(config)}, not {sorted(expected)}")
        for name, allowed in expected.items():
            _require(_allows(allowed, config[name], known), f"{name} is {config[name]}, not {allowed}")


@cache
def _wanted(text: str, letter: str) -> Sequence[tuple[str, tuple[Dim, ...]]]:
    """The arrays of a line: of each its element type, and its last sizes."""
    found = []
    for kind, sizes in re.findall(r"(\w+)\[(.*?)\](?= |$)", text.strip()):
        element = {"T": _TYPE, "R": _REAL, "C": _COMPLEX}.get(kind, {letter: kind})[letter]
        found.append((element, tuple(parse(size) for size in re.split(r",(?![^(]*\))", sizes) if size)))
    return found


def _allows(allowed: str, value: ir.Attribute, known: Mapping[str, int]) -> bool:
    text = str(value)
    if allowed in ("?", "true", "false"):
        return text in (("true", "false") if allowed == "?" else (allowed,))
    number, _, kind = text.partition(" : ")
    if allowed == "ui8":
        return kind == "ui8"
    if allowed.isupper():
        return kind == "ui8" and chr(int(number)) in allowed
    if kind:
        size = parse(allowed)
        return kind in ("i32", "i64") and (not roots(size) <= known.keys() or int(number) == evaluate(size, known))
    return text.strip('"') in allowed.split(",")


def _arrays(operation: ir.Operation, attributes: Mapping[str, ir.Attribute]) -> tuple[Arrays, Arrays]:
    """Element types and sizes of operands and results; without operands that say nothing but the results' shapes."""
    operands, results = ([_array(x.type) for x in side] for side in (operation.operands, operation.results))
    if "indices_of_shape_operands" in attributes:
        places = np.array(ir.DenseIntElementsAttr(attributes["indices_of_shape_operands"])).tolist()
        last = list(range(len(operands) - len(results), len(operands)))
        _require(places == last, f"its last {len(last)} operands are not the shapes of its results")
        operands = operands[: len(operands) - len(results)]
    return operands, results


def _array(type_: ir.Type) -> tuple[str, tuple[int | None, ...]]:
    _require(isinstance(type_, ir.RankedTensorType), f"{type_} is no tensor")
    return str(ir.RankedTensorType(type_).element_type), shape_of(type_)


def _version(attributes: Mapping[str, ir.Attribute]) -> int:
    return ir.IntegerAttr(attributes["api_version"]).value if "api_version" in attributes else 1


def _untyped(attributes: Mapping[str, ir.Attribute]) -> str:
    config = attributes.get("backend_config")
    typed = "mhlo.backend_config" in attributes or _version(attributes) not in (1, 2, 3)
    _require(not typed, "it is called as a typed FFI target, which it is not")
    _require(config is None or isinstance(config, ir.StringAttr), f"its configuration {str(config)[:80]} is no text")
    return "" if config is None else ir.StringAttr(config).value


def _typed(attributes: Mapping[str, ir.Attribute]) -> dict[str, ir.Attribute]:
    """The configuration of a typed FFI target: in `backend_config`, or as JAX's export puts it beside an empty one."""
    plain, beside = attributes.get("backend_config"), attributes.get("mhlo.backend_config")
    is_empty = plain is None or str(plain) in ('""', "{}")  # the first is what portable bytecode makes of an empty one
    fits = is_empty if beside is not None else _version(attributes) == 4
    _require(fits, "it is not called as a typed FFI target, which it is")
    config = beside if is_empty else plain
    if config is None or str(config) == '""':
        return {}
    _require(isinstance(config, ir.DictAttr), "its configuration is no dictionary")
    return attributes_of(config)


def _check_mark(target: str, attributes: Mapping[str, ir.Attribute], operands: Arrays, results: Arrays) -> None:
    config = _typed(attributes)
    told = {name: str(value).strip('"') for name, value in config.items()}
    if target == "hlograph.size":
        _require("hlograph.dim" in attributes, "it has no hlograph.dim")
        number = [("i64", ())]
        _require(operands == number and results == number and not told, "it takes an int64 scalar and gives one")
    elif target == "hlograph.library":
        fits = len(operands) == 1 and told in ({"name": "eig"}, {"name": "schur"})
        _require(fits, "it is one of the matrix functions 'eig' and 'schur'")
    else:
        one = len(operands) == len(results) == 1 and len(operands[0][1]) == len(results[0][1])
        _require(one and told.keys() == {"kind", "rank"}, "it takes an array and gives one, of a kind and a rank")
        _require(told["kind"] in _TRANSFORMS, f"its kind {told['kind']!r} is not one of {', '.join(_TRANSFORMS)}")
        rank = re.fullmatch(r"([123]) : i\d+", told["rank"])
        fits = rank is not None and int(rank[1]) <= len(operands[0][1])
        _require(fits, f"its rank {told['rank']} is not one of 1 to 3, or more than the array's")
