# Products of arrays: matmul and its relatives, dot, inner, outer, vdot, cross, chains of products.
#
# With axes reversed a matrix is its transpose, so that the product `a @ b` is `b * a`.

@numpy np.matmul(x1, x2) = product(x1, x2)
@same np.linalg.matmul = np.matmul

product(a::AbstractVector, b::AbstractVector) = summed(a .* b)
product(a::AbstractMatrix, b::AbstractVector) = transpose(a) * b
product(a::AbstractVector, b::AbstractMatrix) = b * a
product(a::AbstractMatrix, b::AbstractMatrix) = b * a
product(a::AbstractVector, b) = without_dim(product(reshape(a, :, 1), b), 2)
product(a, b::AbstractVector) = without_dim(product(a, reshape(b, 1, :)), 1)
product(a, b) = matrixwise(*, a, b)
without_dim(x, d) = dropdims(x; dims=d)

"The sum of all elements, as an array without axes."
summed(x) = fill(sum(x))

@numpy np.vecdot(x1, x2; axis=-1, keepdims=false) = along((p, d) -> sum(p; dims=d),
    conj.(axis_last(x1, axis)) .* axis_last(x2, axis), -1, keepdims)
@same np.linalg.vecdot = np.vecdot
axis_last(x, axis) = moved(x, axis, -1)

@numpy np.matvec(x1, x2) = without_dim(product(x1, reshape(x2, 1, size(x2)...)), 1)
@numpy np.vecmat(x1, x2) = without_dim(product(reshape(conj.(x1), size(x1, 1), 1, size(x1)[2:end]...), x2), 2)

@numpy np.dot(a, b) = dotted(asarray(a), asarray(b))
function dotted(a, b)
    (ndims(a) == 0 || ndims(b) == 0) && return a .* b
    (ndims(a) <= 2 && ndims(b) <= 2) && return product(a, b)
    return contracted(a, b, (1,), (min(ndims(b), 2),))
end

@numpy np.inner(a, b) = inner_product(asarray(a), asarray(b))
inner_product(a, b) = ndims(a) == 0 || ndims(b) == 0 ? a .* b : contracted(a, b, (1,), (1,))

@numpy np.vdot(a, b) = summed(conj.(vec(asarray(a))) .* vec(asarray(b)))
@numpy np.outer(a, b) = vec(asarray(b)) .* transpose(vec(asarray(a)))
@same np.linalg.outer = np.outer

@numpy np.cross(a, b; axisa=-1, axisb=-1, axisc=-1, axis=nothing) =
    crossed(a, b, something(axis, axisa), something(axis, axisb), something(axis, axisc))
@numpy np.linalg.cross(x1, x2; axis=-1) = crossed(x1, x2, axis, axis, axis)
function crossed(a, b, axisa, axisb, axisc)
    x, y = axis_last(asarray(a), axisa), axis_last(asarray(b), axisb)
    part(v, k) = k > size(v, 1) ? zero(eltype(v)) : getindex(v, key(v, 1, k:k)...)
    minor(i, j) = part(x, i) .* part(y, j) .- part(x, j) .* part(y, i)
    size(x, 1) == 2 && size(y, 1) == 2 && return without_dim(minor(1, 2), 1)
    return moved(cat(minor(2, 3), minor(3, 1), minor(1, 2); dims=1), -1, axisc)
end

@numpy np.linalg.multi_dot(arrays) = chain(arrays...)
chain(a) = a
chain(a, b, rest...) = chain(product(a, b), rest...)
