# Reverse mode for Python: values with gradients, and pullbacks that Python keeps.

"A gradient was asked of a value that is not one real number; Python names it."
struct NotANumber <: Exception
    value::Any
end
Base.showerror(io::IO, e::NotANumber) = print(io, "the function returned a ", typeof(e.value))

"A gradient was asked of a leaf that has none."
struct NotDifferentiable <: Exception
    leaf::Int
end
Base.showerror(io::IO, e::NotDifferentiable) = print(io, "argument number $(e.leaf - 1) cannot be differentiated")

differentiable(x::Number) = x isa Union{AbstractFloat,Complex{<:AbstractFloat}}
differentiable(x::AbstractArray{T}) where {T} = T <: Union{AbstractFloat,Complex{<:AbstractFloat}}
differentiable(x) = false

function check_wanted(plan::Plan, values)
    check_shared(plan, values)
    for i in plan.wanted
        (is_own(plan, i) ? holds_floats(values[i]) : undispatched(differentiable, values[i])::Bool) || throw(NotDifferentiable(i))
    end
end

"What a call was differentiated to; the gradients are by leaf, `nothing` where there is none."
struct Differentiated
    value::Any
    aux::Any
    gradients::Vector{Any}
end

"One dynamic call for each function and types of arguments, in which everything is typed."
by_context(plan::Plan, f::F, arguments::A, values::Vector{Any}) where {F,A<:Tuple} =
    by_seed(plan, MutationBridge.pullback(f, arguments...)..., values)

function by_seed(plan::Plan, result, back, values::Vector{Any})
    value, aux, gradients = seeded(result, back, plan.has_aux)
    return Differentiated(value, aux, by_leaf(plan, gradients, values))
end

function seeded(result, back, has_aux::Bool)
    if has_aux
        result isa Tuple{Any,Any} || throw(NotANumber(result))
        value, aux = result
        value isa Real || throw(NotANumber(value))
        return value, aux, back((one(value), nothing))
    end
    value = number_of(result)
    seed = one(value)
    return value, nothing, back(result isa AbstractArray ? fill(seed) : seed)
end

number_of(x::Real) = x
number_of(x::AbstractArray{<:Real,0}) = x[]
number_of(x) = throw(NotANumber(x))

"Gradients by leaf: `nothing` where there is none. `values` are the leaves of the call."
function by_leaf(plan::Plan, gradients, values::Vector{Any})
    found = Vector{Any}(nothing, length(plan.kinds))
    scatter!(found, plan.positional, gradients, values)
    return found
end

