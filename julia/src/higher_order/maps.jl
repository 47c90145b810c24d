# map, pmap and comprehensions: one pullback per element, called from the last to the first.

"""
    backwards(pull, calls, Δ)

`pull(back, δ)` for every `(value, back)` of `calls` with its element `δ` of the cotangent `Δ`, from the last call to
the first; the answers in the order and the shape of `calls`. `Δ === nothing` gives every call `nothing`.
"""
backwards(pull::P, calls::Array, ::Nothing) where {P} = backwards(pull, calls, NoCotangents(size(calls)))
function backwards(pull::P, calls::Array, Δ) where {P}
    δs = Δ isa AbstractArray ? Δ : collect(Any, Δ)
    answers = map(k -> pull(calls[k][2], δs[k]), length(calls):-1:1)
    reshape(reverse!(answers), size(calls))
end
backwards(pull::P, calls::Tuple, ::Nothing) where {P} = reverse(map(c -> pull(c[2], nothing), reverse(calls)))
backwards(pull::P, calls::Tuple, Δ) where {P} = reverse(map((c, δ) -> pull(c[2], δ), reverse(calls), reverse(Tuple(Δ))))
backwards(pull::P, calls, ::Nothing) where {P} = Zygote._reverse(map(c -> pull(c[2], nothing), Zygote._reverse(calls)))
function backwards(pull::P, calls, Δ) where {P}
    Zygote._reverse(map((c, δ) -> pull(c[2], δ), Zygote._reverse(calls), Zygote._reverse(Δ)))
end

struct NoCotangents{N} <: AbstractArray{Nothing,N}
    size::NTuple{N,Int}
end
Base.size(n::NoCotangents) = n.size
Base.getindex(::NoCotangents, ::Int...) = nothing
Base.IndexStyle(::Type{<:NoCotangents}) = IndexLinear()

"""
    densify(cotangents)

The same cotangents with zeros for the elements that received nothing, if the others are numbers.
"""
densify(dx) = dx
function densify(dx::AbstractArray)
    T = eltype(dx)
    (Nothing <: T && T !== Nothing && Base.nonnothingtype(T) <: Number) || return dx
    zero_of = first(d for d in dx if d !== nothing)
    map(d -> d === nothing ? zero(zero_of) : d, dx)
end

element_axes(xs, calls) = Base.IteratorSize(xs) isa Base.SizeUnknown ? axes(calls) : Zygote._tryaxes(xs)

# `F` decides, as in Zygote, whether the function itself can have a cotangent.
function pull_calls(::Type{F}, calls, shapes::NTuple{N,Any}, Δ) where {F,N}
    if Base.issingletontype(F) && N == 1
        dx = backwards((back, δ) -> Zygote.last_or_nothing(back(δ)), calls, Δ)
        return nothing, restore(dx, shapes[1])
    end
    cotangents = Zygote._unzip(backwards((back, δ) -> back(δ), calls, Δ), Val(N + 1))
    df = Base.issingletontype(F) ? nothing : reduce(accum, cotangents[1]; init=nothing)
    (df, map(restore, Base.tail(cotangents), shapes)...)
end

restore(dx::AbstractArray{Nothing}, _) = nothing
restore(dx::Tuple{Vararg{Nothing}}, _) = nothing
restore(dx, shape) = densify(Zygote._restore(dx, shape))

function Zygote._pullback(cx::Context, ::typeof(map), f::F, args::Vararg{Union{AbstractArray,Tuple},N}) where {F,N}
    start = cx.position
    calls = map((xs...) -> differentiated(cx, f, xs...), args...)
    shapes = map(Zygote._tryaxes, args)
    run(Δ) = (nothing, pull_calls(F, calls, shapes, Δ)...)
    map(first, calls), Enclosing(run, cx.position != start)
end

# Calls of `pmap` that ran one after the other are pulled one after the other; otherwise the log's positions disagree.
function Zygote._pullback(cx::Context, ::typeof(Zygote.pmap), f::F, args::Vararg{Union{AbstractArray,Tuple},N}) where {F,N}
    start = cx.position
    calls = Zygote.pmap((xs...) -> differentiated(cx, f, xs...), args...)
    shapes = map(Zygote._tryaxes, args)
    run(Δ) = (nothing, pull_calls(F, calls, shapes, Δ)...)
    map(first, calls), Enclosing(run, cx.position != start)
end

function Zygote._pullback(cx::Context, ::typeof(collect), g::Base.Generator)
    walks_one_by_one(g.iter) && return differentiated(cx, collect_one_by_one, g)
    start = cx.position
    ys, pull = comprehension(cx, g.f, g.iter)
    run(Δ) = (df_dx = pull(Δ); (nothing, (f=df_dx[1], iter=df_dx[2])))
    ys, Enclosing(run, cx.position != start)
end

function comprehension(cx, f::F, itr) where {F}
    xs, dict_keys = Zygote.collect_if_dict(itr)
    calls = collect(Base.Generator(x -> differentiated(cx, f, x), xs))
    shape = element_axes(xs, calls)
    function pull(Δ)
        df, dx = pull_calls(F, calls, (shape,), Δ)
        df, dx === nothing ? nothing : Zygote.reconstruct_if_dict(dx, dict_keys)
    end
    map(first, calls), pull
end
