# Other engines through DifferentiationInterface: all float arguments travel as one vector, so that they widen together.
module MutationBridgeDifferentiationInterfaceExt

import MutationBridge
using DifferentiationInterface: AutoEnzyme, AutoForwardDiff, AutoMooncake, AutoReverseDiff, check_available,
    prepare_gradient, prepare_pullback, value_and_gradient, value_and_pullback
using MutationBridge: ForwardDiff, OtherValues, Packed, Redrawn, Slot, again, gradient_in, hold, keeping_random, packed, slots_of, zeros_or_nothing
using Random: Random

MutationBridge.backend(::Val{:forwarddiff}) = AutoForwardDiff()
MutationBridge.backend(::Val{:reversediff}) = AutoReverseDiff()
MutationBridge.backend(::Val{:mooncake}) = AutoMooncake(; config=nothing)
MutationBridge.backend(::Val{:enzyme}) = AutoEnzyme()

for engine in keys(MutationBridge.OTHER_ENGINES)
    @eval MutationBridge.available(ad::Val{$(QuoteNode(engine))}) = check_available(MutationBridge.backend(ad))
end

name_of(backend) = replace(String(nameof(typeof(backend))), "Auto" => "")

# These run the program's own code, once or several times, on numbers of their own; others transform it.
runs_code(::Union{AutoForwardDiff,AutoReverseDiff}) = true
runs_code(backend) = false

function MutationBridge.interface_pullback(backend, f, args::Tuple, value, random, always::Bool, remembered)
    arguments, after = slots_of(args, 1)
    outputs, end_of_outputs = slots_of(value, 1)
    (after == 1 || end_of_outputs == 1) && return _ -> map(s -> zeros_or_nothing(s), arguments)
    z, expected = packed(arguments, args, after - 1), packed(outputs, value, end_of_outputs - 1)
    program = Packed(f, arguments, outputs)
    return function pull(ct)
        along = packed(outputs, ct, length(expected))
        keeping_random(random) do
            gradient = again(() -> engine_gradient(backend, program, z, expected, along, random), remembered)
            hold(name_of(backend), Redrawn(program, random), z, gradient, along, remembered, always)
            return gradient_in(arguments, gradient)
        end
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

end
