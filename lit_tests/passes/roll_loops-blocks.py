"""Repeated blocks become loops, or ops with a leading axis."""

# RUN: %python %s | filecheck %s

from hlograph import Program

ARGUMENTS = "%x: tensor<f32>, %v: tensor<4xf32>, %t: tensor<80xf32>, %m: tensor<4x4xf32>"


def show(
    name: str, lines: list[str], results: dict[str, str], *, options: str = "", arguments: str = ARGUMENTS
) -> None:
    """Prints a function of these lines, with the pass applied."""
    types = ", ".join(results.values())
    text = (
        f"module @{name} {{ func.func @main({arguments}) -> ({types}) {{\n"
        + "\n".join(lines)
        + f"\nreturn {', '.join(results)} : {types}\n}} }}"
    )
    print(Program.parse(text).run_passes([f"roll_loops{options}"]))


def dot(result: str, left: str) -> str:
    """A dot with the matrix: an op that makes a block worth a loop."""
    return f"{result} = stablehlo.dot_general {left}, %m, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>"


# A value passes from repetition to repetition: a loop of 40, whose last value is what the function returns.
# CHECK-LABEL: module @carried
# CHECK: %[[LOOP:.*]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %arg1) : tensor<i32>, tensor<4xf32>
# CHECK: stablehlo.compare LT
# CHECK: stablehlo.dot_general {{.*}} : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
# CHECK-NEXT: stablehlo.sine {{.*}} : tensor<4xf32>
# CHECK-NOT: stablehlo.dot_general
# CHECK: return %[[LOOP]]#1 : tensor<4xf32>
carried = []
for step in range(40):
    last = f"%s{step - 1}" if step else "%v"
    carried += [dot(f"%d{step}", last), f"%s{step} = stablehlo.sine %d{step} : tensor<4xf32>"]
show("carried", carried, {"%s39": "tensor<4xf32>"})


# What a step reads at its own place of an array is read by the counter; what does not depend on the loop is one op on
# all of the array, outside.
# CHECK-LABEL: module @indexed
# CHECK: stablehlo.slice %arg2 [10:50] : (tensor<80xf32>) -> tensor<40xf32>
# CHECK: %[[COSINE:.*]] = stablehlo.cosine %{{.*}} : tensor<40xf32>
# CHECK: stablehlo.while(
# CHECK-COUNT-8: stablehlo.sine
# CHECK: stablehlo.dynamic_slice %[[COSINE]], %{{.*}}, sizes = [1] : (tensor<40xf32>, tensor<i32>) -> tensor<1xf32>
indexed = []
for step in range(40):
    last = f"%y{step - 1}" if step else "%x"
    indexed += [
        f"%a{step} = stablehlo.slice %t [{10 + step}:{11 + step}] : (tensor<80xf32>) -> tensor<1xf32>",
        f"%b{step} = stablehlo.reshape %a{step} : (tensor<1xf32>) -> tensor<f32>",
        f"%c{step} = stablehlo.cosine %b{step} : tensor<f32>",
        *[f"%z{n}_{step} = stablehlo.sine {last if n == 0 else f'%z{n - 1}_{step}'} : tensor<f32>" for n in range(8)],
        f"%y{step} = stablehlo.multiply %z7_{step}, %c{step} : tensor<f32>",
    ]
show("indexed", indexed, {"%y39": "tensor<f32>"})


# Backwards, every second element: the array is turned around once.
# CHECK-LABEL: module @backwards
# CHECK: stablehlo.slice %arg2 [1:80:2] : (tensor<80xf32>) -> tensor<40xf32>
# CHECK: stablehlo.reverse %{{.*}}, dims = [0] : tensor<40
# CHECK-NOT: stablehlo.slice
backwards = list(indexed)
for step in range(40):
    backwards[12 * step] = (
        f"%a{step} = stablehlo.slice %t [{79 - 2 * step}:{80 - 2 * step}] : (tensor<80xf32>) -> tensor<1xf32>"
    )
