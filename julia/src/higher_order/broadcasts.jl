# Broadcasts: Zygote's own fast paths where nothing can write a Buffer, else one pullback per element, last to first.

using Base.Broadcast: AbstractArrayStyle, broadcasted

function Zygote._pullback(cx::Context, ::typeof(broadcasted), style::AbstractArrayStyle, f::F, args...) where {F}
    refuse_fusion(cx, f, args)
    start = cx.position
    T = Broadcast.combine_eltypes(f, args)
    if T == Bool && !may_reach_buffer(f, args...)
        return f.(args...), _ -> nothing
    elseif fits_forward_mode(T, F, args)
        y, back = Zygote.broadcast_forward(f, args...)
        return y, Δ -> pull_forward(back, Δ)
    end
    calls = Zygote._broadcast((xs...) -> differentiated(cx, f, xs...), args...)
    run(Δ) = (nothing, nothing, pull_broadcast(calls, args, Δ)...)
    note_fusible(cx, broadcast(first, calls), f, args, start), Enclosing(run, cx.position != start)
end

# An array style of no dimensions: one call, whose result is not an array.
function Zygote._pullback(cx::Context, ::typeof(broadcasted), style::AbstractArrayStyle{0}, f, args...)
    start = cx.position
    y, back = Zygote._broadcast((xs...) -> differentiated(cx, f, xs...), args...)
    function run(Δ)
        cotangents = back(Δ)
        cotangents === nothing && return nothing
        (nothing, nothing, cotangents[1], map(as_argument, args, Base.tail(cotangents))...)
    end
    y, Enclosing(run, cx.position != start)
end

as_argument(x, dx) = dx
as_argument(x::Base.RefValue, dx) = dx === nothing ? nothing : (x=dx,)
as_argument(x::AbstractArray{<:Any,0}, dx) = dx === nothing ? nothing : fill(dx)

function Zygote._pullback(cx::Context, ::typeof(broadcasted), style::Broadcast.Style{Tuple}, f, args...)
    refuse_fusion(cx, f, args)
    start = cx.position
    calls = Broadcast.broadcast((xs...) -> differentiated(cx, f, xs...), args...)
    run(Δ) = (nothing, nothing, pull_tuples(calls, args, Δ)...)
    note_fusible(cx, map(first, calls), f, args, start), Enclosing(run, cx.position != start)
end

# GPU arrays keep Zygote's forward mode: their kernels cannot write a Buffer.
function Zygote._pullback(cx::Context, ::typeof(broadcasted), style::Zygote.AbstractGPUArrayStyle, f, args...)
    y, pull = ZygoteRules.adjoint(cx, broadcasted, style, f, args...)
    y, Δ -> pull_forward(pull, Δ)
end

pull_forward(back, ::Union{Nothing,AbstractZero}) = nothing
function pull_forward(back, Δ)
    cotangents = back(unthunk_tangent(Δ))
    cotangents === nothing ? nothing : (nothing, cotangents...)
end

fits_forward_mode(::Type{T}, ::Type{F}, args) where {T,F} = T <: Union{Real,Complex} && isconcretetype(T) &&
    Zygote._dual_purefun(F) && all(Zygote._dual_safearg, args)

function pull_broadcast(calls, args::NTuple{N,Any}, Δ) where {N}
    δs = Δ isa Union{Nothing,AbstractArray} && (Δ === nothing || size(Δ) == size(calls)) ? Δ : reshape(collect(Any, Δ), size(calls))
    cotangents = Zygote._unzip(backwards((back, δ) -> back(δ), calls, δs), Val(N + 1))
    df = Zygote.accum_sum(Zygote.collapse_nothings(cotangents[1]))
    (df, map(spread_back, args, Base.tail(cotangents))...)
end

spread_back(x, dx) = Zygote.unbroadcast(x, densify(Zygote.collapse_nothings(dx)))
spread_back(x::Union{Type,Val,Symbol,Function}, dx) = nothing

function pull_tuples(calls, args::NTuple{N,Any}, Δ) where {N}
    cotangents = Zygote._unzip(backwards((back, δ) -> back(δ), calls, Δ), Val(N + 1))
    (reduce(accum, cotangents[1]; init=nothing), map(spread_back_tuple, args, Base.tail(cotangents))...)
end

spread_back_tuple(x::Tuple, dx) = length(x) == length(dx) ? dx : (reduce(accum, dx; init=nothing),)
spread_back_tuple(x, dx) = as_argument(x, reduce(accum, dx; init=nothing))

# Julia fuses `f.(g.(x))`: nothing runs before the whole expression is known. Zygote runs g for all elements at once. A
# fused broadcast that may touch a Buffer could so read or write it at another time than the program does: refused.
struct Unfinished end

"""The results of broadcasts that may touch a Buffer and are not yet materialized, each with how the log grew in it."""
unfinished(cx::Context) = get!(IdDict{Any,Any}, Zygote.cache(cx), Unfinished)::IdDict{Any,Any}

function note_fusible(cx, y, f, args, start)
    may_reach_buffer(f, args...) && (unfinished(cx)[y] = (grew=cx.position != start, position=cx.position))
    y
end

function refuse_fusion(cx, f, args)
    may_reach_buffer(f, args...) && any(a -> haskey(unfinished(cx), a), args) && fused()
    nothing
end

fused() = throw(LostGradient("a fused broadcast, f.(g.(x)) or b .= f.(x), in which a function can touch a Buffer: under \
    differentiation it would run at another time than in the program. Give its result a name of its own: y = g.(x); f.(y)."))

function settle(cx, y)
    cx.cache === nothing && return y
    waiting_ones = unfinished(cx)
    delete!(waiting_ones, y)
    isempty(waiting_ones) && return y
    all(entry -> !entry.grew && entry.position == cx.position, values(waiting_ones)) || fused()
    empty!(waiting_ones)
    y
end

# The end of a fused expression: its value is an array like any other.
function Zygote._pullback(cx::Context, ::typeof(Broadcast.materialize), y::Union{AbstractArray,Tuple})
    settle(cx, y), Δ -> (nothing, Δ)
end

function Zygote._pullback(cx::Context, ::typeof(broadcast), f, args...)
    y, back = Zygote._pullback(cx, broadcasted, f, args...)
    settle(cx, y), back
end

function Zygote._pullback(cx::Context, ::typeof(Base.materialize!), b::Buffer, y::AbstractArray)
    cx.cache !== nothing && haskey(unfinished(cx), y) && fused()
    invoke(Zygote._pullback, Tuple{AContext,typeof(Base.materialize!),Buffer,Any}, cx, Base.materialize!, b, settle(cx, y))
end
