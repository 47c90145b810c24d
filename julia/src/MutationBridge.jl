"""
Reverse-mode differentiation of Julia programs that mutate arrays: [`Buffer`](@ref), a tracked array, and [`gradient`](@ref),
Zygote's transform under a context that logs every write and undoes it on the way back.
"""
module MutationBridge

using ChainRulesCore, ForwardDiff, LinearAlgebra, Random, Zygote, ZygoteRules
using SparseArrays: SparseArrays, AbstractSparseArray
using ZygoteRules: AContext

export Buffer, gradient, withgradient, pullback, hessian, LostGradient, MutationError, @mutating_rule, check_rule, RuleFailure
VERSION >= v"1.11" && @eval $(Expr(:public, :hvp, :jvp, :AutoMutationBridge, :pullback_by, :NoEngine, :Disproved, :OtherValues,
    :RecursiveType, :Report, :Failure, :KeyedRandom))

include("errors.jl")
include("buffer.jl")
include("context.jl")
include("kept_globals.jl")
include("transform.jl")
include("log.jl")
include("refusals.jl")
include("births.jl")
include("reads.jl")
include("writes.jl")
include("growing.jl")
include("gradients.jl")
include("arguments.jl")
include("levels.jl")
include("second_order.jl")
include("higher_order.jl")
include("mutable_state.jl")

include("mutating_rules.jl")
include("arrays.jl")
include("linear_algebra.jl")
include("sorting.jl")
include("check_rule.jl")

include("random.jl")

include("host/session.jl")
include("host/holding/packing.jl")
include("host/holding/outside.jl")
include("host/holding/sizes.jl")
include("host/holding/snapshots.jl")
include("host/holding/differences.jl")
include("host/holding/nudging.jl")
include("host/holding/dropped.jl")
include("host/prepared.jl")
include("host/other_engines.jl")
include("host/python/Python.jl")
include("host/numpy/NumPy.jl")

include("precompile.jl")

end
