"""The StableHLO builder: functions on `Tensor` handles; the one place that chooses static or dynamic ops.

Lowering rules use it as `from ..codegen import builder as hlo`. Handles have operators: `+ - * / & | ~ < <= > >=`.
"""

from ..ir.host_calls import HostCall
from ..ir.kinds import Monoid, identity
from .control import (
    Carries,
    all_true,
    call,
    case,
    growing_loop,
    host_call,
    if_,
    import_elementwise,
    import_function,
    import_functions,
    mapped,
    while_loop,
    written_out,
)
from .core import Builder, Check, SizeSource, Tensor
from .elementwise import *
from .equations import discrete_riccati, expm, triangular_form, triangular_sylvester, tridiagonal_lu, tridiagonal_solve
from .indexing import (
    count_true,
    data_size,
    dynamic_slice,
    dynamic_update_slice,
    element_sizes,
    gather,
    known_size,
    put,
    put_elements,
    row,
    rows_of,
    running_count,
    scatter,
    take,
    take_elements,
    true_places,
    with_row,
    with_rows,
)
from .linalg import (
    cholesky,
    diagonal,
    eig,
    eigh,
    householder_product,
    householder_qr,
    lu,
    lu_factor,
    lu_solve,
    permutation_sign,
    permuted_rows,
    pivoted_qr,
    pivots_to_permutation,
    rank_of,
    reflectors,
    schur,
    singular_values,
    svd,
    triangle,
    triangular_solve,
)
from .places import BOOL, INT32, INT64, Dims, DType
from .plans import planned
from .reduce import (
    MONOIDS,
    arg_reduce,
    cumulative,
    dot_general,
    is_nan,
    is_number,
    larger,
    less_nan_last,
    map_elements,
    ordered,
    reduce,
    reduce_monoid,
    smaller,
    sort,
)
from .shape import (
    all_static,
    broadcast,
    broadcast_in_dim,
    concatenate,
    custom_call,
    expand_dims,
    full,
    iota,
    pad,
    product,
    reshape,
    reverse,
    slice,
    slice_axes,
    slice_axis,
    squeeze,
    stack_scalars,
    transpose,
    with_dims,
    with_last,
)
from .signal import as_product, at_end, by_axes, correlate, fft, of_some

Root = SizeSource  # its older name
