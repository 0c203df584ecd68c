"""The StableHLO builder: functions on `Tensor` handles; the one place that chooses static or dynamic ops.

Lowering rules use it as `from ..codegen import builder as hlo`.
"""

from ..ir.kinds import Monoid as Monoid
from ..ir.kinds import identity as identity
from .control import Carries as Carries
from .control import all_true as all_true
from .control import call as call
from .control import case as case
from .control import custom_call as custom_call
from .control import growing_loop as growing_loop
from .control import if_ as if_
from .control import while_loop as while_loop
from .core import Builder as Builder
from .core import Check as Check
from .core import SizeSource as SizeSource
from .core import Tensor as Tensor
from .data_sizes import count_true as count_true
from .data_sizes import data_size as data_size
from .data_sizes import known_size as known_size
from .data_sizes import running_count as running_count
from .data_sizes import true_places as true_places
from .elementwise import *  # noqa: F403  its `__all__` says what there is
from .imported import import_elementwise as import_elementwise
from .imported import import_function as import_function
from .imported import import_functions as import_functions
from .indexing import dynamic_slice as dynamic_slice
from .indexing import dynamic_update_slice as dynamic_update_slice
from .indexing import element_sizes as element_sizes
from .indexing import gather as gather
from .indexing import put as put
from .indexing import row as row
from .indexing import rows_of as rows_of
from .indexing import scatter as scatter
from .indexing import take as take
from .indexing import with_row as with_row
from .linalg import cholesky as cholesky
from .linalg import diagonal as diagonal
from .linalg import lu as lu
from .linalg import lu_factor as lu_factor
from .linalg import lu_solve as lu_solve
from .linalg import permutation_sign as permutation_sign
from .linalg import pivots_to_permutation as pivots_to_permutation
from .linalg import triangle as triangle
from .linalg import triangular_solve as triangular_solve
from .reduce import MONOIDS as MONOIDS
from .reduce import arg_reduce as arg_reduce
from .reduce import cumulative as cumulative
from .reduce import dot_general as dot_general
from .reduce import less_nan_last as less_nan_last
from .reduce import map_elements as map_elements
from .reduce import reduce as reduce
from .reduce import reduce_monoid as reduce_monoid
from .reduce import sort as sort
from .shape import all_static as all_static
from .shape import broadcast as broadcast
from .shape import broadcast_in_dim as broadcast_in_dim
from .shape import concatenate as concatenate
from .shape import expand_dims as expand_dims
from .shape import full as full
from .shape import iota as iota
from .shape import pad as pad
from .shape import product as product
from .shape import reshape as reshape
from .shape import reverse as reverse
from .shape import slice as slice
from .shape import slice_axes as slice_axes
from .shape import slice_axis as slice_axis
from .shape import squeeze as squeeze
from .shape import stack_scalars as stack_scalars
from .shape import transpose as transpose
from .shape import with_dims as with_dims
from .shape import with_last as with_last
from .types import BOOL as BOOL
from .types import INT32 as INT32
from .types import INT64 as INT64
from .types import Dims as Dims
from .types import DType as DType

Root = SizeSource  # its older name
