# Other engines through DifferentiationInterface, and this package as one of its backends.
module MutationBridgeDifferentiationInterfaceExt

import DifferentiationInterface as DI
import MutationBridge
using DifferentiationInterface: AbstractADType, AutoEnzyme, AutoForwardDiff, AutoMooncake, AutoReverseDiff, check_available,
    prepare_gradient, prepare_pullback, value_and_gradient, value_and_pullback
using MutationBridge: ForwardDiff, OtherValues, Packed, Redone, Slot, again, by_memory, gradient_in, hold, keeping_random,
    packed, prepared, put_back!, slots_of, zeros_or_nothing
using Random: Random

MutationBridge.backend(::Val{:forwarddiff}) = AutoForwardDiff()
MutationBridge.backend(::Val{:reversediff}) = AutoReverseDiff()
MutationBridge.backend(::Val{:mooncake}) = AutoMooncake(; config=nothing)
# With a shadow for what a function captures: without one Enzyme refuses those that write it.
function MutationBridge.backend(::Val{:enzyme})
    loaded = Base.get_extension(DI, :DifferentiationInterfaceEnzymeExt)
    return loaded === nothing ? AutoEnzyme() : AutoEnzyme(; function_annotation=loaded.Duplicated)
end

for engine in keys(MutationBridge.OTHER_ENGINES)
    @eval MutationBridge.available(ad::Val{$(QuoteNode(engine))}) = check_available(MutationBridge.backend(ad))
end

# All float arguments travel as one vector, so that they widen together.

name_of(backend) = replace(String(nameof(typeof(backend))), "Auto" => "")

# These run the program's own code, once or several times, on numbers of their own; others transform it.
runs_code(::Union{AutoForwardDiff,AutoReverseDiff}) = true
runs_code(backend) = false

MutationBridge.writes_out_of_bounds(::AutoMooncake) = true

function MutationBridge.interface_pullback(backend, f, args::Tuple, value, random, always::Bool, remembered, found)
    arguments, after = slots_of(args, 1)
    outputs, end_of_outputs = slots_of(value, 1)
    (after == 1 || end_of_outputs == 1) && return _ -> map(s -> zeros_or_nothing(s), arguments)
    z, expected = packed(arguments, args, after - 1), packed(outputs, value, end_of_outputs - 1)
    program = Packed(f, arguments, outputs)
    return function pull(ct)
        along = packed(outputs, ct, length(expected))
        keeping_random(random) do
            # An answer that is held against differences is an engine's first, or one of an engine that may keep what it should not.
            keeps = !always && isempty(remembered) && isbits(program)
            gradient = again(remembered) do
                by_memory(by -> engine_gradient(by, program, z, expected, along, random, remembered, keeps), backend, found)
            end
            # Most calls hold nothing, and should not pay for a dispatch on all of these types.
            redone = Redone(program, random, remembered)
            (always || !isempty(remembered)) && hold(name_of(backend), redone, z, gradient, along, remembered, always)
            # The first branch is compiled for one type, and costs no dispatch.
            return gradient isa typeof(z) ? gradient_in(arguments, gradient) : gradient_in(arguments, gradient)
        end
    end
end

# A number as value has a gradient, which forward engines make in chunks. Preparation may have run the program too.
function engine_gradient(backend, program, z, expected, along, random, remembered, keeps::Bool)
    run = runs_code(backend) ? Redone(program, random, remembered) : program
    # Functions that capture nothing and change no memory are prepared once.
    key = keeps && !runs_code(backend) ? (backend, run, eltype(z), length(z), length(along), Base.get_world_counter()) : nothing
    from_before() = (copy!(Random.default_rng(), random); put_back!(remembered))
    if program.outputs isa Slot{<:Real,Nothing}
        prepare() = prepare_gradient(run, backend, z)
        return prepared(prepare, key) do preparation
            from_before()
            y, gradient = value_and_gradient(run, preparation, backend, z)
            check_same(y, expected)
            only(along) .* gradient
        end
    end
    prepare_outputs() = prepare_pullback(run, backend, z, (along,))
    return prepared(prepare_outputs, key) do preparation
        from_before()
        y, gradients = value_and_pullback(run, preparation, backend, z, (along,))
        check_same(y, expected)
        copy(only(gradients))
    end
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

# This package as a backend.

"The backend that [`MutationBridge.AutoMutationBridge`](@ref) makes: `AD` is the engine, `:auto` for the first that can."
struct Backend{AD} <: AbstractADType end

function MutationBridge.AutoMutationBridge(; ad::Symbol=:auto)
    ad in (:auto, :zygote, keys(MutationBridge.OTHER_ENGINES)...) || throw(ArgumentError("ad=:$ad is no engine"))
    return Backend{ad}()
end

Base.show(io::IO, ::Backend{AD}) where {AD} = print(io, "AutoMutationBridge(", AD === :auto ? "" : "ad=:$AD", ")")

DI.ADTypes.mode(::Backend) = DI.ADTypes.ReverseMode()
DI.check_available(::Backend{AD}) where {AD} = AD in (:auto, :zygote) || MutationBridge.available(Val(AD))
DI.inplace_support(::Backend) = DI.InPlaceSupported()

DI.prepare_pullback_nokwarg(strict::Val, f, backend::Backend, x, ty::NTuple, contexts::Vararg{DI.Context,C}) where {C} =
    DI.NoPullbackPrep(DI.signature(f, backend, x, ty, contexts...; strict))
DI.prepare_pullback_nokwarg(strict::Val, f!, y, backend::Backend, x, ty::NTuple, contexts::Vararg{DI.Context,C}) where {C} =
    DI.NoPullbackPrep(DI.signature(f!, y, backend, x, ty, contexts...; strict))

function DI.value_and_pullback(f, prep::DI.NoPullbackPrep, backend::Backend, x, ty::NTuple, contexts::Vararg{DI.Context,C}) where {C}
    DI.check_prep(f, prep, backend, x, ty, contexts...)
    return pulled(f, backend, x, ty, contexts)
end

function DI.value_and_pullback(f!, y, prep::DI.NoPullbackPrep, backend::Backend, x, ty::NTuple, contexts::Vararg{DI.Context,C}) where {C}
    DI.check_prep(f!, y, prep, backend, x, ty, contexts...)
    value, gradients = pulled(Filling(f!, y), backend, x, ty, contexts)
    copyto!(y, value)
    return y, gradients
end

"`f!(y, x, ...)` as a function of `x` that returns what it fills."
struct Filling{F,Y}
    f!::F
    y::Y
end
function (filling::Filling)(x, rest...)
    y = similar(filling.y, promote_type(eltype(filling.y), eltype(x)))
    filling.f!(y, x, rest...)
    return y
end

"The value, and the gradient by `x` for each cotangent: a pullback runs memory back, and serves once."
function pulled(f, ::Backend{AD}, x, ty::NTuple, contexts) where {AD}
    rest = map(DI.unwrap, contexts)
    pairs = map(ty) do dy
        value, back = MutationBridge.pullback_by(AD, f, x, rest...)
        value, back(dy)[1]
    end
    return first(first(pairs)), map(pair -> filled(last(pair), x), pairs)
end

"A gradient as other backends return it, where the value does not depend on `x`."
filled(::Nothing, x) = zero(x)
filled(gradient, x) = gradient

end
