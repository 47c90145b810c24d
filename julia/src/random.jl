"""
Random numbers from explicit keys: the bits of Python's `bridge.random` and of `jax.random` (threefry), in Julia.

A key is a pair of `UInt32`; the same key gives the same numbers. `shape` is a tuple, `()` for a number. Element `[i, j]`
of a matrix is element `[i - 1, j - 1]` of Python's. `docs/random.md` of the Python package explains `gradient`.

    using MutationBridge.KeyedRandom: KeyedRandom as KR
    KR.normal(KR.key(0), (2, 3))
"""
module KeyedRandom

using ChainRulesCore, ForwardDiff
using ForwardDiff: Dual, partials, value

include("random/threefry.jl")
include("random/normals.jl")
include("random/gamma.jl")
include("random/draws.jl")

end
