"""Expressions of JAX's functions of a named axis, for `jax_functions.py`: one for each that takes such an axis.

In an expression `x` and `y` are floats of `n` elements between 0 and 1 without ties, `v` floats of both signs, `i` and
`j` small integers, `b` booleans, `z` complex numbers, `a` floats of n x 3, `s` a positive definite matrix of n x n, `c`
four fixed floats, `d` a fixed 3 x 3 matrix, `k` a key, `n` the size. A line `pattern: names` stands for `pattern` with
each name in the place of `F`; a line with a name before `=` is the expression of one function, which may go on in a
line that begins with spaces.
"""

NUMPY = """
F(x): abs absolute acos angle arccos arcsin arctan arctanh argmax argmin argsort argwhere(size=4) around asarray asin
F(x): atan atanh atleast_1d atleast_2d atleast_3d average cbrt ceil copy cos cosh cumprod cumsum cumulative_prod
F(x): cumulative_sum deg2rad degrees diag diagflat diff ediff1d exp exp2 expm1 fabs flip floor frexp gradient i0 imag
F(x): iscomplex isfinite isinf isnan isneginf isposinf isreal log log10 log1p log2 max mean median min modf
F(x): amax amin nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd
F(x): nansum
F(x): nanvar negative ones_like positive prod ptp rad2deg radians ravel real reciprocal rint round sign signbit sin sinc
F(x): sinh sort spacing sqrt square squeeze std sum tan tanh trapezoid trunc var zeros_like empty_like arctan arcsinh
F(x): asinh count_nonzero array vander corrcoef minmax
F(x + 1): acosh arccosh
F(x, y): add allclose append arctan2 array_equal array_equiv atan2 convolve copysign correlate cov divide
F(x, y): divmod dot equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot inner isclose
F(x, y): kron less less_equal logaddexp logaddexp2 maximum minimum mod multiply nextafter not_equal outer polyadd
F(x, y): polymul
F(x, y): polysub pow power remainder subtract true_divide vdot vecdot setdiff1d(size=4) union1d(size=4)
F(x * x, y * y): histogram2d
F((x, y)): column_stack concatenate dstack hstack lexsort stack vstack concat
F(x, y): broadcast_arrays meshgrid
F(v): unwrap
F(i): bitwise_count bitwise_invert bitwise_not invert unique(size=4) unique_counts(size=4) unique_inverse(size=4)
F(i): unique_values(size=4) unique_all(size=4) bincount(length=9) flatnonzero(size=4) nonzero(size=4)
F(i, j): bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm left_shift right_shift
F(i, j): intersect1d(size=4) setxor1d(size=4) isin
F(b): all any logical_not packbits
F(b, b): logical_and logical_or logical_xor
F(z): conj conjugate sort_complex
F(a): fliplr flipud matrix_transpose rot90 transpose tril triu
F(s): diag diagonal trace diag_indices_from tril_indices_from triu_indices_from
F(s, y): matmul matvec
F(y, s): vecmat
F(n): arange bartlett blackman eye hamming hanning identity ones zeros empty tri tril_indices triu_indices
permute_dims = jnp.permute_dims(a, (1, 0))
apply_along_axis = jnp.apply_along_axis(jnp.cumsum, 0, a)
apply_over_axes = jnp.apply_over_axes(jnp.sum, a, [0])
argpartition = jnp.sort(jnp.argpartition(jnp.concatenate([x, c]), 2)[:3])
array_split = jnp.array_split(a, 2)
astype = jnp.astype(x, "int32")
block = jnp.block([x, y])
broadcast_to = jnp.broadcast_to(x, (2, n))
choose = jnp.choose(i % 2, [x, y], mode="wrap")
clip = jnp.clip(x, 0.2, 0.7)
compress = jnp.compress(b, x, size=4)
cross = jnp.cross(a, a[::-1] + 1)
delete = jnp.delete(jnp.concatenate([x, c]), 1)
digitize = jnp.digitize(c, jnp.sort(x))
digitize (values) = jnp.digitize(x, c)
dsplit = jnp.dsplit(jnp.stack([s, s], -1), 2)
einsum = jnp.einsum("ij,j->i", s, x)
expand_dims = jnp.expand_dims(x, 0)
extract = jnp.extract(b, x, size=4)
fill_diagonal = jnp.fill_diagonal(s, 0.5, inplace=False)
fromfunction = jnp.fromfunction(lambda p, q: p + q, (n, 2))
full = jnp.full(n, 0.5)
full_like = jnp.full_like(x, 0.5)
geomspace = jnp.geomspace(1.0, 2.0, n)
histogram = jnp.histogram(x, 5, (0.0, 1.0))[0]
histogram_bin_edges = jnp.histogram_bin_edges(x, 5)
histogramdd = jnp.histogramdd(a, 2, [(0.0, 1.0)] * 3)[0]
hsplit = jnp.hsplit(jnp.stack([x, y], 1), 2)
indices = jnp.indices((n, 2))
insert = jnp.insert(x, 0, 0.5)
interp = jnp.interp(c, jnp.sort(x), y)
interp (values) = jnp.interp(x, jnp.sort(c), c)
ix_ = jnp.ix_(i, j)
kaiser = jnp.kaiser(n, 2.0)
ldexp = jnp.ldexp(x, i)
linspace = jnp.linspace(0.0, 1.0, n)
logspace = jnp.logspace(0.0, 1.0, n)
mask_indices = jnp.mask_indices(n, jnp.triu, size=4)
moveaxis = jnp.moveaxis(a, 0, 1)
nanpercentile = jnp.nanpercentile(x, 30.0)
nanquantile = jnp.nanquantile(x, 0.3)
pad = jnp.pad(x, 1)
pad (edge) = jnp.pad(x, 1, mode="edge")
pad (reflect) = jnp.pad(x, (1, 0), mode="reflect")
pad (wrap) = jnp.pad(x, 1, mode="wrap")
pad (linear_ramp) = jnp.pad(x, 2, mode="linear_ramp")
partition = jnp.partition(jnp.concatenate([x, c]), 2)[2]
percentile = jnp.percentile(x, 30.0)
piecewise = jnp.piecewise(x, [x < 0.5], [jnp.sin, jnp.cos])
place = jnp.place(x, b, c, inplace=False)
polyder = jnp.polyder(x)
polydiv = jnp.polydiv(jnp.concatenate([x, c]), c)
polyfit = jnp.polyfit(x, y, 1)
polyint = jnp.polyint(x)
polyval = jnp.polyval(x, 0.5)
polyval (values) = jnp.polyval(c, x)
put = jnp.put(x, 0, 0.5, inplace=False)
put_along_axis = jnp.put_along_axis(x, i % n, 0.5, axis=0, inplace=False)
quantile = jnp.quantile(x, 0.3)
ravel_multi_index = jnp.ravel_multi_index((i, j), (9, 9), mode="clip")
repeat = jnp.repeat(x, 2)
repeat (counts) = jnp.repeat(x, i, total_repeat_length=12)
reshape = a.reshape(-1)
reshape (3, -1) = a.reshape(3, -1)
resize = jnp.resize(x, (n, 2))
roll = jnp.roll(x, 1)
rollaxis = jnp.rollaxis(a, 1)
searchsorted = jnp.searchsorted(jnp.sort(x), c)
searchsorted (right) = jnp.searchsorted(jnp.sort(x), c, side="right")
searchsorted (queries) = jnp.searchsorted(jnp.sort(c), x)
searchsorted (sort) = jnp.searchsorted(jnp.sort(x), y, method="sort")
searchsorted (compare_all) = jnp.searchsorted(jnp.sort(x), y, method="compare_all")
select = jnp.select([b, x > 0.5], [x, y], 0.0)
split = jnp.split(a, [1, 2], axis=1)
swapaxes = jnp.swapaxes(a, 0, 1)
take = jnp.take(x, i % n)
take (wrap) = jnp.take(x, jnp.array([7, -9]), mode="wrap")
take (clip) = jnp.take(x, jnp.array([7, -9]), mode="clip")
take (fill) = jnp.take(x, jnp.array([0, 99]), mode="fill")
take_along_axis = jnp.take_along_axis(a, i[:, None] % 3, 1)
tensordot = jnp.tensordot(s, a, 1)
tile = jnp.tile(x, 2)
top_k = jnp.top_k(jnp.concatenate([x, c]), 2)
unpackbits = jnp.unpackbits(i.astype("uint8"))
unravel_index = jnp.unravel_index(i, (3, 3))
unstack = jnp.unstack(a, axis=1)
vectorize = jnp.vectorize(lambda p, q: p * q, signature="(),()->()")(x, y)
vsplit = jnp.vsplit(jnp.concatenate([a[:1], a]), [1])
where = jnp.where(b, x, y)
x[n - 1] = x[n - 1]
x[-1] = x[-1]
x[::2] = x[::2]
x[1:] = x[1:] - x[:-1]
x[i] = x[i % n]
x[b] sum = jnp.where(b, x, 0).sum()
x.at[i].add = jnp.zeros(n).at[i % n].add(x)
x / len(x) = x / len(x)
reshape(-1, n // 3) = jnp.tile(x, 3).reshape(-1, (3 * n) // 3).sum(0)
"""

