"""A block that is repeated becomes a loop; what does not pass from one repetition to the next is done for all at once.

What keeps a block as it is comes first, on stderr, in the order of the modules.
"""

# RUN: %python %s | %hlograph opt - --split-input-file --pass roll_loops --explain roll_loops 2>&1 | filecheck %s
# RUN: %python %s | %hlograph opt - --split-input-file --pass 'roll_loops{reassociate=false}' | filecheck %s --check-prefix=EXACT

V, ROW, T = "tensor<4xf32>", "tensor<1xf32>", "tensor<80xf32>"
PLAIN = f"%x: tensor<f32>, %v: {V}, %t: {T}, %m: tensor<4x4xf32>"
# Ops of a step: `{i}` is its number, `{last}` the value `%s` of the step before.
DOT = f"%d{{i}} = stablehlo.dot_general {{last}}, %m, contracting_dims = [0] x [0] : ({V}, tensor<4x4xf32>) -> {V}"
SINE = f"%s{{i}} = stablehlo.sine %d{{i}} : {V}"
# Twelve sines of a scalar, which make a block worth a loop.
SINES = ["%z{i}_0 = stablehlo.sine {last} : tensor<f32>"]
SINES += [f"%z{{i}}_{n} = stablehlo.sine %z{{i}}_{n - 1} : tensor<f32>" for n in range(1, 12)]
READ = [
    f"%a{{i}} = stablehlo.slice %t [{{at}}:{{end}}] : ({T}) -> {ROW}",
    f"%b{{i}} = stablehlo.reshape %a{{i}} : ({ROW}) -> tensor<f32>",
]


def repeated(steps: int, *ops: str, start: str = "%v", first: int = 0, place=lambda i: 0) -> list[str]:
    """The steps' ops, one behind the other."""
    lines = []
    for i in range(first, steps):
        known = {
            "i": i,
            "last": f"%s{i - 1}" if i > first else start,
            "at": place(i),
            "end": place(i) + 1,
            "high": 79 - place(i),
        }
        lines += [op.format(**known) for op in ops]
    return lines


def show(name: str, lines: list[str], result: str, kind: str = V, arguments: str = PLAIN, functions: str = "") -> None:
    """Prints a function of these lines."""
    body = "\n".join(lines)
    print(
        f"module @{name} {{ func.func @main({arguments}) -> {kind} {{\n{body}\nreturn {result} : {kind}\n}} {functions} }}"
    )
    print("// -----")


# ---- what stays ------------------------------------------------------------------------------------------------------

# CHECK: a block of 2 ops is repeated 7 times from here; a loop needs at least 8
show("few", repeated(7, DOT, SINE), "%s6")

# CHECK: a block of 2 ops is repeated 10 times from here, which compiles faster than a loop would (153 units of cost go, 4{{[0-9]+}} come
show("cheap", repeated(10, DOT, SINE), "%s9")

# CHECK: a block of 1 op is repeated 10 times from here; a loop would take 9 ops away, too few to pay
show("small", repeated(10, f"%s{{i}} = stablehlo.sine {{last}} : {V}"), "%s9")

# Of what each repetition reads, one value is from another repetition back each time.
# CHECK: a block of 3 ops is repeated {{[0-9]+}} times from here by name and type, but the ops do not read the same things
OTHER = f"%a{{i}} = stablehlo.add %d{{i}}, %o{{i}} : {V}"
unequal = repeated(40, DOT, OTHER, SINE.replace("%d", "%a"))
unequal = [line.replace("%o", "%s").replace(f"%s{i // 3} :", f"%s{i // 3 - 1 - 7 * (i // 3) % 5} :" if i > 17 else "%v :") if "add" in line else line for i, line in enumerate(unequal)]  # fmt: skip
show("unequal", unequal, "%s39")

# CHECK: a block of 2 ops is repeated 300 times from here, all elementwise on up to 400000 bytes: straight-line code is fused
LONG = "tensor<100000xf32>"
long = repeated(
    300, f"%a{{i}} = stablehlo.sine {{last}} : {LONG}", f"%s{{i}} = stablehlo.multiply %a{{i}}, %v : {LONG}"
)
show("long", long, "%s299", LONG, f"%v: {LONG}")

