# Threefry-2x32, counted as `jax.random` counts with jax_threefry_partitionable=True, its default.
# Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

const Key = NTuple{2,UInt32}

const ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))

"The block of 64 bits of a key and a counter: twenty rounds."
function cipher((first, second)::Key, (x, y)::Key)
    schedule = (first, second, first ⊻ second ⊻ 0x1bd11bda)
    x, y = x + schedule[1], y + schedule[2]
    for turn in 0:4
        for distance in ROTATIONS[1+turn%2]
            x += y
            y = bitrotate(y, distance) ⊻ x
        end
        x += schedule[1+(turn+1)%3]
        y += schedule[1+(turn+2)%3] + UInt32(turn + 1)
    end
    return (x, y)
end

"Block number `n` of a key, counted from 0."
block(key::Key, n::Integer) = cipher(key, ((n >> 32) % UInt32, n % UInt32))

"""
    key(seed)

The key of an integer, all 64 bits of which count.
"""
key(seed::Integer) = (w = reinterpret(UInt64, Int64(seed)); ((w >> 32) % UInt32, w % UInt32))

"A key as a pair of words; Python's is an array of two."
checked(key::Key) = key
checked(key::AbstractVector{UInt32}) =
    length(key) == 2 ? (key[begin], key[end]) : throw(ArgumentError("a key has two words, this has $(length(key))"))
checked(key) = throw(ArgumentError("a key is a pair of UInt32, not a $(typeof(key)): make one with KeyedRandom.key(seed)"))

"""
    split(key, n = 2)

A vector of `n` new keys; `key` is not to be used again.
"""
split(key, n::Integer = 2) = [block(checked(key), k) for k in 0:n-1]

"""
    fold_in(key, data)

A new key from a key and an integer from 0 to 2^32 - 1, as the step of a loop.
"""
fold_in(key, data::Integer) = cipher(checked(key), (0x00000000, UInt32(data)))

"Blocks as unsigned integers of a type."
combined(::Type{UInt64}, (high, low)::Key) = UInt64(high) << 32 | low
combined(::Type{T}, (high, low)::Key) where {T<:Union{UInt8,UInt16,UInt32}} = (high ⊻ low) % T

"`f(n)` for the elements of a shape, counted from 0 along the last axis first; a number for the shape `()`."
function in_order(f, shape::Dims)
    isempty(shape) && return f(0)
    any(<(0), shape) && throw(ArgumentError("the shape $shape has a negative length"))
    counted = [f(n) for n in 0:prod(shape)-1]
    return permutedims(reshape(counted, reverse(shape)), length(shape):-1:1)
end

"""
    bits(key, shape = (); T = UInt32)

Unsigned integers, all of whose bits are random.
"""
bits(key, shape::Dims = (); T::Type{<:Unsigned} = UInt32) = (own = checked(key); in_order(n -> combined(T, block(own, n)), shape))

"The leading bits of a block as the fraction of a float in [1, 2), less 1."
function unit(::Type{T}, words::Key) where {T<:Union{Float32,Float64}}
    U = T === Float32 ? UInt32 : UInt64
    fraction = combined(U, words) >> (8sizeof(T) - (T === Float32 ? 23 : 52))
    return reinterpret(T, fraction | reinterpret(U, one(T))) - one(T)
end

@non_differentiable key(::Any)
@non_differentiable split(::Any...)
@non_differentiable fold_in(::Any...)
@non_differentiable bits(::Any...)
