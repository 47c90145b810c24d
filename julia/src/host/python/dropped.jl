# Sparse arithmetic leaves out elements that come to zero, and engines give what a sparse matrix stores a gradient: theirs would be lost.

"An element that is zero was left out, and its gradient with it."
struct Dropped <: Exception end
Base.showerror(io::IO, ::Dropped) = print(io, "the derivative just beside these arguments is another one: sparse arithmetic leaves out \
    an element that is zero here, and an engine loses its gradient")

"""
    hold_beside(derivatives, found, plan, values, random, remembered)

Raise `Dropped` if the gradients or tangents that were `found` are not those just beside: where `derivatives(values)` are the same on both
sides of the point, and others at it. At a kink the sides differ, and the answer stands. For calls with sparse matrices, and of
functions that make or hold some.
"""
function hold_beside(derivatives, found, plan::Plan, values::Vector{Any}, random, remembered::Remembered)
    has_sparse(plan) || return
    here = reals_of(found)
    beside(sign) = MutationBridge.attempt() do
        with_random(() -> again(() -> reals_of(derivatives(nudged(values, sign))), remembered), random)
    end
    above = beside(1)
    is_lost(here, above, above) || return
    is_lost(here, above, beside(-1)) && throw(Dropped())
    return
end

"Whether sparse matrices come into calls: as arguments, or by the function's own code, as far as that tells."
has_sparse(plan::Plan) = !isempty(plan.sparse) || (plan.outside[] !== nothing && plan.outside[].sparse)

"Whether one of the numbers `here` is another than the mean of those on both sides, by more than these differ."
is_lost(here, above, below) = false
function is_lost(here::Vector{T}, above::Vector{T}, below::Vector{T}) where {T<:AbstractFloat}
    length(here) == length(above) == length(below) && all(isfinite, above) && all(isfinite, below) || return false
    floor = 10 * sqrt(eps(T)) * maximum(abs, above; init=zero(T))
    return any(zip(here, above, below)) do (x, a, b)
        abs((a + b) / 2 - x) > 5 * abs(a - b) + floor
    end
end

"The leaves with all floats a little larger or smaller, zeros among them."
nudged(values::Vector{Any}, sign::Int) = Any[differentiable(x) ? nudged_leaf(x, sign) : x for x in values]
nudged_leaf(x::Number, sign) = only(nudged_leaf([x], sign))
function nudged_leaf(x::AbstractArray{T}, sign) where {T}
    isempty(x) && return x
    flat = vec(collect(x))
    return reshape(flat .+ T(sign * sqrt(eps(real(T)))) .* MutationBridge.direction(flat, 0), size(x))
end

"The gradients of the wanted leaves."
gradients_of(plan::Plan, found, values) = Tuple(conformed(found[i], values[i]) for i in plan.wanted)
