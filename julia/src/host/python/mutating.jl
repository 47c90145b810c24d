# Julia functions that write into their arguments, on NumPy's memory and as functions without side effects.

"""
A function that writes the arguments flagged `Val(true)`, as one without side effects: they become Buffers, and
the value is what they hold afterwards (`nothing` for the others), and what the function returned.
"""
struct Mutating{F,Flags<:Tuple}
    f::F
    flags::Flags
end

function (m::Mutating)(args...)
    inner = map(written_inside, m.flags, args)
    result = m.f(inner...)
    return map(contents_of, m.flags, inner), returned(result, inner)
end

"The same for engines that differentiate writes into arrays: it runs on the arrays that it is given."
struct MutatingArrays{F,Flags<:Tuple}
    f::F
    flags::Flags
end

function (m::MutatingArrays)(args...)
    result = m.f(args...)
    return map(kept_if, m.flags, args), returned(result, m.flags, args)
end

kept_if(::Val{true}, x) = x
kept_if(::Val{false}, x) = nothing

function returned(result, flags::Tuple, args::Tuple)
    for k in eachindex(args)
        flags[k] === Val(true) && args[k] === result && return Returned(k - 1)
    end
    return result
end

written_inside(::Val{true}, x) = MutationBridge.Buffer(x)
written_inside(::Val{false}, x) = x
contents_of(::Val{true}, b) = copy(b)
contents_of(::Val{false}, x) = nothing

"In place of a result that is one of the written arguments: its position, from 0."
struct Returned
    position::Int
end
returned(result, inner) = result
returned(result::MutationBridge.Buffer, inner) = ignore_derivatives(() -> position_of(result, inner))
function position_of(result, inner)
    k = findfirst(x -> x isa MutationBridge.Buffer && x.r === result.r, collect(Any, inner))
    return k === nothing ? nothing : Returned(k - 1)
end
structure_of(::Returned, count) = Leaf(count[] += 1)
to_python(x::Returned) = python_call(OBJECTS.returned, new_integer(x.position))

"Call a function that writes some of its arguments, on NumPy's memory itself."
function call_writing(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        plan = kept(key)::Plan
        leaves = entered(plan, given, plan.proven[] ? :borrow : :own)
        shared = Int[]
        for k in plan.written
            leaf = plan.positional.parts[k]
            leaf isa Leaf && plan.kinds[leaf.index] == UInt8('a') || throw(NotWritable(k))
            array = entering(tuple_item(given, leaf.index), :share)
            leaves.values[leaf.index] = array.value
            position = findfirst(pair -> first(pair) == leaf.index, leaves.arrays)
            leaves.arrays[position] = leaf.index => array
            push!(shared, leaf.index)
        end
        result = unwritten_by(plan, leaves, shared) do
            f, arguments = bound(plan, leaves.values)
            result = f(arguments...)
            check_sparse(plan, leaves.values, f, arguments)
            result
        end
        MutationBridge.poll()
        position = position_written(result, plan, leaves)
        new_tuple(position < 0 ? to_python(result) : new_none(), new_integer(position))
    end
end

"An argument that is declared as written is not an array."
struct NotWritable <: Exception
    position::Int
end
Base.showerror(io::IO, e::NotWritable) =
    print(io, "argument $(e.position - 1) is declared as written, and is not an array")

"Which of the written arguments the result is, from 0; -1 if it is none of them."
function position_written(result, plan::Plan, leaves::Leaves)
    for k in plan.written
        leaves.values[plan.positional.parts[k].index] === result && return k - 1
    end
    return -1
end
