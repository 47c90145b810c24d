# Sparse arithmetic leaves out elements that come to zero (`S .* x` where an element of x is zero, `sparse(x)`), and rules give
# the elements that a sparse array stores a gradient: that of the others would be lost.
#
# Each call that has a rule and returns a sparse array is tried a little beside its arguments. If more is stored there, the whole gradient
# is held against those beside the arguments, because only it tells whether what was left out matters.

"""Note in the context that a call left out elements of a sparse array, if it did; `called` is the value of `f(args...)` and its pullback."""
@inline noted(cx, f, args, called) = called
@inline function noted(cx::Context, f, args, called::Tuple{Any,Any})
    first(called) isa AbstractSparseArray && note_dropped!(cx, f, args, first(called))
    return called
end

@noinline function note_dropped!(cx::Context, @nospecialize(f), @nospecialize(args), @nospecialize(y))
    cx.dropped === nothing || return
    moved = map(x -> something(nudged(x, 1), Some(x)), args)
    all(map(===, moved, args)) && return
    beside = keeping_random(copy(Random.default_rng())) do
        attempt(() -> Base.materialize(f(map(something, moved)...)))
    end
    beside isa AbstractSparseArray && SparseArrays.nnz(beside) <= SparseArrays.nnz(y) && return
    cx.dropped = spelled_call(f, args)
    return
end

spelled_call(f, args) = string(nameof(f))
spelled_call(::typeof(Core.kwcall), args) = string(nameof(args[2]))
function spelled_call(::typeof(Broadcast.broadcasted), args)
    k = findfirst(x -> x isa Function, args)
    return k === nothing ? "a broadcast" : "a broadcast of $(nameof(args[k]))"
end

"""Raise `LostGradient` if a call left out elements of a sparse array, and the gradient just beside the arguments is another one."""
function hold_dropped(pull, ct, cts)
    cx = pull.context
    cx.dropped === nothing && return
    any(r -> r.guest, cx.roots) && untold(cx.dropped)
    here = reals_in(cts, pull.args)
    beside(sign) = attempt() do
        args = map(x -> nudged(x, sign), pull.args)
        keeping_random(pull.random) do
            y, other = play(pull.f, map(something, args)...)
            reals_in(sweep!(other, ct), pull.args)
        end
    end
    any(x -> nudged(x, 1) === nothing, pull.args) && untold(cx.dropped)
    above = beside(1)
    above === nothing && untold(cx.dropped)
    is_lost(here, above, above) || return
    is_lost(here, above, beside(-1)) && lost_by(cx.dropped, AS_DENSE)
    return
end

@noinline lost_by(what, remedy) = throw(LostGradient("$what leaves out an element that is zero here, and an engine loses its gradient: \
    the derivative just beside these arguments is another one. $remedy", true))

@noinline untold(what) = throw(LostGradient("$what leaves out an element that is zero here, and whether an engine loses its gradient \
    cannot be told: arguments are structs or Buffers, a Buffer from outside is written, or the function raises beside them. $AS_DENSE", true))

const AS_DENSE = "Compute with the full array in its place, Array(S)."

"""
    is_lost(here, above, below) -> Bool

Whether one of the numbers `here` is another than the mean of those on both sides, by more than these differ.
"""
is_lost(here, above, below) = false
function is_lost(here::Vector{T}, above::Vector{T}, below::Vector{T}) where {T<:AbstractFloat}
    length(here) == length(above) == length(below) && all(isfinite, above) && all(isfinite, below) || return false
    floor = 10 * sqrt(eps(T)) * maximum(abs, above; init=zero(T))
    return any(zip(here, above, below)) do (x, a, b)
        abs((a + b) / 2 - x) > 5 * abs(a - b) + floor
    end
end