# CHECK: stablehlo.dot_general {{.*}}: left alone: 40 ops stablehlo.dot_general are never part of a block: a size is not known
dynamic = [line.replace("4x4xf32", "?x?xf32").replace("4xf32", "?xf32") for line in repeated(40, DOT, SINE)]
show("dynamic", dynamic, "%s39", "tensor<?xf32>", "%v: tensor<?xf32>, %m: tensor<?x?xf32>")

# CHECK: 40 ops stablehlo.custom_call are never part of a block: it does something besides computing
PRINT = f"stablehlo.custom_call @print(%d{{i}}) {{{{has_side_effect = true}}}} : ({V}) -> {V}"
show("effects", repeated(40, DOT, f"%s{{i}} = {PRINT}"), "%s39")

# Each repetition has a matrix of its own: joined, they would be copied in each call.
# CHECK: a block of 2 ops is repeated 40 times from here, but works on arrays of their own, 10485760 bytes of them, which each call
layers = [
    line.replace("4x4xf32", "256x256xf32").replace("4xf32", "256xf32")
    for line in repeated(40, DOT.replace("%m", "%m{i}"), SINE)
]
matrices = ", ".join(f"%m{step}: tensor<256x256xf32>" for step in range(40))
show("layers", layers, "%s39", "tensor<256xf32>", f"%v: tensor<256xf32>, {matrices}")

# CHECK: 100 ops stablehlo.add are never part of a block: it works on a type that NumPy does not have
show(
    "types",
    repeated(100, "%s{i} = stablehlo.add {last}, %v : tensor<4xi4>"),
    "%s99",
    "tensor<4xi4>",
    "%v: tensor<4xi4>",
)

# CHECK: 100 ops stablehlo.sine are never part of a block: it says how it is spread over devices
SHARDED = f'%s{{i}} = stablehlo.sine {{last}} {{{{mhlo.sharding = "{{{{replicated}}}}"}}}} : {V}'
show("shardings", repeated(100, SHARDED), "%s99")

# CHECK: 100 ops func.call are never part of a block: it does something besides computing
CALL = f"%s{{i}} = func.call @print({{last}}) : ({V}) -> {V}"
PRINTING = (
    f"func.func private @print(%x: {V}) -> {V} {{ %y = {PRINT.replace('%d{i}', '%x').format()}\n return %y : {V} }}"
)
show("calls", repeated(100, CALL), "%s99", functions=PRINTING)

# With a function that only computes there is a loop; so there are two where one repetition is another.
# CHECK: 100 repetitions of a block of 1 op become 1 loop
# CHECK: 50 repetitions of a block of 2 ops become 1 loop
# CHECK: 49 repetitions of a block of 2 ops become 1 loop
show("pure", repeated(100, CALL), "%s99", functions=PRINTING.replace("{has_side_effect = true} ", ""))
odd = repeated(100, DOT, SINE)
odd[100] = f"%d50 = stablehlo.cosine %s49 : {V}"
show("odd", odd, "%s99")

# CHECK-LABEL: module @few
# CHECK-NOT: stablehlo.while
# CHECK: module @pure

# ---- what becomes a loop ---------------------------------------------------------------------------------------------

# A value passes from repetition to repetition: a loop of 40, whose last value is what the function returns.
# CHECK-LABEL: module @carried
# CHECK: %[[LOOP:.*]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %arg1) : tensor<i32>, tensor<4xf32>
# CHECK: stablehlo.compare LT
# CHECK: stablehlo.dot_general {{.*}} : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
# CHECK-NEXT: stablehlo.sine {{.*}} : tensor<4xf32>
# CHECK-NOT: stablehlo.dot_general
# CHECK: return %[[LOOP]]#1 : tensor<4xf32>
CARRIED = repeated(40, DOT, SINE)
show("carried", CARRIED, "%s39")

# What a step reads at its own place of an array is read by the counter; what does not depend on the loop is one op on
# all of the array, outside.
# CHECK-LABEL: module @indexed
# CHECK: stablehlo.slice %arg2 [10:50] : (tensor<80xf32>) -> tensor<40xf32>
# CHECK: %[[COSINE:.*]] = stablehlo.cosine %{{.*}} : tensor<40xf32>
# CHECK: stablehlo.while(
# CHECK-COUNT-12: stablehlo.sine
# CHECK: stablehlo.dynamic_slice %[[COSINE]], %{{.*}}, sizes = [1] : (tensor<40xf32>, tensor<i32>) -> tensor<1xf32>
INDEXED = [*READ, "%c{i} = stablehlo.cosine %b{i} : tensor<f32>", *SINES]
INDEXED += ["%s{i} = stablehlo.multiply %z{i}_11, %c{i} : tensor<f32>"]
show("indexed", repeated(40, *INDEXED, start="%x", place=lambda i: 10 + i), "%s39", "tensor<f32>")

