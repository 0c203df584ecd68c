"""Sizes that come from data: markers, where sizes are computed, regions, bounds, names, the signature."""

from __future__ import annotations

import re

import numpy as np
import pytest
from builds import Build

import hlograph
from hlograph import builder as hlo
from hlograph.builder import BOOL, INT64
from hlograph.builder import dims as dimension
from hlograph.codegen import signature as signatures
from hlograph.codegen.constraints import Constraint
from hlograph.codegen.ir.values import main_function
from hlograph.codegen.signature import Argument, Count, Result, Signature
from hlograph.errors import DataDependentSizeError, UnsupportedGraphError

F64 = np.dtype(np.float64)
N = dimension.symbol("n")
SCALAR = ((), INT64)


def vector(build, dim):
    return hlo.iota(build.builder, (dim,), 0, INT64)


def lines(text):
    return [line.strip() for line in text.splitlines()]


def test_a_bound_may_be_found_later():
    build = Build(SCALAR, ((N,), F64))
    dim = hlo.data_size(build.args[0], "chosen")
    assert hlo.data_size(build.args[0], "again", N) == dim
    assert 'hlograph.bound = "n"' in build.done(vector(build, dim))
    assert build.builder.counts == {"chosen_0": N}


def test_names_are_free():
    build = Build(SCALAR, SCALAR, ((dimension.symbol("chosen_0"),), F64))
    dims = [hlo.data_size(count, "chosen") for count in build.args[:2]]
    assert list(map(str, dims)) == ["chosen_1", "chosen_2"]


def test_sizes_are_computed_behind_what_they_depend_on():
    build = Build(SCALAR, SCALAR, ((N,), F64))
    a, b, x = build.args
    first = hlo.data_size(a, "first")
    before = hlo.negate(x)
    second = hlo.data_size(b, "second")
    after = vector(build, dimension.maximum(first - N, 0) + dimension.minimum(second, N * 2))
    late = vector(build, first * 3)
    text = lines(build.done(after, late, before, vector(build, N + 1)))

    def place(pattern):
        found = [i for i, line in enumerate(text) if re.search(pattern, line)]
        assert len(found) == 1, (pattern, text)
        return found[0]

    assert place(r"get_dimension_size") < place(r'"first_0"') < place(r"stablehlo.negate") < place(r'"second_0"')
    # What depends on the first alone stands right behind it, before the rest of the body.
    assert place(r'"first_0"') < place(r"stablehlo.maximum") < place("stablehlo.negate")
    doubled = [i for i, line in enumerate(text) if "stablehlo.multiply" in line]
    assert min(doubled) < place(r'"first_0"')  # n * 2 lives in the prologue
    assert place(r'"second_0"') < place(r"stablehlo.minimum")
    assert not any("dense<true>" in line for line in text)  # no anchor is left


def test_a_size_is_not_known_outside_of_its_region():
    """Of a loop; of a branch: tests/dialects/tensor/test_data_dependent.py."""
    build, dims = Build(SCALAR), []
    (count,) = build.args

    def body(i, _):
        dims.append(hlo.data_size(i, "chosen", 9))
        return [hlo.add(i, 1), vector(build, dims[0])]

    with pytest.raises(UnsupportedGraphError, match="result 1 of a while region"):
        hlo.while_loop([count, vector(build, 9)], lambda i, x: hlo.compare("LT", i, 5), body)
    with pytest.raises(UnsupportedGraphError, match="chosen_0 is used and known only inside"):
        build.builder.materialize(build.builder.size(dims[0]))


def test_a_demand_gives_up_the_size_from_data():
    build = Build(SCALAR, ((N,), INT64))
    count = build.args[0]
    dim = hlo.data_size(count, "chosen", N)
    assert build.builder.equate(dim, N) == N
    assert build.builder.constraints.canonical(dim) == N
    assert [str(c) for c in build.builder.constraints] == ["n == chosen_0"]


def test_private_functions_have_no_sizes_from_data():
    build = Build(((N,), BOOL))
    with pytest.raises(DataDependentSizeError, match="private function"):
        hlo.call("inner", build.args, lambda mask: [hlo.true_places(mask)])


# ---- signature ------------------------------------------------------------------------------------------------------


def test_counts_in_the_signature(tmp_path):
    import pytensor.tensor as pt

    x, k = pt.dvector("x"), pt.lvector("k")
    inputs, outputs = [x, k], [x[x > 0], pt.repeat(x, k), x[x > 0][0]]
    program = hlograph.emit_stablehlo((inputs, outputs), dims={"x": ("n",), "k": ("n",)})
    signature = program.signature
    assert signature.counts == (Count("nonzero_0", N), Count("repeat_0", None))
    assert [root.name for root in signature.roots] == ["n"]
    assert not signature.is_static
    assert "nonzero_0 from data, at most n" in str(signature)
    assert "repeat_0 from data\n" in str(signature)
    assert 'hlograph.counts = [["nonzero_0", "n"], ["repeat_0", ""]]' in program.text
    again = [hlograph.load(program.save(tmp_path / f"saved{suffix}")) for suffix in (".mlir", ".mlirbc")]
    again += [hlograph.Program.parse(program.text), hlograph.Program.parse(program.to_bytecode())]
    again += [program.optimize(["canonicalize", "cse", "inline", "chlo-legalize-to-stablehlo"])]
    for other in again:
        assert other.signature == signature
        markers = re.findall(r"@hlograph.size\(.*?\) \{(.*?)\} :", other.text)
        assert [re.findall(r'hlograph\.(\w+) = "(\w+)"', marker) for marker in markers] == [
            [("bound", "n"), ("dim", "nonzero_0")],
            [("dim", "repeat_0")],
        ]


def test_a_bound_that_is_an_argument_keeps_its_root():
    import pytensor.tensor as pt

    k = pt.lscalar("k")
    places = pt.arange(k)
    program = hlograph.emit_stablehlo(([k], places[places % 2 > 0]))
    assert [str(count.bound) for count in program.signature.counts] == ["k"] or "max(k, 0)" in program.text
    assert [root.name for root in program.signature.roots] == ["k"]
    assert program.signature.arguments[0].values == ("k",)


def test_writing_a_signature_replaces_the_counts():
    import pytensor.tensor as pt

    x = pt.dvector("x")
    module = hlograph.emit_stablehlo(([x], x[x > 0].sum())).copy_module()
    function = main_function(module)
    after = Signature(
        (Argument("x", F64, (dimension.symbol("x_0"),)),),
        (Result("y", F64, ()),),
        (),
        (Constraint(dimension.symbol("nonzero_0"), ">=", 1, "here"),),
        (),
        (Count("nonzero_0", dimension.symbol("x_0") * 2),),
    )
    signatures.write(function, after)
    found = signatures.read(module)
    assert (found.counts, found.constraints) == (after.counts, after.constraints)
    signatures.write(function, Signature(after.arguments, after.results, ()))
    assert signatures.read(module).counts == ()
