# RUN: %python %s | filecheck %s
"""What becomes of an op in a padded module, as terms: n is at most 8, m at most 4; conversions of sizes are left out.

A line begins with the op, which is checked to be in the module, and goes on with the first line of main.
"""

import re

import jax
import numpy as np
from builds import build
from common import lines_of
from jax import lax

import hlograph
from hlograph import builder as hlo
from hlograph.builder import BOOL, INT32, INT64

jax.config.update("jax_enable_x64", True)
F64 = np.dtype(np.float64)
vector, rows, columns, square = ("float64", "n"), ("float64", "n", 3), ("float64", 3, "n"), ("float64", "n", "n")
wide, integers = ("float64", "n", "m"), ("int64", 3)


def show(op, arguments, body):
    """Prints the padded main function of a body on arguments x, y, z."""
    show_padded(op, build(dict(zip("xyz", arguments, strict=False)), body))


def show_jax(op, function, *shapes):
    """The same of a JAX function on float64 arrays."""
    specs = [jax.ShapeDtypeStruct(shape, "float64") for shape in shapes]
    show_padded(op, hlograph.emit_stablehlo(function, *specs, constraints=["n >= 2"]))


def show_padded(op, program):
    if ("call @inner" if op == "func.call" else op) not in program.text:
        raise SystemExit(f"{op} is not in the module\n{program.text}")
    sizes = {root.name for root in program.signature.roots}
    lines = list(lines_of(program.pad({name: bound for name, bound in (("n", 8), ("m", 4)) if name in sizes})))
    last = next((number for number, line in enumerate(lines) if line.startswith("@")), len(lines))
    text = "\n".join(line.strip() for line in lines[:last] if not re.search("JAX's symbolic|constraints=", line))
    for _ in range(2):
        text = re.sub(r"convert<i\d+>\(([nm])\)", r"\1", text)
    print(f"{op}: {text}")


def zero(x):
    return x.builder.constant(np.zeros((), x.dtype))


def total(x):
    return hlo.reduce_monoid(x, range(x.ndim), "add")


# ---- sizes, order and place ----

# A size that is data is the live size; a constant stays.
# CHECK: stablehlo.get_dimension_size: return n : tensor<i64>
show("stablehlo.get_dimension_size", [vector], lambda x: x.builder.size(x.dims[0]))
# CHECK: stablehlo.constant: return [1, 2], x : tensor<2xf64>, tensor<8xf64>
show("stablehlo.constant", [vector], lambda x: [x.builder.constant(np.array([1.0, 2.0])), x])
# CHECK: stablehlo.optimization_barrier: return optimization_barrier(x) : tensor<8xf64>
show_jax("stablehlo.optimization_barrier", lambda x: lax.optimization_barrier(x), ("n",))

# CHECK: stablehlo.broadcast_in_dim: return broadcast_in_dim<[0], 4x2xf64>(x) : tensor<4x2xf64>
show("stablehlo.broadcast_in_dim", [("float64", 4), vector], lambda x, _: hlo.broadcast_in_dim(x, (4, 2), [0]))
# CHECK: stablehlo.dynamic_broadcast_in_dim: return broadcast_in_dim<[0], 8x8xf64>(x) : tensor<8x8xf64>
show("stablehlo.dynamic_broadcast_in_dim", [vector], lambda x: hlo.broadcast_in_dim(x, (*x.dims, *x.dims), [0]))
# CHECK: stablehlo.transpose: return transpose<[1, 0]>(x) : tensor<3x8xf64>
show("stablehlo.transpose", [rows], lambda x: hlo.transpose(x, [1, 0]))
# CHECK: stablehlo.iota: return iota<0, 4x2xi64>(), x : tensor<4x2xi64>, tensor<8x3xf64>
show("stablehlo.iota", [rows], lambda x: [hlo.iota(x.builder, (4, 2), 0, INT64), x])
# CHECK: stablehlo.dynamic_iota: return iota<0, 8x2xi64>() : tensor<8x2xi64>
show("stablehlo.dynamic_iota", [vector], lambda x: hlo.iota(x.builder, (*x.dims, 2), 0, INT64))