# Backwards, every second element: the array is turned around once.
# CHECK-LABEL: module @backwards
# CHECK: stablehlo.slice %arg2 [1:80:2] : (tensor<80xf32>) -> tensor<40xf32>
# CHECK: stablehlo.reverse %{{.*}}, dims = [0] : tensor<40
# CHECK-NOT: stablehlo.slice
show("backwards", repeated(40, *INDEXED, start="%x", place=lambda i: 79 - 2 * i), "%s39", "tensor<f32>")

# Constants that differ become a table.
# CHECK-LABEL: module @table
# CHECK: %[[TABLE:.*]] = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 4.000000e+00,
# CHECK: %[[ROWS:.*]] = stablehlo.broadcast_in_dim %[[TABLE]], dims = [0] : (tensor<40xf32>) -> tensor<40x4xf32>
# CHECK: stablehlo.while(
# CHECK: stablehlo.dynamic_slice %[[ROWS]],
table = repeated(
    40,
    "%k{i} = stablehlo.constant dense<{at}.0> : tensor<f32>",
    f"%b{{i}} = stablehlo.broadcast_in_dim %k{{i}}, dims = [] : (tensor<f32>) -> {V}",
    DOT,
    f"%s{{i}} = stablehlo.add %d{{i}}, %b{{i}} : {V}",
    place=lambda i: i * i,
)
show("table", table, "%s39")

# All results, joined: the loop's stack is what the concatenation was.
# CHECK-LABEL: module @stacked
# CHECK: %[[LOOP:.*]]:3 = stablehlo.while
# CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<40x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<40x4xf32>
# CHECK-NOT: stablehlo.concatenate
# CHECK: return %[[LOOP]]#1 : tensor<40x4xf32>
rows = repeated(40, f"%r{{i}} = stablehlo.reshape %s{{i}} : ({V}) -> tensor<1x4xf32>")
names, types = ", ".join(f"%r{i}" for i in range(40)), ", ".join(["tensor<1x4xf32>"] * 40)
joined = f"%all = stablehlo.concatenate {names}, dim = 0 : ({types}) -> tensor<40x4xf32>"
show("stacked", [*CARRIED, *rows, joined], "%all", "tensor<40x4xf32>")

# A sum of pads that do not overlap: the repetitions' values side by side. One array is read at two places in turn.
# CHECK-LABEL: module @pads
# CHECK: stablehlo.while
# CHECK-NOT: stablehlo.pad
# CHECK: %[[PAIRS:.*]] = stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 1 : (tensor<30x1xf32>, tensor<30x1xf32>) -> tensor<30x2xf32>
# CHECK-NEXT: %[[ALL:.*]] = stablehlo.reshape %[[PAIRS]] : (tensor<30x2xf32>) -> tensor<60xf32>
# CHECK: stablehlo.concatenate %{{.*}}, %[[ALL]], %{{.*}}, dim = 0
# CHECK-NEXT: stablehlo.add %arg2, %{{.*}} : tensor<80xf32>
PADS = [*SINES, "%s{i} = stablehlo.multiply %z{i}_11, %x : tensor<f32>"]
for name, of, shift in (("p", "%s{i}", 0), ("q", "%z{i}_3", 1)):
    PADS += [
        f"%{name}r{{i}} = stablehlo.reshape {of} : (tensor<f32>) -> {ROW}",
        f"%{name}{{i}} = stablehlo.pad %{name}r{{i}}, %zero, low = [{{at{shift}}}], high = [{{high{shift}}}], interior = [0] : "
        f"({ROW}, tensor<f32>) -> {T}",
        f"%{name}s{{i}} = stablehlo.add {{{name}last}}, %{name}{{i}} : {T}",
    ]
