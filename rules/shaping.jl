# Functions that rearrange elements: new shapes, new orders of axes, flips, and grids.

@numpy np.reshape(a, shape; order="C") = order == "F" ? reshaped_fortran(a, shape) : reshape(a, reversed(shape, length(a)))
# With "A", arrays in Fortran order give views; those that are copied are read in C order.
@numpy np.ravel(a; order="C") = order == "F" ? vec(all_reversed(a)) : vec(a)
all_reversed(a) = permutedims(a, ntuple(k -> ndims(a) + 1 - k, ndims(a)))
function reshaped_fortran(a, shape)
    lengths = reversed(shape, length(a))
    return all_reversed(reshape(all_reversed(a), reverse(lengths)))
end

@numpy np.expand_dims(a, axis) = reshape(a, expanded_size(size(a), axis))
function expanded_size(shape, axis)
    axes = axis isa Integer ? (axis,) : Tuple(axis)
    n = length(shape) + length(axes)
    added, rest = Set(n - mod(k, n) for k in axes), Iterators.Stateful(shape)
    return ntuple(k -> k in added ? 1 : popfirst!(rest), n)
end
@numpy np.squeeze(a; axis=nothing) =
    dropdims(a; dims=axis === nothing ? Tuple(k for k in 1:ndims(a) if size(a, k) == 1) : dims(a, axis))
@numpy np.atleast_1d(arys...) = each_reshaped(arys, x -> ndims(x) == 0 ? (1,) : size(x))
@numpy np.atleast_2d(arys...) = each_reshaped(arys, x -> ndims(x) == 0 ? (1, 1) : ndims(x) == 1 ? (length(x), 1) : size(x))
@numpy np.atleast_3d(arys...) = each_reshaped(arys, solid)
solid(x) = ndims(x) == 0 ? (1, 1, 1) : ndims(x) == 1 ? (1, length(x), 1) : ndims(x) == 2 ? (1, size(x)...) : size(x)
each_reshaped(xs, shape) = length(xs) == 1 ? reshape(asarray(xs[1]), shape(xs[1])) : map(x -> reshape(asarray(x), shape(x)), xs)

@numpy np.transpose(a; axes=nothing) = axes === nothing ? all_reversed(a) : permutedims(a, permutation(a, axes))
@numpy np.matrix_transpose(x) = exchanged(x, 1, 2)
@same np.linalg.matrix_transpose = np.matrix_transpose
@numpy np.swapaxes(a, axis1, axis2) = exchanged(a, dim(a, axis1), dim(a, axis2))
@numpy np.moveaxis(a, source, destination) = moved(a, source, destination)
@numpy function np.rollaxis(a, axis; start=0)
    k, to = mod(axis, ndims(a)), start < 0 ? start + ndims(a) : start
    return moved(a, k, k < to ? to - 1 : to)
end

"NumPy's order of axes, as the order of dimensions that `permutedims` takes."
permutation(a, axes) = reverse(Tuple(dim(a, k) for k in axes))
exchanged(x, i, j) = permutedims(x, ntuple(k -> k == i ? j : k == j ? i : k, ndims(x)))
moved(x, source, destination) = permutedims(x, permutation(x, moved_order(ndims(x), source, destination)))
function moved_order(n, source, destination)
    from, to = ([mod(k, n) for k in (axes isa Integer ? (axes,) : axes)] for axes in (source, destination))
    order = [k for k in 0:n-1 if !(k in from)]
    foreach(pair -> insert!(order, pair[1] + 1, pair[2]), sort!(collect(zip(to, from))))
    return Tuple(order)
end
@non_differentiable expanded_size(::Any, ::Any)
@non_differentiable permutation(::Any, ::Any)
@non_differentiable moved_order(::Any, ::Any, ::Any)

@numpy np.flip(m; axis=nothing) = flipped(m, dims(m, axis))
@numpy np.fliplr(m) = flipped(m, (dim(m, 1),))
@numpy np.flipud(m) = flipped(m, (dim(m, 0),))
flipped(m, d) = isempty(d) ? m : flipped(reverse(m; dims=d[1]), Base.tail(d))
@numpy function np.rot90(m; k=1, axes=(0, 1))
    i, j = dim(m, axes[1]), dim(m, axes[2])
    turns = mod(k, 4)
    turns == 0 && return m
    turns == 2 && return flipped(m, (i, j))
    return turns == 1 ? exchanged(reverse(m; dims=j), i, j) : reverse(exchanged(m, i, j); dims=j)
end
@numpy function np.roll(a, shift; axis=nothing)
    axis === nothing && return reshape(circshift(vec(a), sum(shift)), size(a))
    return circshift(a, shifts(a, shift, axis))
end
function shifts(a, shift, axis)
    by = zeros(Int, ndims(a))
    axes = axis isa Integer ? (axis,) : axis
    foreach(k -> by[dim(a, axes[k])] += length(shift) == 1 ? first(shift) : shift[k], eachindex(axes))
    return Tuple(by)
end
@non_differentiable shifts(::Any, ::Any, ::Any)

@numpy np.copy(a) = copy(a)
@numpy np.astype(x) = x .+ zero(eltype(x))
@numpy np.broadcast_to(array, shape) = broadcast_to(asarray(array), shape)
broadcast_to(x, shape) = x .+ zeros(eltype(x), reversed(shape, 0))
@numpy np.broadcast_arrays(args...) = (shape = common_shape(args); map(x -> asarray(x) .+ zeros(eltype(x), shape), args))
common_shape(xs) = Base.Broadcast.broadcast_shape(map(size, xs)...)
@non_differentiable common_shape(::Any)

@numpy function np.meshgrid(xi...; sparse=false, indexing="xy")
    n, lengths = length(xi), map(length, xi)
    place(k) = n + 1 - (indexing == "xy" && n > 1 && k <= 2 ? 3 - k : k)
    full = ntuple(d -> lengths[findfirst(k -> place(k) == d, 1:n)], n)
    return ntuple(n) do k
        line = reshape(vec(asarray(xi[k])), ntuple(d -> d == place(k) ? lengths[k] : 1, n))
        sparse ? line : line .+ zeros(eltype(line), full)
    end
end