# The major axis of what is merged or split costs nothing; a minor one moves the elements together by a gather.
# CHECK: stablehlo.dynamic_reshape: return reshape<24xf64>(x) : tensor<24xf64>
show("stablehlo.dynamic_reshape", [rows], lambda x: hlo.reshape(x, (3 * x.dims[0],)))
# CHECK: stablehlo.reshape: return reshape<6xf64>(x) : tensor<6xf64>
show("stablehlo.reshape", [("float64", 2, 3), vector], lambda x, _: hlo.reshape(x, (6,)))
# CHECK: stablehlo.dynamic_reshape: a = multiply(iota<0, 24xi32>(), 1) : tensor<24xi32>
# CHECK-NEXT: return gather(reshape<24xf64>(x), clamp(0, add(multiply(remainder(a, convert<i32>(maximum(n, 1))), 1), multiply(divide(a, convert<i32>(maximum(n, 1))), 8)), 23)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<24xf64>
show("stablehlo.dynamic_reshape", [columns], lambda x: hlo.reshape(x, (3 * x.dims[1],)))

# Reversed along the padded axis the live elements are at the end: a window brings them to the front.
# CHECK: stablehlo.reverse: a = pad(reverse<[0]>(x), 0) {edge_padding_high = [8], edge_padding_low = [0], interior_padding = [0]} : tensor<16xf64>
# CHECK-NEXT: return dynamic_slice<[8]>(a, clamp(0, add(multiply(n, -1), 8), 8)) : tensor<8xf64>
show("stablehlo.reverse", [vector], lambda x: hlo.reverse(x, [0]))

# Parts lie behind one another as they are, and each but the first is written again behind the live elements before it.
# CHECK: stablehlo.concatenate: return dynamic_update_slice(concatenate<0>(x, x), x, n) : tensor<16xf64>
show("stablehlo.concatenate", [vector], lambda x: hlo.concatenate([x, x], 0))
# CHECK: stablehlo.concatenate: return concatenate<0>(x, y) : tensor<10xf64>
show("stablehlo.concatenate", [("float64", 2), vector], lambda x, y: hlo.concatenate([x, y], 0))

# A static beginning needs no window; one at a live place does, and nothing is moved by clamping.
# CHECK: stablehlo.slice: return slice<0:2:1>(x) : tensor<2xf64>
show("stablehlo.slice", [("float64", "n + 2"), vector], lambda x, _: hlo.slice(x, [0], [2]))
# CHECK: stablehlo.real_dynamic_slice: return slice<1:9:1>(x) : tensor<8xf64>
show("stablehlo.real_dynamic_slice", [("float64", "n + 2"), vector], lambda x, y: hlo.slice(x, [1], [y.dims[0] + 1]))

# The padding is the pad value already where that is 0; else it is filled first.
# CHECK: stablehlo.pad: return pad(x, 0) {edge_padding_high = [2], edge_padding_low = [1], interior_padding = [0]} : tensor<11xf64>
show("stablehlo.pad", [vector], lambda x: hlo.pad(x, zero(x), [1], [2]))
# CHECK: stablehlo.pad: return pad(select(LT(iota<0, 8xi32>(), n), x, 1), 1) {edge_padding_high = [2], edge_padding_low = [1], interior_padding = [0]} : tensor<11xf64>
show("stablehlo.pad", [vector], lambda x: hlo.pad(x, x.builder.constant(1.0), [1], [2]))
# CHECK: stablehlo.dynamic_pad: return pad(dynamic_update_slice(broadcast_in_dim<[], 24xf64>(0), x, n), 0) {edge_padding_high = [-8], edge_padding_low = [0], interior_padding = [0]} : tensor<16xf64>
show("stablehlo.dynamic_pad", [vector], lambda x: hlo.pad(x, zero(x), [x.dims[0]], [0]))