function value_and_gradient(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        leaves = entered(plan, given, borrowing(plan))
        done = differentiated(plan, leaves)
        MutationBridge.poll()
        grads = gradients_to_python(plan, done.gradients, leaves.values, wrapped(leaves))
        out = plan.has_aux ? new_tuple(to_python(done.value), to_python(done.aux)) : to_python(done.value)
        new_tuple(out, grads)
    end
end

"Value, aux and gradients, held where they have to be."
function differentiated(plan::Plan, leaves::Leaves)
    values = leaves.values
    check_wanted(plan, values)
    random, remembered = copy(Random.default_rng()), remembered_by(plan, values)
    done = attempted(plan, values, remembered) do
        done = watched(() -> once(plan, values, remembered), plan, leaves)
        if plan.engine[] === :zygote && !isempty(remembered)
            outputs = first(MutationBridge.slots_of(done.value, 1))
            part = plan.has_aux ? first : number_of
            hold_leaves(plan, values, done.gradients, outputs, one(done.value), random, remembered, part)
        end
        done
    end
    hold_beside(() -> gradients_of(plan, done.gradients, values), plan, values, random, remembered) do values
        gradients_of(plan, once(plan, values, remembered).gradients, values)
    end
    return done
end

function once(plan::Plan, values::Vector{Any}, remembered::Remembered)
    plan.engine[] === :zygote || return by_seed(plan, value_and_pullback(plan, values, remembered)..., values)::Differentiated
    f, arguments = bound(plan, values)
    done = by_context(plan, f, arguments, values)::Differentiated
    check_sparse(plan, values, f, arguments)
    return done
end

"""
Run a differentiation. Our context refuses writes into arrays, rules of others may still do it: copies are compared, of wrapped
arrays checksums. The first call gets copies of all.
"""
watched(compute, plan::Plan, leaves::Leaves) = unwritten_by(compute, plan, leaves)

"A pullback for Python, with what is needed to run the function again as it ran."
struct Pulled
    plan::Plan
    back::Base.RefValue{Pair{Symbol,Any}}   # the engine, and its pullback
    values::Vector{Any}
    shape::Union{Leaf,Branch}
    outputs::Vector{Any}    # the types and shapes of the outputs' leaves, as zeros
    random::Any             # the random generator's state before the run
    remembered::Remembered  # memory that outlives the run, before it
    sample::Vector{Any}     # some elements of the outputs
    taken::Vector{UnitRange{UInt}}
end

"Some elements of each leaf, to see whether another run gives the same."
samples(leaves) = Any[sample(leaf) for leaf in leaves]
sample(x::Number) = [x]
sample(x::AbstractArray{T}) where {T<:Number} = isempty(x) ? T[] : [x[k] for k in eachindex(x)[1:cld(length(x), 32):end]]
sample(x) = nothing

looks(x::Number) = x
looks(x::AbstractArray{T,N}) where {T,N} = LooksLike{T,N}(size(x))
looks(x) = nothing

"Element type and size of an array that is not kept."
struct LooksLike{T,N}
    size::Dims{N}
end

"Value and pullback; `written` positional arguments are Buffers inside, and their contents afterwards are outputs."
function value_and_pullback(plan::Plan, values, remembered::Remembered, engine::Symbol=plan.engine[])
    engine === :zygote || return by_other_engine(plan, values, engine, remembered)
    f, arguments = bound(plan, values)
    found = MutationBridge.pullback(without_effects(plan, f, arguments), arguments...)
    check_sparse(plan, values, f, arguments)
    return found
end

function pullback(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        leaves = entered(plan, tuple_item(given, 1), given_how(plan, given))
        random, remembered = copy(Random.default_rng()), remembered_by(plan, leaves.values)
        value, back = attempted(plan, leaves.values, remembered) do
            value, back = watched(() -> value_and_pullback(plan, leaves.values, remembered), plan, leaves)
            value, held_pullback(plan, leaves.values, value, back, random, remembered)
        end
        MutationBridge.poll()
        shape = structure_of(value)
        parts = leaves_of(value)
        pulled = Pulled(
            plan, Ref{Pair{Symbol,Any}}(plan.engine[] => back), leaves.values, shape, Any[looks(part) for part in parts], random, remembered,
            samples(parts), wrapped(leaves),
        )
        outputs = new_tuple(PyPtr[to_python(part) for part in parts])
        new_tuple(new_integer(keep!(pulled)), outputs, to_python(spelled(shape)))
    end
end

"Memory that Python restores before it pulls may be wrapped; arguments that anybody may change are copied."
given_how(plan::Plan, given::PyPtr) = integer_of(tuple_item(given, 2)) == 0 ? :own : borrowing(plan)

"The cotangents of the outputs' leaves; `nothing` where there is none."
function cotangents(pulled::Pulled, given::PyPtr)
    found = Vector{Any}(nothing, length(pulled.outputs))
    for i in eachindex(found)
        item = tuple_item(given, i)
        item == OBJECTS.none && continue
        found[i] = cotangent(pulled.outputs[i], item)
    end
    return found
end
cotangent(::LooksLike, item::PyPtr) = entering(item, :own).value
cotangent(::Number, item::PyPtr) = entering_number(item)
cotangent(::Nothing, item::PyPtr) = nothing

function pull(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        pulled = kept(key)::Pulled
        cts = cotangents(pulled, given)
        found = attempted(pulled.plan, pulled.values, Remembered(pulled.remembered.memory), pulled.random) do
            pulled_back(pulled, pullback_now(pulled), cts)
        end
        hold_pulled(pulled, found, cts)
        MutationBridge.poll()
        gradients_to_python(pulled.plan, found, pulled.values, pulled.taken)
    end
end

"Raise `LostGradient` if the cotangents that were pulled back are others just beside."
function hold_pulled(pulled::Pulled, found::Vector{Any}, cts::Vector{Any})
    plan, remembered = pulled.plan, pulled.remembered
    all(isnothing, cts) && return
    hold_beside(() -> gradients_of(plan, found, pulled.values), plan, pulled.values, pulled.random, remembered) do values
        _, back = value_and_pullback(plan, values, remembered)
        gradients_of(plan, by_leaf(plan, back(build(pulled.shape, cts)), values), values)
    end
end

function pulled_back(pulled::Pulled, back, cts::Vector{Any})
    all(isnothing, cts) && return Vector{Any}(nothing, length(pulled.plan.kinds))
    return by_leaf(pulled.plan, back(build(pulled.shape, cts)), pulled.values)
end
