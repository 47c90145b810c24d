# Functions that put arrays together and take them apart: concatenate, stack, block, insert, delete, split.

pieces(arrays::Tuple) = map(asarray, arrays)
pieces(arrays::AbstractArray) = ntuple(k -> asarray(getindex(arrays, key(arrays, ndims(arrays), k)...)), size(arrays, ndims(arrays)))
# Python floats and integers among the arrays become ones of the same element type.
joined(xs, d) = length(xs) == 1 ? xs[1] : cat(xs...; dims=d)

@numpy np.concatenate(arrays; axis=0) = axis === nothing ? joined(map(vec, pieces(arrays)), 1) :
    (xs = pieces(arrays); joined(xs, dim(xs[1], axis)))
@numpy function np.stack(arrays; axis=0)
    xs = pieces(arrays)
    return joined(map(x -> reshape(x, expanded_size(size(x), axis)), xs), ndims(xs[1]) + 1 - mod(axis, ndims(xs[1]) + 1))
end
flat2(x) = reshape(x, ndims(x) == 0 ? (1, 1) : ndims(x) == 1 ? (length(x), 1) : size(x))
line(x) = ndims(x) == 0 ? reshape(x, 1) : x
@numpy np.vstack(tup) = (xs = map(flat2, pieces(tup)); joined(xs, ndims(xs[1])))
@numpy np.hstack(tup) = (xs = map(line, pieces(tup)); joined(xs, max(ndims(xs[1]) - 1, 1)))
@numpy np.dstack(tup) = (xs = map(x -> reshape(x, solid(x)), pieces(tup)); joined(xs, ndims(xs[1]) - 2))
@numpy np.column_stack(tup) =
    (xs = map(x -> ndims(x) < 2 ? reshape(x, 1, :) : x, pieces(tup)); joined(xs, ndims(xs[1]) - 1))
@numpy np.append(arr, values; axis=nothing) = axis === nothing ? vcat(vec(asarray(arr)), vec(asarray(values))) :
    joined((arr, values), dim(arr, axis))

@numpy np.block(arrays) = blocked(arrays, depth_of(arrays), max(depth_of(arrays), deepest(arrays)))
depth_of(arrays::Tuple) = 1 + depth_of(arrays[1])
depth_of(array) = 0
deepest(arrays::Tuple) = maximum(map(deepest, arrays))
deepest(array) = ndims(asarray(array))
blocked(arrays::Tuple, depth, n) = joined(map(part -> blocked(part, depth - 1, n), arrays), depth)
blocked(array, depth, n) = (x = asarray(array); reshape(x, ntuple(k -> size(x, k), n)))
@non_differentiable depth_of(::Any)
@non_differentiable deepest(::Any)

@numpy function np.delete(arr, obj; axis=nothing)
    x, d = axis === nothing ? (vec(arr), 1) : (arr, dim(arr, axis))
    return getindex(x, key(x, d, left_over(size(x, d), obj))...)
end
function left_over(n, obj)
    gone = obj isa AbstractArray{Bool} ? findall(vec(obj)) : mod.(vec(collect(obj)), n) .+ 1
    return setdiff(1:n, gone)
end
@non_differentiable left_over(::Any, ::Any)

@numpy np.split(ary, indices_or_sections; axis=0) = cut(ary, indices_or_sections, dim(ary, axis))
@same np.array_split = np.split
@numpy np.hsplit(ary, indices_or_sections) = cut(ary, indices_or_sections, max(ndims(ary) - 1, 1))
@numpy np.vsplit(ary, indices_or_sections) = cut(ary, indices_or_sections, ndims(ary))
@numpy np.dsplit(ary, indices_or_sections) = cut(ary, indices_or_sections, ndims(ary) - 2)
cut(x, sections, d) = map(r -> getindex(x, key(x, d, r)...), ranges_of(size(x, d), sections))
@numpy np.unstack(x; axis=0) = ntuple(k -> asarray(getindex(x, key(x, dim(x, axis), k)...)), size(x, dim(x, axis)))
function ranges_of(n, sections::Integer)
    short, longer = divrem(n, sections)
    stops = cumsum([short + (k <= longer) for k in 1:sections])
    return Tuple(k == 1 ? (1:stops[1]) : (stops[k-1]+1:stops[k]) for k in 1:sections)
end
function ranges_of(n, places)
    at = [clamp(k < 0 ? n + k : k, 0, n) for k in vec(collect(places))]
    return Tuple((a + 1):max(b, a) for (a, b) in zip([0; at], [at; n]))
end
@non_differentiable ranges_of(::Any, ::Any)

# What is inserted goes behind the array, then everything to its place.
@numpy function np.insert(arr, obj, values; axis=nothing, out)
    obj isa Union{Integer,AbstractArray{<:Integer},Tuple{Vararg{Integer}}} || notcovered("the entry is for places that are integers")
    whole = axis === nothing ? vec(asarray(arr)) : arr
    d = axis === nothing ? 1 : dim(arr, axis)
    count = size(out, d) - size(whole, d)
    given = obj isa Integer || obj isa AbstractArray{<:Integer,0} ? along_axis(asarray(values), ndims(whole), d) : asarray(values)
    behind = given .+ zeros(eltype(whole), ntuple(k -> k == d ? count : size(whole, k), ndims(whole)))
    order = inserted_order(obj, size(whole, d), count)
    return getindex(cat(whole, behind; dims=d), key(whole, d, order)...)
end
"`values`, whose first axis in NumPy is the one along which they are inserted."
function along_axis(values, n, d)
    filled = reshape(values, size(values)..., ntuple(_ -> 1, n - ndims(values))...)
    return permutedims(filled, with_last_at(n, d))
end
with_last_at(n, d) = insert!(collect(1:n-1), d, n)
@non_differentiable with_last_at(::Any, ::Any)
"Which of `n` elements, and of the `count` behind them, comes at each place."
function inserted_order(obj, n, count)
    eltype(obj) == Bool && notcovered("the entry is for places that are integers, not for a mask")
    places = [k < 0 ? k + n : Int(k) for k in (obj isa Tuple ? obj : vec(asarray(obj)))]
    length(places) == 1 && (places = fill(only(places), count))
    before = [(k, 1, j) for (j, k) in enumerate(places)]
    return [last(entry) for entry in sort!([[(k, t, n + j) for (k, t, j) in before]; [(j - 1, 2, j) for j in 1:n]])]
end
@non_differentiable inserted_order(::Any, ::Any, ::Any)