# ---- places ----

# Places clamp, or are dropped, at the live size.
# CHECK: stablehlo.dynamic_slice: constraints: n >= 2, the size of a slice at stablehlo.dynamic_slice (-)
# CHECK-NEXT: return dynamic_slice<[2]>(x, clamp(0, y, add(n, -2))) : tensor<2xf64>
show("stablehlo.dynamic_slice", [vector, ("int64",)], lambda x, i: hlo.dynamic_slice(x, [i], (2,)))
# CHECK: stablehlo.dynamic_update_slice: constraints: n >= 2, the size of an update at stablehlo.dynamic_update_slice (-)
# CHECK-NEXT: return dynamic_update_slice(x, y, clamp(0, z, add(n, -2))) : tensor<8xf64>
show(
    "stablehlo.dynamic_update_slice",
    [vector, ("float64", 2), ("int64",)],
    lambda x, y, i: hlo.dynamic_update_slice(x, y, [i]),
)
# CHECK: stablehlo.gather: return gather(x, clamp(0, y, maximum(add(n, -1), 0))) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<3xf64>
show("stablehlo.gather", [vector, integers], lambda x, i: hlo.take(x, i, 0))
# CHECK: stablehlo.dynamic_gather: return gather(x, y) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 8]} : tensor<3x8xf64>
show("stablehlo.dynamic_gather", [("float64", 4, "n"), integers], lambda x, i: hlo.take(x, i, 0))
# Indices that are an arithmetic sequence of sizes are a window, backwards here.
# CHECK: stablehlo.gather: a = pad(reverse<[0]>(x), 0) {edge_padding_high = [6, 0], edge_padding_low = [0, 0], interior_padding = [0, 0]} : tensor<14x2xf64>
# CHECK-NEXT: return dynamic_slice<[8, 2]>(a,
show_jax("stablehlo.gather", lambda x: x[::-1], ("n", 2))

# Updates of padded indices go to where nothing is.
# CHECK: stablehlo.scatter: return scatter(x, select(not(LT(iota<0, 8xi32>(), n)), -9223372036854775808, y), z) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<4xf64>
show("stablehlo.scatter", [("float64", 4), ("int64", "n"), vector], lambda x, i, y: hlo.put(x, i, y, 0, "add"))


# A window that begins at 0 covers what is live of it; what its padding was written over is put back.
def beginnings(x, i, y):
    numbers = {"update_window_dims": [0], "inserted_window_dims": [1], "scatter_dims_to_operand_dims": [1]}
    return hlo.scatter(x, i, y, "set", index_vector_dim=1, **numbers)


# CHECK: stablehlo.scatter: a = scatter(x, y, z) {indices_are_sorted = false, update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1, unique_indices = false, (p0, p1) -> p1} : tensor<9x5xf64>
# CHECK-NEXT: return select(broadcast_in_dim<[0], 9x5xi1>(LT(iota<0, 9xi32>(), n)), a, x) : tensor<9x5xf64>
show("stablehlo.scatter", [("float64", 9, 5), ("int64", 2, 1), ("float64", "n", 2)], beginnings)

# ---- order ----


def by_size(x):
    return hlo.sort([x], 0, lambda a, b: hlo.compare("LT", hlo.abs(a), hlo.abs(b)))[0]


# Integers in order: the padding holds the greatest. An order that is not known gets a leading key.
# CHECK: stablehlo.sort: return sort(select(LT(iota<0, 8xi32>(), n), x, 2147483647)) {dimension = 0, is_stable = true, LT} : tensor<8xi32>
show("stablehlo.sort", [("int32", "n")], lambda x: hlo.sort([x], 0, lambda a, b: hlo.compare("LT", a, b))[0])
# CHECK: stablehlo.sort: a:2 = sort(convert<i32>(not(LT(iota<0, 8xi32>(), n))), x) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> select(EQ(p0, p1), LT(abs(p2), abs(p3)), LT(p0, p1))} : tensor<8xi32>, tensor<8xf64>
# CHECK-NEXT: return a#1 : tensor<8xf64>
show("stablehlo.sort", [vector], by_size)

