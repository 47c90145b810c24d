# Checksums of memory, by which a function is seen to have written it. They take little longer than reading it does.

const WEIGHTS_OF_WORDS = let
    scrambled(k) = (z = k * 0x9e3779b97f4a7c15; z = (z ⊻ z >> 30) * 0xbf58476d1ce4e5b9; z = (z ⊻ z >> 27) * 0x94d049bb133111eb; z ⊻ z >> 31)
    scrambled.(UInt64(1):UInt64(1024))
end

# As in UMAC's hash NH (RFC 4418, 5.2): of halves with weights added, one multiplication for each word, which processors do for several at once.
@inline weighted(word::UInt64, weight::UInt64) = low(word + weight) * low(word >> 32 + weight >> 32)
@inline low(word::UInt64) = word & 0xffffffff

@inline joined(sum::UInt64, part::UInt64) = bitrotate((sum ⊻ part) * 0x9e3779b97f4a7c15, 31)

"A checksum of memory. Its quarters are read side by side: from a single stretch, processors do not fetch ahead enough."
function checksum(memory::Ptr{UInt8}, bytes::Int)
    quarter = bytes >> 5
    first, second, third, fourth = ntuple(k -> Ptr{UInt64}(memory) + 8 * quarter * (k - 1), 4)
    sum = joined(UInt64(bytes), zero(UInt64))
    GC.@preserve WEIGHTS_OF_WORDS begin
        weights = Ptr{UInt64}(bytes_in(WEIGHTS_OF_WORDS))
        for done in 0:length(WEIGHTS_OF_WORDS):quarter-1
            a = b = c = d = zero(UInt64)
            @simd for k in 1:min(length(WEIGHTS_OF_WORDS), quarter - done)
                w = unsafe_load(weights, k)
                a += weighted(unsafe_load(first, done + k), w)
                b += weighted(unsafe_load(second, done + k), w)
                c += weighted(unsafe_load(third, done + k), w)
                d += weighted(unsafe_load(fourth, done + k), w)
            end
            sum = joined(joined(joined(joined(sum, a), b), c), d)
        end
    end
    for k in 32 * quarter + 1:bytes
        sum = joined(sum, UInt64(unsafe_load(memory, k)))
    end
    return sum
end
