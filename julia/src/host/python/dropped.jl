# Sparse arithmetic leaves out elements that come to zero, and engines give what a sparse matrix stores a gradient: theirs would be lost.

"""
    hold_beside(derivatives, found, plan, values, random, remembered)

Raise `LostGradient` if the gradients or tangents `found()` are not those just beside: where `derivatives(values)` are the same on both
sides of the point, and others at it. At a kink the sides differ, and the answer stands. For calls with sparse matrices, and of
functions that make or hold some.
"""
function hold_beside(derivatives, found, plan::Plan, values::Vector{Any}, random, remembered::Remembered)
    has_sparse(plan, values) || return
    here = reals_of(found())
    beside(sign) = MutationBridge.attempt() do
        with_random(() -> again(() -> reals_of(derivatives(nudged(plan, values, sign))), remembered), random)
    end
    above = beside(1)
    MutationBridge.is_lost(here, above, above) || return
    MutationBridge.is_lost(here, above, beside(-1)) && MutationBridge.lost_by("sparse arithmetic", "")
    return
end

"Whether sparse matrices come into calls: as arguments or in them, or by the function's own code, as far as that tells."
has_sparse(plan::Plan, values) = !isempty(plan.sparse) || (plan.outside[] !== nothing && plan.outside[].sparse) ||
    any(i -> is_own(plan, i) && holds_sparse(values[i]), eachindex(values))

function holds_sparse(x)
    found = false
    MutationBridge.visit((part, _) -> (found |= part isa SparseArrays.AbstractSparseArray), x, "", Base.IdSet{Any}())
    return found
end

"The leaves with all floats a little larger or smaller, zeros among them; of Julia's own values those that are differentiated and can be moved."
nudged(plan::Plan, values::Vector{Any}, sign::Int) = Any[nudged(plan, i, values[i], sign) for i in eachindex(values)]
function nudged(plan::Plan, i::Int, x, sign::Int)
    beside() = MutationBridge.nudged(x, sign, 1000 * i)
    differentiable(x) && return beside()
    return is_own(plan, i) && i in plan.wanted ? something(MutationBridge.attempt(beside), x) : x
end

"The gradients of the wanted leaves."
gradients_of(plan::Plan, found, values) =
    Tuple(is_own(plan, i) ? gradient_of_own(found[i], values[i]) : conformed(found[i], values[i]) for i in plan.wanted)
