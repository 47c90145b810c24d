# Other engines of Julia for a function, by name, and the choice among them; they come as optional packages.

const OTHER_ENGINES = (forwarddiff = "ForwardDiff", reversediff = "ReverseDiff", mooncake = "Mooncake", enzyme = "Enzyme")

"The engines that `:auto` tries, in this order: the last two differentiate functions that write plain arrays."
const AUTOMATIC = (:zygote, :mooncake, :enzyme)

"""
    OtherValues()

A function that was run again, for its derivative, gave other values: it depends on more than its arguments and `Random.default_rng()`.
"""
struct OtherValues <: Exception end
Base.showerror(io::IO, ::OtherValues) = print(io, "the function gave other values when it was run again: it depends on \
    more than its arguments and Random.default_rng()")

"""
    Disproved(msg)

Finite differences say that an engine's gradient is wrong, or cannot say whether it is right where that is in doubt: the function
writes memory that outlives the call, which the engine takes for constant, say. Or the engine itself lost track of that memory.
"""
struct Disproved <: Exception
    msg::String
end
Base.showerror(io::IO, error::Disproved) = print(io, "Disproved: ", error.msg)

"""
    RecursiveType(msg)

An engine cannot differentiate a function because a type in its code refers to itself, directly or through others (a linked list, a
tree). `msg` says which function and type, and the remedy. Mooncake (0.5.45) derives the type of a tangent from the types of all fields,
without end for such a type, and would end the process.
"""
struct RecursiveType <: Exception
    msg::String
end
Base.showerror(io::IO, error::RecursiveType) = print(io, "RecursiveType: ", error.msg)

"""
    NoEngine(refusals)

No engine that is there differentiates a function; `refusals` are the engines and what each raised, in the order of the attempts.
"""
struct NoEngine <: Exception
    refusals::Vector{Pair{Symbol,Any}}
end

function Base.showerror(io::IO, error::NoEngine)
    showerror(io, last(first(error.refusals)))
    for (engine, refusal) in error.refusals[2:end]
        print(io, "\n$engine: ", first(split(sprint(showerror, refusal), '\n')))
    end
    missing = [OTHER_ENGINES[ad] for ad in AUTOMATIC[2:end] if all(pair -> first(pair) !== ad, error.refusals)]
    isempty(missing) || print(io, "\nWhat differentiates functions that write plain arrays is not loaded: add one of the packages \
        $(join(missing, ", ")), and using DifferentiationInterface, $(first(missing))")
end

"""
    pullback_by(ad::Symbol, f, args...) -> value, back

The value of `f(args...)` and its pullback by the engine `ad`: `:zygote` (this package's own [`pullback`](@ref)),
`:forwarddiff`, `:reversediff`, `:mooncake`, `:enzyme`, or `:auto`: the first of `:zygote`, `:mooncake` and `:enzyme` that is loaded
and differentiates the function. The others are called through DifferentiationInterface, which must be loaded together with the
engine's package. `f` may write its arguments if the engine differentiates that; it gets copies. Their gradients are of numbers,
arrays and nested tuples of these, `nothing` for anything else. Raises [`OtherValues`](@ref MutationBridge.OtherValues)
if `f` depends on state of its own, and `:auto` [`NoEngine`](@ref MutationBridge.NoEngine) with what each engine said,
[`Disproved`](@ref MutationBridge.Disproved) among it where finite differences contradict, and
[`RecursiveType`](@ref MutationBridge.RecursiveType); `ArgumentError` for an engine that is not there.

```jldoctest
julia> import DifferentiationInterface      # with ForwardDiff, which is always there

julia> y, back = MutationBridge.pullback_by(:forwarddiff, x -> (y = copy(x); y[1] *= y[2]; y), [2.0, 3.0]);

julia> y, back([1.0, 0.0])
([6.0, 3.0], ([3.0, 2.0],))
```
"""
function pullback_by(ad::Symbol, f, args...)
    ad === :zygote && return pullback(f, args...)
    ad === :auto && return pullback_by_any(f, args)
    haskey(OTHER_ENGINES, ad) || throw(ArgumentError(
        "ad=:$ad is no engine; use one of :auto, :zygote, $(join(map(repr, keys(OTHER_ENGINES)), ", "))"))
    available(Val(ad)) || throw(ArgumentError(
        "ad=:$ad needs the packages DifferentiationInterface and $(OTHER_ENGINES[ad]): load both with " *
        "using DifferentiationInterface, $(OTHER_ENGINES[ad])"))
    found = Outside(f, args)
    random, remembered = copy(Random.default_rng()), Remembered(memory_of(found))
    value = f(deepcopy(args)...)
    return value, interface_pullback(backend(Val(ad)), f, deepcopy(args), deepcopy(value), random, true, remembered, found)
