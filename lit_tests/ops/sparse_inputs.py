"""What the tests of sparse matrices start from: a known matrix, as a constant and with other values at its places."""

import numpy as np
import pytensor.sparse as ps
import pytensor.tensor as pt
import scipy.sparse

x, values = pt.dmatrix("x"), pt.dvector("values")
row, column, rows = pt.dvector("row"), pt.dvector("column"), pt.lvector("rows")
known = scipy.sparse.csr_matrix(np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 5.0]]))
constant, csc_constant = ps.as_sparse_variable(known), ps.as_sparse_variable(known.tocsc())
csr = ps.CSR(values, known.indices, known.indptr, known.shape)
csc = ps.CSC(values, known.tocsc().indices, known.tocsc().indptr, known.shape)
dense = ps.dense_from_sparse
places = pt.constant(known.indices), pt.constant(known.indptr)