LINALG = """
F(s): cholesky det inv pinv slogdet eigvalsh svdvals cond matrix_norm matrix_rank matrix_transpose diagonal trace
F(s, y): solve
F(s, a): matmul solve
F(x): norm vector_norm
F(x, y): outer vecdot
cross = jnp.linalg.cross(a, a[::-1] + 1)
eigh = (lambda r: r[0])(jnp.linalg.eigh(s))
eigh (whole) = (lambda r: (r[1] * r[0]) @ r[1].T)(jnp.linalg.eigh(s))
svd (whole) = (lambda r: (r[0] * r[1]) @ r[2])(jnp.linalg.svd(s))
svd (tall) = jnp.linalg.svd(a.T @ a, compute_uv=False)
qr (whole) = (lambda r: r[0] @ r[1])(jnp.linalg.qr(s))
lstsq = jnp.linalg.lstsq(s, y)[0]
matrix_power = jnp.linalg.matrix_power(s, 3)
multi_dot = jnp.linalg.multi_dot([s, s, a])
tensordot = jnp.linalg.tensordot(s, a, axes=1)
tensorinv = jnp.linalg.tensorinv(s, 1)
tensorsolve = jnp.linalg.tensorsolve(s, y)
eigvals = jnp.sort(jnp.linalg.eigvals(s).real)
"""

