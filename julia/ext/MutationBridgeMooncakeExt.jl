# Mooncake, and memory that outlives a call.
#
# In a rule Mooncake (0.5.45) keeps a tangent for each place of the code that names an array, of the size that the array had when the rule
# was made. It reads and writes that without a look at bounds: if the array is longer by now, the memory is somebody else's. So the
# tangents of all rules are given the sizes of now before each call, and where the call itself may change sizes it runs in Mooncake's debug
# mode, which looks at them in each step and takes a multiple of the time.
module MutationBridgeMooncakeExt

using DifferentiationInterface: AutoMooncake
using Mooncake: CoDual, Config, DebugRRule, DerivedRule, FData, Mooncake, MutableTangent, NoTangent, PossiblyUninitTangent, Tangent, is_init,
    primal, tangent, val
using MutationBridge: MutationBridge, Disproved, Elements, Outside, changes_sizes, forget_prepared!, memory_in, named, visit

const CHECKED = AutoMooncake(; config=Config(; debug_mode=true, silence_debug_messages=true))

function MutationBridge.by_memory(run, backend::AutoMooncake, found::Outside)
    @lock Mooncake.MOONCAKE_INFERENCE_LOCK fit_rules!()
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

"Constants in the rules that Mooncake keeps, by the keys of these: memory that code names, with its tangents."
mutable struct Constants
    rules::Any      # where Mooncake keeps them; elsewhere in each world
    age::UInt       # of that dictionary, which changes with it
    found::Vector{Pair{Any,CoDual}}
end

const CONSTANTS = Constants(nothing, 0, Pair{Any,CoDual}[])

"Give the tangents in all rules the sizes that their memory has now. Rules for which that takes more than another length are forgotten."
function fit_rules!()
    stale = filter(pair -> !fits(last(pair)), constants())
    isempty(stale) && return
    foreach(pair -> fit!(last(pair)), stale)
    lost = [key for (key, x) in stale if !fits(x)]
    isempty(lost) && return
    foreach(key -> delete!(CONSTANTS.rules, key), lost)
    forget_prepared!()      # which have them, too
    return
end

function constants()
    rules = Mooncake.get_interpreter(Mooncake.ReverseMode).oc_cache
    if rules !== CONSTANTS.rules || rules.age != CONSTANTS.age
        CONSTANTS.found = Pair{Any,CoDual}[key => x for (key, rule) in rules for x in constants(rule)]
        CONSTANTS.rules, CONSTANTS.age = rules, rules.age
    end
    return CONSTANTS.found
end

constants(rule::DebugRRule) = constants(rule.rule)
constants(rule::DerivedRule) = CoDual[x for x in rule.fwds_oc.oc.captures if x isa CoDual && may_change(x)]
constants(rule) = CoDual[]

function may_change(x::CoDual)
    Base.issingletontype(typeof(tangent(x))) && return false
    found = false
    visit(primal(x), "", Base.IdSet{Any}()) do part, _
        found |= ismutable(part)
    end
    return found
end

"Whether a tangent has the sizes of its memory."
fits(x::CoDual) = fits(primal(x), tangent(x))
fits(x::Elements, dx::Elements) = size(x) == size(dx) && (isbitstype(eltype(x)) || fits_within(x, dx, Base.IdSet{Any}()))
fits(x, dx) = fits_within(x, dx, Base.IdSet{Any}())

fits_within(@nospecialize(x), @nospecialize(dx), seen) = true
function fits_within(x::Elements, dx::Elements, seen)
    size(x) == size(dx) || return false
    (isbitstype(eltype(x)) || is_seen!(seen, x, dx)) && return true
    return all(k -> !isassigned(x, k) || isassigned(dx, k) && fits_within(x[k], dx[k], seen), eachindex(x))
end
fits_within(@nospecialize(x), dx::Union{FData,Tangent,MutableTangent}, seen) =
    ismutable(dx) && is_seen!(seen, x, dx) || fit_fields(x, dx isa FData ? dx.data : dx.fields, seen)
fits_within(@nospecialize(x::Union{Tuple,NamedTuple}), @nospecialize(dx::Union{Tuple,NamedTuple}), seen) = fit_fields(x, dx, seen)
fits_within(@nospecialize(x), dx::PossiblyUninitTangent, seen) = !is_init(dx) || fits_within(x, val(dx), seen)

fit_fields(@nospecialize(x), @nospecialize(dx), seen) =
    all(k -> !isdefined(x, k) || fits_within(getfield(x, k), dx[k], seen), 1:fieldcount(typeof(x)))

function is_seen!(seen, @nospecialize(x), @nospecialize(dx))
    pair = (objectid(x), objectid(dx))
    pair in seen && return true
    push!(seen, pair)
    return false
end

fit!(x::CoDual) = fit!(primal(x), tangent(x))
fit!(x, dx) = nothing
fit!(x::Vector, dx::Vector{NoTangent}) = resize!(dx, length(x))
fit!(x::Vector{<:Union{Base.IEEEFloat,Complex{<:Base.IEEEFloat}}}, dx::Vector) = fill!(resize!(dx, length(x)), 0)

end
