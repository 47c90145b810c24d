module ChecksumsTests

using MutationBridge, Random, Test
using MutationBridge.Python: checksum

sum_of(x::Array) = GC.@preserve x checksum(Ptr{UInt8}(pointer(x)), sizeof(x))

changed(x, write!) = (y = copy(x); write!(y); y == x && error("nothing was written"); sum_of(y) != sum_of(x))

"Of words in all quarters, of one stretch and of several, with and without bytes that are left."
const SIZES = (1, 7, 8, 31, 32, 33, 40, 256, 1000, 8 * 4096, 8 * 4096 + 32, 8 * 4097 + 5, 200_003)

@testset "checksums of memory" begin
    @testset "$n bytes" for n in SIZES
        x = rand(Xoshiro(n), UInt8, n)
        @test sum_of(x) == sum_of(copy(x))
        places = n <= 300 ? (1:n) : unique!([1; n; n >> 2; n >> 1; rand(Xoshiro(1), 1:n, 300)])
        @test all(changed(x, y -> y[k] ⊻= 0x01 << (k % 8)) for k in places)
        @test sum_of(x) != sum_of([x; 0x00])
        n > 16 && @test changed(x, reverse!)
    end
    @testset "what programs write, $name, $n numbers" for n in (4, 1000, 4096, 2^16, 2^16 + 3), (name, x, write!) in (
        ("ones for zeros", zeros(n), y -> y .= 1),
        ("zeros for ones", ones(n), y -> y .= 0),
        ("other signs", fill(0.5, n), y -> y .*= -1),
        ("twice as much", rand(Xoshiro(n), n), y -> y .*= 2),
        ("a shift", collect(1.0:n), y -> circshift!(y, copy(y), 1)),
        ("quarters exchanged", collect(1.0:n), y -> y[1:2(n÷4)] = [y[n÷4+1:2(n÷4)]; y[1:n÷4]]),
        ("halves exchanged", collect(1.0:n), y -> circshift!(y, copy(y), n ÷ 2)),
        ("two numbers exchanged", collect(1.0:n), y -> y[[1, 3]] = y[[3, 1]]),
    )
        @test changed(x, write!)
    end
end

end