FFT = """
F(x): fft ifft rfft ihfft fftshift ifftshift
F(z): fft ifft irfft hfft
F(s): fft2 ifft2 rfft2 fftn ifftn rfftn
F(s + 0j): irfft2 irfftn
F(n): fftfreq rfftfreq
fft (axis 0) = jnp.fft.fft(a, axis=0)
fft (fixed) = jnp.fft.fft(a, axis=1)
fft (n=8) = jnp.fft.fft(x, n=8)
irfft (n) = jnp.fft.irfft(jnp.fft.rfft(x), n=n)
"""

LAX = """
F(x): abs acos asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh cumlogsumexp cummax cummin cumprod cumsum
F(x): digamma erf erf_inv erfc exp exp2 expm1 floor is_finite lgamma log log1p log2 logistic neg one_minus_square
F(x): reciprocal round rsqrt sign sin sinh sort sqrt square stop_gradient tan tanh optimization_barrier
F(x + 1): acosh
F(x, y): add atan2 complex div dot eq ge gt igamma igammac le lt max min mul ne nextafter pow rem sub zeta igamma_grad_a
F(x, y): random_gamma_grad sort_key_val
F(i): bitwise_not clz population_count
F(i, j): bitwise_and bitwise_or bitwise_xor shift_left shift_right_arithmetic shift_right_logical mulhi
F(z): conj imag real
approx_max_k = jax.lax.approx_max_k(jnp.concatenate([x, c]), 2)
approx_min_k = jax.lax.approx_min_k(jnp.concatenate([x, c]), 2)
argmax = jax.lax.argmax(x, 0, "int32")
argmin = jax.lax.argmin(x, 0, "int32")
associative_scan = jax.lax.associative_scan(jnp.add, x)
associative_scan (reverse) = jax.lax.associative_scan(jnp.multiply, a, reverse=True)
associative_scan (pairs) = jax.lax.associative_scan(lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1]), (x, y))
batch_matmul = jax.lax.batch_matmul(s[None], a[None])
betainc = jax.lax.betainc(x + 1, y + 1, x)
bitcast_convert_type = jax.lax.bitcast_convert_type(x, "int32")
broadcast = jax.lax.broadcast(x, (2,))
broadcast_in_dim = jax.lax.broadcast_in_dim(x, (2, n), (1,))
broadcasted_iota = jax.lax.broadcasted_iota("int32", (n, 2), 0)
clamp = jax.lax.clamp(0.2, x, 0.7)
collapse = jax.lax.collapse(a, 0)
concatenate = jax.lax.concatenate([x, y, x], 0)
cond = jax.lax.cond(x[0] > 0.5, lambda p: p * 2, lambda p: p + 1, x)
conv (VALID) = jax.lax.conv(jnp.pad(x, 2)[None, None], c[None, None, :3], (1,), "VALID")
conv (SAME) = jax.lax.conv(x[None, None], c[None, None, :3], (1,), "SAME")
conv (stride 2, SAME) = jax.lax.conv(x[None, None], c[None, None, :3], (2,), "SAME")
conv (stride 2, VALID) = jax.lax.conv(jnp.pad(x, 2)[None, None], c[None, None, :3], (2,), "VALID")
conv (dilated) = jax.lax.conv_general_dilated(jnp.pad(x, 4)[None, None], c[None, None, :3], (1,), "VALID",
    rhs_dilation=(2,))
conv (batch) = jax.lax.conv_general_dilated(a[:, None], c[None, None, :2], (1,), "SAME")
conv_transpose = jax.lax.conv_transpose(x[None, :, None], c[:3, None, None], (2,), "SAME")
conv_general_dilated_patches = jax.lax.conv_general_dilated_patches(x[None, None], (3,), (1,), "SAME")
conv_with_general_padding = jax.lax.conv_with_general_padding(x[None, None], c[None, None], (1,), [(3, 3)], None, None)
conv_general_dilated_local = jax.lax.conv_general_dilated_local(a[:, None], jnp.ones((1, 2, 2)), (1,), "VALID", (2,))
convert_element_type = jax.lax.convert_element_type(x, "int32")
custom_linear_solve = jax.lax.custom_linear_solve(lambda p: s @ p, y, lambda f, q: jnp.linalg.solve(s, q),
    symmetric=True)
custom_root = jax.lax.custom_root(lambda p: p**3 - x, x, lambda f, p: jnp.cbrt(x), lambda g, q: q / g(jnp.ones_like(q)))
dot_general = jax.lax.dot_general(s, a, (((1,), (0,)), ((), ())))
dynamic_index_in_dim = jax.lax.dynamic_index_in_dim(x, i[0] % n)
dynamic_slice = jax.lax.dynamic_slice(jnp.concatenate([x, c]), (i[0],), (3,))
dynamic_slice_in_dim = jax.lax.dynamic_slice_in_dim(jnp.concatenate([x, c]), i[0], 3)
dynamic_update_index_in_dim = jax.lax.dynamic_update_index_in_dim(x, 0.5, i[0] % n, 0)
dynamic_update_slice = jax.lax.dynamic_update_slice(x, jnp.array([0.5]), (i[0],))
dynamic_update_slice_in_dim = jax.lax.dynamic_update_slice_in_dim(x, jnp.array([0.5]), i[0], 0)
expand_dims = jax.lax.expand_dims(x, (0,))
fft = jax.lax.fft(z, "fft", (n,))
fori_loop = jax.lax.fori_loop(0, n, lambda t, p: p * 0.5 + x[t], 0.0)
full = jax.lax.full((n,), 0.5)
full_like = jax.lax.full_like(x, 0.5)
gather = jax.lax.gather(x, i[:, None] % n, jax.lax.GatherDimensionNumbers((), (0,), (0,)), (1,))
index_in_dim = jax.lax.index_in_dim(x, 0)
index_take = jax.lax.index_take(x, (i % n,), (0,))
integer_pow = jax.lax.integer_pow(x, 3)
iota = jax.lax.iota("int32", n)
map = jax.lax.map(lambda p: jnp.sin(p) * 2, x)
map (batch_size) = jax.lax.map(lambda p: jnp.sin(p) * 2, x, batch_size=2)
pad = jax.lax.pad(x, 0.0, [(1, 2, 1)])
pad (negative) = jax.lax.pad(x, 0.0, [(-1, 2, 0)])
polygamma = jax.lax.polygamma(jnp.round(x) + 1, y)
polynomial = jax.lax.polynomial(x, c)
ragged_dot = jax.lax.ragged_dot(a, jnp.stack([d, d]), jnp.array([1, 0]))
reduce = jax.lax.reduce(x, 0.0, jax.lax.add, (0,))
reduce_and = jax.lax.reduce_and(b, (0,))
reduce_max = jax.lax.reduce_max(x, (0,))
reduce_min = jax.lax.reduce_min(x, (0,))
reduce_or = jax.lax.reduce_or(b, (0,))
reduce_precision = jax.lax.reduce_precision(x, 5, 10)
reduce_prod = jax.lax.reduce_prod(x, (0,))
reduce_sum = jax.lax.reduce_sum(x, (0,))
reduce_window (max) = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2,), (1,), "SAME")
reduce_window (max, stride 2) = jax.lax.reduce_window(jnp.pad(x, 1), -jnp.inf, jax.lax.max, (2,), (2,), "VALID")
reduce_window (add) = jax.lax.reduce_window(x, 0.0, jax.lax.add, (2,), (1,), "SAME")
reduce_window (add, stride 2) = jax.lax.reduce_window(jnp.pad(x, 1), 0.0, jax.lax.add, (3,), (2,), "VALID")
reduce_xor = jax.lax.reduce_xor(i, (0,))
reshape = jax.lax.reshape(a, (3 * n,))
rev = jax.lax.rev(x, (0,))
scan = jax.lax.scan(lambda p, q: (p * 0.5 + q, p), 0.0, x)
scan (reverse, unroll) = jax.lax.scan(lambda p, q: (p * 0.5 + q, p), 0.0, x, reverse=True, unroll=2)
scatter = jax.lax.scatter(x, jnp.array([[0]]), jnp.array([0.5]), jax.lax.ScatterDimensionNumbers((), (0,), (0,)))
scatter_add = jax.lax.scatter_add(x, i[:, None] % n, y, jax.lax.ScatterDimensionNumbers((), (0,), (0,)))
scatter_max = jax.lax.scatter_max(x, i[:, None] % n, y, jax.lax.ScatterDimensionNumbers((), (0,), (0,)))
scatter_min = jax.lax.scatter_min(x, i[:, None] % n, y, jax.lax.ScatterDimensionNumbers((), (0,), (0,)))
scatter_mul = jax.lax.scatter_mul(x, jnp.arange(n)[:, None], y, jax.lax.ScatterDimensionNumbers((), (0,), (0,)),
    unique_indices=True)
scatter_sub = jax.lax.scatter_sub(x, i[:, None] % n, y, jax.lax.ScatterDimensionNumbers((), (0,), (0,)))
select = jax.lax.select(b, x, y)
select_n = jax.lax.select_n(b, x, y)
slice = jax.lax.slice(x, (0,), (n,), (2,))
slice_in_dim = jax.lax.slice_in_dim(x, 1, None)
split = jax.lax.split(a, (1, 2), 1)
squeeze = jax.lax.squeeze(x[None], (0,))
switch = jax.lax.switch(i[0] % 2, [jnp.sin, jnp.cos], x)
tile = jax.lax.tile(x, (2,))
top_k = jax.lax.top_k(jnp.concatenate([x, c]), 2)
transpose = jax.lax.transpose(a, (1, 0))
while_loop = jax.lax.while_loop(lambda p: p.sum() < 5, lambda p: p * 2, x)
linalg.cholesky = jax.lax.linalg.cholesky(s)
linalg.eigh = jax.lax.linalg.eigh(s)[1]
linalg.householder_product = (lambda r: jax.lax.linalg.householder_product(r[0], r[1]))(jnp.linalg.qr(s,
    mode='raw')) @ s
linalg.lu = (lambda r: r[0])(jax.lax.linalg.lu(s))
linalg.qdwh = jax.lax.linalg.qdwh(s)[1]
linalg.triangular_solve = jax.lax.linalg.triangular_solve(s, a, left_side=True, lower=True)
linalg.tridiagonal_solve = jax.lax.linalg.tridiagonal_solve(x * 0, y + 2, x * 0, a)
linalg.symmetric_product = jax.lax.linalg.symmetric_product(a, s)
"""

