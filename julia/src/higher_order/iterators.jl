# Lazy iterators whose functions may touch a Buffer: they are walked element by element, in the program's own order.

"""
    is_lazy(itr) -> Bool

Whether iterating `itr` may run functions; arrays, tuples and dictionaries hold their elements already.
"""
is_lazy(itr) = true
is_lazy(::Union{AbstractArray,Tuple,NamedTuple,AbstractDict,AbstractSet,Number,AbstractString}) = false

# These have no rule of Zygote's that takes an array of cotangents.
const OneByOne = Union{Iterators.Accumulate,Iterators.Cycle,Iterators.Drop,Iterators.DropWhile,Iterators.Filter,
                       Iterators.Flatten,Iterators.PartitionIterator,Iterators.Rest,Iterators.Reverse,Iterators.TakeWhile}

walks_one_by_one(itr) = itr isa OneByOne || (is_lazy(itr) && may_reach_buffer(itr))

"""
    Collected()

Where `collect_one_by_one` keeps its elements, and on the way back their cotangents.
"""
mutable struct Collected
    values::Vector{Any}
    cotangents::Vector{Any}
end
Collected() = Collected(Any[], Any[])

keep!(c::Collected, x) = (push!(c.values, x); nothing)

function shaped(c::Collected, itr)
    ys = map(identity, c.values)
    Base.IteratorSize(itr) isa Base.HasShape ? reshape(ys, size(itr)) : ys
end

function Zygote._pullback(::Context, ::typeof(keep!), c::Collected, x)
    keep!(c, x), _ -> (nothing, nothing, pop!(c.cotangents))
end

function Zygote._pullback(::Context, ::typeof(shaped), c::Collected, itr)
    function share_out(Δ)
        δ = unthunk_tangent(Δ)
        n = length(c.values)
        c.cotangents = δ === nothing || δ isa AbstractZero ? fill!(Vector{Any}(undef, n), nothing) : vec(collect(Any, δ))
        nothing
    end
    shaped(c, itr), share_out
end

Zygote._pullback(::Context, ::Type{Collected}) = Collected(), _ -> nothing

# Zygote differentiates this loop, so what the iterator does and what is done with its elements interleave as they do
# without differentiation.
function collect_one_by_one(itr)
    collected = Collected()
    for x in itr
        keep!(collected, x)
    end
    shaped(collected, itr)
end

Zygote._pullback(cx::Context, ::typeof(collect), itr::OneByOne) = differentiated(cx, collect_one_by_one, itr)

# These have one, which collects what is inside them without differentiating it.
for T in (:(Iterators.Zip), :(Iterators.Take), :(Iterators.ProductIterator))
    @eval function Zygote._pullback(cx::Context, ::typeof(collect), itr::$T)
        may_reach_buffer(itr) && return differentiated(cx, collect_one_by_one, itr)
        ys, pull = ZygoteRules.adjoint(cx, collect, itr)
        ys, Δ -> (δ = unthunk_tangent(Δ); δ === nothing || δ isa AbstractZero ? nothing : (nothing, pull(δ)...))
    end
end

# Zygote's own method filters at once, before the first element is used.
function Zygote._pullback(cx::Context, T::Type{<:Iterators.Filter}, f, xs)
    if !may_reach_buffer(f, xs)
        ys, back = differentiated(cx, filter, f, collect(xs))
        return ys, back ∘ unthunk_tangent
    end
    T(f, xs), Δ -> Δ === nothing ? nothing : (nothing, Δ.flt, Δ.itr)
end

function collect_lazy(itr)
    walks_one_by_one(itr) ? collect_one_by_one(itr) : itr
end

# `f(itr...)`: Zygote walks the iterators without differentiating what they run.
function Zygote._pullback(cx::Context, ::typeof(Core._apply_iterate), ::typeof(iterate), f, args...)
    if any(walks_one_by_one, args)
        y, back = differentiated(cx, splat_collected, f, args...)
        return y, Δ -> (d = back(Δ); d === nothing ? nothing : (nothing, nothing, Base.tail(d)...))
    end
    y, back = Core._apply_iterate(iterate, differentiated, (cx, f), args...)
    shapes = map(Zygote._empty, args)
    y, Δ -> (d = back(Δ); d === nothing ? nothing : (nothing, nothing, first(d), Zygote.unapply(shapes, Base.tail(d))...))
end

splat_collected(f, args...) = f(flatten_once(map(collect_lazy, args))...)
flatten_once(args::Tuple{Any}) = args[1]
flatten_once(args::Tuple) = (args[1]..., flatten_once(Base.tail(args))...)
