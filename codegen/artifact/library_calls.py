"""Calls of libraries: what JAX's lowerings give each of them, and get.

In: `_TABLE`. Out: `forms` of a target, and `fit`, which says why a call is none of them. A line is

    target  types | operands -> results | configuration

`T[m,n]` is an array of T whose last sizes are m and n; before them stand the sizes of a batch, the same for all arrays
of a call. T is what the line's letters say (s, d, c, z: LAPACK's), R its real type, C its complex one. A letter is what
the first array says that has it; other sizes are computed of letters, and `n<=m` in the configuration is demanded. What
a configuration may hold stands behind its name: one of the letters, `?` for a boolean, `ui8`, a size, or texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from ..dims import Dim, evaluate, parse, roots, symbol
from ..ir.bindings import ir

Sizes: TypeAlias = "tuple[int | None, ...]"
Arrays: TypeAlias = "Sequence[tuple[str, Sizes]]"


class Misfit(Exception):
    """A call is not what its target takes; the text says in what."""


@dataclass(frozen=True)
class Form:
    """One way to call a target.

    Attributes:
        operands: of each its element type, and its last sizes.
        results: the same.
        config: of each entry of its configuration what it may be; None for a target that is told a text.
        demands: pairs of sizes, the first of which is at most the second.
        text: what the text may be, as a regular expression.
    """

    operands: tuple[tuple[str, tuple[Dim, ...]], ...]
    results: tuple[tuple[str, tuple[Dim, ...]], ...]
    config: Mapping[str, str] | None
    demands: tuple[tuple[Dim, Dim], ...] = ()
    text: str = ""


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


def fit(form: Form, operands: Arrays, results: Arrays, config: Mapping[str, ir.Attribute] | str) -> None:
    """Raises `Misfit` unless a call has a form, as far as its sizes are known."""
    if (len(operands), len(results)) != (len(form.operands), len(form.results)):
        raise Misfit(
            f"{len(operands)} operands and {len(results)} results, not {len(form.operands)} and {len(form.results)}"
        )
    given, wanted = (*operands, *results), (*form.operands, *form.results)
    batch = tuple(symbol(f"batch{axis}") for axis in range(len(given[0][1]) - len(wanted[0][1])))
    known: dict[str, int] = {}
    demanded: list[tuple[str, int, Dim]] = []
    for place, ((element, sizes), (kind, own)) in enumerate(zip(given, wanted, strict=True)):
        name = f"operand {place}" if place < len(operands) else f"result {place - len(operands)}"
        dims = (*batch, *own)
        if element != kind or len(sizes) != len(dims):
            shown = ", ".join("?" if size is None else str(size) for size in sizes)
            raise Misfit(f"{name} is {element}[{shown}], not {kind}[{', '.join(map(str, dims))}]")
        for size, dim in zip(sizes, dims, strict=True):
            if size is not None:
                demanded.append((name, size, dim))
                if str(dim) in roots(dim):
                    known.setdefault(str(dim), size)
    for name, size, dim in demanded:
        if roots(dim) <= known.keys() and evaluate(dim, known) != size:
            raise Misfit(f"a size of {name} is {size}, not {dim} = {evaluate(dim, known)}")
    for low, high in form.demands:
        if roots(low) | roots(high) <= known.keys() and evaluate(low, known) > evaluate(high, known):
            raise Misfit(f"{low} <= {high} is demanded, with {known}")
    if isinstance(config, str):
        if not re.fullmatch(form.text, config):
            raise Misfit(f"its configuration is {config[:80]!r}")
        return
    expected = form.config or {}
    if config.keys() != expected.keys():
        raise Misfit(f"it is told {sorted(config)}, not {sorted(expected)}")
    for name, allowed in expected.items():
        if not _allows(allowed, config[name], known):
            raise Misfit(f"{name} is {config[name]}, not {allowed}")


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


_ARRAY = re.compile(r"(\w+)\[(.*?)\](?= |$)")


def _arrays(text: str, letter: str) -> tuple[tuple[str, tuple[Dim, ...]], ...]:
    found = []
    for kind, sizes in _ARRAY.findall(text.strip()):
        element = {"T": _TYPE, "R": _REAL, "C": _COMPLEX}.get(kind, {letter: kind})[letter]
        found.append((element, tuple(parse(size) for size in re.split(r",(?![^(]*\))", sizes) if size)))
    return tuple(found)


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


_LINES = _lines()
TARGETS = frozenset(_LINES)


@cache
def forms(target: str) -> tuple[Form, ...]:
    """The ways to call one of `TARGETS`."""
    return tuple(_form(letter, line) for letter, line in _LINES[target])


def _form(letter: str, line: str) -> Form:
    arrays, _, told = line.partition(" |")
    operands, results = arrays.split(" -> ")
    words = told.split()
    texts = [word.removeprefix("text:") for word in words if word.startswith("text:")]
    sizes = [word.split("<=") for word in words if "<=" in word]
    config = dict(word.split("=", 1) for word in words if "<=" not in word and not word.startswith("text:"))
    return Form(
        _arrays(operands, letter),
        _arrays(results, letter),
        None if texts else config,
        tuple((parse(low), parse(high)) for low, high in sizes),
        "".join(texts),
    )
