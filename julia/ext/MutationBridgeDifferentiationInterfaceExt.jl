# Other engines through DifferentiationInterface: all float arguments travel as one vector, so that they widen together.
module MutationBridgeDifferentiationInterfaceExt

import MutationBridge
using DifferentiationInterface: AutoEnzyme, AutoForwardDiff, AutoMooncake, check_available, gradient, pullback

MutationBridge.backend(::Val{:forwarddiff}) = AutoForwardDiff()
MutationBridge.backend(::Val{:mooncake}) = AutoMooncake(; config=nothing)
MutationBridge.backend(::Val{:enzyme}) = AutoEnzyme()

for engine in keys(MutationBridge.OTHER_ENGINES)
    @eval MutationBridge.available(ad::Val{$(QuoteNode(engine))}) = check_available(MutationBridge.backend(ad))
end

const Differentiable = Union{AbstractFloat,AbstractArray{<:AbstractFloat}}

# The function of one vector; what is not differentiable keeps its place among `args`.
struct Packed{F,A<:Tuple}
    f::F
    args::A
end

function (packed::Packed)(z)
    position = 0
    unpacked = map(packed.args) do x
        x isa Differentiable || return deepcopy(x)
        range = position+1:position+length(x)
        position += length(x)
        return part(x, z, range)
    end
    return packed.f(unpacked...)
end

part(::AbstractFloat, z, range) = z[first(range)]
part(x::AbstractArray, z, range) = reshape(z[range], size(x))

pack(args) = reduce(vcat, (x isa AbstractArray ? vec(x) : [x] for x in args if x isa Differentiable))

function MutationBridge.interface_pullback(backend, f, args...)
    value = f(map(deepcopy, args)...)
    value isa Differentiable || throw(ArgumentError(
        "a function differentiated by $(nameof(typeof(backend))) returned a $(typeof(value)); " *
        "return a real number or an array of real numbers, or use ad=:zygote"))
    any(x -> x isa Differentiable, args) || return value, _ -> map(_ -> nothing, args)
    packed, z = Packed(f, args), pack(args)
    return value, ct -> split(args, seeded(backend, packed, z, value, ct))
end

# A number as value has a gradient, which forward engines make in chunks.
seeded(backend, f, z, ::Number, ct) = ct .* gradient(f, backend, z)
seeded(backend, f, z, value::AbstractArray, ct) =
    only(pullback(f, backend, z, (convert(typeof(value), ct),)))

function split(args, gradient)
    position = 0
    return map(args) do x
        x isa Differentiable || return nothing
        range = position+1:position+length(x)
        position += length(x)
        return convert_back(x, part(x, gradient, range))
    end
end

convert_back(x::AbstractFloat, g) = convert(typeof(x), g)
convert_back(x::AbstractArray, g) = convert(Array{eltype(x)}, g)

end
