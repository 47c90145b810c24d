# The floats of nested arguments and values as one vector of reals, and back: what any engine can differentiate.

"Reals that are differentiated; dual numbers where an outer forward mode runs."
const Continuous = Union{AbstractFloat,ForwardDiff.Dual}

"Where a number (`dims` is `nothing`) or an array with elements of type `T` lies in the vector; complex: all real parts first."
struct Slot{T,D<:Union{Nothing,Dims}}
    range::UnitRange{Int}
    dims::D
end

"In place of a slot: a value without gradient, of which each run gets a copy."
struct Constant{X}
    value::X
end

const Slots = Union{Tuple,NamedTuple}

"""
    slots_of(x, start) -> slots, next

The slots of the floats in a number, an array, or nested tuples and named tuples, from the position `start`; anything else is a `Constant`.
"""
slots_of(x, start::Int) = Constant(x), start
slots_of(x::T, start::Int) where {T<:Union{Continuous,Complex{<:Continuous}}} = slot(T, width(T), nothing, start)
slots_of(x::AbstractArray{T}, start::Int) where {T<:Union{Continuous,Complex{<:Continuous}}} =
    isconcretetype(T) ? slot(T, width(T) * length(x), size(x), start) : (Constant(x), start)
function slots_of(x::Tuple, start::Int)
    found = Any[]
    for part in x
        one, start = slots_of(part, start)
        push!(found, one)
    end
    return Tuple(found), start
end
function slots_of(x::NamedTuple{names}, start::Int) where {names}
    found, next = slots_of(values(x), start)
    return NamedTuple{names}(found), next
end

slot(::Type{T}, count::Int, dims::D, start::Int) where {T,D} = Slot{T,D}(start:start+count-1, dims), start + count
width(::Type{<:Real}) = 1
width(::Type{<:Complex}) = 2

"How many reals the slots take."
count_of(::Constant) = 0
count_of(s::Slot) = length(s.range)
count_of(slots::Slots) = sum(count_of, values(slots); init=0)

real_type(::Constant) = Union{}
real_type(::Slot{T}) where {T} = real(T)
real_type(slots::Slots) = mapreduce(real_type, promote_type, values(slots); init=Union{})

"""
    packed(slots, x) -> vector

The floats of `x` at the places that its slots give them; zeros for parts that are `nothing`.
"""
function packed(slots, x, count::Int)
    T = real_type(slots)
    z = zeros(T === Union{} ? Float64 : T, count)
    fill_in!(z, slots, x)
    return z
end

fill_in!(z, slots, x) = x === nothing ? nothing : place!(z, slots, x)
place!(z, ::Constant, x) = nothing
place!(z, s::Slot{T}, x) where {T} = (z[s.range] .= reals(T, x); nothing)
function place!(z, s::Slot{<:Real}, x::AbstractArray{<:Real})
    length(x) == length(s.range) || throw(DimensionMismatch("an array of $(length(x)) elements in the place of one of $(length(s.range))"))
    copyto!(view(z, s.range), x)
    return
end
place!(z, slots::Tuple, x) = foreach((s, part) -> fill_in!(z, s, part), slots, Tuple(x))
place!(z, slots::NamedTuple{names}, x) where {names} =
    foreach(name -> haskey(x, name) && fill_in!(z, slots[name], x[name]), names)

# Also run by engines on values of their own, whose type is not that of the slot.
reals(::Type{<:Real}, x::Number) = [real(x)]
reals(::Type{<:Complex}, x::Number) = [real(x), imag(x)]
reals(::Type{<:Real}, x::AbstractArray) = vec(real.(x))
reals(::Type{<:Complex}, x::AbstractArray) = vcat(vec(real.(x)), vec(imag.(x)))

"The value with these slots and the numbers of `z`, which an engine may have replaced by its own."
unpacked(slots::Slots, z) = map(s -> unpacked(s, z), slots)
unpacked(s::Constant, z) = deepcopy(s.value)
unpacked(s::Slot{T,Nothing}, z) where {T<:Real} = narrowed(T, z[first(s.range)])
unpacked(s::Slot{T,Nothing}, z) where {T<:Complex} = complex(narrowed(real(T), z[first(s.range)]), narrowed(real(T), z[last(s.range)]))
unpacked(s::Slot{T,Dims{1}}, z) where {T<:Real} = narrowed(T, taken(z, s.range))
unpacked(s::Slot{T}, z) where {T<:Real} = reshape(narrowed(T, taken(z, s.range)), s.dims)
function unpacked(s::Slot{T}, z) where {T<:Complex}
    half = first(s.range) + length(s.range) ÷ 2
    re = narrowed(real(T), taken(z, first(s.range):half-1))
    im = narrowed(real(T), taken(z, half:last(s.range)))
    return reshape(complex.(re, im), s.dims)
