# Other reverse and forward engines of Julia for a function, by name; they come as optional packages.

const OTHER_ENGINES = (forwarddiff = "ForwardDiff", mooncake = "Mooncake", enzyme = "Enzyme")

"""
    pullback_by(ad::Symbol, f, args...) -> value, back

The value of `f(args...)` and its pullback by the engine `ad`: `:zygote` (this package's own [`pullback`](@ref)),
`:forwarddiff`, `:mooncake` or `:enzyme`. The others are called through DifferentiationInterface, which must be loaded
together with the engine's package. `f` may mutate its arguments if the engine differentiates mutation; it gets copies.
"""
function pullback_by(ad::Symbol, f, args...)
    ad === :zygote && return pullback(f, args...)
    haskey(OTHER_ENGINES, ad) || throw(ArgumentError(
        "ad=:$ad is no engine; use one of :zygote, $(join(map(repr, keys(OTHER_ENGINES)), ", "))"))
    available(Val(ad)) || throw(ArgumentError(
        "ad=:$ad needs the packages DifferentiationInterface and $(OTHER_ENGINES[ad]): load both with " *
        "using DifferentiationInterface, $(OTHER_ENGINES[ad])"))
    return interface_pullback(backend(Val(ad)), f, args...)
end

# The package extension of DifferentiationInterface adds the methods that do the work.
available(::Val) = false
function backend end
function interface_pullback end
