"""The batch pass: each row of the result is what the module gives for that row, by the reference interpreter or JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph import Program
from hlograph.codegen.passes.batch import batch
from hlograph.errors import PassError

RNG = np.random.default_rng(3)
ROWS = 3


def reversed_scan(x, n):
    """Reads from the end: rows end together."""

    def step(carry):
        i, h, out = carry
        place = n - i - 1
        h = jnp.sin(h + x[place])
        return i + 1, h, jax.lax.dynamic_update_index_in_dim(out, h, place, 0)

    return jax.lax.while_loop(lambda c: c[0] < n, step, (0, 0.0, jnp.zeros_like(x)))[1:]


def counted_with_index(x, n):
    """The index is wanted after the loop, and grows by two."""
    return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 2, c[1] + x[c[0]]), (0, 0.0))


def until(x, n):
    """The condition comes and goes: a finished row stays finished."""
    return jax.lax.while_loop(lambda c: (c[0] % 3 != n % 3) & (c[1] < 9), lambda c: (c[0] + 1, c[1] + 1), (n + 1, 0))


def nested(x, n):
    def outer(i, h):
        return jax.lax.fori_loop(0, i + n % 2, lambda j, h: h * 0.5 + x[j], h)

    return jax.lax.fori_loop(0, n, outer, 0.0)


def branched(x, n):
    """A loop that would not end in a row that does not take the branch."""
    taken = jax.lax.cond(n > 2, lambda: jax.lax.while_loop(lambda i: i != 7, lambda i: i + 1, n % 8), lambda: -n)
    return taken, jax.lax.switch(n, [lambda: x.sum(), lambda: x.max(), lambda: x[0]])


def places(x, n):
    y = jnp.outer(x, x)
    return (
        jax.lax.dynamic_slice(y, (n, 1), (2, 3)),
        jax.lax.dynamic_update_slice(y, y[:1, :2], (n, n - 2)),
        jax.lax.dynamic_update_slice(y, y[:4], (n, 0)),
        y[jnp.array([n, 0]), :2],
        x.at[jnp.array([n, 1])].add(2.0),
        jnp.take(x, jnp.arange(3) + n, mode="fill"),
    )


def several(x, n):
    a = jnp.outer(x, x) + 4 * jnp.eye(len(x))
    return (
        jnp.linalg.cholesky(a),
        jax.scipy.linalg.solve_triangular(a, x, lower=True),
        jnp.argsort(x),
        jax.lax.top_k(x, 2),
        jax.lax.reduce_window(x, 0.0, jax.lax.add, (2,), (1,), "SAME"),
        jnp.convolve(x, x[:3]),
        jnp.fft.fft(x).real,
        jax.lax.pad(x, x[0], [(1, 0, 1)]),
        jax.lax.reduce(x, x[1], jax.lax.max, (0,)),
        jax.lax.clamp(x[0], x, x[1]),
    )


FUNCTIONS = [reversed_scan, counted_with_index, until, nested, branched, places, several]


def program_of(function, *args):
    return hlograph.jit(function).program(*args)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rows_are_what_one_gives(function):
    x = RNG.normal(size=(ROWS, 6)).astype("float32")
    n = np.array([2, 5, 0], np.int32)
    program = program_of(function, x[0], n[0])
    batched, looped = batch(program.copy_module(), ROWS)
    assert not looped.keys() & {"stablehlo.while", "stablehlo.gather", "stablehlo.dot_general"}
    found = Program(batched).compile(optimize="none").run([x, n])
    for row in range(ROWS):
        expected = jax.tree.leaves(jax.jit(function)(x[row], n[row]))
        for own, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(own)[row], y, rtol=2e-5, atol=2e-6)


def test_what_rows_share_has_no_axis_and_sums_are_taken_where_they_are_cheap():
    """The cotangent of a shared matrix, grown in a loop: one dot over the rows in each step, no batch of matrices."""

    def grown(w, x, n):
        return jax.lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + jnp.tensordot(x * c[0], w @ x, 0)), (0, jnp.zeros((5, 5)))
        )[1]

    w, x = RNG.normal(size=(5, 5)).astype("float32"), RNG.normal(size=(ROWS, 5)).astype("float32")
    n, counted = np.array([3, 0, 4], np.int32), np.array([True, True, False])
    x[2] = np.inf  # of a row that does not count
    program = program_of(grown, w, x[0], n[0])
    batched, _ = batch(program.copy_module(), ROWS, shared={0}, summed={0}, rows="rows")
    made = Program(batched)
    assert f"tensor<{ROWS}x5x5xf32>" not in made.optimize(["simplify"]).text
    found = made.compile(optimize="none").run([w, x, n, counted])[0]
    expected = sum(jax.jit(grown)(w, x[row], n[row]) for row in range(2))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_checks_are_those_of_all_rows_that_count():
    import pytensor.tensor as pt
    from pytensor.raise_op import Assert

    x = pt.dvector("x")
    program = hlograph.emit_stablehlo(([x], [Assert("negative")(x.sum(), (x > 0).all())]), dims={"x": (2,)})
    batched, _ = batch(program.copy_module(), ROWS, rows="rows")
    fn = Program(batched).compile()
    good = np.ones((ROWS, 2))
    bad = good.copy()
    bad[1, 1] = -1
    all_rows = np.ones(ROWS, bool)
    np.testing.assert_array_equal(fn(good, all_rows), [2, 2, 2])
    with pytest.raises(AssertionError, match="negative"):
        fn(bad, all_rows)
    np.testing.assert_array_equal(fn(bad, np.array([True, False, True]))[::2], [2, 2])


def test_what_has_no_rule_runs_row_by_row():
    def drawn(key):
        return jax.lax.rng_bit_generator(key, (3,), "uint32")

    keys = RNG.integers(0, 2**31, (ROWS, 4)).astype("uint32")
    program = program_of(drawn, keys[0])
    batched, looped = batch(program.copy_module(), ROWS)
    assert looped == {"stablehlo.rng_bit_generator": 1}
    found = Program(batched).compile(optimize="none").run([keys])
    for row in range(ROWS):
        for own, y in zip(found, drawn(keys[row]), strict=True):
            np.testing.assert_array_equal(np.asarray(own)[row], y)


def test_refusals():
    x = hlograph.jit(lambda x: x + 1, dims={"x": ("n",)}).program(np.ones(3, "float32"))
    with pytest.raises(PassError, match="static shapes"):
        batch(x.copy_module(), 2)
    with pytest.raises(PassError, match="at least 1"):
        batch(x.specialize({"n": 2}).copy_module(), 0)


# ---- op by op -------------------------------------------------------------------------------------------------------

V, S, M, B = "tensor<3xf32>", "tensor<f32>", "tensor<3x3xf32>", "tensor<3xi1>"
BINARY = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract")
# What is done with %a, %s and %m (each row's own), %f and %g (the same for all).
OPS = {
    **{name: f"stablehlo.{name} %a, %f : {V}" for name in BINARY},
    "cosine": f"stablehlo.cosine %a : {V}",
    "select": f"stablehlo.select %p, %a, %f : {B}, {V}",
    "select by one": f"stablehlo.select %one, %a, %f : tensor<i1>, {V}",
    "clamp": f"stablehlo.clamp %s, %a, %f : ({S}, {V}, {V}) -> {V}",
    "broadcast_in_dim": f"stablehlo.broadcast_in_dim %a, dims = [1] : ({V}) -> {M}",
    "reshape": f"stablehlo.reshape %a : ({V}) -> tensor<1x3x1xf32>",
    "transpose": f"stablehlo.transpose %m, dims = [1, 0] : ({M}) -> {M}",
    "reverse": f"stablehlo.reverse %m, dims = [1] : ({M}) -> {M}",
    "slice": f"stablehlo.slice %m [0:3:2, 1:3] : ({M}) -> tensor<2x2xf32>",
    "pad": f"stablehlo.pad %a, %zero, low = [1], high = [-1], interior = [1] : ({V}, {S}) -> tensor<5xf32>",
    "pad by its own": f"stablehlo.pad %a, %s, low = [1], high = [-1], interior = [1] : ({V}, {S}) -> tensor<5xf32>",
    "concatenate": f"stablehlo.concatenate %a, %f, dim = 0 : ({V}, {V}) -> tensor<6xf32>",
    "reduce": f"stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [1] : ({M}, {S}) -> {V}",
    "reduce from its own": f"stablehlo.reduce(%m init: %s) applies stablehlo.maximum across dimensions = [1] : "
    f"({M}, {S}) -> {V}",
    "dot of both": f"stablehlo.dot_general %m, %a, contracting_dims = [0] x [0] : ({M}, {V}) -> {V}",
    "dot, left": f"stablehlo.dot_general %m, %f, contracting_dims = [1] x [0] : ({M}, {V}) -> {V}",
    "dot, right": f"stablehlo.dot_general %g, %m, contracting_dims = [1] x [0] : ({M}, {M}) -> {M}",
    "dot, batched": f"stablehlo.dot_general %g, %m, batching_dims = [1] x [0], contracting_dims = [0] x [1] : "
    f"({M}, {M}) -> {V}",
    "dot, batched left": f"stablehlo.dot_general %m, %g, batching_dims = [1] x [0], contracting_dims = [] x [] : "
    f"({M}, {M}) -> tensor<3x3x3xf32>",
    "dynamic_slice": f"stablehlo.dynamic_slice %m, %i, %zero_i, sizes = [2, 3] : ({M}, tensor<i32>, tensor<i32>) -> "
    "tensor<2x3xf32>",
    "dynamic_slice of the same": f"stablehlo.dynamic_slice %g, %i, %i, sizes = [2, 1] : "
    f"({M}, tensor<i32>, tensor<i32>) -> tensor<2x1xf32>",
    "dynamic_update_slice": f"stablehlo.dynamic_update_slice %m, %m, %i, %i : "
    f"({M}, {M}, tensor<i32>, tensor<i32>) -> {M}",
    "broadcast to sizes": '"stablehlo.dynamic_broadcast_in_dim"(%a, %sizes) {broadcast_dimensions = array<i64: 1>, '
    f"known_nonexpanding_dimensions = array<i64: 0>}} : ({V}, tensor<2xi64>) -> {M}",
    "bitcast_convert": f"stablehlo.bitcast_convert %m : ({M}) -> tensor<3x3x4xi8>",
}


@pytest.mark.parametrize("size", [ROWS, "b"])
@pytest.mark.parametrize("name", OPS)
def test_an_op(name, size):
    """Against the op once per row, in the reference interpreter; for a known and for an open number of rows."""
    line = OPS[name]
    result = line.rpartition("-> ")[2] if "->" in line else V
    program = Program.parse(
        f"func.func @main(%a: {V}, %s: {S}, %m: {M}, %i: tensor<i32>, %f: {V}, %g: {M}) -> {result} {{\n"
        f"%zero = stablehlo.constant dense<0.0> : {S}\n%zero_i = stablehlo.constant dense<0> : tensor<i32>\n"
        f"%p = stablehlo.compare LT, %a, %f : ({V}, {V}) -> {B}\n"
        f"%first = stablehlo.slice %p [0:1] : ({B}) -> tensor<1xi1>\n"
        f"%one = stablehlo.reshape %first : (tensor<1xi1>) -> tensor<i1>\n"
        f"%sizes = stablehlo.constant dense<3> : tensor<2xi64>\n%made = {line}\nreturn %made : {result}\n}}"
    )
    batched = Program(batch(program.copy_module(), size, shared={4, 5})[0])
    assert "expanding_dimensions = array<i64: 0>" not in batched.text  # behind the new axis it is another
    batched = batched.specialize({"b": ROWS}) if size == "b" else batched
    rng = np.random.default_rng(0)
    own = [rng.normal(size=(ROWS, *shape)).astype("float32") for shape in ((3,), (), (3, 3))]
    own.append(np.array([0, 2, 1], np.int32))
    same = [rng.normal(size=shape).astype("float32") for shape in ((3,), (3, 3))]
    found = batched.interpret(*own, *same)[0]
    for row in range(ROWS):
        np.testing.assert_array_equal(found[row], program.interpret(*[x[row] for x in own], *same)[0])


@pytest.mark.parametrize(("whole", "size"), [(500, 3), (400, 200)])
def test_starts_of_few_bits(whole, size):
    """The last place where a part fits may be one that they cannot hold."""
    program = Program.parse(
        f"func.func @main(%x: tensor<{whole}xi32>, %y: tensor<{size}xi32>, %i: tensor<i8>) -> tensor<{whole}xi32> {{\n"
        f"%r = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<{whole}xi32>, tensor<{size}xi32>, tensor<i8>) -> "
        f"tensor<{whole}xi32>\nreturn %r : tensor<{whole}xi32>\n}}"
    )
    x, y, starts = np.zeros((ROWS, whole), np.int32), np.ones((ROWS, size), np.int32), np.array([100, 5, -3], np.int8)
    places = np.arange(whole) - np.maximum(starts, 0)[:, None]
    [found] = program.optimize([f"batch{{size={ROWS}}}"]).interpret(x, y, starts)
    np.testing.assert_array_equal(found, (places >= 0) & (places < size))