# A reduction's body that is no monoid gets a flag of what is live.
# CHECK: stablehlo.reduce: a:2 = reduce<[0], ["n"], (p0, p1, p2, p3) -> (select(and(p1, p3), add(p0, multiply(p2, p2)), select(p1, p0, p2)), or(p1, p3))>(x, LT(iota<0, 8xi32>(), n), 0, false) : tensor<f64>, tensor<i1>
# CHECK-NEXT: return select(a#1, map<[], (p0, p1) -> add(p0, multiply(p1, p1))>(0, a#0), 0) : tensor<f64>
show_jax("stablehlo.reduce", lambda x: lax.reduce(x, 0.0, lambda a, b: a + b * b, (0,)), ("n",))

# ---- windows and transforms ----


def pooled(x, s):
    return jax.vjp(lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), "VALID"), x)[1](s)[0]


def convolved(x, k, stride=1, padding=((1, 1),)):
    return lax.conv_general_dilated(x, k, (stride,), padding, dimension_numbers=("NWC", "WIO", "NWC"))


# Rows of a batch do not meet.
# CHECK: stablehlo.select_and_scatter: return select_and_scatter<[1, 2], [1, 2], GE, add>(x, s, 0) : tensor<8x4xf64>
show_jax("stablehlo.select_and_scatter", pooled, ("n", 4), ("n", 2))

# Zeros beside the data are what the op pads with. A kernel of unknown length is met by patches instead.
# CHECK: stablehlo.convolution: return convolution<1, [b, 0, f]x[0, i, o]-[b, 0, f]>, 1, 1>(x, k) : tensor<1x8x1xf64>
show_jax("stablehlo.convolution", convolved, (1, "n", 1), (3, 1, 1))
# CHECK: stablehlo.convolution: a = n : tensor<i64>
# CHECK: c = gather(transpose<[0, 2, 1]>(x), clamp(0, divide(b, 1), 7)) {offset_dims = [0, 1], collapsed_slice_dims = [2], start_index_map = [2], index_vector_dim = 2, indices_are_sorted = false, slice_sizes = [1, 1, 1]} : tensor<1x1x3x8xf64>
# CHECK-NEXT: return dot_general<[1, 3], [1, 0]>(select(broadcast_in_dim<[2, 3], 1x1x3x8xi1>(and(and(and(LT(b, a), GE(b, 0)), EQ(remainder(b, 1), 0)), broadcast_in_dim<[1], 3x8xi1>(LT(iota<0, 8xi32>(), convert<i32>(a))))), c, 0), k) : tensor<1x3x1xf64>
show_jax("stablehlo.convolution", convolved, (1, "n", 1), ("n", 1, 1))
# The op's own padding is a size: by patches.
# CHECK: stablehlo.dynamic_conv: a = n : tensor<i64>
# CHECK-NEXT: b = subtract(add(multiply(iota<0, 4x3xi64>(), 2), multiply(iota<1, 4x3xi64>(), 1)), add(divide(add(a, 1), 2), multiply(divide(a, 2), -1))) : tensor<4x3xi64>
# CHECK: return dot_general<[1, 3], [1, 0]>(select(broadcast_in_dim<[2, 3], 1x1x4x3xi1>(and(and(LT(b, a), GE(b, 0)), EQ(remainder(b, 1), 0))), c, 0), k) : tensor<1x4x1xf64>
show_jax("stablehlo.dynamic_conv", lambda x, k: convolved(x, k, 2, "SAME"), (1, "n", 1), (3, 1, 1))

