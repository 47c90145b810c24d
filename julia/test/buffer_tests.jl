# Buffers: every way to read and to write them, views, aliases, element types, and what is refused by name.

module BufferTests

include("finite_differences.jl")
using LinearAlgebra: dot, norm, transpose
import Zygote

const gradient = MutationBridge.gradient
const x3 = [1.1, -0.7, 2.3]
const x6 = [0.3, -1.2, 0.8, 2.1, -0.4, 1.7]
const w6 = [1.0, -2.0, 0.5, 3.0, 1.5, -0.5]
weighted(b) = dot(w6[1:length(b)], vec(collect(b)) .^ 2)

@testset "the example of the sketch" begin
    @test gradient(x -> (b = Buffer(x); b[1] = b[2]^2; b[1] * b[3]), [1.0, 2.0, 3.0]) == ([0.0, 12.0, 4.0],)
end

@testset "reads: $name" for (name, f) in [
    "one element" => x -> (b = Buffer(x); b[2]^3),
    "one element twice" => x -> (b = Buffer(x); b[2] * b[2]),
    "end and begin" => x -> (b = Buffer(x); b[end] * b[begin]^2),
    "an element of a view, written later" => x -> (b = Buffer(x); v = view(b, 2:4); y = v[1]; b[2] = 0.0; y^2 + v[2]),
    "a complex element, written later" => x -> (b = Buffer(complex.(x, 2x)); y = b[2]; b[2] = 1.0; abs2(y) * real(b[2])),
    "range" => x -> (b = Buffer(x); sum(abs2, b[2:4])),
    "step range backwards" => x -> (b = Buffer(x); dot(b[6:-2:1], w6[1:3])),
    "colon" => x -> (b = Buffer(x); sum(abs2, b[:])),
    "duplicate indices" => x -> (b = Buffer(x); dot(b[[1, 1, 4, 1]], w6[1:4])^2),
    "mask" => x -> (b = Buffer(x); sum(abs2, b[[true, false, true, true, false, false]])),
    "cartesian index" => x -> (b = Buffer(reshape(x, 2, 3)); b[CartesianIndex(2, 3)]^2 * b[1, 2]),
    "cartesian indices" => x -> (b = Buffer(reshape(x, 2, 3)); sum(abs2, b[CartesianIndices((1:2, 2:3))])),
    "linear index of a matrix" => x -> (b = Buffer(reshape(x, 2, 3)); b[4]^2),
    "row, column and element" => x -> (b = Buffer(reshape(x, 2, 3)); sum(abs2, b[1, :]) * sum(b[:, 2]) + b[2, 3]),
    "matrix of indices" => x -> (b = Buffer(x); sum(abs2, b[[1 2; 2 3]])),
    "empty range" => x -> (b = Buffer(x); sum(b[2:1]) + b[1]^2),
    "copy twice" => x -> (b = Buffer(x); sum(copy(b)) + sum(abs2, copy(b))),
    "collect, Array, vec" => x -> (b = Buffer(reshape(x, 2, 3)); sum(abs2, collect(b)) + sum(Array(b)) * sum(vec(b)[2:3])),
    "iterate" => x -> (b = Buffer(x); s = 0.0; for v in b; s += v^2; end; s),
    "enumerate" => x -> (b = Buffer(x); s = 0.0; for (i, v) in enumerate(b); s += i * v^2; end; s),
    "zip" => x -> (b = Buffer(x); s = 0.0; for (u, v) in zip(b, w6); s += v * u^2; end; s),
    "eachindex, axes, size, length" => x -> (b = Buffer(reshape(x, 2, 3)); s = 0.0;
        for i in eachindex(b), j in axes(b, 2); s += b[i] * b[1, j]; end; s * size(b, 1) * length(b)),
    "destructuring" => x -> (b = Buffer(x); (p, q) = b; p * q^2),
    "splatting" => x -> (b = Buffer(x); *(b[1:3]...)),
    "sum, prod, norm, extremes" => x -> (b = Buffer(x); sum(b) * prod(b) + norm(b) + maximum(b) * minimum(b)^2),
    "sum with a function" => x -> (b = Buffer(x); sum(abs2, b) + sum(v -> v^3, b)),
    "sum along a dimension" => x -> (b = Buffer(reshape(x, 2, 3)); sum(abs2, sum(b; dims = 2)) + sum(maximum(b, dims = 1))),
    "dot of two Buffers" => x -> (b = Buffer(x); dot(b, b) + dot(b, w6) * dot(w6, b)),
    "sums and products" => x -> (b = Buffer(reshape(x, 2, 3)); c = view(b, 1, :); y = b * c + b * x[1:3] - 2 * c[1:2]; b[1] = 0.0; sum(abs2, y + y / 2)),
    "map" => x -> (b = Buffer(x); sum(map(v -> v^2, b))),
    "comprehension" => x -> (b = Buffer(x); sum([v^2 * i for (i, v) in enumerate(b)]) + sum([b[i]^3 for i in 1:3])),
    "broadcast" => x -> (b = Buffer(x); sum(b .* 2 .+ sin.(b) .* b .^ 2) + sum(w6 ./ (3 .+ b))),
    "broadcast of a closure" => x -> (b = Buffer(x); a = x[1]; sum((v -> a * v^2).(b))),
    "broadcast of a matrix and a row" => x -> (b = Buffer(reshape(x, 2, 3)); sum(abs2, b .+ b[1:1, :] .* [1.0, 2.0])),
    "broadcast of muladd" => x -> (b = Buffer(x); sum(abs2, muladd.(b, w6, b))),
    "identity broadcast is a copy" => x -> (b = Buffer(x); c = identity.(b); d = real.(b); b[1] = 5.0; sum(abs2, c) + sum(abs2, d)),
]
    @test right(f, x6)
