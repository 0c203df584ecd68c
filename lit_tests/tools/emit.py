# A graph in a file becomes a module: named, with the dimensions that the command gives, and free of what the file prints.
#
# RUN: %hlograph emit %s:pair --dims 'x=n,3' --dims 'y=n,3' --name total 2> /dev/null | filecheck %s
# RUN: %hlograph emit %s:make --dims 'x=4,3' --dims 'y=4,3' 2> /dev/null | filecheck %s --check-prefix=STATIC
# RUN: %hlograph emit %s:pair --platform cuda --platform tpu 2> /dev/null | filecheck %s --check-prefix=PLATFORMS
# RUN: not %hlograph emit %s:pear 2>&1 | filecheck %s --check-prefix=UNKNOWN
import pytensor.tensor as pt

print("stablehlo.not_an_op")

x = pt.matrix("x", dtype="float64")
y = pt.matrix("y", dtype="float64")
total = x + y
total.name = "total"

# CHECK-NOT: not_an_op
# CHECK: module @total
# CHECK: func.func {{.*}}@main({{.*}}tensor<?x3xf64>{{.*}}hlograph.name = "x"{{.*}}tensor<?x3xf64>{{.*}}hlograph.name = "y"
# CHECK: stablehlo.add {{.*}}tensor<?x3xf64>
pair = ([x, y], [total])


# STATIC: func.func {{.*}}@main({{.*}}tensor<4x3xf64>{{.*}}tensor<4x3xf64>
# STATIC-NOT: dynamic_
# STATIC: stablehlo.add {{.*}}tensor<4x3xf64>
def make():
    return pair


# PLATFORMS: hlograph.platforms = ["cuda", "tpu"]
# UNKNOWN: hlograph: error: {{.*}}emit.py: there is no pear in this file; it has pair
