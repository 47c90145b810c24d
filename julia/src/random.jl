"""
Random numbers from explicit keys: the bits of Python's `bridge.random` and of `jax.random` (threefry), in Julia.

A key is a pair of `UInt32`; the same key gives the same numbers. `shape` is a tuple, `()` for a number. Element `[i, j]`
of a matrix is element `[i - 1, j - 1]` of Python's. Draws are differentiated with the key fixed; where one has parameters,
`gradient` says what it is to those who differentiate with respect to them: `:pathwise`, `:frozen` (a constant), or `:error`.

```jldoctest
julia> import MutationBridge.KeyedRandom as KR

julia> first_key, second_key = KR.split(KR.key(0));        # a key is used once

julia> round.(KR.normal(first_key, (3,)); digits = 6)
3-element Vector{Float64}:
  1.88003
 -0.481215
  0.415457

julia> only(gradient(a -> sum(a .* KR.normal(first_key, (3,))), 2.0)) ≈ sum(KR.normal(first_key, (3,)))
true
```
"""
module KeyedRandom

using ChainRulesCore, ForwardDiff
using ForwardDiff: Dual, partials, value

VERSION >= v"1.11" && @eval $(Expr(:public, :key, :split, :fold_in, :bits, :uniform, :normal, :exponential, :gumbel, :gamma, :bernoulli,
    :categorical, :permutation, :RandomGradientError))

include("random/threefry.jl")
include("random/normals.jl")
include("random/gamma.jl")
include("random/draws.jl")

end
