# Which values can hold a Buffer, decided from their types alone, so that the answer costs nothing at run time.

"""
    may_reach_buffer(values...) -> Bool

Whether a Buffer may be reached through the fields of `values`; `true` when their types do not tell.

A rule that runs a function without differentiating it (a predicate, a broadcast with Boolean result) asks this first:
what cannot reach a Buffer cannot write into one. Buffers in globals are not seen; the checks at the end of a gradient
are what catches those.
"""
may_reach_buffer(values...) = type_may_reach_buffer(typeof(values))

const Inert = Union{Number,AbstractString,AbstractChar,Symbol,Type,Module,Nothing,Missing,Colon,Ptr,Val,AbstractRange}

"What has elements that are no fields: arrays, and since Julia 1.11 the memory that arrays and dictionaries are made of."
const Elements = isdefined(Core, :GenericMemory) ? Union{Array,Core.GenericMemory} : Array

function search_buffer(@nospecialize(T), seen)
    (T === Union{} || T in seen) && return false
    push!(seen, T)
    T isa Union && return search_buffer(T.a, seen) || search_buffer(T.b, seen)
    T <: Union{Buffer,Root,Context} && return true
    T <: Inert && return false
    isconcretetype(T) || return true
    T <: Elements && return search_buffer(eltype(T), seen)
    any(F -> search_buffer(F, seen), fieldtypes(T))
end

@generated type_may_reach_buffer(::Type{T}) where {T} = search_buffer(T, Base.IdSet{Any}())

"""
    runs_no_user_code(f, args...) -> Bool

Whether the rule of `f` can be known, from types alone, not to run a function that somebody else wrote: `f` is a
function of Julia itself and its arguments are numbers and arrays of numbers.
"""
runs_no_user_code(f::F, args...) where {F} = type_runs_no_user_code(F, typeof(args))

const julia_modules = (:Base, :Core, :LinearAlgebra, :Statistics)

of_julia(@nospecialize(F)) = F <: Type || (Base.issingletontype(F) && nameof(Base.moduleroot(parentmodule(F))) in julia_modules)

is_data(@nospecialize(T)) = T <: Union{Inert,AbstractArray{<:Number},typeof(^)} || (T <: Tuple && isconcretetype(T) && all(is_data, fieldtypes(T)))

@generated function type_runs_no_user_code(::Type{F}, ::Type{A}) where {F,A}
    of_julia(F) && all(is_data, fieldtypes(A))
end
