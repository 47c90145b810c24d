# A call of a function that writes into its arguments: run on copies, perturbed, pulled back.

"""A mutating call at certain arguments. `rule` is `nothing` for functions over Buffers that need none."""
struct Call
    f::Any
    rule::Union{Nothing,MutatingRule}
    writes::Tuple{Vararg{Int}}
    args::Vector{Any}
    keywords::NamedTuple
end

with_args(call::Call, args) = Call(call.f, call.rule, call.writes, args, call.keywords)
name_of(call::Call, k) = call.rule === nothing ? "number $k" : string(parameter(call.rule, k))
Base.show(io::IO, call::Call) = print(io, nameof(call.f), "(", join((brief(arg) for arg in call.args), ", "), ")")

brief(x::AbstractArray) = length(x) <= 4 && x isa Vector ? repr(x; context = :compact => true) :
    string(join(size(x), "×"), " ", nameof(typeof(x)), "{", eltype(x), "}")
brief(x) = repr(x; context = :compact => true)

is_active(x::Number) = carries_gradient(typeof(x)) && !(x isa Rational)
is_active(x::AbstractArray) = eltype(x) <: Union{AbstractFloat,Complex{<:AbstractFloat}}
is_active(x) = false
is_array(x) = x isa AbstractArray && is_active(x)

actives(call::Call) = [k for k in eachindex(call.args) if is_active(call.args[k])]
outputs_of(call::Call) = [k for k in call.writes if is_active(call.args[k])]

"""Run the plain function on copies of the arguments; the arguments afterwards."""
function run_plain(call::Call)
    args = deepcopy(call.args)
    call.f(args...; call.keywords...)
    return args
end

"""The cotangents of all arguments before the call, from the rule's pull alone; `args` are handed to it as they are."""
function pulled(call::Call, cts::Tuple, args::Vector{Any}, after)
    values = Tuple(args)
    return Any[pull_back(call.rule::MutatingRule, cts, values, values, call.keywords, after)...]
end
pulled(call::Call, cts::Tuple) = pulled(call, deepcopy(cts), deepcopy(call.args), after_call(call))
after_call(call::Call) = (after = run_plain(call); alone(Tuple(after[k] for k in call.writes)))

"""A random array (or number) like `x`, with zeros where its structure has them."""
random_like(rng, x::Number) = randn(rng, typeof(x))
random_like(rng, x::AbstractArray) = fitting(x, randn(rng, eltype(x), size(x)))
fitting(x, direction) = x isa StridedArray ? direction : ProjectTo(x)(direction)
fitting(x::UnitLowerTriangular, direction) = tril(direction, -1)
fitting(x::UnitUpperTriangular, direction) = triu(direction, 1)

seeds(rng, call::Call) = Tuple(is_active(call.args[k]) ? random_like(rng, call.args[k]) : nothing for k in call.writes)

moved(x::AbstractArray, direction, t) = with_elements(x, x .+ t .* direction)
moved(x::Number, direction, t) = oftype(x, x + t * direction)

"""An array of `x`'s type and memory layout that holds `elements`."""
function with_elements(x::AbstractArray, elements)
    elements isa typeof(x) && return elements
    made = deepcopy(x)
    made .= elements
    return made
end
with_elements(x::Symmetric, elements) = Symmetric(Matrix(elements), Symbol(x.uplo))
with_elements(x::Hermitian, elements) = Hermitian(Matrix(elements), Symbol(x.uplo))
with_elements(x::UnitLowerTriangular, elements) = UnitLowerTriangular(Matrix(elements))
with_elements(x::UnitUpperTriangular, elements) = UnitUpperTriangular(Matrix(elements))

inner(::Nothing, direction) = 0.0
inner(ct, direction) = Float64(real(dot(ct, direction)))

bits(x::AbstractArray) = map(bits_of, x)
bits(x) = x
bits_of(x::Float64) = reinterpret(UInt64, x)
bits_of(x::Float32) = reinterpret(UInt32, x)
bits_of(z::Complex) = (bits_of(real(z)), bits_of(imag(z)))
bits_of(x) = x
same_bits(x, y) = isequal(size_or_nothing(x), size_or_nothing(y)) && isequal(bits(x), bits(y))
size_or_nothing(x) = x isa AbstractArray ? size(x) : nothing
