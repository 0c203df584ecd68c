# RUN: %python %s | filecheck %s
"""Shapes: tensors that are made, joined, reshaped, and given back as they are."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.compile.ops import DeepCopyOp, TypeCastingOp, ViewOp
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.basic import AllocEmpty, ExtractDiag, Eye, MakeVector, scalar_from_tensor, tensor_from_scalar
from pytensor.tensor.extra_ops import cpu_contiguous
from pytensor.tensor.reshape import join_dims, split_dims
from pytensor.tensor.shape import Shape_i

# ---- Alloc, AllocEmpty: a value stretched to a shape; a tensor whose contents nobody may rely on
x = pt.dvector("x")
n = pt.lscalar("n")

# CHECK: Alloc.dynamic: dynamic_broadcast_in_dim<[1], 2x?xf64>(x, [2, size<0>(x)]) : tensor<2x?xf64>
show("Alloc.dynamic", [x], pt.alloc(x, 2, x.shape[0]), {"x": ("n",)})

# CHECK: AllocEmpty.dynamic: constraints: n >= 0, size 0 of AllocEmpty at an unnamed AllocEmpty node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[], ?x3xf32>(0, [n, 3]) : tensor<?x3xf32>
show("AllocEmpty.dynamic", [n], AllocEmpty("float32")(n, 3))

# ---- ARange: `numpy.arange`; a short constant one is a constant, integer ends may be sizes or arguments
# CHECK: ARange.dynamic: dynamic_iota<0, ?xi64>(size<0>(x)) : tensor<?xi64>
show("ARange.dynamic", [x], pt.arange(x.shape[0]), {"x": ("n",)})

# ---- sizes from data -----------------------------------------------------------------------------------------------
w = pt.dvector("w")

# CHECK: ARange.dynamic.computed: counts: arange_0
# CHECK: d = @hlograph.size(maximum(c#1, 0)) {hlograph.dim = "arange_0"} : tensor<i64>
# CHECK-NEXT: return dynamic_iota<0, ?xi64>(d) : tensor<?xi64>
show("ARange.dynamic.computed", [w], pt.arange(pt.argmax(w)), {"w": (8,)})

# ---- DimShuffle: drops axes of size 1, permutes, inserts axes of size 1
x = pt.dmatrix("x")
row = pt.drow("row")

# CHECK: DimShuffle.dynamic: transpose<[1, 0]>(x) : tensor<4x?xf64>
show("DimShuffle.dynamic", [x], x.T, {"x": ("n", 4)})
# CHECK: DimShuffle.dynamic.insert: dynamic_reshape<4x1x?xf64>(transpose<[1, 0]>(x), [4, 1, size<0>(x)]) : tensor<4x1x?xf64>
show("DimShuffle.dynamic.insert", [x], x.dimshuffle(1, "x", 0), {"x": ("n", 4)})
# CHECK: DimShuffle.dynamic.drop: dynamic_reshape<?xf64>(row, size<1>(row)) : tensor<?xf64>
show("DimShuffle.dynamic.drop", [row], row.dimshuffle(1), {"row": (1, "n")})

# ---- Eye, Tri, ExtractDiag, AllocDiag: diagonals and triangles


def _make_tri(self, n, m, k):
    return Apply(self, [pt.as_tensor(each) for each in (n, m, k)], [pt.dmatrix()])


v = pt.dvector("v")

# CHECK: Eye.dynamic: constraints: n >= 0, size 0 of Eye at an unnamed Eye node
# CHECK-NEXT: return convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x4xi64>([n, 4]), dynamic_iota<1, ?x4xi64>([n, 4])))) : tensor<?x4xf64>
show("Eye.dynamic", [n], Eye("float64")(n, 4, 0))

# An op before PyTensor, where it is a graph.
tri = of_another_release(Op, "Tri", make_node=_make_tri, perform=None)()

# CHECK: Tri.dynamic: constraints: n >= 0, size 0 of Tri at an unnamed Tri node
# CHECK-NEXT: return convert<f64>(convert<i8>(GE(dynamic_iota<0, ?x4xi64>([n, 4]), dynamic_iota<1, ?x4xi64>([n, 4])))) : tensor<?x4xf64>
show("Tri.dynamic", [n], tri(n, 4, 0))

# CHECK: ExtractDiag.dynamic: a = dynamic_reshape<?x1xi64>(dynamic_iota<0, ?xi64>(minimum(size<0>(x), 4)), concatenate<0>(minimum(size<0>(x), 4), 1)) : tensor<?x1xi64>
# CHECK-NEXT: return dynamic_gather(x, concatenate<1>(a, a), concatenate<0>(minimum(size<0>(x), 1), 1)) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
show("ExtractDiag.dynamic", [x], ExtractDiag()(x), {"x": ("n", 4)})
# CHECK: AllocDiag.dynamic: select(EQ(dynamic_iota<0, ?x?xi64>([size<0>(v), size<0>(v)]), dynamic_iota<1, ?x?xi64>([size<0>(v), size<0>(v)])), dynamic_broadcast_in_dim<[0], ?x?xf64>(v, [size<0>(v), size<0>(v)]), 0) : tensor<?x?xf64>
show("AllocDiag.dynamic", [v], pt.diag(v), {"v": ("n",)})

# ---- Ops that give their operand back: copies, views, and statements about types


def _make_node(self, x):
    return Apply(self, [x], [x.type()])


x = pt.dvector("x")
rebroadcast = of_another_release(Op, "Rebroadcast", make_node=_make_node, perform=None)()
unbroadcast = of_another_release(Op, "Unbroadcast", make_node=_make_node, perform=None)()
casting = of_another_release(TypeCastingOp, "Casting", make_node=_make_node, __props__=())()

# CHECK: DeepCopyOp.dynamic: exponential(x) : tensor<?xf64>
show("DeepCopyOp.dynamic", [x], pt.exp(DeepCopyOp()(x)), {"x": ("n",)})
# CHECK: ViewOp.dynamic: exponential(x) : tensor<?xf64>
show("ViewOp.dynamic", [x], pt.exp(ViewOp()(x)), {"x": ("n",)})
# CHECK: TypeCastingOp.dynamic: exponential(x) : tensor<?xf64>
show("TypeCastingOp.dynamic", [x], pt.exp(casting(x)), {"x": ("n",)})
# CHECK: CpuContiguous.dynamic: exponential(x) : tensor<?xf64>
show("CpuContiguous.dynamic", [x], pt.exp(cpu_contiguous(x)), {"x": ("n",)})
# CHECK: Rebroadcast.dynamic: exponential(x) : tensor<?xf64>
show("Rebroadcast.dynamic", [x], pt.exp(rebroadcast(x)), {"x": ("n",)})
# CHECK: Unbroadcast.dynamic: exponential(x) : tensor<?xf64>
show("Unbroadcast.dynamic", [x], pt.exp(unbroadcast(x)), {"x": ("n",)})

# ---- JoinDims, SplitDims: neighbouring axes merged into one, one axis split into several
x = pt.dtensor3("x")

# CHECK: JoinDims.dynamic: dynamic_reshape<?x4xf64>(x, concatenate<0>(multiply(size<0>(x), 3), 4)) : tensor<?x4xf64>
show("JoinDims.dynamic", [x], join_dims(x, 0, 2), {"x": ("n", 3, 4)})

# CHECK: SplitDims.dynamic: constraints: n % 2 == 0, the size given as -1 of SplitDims at an unnamed SplitDims node
# CHECK-NEXT: return dynamic_reshape<?x2x3x4xf64>(x, concatenate<0>(divide(size<0>(x), 2), 2, 3, 4)) : tensor<?x2x3x4xf64>
show("SplitDims.dynamic", [x], split_dims(x, (-1, 2), 0), {"x": ("n", 3, 4)})

# ---- Join, Split: tensors one after the other along an axis, and an axis cut into pieces
x, y = pt.dmatrix("x"), pt.dmatrix("y")

# CHECK: Join.dynamic: concatenate<0>(x, y) : tensor<?x4xf64>
show("Join.dynamic", [x, y], pt.join(0, x, y), {"x": ("n", 4), "y": ("m", 4)})

# CHECK: Split.dynamic: constraints: n - 1 >= 0, size 0 of Split at an unnamed Split node
# CHECK-NEXT: a = add(size<0>(x), -1) : tensor<i64>
# CHECK-NEXT: return real_dynamic_slice(x, 0, concatenate<0>(a, 4), 1), dynamic_slice<[1, 4]>(x, a, 0) : tensor<?x4xf64>, tensor<1x4xf64>
show("Split.dynamic", [x], pt.split(x, pt.stack([x.shape[0] - 1, 1]), n_splits=2), {"x": ("n", 4)})

# ---- MakeVector, TensorFromScalar, ScalarFromTensor: scalars and short vectors
k = pt.lscalar("k")

# Sizes make a shape, which the Alloc takes as it is.
# CHECK: MakeVector.dynamic: dynamic_broadcast_in_dim<[], ?x2xf64>(1, [size<0>(v), 2]) : tensor<?x2xf64>
show("MakeVector.dynamic", [v], pt.ones(MakeVector("int64")(v.shape[0], 2)), {"v": ("n",)})

# A scalar and a tensor without axes are the same here.
# CHECK: ScalarFromTensor.dynamic: constraints: k >= 0, size 0 of Alloc at an unnamed Alloc node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[], ?xf64>(0, k) : tensor<?xf64>
show("ScalarFromTensor.dynamic", [k], pt.zeros(tensor_from_scalar(scalar_from_tensor(k))))
# CHECK: TensorFromScalar.dynamic: add(reduce<[0], add>(v, 0), v) : tensor<?xf64>
show("TensorFromScalar.dynamic", [v], tensor_from_scalar(scalar_from_tensor(v.sum())) + v, {"v": ("n",)})

# ---- Reshape: the same elements in another shape; one size may be -1
# CHECK: Reshape.dynamic: dynamic_reshape<4x?xf64>(x, [4, size<0>(x)]) : tensor<4x?xf64>
show("Reshape.dynamic", [x], x.reshape((x.shape[1], x.shape[0])), {"x": ("n", 4)})
# CHECK: Reshape.dynamic.inferred: dynamic_reshape<?xf64>(x, multiply(size<0>(x), 4)) : tensor<?xf64>
show("Reshape.dynamic.inferred", [x], x.reshape((-1,)), {"x": ("n", 4)})

# ---- Shape, Shape_i: sizes as integers of the program
# CHECK: Shape.dynamic: [size<0>(x), 4] : tensor<2xi64>
show("Shape.dynamic", [x], x.shape, {"x": ("n", 4)})
# CHECK: Shape_i.dynamic: size<0>(x) : tensor<i64>
show("Shape_i.dynamic", [x], Shape_i(0)(x), {"x": ("n", 4)})

# ---- SpecifyShape: a demand that becomes a constraint of the signature, and no op of its own
# CHECK: SpecifyShape.dynamic: constraints: 3 == rows, SpecifyShape: axis 0 at an unnamed SpecifyShape node, shape
# CHECK-NEXT: return exponential(reshape<3x4xf64>(x)) : tensor<3x4xf64>
show("SpecifyShape.dynamic", [x], pt.exp(pt.specify_shape(x, (3, None))), {"x": ("rows", 4)})
