# Mooncake, and memory that outlives a call.
#
# In a rule Mooncake (0.5.45) keeps a tangent for each place of the code that names an array, of the size that the array had when the rule
# was made. It reads and writes that without a look at bounds: if the array is longer by now, the memory is somebody else's. So the
# tangents of all rules are given the sizes of now before each call, and where the call itself may change sizes it runs in Mooncake's debug
# mode, which looks at them in each step and takes a multiple of the time.
module MutationBridgeMooncakeExt

using DifferentiationInterface: AutoMooncake
using Mooncake: CoDual, Config, DebugRRule, DerivedRule, Mooncake, NoTangent, primal, tangent
using MutationBridge: MutationBridge, Disproved, Outside, changes_sizes, forget_prepared!, memory_in, named, visit

const CHECKED = AutoMooncake(; config=Config(; debug_mode=true, silence_debug_messages=true))

function MutationBridge.by_memory(run, backend::AutoMooncake, found::Outside)
    @lock LOCK fit_rules!()
    changes_sizes(found) || return run(backend)
    try
        return run(CHECKED)
    catch error
        is_about_sizes(error) || rethrow()
        names = unique!(last.(memory_in(named(found))))
        throw(Disproved("the function may change the size of memory that outlives the call ($(join(first(names, 3), ", "))), of which \
            Mooncake keeps a tangent for each place that names it: $(sprint(showerror, error))"))
    end
end

# What the debug mode raises, which leaves out why, and what a tangent does that has no element there.
is_about_sizes(error) = error isa Union{BoundsError,UndefRefError} ||
    error isa ErrorException && occursin(r"^error in (inputs|outputs) (to|of) rule"i, error.msg)

"Constants in the rules that Mooncake keeps: memory that code names, with its tangents. Of one rule each is found once."
mutable struct Constants
    interpreter::Any            # where the rules are kept; another one for each world
    const rules::Base.IdSet{Any}
    const found::Vector{CoDual}
end

const CONSTANTS = Constants(nothing, Base.IdSet{Any}(), CoDual[])
const LOCK = ReentrantLock()

"Give the tangents of all rules the sizes that their memory has now; where that is not done by a new length, let Mooncake make its rules again."
function fit_rules!()
    stale = filter(!fits, constants())
    foreach(fit!, stale)
    all(fits, stale) && return
    # It offers that with a preparation, of anything.
    Mooncake.prepare_gradient_cache(sin, 1.0; config=Config(; empty_cache=true))
    CONSTANTS.interpreter = nothing
    forget_prepared!()
    return
end

function constants()
    interpreter = Mooncake.get_interpreter(Mooncake.ReverseMode)
    if interpreter !== CONSTANTS.interpreter
        CONSTANTS.interpreter = interpreter
        empty!(CONSTANTS.rules)
        empty!(CONSTANTS.found)
    end
    rules = interpreter.oc_cache
    if length(rules) != length(CONSTANTS.rules)
        for rule in values(rules)
            rule in CONSTANTS.rules && continue
            push!(CONSTANTS.rules, rule)
            append!(CONSTANTS.found, constants(rule))
        end
    end
    return CONSTANTS.found
end

constants(rule::DebugRRule) = constants(rule.rule)
constants(rule::DerivedRule) = CoDual[x for x in rule.fwds_oc.oc.captures if x isa CoDual && may_change(x) && is_understood(x)]
constants(rule) = CoDual[]

function may_change(x::CoDual)
    Base.issingletontype(typeof(tangent(x))) && return false
    found = false
    visit(primal(x), "", Base.IdSet{Any}()) do part, _
        found |= ismutable(part)
    end
    return found
end

# What Mooncake's look at a tangent raises for a new one, too, would have its rules made again in each call.
is_understood(x::CoDual) = fits(x) || fits_new(primal(x))
function fits_new(x)
    try
        return fits(x, Mooncake.fdata(Mooncake.zero_tangent(x)))
    catch error
        error isa InterruptException && rethrow()
        return false
    end
end

"Whether a tangent has the sizes of its memory."
fits(x::CoDual) = fits(primal(x), tangent(x))
fits(x::Array, dx::Array) = size(x) == size(dx) && (isbitstype(eltype(x)) || fits_within(x, dx))
fits(x, dx) = fits_within(x, dx)

# Mooncake's own look at a tangent, all of it.
function fits_within(x, dx)
    try
        Mooncake.verify_fdata_value(x, dx)
        return true
    catch error
        error isa InterruptException && rethrow()
        return false
    end
end

fit!(x::CoDual) = fit!(primal(x), tangent(x))
fit!(x, dx) = nothing
fit!(x::Vector, dx::Vector{NoTangent}) = resize!(dx, length(x))
fit!(x::Vector{<:Union{Base.IEEEFloat,Complex{<:Base.IEEEFloat}}}, dx::Vector) = fill!(resize!(dx, length(x)), 0)

end
