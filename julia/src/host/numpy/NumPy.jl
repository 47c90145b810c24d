# The engine "julia" of NumPy programs: a table from NumPy operations to Julia functions, and their pulls.
#
# The entries of the table are in `rules/*.jl`, beside the rules in Python of the same families; `load` reads them.
# Arrays come with their axes reversed, because a NumPy array of shape (a, b, c) in C order is, without a copy, a
# Julia array of size (c, b, a). Pulls are those that Zygote and ChainRules give for the entry; forward mode sends dual
# numbers through it, and holds what they say against the pull.
module NumPy

using ChainRulesCore: ChainRulesCore, @non_differentiable, AbstractZero, NoTangent, ZeroTangent, frule, rrule, unthunk
using ForwardDiff: Dual
using LinearAlgebra
using Random: Xoshiro
using Zygote: Zygote
using ..MutationBridge: ends_program
using ..Python: TAG, dual, primal, tangent

include("table.jl")
include("memory.jl")
include("axes.jl")
include("moving.jl")
include("each.jl")
include("pulls.jl")
include("forward.jl")

end
