"""Dtypes that ml_dtypes adds to NumPy's: one executable a size, padded ones, against NumPy on the same values."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import hlograph
from hlograph.codegen.artifact import checks
from hlograph.codegen.dtypes import kind_of
from hlograph.errors import ArgumentTypeError, ArtifactError, CompileError, UnsupportedGraphError

pytestmark = pytest.mark.optimized  # what XLA makes of a module

DTYPES = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]


def values(dtype, n):
    """Small integers, which all of these hold exactly: also their sums of three, and halves of them."""
    found = np.random.default_rng(n).integers(0, 3, n)
    return (found - (kind_of(np.dtype(dtype)) != "u")).astype(dtype)


def least(x):
    return lax.reduce(x, np.array(1).astype(x.dtype), lax.min, (0,))


FUNCTIONS = {
    "max": (lambda x: jnp.max(x), np.max),
    "min with an initial value": (least, lambda x: min(x.min(), 1)),
    "cumulative maximum": (lambda x: lax.cummax(x), np.maximum.accumulate),
    "ends swapped": (lambda x: x.at[0].set(x[-1]), lambda x: np.concatenate([x[-1:], x[1:]])),
    "where": (lambda x: jnp.where(x > x[0], x, x[0]), lambda x: np.where(x > x[0], x, x[0])),
    "joined and turned": (lambda x: jnp.concatenate([x, x[::-1]]), lambda x: np.concatenate([x, x[::-1]])),
    "sorted": (lambda x: jnp.sort(x), np.sort),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype, name, policy):
    ours, numpys = FUNCTIONS[name]
    function = hlograph.jit(ours, dims={"x": ("n",)}, policy=policy)
    for n in (3, 6):
        x = values(getattr(jnp, dtype), n)
        found = np.asarray(function(x))
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found.astype(np.float64), numpys(x.astype(np.float64)))


# ---- every element type of StableHLO, by every way in and out --------------------------------------------------------

SIGNED, UNSIGNED = ["i2", "i4", "i8", "i16", "i32", "i64"], ["ui2", "ui4", "ui8", "ui16", "ui32", "ui64"]
EIGHT_BITS = ["f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"]
FLOATS = ["f4E2M1FN", *EIGHT_BITS, *["bf16", "f16", "f32", "f64"]]
COMPLEX = ["complex<f32>", "complex<f64>"]
NAMES = {"bf16": "bfloat16", "i1": "bool_", "complex<f32>": "complex64", "complex<f64>": "complex128"}


def element(type_):
    """The dtype of NumPy's or of ml_dtypes; not by hlograph's table."""
    name = NAMES.get(type_) or type_.replace("i", "int").replace("f", "float")
    if "E" in name:
        name = name.lower().replace("e", "_e", 1)
    if not hasattr(jnp, name):
        pytest.skip(f"this JAX has no {name}")
    return np.dtype(getattr(jnp, name))


def sample(type_, n):
    """Numbers that the type holds, of a wider one, and those in the type."""
    wide = np.resize(np.array([1, 0.5, 4, 2, 0.25] if "E8M0" in type_ else [0, 1, 0, 1, 1]), n)
    if type_ in SIGNED[1:]:
        wide = np.resize([-8, 7, 3, -1, 0], n)
    elif type_ in UNSIGNED[1:]:
        wide = np.resize([15, 9, 8, 0, 7], n)
    elif type_ in FLOATS and "E8M0" not in type_:
        wide = np.resize([1.3, -0.6, 6.0, 0.2, -2.0], n)
    wide = (wide + (1j * wide[::-1] if type_ in COMPLEX else 0)).astype("complex128" if type_ in COMPLEX else "float32")
    return wide, wide.astype(element(type_))


def module(type_, n):
    """The argument turned, and another one's values through the type and back."""
    wide = "complex<f64>" if type_ in COMPLEX else "f32"
    x, y = f"tensor<{n}x{type_}>", f"tensor<{n}x{wide}>"
    return f"""func.func @main(%x: {x}, %y: {y}) -> ({x}, {y}, {x}) {{
      %0 = stablehlo.reverse %x, dims = [0] : {x}
      %1 = stablehlo.convert %y : ({y}) -> {x}
      %2 = stablehlo.optimization_barrier %1 : {x}
      %3 = stablehlo.convert %2 : ({x}) -> {y}
      return %0, %3, %1 : {x}, {y}, {x} }}"""


