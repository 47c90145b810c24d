# Values a little beside others: copies whose floats have all moved, in structs, closures and containers, too.

"""
How floats move: by `sign`, and no two alike, since there were `turns` arrays and numbers before them. Only `copies` are written, what has
been `met` not again.
"""
mutable struct Nudge
    const sign::Int
    turns::Int
    const copies::Base.IdSet{Any}
    const met::Base.IdSet{Any}
end

"""
    nudged(x, sign, turns=0)

A copy with all floats a little larger or smaller, zeros among them, but for those that a sparse array does not store. What is one object in
`x` is one in the copy. Values move alike that have the same number of `turns` before them. Raises where floats cannot be moved: on a GPU, say.
"""
function nudged(x, sign::Int, turns::Int=0)
    copy, copies = copied(x)
    return sign == 0 ? copy : moved!(Nudge(sign, turns, copies, Base.IdSet{Any}()), copy)
end

"A copy that shares nothing, nor the memory of Buffers, which nobody logs there; and the objects that are new."
function copied(@nospecialize(x))
    copies = IdDict{Any,Any}()
    foreach(b -> copies[b.r] = Root(copy(b.r.data)), buffers_in(x))
    y = Base.deepcopy_internal(x, copies)
    made = Base.IdSet{Any}()
    foreach(part -> push!(made, part isa Root ? part.data : part), values(copies))
    return y, made
end

const Moving = Union{Continuous,Complex{<:Continuous}}

"The value with its floats moved: the same object where it can be written."
moved!(n::Nudge, @nospecialize(x)) = x isa WITHOUT_FLOATS ? x : move_parts!(n, x)
moved!(n::Nudge, x::Moving) = only(beside!(n, [x]))
moved!(n::Nudge, @nospecialize(x::Elements)) = eltype(x) <: Moving && isconcretetype(eltype(x)) ? move_floats!(n, x) : move_elements!(n, x)
moved!(n::Nudge, @nospecialize(x::Tuple)) = Tuple(Any[moved!(n, part) for part in x])
moved!(n::Nudge, b::Buffer) = (moved!(n, b.r.data); b)
function moved!(n::Nudge, @nospecialize(d::AbstractDict))
    is_new(n, d) && foreach(key -> put_in!(d, key, d[key], moved!(n, d[key])), collect(keys(d)))
    return d
end

"Whether it is met for the first time; an error if it is not ours and holds floats."
function is_new(n::Nudge, @nospecialize(x))
    x in n.met && return false
    push!(n.met, x)
    x in n.copies && return true
    holds_floats(x) && error("deepcopy does not copy a $(typeof(x))")
    return false
end
put_in!(x, place, before, now) = now === before || (x[place] = now)

function move_floats!(n::Nudge, x::Elements)
    is_new(n, x) ? copyto!(x, beside!(n, x)) : (n.turns += 1)
    return x
end

function move_elements!(n::Nudge, @nospecialize(x::Elements))
    eltype(x) <: WITHOUT_FLOATS && typeintersect(eltype(x), Moving) === Union{} && return x
    is_new(n, x) || return x
    for k in eachindex(x)
        isassigned(x, k) && put_in!(x, k, x[k], moved!(n, x[k]))
    end
    return x
end

# Structs, closures, and arrays that are structs of others.
function move_parts!(n::Nudge, @nospecialize(x))
    T, before = typeof(x), n.turns
    (fieldcount(T) == 0 || ismutable(x) && !is_new(n, x)) && return x
    held = Any[isdefined(x, k) ? Some(field(x, k)) : nothing for k in 1:fieldcount(T)]
    parts = Any[part === nothing ? nothing : moved!(n, something(part)) for part in held]
    x isa Floats && !isempty(x) && !isbits(x) && n.turns == before && error("the elements of a $T are not where arrays have them")
    changed = [k for k in eachindex(held) if held[k] !== nothing && parts[k] !== something(held[k])]
    isempty(changed) && return x
    if ismutable(x)
        foreach(k -> setfield!(x, k, parts[k]), changed)
        return x
    end
    all(!isnothing, held) || error("a $T has fields that are not defined")
    return Zygote.__splatnew__(T, Tuple(parts))
end

"Numbers beside others, each by its own size, or by that of the others where it is zero."
function beside!(n::Nudge, x)
    n.turns += 1
    isempty(x) && return x
    sizes = map(abs ∘ magnitude, x)
    typical = sum(sizes) / length(sizes)
    far = typical == 0 ? one(typical) : typical / 10
    random = Random.Xoshiro(n.turns)
    step = n.sign * sqrt(eps(real_of(eltype(x))))
    return map((value, size) -> value + oftype(size, step * rand(random, (-1, 1)) * (1 + rand(random))) * (size + far), x, sizes)
end

real_of(::Type{T}) where {T<:AbstractFloat} = T
real_of(::Type{<:ForwardDiff.Dual{<:Any,V}}) where {V} = real_of(V)
real_of(::Type{Complex{T}}) where {T} = real_of(T)
magnitude(x::AbstractFloat) = isfinite(x) ? x : zero(x)
magnitude(x::ForwardDiff.Dual) = magnitude(ForwardDiff.value(x))
magnitude(x::Complex) = magnitude(real(x))

"Numbers and arrays of integers as floats, in tuples, too: their gradients are held as those of floats are."
floating(x) = x
floating(x::Integer) = float(x)
floating(x::AbstractArray{<:Integer}) = float(x)
floating(x::Union{Tuple,NamedTuple}) = map(floating, x)
floating(::Type{<:SparseArrays.SparseVector}) = SparseArrays.SparseVector
floating(::Type{<:SparseArrays.SparseMatrixCSC}) = SparseArrays.SparseMatrixCSC
floating(x::Union{Bool,AbstractArray{Bool}}) = x