# A running sum: the window over all of the axis is as long as the bound. Its padding is 0 as it is.
# CHECK: stablehlo.dynamic_reduce_window: return reduce_window(x, 0) {base_dilations = [1], padding = [7, 0], window_dilations = [1], window_dimensions = [8], window_strides = [1], add} : tensor<8xf64>
show("stablehlo.dynamic_reduce_window", [vector], lambda x: hlo.cumulative(x, 0, "add"))
# CHECK: stablehlo.reduce_window: return reduce_window(select(broadcast_in_dim<[1], 4x8xi1>(LT(iota<0, 8xi32>(), n)), x, -inf), -inf) {base_dilations = [1, 1], padding = [3, 0; 0, 0], window_dilations = [1, 1], window_dimensions = [4, 1], window_strides = [1, 1], maximum} : tensor<4x8xf64>
show("stablehlo.reduce_window", [("float64", 4, "n")], lambda x: hlo.cumulative(x, 0, "maximum"))

# Transforms of rows; along a padded axis they are a chirp of as many elements as are live, by ones of a known length.
# CHECK: stablehlo.fft: return fft(x) {fft_length = [4], fft_type = FFT} : tensor<8x4xcomplex<f64>>
show("stablehlo.fft", [("complex128", "n", 4)], lambda x: hlo.fft(x, "FFT", (4,)))
# CHECK: hlograph.fft: a = n : tensor<i64>
# CHECK: k = pad(multiply(select(LT(iota<0, 8xi32>(), convert<i32>(a)), x, (0.000000e+00,0.000000e+00)), f), (0.000000e+00,0.000000e+00)) {edge_padding_high = [8], edge_padding_low = [0], interior_padding = [0]} : tensor<16xcomplex<f64>>
# CHECK-NEXT: l = fft(k) {fft_length = [16], fft_type = FFT} : tensor<16xcomplex<f64>>
# CHECK-NEXT: m = fft(multiply(l, j)) {fft_length = [16], fft_type = IFFT} : tensor<16xcomplex<f64>>
# CHECK-NEXT: return multiply(slice<0:8:1>(m), f) : tensor<8xcomplex<f64>>
show("hlograph.fft", [("complex128", "n")], lambda x: hlo.fft(x, "FFT", x.dims))

# ---- matrices ----

# 1 on the diagonal of the padding. Right-hand sides are 0 there already.
# CHECK: stablehlo.cholesky: a = LT(iota<0, 8xi32>(), n) : tensor<8xi1>
# CHECK-NEXT: return select(GE(iota<0, 8x8xi64>(), iota<1, 8x8xi64>()), cholesky<lower>(select(and(broadcast_in_dim<[0], 8x8xi1>(a), broadcast_in_dim<[1], 8x8xi1>(a)), x, convert<f64>(convert<i8>(EQ(iota<0, 8x8xi32>(), iota<1, 8x8xi32>()))))), 0) : tensor<8x8xf64>
show("stablehlo.cholesky", [square], hlo.cholesky)
# CHECK: stablehlo.triangular_solve: a = LT(iota<0, 8xi32>(), n) : tensor<8xi1>
# CHECK-NEXT: return triangular_solve<left, lower>(select(and(broadcast_in_dim<[0], 8x8xi1>(a), broadcast_in_dim<[1], 8x8xi1>(a)), x, convert<f64>(convert<i8>(EQ(iota<0, 8x8xi32>(), iota<1, 8x8xi32>())))), y) : tensor<8x2xf64>
show("stablehlo.triangular_solve", [square, ("float64", "n", 2)], lambda a, b: hlo.triangular_solve(a, b, lower=True))
# CHECK: lu: a = LT(iota<0, 8xi32>(), n) : tensor<8xi1>
# CHECK-NEXT: return @lu_float64(select(and(broadcast_in_dim<[0], 8x8xi1>(a), broadcast_in_dim<[1], 8x8xi1>(a)), x, convert<f64>(convert<i8>(EQ(iota<0, 8x8xi32>(), iota<1, 8x8xi32>())))))#1 : tensor<8xi32>
show("lu", [square], lambda a: hlo.lu(a)[1])
# CHECK: lu_factor: a = LT(iota<0, 8xi32>(), n) : tensor<8xi1>
# CHECK-NEXT: return @lu_factor_float64(select(and(broadcast_in_dim<[0], 8x8xi1>(a), broadcast_in_dim<[1], 8x8xi1>(a)), x, convert<f64>(convert<i8>(EQ(iota<0, 8x8xi32>(), iota<1, 8x8xi32>())))))#1 : tensor<8xi32>
show("lu_factor", [square], lambda a: hlo.lu_factor(a)[1])

