# Forward mode for Python, to any order: tangents through the function, and through its pullback.

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
    remembered = before === nothing ? remembered_by(plan, values) : before.remembered
    isempty(remembered) && return run(remembered)
    random = copy(Random.default_rng())
    result = again(() -> run(remembered), remembered)
    before === nothing && with_random(() -> run_alone(plan, values), random)
    return result
end

"""
Hold the derivative of `run(values)` along all directions, in `found`, against differences of that along all but the last, where
memory moves.
"""
function hold_forward(run, found, remembered::Remembered, plan::Plan, values::Vector{Any}, directions::PyPtr)
    isempty(remembered) && return
    order = tuple_size(directions)
    start = moved(plan, values, directions, order - 1)
    speeds = Any[x === y ? nothing : tangent(Level{order}, y) for (x, y) in zip(start, moved(plan, values, directions))]
    is_moved = speeds .!== nothing
    speed = norm(reals_of(map(primal, Tuple(speeds[is_moved]))))
    speed == 0 && return
    h = cbrt(eps()) * max(norm(reals_of(Tuple(values[is_moved]))), 1) / speed
    along(t) = Any[v === nothing ? x : x .+ t .* v for (x, v) in zip(start, speeds)]
    at(t) = reals_of(mixed(run(along(t)), order - 1))
    hold_along(at, reals_of(mixed(found, order)), h, remembered)
end

"The floats of a value in one vector."
function reals_of(value)
    nested = value isa Vector{Any} ? Tuple(value) : value
    slots, after = MutationBridge.slots_of(nested, 1)
    return MutationBridge.packed(slots, nested, after - 1)
end

"""
Given (leaves, directions, number of the run or 0): the values of the outputs' leaves, their derivatives once along each direction,
and their structure.
"""
function jvp(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        before = run_before(integer_of(tuple_item(given, 3)))
        leaves, directions = entered(plan, tuple_item(given, 1), :own), tuple_item(given, 2)
        order = tuple_size(directions)
        value = on_memory(plan, leaves.values, before) do remembered
            run_at(values) = ((f, arguments) = bound(plan, values); run_on_duals(of_duals(plan, f, arguments), arguments))
            value = with_random(() -> run_at(moved(plan, leaves.values, directions)), random_of(before))
            hold_forward(value, remembered, plan, leaves.values, directions) do values
                with_random(() -> run_at(values), random_of(before))
            end
            value
        end
        MutationBridge.poll()
        check_repeated(before, value)
        parts = leaves_of(value)
        derivatives = mixed(Tuple(parts), order)
        remembered = before === nothing ? remembered_by(plan, leaves.values) : before.remembered
        hold_beside(() -> derivatives, plan, leaves.values, random_of(before), remembered) do beside
            f, arguments = bound(plan, moved(plan, beside, directions))
            mixed(Tuple(leaves_of(run_on_duals(of_duals(plan, f, arguments), arguments))), order)
        end
        new_tuple(
            new_tuple(PyPtr[to_python(primal(part)) for part in parts]),
            new_tuple(PyPtr[to_python(part) for part in derivatives]),
            to_python(spelled(structure_of(value))),
        )
    end
end

"Given (leaves, directions, run, cotangents): the derivative of the pulled back cotangents once along each direction."
function pull_along(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        before = run_before(integer_of(tuple_item(given, 3)))
        leaves, directions = entered(plan, tuple_item(given, 1), :own), tuple_item(given, 2)
        order = tuple_size(directions)
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
            found = gradients_at(moved(plan, leaves.values, directions), before)
            hold_forward(values -> Tuple(gradients_at(values, nothing)), Tuple(found), remembered, plan, leaves.values, directions)
            hold_beside(() -> mixed(Tuple(found), order), plan, leaves.values, random_of(before), remembered) do beside
                mixed(Tuple(gradients_at(moved(plan, beside, directions), nothing)), order)
            end
            found
        end
        MutationBridge.poll()
        gradients_to_python(plan, Any[mixed(gradient, order) for gradient in found], leaves.values, wrapped(leaves))
    end
end

"Who differentiates a function of dual numbers: where our context does not, forward mode, once more."
engine_of_duals(plan::Plan) = plan.engine[] === :zygote ? :zygote : :forwarddiff
