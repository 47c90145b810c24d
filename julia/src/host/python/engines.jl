# Engines other than our context, and how one passes a function on to the next.

"""
An engine refused a function that by itself runs. Under `:auto` Python looks which packages there are, loads those of the next engine,
names it to the plan, and calls again.
"""
struct Passed <: Exception
    engine::Symbol
    exception::Any
end

"Whether no other engine could do better, or the function is used wrongly."
is_final(error) = MutationBridge.is_final(error) || (error isa LostGradient && error.dropped) || error isa Union{NotANumber,NotDifferentiable,Undeclared,SparseWritten,OtherLayout,PythonException} || is_of_python(error)

"""
Run a differentiation. If its engine refuses: raise what the function itself raises when it runs alone, else `Passed`.
The random generator is then where it was before, or at `random`, and memory that outlives the call as it was.
"""
function attempted(run, plan::Plan, values::Vector{Any}, remembered::Remembered, random=nothing)
    before = copy(Random.default_rng())
    return try
        run()
    catch error
        is_final(error) && rethrow()
        put_back!(remembered)
        with_random(() -> run_alone(plan, values), something(random, before))
        put_back!(remembered)
        copy!(Random.default_rng(), before)
        rethrow(Passed(plan.engine[], error))
    end
end

"The value of the function on copies of the leaves, as a function without side effects; it is an error if it writes others than it says."
function run_alone(plan::Plan, values::Vector{Any})
    copies = Any[deepcopy(value) for value in values]
    f, arguments = bound(plan, copies)
    value = on_arrays(plan, f, arguments)(arguments...)
    allowed = Int[plan.positional.parts[k].index for k in plan.written]
    for i in eachindex(values)
        i in allowed || !(values[i] isa AbstractArray) || isequal(copies[i], values[i]) || throw(Undeclared(counted(plan, i)))
    end
    check_sparse(plan, copies, f, arguments)
    return value
end

on_arrays(plan::Plan, f, arguments) =
    isempty(plan.written) ? f : MutatingArrays(f, ntuple(k -> Val(k in plan.written), length(arguments)))

"Value and pullback by another engine."
function by_other_engine(plan::Plan, values::Vector{Any}, engine::Symbol, remembered::Remembered)
    random = copy(Random.default_rng())
    value = run_alone(plan, values)
    return value, pullback_from(plan, values, engine, value, random, remembered)
end

"""
The pullback of a run that gave `value`. The first answer of an engine other than Zygote is held against finite differences, once for
each plan and types of its leaves; and each where the function writes memory that outlives the call.
"""
function pullback_from(plan::Plan, values::Vector{Any}, engine::Symbol, value, random, remembered::Remembered)
    check_own(plan, values, engine)
    # Floats are copied where they are packed; everything else, and what keywords hold, the engine would share with the caller.
    given = plan.keywords === nothing && all(x -> x isa Number || differentiable(x), values) ? values : deepcopy(values)
    f, arguments = bound(plan, given)
    program, kind = on_arrays(plan, f, arguments), (engine, map(typeof, values))
    if !isempty(plan.sparse)
        program, arguments = OfEntries(program, plan.positional), opened(plan.positional, given)
    end
    found = something(plan.outside[])
    always = kind ∉ plan.verified || MutationBridge.is_doubtful(engine, found)
    back = MutationBridge.interface_pullback(
        MutationBridge.backend(Val(engine)), program, arguments, deepcopy(value), random, always, remembered, found
    )
    return function pull(ct)
        gradients = back(ct)
        push!(plan.verified, kind)
        return gradients
    end
end

"""
The memory that the function of a plan does not make and may write: its code, and that of all functions that were among its arguments, is
looked through once, what it holds in each call.
"""
function remembered_by(plan::Plan, values::Vector{Any})
    found = plan.outside[]
    if found === nothing || found.world != Base.get_world_counter()
        found = plan.outside[] = Outside(plan.f)
    end
    for x in values
        x isa Union{Number,AbstractArray{<:Number},AbstractString} || look_into_argument!(found, x)
    end
    return Remembered(MutationBridge.memory_of(found))
end

"The function of the wanted leaves alone; `part` is what is taken of its value."
struct OfLeaves{P}
    plan::Plan
    values::Vector{Any}
    part::P
end
function (of::OfLeaves)(wanted...)
    values = Any[deepcopy(value) for value in of.values]
    values[of.plan.wanted] .= wanted
    f, arguments = bound(of.plan, values)
    return of.part(on_arrays(of.plan, f, arguments)(arguments...))
end

"Raise `Disproved` if the gradients by leaf that Zygote `found` are wrong, where the function writes memory that outlives the call."
function hold_leaves(plan::Plan, values::Vector{Any}, found, outputs, ct, random, remembered::Remembered, part=identity)
    check_own(plan, values, remembered)
    wanted = Tuple(is_own(plan, i) ? MutationBridge.Apart(values[i]) : values[i] for i in plan.wanted)
    MutationBridge.held(gradients_of(plan, found, values), "Zygote", OfLeaves(plan, values, part), wanted, outputs, ct, random, remembered)
    return
end

"The same for a pullback."
function held_pullback(plan::Plan, values::Vector{Any}, value, back, random, remembered::Remembered)
    plan.engine[] === :zygote && !isempty(remembered) || return back
    outputs = first(MutationBridge.slots_of(value, 1))
    return function pull(ct)
        gradients = back(ct)
        hold_leaves(plan, values, by_leaf(plan, gradients, values), outputs, ct, random, remembered)
        return gradients
    end
end

"The pullback of a run: by the engine that its plan has come to since, which has to find the same value."
function pullback_now(pulled)
    engine, back = pulled.back[]
    now = pulled.plan.engine[]
    engine === now && return back
    plan, values, remembered = pulled.plan, pulled.values, pulled.remembered
    value, back = with_random(() -> again(() -> value_and_pullback(plan, values, remembered, now), remembered), pulled.random)
    check_repeated(pulled, value)
    back = held_pullback(plan, values, value, back, pulled.random, remembered)
    pulled.back[] = now => back
    return back
end