# 0 in the padding, as arguments have it: the reflections are those of the live block.
# CHECK: householder_qr: return @householder_qr_float64(x)#1 : tensor<4xf64>
show("householder_qr", [wide], lambda a: hlo.householder_qr(a)[1])
# CHECK: pivoted_qr: return @pivoted_qr_float64(x)#2 : tensor<4xi32>
show("pivoted_qr", [wide], lambda a: hlo.pivoted_qr(a)[2])
# CHECK: householder_product: a = n : tensor<i64>
# CHECK-NEXT: b = iota<0, 4xi32>() : tensor<4xi32>
# CHECK-NEXT: c = m : tensor<i64>
# CHECK-NEXT: d:2 = @householder_qr_float64(x) : tensor<8x4xf64>, tensor<4xf64>
# CHECK-NEXT: return @householder_product_float64(select(and(broadcast_in_dim<[0], 8x4xi1>(LT(iota<0, 8xi32>(), convert<i32>(a))), broadcast_in_dim<[1], 8x4xi1>(LT(b, convert<i32>(c)))), d#0, 0), select(LT(b, convert<i32>(minimum(c, a))), d#1, 0)) : tensor<8x4xf64>
show("householder_product", [wide], lambda a: hlo.householder_product(*hlo.householder_qr(a)))

# Twice a bound of the eigenvalues on the padding's diagonal.
# CHECK: eigh: a = LT(iota<0, 8xi32>(), n) : tensor<8xi1>
# CHECK-NEXT: b = iota<0, 8x8xi64>() : tensor<8x8xi64>
# CHECK-NEXT: c = iota<1, 8x8xi64>() : tensor<8x8xi64>
# CHECK-NEXT: d = abs(select(GE(b, c), x, 0)) : tensor<8x8xf64>
# CHECK-NEXT: e = reduce<[0], maximum>(add(reduce<[1], add>(d, 0), reduce<[0], add>(d, 0)), -inf) : tensor<f64>
# CHECK-NEXT: return @eigh_float64(select(and(EQ(b, c), not(and(broadcast_in_dim<[0], 8x8xi1>(a), broadcast_in_dim<[1], 8x8xi1>(a)))), select(EQ(e, 0), 1, add(e, e)), x))#1 : tensor<8xf64>
show("eigh", [square], lambda a: hlo.eigh(a)[1])

# Only batches of them are padded: the function keeps what it implements.
# CHECK: eig: return @eig_float64(x)#0 : tensor<8x4xcomplex<f64>>
show("eig", [("float64", "n", 4, 4)], lambda a: hlo.eig(a)[0])
# CHECK: schur: return @schur_float64(x)#0 : tensor<8x4x4xf64>
show("schur", [("float64", "n", 4, 4)], lambda a: hlo.schur(a)[0])