def in_jax(x, y):
    narrow = lax.optimization_barrier(y.astype(x.dtype))
    return x[::-1], narrow.astype(y.dtype), narrow


def under_vmap(program, folder):
    function = jax.vmap(program.compile())
    return lambda *arrays: [rows[1] for rows in function(*[np.stack([a[::-1], a]) for a in arrays])]


def a_c_function(program, folder):
    function = program.compile(outputs="numpy").c_function(*[None] * 2)

    def call(x, y):
        results = [np.empty_like(x), np.empty_like(y), np.empty_like(x)]
        given, taken = (np.array([array.ctypes.data for array in arrays]) for arrays in ([x, y], results))
        assert function.ctypes(given.ctypes.data, taken.ctypes.data, None) == 0
        return results

    return call


def bundled(program, folder, **options):
    path = hlograph.bundle(program, folder / "a.bundle", sizes=[{}], **options)
    return hlograph.load_bundle(path, trusted=True)


def saved(program, folder):
    program.save(folder / "a.mlirbc")
    return hlograph.load(folder / "a.mlirbc").compile(outputs="numpy")


WAYS = {
    "JAX's arrays": lambda program, folder: program.compile(),
    "NumPy's arrays": lambda program, folder: program.compile(outputs="numpy"),
    "plain": lambda program, folder: program.compile(outputs="numpy", cpu="plain"),
    "direct": lambda program, folder: program.compile(outputs="numpy", cpu="direct"),
    "a file": saved,
    "a bundle": bundled,
    "a bundle, NumPy": lambda program, folder: bundled(program, folder, outputs="numpy"),
    "interpreted": lambda program, folder: program.interpret,
    "a C function": a_c_function,
    "padded": lambda program, folder: program.compile(policy="padded"),
    "padded, NumPy": lambda program, folder: program.compile(policy="padded", outputs="numpy"),
    "jit": lambda program, folder: hlograph.jit(in_jax),
    "jit, NumPy": lambda program, folder: hlograph.jit(in_jax, outputs="numpy"),
    "jit, padded": lambda program, folder: hlograph.jit(
        in_jax, dims={"x": ("n",), "y": ("n",)}, policy="padded", outputs="numpy"
    ),
    "under jax.jit": lambda program, folder: jax.jit(program.compile()),
    "under vmap": under_vmap,
}


@pytest.mark.sampled(6)
@pytest.mark.filterwarnings("ignore::hlograph.errors.PythonCallWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("type_", ["i1", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX])
def test_every_element_type(type_, way, tmp_path, jax_x64):
    program = hlograph.Program.parse(module(type_, "?" if "padded" in way else 5))
    wide, narrow = sample(type_, 5)
    wanted = [narrow[::-1], narrow.astype(wide.dtype), narrow]
    try:
        found = [np.asarray(x) for x in WAYS[way](program, tmp_path)(narrow, wide)]
    except UnsupportedGraphError:
        assert way == "interpreted"
        assert type_ in {"i2", "ui2", "i4", "ui4", "bf16", "f4E2M1FN", *EIGHT_BITS}
        return
    assert [x.dtype for x in found] == [x.dtype for x in wanted]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.astype(wide.dtype), other.astype(wide.dtype))


@pytest.mark.parametrize("dtype", ["int2", "int4", "uint4", "float4_e2m1fn"])
def test_packed_elements_are_padded_and_cut_as_the_numbers_that_they_are(dtype):
    fast = hlograph.jit(lambda x: (x[::-1], x + x), dims={"x": ("n",)}, policy="padded")
    for size in (1, 5, 16):
        x = jnp.asarray(np.arange(size) % 2, dtype)
        for found, wanted in zip(fast(x), jax.jit(lambda x: (x[::-1], x + x))(x), strict=True):
            np.testing.assert_array_equal(found.astype("float32"), wanted.astype("float32"))


