"""Matrix products by the OpenBLAS that numpy brings."""

from common import arguments, fastest, report

import numpy as np

case, (dtype, m, k, n) = arguments()
x, y = np.ones((m, k), dtype), np.ones((k, n), dtype)
out = np.empty((m, n), dtype)
report(fastest(lambda: np.matmul(x, y, out=out)))
assert out.max() == k