end

inner!(b, x) = (for i in eachindex(x); b[i] = x[i]^2; end; nothing)
middle!(b; x) = (inner!(b, x); 1)
outer!(b, x) = (middle!(b; x); nothing)

@testset "writes: $name" for (name, f) in [
    "one element" => x -> (b = Buffer(x); b[1] = b[2]^2 * b[1]; weighted(b)),
    "twice" => x -> (b = Buffer(x); b[1] = x[2]; b[1] = x[3]^2; weighted(b)),
    "with +=" => x -> (b = Buffer(zeros(6)); for i in 1:6; b[2] += x[i]^2; end; b[2]^2),
    "cartesian index" => x -> (b = Buffer(reshape(x, 2, 3)); b[CartesianIndex(1, 2)] = x[1] * x[6]; weighted(b)),
    "range" => x -> (b = Buffer(zeros(6)); b[2:4] = x[1:3] .^ 2; weighted(b)),
    "range from the Buffer itself" => x -> (b = Buffer(x); b[1:3] = b[2:4]; weighted(b)),
    "step range" => x -> (b = Buffer(x); b[5:-2:1] = x[1:3] .* x[4:6]; weighted(b)),
    "colon" => x -> (b = Buffer(zeros(6)); b[:] = x .^ 2; weighted(b)),
    "duplicate indices" => x -> (b = Buffer(x); b[[1, 1, 2]] = x[4:6] .^ 2; weighted(b)),
    "mask" => x -> (b = Buffer(x); b[[true, false, true, true, false, false]] = x[1:3] .* x[4:6]; weighted(b)),
    "column, row, matrix" => x -> (b = Buffer(zeros(2, 3)); b[:, 1] = x[1:2]; b[2, :] = x[3:5] .^ 2; b[1:2, 2:3] = reshape(x[1:4], 2, 2) .* b[1:2, 2:3]; weighted(b)),
    "row matrix into a column" => x -> (b = Buffer(zeros(6)); b[1:3] = reshape(x[1:3], 1, 3); weighted(b)),
    "a Buffer into a part" => x -> (b = Buffer(zeros(6)); c = Buffer(x[1:3] .^ 2); b[2:4] = c; c[1] = 0.0; weighted(b) + c[2]),
    "nothing" => x -> (b = Buffer(x); b[2:1] = Float64[]; weighted(b)),
    "initial contents" => x -> (b = Buffer(x); b[1] = 2b[1]; weighted(b)),
    "constants" => x -> (b = Buffer(x); b[2] = 3.0; b[4:5] = [1.0, 2.0]; weighted(b)),
    "an integer" => x -> (b = Buffer(x); b[2] = 3; weighted(b)),
    "fill!" => x -> (b = Buffer(x); y = b[1]; fill!(b, x[2]^2); weighted(b) + y),
    "fill! of a view" => x -> (b = Buffer(reshape(x, 2, 3)); fill!(view(b, 1, :), b[2, 2]); weighted(b)),
    "result unused, helpers several calls deep" => x -> (b = Buffer(zeros(6)); outer!(b, x); weighted(b)),
    "branch" => x -> (b = Buffer(x); x[1] > 0 ? (b[1] = x[2]^2) : (b[1] = x[3]); weighted(b)),
    "while" => x -> (b = Buffer(x); i = 1; while i < 6; b[i+1] = b[i] * b[i+1]; i += 1; end; b[6] + b[3]),
]
    @test right(f, x6)
