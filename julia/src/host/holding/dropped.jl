# Sparse arithmetic leaves out elements that come to zero (`S .* x` where an element of x is zero, `sparse(x)`), and rules give
# the elements that a sparse array stores a gradient: that of the others would be lost.
#
# Each call that has a rule and returns a sparse array is tried a little beside its arguments, if these are only numbers and arrays, so that
# trying changes nothing. If more is stored there, the whole gradient is held against those beside the arguments: only it tells
# whether what was left out matters. The program then runs up to three times more.

"""Note in the context that a call left out elements of a sparse array, if it did; `called` is the value of `f(args...)` and its pullback."""
@inline noted(cx, f, args, called) = called
@inline function noted(cx::Context, f, args, called::Tuple{Any,Any})
    first(called) isa AbstractSparseArray && note_dropped!(cx, f, args, first(called))
    return called
end

@noinline function note_dropped!(cx::Context, @nospecialize(f), @nospecialize(args), @nospecialize(y))
    cx.dropped === nothing && makes_something_new(f) || return
    is_plain(f) && all(is_plain, args) || return
    given = map(x -> x isa Buffer ? copy(x) : x, args)
    beside = stored_beside(floating(f), map(floating, given))
    beside === nothing && (beside = stored_beside(f, given))     # integers that are sizes or places
    beside isa AbstractSparseArray && SparseArrays.nnz(beside) <= SparseArrays.nnz(y) && return
    cx.dropped = spelled_call(f, args)
    return
end

stored_beside(f, args) = keeping_random(copy(Random.default_rng())) do
    attempt(() -> Base.materialize(f(nudged(args, 1)...)))
end

# The value of the others is a part of their argument.
makes_something_new(f) = !(f in (identity, tuple, getfield, getproperty, getindex, Base.materialize, Zygote.literal_getproperty, Zygote.literal_getfield))

"""Whether trying a call with such an argument changes nothing that anybody sees."""
is_plain(x) = Base.issingletontype(typeof(x)) || (x isa Function && fieldcount(typeof(x)) > 0 && all(k -> getfield(x, k) isa Number, 1:fieldcount(typeof(x))))
is_plain(x::Union{Number,AbstractString,Symbol,Type,AbstractArray{<:Number},Buffer,Broadcast.BroadcastStyle}) = true
is_plain(x::Union{Tuple,NamedTuple}) = all(is_plain, values(x))

floating(x) = x
floating(x::Integer) = float(x)
floating(x::AbstractArray{<:Integer}) = float(x)
floating(::Type{<:SparseArrays.SparseVector}) = SparseArrays.SparseVector
floating(::Type{<:SparseArrays.SparseMatrixCSC}) = SparseArrays.SparseMatrixCSC
floating(x::Union{Bool,AbstractArray{Bool}}) = x

spelled_call(f, args) = string(f isa Union{Function,Type} ? nameof(f) : nameof(typeof(f)))
spelled_call(::typeof(Core.kwcall), args) = spelled_call(args[2], ())
function spelled_call(::typeof(Broadcast.broadcasted), args)
    k = findfirst(x -> x isa Function, args)
    return k === nothing ? "a broadcast" : "a broadcast of $(nameof(args[k]))"
end

"""Raise `LostGradient` if a call left out elements of a sparse array, and the gradient just beside the arguments is another one."""
function hold_dropped(pull, ct, cts)
    cx = pull.context
    cx.dropped === nothing && return
    any(r -> r.guest, cx.roots) && untold(cx.dropped)
    all(can_be_nudged, pull.args) || untold(cx.dropped)
    remembered = Remembered(memory_of(Outside(pull.f)))
    given = map((x, g) -> g isa Union{Nothing,AbstractZero} ? x : floating(x), pull.args, cts)     # integers with a gradient
    beside(sign) = attempt() do
        args = map(x -> sign == 0 ? x : nudged(x, sign), given)
        keeping_random(pull.random) do
            again(remembered) do
                _, other = play(pull.f, args...)
                reals_in(sweep!(other, ct), pull.args)
            end
        end
    end
    here = attempt(() -> reals_in(cts, pull.args))
    here === nothing && untold(cx.dropped)
    above, below, repeated = beside(1), beside(-1), beside(0)
    all(told -> told isa typeof(here) && length(told) == length(here), (above, below, repeated)) || untold(cx.dropped)
    all(isfinite, here) || return
    all(isfinite, above) && all(isfinite, below) && isapprox(here, repeated) || untold(cx.dropped)
    is_lost(here, above, below) && lost_by(cx.dropped, AS_DENSE)
    return
