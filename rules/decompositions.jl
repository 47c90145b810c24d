# Decompositions with triangular factors: Cholesky and QR.

@numpy np.linalg.cholesky(a; upper=false) =
    matrixwise(m -> (c = cholesky(Hermitian(hermitian_of(m, upper ? "U" : "L"))); upper ? adjoint(c.L) : c.L), a)

# ChainRules has no rule for `qr`. Of full rank, the triangle is Cholesky's of `m' * m`, with LAPACK's signs.
@numpy function np.linalg.qr(a; mode="reduced", out)
    columns, rows = size(a, 1), size(a, 2)
    mode in ("reduced", "complete", "r") || notcovered("mode=$(repr(mode)) has no derivative")
    mode == "complete" && rows > columns && notcovered("nothing of Julia's gives the columns that mode=\"complete\" adds")
    mode == "r" && return matrixwise((m, like) -> last(factors(m, like[1])), a; reference=(out,))
    return matrixwise((m, like) -> factors(m, like[2]), a; reference=out)
end
function factors(m, like)
    k = min(size(m)...)
    square = m[:, 1:k]
    gram = Hermitian(square' * square)
    full_rank(gram, square) || notcovered("the matrix has not full rank")
    triangle = Diagonal(sign.(diag(like))) * cholesky(gram).U
    q = square / triangle
    return q, hcat(triangle, q' * m[:, k+1:end])
end
full_rank(gram, m) = rank(at_rest(m)) == size(m, 2) && issuccess(cholesky(gram; check=false))
@non_differentiable full_rank(::Any, ::Any)
