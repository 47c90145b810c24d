# Calls that run a user's function (map, broadcast, rules of ChainRules, predicates): their pullbacks run when the log grew.
#
# Zygote gives an enclosing pullback `nothing` when the call's result is unused or has no gradient, and most pullbacks
# then return at once. If the function that was called inside wrote into a Buffer, these writes would never be undone.
# Every method here notes the log's position before and after the call, and runs the pullback all the same if it moved.

using ChainRulesCore: AbstractZero, NoTangent, ZeroTangent, rrule
using Zygote: ZygoteRuleConfig, accum, unthunk_tangent

include("higher_order/reach.jl")
include("higher_order/rules.jl")
include("higher_order/maps.jl")
include("higher_order/iterators.jl")
include("higher_order/broadcasts.jl")
include("higher_order/reductions.jl")
include("higher_order/predicates.jl")
include("higher_order/callables.jl")
include("higher_order/tasks.jl")
