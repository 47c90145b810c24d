# Forward mode for Python: tangents through the function, and through its pullback.

"What marks the dual numbers of these tangents."
struct Along end
const TAG = ForwardDiff.Tag{Along,Float64}

dual(x::T, dx) where {T<:Real} = ForwardDiff.Dual{TAG}(x, T(dx))
dual(x::Complex, dx) = Complex(dual(real(x), real(dx)), dual(imag(x), imag(dx)))
along(x::Number, dx::Number) = dual(x, dx)
along(x::AbstractArray, dx::AbstractArray) = map(dual, x, dx)
along(x, ::Nothing) = x

"The part of a value that tangents did not touch."
primal(x::ForwardDiff.Dual{TAG}) = ForwardDiff.value(x)
primal(x::Complex{<:ForwardDiff.Dual{TAG}}) = Complex(primal(real(x)), primal(imag(x)))
primal(x::Union{Tuple,NamedTuple}) = map(primal, x)
primal(x::AbstractArray{<:Union{ForwardDiff.Dual,Complex{<:ForwardDiff.Dual}}}) = map(primal, dense(x))
primal(x::AbstractArray{T}) where {T>:Nothing} = map(primal, x)
primal(x) = x

"The tangent of a value."
tangent(x::ForwardDiff.Dual{TAG}) = ForwardDiff.partials(x, 1)
tangent(x::Complex{<:ForwardDiff.Dual{TAG}}) = Complex(tangent(real(x)), tangent(imag(x)))
tangent(x::Union{AbstractFloat,Complex}) = zero(x)
tangent(x::Union{Tuple,NamedTuple}) = map(tangent, x)
tangent(x::AbstractArray) = map(tangent, x)
tangent(x::AbstractThunk) = tangent(unthunk(x))
tangent(x::Tangent) = tangent(ChainRulesCore.backing(canonicalize(x)))
tangent(x::Base.RefValue) = tangent(x[])
tangent(x) = nothing

"The leaves moved along tangents, which are given as arrays or numbers, or None for none."
function moved(plan::Plan, values::Vector{Any}, given::PyPtr)
    result = copy(values)
    for i in eachindex(values)
        item = tuple_item(given, i)
        item == OBJECTS.none && continue
        x = values[i]
        differentiable(x) || throw(NotDifferentiable(i))
        result[i] = along(x, x isa Number ? entering_number(item) : entering(item, :own).value)
    end
    return result
end

"Run `body` with the random generator in a state from before, and put it back."
with_random(body, state) = state === nothing ? body() : MutationBridge.keeping_random(body, state)

"The run that a call repeats, by number; `nothing` for number 0."
run_before(key::Integer) = key == 0 ? nothing : kept(key)::Pulled
random_of(::Nothing) = nothing
random_of(pulled::Pulled) = pulled.random

"Raise unless the outputs are those of the run that is repeated, up to rounding."
check_repeated(::Nothing, value) = nothing
function check_repeated(pulled::Pulled, value)
    now = samples(leaves_of(primal(value)))
    length(now) == length(pulled.sample) && all(map(agree, now, pulled.sample)) || throw(OtherValues())
    return
end
agree(a, b) = true
function agree(a::Vector{<:Number}, b::Vector{<:Number})
    length(a) == length(b) || return false
    T = real(float(eltype(b)))
    scale = maximum(x -> isfinite(x) ? abs(x) : zero(abs(x)), b; init=zero(T))
    return all(zip(a, b)) do (x, y)
        isequal(x, y) || x == y || !isfinite(y) && !isfinite(x) || abs(x - y) <= sqrt(eps(T)) * max(scale, eps(T))
    end
end

without_effects(plan::Plan, f, arguments) =
    isempty(plan.written) ? f : Mutating(f, ntuple(k -> Val(k in plan.written), length(arguments)))

"The function without side effects: on Buffers where our context differentiates it, else on the arrays of duals themselves."
of_duals(plan::Plan, f, arguments) = plan.engine[] === :zygote ? without_effects(plan, f, arguments) : on_arrays(plan, f, arguments)

"Run a function on dual numbers; Buffers that it makes of plain numbers are widened by a context."
function run_on_duals(f, arguments)
    return try
        f(arguments...)
    catch error
        error isa Union{MutationError,MethodError} || rethrow()
        first(MutationBridge.pullback(f, arguments...))
    end
end

"""
Forward mode, `run(remembered)`, from memory as it was before the call, or before the run that is repeated. What it writes there, numbers
of ForwardDiff's, is put back; a call runs the function once more for what it does to memory.
"""
function on_memory(run, plan::Plan, values::Vector{Any}, before)
    remembered = before === nothing ? remembered_by(plan) : before.remembered
    isempty(remembered) && return run(remembered)
    random = copy(Random.default_rng())
    result = again(() -> run(remembered), remembered)
    before === nothing && with_random(() -> run_alone(plan, values), random)
    return result
end

