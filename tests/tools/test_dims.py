"""`--dims`: axes of arguments and sizes, from a text to a program."""

from __future__ import annotations

import click
import numpy as np
import pytest

import hlograph
from hlograph.tools.dims import DIMS, Dims, entries_of, parted, with_dims

OWN = """func.func @main(%x: tensor<?x3xf32> {hlograph.name = "x", hlograph.dims = ["n", "3"]}) -> tensor<?x3xf32> {
  return %x : tensor<?x3xf32>
}"""
FOREIGN = """func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %k: tensor<i32>) -> tensor<?xf32> {
  %0 = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.dynamic_iota %0, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %2 = stablehlo.add %x, %y : tensor<?xf32>
  %3 = stablehlo.add %2, %1 : tensor<?xf32>
  return %3 : tensor<?xf32>
}"""


def given(*texts: str) -> list[Dims]:
    return [DIMS.convert(text, None, None) for text in texts]


@pytest.mark.parametrize(
    ("text", "dims"),
    [
        ("x=n,8", (("x", ("n", 8)),)),
        (" x = n , 8 ", (("x", ("n", 8)),)),
        ("x=", (("x", ()),)),
        ("x=2*n+1", (("x", ("2*n+1",)),)),
        ("x=min(n, m),k", (("x", ("min(n, m)", "k")),)),
        ("x=max(min(n,m),1),0", (("x", ("max(min(n,m),1)", 0)),)),
        ("n=5,m=3", (("n", (5,)), ("m", (3,)))),
        ("x=n,8,n=100,y=n", (("x", ("n", 8)), ("n", (100,)), ("y", ("n",)))),
    ],
)
def test_dims_are_sizes_names_and_expressions(text: str, dims: object) -> None:
    assert DIMS.convert(text, None, None) == dims


@pytest.mark.parametrize("text", ["x", "=n", "x=n,", "x=,n", "x=n,,m", "", "5", "x=n,=3"])
def test_malformed_dims_are_a_wrong_command(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"'x=n,8'.*'n=100,m=3'"):
        DIMS.convert(text, None, None)


def test_what_is_a_size_is_told_by_the_others() -> None:
    entries = entries_of(given("x=n,2*m", "w=8", "n=100,m=3"))
    assert parted(entries, ()) == ({"x": ("n", "2*m"), "w": (8,)}, {"n": 100, "m": 3})
    assert parted(entries_of(given("k=4,y=4")), ["k"]) == ({"y": (4,)}, {"k": 4})
    with pytest.raises(click.BadParameter, match="x is given twice"):
        entries_of(given("x=n,8", "y=3,x=4"))


def test_a_module_is_made_for_sizes() -> None:
    program = with_dims(hlograph.Program.parse(OWN), given("n=4"))
    assert program.signature.arguments[0].dims == (4, 3)
    with pytest.raises(hlograph.errors.ArtifactError, match=r"the argument 'm'; there are 0: x \(and the sizes n\)"):
        with_dims(hlograph.Program.parse(OWN), given("m=4"))
    with pytest.raises(hlograph.errors.ArtifactError, match="have names in the file"):
        with_dims(hlograph.Program.parse(OWN), given("x=rows,3"))


def test_sizes_of_a_module_without_names_get_some() -> None:
    named = with_dims(hlograph.Program.parse(FOREIGN), given("arg0=n,arg1=n,arg2=n"))
    values = np.arange(3, dtype=np.float32), np.ones(3, np.float32), np.int32(3)
    np.testing.assert_array_equal(named.compile()(*values), values[0] + 1 + np.arange(3))
    static = with_dims(hlograph.Program.parse(FOREIGN), given("arg0=n,arg1=n,arg2=n", "n=3"))
    assert static.signature.is_static
    np.testing.assert_array_equal(static.compile()(*values), values[0] + 1 + np.arange(3))
