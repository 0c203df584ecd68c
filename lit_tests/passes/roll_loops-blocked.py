"""What keeps a repeated block as it is: the module stays the same, and the reason is said."""

# RUN: %python %s | filecheck %s

from builds import module_of

from hlograph.codegen import passes

ARGUMENTS = "%v: tensor<4xf32>, %t: tensor<80xf32>, %m: tensor<4x4xf32>, %long: tensor<100000xf32>"


def show(name: str, lines: list[str], results: dict[str, str], arguments: str = ARGUMENTS, functions: str = "") -> None:
    """Prints whether the pass changes a function of these lines, and why not."""
    types = ", ".join(results.values())
    body = "\n".join(lines)
    text = (
        f"func.func @main({arguments}) -> ({types}) {{\n{body}\nreturn {', '.join(results)} : {types}\n}}\n{functions}"
    )
    module = module_of(text)
    before = str(module)
    report = passes.run(module, "roll_loops", detailed=True)
    print(f"{name}: {'the same' if str(module) == before else 'changed'}")
    print(report.text)


def dot(result: str, left: str, size: str = "4") -> str:
    """A dot with the matrix: an op that makes a block worth a loop."""
    return (
        f"{result} = stablehlo.dot_general {left}, %m, contracting_dims = [0] x [0] : "
        f"(tensor<{size}xf32>, tensor<{size}x{size}xf32>) -> tensor<{size}xf32>"
    )


def chain(steps: int, size: str = "4") -> list[str]:
    """A dot and a sine, again and again."""
    lines = []
    for step in range(steps):
        lines.append(dot(f"%d{step}", f"%s{step - 1}" if step else "%v", size))
        lines.append(f"%s{step} = stablehlo.sine %d{step} : tensor<{size}xf32>")
    return lines


# CHECK: few: the same
# CHECK: stablehlo.dot_general {{.*}}: left alone: a block of 2 ops is repeated 7 times from here; a loop needs at least 8
show("few", chain(7), {"%s6": "tensor<4xf32>"})

# CHECK: cheap: the same
# CHECK: left alone: a block of 2 ops is repeated 10 times from here, which compiles faster than a loop would (153 units of cost go, 4{{[0-9]+}} come
show("cheap", chain(10), {"%s9": "tensor<4xf32>"})

# CHECK: small: the same
# CHECK: left alone: a block of 1 op is repeated 10 times from here; a loop would take 9 ops away, too few to pay
small = [f"%s{step} = stablehlo.sine {f'%s{step - 1}' if step else '%v'} : tensor<4xf32>" for step in range(10)]
show("small", small, {"%s9": "tensor<4xf32>"})

# Of what each repetition reads, one value is from another repetition back each time.
# CHECK: unequal: the same
# CHECK: left alone: a block of 3 ops is repeated {{[0-9]+}} times from here by name and type, but the ops do not read the same things
unequal = []
for step in range(40):
    unequal += [
        dot(f"%d{step}", f"%s{step - 1}" if step else "%v"),
        f"%a{step} = stablehlo.add %d{step}, {f'%s{step - 1 - 7 * step % 5}' if step > 5 else '%v'} : tensor<4xf32>",
        f"%s{step} = stablehlo.sine %a{step} : tensor<4xf32>",
    ]
show("unequal", unequal, {"%s39": "tensor<4xf32>"})

# CHECK: long: the same
# CHECK: left alone: a block of 2 ops is repeated 300 times from here, all elementwise on up to 400000 bytes: straight-line code is fused
long = []
for step in range(300):
    long += [
        f"%a{step} = stablehlo.sine {f'%s{step - 1}' if step else '%long'} : tensor<100000xf32>",
        f"%s{step} = stablehlo.multiply %a{step}, %long : tensor<100000xf32>",
    ]
show("long", long, {"%s299": "tensor<100000xf32>"})

# Sizes that are not known, and ops that do something besides computing, are not looked at.
# CHECK: dynamic: the same
# CHECK: stablehlo.dot_general {{.*}}: left alone: 40 ops stablehlo.dot_general are never part of a block: a size is not known
show("dynamic", chain(40, "?"), {"%s39": "tensor<?xf32>"}, "%v: tensor<?xf32>, %m: tensor<?x?xf32>")


# CHECK: effects: the same
# CHECK: stablehlo.custom_call {{.*}}: left alone: 40 ops stablehlo.custom_call are never part of a block: it does something besides computing
effects = []
for step in range(40):
    effects += [
        dot(f"%d{step}", f"%s{step - 1}" if step else "%v"),
        f"%s{step} = stablehlo.custom_call @print(%d{step}) {{has_side_effect = true}} : (tensor<4xf32>) -> tensor<4xf32>",
    ]
show("effects", effects, {"%s39": "tensor<4xf32>"})

# One repetition is another: two loops, and what lies between them.
# CHECK: odd: changed
# CHECK: 50 repetitions of a block of 2 ops become 1 loop
# CHECK: 49 repetitions of a block of 2 ops become 1 loop
odd = chain(100)
odd[100] = "%d50 = stablehlo.cosine %s49 : tensor<4xf32>"
show("odd", odd, {"%s99": "tensor<4xf32>"})

# Each repetition has a matrix of its own: joined, they would be copied in each call.
# CHECK: layers: the same
# CHECK: left alone: a block of 2 ops is repeated 40 times from here, but works on arrays of their own, 10485760 bytes of them, which each call
layers = []
for step in range(40):
    layers += [
        dot(f"%d{step}", f"%s{step - 1}" if step else "%v", "256").replace("%m", f"%m{step}"),
        f"%s{step} = stablehlo.sine %d{step} : tensor<256xf32>",
    ]
matrices = ", ".join(f"%m{step}: tensor<256x256xf32>" for step in range(40))
show("layers", layers, {"%s39": "tensor<256xf32>"}, f"%v: tensor<256xf32>, {matrices}")

# CHECK: types: the same
# CHECK: 100 ops stablehlo.add are never part of a block: it works on a type that NumPy has not
types = [f"%s{step} = stablehlo.add {f'%s{step - 1}' if step else '%v'}, %v : tensor<4xi4>" for step in range(100)]
show("types", types, {"%s99": "tensor<4xi4>"}, "%v: tensor<4xi4>")

# CHECK: shardings: the same
# CHECK: 100 ops stablehlo.sine are never part of a block: it says how it is spread over devices
shardings = [
    f'%s{step} = stablehlo.sine {f"%s{step - 1}" if step else "%v"} {{mhlo.sharding = "{{replicated}}"}} : tensor<4xf32>'
    for step in range(100)
]
show("shardings", shardings, {"%s99": "tensor<4xf32>"})

# CHECK: calls: the same
# CHECK: 100 ops func.call are never part of a block: it does something besides computing
calls = [
    f"%s{step} = call @print({f'%s{step - 1}' if step else '%v'}) : (tensor<4xf32>) -> tensor<4xf32>"
    for step in range(100)
]
printing = """func.func private @print(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.custom_call @print(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}"""
show("calls", calls, {"%s99": "tensor<4xf32>"}, functions=printing)

# The same with a function that only computes.
# CHECK: pure: changed
# CHECK: 100 repetitions of a block of 1 op become 1 loop
show("pure", calls, {"%s99": "tensor<4xf32>"}, functions=printing.replace("{has_side_effect = true} ", ""))
