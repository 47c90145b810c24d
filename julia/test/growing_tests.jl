# Vector Buffers that grow and shrink, and views that a resize leaves behind.

module GrowingTests

include("finite_differences.jl")

const gradient = MutationBridge.gradient
const x6 = [0.3, -1.2, 0.8, 2.1, -0.4, 1.7]
const w = [1.0, -2.0, 0.5, 3.0, 1.5, -0.5, 2.5, -1.0, 0.75, 1.25]
weighted(b) = sum(w[1:length(b)] .* copy(b) .^ 2)

@testset "$name" for (name, f) in [
    "push! into an empty one" => x -> (b = Buffer(Float64[]); for v in x; push!(b, v^2); end; weighted(b)),
    "push! several" => x -> (b = Buffer(x); push!(b, x[1]^2, x[2], 3.0); weighted(b)),
    "push! and write before" => x -> (b = Buffer(x); push!(b, b[1] * b[2]); b[1] = b[7]; push!(b, b[1]^2); weighted(b)),
    "push! and pop!" => x -> (b = Buffer(Float64[]); for v in x; push!(b, v^2); end; p = pop!(b); weighted(b) + 3p),
    "pop! unused" => x -> (b = Buffer(x); pop!(b); pop!(b); weighted(b)),
    "pop! and push! back" => x -> (b = Buffer(x); p = pop!(b); push!(b, p^2, p); weighted(b)),
    "a stack machine" => x -> (b = Buffer(x); while length(b) > 1; p = pop!(b); q = pop!(b); push!(b, p * q + p); end; b[1]),
    "a queue" => x -> (b = Buffer(x); for _ in 1:4; p = popfirst!(b); push!(b, p * b[1]); end; weighted(b)),
    "pushfirst! and popfirst!" => x -> (b = Buffer(x); pushfirst!(b, x[1]^2, x[2]); p = popfirst!(b); weighted(b) * p),
    "append! an array" => x -> (b = Buffer(x); append!(b, x[1:3] .^ 2); weighted(b)),
    "append! a Buffer" => x -> (b = Buffer(x); c = Buffer(x[1:2]); append!(b, c); c[1] = 5.0; weighted(b) + weighted(c)),
    "append! itself" => x -> (b = Buffer(x[1:3]); append!(b, copy(b)); weighted(b)),
    "append! a tuple, a generator, several" => x -> (b = Buffer(x[1:2]); append!(b, (x[1]^2, x[3])); append!(b, (v^2 for v in x[1:2])); append!(b, x[5:5], x[6:6]); weighted(b)),
    "prepend!" => x -> (b = Buffer(x); prepend!(b, x[1:2] .^ 2); b[2] *= 2; weighted(b)),
    "resize! down and up" => x -> (b = Buffer(x); resize!(b, 3); resize!(b, 5); b[5] = x[6]^2; weighted(b)),
    "resize! to the same length" => x -> (b = Buffer(x); resize!(b, 6); weighted(b)),
    "insert!" => x -> (b = Buffer(x); insert!(b, 3, x[1]^2); insert!(b, 1, x[2]); insert!(b, length(b) + 1, x[3]); weighted(b)),
    "deleteat! one" => x -> (b = Buffer(x); y = b[2]; deleteat!(b, 2); weighted(b) + y^2),
    "deleteat! a range" => x -> (b = Buffer(x); deleteat!(b, 2:4); b[2] = b[1] * b[3]; weighted(b)),
    "deleteat! scattered" => x -> (b = Buffer(x); deleteat!(b, [1, 3, 4, 6]); weighted(b)),
    "deleteat! by mask" => x -> (b = Buffer(x); deleteat!(b, [true, false, true, false, false, true]); weighted(b)),
    "deleteat! none" => x -> (b = Buffer(x); deleteat!(b, Int[]); weighted(b)),
    "popat!" => x -> (b = Buffer(x); p = popat!(b, 3); weighted(b) * p),
    "splice! with values" => x -> (b = Buffer(x); t = splice!(b, 2:3, x[4:6] .^ 2); weighted(b) + sum(abs2, t)),
    "splice! one" => x -> (b = Buffer(x); p = splice!(b, 2); weighted(b) * p),
    "empty!" => x -> (b = Buffer(x); y = weighted(b); empty!(b); push!(b, x[2]^2); y + weighted(b)),
    "sizehint!" => x -> (b = Buffer(x); sizehint!(b, 100); push!(b, x[1]); weighted(b)),
    "inside of foreach" => x -> (b = Buffer(Float64[]); foreach(v -> push!(b, v^2), x); weighted(b)),
    "inside of an unused map" => x -> (b = Buffer(Float64[]); map(v -> (push!(b, v^2); nothing), x); weighted(b)),
    "arrays as elements" => x -> (b = Buffer(Vector{Float64}[]); push!(b, x[1:3] .^ 2); push!(b, b[1] .* x[4:6]); sum(pop!(b)) * sum(b[1])),
    "view before and view after" => x -> (b = Buffer(x); v = view(b, 1:2); v .*= 2; push!(b, x[1]); u = view(b, 6:7); u .*= 3; weighted(b)),
    "reshape after" => x -> (b = Buffer(x[1:3]); push!(b, x[4]^2); m = reshape(b, 2, 2); m[1, 2] = m[2, 1] * x[5]; push!(b, m[1, 1]); weighted(b)),
    "of a kept length, in a Dict" => x -> (d = Dict("s" => Buffer(x)); for _ in 1:3; push!(d["s"], pop!(d["s"]) * x[1]); end; weighted(d["s"])),
]
    @test right(f, x6)
