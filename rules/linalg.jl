# Linear systems, inverses, determinants, least squares. Each matrix of a stack by itself.

@numpy np.linalg.solve(a, b) = ndims(b) == 1 ?
    without_dim(matrixwise(\, a, reshape(b, 1, :)), 1) : matrixwise(\, a, b)
@numpy np.linalg.inv(a) = matrixwise(inv, a)
@numpy np.linalg.slogdet(a) = matrixwise(m -> reverse(logabsdet(m)), a)

# ChainRules takes `det(a) * inv(a)'`; a singular matrix has cofactors too.
@numpy np.linalg.det(a) = matrixwise(determinant, a)
determinant(m) = det(m)
function ChainRulesCore.rrule(::typeof(determinant), m::AbstractMatrix)
    value = det(m)
    return value, ct -> (NoTangent(), ct * adjugate(m, value)')
end
function adjugate(m, value)
    u, s, v = svd(m)
    last(s) > 1e-8 * first(s) && return value * inv(m)
    others = [prod(s[j] for j in eachindex(s) if j != k; init=one(eltype(s))) for k in eachindex(s)]
    return det(u) * conj(det(v)) * v * Diagonal(others) * u'
end

@numpy np.linalg.pinv(a; hermitian=false) = matrixwise(m -> pinv(hermitian ? hermitian_of(m, "L") : m), a)

# Least squares by the pseudo-inverse; residuals, rank and singular values as NumPy returns them.
@numpy function np.linalg.lstsq(a, b; rcond=nothing, out)
    columns = ndims(b) == 1 ? reshape(b, 1, :) : b
    solution = matrixwise((m, r) -> pinv(m) * r, a, columns)
    rest = columns .- product(a, solution)
    residuals = isempty(out[2]) ? nondifferentiable(out[2]) : vec(sum(abs2.(rest); dims=2))
    values = matrixwise(singular_values, a)
    return ndims(b) == 1 ? vec(solution) : solution, residuals, nondifferentiable(out[3]), values
end

"The Hermitian matrix of which NumPy reads one triangle, and of the diagonal the real part."
function hermitian_of(m, triangle)
    half = uppercase(triangle) == "L" ? tril(m, -1) : triu(m, 1)
    return half + half' + Diagonal(real.(diag(m)))
end
