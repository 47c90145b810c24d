# Norms of vectors and matrices. A norm has a kink where it is zero: its gradient there is zero.

@numpy function np.linalg.norm(x; ord=nothing, axis=nothing, keepdims=false)
    d = dims(x, axis)
    length(d) == 1 || (ord === nothing && length(d) != 2) || return matrix_norm(x, ord, axis, d, keepdims)
    return kept(vector_norm(x, something(ord, 2), d), d, keepdims)
end
@numpy np.linalg.vector_norm(x; axis=nothing, keepdims=false, ord=2) =
    (d = dims(x, axis); kept(vector_norm(x, ord, d), d, keepdims))
@numpy np.linalg.matrix_norm(x; keepdims=false, ord="fro") = matrix_norm(x, ord, (-2, -1), (1, 2), keepdims)

function vector_norm(x, p, d)
    magnitudes = each(abs, x)
    p == 0 && return nondifferentiable(sum(float.(x .!= 0); dims=d))
    p == Inf && return extremum(larger, true, magnitudes, d, nothing, true)
    p == -Inf && return extremum(smaller, true, magnitudes, d, nothing, true)
    p == 1 && return sum(magnitudes; dims=d)
    p == 2 && return each(root, sum(each(abs2, x); dims=d))
    return p_norm(magnitudes, p, d)
end

# Powers of zero have no slope that composes; the norm's is (x / norm)^(p - 1), and nothing where an element is zero.
p_norm(magnitudes, p, d) = sum(magnitudes .^ p; dims=d) .^ (1 / p)
function ChainRulesCore.rrule(::typeof(p_norm), magnitudes, p, d)
    value = p_norm(magnitudes, p, d)
    return value, ct -> (NoTangent(), unthunk(ct) .* power_share.(magnitudes, value, p), NoTangent(), NoTangent())
end
power_share(m, n, p) = iszero(m) || iszero(n) ? zero(m) : (m / n)^(p - 1)

p_norm(magnitudes::MovingArray, p, d) = by_frule(p_norm, magnitudes, p, d)
function ChainRulesCore.frule((_, along), ::typeof(p_norm), magnitudes, p, d)
    value = p_norm(magnitudes, p, d)
    return value, sum(along .* power_share.(magnitudes, value, p); dims=d)
end

function matrix_norm(x, ord, axis, d, keepdims)
    (ord === nothing || ord == "fro" || ord == "f") && return kept(vector_norm(x, 2, d), d, keepdims)
    rows, columns = axis === nothing ? (dim(x, 0), dim(x, 1)) : (dim(x, axis[1]), dim(x, axis[2]))
    if ord isa Number && abs(ord) in (1, Inf)
        added, compared = abs(ord) == 1 ? (rows, columns) : (columns, rows)
        sums = sum(each(abs, x); dims=added)
        return kept(extremum(ord > 0 ? larger : smaller, true, sums, (compared,), nothing, true), d, keepdims)
    end
    rest = others(x, d)
    stack = permutedims(x, (columns, rows, rest...))
    values = matrixwise(singular_values, stack)
    n = size(values, 1)
    chosen_value = ord == "nuc" ? sum(values; dims=1) : getindex(values, key(values, 1, ord == 2 ? (1:1) : (n:n))...)
    return reshape(chosen_value, Tuple(size(x, k) for k in 1:ndims(x) if !(k in d))) |> y ->
        keepdims ? reshape(y, ntuple(k -> k in d ? 1 : size(x, k), ndims(x))) : y
end