end

@testset "broadcast assignment: $name" for (name, f) in [
    "whole" => x -> (b = Buffer(zeros(6)); b .= x .^ 2; weighted(b)),
    "a scalar" => x -> (b = Buffer(x); b .= x[1]; weighted(b)),
    "a number" => x -> (b = Buffer(x); y = sum(copy(b)); b .= 0; y + weighted(b)),
    "column of x" => x -> (b = Buffer(zeros(3, 2)); b[:, 1] .= x[1:3]; b[:, 2] .= x[4:6] .* b[:, 1]; weighted(b)),
    "view of columns" => x -> (b = Buffer(zeros(3, 2)); view(b, :, 1) .= x[1:3] .* 2; b[:, 2] .= x[4:6]; weighted(b)),
    "row spread over a matrix" => x -> (b = Buffer(zeros(2, 3)); b .= x[1:2]; b .+= reshape(x[1:3], 1, 3); weighted(b)),
    "with the copy of itself" => x -> (b = Buffer(x); b .= copy(b) .+ x; weighted(b)),
    "with itself" => x -> (b = Buffer(x); b .= b .* x .+ b; weighted(b)),
    "+= and *=" => x -> (b = Buffer(x); b .+= x .^ 2; b .*= 2; b .-= x[1]; weighted(b)),
    "from another Buffer" => x -> (b = Buffer(x); c = Buffer(zeros(6)); c .= b; b .= c .^ 2 .+ b; weighted(b) + weighted(c)),
    "parts of one Buffer" => x -> (b = Buffer(x); b[1:3] .= b[2:4]; b[2:4] .+= b[1:3]; weighted(b)),
    "a view of it, reversed" => x -> (b = Buffer(x); b .= view(b, 6:-1:1); weighted(b)),
    "mask" => x -> (b = Buffer(x); b[[true, false, true, false, false, true]] .*= x[1:3]; weighted(b)),
    "duplicate indices" => x -> (b = Buffer(x); b[[1, 1, 2]] .= x[4:6] .^ 2; weighted(b)),
    "generator" => x -> (b = Buffer(zeros(6)); b .= (v^2 for v in x); weighted(b)),
    "tuple" => x -> (b = Buffer(zeros(2)); b .= (x[1]^2, x[2] * x[3]); weighted(b)),
    "heat" => x -> (b = Buffer(x); for _ in 1:5; b[2:end-1] .+= 0.1 .* (b[3:end] .- 2 .* b[2:end-1] .+ b[1:end-2]); end; weighted(b)),
    "@. and @views" => x -> (b = Buffer(x); @. b = b^2 + x; @views b[1:3] .= b[4:6] .* x[1:3]; weighted(b)),
]
    @test right(f, x6)
end

