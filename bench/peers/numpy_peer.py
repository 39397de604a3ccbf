"""NumPy's linalg, on the OpenBLAS that it brings."""

from common import arguments, fastest, report

import numpy as np
from numpy import linalg

_, (name, n) = arguments()
rng = np.random.default_rng(0)
x, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
s = x @ x.T + n * np.eye(n)
report(fastest({
    "solve": lambda: linalg.solve(x, b),
    "inv": lambda: linalg.inv(x),
    "det": lambda: linalg.det(x),
    "slogdet": lambda: linalg.slogdet(x),
    "cholesky": lambda: linalg.cholesky(s),
    "qr": lambda: linalg.qr(x),
    "lstsq": lambda: linalg.lstsq(x, b, rcond=None),
    "pinv": lambda: linalg.pinv(x),
    "svd": lambda: linalg.svd(x),
    "svdvals": lambda: linalg.svd(x, compute_uv=False),
    "eigh": lambda: linalg.eigh(s),
    "eigvalsh": lambda: linalg.eigvalsh(s),
    "eig": lambda: linalg.eig(x),
    "eigvals": lambda: linalg.eigvals(x),
    "matrix_power": lambda: linalg.matrix_power(x, 5),
    "norm": lambda: linalg.norm(x),
    "norm2": lambda: linalg.norm(x, 2),
    "cond": lambda: linalg.cond(x),
}[name]))
