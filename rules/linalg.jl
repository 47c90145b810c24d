# Linear systems, inverses, determinants, least squares. Each matrix of a stack by itself.

@numpy np.linalg.solve(a, b) = ndims(b) == 1 ?
    without_dim(matrixwise(solution, a, reshape(b, 1, :)), 1) : matrixwise(solution, a, b)
solution(a, b) = a \ b
# By BLAS, where dual numbers would be eliminated one by one.
solution(a::MovingArray{2}, b) = moved_solution(a, b)
solution(a, b::MovingArray{2}) = moved_solution(a, b)
solution(a::MovingArray{2}, b::MovingArray{2}) = moved_solution(a, b)
function moved_solution(a, b)
    factors = lu(at_rest(a))
    x = factors \ at_rest(b)
    return joined_with(x, factors \ (along_of(b) - along_of(a) * x))
end
@numpy np.linalg.inv(a) = matrixwise(inverse, a)
inverse(a) = inv(a)
inverse(a::MovingArray) = joined_with(frule((NoTangent(), along_of(a)), inv, at_rest(a))...)
@numpy np.linalg.slogdet(a) = matrixwise(m -> reverse(logabsdet(m)), a)

# ChainRules takes `det(a) * inv(a)'`; a singular matrix has cofactors too.
@numpy np.linalg.det(a) = matrixwise(determinant, a)
determinant(m) = det(m)
function ChainRulesCore.rrule(::typeof(determinant), m::AbstractMatrix)
    value = det(m)
    return value, ct -> (NoTangent(), ct * adjugate(m, value)')
end
determinant(m::MovingArray) = by_frule(determinant, m)
ChainRulesCore.frule((_, along), ::typeof(determinant), m) = (value = det(m); (value, tr(adjugate(m, value) * along)))
function adjugate(m, value)
    u, s, v = svd(m)
    last(s) > 1e-8 * first(s) && return value * inv(m)
    others = [prod(s[j] for j in eachindex(s) if j != k; init=one(eltype(s))) for k in eachindex(s)]
    return det(u) * conj(det(v)) * v * Diagonal(others) * u'
end

@numpy np.linalg.pinv(a; hermitian=false) = matrixwise(m -> pseudo_inverse(hermitian ? hermitian_of(m, "L") : m), a)
pseudo_inverse(m) = pinv(m)
pseudo_inverse(m::MovingArray) = joined_with(frule((NoTangent(), along_of(m)), pinv, at_rest(m))...)

# Least squares by the pseudo-inverse; residuals, rank and singular values as NumPy returns them.
@numpy function np.linalg.lstsq(a, b; rcond=nothing, out)
    columns = ndims(b) == 1 ? reshape(b, 1, :) : b
    solution = matrixwise((m, r) -> pseudo_inverse(m) * r, a, columns)
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
