# Jacobians and Hessians for Python, by ForwardDiff's own.

"The Jacobian with respect to the one wanted leaf, by columns: an array of size (outputs..., inputs...)."
function jacobian(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        leaves = entered(plan, given, :own)
        check_wanted(plan, leaves.values)
        to_python(held_beside(values -> held_jacobian(x -> call_at(plan, values, x), plan, values), plan, leaves.values))
    end
end

"The Hessian with respect to the one wanted leaf, forward over reverse: an array of size (inputs..., inputs...)."
function hessian(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        leaves = entered(plan, given, :own)
        check_wanted(plan, leaves.values)
        i, remembered = only(plan.wanted), remembered_by(plan, leaves.values)
        gradient_at(given) = function gradient(x)
            values = replaced(given, i, x)
            _, _, gradients = seeded(value_and_pullback(plan, values, remembered, engine_of_duals(plan))..., false)
            conformed(by_leaf(plan, gradients, values)[i], x)
        end
        found = attempted(plan, leaves.values, remembered) do
            held_beside(values -> held_jacobian(gradient_at(values), plan, values), plan, leaves.values)
        end
        to_python(found)
    end
end

replaced(values, i, x) = (result = copy(values); result[i] = x; result)

function call_at(plan::Plan, values, x)
    f, arguments = bound(plan, replaced(values, only(plan.wanted), x))
    return run_on_duals(f, arguments)
end

"`derivative(values)`, an array; `LostGradient` if it is another one just beside."
function held_beside(derivative, plan::Plan, values::Vector{Any})
    found = derivative(values)
    hold_beside(beside -> (derivative(beside),), () -> (found,), plan, values, copy(Random.default_rng()), remembered_by(plan, values))
    return found
end

"The Jacobian of `f` by the one wanted leaf, held against differences where the function moves memory that outlives the call."
function held_jacobian(f, plan::Plan, values::Vector{Any})
    x = values[only(plan.wanted)]
    return on_memory(plan, values, nothing) do remembered
        found = forward_jacobian(f, x)
        isempty(remembered) && return found
        h, d = MutationBridge.step_of(x), MutationBridge.direction(vec(collect(x)), 0)
        told = reshape(found, :, length(x)) * d
        hold_along(t -> vec(collect(f(x isa Real ? x + t * only(d) : x .+ t .* reshape(d, size(x))))), told, h, remembered)
        return found
    end
end

forward_jacobian(f, x::Real) = ForwardDiff.derivative(f, x)
function forward_jacobian(f, x::AbstractArray{<:Real})
    shape = Ref{Any}(())
    columns = ForwardDiff.jacobian(x) do y
        value = f(y)
        shape[] = size(value)
        value isa AbstractArray ? value : value isa Number ? [value] : throw(NotAnArray(value))
    end
    return reshape(columns, (shape[]..., size(x)...))
end
forward_jacobian(f, x) = throw(NotAnArray(x))

"A Jacobian was asked of something that is not one real array."
struct NotAnArray <: Exception
    value::Any
end
Base.showerror(io::IO, e::NotAnArray) = print(io, "a Jacobian of a ", typeof(e.value))