@testset "copyto!: $name" for (name, f) in [
    "whole" => x -> (b = Buffer(zeros(6)); copyto!(b, x .^ 2); weighted(b)),
    "shorter source" => x -> (b = Buffer(x); copyto!(b, x[1:2] .^ 2); weighted(b)),
    "into a matrix" => x -> (b = Buffer(zeros(2, 3)); copyto!(b, x[1:5] .^ 2); weighted(b)),
    "from a Buffer" => x -> (b = Buffer(zeros(6)); c = Buffer(x); copyto!(b, c); c[1] = 0.0; weighted(b)),
    "part" => x -> (b = Buffer(x); copyto!(b, 3, x .^ 2, 2, 3); weighted(b)),
    "three and four arguments" => x -> (b = Buffer(x); copyto!(b, 4, x[1:2] .^ 2); copyto!(b, 2, x .* x[1], 5); weighted(b)),
    "overlapping, to the right" => x -> (b = Buffer(x); copyto!(b, 2, b, 1, 4); weighted(b)),
    "overlapping, to the left" => x -> (b = Buffer(x); copyto!(b, 1, b, 3, 4); weighted(b)),
    "overlapping views" => x -> (b = Buffer(x); copyto!(view(b, 2:5), view(b, 1:4)); weighted(b)),
    "from a matrix Buffer" => x -> (b = Buffer(x); c = Buffer(reshape(x, 2, 3)); copyto!(b, 2, c, 3, 3); weighted(b)),
    "generator" => x -> (b = Buffer(zeros(6)); copyto!(b, (v^2 for v in x)); weighted(b)),
    "tuple" => x -> (b = Buffer(x); copyto!(b, (x[1]^2, x[2]^2)); weighted(b)),
    "none" => x -> (b = Buffer(x); copyto!(b, 2, x, 1, 0); weighted(b)),
]
    @test right(f, x6)
end