"Hold the tangents of `found` against differences of `run(values)` along the tangents of `moved_values`, where memory moves."
function hold_forward(run, found, remembered::Remembered, values::Vector{Any}, moved_values::Vector{Any})
    isempty(remembered) && return
    is_moved = values .!== moved_values
    speed = norm(reals_of(map(tangent, Tuple(moved_values[is_moved]))))
    speed == 0 && return
    h = cbrt(eps()) * max(norm(reals_of(Tuple(values[is_moved]))), 1) / speed
    along(t) = Any[x === y ? x : x .+ t .* tangent(y) for (x, y) in zip(values, moved_values)]
    hold_along(t -> reals_of(run(along(t))), reals_of(tangent(found)), h, remembered)
end

"The floats of a value in one vector."
function reals_of(value)
    nested = value isa Vector{Any} ? Tuple(value) : value
    slots, after = MutationBridge.slots_of(nested, 1)
    return MutationBridge.packed(slots, nested, after - 1)
end

"Given (leaves, tangents, number of the run or 0): (values, tangents of the outputs' leaves, their structure)."
function jvp(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        before = run_before(integer_of(tuple_item(given, 3)))
        leaves = entered(plan, tuple_item(given, 1), :own)
        values = moved(plan, leaves.values, tuple_item(given, 2))
        value = on_memory(plan, leaves.values, before) do remembered
            run_at(values) = ((f, arguments) = bound(plan, values); run_on_duals(of_duals(plan, f, arguments), arguments))
            value = with_random(() -> run_at(values), random_of(before))
            hold_forward(value, remembered, leaves.values, values) do moved_values
                with_random(() -> run_at(moved_values), random_of(before))
            end
            value
        end
        MutationBridge.poll()
        check_repeated(before, value)
        parts = leaves_of(value)
        remembered = before === nothing ? remembered_by(plan) : before.remembered
        hold_beside(Tuple(map(tangent, parts)), plan, leaves.values, random_of(before), remembered) do beside
            f, arguments = bound(plan, moved(plan, beside, tuple_item(given, 2)))
            Tuple(map(tangent, leaves_of(run_on_duals(of_duals(plan, f, arguments), arguments))))
        end
        new_tuple(
            new_tuple(PyPtr[to_python(primal(part)) for part in parts]),
            new_tuple(PyPtr[to_python(tangent(part)) for part in parts]),
            to_python(spelled(structure_of(value))),
        )
    end
end

"Given (leaves, tangents, run, cotangents): the derivative of the pulled back cotangents along the tangents."
function pull_along(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        before = run_before(integer_of(tuple_item(given, 3)))
        leaves = entered(plan, tuple_item(given, 1), :own)
        values = moved(plan, leaves.values, tuple_item(given, 2))
        found = on_memory(plan, leaves.values, before) do remembered
            gradients_at(values, before) = attempted(plan, leaves.values, Remembered(remembered.memory), random_of(before)) do
                value, back = with_random(() -> value_and_pullback(plan, values, remembered, engine_of_duals(plan)), random_of(before))
                check_repeated(before, value)
                outputs = Any[looks(primal(part)) for part in leaves_of(value)]
                run = Pulled(plan, Ref{Pair{Symbol,Any}}(:zygote => back), values, structure_of(value), outputs, nothing, remembered,
                    Any[], UnitRange{UInt}[])
                first_order = integer_of(tuple_item(given, 5)) == 1
                pulled_back(run, back, first_order ? Any[one(primal(number_of(value)))] : cotangents(run, tuple_item(given, 4)))
            end
            found = gradients_at(values, before)
            hold_forward(values -> gradients_at(values, nothing), Tuple(found), remembered, leaves.values, values)
            hold_beside(Tuple(map(tangent, found)), plan, leaves.values, random_of(before), remembered) do beside
                Tuple(map(tangent, gradients_at(moved(plan, beside, tuple_item(given, 2)), nothing)))
            end
            found
        end
        MutationBridge.poll()
        tangents = Any[tangent(gradient) for gradient in found]
        gradients_to_python(plan, tangents, leaves.values, wrapped(leaves))
    end
end

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
        i, remembered = only(plan.wanted), remembered_by(plan)
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

"Who differentiates a function of dual numbers: where our context does not, forward mode, once more."
engine_of_duals(plan::Plan) = plan.engine[] === :zygote ? :zygote : :forwarddiff

replaced(values, i, x) = (result = copy(values); result[i] = x; result)

function call_at(plan::Plan, values, x)
    f, arguments = bound(plan, replaced(values, only(plan.wanted), x))
    return run_on_duals(f, arguments)
end

"`derivative(values)`, an array; `LostGradient` if it is another one just beside."
function held_beside(derivative, plan::Plan, values::Vector{Any})
    found = derivative(values)
    hold_beside(beside -> (derivative(beside),), (found,), plan, values, copy(Random.default_rng()), remembered_by(plan))
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