NN = """
F(v): celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid log_softmax
F(v): logmeanexp logsumexp mish relu relu6 selu sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid
F(v): squareplus standardize swish tanh
F(x): log1mexp
glu = jax.nn.glu(jnp.concatenate([x, y]))
one_hot = jax.nn.one_hot(i, 9)
one_hot (classes) = jax.nn.one_hot(i, n)
dot_product_attention = jax.nn.dot_product_attention(a[None, :, None], a[None, :, None], a[None, :, None])
dot_product_attention (causal) = jax.nn.dot_product_attention(a[None, :, None], a[None, :, None], a[None, :, None],
    is_causal=True)
max_pool = -jax.lax.reduce_window(-a, jnp.inf, jax.lax.min, (2, 1), (1, 1), "SAME")
"""

OPS = """
F(x, i, 9): segment_max segment_min segment_prod segment_sum
"""

RANDOM = """
F(k, (n,)): bits cauchy exponential gumbel laplace logistic maxwell normal
F(k, (n,)): rademacher uniform
F(k, x): bernoulli gamma poisson geometric
ball = jax.random.ball(k, 3, shape=(n,))
beta = jax.random.beta(k, x, y)
binomial = jax.random.binomial(k, 5.0, x)
categorical = jax.random.categorical(k, x)
categorical (shape) = jax.random.categorical(k, c, shape=(n,))
chisquare = jax.random.chisquare(k, x + 1)
choice = jax.random.choice(k, x, (4,))
choice (n) = jax.random.choice(k, n, (4,))
choice (p) = jax.random.choice(k, x, (4,), p=y / y.sum())
choice (without replacement) = jax.random.choice(k, x, (1,), replace=False)
choice (without replacement, p) = jax.random.choice(k, x, (1,), replace=False, p=y / y.sum())
dirichlet = jax.random.dirichlet(k, x + 1)
double_sided_maxwell = jax.random.double_sided_maxwell(k, 0.0, x)
f = jax.random.f(k, x + 1, y + 1)
generalized_normal = jax.random.generalized_normal(k, 1.5, (n,))
loggamma = jax.random.loggamma(k, x + 1)
lognormal = jax.random.lognormal(k, x)
multinomial = jax.random.multinomial(k, 5, x / x.sum())
multivariate_normal = jax.random.multivariate_normal(k, x, s)
orthogonal = (lambda q: q @ q.T)(jax.random.orthogonal(k, n))
pareto = jax.random.pareto(k, x + 1)
permutation = jax.random.permutation(k, x)
permutation (n) = jax.random.permutation(k, n)
permutation (independent) = jax.random.permutation(k, a, independent=True)
randint = jax.random.randint(k, (n,), 0, 9)
rayleigh = jax.random.rayleigh(k, x)
split = jax.vmap(jax.random.uniform)(jax.random.split(k, n))
t = jax.random.t(k, x + 1)
triangular = jax.random.triangular(k, 0.0, x, 1.0)
truncated_normal = jax.random.truncated_normal(k, -1.0, x)
wald = jax.random.wald(k, x)
weibull_min = jax.random.weibull_min(k, x, y)
"""

