# What is the same in all calls of a function with one structure of arguments, and the arguments of one call.

"A call of `f` whose leaves have these kinds: how its arguments are built, and which leaves are differentiated."
struct Plan
    f::Any
    kinds::Vector{UInt8}
    positional::Branch
    keywords::Union{Nothing,Branch}
    sparse::Vector{SparseLeaf}      # the sparse matrices in both
    wanted::Vector{Int}
    written::Vector{Int}
    has_aux::Bool
    ad::Symbol
    engine::Base.RefValue{Symbol}   # who differentiates: `ad` itself, or the one that `:auto` has come to
    verified::Set{Any}              # types of leaves for which finite differences did not contradict that one
    outside::Base.RefValue{Union{Nothing,Outside}}
    proven::Base.RefValue{Bool}
    owned::Dict{Any,Any}
end

"""
A plan, kept for Python. `kinds` spells one letter a leaf: a(rray), g (NumPy number), f(loat), i(nt), b(ool),
c(omplex), s(tring), n(one), o(bject kept by number). `wanted` are leaves and `written` positional arguments,
both counted from 0.
"""
function plan(@nospecialize(f), kinds, positional, names, keywords, keyword_names, wanted, written, has_aux, ad)
    numbers(text) = parse.(Int, split(text)) .+ 1
    places = structure(positional, names)
    named = isempty(keywords) ? nothing : structure_after(keywords, keyword_names, count_of(places))
    sparse = vcat(sparse_in(places), named === nothing ? SparseLeaf[] : sparse_in(named))
    made = Plan(
        f, Vector{UInt8}(kinds), places, named, sparse, numbers(wanted), numbers(written), has_aux == "aux",
        Symbol(ad), Ref(Symbol(ad) === :auto ? first(MutationBridge.AUTOMATIC) : Symbol(ad)), Set{Any}(),
        Ref{Union{Nothing,Outside}}(nothing), Ref(false),
        Dict{Any,Any}(),
    )
    return keep!(made)
end

"The structure of the keyword arguments, whose leaves are counted after those of the positional ones."
structure_after(spelled, names, before::Int) =
    read_structure(Iterators.Stateful(split(spelled)), Iterators.Stateful(split(names, '\0')), Ref(before))

"A function with its keyword arguments filled in."
struct WithKeywords{F,K}
    f::F
    keywords::K
end
(w::WithKeywords)(args...) = w.f(args...; w.keywords...)

"The leaves of one call: values, and the arrays among them."
struct Leaves
    values::Vector{Any}
    arrays::Vector{Pair{Int,Entering}}
end

function entered(plan::Plan, given::PyPtr, how::Symbol)
    n = length(plan.kinds)
    values = Vector{Any}(undef, n)
    arrays = Pair{Int,Entering}[]
    for i in 1:n
        item = tuple_item(given, i)
        kind = plan.kinds[i]
        if kind == UInt8('a')
            array = entering(item, how)
            push!(arrays, i => array)
            values[i] = array.value
        else
            values[i] = plain_leaf(kind, item)
        end
    end
    foreach(s -> enter_pattern!(values, s), plan.sparse)
    return Leaves(values, arrays)
end

function plain_leaf(kind::UInt8, item::PyPtr)
    kind == UInt8('f') && return float_of(item)
    kind == UInt8('g') && return entering_number(item)
    kind == UInt8('i') && return integer_of(item)
    kind == UInt8('b') && return integer_of(item) != 0
    kind == UInt8('c') && return complex_of(item)
    kind == UInt8('s') && return string_of(item)
    kind == UInt8('n') && return nothing
    return take!(integer_of(item))
end

"The function to call with positional arguments, and these arguments."
function bound(plan::Plan, values::Vector{Any})
    arguments = build(plan.positional, values)
    f = plan.keywords === nothing ? plan.f : WithKeywords(plan.f, build(plan.keywords, values))
    return f, arguments
end

"Raise if the function wrote a sparse matrix among the arguments that `bound` gave."
function check_sparse(plan::Plan, values::Vector{Any}, f, arguments)
    isempty(plan.sparse) && return
    check_sparse(plan.positional, values, arguments)
    plan.keywords === nothing || check_sparse(plan.keywords, values, f.keywords)
    return
end

"The number of a leaf as callers count arrays and numbers: a sparse matrix is one."
counted(plan::Plan, leaf::Int) = leaf - sum(s -> clamp(leaf - s.index, 0, PARTS_OF_SPARSE - 1), plan.sparse; init=0)

"The function wrote a leaf that is not among those that it was declared to write."
struct Undeclared <: Exception
    leaf::Int
end
Base.showerror(io::IO, e::Undeclared) = print(io, "the function wrote its array argument number $(e.leaf - 1)")

"The function gave an array that it may write another memory, so that what it wrote there is not in NumPy's. Julia 1.10 does not let it."
struct Resized <: Exception
    leaf::Int
end
Base.showerror(io::IO, e::Resized) = print(io, "the function resized its array argument number $(e.leaf - 1), whose memory is NumPy's")

"""
Run `body` on the leaves; it is an error if it writes an array that is not `allowed`, also if it throws. If it throws, allowed ones
hold what they held before.
"""
function unwritten_by(body, plan::Plan, leaves::Leaves, allowed=())
    sums = [i in allowed ? zero(UInt64) : checksum(e) for (i, e) in leaves.arrays]
    written = [i => e for (i, e) in leaves.arrays if i in allowed]
    saved = [copy(e.base) for (_, e) in written]
    result = try
        y = body()
        foreach(((i, e), before) -> lies_as(e, before) || throw(Resized(counted(plan, i))), written, saved)
        y
    catch
        foreach(((_, e), before) -> write_back!(e, before), written, saved)
        find_written(plan, leaves, sums, allowed)
        rethrow()
    end
    find_written(plan, leaves, sums, allowed)
    plan.proven[] = true
    return result
end

function find_written(plan::Plan, leaves::Leaves, sums, allowed)
    for (k, (i, e)) in enumerate(leaves.arrays)
        i in allowed && continue
        (unwritten(e) && checksum(e) == sums[k]) || throw(Undeclared(counted(plan, i)))
    end
end

"""
Whether the arrays may be wrapped: not before one call has shown that the function leaves them alone, and not where an engine
lets it write them.
"""
borrowing(plan::Plan) = plan.proven[] && plan.engine[] === :zygote ? :borrow : :own