"""
    nudged(x, sign) -> Some(value) or nothing

The argument with all floats a little larger or smaller, zeros among them, but for those that a sparse array does not store; `nothing`
where that cannot be told.
"""
nudged(x, sign) = has_no_floats(typeof(x)) ? Some(x) : nothing
nudged(x::Union{AbstractFloat,ForwardDiff.Dual,Complex{<:Continuous}}, sign) = Some(only(nudged_array([x], sign)))
nudged(x::Union{AbstractString,Symbol,Type,Module,Nothing,Missing,Random.AbstractRNG}, sign) = Some(x)
nudged(x::AbstractArray{T}, sign) where {T} = has_no_floats(T) ? Some(x) : nothing
nudged(x::AbstractArray{<:Union{Continuous,Complex{<:Continuous}}}, sign) = Some(nudged_array(x, sign))
nudged(x::Buffer, sign) = nothing
nudged(x::Tuple, sign) = all_nudged(map(part -> nudged(part, sign), x))
function nudged(x::NamedTuple{names}, sign) where {names}
    parts = nudged(values(x), sign)
    return parts === nothing ? nothing : Some(NamedTuple{names}(something(parts)))
end
all_nudged(parts) = any(isnothing, parts) ? nothing : Some(map(something, parts))

has_no_floats(T) = T <: Union{Integer,AbstractString,AbstractChar,Symbol} || Base.issingletontype(T)

function nudged_array(x::AbstractArray{T}, sign) where {T}
    isempty(x) && return x
    flat = vec(collect(x))
    return reshape(flat .+ (sign * sqrt(eps(real_of(T)))) .* direction(map(magnitude, flat), 0), size(x))
end
function nudged_array(x::AbstractSparseArray, sign)
    beside = copy(x)
    SparseArrays.nonzeros(beside) .= nudged_array(SparseArrays.nonzeros(x), sign)
    return beside
end
nudged_array(x::Diagonal, sign) = Diagonal(nudged_array(x.diag, sign))
nudged_array(x::Union{Adjoint,Transpose}, sign) = (x isa Adjoint ? adjoint : transpose)(nudged_array(parent(x), sign))
nudged_array(x::Union{Symmetric,Hermitian}, sign) = (x isa Symmetric ? Symmetric : Hermitian)(nudged_array(parent(x), sign), Symbol(x.uplo))

real_of(::Type{T}) where {T<:AbstractFloat} = T
real_of(::Type{<:ForwardDiff.Dual{<:Any,V}}) where {V} = real_of(V)
real_of(::Type{Complex{T}}) where {T} = real_of(T)
magnitude(x::AbstractFloat) = x
magnitude(x::ForwardDiff.Dual) = magnitude(ForwardDiff.value(x))
magnitude(x::Complex) = magnitude(real(x))

"""The reals of gradients, in the order of the arguments `like`; zeros where there is none."""
function reals_in(gradients, like)
    found = Real[]
    push_reals!(found, gradients, like)
    T = mapreduce(typeof, promote_type, found; init=Union{})
    return T === Union{} ? Float64[] : convert(Vector{T}, found)
end

push_reals!(found, g, x) = nothing
push_reals!(found, ::Nothing, x::Union{Tuple,NamedTuple}) = foreach(part -> push_reals!(found, nothing, part), values(x))
push_reals!(found, g::Tuple, x::Tuple) = foreach((g, x) -> push_reals!(found, g, x), g, x)
push_reals!(found, g::NamedTuple, x::NamedTuple) = foreach(name -> push_reals!(found, get(g, name, nothing), x[name]), keys(x))
push_reals!(found, g::AbstractFloat, x) = push!(found, g)
push_reals!(found, g::Complex, x) = (push_reals!(found, real(g), x); push_reals!(found, imag(g), x))
push_reals!(found, g::ForwardDiff.Dual, x) = (push_reals!(found, ForwardDiff.value(g), x); foreach(p -> push_reals!(found, p, x), ForwardDiff.partials(g)))
push_reals!(found, g::AbstractArray{<:Number}, x) = foreach(one -> push_reals!(found, one, x), g)
push_reals!(found, ::Nothing, x::Union{Number,AbstractArray{<:Number}}) = push_reals!(found, zero(x), x)
