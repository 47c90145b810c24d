# Decompositions with triangular factors: Cholesky and QR.

@numpy np.linalg.cholesky(a; upper=false) =
    matrixwise(m -> (c = cholesky(Hermitian(hermitian_of(m, upper ? "U" : "L"))); upper ? adjoint(c.L) : c.L), a)
