# Nested containers of leaves: how the arguments of a call are built, and where their gradients are found.

"A place for leaf number `index`."
struct Leaf
    index::Int
end

"A tuple (without names) or named tuple of leaves and branches."
struct Branch{Names,Parts<:Tuple}
    parts::Parts
end
Branch(parts::Tuple) = Branch{nothing,typeof(parts)}(parts)
Branch(names::Tuple, parts::Tuple) = Branch{names,typeof(parts)}(parts)

"""
The structure that Python spells in prefix order: -1 a leaf, `n` a tuple of n parts, `-2 - n` a named tuple of n parts,
whose names follow one another in `names`, divided by zero bytes; `sparse` and `turned` a sparse matrix, and its transpose.
"""
function structure(spelled::AbstractString, names::AbstractString)
    tokens = Iterators.Stateful(split(spelled))
    words = Iterators.Stateful(split(names, '\0'))
    return read_structure(tokens, words, Ref(0))
end

function read_structure(tokens, words, count)
    word = popfirst!(tokens)
    word in ("sparse", "turned") && return read_sparse(count, word == "turned")
    token = parse(Int, word)
    token == -1 && return Leaf(count[] += 1)
    token >= 0 && return Branch(ntuple(_ -> read_structure(tokens, words, count), token))
    n = -2 - token
    keys = ntuple(_ -> Symbol(popfirst!(words)), n)
    return Branch(keys, ntuple(_ -> read_structure(tokens, words, count), n))
end

"The value with this structure."
build(s::Leaf, leaves) = leaves[s.index]
build(s::Branch{nothing}, leaves) = map(part -> build(part, leaves), s.parts)
build(s::Branch{Names}, leaves) where {Names} = NamedTuple{Names}(map(part -> build(part, leaves), s.parts))

"Put the parts of a gradient into `found`, by the number of their leaf; `values` are the leaves of the call."
scatter!(found, s::Leaf, gradient, values) = (found[s.index] = gradient; nothing)
scatter!(found, s::Branch, ::Nothing, values) = nothing
scatter!(found, s::Branch, ::AbstractZero, values) = nothing
scatter!(found, s::Branch, gradient::AbstractThunk, values) = scatter!(found, s, unthunk(gradient), values)
scatter!(found, s::Branch, gradient::Tangent, values) = scatter!(found, s, ChainRulesCore.backing(canonicalize(gradient)), values)
scatter!(found, s::Branch, gradient, values) = scatter_parts!(found, s, gradient, values)
scatter_parts!(found, s::Branch{nothing}, gradient::Union{Tuple,AbstractArray}, values) =
    foreach((part, one) -> scatter!(found, part, one, values), s.parts, Tuple(gradient))
function scatter_parts!(found, s::Branch{Names}, gradient::NamedTuple, values) where {Names}
    for (name, part) in zip(Names, s.parts)
        haskey(gradient, name) && scatter!(found, part, gradient[name], values)
    end
end

"The structure of a value: tuples and named tuples are branches, everything else is a leaf."
structure_of(value) = structure_of(value, Ref(0))
structure_of(value, count) = Leaf(count[] += 1)
structure_of(value::Tuple, count) = Branch(map(part -> structure_of(part, count), value))
structure_of(value::NamedTuple{Names}, count) where {Names} =
    Branch(Names, map(part -> structure_of(part, count), values(value)))

"The leaves of a value, in the order of its structure."
leaves_of(value) = leaves_of!(Any[], value)
leaves_of!(found, value) = push!(found, value)
leaves_of!(found, value::Union{Tuple,NamedTuple}) = (foreach(part -> leaves_of!(found, part), value); found)

"A structure for Python: containers of the leaves' numbers, from 0."
spelled(s::Leaf) = s.index - 1
spelled(s::Branch{nothing}) = map(spelled, s.parts)
spelled(s::Branch{Names}) where {Names} = NamedTuple{Names}(map(spelled, s.parts))