pads = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
for i in range(30):
    sums = {
        "plast": f"%qs{i - 1}" if i else "%t",
        "qlast": f"%ps{i}",
        "at0": 5 + 2 * i,
        "high0": 74 - 2 * i,
        "at1": 6 + 2 * i,
        "high1": 73 - 2 * i,
    }
    pads += [op.format(i=i, last=f"%s{i - 1}" if i else "%x", **sums) for op in PADS]
show("pads", pads, "%qs29", T)

# A chain of updates stays a carry, at a place that the counter gives.
# CHECK-LABEL: module @updates
# CHECK: stablehlo.while
# CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<80xf32>, tensor<1xf32>, tensor<i64>) -> tensor<80xf32>
# CHECK-NOT: stablehlo.dynamic_update_slice
UPDATES = [
    *SINES,
    "%s{i} = stablehlo.multiply %z{i}_11, %x : tensor<f32>",
    f"%r{{i}} = stablehlo.reshape %s{{i}} : (tensor<f32>) -> {ROW}",
]
UPDATES += ["%k{i} = stablehlo.constant dense<{at}> : tensor<i64>"]
UPDATES += [f"%u{{i}} = stablehlo.dynamic_update_slice %w{{i}}, %r{{i}}, %k{{i}} : ({T}, {ROW}, tensor<i64>) -> {T}"]
updates = repeated(40, *UPDATES, start="%x", place=lambda i: 70 - i)
updates = [line.replace("%w0,", "%t,") for line in updates]
updates = [line.replace(f"%w{(i // 16)},", f"%u{i // 16 - 1},") for i, line in enumerate(updates)]
show("updates", updates, "%u39", T)

# Repetitions that do not depend on one another: no loop. Their sum is one reduce. Bit for bit, the sum is taken in order,
# in a loop, and so are the dots.
# CHECK-LABEL: module @independent
# CHECK-NOT: stablehlo.while
# CHECK: stablehlo.dot_general {{.*}} : (tensor<60xf32>, tensor<4xf32>) -> tensor<60x4xf32>
# CHECK: stablehlo.reduce({{.*}} applies stablehlo.add across dimensions = [0] : (tensor<60x4xf32>, tensor<f32>) -> tensor<4xf32>
# EXACT-LABEL: module @independent
# EXACT: stablehlo.while
# EXACT: stablehlo.dot_general {{.*}} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
# EXACT: stablehlo.add {{.*}} : tensor<4xf32>
OUTER = f"%d{{i}} = stablehlo.dot_general %b{{i}}, %v, contracting_dims = [] x [] : (tensor<f32>, {V}) -> {V}"
independent = repeated(60, *READ, OUTER, f"%s{{i}} = stablehlo.add {{last}}, %d{{i}} : {V}", place=lambda i: i)
show("independent", independent, "%s59")

# A second loop reads what the first one made, last to first.
# CHECK-LABEL: module @saved
# CHECK: %[[FIRST:.*]]:3 = stablehlo.while
# CHECK: stablehlo.while(
# CHECK: stablehlo.dynamic_slice %[[FIRST]]#1, %{{.*}}, %{{.*}}, sizes = [1, 4]
back = repeated(40, DOT, f"%s{{i}} = stablehlo.multiply %d{{i}}, %o{{at}} : {V}", start="%w", place=lambda i: 39 - i)
back = [line.replace("%d", "%e").replace("%s", "%g").replace("%o", "%s") for line in back]
show("saved", [*CARRIED, f"%w = stablehlo.cosine %v : {V}", *back], "%g39")

# What was made two repetitions ago is carried on twice.
# CHECK-LABEL: module @two_ago
# CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %[[NEW:.*]] = %{{.*}}, %[[OLD:.*]] = %{{.*}}) : tensor<i32>
# CHECK: stablehlo.add %{{.*}}, %[[OLD]] : tensor<4xf32>
# CHECK: stablehlo.return %{{.*}}, %{{.*}}, %[[NEW]] :
starts = [f"%s0 = stablehlo.sine %v : {V}", f"%s1 = stablehlo.cosine %v : {V}"]
two_ago = repeated(
    42, DOT, f"%s{{i}} = stablehlo.add %d{{i}}, %s{{at}} : {V}", start="%s1", first=2, place=lambda i: i - 2
)
show("two_ago", [*starts, *two_ago], "%s41")
