# Functions that repeat, drop or spread elements: tiles, diagonals, triangles, stretches of zeros.

@numpy function np.tile(A, reps)
    lengths, counts = tile_counts(asarray(A), reps)
    return repeat(reshape(asarray(A), lengths), counts...)
end
function tile_counts(x, reps)
    counts = reverse(vec(collect(reps)))
    n = max(ndims(x), length(counts))
    return ntuple(k -> size(x, k), n), ntuple(k -> k <= length(counts) ? counts[k] : 1, n)
end
@non_differentiable tile_counts(::Any, ::Any)

@numpy function np.repeat(a, repeats; axis=nothing)
    x, d = axis === nothing || ndims(a) == 0 ? (vec(asarray(a)), 1) : (a, dim(a, axis))
    return getindex(x, key(x, d, sources_of(size(x, d), repeats))...)
end
function sources_of(n, repeats)
    counts = vec(collect(repeats))
    return reduce(vcat, (fill(k, length(counts) == 1 ? counts[1] : counts[k]) for k in 1:n); init=Int[])
end
@non_differentiable sources_of(::Any, ::Any)

@numpy function np.resize(a, new_shape)
    lengths = reversed(new_shape, 0)
    return isempty(a) ? zeros(eltype(a), lengths) : reshape(vec(a)[rounds(lengths, length(a))], lengths)
end
rounds(lengths, n) = mod1.(1:prod(lengths), n)
@non_differentiable rounds(::Any, ::Any)

@numpy function np.diag(v; k=0)
    ndims(v) == 1 && return spread_on_diagonal(v, k)
    return on_diagonal(v, k, 2, 1)
end
@numpy np.diagflat(v; k=0) = spread_on_diagonal(vec(asarray(v)), k)
spread_on_diagonal(v, k) = diagm(-k => v)

@numpy np.tril(m; k=0) = triangular(m, k, >=)
@numpy np.triu(m; k=0) = triangular(m, k, (difference, offset) -> difference <= offset)
triangular(m, k, keeps) = choose(triangle(m, k, keeps), m, zero(eltype(m)))
function triangle(m, k, keeps)
    columns, rows = size(m, 1), ndims(m) == 1 ? size(m, 1) : size(m, 2)
    return keeps === (>=) ? [k >= column - row for column in 1:columns, row in 1:rows] :
           [column - row >= k for column in 1:columns, row in 1:rows]
end
@non_differentiable triangle(::Any, ::Any, ::Any)

@numpy function np.trim_zeros(filt; trim="fb", axis=nothing, out)
    return getindex(filt, kept_ranges(filt, size(out), lowercase(trim), dims(filt, axis))...)
end
function kept_ranges(x, lengths, trim, trimmed)
    cells = findall(!iszero, x)
    first_cell(d) = isempty(cells) ? 1 : minimum(cell[d] for cell in cells)
    start(d) = 'f' in trim && d in trimmed && lengths[d] > 0 ? first_cell(d) : 1
    return ntuple(d -> start(d):start(d)+lengths[d]-1, ndims(x))
end
@non_differentiable kept_ranges(::Any, ::Any, ::Any, ::Any)
