# Sorting, moving, accumulating, mapping and drawing into Buffers: proved by `check_rule`, and in programs.

module SortingTests

using MutationBridge, Test, Random

const gradient = MutationBridge.gradient
const x = [0.3, -1.2, 2.5, 0.9]
const weights = [1.0, 2.0, 3.0, 4.0]
const M = [0.3 -1.2 2.5; 0.9 0.1 -0.4]

# At these arguments, and at harder ones.
passes(f!, args...; options...) = isempty(check_rule(f!, args...; variants = false, options...).failures)
proved(f!, args...; options...) = isempty(check_rule(f!, args...; options...).failures)
weighted(f!, x, args...; options...) = gradient(x -> (b = Buffer(x); f!(b, args...; options...); sum(weights[1:length(b)] .* copy(b))), x)[1]

@testset "sort!" begin
    @test proved(sort!, x)
    @test passes(sort!, x; keywords = (; rev = true))
    @test passes(sort!, x; keywords = (; by = abs))
    @test passes(sort!, M; keywords = (; dims = 2))
    @test weighted(sort!, x) == [2.0, 1.0, 4.0, 3.0]
    @test weighted(sort!, x; rev = true) == [3.0, 4.0, 1.0, 2.0]
    @test weighted(sort!, x; by = v -> -v) == [3.0, 4.0, 1.0, 2.0]
    @test weighted(sort!, x; lt = (a, b) -> a > b) == [3.0, 4.0, 1.0, 2.0]
    @test weighted(sort!, x; alg = InsertionSort) == [2.0, 1.0, 4.0, 3.0]
    @test weighted(sort!, x; by = abs, alg = QuickSort) == [1.0, 3.0, 4.0, 2.0]
    @test weighted(sort!, [1.0, 1.0, 3.0, 0.0]) == [2.5, 2.5, 4.0, 1.0]       # equal values share
    @test weighted(sort!, [2.0, NaN, 1.0, NaN]) == [2.0, 3.5, 1.0, 3.5]
    @test weighted(sort!, [0.0, -0.0, 1.0, -1.0]) == [2.5, 2.5, 4.0, 1.0]
    @test gradient(x -> (b = Buffer(x); partialsort!(b, 1); b[1]), x)[1] == [0.0, 1.0, 0.0, 0.0]
    @test gradient(x -> (b = Buffer(x); partialsort!(b, 2; rev = true)), x)[1] == [0.0, 0.0, 0.0, 1.0]
    @test gradient(x -> (b = Buffer(x); sort!(view(b, 1:2)); b[1] + 3b[3]), x)[1] == [0.0, 1.0, 3.0, 0.0]
    @test MutationBridge.hessian(x -> (b = Buffer(x .^ 2); sort!(b); b[4]), x) == [0 0 0 0; 0 0 0 0; 0 0 2.0 0; 0 0 0 0]
end

@testset "sortperm!" begin
    @test gradient(x -> (b = Buffer(x); p = sortperm(b); sum(weights .* b[p])), x)[1] == [2.0, 1.0, 4.0, 3.0]
    p = zeros(Int, 4)
    @test gradient(x -> (b = Buffer(x); sortperm!(p, b); y = x[p[1]]; sortperm!(p, b; rev = true); y + 5x[p[1]]), x)[1] == [0.0, 1.0, 5.0, 0.0]
    @test p == zeros(Int, 4)                     # undone
    @test gradient(x -> (b = Buffer(x); q = Buffer(zeros(Int, 4)); sortperm!(q, b); x[q[1]]), x)[1] == [0.0, 1.0, 0.0, 0.0]
    @test sortperm!(p, Buffer(x)) == [2, 1, 4, 3]
end

@testset "moves" begin
    @test proved(reverse!, x)
    @test passes(reverse!, M; keywords = (; dims = 2))
    @test passes(reverse!, x, 2)
    @test passes(reverse!, x, 2, 3)
    @test passes(permute!, x, [3, 1, 4, 2])
    @test passes(permute!, x, [3, 3, 1, 2])
    @test passes(invpermute!, x, [3, 1, 4, 2])
    @test passes(invpermute!, x, [3, 3, 1, 2])
    @test passes(circshift!, x, 1)
    @test passes(circshift!, zeros(4), x, 2)
    @test passes(circshift!, zeros(2, 3), M, (1, -1))
    @test passes(permutedims!, zeros(3, 2), M, (2, 1))
    @test passes(conj!, complex.(x, weights))
    swap(x) = (b = Buffer(x); (b[1], b[3]) = (b[3], b[1]); sum(weights .* copy(b)))
    @test gradient(swap, x)[1] == [3.0, 2.0, 1.0, 4.0]
    rows(x) = (b = Buffer(x); for j in 1:3; (b[1, j], b[2, j]) = (b[2, j], b[1, j]); end; sum([1 2 3; 4 5 6] .* copy(b)))
    @test gradient(rows, M)[1] == [4 5 6; 1 2 3]
    @test MutationBridge.Zygote.gradient(x -> (b = Buffer(x); reverse!(b); b[1]), x)[1] == [0, 0, 0, 1]
end