end

@noinline lost_by(what, remedy) = throw(LostGradient("$what leaves out an element that is zero here, and an engine loses its gradient: \
    the derivative just beside these arguments is another one. $remedy", true))

@noinline untold(what) = throw(LostGradient("$what leaves out an element that is zero here, and whether an engine loses its gradient \
    cannot be told: arguments are structs, Buffers or arrays of kinds unknown here, a Buffer from outside is written, or another run \
    beside the arguments raises or gives something else. $AS_DENSE", true))

const AS_DENSE = "Compute with the full array in its place, Array(S)."

"""
    is_lost(here, above, below) -> Bool

Whether one of the numbers `here` is another than the mean of those on both sides, by more than these differ.
"""
is_lost(here, above, below) = false
function is_lost(here::Vector{T}, above::Vector{T}, below::Vector{T}) where {T<:AbstractFloat}
    length(here) == length(above) == length(below) && all(isfinite, above) && all(isfinite, below) || return false
    rounding = 1000 * eps(T) * maximum(abs, above; init=zero(T))
    return any(zip(here, above, below)) do (x, a, b)
        abs((a + b) / 2 - x) > 5 * abs(a - b) + 10 * sqrt(eps(T)) * max(abs(x), abs(a)) + rounding
    end
end

"""Whether `nudged` moves all floats that an argument holds."""
can_be_nudged(x) = !holds_floats(x)
can_be_nudged(x::Number) = true
can_be_nudged(x::AbstractArray) = x isa Nudgeable || !holds_floats(x)
can_be_nudged(x::Buffer) = false
can_be_nudged(f::Function) = !any(k -> holds_floats(getfield(f, k)), 1:fieldcount(typeof(f)))
can_be_nudged(x::Union{Tuple,NamedTuple}) = all(can_be_nudged, values(x))

const Floats{N} = AbstractArray{<:Union{Continuous,Complex{<:Continuous}},N}
const Wrapped = Union{
    Adjoint,Transpose,Symmetric,Hermitian,LowerTriangular,UpperTriangular,UnitLowerTriangular,UnitUpperTriangular,Diagonal,
}
const Nudgeable = Union{Array,SubArray,Base.ReshapedArray,PermutedDimsArray,AbstractRange,AbstractSparseArray,Wrapped}

"""
    nudged(x, sign)

The argument with all floats a little larger or smaller, zeros among them, but for those that a sparse array does not store.
"""
nudged(x, sign) = x
nudged(x::Union{Continuous,Complex{<:Continuous}}, sign) = only(nudged([x], sign))
nudged(x::Union{Tuple,NamedTuple}, sign) = map(part -> nudged(part, sign), x)
nudged(x::Buffer, sign) = x
function nudged(x::Floats, sign)
    isempty(x) && return x
    flat = vec(collect(x))
    return reshape(flat .+ (sign * sqrt(eps(real_of(eltype(x))))) .* direction(map(magnitude, flat), 0), size(x))
end
function nudged(x::AbstractSparseArray{<:Union{Continuous,Complex{<:Continuous}}}, sign)
    beside = copy(x)
    SparseArrays.nonzeros(beside) .= nudged(SparseArrays.nonzeros(x), sign)
    return beside
