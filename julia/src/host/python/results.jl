# Gradients for Python: small ones copied, large ones handed over where nobody in Julia keeps them.

"Arrays from this many bytes on may be handed over without a copy."
const LARGE = 1 << 20

"What is known about the arrays that a plan returns at one place and size."
mutable struct Ownership
    last::WeakRef    # the memory of the array returned last, copied for Python
    given_up::Bool   # whether an array returned here was seen to be garbage later: nobody keeps them
    asked::Int
end

"""
Whether the function's pullback lets go of the arrays that it returns here. A pullback may return memory that it
uses again (a cache, a constant), which Python must not get hold of. So results are copied until one of them
was collected as garbage.
"""
function lets_go(plan::Plan, place::Int, x::Array)
    seen = get!(() -> Ownership(WeakRef(nothing), false, 0), plan.owned, (place, size(x)))
    seen.given_up && return true
    if seen.asked > 0 && seen.last.value === nothing
        return seen.given_up = true
    end
    seen.last = WeakRef(memory_below(x))
    seen.asked += 1
    seen.asked == 2 && GC.gc(false)
    return false
end

"References to Python's gradients: `found[i]` for each leaf `i` in `plan.wanted`."
function gradients_to_python(plan::Plan, found::Vector{Any}, leaves::Vector{Any}, taken)
    taken = copy(taken)
    made = PyPtr[]
    for i in plan.wanted
        push!(made, is_own(plan, i) ? handed(plan, i, gradient_of_own(found[i], leaves[i]), taken) :
            undispatched(x -> undispatched(g -> conformed_to_python(plan, i, g, x, taken), found[i]), leaves[i])::PyPtr)
    end
    return new_tuple(made)
end

conformed_to_python(plan::Plan, place::Int, found, x, taken) = handed(plan, place, conformed(found, x), taken)

handed(::Plan, ::Int, x, taken) = to_python(x)
function handed(plan::Plan, place::Int, x::Array, taken)
    sizeof(x) < LARGE && return to_python(x)
    free = !any(range -> overlap(range, addresses(x)), taken)
    push!(taken, addresses(x))
    return free && lets_go(plan, place, x) ? held(x) : to_python(x)
end

"The addresses of the wrapped arguments."
wrapped(leaves::Leaves) = UnitRange{UInt}[addresses(e.base) for (_, e) in leaves.arrays if !e.copied]