end

@testset "without differentiation they are Base's" begin
    b = Buffer([1.0, 2.0, 3.0])
    @test copy(push!(b, 4, 5.0)) == [1, 2, 3, 4, 5]
    @test pop!(b) == 5.0 && popfirst!(b) == 1.0 && popat!(b, 2) == 3.0
    @test copy(append!(b, [7.0], (8.0,))) == [2, 4, 7, 8]
    @test copy(prepend!(b, [0.0], [1.0])) == [0, 1, 2, 4, 7, 8]
    @test copy(pushfirst!(b, -2, -1)) == [-2, -1, 0, 1, 2, 4, 7, 8]
    @test copy(insert!(b, 2, 9.0)) == [-2, 9, -1, 0, 1, 2, 4, 7, 8]
    @test copy(deleteat!(b, [2, 3, 9])) == [-2, 0, 1, 2, 4, 7]
    @test splice!(b, 2:3, [5.0]) == [0, 1] && copy(b) == [-2, 5, 2, 4, 7]
    @test splice!(b, 1) == -2.0 && copy(resize!(b, 2)) == [5, 2] && copy(resize!(b, 3)) == [5, 2, 0]
    @test isempty(empty!(b))
end

@testset "stale views and what has no length of its own are refused" begin
    stale(x) = (b = Buffer(x); v = view(b, 1:2); push!(b, 1.0); v[1])
    stale_write(x) = (b = Buffer(x); v = view(b, 1:2); pop!(b); v .= 0; sum(b))
    for f in (stale, stale_write), run in (() -> gradient(f, x6), () -> f(x6))
        text = message_of(run, MutationError)
        @test occursin("after its vector was resized", text) && occursin("Take the view after the resize", text)
    end
    for run in (() -> gradient(x -> (b = Buffer(x); push!(view(b, 1:2), 1.0); b[1]), x6), () -> push!(view(Buffer(x6), 1:2), 1.0))
        @test occursin("push! resizes a vector, and this Buffer is a view", message_of(run, MutationError))
    end
    @test occursin("pop! needs a vector", message_of(() -> pop!(Buffer(ones(2, 2))), MutationError))
    @test_throws ArgumentError gradient(x -> (b = Buffer(Float64[]); pop!(b) * x), 1.0)
    @test_throws BoundsError gradient(x -> (b = Buffer([1.0]); insert!(b, 3, x); b[1]), 1.0)
    @test_throws BoundsError gradient(x -> (b = Buffer([1.0]); deleteat!(b, 2); b[1] * x), 1.0)
    @test_throws ArgumentError gradient(x -> (b = Buffer([1.0, 2.0]); deleteat!(b, [2, 1]); x), 1.0)
    @test_throws ArgumentError gradient(x -> (b = Buffer([1.0]); resize!(b, -1); x), 1.0)
end

end