end
nudged(x::Diagonal{<:Union{Continuous,Complex{<:Continuous}}}, sign) = Diagonal(nudged(x.diag, sign))
for W in (Adjoint, Transpose, LowerTriangular, UpperTriangular, UnitLowerTriangular, UnitUpperTriangular)
    @eval nudged(x::$W{<:Union{Continuous,Complex{<:Continuous}}}, sign) = $W(nudged(parent(x), sign))
end
for W in (Symmetric, Hermitian)
    @eval nudged(x::$W{<:Union{Continuous,Complex{<:Continuous}}}, sign) = $W(nudged(parent(x), sign), Symbol(x.uplo))
end

real_of(::Type{T}) where {T<:AbstractFloat} = T
real_of(::Type{<:ForwardDiff.Dual{<:Any,V}}) where {V} = real_of(V)
real_of(::Type{Complex{T}}) where {T} = real_of(T)
magnitude(x::AbstractFloat) = isfinite(x) ? x : zero(x)
magnitude(x::ForwardDiff.Dual) = magnitude(ForwardDiff.value(x))
magnitude(x::Complex) = magnitude(real(x))

"""The reals of gradients, in the order of the arguments `like`; zeros where there is none."""
function reals_in(gradients, like)
    found = Real[]
    push_reals!(found, gradients, like)
    T = mapreduce(typeof, promote_type, found; init=Union{})
    return T === Union{} ? Float64[] : convert(Vector{T}, found)
end

push_reals!(found, g, x) = error("a gradient of a kind unknown here: $(typeof(g))")
push_reals!(found, g::Union{Nothing,AbstractZero}, x) = nothing
push_reals!(found, ::Nothing, x::Union{Tuple,NamedTuple}) = foreach(part -> push_reals!(found, nothing, part), values(x))
push_reals!(found, ::Nothing, x::Union{Number,AbstractArray{<:Number}}) = holds_floats(x) ? push_reals!(found, zero(x), x) : nothing
push_reals!(found, g::Tuple, x::Tuple) = foreach((g, x) -> push_reals!(found, g, x), g, x)
push_reals!(found, g::Tuple, x) = foreach(g -> push_reals!(found, g, nothing), g)
push_reals!(found, g::NamedTuple, x::NamedTuple) = foreach(name -> push_reals!(found, get(g, name, nothing), x[name]), keys(x))
push_reals!(found, g::NamedTuple, x) = foreach(g -> push_reals!(found, g, nothing), values(g))
push_reals!(found, g::Base.RefValue, x) = push_reals!(found, g[], x)
push_reals!(found, g::Real, x) = push!(found, g)
push_reals!(found, g::Complex, x) = (push_reals!(found, real(g), x); push_reals!(found, imag(g), x))
function push_reals!(found, g::ForwardDiff.Dual, x)
    push_reals!(found, ForwardDiff.value(g), x)
    foreach(p -> push_reals!(found, p, x), ForwardDiff.partials(g))
end
push_reals!(found, g::AbstractArray, x) = foreach(one -> push_reals!(found, one, nothing), g)
push_reals!(found, g::AbstractSparseArray, x::AbstractSparseArray) = push_reals!(found, SparseArrays.nonzeros(g), x)

"""Whether a value holds floats that are differentiated."""
holds_floats(x) = holds_floats(x, Base.IdSet{Any}())
holds_floats(x::Number, seen) = x isa Union{Continuous,Complex{<:Continuous}}
holds_floats(x::AbstractArray{<:Number}, seen) = x isa Floats
holds_floats(x::Function, seen) = false
holds_floats(x::AbstractDict, seen) = unseen(x, seen) && any(part -> holds_floats(part, seen), values(x))
holds_floats(x::AbstractArray, seen) = unseen(x, seen) && any(k -> isassigned(x, k) && holds_floats(x[k], seen), eachindex(x))
function holds_floats(x, seen)
    x isa WITHOUT_FLOATS && return false
    return unseen(x, seen) && any(k -> isdefined(x, k) && holds_floats(getfield(x, k), seen), 1:fieldcount(typeof(x)))
end
unseen(x, seen) = !ismutable(x) || (x ∉ seen && (push!(seen, x); true))