@testset "sums and products" begin
    @test passes(cumsum!, zeros(4), x)
    @test passes(cumsum!, zeros(2, 3), M; keywords = (; dims = 2))
    @test proved(cumprod!, zeros(4), x)
    @test passes(cumprod!, zeros(2, 3), M; keywords = (; dims = 1))
    @test passes(sum!, zeros(2), M)
    @test passes(sum!, [0.4 0.6 1.0], M; keywords = (; init = false))
    @test passes(prod!, zeros(2), M)
    @test passes(prod!, [0.4, 0.6], M; keywords = (; init = false))
    @test passes(maximum!, zeros(2), M)
    @test passes(minimum!, [0.4, -2.0], M; keywords = (; init = false))
    @test passes(clamp!, x, -0.5, 1.0)
    @test weighted((b, _) -> cumprod!(b, copy(b)), [2.0, 0.0, 3.0, 0.0], nothing) == [1.0, 22.0, 0.0, 0.0]
    total(x, mode) = gradient(M -> (r = Buffer(zeros(1, 1)); mode(r, M); r[1]), x)[1]
    @test total([2.0 1.0; 2.0 0.0], maximum!) == [0.5 0; 0.5 0]
    @test total([2.0 0.0; 3.0 4.0], prod!) == [0 24.0; 0 0]
    @test total([0.0 0.0; 3.0 4.0], prod!) == zeros(2, 2)
    @test gradient(M -> (r = Buffer(zeros(1, 1)); sum!(abs2, r, M); r[1]), M)[1] == 2M
    clamped(x, lo, hi) = (b = Buffer(x); clamp!(b, lo, hi); sum(copy(b)))
    @test gradient(clamped, [-1.0, 0.0, 0.5, 1.0, 2.0], 0.0, 1.0) == ([0, 0.5, 1, 0.5, 0], 1.5, 1.5)
    @test gradient(clamped, [1.0], 1.0, 1.0) == ([0.0], 0.0, 1.0)
end

@testset "functions mapped" begin
    @test passes(map!, cos, zeros(4), x; writes = (2,))
    @test passes(map!, *, zeros(4), x, weights; writes = (2,))
    @test passes(broadcast!, *, zeros(2, 3), M, [2.0, 3.0]; writes = (2,))
    @test passes(accumulate!, +, zeros(4), x; writes = (2,))
    @test passes(accumulate!, *, zeros(4), x; writes = (2,), keywords = (; init = 2.0))
    @test passes(accumulate!, max, zeros(2, 3), M; writes = (2,), keywords = (; dims = 2))
    scaled(x, a) = (b = Buffer(x); map!(v -> a * v, b, b); sum(abs2, copy(b)))
    @test gradient(scaled, x, 3.0)[1] ≈ 18x
    @test gradient(scaled, x, 3.0)[2] ≈ 6 * sum(abs2, x)
    @test gradient(x -> (b = Buffer(zeros(6)); map!(abs2, b, x); sum(copy(b))), x)[1] == 2x       # shorter source
    @test gradient(x -> (b = Buffer(x); broadcast!(+, b, b, 1.0); sum(abs2, copy(b))), x)[1] ≈ 2(x .+ 1)
    @test gradient(x -> (b = Buffer(x); map!(abs2, b); sum(copy(b))), x)[1] == 2x
    @test gradient(x -> (b = Buffer(zeros(2)); map!(sin, b, x); 0.0), x)[1] in (nothing, zeros(4))
end

@testset "elements leave" begin
    @test gradient(x -> (b = Buffer(x); filter!(>(0), b); sum(weights[1:3] .* copy(b))), x)[1] == [1.0, 0.0, 2.0, 3.0]
    @test gradient(x -> (b = Buffer(x); unique!(abs, b); sum(weights[1:3] .* copy(b))), [1.0, -1.0, 2.0, 3.0])[1] == [1.0, 0.0, 2.0, 3.0]
    @test gradient(x -> (b = Buffer(x); unique!(b); 3b[2]), [1.0, 1.0, 2.0, 2.0])[1] == [0.0, 0.0, 3.0, 0.0]
    @test copy(unique!(Buffer([1.0, 1.0, 2.0]))) == [1.0, 2.0]
    error = try
        gradient(x -> (b = Buffer(x); filter!(v -> (b[1] = 2v; true), b); b[1]), x)
    catch error
        error
    end
    @test error isa LostGradient
end

@testset "drawn values are constants" begin
    for draw! in (rand!, randn!, randexp!)
        f(x) = (b = Buffer(x); y = sum(abs2, copy(b)); draw!(Xoshiro(3), b); y + sum(copy(b)))
        @test gradient(f, x)[1] == 2x
        @test f(x) == MutationBridge.withgradient(f, x).val
    end
    @test gradient(x -> (b = Buffer(x); rand!(b); 2b[1]), x)[1] in (nothing, zeros(4))
    @test gradient(x -> (b = Buffer(zeros(4)); rand!(Xoshiro(1), b, 1:3); sum(x .* copy(b))), x)[1] == rand!(Xoshiro(1), zeros(4), 1:3)
    order = shuffle!(Xoshiro(2), [1, 2, 3, 4])
    @test gradient(x -> (b = Buffer(x); shuffle!(Xoshiro(2), b); sum(weights .* copy(b))), x)[1] == weights[invperm(order)]
    message = try
        gradient(c -> (b = Buffer(zeros(4)); rand!(b, c); sum(copy(b))), [1.0, 2.0])
    catch error
        sprint(showerror, error)
    end
    @test occursin("draw indices and read choices[indices]", message)
end

@testset "refused by name" begin
    message_of(f) = try
        gradient(f, x)
        "no error"
    catch error
        @test error isa MutationError
        sprint(showerror, error)
    end
    @test occursin("reinterpret(ComplexF64, b)", message_of(x -> (b = Buffer(x); sum(abs2, reinterpret(ComplexF64, b)))))
    @test occursin("Buffer", message_of(x -> (clamp!(x, 0.0, 1.0); sum(x))))
    @test occursin("Buffer", message_of(x -> (sort!(x); sum(x))))
    @test occursin("Buffer", message_of(x -> (y = copy(x); rand!(y); sum(y))))
    @test occursin("cumsum! writes its argument B and reads its argument A, which share memory",
        message_of(x -> (b = Buffer(x); cumsum!(view(b, 2:4), view(b, 1:3)); sum(copy(b)))))
end

end