SCIPY = """
special.F(x): digamma entr erf erfc erfcinv erfcx erfinv exp1 expi gamma gammaln gammasgn i0 i0e i1 i1e log_ndtr
special.F(x): log_softmax loggamma logit logsumexp expit ndtr ndtri softmax spence dawsn wofz factorial
special.F(x, y): beta betaln gammainc gammaincc kl_div rel_entr xlog1py xlogy boxcox boxcox1p owens_t poch
special.F(x): fresnel sici
special.zeta = jss.special.zeta(x + 2, y)
special.betainc = jss.special.betainc(x, y, x)
special.bessel_jn = jss.special.bessel_jn(x, v=2)
special.comb = jss.special.comb(x + 5, y)
special.expn = jss.special.expn(2, x)
special.hyp1f1 = jss.special.hyp1f1(x, y + 1, x)
special.hyp2f1 = jss.special.hyp2f1(x, y, x + 1, y * 0.5)
special.multigammaln = jss.special.multigammaln(x + 2, 2)
special.polygamma = jss.special.polygamma(1, x)
linalg.F(s): cholesky det expm inv
linalg.F(x): circulant fiedler toeplitz
linalg.F(n): dft hilbert pascal helmert
linalg.F(s, y): solve
linalg.block_diag = jss.linalg.block_diag(s, d)
linalg.cho_factor = jnp.tril(jss.linalg.cho_factor(s, lower=True)[0])
linalg.cho_solve = jss.linalg.cho_solve((jnp.linalg.cholesky(s), True), y)
linalg.companion = jss.linalg.companion(jnp.concatenate([c, x]))
linalg.convolution_matrix = jss.linalg.convolution_matrix(x, 4)
linalg.eigh = jss.linalg.eigh(s, eigvals_only=True)
linalg.eigh_tridiagonal = jss.linalg.eigh_tridiagonal(x, y[1:], eigvals_only=True)
linalg.expm_frechet = jss.linalg.expm_frechet(s, s)[1]
linalg.hankel = jss.linalg.hankel(x, y)
linalg.leslie = jss.linalg.leslie(x, y[1:])
linalg.lu = (lambda r: r[0] @ r[1] @ r[2])(jss.linalg.lu(s))
linalg.lu_factor = jss.linalg.lu_factor(s)[0]
linalg.lu_solve = jss.linalg.lu_solve(jss.linalg.lu_factor(s), y)
linalg.polar = jss.linalg.polar(s)[1]
linalg.qr = (lambda r: r[0] @ r[1])(jss.linalg.qr(s))
linalg.qr_multiply = (lambda r: r[0] @ r[1])(jss.linalg.qr_multiply(s, jnp.eye(n)))
linalg.solve_sylvester = jss.linalg.solve_sylvester(s, s, s)
linalg.solve_triangular = jss.linalg.solve_triangular(s, y, lower=True)
linalg.sqrtm = jss.linalg.sqrtm(s).real
linalg.svd = jss.linalg.svd(s, compute_uv=False)
linalg.toeplitz (two) = jss.linalg.toeplitz(x, c)
signal.convolve = jss.signal.convolve(x, c)
signal.convolve (same) = jss.signal.convolve(x, c[:3], mode="same")
signal.convolve (fft) = jss.signal.convolve(x, c, method="fft")
signal.convolve2d = jss.signal.convolve2d(a, d)
signal.correlate = jss.signal.correlate(x, y)
signal.correlate2d = jss.signal.correlate2d(a, d)
signal.csd = jss.signal.csd(jnp.concatenate([c, x]), jnp.concatenate([c, y]), nperseg=4)[1]
signal.detrend = jss.signal.detrend(x)
signal.detrend (constant) = jss.signal.detrend(x, type="constant")
signal.fftconvolve = jss.signal.fftconvolve(x, c)
signal.stft = jss.signal.stft(jnp.concatenate([c, x]), nperseg=4)[2]
signal.istft = jss.signal.istft(jss.signal.stft(jnp.concatenate([c, x]), nperseg=4)[2], nperseg=4)[1]
signal.welch = jss.signal.welch(jnp.concatenate([c, x]), nperseg=4)[1]
fft.F(x): dct idct
fft.F(s): dctn idctn
ndimage.map_coordinates = jss.ndimage.map_coordinates(x, [y * 3], 1)
cluster.vq = jss.cluster.vq.vq(a, d)
integrate.trapezoid = jss.integrate.trapezoid(x, y)
interpolate.RegularGridInterpolator = jss.interpolate.RegularGridInterpolator((jnp.sort(c),), c,
    bounds_error=False)(x[:, None])
interpolate.RegularGridInterpolator (grid) = jss.interpolate.RegularGridInterpolator((jnp.concatenate([c[:1] * 0,
    jnp.sort(x) + 0.1, c[:1] * 0 + 2]),), jnp.concatenate([c[:1], y, c[1:2]]))(c[:, None])
optimize.minimize = jax.scipy.optimize.minimize(lambda p: ((p - x) ** 2).sum(), x * 0, method="BFGS",
    options={"maxiter": 3}).x
sparse.linalg.cg = jss.sparse.linalg.cg(s, y, maxiter=4)[0]
sparse.linalg.bicgstab = jss.sparse.linalg.bicgstab(s, y, maxiter=2)[0]
sparse.linalg.gmres = jss.sparse.linalg.gmres(s, y, maxiter=1, restart=3)[0]
stats.mode = jss.stats.mode(i)
stats.rankdata = jss.stats.rankdata(x)
stats.sem = jss.stats.sem(jnp.concatenate([x, c]))
stats.gaussian_kde = jss.stats.gaussian_kde(jnp.concatenate([x, c]))(c)
stats.beta.F(x, x + 1, y + 1): cdf logcdf logpdf pdf sf logsf
stats.F.logpdf(x): cauchy expon gumbel_l gumbel_r laplace logistic norm uniform
stats.F.cdf(x): cauchy expon gumbel_l gumbel_r laplace logistic norm uniform
stats.F.ppf(x): cauchy expon gumbel_l gumbel_r logistic norm
stats.F.sf(x): cauchy expon gumbel_l gumbel_r logistic norm
stats.F.logpdf(x, y + 1): chi2 gamma gennorm pareto t vonmises
stats.F.cdf(x, y + 1): chi2 gamma gennorm pareto
stats.F.logpmf(i, y): geom poisson bernoulli
stats.binom.logpmf = jss.stats.binom.logpmf(i, 9, y)
stats.nbinom.logpmf = jss.stats.nbinom.logpmf(i, 9, y)
stats.betabinom.logpmf = jss.stats.betabinom.logpmf(i, 9, x, y)
stats.dirichlet.logpdf = jss.stats.dirichlet.logpdf(x / x.sum(), y + 1)
stats.multinomial.logpmf = jss.stats.multinomial.logpmf(i, i.sum(), x / x.sum())
stats.multivariate_normal.logpdf = jss.stats.multivariate_normal.logpdf(y, x, s)
stats.truncnorm.logpdf = jss.stats.truncnorm.logpdf(x, -1.0, y + 1)
stats.wrapcauchy.logpdf = jss.stats.wrapcauchy.logpdf(x, y * 0.9)
"""