@testset "views: $name" for (name, f) in [
    "transpose" => x -> (b = Buffer(reshape(x, 2, 3)); t = transpose(b); t[3, 1] = x[2]^2; t[:, 2] .*= 2; weighted(b) * t[1, 2]),
    "adjoint" => x -> (b = Buffer(reshape(x, 2, 3)); t = b'; t[3, 1] = x[2]^2; sum(abs2, copy(t)) * t[1, 2]),
    "adjoint of a vector" => x -> (b = Buffer(x); (b')[1, 2] = x[1]^2; weighted(b)),
    "reshape" => x -> (b = Buffer(x); m = reshape(b, 2, 3); m[2, :] .= m[1, :] .* x[1:3]; weighted(b)),
    "reshape with colon, of a matrix" => x -> (b = Buffer(reshape(x, 2, 3)); m = reshape(b, 3, :); m[2, 2] = m[1, 1]^2; weighted(b)),
    "vec" => x -> (b = Buffer(reshape(x, 2, 3)); v = vec(b); v[4] = v[1]^2; weighted(b)),
    "view of a view" => x -> (b = Buffer(x); v = view(view(b, 2:6), 1:2:5); v[2] = v[1]^2; v .*= x[1:3]; weighted(b)),
    "view of one element" => x -> (b = Buffer(x); v = view(b, 2); v[] = v[]^2; weighted(b)),
    "view of a transpose" => x -> (b = Buffer(reshape(x, 2, 3)); v = view(transpose(b), 2, :); v[1] = x[1]^2; v .+= 1; weighted(b)),
    "view by duplicate indices, read" => x -> (b = Buffer(x); v = view(b, [1, 1, 3]); dot(copy(v), w6[1:3])^2),
    "view by duplicate indices, written" => x -> (b = Buffer(x); v = view(b, [1, 1, 3]); v .= x[4:6]; weighted(b)),
    "PermutedDimsArray" => x -> (b = Buffer(reshape(x, 1, 2, 3)); p = PermutedDimsArray(b, (3, 1, 2)); p[3, 1, 1] = x[1]^2; p[:, 1, 2] .*= 2; weighted(b)),
    "eachcol and eachrow" => x -> (b = Buffer(reshape(x, 2, 3)); for (j, c) in enumerate(eachcol(b)); c .*= x[j]; end; for r in eachrow(b); r[1] = r[2]^2; end; weighted(b)),
    "selectdim" => x -> (b = Buffer(reshape(x, 2, 3)); selectdim(b, 1, 2) .= x[1:3] .^ 2; weighted(b)),
    "read through the parent" => x -> (b = Buffer(x); v = view(b, 1:3); b[2] = x[5]^2; dot(v, v)),
    "written through the parent" => x -> (b = Buffer(x); v = view(b, 1:3); y = dot(v, v); b[2] = x[5]^2; y + weighted(b)),
]
    @test right(f, x6)
end

struct Pair2{A,B}
    a::A
    b::B
end
mutable struct Cell
    b::Any
end

@testset "Buffers inside of $name" for (name, f) in [
    "a struct" => x -> (s = Pair2(Buffer(x), 2.0); s.a[1] = s.a[2]^2 * s.b; weighted(s.a)),
    "a mutable struct" => x -> (c = Cell(Buffer(x)); c.b[1] = x[2]^2; c.b = Buffer(copy(c.b) .* 2); weighted(c.b)),
    "a tuple" => x -> (t = (Buffer(x), Buffer(x .^ 2)); t[1][1] = t[2][2]; weighted(t[1]) + weighted(t[2])),
    "a named tuple" => x -> (t = (p = Buffer(x), q = 1); t.p[1] = t.p[2]^2; weighted(t.p)),
    "a Dict" => x -> (d = Dict(:p => Buffer(x)); d[:p][1] = d[:p][2]^2; weighted(d[:p])),
    "a Ref" => x -> (r = Ref(Buffer(x)); r[][1] = r[][2]^2; weighted(r[])),
    "a vector" => x -> (v = [Buffer(x), Buffer(2x)]; v[1][1] = v[2][2]^2; weighted(v[1]) + weighted(v[2])),
    "a closure" => x -> (b = Buffer(x); f = i -> (b[i] = b[i]^2; nothing); f(1); f(2); weighted(b)),
]
    @test right(f, x6)
end

@testset "values read before a write stay what they were: $name" for (name, f) in [
    "dot of the Buffer" => x -> (b = Buffer(x); y = dot(b, b); b[1] = b[1] + 1; y + b[1]),
    "overwritten operand of a rule" => x -> (b = Buffer(x); y = sum(abs2, b); b .= 0; y + sum(b)),
    "copy" => x -> (b = Buffer(x); c = copy(b); b[1] = 5.0; sum(abs2, c)),
    "broadcast" => x -> (b = Buffer(x); c = b .* b; b .= 1; sum(c) * sum(b)),
    "matrix product" => x -> (b = Buffer(reshape(x, 2, 3)); y = copy(b) * x[1:3]; b .= 0; sum(abs2, y)),
    "lazy cotangents, after a write" => x -> (b = Buffer(zeros(6)); b .= x; y = dot(b, x .^ 2) + sum(b .* x[1]); b .= 0; y * x[2]),
    "columns that feed the next" => x -> (b = Buffer(reshape(x, 2, 3)); for j in 2:3; view(b, :, j) .+= view(b, :, j - 1) .* x[j]; end; weighted(b)),
    "value, after a write" => x -> (b = Buffer(x); b[1] = x[2]^2; v = MutationBridge.value(b); dot(v, x .^ 3)),
]
    @test right(f, x6)
end

@testset "births: $name" for (name, f) in [
    "of a range of x" => x -> weighted(Buffer(x[2:4])),
    "of a transpose" => x -> weighted(Buffer(transpose(reshape(x, 2, 3)))),
    "of a view" => x -> weighted(Buffer(view(x, 1:3))),
    "of a Buffer" => x -> (b = Buffer(x); c = Buffer(b); c[1] = 2 * b[2]; weighted(b) + weighted(c)),
    "with an element type" => x -> (b = Buffer{Float64}(x); c = Buffer{Float64}(undef, 2); c .= b[1:2] .^ 2; weighted(c)),
    "undefined matrix" => x -> (b = Buffer{Float64}(undef, (2, 3)); b .= reshape(x, 2, 3) .^ 2; weighted(b)),
    "similar and zero" => x -> (b = Buffer(x); c = similar(b); c .= b .^ 2; d = zero(b); d .+= c .* b; e = similar(b, 2); e .= x[1:2]; weighted(d) + weighted(e)),
    "deepcopy" => x -> (b = Buffer(x); c = deepcopy(b); b[1] = 0.0; weighted(c)),
    "unused" => x -> (b = Buffer(x); sum(abs2, x)),
    "never read" => x -> (b = Buffer(x); b[1] = x[2]; sum(abs2, x)),
    "in a loop" => x -> (b = Buffer(x); for _ in 1:3; c = Buffer(copy(b) .* 0.5); c[1] = b[2]; b = c; end; weighted(b)),
]
    @test right(f, x6)
end

@testset "element types" begin
    g = gradient(x -> (b = Buffer(x); b[1] = b[2]^2; b .*= 2; sum(abs2, b)), Float32[1, 2])[1]
    @test g isa Vector{Float32} && g == Float32[0, 8 * 4 * 4 + 16]
    @test gradient(x -> (b = Buffer(zeros(Float32, 2)); b[1] = x; b[1]^2), 3.0) == (6.0,)
    @test gradient(x -> (b = Buffer([1, 2, 3]); b[2] = x; 0.5 * sum(copy(b))), 2) == (0.5,)
    @test gradient(x -> (b = Buffer([1, 2, 3]); 0.5 * b[2] * x), 2.0) == (1.0,)
    @test gradient(x -> (b = Buffer(trues(2)); b[1] ? x^2 : x), 3.0) == (6.0,)
    @test gradient(x -> sum(abs2, copy(Buffer(x))), fill(2.0)) == (fill(4.0),)
    @test gradient(x -> (b = Buffer(x); b[] = b[]^2; b[]), fill(3.0)) == (fill(6.0),)
    @test gradient(x -> (b = Buffer(x); b .= 1; sum(b) + sum(copy(b))), Float64[]) in ((Float64[],), (nothing,))
    @test gradient(x -> (b = Buffer(zeros(0, 3)); b .= 1; sum(copy(b)) + x), 1.0) == (1.0,)

    z = [1.0 + 2im, 3.0 - 1im]
    square(z) = (b = Buffer(z); b[1] = b[1] * b[2]; real(b[1]) + abs2(b[2]))
    @test gradient(square, z)[1] ≈ Zygote.gradient(z -> real(z[1] * z[2]) + abs2(z[2]), z)[1]
    conjugated(z) = (b = Buffer(reshape(z, 1, 2)); t = b'; t[1, 1] = t[2, 1] * (1 + 2im); real(t[1, 1] * (2 - 3im)) + abs2(b[1, 2]) + imag(b[1, 1]))
    plainly(z) = (t2 = conj(z[2]); t1 = t2 * (1 + 2im); real(t1 * (2 - 3im)) + abs2(z[2]) + imag(conj(t1)))
    @test conjugated(z) ≈ plainly(z) && gradient(conjugated, z)[1] ≈ Zygote.gradient(plainly, z)[1]
    @test gradient(x -> (b = Buffer(z); b[1] = x; abs2(b[1] + b[2])), 2.0) == (2 * (2.0 + 3.0),)
    @test gradient(x -> (b = Buffer(x); real(sum(b .* z))), [1.0, 2.0]) == ([1.0, 3.0],)

    @test gradient(x -> (b = Buffer([x, 2x]); b[1] = b[2] .* b[1]; sum(b[1]) + sum(b[2])), x3)[1] ≈ 4x3 .+ 2
    @test gradient(x -> (b = Buffer{Any}(Any[1.0, 2.0]); b[1] = x; b[2] = b[1] * 2; b[2] * b[1]), 3.0) == (12.0,)
    @test gradient(x -> (b = Buffer(["a", "b"]); b[1] = "c"; b[1] == "c" ? x : 2x), 3.0) == (1.0,)
end

@testset "not an array, but shown and compared like one" begin
    b = Buffer([1.0 2.0; 3.0 4.0])
    @test !(b isa AbstractArray) && size(b) == (2, 2) && length(b) == 4 && ndims(b) == 2 && eltype(b) == Float64
    @test axes(b, 1) == 1:2 && firstindex(b) == 1 && lastindex(b) == 4 && collect(keys(b)) == collect(CartesianIndices((2, 2)))
    @test b == [1.0 2.0; 3.0 4.0] && b == Buffer(copy(b)) && !isempty(b)
    @test repr(b) == "Buffer([1.0 2.0; 3.0 4.0])"
    @test startswith(repr("text/plain", b), "Buffer of 2×2")
    x = [1.0, 2.0]
    c = Buffer(x)
    c[1] = 5.0
    @test x == [1.0, 2.0] && copy(c) == [5.0, 2.0]
end

@testset "plain arrays are refused, by the name of Buffer: $name" for (name, f) in [
    "setindex!" => x -> (y = copy(x); y[1] = 2.0; sum(y)),
    ".=" => x -> (y = zeros(3); y .= x; sum(y)),
    ".=" => x -> (y = zeros(3); y[1:2] .= x[1:2]; sum(y)),
    "copyto!" => x -> (y = zeros(3); copyto!(y, x); sum(y)),
    "fill!" => x -> (y = zeros(3); fill!(y, x[1]); sum(y)),
    "push!" => x -> (y = Float64[]; push!(y, x[1]); sum(y)),
    "append!" => x -> (y = Float64[]; append!(y, x); sum(y)),
    "sort!" => x -> (y = copy(x); sort!(y; rev = true); sum(y)),
    "map!" => x -> (y = copy(x); map!(abs2, y, x); sum(y)),
]
    x = copy(x3)
    text = message_of(() -> gradient(f, x), MutationError)
    @test occursin(name, text) && occursin("MutationBridge.Buffer", text) && occursin("Vector{Float64}", text)
    @test x == x3
end

@testset "what would lose a gradient raises" begin
    text = message_of(LostGradient) do
        gradient(x -> (b = Buffer(x); y = b.a; sum(y)), x3)
    end
    @test occursin("copy(b)", text)
    text = message_of(LostGradient) do
        gradient(x -> (b = Buffer(x); v = MutationBridge.value(b); b[1] = 2.0; sum(abs2, v)), x3)
    end
    @test occursin("copy(b)", text)
    @test gradient(x -> (b = Buffer(x); b[1] = 2.0; sum(abs2, MutationBridge.value(b))), [1.0, 2.0]) == ([0.0, 4.0],)
    text = message_of(LostGradient) do
        gradient(x3) do x
            b = Buffer(x)
            try
                b[1] = x[2]^2
                error("stop")
            catch
                b[2] = x[1]^2
            end
            sum(copy(b))
        end
    end
    @test occursin("catch", text)
    @test gradient(x -> (b = Buffer(x); try; b[1] = x[1]^2; catch; end; sum(copy(b))), x3)[1] ≈ [2x3[1], 1, 1]

    untracked(b, v) = (b[1] = v; true)
    text = message_of(LostGradient) do
        gradient(x -> (b = Buffer(x); y = b[1]^2; Zygote.ignore_derivatives(() -> untracked(b, 7.0)); y + b[2]), x3)
    end
    @test occursin("more than when this ran forward", text)
    text = message_of(MutationError) do
        gradient(x -> (c = Pair2(Buffer(x), 1); d = deepcopy(c); sum(copy(d.a))), x3)
    end
    @test occursin("deepcopy", text)
    @test_throws LostGradient Zygote.gradient(x -> (b = Buffer(x); map(i -> (b[i] = 2x[i]; nothing), 1:3); sum(copy(b))), x3)
end

@testset "contents that cannot be saved are refused" begin
    for make in (() -> Buffer{Any}(undef, 2), () -> Buffer(Vector{Any}(undef, 2)), () -> gradient(x -> (b = Buffer{String}(undef, 2); x), 1.0))
        @test occursin("needs contents from the start", message_of(make, MutationError))
    end
end

@testset "wrong indices and shapes raise what arrays raise" begin
    @test_throws BoundsError gradient(x -> (b = Buffer(x); b[4]), x3)
    @test_throws BoundsError gradient(x -> (b = Buffer(x); b[4] = 1.0; b[1]), x3)
    @test_throws BoundsError gradient(x -> (b = Buffer(x); b[3:4] = [1.0, 2.0]; b[1]), x3)
    @test_throws DimensionMismatch gradient(x -> (b = Buffer(x); b[1:2] = x; b[1]), x3)
    @test_throws DimensionMismatch gradient(x -> (b = Buffer(x); b .= x[1:2]; b[1]), x3)
    @test_throws InexactError gradient(x -> (b = Buffer([1, 2]); b[1] = x; 1.0 * b[1]), 1.5)
end

end
