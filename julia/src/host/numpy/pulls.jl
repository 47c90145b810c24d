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

"""
The tangent of an operation's outputs for `tangents` of its inputs, from the pull alone: element by element, the
product of its transpose with a unit cotangent. Costs one pull for each element of the output.
"""
function push_forward!(targets::Tuple, name::String, tangents::Tuple, args::Tuple, names::Tuple, values::Tuple)
    found, back = pullback(name, args, named(names, values))
    outputs = found isa Tuple ? found : (found,)
    for (number, target) in enumerate(targets)
        target === nothing && continue
        for k in eachindex(target)
            target[k] = directional(back, outputs, found isa Tuple, number, k, tangents, args, one(eltype(target)))
            eltype(target) <: Complex || continue
            target[k] += im * directional(back, outputs, found isa Tuple, number, k, tangents, args, im * one(eltype(target)))
        end
    end
    return nothing
end

"The product of a unit cotangent at element `k` of output `number`, pulled back, with the tangents."
function directional(back, outputs, several, number, k, tangents, args, unit)
    output = outputs[number]
    # Not by broadcasting, which makes a number of an array without axes.
    seed = output isa Number ? unit : (s = zeros(promote_type(eltype(output), typeof(unit)), size(output)); s[k] = unit; s)
    ct = several ? ntuple(j -> j == number ? seed : nothing, length(outputs)) : seed
    by_args, by_keywords = back(ct)
    total = 0.0
    for (j, tangent) in enumerate(tangents)
        tangent === nothing && continue
        total += inner(j <= length(args) ? part(by_args, j) : part(by_keywords, j - length(args)), tangent)
    end
    return total
end

inner(::Union{Nothing,AbstractZero}, tangent) = 0.0
inner(ct, tangent::Tuple) = sum(inner(part(ct, k), t) for (k, t) in enumerate(tangent) if t !== nothing; init=0.0)
inner(ct, tangent) = sum(real(conj(c) * t) for (c, t) in zip(asarray(unthunk(ct)), tangent); init=0.0)

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
