# Running sums and products, and differences.

@numpy np.cumsum(a; axis=nothing) = running(cumsum, a, axis)
# ChainRules has the running products of vectors only.
@numpy np.cumprod(a; axis=nothing) = running(products, a, axis)
products(x::AbstractVector) = cumprod(x)
products(x; dims) = linewise(cumprod, x, dims)
running(f, a, axis) = axis === nothing || ndims(a) == 0 ? f(vec(a)) : f(a; dims=dim(a, axis))

@numpy np.cumulative_sum(x; axis=nothing, include_initial=false) = with_initial(running(cumsum, x, axis), x, axis, include_initial, zero)
@numpy np.cumulative_prod(x; axis=nothing, include_initial=false) = with_initial(running(products, x, axis), x, axis, include_initial, one)
function with_initial(sums, x, axis, include_initial, neutral)
    include_initial || return sums
    d = axis === nothing ? 1 : dim(x, axis)
    return cat(fill_like(getindex(sums, key(sums, d, 1:1)...), neutral(eltype(x))), sums; dims=d)
end

@numpy function np.diff(a; n=1, axis=-1, prepend=nothing, append=nothing)
    d = dim(a, axis)
    pieces = (end_piece(prepend, a, d)..., a, end_piece(append, a, d)...)
    joined = length(pieces) == 1 ? a : cat(pieces...; dims=d)
    for _ in 1:n
        m = size(joined, d)
        joined = getindex(joined, key(joined, d, 2:m)...) .- getindex(joined, key(joined, d, 1:m-1)...)
    end
    return joined
end
"What is put before or after: an array, or a number that stands for one slice of itself."
end_piece(::Nothing, a, d) = ()
end_piece(given, a, d) = ndims(given) == 0 ? (given .+ zero_slice(a, d),) : (given,)
zero_slice(a, d) = zeros(eltype(a), ntuple(k -> k == d ? 1 : size(a, k), ndims(a)))
@non_differentiable zero_slice(::Any, ::Any)
