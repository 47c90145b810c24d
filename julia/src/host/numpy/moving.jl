# Dual numbers: a value of NumPy's with its tangent, on its way through an entry of the table.

const Moving = Union{Dual{TAG},Complex{<:Dual{TAG}}}
const MovingArray{N} = AbstractArray{<:Moving,N}

ismoving(x) = x isa Moving
"Whether an operand, or one of its elements, carries a tangent."
moves(x) = ismoving(x)
moves(x::AbstractArray) = eltype(x) <: Moving || (!isconcretetype(eltype(x)) && any(ismoving, x))
moves(x::Tuple) = any(moves, x)

"An operand with its tangent; one without (`nothing`) stays as it is."
moving(x, ::Nothing) = x
moving(x::Tuple, t::Tuple) = map(moving, x, t)
# Numbers that NumPy got in a list are an array here, and their tangents a tuple.
moving(x::AbstractVector, t::Tuple) = map((value, along) -> dual(float(value), along === nothing ? 0 : only(along)), x, collect(t))
moving(x::Number, t::AbstractArray) = dual(float(x), only(t))
function moving(x::AbstractArray, t::AbstractArray)
    size(x) == size(t) || throw(DimensionMismatch("a tangent has size $(size(t)) for an operand of size $(size(x))"))
    return map((value, along) -> dual(float(value), along), x, t)
end

"An operand without its tangent."
at_rest(x) = primal(x)
at_rest(x::AbstractArray) = map(primal, x)
at_rest(x::Tuple) = map(at_rest, x)

"The tangent of a value: zero where none arrived."
along_of(x::Number) = ismoving(x) ? tangent(x) : zero(x)
along_of(x::AbstractArray) = map(along_of, x)

"A function of dual numbers by its `frule`, for those whose algorithm takes none, or has a convention of its own."
function by_frule(f, x, fixed...)
    value, along = frule((NoTangent(), along_of(x), map(_ -> NoTangent(), fixed)...), f, at_rest(x), fixed...)
    return joined_with(value, along)
end
joined_with(value::Number, along) = dual(value, unthunk(along))
joined_with(value::AbstractArray, along) = map(dual, value, unthunk(along))
joined_with(value::Tuple, along) = map(joined_with, value, Tuple(along))

"The product of a cotangent with a tangent: a real number."
inner(ct, along) = sum(terms(ct, along); init=0.0)
inner(::Union{Nothing,AbstractZero}, ::Number) = 0.0
inner(ct::Number, along::Number) = real(conj(ct) * along)

"Its terms, one for each element."
terms(::Union{Nothing,AbstractZero}, along) = Float64[]
terms(::Union{Nothing,AbstractZero}, ::Tuple) = Float64[]
terms(ct, ::Nothing) = Float64[]
terms(::Union{Nothing,AbstractZero}, ::Nothing) = Float64[]
terms(ct, along::Tuple) = reduce(vcat, (terms(part(ct, k), t) for (k, t) in enumerate(along)); init=Float64[])
terms(ct, along) = Float64[real(conj(c) * t) for (c, t) in zip(vec(asarray(unthunk(ct))), vec(along))]
