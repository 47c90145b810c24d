# What Python calls: the value and the cotangents of one operation, written into NumPy's memory.

"The value of one operation, and its pullback, which gives the cotangents of the arguments and of the keywords."
function pullback(name::String, args::Tuple, keywords::NamedTuple)
    entry = TABLE[name]
    if entry.scalar !== nothing
        value, back = rrule(each, entry.scalar, args...)
        return value, ct -> (back(ct)[3:end], nothing)
    elseif isempty(keywords)
        value, back = Zygote.pullback(entry.f, args...)
        return value, ct -> (back(ct), nothing)
    end
    value, back = Zygote.pullback(Core.kwcall, keywords, entry.f, args...)
    return value, ct -> (found = back(ct); found === nothing ? (nothing, nothing) : (found[3:end], found[1]))
end

named(names::Tuple, values::Tuple) = NamedTuple{Symbol.(names)}(values)

"""
Pull `ct` through an operation. Cotangents go into `targets`, in the nesting of the arguments and then of the keywords
(`nothing` where none is wanted); the value goes into `value`, unless that is `nothing`.
"""
function pull!(targets::Tuple, value, name::String, ct, args::Tuple, names::Tuple, values::Tuple)
    found, back = pullback(name, args, named(names, values))
    value === nothing || write_value!(value, found)
    ct === nothing && return nothing
    by_args, by_keywords = back(found isa Number && ct isa Array ? only(ct) : ct)
    for (k, target) in enumerate(targets)
        write!(target, k <= length(args) ? part(by_args, k) : part(by_keywords, k - length(args)))
    end
    return nothing
end

"Write a value, which must have the shape of NumPy's."
write_value!(target::Tuple, value) = foreach((t, v) -> write_value!(t, v), target, value)
write_value!(::Nothing, value) = nothing
function write_value!(target::Array, value)
    found = asarray(value)
    size(found) == size(target) ||
        throw(DimensionMismatch("the value has shape $(reverse(size(found))), NumPy's has $(reverse(size(target)))"))
    copyto!(target, eltype(target) <: Real ? real(found) : found)
    return nothing
end
