# Entry points for a Python process: calls with NumPy arrays, gradients, and the objects that both sides keep.
module Python

using ChainRulesCore: ChainRulesCore, AbstractThunk, AbstractZero, Tangent, canonicalize, ignore_derivatives, unthunk
using ForwardDiff: ForwardDiff
using LinearAlgebra: LinearAlgebra, Transpose, norm
using Random: Random
using SparseArrays: SparseArrays, SparseMatrixCSC, issparse
using Statistics: Statistics
using Zygote: IRTools, Zygote, ZygoteRules
using ..MutationBridge: MutationBridge, Along, Disproved, Level, LostGradient, MutationError, OtherValues, Outside, RecursiveType, Remembered, again, hold_along, holds_floats, look_into_argument!, put_back!, unseen

include("interface.jl")
include("kept.jl")
include("memory.jl")
include("checksums.jl")
include("values.jl")
include("containers.jl")
include("sparse.jl")
include("tangents.jl")
include("plans.jl")
include("results.jl")
include("reverse.jl")
include("own_values.jl")
include("engines.jl")
include("dropped.jl")
include("mutating.jl")
include("moving.jl")
include("forward.jl")
include("jacobians.jl")
include("failures.jl")
include("source.jl")
include("entries.jl")

end
