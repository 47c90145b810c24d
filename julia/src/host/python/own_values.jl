# Julia's own values as arguments that are differentiated: structs, and arrays of kinds that NumPy has not. Their gradients are made of
# what Python knows: structs, named tuples and dictionaries become dictionaries, arrays dense ones, other arrays and tuples tuples.

"Whether the leaf is a value of Julia's own, which Python keeps by number."
is_own(plan::Plan, leaf::Int) = plan.kinds[leaf] == UInt8('o')

"Whether a value holds floats that are differentiated."
holds_floats(x) = holds_floats(x, Base.IdSet{Any}())
holds_floats(x::Number, seen) = differentiable(x)
holds_floats(x::AbstractArray{<:Number}, seen) = differentiable(x)
holds_floats(x::Function, seen) = false
holds_floats(x::AbstractDict, seen) = unseen(x, seen) && any(part -> holds_floats(part, seen), values(x))
holds_floats(x::AbstractArray, seen) = unseen(x, seen) && any(k -> isassigned(x, k) && holds_floats(x[k], seen), eachindex(x))
function holds_floats(x, seen)
    x isa MutationBridge.WITHOUT_FLOATS && return false
    return unseen(x, seen) && any(k -> isdefined(x, k) && holds_floats(getfield(x, k), seen), 1:fieldcount(typeof(x)))
end
unseen(x, seen) = !ismutable(x) || (x ∉ seen && (push!(seen, x); true))

"""
The gradient of one of Julia's own values, for Python; `nothing` for parts without floats. `seen` are mutable values that have had theirs: an
engine gives one that is in two places the sum of both, twice.
"""
gradient_of_own(gradient, x) = gradient_of_own(gradient, x, Base.IdSet{Any}())
gradient_of_own(gradient::AbstractThunk, x, seen) = gradient_of_own(unthunk(gradient), x, seen)
gradient_of_own(gradient::AbstractZero, x, seen) = gradient_of_own(nothing, x, seen)
gradient_of_own(gradient::Tangent, x, seen) = gradient_of_own(ChainRulesCore.backing(canonicalize(gradient)), x, seen)
gradient_of_own(gradient::Base.RefValue, x, seen) = gradient_of_own(gradient[], x, seen)
function gradient_of_own(gradient, x, seen)
    holds_floats(x) || return nothing
    x isa Number && return conformed(gradient, x)
    x isa AbstractArray{<:Number} && return dense_gradient(gradient, x)
    unseen(x, seen) || throw(ArgumentError("a $(typeof(x)) is in two places of the arguments, or holds itself: its gradient has no form. \
        Pass copies of it (deepcopy)"))
    return gradient_of_parts(gradient, x, seen)
end

gradient_of_parts(gradient, x::Tuple, seen) = ntuple(k -> gradient_of_own(part_of(gradient, k), x[k], seen), length(x))
gradient_of_parts(gradient, x::AbstractArray, seen) = Tuple(gradient_of_own(part_of(gradient, k), x[k], seen) for k in eachindex(x))
function gradient_of_parts(gradient, x::AbstractDict, seen)
    all(key -> key isa Union{Symbol,AbstractString}, keys(x)) ||
        throw(ArgumentError("the gradient by a $(typeof(x)) has no form in Python: its keys are neither strings nor symbols"))
    return NamedTuple(Symbol(key) => gradient_of_own(part_of(gradient, key), part, seen) for (key, part) in x)
end
function gradient_of_parts(gradient, x, seen)
    gradient isa Union{Nothing,NamedTuple} || (gradient = conformed(gradient, x))     # which raises
    names = fieldnames(typeof(x))
    parts = map(names) do name
        isdefined(x, name) ? gradient_of_own(part_of(gradient, name), getfield(x, name), seen) : nothing
    end
    return NamedTuple{names}(parts)
end

part_of(::Nothing, key) = nothing
part_of(gradient::Union{NamedTuple,AbstractDict}, key) = get(gradient, key, nothing)
part_of(gradient::Union{Tuple,AbstractArray}, key) = gradient[key]

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
Raise if an engine other than our context is asked for the gradient of one of Julia's own values, which it would see as a constant or as
an array of another kind.
"""
function check_own(plan::Plan, values::Vector{Any}, engine::Symbol)
    for i in plan.wanted
        is_own(plan, i) && throw(ArgumentError("$engine does not differentiate by a $(typeof(values[i])) that is an argument itself: \
            pass its numbers and arrays (a dictionary arrives as a named tuple), and make it in Julia"))
    end
end

"The same for gradients that have to be held against finite differences, because the function writes memory that outlives the call."
function check_own(plan::Plan, values::Vector{Any}, remembered::Remembered)
    isempty(remembered) || check_own(plan, values, Symbol("finite differences, which the memory that the function writes asks for,"))
end