show("backwards", backwards, {"%y39": "tensor<f32>"})


# Constants that differ become a table.
# CHECK-LABEL: module @table
# CHECK: %[[TABLE:.*]] = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 4.000000e+00,
# CHECK: %[[ROWS:.*]] = stablehlo.broadcast_in_dim %[[TABLE]], dims = [0] : (tensor<40xf32>) -> tensor<40x4xf32>
# CHECK: stablehlo.while(
# CHECK: stablehlo.dynamic_slice %[[ROWS]],
table = []
for step in range(40):
    last = f"%s{step - 1}" if step else "%v"
    table += [
        f"%k{step} = stablehlo.constant dense<{float(step * step)}> : tensor<f32>",
        f"%b{step} = stablehlo.broadcast_in_dim %k{step}, dims = [] : (tensor<f32>) -> tensor<4xf32>",
        dot(f"%d{step}", last),
        f"%s{step} = stablehlo.add %d{step}, %b{step} : tensor<4xf32>",
    ]
show("table", table, {"%s39": "tensor<4xf32>"})


# All results, joined: the loop's stack is what the concatenation was.
# CHECK-LABEL: module @stacked
# CHECK: %[[LOOP:.*]]:3 = stablehlo.while
# CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<40x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<40x4xf32>
# CHECK-NOT: stablehlo.concatenate
# CHECK: return %[[LOOP]]#1 : tensor<40x4xf32>
stacked = [*carried]
rows = [f"%r{step} = stablehlo.reshape %s{step} : (tensor<4xf32>) -> tensor<1x4xf32>" for step in range(40)]
names = ", ".join(f"%r{step}" for step in range(40))
types = ", ".join(["tensor<1x4xf32>"] * 40)
stacked += [*rows, f"%all = stablehlo.concatenate {names}, dim = 0 : ({types}) -> tensor<40x4xf32>"]
show("stacked", stacked, {"%all": "tensor<40x4xf32>"})


# A sum of pads that do not overlap: the repetitions' values side by side, in one pad.
# CHECK-LABEL: module @pads
# CHECK: stablehlo.while
# CHECK-NOT: stablehlo.pad {{.*}} : (tensor<1xf32>
# CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [5], high = [35], interior = [0] : (tensor<40xf32>, tensor<f32>) -> tensor<80xf32>
# CHECK-NEXT: stablehlo.add %arg2, %{{.*}} : tensor<80xf32>
pads = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
for step in range(40):
    last = f"%y{step - 1}" if step else "%x"
    pads += [
        *[f"%z{n}_{step} = stablehlo.sine {last if n == 0 else f'%z{n - 1}_{step}'} : tensor<f32>" for n in range(4)],
        f"%y{step} = stablehlo.multiply %z3_{step}, %x : tensor<f32>",
        f"%r{step} = stablehlo.reshape %y{step} : (tensor<f32>) -> tensor<1xf32>",
        f"%p{step} = stablehlo.pad %r{step}, %zero, low = [{5 + step}], high = [{74 - step}], interior = [0] : "
        "(tensor<1xf32>, tensor<f32>) -> tensor<80xf32>",
        f"%sum{step} = stablehlo.add {f'%sum{step - 1}' if step else '%t'}, %p{step} : tensor<80xf32>",
    ]
show("pads", pads, {"%sum39": "tensor<80xf32>"})