end

"""
Whether each answer of an engine about a function is to be held against finite differences, not the first alone. Mooncake (0.5.45) keeps
the cotangents of arrays that code names as constants from one call to the next, where a branch chooses between them and others.
"""
is_doubtful(engine::Symbol, found::Outside) = engine === :mooncake && names_memory(found)

"Whether no other engine is to be asked."
is_final(error) = ends_program(error)

"The next engine of `:auto` that is loaded; `NoEngine` if there is none."
function next_engine(refusals)
    tried = something(findfirst(==(first(last(refusals))), AUTOMATIC))
    left = filter(ad -> available(Val(ad)), collect(AUTOMATIC[tried+1:end]))
    return isempty(left) ? throw(NoEngine(refusals)) : first(left)
end

"Raise if other engines would say `nothing` of an argument that may hold floats: they see numbers, arrays, and tuples of these."
check_packable(x) = x isa Union{Number,AbstractString,AbstractChar,Symbol,Function,Type,Nothing} || throw(ArgumentError(
    "only Zygote gives a gradient by a $(typeof(x)), and it refuses the function; pass its numbers and arrays as arguments"))
check_packable(x::Union{Tuple,NamedTuple}) = foreach(check_packable, values(x))
check_packable(x::AbstractArray{T}) where {T} = isconcretetype(T) && T <: Union{Number,AbstractString,Symbol} || invoke(check_packable, Tuple{Any}, x)

"""
The pullback by the first engine that gives one. An engine may refuse on the way back too; the next one then has to find the same value.
"""
function pullback_by_any(f, args::Tuple)
    refusals, random, kept, found = Pair{Symbol,Any}[], copy(Random.default_rng()), deepcopy(args), Outside(f, args)
    remembered = Remembered(memory_of(found))
    value, back = try
        pullback(f, args...)
    catch error
        is_final(error) && rethrow()
        push!(refusals, :zygote => error)
        copy!(Random.default_rng(), random)
        put_back!(remembered)
        value = f(deepcopy(kept)...)        # what the function itself raises comes before what engines say
        next_engine(refusals)
        foreach(check_packable, args)
        value, nothing
    end
    expected = deepcopy(value)
    return value, function pull(ct)
        while true
            ad = isempty(refusals) ? :zygote : next_engine(refusals)
            try
                ad === :zygote && return held(back(ct), "Zygote", f, kept, first(slots_of(expected, 1)), ct, random, remembered)
                return interface_pullback(backend(Val(ad)), f, deepcopy(kept), expected, random, true, remembered, found)(ct)
            catch error
                is_final(error) && rethrow()
                push!(refusals, ad => error)
            end
        end
    end
end

"""
    AutoMutationBridge(; ad=:auto)

This package as a backend of DifferentiationInterface. It chooses as [`pullback_by`](@ref MutationBridge.pullback_by) does: Zygote under our
context, and for functions that write plain arrays, `f!(y, x)` among them, Mooncake or Enzyme if they are loaded. `ad` names one engine
instead; `ArgumentError` if there is none of that name. Needs DifferentiationInterface to be loaded: without it there is no method.

```jldoctest
julia> using MutationBridge: AutoMutationBridge

julia> import DifferentiationInterface as DI

julia> DI.gradient(x -> (b = Buffer(x); b[1] *= b[2]; b[1]^2), AutoMutationBridge(), [1.0, 2.0])
2-element Vector{Float64}:
 8.0
 4.0
```
"""
function AutoMutationBridge end

# The package extension of DifferentiationInterface adds the methods that do the work.
available(::Val) = false
function backend end
function interface_pullback end
