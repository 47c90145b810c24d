# Rules of Base's functions that write into a Buffer: elements moved, copied, filtered, mapped, drawn.

# --- elements moved

@mutating_rule reverse!(v::Buffer) writes(v) pull(ct, v; dims = :) = reverse(ct; dims)
@mutating_rule reverse!(v::Buffer, start::Integer) writes(v) pull(ct, v, start) = reverse(ct, start)
@mutating_rule reverse!(v::Buffer, start::Integer, stop::Integer) writes(v) pull(ct, v, start, stop) = reverse(ct, start, stop)

# Both also take index vectors that are no permutations: `permute!` is v .= v[p], `invpermute!` is v[p] = v.
for T in (:Any, :AbstractVector)
    @eval @mutating_rule permute!(v::Buffer, p::$T) writes(v) pull(ct, v, p) = scattered(ct, p)
    @eval @mutating_rule invpermute!(v::Buffer, p::$T) writes(v) pull(ct, v, p) = gathered(ct, p)
end

function scattered(ct, p)
    moved = zero(ct)
    for (k, i) in enumerate(p)
        moved[i] += ct[k]
    end
    return moved
end

function gathered(ct, p)
    moved, kept = zero(ct), copy(ct)
    for k in reverse(eachindex(p))
        moved[k] += kept[p[k]]
        kept[p[k]] = zero(eltype(kept))
    end
    return moved + kept
end

@mutating_rule circshift!(v::Buffer, shift::Integer) writes(v) pull(ct, v, shift) = circshift(ct, -shift)
@mutating_rule circshift!(dest::Buffer, src, shifts) writes(dest) pull(ct, dest, src, shifts) = (nothing, circshift(ct, map(-, shifts)), nothing)
for T in (:Any, :AbstractArray)
    @eval @mutating_rule permutedims!(dest::Buffer, src::$T, perm) writes(dest) pull(ct, dest, src, perm) =
        (nothing, permutedims(ct, invperm(perm)), nothing)
end
@mutating_rule conj!(v::Buffer) writes(v) pull(ct, v) = conj(ct)

# --- elements filtered

Base.filter!(keep, b::Buffer{<:Any,1}) = deleteat!(b, rejected(keep, b))
Base.unique!(b::Buffer{<:Any,1}) = deleteat!(b, repeated(identity, b))
Base.unique!(f, b::Buffer{<:Any,1}) = deleteat!(b, repeated(f, b))

# Which elements go is a decision, without a derivative. A predicate that writes a Buffer is found by its version.
rejected(keep, b::Buffer) = findall(!keep, value(b))
function repeated(f, b::Buffer)
    seen = Set{Any}()
    return findall(value(b)) do x
        key = f(x)
        key in seen && return true
        push!(seen, key)
        return false
    end
end
@non_differentiable rejected(::Any, ::Any)
@non_differentiable repeated(::Any, ::Any)

# --- functions mapped: the function's own derivative is Zygote's

Base.broadcast!(f, b::Buffer, xs...) = (b .= f.(xs...); b)

Base.map!(f, b::Buffer) = map!(f, b, b)     # as Julia 1.12 has it for arrays
function Base.map!(f, b::Buffer, xs...)
    n = min(length(b), map(length, xs)...)
    results = map(f, map(x -> first_elements(x, n), xs)...)
    if n == length(b)
        b .= reshape(results, size(b))
    else
        view(vec(b), 1:n) .= results
    end
    return b
end

first_elements(b::Buffer, n) = first_elements(copy(b), n)
first_elements(x::AbstractVector, n) = length(x) == n ? x : x[1:n]
first_elements(x, n) = first_elements(vec(collect(x)), n)

function Base.accumulate!(op, b::Buffer, x; dims = nothing, keywords...)
    length(x) == 0 && return b
    dims === nothing && (b isa Buffer{<:Any,1} || x isa AbstractVector) && return copyto!(b, accumulate(op, contents(x); keywords...))
    dims === nothing && return copyto!(b, reshape(accumulate(op, vec(contents(x)); keywords...), size(b)))
    for fiber in fibers(size(x), dims)
        view(b, fiber...) .= accumulate(op, x[fiber...]; keywords...)
    end
    return b
end

contents(b::Buffer) = copy(b)
contents(x) = x
fibers(sizes, dim) = vec([ntuple(d -> d == dim ? Colon() : i[d], length(sizes)) for i in CartesianIndices(ntuple(d -> d == dim ? 1 : sizes[d], length(sizes)))])
@non_differentiable fibers(::Any, ::Any)

# --- elements drawn: constants

for name in (:rand!, :randn!, :randexp!)
    @eval begin
        @mutating_rule Random.$name(b::Buffer) writes(b) pull(ct, b) = nothing
        @mutating_rule Random.$name(rng::AbstractRNG, b::Buffer) writes(b) pull(ct, rng, b) = nothing
    end
end
@mutating_rule Random.rand!(b::Buffer, choices) writes(b) pull(ct, b, choices) = (nothing, drawn_from(choices))
@mutating_rule Random.rand!(rng::AbstractRNG, b::Buffer, choices) writes(b) pull(ct, rng, b, choices) = (nothing, nothing, drawn_from(choices))
@mutating_rule Random.shuffle!(b::Buffer) writes(b) pull(ct, b; after) = matched_cotangent(ct, b, after)
@mutating_rule Random.shuffle!(rng::AbstractRNG, b::Buffer) writes(b) pull(ct, rng, b; after) = (nothing, matched_cotangent(ct, b, after))

drawn_from(choices) = nothing
drawn_from(choices::AbstractArray{<:Union{AbstractFloat,Complex}}) = Thunk(() -> throw(MutationError(
    "rand!(b, choices): which element was drawn is not kept, so the gradient of `choices` would be lost; draw indices and read choices[indices]")))

# --- what cannot be right

for f in (filter!, maximum!, minimum!, unique!, Random.rand!, Random.randn!, Random.randexp!, Random.shuffle!)
    refuse_plain!(f, 1)
    refuse_plain!(f, 2, Union{Function,Type,AbstractRNG})
end
refuse_plain!(clamp!, 1)

Base.reinterpret(::Type{T}, b::Buffer) where {T} = refuse_reinterpretation(T, b)
Base.reinterpret(::typeof(reshape), ::Type{T}, b::Buffer) where {T} = refuse_reinterpretation(T, b)
refuse_reinterpretation(T, b) = throw(MutationError(
    "reinterpret($T, b): the gradient of the memory of a Buffer{$(eltype(b))} cannot be read as one of $T; use reinterpret($T, copy(b)), or real(b[:]) and imag(b[:])"))

include("rules/reductions.jl")
