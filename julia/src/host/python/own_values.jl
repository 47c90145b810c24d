# Julia's own values as arguments that are differentiated: structs, and arrays of kinds that NumPy has not. Their gradients are made of
# what Python knows: structs, named tuples and dictionaries become dictionaries, arrays dense ones, other arrays and tuples tuples.

"Whether the leaf is a value of Julia's own, which Python keeps by number."
is_own(plan::Plan, leaf::Int) = plan.kinds[leaf] == UInt8('o')

"""
The gradient of one of Julia's own values, for Python; `nothing` for parts without floats.
"""
gradient_of_own(gradient::AbstractThunk, x) = gradient_of_own(unthunk(gradient), x)
gradient_of_own(gradient::AbstractZero, x) = gradient_of_own(nothing, x)
gradient_of_own(gradient::Tangent, x) = gradient_of_own(ChainRulesCore.backing(canonicalize(gradient)), x)
gradient_of_own(gradient::Base.RefValue, x) = gradient_of_own(gradient[], x)
function gradient_of_own(gradient, x)
    holds_floats(x) || return without_floats(gradient, x)
    x isa Number && return conformed(gradient, x)
    x isa AbstractArray{<:Number} && return dense_gradient(gradient, x)
    return gradient_of_parts(gradient, x)
end

"`nothing`, or an error if an engine found a gradient where none can be told: by a closure, a number of a package's, a field that changed."
without_floats(gradient, x::Union{Integer,AbstractArray{<:Integer}}) = nothing
without_floats(gradient, x) = is_none(gradient) ? nothing : throw(ArgumentError("a part of an argument, a $(typeof(x)) after the call, has a \
    gradient, a $(typeof(gradient)), that has no form in Python"))
is_none(gradient) = gradient isa Union{Nothing,AbstractZero} || (gradient isa Number && iszero(gradient))
is_none(gradient::Base.RefValue) = is_none(gradient[])
is_none(gradient::Union{Tuple,NamedTuple,AbstractArray}) = all(is_none, values(gradient))

gradient_of_parts(gradient, x::Tuple) = ntuple(k -> gradient_of_own(part_of(gradient, k), x[k]), length(x))
gradient_of_parts(gradient, x::AbstractArray) = Tuple(gradient_of_own(part_of(gradient, k), x[k]) for k in eachindex(x))
function gradient_of_parts(gradient, x::AbstractDict)
    all(key -> key isa Union{Symbol,AbstractString}, keys(x)) ||
        throw(ArgumentError("the gradient by a $(typeof(x)) has no form in Python: its keys are neither strings nor symbols"))
    return NamedTuple(Symbol(key) => gradient_of_own(part_of(gradient, key), part) for (key, part) in x)
end
function gradient_of_parts(gradient, x)
    gradient isa Union{Nothing,NamedTuple} || (gradient = conformed(gradient, x))     # which raises
    names = fieldnames(typeof(x))
    parts = map(names) do name
        isdefined(x, name) ? gradient_of_own(part_of(gradient, name), getfield(x, name)) : nothing
    end
    return NamedTuple{names}(parts)
end

part_of(::Nothing, key) = nothing
part_of(gradient::NamedTuple, key::Symbol) = get(gradient, key, nothing)
part_of(gradient::AbstractDict, key) = get(gradient, key, nothing)
part_of(gradient::Union{Tuple,AbstractArray}, key::Int) = gradient[key]
part_of(gradient, key) = throw(ArgumentError("an engine gave a $(typeof(gradient)) where the gradient of $key was asked: it has no form in Python"))

"The gradient of an array as a dense one of its size; of one that a rule took apart by its fields, too."
dense_gradient(gradient, x::AbstractArray) = conformed(gradient, x)
dense_gradient(gradient::NamedTuple{(:diag,)}, x::LinearAlgebra.Diagonal) = dense(LinearAlgebra.Diagonal(conformed(gradient.diag, x.diag)))
function dense_gradient(gradient::NamedTuple{(:data, :uplo)}, x::LinearAlgebra.Symmetric{<:Real})
    by_data = conformed(gradient.data, parent(x))
    return (by_data .+ transpose(by_data)) ./ 2
end
function dense_gradient(gradient::NamedTuple, x::AbstractArray)
    data = get(gradient, :data, nothing)
    data isa Union{Tuple,AbstractArray} && length(data) == length(x) || return conformed(gradient, x)      # which raises
    return conformed(reshape(collect(Any, data), size(x)), x)
end

"""
Raise if a mutable value is in two places of Julia's own values: engines keep one gradient for each, the sum of both places.
"""
function check_shared(plan::Plan, values::Vector{Any})
    any(i -> is_own(plan, i), plan.wanted) || return
    seen = Base.IdSet{Any}()
    foreach(i -> is_own(plan, i) && refuse_shared(values[i], seen), eachindex(values))
end
refuse_shared(x::Union{Number,AbstractArray{<:Number},Function,Module}, seen) = nothing
function refuse_shared(x, seen)
    holds_floats(x) || return
    unseen(x, seen) || throw(ArgumentError("a $(typeof(x)) is in two places of the arguments, or holds itself: its gradient has no form. \
        Pass copies of it (deepcopy)"))
    for part in parts_of(x)
        refuse_shared(part, seen)
    end
end

parts_of(x::AbstractDict) = values(x)
parts_of(x::AbstractArray) = (x[k] for k in eachindex(x) if isassigned(x, k))
parts_of(x) = (getfield(x, k) for k in 1:fieldcount(typeof(x)) if isdefined(x, k))

"""
Raise if an engine other than our context is asked for the gradient of one of Julia's own values, which it would see as a constant or as
an array of another kind.
"""
function check_own(plan::Plan, values::Vector{Any}, engine::Symbol)
    for i in plan.wanted
        is_own(plan, i) && throw(ArgumentError("$engine does not differentiate by a $(typeof(values[i])) that is an argument itself: \
            pass its numbers and arrays (a dictionary arrives as a named tuple), and make it in Julia"))
    end
end

"""
Raise if a gradient by one of Julia's own values cannot be held against finite differences, which the memory asks for that the function may
write and that outlives the call.
"""
function check_own(plan::Plan, values::Vector{Any}, remembered::Remembered)
    isempty(remembered) && return
    for i in plan.wanted
        is_own(plan, i) && !MutationBridge.comes_apart(values[i]) && throw(ArgumentError("the function may write memory that outlives the \
            call ($(join(first(unique(map(last, remembered.memory)), 3), ", "))), and its gradient by a $(typeof(values[i])) cannot be held \
            against finite differences: pass its numbers and arrays, and make it in Julia"))
    end
end
