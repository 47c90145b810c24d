# Sparse arithmetic leaves out elements that come to zero (`S .* x` where an element of x is zero, `sparse(x)`), and rules give
# the elements that a sparse array stores a gradient: that of the others would be lost.
#
# Each call that has a rule and returns a sparse array is tried a little beside copies of its arguments, so that trying changes
# nothing. If more is stored there, or trying fails, the whole gradient is held against those beside the arguments: only it tells
# whether what was left out matters. The program then runs up to three times more.

"""Note in the context that a call left out elements of a sparse array, if it did; `called` is the value of `f(args...)` and its pullback."""
@inline noted(cx, f, args, called) = called
@inline function noted(cx::Context, f, args, called::Tuple{Any,Any})
    stored(first(called)) === nothing || note_dropped!(cx, f, args, first(called))
    return called
end

const Wrapping{S} = Union{
    Adjoint{<:Any,<:S},Transpose{<:Any,<:S},Symmetric{<:Any,<:S},Hermitian{<:Any,<:S},Diagonal{<:Any,<:S},
    LowerTriangular{<:Any,<:S},UpperTriangular{<:Any,<:S},UnitLowerTriangular{<:Any,<:S},UnitUpperTriangular{<:Any,<:S},
}

"""How many elements the sparse arrays of a value store; `nothing` if there are none."""
stored(y) = nothing
stored(y::AbstractSparseArray) = SparseArrays.nnz(y)
stored(y::Wrapping{AbstractSparseArray}) = stored(parent(y))
stored(y::Union{Tuple,NamedTuple}) = foldl(stored_in_both, map(stored, values(y)); init=nothing)
stored_in_both(m, n) = m === nothing ? n : n === nothing ? m : m + n

@noinline function note_dropped!(cx::Context, @nospecialize(f), @nospecialize(args), @nospecialize(y))
    cx.dropped === nothing && makes_something_new(f) || return
    count = stored(y)
    count === nothing && return
    given = (f, map(x -> x isa Buffer ? copy(x) : x, args)...)
    beside = stored_beside(map(floating, given))
    beside === nothing && (beside = stored_beside(given))     # integers that are sizes or places
    beside !== nothing && beside <= count && return
    cx.dropped = spelled_call(f, args)
    return
end

function stored_beside(call)
    random, remembered = copy(Random.default_rng()), Remembered(memory_of(Outside(call)))
    attempt() do
        keeping_random(random) do
            again(remembered) do
                f, args... = nudged(call, 1)
                stored(Base.materialize(f(args...)))
            end
        end
    end
end

# The value of the others is a part of their argument.
makes_something_new(f) = !(f in (identity, tuple, getfield, getproperty, getindex, Base.materialize, Zygote.unwrap,
    Zygote.literal_getproperty, Zygote.literal_getfield, Zygote.literal_getindex))

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
    remembered = Remembered(memory_of(Outside(pull.f)))
    given = map((x, g) -> g isa Union{Nothing,AbstractZero} ? x : floating(x), pull.args, cts)     # integers with a gradient
    beside(sign) = attempt() do
        args = nudged(given, sign)
        keeping_random(pull.random) do
            again(remembered) do
                _, other = play(pull.f, args...)
                reals_in(sweep!(other, ct), given)
            end
        end
    end
    here = attempt(() -> reals_in(cts, given))
    here === nothing && untold(cx.dropped)
    above, below, repeated = beside(1), beside(-1), beside(0)
    (above === nothing || below === nothing || repeated === nothing) && untold(cx.dropped)
    all(told -> told isa typeof(here) && length(told) == length(here), (above, below, repeated)) || untold(cx.dropped)
    all(isfinite, here) || return
    all(isfinite, above) && all(isfinite, below) && isapprox(here, repeated) || untold(cx.dropped)
    is_lost(here, above, below) && lost_by(cx.dropped, AS_DENSE)
    return
end

@noinline lost_by(what, remedy) = throw(LostGradient("$what leaves out an element that is zero here, and an engine loses its gradient: \
    the derivative just beside these arguments is another one. $remedy", true))

@noinline untold(what) = throw(LostGradient("$what leaves out an element that is zero here, and whether an engine loses its gradient \
    cannot be told: arguments are Buffers or arrays of kinds unknown here, or integers in a struct have a gradient, a Buffer from outside \
    is written, or another run beside the arguments raises or gives something else. $AS_DENSE", true))

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

const Floats{N} = AbstractArray{<:Union{Continuous,Complex{<:Continuous}},N}

"""The reals of gradients, in the order of the arguments `like`; zeros where there is none."""
function reals_in(gradients, like)
    found = Real[]
    push_reals!(found, gradients, like)
    T = mapreduce(typeof, promote_type, found; init=Union{})
    return T === Union{} ? Float64[] : convert(Vector{T}, found)
end

push_reals!(found, g, x) = error("a gradient of a kind unknown here: $(typeof(g))")
push_reals!(found, ::AbstractZero, x) = push_reals!(found, nothing, x)
push_reals!(found, ::Nothing, x::Union{Number,AbstractArray{<:Number}}) = holds_floats(x) ? push_reals!(found, zero(x), x) : nothing
push_reals!(found, ::Nothing, x) = ismutable(x) && !(x isa Union{AbstractArray,AbstractDict}) ? nothing : push_parts!(found, nothing, x)
push_reals!(found, g::Union{Tuple,NamedTuple,AbstractDict}, x) = push_parts!(found, g, x)
push_reals!(found, g::Base.RefValue, x) = push_reals!(found, g[], x)
function push_reals!(found, g::Real, x)
    x isa Integer && !(x isa Bool) && error("a gradient by an integer, which cannot move")
    push!(found, g)
end
push_reals!(found, g::Complex, x) = (push_reals!(found, real(g), x); push_reals!(found, imag(g), x))
function push_reals!(found, g::ForwardDiff.Dual, x)
    push_reals!(found, ForwardDiff.value(g), x)
    foreach(p -> push_reals!(found, p, x), ForwardDiff.partials(g))
end
push_reals!(found, g::AbstractArray, x) = foreach(one -> push_reals!(found, one, nothing), g)
push_reals!(found, g::AbstractArray, x::AbstractArray) = foreach((one, part) -> push_reals!(found, one, part), g, x)
push_reals!(found, g::AbstractSparseArray, x::AbstractSparseArray) = push_reals!(found, SparseArrays.nonzeros(g), SparseArrays.nonzeros(x))

"""The same of what a value holds."""
push_parts!(found, g, ::Nothing) = g === nothing || foreach(part -> push_reals!(found, part, nothing), values(g))
push_parts!(found, g, x::Union{Tuple,AbstractArray,AbstractDict}) = foreach(key -> push_reals!(found, part_cotangent(g, key), x[key]), keys(x))
push_parts!(found, g, x) = foreach(name -> push_reals!(found, part_cotangent(g, name), getfield(x, name)), fieldnames(typeof(x)))

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