end

"Plain arrays also of an engine's own numbers: its own arrays may refuse to be written."
taken(z::AbstractVector{<:AbstractFloat}, range) = length(range) == length(z) ? copy(z) : z[range]
taken(z, range) = [z[i] for i in range]

narrowed(::Type{T}, v::T) where {T<:Real} = v
narrowed(::Type{T}, v::AbstractFloat) where {T<:Real} = T(v)
narrowed(::Type, v::Real) = v
narrowed(::Type{T}, v::AbstractVector{T}) where {T<:Real} = v
narrowed(::Type{T}, v::AbstractVector{<:AbstractFloat}) where {T<:Real} = convert(Vector{T}, v)
narrowed(::Type, v::AbstractVector) = v

"In the place of a struct among the arguments: its fields have slots, too."
struct Apart{X}
    value::X
end

"The slots of the fields of a `T`."
struct Fields{T,P<:Tuple}
    parts::P
end

"Whether a value can be made again of its floats and the rest: arrays of other kinds and dictionaries cannot."
comes_apart(x::Number) = true
comes_apart(x::Array) = !holds_floats(x) || x isa Array{<:Union{AbstractFloat,Complex{<:AbstractFloat}}} && isconcretetype(eltype(x))
comes_apart(x::Union{AbstractArray,AbstractDict}) = !holds_floats(x)
comes_apart(x) = !holds_floats(x) || all(k -> isdefined(x, k) && comes_apart(getfield(x, k)), 1:fieldcount(typeof(x)))

slots_of(x::Apart, start::Int) = slots_apart(x.value, start)
slots_apart(x::Union{Number,Array}, start::Int) = slots_of(x, start)
function slots_apart(x::X, start::Int) where {X}
    holds_floats(x) || return Constant(x), start
    parts = Any[]
    for k in 1:fieldcount(X)
        one, start = slots_apart(getfield(x, k), start)
        push!(parts, one)
    end
    return X <: Tuple ? Tuple(parts) : Fields{X,Tuple{map(typeof, parts)...}}(Tuple(parts)), start
end

count_of(s::Fields) = count_of(s.parts)
real_type(s::Fields) = real_type(s.parts)
fill_in!(z, slots, x::Apart) = place_floats!(z, slots, x.value)
place_floats!(z, slots, x) = fill_in!(z, slots, x)
place_floats!(z, slots::Tuple, x) = foreach((part, value) -> place_floats!(z, part, value), slots, x)
place_floats!(z, s::Fields, x) = foreach((part, k) -> place_floats!(z, part, getfield(x, k)), s.parts, 1:length(s.parts))
place!(z, s::Fields{X}, gradient) where {X} =
    foreach((part, name) -> fill_in!(z, part, get(gradient, name, nothing)), s.parts, fieldnames(X))
unpacked(s::Fields{X}, z) where {X} = Zygote.__splatnew__(X, unpacked(s.parts, z))

"The gradient in the containers of the arguments; `nothing` where there is none."
gradient_in(slots::Slots, z) = map(s -> gradient_in(s, z), slots)
gradient_in(::Constant, z) = nothing
gradient_in(s::Slot, z) = unpacked(s, z)
gradient_in(s::Slot{T,<:Dims}, z::Vector{T}) where {T<:Real} = reshape(length(s.range) == length(z) ? z : z[s.range], s.dims)

"The floats of a value in one vector, or the number itself; run by engines."
gathered(s::Slot{<:Real,Nothing}, y) = y
gathered(s::Slot{T}, y) where {T} = reals(T, y)
gathered(slots::Slots, y) = reduce(vcat, gathered_parts(values(slots), values(y)))

gathered_parts(::Tuple{}, ::Tuple) = ()
gathered_parts(slots::Tuple, y::Tuple) = (of_part(first(slots), first(y))..., gathered_parts(Base.tail(slots), Base.tail(y))...)
of_part(::Constant, y) = ()
of_part(s::Slot{T}, y) where {T} = (reals(T, y),)
of_part(slots::Slots, y) = gathered_parts(values(slots), values(y))

"No gradient at all, in the containers of the arguments."
zeros_or_nothing(::Constant) = nothing
zeros_or_nothing(slots::Slots) = map(zeros_or_nothing, slots)
zeros_or_nothing(s::Slot{T,Nothing}) where {T} = zero(T)
zeros_or_nothing(s::Slot{T,<:Dims}) where {T} = zeros(T, s.dims)
