# Functions that choose elements: by conditions (`where`, `select`, `compress`) or by indices (`take`, `choose`).

# A choice of ours: its pull gives nothing to what was not chosen, where a product with a mask makes NaN of infinity.
choose(mask, x, y) = ifelse.(mask, x, y)
function ChainRulesCore.rrule(::typeof(choose), mask, x, y)
    function back(ct)
        full = asarray(unthunk(ct))
        of(part, operand) = operand isa Number ? NoTangent() : fitted(asarray(part), operand)
        zeroed = zero(eltype(full))
        return NoTangent(), NoTangent(), of(ifelse.(mask, full, zeroed), x), of(ifelse.(mask, zeroed, full), y)
    end
    return asarray(choose(mask, x, y)), back
end

@numpy np.where(condition, x, y) = choose(condition .!= 0, x, y)

@numpy np.select(condlist, choicelist; default=0) = first_chosen(condlist, choicelist, default)
first_chosen(conditions, choices, default) = isempty(conditions) ? default :
    choose(conditions[1], choices[1], first_chosen(Base.tail(conditions), Base.tail(choices), default))

@numpy function np.choose(a, choices; mode="raise")
    pieces = slices(choices)
    index = bounded(a, length(pieces), mode)
    return numbered(index, 0, pieces)
end
numbered(index, k, pieces) = length(pieces) == 1 ? choose(is_number(index, k), pieces[1], 0) :
    choose(is_number(index, k), pieces[1], numbered(index, k + 1, Base.tail(pieces)))
is_number(index, k) = index .== k
@non_differentiable is_number(::Any, ::Any)
slices(choices::Tuple) = choices
slices(choices::AbstractArray) = Tuple(selectdim(choices, ndims(choices), k) for k in axes(choices, ndims(choices)))

"Indices that count from 0, as NumPy takes them in this mode."
bounded(k, n, mode) = mode == "clip" ? clamp.(k, 0, n - 1) : mod.(k, n)
@non_differentiable bounded(::Any, ::Any, ::Any)

@numpy function np.take(a, indices; axis=nothing, mode="raise")
    axis === nothing && return gathered(vec(a), bounded(indices, length(a), mode) .+ 1)
    d = dim(a, axis)
    k = bounded(indices, size(a, d), mode) .+ 1
    picked = getindex(a, key(a, d, vec(asarray(k)))...)
    return reshape(picked, size(a)[1:d-1]..., size(k)..., size(a)[d+1:end]...)
end
gathered(flat, k::Integer) = fill_of(flat, k)
gathered(flat, k) = reshape(flat[vec(k)], size(k))
fill_of(flat, k) = reshape(flat[k:k], ())

@numpy function np.take_along_axis(arr, indices; axis=-1)
    axis === nothing && return vec(arr)[bounded(vec(indices), length(arr), "wrap") .+ 1]
    return arr[positions_along(size(arr), indices, dim(arr, axis))]
end
"Linear positions of the elements that `indices` names along dimension `d`; other axes broadcast."
function positions_along(shape, indices, d)
    full = ntuple(j -> j == d ? size(indices, j) : max(shape[j], size(indices, j)), length(shape))
    linear = LinearIndices(shape)
    return map(CartesianIndices(full)) do cell
        k = indices[ntuple(j -> size(indices, j) == 1 ? 1 : cell[j], length(full))...]
        linear[ntuple(j -> j == d ? mod(k, shape[d]) + 1 : shape[j] == 1 ? 1 : cell[j], length(full))...]
    end
end
@non_differentiable positions_along(::Any, ::Any, ::Any)

@numpy function np.compress(condition, a; axis=nothing)
    kept = findall(!iszero, vec(asarray_of(condition)))
    axis === nothing && return vec(a)[kept]
    return getindex(a, key(a, dim(a, axis), kept)...)
end
@numpy np.extract(condition, arr) = vec(arr)[findall(!iszero, vec(asarray_of(condition)))]
asarray_of(condition::Tuple) = collect(condition)
asarray_of(condition) = asarray(condition)
@non_differentiable asarray_of(::Any)
