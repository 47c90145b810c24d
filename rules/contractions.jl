# Contractions: tensordot, einsum, kron, traces and diagonals.

@numpy function np.tensordot(a, b; axes=2)
    x, y = asarray(a), asarray(b)
    return contracted(x, y, contracted_dims(x, y, axes)...)
end
function contracted_dims(x, y, axes)
    in_a, in_b = axes isa Integer ? (ntuple(k -> k - axes - 1, axes), ntuple(k -> k - 1, axes)) : map(as_axes, axes)
    return Tuple(dim(x, k) for k in in_a), Tuple(dim(y, k) for k in in_b)
end
@non_differentiable contracted_dims(::Any, ::Any, ::Any)
@same np.linalg.tensordot = np.tensordot
as_axes(axes::Integer) = (axes,)
as_axes(axes) = Tuple(axes)

"The contraction of dimensions `da` of `a` with `db` of `b`: a product of matrices."
function contracted(a, b, da, db)
    free_a, free_b = others(a, da), others(b, db)
    left = reshape(permutedims(a, (free_a..., da...)), :, extent(a, da))
    right = reshape(permutedims(b, (db..., free_b...)), extent(b, db), :)
    return reshape(transpose(right) * transpose(left), (sizes(b, free_b)..., sizes(a, free_a)...))
end
sizes(x, d) = Tuple(size(x, k) for k in d)
@non_differentiable sizes(::Any, ::Any)
others(x, taken) = Tuple(k for k in 1:ndims(x) if !(k in taken))
@non_differentiable others(::Any, ::Any)

# Written out: the product of all operands, with an axis for each label, summed over the labels that the output lacks.
@numpy function np.einsum(operands...)
    places, terms, target = labelled(operands)
    arrays = map(k -> asarray(operands[k]), places)
    labels = all_labels(target, terms)
    whole = times(map((x, term) -> by_label(x, reverse(term), labels), arrays, terms)...)
    gone, order = summed_and_left(labels, target)
    left = sum(whole; dims=gone)
    return reshape(permuted(left, (order..., gone...)), sizes(left, order))
end
"`x` with one dimension for each of the labels; labels that stand twice select a diagonal."
function by_label(x, term, labels)
    own = all_labels(term, ())
    picked = length(own) == length(term) ? x : x[diagonal_positions(size(x), term, own)]
    order, lengths = order_and_lengths(size(picked), own, labels)
    return reshape(permuted(picked, order), lengths)
end
# Julia's base cannot permute an array without axes.
permuted(x, order) = ndims(x) == 0 ? x : permutedims(x, order)
times(a) = a
times(a, rest...) = a .* times(rest...)
all_labels(term, more) = Tuple(unique(Iterators.flatten((term, more...))))
summed_and_left(labels, target) =
    Tuple(k for k in eachindex(labels) if !(labels[k] in target)), Tuple(findfirst(==(l), labels) for l in reverse(target))
function order_and_lengths(shape, own, labels)
    order = Tuple(sortperm(Int[findfirst(==(label), labels) for label in own]))
    return order, Tuple((k = findfirst(==(label), own); k === nothing ? 1 : shape[k]) for label in labels)
end
function diagonal_positions(shape, term, own)
    linear = LinearIndices(shape)
    lengths = Tuple(shape[findfirst(==(label), term)] for label in own)
    return [linear[(cell[findfirst(==(label), own)] for label in term)...] for cell in CartesianIndices(lengths)]
end
"Where the operands stand, and the labels of each and of the output in NumPy's order, with ellipses written out."
function labelled(operands)
    if operands[1] isa AbstractString
        left, arrow, right = partition_of(replace(operands[1], " " => ""))
        places = Tuple(2:length(operands))
        written = map(symbols, Tuple(split(left, ","; keepempty=true)))
        target = isempty(arrow) ? nothing : symbols(right)
    else
        places = Tuple(1:2:2*(length(operands) ÷ 2))
        written = Tuple(map(entry_label, Tuple(operands[k+1])) for k in places)
        target = isodd(length(operands)) ? map(entry_label, Tuple(operands[end])) : nothing
    end
    hidden = map((k, term) -> ndims(asarray(operands[k])) - length(filter(!=("..."), term)), places, written)
    terms = map(expanded, written, hidden)
    if target === nothing
        named = [label for term in terms for label in term if !(label isa Tuple)]
        target = ("...", sort([l for l in unique(named) if count(==(l), named) == 1])...)
    end
    return places, terms, expanded(target, maximum(map((t, h) -> "..." in t ? h : 0, written, hidden); init=0))
end
partition_of(text) = occursin("->", text) ? (split(text, "->")[1], "->", split(text, "->")[2]) : (text, "", "")
symbols(term) = isempty(term) ? () : Tuple(s == "." ? "..." : s for s in split(replace(term, "..." => "."), ""))
entry_label(label) = label isa Integer ? lpad(label, 4) : "..."
expanded(term, hidden) = isempty(term) ? () : Tuple(Iterators.flatten(label == "..." ? [("...", n) for n in hidden:-1:1] : [label] for label in term))
@non_differentiable labelled(::Any)
@non_differentiable all_labels(::Any, ::Any)
@non_differentiable summed_and_left(::Any, ::Any)
@non_differentiable order_and_lengths(::Any, ::Any, ::Any)
@non_differentiable diagonal_positions(::Any, ::Any, ::Any)

@numpy function np.kron(a, b)
    x, y = asarray(a), asarray(b)
    of_x, of_y, whole = kron_sizes(x, y)
    return reshape(reshape(x, of_x) .* reshape(y, of_y), whole)
end
function kron_sizes(x, y)
    n = max(ndims(x), ndims(y))
    pairs(f) = Tuple(f(j, k) for j in 1:n for k in 1:2)
    return pairs((j, k) -> k == 1 ? 1 : size(x, j)), pairs((j, k) -> k == 1 ? size(y, j) : 1), ntuple(j -> size(x, j) * size(y, j), n)
end
@non_differentiable kron_sizes(::Any, ::Any)

@numpy np.diagonal(a; offset=0, axis1=0, axis2=1) = on_diagonal(a, offset, dim(a, axis1), dim(a, axis2))
@numpy np.linalg.diagonal(x; offset=0) = on_diagonal(x, offset, 2, 1)
@numpy np.trace(a; offset=0, axis1=0, axis2=1) = over_first(on_diagonal(a, offset, dim(a, axis1), dim(a, axis2)))
@numpy np.linalg.trace(x; offset=0) = over_first(on_diagonal(x, offset, 2, 1))
over_first(x) = without_dim(sum(x; dims=1), 1)

"The diagonal on which the index along `d2` exceeds that along `d1` by `offset`; it is NumPy's last axis."
on_diagonal(a, offset, d1, d2) = a[diagonal_cells(size(a), offset, d1, d2)]
function diagonal_cells(shape, offset, d1, d2)
    linear, rest = LinearIndices(shape), [k for k in eachindex(shape) if k != d1 && k != d2]
    rows, columns = max(-offset, 0), max(offset, 0)
    count = max(min(shape[d1] - rows, shape[d2] - columns), 0)
    cell(k, others) = linear[ntuple(j -> j == d1 ? k + rows : j == d2 ? k + columns : others[findfirst(==(j), rest)], length(shape))...]
    return [cell(k, others) for k in 1:count, others in CartesianIndices(Tuple(shape[j] for j in rest))]
end
@non_differentiable diagonal_cells(::Any, ::Any, ::Any, ::Any)