# A chain of updates stays a carry, at a place that the counter gives.
# CHECK-LABEL: module @updates
# CHECK: stablehlo.while
# CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<80xf32>, tensor<1xf32>, tensor<i64>) -> tensor<80xf32>
# CHECK-NOT: stablehlo.dynamic_update_slice
updates = []
for step in range(40):
    last = f"%y{step - 1}" if step else "%x"
    updates += [
        *[f"%z{n}_{step} = stablehlo.sine {last if n == 0 else f'%z{n - 1}_{step}'} : tensor<f32>" for n in range(4)],
        f"%y{step} = stablehlo.multiply %z3_{step}, %x : tensor<f32>",
        f"%r{step} = stablehlo.reshape %y{step} : (tensor<f32>) -> tensor<1xf32>",
        f"%k{step} = stablehlo.constant dense<{70 - step}> : tensor<i64>",
        f"%u{step} = stablehlo.dynamic_update_slice {f'%u{step - 1}' if step else '%t'}, %r{step}, %k{step} : "
        "(tensor<80xf32>, tensor<1xf32>, tensor<i64>) -> tensor<80xf32>",
    ]
show("updates", updates, {"%u39": "tensor<80xf32>"})


# Repetitions that do not depend on one another: no loop. Their sum is one reduce.
# CHECK-LABEL: module @independent
# CHECK-NOT: stablehlo.while
# CHECK: stablehlo.dot_general {{.*}} : (tensor<60xf32>, tensor<4xf32>) -> tensor<60x4xf32>
# CHECK: stablehlo.reduce({{.*}} applies stablehlo.add across dimensions = [0] : (tensor<60x4xf32>, tensor<f32>) -> tensor<4xf32>
independent = []
for step in range(60):
    independent += [
        f"%a{step} = stablehlo.slice %t [{step}:{step + 1}] : (tensor<80xf32>) -> tensor<1xf32>",
        f"%b{step} = stablehlo.reshape %a{step} : (tensor<1xf32>) -> tensor<f32>",
        f"%d{step} = stablehlo.dot_general %b{step}, %v, contracting_dims = [] x [] : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>",
        f"%s{step} = stablehlo.add {f'%s{step - 1}' if step else '%v'}, %d{step} : tensor<4xf32>",
    ]
show("independent", independent, {"%s59": "tensor<4xf32>"})

# The same, bit for bit: the sum is taken in order, in a loop, and so are the dots.
# CHECK-LABEL: module @in_order
# CHECK: stablehlo.while
# CHECK: stablehlo.dot_general {{.*}} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
# CHECK: stablehlo.add {{.*}} : tensor<4xf32>
show("in_order", independent, {"%s59": "tensor<4xf32>"}, options="{reassociate=false}")


# A second loop reads what the first one made, last to first.
# CHECK-LABEL: module @saved
# CHECK: %[[FIRST:.*]]:3 = stablehlo.while
# CHECK: stablehlo.while(
# CHECK: stablehlo.dynamic_slice %[[FIRST]]#1, %{{.*}}, %{{.*}}, sizes = [1, 4]
saved = [*carried, "%w = stablehlo.cosine %v : tensor<4xf32>"]
for step in range(40):
    last = f"%g{step - 1}" if step else "%w"
    saved += [dot(f"%e{step}", last), f"%g{step} = stablehlo.multiply %e{step}, %s{39 - step} : tensor<4xf32>"]
show("saved", saved, {"%g39": "tensor<4xf32>"})


# What was made two repetitions ago is carried on twice.
# CHECK-LABEL: module @two_ago
# CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %[[NEW:.*]] = %{{.*}}, %[[OLD:.*]] = %{{.*}}) : tensor<i32>
# CHECK: stablehlo.add %{{.*}}, %[[OLD]] : tensor<4xf32>
# CHECK: stablehlo.return %{{.*}}, %{{.*}}, %[[NEW]] :
two_ago = ["%s0 = stablehlo.sine %v : tensor<4xf32>", "%s1 = stablehlo.cosine %v : tensor<4xf32>"]
for step in range(2, 42):
    two_ago += [
        dot(f"%d{step}", f"%s{step - 1}"),
        f"%s{step} = stablehlo.add %d{step}, %s{step - 2} : tensor<4xf32>",
    ]
show("two_ago", two_ago, {"%s41": "tensor<4xf32>"})