# Singular vectors of zeros may lie in the padding: what is live of them is made orthonormal, or complete.
# CHECK: singular_values: return @singular_values_float64(x) : tensor<4xf64>
show("singular_values", [wide], hlo.singular_values)
# CHECK: svd: a = n : tensor<i64>
# CHECK-NEXT: b:2 = @householder_qr_float64(select(and(broadcast_in_dim<[0], 8x4xi1>(LT(iota<0, 8xi32>(), convert<i32>(a))), broadcast_in_dim<[1], 8x4xi1>(LT(iota<0, 4xi32>(), convert<i32>(minimum(m, a))))), @svd_float64(x)#0, 0)) : tensor<8x4xf64>, tensor<4xf64>
# CHECK-NEXT: return multiply(@householder_product_float64(b#0, b#1), broadcast_in_dim<[1], 8x4xf64>(select(LT(slice<0:4:1>(reduce<[1], add>(select(EQ(iota<0, 8x4xi64>(), iota<1, 8x4xi64>()), b#0, 0), 0)), 0), negate(1), 1))) : tensor<8x4xf64>
show("svd", [wide], lambda a: hlo.svd(a)[0])
# CHECK: svd_complete: a = n : tensor<i64>
# CHECK-NEXT: b:2 = @householder_qr_float64(select(and(broadcast_in_dim<[0], 8x4xi1>(LT(iota<0, 8xi32>(), convert<i32>(a))), broadcast_in_dim<[1], 8x4xi1>(LT(iota<0, 4xi32>(), convert<i32>(minimum(m, a))))), @svd_float64(x)#0, 0)) : tensor<8x4xf64>, tensor<4xf64>
# CHECK-NEXT: c = pad(b#0, 0) {edge_padding_high = [0, 4], edge_padding_low = [0, 0], interior_padding = [0, 0]} : tensor<8x8xf64>
# CHECK-NEXT: return multiply(@householder_product_float64(c, b#1), broadcast_in_dim<[1], 8x8xf64>(select(LT(reduce<[1], add>(select(EQ(iota<0, 8x4xi64>(), iota<1, 8x4xi64>()), b#0, 0), 0), 0), negate(1), 1))) : tensor<8x8xf64>
show("svd_complete", [wide], lambda a: hlo.svd(a, complete=True)[0])

# ---- control ----


def turns(x, step):
    """The sum of what n turns of a step make of x."""
    count = x.builder.size(x.dims[0])
    body = [x.builder.constant(0, INT64), x]
    turned = hlo.while_loop(body, lambda i, _: hlo.compare("LT", i, count), lambda i, y: [hlo.add(i, 1), step(y)])
    return total(turned[1])


# The carry's padding stays 0, so that the sum behind the loop needs no mask; exp makes 1 of it, and the sum is masked.
# CHECK: stablehlo.while: return reduce<[0], ["n"], add>(while<(p0, p1) -> LT(p0, n), (p0, p1) -> (add(p0, 1), tanh(p1))>(0, x)#1, 0) : tensor<f64>
show("stablehlo.while", [vector], lambda x: turns(x, hlo.tanh))
# CHECK: stablehlo.while: a = n : tensor<i64>
# CHECK-NEXT: return reduce<[0], ["n"], add>(select(LT(iota<0, 8xi32>(), convert<i32>(a)), while<(p0, p1) -> LT(p0, a), (p0, p1) -> (add(p0, 1), exponential(p1))>(0, x)#1, 0), 0) : tensor<f64>
show("stablehlo.while", [vector], lambda x: turns(x, hlo.exponential))

# Both branches leave zeros, and so does the result; one leaves ones.
# CHECK: stablehlo.if: return reduce<[0], ["n"], add>(if<() -> x, () -> tanh(x)>(y), 0) : tensor<f64>
show("stablehlo.if", [vector, (BOOL,)], lambda x, p: total(hlo.if_(p, lambda: [x], lambda: [hlo.tanh(x)])[0]))


def case(x, p):
    return total(hlo.case(p, [lambda: [x], lambda: [hlo.exponential(x)]])[0])


# CHECK: stablehlo.case: return reduce<[0], ["n"], add>(select(LT(iota<0, 8xi32>(), n), case<() -> x, () -> exponential(x)>(y), 0), 0) : tensor<f64>
show("stablehlo.case", [vector, (INT32,)], case)

# Functions are walked where they are called.
# CHECK: func.call: return exponential(x) : tensor<8xf64>
show("func.call", [vector], lambda x: hlo.call("inner", [x], lambda y: [hlo.exponential(y)])[0])