@pytest.mark.parametrize("dtype", ["int2", "int4", "float4_e2m1fn"])
def test_elements_smaller_than_a_byte_beside_others(dtype):
    """Several results, of sizes 0, 1, odd and large, with results of other types."""
    function = hlograph.jit(lambda x, y: (x, x[::-1], 2 * y, x == x[0:1]), dims={"x": ("n",)}, outputs="numpy")
    for n in (1, 2, 7, 30_001):
        x, y = np.resize([0, 1, 1], n).astype(getattr(jnp, dtype)), np.linspace(0, 1, 3, dtype=np.float32)
        for found, wanted in zip(function(x, y), (x, x[::-1], 2 * y, x == x[0]), strict=True):
            assert found.flags.writeable
            np.testing.assert_array_equal(found, wanted)
    program = hlograph.Program.parse("func.func @main(%x: tensor<0xi4>) -> tensor<0xi4> { return %x : tensor<0xi4> }")
    assert program.compile(outputs="numpy")(np.empty(0, jnp.int4)).shape == (0,)


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        *(("i4", 8), ("ui4", -1), ("i2", 300), ("f8E8M0FNU", None)),
        *(("i8", 300), ("ui8", -1), ("i32", 2**31), ("i64", 2**63)),
    ],
)
def test_a_python_number_fits_or_is_refused(dtype, number):
    module = f"func.func @main(%x: tensor<{dtype}>) -> tensor<{dtype}> {{ return %x : tensor<{dtype}> }}"
    program = hlograph.Program.parse(module)
    for call in (program.compile(), program.compile(outputs="numpy"), program.interpret):
        if call != program.interpret:
            assert float(call(1)) == 1
        if number is not None:
            with pytest.raises(ArgumentTypeError, match=f"{number} does not fit"):
                call(number)


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x: x.astype(ml_dtypes.float6_e2m3fn).astype(x.dtype), "convert of f6E2M3FN"),
        (lambda x: lax.sort(x.astype(jnp.int2)), "sort of i2"),
        (lambda x: jnp.concatenate([x.astype(jnp.uint2)] * 2), "concatenate of ui2"),
    ],
)
def test_what_ends_the_process_in_xla_is_refused(function, op):
    try:
        jax.eval_shape(function, jax.ShapeDtypeStruct((3,), np.float32))
    except TypeError:
        pytest.skip("this JAX has no such type")
    with pytest.raises(CompileError, match=f"XLA has no stablehlo.{op} for cpu"):
        hlograph.jit(function, dims={"x": ("n",)})(np.ones(3, np.float32))
    program = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct((3,), np.float32))
    with pytest.raises(CompileError, match=f"XLA has no stablehlo.{op} for cpu"):
        program.compile(outputs="numpy")(np.ones(3, np.float32))


def test_a_buffer_of_another_size_than_its_type_is_no_result(monkeypatch):
    """XLA gives 8 booleans for the 64 bits of a number, whichever way results come."""
    bits = "stablehlo.bitcast_convert %x : (tensor<f64>) -> tensor<64xi1>"
    text = f"func.func @main(%x: tensor<f64>) -> tensor<64xi1> {{ %0 = {bits} return %0 : tensor<64xi1> }}"
    with pytest.raises(ArtifactError, match="bitcast_convert from f64 to i1"):
        hlograph.Program.parse(text)
    monkeypatch.delitem(checks._PROBLEMS, "stablehlo.bitcast_convert")
    for cpu in ("plain", "auto", "direct"):
        function = hlograph.Program.parse(text).compile(outputs="numpy", cpu=cpu)
        for _ in range(2):
            with pytest.raises(CompileError, match=r"shape \(8,\) for bool\[64\]"):
                function(np.float64(0.5))


F6 = {
    "constant": "%0 = stablehlo.constant dense<1.0> : tensor<2xf6E3M2FN>",
    "converts": "%0 = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xf6E3M2FN>",
    "reducer": """%i = stablehlo.constant dense<0.0> : tensor<f32>
      %r = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
        reducer(%a: tensor<f32>, %b: tensor<f32>) {
          %1 = stablehlo.convert %a : (tensor<f32>) -> tensor<f6E3M2FN>
          stablehlo.return %b : tensor<f32> }""",
    "tuple": "%0 = stablehlo.custom_call @f(%x) : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf6E3M2FN>>",
}


@pytest.mark.parametrize("place", [*F6, "argument"])
def test_elements_of_six_bits_are_refused_at_load(place):
    type_ = "tensor<2xf6E3M2FN>" if place == "argument" else "tensor<2xf32>"
    text = f"func.func @main(%x: {type_}) -> {type_} {{ {F6.get(place, '')} return %x : {type_} }}"
    with pytest.raises(ArtifactError, match="6-bit elements, on which XLA ends the process"):
        hlograph.Program.parse(text, trusted=place != "argument")
