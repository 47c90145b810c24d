# Mooncake, and memory that code names.
#
# In a rule Mooncake (0.5.45) keeps a tangent for each place of the code that names an array, of the size that the array had when the rule
# was made. It reads and writes that without a look at bounds: if the array is longer by now, the memory is somebody else's. Its debug mode
# looks at the sizes in each step, and takes a multiple of the time. So rules are made again where sizes changed between calls, and the
# debug mode is taken where a call may change them.
module MutationBridgeMooncakeExt

using DifferentiationInterface: AutoMooncake
using Mooncake: CoDual, Config, Mooncake, primal, tangent
using MutationBridge: MutationBridge, Disproved, OtherValues, Outside, changes_sizes, ends_program, forget_prepared!, looks_at_memory,
    memory_in, named, sizes_of

"The sizes in reach of globals as all rules have them; `UNKNOWN` where they may differ."
const SIZES = IdDict{Any,UInt}()
const SIZES_LOCK = ReentrantLock()
const UNKNOWN = zero(UInt)

checked() = AutoMooncake(; config=Config(; debug_mode=true, silence_debug_messages=true))
MutationBridge.looks_at_memory(backend::AutoMooncake) = backend.config isa Config && backend.config.debug_mode

function MutationBridge.by_memory(run, backend::AutoMooncake, found::Outside)
    memory = memory_in(named(found))
    isempty(memory) && return run(backend)
    globals = first.(named(found))
    changes_sizes(found) || return unchecked(run, backend, globals)
    note!(globals, UNKNOWN)
    try
        return run(checked())
    catch error
        is_final(error) && rethrow()
    end
    forget_rules!()         # which may be of other sizes
    try
        return run(checked())
    catch error
        is_final(error) && rethrow()
        throw(Disproved("the function may change the size of memory that outlives the call ($(join(first(unique!(last.(memory)), 3), ", "))), \
            of which Mooncake keeps a tangent for each place that names it; it raised: $(first(split(sprint(showerror, error), '\n')))"))
    end
end

is_final(error) = ends_program(error) || error isa OtherValues

"With rules that are as the memory is."
function unchecked(run, backend, globals)
    now = map(sizes_of, globals)
    are_known = @lock SIZES_LOCK all(((x, h),) -> get(SIZES, x, h) == h, zip(globals, now))
    are_known || forget_rules!()
    note!(globals, now)
    return run(backend)
end

note!(globals, sizes) = @lock SIZES_LOCK setindex!.(Ref(SIZES), sizes, globals)

"Let Mooncake make all rules again. It offers that with a preparation, of anything."
function forget_rules!()
    Mooncake.prepare_gradient_cache(sin, 1.0; config=Config(; empty_cache=true))
    forget_prepared!()
    @lock SIZES_LOCK empty!(SIZES)
    return
end

# What is prepared for the debug mode is kept, since a list that each call makes longer would have all rules made again each time.
MutationBridge.fit!(backend::AutoMooncake, preparation) = looks_at_memory(backend) && foreach(fit_constant!, constants(preparation))

"The constants in the rules of a preparation: memory that code names, with its tangents."
function constants(x)
    found, seen = CoDual[], Base.IdSet{Any}()
    collect_constants!(found, x, seen)
    return found
end

const WITHOUT_CONSTANTS = Union{Number,AbstractString,Symbol,Module,Type,Ptr,AbstractArray{<:Number},Method,Core.MethodInstance,
    Core.CodeInfo,Core.SimpleVector,Core.Compiler.IRCode}

collect_constants!(found, @nospecialize(x::CoDual), seen) = (push!(found, x); nothing)
function collect_constants!(found, @nospecialize(x), seen)
    (x isa WITHOUT_CONSTANTS || ismutable(x) && x in seen) && return
    ismutable(x) && push!(seen, x)
    if x isa AbstractDict
        foreach(part -> collect_constants!(found, part, seen), values(x))
    elseif x isa AbstractArray
        foreach(k -> isassigned(x, k) && collect_constants!(found, x[k], seen), eachindex(x))
    else
        foreach(k -> isdefined(x, k) && collect_constants!(found, getfield(x, k), seen), 1:fieldcount(typeof(x)))
    end
    return
end

fit_constant!(x::CoDual) = fit_constant!(primal(x), tangent(x))
fit_constant!(x, dx) = nothing
fit_constant!(x::Vector{<:Base.IEEEFloat}, dx::Vector) = fill!(resize!(dx, length(x)), 0)

end
