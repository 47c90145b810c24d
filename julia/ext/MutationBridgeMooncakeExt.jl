# Mooncake, memory that outlives a call, and types that refer to themselves.
#
# In a rule Mooncake (0.5.45) keeps a tangent for each place of the code that names an array, of the size that the array had when the rule
# was made. It reads and writes that without a look at bounds: if the array is longer by now, the memory is somebody else's. So the
# tangents of all rules are given the sizes of now before each call, and where the call itself may change sizes it runs in Mooncake's debug
# mode, which looks at them in each step and takes a multiple of the time.
#
# Mooncake derives the type of a struct's tangent from the types of its fields: without end where a type refers to itself. The stack
# overflows, which ends a Python process. Mooncake asks for tangent types while it makes rules, for some of them in the middle of a run,
# and never for types that the compiler removes. So `tangent_type` itself refuses: it gets a method for each type that the code names and
# whose definition may refer to itself.
module MutationBridgeMooncakeExt

using DifferentiationInterface: AutoMooncake
using Mooncake: CoDual, Config, DebugRRule, DerivedRule, FData, Mooncake, MooncakeRuleCompilationError, MutableTangent, NoTangent,
    PossiblyUninitTangent, Tangent, is_init, primal, tangent, val
using MutationBridge: MutationBridge, Disproved, Elements, Outside, RecursiveType, changes_sizes, forget_prepared!, memory_in, named,
    spelled_call, visit

const CHECKED = AutoMooncake(; config=Config(; debug_mode=true, silence_debug_messages=true))

function MutationBridge.by_memory(run, backend::AutoMooncake, found::Outside)
    @lock Mooncake.MOONCAKE_INFERENCE_LOCK begin
        fit_rules!()
        refuse_recursive_types!(found)
    end
    try
        return Base.invokelatest(by_sizes, run, backend, found)     # in a world that has the methods for recursive types
    catch error
        cause = cause_of(error)
        cause isa RecursiveType || rethrow()
        throw(RecursiveType("Mooncake cannot differentiate $(spelled_call(first(first(found.roots)), ())): $(cause.msg)"))
    end
end

cause_of(error) = error
cause_of(error::MooncakeRuleCompilationError) = cause_of(error.cause)

function by_sizes(run, backend::AutoMooncake, found::Outside)
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

"What was examined: types, and the names of types."
const EXAMINED = Base.IdSet{Any}()

"The names of types whose definition may refer to itself. `tangent_type` has a method of ours for each."
const RECURSIVE = Core.TypeName[Base.typename(Base.ImmutableDict)]

"The types for which Mooncake or a user wrote a method of `tangent_type`, which asks for tangent types of parameters at most."
const WRITTEN = Ref{Vector{Any}}(Any[])

# Code of Base makes this one, in an `IOContext`, where no code of the user names it.
Base.@assume_effects :foldable Mooncake.tangent_type(::Type{P}) where {P<:Base.ImmutableDict} = unless_endless(P)

"Give `tangent_type` methods for the types that the code names and that may refer to themselves. What was examined before is passed over."
function refuse_recursive_types!(found::Outside)
    new = Any[T for T in found.seen if T isa Type && T ∉ EXAMINED]
    isempty(new) && return
    WRITTEN[] = written()      # at once: other threads read it
    before = length(RECURSIVE)
    try
        for T in new
            push!(EXAMINED, T)
            foreach(name -> examine!(name, Core.TypeName[]), names_in!(Core.TypeName[], T))
        end
        for name in @view RECURSIVE[before+1:end]
            @eval Base.@assume_effects :foldable Mooncake.tangent_type(::Type{P}) where {P<:$(name.wrapper)} = unless_endless(P)
        end
    catch       # Ctrl-C, say: all is examined again
        empty!(EXAMINED)
        resize!(RECURSIVE, before)
        rethrow()
    end
    return
end

function written()
    types = Any[]
    for method in methods(Mooncake.tangent_type)
        parameters = Base.unwrap_unionall(method.sig).parameters
        method.module !== @__MODULE__() && length(parameters) == 2 && parameters[2] <: Type || continue
        P = first(Base.unwrap_unionall(parameters[2]).parameters)
        T = Base.rewrap_unionall(P isa TypeVar ? P.ub : P, method.sig)
        T === Any || push!(types, T)
    end
    return types
end

# The compiler evaluates this, where reflection (`which`) raises an error.
is_written(@nospecialize(T)) = any(W -> T <: W, WRITTEN[])

"Add the names of all types that a type is written with, but for abstract ones and tuples."
names_in!(names, @nospecialize(T)) = names
names_in!(names, T::Union) = names_in!(names_in!(names, T.a), T.b)
names_in!(names, T::UnionAll) = names_in!(names, Base.unwrap_unionall(T))
function names_in!(names, T::DataType)
    isabstracttype(T) || T <: Union{Tuple,NamedTuple} || push!(names, T.name)
    foreach(P -> names_in!(names, P), T.parameters)
    return names
end

"Note the types that the definition of a type leads back to, whatever the parameters are; `path` leads here."
function examine!(name::Core.TypeName, path)
    k = findfirst(on -> on === name, path)
    k === nothing || union!(RECURSIVE, @view path[k:end])
    name in EXAMINED && return
    push!(EXAMINED, name)
    is_written(name.wrapper) && return
    push!(path, name)
    for P in fieldtypes(Base.unwrap_unionall(name.wrapper)), part in names_in!(Core.TypeName[], P)
        examine!(part, path)
    end
    pop!(path)
    return
end

"The tangent type that Mooncake derives, unless the derivation has no end."
function unless_endless(@nospecialize(T))
    steps = cycle_from(T, Any[], Pair{Any,String}[], Base.IdSet{Any}())
    isempty(steps) || throw(RecursiveType("the type $(first(first(steps))) refers to itself ($(join(last.(steps), ", "))), and the \
        type of its tangent would have no end. Use ad=:zygote, or keep the elements in arrays in place of objects that hold one another"))
    return invoke(Mooncake.tangent_type, Tuple{Type}, T)
end

"The fields by which Mooncake's derivation from `T` comes to a type for the second time, and their types; none if it ends."
function cycle_from(@nospecialize(T), path, steps, ended)
    T in ended && return empty(steps)
    k = findfirst(on -> on === T, path)
    k === nothing || return filter!(step -> !isempty(last(step)), steps[k:end])
    push!(path, T)
    for (field, P) in parts_of(T)
        push!(steps, T => field)
        found = cycle_from(P, path, steps, ended)
        isempty(found) || return found
        pop!(steps)
    end
    pop!(path)
    push!(ended, T)
    return empty(steps)
end

"The types whose tangent types Mooncake takes for that of `T`, each with its field if `T` is a struct."
function parts_of(@nospecialize(T))
    unnamed(types) = Pair{String,Any}["" => P for P in types if P isa Type]
    T isa Union && return unnamed((T.a, T.b))
    T isa DataType && T <: Tuple && return unnamed(T.parameters)
    isconcretetype(T) || return unnamed(())     # whose tangents may be anything
    T <: AbstractDict && is_written(T) && return unnamed((valtype(T),))
    is_written(T) && return unnamed(T.parameters)
    return Pair{String,Any}["$T.$(fieldname(T, k))::$(fieldtype(T, k))" => fieldtype(T, k) for k in 1:fieldcount(T)]
end

end
