# Rules of sorting into and inside a Buffer: elements go where the equal values went, and equal values share.

@mutating_rule sort!(v::Buffer) writes(v) pull(ct, v; after, dims = nothing) = sorted_cotangent(ct, v, after, dims)
partial_sort!(v::AbstractVector, k; keywords...) = (partialsort!(v, k; keywords...); v)
@mutating_rule partial_sort!(v::Buffer, k) writes(v) pull(ct, v, k; after) = matched_cotangent(ct, v, after)

"""As in Base: sort just so much that the elements `k` stand right, and return these."""
Base.partialsort!(b::Buffer, k::Union{Integer,OrdinalRange}; keywords...) = (partial_sort!(b, k; keywords...); b[k])

@mutating_rule sortperm!(ix, v::Buffer) writes(ix) pull(ct, ix, v) = nothing
@mutating_rule sortperm!(ix::Buffer, v::AbstractArray) writes(ix) pull(ct, ix, v) = nothing
Base.sortperm!(ix::AbstractArray, v::Buffer; keywords...) = sortperm!(ix, value(v); keywords...)
Base.sortperm(b::Buffer; keywords...) = sortperm(value(b); keywords...)
Base.issorted(b::Buffer; keywords...) = issorted(value(b); keywords...)
@non_differentiable sortperm(::Buffer)
@non_differentiable issorted(::Buffer)

sorted_cotangent(ct, before, after, ::Nothing) = matched_cotangent(ct, before, after)
function sorted_cotangent(ct, before, after, dims)
    moved = similar(ct)
    for fiber in fibers(size(ct), dims)
        moved[fiber...] = matched_cotangent(ct[fiber...], before[fiber...], after[fiber...])
    end
    return moved
end

"""
Cotangent before a permutation that is known by its values only: `before` and `after` hold the same values. Whatever the order, the algorithm and its
stability, a value's cotangent goes to the places where that value stood; places of equal values share, since they may stand in either order.
"""
function matched_cotangent(ct, before, after)
    moved = similar(ct)
    from, to = sortperm(vec(before); by = total_order), sortperm(vec(after); by = total_order)
    k = 1
    while k <= length(from)
        last = k
        while last < length(from) && ties(before[from[last+1]], before[from[k]])
            last += 1
        end
        moved[from[k:last]] .= sum(ct[to[k:last]]) / (last - k + 1)
        k = last + 1
    end
    return moved
end

total_order(x) = x
total_order(z::Complex) = (real(z), imag(z))
ties(a, b) = a == b || isequal(a, b)
