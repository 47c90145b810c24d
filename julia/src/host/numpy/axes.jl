# Axes as NumPy counts them, in arrays whose axes are reversed.

"The dimension that NumPy calls `axis`; negative ones count from the end."
dim(x, axis::Integer) = ndims(x) - mod(axis, max(ndims(x), 1))

"The dimensions that NumPy calls `axis`, which is one, several or nothing (all)."
dims(x, ::Nothing) = ntuple(identity, ndims(x))
dims(x, axis::Integer) = ndims(x) == 0 ? () : (dim(x, axis),)
dims(x, axis::Tuple) = Tuple(sort!([dim(x, k) for k in axis]))

"How many elements lie along these dimensions."
extent(x, d::Tuple) = prod(size(x, k) for k in d; init=1)

"A reduction over the axes, which are then dropped unless they are kept."
function along(reduction, x, axis, keepdims)
    d = dims(x, axis)
    return kept(reduction(x, d), d, keepdims)
end
kept(y, d, keepdims) = keepdims || isempty(d) ? y : dropdims(y; dims=d)

"The key that takes the indices `k` along dimension `d` and everything along the others."
key(x, d, k) = ntuple(j -> j == d ? k : Colon(), ndims(x))

"An operand as an array."
asarray(x::Number) = fill(x)
asarray(x::AbstractArray) = x

"The shape that NumPy's `shape` is here, with -1 written out for `count` elements."
function reversed(shape, count)
    lengths = reverse(shape isa Integer ? (shape,) : Tuple(shape))
    known = prod(n for n in lengths if n != -1; init=1)
    return Tuple(n == -1 ? (known == 0 ? 0 : count ÷ known) : Int(n) for n in lengths)
end

@non_differentiable dim(::Any, ::Any)
@non_differentiable dims(::Any, ::Any)
@non_differentiable extent(::Any, ::Any)
@non_differentiable key(::Any, ::Any, ::Any)
@non_differentiable reversed(::Any, ::Any)

"`ct` summed over the axes along which `x` was broadcast, and real if `x` is."
function fitted(ct, x)
    extra = Tuple(k for k in 1:ndims(ct) if size(ct, k) != size(x, k))
    summed = isempty(extra) ? ct : sum(ct; dims=extra)
    summed = reshape(summed, size(x))
    return eltype(x) <: Real && eltype(summed) <: Complex ? real(summed) : summed
end
