# Other engines through DifferentiationInterface: all float arguments travel as one vector, so that they widen together.
module MutationBridgeDifferentiationInterfaceExt

import MutationBridge
using DifferentiationInterface: AutoEnzyme, AutoForwardDiff, AutoMooncake, AutoReverseDiff, check_available,
    prepare_gradient, prepare_pullback, value_and_gradient, value_and_pullback
using LinearAlgebra: dot, norm
using MutationBridge: Disproved, ForwardDiff, OtherValues
using Random: Random

include("packing.jl")

MutationBridge.backend(::Val{:forwarddiff}) = AutoForwardDiff()
MutationBridge.backend(::Val{:reversediff}) = AutoReverseDiff()
MutationBridge.backend(::Val{:mooncake}) = AutoMooncake(; config=nothing)
MutationBridge.backend(::Val{:enzyme}) = AutoEnzyme()

for engine in keys(MutationBridge.OTHER_ENGINES)
    @eval MutationBridge.available(ad::Val{$(QuoteNode(engine))}) = check_available(MutationBridge.backend(ad))
end

"The function of one vector; `outputs` says what of its value are floats."
struct Packed{F,A<:Tuple,O}
    f::F
    arguments::A
    outputs::O
end
(p::Packed)(z) = gathered(p.outputs, p.f(unpacked(p.arguments, z)...))

"The same, with the random generator where it was in the run whose value was returned."
struct Redrawn{P,R}
    packed::P
    random::R
end
(r::Redrawn)(z) = (copy!(Random.default_rng(), r.random); r.packed(z))

# These run the program's own code, once or several times, on numbers of their own; others transform it.
runs_code(::Union{AutoForwardDiff,AutoReverseDiff}) = true
runs_code(backend) = false

function MutationBridge.interface_pullback(backend, f, args::Tuple, value, random, verify::Bool)
    arguments, after = slots_of(args, 1)
    outputs, end_of_outputs = slots_of(value, 1)
    (after == 1 || end_of_outputs == 1) && return _ -> map(s -> zeros_or_nothing(s), arguments)
    z, expected = packed(arguments, args, after - 1), packed(outputs, value, end_of_outputs - 1)
    program = Packed(f, arguments, outputs)
    unchecked = Ref(verify)
    return function pull(ct)
        along = packed(outputs, ct, length(expected))
        keeping_random(random) do
            gradient = engine_gradient(backend, program, z, expected, along, random)
            unchecked[] && disprove(backend, Redrawn(program, random), z, gradient, along)
            unchecked[] = false
            return gradient_in(arguments, gradient)
        end
    end
end

zeros_or_nothing(::Constant) = nothing
zeros_or_nothing(slots::Slots) = map(zeros_or_nothing, slots)
zeros_or_nothing(s::Slot{T,Nothing}) where {T} = zero(T)
zeros_or_nothing(s::Slot{T}) where {T} = zeros(T, s.dims)

"Run with the generator's state `random`; afterwards it is as it was before."
function keeping_random(run, random)
    generator = Random.default_rng()
    now = copy(generator)
    copy!(generator, random)
    try
        return run()
    finally
        copy!(generator, now)
    end
end

# A number as value has a gradient, which forward engines make in chunks.
function engine_gradient(backend, program, z, expected, along, random)
    run = runs_code(backend) ? Redrawn(program, random) : program
    if program.outputs isa Slot{<:Real,Nothing}
        prepared = prepare_gradient(run, backend, z)
        copy!(Random.default_rng(), random)
        y, gradient = value_and_gradient(run, prepared, backend, z)
        check_same(y, expected)
        return only(along) .* gradient
    end
    prepared = prepare_pullback(run, backend, z, (along,))
    copy!(Random.default_rng(), random)
    y, gradients = value_and_pullback(run, prepared, backend, z, (along,))
    check_same(y, expected)
    return only(gradients)
end

"Raise unless the engine's run gave the value that was returned, but for rounding."
function check_same(y, expected)
    length(y) == length(expected) || throw(OtherValues())
    scale = maximum(x -> isfinite(x) ? abs(x) : zero(x), expected; init=zero(eltype(expected)))
    near(a, b) = isequal(a, b) || a == b || !isfinite(a) && !isfinite(b) || abs(a - b) <= sqrt(eps_of(b)) * scale
    all(Base.splat(near), zip(y, expected)) || throw(OtherValues())
    return nothing
end
eps_of(x::AbstractFloat) = eps(typeof(x))
eps_of(x::ForwardDiff.Dual) = eps_of(ForwardDiff.value(x))

"""
Raise `Disproved` if finite differences along one direction say that the gradient is wrong. They keep silent where the
function has a kink, or raises beside the point.
"""
function disprove(backend, run, z, gradient, along)
    T = eltype(z)
    T <: AbstractFloat || return nothing
    size = sum(abs, z) / length(z)
    signs = rand(Random.Xoshiro(length(z)), (-one(T), one(T)), length(z))
    direction = @. signs * (abs(z) + (size == 0 ? one(T) : size / 10))
    h, noise = cbrt(eps(T)), cbrt(eps(T))^2
    values = try
        map(t -> dot(run(z .+ t .* direction), along), (-2h, -h, zero(h), h, 2h))
    catch error
        error isa InterruptException && rethrow()
        return nothing
    end
    all(isfinite, values) && all(isfinite, gradient) || return nothing
    below2, below, here, above, above2 = values
    near, far = (above - below) / 2h, (above2 - below2) / 4h
    right, left = (above - here) / h, (here - below) / h
    told = dot(gradient, direction)
    scale = max(abs(near), abs(told))
    floor = 100 * noise * maximum(abs, values)
    smooth = abs(near - far) <= scale / 100 + floor && abs(right - left) <= scale / 20 + floor
    smooth && abs(told - near) > scale / 50 + floor &&
        throw(Disproved("$(nameof(typeof(backend))) says that the derivative along one direction is $told, and finite differences say $near"))
    return nothing
end

end
